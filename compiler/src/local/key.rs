//! Which columns of the caller's queries are keys, as the bindings promise.

use crate::bindings::Bindings;
use crate::catalog::{Catalog, Relation, RelationArg, RelationSource};

/// Whether a column of a bound query is the unique column of its type's table, and the row's columns compare
/// as what they are.
pub(super) fn is_key(catalog: &Catalog, bindings: &Bindings, source: usize, column: usize) -> bool {
    let Some(relation) = catalog.relations.get(source) else { return false };
    let RelationSource::Bound { binding } = relation.source else { return false };
    let plain = bindings.facts.get(binding).and_then(|binding| binding.query.plain.as_ref());
    let promised = column_types(relation).nth(column).and_then(|ty| bindings.tables.get(ty));
    let is_promised = plain.zip(promised).is_some_and(|(plain, promised)| {
        plain.table == promised.table && plain.columns.get(column) == Some(&promised.column)
    });
    is_promised && column_types(relation).all(|ty| bindings.sql_types.contains_key(ty))
}

/// The types of a relation's columns, by name.
fn column_types(relation: &Relation) -> impl Iterator<Item = &str> {
    relation.args.iter().filter_map(|arg| match arg {
        RelationArg::Column { ty, .. } => Some(ty.as_str()),
        RelationArg::Constant { .. } => None,
    })
}
