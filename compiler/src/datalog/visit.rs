//! Visitors of a clause's terms, and the elimination of variables that occur once.

use super::{Clause, Goal, RelId, ScanArg, Term};
use crate::ir::{CompareOp, Polarity, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

impl Clause {
    /// The relations that the clause calls, positively or not.
    pub(crate) fn callees(&self) -> impl Iterator<Item = RelId> {
        self.goals.iter().filter_map(Goal::callee)
    }

    /// Visits every term, head first.
    pub(crate) fn for_each_term_mut(&mut self, visit: &mut impl FnMut(&mut Term)) {
        self.head.iter_mut().for_each(&mut *visit);
        self.goals.iter_mut().for_each(|goal| goal.for_each_term_mut(visit));
    }
}

impl Goal {
    /// The relation that the goal calls.
    pub(crate) fn callee(&self) -> Option<RelId> {
        match self {
            Self::Call { rel, .. } => Some(*rel),
            Self::Scan { .. } | Self::Values { .. } | Self::Compare { .. } => None,
        }
    }

    /// Visits every term.
    pub(crate) fn for_each_term(&self, visit: &mut impl FnMut(Term)) {
        match self {
            Self::Scan { args, guards, .. } => {
                args.iter().filter_map(ScanArg::term).for_each(&mut *visit);
                guards.iter().for_each(|(term, _)| visit(*term));
            }
            Self::Call { args, guards, .. } => {
                args.iter().for_each(|term| visit(*term));
                guards.iter().for_each(|(term, _)| visit(*term));
            }
            Self::Values { term, .. } => visit(*term),
            Self::Compare { left, right, .. } => {
                visit(*left);
                visit(*right);
            }
        }
    }

    /// Whether it binds variables; any other only selects.
    pub(crate) fn binds(&self) -> bool {
        match self {
            Self::Scan { polarity, .. } | Self::Call { polarity, .. } => *polarity == Polarity::Positive,
            Self::Values { .. } => true,
            Self::Compare { op, .. } => *op == CompareOp::Equal,
        }
    }

    /// The variables, but for those of a negated goal alone.
    pub(crate) fn variables(&self) -> FxHashSet<Term> {
        let mut found = FxHashSet::default();
        self.for_each_term(&mut |term| {
            if matches!(term, Term::Var(_)) {
                found.insert(term);
            }
        });
        found
    }

    /// Visits every term.
    pub(crate) fn for_each_term_mut(&mut self, visit: &mut impl FnMut(&mut Term)) {
        match self {
            Self::Scan { args, guards, .. } => {
                for arg in args {
                    match arg {
                        ScanArg::Term(term) => visit(term),
                        ScanArg::OneOf(_) => {}
                    }
                }
                guards.iter_mut().for_each(|(term, _)| visit(term));
            }
            Self::Call { args, guards, .. } => {
                args.iter_mut().for_each(&mut *visit);
                guards.iter_mut().for_each(|(term, _)| visit(term));
            }
            Self::Values { term, .. } => visit(term),
            Self::Compare { left, right, .. } => {
                visit(left);
                visit(right);
            }
        }
    }
}

impl ScanArg {
    /// The term, if the argument is one.
    fn term(&self) -> Option<Term> {
        match self {
            Self::Term(term) => Some(*term),
            Self::OneOf(_) => None,
        }
    }
}

/// Replaces variables that occur once, in a positive goal, by [`Term::Ignored`], and numbers the others in
/// order of appearance.
///
/// Variables in `keep` are outputs: they keep their own numbers, and so do all others then.
pub(crate) fn ignore_singletons(mut clause: Clause, keep: &[Term]) -> Clause {
    let mut count: FxHashMap<Term, usize> = FxHashMap::default();
    let mut order: Vec<Term> = Vec::new();
    let mut note = |term: Term| {
        let seen = count.entry(term).or_default();
        *seen += 1;
        if *seen == 1 && matches!(term, Term::Var(_)) {
            order.push(term);
        }
    };
    clause.head.iter().copied().for_each(&mut note);
    clause.goals.iter().for_each(|goal| goal.for_each_term(&mut note));
    let is_singleton =
        |term: &Term| matches!(term, Term::Var(_)) && count.get(term) == Some(&1) && !keep.contains(term);
    let mut ignored: FxHashSet<Term> = FxHashSet::default();
    for goal in &mut clause.goals {
        if let Goal::Scan { polarity: Polarity::Positive, .. }
        | Goal::Call { polarity: Polarity::Positive, .. } = goal
        {
            goal.for_each_term_mut(&mut |term| {
                if is_singleton(term) && !clause.head.contains(term) {
                    ignored.insert(*term);
                    *term = Term::Ignored;
                }
            });
        }
    }
    if !keep.is_empty() {
        return clause;
    }
    order.retain(|term| !ignored.contains(term));
    let names = order.iter().map(|term| clause.name(*term).clone()).collect();
    let places: FxHashMap<Term, usize> =
        order.iter().enumerate().map(|(place, term)| (*term, place)).collect();
    clause.for_each_term_mut(&mut |term| {
        if let Some(place) = places.get(term) {
            *term = Term::Var(VarId::from_index(*place));
        }
    });
    clause.var_names = names;
    clause
}
