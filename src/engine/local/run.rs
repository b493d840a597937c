//! Makes the SQL of a local check: plans it, asks the store for its part, prints it.
//!
//! A plan without a part for the store depends only on the question's values, and similar questions share its
//! text: the text is printed once, and each question's values are substituted.

use super::documents::Document;
use super::question::{Asked, Wanted};
use super::{LocalQuestion, LocalRequest};
use crate::engine::answers::{SlotValues, Unanswered, row_query};
use crate::engine::catalog::{Context, ContextSignature};
use crate::engine::plans::{KeptPlan, Plans};
use crate::engine::view::View;
use crate::engine::{Engine, EngineError, questions};
use crate::store::{ConsistentRead, Expected, Param, Reader, StoreError, values};
use portcullis_compiler::Stage;
use portcullis_compiler::local::{
    Fetched, FilterVar, LocalError, LocalSql, SqlDetail, SqlForm, SqlRequest, Template, ValuePattern,
};
use portcullis_compiler::question::{Answer, Question, Shape, Statement};
use std::borrow::Cow;
use std::sync::Arc;

/// The key of a plan for a caller's database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) struct LocalKey {
    pub(in crate::engine) shape: Shape,
    pub(in crate::engine) context: Vec<ContextSignature>,
    /// The document's number.
    pub(in crate::engine) document: u64,
    /// What a plan depends on in a filter's form.
    pub(in crate::engine) filter: Option<FilterVar>,
}

impl LocalKey {
    /// The key of a question that is not a filter.
    pub(in crate::engine) fn of(
        plans: &Plans,
        question: &Question,
        context: &Context,
        document: &Document,
    ) -> Self {
        let shape = Shape::of(&plans.policy.program, question);
        Self { shape, context: context.signatures.clone(), document: document.number, filter: None }
    }
}

/// The key of a text for a caller's database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) struct TextKey {
    pub(in crate::engine) plan: LocalKey,
    form: SqlForm,
    value_pattern: ValuePattern,
}

impl TextKey {
    /// About how much memory its form and its values take.
    pub(in crate::engine) fn n_bytes(&self) -> usize {
        let form = match &self.form {
            SqlForm::Decision { name } | SqlForm::List { name } => name.len(),
            SqlForm::Rows { columns } => columns.iter().map(|(_, name)| name.len() + 32).sum(),
            SqlForm::Filter { column, .. } => 2 * column.text.len() + 32 * column.words.len(),
        };
        form + self.value_pattern.n_bytes()
    }
}

/// A planned question.
pub(super) struct Planned {
    pub(super) document: Arc<Document>,
    pub(super) plans: Arc<Plans>,
    plan: Arc<KeptPlan>,
    key: LocalKey,
    wanted: Wanted,
    view: View,
    most_values: usize,
}

impl Engine {
    /// Plans a question, or takes its plan from the cache.
    pub(super) async fn plan_local(
        &self,
        attempt: &ConsistentRead<'_>,
        request: &LocalRequest,
    ) -> Result<Planned, EngineError> {
        let document = self.document(&request.bindings).await?;
        let wanted = request.question.wanted(&document, self.settings().question_atoms)?;
        let view = match self.view(attempt, &request.context)? {
            Some(view) => {
                if let (LocalQuestion::Evaluate { .. }, Asked::Answerable(question)) =
                    (&request.question, &wanted.asked)
                {
                    questions::check_predicates(view.program(), question)?;
                }
                view
            }
            None => self.view_without_policy(attempt)?,
        };
        let plans = view.plans();
        let key = LocalKey {
            shape: Shape::of(view.program(), wanted.question()),
            context: view.context().signatures.clone(),
            document: document.number,
            filter: wanted.form.filter_var(),
        };
        let most_values = self.settings().embedded_values;
        let known = self.counted().local_plans.note(attempt.is_first(), plans.known_local(&key));
        let plan = if let Some(plan) = known {
            plan
        } else {
            plans.check_names(&key.context, &document)?;
            let (plans, document) = (Arc::clone(&plans), Arc::clone(&document));
            let key = key.clone();
            self.in_turn(move || plans.plan_local(key, &document, most_values)).await?
        };
        let plan = plan.map_err(|error| wanted.uncompiled(error))?;
        Ok(Planned { document, plans, plan, key, wanted, view, most_values })
    }

    /// The SQL of a planned question, as text.
    pub(super) async fn local_text(
        &self,
        attempt: &ConsistentRead<'_>,
        planned: Planned,
    ) -> Result<String, EngineError> {
        let Some(value_pattern) = planned.plan.plan.value_pattern(&planned.sql_request(SqlDetail::Sql))
        else {
            return Ok(self.local_sql(attempt, planned, SqlDetail::Sql).await?.1);
        };
        let key = TextKey { plan: planned.key.clone(), form: planned.wanted.form.clone(), value_pattern };
        let known = planned.plans.known_text(&key);
        let is_known = known.is_some();
        let make = move || {
            let template = match known {
                Some(template) => template,
                None => planned.plans.keep_text(key, planned.template_of_values()?),
            };
            text(&template, planned.wanted.question())
        };
        if is_known { make() } else { self.in_turn(make).await? }
    }

    /// The SQL of a planned question with the values from the store, and its text.
    pub(super) async fn local_sql(
        &self,
        attempt: &ConsistentRead<'_>,
        planned: Planned,
        detail: SqlDetail,
    ) -> Result<(LocalSql, String), EngineError> {
        self.with_facts(attempt, planned, move |planned, fetch| {
            let sql = planned.plan.plan.sql(&planned.sql_request(detail), fetch)?;
            Ok(text(&sql.template, planned.wanted.question()).map(|text| (sql, text)))
        })
        .await?
    }

