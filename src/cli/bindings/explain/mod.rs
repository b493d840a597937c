//! `bindings check --explain`: what the service returns for each permission, and the database's plan for it.
//!
//! In: a policy, the document, and an open database. Out: for each permission of each resource type, for each
//! type of actor, the SQL of a check and of a list with the database's plan, in which slow steps are marked.
//! If another actor gets another plan, it follows.
//!
//! ```text
//! policy ─questions─▶ asked ─engine─▶ SQL ─EXPLAIN─▶ plan ─judge─▶ steps with what is slow ─report─▶ text, JSON
//! database ─sample─▶ ids ──┘
//! ```
//!
//! The engine is the one of the service, without a store unless facts are given, so the texts are what the
//! service returns. A question that it or the database refuses is reported with the reason, and the others
//! go on.

mod known;
mod mention;
mod never;
mod node;
mod postgresql;
mod questions;
mod report;
mod sample;
mod sqlite;
mod step;

use super::database::{Database, PostgresqlPlan, PrintedPlan};
use super::live::Live;
use super::postgresql::MOST_SECONDS;
use crate::cli::error::CliError;
use crate::engine::{Engine, LocalQuestion, LocalRequest, Value};
use crate::http::ErrorCode;
use known::KnownDatabase;
use portcullis_compiler::bindings::Bindings;
use portcullis_compiler::ir::Program;
use questions::PermissionQuestion;
use sample::Sample;
use std::collections::BTreeMap;
use step::{DatabasePlan, Slow};

/// Everything that is explained.
#[derive(Debug, Default)]
pub(super) struct Explanations {
    /// The ids in the questions, by type.
    samples: BTreeMap<String, Sample>,
    /// Two for each question.
    statements: Vec<ExplainedStatement>,
}

/// One statement.
#[derive(Debug)]
struct ExplainedStatement {
    asked: PermissionQuestion,
    form: Form,
    /// The actor's id.
    actor: String,
    /// Whether it is another one than the first.
    is_last: bool,
    outcome: PlanOutcome,
}

/// What the service is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Is the resource allowed?
    Check,
    /// A condition that the allowed resources meet.
    List,
}

/// What became of a question.
#[derive(Debug)]
enum PlanOutcome {
    /// No rule leads from this type of actor to the permission.
    Never { reason: String },
    /// The service refuses it.
    Refused { code: ErrorCode, reason: String },
    /// There are no rows that a condition could filter.
    NoRows {
        /// The condition's text.
        sql: String,
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
    let mut known = KnownDatabase::new(bindings, live, changes);
    let explainer = StatementExplainer { program, text, engine, database, runs };
    let mut found = Explanations { samples: BTreeMap::new(), statements: Vec::new() };
    for asked in questions::questions(program) {
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
        for form in [Form::Check, Form::List] {
            let first = explainer.explained(&asked, form, &actor.id, resource, &mut known).await?;
            // The first actor may be one who may do more, or less, than most.
            let last = match &actor.last {
                Some(id) => Some(explainer.explained(&asked, form, id, resource, &mut known).await?),
                None => None,
            };
            let last = last.filter(|last| last.has_another_plan(&first));
            let last = last.map(|last| ExplainedStatement { is_last: true, ..last });
            found.statements.extend([first].into_iter().chain(last));
        }
    }
    Ok(found)
}

/// Explains one statement at a time.
struct StatementExplainer<'s> {
    program: &'s Program,
    text: &'s str,
    engine: &'s Engine,
    database: &'s Database,
    runs: bool,
}

