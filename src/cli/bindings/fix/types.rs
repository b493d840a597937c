//! Works out `sql_types`: the type that all columns with a Polar type's ids have.
//!
//! An entry never changes which rows are facts, so it must be true of every column. If the columns differ,
//! ids are compared as text, which is always correct, and an entry that some column contradicts is removed.
//! If most columns are text, the few others are cast to text: then no form of id makes a statement fail. But
//! the only key of a type is never cast: filters are conditions on that column.

use super::decide::{BoundColumn, TypeColumns};
use super::{Cast, Correction};
use crate::cli::bindings::column_types::{is_whole_of_64_bits, sql_type};
use crate::cli::bindings::database::{Column, ColumnKind, Fraction};
use crate::cli::bindings::finding::Severity;
use crate::cli::bindings::judge::is_entity;
use crate::cli::bindings::live::Live;
use crate::cli::bindings::texts;
use portcullis_compiler::Dialect;
use portcullis_compiler::bindings::{Bindings, Family, SqlType};
use portcullis_compiler::primitive::{INTEGER, STRING};
use std::collections::BTreeSet;

/// The corrections of `sql_types`, and the casts that they need.
pub(super) fn corrections(
    bindings: &Bindings,
    live: &Live,
    types: &[TypeColumns<'_>],
    can_cast: impl Fn(&BoundColumn<'_>) -> bool,
) -> (Vec<Correction<SqlType>>, Vec<Cast>) {
    let (mut corrections, mut casts) = (Vec::new(), Vec::new());
    for columns in types.iter().filter(|columns| columns.is_complete) {
        let (correction, of_type) = of_type(bindings, live, columns, &can_cast);
        corrections.extend(correction);
        casts.extend(of_type);
    }
    (corrections, casts)
}

/// The correction of the entry of a type, and the casts that it needs.
fn of_type(
    bindings: &Bindings,
    live: &Live,
    TypeColumns { ty, columns, .. }: &TypeColumns<'_>,
    can_cast: impl Fn(&BoundColumn<'_>) -> bool,
) -> (Option<Correction<SqlType>>, Vec<Cast>) {
    let ty = *ty;
    let declared = bindings.sql_types.get(ty);
    let bound = columns.iter().map(|bound| bound.column);
    let all: Vec<&Column> = bound.chain(live.promised_columns(ty)).collect();
    let findings = || all.iter().filter_map(|column| sql_type(ty, column, &live.sql_types, None));
    let is_unknown = declared.is_some() && !live.sql_types.contains_key(ty);
    let is_wrong =
        is_unknown || declared.is_some() && findings().any(|finding| finding.severity == Severity::Error);
    let parsed = |name: String| Some((name.clone(), SqlType::parse(&name, bindings.dialect).ok()?));
    let common = common(ty, &all, bindings.dialect).and_then(parsed);
    let to_text = others_than_text(columns, bindings.dialect).filter(|_| is_entity(ty));
    let correct =
        |to: Option<(String, SqlType)>, reason: String| Correction { ty: ty.to_owned(), to, reason };
    match (common, declared, to_text) {
        (Some(common), None, _) => {
            let reason = format!("every bound column of {ty} is compared as `{}`", common.0);
            (Some(correct(Some(common), reason)), Vec::new())
        }
        (Some(common), Some(_), _) if is_wrong || findings().next().is_some() => {
            let reason =
                format!("every bound column of {ty} is compared as `{}`, not as the entry says", common.0);
            (Some(correct(Some(common), reason)), Vec::new())
        }
        (None, _, Some(others)) if others.iter().all(&can_cast) => {
            let text = parsed("text".to_owned());
            let text = text.filter(|_| declared.is_none_or(|declared| declared.family != Family::Text));
            let reason = format!("every bound column of {ty} is text after the casts");
            (text.map(|text| correct(Some(text), reason)), casts(ty, others))
        }
        (None, Some(_), _) if is_wrong => {
            let reason = format!(
                "not every bound column of {ty} is compared as the entry says; without one ids are compared as text"
            );
            (Some(correct(None, reason)), Vec::new())
        }
        (Some(_) | None, _, _) => (None, Vec::new()),
    }
}

/// The casts of columns to text.
fn casts(ty: &str, columns: Vec<BoundColumn<'_>>) -> Vec<Cast> {
    let cast = |BoundColumn { fact, at, column }: BoundColumn<'_>| {
        let (place, is) = (column.place(), &column.ty.name);
        let reason = format!("{place} is `{is}`, while most columns of {ty} are text");
        Cast { fact, column: at, reason }
    };
    columns.into_iter().map(cast).collect()
}

/// The type that all columns have, as it is written in the document.
pub(in super::super) fn common(ty: &str, columns: &[&Column], dialect: Dialect) -> Option<String> {
    let first = columns.first()?;
    let (name, kind) = (&first.ty.name, first.ty.kind);
    let is_same = columns.iter().all(|column| column.ty.name == *name);
    let is_one_kind = columns.iter().all(|column| column.ty.kind == kind);
    if !is_entity(ty) {
        return match ty {
            // The values of an SQLite column may be of any type, and are tested in any case.
            _ if dialect != Dialect::Postgresql => None,
            INTEGER if is_one_kind && kind == ColumnKind::Integer => Some(integer(name, is_same)),
            STRING if texts::are_plain(columns) => Some("text".to_owned()),
            _ => None,
        };
    }
    if !is_one_kind {
        let is_whole = columns.iter().all(|column| is_whole_of_64_bits(&column.ty));
        return is_whole.then(|| "bigint".to_owned());
    }
    match kind {
        ColumnKind::Integer => Some(integer(name, is_same)),
        ColumnKind::Text => {
            let is_known =
                name == "text" || name.starts_with("character varying") || name.starts_with("varchar");
            Some(if is_same && is_known { name.clone() } else { "text".to_owned() })
        }
        ColumnKind::Caseless => (dialect == Dialect::Postgresql && is_same).then(|| name.clone()),
        // SQLite has no such type: the column may contain any number or text.
        ColumnKind::Uuid => (dialect == Dialect::Postgresql).then(|| "uuid".to_owned()),
        ColumnKind::Numeric(Fraction::Never)
        | ColumnKind::Padded
        | ColumnKind::Boolean
        | ColumnKind::Enum
        | ColumnKind::OfSession
        | ColumnKind::Other => is_same.then(|| name.clone()),
        ColumnKind::Numeric(Fraction::Always | Fraction::Sometimes)
        | ColumnKind::Address
        | ColumnKind::Unknown => None,
    }
}

/// The width of an integer does not matter, but one that all columns share is written as it is.
fn integer(name: &str, is_same: bool) -> String {
    let is_plain = ["smallint", "integer", "bigint"].contains(&name);
    if is_same && is_plain { name.to_owned() } else { "bigint".to_owned() }
}

/// The columns that are not text, if most are and the others print their ids in one form only.
fn others_than_text<'a>(columns: &[BoundColumn<'a>], dialect: Dialect) -> Option<Vec<BoundColumn<'a>>> {
    let (text, others): (Vec<BoundColumn<'_>>, Vec<BoundColumn<'_>>) =
        columns.iter().copied().partition(|bound| bound.column.ty.kind == ColumnKind::Text);
    let is_key =
        |bound: &BoundColumn<'_>| bound.column.origin.as_ref().is_some_and(|at| at.unique == Some(true));
    let has_key = text.iter().any(is_key);
    let castable = others.iter().all(|other| match other.column.ty.kind {
        ColumnKind::Caseless
        | ColumnKind::Padded
        | ColumnKind::Integer
        | ColumnKind::Uuid
        | ColumnKind::Enum => has_key || !is_key(other),
        ColumnKind::Text
        | ColumnKind::Numeric(_)
        | ColumnKind::Boolean
        | ColumnKind::Address
        | ColumnKind::OfSession
        | ColumnKind::Other
        | ColumnKind::Unknown => false,
    });
    let places = |columns: &[BoundColumn<'_>]| {
        columns.iter().map(|bound| bound.column.place()).collect::<BTreeSet<_>>().len()
    };
    let is_few = !others.is_empty() && places(&others) < places(&text);
    (dialect == Dialect::Postgresql && castable && is_few).then_some(others)
}