    /// The result of each stage for a planned question.
    pub(super) async fn stages(
        &self,
        attempt: &ConsistentRead<'_>,
        planned: Planned,
    ) -> Result<Vec<Stage>, EngineError> {
        self.with_facts(attempt, planned, |planned, fetch| {
            planned.plan.plan.stages(&planned.sql_request(SqlDetail::Explained), fetch)
        })
        .await
    }

    /// Runs `make` on a planned question, with a function that fetches its parts from the store. An
    /// error of the store is one of the reading: a question that was not brief is asked again as a
    /// long one.
    async fn with_facts<T: Send + 'static>(
        &self,
        attempt: &ConsistentRead<'_>,
        planned: Planned,
        make: impl Fn(&Planned, Fetch<'_>) -> Result<T, LocalError<StoreError>> + Send + Sync + 'static,
    ) -> Result<T, EngineError> {
        let read = move |reader: &Reader| {
            let binding =
                SlotValues { context: planned.view.context(), now: planned.view.now(), window: None };
            let question = planned.wanted.question();
            reader.snapshot(|reader| {
                let mut failed = None;
                let made = make(&planned, &mut |statement: &Statement, most| {
                    fetch(reader, statement, most, &binding, question, &mut failed)
                });
                match (failed, made) {
                    (Some(failed), _) => Ok(Err(failed)),
                    (None, Ok(made)) => Ok(Ok(made)),
                    (None, Err(LocalError::Fetch(error))) => Err(error),
                    (None, Err(LocalError::Compile(error))) => Ok(Err(planned.wanted.uncompiled(error))),
                }
            })
        };
        attempt.read(Expected::Brief, read).await?
    }
}

impl Planned {
    /// The type whose ids a filter's column has.
    pub(super) fn filtered_type(&self) -> Option<&str> {
        let SqlForm::Filter { var, .. } = self.wanted.form else { return None };
        self.wanted.question().vars[var].ty.as_deref()
    }

    /// The same at another time.
    pub(super) fn at(self, now: i64) -> Self {
        Self { view: self.view.at(Some(now)), ..self }
    }
}

/// Asks the store for at most this many rows of a part.
type Fetch<'f> = &'f mut dyn FnMut(&Statement, usize) -> Result<Fetched, StoreError>;

impl Planned {
    fn sql_request(&self, detail: SqlDetail) -> SqlRequest<'_> {
        SqlRequest {
            program: &self.plans.policy.program,
            catalog: &self.plan.catalog,
            bindings: &self.document.bindings,
            question: self.wanted.question(),
            form: &self.wanted.form,
            now: self.view.now(),
            most_values: self.most_values,
            deadline: self.plans.deadline(),
            detail,
        }
    }

    /// The template of a plan without parts for the store.
    fn template_of_values(&self) -> Result<Template, EngineError> {
        let made = self.plan.plan.sql(&self.sql_request(SqlDetail::Sql), &mut |_, _| {
            Err(StoreError::Bug("a plan without parts asks the store".into()))
        });
        match made {
            Ok(sql) => Ok(sql.template),
            Err(LocalError::Compile(error)) => Err(self.wanted.uncompiled(error)),
            Err(LocalError::Fetch(error)) => Err(error.into()),
        }
    }
}

fn text(template: &Template, question: &Question) -> Result<String, EngineError> {
    template
        .text(question)
        .ok_or_else(|| EngineError::Bug("a text asks for a value its question does not have".into()))
}

/// Asks the store for at most `most` rows of a part. An error that is not of the store goes into `failed`.
fn fetch(
    reader: &Reader,
    statement: &Statement,
    most: usize,
    binding: &SlotValues<'_>,
    question: &Question,
    failed: &mut Option<EngineError>,
) -> Result<Fetched, StoreError> {
    let params = match binding.params(question, &statement.slots) {
        Ok(params) => params,
        Err(error) => {
            *failed = Some(error);
            return Err(StoreError::Bug("a part without its values".into()));
        }
    };
    read(reader, statement, most, &params).map_err(|error| match Unanswered::of(statement, error) {
        Unanswered::Refused(refused) => {
            *failed = Some(EngineError::Refused(refused));
            StoreError::TooManyReadings
        }
        Unanswered::Store(error) => error,
    })
}

/// Reads at most `most` rows of a statement.
fn read(
    reader: &Reader,
    statement: &Statement,
    most: usize,
    params: &[Param],
) -> Result<Fetched, StoreError> {
    match statement.answer {
        Answer::Decision => {
            let holds = reader.decision(&statement.sql, params)?;
            Ok(Fetched::Rows(if holds { vec![Vec::new()] } else { Vec::new() }))
        }
        Answer::Rows(_) | Answer::Part(_) => {
            let mut rows: Vec<Option<Vec<String>>> = Vec::new();
            let read = |row: &mut [Option<Cow<'_, str>>]| rows.push(values(row));
            let is_more = reader.first_rows(row_query(statement), params, most, read)?;
            let rows: Option<Vec<Vec<String>>> = rows.into_iter().collect();
            // A missing value means any value; in the caller's SQL it would be a single one.
            let any = || StoreError::Bug("a part of a local check answers with any value".into());
            let mut rows = rows.ok_or_else(any)?;
            if is_more {
                return Ok(Fetched::TooMany);
            }
            // The store's order may differ between runs; the text must not.
            rows.sort_unstable();
            Ok(Fetched::Rows(rows))
        }
    }
}
