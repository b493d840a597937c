//! The terms of clauses: visited, and those that nobody else mentions forgotten.

use super::clause::{Clause, Goal, ScanArg, Term};
use crate::ir::{Polarity, VarId};
use rustc_hash::FxHashMap;

/// Replaces variables that occur once, in a positive goal, by [`Term::Ignored`], and numbers the others in
/// order of appearance.
///
/// Variables in `keep` are outputs: they keep their own numbers, and so do all others then.
pub(crate) fn ignore_lonely(mut clause: Clause, keep: &[Term]) -> Clause {
    let mut count: FxHashMap<Term, usize> = FxHashMap::default();
    let mut order: Vec<Term> = Vec::new();
    for_each_term(&mut clause, &mut |term| {
        let seen = count.entry(*term).or_default();
        *seen += 1;
        if *seen == 1 && matches!(term, Term::Var(_)) {
            order.push(*term);
        }
    });
    let is_lonely =
        |term: &Term| matches!(term, Term::Var(_)) && count.get(term) == Some(&1) && !keep.contains(term);
    for goal in &mut clause.goals {
        if let Goal::Scan { polarity: Polarity::Positive, .. }
        | Goal::Call { polarity: Polarity::Positive, .. } = goal
        {
            for_each_goal_term(goal, &mut |term| {
                if is_lonely(term) && !clause.head.contains(term) {
                    order.retain(|other| other != term);
                    *term = Term::Ignored;
                }
            });
        }
    }
    if !keep.is_empty() {
        return clause;
    }
    let names = order.iter().map(|term| clause.name(*term).clone()).collect();
    let places: FxHashMap<Term, usize> =
        order.iter().enumerate().map(|(place, term)| (*term, place)).collect();
    for_each_term(&mut clause, &mut |term| {
        if let Some(place) = places.get(term) {
            *term = Term::Var(VarId::from_index(*place));
        }
    });
    clause.var_names = names;
    clause
}

/// Visits every term of a clause, head first.
fn for_each_term(clause: &mut Clause, visit: &mut impl FnMut(&mut Term)) {
    clause.head.iter_mut().for_each(&mut *visit);
    for goal in &mut clause.goals {
        for_each_goal_term(goal, visit);
    }
}

/// Visits every term of a goal.
pub(crate) fn for_each_goal_term(goal: &mut Goal, visit: &mut impl FnMut(&mut Term)) {
    match goal {
        Goal::Scan { args, guards, .. } => {
            for arg in args {
                match arg {
                    ScanArg::Term(term) => visit(term),
                    ScanArg::OneOf(_) => {}
                }
            }
            guards.iter_mut().for_each(|(term, _)| visit(term));
        }
        Goal::Call { args, guards, .. } => {
            args.iter_mut().for_each(&mut *visit);
            guards.iter_mut().for_each(|(term, _)| visit(term));
        }
        Goal::Rows { args, .. } => args.iter_mut().for_each(visit),
        Goal::Values { term, .. } => visit(term),
        Goal::Compare { left, right, .. } => {
            visit(left);
            visit(right);
        }
    }
}
