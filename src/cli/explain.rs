//! `portcullis explain`: every stage between a policy and the SQL of a question.

use super::error::CliError;
use super::policy_file::PolicyFile;
use super::{Verdict, compile, output, tables};
use portcullis_compiler::question::Shape;
use portcullis_compiler::{Dialect, Explanation, explain};
use std::path::PathBuf;

/// Print every stage between a policy and the SQL of a question
#[derive(Debug, clap::Args)]
#[command(after_help = "The question and the tables are those of `portcullis compile`, see its --help.

Example:
  portcullis explain policy.polar 'allow(User:alice, \"read\", Repo:?)'")]
pub(super) struct Args {
    /// The policy file
    policy: PathBuf,
    /// The question, for example 'allow(User:alice, "read", Repo:?)'
    question: String,
    /// The SQL dialect to write: sqlite or postgresql
    #[arg(long, default_value_t = Dialect::Sqlite)]
    dialect: Dialect,
}

pub(super) fn run(args: &Args) -> Result<Verdict, CliError> {
    let question = compile::question(&args.question)?;
    let program = PolicyFile::program(&args.policy)?;
    let shape = Shape::of(&program, &question);
    let explanation = explain(&program, &tables::catalog(&program)?, &shape, args.dialect)?;
    output::to_stdout(&text(&explanation))?;
    Ok(Verdict::Good)
}

fn text(explanation: &Explanation) -> String {
    let Explanation { ir, specialised, collapsed, strata, plan, sql } = explanation;
    let stages = [
        ("the policy as typed rules", ir),
        ("the rules of this question", specialised),
        ("after collapsing hierarchies", collapsed),
        ("in the order of evaluation", strata),
        ("the plan", plan),
        ("the SQL", sql),
    ];
    stages.map(|(title, text)| format!("== {title} ==\n\n{}\n", text.trim_end())).join("\n")
}
