//! Whether texts of the caller's rows may be compared as they are: `String: text` under `sql_types`.
//!
//! It lets a statement start from a text of one row and find others by an index, as from the tags of a user's
//! team to the devices with those tags. An entry speaks for the columns of every bound query with a `String`.
//! So it is written only if each is a plain text in the database's own collation, in which a comparison
//! has the same answer with the entry and without.

use super::database::{Collation, Column, ColumnKind};
use super::finding::{Finding, FindingCode, Severity};
use portcullis_compiler::primitive::STRING;

/// What a column of `String`s is other than a plain text, if anything, with what to select instead.
fn exception(column: &Column) -> Option<String> {
    let (place, own) = (column.place(), &column.name);
    if column.ty.kind != ColumnKind::Text {
        return Some(format!("`{place}` is `{}` (select `CAST({own} AS text)`)", column.ty.name));
    }
    let Collation { name, .. } = column.origin.as_ref()?.collation.as_ref()?;
    Some(format!("`{place}` has the collation `{name}` (select `{own} COLLATE \"default\"`)"))
}

/// Whether all columns of `String`s are plain texts.
pub(super) fn are_plain(columns: &[&Column]) -> bool {
    columns.iter().all(|column| exception(column).is_none())
}

/// Reports the columns that prevent `String: text`, if a look-up by a text could use an index.
pub(super) fn prevented(columns: &[&Column]) -> Option<Finding> {
    let has_index = |column: &&&Column| exception(column).is_none() && column.indexed() == Some(true);
    let indexed = columns.iter().find(has_index)?;
    let mut exceptions: Vec<String> = columns.iter().filter_map(|column| exception(column)).collect();
    exceptions.sort();
    exceptions.dedup();
    if exceptions.is_empty() {
        return None;
    }
    let message = format!(
        "not all of its columns are plain texts: {}. So a rule that leads from a text of one row to other rows with it, \
         such as a tag, cannot use the index on `{}`, as it could with `{STRING}: text` under `sql_types`",
        exceptions.join(", "),
        indexed.place()
    );
    Some(Finding::new(FindingCode::DifferingTypes, Severity::Note, message))
}
