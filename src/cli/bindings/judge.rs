//! Judges a binding by what the database reports about its query.
//!
//! In: one entry of the bindings and the columns of its query. Out: findings. An error makes the service's
//! SQL fail or answer wrongly, a warning makes it slow or fragile, and a note is something that the author
//! may have overlooked. This module does not access the database.

use super::column_types::{CommonType, CommonTypes, sql_type};
use super::database::{
    Collation, Column, ColumnKind, ColumnOrigin, ColumnType, Fraction, Nulls, PartitionKey,
};
use super::finding::{Finding, FindingCode, Severity};
use portcullis_compiler::Dialect;
use portcullis_compiler::bindings::{Binding, BindingArg};
use portcullis_compiler::catalog::ColumnId;
use portcullis_compiler::id_vec::IdVec;
use portcullis_compiler::primitive::{BOOLEAN, Primitive};
use std::collections::BTreeMap;

/// The types in `sql_types`, as the database knows them.
pub(super) type SqlTypes = BTreeMap<String, ColumnType>;

/// Judges a bound query.
pub(super) fn binding(
    binding: &Binding,
    columns: &IdVec<ColumnId, Column>,
    sql_types: &SqlTypes,
    common: &CommonTypes,
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
        let common = common.get(ty);
        // An address needs neither an entry in `sql_types` nor an index: the finding about its text says what
        // to do.
        if column.ty.kind != ColumnKind::Address {
            findings.extend(sql_type(ty, column, sql_types, common));
        }
        findings.extend(text(column));
        findings.extend(collation(column));
        findings.extend(may_be_null(binding, id, column));
        if is_entity(ty) && column.ty.kind != ColumnKind::Address {
            findings.extend(index(ty, column, sql_types, common));
        }
    }
    findings
}

/// Judges the promise that a column contains each id of a type once.
pub(super) fn row_table(
    ty: &str,
    column: &Column,
    (sql_types, common): (&SqlTypes, Option<&CommonType>),
    dialect: Dialect,
) -> Vec<Finding> {
    let mut findings = promise(column, dialect);
    if column.origin.is_some() {
        if column.ty.kind != ColumnKind::Address {
            findings.extend(sql_type(ty, column, sql_types, common));
        }
        findings.extend(promised_text(ty, column));
        findings.extend(collation(column));
    }
    findings
}

/// Judges the promise that a column contains no value twice.
pub(super) fn promise(column: &Column, dialect: Dialect) -> Vec<Finding> {
    let Some(origin) = &column.origin else {
        let message = "is computed: name a table's own column";
        return vec![Finding::of(FindingCode::PromiseComputed, Severity::Error, column, message)];
    };
    let table = &origin.table;
    let mut findings = Vec::new();
    match origin.unique {
        Some(true) => {}
        Some(false) if origin.partition_key == PartitionKey::MakesUnique => {
            let message = format!(
                "`{table}` is partitioned, and PostgreSQL keeps this column unique only together with the partition \
                 key, so rows that differ in that key may share a value: keep the promise only if no id is ever used \
                 twice, for example because all come from one sequence"
            );
            findings.push(Finding::of(FindingCode::PromiseUnchecked, Severity::Warning, column, message));
        }
        Some(false) => {
            let remedy = match (origin.partition_key, dialect) {
                (PartitionKey::Other, _) => {
                    "give the table a valid unique index on this column and the columns of the partition key; if that \
                     key has an expression, leave the entry out of `tables`"
                }
                (_, Dialect::Postgresql) => "give it a unique index over all rows, not deferrable",
                (_, Dialect::Sqlite) => "give it a unique index over all rows",
            };
            let message = format!("several rows of `{table}` may share a value: {remedy}");
            findings.push(Finding::of(FindingCode::PromiseNotUnique, Severity::Error, column, message));
        }
        None => {
            let message = format!("`{table}` is not a table with rows: name the table behind it");
            findings.push(Finding::of(FindingCode::PromiseNotTable, Severity::Warning, column, message));
        }
    }
    if origin.not_null == Some(false) {
        let message = nullable(origin.nulls);
        findings.push(Finding::of(FindingCode::PromiseNullable, Severity::Error, column, message));
    }
    findings
}

