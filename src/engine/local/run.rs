//! Makes the SQL of a local check: plans it, asks the store for its part, prints.

use super::documents::{Document, relations};
use super::question::Wanted;
use super::{LocalEmbedded, LocalExplanation, LocalRequest, LocalRule, notes};
use crate::engine::answers::Binding;
use crate::engine::catalog::{self, ContextSignature};
use crate::engine::plans::Plans;
use crate::engine::view::off_the_workers;
use crate::engine::{Engine, EngineError, questions};
use crate::store::{Reader, StoreError};
use portcullis_compiler::ir::Program;
use portcullis_compiler::local::{self, Asked, Fetched, Form, LocalError, LocalPlan, LocalSql};
use portcullis_compiler::question::{Answer, CompileError, Shape, Statement};
use std::sync::Arc;

/// What distinguishes two plans for callers' databases.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) struct LocalKey {
    shape: Shape,
    context: Vec<ContextSignature>,
    /// The document's number.
    document: u64,
    /// The variable of a filter.
    filter: Option<usize>,
}

impl Engine {
    /// The SQL, and if `explains` how it came about.
    pub(super) async fn local_sql(
        &self,
        request: LocalRequest,
        explains: bool,
    ) -> Result<(LocalSql, Arc<Document>, Arc<Plans>), EngineError> {
        let document = self.documents().parse(&request.bindings)?;
        let wanted = request.question.wanted(document.bindings.dialect, self.settings().question_atoms)?;
        let view = match self.view(&request.context)? {
            Some(view) => {
                if matches!(request.question, super::LocalQuestion::Evaluate { .. }) {
                    let asked = wanted.question.atoms.iter().filter(|atom| !atom.predicate.is_empty());
                    for atom in asked {
                        questions::check_predicate(view.program(), &atom.predicate, atom.args.len())?;
                    }
                }
                view
            }
            None => self.view_without_policy()?,
        };
        let plans = view.plans();
        let Wanted { question, form } = wanted;
        let by_position = questions::by_position(&question);
        let key = LocalKey {
            shape: Shape::of(view.program(), &by_position),
            context: view.context().signatures.clone(),
            document: document.number,
            filter: match form {
                Form::Filter { var, .. } => Some(var),
                Form::Decision { .. } | Form::Rows { .. } | Form::List { .. } => None,
            },
        };
        let most_values = self.settings().embedded_values;
        let plan = if let Some(plan) = self.counted().local_plans.note(plans.known_local(&key)) {
            plan
        } else {
            let (plans, document, form) = (Arc::clone(&plans), Arc::clone(&document), form.clone());
            off_the_workers(move || plans.plan_local(key, &document, &form, most_values))
                .await?
                .map_err(|error| refused(error, &question))?
        };
        let asked_document = Arc::clone(&document);
        let asked_plans = Arc::clone(&plans);
        let outcome = self
            .read(move |reader| {
                let asked = Asked {
                    program: &asked_plans.policy.program,
                    bindings: &asked_document.bindings,
                    question: &question,
                    form: &form,
                    now: view.now(),
                    most_values,
                    explains,
                };
                let binding = Binding { context: view.context(), now: view.now(), window: None };
                let made = reader.snapshot(|reader| {
                    let mut failed = None;
                    let made = plan.sql(&asked, &mut |statement: &Statement| {
                        fetch(reader, statement, &binding, &asked, &mut failed)
                    });
                    Ok((made, failed))
                });
                made.map(|(made, failed)| (made, failed, question))
            })
            .await?;
        let (made, failed, question) = outcome;
        if let Some(failed) = failed {
            return Err(failed);
        }
        let sql = made.map_err(|error| match error {
            LocalError::Compile(error) => refused(error, &question),
            LocalError::Fetch(error) => error.into(),
        })?;
        Ok((sql, document, plans))
    }

    /// [`Engine::explain_local`] of SQL that was made.
    pub(super) fn explained(sql: LocalSql, document: &Document, program: &Program) -> LocalExplanation {
        let mut rules: Vec<LocalRule> = sql
            .rules
            .iter()
            .filter_map(|rule| program.rules.get(rule.index()))
            .map(|rule| LocalRule {
                line: program.source.locate(rule.span).line,
                text: program.source.snippet(rule.span).trim().to_owned(),
            })
            .collect();
        rules.sort_unstable_by(|left, right| (left.line, &left.text).cmp(&(right.line, &right.text)));
        rules.dedup();
        let bound = sql.bindings.iter().filter_map(|index| document.bindings.facts.get(*index));
        let bound: Vec<_> = bound.collect();
        let embedded = sql.embedded.into_iter();
        LocalExplanation {
            dialect: document.bindings.dialect.to_string(),
            split: sql.split,
            plan: sql.plan,
            rules,
            notes: notes::notes(&document.bindings, &bound),
            bindings: bound.iter().map(|binding| binding.key.clone()).collect(),
            embedded: embedded.map(|(predicates, n_rows)| LocalEmbedded { predicates, n_rows }).collect(),
            sql: sql.sql,
        }
    }
}

impl Plans {
    /// Plans a question for a caller's database and keeps the plan.
    fn plan_local(
        &self,
        key: LocalKey,
        document: &Document,
        form: &Form,
        most_values: usize,
    ) -> Result<Arc<LocalPlan>, CompileError> {
        let mut catalog = catalog::catalog(self.stored(), &key.context);
        catalog.relations.extend(relations(&document.bindings));
        let plan = local::plan(
            &self.policy.program,
            catalog,
            &key.shape,
            form,
            document.bindings.dialect,
            most_values,
        )?;
        let plan = Arc::new(plan);
        self.keep_local(key, &plan);
        Ok(plan)
    }
}

/// The names that the caller gave to the variables, in a message that names them by position.
fn refused(error: CompileError, question: &portcullis_compiler::question::Question) -> EngineError {
    match error {
        CompileError::Refused(message) => EngineError::BadRequest(questions::with_names(&message, question)),
        bug @ CompileError::Bug(_) => EngineError::Bug(bug.to_string()),
    }
}

/// Asks the store for a part. An error of our own goes into `failed`.
fn fetch(
    reader: &Reader,
    statement: &Statement,
    binding: &Binding<'_>,
    asked: &Asked<'_>,
    failed: &mut Option<EngineError>,
) -> Result<Fetched, StoreError> {
    let params = match binding.params(asked.question, &statement.slots) {
        Ok(params) => params,
        Err(error) => {
            *failed = Some(error);
            return Err(StoreError::Bug("a part without its values".into()));
        }
    };
    match statement.answer {
        Answer::Decision => {
            let holds = reader.decision(&statement.sql, &params)?;
            Ok(Fetched::Rows(if holds { vec![Vec::new()] } else { Vec::new() }))
        }
        Answer::Rows(_) => {
            let mut rows: Vec<Vec<String>> = Vec::new();
            reader.rows(&statement.sql, &params, |row| {
                rows.push(row.iter().map(|value| value.unwrap_or_default().to_owned()).collect());
            })?;
            if rows.len() > asked.most_values {
                return Ok(Fetched::TooMany);
            }
            // The store's order may differ from one run to the next; the text must not.
            rows.sort_unstable();
            Ok(Fetched::Rows(rows))
        }
    }
}
