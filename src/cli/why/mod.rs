//! `portcullis why`: why a question is answered as it is.
//!
//! In: a policy and facts in files, a data folder, or a running service. Out: what `POST /explain` answers,
//! as a tree for people or as that JSON. Without a service, an engine in memory answers. With data bindings,
//! the question is a local check on the database that they describe.

mod database;
mod logged;
mod replay;
#[cfg(test)]
mod tests;
mod tree;

use super::ask::names;
use super::error::{ArgumentError, CliError, UsageError};
use super::facts_file::{self, FactJson};
use super::folder::{EnvironmentState, HeldFolder};
use super::origin::{FolderArgs, Origin, ServiceArgs};
use super::output::{self, Format, FormatArgs};
use super::{Verdict, compile, folder, local, serve};
use crate::engine::{Engine, Fact, QuestionNames, WhyQuestion, builtin, conjunction_of, given_value};
use crate::http::WhyOut;
use database::Explainer;
use portcullis_compiler::question::{Question, QuestionAtom};
use replay::Replay;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tokio::runtime::Runtime;

/// Say why a question is answered yes or no
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A yes is shown as a proof: each rule with its line, and the facts that it uses. A no shows what
each rule lacks and which facts would turn it into a yes, with the other actions that they would
allow or deny. A question for values (Repo:? or Repo:_)
is a yes if any value exists.

--bindings and --database explain the local check on your own database. Its facts and those of the
file or the service count together; it is read in one read-only transaction, with several small
statements. PostgreSQL and SQLite addresses are as for `portcullis bindings check`.

With --data the policy and the facts are those of a data folder, which is read into memory and not
changed; its service may be running. With --bindings, the facts of the database count as well.

--request looks up the decisions of a request in a decision log and explains them, with the policy
version that made them, their time, and the current facts: those of the service, or with --data of a
data folder.

Examples:
  portcullis why policy.polar 'allow(User:alice, \"read\", Repo:anvils)' --facts facts.txt
  portcullis why 'allow(User:alice, \"read\", Repo:anvils)'
  portcullis why policy.polar 'has_role(User:alice, \"owner\", Repo:_)' --json
  portcullis why policy.polar 'allow(User:alice, \"read\", Repo:anvils)' \\
      --context 'is_public(Repo:anvils)'
  portcullis why policy.polar 'allow(User:1, \"read\", Issue:7)' --bindings bindings.yaml \\
      --database sqlite:app.db
  portcullis why 'allow(User:1, \"read\", Issue:7)' --url https://authz.example.com \\
      --bindings bindings.yaml --database postgresql:///app
  portcullis why --data /var/lib/portcullis 'allow(User:alice, \"read\", Repo:anvils)'
  portcullis why --request 9f0c1d2e-7 --decision-log decisions.log
  portcullis why --request 9f0c1d2e-7 --decision-log decisions.log --data /var/lib/portcullis"
)]
pub(super) struct Args {
    /// The question, for example 'allow(User:alice, "read", Repo:anvils)', after a policy file if it is about
    /// one; without one, a service or a data folder is asked about its own
    #[arg(value_names = ["POLICY", "QUESTION"], num_args = 0..=2)]
    #[arg(required_unless_present = "request", conflicts_with = "request")]
    asked: Vec<String>,
    /// The facts of the policy file: one per line, in the notation of questions or as JSON
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "key_file", "config", "data", "request"])]
    facts: Option<PathBuf>,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    folder: FolderArgs,
    /// Explain the decisions of the request with this id
    #[arg(long, value_name = "ID", requires = "decision_log")]
    request: Option<String>,
    /// The decision log to search, with its older files
    #[arg(long, value_name = "FILE", requires = "request")]
    decision_log: Option<PathBuf>,
    /// Data bindings: explain the local check on the database that they describe
    #[arg(long, value_name = "FILE", requires = "database", conflicts_with = "request")]
    bindings: Option<PathBuf>,
    /// The database: postgresql://[USER[:PASSWORD]@][HOST[:PORT]]/[NAME], or sqlite:FILE
    #[arg(long, value_name = "URL", requires = "bindings")]
    database: Option<String>,
    /// A fact that counts for this question alone, in the notation of questions or as JSON; may be repeated
    #[arg(long, value_name = "FACT", value_parser = facts_file::fact, conflicts_with = "request")]
    context: Vec<Fact>,
    #[command(flatten)]
    pub(super) output: FormatArgs,
}

/// A question, with its context facts.
#[derive(Clone, Debug)]
struct AskedWhy {
    question: WhyQuestion,
    context: Vec<Fact>,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let format = args.output.format();
    let Args { asked, facts, service, folder, request, decision_log, bindings, database, context, .. } = args;
    let colours = output::is_coloured(&std::io::stdout());
    let (policy, asked) = positions(asked)?;
    if facts.is_some() && policy.is_none() {
        return Err(ArgumentError::FactsWithoutPolicy.into());
    }
    let origin = Origin::of(policy, facts, service, folder)?;
    let text = match (&origin, asked, request, decision_log) {
        (origin, None, Some(request), Some(log)) => {
            let mut replay = Replay::on(origin)?.ok_or(UsageError::NothingExplained)?;
            let explained = logged::explained(&mut replay, &log, &request)?;
            match format {
                Format::Text => {
                    explained.iter().map(|each| each.text(colours)).collect::<Vec<_>>().join("\n")
                }
                Format::Json => format!("{:#}", json!(explained)),
            }
        }
        (origin, Some(text), _, _) => {
            let question = parsed(origin.policy(), &text)?;
            let asked = AskedWhy { question: why_question(&question, &text)?, context };
            let why = explanation(origin, bindings.zip(database), asked)?;
            if let (false, Origin::Service(service)) = (why.allowed, origin) {
                names::warn(&QuestionNames::of_question(&question), &service.policy());
            }
            match format {
                Format::Text => tree::text(&text, &why, colours),
                Format::Json => format!("{:#}", json!(why)),
            }
        }
        (_, None, _, _) => return Err(UsageError::NothingExplained.into()),
    };
    output::to_stdout(&text)?;
    Ok(Verdict::Good)
}

