//! `portcullis compile`: the SQL that answers a question.

use super::error::CliError;
use super::policy_file::PolicyFile;
use super::{Verdict, output, tables};
use crate::engine::{self, notation};
use portcullis_compiler::question::{Answer, AnswerColumn, Question};
use portcullis_compiler::{Dialect, compile_text};
use std::fmt::Write;
use std::path::PathBuf;

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
}

const EXAMPLES: &str = r#"A question names a predicate and its arguments:
  User:alice, "read", 7, true   a value, a String, an Integer, a Boolean
  Repo:?, ?                     which values of this type, of any type
  Repo:?r, ?r                   the same; all ?r of a question are one value
  Repo:_, _                     some value, which does not matter
Calls are joined by `and`: 'has_role(User:?u, "admin", Org:acme) and allow(User:?u, "read", Repo:x)'

The statement reads one table for each kind of fact that the policy can store, named after the
predicate and its types, with text columns arg0, arg1, and so on: a fact has_role(User, String,
Repo) is a row of has_role_user_string_repo.

Examples:
  portcullis compile policy.polar 'allow(User:alice, "read", Repo:anvils)'
  portcullis compile policy.polar 'allow(User:alice, "read", Repo:?)' --dialect postgresql
  portcullis compile policy.polar 'allow(User:alice, ?, Repo:anvils)' | sqlite3 facts.db"#;

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let question = question(&args.question)?;
    let program = PolicyFile::program(&args.policy)?;
    engine::check_predicates(&program, &question)?;
    let catalog = tables::catalog(&program)?;
    let now = engine::unix_time();
    let statement = compile_text(&program, &catalog, &question, args.dialect, now)?;
    let refusal = statement.refusal.as_ref().map_or_else(String::new, |refusal| {
        let message = refusal.message.replace('\n', " ");
        format!(
            "-- the second statement is the whole answer only if this one is false:\n-- {message}\n{};\n\n",
            refusal.sql
        )
    });
    let legend = legend(&question, &statement.answer);
    output::to_stdout(&format!("{refusal}{legend}{};", statement.sql.trim_end()))?;
    Ok(Verdict::Good)
}

/// Reads the question of an argument.
pub(super) fn question(text: &str) -> Result<Question, CliError> {
    notation::parse(text).map_err(|error| CliError::Notation { question: text.to_owned(), error })
}

/// Says in comments what the columns of the answer mean.
fn legend(question: &Question, answer: &Answer) -> String {
    let columns = match answer {
        Answer::Decision => return "-- one row: is there an answer?\n".to_owned(),
        Answer::Rows(columns) => columns,
    };
    let mut text = "-- one row an answer; NULL stands for any value\n".to_owned();
    for (position, column) in (1..).zip(columns) {
        let (part, var) = match column {
            AnswerColumn::Id(var) => ("id", *var),
            AnswerColumn::Type(var) => ("type", *var),
        };
        let place = question.atoms.iter().find_map(|atom| atom.args.iter().position(|&arg| arg == var));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "-- column {position}: the {part} of argument {}", place.unwrap_or(var) + 1);
    }
    text
}
