//! Judges the types of bound columns by `sql_types`, and by the other columns with ids of the same type.
//!
//! In: a Polar type, a column, and the types that all of its columns have together. Out: findings. If one
//! type holds the ids of all columns, each gets the same advice: that type, which `--fix` writes. If they do
//! not compare without a cast, the report says so and advises no entry.

use super::database::{Column, ColumnKind, ColumnType, Fraction};
use super::finding::{Finding, FindingCode, Severity};
use super::fix;
use super::judge::{SqlTypes, is_always_text, is_entity, untyped, without_scale};
use super::live::Live;
use portcullis_compiler::bindings::Bindings;
use portcullis_compiler::primitive::{INTEGER, Primitive};
use std::collections::BTreeMap;

/// What the columns of a Polar type have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommonType {
    /// This type holds the ids of all.
    One(String),
    /// They do not compare without a cast.
    Differing,
}

/// What the columns of each Polar type have in common, if that is known.
pub(super) type CommonTypes = BTreeMap<String, CommonType>;

/// What the bound and promised columns of each type have in common, if the database described all of them.
pub(super) fn common_types(bindings: &Bindings, live: &Live) -> CommonTypes {
    let mut found = CommonTypes::new();
    let unknown = live.types_in_part(bindings);
    for (ty, mut columns) in live.columns_by_type(bindings) {
        if unknown.contains(ty) {
            continue;
        }
        columns.extend(live.promised_columns(ty));
        let common = match fix::common_type(ty, &columns, bindings.dialect) {
            Some(name) => Some(CommonType::One(name)),
            None => disagreement(ty, &columns).map(|_| CommonType::Differing),
        };
        found.extend(common.map(|common| (ty.to_owned(), common)));
    }
    found
}

/// Reports that the columns of one Polar type have types that do not compare without a cast.
pub(super) fn disagreement(ty: &str, columns: &[&Column]) -> Option<Finding> {
    let known = columns.iter().filter(|column| column.ty.kind != ColumnKind::Unknown);
    let mut types: Vec<(ColumnKind, &str, String)> = Vec::new();
    for column in known {
        // The kinds within a family need no cast.
        let kind = match column.ty.kind {
            ColumnKind::Numeric(Fraction::Never | Fraction::Sometimes) => ColumnKind::Integer,
            kind => kind,
        };
        let is_several = matches!(kind, ColumnKind::Other | ColumnKind::OfSession);
        if types.iter().all(|(known, name, _)| *known != kind || is_several && *name != column.ty.name) {
            types.push((kind, &column.ty.name, column.place()));
        }
    }
    if !is_entity(ty) || types.len() < 2 {
        return None;
    }
    let places = types.iter().map(|(_, name, place)| format!("`{place}` is `{name}`"));
    let message = format!(
        "its columns have types that do not compare without a cast, which prevents the use of indexes: {}; give all \
         of them one text, integer or uuid type, or select those that are not text as `CAST(… AS text)` and create \
         an index over this expression",
        places.collect::<Vec<_>>().join(", ")
    );
    Some(Finding::new(FindingCode::DifferingTypes, Severity::Warning, message))
}

/// Compares a column's type with `sql_types`, or with the default.
pub(super) fn sql_type(
    ty: &str,
    column: &Column,
    sql_types: &SqlTypes,
    common: Option<&CommonType>,
) -> Option<Finding> {
    let found = &column.ty;
    let Some(declared) = sql_types.get(ty) else { return undeclared(ty, column, common) };
    let base = |name: &str| name.split('(').next().map(str::to_lowercase);
    let severity = match (declared.kind, found.kind) {
        (_, ColumnKind::Unknown) => return untyped(ty, column),
        (ColumnKind::Text, ColumnKind::Text)
        | (ColumnKind::Integer, ColumnKind::Integer)
        | (ColumnKind::Padded, ColumnKind::Padded) => {
            return None;
        }
        // A number of more than 64 bits, or with a fraction, is not an Integer, but would take part in
        // comparisons.
        (ColumnKind::Integer, ColumnKind::Numeric(Fraction::Never)) if is_whole_of_64_bits(found) => {
            return None;
        }
        (ColumnKind::Numeric(Fraction::Never), ColumnKind::Integer)
            if ty == INTEGER && is_whole_of_64_bits(declared) =>
        {
            return None;
        }
        (ColumnKind::Integer, ColumnKind::Numeric(_)) if ty == INTEGER => Severity::Error,
        // Equal ids compare equal, but an index is not always used.
        (ColumnKind::Numeric(Fraction::Always), ColumnKind::Numeric(Fraction::Never))
        | (ColumnKind::Numeric(_), ColumnKind::Integer) => Severity::Warning,
        // Beyond 64 bits a statement fails.
        (ColumnKind::Integer, ColumnKind::Numeric(Fraction::Never)) => Severity::Error,
        (
            ColumnKind::Integer | ColumnKind::Numeric(Fraction::Never | Fraction::Sometimes),
            ColumnKind::Numeric(fraction),
        ) if ty != INTEGER && fraction == Fraction::Sometimes => {
            return Some(without_scale(ty, column));
        }
        // There `5` equals `5.00`, which is a different id.
        (
            ColumnKind::Integer | ColumnKind::Numeric(Fraction::Never | Fraction::Sometimes),
            ColumnKind::Numeric(Fraction::Always),
        ) => Severity::Error,
        _ if base(&declared.name) == base(&found.name) => return None,
        (_, _) => Severity::Error,
    };
    let harm = match (declared.kind, found.kind) {
        (ColumnKind::Integer, ColumnKind::Numeric(Fraction::Never)) => {
            ", so a statement fails where an id needs more than 64 bits"
        }
        _ => "",
    };
    let found = &found.name;
    let remedy = remedy(ty, found, common);
    let message = format!("is `{found}`, but `sql_types` says otherwise{harm}: {remedy}");
    Some(of_columns(FindingCode::OtherSqlType, severity, (ty, column), common, message))
}

