//! One clause with a call replaced by the body of a clause of the callee (a resolvent).

use super::{Clause, Goal, Term};
use crate::id_vec::IdVec;
use crate::ir::{CompareOp, VarId};
use crate::refusal::VarName;

/// The clause with the call at `goal_at`, whose arguments are `args`, replaced by a clause of the callee.
pub(crate) fn unfold_call(clause: &Clause, goal_at: usize, args: &[Term], callee: &Clause) -> Clause {
    let mut unfolded = clause.clone();
    unfolded.goals.remove(goal_at);
    let mut names: IdVec<VarId, Option<Term>> = IdVec::like(&callee.var_names, None);
    let mut equal = Vec::new();
    for (head, arg) in callee.head.iter().zip(args) {
        match head {
            Term::Var(var) => match names[*var] {
                None if *arg == Term::Ignored => {
                    names[*var] = Some(new_var(&mut unfolded, &VarName::UNNAMED));
                }
                None => names[*var] = Some(*arg),
                Some(known) => equal.push((known, *arg)),
            },
            other => equal.push((*other, *arg)),
        }
    }
    let renamed = names.iter().zip(&callee.var_names);
    let names: IdVec<VarId, Term> =
        renamed.map(|(known, name)| known.unwrap_or_else(|| new_var(&mut unfolded, name))).collect();
    let equal = equal.into_iter().filter(|(_, right)| *right != Term::Ignored);
    unfolded.goals.extend(equal.map(|(left, right)| Goal::Compare { op: CompareOp::Equal, left, right }));
    for goal in &callee.goals {
        let mut goal = goal.clone();
        goal.for_each_term_mut(&mut |term| {
            if let Term::Var(var) = *term {
                *term = names[var];
            }
        });
        unfolded.goals.push(goal);
    }
    unfolded
}

/// A variable that the clause does not have yet.
fn new_var(clause: &mut Clause, name: &VarName) -> Term {
    Term::Var(clause.var_names.push(name.clone()))
}