/// The policy file and the question, which may stand on both sides of an option.
fn positions(given: Vec<String>) -> Result<(Option<PathBuf>, Option<String>), ArgumentError> {
    let mut given = given.into_iter();
    match (given.next(), given.next(), given.next()) {
        (_, _, Some(third)) => Err(ArgumentError::ManyQuestions(third)),
        (Some(policy), Some(question), None) => Ok((Some(policy.into()), Some(question))),
        (question, ..) => Ok((None, question)),
    }
}

/// The explanation of the service, of an engine in memory, or of the database with these bindings.
fn explanation(
    origin: &Origin,
    local: Option<(PathBuf, String)>,
    asked: AskedWhy,
) -> Result<WhyOut, CliError> {
    let on_database = |explainer, (bindings, database): (PathBuf, String)| {
        serve::runtime()?.block_on(database::explained(explainer, &bindings, &database, &asked))
    };
    match (origin, local) {
        (Origin::Folder { folder, .. }, local) => of_folder(folder, local, asked),
        (Origin::Service(service), None) => service.answer("explain?effects=true", &body(&asked)),
        (Origin::Service(service), Some(local)) => on_database(Explainer::Service(service), local),
        (Origin::Files { policy, facts }, None) => of_files(policy, facts.as_deref(), asked),
        (Origin::Files { policy, facts }, Some(local)) => {
            on_database(Explainer::Files { policy, facts: facts.as_deref() }, local)
        }
    }
}

/// The question in an argument.
fn parsed(policy: Option<&Path>, text: &str) -> Result<Question, CliError> {
    match policy {
        Some(policy) => compile::question_on(policy, text),
        None => compile::question(text),
    }
}

/// What a question asks: a check, or a conjunction.
fn why_question(question: &Question, text: &str) -> Result<WhyQuestion, CliError> {
    if let Some(check) = check(question) {
        return Ok(check);
    }
    let query = conjunction_of(question);
    let refused = |reason| CliError::Unexplained { question: text.to_owned(), reason };
    query.map(WhyQuestion::Evaluate).map_err(refused)
}

fn check(question: &Question) -> Option<WhyQuestion> {
    let [QuestionAtom { predicate, args }] = question.atoms.as_slice() else { return None };
    let value = |place: usize| given_value(&question.vars[*args.get(place)?]);
    if predicate != builtin::ALLOW || args.len() != 3 {
        return None;
    }
    let action = value(1).filter(|action| action.ty == portcullis_compiler::primitive::STRING)?;
    Some(WhyQuestion::Authorize { actor: value(0)?, action: action.id, resource: value(2)? })
}

/// The explanation of an engine that holds the files.
fn of_files(policy: &Path, facts: Option<&Path>, asked: AskedWhy) -> Result<WhyOut, CliError> {
    serve::runtime()?.block_on(async {
        let engine = local::engine(policy, facts).await?;
        Ok(WhyOut::from(&engine.explain_with_effects(asked.question, asked.context).await?))
    })
}

/// The explanation of an engine that holds an environment of a data folder, with the facts of the database if
/// there is one.
fn of_folder(folder: &Path, local: Option<(PathBuf, String)>, asked: AskedWhy) -> Result<WhyOut, CliError> {
    let runtime = serve::runtime()?;
    let HeldFolder { engine, state } = folder::hold(folder, None, &runtime)?;
    let Some((bindings, database)) = local else { return of_held(&engine, state, asked, &runtime) };
    let explainer = Explainer::Held(&engine);
    let why = runtime.block_on(database::explained(explainer, &bindings, &database, &asked))?;
    Ok(state.of(why))
}

/// The explanation of an engine that holds a data folder in this state.
fn of_held(
    engine: &Engine,
    state: EnvironmentState,
    asked: AskedWhy,
    runtime: &Runtime,
) -> Result<WhyOut, CliError> {
    let why = WhyOut::from(&runtime.block_on(engine.explain_with_effects(asked.question, asked.context))?);
    Ok(state.of(why))
}

impl EnvironmentState {
    /// An explanation with the version and the offset of the folder, which the engine that holds it does not
    /// know.
    fn of(self, why: WhyOut) -> WhyOut {
        WhyOut { policy_version: self.policy_version, offset: self.offset, ..why }
    }
}

/// The body of the request to a service.
fn body(AskedWhy { question, context }: &AskedWhy) -> Value {
    let mut body = match question {
        WhyQuestion::Authorize { actor, action, resource } => json!({
            "actor_type": actor.ty, "actor_id": actor.id, "action": action,
            "resource_type": resource.ty, "resource_id": resource.id,
        }),
        WhyQuestion::Evaluate(query) => local::evaluate_body(query),
    };
    if let (false, Value::Object(body)) = (context.is_empty(), &mut body) {
        let facts: Vec<FactJson> = context.iter().cloned().map(FactJson::from).collect();
        body.insert("context_facts".to_owned(), json!(facts));
    }
    body
}
