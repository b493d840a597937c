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

/// The plan that asks before each negation in its answer's rows whether it can deny anything; none if there is no such
/// negation. It reads each of them twice.
pub(crate) fn exempt(plan: &Plan) -> Option<Plan> {
    let PlanAnswer::Rows { selects, .. } = &plan.answer else { return None };
    let read = |select: &Select| !select.from.is_empty();
    let conditions = selects.iter().filter(|select| read(select)).flat_map(|select| &select.filter);
    if !conditions.into_iter().any(|condition| exempting(condition).is_some()) {
        return None;
    }
    let mut plan = plan.clone();
    for select in plan.answer.selects_mut().iter_mut().filter(|select| read(select)) {
        for condition in &mut select.filter {
            if let Some(exempting) = exempting(condition) {
                *condition = exempting;
            }
        }
    }
    Some(plan)
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
