//! `portcullis query`: the values for which predicates hold.

use super::names::warn;
use crate::cli::error::{ArgumentError, CliError};
use crate::cli::origin::AskedArgs;
use crate::cli::output::FormatArgs;
use crate::cli::source::Source;
use crate::cli::{Verdict, compile, shown};
use crate::engine::QuestionNames;
use crate::engine::{ANY, Assignment, conjunction_of, wanted_columns};
use portcullis_compiler::question::{Domain, Question, QuestionVar};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// Find the values for which predicates hold
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The predicates may be facts, or follow by the rules of the policy. Each `Type:?` or `Type:?name`
is a column of the answer; `every Type` in it stands for all values, in JSON null or `*`. Without a
column the answer is yes or no.

Examples:
  portcullis query 'has_role(User:alice, String:?role, Repository:?repository)'
  portcullis query 'has_role(User:?u, \"admin\", Org:acme) and allow(User:?u, \"read\", Repo:docs)'
  portcullis query 'is_public(Repository:?)' --policy policy.polar --facts facts.txt"
)]
pub(in crate::cli) struct Args {
    /// The question, for example `has_role(User:alice, String:?role, Repository:docs)`
    question: String,
    #[command(flatten)]
    asked: AskedArgs,
    #[command(flatten)]
    pub(in crate::cli) output: FormatArgs,
}

pub(in crate::cli) fn run(args: Args) -> Result<Verdict, CliError> {
    let question = compile::question(&args.question)?;
    let refused = |reason| ArgumentError::Question { question: args.question.clone(), reason };
    let query = conjunction_of(&question).map_err(refused)?;
    let source = Source::of(args.asked.origin()?)?;
    let names = QuestionNames::of_question(&question);
    // A predicate that the policy does not have is refused, and the nearest one may be meant.
    let answers = source.evaluate(&query).inspect_err(|_| {
        warn(&names, &source.policy());
    })?;
    let found = Found::of(&question, &answers);
    let unknown = found.rows.is_empty().then_some(&names);
    super::print(&source, args.output.format(), &found.text(), &found.document(), unknown)
}

/// What was found.
struct Found<'q> {
    /// The name and the type of each wanted variable.
    columns: Vec<(String, &'q str)>,
    /// Its value in each answer, `None` for any; sorted.
    rows: BTreeSet<Vec<Option<String>>>,
}

impl<'q> Found<'q> {
    fn of(question: &'q Question, found: &[Assignment]) -> Self {
        let wanted: Vec<&QuestionVar> =
            question.vars.iter().filter(|var| matches!(var.domain, Domain::Wanted)).collect();
        let row = |assignment: &Assignment| {
            wanted.iter().map(|var| assignment.get(&var.name).cloned().flatten()).collect()
        };
        let names = wanted_columns(&wanted).into_iter().map(|(_, column)| column);
        // A conjunction has only variables with types.
        let types = wanted.iter().map(|var| var.ty.as_deref().unwrap_or(ANY));
        Self { columns: names.zip(types).collect(), rows: found.iter().map(row).collect() }
    }

    /// A table; yes or no without a column.
    fn text(&self) -> String {
        if self.columns.is_empty() {
            return if self.rows.is_empty() { "no" } else { "yes" }.to_owned();
        }
        let value = |((_, ty), id): (&(String, &str), &Option<String>)| {
            shown::listed(ty, id.as_deref().unwrap_or(ANY))
        };
        let values = self.rows.iter().map(|row| self.columns.iter().zip(row).map(value).collect());
        let header = (self.columns.len() > 1 && !self.rows.is_empty())
            .then(|| self.columns.iter().map(|(name, _)| name.clone()).collect());
        aligned(&header.into_iter().chain(values).collect::<Vec<_>>())
    }

    /// An object for each answer.
    fn document(&self) -> Json {
        let object = |row: &Vec<Option<String>>| -> Json {
            self.columns.iter().map(|(name, _)| name.clone()).zip(row.iter().map(|id| json!(id))).collect()
        };
        json!({ "results": self.rows.iter().map(object).collect::<Vec<_>>() })
    }
}

/// Rows whose cells are aligned in columns.
fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(at, cell)| format!("{cell:width$}", width = width(at)));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
