//! `bindings check --explain`: what the service returns for each permission, and the database's plan for it.
//!
//! In: a policy, the document, and an open database. Out: for each permission of each resource type, for each
//! type of actor, the SQL of a check, of a list and of a list of actors, and for each two types that of the
//! actions; with the database's plan, in which slow steps are marked, and the rules that they come from. If
//! another actor, or another resource of a list of actors, gets another plan, it follows.
//!
//! ```text
//! policy ─questions─▶ asked ─engine─▶ SQL ─EXPLAIN─▶ plan ─judge─▶ steps with what is slow ─report─▶ text, JSON
//! database ─sample─▶ ids ──┘
//! ```
//!
//! The engine is the one of the service, without a store unless facts are given, so the texts are what the
//! service returns. A question that it or the database refuses is reported with the reason, and the others
//! go on.

mod asked;
mod known;
mod lookup;
mod mention;
mod never;
mod node;
mod postgresql;
mod questions;
mod reading;
mod report;
mod sample;
mod sqlite;
mod step;
mod summary;

use super::database::Database;
use super::live::Live;
use crate::cli::error::CliError;
use crate::cli::progress::ProgressLine;
use crate::engine::Engine;
use crate::http::ErrorCode;
use asked::{GivenSamples, StatementExplainer};
use known::KnownDatabase;
use never::NeverReason;
use portcullis_compiler::bindings::Bindings;
use portcullis_compiler::ir::Program;
use questions::PermissionQuestion;
use sample::Sample;
use std::collections::BTreeMap;
use step::DatabasePlan;

/// Everything that is explained.
#[derive(Debug, Default)]
pub(super) struct Explanations {
    /// The ids in the questions, by type.
    samples: BTreeMap<String, Sample>,
    /// One or two for each question.
    statements: Vec<ExplainedStatement>,
}

/// One statement.
#[derive(Debug)]
struct ExplainedStatement {
    asked: PermissionQuestion,
    /// The actor's id, of a question about one.
    actor: String,
    /// The resource's id, of a question about one.
    resource: String,
    /// Whether one of them is another than in the first statement of the question.
    is_last: bool,
    outcome: PlanOutcome,
}

/// What became of a question.
#[derive(Clone, Debug)]
enum PlanOutcome {
    /// No rule leads from this type of actor to the permission.
    Never { reason: NeverReason },
    /// The service refuses it.
    Refused { code: ErrorCode, reason: String },
    /// There are no rows that a condition could filter.
    NoRows {
        /// The condition's text.
        sql: String,
        /// The type of the rows.
        ty: String,
    },
    /// The database refuses the statement.
    Failed { sql: String, statement: String, reason: String },
    /// The database's plan.
    Planned { sql: String, statement: String, plan: DatabasePlan },
}

/// What is explained.
pub(super) struct Subject<'s> {
    pub(super) program: &'s Program,
    /// The document, and its text.
    pub(super) bindings: &'s Bindings,
    pub(super) text: &'s str,
    pub(super) live: &'s Live,
    /// What would correct the document, as `--fix` names it.
    pub(super) changes: Vec<String>,
    /// Whether statements are also run and measured.
    pub(super) runs: bool,
}

/// Explains every question of a policy.
pub(super) async fn explain(
    subject: Subject<'_>,
    engine: &Engine,
    database: &Database,
) -> Result<Explanations, CliError> {
    let Subject { program, bindings, text, live, changes, runs } = subject;
    let known = KnownDatabase::new(program, bindings, live, changes);
    let mut explainer = StatementExplainer { program, text, engine, database, runs, known };
    let mut found = Explanations { samples: BTreeMap::new(), statements: Vec::new() };
    let progress = ProgressLine::of_parts("questions explained");
    for (done, asked) in (1..).zip(questions::questions(program)) {
        for ty in [&asked.actor, &asked.resource] {
            if !found.samples.contains_key(ty) {
                found.samples.insert(ty.clone(), Sample::read(ty, bindings, live, database).await?);
            }
        }
        let (Some(actor), Some(resource)) =
            (found.samples.get(&asked.actor), found.samples.get(&asked.resource))
        else {
            continue;
        };
        let given = GivenSamples { actor, resource };
        found.statements.extend(given.explained(&asked, &mut explainer).await?);
        progress.reached(done);
    }
    Ok(found)
}
