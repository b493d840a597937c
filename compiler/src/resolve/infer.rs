//! Infers the types of variables that the author left untyped, from where they are used.
//!
//! In: flat rules. Out: the same rules with narrower [`VarType`]s. A variable is narrowed only to types
//! outside which its rule could not hold, so that no answer is lost:
//!
//! - `=` and `in` give the types of the other side, order comparisons give `Integer`;
//! - `has_role(_, "reader", x)` gives the types whose block declares the role `reader`, likewise permissions;
//!   `has_relation(x, "parent", y)` gives those that declare the relation, and then the related types. To
//!   these come the types for which rules, typed calls and `declare`s speak of that name elsewhere. If no block
//!   declares the name, or a rule may derive it for any type, nothing is inferred;
//! - a generated predicate and its callers share their types.
//!
//! A variable that is local to a negated predicate is narrowed in the same way; one that is bound outside
//! is not, as `not` says nothing of its type. The rules are visited until nothing changes.

use super::declare::{Blocks, Kind};
use super::formula::{intersect, term_types};
use super::lower;
use super::tables::Tables;
use crate::diagnostic::Diagnostic;
use crate::ir::{CompareOp, ConstId, Literal, LiteralKind, Polarity, PredId, Rule, Signature, SignatureArg};
use crate::ir::{Term, TypeId, VarId, VarType};
use crate::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Visits of all rules. Types travel one rule in a visit, but to end early is sound: it only leaves
/// a variable wider.
const ROUNDS: usize = 64;

/// Narrows the variables of all rules.
pub(super) fn infer(tables: &mut Tables, blocks: &Blocks<'_>, declared: &[Signature]) {
    let mut rules = std::mem::take(&mut tables.rules);
    let open: Vec<Open> =
        rules.iter().enumerate().filter_map(|(at, rule)| Open::of(tables, at, rule)).collect();
    let mut infer = Infer {
        tables,
        blocks,
        declared,
        named: Named::default(),
        uses: Uses::default(),
        parts: Parts::default(),
        refused: FxHashSet::default(),
        diagnostics: Vec::new(),
    };
    if open.iter().any(|open| open.untyped.contains(&true)) {
        infer.named = Named::of(blocks);
    }
    for _ in 0..ROUNDS {
        infer.uses = if open.is_empty() { Uses::default() } else { Uses::of(&infer, &rules) };
        infer.parts = Parts::of(infer.tables, &rules);
        let mut changed = false;
        for open in &open {
            if let Some(rule) = rules.get_mut(open.at) {
                changed |= infer.rule(rule, open);
            }
        }
        if !changed {
            break;
        }
    }
    let found = infer.diagnostics;
    tables.rules = rules;
    tables.diagnostics.extend(found);
}

/// A rule in which something may be inferred.
struct Open {
    at: usize,
    /// The variables that have no type from the author.
    untyped: Vec<bool>,
}

impl Open {
    fn of(tables: &Tables, at: usize, rule: &Rule) -> Option<Self> {
        let untyped: Vec<bool> = rule.vars.iter().map(|var| var.ty == VarType::Any).collect();
        let compares = |literal: &Literal| match &literal.kind {
            LiteralKind::Compare { .. } | LiteralKind::OneOf { .. } => true,
            LiteralKind::Atom { pred, .. } => tables.is_generated(*pred),
            LiteralKind::NotOfType { .. } | LiteralKind::False => false,
        };
        let open =
            untyped.contains(&true) || tables.is_generated(rule.head) || rule.body.iter().any(compares);
        open.then_some(Self { at, untyped })
    }

    fn is_untyped(&self, var: VarId) -> bool {
        self.untyped.get(var.index()).copied().unwrap_or(false)
    }
}

/// The types whose blocks declare a name as a role, permission or relation.
#[derive(Default)]
struct Named<'a>(FxHashMap<(&'static str, &'a str), Vec<TypeId>>);

