//! Finds near misses of built-in predicates: `has_roles`, or `has_role` with four arguments.
//!
//! Only names at edit distance one and with as many arguments count, and only if no predicate of that name
//! has rules, `declare` or test facts of its own, which show that the name is intended.

use crate::builtin::PREDICATES;
use crate::diagnostic::{Code, Diagnostic, suggest};
use crate::resolve::tables::Tables;
use crate::source::Span;
use crate::syntax::ast::{Call, Item, Name, Policy, Setup};
use rustc_hash::FxHashSet;

/// Reports each near miss once per name.
pub(super) struct NearMisses {
    known: FxHashSet<(String, usize)>,
    names: FxHashSet<String>,
    reported: FxHashSet<(String, usize)>,
    /// The predicate of the rule whose body is read, and what that body negates: a predicate may not depend
    /// on its own negation.
    head: Option<String>,
    negated: Vec<Span>,
}

impl NearMisses {
    /// Collects the names that are intended.
    pub(super) fn new(policy: &Policy) -> Self {
        let mut names = Self {
            known: FxHashSet::default(),
            names: FxHashSet::default(),
            reported: FxHashSet::default(),
            head: None,
            negated: Vec::new(),
        };
        for item in &policy.items {
            match item {
                Item::Declare(declare) => names.know(&declare.name, declare.types.len()),
                Item::Rule(rule) => names.know(&rule.name, rule.params.len()),
                Item::Fixture(fixture) => fixture.facts.iter().for_each(|fact| names.know_fact(fact)),
                Item::Test(test) => test.setup.iter().for_each(|line| match line {
                    Setup::Fact(fact) => names.know_fact(fact),
                    Setup::Fixture(_) => {}
                }),
                Item::Block(_) => {}
            }
        }
        names
    }

    fn know(&mut self, name: &Name, arity: usize) {
        self.known.insert((name.value.clone(), arity));
        self.names.insert(name.value.clone());
    }

    fn know_fact(&mut self, fact: &Call) {
        self.know(&fact.name, fact.args.len());
    }

    /// Enters the body of a rule for this predicate, or that of a shorthand rule.
    pub(super) fn enter(&mut self, head: Option<&Name>) {
        self.head = head.map(|name| name.value.clone());
        self.negated.clear();
    }

    /// Enters a negation of the body.
    pub(super) fn negate(&mut self, negated: Span) {
        self.negated.push(negated);
    }

    /// Checks a call.
    pub(super) fn check(&mut self, tables: &mut Tables, call: &Call) {
        let (name, arity) = (&call.name, call.args.len());
        let text = name.value.as_str();
        let of_arity =
            PREDICATES.iter().filter(|(_, arities)| arities.contains(&arity)).map(|(name, _)| *name);
        let near = suggest::one_slip(text, of_arity).filter(|_| !self.names.contains(text));
        let exact = PREDICATES.iter().find(|(built_in, _)| *built_in == text);
        let is_right = exact.is_some_and(|(_, arities)| arities.contains(&arity));
        if is_right || (exact.is_none() && near.is_none()) {
            return;
        }
        let key = (text.to_owned(), arity);
        if self.known.contains(&key) || !self.reported.insert(key) {
            return;
        }
        let diagnostic = match (exact, near) {
            (Some((_, arities)), _) => {
                let counts: Vec<String> = arities.iter().map(ToString::to_string).collect();
                let title = format!("`{text}` has {} arguments, not {arity}", counts.join(" or "));
                Diagnostic::new(Code::BuiltInNearMiss, title, name.span, "a built-in predicate")
                    .with_note("with a different number of arguments it is a separate predicate")
            }
            (None, Some(near)) => {
                let title = format!("`{text}` is almost the built-in predicate `{near}`");
                let found = Diagnostic::new(Code::BuiltInNearMiss, title, name.span, "a separate predicate");
                let help = format!("did you mean `{near}`?");
                let is_negated = self
                    .negated
                    .iter()
                    .any(|negated| negated.start <= name.span.start && name.span.end <= negated.end);
                if is_negated && self.head.as_deref() == Some(near) {
                    found.with_help(help)
                } else {
                    found.with_fix(help, name.span, near)
                }
            }
            (None, None) => return,
        };
        tables.report(diagnostic);
    }
}
