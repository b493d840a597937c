//! Infers the types of untyped variables from their uses.
//!
//! In: flat rules. Out: the same rules with narrower [`VarType`]s. A type is excluded only if the rule could
//! not hold for it, so no answer is lost:
//!
//! - `=` and `in` give the types of the other operand, order comparisons give `Integer`;
//! - `has_role(_, "reader", x)` gives the types whose block declares the role `reader`, likewise permissions;
//!   `has_relation(x, "parent", y)` gives those that declare the relation, and then the related types. Types
//!   for which rules, typed calls and `declare`s use the name elsewhere are added. If no block declares the
//!   name, or a rule may derive it for any type, nothing is inferred;
//! - a predicate with rules gives the types of their heads, and those of its typed calls and `declare`s
//!   elsewhere;
//! - a generated predicate and its callers share their types.
//!
//! A variable that is local to a negated predicate is narrowed in the same way. One that is bound outside is
//! not, because `not` says nothing about its type. The rules are visited until nothing changes.

mod parts;
mod uses;

use super::blocks::{Blocks, NameKind};
use super::formula::{intersect, term_types, variable};
use super::lower;
use super::tables::Tables;
use crate::diagnostic::Diagnostic;
use crate::id_vec::IdSet;
use crate::ir::{CompareOp, ConstId, Literal, LiteralKind, Polarity, PredId, Rule, RuleId, Signature};
use crate::ir::{Term, TypeId, VarId, VarType};
use crate::source::Span;
use parts::Parts;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use uses::{Declarers, Uses, literal, noun};

/// Limit on the rounds over all rules. Types travel one rule per round. Stopping early is sound: it only
/// leaves a variable wider.
const ROUNDS: usize = 64;

/// Narrows the variables of all rules.
pub(super) fn infer(tables: &mut Tables, blocks: &Blocks<'_>, declared: &[Signature]) {
    let mut rules = std::mem::take(&mut tables.rules);
    let open: Vec<OpenRule> =
        rules.enumerate().filter_map(|(id, rule)| OpenRule::of(tables, id, rule)).collect();
    let mut infer = Infer {
        tables,
        blocks,
        declarers: Declarers::default(),
        uses: Uses::default(),
        parts: Parts::default(),
        refused: FxHashSet::default(),
        diagnostics: Vec::new(),
    };
    // Most policies are all shorthand, where every type is known.
    let named = open.iter().any(|open| open.by_name);
    let defined = open.iter().any(|open| open.by_rules);
    if named {
        infer.declarers = Declarers::of(blocks);
    }
    for _ in 0..ROUNDS {
        if named {
            infer.uses = Uses::of(infer.tables, declared, &rules);
        }
        if defined {
            infer.parts = Parts::of(infer.tables, declared, &rules);
        }
        let mut changed = false;
        for open in &open {
            changed |= infer.rule(&mut rules[open.id], open);
        }
        if !changed {
            break;
        }
    }
    let found = infer.diagnostics;
    tables.rules = rules;
    tables.diagnostics.extend(found);
}

/// A rule in which types may be inferred.
struct OpenRule {
    id: RuleId,
    /// The variables without a type annotation.
    untyped: IdSet<VarId>,
    /// Whether a `has_…` predicate with a literal name may give types.
    by_name: bool,
    /// Whether the rules of another predicate may give types.
    by_rules: bool,
}

impl OpenRule {
    fn of(tables: &Tables, id: RuleId, rule: &Rule) -> Option<Self> {
        let untyped = rule.vars.enumerate().filter(|(_, var)| var.ty == VarType::Any);
        let untyped = untyped.map(|(var, _)| var).collect();
        let mut open = Self { id, untyped, by_name: false, by_rules: tables.is_generated(rule.head) };
        let mut compares = false;
        for called in &rule.body {
            match &called.kind {
                LiteralKind::Atom { pred, args, .. } => {
                    let untyped =
                        args.iter().filter_map(|&arg| variable(arg)).any(|var| open.is_untyped(var));
                    open.by_rules |= tables.is_generated(*pred) || (untyped && noun(tables, *pred).is_none());
                    open.by_name |= untyped && args.get(1).is_some_and(|&name| literal(name).is_some());
                }
                LiteralKind::Compare { .. } | LiteralKind::OneOf { .. } => compares = true,
                LiteralKind::NotOfType { .. } | LiteralKind::False => {}
            }
        }
        (open.by_name || open.by_rules || compares).then_some(open)
    }

