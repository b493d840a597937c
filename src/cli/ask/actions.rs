//! `portcullis actions`: what an actor may do to a resource.

use crate::cli::error::CliError;
use crate::cli::origin::AskedArgs;
use crate::cli::output::FormatArgs;
use crate::cli::source::Source;
use crate::cli::{Verdict, shown};
use crate::engine::QuestionNames;
use crate::engine::{Value, notation};
use serde_json::json;

/// List what an actor may do to a resource
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  portcullis actions User:alice Repository:docs
  portcullis actions User:alice Repository:docs --policy policy.polar --facts facts.txt")]
pub(in crate::cli) struct Args {
    /// The actor, for example User:alice
    #[arg(value_parser = notation::value)]
    actor: Value,
    /// The resource, for example Repository:docs
    #[arg(value_parser = notation::value)]
    resource: Value,
    #[command(flatten)]
    asked: AskedArgs,
    #[command(flatten)]
    pub(in crate::cli) output: FormatArgs,
}

pub(in crate::cli) fn run(args: Args) -> Result<Verdict, CliError> {
    let Args { actor, resource, asked, output } = args;
    let source = Source::of(asked.origin()?)?;
    let actions = source.actions(&actor, &resource)?;
    let names = QuestionNames::of_check(&[&actor.ty, &resource.ty], None);
    let text: Vec<String> = actions.iter().map(|action| shown::action(action)).collect();
    let unknown = actions.is_empty().then_some(&names);
    super::print(&source, output.format(), &text.join("\n"), &json!({ "results": actions }), unknown)
}
