//! `portcullis facts remove`: deletes the facts that match patterns.

use super::pattern::{body, names, pattern};
use crate::cli::ask::names::warn;
use crate::cli::error::CliError;
use crate::cli::origin::ServiceArgs;
use crate::cli::output::{Format, FormatArgs};
use crate::cli::{Verdict, output};
use crate::engine::FactPattern;
use serde_json::{Value as Json, json};

/// Delete the facts that match, all or none
#[derive(Debug, clap::Args)]
#[command(after_help = "A pattern is a fact with `_` for any value and `Type:_` for any value of a type;
`portcullis facts get` shows what it matches. Deleting what is not stored changes nothing.

Examples:
  portcullis facts remove 'has_role(User:alice, \"reader\", Repository:docs)'
  portcullis facts remove 'has_role(User:alice, _, _)' 'is_banned(User:alice)'")]
pub(in crate::cli) struct Args {
    /// The facts, for example `has_role(User:alice, _, Repository:docs)`
    #[arg(value_name = "PATTERN", required = true)]
    patterns: Vec<String>,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    pub(in crate::cli) output: FormatArgs,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let patterns = args.patterns.iter().map(|text| pattern(text));
    let patterns = patterns.collect::<Result<Vec<FactPattern>, CliError>>()?;
    let service = args.service.service()?;
    let deletes: Vec<Json> = patterns.iter().map(body).collect();
    service.ask::<Json>("batch", &json!([{ "deletes": deletes }]))?;
    output::to_stdout(&match args.output.format() {
        Format::Text => format!("no matching facts remain in {}", service.name()),
        Format::Json => format!("{:#}", json!({ "removed": deletes })),
    })?;
    // Facts of an older policy may have names that the active one does not have.
    let policy = service.policy();
    for pattern in &patterns {
        warn(&names(pattern), &policy);
    }
    Ok(Verdict::Good)
}
