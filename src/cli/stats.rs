//! `portcullis stats`: how much a service stores.

use super::Verdict;
use super::error::{CliError, ServiceError};
use super::origin::ServiceArgs;
use super::output::{self, Format, FormatArgs};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Count the facts of a service, and list the versions of its policy
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  portcullis stats
  portcullis stats --url https://authz.example.com --format json")]
pub(super) struct Args {
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    pub(super) output: FormatArgs,
}

/// The answer of `/stats`.
#[derive(Deserialize)]
struct StatsJson {
    policy: Versions,
    facts: Facts,
}

#[derive(Deserialize)]
struct Versions {
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct Facts {
    total: u64,
    predicates: BTreeMap<String, u64>,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let found: Json = args.service.service()?.read("stats")?;
    let text = match args.output.format() {
        Format::Json => format!("{found:#}"),
        Format::Text => {
            let stats = StatsJson::deserialize(&found);
            text(&stats.map_err(|error| ServiceError::UnexpectedAnswer(error.to_string()))?)
        }
    };
    output::to_stdout(&text)?;
    Ok(Verdict::Good)
}

fn text(StatsJson { policy, facts }: &StatsJson) -> String {
    let policy = match policy.versions.as_slice() {
        [] => "no policy yet".to_owned(),
        [active] => format!("policy version {active} is active"),
        [older @ .., active] => {
            format!("policy version {active} is active; older ones: {}", older.join(", "))
        }
    };
    let width = facts.predicates.keys().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut text = format!("{policy}\nfacts: {}\n", facts.total);
    for (predicate, n_facts) in &facts.predicates {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {predicate:width$}  {n_facts}");
    }
    text
}