impl<'a> Named<'a> {
    fn of(blocks: &Blocks<'a>) -> Self {
        let mut named: FxHashMap<_, Vec<TypeId>> = FxHashMap::default();
        for block in &blocks.list {
            for (&name, declared) in &block.names {
                named.entry((declared.kind.noun(), name)).or_default().push(block.ty);
            }
        }
        Self(named)
    }
}

/// The types that one argument takes in rules, typed calls and declarations.
#[derive(Clone, Debug, Default)]
struct Seen {
    any: bool,
    types: BTreeSet<TypeId>,
}

impl Seen {
    fn add(&mut self, types: Option<&[TypeId]>) {
        match types {
            Some(types) => self.types.extend(types),
            None => self.any = true,
        }
    }
}

/// The first and the last argument of each `has_…` predicate, by the name between them.
#[derive(Default)]
struct Uses(FxHashMap<(PredId, Option<ConstId>), [Seen; 2]>);

impl Uses {
    fn of(infer: &Infer<'_, '_, '_>, rules: &[Rule]) -> Self {
        let tables = infer.tables;
        let mut uses = Self::default();
        for rule in rules {
            if let ([first, name, last], Some(_)) = (rule.params.as_slice(), noun(tables, rule.head)) {
                let seen = uses.0.entry((rule.head, literal(*name))).or_default();
                for (seen, term) in seen.iter_mut().zip([*first, *last]) {
                    seen.add(term_types(tables, &rule.vars, term).as_deref());
                }
            }
            for called in &rule.body {
                let LiteralKind::Atom { pred, args, .. } = &called.kind else { continue };
                let ([first, name, last], Some(_)) = (args.as_slice(), noun(tables, *pred)) else { continue };
                let seen = uses.0.entry((*pred, literal(*name))).or_default();
                for (seen, term) in seen.iter_mut().zip([*first, *last]) {
                    // An untyped call tells nothing of what others store or derive.
                    if let Some(types) = term_types(tables, &rule.vars, term) {
                        seen.add(Some(&types));
                    }
                }
            }
        }
        for signature in infer.declared {
            let Some(pred) = tables.find_predicate(&signature.predicate, signature.args.len()) else {
                continue;
            };
            let ([first, _, last], Some(_)) = (signature.args.as_slice(), noun(tables, pred)) else {
                continue;
            };
            let seen = uses.0.entry((pred, None)).or_default();
            for (seen, arg) in seen.iter_mut().zip([first, last]) {
                match arg {
                    SignatureArg::OneOf(types) => seen.add(Some(types)),
                    SignatureArg::Literal(_) | SignatureArg::Any => seen.add(None),
                }
            }
        }
        uses
    }
}

fn literal(term: Term) -> Option<ConstId> {
    match term {
        Term::Const(constant) => Some(constant),
        Term::Var(_) | Term::Now => None,
    }
}

/// What a predicate's middle argument names, if it is one that blocks declare names for.
fn noun(tables: &Tables, pred: PredId) -> Option<&'static str> {
    match tables.predicate_name(pred) {
        "has_role" => Some("role"),
        "has_permission" => Some("permission"),
        "has_relation" => Some("relation"),
        _ => None,
    }
}

/// The argument types of generated predicates, from their rules and from their callers.
#[derive(Default)]
struct Parts {
    heads: FxHashMap<PredId, Vec<Seen>>,
    callers: FxHashMap<PredId, Vec<Seen>>,
}

impl Parts {
    fn of(tables: &Tables, rules: &[Rule]) -> Self {
        let mut parts = Self::default();
        let add = |into: &mut FxHashMap<PredId, Vec<Seen>>, pred: PredId, args: &[Term], rule: &Rule| {
            let seen = into.entry(pred).or_insert_with(|| vec![Seen::default(); args.len()]);
            for (seen, &arg) in seen.iter_mut().zip(args) {
                seen.add(term_types(tables, &rule.vars, arg).as_deref());
            }
        };
        for rule in rules {
            if tables.is_generated(rule.head) {
                add(&mut parts.heads, rule.head, &rule.params, rule);
            }
            for literal in &rule.body {
                match &literal.kind {
                    LiteralKind::Atom { pred, args, .. } if tables.is_generated(*pred) => {
                        add(&mut parts.callers, *pred, args, rule);
                    }
                    LiteralKind::Atom { .. }
                    | LiteralKind::Compare { .. }
                    | LiteralKind::OneOf { .. }
                    | LiteralKind::NotOfType { .. }
                    | LiteralKind::False => {}
                }
            }
        }
        parts
    }
}

