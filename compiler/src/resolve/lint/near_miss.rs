//! Finds near misses of built-in predicates: `has_roles`, or `has_role` with four arguments.
//!
//! Only names at edit distance one and with as many arguments count. A call is one only if no predicate of
//! that name has rules, `declare` or test facts of its own, which show that the name is intended. The head of
//! a rule is one only if nothing in the policy, its tests included, mentions the predicate otherwise.

use crate::builtin::PREDICATES;
use crate::diagnostic::{Code, Diagnostic, suggest};
use crate::resolve::tables::Tables;
use crate::resolve::walk::for_each_condition;
use crate::source::Span;
use crate::syntax::ast::{Call, Condition, Item, Member, Name, Policy, Rule, Setup, ShortCondition, Test};
use rustc_hash::FxHashSet;

/// Reports each near miss once per name.
pub(super) struct NearMisses {
    known: FxHashSet<(String, usize)>,
    names: FxHashSet<String>,
    /// The predicates that something other than the head of a rule mentions.
    mentioned: FxHashSet<(String, usize)>,
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
            mentioned: FxHashSet::default(),
            reported: FxHashSet::default(),
            head: None,
            negated: Vec::new(),
        };
        for item in &policy.items {
            match item {
                Item::Declare(declare) => {
                    names.know(&declare.name, declare.types.len());
                    names.mention(&declare.name, declare.types.len());
                }
                Item::Rule(rule) => {
                    names.know(&rule.name, rule.params.len());
                    rule.body.iter().for_each(|body| names.mention_calls(body));
                }
                Item::Fixture(fixture) => fixture.facts.iter().for_each(|fact| names.know_fact(fact)),
                Item::Test(test) => names.know_test(test),
                Item::Block(block) => block.members.iter().for_each(|member| match member {
                    Member::Shorthand(shorthand) => names.mention_short(&shorthand.body),
                    Member::Roles(_) | Member::Permissions(_) | Member::Relations(_) => {}
                }),
            }
        }
        names
    }

    fn know_test(&mut self, test: &Test) {
        for line in &test.setup {
            match line {
                Setup::Fact(fact) => self.know_fact(fact),
                Setup::Fixture(_) => {}
            }
        }
        for assertion in &test.assertions {
            self.mention(&assertion.name, assertion.params.len());
            assertion.iff.iter().for_each(|condition| self.mention_calls(condition));
        }
    }

    fn mention(&mut self, name: &Name, arity: usize) {
        self.mentioned.insert((name.value.clone(), arity));
    }

    fn mention_calls(&mut self, condition: &Condition) {
        for_each_condition(condition, &mut |part| match part {
            Condition::Call(call) => self.mention(&call.name, call.args.len()),
            Condition::Or(..)
            | Condition::And(..)
            | Condition::Not(..)
            | Condition::Paren(..)
            | Condition::Compare { .. }
            | Condition::In { .. }
            | Condition::Matches { .. }
            | Condition::Boolean(..) => {}
        });
    }

    fn mention_short(&mut self, condition: &ShortCondition) {
        match condition {
            ShortCondition::Or(parts, _) | ShortCondition::And(parts, _) => {
                parts.iter().for_each(|part| self.mention_short(part));
            }
            ShortCondition::Not(inner, _) | ShortCondition::Paren(inner, _) => self.mention_short(inner),
            ShortCondition::Call(call) => self.mention(&call.name, call.args.len()),
            ShortCondition::Short { .. } | ShortCondition::Global { .. } => {}
        }
    }

    fn know(&mut self, name: &Name, arity: usize) {
        self.known.insert((name.value.clone(), arity));
        self.names.insert(name.value.clone());
    }

    fn know_fact(&mut self, fact: &Call) {
        self.know(&fact.name, fact.args.len());
        self.mention(&fact.name, fact.args.len());
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
        let Some(miss) = Miss::of(&name.value, arity) else { return };
        if matches!(miss, Miss::Name(_)) && self.names.contains(&name.value) {
            return;
        }
        let key = (name.value.clone(), arity);
        if self.known.contains(&key) || !self.reported.insert(key) {
            return;
        }
        let found = miss.diagnostic(name, arity, ["a built-in predicate", "a separate predicate"]);
        let Miss::Name(near) = miss else { return tables.report(found) };
        let help = format!("did you mean `{near}`?");
        let is_negated = self
            .negated
            .iter()
            .any(|negated| negated.start <= name.span.start && name.span.end <= negated.end);
        tables.report(if is_negated && self.head.as_deref() == Some(near) {
            found.with_help(help)
        } else {
            found.with_fix(help, name.span, near)
        });
    }

    /// Checks the head of a rule.
    pub(super) fn check_head(&mut self, tables: &mut Tables, rule: &Rule) {
        let (name, arity) = (&rule.name, rule.params.len());
        let Some(miss) = Miss::of(&name.value, arity) else { return };
        let key = (name.value.clone(), arity);
        if self.mentioned.contains(&key) || !self.reported.insert(key) {
            return;
        }
        let label = "this rule defines a separate predicate, which nothing else in the policy mentions";
        let found = miss.diagnostic(name, arity, [label, label]);
        tables.report(match miss {
            // The name might make the policy depend on its own negation, so this is no fix.
            Miss::Name(near) => found.with_help(format!("did you mean `{near}`?")),
            Miss::Arity(_) => found,
        });
    }
}

/// How a predicate misses a built-in one.
enum Miss {
    /// It has the name, and these are the numbers of arguments that it should have.
    Arity(&'static [usize]),
    /// It has nearly this name.
    Name(&'static str),
}

impl Miss {
    fn of(name: &str, arity: usize) -> Option<Self> {
        if let Some((_, arities)) = PREDICATES.iter().find(|(built_in, _)| *built_in == name) {
            return (!arities.contains(&arity)).then_some(Self::Arity(arities));
        }
        let of_arity =
            PREDICATES.iter().filter(|(_, arities)| arities.contains(&arity)).map(|(name, _)| *name);
        suggest::one_slip(name, of_arity).map(Self::Name)
    }

    /// What is wrong, labelled with the first text if it is the number of arguments.
    fn diagnostic(&self, name: &Name, arity: usize, [of_arity, of_name]: [&str; 2]) -> Diagnostic {
        let text = &name.value;
        match self {
            Self::Arity(arities) => {
                let counts: Vec<String> = arities.iter().map(ToString::to_string).collect();
                let title = format!("`{text}` has {} arguments, not {arity}", counts.join(" or "));
                Diagnostic::new(Code::BuiltInNearMiss, title, name.span, of_arity)
                    .with_note("with a different number of arguments it is a separate predicate")
            }
            Self::Name(near) => {
                let title = format!("`{text}` is almost the built-in predicate `{near}`");
                Diagnostic::new(Code::BuiltInNearMiss, title, name.span, of_name)
            }
        }
    }
}
