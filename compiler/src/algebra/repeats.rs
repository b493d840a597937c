//! Which tables may hold duplicate rows.
//!
//! A table is a set. Where it is a union that one arm of the answer reads, and reads alone, duplicates are
//! harmless: the answer removes them anyway, so the rows are compared with each other once instead of twice,
//! and the database need not materialise the table. In a join a duplicate would be joined twice.

use super::plan::{Plan, PlanAnswer, TableBody};

impl Plan {
    /// For each table whether duplicate rows of it are harmless.
    pub(crate) fn repeats(&self) -> Vec<bool> {
        let mut repeats = vec![false; self.tables.len()];
        let PlanAnswer::Rows { selects, .. } = &self.answer else { return repeats };
        let mut n_readings = vec![0_usize; self.tables.len()];
        for select in self.selects() {
            select.for_each_source(&mut |from| {
                if let Some(table) = from.kind.table() {
                    *table.of_mut(&mut n_readings) += 1;
                }
            });
        }
        for reader in selects {
            if let [only] = reader.from.as_slice()
                && let Some(table) = only.kind.table()
            {
                let is_union = matches!(table.of(&self.tables).body, TableBody::Union(_));
                *table.of_mut(&mut repeats) = is_union && *table.of(&n_readings) == 1;
            }
        }
        repeats
    }
}
