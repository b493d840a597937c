//! The questions of a page as questions of a local check, and what their answers must be.
//!
//! A question of the entry point is a check, a list, the actions or the actors; a conjunction is rows, and
//! for each of its variables a filter. A filter's answer is the set of candidates that pass it.

use crate::notation::{Cell, Value};
use crate::outcome::{Allow, given};
use portcullis::engine::{EvaluateQuery, EvaluateVar, LocalMode, LocalQuestion};
use portcullis::store;
use portcullis_compiler::question::{Domain, Question, QuestionVar, QuestionVarId};
use std::collections::BTreeSet;

/// One way to ask a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One row `allowed`.
    Authorize,
    /// A filter for the resources.
    List,
    /// Rows `actions`.
    Actions,
    /// A filter for the actors.
    Subjects,
    /// Rows of every variable that is asked for.
    Select,
    /// A filter for the values of one variable.
    Filter(QuestionVarId),
}

/// The ways that fit a question.
pub fn ways(question: &Question) -> Vec<Way> {
    let mut ways = Vec::new();
    match Allow::of(question) {
        Some(Allow::Authorize(..)) => ways.push(Way::Authorize),
        Some(Allow::List(..)) => ways.push(Way::List),
        Some(Allow::Actions(..)) => ways.push(Way::Actions),
        Some(Allow::Subjects(Some(_), ..)) => ways.push(Way::Subjects),
        Some(Allow::Subjects(None, ..)) => {}
        None => {}
    }
    if question.vars.iter().all(|var| var.ty.is_some()) {
        ways.push(Way::Select);
        ways.extend(asked(question).map(Way::Filter));
    }
    ways
}

/// The variables whose values are asked for.
pub fn asked(question: &Question) -> impl Iterator<Item = QuestionVarId> {
    let is_asked = |var: &QuestionVar| matches!(var.domain, Domain::Wanted | Domain::GivenOneOf(_));
    question.vars.ids().filter(move |&var| is_asked(&question.vars[var]))
}

/// The type of the values that a filter chooses among, and its variable.
pub fn filtered(question: &Question, way: Way) -> Option<(String, QuestionVarId)> {
    let var = match way {
        Way::List | Way::Subjects => asked(question).next()?,
        Way::Filter(var) => var,
        Way::Authorize | Way::Actions | Way::Select => return None,
    };
    Some((question.vars[var].ty.clone()?, var))
}

/// The types whose values filters for these questions choose among.
pub fn filtered_types(questions: &[&Question]) -> BTreeSet<String> {
    let all = questions.iter().flat_map(|question| {
        ways(question).into_iter().filter_map(|way| filtered(question, way)).map(|(ty, _)| ty)
    });
    all.collect()
}

/// The question, asked in this way; a filter is over `column`.
pub fn local(question: &Question, way: Way, column: &str) -> LocalQuestion {
    match (way, Allow::of(question)) {
        (Way::Authorize, Some(Allow::Authorize(actor, action, resource))) => {
            LocalQuestion::Authorize { actor: stored(&actor), action, resource: stored(&resource) }
        }
        (Way::List, Some(Allow::List(actor, action, resource_type))) => {
            LocalQuestion::List { actor: stored(&actor), action, resource_type, column: column.to_owned() }
        }
        (Way::Actions, Some(Allow::Actions(actor, resource))) => {
            LocalQuestion::Actions { actor: stored(&actor), resource: stored(&resource) }
        }
        (Way::Subjects, Some(Allow::Subjects(Some(actor_type), action, resource))) => {
            LocalQuestion::Subjects {
                actor_type,
                action,
                resource: stored(&resource),
                column: column.to_owned(),
            }
        }
        (Way::Select, _) => {
            let names = asked(question).map(|var| (question.vars[var].name.clone(), output(question, var)));
            LocalQuestion::Evaluate { query: conjunction(question), mode: LocalMode::Select(names.collect()) }
        }
        (Way::Filter(var), _) => LocalQuestion::Evaluate {
            query: conjunction(question),
            mode: LocalMode::Filter { var: question.vars[var].name.clone(), column: column.to_owned() },
        },
        (Way::Authorize | Way::List | Way::Actions | Way::Subjects, _) => {
            panic!("{way:?} does not fit {question:?}")
        }
    }
}

