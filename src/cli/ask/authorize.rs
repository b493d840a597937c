//! `portcullis authorize`: may an actor do something to a resource?

use crate::cli::error::{ArgumentError, CliError};
use crate::cli::origin::AskedArgs;
use crate::cli::output::FormatArgs;
use crate::cli::source::Source;
use crate::cli::{Verdict, compile};
use crate::engine::QuestionNames;
use crate::engine::{LocalQuestion, Value, allow_question, notation};
use serde_json::json;

/// Say whether an actor may do something to a resource
#[derive(Debug, clap::Args)]
#[command(after_help = "`portcullis why` explains the answer.

Examples:
  portcullis authorize User:alice read Repository:docs
  portcullis authorize User:alice read Repository:docs --exit-code && echo yes
  portcullis authorize 'allow(User:alice, \"read\", Repository:docs)' --policy policy.polar \\
      --facts facts.txt
  portcullis authorize User:alice read 'Repository:\"a b\"' --url https://authz.example.com")]
pub(in crate::cli) struct Args {
    /// The actor, the action and the resource; or one question such as 'allow(User:alice, "read", Repo:docs)'
    #[arg(required = true, num_args = 1..=3, value_name = "ACTOR ACTION RESOURCE")]
    question: Vec<String>,
    #[command(flatten)]
    asked: AskedArgs,
    /// Exit with code 1 if the answer is no (errors exit with 1, too)
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    pub(in crate::cli) output: FormatArgs,
}

pub(in crate::cli) fn run(args: Args) -> Result<Verdict, CliError> {
    let (actor, action, resource) = check(&args.question)?;
    let source = Source::of(args.asked.origin()?)?;
    let allowed = source.authorize(&actor, &action, &resource)?;
    let names = QuestionNames::of_check(&[&actor.ty, &resource.ty], Some(&action));
    let text = if allowed { "allowed" } else { "denied" };
    let document = json!({ "allowed": allowed });
    let verdict = super::print(&source, args.output.format(), text, &document, (!allowed).then_some(&names))?;
    Ok(if args.exit_code && !allowed { Verdict::Bad } else { verdict })
}

/// The actor, the action and the resource of the arguments.
fn check(words: &[String]) -> Result<(Value, String, Value), CliError> {
    match words {
        [question] => {
            let parsed = compile::question(question)?;
            match allow_question(&parsed, None) {
                Some(LocalQuestion::Authorize { actor, action, resource }) => Ok((actor, action, resource)),
                Some(
                    LocalQuestion::Actions { .. }
                    | LocalQuestion::List { .. }
                    | LocalQuestion::Subjects { .. }
                    | LocalQuestion::Evaluate { .. },
                )
                | None => Err(no_check(question)),
            }
        }
        [actor, action, resource] => Ok((value(actor)?, action.clone(), value(resource)?)),
        words => Err(no_check(&words.join(" "))),
    }
}

fn no_check(text: &str) -> CliError {
    ArgumentError::Check(text.to_owned()).into()
}

/// The value in an argument.
fn value(text: &str) -> Result<Value, CliError> {
    notation::value(text).map_err(|error| ArgumentError::Value { text: text.to_owned(), error }.into())
}
