//! The names in a policy and their positions, for an editor's definitions and references.
//!
//! In: a tree. Out: every occurrence of a predicate, a type, or a role, permission or relation that a block
//! declares. Names are compared as written, not resolved: inherited declarations are not looked up.

use super::ast::{Block, BlockKind, Call, Condition, Item, Member, Name, Param, Policy, Setup};
use super::ast::{Short, ShortCondition, Spanned, Term};
use crate::source::Span;

/// What a name refers to. Names with equal values refer to the same thing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Named<'p> {
    /// A predicate with this many arguments.
    Predicate(&'p str, usize),
    /// A type.
    Type(&'p str),
    /// A role, permission or relation, after the block that declares it.
    Declared(&'p str, &'p str),
}

/// A name at a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence<'p> {
    /// What it names.
    pub named: Named<'p>,
    /// Its position.
    pub span: Span,
    /// Whether it is defined here: by the head of a rule, a `declare`, a block or a list of a block.
    pub defines: bool,
}

/// All names of a policy, in source order.
pub fn names(policy: &Policy) -> Vec<Occurrence<'_>> {
    let global = policy.items.iter().find_map(|item| match item {
        Item::Block(block) if block.kind == BlockKind::Global => Some(block),
        Item::Block(_) | Item::Rule(_) | Item::Declare(_) | Item::Fixture(_) | Item::Test(_) => None,
    });
    let mut names = Collector { global, found: Vec::new() };
    policy.items.iter().for_each(|item| names.item(item));
    names.found
}

/// Collects the names of a policy.
struct Collector<'p> {
    /// The block that declares what follows `global` in shorthand.
    global: Option<&'p Block>,
    found: Vec<Occurrence<'p>>,
}

impl<'p> Collector<'p> {
    fn add(&mut self, named: Named<'p>, span: Span, defines: bool) {
        self.found.push(Occurrence { named, span, defines });
    }

    fn ty(&mut self, name: &'p Name) {
        self.add(Named::Type(&name.value), name.span, false);
    }

    fn item(&mut self, item: &'p Item) {
        match item {
            Item::Block(block) => self.block(block),
            Item::Rule(rule) => {
                self.add(Named::Predicate(&rule.name.value, rule.params.len()), rule.name.span, true);
                rule.params.iter().for_each(|param| self.param(param));
                rule.body.iter().for_each(|body| self.condition(body));
            }
            Item::Declare(declare) => {
                let named = Named::Predicate(&declare.name.value, declare.types.len());
                self.add(named, declare.name.span, true);
                declare.types.iter().for_each(|ty| self.ty(ty));
            }
            Item::Fixture(fixture) => fixture.facts.iter().for_each(|fact| self.call(fact)),
            Item::Test(test) => {
                for line in &test.setup {
                    match line {
                        Setup::Fact(fact) => self.call(fact),
                        Setup::Fixture(_) => {}
                    }
                }
                for assertion in &test.assertions {
                    let named = Named::Predicate(&assertion.name.value, assertion.params.len());
                    self.add(named, assertion.name.span, false);
                    assertion.params.iter().for_each(|param| self.param(param));
                    assertion.iff.iter().for_each(|iff| self.condition(iff));
                }
            }
        }
    }

    fn block(&mut self, block: &'p Block) {
        match block.kind {
            BlockKind::Actor | BlockKind::Resource => {
                self.add(Named::Type(&block.name.value), block.name.span, true);
            }
            BlockKind::Global => {}
        }
        block.extends.iter().for_each(|ty| self.ty(ty));
        for member in &block.members {
            match member {
                Member::Roles(list) | Member::Permissions(list) => {
                    list.names.iter().for_each(|name| self.declared(block, name, true));
                }
                Member::Relations(relations) => {
                    for (name, ty) in &relations.relations {
                        self.declared(block, name, true);
                        self.ty(ty);
                    }
                }
                Member::Shorthand(shorthand) => {
                    self.short(&block.name.value, &shorthand.head);
                    self.short_condition(block, &shorthand.body);
                }
            }
        }
    }

    fn declared(&mut self, block: &'p Block, name: &'p Name, defines: bool) {
        self.add(Named::Declared(&block.name.value, &name.value), name.span, defines);
    }

    fn short(&mut self, block: &'p str, short: &'p Spanned<Short>) {
        match &short.value {
            Short::Name(name) => self.add(Named::Declared(block, name), short.span, false),
            Short::Role | Short::Permission => {}
        }
    }

    fn short_condition(&mut self, block: &'p Block, condition: &'p ShortCondition) {
        match condition {
            ShortCondition::Or(sides, _) | ShortCondition::And(sides, _) => {
                sides.iter().for_each(|side| self.short_condition(block, side));
            }
            ShortCondition::Not(inner, _) | ShortCondition::Paren(inner, _) => {
                self.short_condition(block, inner);
            }
            ShortCondition::Short { name, on: None, .. } => self.short(&block.name.value, name),
            ShortCondition::Short { name, on: Some(on), .. } => {
                if let Some(related) = related(block, &on.value) {
                    self.short(related, name);
                }
                self.declared(block, on, false);
            }
            ShortCondition::Global { name, .. } => {
                if let Some(global) = self.global {
                    self.short(&global.name.value, name);
                }
            }
            ShortCondition::Call(call) => self.call(call),
        }
    }

    fn condition(&mut self, condition: &'p Condition) {
        match condition {
            Condition::Or(sides, _) | Condition::And(sides, _) => {
                sides.iter().for_each(|side| self.condition(side));
            }
            Condition::Not(inner, _) | Condition::Paren(inner, _) => self.condition(inner),
            Condition::Compare { left, right, .. } => {
                [left, right].into_iter().for_each(|side| self.term(side));
            }
            Condition::In { term, list, .. } => {
                std::iter::once(term).chain(list).for_each(|term| self.term(term));
            }
            Condition::Matches { ty, .. } => self.ty(ty),
            Condition::Call(call) => self.call(call),
            Condition::Boolean(..) => {}
        }
    }

    fn call(&mut self, call: &'p Call) {
        self.add(Named::Predicate(&call.name.value, call.args.len()), call.name.span, false);
        call.args.iter().for_each(|arg| self.term(arg));
    }

    fn param(&mut self, param: &'p Param) {
        self.term(&param.term);
        param.ty.iter().for_each(|ty| self.ty(ty));
    }

    fn term(&mut self, term: &'p Spanned<Term>) {
        match &term.value {
            Term::Object { ty, .. } => self.ty(ty),
            Term::String(_)
            | Term::Integer(_)
            | Term::Boolean(_)
            | Term::CurrentUnixTime
            | Term::Variable(_) => {}
        }
    }
}

/// The type that a relation of a block leads to.
fn related<'p>(block: &'p Block, relation: &str) -> Option<&'p str> {
    block.members.iter().find_map(|member| match member {
        Member::Relations(relations) => {
            let found = relations.relations.iter().find(|(name, _)| name.value == relation);
            found.map(|(_, ty)| ty.value.as_str())
        }
        Member::Roles(_) | Member::Permissions(_) | Member::Shorthand(_) => None,
    })
}
