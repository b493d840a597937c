//! Works out `tables:`: the table whose rows are the values of a type.
//!
//! A promise must be true: the column is NOT NULL and has a unique index of its own over all rows. It is
//! useful only if a bound query selects that column from that table, and unambiguous only if this is so for
//! one table.

use super::decide::TypeColumns;
use super::{Cast, Correction};
use crate::cli::bindings::database::{Column, ColumnKind, ColumnOrigin};
use crate::cli::bindings::finding::{Finding, Severity};
use crate::cli::bindings::judge::{self, is_entity};
use crate::cli::bindings::live::Live;
use portcullis_compiler::Dialect;
use portcullis_compiler::bindings::{Bindings, RowTable, SqlName};
use std::collections::BTreeSet;

/// A unique column, and how often the document spells its table in this way.
struct UniqueColumn<'a> {
    origin: &'a ColumnOrigin,
    promise: RowTable,
    times: usize,
}

/// The corrections of `tables`.
pub(super) fn corrections(
    bindings: &Bindings,
    live: &Live,
    types: &[TypeColumns<'_>],
    casts: &[Cast],
) -> Vec<Correction<RowTable>> {
    let mut corrections = Vec::new();
    for columns in types.iter().filter(|columns| is_entity(columns.ty)) {
        let ty = columns.ty;
        let is_declared = bindings.tables.contains_key(ty);
        if is_declared && !is_wrong(columns, live, bindings.dialect) {
            continue;
        }
        match the_only(unique_columns(bindings, columns, casts)) {
            Some(UniqueColumn { origin, promise, .. }) => {
                let text = format!("{}.{}", SqlName::path(&promise.table), promise.column);
                let ColumnOrigin { table, column, .. } = origin;
                let reason = format!("{table}.{column} is NOT NULL and unique, and a bound query selects it");
                corrections.push(Correction { ty: ty.to_owned(), to: Some((text, promise)), reason });
            }
            None if is_declared => {
                let reason = "the column is not a unique one that contains these ids".to_owned();
                corrections.push(Correction { ty: ty.to_owned(), to: None, reason });
            }
            None => {}
        }
    }
    corrections
}

/// The types without a promise for which several columns would keep one, and those columns.
pub(super) fn undecided(bindings: &Bindings, types: &[TypeColumns<'_>]) -> Vec<(String, Vec<String>)> {
    let of_type = |columns: &TypeColumns<'_>| {
        let is_open = is_entity(columns.ty) && !bindings.tables.contains_key(columns.ty);
        let found = if is_open { unique_columns(bindings, columns, &[]) } else { Vec::new() };
        let place = |unique: &UniqueColumn<'_>| format!("{}.{}", unique.origin.table, unique.origin.column);
        let places: BTreeSet<String> = found.iter().map(place).collect();
        (places.len() > 1).then(|| (columns.ty.to_owned(), places.into_iter().collect()))
    };
    types.iter().filter_map(of_type).collect()
}

/// Whether some column of a type would keep a promise.
pub(super) fn has_candidate(bindings: &Bindings, columns: &TypeColumns<'_>) -> bool {
    !unique_columns(bindings, columns, &[]).is_empty()
}

/// Whether the database contradicts a promise.
fn is_wrong(columns: &TypeColumns<'_>, live: &Live, dialect: Dialect) -> bool {
    let Some(Ok(promised)) = live.tables.get(columns.ty) else { return true };
    promised.iter().any(|promised| {
        let has_bound_kind = |kind| columns.columns.iter().any(|bound| bound.column.ty.kind == kind);
        let is_of_type = columns.columns.is_empty() || has_bound_kind(promised.ty.kind);
        let is_error = |finding: &Finding| finding.severity == Severity::Error;
        !is_of_type || judge::promise(promised, dialect).iter().any(is_error)
    })
}

/// The unique columns of a type in the plain queries of the document.
fn unique_columns<'a>(
    bindings: &Bindings,
    columns: &TypeColumns<'a>,
    casts: &[Cast],
) -> Vec<UniqueColumn<'a>> {
    let mut found: Vec<UniqueColumn<'a>> = Vec::new();
    for bound in &columns.columns {
        let is_cast = casts.iter().any(|cast| (cast.fact, cast.column) == (bound.fact, bound.at));
        let plain = bindings.facts[bound.fact].query.plain.as_ref();
        let promise = plain.and_then(|plain| {
            Some(RowTable { table: plain.table.clone(), column: plain.name(bound.at)?.clone() })
        });
        let (Some(promise), Some(origin), false) = (promise, unique(bound.column), is_cast) else { continue };
        match found.iter_mut().find(|known| known.promise == promise) {
            Some(known) => known.times += 1,
            None => found.push(UniqueColumn { origin, promise, times: 1 }),
        }
    }
    found
}

/// The origin of a column that holds each id once, at any moment. An SQLite column without a type may contain
/// `5` and `'5'`, which are different values and the same id.
fn unique(column: &Column) -> Option<&ColumnOrigin> {
    let is_promise = |origin: &&ColumnOrigin| {
        column.ty.kind != ColumnKind::Unknown
            && origin.unique == Some(true)
            && origin.not_null == Some(true)
            && origin.collation.as_ref().is_none_or(|collation| !collation.is_loose)
    };
    column.origin.as_ref().filter(is_promise)
}

/// The column whose table is spelled so most often, if all are the same column.
fn the_only(found: Vec<UniqueColumn<'_>>) -> Option<UniqueColumn<'_>> {
    let place = |unique: &UniqueColumn<'_>| (unique.origin.table.clone(), unique.origin.column.clone());
    let first = place(found.first()?);
    if found.iter().any(|unique| place(unique) != first) {
        return None;
    }
    let most = found.iter().map(|unique| unique.times).max()?;
    found.into_iter().find(|unique| unique.times == most)
}
