//! Builds the compiler's question for a local check, and the form of its SQL.
//!
//! In: a [`LocalQuestion`]. Out: a [`Question`] and a [`SqlForm`]. The variables that the SQL shows are
//! wanted, including given ones: their values are columns like any other. A question that cannot have an
//! answer becomes one without an answer, so that the caller gets SQL that says so.

use super::{Document, LocalMode, LocalQuestion};
use crate::engine::evaluate::EvaluateQuery;
use crate::engine::{EngineError, facts, questions, subjects};
use crate::store::Value;
use portcullis_compiler::bindings::{ColumnExpr, output_name};
use portcullis_compiler::id_vec::IdVec;
use portcullis_compiler::local::SqlForm;
use portcullis_compiler::primitive::STRING;
use portcullis_compiler::question::{
    CompileError, Domain, Question, QuestionAtom, QuestionVar, QuestionVarId,
};

/// A question and the form of its SQL.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// The question, its variables named as in the request.
    pub(super) asked: Asked,
    /// The form.
    pub(super) form: SqlForm,
}

/// A question for the compiler.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// One that may have answers.
    Answerable(Question),
    /// One over the same variables whose predicate no policy can have, because the question cannot have an
    /// answer: it is about an abstract type, or about no values.
    Unanswerable(Question),
}

impl Wanted {
    /// Why the question has no SQL, with its own variable names.
    pub(super) fn uncompiled(&self, error: CompileError) -> EngineError {
        let column = match self.form {
            SqlForm::Filter { var, .. } => Some(var),
            SqlForm::Decision { .. } | SqlForm::Rows { .. } | SqlForm::List { .. } => None,
        };
        EngineError::uncompiled_over(error, self.question(), column)
    }

    /// The question for the compiler.
    pub(super) fn question(&self) -> &Question {
        match &self.asked {
            Asked::Answerable(question) | Asked::Unanswerable(question) => question,
        }
    }

    /// A question, or one over the same variables that has no answer.
    fn of(question: Option<Question>, vars: impl FnOnce() -> Vec<QuestionVar>, form: SqlForm) -> Self {
        let asked = question.map_or_else(|| Asked::unanswerable(vars().into()), Asked::Answerable);
        Self { asked, form }
    }
}

impl Asked {
    /// A question that no policy answers, because no predicate has an empty name.
    fn unanswerable(vars: IdVec<QuestionVarId, QuestionVar>) -> Self {
        let atom = QuestionAtom { predicate: String::new(), args: vars.ids().collect() };
        Self::Unanswerable(Question { atoms: vec![atom], vars, paged: false })
    }
}

impl LocalQuestion {
    /// The compiler's question, over the caller's database that the document is about.
    pub(super) fn wanted(&self, document: &Document, max_atoms: usize) -> Result<Wanted, EngineError> {
        match self {
            Self::Authorize { actor, action, resource } => {
                check(actor, resource)?;
                facts::check_action(action)?;
                let question = questions::authorize(actor, action, resource);
                Ok(Wanted::of(question, Vec::new, SqlForm::Decision { name: "allowed".into() }))
            }
            Self::List { actor, action, resource_type, column } => {
                facts::check_entity("actor", actor)?;
                facts::check_action(action)?;
                facts::check_type("resource_type", resource_type)?;
                let question = questions::list(actor, action, resource_type);
                let wanted = QuestionVar::wanted("resource", Some(resource_type));
                filter(question, wanted, column, document)
            }
            Self::Subjects { actor_type, action, resource, column } => {
                subjects::check_actor_type(actor_type)?;
                facts::check_action(action)?;
                facts::check_entity("resource", resource)?;
                let question = questions::subjects(Some(actor_type), action, resource);
                let wanted = QuestionVar::wanted("actor", Some(actor_type));
                filter(question, wanted, column, document)
            }
            Self::Actions { actor, resource } => {
                check(actor, resource)?;
                let vars = || vec![QuestionVar::wanted("action", Some(STRING))];
                let form = SqlForm::List { name: "actions".into() };
                Ok(Wanted::of(questions::actions(actor, resource), vars, form))
            }
            Self::Evaluate { query, mode } => evaluate(query, mode, document, max_atoms),
        }
    }
}