    fn is_untyped(&self, var: VarId) -> bool {
        self.untyped.contains(var)
    }
}

struct Infer<'t, 'b, 'a> {
    tables: &'t Tables,
    blocks: &'b Blocks<'a>,
    declarers: Declarers<'a>,
    uses: Uses,
    parts: Parts,
    refused: FxHashSet<Span>,
    diagnostics: Vec<Diagnostic>,
}

impl Infer<'_, '_, '_> {
    /// Narrows one rule's variables by its own literals; returns whether anything changed.
    fn rule(&mut self, rule: &mut Rule, open: &OpenRule) -> bool {
        let mut ever = self.by_callers(rule);
        for _ in 0..ROUNDS {
            let mut changed = false;
            let body = std::mem::take(&mut rule.body);
            for literal in &body {
                changed |= match &literal.kind {
                    LiteralKind::Atom { polarity, pred, args } => {
                        self.by_atom(rule, open, body.as_slice(), (*polarity, *pred, args))
                    }
                    LiteralKind::Compare { op: CompareOp::Equal, left, right } => {
                        self.by_equality(rule, *left, *right)
                    }
                    LiteralKind::OneOf { polarity: Polarity::Positive, term, values } => {
                        let mut types: Vec<TypeId> =
                            values.iter().map(|&value| self.tables.constant_type(value)).collect();
                        types.sort_unstable();
                        types.dedup();
                        narrow(rule, *term, &types)
                    }
                    LiteralKind::Compare { .. }
                    | LiteralKind::OneOf { .. }
                    | LiteralKind::NotOfType { .. }
                    | LiteralKind::False => false,
                };
            }
            // Last, so that the diagnostic can name a type that another literal gives.
            for literal in &body {
                changed |= match &literal.kind {
                    LiteralKind::Compare { op: CompareOp::Equal | CompareOp::NotEqual, .. }
                    | LiteralKind::Atom { .. }
                    | LiteralKind::OneOf { .. }
                    | LiteralKind::NotOfType { .. }
                    | LiteralKind::False => false,
                    LiteralKind::Compare { left, right, .. } => {
                        self.by_order(rule, *left, literal.span) | self.by_order(rule, *right, literal.span)
                    }
                };
            }
            rule.body = body;
            ever |= changed;
            if !changed {
                break;
            }
        }
        ever
    }

    fn by_callers(&self, rule: &mut Rule) -> bool {
        let Some(callers) = self.parts.callers.get(&rule.head) else { return false };
        let params = rule.params.clone();
        let known = params.iter().zip(callers).filter_map(|(&param, seen)| Some((param, seen.types()?)));
        known.fold(false, |changed, (param, types)| narrow(rule, param, &types) | changed)
    }

    fn by_atom(
        &self,
        rule: &mut Rule,
        open: &OpenRule,
        body: &[Literal],
        (polarity, pred, args): (Polarity, PredId, &[Term]),
    ) -> bool {
        if let (Polarity::Positive, Some(heads)) = (polarity, self.parts.heads.get(&pred)) {
            let known = args.iter().zip(heads).filter_map(|(&arg, seen)| Some((arg, seen.types()?)));
            let generated = self.tables.is_generated(pred);
            return known.fold(false, |changed, (arg, types)| {
                let may = generated || variable(arg).is_some_and(|var| open.is_untyped(var));
                (may && narrow(rule, arg, &types)) | changed
            });
        }
        let ([first, name, last], Some(noun)) = (args, noun(self.tables, pred)) else { return false };
        let Some(name) = literal(*name) else { return false };
        let may_narrow = |rule: &Rule, term: Term| match term {
            Term::Var(var) => {
                open.is_untyped(var) && (polarity == Polarity::Positive || is_local(rule, body, var))
            }
            Term::Const(_) | Term::Now => false,
        };
        let mut changed = false;
        if noun == "relation" {
            if may_narrow(rule, *first) {
                changed |= self.by_declaration(rule, *first, noun, (pred, name), 0);
            }
            if may_narrow(rule, *last)
                && let Some(types) = self.related(rule, *first, name)
                && let Some(types) = self.with_uses(types, (pred, name), 1)
            {
                changed |= narrow(rule, *last, &types);
            }
        } else if may_narrow(rule, *last) {
            changed |= self.by_declaration(rule, *last, noun, (pred, name), 1);
        }
        changed
    }

    /// Narrows to the types whose blocks declare the name.
    fn by_declaration(
        &self,
        rule: &mut Rule,
        term: Term,
        noun: &'static str,
        (pred, name): (PredId, ConstId),
        side: usize,
    ) -> bool {
        let text = self.tables.constant_text(name);
        let Some(types) = self.declarers.types(noun, text) else { return false };
        let types = types.iter().copied().collect();
        match self.with_uses(types, (pred, name), side) {
            Some(types) => narrow(rule, term, &types),
            None => false,
        }
    }

    /// The types that a relation of `from` leads to; `None` if some type of `from` does not declare it.
    fn related(&self, rule: &Rule, from: Term, name: ConstId) -> Option<BTreeSet<TypeId>> {
        let mut related = BTreeSet::new();
        for ty in term_types(self.tables, rule, from)? {
            let declared = self.blocks.of(ty)?.names.get(self.tables.constant_text(name))?;
            match declared.kind {
                NameKind::Relation(to) => related.extend(self.tables.admits(to)),
                NameKind::Role | NameKind::Permission => return None,
            }
        }
        Some(related)
    }

    /// The types, and those that the rest of the policy uses; `None` if it may use any type.
    fn with_uses(
        &self,
        mut types: BTreeSet<TypeId>,
        (pred, name): (PredId, ConstId),
        side: usize,
    ) -> Option<Vec<TypeId>> {
        for key in [Some(name), None] {
            if let Some(seen) = self.uses.seen(pred, key, side) {
                types.extend(seen.types()?);
            }
        }
        Some(types.into_iter().collect())
    }

    fn by_equality(&self, rule: &mut Rule, left: Term, right: Term) -> bool {
        let (from_left, from_right) =
            (term_types(self.tables, rule, left), term_types(self.tables, rule, right));
        let mut changed = false;
        if let Some(types) = from_right {
            changed |= narrow(rule, left, &types);
        }
        if let Some(types) = from_left {
            changed |= narrow(rule, right, &types);
        }
        changed
    }

    fn by_order(&mut self, rule: &mut Rule, term: Term, span: Span) -> bool {
        if let Some(types) = term_types(self.tables, rule, term)
            && !types.is_empty()
            && !types.contains(&TypeId::INTEGER)
            && self.refused.insert(span)
        {
            self.diagnostics.push(lower::not_an_integer(self.tables, &types, span));
        }
        narrow(rule, term, &[TypeId::INTEGER])
    }
}

/// Narrows a term, if it is a variable, to these sorted types.
fn narrow(rule: &mut Rule, term: Term, types: &[TypeId]) -> bool {
    match term {
        Term::Var(var) => intersect(&mut rule.vars[var].ty, types),
        Term::Const(_) | Term::Now => false,
    }
}

/// Whether a variable occurs in only one literal and not in the head.
fn is_local(rule: &Rule, body: &[Literal], var: VarId) -> bool {
    let is_var = |term: &Term| *term == Term::Var(var);
    let mentions = |literal: &&Literal| match &literal.kind {
        LiteralKind::Atom { args, .. } => args.iter().any(is_var),
        LiteralKind::Compare { left, right, .. } => is_var(left) || is_var(right),
        LiteralKind::OneOf { term, .. } => is_var(term),
        LiteralKind::NotOfType { var: tested, .. } => *tested == var,
        LiteralKind::False => false,
    };
    !rule.params.iter().any(is_var) && body.iter().filter(mentions).take(2).count() == 1
}
