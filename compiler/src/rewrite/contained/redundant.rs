//! Drops the calls of a clause that hold wherever the rest of it holds.
//!
//! ```text
//! reply(u, m) :- read(u, m), in(m, c), post(u, c)   ─▶   reply(u, m) :- in(m, c), post(u, c), if
//!
//! read(u, m) :- in(m, c), view(u, c)      view(u, c) :- member(u, c)      post(u, c) :- member(u, c), open(c)
//! ```
//!
//! One role often implies another, so a permission that requires two others often requires one that the other
//! implies. Each would be a set of its own, or a test of each row.
//!
//! A call is redundant if the program derives it from the other goals for any contents of the relations: the
//! same containment as for clauses, by which goals may be dropped, too (Sagiv 1987). A call among the other
//! goals stands for each clause of what it calls: the redundant one must follow from all of them. That goes
//! beyond Sagiv's test, and holds for recursions, too, as each tuple of a least model comes from some clause.
//!
//! A call stays if it alone enumerates a variable that the rest of the clause still uses. The pass runs after
//! `factor-calls`: a call that several clauses share is asked once for all of them, even if it is redundant
//! in one. If the plan of the shorter program is refused, the one as the policy says is planned.

use super::search::{self, GOALS};
use crate::datalog::unfold::unfold_call;
use crate::datalog::visit::ignore_singletons;
use crate::datalog::{Clause, Goal, RelId, ScanArg, Specialised, Term};
use crate::deadline::Deadline;
use crate::ir::{CompareOp, Polarity};
use rustc_hash::FxHashSet;

/// How many clauses and goals one run over a program may try.
const ALL_STEPS: usize = 100_000;

/// How many of them may be tried for one clause, so that relations of the same form lose the same calls.
const CLAUSE_STEPS: usize = 2_000;

/// How many calls may be replaced by the clauses of what they call, one after the other.
const REPLACED_CALLS: usize = 2;

/// Drops the redundant calls of every clause.
pub(in super::super) fn drop_redundant_calls(program: &mut Specialised, deadline: Deadline) {
    let mut left = ALL_STEPS;
    for rel in program.relations.ids() {
        for at in 0..program.relations[rel].clauses.len() {
            if deadline.is_over() {
                return;
            }
            let budget = CLAUSE_STEPS.min(left);
            let mut unused = budget;
            while let Some(shorter) = without_one(program, (rel, at), &mut unused) {
                if let Some(clause) = program.relations[rel].clauses.get_mut(at) {
                    *clause = shorter;
                }
            }
            left -= budget - unused;
        }
    }
}

/// The clause at a place without its first redundant call, if it has one.
fn without_one(program: &Specialised, (rel, at): (RelId, usize), left: &mut usize) -> Option<Clause> {
    let clause = program.relations[rel].clauses.get(at).filter(|clause| clause.goals.len() <= GOALS)?;
    let mut calls =
        clause.goals.iter().enumerate().filter_map(|(goal_at, goal)| Some((goal_at, called(goal)?)));
    calls.find_map(|(goal_at, call)| {
        let mut rest = clause.clone();
        rest.goals.remove(goal_at);
        let is_redundant =
            enumerates_as_much(program, &rest, clause) && follows(program, &rest, call, REPLACED_CALLS, left);
        is_redundant.then(|| ignore_singletons(rest, &[]))
    })
}

/// The relation of a positive call, and its arguments.
fn called(goal: &Goal) -> Option<(RelId, &[Term])> {
    match goal {
        Goal::Call { polarity: Polarity::Positive, rel, args, .. } => Some((*rel, args)),
        Goal::Call { .. } | Goal::Scan { .. } | Goal::Values { .. } | Goal::Compare { .. } => None,
    }
}

/// Whether a call holds wherever a clause does: as it is, or whichever clause of what it calls replaces one
/// of its own calls.
fn follows(
    program: &Specialised,
    clause: &Clause,
    call: (RelId, &[Term]),
    replaced: usize,
    left: &mut usize,
) -> bool {
    if clause.goals.len() > GOALS || *left == 0 {
        return false;
    }
    *left -= 1;
    if search::derives_call(program, &clause.goals, call, left) {
        return true;
    }
    replaced > 0
        && clause.goals.iter().enumerate().any(|(goal_at, goal)| {
            called(goal).is_some_and(|(rel, args)| {
                let alternatives = &program.relations[rel].clauses;
                !alternatives.is_empty()
                    && alternatives.iter().all(|alternative| {
                        let with = unfold_call(clause, goal_at, args, alternative);
                        follows(program, &with, call, replaced - 1, left)
                    })
            })
        })
}

/// Whether the rest of a clause enumerates all variables that the whole clause does and the rest still has.
fn enumerates_as_much(program: &Specialised, rest: &Clause, whole: &Clause) -> bool {
    let by_rest = enumerated(program, rest);
    let has = |term: &Term| {
        rest.head.contains(term) || rest.goals.iter().any(|goal| goal.variables().contains(term))
    };
    enumerated(program, whole).iter().all(|term| by_rest.contains(term) || !has(term))
}

/// The variables of which a clause's goals have all values. What a call only tests must be known before it.
fn enumerated(program: &Specialised, clause: &Clause) -> FxHashSet<Term> {
    let mut known: FxHashSet<Term> = FxHashSet::default();
    let is_known = |term: &Term, known: &FxHashSet<Term>| match term {
        Term::Var(_) => known.contains(term),
        Term::Const(_) | Term::Given(_) | Term::Now => true,
        Term::Local(_) | Term::Ignored => false,
    };
    loop {
        let before = known.len();
        for goal in &clause.goals {
            match goal {
                Goal::Scan { polarity: Polarity::Positive, args, .. } => {
                    known.extend(args.iter().filter_map(|arg| match arg {
                        ScanArg::Term(term @ Term::Var(_)) => Some(*term),
                        ScanArg::Term(_) | ScanArg::OneOf(_) => None,
                    }));
                }
                Goal::Values { term, .. } => known.extend([*term]),
                Goal::Call { polarity: Polarity::Positive, rel, args, .. } => {
                    let columns =
                        program.relations[*rel].adornments.iter().filter(|column| column.has_column());
                    let is_free = args
                        .iter()
                        .zip(columns)
                        .all(|(arg, column)| !column.is_tested() || is_known(arg, &known));
                    if is_free {
                        known.extend(goal.variables());
                    }
                }
                Goal::Compare { op: CompareOp::Equal, left, right } => {
                    if is_known(left, &known) || is_known(right, &known) {
                        known.extend(goal.variables());
                    }
                }
                Goal::Scan { .. } | Goal::Call { .. } | Goal::Compare { .. } => {}
            }
        }
        if known.len() == before {
            return known;
        }
    }
}
