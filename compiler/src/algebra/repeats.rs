//! Which tables may hold duplicate rows.
//!
//! A table is a set. Where it is a union that one arm of the answer reads, and reads alone, duplicates are
//! harmless: the answer removes them anyway, so the rows are compared with each other once instead of twice,
//! and the database need not materialise the table. In a join a duplicate would be joined twice.

use super::{From, FromKind, Plan, PlanAnswer, Select, TableBody, TableRef};

impl Plan {
    /// Whether duplicate rows of a table are harmless.
    pub(crate) fn may_repeat(&self, index: usize) -> bool {
        let (Some(table), PlanAnswer::Rows { selects, .. }) = (self.tables.get(index), &self.answer) else {
            return false;
        };
        let is_read = |select: &&Select| n_readings(select, index) > 0;
        let tables = self.tables.iter().flat_map(|table| table.body.selects());
        let others = tables.chain([&self.guard]).filter(is_read).count();
        let mut readers = selects.iter().filter(is_read);
        let (Some(reader), None) = (readers.next(), readers.next()) else { return false };
        matches!(table.body, TableBody::Union(_))
            && others == 0
            && reader.from.len() == 1
            && reader.from.iter().all(|from| reads(from, index))
            && n_readings(reader, index) == 1
    }
}

/// How often a select and its branches name a table.
fn n_readings(select: &Select, index: usize) -> usize {
    let mut count = 0;
    select.for_each_source(&mut |from| count += usize::from(reads(from, index)));
    count
}

fn reads(from: &From, index: usize) -> bool {
    from.kind == FromKind::Table(TableRef::Table(index))
}
