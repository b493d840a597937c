//! `portcullis list`: the resources that an actor may do something to.

use crate::cli::error::CliError;
use crate::cli::origin::AskedArgs;
use crate::cli::output::FormatArgs;
use crate::cli::source::Source;
use crate::cli::{Verdict, shown};
use crate::engine::QuestionNames;
use crate::engine::{Reviewed, Value, notation};
use serde_json::json;

/// List the resources of a type that an actor may do something to
#[derive(Debug, clap::Args)]
#[command(after_help = "`portcullis review` lists everything that an actor may do.

Examples:
  portcullis list User:alice read Repository
  portcullis list User:alice read Repository --policy policy.polar --facts facts.txt")]
pub(in crate::cli) struct Args {
    /// The actor, for example User:alice
    #[arg(value_parser = notation::value)]
    actor: Value,
    /// The action, for example read
    action: String,
    /// The type of the resources, for example Repository
    #[arg(value_name = "TYPE")]
    resource_type: String,
    #[command(flatten)]
    asked: AskedArgs,
    #[command(flatten)]
    pub(in crate::cli) output: FormatArgs,
}

pub(in crate::cli) fn run(args: Args) -> Result<Verdict, CliError> {
    let Args { actor, action, resource_type, asked, output } = args;
    let source = Source::of(asked.origin()?)?;
    let mut ids: Vec<String> = Vec::new();
    let refused = source.each_listed(&Reviewed::Actor(actor.clone()), &resource_type, &action, |id| {
        ids.push(id.to_owned());
        Ok(())
    })?;
    if let Some(refused) = refused {
        return Err(CliError::Unanswered { message: refused.message, code: refused.code });
    }
    let names = QuestionNames::of_check(&[&actor.ty, &resource_type], Some(&action));
    let text: Vec<String> = ids.iter().map(|id| shown::listed(&resource_type, id)).collect();
    let unknown = ids.is_empty().then_some(&names);
    super::print(&source, output.format(), &text.join("\n"), &json!({ "results": ids }), unknown)
}
