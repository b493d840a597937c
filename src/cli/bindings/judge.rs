//! Judges a binding by what the database reports about its query.
//!
//! In: one entry of the bindings and the columns of its query. Out: findings. An error makes the service's
//! SQL fail or answer wrongly, a warning makes it slow or fragile, and a note is something that the author
//! may have overlooked. This module does not access the database.

use super::database::{Collation, Column, ColumnKind, ColumnOrigin, ColumnType, Fraction};
use super::finding::{Finding, FindingCode, Severity};
use portcullis_compiler::bindings::{Binding, BindingArg};
use portcullis_compiler::catalog::ColumnId;
use portcullis_compiler::id_vec::IdVec;
use portcullis_compiler::primitive::{BOOLEAN, INTEGER, Primitive};
use std::collections::BTreeMap;

/// The types in `sql_types`, as the database knows them.
pub(super) type SqlTypes = BTreeMap<String, ColumnType>;

/// Judges a bound query.
pub(super) fn binding(
    binding: &Binding,
    columns: &IdVec<ColumnId, Column>,
    sql_types: &SqlTypes,
) -> Vec<Finding> {
    let types = column_types(binding);
    if types.len() != columns.len() {
        let (n, places) = (columns.len(), types.len());
        let message = format!("the query has {n} columns and the key {places} `_`: give each `_` a column");
        return vec![Finding::new(FindingCode::ColumnCount, Severity::Error, message)];
    }
    let mut findings = Vec::new();
    for ((id, ty), column) in types.enumerate().zip(columns) {
        let ty = *ty;
        findings.extend(sql_type(ty, column, sql_types));
        findings.extend(text(column));
        findings.extend(collation(column));
        findings.extend(may_be_null(binding, id, column));
        if is_entity(ty) {
            findings.extend(index(column));
        }
    }
    findings
}

/// Judges the promise that a column contains each id of a type once.
pub(super) fn row_table(ty: &str, column: &Column, sql_types: &SqlTypes) -> Vec<Finding> {
    let mut findings = promise(column);
    if column.origin.is_some() {
        findings.extend(sql_type(ty, column, sql_types));
        findings.extend(collation(column));
    }
    findings
}

/// Judges the promise that a column contains no value twice.
pub(super) fn promise(column: &Column) -> Vec<Finding> {
    let Some(origin) = &column.origin else {
        let message = "is computed: name a table's own column";
        return vec![Finding::of(FindingCode::PromiseComputed, Severity::Error, column, message)];
    };
    let table = &origin.table;
    let mut findings = Vec::new();
    match origin.unique {
        Some(true) => {}
        Some(false) if origin.is_unique_in_partitions => {
            let message = format!(
                "`{table}` is partitioned, and PostgreSQL keeps this column unique only within each partition: keep \
                 the promise only if no id is ever used twice, as where all come from one sequence"
            );
            findings.push(Finding::of(FindingCode::PromiseUnchecked, Severity::Warning, column, message));
        }
        Some(false) => {
            let message = format!(
                "several rows of `{table}` may share a value: give it a unique index over all rows, not deferrable"
            );
            findings.push(Finding::of(FindingCode::PromiseNotUnique, Severity::Error, column, message));
        }
        None => {
            let message = format!("`{table}` is not a table with rows: name the table behind it");
            findings.push(Finding::of(FindingCode::PromiseNotTable, Severity::Warning, column, message));
        }
    }
    if origin.not_null == Some(false) {
        let message = "may be NULL: declare it NOT NULL";
        findings.push(Finding::of(FindingCode::PromiseNullable, Severity::Error, column, message));
    }
    findings
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
         of them one type, or select those that are not text as `CAST(… AS text)` and create an index over this \
         expression",
        places.collect::<Vec<_>>().join(", ")
    );
    Some(Finding::new(FindingCode::DifferingTypes, Severity::Warning, message))
}