/// The name of a variable's column: some names want quotes.
pub fn output(question: &Question, var: QuestionVarId) -> String {
    match var.index() {
        1 => format!("The \"{}\" of it", question.vars[var].name),
        2 => "select".to_owned(),
        _ => format!("{}_id", question.vars[var].name.to_lowercase()),
    }
}

/// The question about other values of the same kinds: the same are the same still, and different ones differ.
pub fn twin(question: &LocalQuestion) -> LocalQuestion {
    let other = |value: &store::Value| store::Value::new(&value.ty, &other_id(&value.id));
    match question.clone() {
        LocalQuestion::Authorize { actor, action, resource } => {
            LocalQuestion::Authorize { actor: other(&actor), action, resource: other(&resource) }
        }
        LocalQuestion::List { actor, action, resource_type, column } => {
            LocalQuestion::List { actor: other(&actor), action, resource_type, column }
        }
        LocalQuestion::Actions { actor, resource } => {
            LocalQuestion::Actions { actor: other(&actor), resource: other(&resource) }
        }
        LocalQuestion::Subjects { actor_type, action, resource, column } => {
            LocalQuestion::Subjects { actor_type, action, resource: other(&resource), column }
        }
        LocalQuestion::Evaluate { mut query, mode } => {
            let vars = query.vars.values_mut().filter(|var| !is_primitive(&var.ty));
            for id in vars.filter_map(|var| var.ids.as_mut()).flatten() {
                *id = other_id(id);
            }
            LocalQuestion::Evaluate { query, mode }
        }
    }
}

/// A different number for a number, a different UUID for a UUID, a text with signs in it for any other.
fn other_id(id: &str) -> String {
    let is_uuid = id.len() == 36 && id.split('-').count() == 5;
    let is_number = id.len() < 9 && id.bytes().all(|byte| byte.is_ascii_digit()) && !id.starts_with('0');
    match id.char_indices().next_back() {
        Some((at, last)) if is_uuid => format!("{}{}", &id[..at], if last == '7' { '3' } else { '7' }),
        Some(_) if is_number => format!("{id}1"),
        _ => format!("{id}'\\:%"),
    }
}

fn is_primitive(ty: &str) -> bool {
    matches!(ty, "String" | "Integer" | "Boolean")
}

/// A cell of an answer, from the variable's type and what the database returned.
pub fn cell(ty: &str, id: Option<&str>, original: impl Fn(&str, &str) -> Value) -> Cell {
    id.map_or_else(|| Cell::AnyOf(ty.to_owned()), |id| Cell::Value(original(ty, id)))
}

fn conjunction(question: &Question) -> EvaluateQuery {
    let var = |var: &QuestionVar| {
        let ids = match (&var.domain, given(var)) {
            (_, Some(value)) => Some(vec![value.id]),
            (Domain::GivenOneOf(ids), None) => Some(ids.clone()),
            (Domain::Given(_) | Domain::Wanted | Domain::Ignored, None) => None,
        };
        (var.name.clone(), EvaluateVar { ty: var.ty.clone().unwrap_or_default(), ids })
    };
    let name = |&var: &QuestionVarId| question.vars[var].name.clone();
    let atoms = question.atoms.iter();
    EvaluateQuery {
        atoms: atoms.map(|atom| (atom.predicate.clone(), atom.args.iter().map(name).collect())).collect(),
        vars: question.vars.iter().map(var).collect(),
    }
}

/// A value as the engine takes it.
pub fn stored(value: &Value) -> store::Value {
    store::Value::new(&value.ty, &value.id)
}
