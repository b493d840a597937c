//! Turns a parsed question into one about the caller's own database, or into a conjunction.
//!
//! In: a [`Question`]. Out: a [`LocalQuestion`] or an [`EvaluateQuery`], as the endpoints take them, or the
//! reason why the question cannot be one.

use super::{LocalMode, LocalQuestion};
use crate::engine::{EvaluateQuery, EvaluateVar};
use crate::store::Value;
use portcullis_compiler::builtin::ALLOW;
use portcullis_compiler::primitive::STRING;
use portcullis_compiler::question::{Domain, Question, QuestionAtom, QuestionVar, QuestionVarId};
use std::collections::BTreeMap;

/// The service's question, or why there is none.
pub fn local_question(question: &Question, filter: Option<&str>) -> Result<LocalQuestion, String> {
    if let Some(allow) = allow_question(question, filter) {
        return Ok(allow);
    }
    let query = conjunction_of(question)?;
    let wanted: Vec<&QuestionVar> = question.wanted().map(|(_, var)| var).collect();
    let mode = match (filter, wanted.as_slice()) {
        (Some(column), [var]) => LocalMode::Filter { var: var.name.clone(), column: column.to_owned() },
        (Some(_), _) => {
            let n = wanted.len();
            return Err(format!(
                "a condition needs exactly one open argument, such as `Repo:?`; this question has {n}"
            ));
        }
        (None, wanted) => LocalMode::Select(wanted_columns(wanted)),
    };
    Ok(LocalQuestion::Evaluate { query, mode })
}

/// The question as one of those that have an endpoint of their own.
pub fn allow_question(question: &Question, filter: Option<&str>) -> Option<LocalQuestion> {
    let [QuestionAtom { predicate, args }] = question.atoms.as_slice() else { return None };
    let vars: Vec<&QuestionVar> = args.iter().map(|&var| &question.vars[var]).collect();
    let [actor, action, resource] = vars.as_slice() else { return None };
    let may_be_action = action.ty.as_deref().is_none_or(|ty| ty == STRING);
    if predicate != ALLOW || !may_be_action {
        return None;
    }
    let actor = given_value(actor)?;
    match (&action.domain, &resource.domain, filter) {
        (Domain::Given(action), Domain::Given(_), None) => {
            Some(LocalQuestion::Authorize { actor, action: action.clone(), resource: given_value(resource)? })
        }
        (Domain::Wanted, Domain::Given(_), None) => {
            Some(LocalQuestion::Actions { actor, resource: given_value(resource)? })
        }
        (Domain::Given(action), Domain::Wanted, Some(column)) => Some(LocalQuestion::List {
            actor,
            action: action.clone(),
            resource_type: resource.ty.clone()?,
            column: column.to_owned(),
        }),
        (_, _, _) => None,
    }
}

/// The value of a variable that has one.
pub fn given_value(var: &QuestionVar) -> Option<Value> {
    match (&var.ty, &var.domain) {
        (Some(ty), Domain::Given(id)) => Some(Value { ty: ty.clone(), id: id.clone() }),
        (_, Domain::Given(_) | Domain::GivenOneOf(_) | Domain::Wanted | Domain::Ignored) => None,
    }
}

/// The question as a conjunction over typed variables, or why it is not one.
pub fn conjunction_of(question: &Question) -> Result<EvaluateQuery, String> {
    let mut vars = BTreeMap::new();
    for var in &question.vars {
        let ids = match &var.domain {
            Domain::Given(id) => Some(vec![id.clone()]),
            Domain::GivenOneOf(ids) => Some(ids.clone()),
            Domain::Wanted | Domain::Ignored => None,
        };
        let Some(ty) = var.ty.clone() else {
            return Err(format!("`{}` needs a type, as `Repo:?` and `Repo:_` have", shown(&var.name)));
        };
        if vars.insert(var.name.clone(), EvaluateVar { ty, ids }).is_some() {
            return Err(format!("two variables are named `{}`: rename one", shown(&var.name)));
        }
    }
    let name = |&var: &QuestionVarId| question.vars[var].name.clone();
    let atom = |atom: &QuestionAtom| (atom.predicate.clone(), atom.args.iter().map(name).collect());
    Ok(EvaluateQuery { atoms: question.atoms.iter().map(atom).collect(), vars })
}

