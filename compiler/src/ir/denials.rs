//! The calls under negations: which facts may deny something.
//!
//! A call counts if a negation of some rule asks for it, itself or through other rules. Facts that no such
//! call sees can only make the policy permit more. This is an over-estimate: a variable has the types that
//! its rule gives it, whichever call leads to the rule.

use super::ids::{ConstId, PredId, TypeId};
use super::program::Program;
use super::rule::{LiteralKind, Polarity, Rule, Term, VarType};
use rustc_hash::{FxHashMap, FxHashSet};

/// A call that may deny something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DenyingCall {
    /// The predicate.
    pub pred: PredId,
    /// One entry per argument.
    pub args: Vec<CallArg>,
}

/// Which values an argument of a call may have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CallArg {
    /// Any, also those of a type that the policy does not mention.
    Any,
    /// Those of these types.
    OneOf(Vec<TypeId>),
    /// This literal.
    Literal(ConstId),
}

impl CallArg {
    /// Whether it may have values of this type, `None` for one that the policy does not mention.
    pub fn admits(&self, ty: Option<TypeId>, program: &Program) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(types) => ty.is_some_and(|ty| types.contains(&ty)),
            Self::Literal(literal) => ty == Some(program.literal(*literal).ty),
        }
    }

    /// Whether it may be the value with this type and this text.
    pub fn admits_value(&self, ty: Option<TypeId>, text: &str, program: &Program) -> bool {
        let is_text = match self {
            Self::Any | Self::OneOf(_) => true,
            Self::Literal(literal) => program.literal(*literal).text == text,
        };
        is_text && self.admits(ty, program)
    }
}

/// The calls of a policy that may deny something, each once.
#[derive(Clone, Debug, Default)]
pub struct DenyingCalls {
    by_predicate: FxHashMap<PredId, Vec<DenyingCall>>,
}

impl DenyingCalls {
    /// Those of a policy.
    pub fn of(program: &Program) -> Self {
        let mut rules: FxHashMap<PredId, Vec<&Rule>> = FxHashMap::default();
        for rule in &program.rules {
            rules.entry(rule.head).or_default().push(rule);
        }
        let mut found: FxHashMap<PredId, Vec<DenyingCall>> = FxHashMap::default();
        let (mut known, mut open) = (FxHashSet::default(), Vec::new());
        let mut note = |rule, wanted, open: &mut Vec<PredId>| {
            for call in calls(rule, wanted) {
                if !found.contains_key(&call.pred) {
                    open.push(call.pred);
                }
                let of_pred = found.entry(call.pred).or_default();
                if known.insert(call.clone()) {
                    of_pred.push(call);
                }
            }
        };
        program.rules.iter().for_each(|rule| note(rule, Polarity::Negated, &mut open));
        while let Some(pred) = open.pop() {
            rules.get(&pred).into_iter().flatten().for_each(|rule| note(rule, Polarity::Positive, &mut open));
        }
        Self { by_predicate: found }
    }

    /// Those of a predicate of the policy.
    pub fn of_predicate(&self, predicate: &str, arity: usize, program: &Program) -> &[DenyingCall] {
        let pred = program.predicate_id(predicate, arity);
        pred.and_then(|pred| self.by_predicate.get(&pred)).map_or(&[], Vec::as_slice)
    }
}

/// The calls of a rule with this polarity.
fn calls(rule: &Rule, wanted: Polarity) -> impl Iterator<Item = DenyingCall> {
    rule.body.iter().filter_map(move |literal| match &literal.kind {
        LiteralKind::Atom { polarity, pred, args } if *polarity == wanted => {
            let args = args.iter().map(|arg| call_arg(rule, *arg)).collect();
            Some(DenyingCall { pred: *pred, args })
        }
        LiteralKind::Atom { .. }
        | LiteralKind::Compare { .. }
        | LiteralKind::OneOf { .. }
        | LiteralKind::NotOfType { .. }
        | LiteralKind::False => None,
    })
}

fn call_arg(rule: &Rule, term: Term) -> CallArg {
    match term {
        Term::Var(var) => match &rule.vars[var].ty {
            VarType::Any => CallArg::Any,
            VarType::OneOf(types) => CallArg::OneOf(types.clone()),
        },
        Term::Const(literal) => CallArg::Literal(literal),
        Term::Now => CallArg::OneOf(vec![TypeId::INTEGER]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::source::SourceMap;

    fn program(rules: &str) -> Program {
        let text = format!("actor User {{}} resource Doc {{ permissions = [\"read\"]; }}\n{rules}");
        check(&SourceMap::new("p", text)).program.unwrap()
    }

    /// The calls of one of these predicates, with this number of arguments, that may deny something.
    fn calls(rules: &str, predicates: &[(&str, usize)]) -> Vec<String> {
        let program = program(rules);
        let arg = |arg: &CallArg| match arg {
            CallArg::Any => "_".to_owned(),
            CallArg::OneOf(types) => types.iter().map(|ty| program.types[*ty].name.as_str()).collect(),
            CallArg::Literal(literal) => format!("{:?}", program.literal(*literal).text),
        };
        let found = DenyingCalls::of(&program);
        let all = predicates.iter().flat_map(|(name, arity)| found.of_predicate(name, *arity, &program));
        let text = |call: &DenyingCall| {
            let args: Vec<String> = call.args.iter().map(arg).collect();
            format!("{}({})", program.predicate(call.pred).name, args.join(", "))
        };
        all.map(text).collect()
    }

    #[test]
    fn negated_calls_and_those_below_them_may_deny() {
        let rules = "has_permission(u: User, \"read\", d: Doc) if owner(d, u) and not held(d, _);\n\
                     has_permission(u: User, \"read\", d: Doc) if owner(d, u) and not lost(d) and not held(d, _);\n\
                     lost(d: Doc) if marked(d, \"lost\") and within(d, x) and not found(x);";
        let asked =
            [("held", 2), ("lost", 1), ("found", 1), ("marked", 2), ("within", 2), ("owner", 2), ("held", 1)];
        let expected = ["held(Doc, _)", "lost(Doc)", "found(_)", "marked(Doc, \"lost\")", "within(Doc, _)"];
        assert_eq!(calls(rules, &asked), expected);
    }

    #[test]
    fn what_only_permits_is_no_such_call() {
        let none: [&str; 0] = [];
        let rule = "has_permission(u: User, \"read\", d: Doc) if owner(d, u) and held(d, _);";
        assert_eq!(calls(rule, &[("held", 2), ("owner", 2)]), none);
    }

    #[test]
    fn any_admits_types_that_the_policy_does_not_mention() {
        let program = program("");
        assert!(CallArg::Any.admits(None, &program));
        let of_strings = CallArg::OneOf(vec![TypeId::STRING]);
        assert!(!of_strings.admits(None, &program));
        assert!(of_strings.admits(Some(TypeId::STRING), &program));
    }

    #[test]
    fn a_literal_admits_its_own_value_alone() {
        let program = program("declare locked(Doc); lost(d: Doc) if d = Doc{\"1\"};");
        let literal = CallArg::Literal(ConstId::from_index(0));
        let constant = program.literal(ConstId::from_index(0));
        let (ty, text) = (Some(constant.ty), constant.text.as_str());
        assert!(literal.admits_value(ty, text, &program));
        assert!(!literal.admits_value(ty, "another", &program));
        assert!(!literal.admits_value(None, text, &program), "a type that is not mentioned");
    }
}
