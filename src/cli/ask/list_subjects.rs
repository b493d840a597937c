//! `portcullis list-subjects`: the actors that may do something to a resource.

use crate::cli::error::CliError;
use crate::cli::origin::AskedArgs;
use crate::cli::output::FormatArgs;
use crate::cli::source::Source;
use crate::cli::{Verdict, shown};
use crate::engine::QuestionNames;
use crate::engine::{Value, notation};
use serde_json::{Value as Json, json};

/// List the actors that may do something to a resource
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  portcullis list-subjects read Repository:docs
  portcullis list-subjects read Repository:docs --type User --format json")]
pub(in crate::cli) struct Args {
    /// The action, for example read
    action: String,
    /// The resource, for example Repository:docs
    #[arg(value_parser = notation::value)]
    resource: Value,
    /// Only actors of this type; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    #[command(flatten)]
    asked: AskedArgs,
    #[command(flatten)]
    pub(in crate::cli) output: FormatArgs,
}

pub(in crate::cli) fn run(args: Args) -> Result<Verdict, CliError> {
    let Args { action, resource, types, asked, output } = args;
    let source = Source::of(asked.origin()?)?;
    let wanted = (!types.is_empty()).then(|| types.iter().cloned().collect());
    let actors = source.subjects(&action, &resource, wanted)?;
    let asked_types: Vec<&str> = types.iter().map(String::as_str).chain([resource.ty.as_str()]).collect();
    let names = QuestionNames::of_check(&asked_types, Some(&action));
    let text: Vec<String> = actors.iter().map(|actor| shown::listed(&actor.ty, &actor.id)).collect();
    let results: Vec<Json> = actors.iter().map(|actor| json!({ "type": actor.ty, "id": actor.id })).collect();
    let unknown = actors.is_empty().then_some(&names);
    super::print(&source, output.format(), &text.join("\n"), &json!({ "results": results }), unknown)
}