/// A condition over a column with the values of the wanted variable.
fn filter(
    question: Option<Question>,
    wanted: QuestionVar,
    column: &str,
    document: &Document,
) -> Result<Wanted, EngineError> {
    let is_wanted = |var: &QuestionVar| var.domain == Domain::Wanted;
    let var = question.iter().find_map(|question| question.vars.position(is_wanted));
    // A question that cannot have an answer has no other variable.
    let form = SqlForm::Filter { var: var.unwrap_or(QuestionVarId(0)), column: checked(column, document)? };
    Ok(Wanted::of(question, || vec![wanted], form))
}

fn check(actor: &Value, resource: &Value) -> Result<(), EngineError> {
    facts::check_entity("actor", actor)?;
    facts::check_entity("resource", resource)
}

fn checked(text: &str, document: &Document) -> Result<ColumnExpr, EngineError> {
    document.column(text).map_err(|message| EngineError::BadRequest(format!("column: {message}")))
}

fn evaluate(
    query: &EvaluateQuery,
    mode: &LocalMode,
    document: &Document,
    max_atoms: usize,
) -> Result<Wanted, EngineError> {
    query.check(max_atoms)?;
    let (mut names, mut question) = query.question();
    let mut shown: Vec<QuestionVarId> = Vec::new();
    let mut named = |name: &str, question: &mut Question| -> Result<QuestionVarId, EngineError> {
        let Some(var) = query.vars.get(name) else {
            return Err(EngineError::BadRequest(format!(
                "variable `{name}` is not in the constraints: add `{name}` to `constraints`"
            )));
        };
        let known = names.position(|known| known == name);
        Ok(known.unwrap_or_else(|| {
            // No call uses it: it may have any of its ids, or any value.
            names.push(name.to_owned());
            question.vars.push(var.named(name))
        }))
    };
    let form = match mode {
        LocalMode::Select(columns) if columns.is_empty() => SqlForm::Decision { name: "result".into() },
        LocalMode::Select(columns) => {
            let mut outputs = Vec::new();
            for (var, name) in columns {
                let var = named(var, &mut question)?;
                output_name(name, document.bindings.dialect).map_err(|message| {
                    EngineError::BadRequest(format!("output column {name:?}: {message}"))
                })?;
                if outputs.iter().any(|(_, known)| known == name) {
                    return Err(EngineError::BadRequest(format!(
                        "two variables have the output column {name:?}: give each its own"
                    )));
                }
                shown.push(var);
                outputs.push((var, name.clone()));
            }
            SqlForm::Rows { columns: outputs }
        }
        LocalMode::Filter { var, column } => {
            let var = named(var, &mut question)?;
            shown.push(var);
            SqlForm::Filter { var, column: checked(column, document)? }
        }
    };
    let is_empty = query.vars.values().any(|var| var.ids.as_ref().is_some_and(Vec::is_empty));
    keep_shown(&mut question.vars, &shown);
    let asked = if is_empty { Asked::unanswerable(question.vars) } else { Asked::Answerable(question) };
    Ok(Wanted { asked, form })
}

/// Shows a value of each of these variables, even of a given one, and ignores the values of all others.
fn keep_shown(vars: &mut IdVec<QuestionVarId, QuestionVar>, shown: &[QuestionVarId]) {
    for id in vars.ids() {
        let var = &mut vars[id];
        var.domain = match (std::mem::replace(&mut var.domain, Domain::Ignored), shown.contains(&id)) {
            (Domain::Given(id), true) => Domain::GivenOneOf(vec![id]),
            (Domain::Wanted, false) => Domain::Ignored,
            (domain, _) => domain,
        };
    }
}
