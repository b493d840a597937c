//! Questions and facts as the engine takes them. A question without such a form is `None`: a pattern has one
//! predicate, and the variables of a conjunction have types.

use crate::notation::{Fact, Value};
use crate::outcome::{Allow, given};
use portcullis::engine::{EvaluateQuery, EvaluateVar, SubjectsQuestion, WhyQuestion};
use portcullis::store::{self, ArgPattern, FactPattern};
use portcullis_compiler::question::{Domain, Question, QuestionVar, QuestionVarId};
use std::collections::BTreeSet;

/// What is explained of a question whose variables have types.
pub(super) fn why_question(question: &Question) -> Option<WhyQuestion> {
    Some(match Allow::of(question) {
        Some(Allow::Authorize(actor, action, resource)) => {
            WhyQuestion::Authorize { actor: stored(&actor), action, resource: stored(&resource) }
        }
        Some(Allow::List(..) | Allow::Actions(..) | Allow::Subjects(..)) | None => {
            WhyQuestion::Evaluate(conjunction(question)?)
        }
    })
}

pub(super) fn subjects(ty: Option<&str>, action: &str, resource: &Value) -> SubjectsQuestion {
    let types = ty.map(|ty| BTreeSet::from([ty.to_owned()]));
    SubjectsQuestion { action: action.to_owned(), resource: stored(resource), types }
}

/// A question of one predicate as a pattern, if none of its variables occurs twice or is one of several.
pub(super) fn pattern(question: &Question) -> Option<FactPattern> {
    let [atom] = question.atoms.as_slice() else { return None };
    let is_plain = |var: &QuestionVar| !matches!(var.domain, Domain::GivenOneOf(_));
    if atom.args != question.vars.ids().collect::<Vec<_>>() || !question.vars.iter().all(is_plain) {
        return None;
    }
    let arg = |var: &QuestionVar| match (given(var), &var.ty) {
        (Some(value), _) => ArgPattern::Exact(stored(&value)),
        (None, Some(ty)) => ArgPattern::Typed(ty.clone()),
        (None, None) => ArgPattern::Any,
    };
    Some(FactPattern::new(&atom.predicate, question.vars.iter().map(arg).collect()))
}

/// A question whose variables all have types, as a conjunction over named variables.
pub(super) fn conjunction(question: &Question) -> Option<EvaluateQuery> {
    let var = |var: &QuestionVar| {
        let ids = match &var.domain {
            Domain::Given(id) => Some(vec![id.clone()]),
            Domain::GivenOneOf(ids) => Some(ids.clone()),
            Domain::Wanted | Domain::Ignored => None,
        };
        Some((var.name.clone(), EvaluateVar { ty: var.ty.clone()?, ids }))
    };
    let name = |&var: &QuestionVarId| question.vars[var].name.clone();
    let atoms =
        question.atoms.iter().map(|atom| (atom.predicate.clone(), atom.args.iter().map(name).collect()));
    Some(EvaluateQuery {
        atoms: atoms.collect(),
        vars: question.vars.iter().map(var).collect::<Option<_>>()?,
    })
}

pub(super) fn stored(value: &Value) -> store::Value {
    store::Value::new(&value.ty, &value.id)
}

pub(super) fn stored_all(facts: &[Fact]) -> Vec<store::Fact> {
    let fact = |fact: &Fact| store::Fact::new(&fact.predicate, fact.args.iter().map(stored).collect());
    facts.iter().map(fact).collect()
}
