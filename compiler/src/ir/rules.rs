//! Finds the rules that can match a call, without reading all of them.

use super::{
    Constant, Literal, LiteralKind, Polarity, PredId, Predicate, Rule, RuleId, Term, TypeId, VarId, VarType,
};
use indexmap::IndexSet;
use rustc_hash::FxHashMap;

/// The rules of one predicate, by the type that each position admits.
#[derive(Clone, Debug, Default)]
struct RulesOf {
    all: Vec<RuleId>,
    /// One map a position: type → rules whose parameter admits it, in source order.
    by_type: Vec<FxHashMap<TypeId, Vec<RuleId>>>,
    /// One list a position: whether some rule admits any type there, so that the map is of no use.
    open: Vec<bool>,
}

/// What the specialiser asks of a policy again and again; made once a policy.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleIndex {
    rules: Vec<RulesOf>,
    /// One entry a rule: which variables occur in a single negated atom and nowhere else.
    locals: Vec<Vec<bool>>,
}

impl RuleIndex {
    /// Reads all rules once.
    pub(crate) fn new(
        predicates: &IndexSet<Predicate>,
        constants: &IndexSet<Constant>,
        all: &[Rule],
    ) -> Self {
        let mut rules: Vec<RulesOf> = Vec::new();
        for predicate in predicates {
            let arity = predicate.arity;
            rules.push(RulesOf {
                all: Vec::new(),
                by_type: vec![FxHashMap::default(); arity],
                open: vec![false; arity],
            });
        }
        for (rule_idx, rule) in all.iter().enumerate() {
            let Some(of) = rules.get_mut(rule.head.index()) else { continue };
            let id = RuleId::from_index(rule_idx);
            of.all.push(id);
            for ((param, by_type), open) in rule.params.iter().zip(&mut of.by_type).zip(&mut of.open) {
                let types: &[TypeId] = match param {
                    Term::Const(literal) => match constants.get_index(literal.index()) {
                        Some(constant) => &[constant.ty],
                        None => &[],
                    },
                    Term::Now => &[TypeId::INTEGER],
                    Term::Var(var) => match rule.vars.get(var.index()).map(|var| &var.ty) {
                        Some(VarType::OneOf(types)) => types,
                        Some(VarType::Any) | None => {
                            *open = true;
                            &[]
                        }
                    },
                };
                for ty in types {
                    by_type.entry(*ty).or_default().push(id);
                }
            }
        }
        let locals = all.iter().map(|rule| locals(&rule.params, &rule.body, rule.vars.len())).collect();
        Self { rules, locals }
    }

    /// The rules of a predicate that may match a call, in source order; a superset of those that do.
    ///
    /// `types` has one entry an argument: its type, where the caller knows it.
    pub(crate) fn candidates(&self, pred: PredId, types: impl Iterator<Item = Option<TypeId>>) -> &[RuleId] {
        let Some(of) = self.rules.get(pred.index()) else { return &[] };
        let mut best: &[RuleId] = &of.all;
        for ((ty, by_type), open) in types.zip(&of.by_type).zip(&of.open) {
            let Some(ty) = ty.filter(|_| !open) else { continue };
            let rules = by_type.get(&ty).map_or(&[][..], Vec::as_slice);
            if rules.len() < best.len() {
                best = rules;
            }
        }
        best
    }

    /// For each variable of the rule: does it occur in one negated atom alone?
    pub(crate) fn locals(&self, rule: RuleId) -> &[bool] {
        self.locals.get(rule.index()).map_or(&[], Vec::as_slice)
    }
}

/// Which variables occur in a single negated atom and nowhere else: existential inside the negation.
pub(crate) fn locals(params: &[Term], body: &[Literal], n_vars: usize) -> Vec<bool> {
    const OUTSIDE: usize = usize::MAX;
    let mut seen: Vec<Option<usize>> = vec![None; n_vars];
    let mut note = |term: &Term, place: usize| {
        if let Term::Var(VarId(index)) = term
            && let Some(slot) = seen.get_mut(*index as usize)
        {
            *slot = match *slot {
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
    seen.into_iter().map(|place| place.is_some_and(|place| place != OUTSIDE)).collect()
}
