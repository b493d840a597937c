//! Skips the row-by-row test of a ban that denies nothing to this actor.
//!
//! ```text
//! row and not ban(ada, row)   ─▶   row and (no ban(ada, _) or not ban(ada, row))
//! ```
//!
//! Most actors are banned from nothing. Whether one is depends on no row, so the database finds it out once
//! and then tests none of ten thousand rows; for an actor who is banned somewhere it tests each row as
//! before.

use crate::algebra::aliases::free_aliases;
use crate::algebra::{Condition, Plan, PlanAnswer, Select};
use crate::id_vec::IdVec;
use crate::limits;

/// Asks before each negation in the answer's rows whether it can deny anything. The negation is then read
/// twice, so a plan that reads its tables in many places stays as it is.
pub(super) fn skip_bans(plan: &mut Plan) {
    let PlanAnswer::Rows { selects, .. } = &plan.answer else { return };
    let is_read = |select: &&Select| !select.from.is_empty();
    let conditions = selects.iter().filter(is_read).flat_map(|select| &select.filter);
    if !conditions.into_iter().any(|condition| skipping(condition).is_some())
        || n_sources(plan) > limits::TABLE_READINGS / 2
    {
        return;
    }
    let selects = plan.answer.selects_mut().iter_mut();
    for condition in selects.filter(|select| !select.from.is_empty()).flat_map(|select| &mut select.filter) {
        if let Some(skipping) = skipping(condition) {
            *condition = skipping;
        }
    }
}

/// How many sources the plan reads, with those of its tables wherever they are read.
fn n_sources(plan: &Plan) -> usize {
    let mut count = 0;
    plan.for_each_source(&mut |_| count += 1);
    count.max(plan.n_readings())
}

/// A negation of one source that is linked to the row, and also asked without the link.
fn skipping(condition: &Condition) -> Option<Condition> {
    let Condition::None(branches) = condition else { return None };
    let [branch] = branches.as_slice() else { return None };
    let [source] = branch.from.as_slice() else { return None };
    let is_linked =
        |condition: &Condition| free_aliases(condition).iter().any(|alias| *alias != source.alias);
    let (linked, own): (Vec<Condition>, Vec<Condition>) = branch.filter.iter().cloned().partition(is_linked);
    let anything = Select { from: branch.from.clone(), filter: own, output: IdVec::new() };
    let alternative = |condition| Select { filter: vec![condition], ..Select::default() };
    (!linked.is_empty()).then(|| {
        Condition::Any(vec![alternative(Condition::None(vec![anything])), alternative(condition.clone())])
    })
}
