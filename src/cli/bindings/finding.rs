//! What `bindings check` reports: a code for programs, a severity, and a message for people.
//!
//! `docs/local-checks/findings.md` has a row for each code.

use super::database::Column;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// The SQL fails or answers wrongly.
    Error,
    /// The SQL is slow, or correct only as long as nothing changes.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// Its name in a report.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Declares the codes with their names.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The kind of a finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum FindingCode {
            $($(#[$doc])* $variant,)*
        }

        impl FindingCode {
            /// All codes.
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its stable name in a report.
            pub(super) fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

codes! {
    /// The database refuses a bound query or a promise's column.
    QueryRefused = "query_refused",
    /// A query has a different number of columns than its key.
    ColumnCount = "column_count",
    /// No rule of the policy reads the facts.
    NotRead = "not_read",
    /// `sql_types` has a type that the database does not know.
    UnknownSqlType = "unknown_sql_type",
    /// A column has a different type than `sql_types` says.
    OtherSqlType = "other_sql_type",
    /// A column has a type that its ids are not compared as.
    UndeclaredType = "undeclared_type",
    /// SQLite does not convert the values of a column without a type.
    UntypedColumn = "untyped_column",
    /// The cast of a column to text is not the text that applications take for the id.
    OtherText = "other_text",
    /// The text of a column depends on the session's settings.
    SessionText = "session_text",
    /// The columns of one type have types that do not compare.
    DifferingTypes = "differing_types",
    /// A collation treats different ids as equal.
    LooseCollation = "loose_collation",
    /// A collation that other columns do not have.
    OtherCollation = "other_collation",
    /// A column may be NULL.
    Nullable = "nullable",
    /// A column of ids is computed.
    ComputedColumn = "computed_column",
    /// The index of a column is not used.
    UnusedIndex = "unused_index",
    /// No index starts with a column.
    NoIndex = "no_index",
    /// A promise names a computed column.
    PromiseComputed = "promise_computed",
    /// A promise names a column that is not unique.
    PromiseNotUnique = "promise_not_unique",
    /// A promise names a column that is unique only together with the partition key.
    PromiseUnchecked = "promise_unchecked",
    /// A promise names something that is not a table.
    PromiseNotTable = "promise_not_table",
    /// A promise names a column that may be NULL.
    PromiseNullable = "promise_nullable",
    /// Several columns could be promised.
    SeveralTables = "several_tables",
    /// No column could be promised.
    NoPromise = "no_promise",
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// Its kind.
    pub(super) code: FindingCode,
    /// How much it matters.
    pub(super) severity: Severity,
    /// The column of the query that it concerns, if any.
    pub(super) column: Option<String>,
    /// What is wrong, and what to do.
    pub(super) message: String,
    /// The Polar type that it concerns, if other columns of the type have the same finding.
    pub(super) of_type: Option<TypedPlace>,
}

/// A column with the Polar type whose ids it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypedPlace {
    /// The Polar type.
    pub(super) ty: String,
    /// The column's own type, if only columns of that type have the same finding.
    pub(super) only: Option<String>,
    /// The column and its own type, for people.
    pub(super) place: String,
}

impl Finding {
    /// A finding about an entry as a whole.
    pub(super) fn new(code: FindingCode, severity: Severity, message: impl Into<String>) -> Self {
        Self { code, severity, column: None, message: message.into(), of_type: None }
    }

    /// A finding about one of its columns.
    pub(super) fn of(
        code: FindingCode,
        severity: Severity,
        column: &Column,
        message: impl Into<String>,
    ) -> Self {
        Self { column: Some(column.name.clone()), ..Self::new(code, severity, message) }
    }

    /// A finding about all columns of a Polar type, of which this is one.
    pub(super) fn of_type(
        code: FindingCode,
        severity: Severity,
        (ty, column): (&str, &Column),
        message: impl Into<String>,
    ) -> Self {
        let place = format!("`{}` (`{}`)", column.place(), column.ty.name);
        let of_type = Some(TypedPlace { ty: ty.to_owned(), only: None, place });
        Self { of_type, ..Self::of(code, severity, column, message) }
    }

    /// The same, about those columns only that have the type of this one.
    pub(super) fn of_same_columns(self, column: &Column) -> Self {
        let only = Some(column.ty.name.clone());
        Self { of_type: self.of_type.map(|of_type| TypedPlace { only, ..of_type }), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::FindingCode;
    use std::fs;
    use std::path::Path;

    #[test]
    fn the_page_has_every_code_in_order() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/local-checks/findings.md");
        let page = fs::read_to_string(page).unwrap();
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
        let described: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        let codes: Vec<&str> = FindingCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(described, codes);
    }
}