/// The name of a variable as it was written; one without a name is known by its place.
fn shown(name: &str) -> &str {
    match name.chars().next() {
        Some('?') => "?",
        Some('_') => "_",
        Some(_) | None => name,
    }
}

/// A column for each variable, named as the variable is, or after its type.
pub fn wanted_columns(wanted: &[&QuestionVar]) -> Vec<(String, String)> {
    let mut columns: Vec<(String, String)> = Vec::new();
    for var in wanted {
        let name = match &var.ty {
            Some(ty) if shown(&var.name) == "?" => ty.to_lowercase().replace("::", "_"),
            Some(_) | None => var.name.clone(),
        };
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        let free = |name: &String| columns.iter().all(|(_, taken)| taken != name);
        let column = std::iter::once(name.clone()).chain(numbered).find(free).unwrap_or(name);
        columns.push((var.name.clone(), column));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::notation;

    fn read(text: &str, filter: Option<&str>) -> Result<LocalQuestion, String> {
        local_question(&notation::parse(text).unwrap(), filter)
    }

    /// The columns of a conjunction's rows, as `column` alone.
    fn selected(text: &str) -> Vec<String> {
        match read(text, None) {
            Ok(LocalQuestion::Evaluate { mode: LocalMode::Select(columns), .. }) => {
                columns.into_iter().map(|(_, column)| column).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_of_the_entry_point_is_asked_as_its_endpoint_asks() {
        let decision = read(r#"allow(User:a, "read", Repo:x)"#, None);
        assert!(matches!(decision, Ok(LocalQuestion::Authorize { .. })), "{decision:?}");
        for action in ["?", "String:?"] {
            let actions = read(&format!("allow(User:a, {action}, Repo:x)"), None);
            assert!(matches!(actions, Ok(LocalQuestion::Actions { .. })), "{actions:?}");
        }
        let list = read(r#"allow(User:a, "read", Repo:?)"#, Some("r.id"));
        let Ok(LocalQuestion::List { column, resource_type, .. }) = list else { panic!("{list:?}") };
        assert_eq!((column.as_str(), resource_type.as_str()), ("r.id", "Repo"));
    }

    #[test]
    fn rows_have_a_column_a_wanted_variable() {
        assert_eq!(selected(r#"allow(User:a, "read", Repo:?)"#), ["repo"]);
        assert_eq!(selected("p(A::B:?, A::B:?, User:?u, Repo:_)"), ["a_b", "a_b_2", "u"]);
        assert_eq!(selected("p(User:a)"), Vec::<String>::new());
    }

    #[test]
    fn a_condition_is_about_one_variable() {
        let filter = read("p(User:?u) and q(User:?u, Repo:_)", Some("id"));
        let Ok(LocalQuestion::Evaluate { mode, .. }) = filter else { panic!("{filter:?}") };
        assert_eq!(mode, LocalMode::Filter { var: "u".into(), column: "id".into() });
        assert!(read("p(User:a)", Some("id")).unwrap_err().ends_with("this question has 0"));
        assert!(read("p(User:?, User:?)", Some("id")).unwrap_err().ends_with("this question has 2"));
    }

    #[test]
    fn a_variable_has_a_type() {
        assert!(read("p(?)", None).unwrap_err().starts_with("`?` needs a type"));
        assert!(read("p(?x)", None).unwrap_err().starts_with("`x` needs a type"));
        assert!(read("p(User:_, _)", None).unwrap_err().starts_with("`_` needs a type"));
    }
}
