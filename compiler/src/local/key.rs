//! Which columns of the caller's queries are keys, as the bindings promise.

use crate::bindings::Bindings;
use crate::catalog::{Catalog, RelationSource};

/// Whether a column of a bound query is the unique column of its type's table, and the row's columns compare
/// as what they are.
pub(super) fn is_key(catalog: &Catalog, bindings: &Bindings, source: usize, column: usize) -> bool {
    let Some(relation) = catalog.relations.get(source) else { return false };
    let RelationSource::Bound { binding } = relation.source else { return false };
    let plain = bindings.facts.get(binding).and_then(|binding| binding.query.plain.as_ref());
    let promised = relation.columns().nth(column).and_then(|(ty, _)| bindings.tables.get(ty));
    let is_promised = plain.zip(promised).is_some_and(|(plain, promised)| {
        plain.table == promised.table && plain.columns.get(column) == Some(&promised.column)
    });
    is_promised && relation.columns().all(|(ty, _)| bindings.sql_types.contains_key(ty))
}
