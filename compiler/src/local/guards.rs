//! Conditions that every alternative has and that depend on no row: asked once, before the alternatives.
//!
//! ```text
//! (not banned and a) or (not banned and b)   ─▶   not banned and (a or b)
//! ```

use super::split::{free_aliases, number_aliases};
use crate::plan::algebra::{Condition, Embedded, Expr, From, FromKind, Plan, PlanAnswer, Select};
use indexmap::IndexMap;

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

/// Makes one select of those that answer with different literals under the same condition:
///
/// ```text
/// select "close" where a   ∪   select "edit" where a     ─▶     select v from ("close"), ("edit") where a
/// ```
pub(super) fn merge_literals(selects: &mut Vec<Select>, embedded: &mut Vec<Embedded>) {
    let mut literals_of: IndexMap<Vec<Condition>, Vec<Select>> = IndexMap::new();
    for select in std::mem::take(selects) {
        // The sources and conditions, as the one condition that such a row exists.
        let mut body = Select { output: Vec::new(), ..select.clone() };
        number_aliases(&mut body);
        literals_of.entry(vec![Condition::Any(vec![body])]).or_default().push(select);
    }
    for (_, mut same) in literals_of {
        let literal = |select: &Select| match select.output.as_slice() {
            [Expr::Const(literal)] => Some(*literal),
            _ => None,
        };
        let literals: Option<Vec<_>> = same.iter().map(literal).collect();
        let Some(mut rows) = literals.filter(|literals| literals.len() > 1) else {
            selects.append(&mut same);
            continue;
        };
        rows.sort_unstable();
        rows.dedup();
        let mut highest = 0;
        same.iter_mut().for_each(|select| select.for_each_alias(&mut |alias| highest = highest.max(*alias)));
        let alias = highest + 1;
        let rows = Some(rows.into_iter().map(|literal| vec![literal]).collect());
        embedded.push(Embedded { rows, part: None });
        if let Some(mut select) = same.into_iter().next() {
            select.from.insert(0, From { alias, kind: FromKind::Embedded(embedded.len() - 1) });
            select.output = vec![Expr::Column { alias, column: 0 }];
            selects.push(select);
        }
    }
}
