//! Asks the service for the SQL of one question at a time, and the database for its plan.

use super::known::KnownDatabase;
use super::node;
use super::questions::{Form, PermissionQuestion};
use super::sample::Sample;
use super::step::{AskedStatement, DatabasePlan, Slow};
use super::{ExplainedStatement, PlanOutcome, never, postgresql, sqlite};
use crate::cli::bindings::database::{Database, PostgresqlPlan, PrintedPlan};
use crate::cli::bindings::postgresql::MOST_SECONDS;
use crate::cli::error::CliError;
use crate::engine::{Engine, LocalExplanation, LocalQuestion, LocalRequest, Value};
use crate::http::ErrorCode;
use portcullis_compiler::ir::Program;

/// Explains one statement at a time.
pub(super) struct StatementExplainer<'s> {
    pub(super) program: &'s Program,
    /// The text of the document.
    pub(super) text: &'s str,
    pub(super) engine: &'s Engine,
    pub(super) database: &'s Database,
    /// Whether statements are also run and measured.
    pub(super) runs: bool,
    pub(super) known: KnownDatabase,
}

/// The values that a question is about.
#[derive(Clone, Copy)]
pub(super) struct GivenSamples<'s> {
    pub(super) actor: &'s Sample,
    pub(super) resource: &'s Sample,
}

impl GivenSamples<'_> {
    /// Explains the question about the first value, and about the last one if that gets another plan: the
    /// first may be one who may do more, or less, than most.
    pub(super) async fn explained(
        self,
        asked: &PermissionQuestion,
        explainer: &mut StatementExplainer<'_>,
    ) -> Result<Vec<ExplainedStatement>, CliError> {
        let Self { actor, resource } = self;
        let first = explainer.explained(asked, self, (&actor.id, &resource.id), None).await?;
        let other = match asked.form {
            Form::Check | Form::List | Form::Actions => {
                actor.last.as_ref().map(|id| (id.as_str(), resource.id.as_str()))
            }
            Form::Subjects => resource.last.as_ref().map(|id| (actor.id.as_str(), id.as_str())),
        };
        let last = match other {
            Some(ids) => Some(explainer.explained(asked, self, ids, Some(&first)).await?),
            None => None,
        };
        let last = last.filter(|last| last.has_another_plan(&first));
        Ok([first].into_iter().chain(last).collect())
    }
}

