//! Says why `tables:` gets no entry for a type.
//!
//! Of the columns with its ids, the one that comes closest to a promise is named. Where none comes close, it
//! only matters for a type that is listed: one with permissions.

use super::decide::{BoundColumn, TypeColumns};
use super::promises;
use crate::cli::bindings::database::{ColumnKind, Nulls, PartitionKey};
use crate::cli::bindings::judge::{self, is_entity};
use portcullis_compiler::bindings::Bindings;
use portcullis_compiler::ir::Program;

/// How close a column comes to a promise, the closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lack {
    /// It would keep the promise, but is selected in a query of a different form.
    Form,
    /// It is unique together with the partition key.
    PartitionKey,
    /// It is unique, but may be NULL.
    NotNull(Nulls),
    /// It is unique, but different values may be the same id, or the same value different ids.
    Ids,
    /// The database does not say.
    View,
    /// It is not unique.
    Unique,
}

/// The types without a promise that no column would keep, each with the reason.
pub(super) fn unpromised(
    bindings: &Bindings,
    types: &[TypeColumns<'_>],
    program: Option<&Program>,
) -> Vec<(String, String)> {
    let of_type = |columns: &TypeColumns<'_>| {
        let ty = columns.ty;
        let is_open = is_entity(ty) && !bindings.tables.contains_key(ty) && columns.is_complete;
        if !is_open || promises::has_candidate(bindings, columns) {
            return None;
        }
        let (lack, bound) =
            columns.columns.iter().map(|bound| (lack(bound), bound)).min_by_key(|(lack, _)| *lack)?;
        let is_listed = program.is_some_and(|program| {
            program.blocks.iter().any(|block| block.name == ty && !block.permissions.is_empty())
        });
        let is_close = lack < Lack::View;
        (is_close || is_listed).then(|| (ty.to_owned(), reason(ty, lack, bound, bindings)))
    };
    types.iter().filter_map(of_type).collect()
}

fn lack(bound: &BoundColumn<'_>) -> Lack {
    let Some(origin) = &bound.column.origin else { return Lack::Unique };
    let is_loose = origin.collation.as_ref().is_some_and(|collation| collation.is_loose);
    match origin.unique {
        Some(true) if origin.not_null == Some(false) => Lack::NotNull(origin.nulls),
        Some(true) if is_loose || bound.column.ty.kind == ColumnKind::Unknown => Lack::Ids,
        Some(true) => Lack::Form,
        Some(false) if origin.partition_key == PartitionKey::MakesUnique => Lack::PartitionKey,
        Some(false) => Lack::Unique,
        None => Lack::View,
    }
}

fn reason(ty: &str, lack: Lack, bound: &BoundColumn<'_>, bindings: &Bindings) -> String {
    let place = bound.column.place();
    let key = &bindings.facts[bound.fact].key;
    match lack {
        Lack::Form => format!(
            "`{place}` has each id once, but the query of `{key}` does more than select columns of one table: write \
             `{ty}: {place}` under `tables` if you filter the rows of that table"
        ),
        Lack::PartitionKey => format!(
            "`{place}` is unique only together with the partition key: write `{ty}: {place}` under `tables` if no id \
             is ever used twice, for example because all come from one sequence"
        ),
        Lack::NotNull(Nulls::OfMaterializedView) => format!(
            "`{place}` may be NULL, because no column of a materialized view can be NOT NULL: write a column of the \
             table behind it under `tables` if you filter the rows of that table"
        ),
        Lack::NotNull(nulls) => format!("`{place}` {}", judge::nullable(nulls)),
        Lack::Ids => format!(
            "`{place}` may have one id in several forms: give it a declared type and a deterministic collation"
        ),
        Lack::View => format!(
            "`{place}` is not the column of a table with rows: bind a fact by the table behind it, or write `{ty}: \
             {place}` under `tables` if the view has each id once"
        ),
        Lack::Unique => format!(
            "no bound query selects a column of {ty} that is NOT NULL and has a unique index of its own over all \
             rows, as a primary key of one column is"
        ),
    }
}
