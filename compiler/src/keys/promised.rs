//! The columns that are promised to be keys.

use crate::algebra::{Condition, Expr, From, FromKind};
use crate::bindings::{Bindings, RowPart, RowTable, SqlName};
use crate::catalog::{BindingId, Catalog, ColumnId, RelationSource, SourceId};
use crate::ir::CompareOp;

/// The keys of a catalog's bound queries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys<'k> {
    /// The relations, bound queries among them.
    pub(crate) catalog: &'k Catalog,
    /// What the relations are bound to, and the promises.
    pub(crate) bindings: &'k Bindings,
}

impl<'k> Keys<'k> {
    /// The columns of a source that are the unique column of their type's table, each with that table.
    pub(crate) fn of(self, source: SourceId) -> impl Iterator<Item = (ColumnId, &'k RowTable)> {
        let relation = &self.catalog.relations[source];
        relation.column_ids().zip(relation.columns()).filter_map(move |(column, (ty, _))| {
            let promised = self.bindings.tables.get(ty)?;
            self.reads(source, column, promised).then_some((column, promised))
        })
    }

    /// Whether a column of a source is the unique column of its type's table.
    pub(crate) fn is_key(self, source: SourceId, column: ColumnId) -> bool {
        self.of(source).any(|(key, _)| key == column)
    }

    /// The value that the key of a row equals, if a condition says so: a value from elsewhere than the row.
    pub(crate) fn looked_up(self, condition: &Condition, row: From) -> Option<Expr> {
        let FromKind::Source(source) = row.kind else { return None };
        let Condition::Compare { op: CompareOp::Equal, left, right } = condition else { return None };
        [(*left, *right), (*right, *left)].into_iter().find_map(|(own, other)| match own {
            Expr::Column { alias, column } if alias == row.alias && other.alias() != Some(row.alias) => {
                self.is_key(source, column).then_some(other)
            }
            _ => None,
        })
    }

    /// Whether a column is a key, and the row's columns compare in their own types: the SQL types of all are
    /// declared.
    pub(crate) fn is_typed_key(self, source: SourceId, column: ColumnId) -> bool {
        let mut columns = self.catalog.relations[source].columns();
        self.is_key(source, column) && columns.all(|(ty, _)| self.bindings.sql_types.contains_key(ty))
    }

    /// The first bound query that asks the same of the rows of its table as a source's does; `None` if that
    /// asks nothing.
    pub(crate) fn condition(self, source: SourceId) -> Option<SourceId> {
        let asked = self.asked(source)?;
        let mut sources = self.catalog.relations.enumerate().map(|(source, _)| source);
        sources.find(|other| self.asked(*other) == Some(asked))
    }

    /// The table of a source's bound query, and its condition, if it has one.
    fn asked(self, source: SourceId) -> Option<(&'k [SqlName], &'k [RowPart])> {
        let RelationSource::Bound { binding, .. } = self.catalog.relations[source].source else {
            return None;
        };
        let plain = self.bindings.facts[binding].query.plain.as_ref()?;
        (!plain.condition.is_empty()).then_some((plain.table.as_slice(), plain.condition.as_slice()))
    }

    /// Whether two values, each of one of its sources, are the same column of the same table, perhaps through
    /// different bound queries.
    pub(crate) fn are_same_column(self, one: (Expr, &[From]), other: (Expr, &[From])) -> bool {
        match (self.bound_column(one), self.bound_column(other)) {
            (Some(one), Some(other)) => self.bindings.are_same_column(one, other),
            _ => false,
        }
    }

    /// Whether the SQL type of a column of one of these sources is declared.
    pub(crate) fn is_declared(self, value: Expr, sources: &[From]) -> bool {
        let Some((source, column)) = source_column(value, sources) else { return false };
        let ty = self.catalog.relations[source].column(column).map(|(ty, _)| ty);
        ty.is_some_and(|ty| self.bindings.sql_types.contains_key(ty))
    }

    /// The bound query and its column that a value of one of these sources is.
    fn bound_column(self, (value, sources): (Expr, &[From])) -> Option<(BindingId, ColumnId)> {
        let (source, column) = source_column(value, sources)?;
        match self.catalog.relations[source].source {
            RelationSource::Bound { binding, .. } => Some((binding, column)),
            RelationSource::Table { .. } | RelationSource::Context { .. } => None,
        }
    }

    /// Whether a column of a source is the column of a table that the bindings promise to be unique.
    pub(crate) fn reads(self, source: SourceId, column: ColumnId, promised: &RowTable) -> bool {
        match self.catalog.relations[source].source {
            RelationSource::Bound { binding, .. } => self.bindings.reads(binding, column, promised),
            RelationSource::Table { .. } | RelationSource::Context { .. } => false,
        }
    }
}

/// The relation and its column that a value of one of these sources is.
fn source_column(value: Expr, sources: &[From]) -> Option<(SourceId, ColumnId)> {
    let Expr::Column { alias, column } = value else { return None };
    match sources.iter().find(|from| from.alias == alias)?.kind {
        FromKind::Source(source) => Some((source, column)),
        _ => None,
    }
}
