//! Conditions that every alternative has and that depend on no row: asked once, before the alternatives.
//!
//! ```text
//! (not banned and a) or (not banned and b)   ─▶   not banned and (a or b)
//! ```

use super::split::{free_aliases, number_aliases};
use crate::plan::algebra::{Condition, Plan, PlanAnswer, Select};

/// Takes out of the selects what all of them ask of no row.
pub(super) fn take_common(selects: &mut [Select]) -> Vec<Condition> {
    let Some((first, others)) = selects.split_first() else { return Vec::new() };
    if others.is_empty() && first.from.is_empty() {
        return Vec::new();
    }
    let has = |select: &Select, wanted: &Condition| {
        select.filter.iter().any(|condition| normal(condition).as_ref() == Some(wanted))
    };
    let closed = first.filter.iter().filter_map(normal);
    let common: Vec<Condition> =
        closed.filter(|condition| others.iter().all(|other| has(other, condition))).collect();
    for select in selects {
        select.filter.retain(|condition| normal(condition).is_none_or(|normal| !common.contains(&normal)));
    }
    common
}

/// A condition that depends on nothing around it, with its sources numbered from one.
fn normal(condition: &Condition) -> Option<Condition> {
    free_aliases(condition).is_empty().then(|| {
        let mut select = Select { filter: vec![condition.clone()], ..Select::default() };
        number_aliases(&mut select);
        select.filter.remove(0)
    })
}

/// Asks the common conditions of a decision's alternatives before them.
pub(super) fn factor_decision(plan: &mut Plan) {
    let PlanAnswer::Decision(selects) = &mut plan.answer else { return };
    let mut filter = take_common(selects);
    if filter.is_empty() {
        return;
    }
    let alternatives = std::mem::take(selects);
    if !alternatives.iter().any(Select::is_unit) {
        filter.push(Condition::Any(alternatives));
    }
    selects.push(Select { from: Vec::new(), filter, output: Vec::new() });
}
