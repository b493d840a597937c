//! The shape in which a check is planned fast.
//!
//! In: a folded plan of a check, or of what may be done. Out: the same plan with fewer queries inside queries:
//! a test with one branch becomes a join, where only existence counts; and a table that only gives the values
//! of one column becomes a set, which is made once. Each query inside another is planned by itself, and a
//! join with a recursive table in every order.

use super::split::free_aliases;
use crate::ir::CompareOp;
use crate::plan::algebra::{Condition, From, FromKind, Plan, Select, TableBody};
use crate::specialise::clause::TableRef;

/// Rewrites the alternatives of a plan.
pub(super) fn flatten(plan: &mut Plan) {
    for select in plan.answer.selects_mut() {
        // Rows may come twice; a check asks whether there is one, and a list drops the others.
        join_single(select);
        sets(select);
    }
    for table in &mut plan.tables {
        if let TableBody::Union(selects) | TableBody::Recursive { base: selects, .. } = &mut table.body {
            selects.iter_mut().for_each(sets);
        }
    }
}

fn join_single(select: &mut Select) {
    let mut at = 0;
    while let Some(condition) = select.filter.get_mut(at) {
        match condition {
            Condition::Any(branches) => {
                branches.iter_mut().for_each(join_single);
                if let [only] = branches.as_mut_slice()
                    && !select.from.is_empty()
                    && !only.from.is_empty()
                {
                    let mut only = std::mem::take(only);
                    select.filter.remove(at);
                    select.from.append(&mut only.from);
                    select.filter.append(&mut only.filter);
                    continue;
                }
            }
            Condition::None(branches) => branches.iter_mut().for_each(join_single),
            Condition::Compare { .. } | Condition::OneOf { .. } | Condition::In { .. } => {}
        }
        at += 1;
    }
}

fn sets(select: &mut Select) {
    for condition in &mut select.filter {
        if let Condition::Any(branches) | Condition::None(branches) = condition {
            branches.iter_mut().for_each(sets);
        }
    }
    let mut at = 0;
    while let Some(from) = select.from.get(at).copied() {
        match set_of(select, from) {
            Some((link, set)) => {
                select.from.remove(at);
                select.filter.retain(|condition| free_aliases(condition) != [from.alias]);
                if let Some(slot) = select.filter.iter_mut().find(|condition| **condition == link) {
                    *slot = set;
                }
            }
            None => at += 1,
        }
    }
}

/// If a source of a select is a table of which only one column is asked for, by one equality with another
/// source: the equality, and the test of a set instead.
fn set_of(select: &Select, from: From) -> Option<(Condition, Condition)> {
    let FromKind::Table(TableRef::Table(_)) = from.kind else { return None };
    if select.output.iter().any(|expr| expr.alias() == Some(from.alias)) {
        return None;
    }
    let mut link = None;
    let mut own = Vec::new();
    for condition in &select.filter {
        let aliases = free_aliases(condition);
        if aliases == [from.alias] {
            own.push(condition.clone());
        } else if aliases.contains(&from.alias) && link.replace(condition).is_some() {
            return None;
        }
    }
    let Some(Condition::Compare { op: CompareOp::Equal, left, right }) = link else { return None };
    let (own_column, other) =
        if left.alias() == Some(from.alias) { (*left, *right) } else { (*right, *left) };
    let is_beside = other.alias().is_some_and(|alias| select.from.iter().any(|from| from.alias == alias));
    is_beside.then(|| {
        let set = Select { from: vec![from], filter: own, output: vec![own_column] };
        let link = Condition::Compare { op: CompareOp::Equal, left: *left, right: *right };
        (link, Condition::In { expr: other, selects: vec![set] })
    })
}
