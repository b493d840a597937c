//! Why a permission is never allowed, as far as the heads of rules say.

use super::questions::PermissionQuestion;
use portcullis_compiler::builtin::{ALLOW, HAS_PERMISSION};
use portcullis_compiler::ir::{Program, Rule, Term, VarType};
use portcullis_compiler::primitive::STRING;
use portcullis_compiler::source::Span;

/// Why a permission is never allowed. The last is the closest to being allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NeverReason {
    /// No rule grants it.
    Ungranted,
    /// The policy's own rules of `allow` do not take the type or the action.
    NotTaken(MissedHead),
    /// A rule grants it, and lacks facts.
    LacksFacts,
}

/// What no rule of `allow` takes, together with what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MissedHead {
    Resource,
    Actor,
    Action,
}

impl NeverReason {
    /// The reason in words, of one question.
    pub(super) fn of(self, asked: &PermissionQuestion) -> String {
        let PermissionQuestion { actor, action, resource, .. } = asked;
        let what = action.as_ref().map_or_else(|| "anything".to_owned(), |action| format!("{action:?}"));
        let missing = match self {
            Self::LacksFacts => {
                return "a rule grants it, but the facts that it needs are neither bound nor stored"
                    .to_owned();
            }
            Self::Ungranted => return format!("no rule grants {what} of a {resource} to a {actor}"),
            Self::NotTaken(MissedHead::Resource) => format!("takes a {resource}"),
            Self::NotTaken(MissedHead::Actor) => format!("takes a {actor} with a {resource}"),
            Self::NotTaken(MissedHead::Action) => format!("takes {what} with a {actor} and a {resource}"),
        };
        format!("no rule of `allow` {missing}, and the policy's own rules replace the implied one")
    }

    /// The heading of what is never allowed for such a reason.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Ungranted => "never allowed, as no rule grants it",
            Self::NotTaken(_) => {
                "never allowed, as no rule of `allow` takes it, and the policy's own rules replace the implied one"
            }
            Self::LacksFacts => {
                "never allowed, as the facts that the rules need are neither bound nor stored"
            }
        }
    }
}

/// The reason: no rule takes the resource, the actor or the action, or the rules lack facts.
pub(super) fn reason(program: &Program, asked: &PermissionQuestion) -> NeverReason {
    let PermissionQuestion { actor, action, resource, .. } = asked;
    let of_action = action.iter().map(|action| (MissedHead::Action, (1, STRING, Some(action.as_str()))));
    let of_types = [
        (MissedHead::Resource, (2, resource.as_str(), None)),
        (MissedHead::Actor, (0, actor.as_str(), None)),
    ];
    let heads: Vec<_> = of_types.into_iter().chain(of_action).collect();
    // The implied `allow` is nowhere in the text.
    let own = |rule: &&Rule| rule.span != Span::default();
    let mut allowing: Vec<&Rule> = rules(program, ALLOW).filter(own).collect();
    if !allowing.is_empty() {
        let missed = heads.iter().find(|(_, head)| {
            allowing.retain(|rule| takes(program, rule, *head));
            allowing.is_empty()
        });
        return missed.map_or(NeverReason::LacksFacts, |(missed, _)| NeverReason::NotTaken(*missed));
    }
    let grants = |rule: &Rule| heads.iter().all(|(_, head)| takes(program, rule, *head));
    if rules(program, HAS_PERMISSION).any(grants) { NeverReason::LacksFacts } else { NeverReason::Ungranted }
}

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
