//! Corrects a bindings document by what the database reports about it.
//!
//! In: a document and the columns of its queries. Out: the corrected text, with comments and order kept, and
//! the difference. Nothing is written here.
//!
//! ```text
//! bindings, live columns ─decide─▶ corrections ─edit─▶ text ─parse again─▶ exactly the corrections?
//!                  text ─outline─▶ positions ──┘
//! ```
//!
//! The corrections are decided on the parsed document and made in the text. The new text is parsed and must
//! say what the old one said with the corrections; otherwise it is refused, and the author makes them.

mod casts;
mod decide;
mod edit;
mod outline;
mod promises;
mod types;
mod unpromised;

pub(super) use decide::{undecided_tables, unpromised_types};
pub(super) use types::common as common_type;

use super::live::Live;
use crate::cli::error::CliError;
use crate::cli::replace;
use crate::cli::validate::plural;
use outline::Outline;
use portcullis_compiler::bindings::{self, Bindings, RowTable, SqlType};
use portcullis_compiler::catalog::{BindingId, ColumnId};
use serde_json::{Value, json};
use std::fmt::Write;

/// What to change in a document.
#[derive(Debug, Default)]
struct Corrections {
    sql_types: Vec<Correction<SqlType>>,
    tables: Vec<Correction<RowTable>>,
    casts: Vec<Cast>,
}

/// A changed entry of a section.
#[derive(Debug)]
struct Correction<T> {
    /// The Polar type.
    ty: String,
    /// The new text of the entry with its meaning; `None` removes it.
    to: Option<(String, T)>,
    reason: String,
}

/// A bound column that becomes text.
#[derive(Debug)]
struct Cast {
    /// The bound fact.
    fact: BindingId,
    /// The column of its query.
    column: ColumnId,
    reason: String,
}

/// A corrected document.
#[derive(Debug)]
pub(super) struct Fix {
    /// The text.
    pub(super) text: String,
    diff: String,
    /// Each change with its reason.
    changes: Vec<(String, String)>,
}

/// The result of a correction.
#[derive(Debug)]
pub(super) struct FixResult {
    /// The corrected document, if there is anything to correct.
    pub(super) fix: Option<Fix>,
    /// Whether the file contains it.
    pub(super) is_written: bool,
}

/// Works out how to correct a document; `None` if there is nothing to change.
pub(super) fn work_out(
    file: &str,
    text: &str,
    bindings: &Bindings,
    live: &Live,
) -> Result<Option<Fix>, CliError> {
    let outline = Outline::read(text);
    let corrections = decide::corrections(bindings, live, &outline);
    let changes = corrections.changes(bindings);
    if changes.is_empty() {
        return Ok(None);
    }
    let edited = edit::apply(&outline, bindings, &corrections);
    let Some(edited) = edited.filter(|edited| corrections.is_all_that_changed(bindings, edited)) else {
        return Err(CliError::NotCorrectable { file: file.to_owned(), changes });
    };
    let diff = replace::diff(text, &edited, [file, &format!("{file} (corrected)")]);
    Ok(Some(Fix { text: edited, diff, changes }))
}

/// What would correct a document, each change as it is reported.
pub(super) fn changes(text: &str, bindings: &Bindings, live: &Live) -> Vec<String> {
    let corrections = decide::corrections(bindings, live, &Outline::read(text));
    corrections.changes(bindings).into_iter().map(|(change, _)| change).collect()
}

impl Corrections {
    /// Each change with its reason.
    fn changes(&self, bindings: &Bindings) -> Vec<(String, String)> {
        let mut changes = Vec::new();
        for Cast { fact, column, reason } in &self.casts {
            let key = &bindings.facts[*fact].key;
            changes.push((format!("{key}: column {} as text", column.index() + 1), reason.clone()));
        }
        let mut entry = |section: &str, ty: &str, to: Option<&String>, reason: &str| {
            let change = match to {
                Some(to) => format!("{section}: {ty}: {to}"),
                None => format!("{section}: without {ty}"),
            };
            changes.push((change, reason.to_owned()));
        };
        for Correction { ty, to, reason } in &self.sql_types {
            entry("sql_types", ty, to.as_ref().map(|(to, _)| to), reason);
        }
        for Correction { ty, to, reason } in &self.tables {
            entry("tables", ty, to.as_ref().map(|(to, _)| to), reason);
        }
        changes
    }

    /// Whether a text says what the document said, with these corrections and nothing else.
    fn is_all_that_changed(&self, before: &Bindings, text: &str) -> bool {
        let Ok(after) = bindings::parse(text) else { return false };
        let (mut sql_types, mut tables) = (before.sql_types.clone(), before.tables.clone());
        for Correction { ty, to, .. } in &self.sql_types {
            match to {
                Some((_, declared)) => drop(sql_types.insert(ty.clone(), declared.clone())),
                None => drop(sql_types.shift_remove(ty)),
            }
        }
        for Correction { ty, to, .. } in &self.tables {
            match to {
                Some((_, promised)) => drop(tables.insert(ty.clone(), promised.clone())),
                None => drop(tables.shift_remove(ty)),
            }
        }
        let same_facts = before.facts.len() == after.facts.len()
            && before.facts.enumerate().zip(&after.facts).all(|((id, before), after)| {
                let columns = self.casts.iter().filter(|cast| cast.fact == id).map(|cast| cast.column);
                let expected = casts::cast(&before.query.text, &columns.collect::<Vec<_>>());
                before.key == after.key && expected.as_ref() == Some(&after.query.text)
            });
        same_facts
            && before.dialect == after.dialect
            && sql_types == after.sql_types
            && tables == after.tables
    }
}

impl FixResult {
    /// The result if nothing is to be changed.
    pub(super) fn nothing() -> Self {
        Self { fix: None, is_written: false }
    }

    /// What is printed before the report.
    pub(super) fn before(&self) -> String {
        let Some(fix) = &self.fix else { return String::new() };
        let mut text = fix.diff.clone();
        for (change, reason) in &fix.changes {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n{change}\n  {reason}");
        }
        text.push_str("\n\n");
        text
    }

    /// What is printed after the report.
    pub(super) fn after(&self, file: &str) -> String {
        match &self.fix {
            None => format!("nothing to change in {file}"),
            Some(fix) if self.is_written => {
                format!("{} written to {file}", plural(fix.changes.len(), "change"))
            }
            Some(_) => format!("the report above is about the corrected document; --write changes {file}"),
        }
    }

    /// The result as JSON.
    pub(super) fn json(&self) -> Value {
        let changes = self.fix.iter().flat_map(|fix| &fix.changes);
        let change = |(change, reason): &(String, String)| json!({ "change": change, "reason": reason });
        json!({
            "changes": changes.map(change).collect::<Vec<_>>(),
            "diff": self.fix.as_ref().map(|fix| &fix.diff),
            "written": self.is_written,
        })
    }
}
