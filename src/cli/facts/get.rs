//! `portcullis facts get`: the stored facts that match a pattern.

use super::json_lines;
use super::pattern::{names, parameters, pattern};
use crate::cli::ask::names::warn;
use crate::cli::error::CliError;
use crate::cli::origin::ServiceArgs;
use crate::cli::output::{Format, FormatArgs, output_error, unless_closed};
use crate::cli::{Verdict, shown};
use crate::engine::{Fact, FactPattern};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

/// Read the stored facts that match
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A pattern is a fact with `_` for any value and `Type:_` for any value of a type. Without a
pattern all facts are read. Derived facts are not stored: see `portcullis query`.

With --format json each fact is a line, as `portcullis facts import` reads it. If nothing is found,
and the pattern has a name that the policy does not have, a warning says so, and the exit code is 1.

Examples:
  portcullis facts get
  portcullis facts get 'has_role(User:alice, _, _)'
  portcullis facts get 'has_relation(Repository:_, \"organization\", Organization:acme)' --format json"
)]
pub(in crate::cli) struct Args {
    /// The pattern, for example `has_role(User:alice, _, Repository:_)`
    #[arg(value_name = "PATTERN")]
    pattern: Option<String>,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    pub(in crate::cli) output: FormatArgs,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let pattern = args.pattern.as_deref().map(pattern).transpose()?;
    let parameters = pattern.as_ref().map(parameters).unwrap_or_default();
    let mut to = BufWriter::new(io::stdout().lock());
    let (mut failed, mut is_empty) = (None, true);
    let service = args.service.service()?;
    service.facts(&parameters, |fact| {
        if !pattern.as_ref().is_none_or(|pattern| has_its_arity(&fact, pattern)) {
            return ControlFlow::Continue(());
        }
        let written = match args.output.format() {
            Format::Text => writeln!(to, "{}", shown::fact(&fact)),
            Format::Json => json_lines::write(fact, &mut to),
        };
        is_empty = false;
        failed = written.err();
        if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let written = failed.map_or_else(|| to.flush(), Err);
    unless_closed(written.map_err(|error| output_error("the standard output", error)))?;
    let is_bad = pattern.as_ref().is_some_and(|pattern| is_empty && warn(&names(pattern), &service.policy()));
    Ok(if is_bad { Verdict::Bad } else { Verdict::Good })
}

/// Whether a fact has as many arguments as the pattern. The service lets more follow.
fn has_its_arity(fact: &Fact, pattern: &FactPattern) -> bool {
    fact.args.len() == pattern.args.len()
}
