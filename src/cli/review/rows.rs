//! The rows of a review as a table, as lines of JSON, or as CSV.
//!
//! Each row is written when it is known. The width of the first column follows from the actions, which are
//! known before; the last column may be as wide as it needs.

use super::ReviewFormat;
use crate::cli::validate::plural;
use crate::cli::{output, shown};
use crate::engine::{ANY, Reviewed};
use crate::http::{ReviewOut, ReviewRefusedOut};
use serde_json::{Value as Json, json};
use std::io::{self, Write};

/// The columns of the table with a header.
const HEADER: [&str; 4] = ["action", "type", "id", "refused"];

/// Writes rows.
pub(super) enum Rows<W: Write> {
    /// For people; with the width of the actions, and what the values are.
    Text { to: W, width: usize },
    /// Lines of JSON.
    Json(W),
    /// A table with a header.
    Csv(Box<csv::Writer<W>>),
}

/// How a review ended.
#[derive(Debug)]
pub(super) struct ReviewEnd {
    pub(super) n_rows: usize,
    pub(super) n_refused: usize,
    pub(super) policy_version: Option<u64>,
    /// The offset of the store before the first row.
    pub(super) offset: u64,
    /// And after the last.
    pub(super) offset_after: u64,
    /// Types of the question that the policy does not name.
    pub(super) unknown_types: Vec<String>,
}

impl ReviewEnd {
    /// Before the first row.
    pub(super) fn of(found: &ReviewOut) -> Self {
        Self {
            n_rows: 0,
            n_refused: 0,
            policy_version: found.policy_version,
            offset: found.offset,
            offset_after: found.offset,
            unknown_types: found.unknown_types.clone(),
        }
    }

    fn changed(&self) -> bool {
        self.offset != self.offset_after
    }

    /// What a reader must know besides the rows, a line each.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.n_refused > 0 {
            let n = plural(self.n_refused, "refusal");
            notes.push(format!("The review is not complete: {n}."));
        }
        notes.extend(self.unknown_types.iter().map(|ty| format!("The policy names no type `{ty}`.")));
        if self.changed() {
            let (before, after) = (self.offset, self.offset_after);
            notes.push(format!(
                "Facts or the policy changed in the meantime (offset {before}, then {after}): the rows may come from different points in time."
            ));
        }
        notes
    }
}

impl<W: Write> Rows<W> {
    /// Begins to write.
    pub(super) fn new(
        format: ReviewFormat,
        mut to: W,
        about: &Reviewed,
        found: &ReviewOut,
    ) -> io::Result<Self> {
        Ok(match format {
            ReviewFormat::Text => {
                let actions = found.types.iter().flat_map(|found| &found.actions);
                let widths = actions.map(|action| shown::action(action).chars().count());
                let width =
                    widths.chain(["action".len(), shown::EVERY_ACTION.len()]).max().unwrap_or_default();
                let (title, column) = match about {
                    Reviewed::Actor(actor) => (format!("what {} may do", shown::value(actor)), "resource"),
                    Reviewed::Resource(it) => (format!("who may act on {}", shown::value(it)), "actor"),
                };
                let policy = found.policy_version.map_or("no policy".to_owned(), |id| format!("policy {id}"));
                writeln!(to, "{title}, by {policy}\n\n{:width$}  {column}", "action")?;
                Self::Text { to, width }
            }
            ReviewFormat::Json => Self::Json(to),
            ReviewFormat::Csv => {
                let mut writer = csv::Writer::from_writer(to);
                writer.write_record(HEADER)?;
                Self::Csv(Box::new(writer))
            }
        })
    }

    /// An action with a value of a type, or without a resource.
    pub(super) fn row(&mut self, action: &str, value: Option<(&str, &str)>) -> io::Result<()> {
        match self {
            Self::Text { to, width } => {
                let value = value.map_or("without a resource".to_owned(), |(ty, id)| shown::listed(ty, id));
                writeln!(to, "{:width$}  {value}", shown::action(action), width = *width)
            }
            Self::Json(to) => {
                let (ty, id) = value.unzip();
                line(to, &json!({ "action": action, "type": ty, "id": id }))
            }
            Self::Csv(writer) => {
                let (ty, id) = value.unwrap_or_default();
                Ok(writer.write_record([action, ty, id, ""])?)
            }
        }
    }

    /// What cannot be listed: an action with a type, or a type's actions.
    pub(super) fn refused(
        &mut self,
        ty: Option<&str>,
        action: Option<&str>,
        ReviewRefusedOut { message, code }: &ReviewRefusedOut,
    ) -> io::Result<()> {
        match self {
            Self::Text { to, width } => {
                let action = action.map_or("other actions".to_owned(), shown::action);
                let of = ty.map_or("without a resource".to_owned(), shown_type);
                writeln!(to, "{action:width$}  refused, {of}: {message}", width = *width)
            }
            Self::Json(to) => {
                let refused = json!({ "message": message, "code": code });
                line(to, &json!({ "action": action, "type": ty, "refused": refused }))
            }
            Self::Csv(writer) => {
                let [action, ty] = [action, ty].map(Option::unwrap_or_default);
                Ok(writer.write_record([action, ty, "", message])?)
            }
        }
    }

    /// Lets the reader see what was written.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Text { to, .. } | Self::Json(to) => to.flush(),
            Self::Csv(writer) => writer.flush(),
        }
    }

    /// The end, with what was not complete.
    pub(super) fn end(&mut self, end: &ReviewEnd) -> io::Result<()> {
        match self {
            Self::Text { to, .. } => {
                writeln!(to, "\n{}.", plural(end.n_rows, "row"))?;
                end.notes().iter().try_for_each(|note| writeln!(to, "{note}"))?;
            }
            Self::Json(to) => {
                let end = json!({
                    "rows": end.n_rows, "refusals": end.n_refused, "policy_version": end.policy_version,
                    "offset": end.offset, "offset_after": end.offset_after, "changed": end.changed(),
                    "unknown_types": end.unknown_types,
                });
                line(to, &json!({ "end": end }))?;
            }
            Self::Csv(_) => end.notes().iter().for_each(|note| output::to_stderr(note)),
        }
        self.flush()
    }
}

fn line(to: &mut impl Write, value: &Json) -> io::Result<()> {
    writeln!(to, "{value}")
}

fn shown_type(ty: &str) -> String {
    if ty == ANY { "other types".to_owned() } else { ty.to_owned() }
}