/// The types of the arguments that take a column, in order.
pub(super) fn column_types(binding: &Binding) -> IdVec<ColumnId, &str> {
    let types = binding.args.iter().filter_map(|arg| match arg {
        BindingArg::Column { ty } => Some(ty.as_str()),
        BindingArg::Constant { .. } => None,
    });
    types.collect()
}

/// Whether values of a type are looked up by their id.
pub(super) fn is_entity(ty: &str) -> bool {
    Primitive::named(ty).is_none()
}

/// Compares a column's type with `sql_types`, or with the default.
pub(super) fn sql_type(ty: &str, column: &Column, sql_types: &SqlTypes) -> Option<Finding> {
    let found = &column.ty;
    let Some(declared) = sql_types.get(ty) else { return undeclared(ty, column) };
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
    let message = format!("is `{found}`, but `sql_types` says otherwise{harm}: write `{ty}: {found}` there");
    Some(Finding::of(FindingCode::OtherSqlType, severity, column, message))
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

/// Reports a type whose cast to text is not what an application takes for the id.
fn text(column: &Column) -> Option<Finding> {
    let (own, ty) = (&column.name, &column.ty.name);
    match column.ty.kind {
        ColumnKind::Address => {
            let message = format!(
                "is `{ty}`, which PostgreSQL casts to a text with its mask, such as `10.0.0.2/32`: no id matches, \
                 so grants and bans are missed; select `host({own})`"
            );
            Some(Finding::of(FindingCode::OtherText, Severity::Error, column, message))
        }
        ColumnKind::OfSession => {
            let message = format!(
                "is `{ty}`, whose text depends on the session's settings: keep them as they are, or select a text \
                 that does not depend on them, as with `to_char`"
            );
            Some(Finding::of(FindingCode::SessionText, Severity::Warning, column, message))
        }
        ColumnKind::Text
        | ColumnKind::Caseless
        | ColumnKind::Padded
        | ColumnKind::Integer
        | ColumnKind::Numeric(_)
        | ColumnKind::Uuid
        | ColumnKind::Boolean
        | ColumnKind::Enum
        | ColumnKind::Other
        | ColumnKind::Unknown => None,
    }
}

/// A declared number is compared as a number, but each number of such a column has its own digits.
fn without_scale(ty: &str, column: &Column) -> Finding {
    let found = &column.ty.name;
    let message = format!(
        "is `{found}` without a scale, so it may contain `5.0`, which would equal the id `5`: give it an integer \
         type or `{found}(38, 0)`, or leave `{ty}` out of `sql_types`"
    );
    Finding::of(FindingCode::OtherSqlType, Severity::Error, column, message)
}

/// SQLite converts nothing for a column without a type: `5` and `'5'` differ, regardless of `sql_types`. A
/// truth value is compared as text in any case.
fn untyped(ty: &str, column: &Column) -> Option<Finding> {
    if ty == BOOLEAN {
        return None;
    }
    let what = match &column.origin {
        None => "is computed",
        Some(_) => "has no declared type",
    };
    let message = format!(
        "{what}, so SQLite compares its values unconverted, not as `sql_types` says: select a column declared as \
         that type, or leave `{ty}` out of `sql_types`"
    );
    Some(Finding::of(FindingCode::UntypedColumn, Severity::Error, column, message))
}

/// Without an entry in `sql_types` ids are compared as text.
fn undeclared(ty: &str, column: &Column) -> Option<Finding> {
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
    let message = if is_entity(ty) {
        let gain = match kind {
            ColumnKind::Integer | ColumnKind::Numeric(Fraction::Never) | ColumnKind::Uuid => {
                "indexes are used and an id of another form is not an error"
            }
            _ if is_always_text(&column.ty) => "an id of another form is not an error",
            _ => "indexes are used",
        };
        let remedy = match kind {
            ColumnKind::Numeric(Fraction::Sometimes) => {
                format!("give it an integer type or `{name}(38, 0)`, and add that for `{ty}`")
            }
            _ => format!("add `{ty}: {name}`"),
        };
        format!("is `{name}`, but compared as text: {remedy} under `sql_types`, so that {gain}")
    } else {
        format!("is `{name}`, so only values in the canonical form of a {ty} match")
    };
    Some(Finding::of(FindingCode::UndeclaredType, Severity::Warning, column, message))
}

/// PostgreSQL compares text by the column's collation; a different one would prevent the use of its index.
fn collation(column: &Column) -> Option<Finding> {
    let Collation { name, is_loose } = column.origin.as_ref()?.collation.as_ref()?;
    Some(if *is_loose {
        let message = format!(
            "has the collation `{name}`, which treats different ids as equal: give it a deterministic one"
        );
        Finding::of(FindingCode::LooseCollation, Severity::Error, column, message)
    } else {
        let own = &column.name;
        let message = format!(
            "has the collation `{name}`: PostgreSQL refuses a recursion over it, and a comparison with a column of \
             another collation; if a question is refused for this reason, select `{own} COLLATE \"default\"`"
        );
        Finding::of(FindingCode::OtherCollation, Severity::Warning, column, message)
    })
}

fn may_be_null(binding: &Binding, id: ColumnId, column: &Column) -> Option<Finding> {
    let is_nullable = column.origin.as_ref()?.not_null == Some(false);
    if !is_nullable || is_tested(binding, id) {
        return None;
    }
    let message = "may be NULL, and rows with NULL are not facts";
    Some(Finding::of(FindingCode::Nullable, Severity::Note, column, message))
}

/// Whether the query itself obviously excludes rows in which the column is NULL.
fn is_tested(binding: &Binding, column: ColumnId) -> bool {
    let Some(plain) = &binding.query.plain else { return false };
    plain.name(column).is_some_and(|name| plain.not_null.contains(name))
}

/// Whether no entry in `sql_types` makes a look-up use the column's own operator and index.
pub(super) fn is_always_text(ty: &ColumnType) -> bool {
    match ty.kind {
        ColumnKind::Enum
        | ColumnKind::Numeric(Fraction::Always)
        | ColumnKind::Boolean
        | ColumnKind::OfSession => true,
        // In SQLite such a column may contain whole numbers.
        ColumnKind::Other => !["numeric", "decimal"].iter().any(|number| ty.name.starts_with(number)),
        ColumnKind::Text
        | ColumnKind::Caseless
        | ColumnKind::Padded
        | ColumnKind::Integer
        | ColumnKind::Numeric(Fraction::Never | Fraction::Sometimes)
        | ColumnKind::Uuid
        | ColumnKind::Address
        | ColumnKind::Unknown => false,
    }
}

fn index(column: &Column) -> Option<Finding> {
    if column.ty.kind == ColumnKind::Caseless {
        let message = "is compared as text, because ids are case-sensitive, so its index is not used: store ids as text";
        return Some(Finding::of(FindingCode::UnusedIndex, Severity::Warning, column, message));
    }
    if is_always_text(&column.ty) {
        let message = format!(
            "is `{}`, which is compared as text with and without an entry in `sql_types`, so its index is not used: \
             give it a text, integer or uuid type if rows are looked up by it",
            column.ty.name
        );
        return Some(Finding::of(FindingCode::UnusedIndex, Severity::Warning, column, message));
    }
    match &column.origin {
        None if column.indexed() == Some(true) => None,
        None => {
            let message = "is computed, so no index of a column is used, only one on this very expression: select a \
                           table's own column, and write its type under `sql_types`";
            Some(Finding::of(FindingCode::ComputedColumn, Severity::Warning, column, message))
        }
        Some(ColumnOrigin { table, column: name, indexed: Some(false), .. }) => {
            let message = format!(
                "no index of `{table}` starts with `{name}`: a look-up by this column reads the whole table"
            );
            Some(Finding::of(FindingCode::NoIndex, Severity::Warning, column, message))
        }
        Some(ColumnOrigin { indexed: Some(true) | None, .. }) => None,
    }
}
