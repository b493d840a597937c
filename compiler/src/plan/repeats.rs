//! Which tables may hold a row twice.
//!
//! A table is a set. Where it is a union that one arm of the answer reads, and reads alone, nobody would notice the same
//! row twice but the answer, which is made a set itself: the rows are then compared with each other once instead of
//! twice, and a database need not put the table down. In a join a row that comes twice would be joined twice.

use super::algebra::{Condition, FromKind, Plan, PlanAnswer, Select, TableBody};
use crate::specialise::clause::TableRef;

impl Plan {
    /// Whether nobody minds if a table has rows twice.
    pub(crate) fn may_repeat(&self, index: usize) -> bool {
        let (Some(table), PlanAnswer::Rows { selects, .. }) = (self.tables.get(index), &self.answer) else {
            return false;
        };
        let is_read = |select: &&Select| n_readings(std::slice::from_ref(*select), index) > 0;
        let tables = self.tables.iter().flat_map(|table| table.body.selects());
        let others = tables.chain([&self.guard]).filter(is_read).count();
        let mut readers = selects.iter().filter(is_read);
        let (Some(reader), None) = (readers.next(), readers.next()) else { return false };
        matches!(table.body, TableBody::Union(_))
            && others == 0
            && reader.from.len() == 1
            && reader.from.iter().all(|from| from.kind == FromKind::Table(TableRef::Table(index)))
            && n_readings(std::slice::from_ref(reader), index) == 1
    }
}

/// How often a table is named.
fn n_readings(selects: &[Select], index: usize) -> usize {
    let of_select = |select: &Select| {
        let named = select.from.iter().filter(|from| from.kind == FromKind::Table(TableRef::Table(index)));
        let inside = select.filter.iter().map(|condition| match condition {
            Condition::In { selects, .. } | Condition::Any(selects) | Condition::None(selects) => {
                n_readings(selects, index)
            }
            Condition::Compare { .. } | Condition::OneOf { .. } => 0,
        });
        named.count() + inside.sum::<usize>()
    };
    selects.iter().map(of_select).sum()
}