impl StatementExplainer<'_> {
    async fn explained(
        &self,
        asked: &PermissionQuestion,
        form: Form,
        actor: &str,
        resource: &Sample,
        known: &mut KnownDatabase,
    ) -> Result<ExplainedStatement, CliError> {
        let question = question(asked, form, actor, resource);
        let request = LocalRequest { bindings: self.text.to_owned(), question, context: Vec::new() };
        let outcome = match self.engine.local(request).await {
            Err(error) => {
                let reason = error.to_string();
                PlanOutcome::Refused { code: ErrorCode::from(error), reason }
            }
            Ok(sql) if is_never(&sql) => PlanOutcome::Never { reason: never::reason(self.program, asked) },
            Ok(sql) => match statement(form, &sql, resource) {
                None => PlanOutcome::NoRows { sql },
                Some(statement) => {
                    let listed = (form == Form::List).then_some(asked.resource.as_str());
                    match plan(&statement, self.runs, listed, self.database, known).await? {
                        Ok(plan) => PlanOutcome::Planned { sql, statement, plan },
                        Err(reason) => PlanOutcome::Failed { sql, statement, reason },
                    }
                }
            },
        };
        Ok(ExplainedStatement {
            asked: asked.clone(),
            form,
            actor: actor.to_owned(),
            is_last: false,
            outcome,
        })
    }
}

/// What the service is asked.
fn question(asked: &PermissionQuestion, form: Form, actor: &str, resource: &Sample) -> LocalQuestion {
    let actor = Value { ty: asked.actor.clone(), id: actor.to_owned() };
    match form {
        Form::Check => LocalQuestion::Authorize {
            actor,
            action: asked.action.clone(),
            resource: Value { ty: resource.ty.clone(), id: resource.id.clone() },
        },
        Form::List => LocalQuestion::List {
            actor,
            action: asked.action.clone(),
            resource_type: asked.resource.clone(),
            column: resource.rows.as_ref().map_or_else(|| "id".to_owned(), |rows| rows.column.clone()),
        },
    }
}

/// Whether the SQL allows nothing, with any rows in the database.
fn is_never(sql: &str) -> bool {
    ["SELECT FALSE AS allowed", "FALSE"].iter().any(|never| sql.trim().eq_ignore_ascii_case(never))
}

/// The statement that the database is asked about; `None` if there are no rows to list.
fn statement(form: Form, sql: &str, resource: &Sample) -> Option<String> {
    match form {
        Form::Check => Some(sql.to_owned()),
        Form::List => resource.rows.as_ref().map(|rows| rows.filtered(sql)),
    }
}

/// The database's plan of a statement, judged, or its reason for refusing it.
async fn plan(
    statement: &str,
    runs: bool,
    listed: Option<&str>,
    database: &Database,
    known: &mut KnownDatabase,
) -> Result<Result<DatabasePlan, String>, CliError> {
    let printed = match database.plan(statement, runs).await? {
        Ok(printed) => printed,
        Err(reason) => return Ok(Err(reason)),
    };
    match printed {
        PrintedPlan::Sqlite(lines) => Ok(Ok(sqlite::judge(&lines, statement))),
        PrintedPlan::Postgresql(PostgresqlPlan { json, is_stopped }) => {
            let read = serde_json::from_str::<node::StatementPlans>(&json);
            let explained = match read.map(|answer| answer.into_iter().next()) {
                Ok(Some(explained)) => explained,
                Ok(None) => return Ok(Err("the database returned no plan".to_owned())),
                Err(error) => return Ok(Err(format!("the plan cannot be read: {error}"))),
            };
            let mut tables = Vec::new();
            explained.plan.for_each(&mut |node| {
                tables.extend(node.table().map(|(schema, name)| (schema.to_owned(), name.to_owned())));
            });
            for table in tables {
                if !known.tables.contains_key(&table)
                    && let Some(size) = database.table_size(&table.0, &table.1).await?
                {
                    known.tables.insert(table, size);
                }
            }
            let mut judged = postgresql::judge(&explained, statement, known, listed);
            if is_stopped {
                let what = format!("did not end within {MOST_SECONDS} seconds");
                judged.slow.insert(0, Slow { what, help: None });
            }
            Ok(Ok(judged))
        }
    }
}
