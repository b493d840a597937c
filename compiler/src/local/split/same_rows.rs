//! Equalities that follow from keys: two sources that read one row of one query have equal columns (a
//! functional dependency).
//!
//! In: selects, outermost first. Out: for a value, the values equal to it. A condition on one member of a
//! class holds for all, so a condition on a caller's column can become a condition on a stored column.

use crate::algebra::equalities::Equalities;
use crate::algebra::{Alias, Expr, FromKind, Select};
use crate::catalog::SourceId;
use crate::keys::Keys;

/// What is equal in the rows of some selects.
#[derive(Clone, Debug, Default)]
pub(super) struct RowEqualities {
    /// The classes of equal values.
    pub(super) equalities: Equalities,
    /// The sources of the selects that read a relation with a key.
    keyed: Vec<(Alias, SourceId)>,
}

impl RowEqualities {
    /// These equalities, and those of a select inside.
    pub(super) fn with(&self, select: &Select, keys: Keys<'_>) -> Self {
        let mut inside = self.clone();
        inside.equalities.demand(select);
        let keyed = select.from.iter().filter_map(|from| match from.kind {
            FromKind::Source(source) => keys.of(source).next().map(|_| (from.alias, source)),
            FromKind::Table(_)
            | FromKind::Values(_)
            | FromKind::Embedded(_)
            | FromKind::Row { .. }
            | FromKind::Again { .. } => None,
        });
        inside.keyed.extend(keyed);
        // The columns of one row may be the key of another one.
        while inside.join_rows(keys) {}
        inside
    }

    /// Makes the columns of two sources equal that read one row; whether some were not.
    fn join_rows(&mut self, keys: Keys<'_>) -> bool {
        let mut has_joined = false;
        for (at, (one, source)) in self.keyed.iter().enumerate() {
            for (other, _) in self.keyed.iter().take(at).filter(|(_, read)| read == source) {
                let pair = |column| [one, other].map(|alias| Expr::Column { alias: *alias, column });
                let is_equal = |column| {
                    let [left, right] = pair(column);
                    self.equalities.hold(left, right)
                };
                if keys.of(*source).any(|(key, _)| is_equal(key)) {
                    for column in keys.catalog.relations[*source].column_ids() {
                        let [left, right] = pair(column);
                        has_joined |= self.equalities.join(left, right);
                    }
                }
            }
        }
        has_joined
    }
}
