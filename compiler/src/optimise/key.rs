//! Which columns of the caller's queries are keys, as the bindings promise.

use crate::bindings::{Bindings, RowTable};
use crate::catalog::{Catalog, RelationSource};

/// Whether a column of a bound query is the unique column of its type's table, and the row's columns compare
/// as what they are.
pub(crate) fn is_key(catalog: &Catalog, bindings: &Bindings, source: usize, column: usize) -> bool {
    let Some(relation) = catalog.relations.get(source) else { return false };
    let promised = relation.columns().nth(column).and_then(|(ty, _)| bindings.tables.get(ty));
    promised.is_some_and(|promised| reads(catalog, bindings, source, column, promised))
        && relation.columns().all(|(ty, _)| bindings.sql_types.contains_key(ty))
}

/// Whether a column of a bound query is the column of a table that the bindings promise to be unique.
pub(crate) fn reads(
    catalog: &Catalog,
    bindings: &Bindings,
    source: usize,
    column: usize,
    promised: &RowTable,
) -> bool {
    catalog.relations.get(source).is_some_and(|relation| match relation.source {
        RelationSource::Bound { binding } => bindings.reads(binding, column, promised),
        RelationSource::Table { .. } | RelationSource::Context { .. } => false,
    })
}
