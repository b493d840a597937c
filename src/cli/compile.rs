//! `portcullis compile`: the SQL that answers a question.
//!
//! Without data bindings, it is SQL over the tables that the policy implies, see [`engine::review_tables`].
//! With them it is what the service would answer for the caller's own database, see [`super::local`].

use super::ask::names::warn_in;
use super::error::{ArgumentError, CliError};
use super::local::LocalArgs;
use super::output::{self, Format, FormatArgs};
use super::policy_file::PolicyFile;
use super::{Verdict, serve};
use crate::engine::{self, EngineError, QuestionNames, notation};
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::{Answer, AnswerColumn, Question, RefusedIf};
use portcullis_compiler::{Dialect, bindings, compile_text};
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Print the SQL that answers a question
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The policy file
    policy: PathBuf,
    /// The question, for example 'allow(User:alice, "read", Repo:?)'
    question: String,
    /// The SQL dialect to write: sqlite or postgresql
    #[arg(long, default_value_t = Dialect::Sqlite)]
    dialect: Dialect,
    #[command(flatten)]
    local: LocalArgs,
    #[command(flatten)]
    pub(super) output: FormatArgs,
}

const EXAMPLES: &str = r#"A question names a predicate and its arguments:
  User:alice, "read", 7, true   a value, a String, an Integer, a Boolean
  User:"a \"b\"", User:"\u{1b}"  an id with other characters, with the escapes of policies
  Repo:?, ?                     which values of this type, of any type
  Repo:?r, ?r                   the same; every ?r in the question is the same value
  Repo:_, _                     some value, which is not returned
Calls are joined by `and`: 'has_role(User:?u, "admin", Org:acme) and allow(User:?u, "read", Repo:x)'

Without --bindings the statement reads one table for each kind of fact that the policy can store,
named after the predicate and its types, with text columns arg0, arg1, and so on: a fact
has_role(User, String, Repo) is a row of has_role_user_string_repo.

With --bindings it reads your own tables, and is what the service answers to /authorize_query,
/actions_query, /list_query and /evaluate_query_local, so that it can be reviewed and kept next to
the policy.

With --format json the document has the SQL in `sql`, and without --bindings in `refused_if` a
statement that says whether the answer is incomplete, with the message that is then right, or null.

Examples:
  portcullis compile policy.polar 'allow(User:alice, "read", Repo:anvils)'
  portcullis compile policy.polar 'allow(User:alice, "read", Repo:?)' --dialect postgresql
  portcullis compile policy.polar 'allow(User:alice, ?, Repo:anvils)' | sqlite3 facts.db
  portcullis compile policy.polar 'allow(User:alice, "read", Repo:?)' --bindings bindings.yaml
  portcullis compile policy.polar 'allow(User:alice, "read", Repo:?)' --bindings bindings.yaml \
    --facts facts.txt --filter repositories.id"#;

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    if let Some(bindings) = &args.local.bindings {
        return local(args, bindings);
    }
    let (question, program) = read(&args.question, &args.policy)?;
    let catalog = engine::review_tables(&program)?;
    let now = engine::unix_time();
    let statement = compile_text(&program, &catalog, &question, args.dialect, now)
        .map_err(|error| EngineError::uncompiled(error, &question))?;
    let refused_if = statement.refused_if.map(|RefusedIf { sql, refusal, .. }| {
        let message = question.refused(refusal).message.replace('\n', " ");
        (sql, message)
    });
    let sql = statement.sql.trim_end();
    output::to_stdout(&match args.output.format() {
        Format::Text => {
            let refusal = refused_if.map_or_else(String::new, |(sql, message)| {
                format!(
                    "-- the second statement is the complete answer only if this one is false:\n-- {message}\n{sql};\n\n"
                )
            });
            format!("{refusal}{}{sql};", legend(&question, &statement.answer))
        }
        Format::Json => {
            let refused_if = refused_if.map(|(sql, message)| json!({ "sql": sql, "message": message }));
            format!("{:#}", json!({ "sql": sql, "refused_if": refused_if }))
        }
    })?;
    Ok(Verdict::Good)
}

/// Prints what the service would answer.
fn local(args: &Args, file: &Path) -> Result<Verdict, CliError> {
    let sql = serve::runtime()?.block_on(async {
        let (engine, request) = args.local.prepare(&args.policy, &args.question, file).await?;
        if let Some(note) = bindings::parse(&request.bindings).ok().and_then(|bound| bound.sync_note()) {
            output::to_stderr(&format!("note: `{}`: {note}", file.display()));
        }
        Ok::<_, CliError>(engine.local(request).await?)
    })?;
    let sql = sql.trim_end();
    output::to_stdout(&match args.output.format() {
        Format::Text if args.local.is_condition() => sql.to_owned(),
        Format::Text => format!("{sql};"),
        Format::Json => format!("{:#}", json!({ "sql": sql })),
    })?;
    Ok(Verdict::Good)
}

/// Reads a question and a policy. Warns of each name in the question that the policy does not have.
pub(super) fn read(text: &str, policy: &Path) -> Result<(Question, Program), CliError> {
    let question = question_on(policy, text)?;
    let program = PolicyFile::program(policy)?;
    warn_in(&QuestionNames::of_question(&question), &program);
    engine::check_predicates(&program, &question)?;
    Ok((question, program))
}

/// Parses the question in an argument.
pub(super) fn question(text: &str) -> Result<Question, CliError> {
    notation::parse(text).map_err(|error| ArgumentError::Notation { question: text.to_owned(), error }.into())
}

/// Parses the question about a policy, and says so if the two arguments are exchanged.
pub(super) fn question_on(policy: &Path, text: &str) -> Result<Question, CliError> {
    question(text).map_err(|error| {
        let is_question = policy.to_str().is_some_and(|policy| notation::parse(policy).is_ok());
        if is_question { ArgumentError::Exchanged(text.to_owned()).into() } else { error }
    })
}

/// Describes the columns of the answer in comments.
fn legend(question: &Question, answer: &Answer) -> String {
    let columns = match answer {
        Answer::Decision => return "-- one row: is there an answer?\n".to_owned(),
        Answer::Rows(columns) => columns.as_slice(),
        Answer::Part(_) => &[],
    };
    let mut text = "-- one row for each answer; NULL means any value\n".to_owned();
    for (position, column) in (1..).zip(columns) {
        let (part, var) = match column {
            AnswerColumn::Id(var) => ("id", *var),
            AnswerColumn::Type(var) => ("type", *var),
        };
        let place = question.atoms.iter().find_map(|atom| atom.args.iter().position(|&arg| arg == var));
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "-- column {position}: the {part} of argument {}",
            place.unwrap_or(var.index()) + 1
        );
    }
    text
}
