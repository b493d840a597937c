//! Which tables may hold duplicate rows.
//!
//! A table is a set. Where it is a union that only one alternative of the answer reads, without joining it,
//! duplicates are harmless: the answer removes them anyway, so the rows are compared with each other once
//! instead of twice, and the database need not materialise the table. In a join a duplicate would be joined
//! twice.

use crate::algebra::{Plan, PlanAnswer, Repeats, TableBody};

/// Keeps the duplicate rows of each table of a plan where they are harmless. INVARIANT: nothing rewrites the
/// plan afterwards.
pub(super) fn keep_repeats(plan: &mut Plan) {
    let PlanAnswer::Rows { selects, .. } = &plan.answer else { return };
    let mut n_readings = vec![0_usize; plan.tables.len()];
    for select in plan.selects() {
        select.for_each_source(&mut |from| {
            if let Some(table) = from.kind.table() {
                *table.of_mut(&mut n_readings) += 1;
            }
        });
    }
    for reader in selects {
        if let [only] = reader.from.as_slice()
            && let Some(id) = only.kind.table()
            && *id.of(&n_readings) == 1
        {
            let table = id.of_mut(&mut plan.tables);
            if matches!(table.body, TableBody::Union(_)) {
                table.repeats = Repeats::Kept;
            }
        }
    }
}