/// A finding about all columns of a type if they have one remedy, otherwise about those like this one.
fn of_columns(
    code: FindingCode,
    severity: Severity,
    (ty, column): (&str, &Column),
    common: Option<&CommonType>,
    message: String,
) -> Finding {
    let of_type = Finding::of_type(code, severity, (ty, column), message);
    match common {
        Some(_) => of_type,
        None => of_type.of_same_columns(column),
    }
}

/// What to do about an entry that is not true of a column of type `found`.
fn remedy(ty: &str, found: &str, common: Option<&CommonType>) -> String {
    match common {
        Some(CommonType::Differing) => {
            format!("leave `{ty}` out of it, or give all columns of {ty} one type")
        }
        Some(CommonType::One(name)) => format!("write `{ty}: {name}` there"),
        // As `--fix` does: it removes an entry for String, Integer or Boolean that does not fit all columns.
        None if !is_entity(ty) => format!("leave `{ty}` out of it"),
        None => format!("write `{ty}: {found}` there"),
    }
}

/// Whether every value of a type is a whole number of at most 64 bits: a `numeric` has up to 18 digits.
pub(super) fn is_whole_of_64_bits(ty: &ColumnType) -> bool {
    match ty.kind {
        ColumnKind::Integer => true,
        ColumnKind::Numeric(Fraction::Never) => {
            let precision = ty.name.split_once('(').and_then(|(_, length)| length.split([',', ')']).next());
            precision.and_then(|digits| digits.trim().parse().ok()).is_some_and(|n: u32| n <= 18)
        }
        ColumnKind::Numeric(Fraction::Always | Fraction::Sometimes)
        | ColumnKind::Text
        | ColumnKind::Caseless
        | ColumnKind::Padded
        | ColumnKind::Uuid
        | ColumnKind::Boolean
        | ColumnKind::Enum
        | ColumnKind::Address
        | ColumnKind::OfSession
        | ColumnKind::Other
        | ColumnKind::Unknown => false,
    }
}

/// Without an entry in `sql_types` ids are compared as text.
fn undeclared(ty: &str, column: &Column, common: Option<&CommonType>) -> Option<Finding> {
    let ColumnType { name, kind } = &column.ty;
    let fits = match (Primitive::named(ty), kind) {
        (_, ColumnKind::Unknown | ColumnKind::Address) | (Some(Primitive::String), _) => true,
        (Some(Primitive::Integer), kind) => matches!(kind, ColumnKind::Integer),
        (Some(Primitive::Boolean), kind) => matches!(kind, ColumnKind::Boolean),
        (None, kind) => matches!(kind, ColumnKind::Text | ColumnKind::Caseless),
    };
    if fits {
        return None;
    }
    if !is_entity(ty) {
        let message = match kind {
            ColumnKind::Numeric(Fraction::Always) if ty == INTEGER => format!(
                "is `{name}`, so none of its values is an Integer: an order comparison ignores its rows, even in a \
                 denial, which then denies nothing; select `CAST(… AS bigint)`"
            ),
            _ => format!("is `{name}`, so only values in the canonical form of type {ty} match"),
        };
        return Some(Finding::of(FindingCode::UndeclaredType, Severity::Warning, column, message));
    }
    let remedy = match (common, kind) {
        // Both are reported as such, and no entry helps.
        (Some(CommonType::Differing), _) | (_, ColumnKind::Numeric(Fraction::Always)) => return None,
        (Some(CommonType::One(name)), _) => format!("add `{ty}: {name}`"),
        (None, ColumnKind::Numeric(Fraction::Sometimes)) => {
            format!("give it an integer type or `{name}(38, 0)`, and add that for `{ty}`")
        }
        (None, _) => format!("add `{ty}: {name}`"),
    };
    let gain = match kind {
        ColumnKind::Integer | ColumnKind::Numeric(Fraction::Never) | ColumnKind::Uuid => {
            "indexes are used and an id of another form is not an error"
        }
        _ if is_always_text(&column.ty) => "an id of another form is not an error",
        _ => "indexes are used",
    };
    let message = format!("is `{name}`, but compared as text: {remedy} under `sql_types`, so that {gain}");
    Some(of_columns(FindingCode::UndeclaredType, Severity::Warning, (ty, column), common, message))
}
