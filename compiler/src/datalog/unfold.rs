//! One clause with a call replaced by the body of a clause of the callee (a resolvent).

use super::{Clause, Goal, Term};
use crate::ir::{CompareOp, VarId};
use crate::refusal::VarName;

/// The clause with the call at `goal_at`, whose arguments are `args`, replaced by a clause of the callee.
pub(crate) fn unfold_call(clause: &Clause, goal_at: usize, args: &[Term], callee: &Clause) -> Clause {
    let mut unfolded = clause.clone();
    unfolded.goals.remove(goal_at);
    let mut names: Vec<Option<Term>> = vec![None; callee.var_names.len()];
    let mut equal = Vec::new();
    for (head, arg) in callee.head.iter().zip(args) {
        match head {
            Term::Var(var) => match names.get_mut(var.index()) {
                Some(slot @ None) if *arg == Term::Ignored => {
                    *slot = Some(fresh(&mut unfolded, &VarName::UNNAMED));
                }
                Some(slot @ None) => *slot = Some(*arg),
                Some(Some(known)) => equal.push((*known, *arg)),
                None => {}
            },
            other => equal.push((*other, *arg)),
        }
    }
    for (slot, name) in names.iter_mut().zip(&callee.var_names) {
        slot.get_or_insert_with(|| fresh(&mut unfolded, name));
    }
    let equal = equal.into_iter().filter(|(_, right)| *right != Term::Ignored);
    unfolded.goals.extend(equal.map(|(left, right)| Goal::Compare { op: CompareOp::Equal, left, right }));
    for goal in &callee.goals {
        let mut goal = goal.clone();
        goal.for_each_term_mut(&mut |term| {
            if let Term::Var(var) = *term
                && let Some(Some(renamed)) = names.get(var.index())
            {
                *term = *renamed;
            }
        });
        unfolded.goals.push(goal);
    }
    unfolded
}

/// A variable that the clause does not have yet.
fn fresh(clause: &mut Clause, name: &VarName) -> Term {
    clause.var_names.push(name.clone());
    Term::Var(VarId::from_index(clause.var_names.len() - 1))
}