/// Says why a column may be NULL, and what to do about it.
pub(super) fn nullable(nulls: Nulls) -> &'static str {
    match nulls {
        Nulls::Declarable => "may be NULL: declare it NOT NULL",
        Nulls::OfDomain => {
            "may be NULL: declare the column itself NOT NULL; a domain that is NOT NULL does not prevent it, for \
             example when an empty subquery is inserted"
        }
        Nulls::OfMaterializedView => {
            "may be NULL, because no column of a materialized view can be NOT NULL: name the table behind it, or leave \
             the entry out of `tables`"
        }
    }
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

/// Reports a type whose cast to text is not what an application takes for the id.
fn text(column: &Column) -> Option<Finding> {
    let (own, ty) = (&column.name, &column.ty.name);
    match column.ty.kind {
        ColumnKind::Address => {
            let message =
                format!("{}, so grants and bans are missed; select `host({own})`", with_mask(column));
            Some(Finding::of(FindingCode::OtherText, Severity::Error, column, message))
        }
        ColumnKind::OfSession => {
            let message = format!(
                "is `{ty}`, whose text depends on settings of the session, such as `DateStyle`, `TimeZone`, \
                 `IntervalStyle`, `lc_monetary`, `extra_float_digits`, `bytea_output` or `search_path`: do not change \
                 them, or select a text that does not depend on them, such as `to_char(…)` of a date or \
                 `encode(…, 'hex')` of a `bytea`"
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

/// The same for a column that a promise names. The promise has no query that could select another text.
fn promised_text(ty: &str, column: &Column) -> Option<Finding> {
    let Finding { code, severity, .. } = text(column)?;
    let message = if column.ty.kind == ColumnKind::Address {
        format!(
            "{}; name a column of type text, such as one generated as `host({})`, or leave `{ty}` out of `tables` and \
             filter by that expression",
            with_mask(column),
            column.name
        )
    } else {
        format!(
            "is `{}`, whose text depends on settings of the session: do not change them, name a column of type text, \
             or leave `{ty}` out of `tables`",
            column.ty.name
        )
    };
    Some(Finding::of(code, severity, column, message))
}

/// Says that the text of an address has a mask, so it is not the id.
fn with_mask(column: &Column) -> String {
    format!(
        "is `{}`, which PostgreSQL casts to a text with its mask, such as `10.0.0.2/32`: no id matches",
        column.ty.name
    )
}

/// A declared number is compared as a number, but each number of such a column has its own digits.
pub(super) fn without_scale(ty: &str, column: &Column) -> Finding {
    let found = &column.ty.name;
    let message = format!(
        "is `{found}` without a scale, so it may contain `5.0`, which would equal the id `5`: give it an integer \
         type or `{found}(38, 0)`, or leave `{ty}` out of `sql_types`"
    );
    Finding::of(FindingCode::OtherSqlType, Severity::Error, column, message)
}

/// SQLite converts nothing for a column without a type: `5` and `'5'` differ, regardless of `sql_types`. A
/// truth value is compared as text in any case.
pub(super) fn untyped(ty: &str, column: &Column) -> Option<Finding> {
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

/// Reports why no index is used. If the columns of the type differ, another finding says so.
fn index(ty: &str, column: &Column, sql_types: &SqlTypes, common: Option<&CommonType>) -> Option<Finding> {
    let is_declared = sql_types.get(ty).is_some_and(|declared| declared.kind == ColumnKind::Caseless);
    if column.ty.kind == ColumnKind::Caseless && !is_declared {
        let message = format!(
            "is compared as text, because ids are case-sensitive, so its index is not used: store ids as text, or \
             write `{ty}: {}` under `sql_types`",
            column.ty.name
        );
        return Some(Finding::of(FindingCode::UnusedIndex, Severity::Warning, column, message));
    }
    if is_always_text(&column.ty) {
        if common == Some(&CommonType::Differing) {
            return None;
        }
        let message = format!(
            "is `{}`, which is compared as text with and without an entry in `sql_types`, so its index is not used: \
             give it a text, integer or uuid type if rows are looked up by it",
            column.ty.name
        );
        return Some(Finding::of_type(FindingCode::UnusedIndex, Severity::Warning, (ty, column), message));
    }
    match &column.origin {
        None if column.indexed() == Some(true) => None,
        None if column.computed.as_ref().is_some_and(|computed| computed.index_ddl.is_some()) => {
            let message =
                "is computed, and no index is on this very expression: a look-up by it reads the whole table";
            Some(Finding::of(FindingCode::ComputedColumn, Severity::Warning, column, message))
        }
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
