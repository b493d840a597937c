//! Questions on the command line: `authorize`, `actions`, `list`, `list-subjects` and `query`.
//!
//! ```text
//! arguments ─▶ question ─(service | engine in memory)─▶ answer ─▶ text, or the document of the endpoint
//!                 └─ if there is no answer: names that the policy does not have ─▶ warnings
//! ```

pub(super) mod actions;
mod answers;
pub(super) mod authorize;
pub(super) mod list;
pub(super) mod list_subjects;
pub(super) mod names;
pub(super) mod query;

use super::Verdict;
use super::error::CliError;
use super::output::{self, Format};
use super::source::Source;
use crate::engine::QuestionNames;
use names::warn;
use serde_json::Value as Json;

/// Prints an answer. One without a result is explained by the names that the policy does not have, if there
/// are any: then the verdict is bad.
fn print(
    source: &Source,
    format: Format,
    text: &str,
    document: &Json,
    unknown: Option<&QuestionNames<'_>>,
) -> Result<Verdict, CliError> {
    let printed = match format {
        Format::Text if text.is_empty() => Ok(()),
        Format::Text => output::to_stdout(text),
        Format::Json => output::to_stdout(&format!("{document:#}")),
    };
    let is_bad = unknown.is_some_and(|names| warn(names, &source.policy()));
    printed.map(|()| if is_bad { Verdict::Bad } else { Verdict::Good })
}