impl StatementExplainer<'_> {
    /// Explains one question. The plan of a statement that the `first` one had is not asked for again.
    async fn explained(
        &mut self,
        asked: &PermissionQuestion,
        given: GivenSamples<'_>,
        (actor, resource): (&str, &str),
        first: Option<&ExplainedStatement>,
    ) -> Result<ExplainedStatement, CliError> {
        let question = question(asked, given, actor, resource);
        let request = LocalRequest { bindings: self.text.to_owned(), question, context: Vec::new() };
        let outcome = match self.engine.explain_local(request).await {
            Err(error) => {
                let reason = error.to_string();
                PlanOutcome::Refused { code: ErrorCode::from(error), reason }
            }
            Ok(text) if is_never(&text.sql) => {
                PlanOutcome::Never { reason: never::reason(self.program, asked) }
            }
            Ok(text) => match first.filter(|first| first.sql() == Some(&text.sql)) {
                Some(first) => first.outcome.clone(),
                None => self.planned(asked, given, text).await?,
            },
        };
        Ok(ExplainedStatement {
            asked: asked.clone(),
            actor: actor.to_owned(),
            resource: resource.to_owned(),
            is_last: first.is_some(),
            outcome,
        })
    }

    /// Asks the database for the plan of a text.
    async fn planned(
        &mut self,
        asked: &PermissionQuestion,
        given: GivenSamples<'_>,
        LocalExplanation { sql, rules, slow, .. }: LocalExplanation,
    ) -> Result<PlanOutcome, CliError> {
        let listed = given.listed(asked.form);
        let statement = match listed {
            None => sql.clone(),
            Some(sample) => match &sample.rows {
                Some(rows) => rows.filtered(&sql),
                None => return Ok(PlanOutcome::NoRows { sql, ty: sample.ty.clone() }),
            },
        };
        let about = AskedStatement {
            text: &statement,
            listed: listed.map(|sample| sample.ty.as_str()),
            rule_lines: rules.iter().map(|rule| rule.line).collect(),
        };
        Ok(match self.plan(&about).await? {
            Ok(mut plan) => {
                plan.blame(&slow);
                PlanOutcome::Planned { sql, statement, plan }
            }
            Err(reason) => PlanOutcome::Failed { sql, statement, reason },
        })
    }

    /// The database's plan of a statement, judged, or its reason for refusing it.
    async fn plan(&mut self, about: &AskedStatement<'_>) -> Result<Result<DatabasePlan, String>, CliError> {
        let printed = match self.database.plan(about.text, self.runs).await? {
            Ok(printed) => printed,
            Err(reason) => return Ok(Err(reason)),
        };
        let PostgresqlPlan { json, is_stopped } = match printed {
            PrintedPlan::Sqlite(lines) => return Ok(Ok(sqlite::judge(&lines, about.text))),
            PrintedPlan::Postgresql(plan) => plan,
        };
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
            if !self.known.tables.contains_key(&table)
                && let Some(size) = self.database.table_size(&table.0, &table.1).await?
            {
                self.known.tables.insert(table, size);
            }
        }
        let mut judged = postgresql::judge(&explained, about, &self.known);
        if is_stopped {
            let what = format!("did not end within {MOST_SECONDS} seconds");
            judged.slow.insert(0, Slow { what, help: Vec::new() });
        }
        Ok(Ok(judged))
    }
}

impl<'s> GivenSamples<'s> {
    /// The type whose rows a question filters.
    fn listed(self, form: Form) -> Option<&'s Sample> {
        match form {
            Form::Check | Form::Actions => None,
            Form::List => Some(self.resource),
            Form::Subjects => Some(self.actor),
        }
    }
}

/// What the service is asked.
fn question(
    asked: &PermissionQuestion,
    given: GivenSamples<'_>,
    actor: &str,
    resource: &str,
) -> LocalQuestion {
    let listed = given.listed(asked.form).and_then(|sample| sample.rows.as_ref());
    let column = listed.map_or_else(|| "id".to_owned(), |rows| rows.column.clone());
    let actor = Value { ty: asked.actor.clone(), id: actor.to_owned() };
    let resource = Value { ty: asked.resource.clone(), id: resource.to_owned() };
    match (&asked.action, asked.form) {
        (None, _) | (_, Form::Actions) => LocalQuestion::Actions { actor, resource },
        (Some(action), Form::Check) => LocalQuestion::Authorize { actor, action: action.clone(), resource },
        (Some(action), Form::List) => {
            LocalQuestion::List { actor, action: action.clone(), resource_type: resource.ty, column }
        }
        (Some(action), Form::Subjects) => {
            LocalQuestion::Subjects { actor_type: actor.ty, action: action.clone(), resource, column }
        }
    }
}

/// The beginning of a list of actions that is empty with any rows in the database.
const NO_ACTIONS: [&str; 2] = [
    "SELECT a.actions FROM ( SELECT DISTINCT r.c0 AS actions FROM ( SELECT CAST(NULL AS TEXT) AS c0 WHERE false ) AS r",
    "SELECT a.actions FROM ( SELECT DISTINCT r.c0 AS actions FROM ( SELECT NULL AS c0 WHERE false ) AS r",
];

/// Whether the SQL allows nothing, with any rows in the database.
fn is_never(sql: &str) -> bool {
    let words: Vec<&str> = sql.split_whitespace().collect();
    let sql = words.join(" ");
    ["SELECT FALSE AS allowed", "FALSE"].iter().any(|never| sql.eq_ignore_ascii_case(never))
        || NO_ACTIONS.iter().any(|never| sql.starts_with(never))
}
