//! Quotes around text and names that are printed as they stand.
//!
//! For SQL that is put together from the tokens of a caller's; what is ours goes through the nodes of
//! `sql::build`, which print the same.

/// A text as a printed literal, for SQL that is put together from foreign pieces.
pub(crate) fn printed_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name between quotes of this kind, for SQL that is put together from foreign pieces.
pub(crate) fn printed_name(name: &str, quote: char) -> String {
    let doubled = name.replace(quote, &format!("{quote}{quote}"));
    format!("{quote}{doubled}{quote}")
}
