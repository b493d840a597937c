//! The calls under negations: which facts may deny something.
//!
//! A call counts if a negation of some rule asks for it, itself or through other rules. Facts that no such
//! call sees can only make the policy permit more. This is an over-estimate: a variable has the types that its
//! rule gives it, whichever call leads to the rule.

use super::ids::{PredId, TypeId};
use super::program::Program;
use super::rule::{Literal, LiteralKind, Polarity, Rule, Term, VarType};
use super::symbols::Constant;
use crate::refusal::Place;
use rustc_hash::{FxHashMap, FxHashSet};

/// A call that may deny something.
#[derive(Clone, Debug)]
pub struct DenyingCall<'p> {
    /// The predicate's name.
    pub predicate: &'p str,
    /// One entry per argument.
    pub args: Vec<CallArg<'p>>,
    /// The rule with the call; `None` for one that the policy implies.
    pub rule: Option<Place>,
}

/// Which values an argument of a call may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallArg<'p> {
    /// Any, also those of a type that the policy does not mention.
    Any,
    /// Those of these types.
    OneOf(&'p [TypeId]),
    /// This literal.
    Literal(&'p Constant),
}

impl CallArg<'_> {
    /// Whether values of this type, `None` for one that the policy does not mention, may be meant.
    pub fn admits(&self, ty: Option<TypeId>) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(types) => ty.is_some_and(|ty| types.contains(&ty)),
            Self::Literal(literal) => ty == Some(literal.ty),
        }
    }
}

impl Program {
    /// The calls by which facts may deny something.
    pub fn denying_calls(&self) -> Vec<DenyingCall<'_>> {
        let mut rules: FxHashMap<PredId, Vec<&Rule>> = FxHashMap::default();
        for rule in &self.rules {
            rules.entry(rule.head).or_default().push(rule);
        }
        let mut calls = Vec::new();
        let mut open = Vec::new();
        let mut seen = FxHashSet::default();
        let mut note = |rule, wanted, open: &mut Vec<PredId>| {
            for (pred, call) in self.calls(rule, wanted) {
                calls.push(call);
                if seen.insert(pred) {
                    open.push(pred);
                }
            }
        };
        self.rules.iter().for_each(|rule| note(rule, Polarity::Negated, &mut open));
        while let Some(pred) = open.pop() {
            rules.get(&pred).into_iter().flatten().for_each(|rule| note(rule, Polarity::Positive, &mut open));
        }
        calls
    }

    /// The calls of a rule with this polarity.
    fn calls<'p>(
        &'p self,
        rule: &'p Rule,
        wanted: Polarity,
    ) -> impl Iterator<Item = (PredId, DenyingCall<'p>)> {
        rule.body.iter().filter_map(move |Literal { kind, span }| {
            let LiteralKind::Atom { polarity, pred, args } = kind else { return None };
            let call = || DenyingCall {
                predicate: &self.predicate(*pred).name,
                args: args.iter().map(|arg| self.call_arg(rule, *arg)).collect(),
                rule: Place::of_rule(&self.source, *span),
            };
            (*polarity == wanted).then(|| (*pred, call()))
        })
    }

    fn call_arg<'p>(&'p self, rule: &'p Rule, term: Term) -> CallArg<'p> {
        match term {
            Term::Var(var) => match &rule.vars[var].ty {
                VarType::Any => CallArg::Any,
                VarType::OneOf(types) => CallArg::OneOf(types),
            },
            Term::Const(literal) => CallArg::Literal(self.literal(literal)),
            Term::Now => CallArg::OneOf(&[TypeId::INTEGER]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::source::SourceMap;

    /// The calls of a policy that may deny something, each with its line.
    fn calls(rules: &str) -> Vec<String> {
        let text = format!("actor User {{}} resource Doc {{ permissions = [\"read\"]; }}\n{rules}");
        let program = check(&SourceMap::new("p", text)).program.unwrap();
        let arg = |arg: &CallArg<'_>| match arg {
            CallArg::Any => "_".to_owned(),
            CallArg::OneOf(types) => types.iter().map(|ty| program.types[*ty].name.as_str()).collect(),
            CallArg::Literal(literal) => format!("{:?}", literal.text),
        };
        let text = |call: DenyingCall<'_>| {
            let args: Vec<String> = call.args.iter().map(arg).collect();
            let line = call.rule.map_or(0, |place| place.line);
            format!("{}({}) at {line}", call.predicate, args.join(", "))
        };
        program.denying_calls().into_iter().map(text).collect()
    }

    #[test]
    fn negated_calls_and_those_below_them_may_deny() {
        let rules = "has_permission(u: User, \"read\", d: Doc) if owner(d, u) and not held(d, _);\n\
                     has_permission(u: User, \"read\", d: Doc) if owner(d, u) and not lost(d);\n\
                     lost(d: Doc) if marked(d, \"lost\") and within(d, x) and not found(x);";
        let expected = [
            "held(Doc, _) at 2",
            "lost(Doc) at 3",
            "found(_) at 4",
            "marked(Doc, \"lost\") at 4",
            "within(Doc, _) at 4",
        ];
        assert_eq!(calls(rules), expected);
    }

    #[test]
    fn what_only_permits_is_no_such_call() {
        let none: [&str; 0] = [];
        assert_eq!(calls("has_permission(u: User, \"read\", d: Doc) if owner(d, u) and held(d, _);"), none);
    }

    #[test]
    fn any_admits_types_that_the_policy_does_not_mention() {
        assert!(CallArg::Any.admits(None));
        assert!(!CallArg::OneOf(&[TypeId::STRING]).admits(None));
        assert!(CallArg::OneOf(&[TypeId::STRING]).admits(Some(TypeId::STRING)));
    }
}
