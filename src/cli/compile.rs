//! `portcullis compile`: the SQL that answers a question.

use super::error::CliError;
use super::policy_file::PolicyFile;
use super::{Verdict, output, tables};
use crate::engine::notation;
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

const EXAMPLES: &str = r#"A question names a predicate and its arguments: User:alice is a value, "read" a String, 7 an Integer,
true a Boolean; Repo:? asks which values of a type, ? of any type; _ stands for some value.
Calls can be joined: 'has_role(User:?u, "admin", Org:acme) and allow(User:?u, "read", Repo:x)'.

The statement reads one table for each kind of fact that the policy can store, named after the predicate
and its types: has_role(User, String, Repo) is has_role_user_string_repo(arg0, arg1, arg2), all text.

Examples:
  portcullis compile policy.polar 'allow(User:alice, "read", Repo:anvils)'
  portcullis compile policy.polar 'allow(User:alice, "read", Repo:?)' --dialect postgresql
  portcullis compile policy.polar 'allow(User:alice, ?, Repo:anvils)' | sqlite3 facts.db"#;

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let question = question(&args.question)?;
    let program = PolicyFile::program(&args.policy)?;
    let catalog = tables::catalog(&program)?;
    let now = crate::engine::unix_time();
    let statement = compile_text(&program, &catalog, &question, args.dialect, now)?;
    output::to_stdout(&format!("{}{};", legend(&question, &statement.answer), statement.sql.trim_end()))?;
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
