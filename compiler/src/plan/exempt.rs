//! Negations that deny nothing, told once instead of for each row.
//!
//! ```text
//! row and not ban(ada, row)   ─▶   row and (no ban(ada, _) or not ban(ada, row))
//! ```
//!
//! Most who ask are banned from nothing. Whether they are depends on no row, so a database finds it out once, and then
//! asks nothing more of ten thousand rows; of who is banned somewhere it asks what it asked before.

use super::algebra::{Condition, Plan, PlanAnswer, Select};
use super::aliases::free_aliases;
use crate::limits;

/// Asks before each negation in an answer's rows whether it can deny anything.
pub(crate) fn exempt(plan: &mut Plan) {
    // Each negation is read twice then, and what it reads is bounded.
    if plan.n_readings() > limits::TABLE_READINGS / 2 {
        return;
    }
    let PlanAnswer::Rows { selects, .. } = &mut plan.answer else { return };
    for select in selects.iter_mut().filter(|select| !select.from.is_empty()) {
        for condition in &mut select.filter {
            if let Some(exempting) = exempting(condition) {
                *condition = exempting;
            }
        }
    }
}

/// A negation of one source that is linked to the row, and also asked without the link.
fn exempting(condition: &Condition) -> Option<Condition> {
    let Condition::None(branches) = condition else { return None };
    let [branch] = branches.as_slice() else { return None };
    let [source] = branch.from.as_slice() else { return None };
    let is_linked =
        |condition: &Condition| free_aliases(condition).iter().any(|alias| *alias != source.alias);
    let (linked, own): (Vec<Condition>, Vec<Condition>) = branch.filter.iter().cloned().partition(is_linked);
    let anything = Select { from: branch.from.clone(), filter: own, output: Vec::new() };
    let alternative = |condition| Select { filter: vec![condition], ..Select::default() };
    (!linked.is_empty()).then(|| {
        Condition::Any(vec![alternative(Condition::None(vec![anything])), alternative(condition.clone())])
    })
}
