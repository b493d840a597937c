//! Builds the compiler's questions from requests.
//!
//! In: values and patterns that passed [`super::facts`]. Out: a [`Question`], or `None` if no policy could
//! give an answer, because no value is of the abstract type `Actor` or `Resource` itself.

use super::EngineError;
use crate::store::{ArgPattern, FactPattern, Value};
use portcullis_compiler::builtin::{ALLOW, is_abstract, is_predicate};
use portcullis_compiler::ir::Program;
use portcullis_compiler::primitive::STRING;
use portcullis_compiler::question::{Domain, Question, QuestionVar, QuestionVarId};

/// The question behind every check: `allow(actor, action, resource)`.
fn allow(actor: &Value, action: QuestionVar, resource: QuestionVar) -> Option<Question> {
    of_entry_point(QuestionVar::given("actor", &actor.ty, &actor.id), action, resource)
}

fn of_entry_point(actor: QuestionVar, action: QuestionVar, resource: QuestionVar) -> Option<Question> {
    let types = [&actor.ty, &resource.ty];
    if types.into_iter().flatten().any(|ty| is_abstract(ty)) {
        return None;
    }
    Some(Question::atom(ALLOW, vec![actor, action, resource]))
}

/// May the actor do this to the resource?
pub(super) fn authorize(actor: &Value, action: &str, resource: &Value) -> Option<Question> {
    let action = QuestionVar::given("action", STRING, action);
    allow(actor, action, QuestionVar::given("resource", &resource.ty, &resource.id))
}

/// To which of these resources, all of one type, may the actor do this?
pub(super) fn authorize_any(actor: &Value, action: &str, resources: &[Value]) -> Option<Question> {
    let action = QuestionVar::given("action", STRING, action);
    let ids = resources.iter().map(|resource| resource.id.clone()).collect();
    let ty = Some(resources.first()?.ty.clone());
    allow(actor, action, QuestionVar { name: "resource".into(), ty, domain: Domain::GivenOneOf(ids) })
}

/// To which resources of a type may the actor do this?
pub(super) fn list(actor: &Value, action: &str, resource_type: &str) -> Option<Question> {
    let action = QuestionVar::given("action", STRING, action);
    allow(actor, action, QuestionVar::wanted("resource", Some(resource_type)))
}

/// Which actors of a type, or of any type, may do this to the resource?
pub(super) fn subjects(actor_type: Option<&str>, action: &str, resource: &Value) -> Option<Question> {
    let actor = QuestionVar::wanted("actor", actor_type);
    let action = QuestionVar::given("action", STRING, action);
    of_entry_point(actor, action, QuestionVar::given("resource", &resource.ty, &resource.id))
}

/// What may the actor do to the resource?
pub(super) fn actions(actor: &Value, resource: &Value) -> Option<Question> {
    let action = QuestionVar::wanted("action", Some(STRING));
    allow(actor, action, QuestionVar::given("resource", &resource.ty, &resource.id))
}

/// The action of a check.
pub(super) const ACTION: QuestionVarId = QuestionVarId(1);

/// What may the actor do to resources of this type, of which some or all are asked for?
pub(super) fn actions_of_actor(actor: &Value, resource_type: &str, resources: Domain) -> Option<Question> {
    let resource = QuestionVar { name: "resource".into(), ty: Some(resource_type.into()), domain: resources };
    allow(actor, QuestionVar::wanted("action", Some(STRING)), resource)
}

/// What may actors of this type do to the resource, of whom some or all are asked for?
pub(super) fn actions_on_resource(actor_type: &str, resource: &Value, actors: Domain) -> Option<Question> {
    let actor = QuestionVar { name: "actor".into(), ty: Some(actor_type.into()), domain: actors };
    let resource = QuestionVar::given("resource", &resource.ty, &resource.id);
    of_entry_point(actor, QuestionVar::wanted("action", Some(STRING)), resource)
}

/// What may the actor do without a resource?
pub(super) fn global_actions(actor: &Value) -> Question {
    let action = QuestionVar::wanted("action", Some(STRING));
    let actor = QuestionVar::given("actor", &actor.ty, &actor.id);
    Question::atom(ALLOW, vec![actor, action])
}

/// Which facts, stored or derived, match a pattern?
pub(super) fn matching(predicate: &str, pattern: &FactPattern) -> Option<Question> {
    let var = |(position, arg): (usize, &ArgPattern)| {
        let name = format!("argument {position}");
        match arg {
            ArgPattern::Any => Some(QuestionVar::wanted(&name, None)),
            ArgPattern::Typed(ty) => (!is_abstract(ty)).then(|| QuestionVar::wanted(&name, Some(ty))),
            ArgPattern::Exact(value) => {
                (!is_abstract(&value.ty)).then(|| QuestionVar::given(&name, &value.ty, &value.id))
            }
        }
    };
    let vars = (1..).zip(&pattern.args).map(var).collect::<Option<Vec<_>>>()?;
    Some(Question::atom(predicate, vars))
}

/// For which of these ids does the predicate hold?
pub(super) fn holds_of(predicate: &str, ty: &str, ids: Vec<String>) -> Question {
    let var = QuestionVar { name: "value".into(), ty: Some(ty.into()), domain: Domain::GivenOneOf(ids) };
    Question::atom(predicate, vec![var])
}

/// Refuses a question with a predicate that neither a rule nor a fact of this policy can have.
pub fn check_predicates(program: &Program, question: &Question) -> Result<(), EngineError> {
    question.atoms.iter().try_for_each(|atom| check_predicate(program, &atom.predicate, atom.args.len()))
}

/// Refuses a predicate that neither a rule nor a fact of this policy can have.
pub(super) fn check_predicate(program: &Program, name: &str, arity: usize) -> Result<(), EngineError> {
    // The compiler generates names of this form.
    let generated = name.starts_with('\'');
    if !generated && (is_predicate(name, arity) || program.predicate_id(name, arity).is_some()) {
        return Ok(());
    }
    Err(EngineError::UnknownPredicate { name: name.to_owned(), arity })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::value;
    use super::*;

    #[test]
    fn nothing_is_of_an_abstract_type() {
        let (alice, repo) = (value("User", "alice"), value("Repo", "r"));
        assert!(authorize(&alice, "read", &repo).is_some());
        assert!(authorize(&value("Actor", "alice"), "read", &repo).is_none());
        assert!(list(&alice, "read", "Resource").is_none());
        assert!(actions(&alice, &value("Resource", "r")).is_none());
        assert!(subjects(Some("Actor"), "read", &repo).is_none());
        assert!(subjects(None, "read", &repo).is_some());
    }

    #[test]
    fn a_pattern_asks_for_its_wildcards() {
        let args =
            vec![ArgPattern::Exact(value("User", "a")), ArgPattern::Typed("Repo".into()), ArgPattern::Any];
        let pattern = FactPattern { predicate: None, args, open_arity: false };
        let question = matching("p", &pattern).expect("no abstract type");
        let domains: Vec<_> = question.vars.iter().map(|var| (var.ty.as_deref(), &var.domain)).collect();
        let given = Domain::Given("a".into());
        let expected = [(Some("User"), &given), (Some("Repo"), &Domain::Wanted), (None, &Domain::Wanted)];
        assert_eq!(domains, expected);
    }
}
