//! Which columns of the caller's queries are keys, as the bindings promise.

use crate::bindings::{Bindings, RowTable};
use crate::catalog::{Catalog, RelationSource, SourceId};

/// Whether a column of a bound query is the unique column of its type's table, and the row's columns compare
/// as what they are.
pub(crate) fn is_key(catalog: &Catalog, bindings: &Bindings, source: SourceId, column: usize) -> bool {
    let relation = catalog.relation(source);
    let promised = relation.columns().nth(column).and_then(|(ty, _)| bindings.tables.get(ty));
    promised.is_some_and(|promised| reads(catalog, bindings, source, column, promised))
        && relation.columns().all(|(ty, _)| bindings.sql_types.contains_key(ty))
}

/// Whether a column of a bound query is the column of a table that the bindings promise to be unique.
pub(crate) fn reads(
    catalog: &Catalog,
    bindings: &Bindings,
    source: SourceId,
    column: usize,
    promised: &RowTable,
) -> bool {
    match catalog.relation(source).source {
        RelationSource::Bound { binding } => bindings.reads(binding, column, promised),
        RelationSource::Table { .. } | RelationSource::Context { .. } => false,
    }
}
