//! Why a permission is never allowed, as far as the heads of rules say.

use super::questions::PermissionQuestion;
use portcullis_compiler::builtin::{ALLOW, HAS_PERMISSION};
use portcullis_compiler::ir::{Program, Rule, Term, VarType};
use portcullis_compiler::primitive::STRING;
use portcullis_compiler::source::Span;

/// The reason: no rule takes the resource, the actor or the action, or the rules lack facts.
pub(super) fn reason(program: &Program, asked: &PermissionQuestion) -> String {
    let PermissionQuestion { actor, action, resource, .. } = asked;
    let of_action = action.iter().map(|action| (1, STRING, Some(action.as_str())));
    let heads = [(2, resource.as_str(), None), (0, actor.as_str(), None)].into_iter().chain(of_action);
    let heads: Vec<_> = heads.collect();
    let what = action.as_ref().map_or_else(|| "anything".to_owned(), |action| format!("{action:?}"));
    // The implied `allow` is nowhere in the text.
    let own = |rule: &&Rule| rule.span != Span::default();
    let mut allowing: Vec<&Rule> = rules(program, ALLOW).filter(own).collect();
    if !allowing.is_empty() {
        let missed = heads.iter().position(|&head| {
            allowing.retain(|rule| takes(program, rule, head));
            allowing.is_empty()
        });
        let missing = match missed {
            Some(0) => format!("takes a {resource}"),
            Some(1) => format!("takes a {actor} with a {resource}"),
            Some(_) => format!("takes {what} with a {actor} and a {resource}"),
            None => return FACTS.to_owned(),
        };
        return format!("no rule of `allow` {missing}, and the policy's own rules replace the implied one");
    }
    let grants = |rule: &Rule| heads.iter().all(|&head| takes(program, rule, head));
    if rules(program, HAS_PERMISSION).any(grants) {
        return FACTS.to_owned();
    }
    format!("no rule grants {what} of a {resource} to a {actor}")
}

const FACTS: &str = "a rule grants it, but the facts that it needs are neither bound nor stored";

/// The rules of a predicate with three parameters.
fn rules<'p>(program: &'p Program, predicate: &str) -> impl Iterator<Item = &'p Rule> {
    let head = program.predicate_id(predicate, 3);
    program.rules.iter().filter(move |rule| Some(rule.head) == head)
}

/// Whether a parameter takes a value of a type, or this value.
fn takes(program: &Program, rule: &Rule, (at, ty, text): (usize, &str, Option<&str>)) -> bool {
    let ty = program.type_id(ty);
    match rule.params.get(at) {
        Some(Term::Var(var)) => match &rule.vars[*var].ty {
            VarType::Any => true,
            VarType::OneOf(types) => ty.is_some_and(|ty| types.contains(&ty)),
        },
        Some(Term::Const(literal)) => {
            let literal = program.literal(*literal);
            Some(literal.ty) == ty && text.is_none_or(|text| literal.text == text)
        }
        Some(Term::Now) | None => false,
    }
}
