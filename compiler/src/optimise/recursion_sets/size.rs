//! How large a set becomes in which a recursion is joined with what it leads to.

use crate::algebra::{Alias, Expr, From, FromKind, Select, Table, TableBody, TableRef};
use crate::catalog::ColumnId;
use crate::keys::Keys;

/// What tests and sets may read.
#[derive(Clone, Copy)]
pub(super) struct TestSources<'s> {
    /// The tables.
    pub(super) tables: &'s [Table],
    /// The keys of the relations.
    pub(super) keys: Option<Keys<'s>>,
}

impl TestSources<'_> {
    /// Whether a source is a recursion.
    pub(super) fn is_recursion(&self, from: From) -> bool {
        match from.kind.table().map(|table| &table.of(self.tables).body) {
            Some(TableBody::Recursive { .. }) => true,
            Some(TableBody::Union(_) | TableBody::WholeState { .. }) | None => false,
        }
    }

    /// Whether a set with a recursion has at most one row for each row of the recursion, and none of its
    /// tests reads a recursion: such a test would be made for each of these rows.
    pub(super) fn is_as_large(&self, set: &Select, recursion: From) -> bool {
        let (mut found, mut left) = (vec![recursion.alias], set.from.clone());
        loop {
            left.retain(|from| !found.contains(&from.alias));
            let new: Vec<Alias> = {
                let single = left.iter().filter(|from| self.is_single(**from, set, &found));
                single.map(|from| from.alias).collect()
            };
            if new.is_empty() {
                break;
            }
            found.extend(new);
        }
        let mut tests_recursion = false;
        for branch in set.branches() {
            branch.for_each_source(&mut |from| tests_recursion |= self.is_recursion(*from));
        }
        left.is_empty() && (set.from.len() == 1 || !tests_recursion)
    }

    /// Whether rows of the sources that are found lead to at most one row of another: by its key, or by all
    /// of its columns. Rows of literals are few.
    fn is_single(&self, from: From, set: &Select, found: &[Alias]) -> bool {
        let is_known = |expr: &Expr| expr.alias().is_none_or(|alias| found.contains(&alias));
        let is_led = |column: ColumnId| {
            let own = Expr::Column { alias: from.alias, column };
            set.equal_to(own).any(|other| is_known(&other))
        };
        match from.kind {
            FromKind::Source(source) => self.keys.is_some_and(|keys| {
                let relation = &keys.catalog.relations[source];
                keys.of(source).any(|(key, _)| is_led(key)) || relation.column_ids().all(is_led)
            }),
            FromKind::Table(TableRef::Table(table)) => {
                ColumnId::all(table.of(self.tables).n_columns).all(is_led)
            }
            FromKind::Again { row, .. } => found.contains(&row),
            FromKind::Embedded(_) | FromKind::Values(_) => true,
            FromKind::Row { .. } | FromKind::Table(TableRef::Itself) => false,
        }
    }
}