struct Infer<'t, 'b, 'a> {
    tables: &'t Tables,
    blocks: &'b Blocks<'a>,
    declared: &'t [Signature],
    named: Named<'a>,
    uses: Uses,
    parts: Parts,
    refused: FxHashSet<Span>,
    diagnostics: Vec<Diagnostic>,
}

impl Infer<'_, '_, '_> {
    /// Narrows one rule's variables as far as its own literals tell; says whether anything changed.
    fn rule(&mut self, rule: &mut Rule, open: &Open) -> bool {
        let mut ever = self.by_callers(rule);
        for _ in 0..ROUNDS {
            let mut changed = false;
            let body = std::mem::take(&mut rule.body);
            for literal in &body {
                changed |= match &literal.kind {
                    LiteralKind::Atom { polarity, pred, args } => {
                        self.by_atom(rule, open, &body, (*polarity, *pred, args))
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
            // Last, so that a type which something else gives is named in the refusal.
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
        let known = params.iter().zip(callers).filter(|(_, seen)| !seen.any);
        known.fold(false, |changed, (&param, seen)| {
            narrow(rule, param, &seen.types.iter().copied().collect::<Vec<_>>()) | changed
        })
    }

    fn by_atom(
        &self,
        rule: &mut Rule,
        open: &Open,
        body: &[Literal],
        (polarity, pred, args): (Polarity, PredId, &[Term]),
    ) -> bool {
        if let (Polarity::Positive, Some(heads)) = (polarity, self.parts.heads.get(&pred)) {
            let known = args.iter().zip(heads).filter(|(_, seen)| !seen.any);
            return known.fold(false, |changed, (&arg, seen)| {
                narrow(rule, arg, &seen.types.iter().copied().collect::<Vec<_>>()) | changed
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
        let Some(types) = self.named.0.get(&(noun, text)) else { return false };
        let types = types.iter().copied().collect();
        match self.with_uses(types, (pred, name), side) {
            Some(types) => narrow(rule, term, &types),
            None => false,
        }
    }

    /// The types to which a relation of `from` leads; `None` if some type of `from` does not declare it.
    fn related(&self, rule: &Rule, from: Term, name: ConstId) -> Option<BTreeSet<TypeId>> {
        let mut related = BTreeSet::new();
        for ty in term_types(self.tables, &rule.vars, from)? {
            let declared = self.blocks.of(ty)?.names.get(self.tables.constant_text(name))?;
            match declared.kind {
                Kind::Relation(to) => related.extend(self.tables.admits(to)),
                Kind::Role | Kind::Permission => return None,
            }
        }
        Some(related)
    }

    /// The types, and those of which the rest of the policy speaks; `None` if that may be any type.
    fn with_uses(
        &self,
        mut types: BTreeSet<TypeId>,
        (pred, name): (PredId, ConstId),
        side: usize,
    ) -> Option<Vec<TypeId>> {
        for key in [Some(name), None] {
            if let Some(seen) = self.uses.0.get(&(pred, key)).and_then(|sides| sides.get(side)) {
                if seen.any {
                    return None;
                }
                types.extend(&seen.types);
            }
        }
        Some(types.into_iter().collect())
    }

    fn by_equality(&self, rule: &mut Rule, left: Term, right: Term) -> bool {
        let (from_left, from_right) =
            (term_types(self.tables, &rule.vars, left), term_types(self.tables, &rule.vars, right));
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
        if let Some(types) = term_types(self.tables, &rule.vars, term)
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
        Term::Var(var) => rule.vars.get_mut(var.index()).is_some_and(|var| intersect(&mut var.ty, types)),
        Term::Const(_) | Term::Now => false,
    }
}

/// Whether a variable occurs in one literal of the rule only, and not in its head.
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
