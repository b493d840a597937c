//! Which tables may hold duplicate rows.
//!
//! A table is a set. Where it is a union that one arm of the answer reads, and reads alone, duplicates are
//! harmless: the answer removes them anyway, so the rows are compared with each other once instead of twice,
//! and the database need not materialise the table. In a join a duplicate would be joined twice.

use super::ids::TableId;
use super::plan::{Plan, PlanAnswer, TableBody};
use super::select::Select;

impl Plan {
    /// Whether duplicate rows of a table are harmless.
    pub(crate) fn may_repeat(&self, table: TableId) -> bool {
        let PlanAnswer::Rows { selects, .. } = &self.answer else { return false };
        let is_read = |select: &&Select| select.n_readings(table) > 0;
        let tables = self.tables.iter().flat_map(|table| table.body.selects());
        let others = tables.chain([&self.guard]).filter(is_read).count();
        let mut readers = selects.iter().filter(is_read);
        let (Some(reader), None) = (readers.next(), readers.next()) else { return false };
        matches!(table.of(&self.tables).body, TableBody::Union(_))
            && others == 0
            && reader.from.len() == 1
            && reader.from.iter().all(|from| from.kind == table.source())
            && reader.n_readings(table) == 1
    }
}
