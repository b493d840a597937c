//! `portcullis facts add`: stores facts that are given as arguments.

use crate::cli::error::{ArgumentError, CliError};
use crate::cli::facts_file::{self, FactJson};
use crate::cli::origin::ServiceArgs;
use crate::cli::output::{Format, FormatArgs};
use crate::cli::validate::plural;
use crate::cli::{Verdict, output};
use serde_json::{Value as Json, json};

/// Store facts, all or none
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Facts are a set: storing one again changes nothing. `portcullis facts import` stores those of
a file.

Examples:
  portcullis facts add 'has_role(User:alice, \"reader\", Repository:docs)'
  portcullis facts add 'is_public(Repository:docs)' 'is_public(Repository:site)'"
)]
pub(in crate::cli) struct Args {
    /// The facts, for example `has_role(User:alice, "reader", Repository:docs)`
    #[arg(value_name = "FACT", required = true)]
    facts: Vec<String>,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    pub(in crate::cli) output: FormatArgs,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let facts = args.facts.iter().map(|text| {
        let refused = |reason| ArgumentError::Fact { fact: text.clone(), reason };
        Ok(FactJson::from(facts_file::fact(text).map_err(refused)?))
    });
    let facts = facts.collect::<Result<Vec<FactJson>, CliError>>()?;
    let n_facts = facts.len();
    let service = args.service.service()?;
    service.ask::<Json>("batch", &json!([{ "inserts": facts }]))?;
    output::to_stdout(&match args.output.format() {
        Format::Text => format!("{} stored in {}", plural(n_facts, "fact"), service.name()),
        Format::Json => format!("{:#}", json!({ "stored": n_facts })),
    })?;
    Ok(Verdict::Good)
}
