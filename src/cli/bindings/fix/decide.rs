//! Decides what to correct: types first, because a cast column takes part in no promise.

use super::outline::Outline;
use super::{Corrections, casts, promises, types, unpromised};
use crate::cli::bindings::database::Column;
use crate::cli::bindings::judge;
use crate::cli::bindings::live::Live;
use portcullis_compiler::bindings::Bindings;
use portcullis_compiler::catalog::{BindingId, ColumnId};
use portcullis_compiler::ir::Program;

/// A column that contains ids of a type.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundColumn<'a> {
    /// The bound fact.
    pub(super) fact: BindingId,
    /// The column of its query.
    pub(super) at: ColumnId,
    /// What the database reports about it.
    pub(super) column: &'a Column,
}

/// The columns of a type, in the document's order.
#[derive(Debug)]
pub(super) struct TypeColumns<'a> {
    pub(super) ty: &'a str,
    pub(super) columns: Vec<BoundColumn<'a>>,
    /// Whether the database described every query that has such a column.
    pub(super) is_complete: bool,
}

/// What to correct.
pub(super) fn corrections(bindings: &Bindings, live: &Live, outline: &Outline<'_>) -> Corrections {
    let columns = columns_of_types(bindings, live);
    let can_cast = |bound: &BoundColumn<'_>| {
        let binding = &bindings.facts[bound.fact];
        let source = outline.query(&binding.key);
        source
            .and_then(|source| outline.text.get(source))
            .is_some_and(|raw| casts::item(raw, bound.at).is_some())
            && casts::item(&binding.query.text, bound.at).is_some()
    };
    let (sql_types, casts) = types::corrections(bindings, live, &columns, can_cast);
    let tables = promises::corrections(bindings, live, &columns, &casts);
    Corrections { sql_types, tables, casts }
}

/// The types without a promise for which several columns would keep one, and those columns.
pub(in super::super) fn undecided_tables(bindings: &Bindings, live: &Live) -> Vec<(String, Vec<String>)> {
    promises::undecided(bindings, &columns_of_types(bindings, live))
}

/// The types without a promise that no column would keep, each with the reason.
pub(in super::super) fn unpromised_types(
    bindings: &Bindings,
    live: &Live,
    program: Option<&Program>,
) -> Vec<(String, String)> {
    unpromised::unpromised(bindings, &columns_of_types(bindings, live), program)
}

/// The types in the order in which the document first uses them.
fn columns_of_types<'a>(bindings: &'a Bindings, live: &'a Live) -> Vec<TypeColumns<'a>> {
    let mut found: Vec<TypeColumns<'a>> = Vec::new();
    for ((fact, binding), described) in bindings.facts.enumerate().zip(&live.facts) {
        let types = judge::column_types(binding);
        let columns = described.as_ref().ok().filter(|columns| columns.len() == types.len());
        for (at, ty) in types.enumerate() {
            let ty = *ty;
            let known = found.iter().position(|known| known.ty == ty).unwrap_or_else(|| {
                found.push(TypeColumns { ty, columns: Vec::new(), is_complete: true });
                found.len() - 1
            });
            let Some(known) = found.get_mut(known) else { continue };
            match columns.map(|columns| &columns[at]) {
                Some(column) => known.columns.push(BoundColumn { fact, at, column }),
                None => known.is_complete = false,
            }
        }
    }
    found
}
