//! What came out of a question, from any engine.

use super::fixture::{Answer, Expected};
use super::notation::{Cell, Value};
use portcullis_compiler::question::{Domain, Question, QuestionVar};
use std::collections::BTreeSet;
use std::fmt;

/// An answer or a refusal.
pub type Outcome = Expected<Answer>;

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |row: &Vec<Cell>| {
            let cells: Vec<String> = row.iter().map(Cell::to_string).collect();
            if cells.len() == 1 { cells.concat() } else { format!("({})", cells.join(", ")) }
        };
        match self {
            Self::Decision(true) => f.write_str("yes"),
            Self::Decision(false) => f.write_str("no"),
            Self::Rows(rows) if rows.is_empty() => f.write_str("nothing"),
            Self::Rows(rows) => f.write_str(&rows.iter().map(row).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(answer) => answer.fmt(f),
            Self::Refused(message) => write!(f, "refused: {message}"),
        }
    }
}

/// A question of the entry point with three arguments, by what it asks for.
pub enum Allow {
    /// Actor, action, resource: may it?
    Authorize(Value, String, Value),
    /// Actor, action and the resource's type: which?
    List(Value, String, String),
    /// Actor and resource: what?
    Actions(Value, Value),
    /// Action, resource, and the actor's type unless it may be any: who?
    Subjects(Option<String>, String, Value),
}

impl Allow {
    /// Reads a question as one of the four, if it is one.
    pub fn of(question: &Question) -> Option<Self> {
        let [atom] = question.atoms.as_slice() else { return None };
        let (true, [actor, action, resource]) = (atom.predicate == "allow", atom.args.as_slice()) else {
            return None;
        };
        let [actor, action, resource] = [actor, action, resource].map(|&var| &question.vars[var]);
        let Some(actor) = given(actor) else {
            let (action, resource) = (given(action)?, given(resource)?);
            let is_subjects = is_wanted(actor) && action.ty == "String";
            return is_subjects.then(|| Self::Subjects(actor.ty.clone(), action.id, resource));
        };
        match (given(action), given(resource)) {
            (Some(action), Some(resource)) if action.ty == "String" => {
                Some(Self::Authorize(actor, action.id, resource))
            }
            (Some(action), None) if action.ty == "String" && is_wanted(resource) => {
                Some(Self::List(actor, action.id, resource.ty.clone()?))
            }
            (None, Some(resource)) if is_wanted(action) && action.ty.as_deref() == Some("String") => {
                Some(Self::Actions(actor, resource))
            }
            _ => None,
        }
    }
}

/// The value of a given variable.
pub fn given(var: &QuestionVar) -> Option<Value> {
    match (&var.domain, &var.ty) {
        (Domain::Given(id), Some(ty)) => Some(Value::new(ty, id)),
        _ => None,
    }
}

/// Whether the variable's values are asked for, all of them.
pub fn is_wanted(var: &QuestionVar) -> bool {
    var.domain == Domain::Wanted
}

/// Ids of one type as an answer; a star is every value.
pub fn ids(ty: &str, ids: impl IntoIterator<Item = String>) -> Answer {
    let cell = |id: String| match id.as_str() {
        "*" => Cell::AnyOf(ty.to_owned()),
        id => Cell::Value(Value::new(ty, id)),
    };
    Answer::Rows(ids.into_iter().map(|id| vec![cell(id)]).collect())
}

/// All values that a question gives.
pub fn mentioned(question: &Question) -> BTreeSet<Value> {
    let of = |var: &QuestionVar| {
        let ty = var.ty.clone().unwrap_or_default();
        let ids = match &var.domain {
            Domain::Given(id) => vec![id.clone()],
            Domain::GivenOneOf(ids) => ids.clone(),
            Domain::Wanted | Domain::Ignored => Vec::new(),
        };
        ids.into_iter().map(move |id| Value { ty: ty.clone(), id })
    };
    question.vars.iter().flat_map(of).collect()
}
