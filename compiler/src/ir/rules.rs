//! An index of rules, to find those that can match a call.

use super::ids::{ConstId, PredId, RuleId, TypeId, VarId};
use super::rule::{Literal, LiteralKind, Polarity, Rule, Term, VarType};
use super::symbols::{Constant, Predicate};
use crate::id_vec::IdVec;
use indexmap::IndexSet;
use rustc_hash::FxHashMap;

/// The rules of one predicate.
#[derive(Clone, Debug, Default)]
struct RulesOf {
    all: Vec<RuleId>,
    positions: Vec<RulesAt>,
}

/// The rules of one predicate by their parameter at one position; each list in source order.
#[derive(Clone, Debug, Default)]
struct RulesAt {
    /// The rules whose parameter admits a type.
    by_type: FxHashMap<TypeId, Vec<RuleId>>,
    /// Whether some rule admits any type, so that types do not narrow the search.
    open: bool,
    /// The rules whose parameter is a literal.
    by_literal: FxHashMap<ConstId, Vec<RuleId>>,
    /// The rules whose parameter is not a literal.
    others: Vec<RuleId>,
}

/// What is known of one argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// Its value.
    Literal(ConstId),
    /// Its type.
    Type(TypeId),
    /// Nothing.
    Nothing,
}

/// Rules that may match a call: two lists in source order.
#[derive(Debug)]
pub(crate) struct MatchingRules<'i> {
    left: &'i [RuleId],
    right: &'i [RuleId],
}

impl MatchingRules<'_> {
    /// The number of rules.
    pub(crate) fn len(&self) -> usize {
        self.left.len() + self.right.len()
    }
}

impl Iterator for MatchingRules<'_> {
    type Item = RuleId;

    /// The next rule in source order.
    fn next(&mut self) -> Option<RuleId> {
        let list = match (self.left.first(), self.right.first()) {
            (Some(left), Some(right)) if right < left => &mut self.right,
            (Some(_), _) => &mut self.left,
            (None, _) => &mut self.right,
        };
        let (first, rest) = list.split_first()?;
        *list = rest;
        Some(*first)
    }
}

/// What the specialiser needs of a policy, computed once per policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleIndex {
    rules: IdVec<PredId, RulesOf>,
    /// For each rule, which variables occur in a single negated atom and nowhere else.
    locals: IdVec<RuleId, IdVec<VarId, bool>>,
}

impl RuleIndex {
    /// Reads all rules once.
    pub(crate) fn new(
        predicates: &IndexSet<Predicate>,
        constants: &IndexSet<Constant>,
        all: &IdVec<RuleId, Rule>,
    ) -> Self {
        let mut rules: IdVec<PredId, RulesOf> = IdVec::new();
        for predicate in predicates {
            rules.push(RulesOf { all: Vec::new(), positions: vec![RulesAt::default(); predicate.arity] });
        }
        for (id, rule) in all.enumerate() {
            let of = &mut rules[rule.head];
            of.all.push(id);
            for (param, at) in rule.params.iter().zip(&mut of.positions) {
                at.add(rule, id, *param, constants);
            }
        }
        let locals =
            all.iter().map(|rule| locals(&rule.params, rule.body.as_slice(), rule.vars.len())).collect();
        Self { rules, locals }
    }

    /// The rules of a predicate that may match a call, in source order: a superset of those that do.
    ///
    /// `args` has one entry per argument.
    pub(crate) fn matching_rules(
        &self,
        pred: PredId,
        args: impl Iterator<Item = Given>,
    ) -> MatchingRules<'_> {
        let of = &self.rules[pred];
        let mut best = MatchingRules { left: &of.all, right: &[] };
        for (given, at) in args.zip(&of.positions) {
            if let Some(found) = at.matching_rules(given).filter(|found| found.len() < best.len()) {
                best = found;
            }
        }
        best
    }

    /// For each variable of the rule, whether it occurs only in one negated atom.
    pub(crate) fn locals(&self, rule: RuleId) -> &IdVec<VarId, bool> {
        &self.locals[rule]
    }
}

impl RulesAt {
    fn add(&mut self, rule: &Rule, id: RuleId, param: Term, constants: &IndexSet<Constant>) {
        let types: &[TypeId] = match param {
            Term::Const(literal) => &[constants[literal.index()].ty],
            Term::Now => &[TypeId::INTEGER],
            Term::Var(var) => match &rule.vars[var].ty {
                VarType::OneOf(types) => types,
                VarType::Any => {
                    self.open = true;
                    &[]
                }
            },
        };
        for ty in types {
            self.by_type.entry(*ty).or_default().push(id);
        }
        match param {
            Term::Const(literal) => self.by_literal.entry(literal).or_default().push(id),
            Term::Now | Term::Var(_) => self.others.push(id),
        }
    }

    fn matching_rules(&self, given: Given) -> Option<MatchingRules<'_>> {
        let (found, right) = match given {
            Given::Literal(literal) => (self.by_literal.get(&literal), self.others.as_slice()),
            Given::Type(ty) if !self.open => (self.by_type.get(&ty), &[][..]),
            Given::Type(_) | Given::Nothing => return None,
        };
        Some(MatchingRules { left: found.map_or(&[], Vec::as_slice), right })
    }
}

/// Which variables occur in a single negated atom and nowhere else: existential inside the negation.
fn locals(params: &[Term], body: &[Literal], n_vars: usize) -> IdVec<VarId, bool> {
    const OUTSIDE: usize = usize::MAX;
    let mut seen: IdVec<VarId, Option<usize>> = vec![None; n_vars].into_iter().collect();
    let mut note = |term: &Term, place: usize| {
        if let Term::Var(var) = term {
            seen[*var] = match seen[*var] {
                None => Some(place),
                Some(before) if before == place => Some(place),
                Some(_) => Some(OUTSIDE),
            };
        }
    };
    for param in params {
        note(param, OUTSIDE);
    }
    for (literal_idx, literal) in body.iter().enumerate() {
        match &literal.kind {
            LiteralKind::Atom { polarity, args, .. } => {
                let place = match polarity {
                    Polarity::Negated => literal_idx,
                    Polarity::Positive => OUTSIDE,
                };
                args.iter().for_each(|arg| note(arg, place));
            }
            LiteralKind::Compare { left, right, .. } => {
                note(left, OUTSIDE);
                note(right, OUTSIDE);
            }
            LiteralKind::OneOf { term, .. } => note(term, OUTSIDE),
            LiteralKind::NotOfType { var, .. } => note(&Term::Var(*var), OUTSIDE),
            LiteralKind::False => {}
        }
    }
    seen.iter().map(|place| place.is_some_and(|place| place != OUTSIDE)).collect()
}
