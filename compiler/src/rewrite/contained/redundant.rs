//! Drops the calls of a clause that hold wherever the rest of it holds.
//!
//! ```text
//! reply(u, m) :- read(u, m), in(m, c), post(u, c)   ─▶   reply(u, m) :- in(m, c), post(u, c), if
//!
//! read(u, m) :- in(m, c), view(u, c)      view(u, c) :- member(u, c)      post(u, c) :- member(u, c), open(c)
//! ```
//!
//! Roles imply each other, so that a permission on top of another one often asks for both where the second
//! gives the first. Each would be a set of its own, or a test of each row.
//!
//! A call is redundant if the program derives it from the other goals for any contents of the relations: the
//! same containment as for clauses, by which goals may be dropped, too (Sagiv 1987). A call among the other
//! goals stands for each clause of what it calls: the redundant one must follow from all of them. A call
//! stays if nothing else enumerates one of its variables. The pass runs after `factor-calls`: a call that
//! several clauses share is asked once for all of them, even if it is redundant in one.

use super::search::{self, GOALS};
use crate::datalog::unfold::unfold_call;
use crate::datalog::visit::ignore_singletons;
use crate::datalog::{Adornment, Clause, Goal, RelId, Specialised, Term};
use crate::deadline::Deadline;
use crate::ir::Polarity;

/// How many clauses and goals one run over a program may try.
const ALL_STEPS: usize = 20_000;

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
            while let Some(clause) = program.relations[rel]
                .clauses
                .get(at)
                .and_then(|clause| without_one(program, clause, &mut left))
            {
                if let Some(longer) = program.relations[rel].clauses.get_mut(at) {
                    *longer = clause;
                }
            }
        }
    }
}

/// The clause without its first redundant call, if it has one.
fn without_one(program: &Specialised, clause: &Clause, left: &mut usize) -> Option<Clause> {
    if clause.goals.len() < 2 || clause.goals.len() > GOALS {
        return None;
    }
    let calls = clause.goals.iter().enumerate().filter_map(|(at, goal)| Some((at, called(goal)?)));
    calls.into_iter().find_map(|(at, call)| {
        let mut rest = clause.clone();
        rest.goals.remove(at);
        let is_redundant =
            binds_what_it_shares(program, &rest, call) && follows(program, &rest, call, REPLACED_CALLS, left);
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
    if search::derives_call(program, &clause.goals, call, left) {
        return true;
    }
    replaced > 0
        && clause.goals.iter().enumerate().any(|(at, goal)| {
            called(goal).is_some_and(|(rel, args)| {
                let alternatives = &program.relations[rel].clauses;
                !alternatives.is_empty()
                    && alternatives.iter().all(|alternative| {
                        let with = unfold_call(clause, at, args, alternative);
                        follows(program, &with, call, replaced - 1, left)
                    })
            })
        })
}

/// Whether a clause enumerates all variables that it shares with a call.
fn binds_what_it_shares(program: &Specialised, rest: &Clause, (_, args): (RelId, &[Term])) -> bool {
    let is_shared = |term: &&Term| {
        matches!(term, Term::Var(_))
            && (rest.head.contains(term) || rest.goals.iter().any(|goal| goal.variables().contains(term)))
    };
    args.iter().filter(is_shared).all(|term| rest.goals.iter().any(|goal| enumerates(program, goal, *term)))
}

/// Whether a goal has all values of a variable for which it holds.
fn enumerates(program: &Specialised, goal: &Goal, var: Term) -> bool {
    match goal {
        Goal::Scan { polarity: Polarity::Positive, .. } | Goal::Values { .. } => {
            goal.variables().contains(&var)
        }
        Goal::Call { polarity: Polarity::Positive, rel, args, .. } => {
            let columns = program.relations[*rel].adornments.iter().filter(|column| column.has_column());
            args.iter()
                .zip(columns)
                .any(|(arg, column)| *arg == var && matches!(column, Adornment::Column(_)))
        }
        Goal::Scan { .. } | Goal::Call { .. } | Goal::Compare { .. } => false,
    }
}
