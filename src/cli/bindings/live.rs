//! What a database reports about a whole document.
//!
//! In: a document and an open database. Out: the columns of every bound query and promised table, and the
//! declared types that the database knows. Judging them, and correcting the document, needs no database.

use super::database::{Column, ColumnKind, ComputedColumn, Database, ExpressionIndex, Jit};
use super::judge::{self, SqlTypes};
use super::predicate;
use crate::cli::error::CliError;
use portcullis_compiler::bindings::{Binding, Bindings, PlainColumn, PlainQuery, RowPart, RowTable, SqlName};
use portcullis_compiler::catalog::{BindingId, ColumnId};
use portcullis_compiler::id_vec::IdVec;
use std::collections::{BTreeMap, BTreeSet};

/// The columns of a query, or the database's reason for refusing it.
pub(super) type Described = Result<IdVec<ColumnId, Column>, String>;

/// What a database reports about a document.
#[derive(Debug)]
pub(super) struct Live {
    /// The declared types that the database knows.
    pub(super) sql_types: SqlTypes,
    /// The columns of each bound query, in the document's order.
    pub(super) facts: IdVec<BindingId, Described>,
    /// The column of each promised table.
    pub(super) tables: BTreeMap<String, Described>,
    /// PostgreSQL's compiler of statements, if it is on.
    pub(super) jit: Option<Jit>,
}

impl Live {
    /// Asks the database.
    pub(super) async fn read(database: &Database, bindings: &Bindings) -> Result<Self, CliError> {
        let (mut sql_types, mut facts, mut tables) = (SqlTypes::new(), IdVec::new(), BTreeMap::new());
        for (ty, declared) in &bindings.sql_types {
            if let Some(known) = database.ty(&declared.name).await? {
                sql_types.insert(ty.clone(), known);
            }
        }
        for binding in &bindings.facts {
            facts.push(bound(database, binding).await?);
        }
        for (ty, promised) in &bindings.tables {
            tables.insert(ty.clone(), row_table(database, promised).await?);
        }
        Ok(Self { sql_types, facts, tables, jit: database.jit().await? })
    }

    /// The columns of each type in the bound queries, in the order of the types' names.
    pub(super) fn columns_by_type<'a>(
        &'a self,
        bindings: &'a Bindings,
    ) -> BTreeMap<&'a str, Vec<&'a Column>> {
        let mut by_type: BTreeMap<&str, Vec<&Column>> = BTreeMap::new();
        for (binding, described) in bindings.facts.iter().zip(&self.facts) {
            for (ty, column) in judge::column_types(binding).into_iter().zip(described.iter().flatten()) {
                by_type.entry(ty).or_default().push(column);
            }
        }
        by_type
    }

    /// The promised column of a type, if there is one and the database described it.
    pub(super) fn promised_columns(&self, ty: &str) -> impl Iterator<Item = &Column> {
        self.tables.get(ty).into_iter().flatten().flatten()
    }

    /// The types of which some column is unknown, because a query was refused or has other columns than its
    /// key.
    pub(super) fn types_in_part<'a>(&self, bindings: &'a Bindings) -> BTreeSet<&'a str> {
        let described = bindings.facts.iter().zip(&self.facts);
        let in_part = described.filter(|(binding, described)| {
            described.as_ref().ok().is_none_or(|columns| columns.len() != judge::column_types(binding).len())
        });
        in_part.flat_map(|(binding, _)| judge::column_types(binding)).collect()
    }
}

async fn bound(database: &Database, binding: &Binding) -> Result<Described, CliError> {
    let mut described = database.columns(&binding.query.text).await?;
    if let Ok(columns) = &mut described {
        doubt_outer_joins(binding, columns);
        if let Some(plain) = &binding.query.plain {
            doubt_views(database, &plain.table, columns)?;
            use_fixed_columns(plain, columns);
            use_partial_indexes(plain, columns);
            computed(database, plain, columns).await?;
        }
    }
    Ok(described.map(IdVec::from))
}

async fn row_table(database: &Database, promised: &RowTable) -> Result<Described, CliError> {
    let RowTable { table, column } = promised;
    // The names are spelled and quoted as in the document, and its parser has read them.
    let mut described = database.columns(&format!("SELECT {column} FROM {}", SqlName::path(table))).await?;
    if let Ok(columns) = &mut described
        && doubt_views(database, table, columns)?
    {
        for origin in columns.iter_mut().filter_map(|column| column.origin.as_mut()) {
            origin.table = SqlName::path(table);
        }
    }
    Ok(described.map(IdVec::from))
}

/// An index serves look-ups by a column behind its first ones if the query demands literals of those.
fn use_fixed_columns(plain: &PlainQuery, columns: &mut [Column]) {
    let is_fixed = |name: &String| plain.fixed.iter().any(|fixed| fixed.folded() == name);
    for origin in columns.iter_mut().filter_map(|column| column.origin.as_mut()) {
        if origin.behind.iter().any(|names| !names.is_empty() && names.iter().all(is_fixed)) {
            origin.indexed = Some(true);
        }
    }
}

/// Finds out which computed columns have an index, and which could have one.
async fn computed(database: &Database, plain: &PlainQuery, columns: &mut [Column]) -> Result<(), CliError> {
    let table = SqlName::path(&plain.table);
    for (column, selected) in columns.iter_mut().zip(&plain.columns) {
        let PlainColumn::Computed(parts) = selected else { continue };
        let Some(indexes) = database.expression_indexes(&table).await? else { return Ok(()) };
        let serves = |index: &ExpressionIndex| {
            let has_rows = index.predicate.iter().all(|rows| predicate::implies(&plain.condition, rows, ""));
            has_rows && predicate::is_same(parts, &index.expression)
        };
        let expression: String = parts.iter().map(written).collect();
        let can_index = can_index(database, &table, parts).await?;
        column.computed = Some(ComputedColumn {
            indexed: indexes.iter().any(serves),
            index_ddl: can_index.then(|| format!("CREATE INDEX ON {table} (({expression}));")),
            place: format!("{table} ({expression})"),
        });
    }
    Ok(())
}

fn written(part: &RowPart) -> String {
    match part {
        RowPart::Text(text) => text.clone(),
        RowPart::Column(name) => name.to_string(),
    }
}

/// Whether an index on an expression is surely allowed: PostgreSQL refuses one whose value may depend on
/// settings, as with `concat`, with `||` of a number, or with most casts. Of texts no other function of a
/// plain query does, and a whole number or a UUID has one text.
async fn can_index(database: &Database, table: &str, parts: &[RowPart]) -> Result<bool, CliError> {
    let names = parts.iter().filter_map(|part| match part {
        RowPart::Column(name) => Some(name.to_string()),
        RowPart::Text(_) => None,
    });
    let query = format!("SELECT {} FROM {table}", names.collect::<Vec<_>>().join(", "));
    let depends = |part: &RowPart| {
        let text = written(part).to_lowercase();
        ["concat", "cast", "::"].iter().any(|word| text.contains(word))
    };
    let is_cast = is_cast_to_text(parts);
    let may_depend = !is_cast && parts.iter().any(depends);
    let is_sure = |column: &Column| match column.ty.kind {
        ColumnKind::Text => true,
        ColumnKind::Integer | ColumnKind::Uuid => is_cast,
        _ => false,
    };
    let columns = database.columns(&query).await?.unwrap_or_default();
    Ok(!may_depend && !columns.is_empty() && columns.iter().all(is_sure))
}

/// Whether a value is a column cast to text, and nothing else.
fn is_cast_to_text(parts: &[RowPart]) -> bool {
    let bare = |part: &RowPart| match part {
        RowPart::Text(text) => text.to_lowercase().split_whitespace().collect(),
        RowPart::Column(_) => "$".to_owned(),
    };
    let value: String = parts.iter().map(bare).collect();
    ["cast($astext)", "$::text", "($)::text"].contains(&value.as_str())
}

/// An index over some rows serves if the query demands that a row is one of them.
fn use_partial_indexes(plain: &PlainQuery, columns: &mut [Column]) {
    for origin in columns.iter_mut().filter_map(|column| column.origin.as_mut()) {
        let serves = |index: &String| predicate::implies(&plain.condition, index, &origin.column);
        if origin.indexed == Some(false) && origin.partial.iter().any(serves) {
            origin.indexed = Some(true);
        }
    }
}

/// A column that is never NULL in its table may still be NULL after an outer join, which the database does
/// not report.
fn doubt_outer_joins(binding: &Binding, columns: &mut [Column]) {
    if !binding.query.words.iter().any(|word| ["left", "right", "full"].contains(&word.as_str())) {
        return;
    }
    for origin in columns.iter_mut().filter_map(|column| column.origin.as_mut()) {
        origin.not_null = origin.not_null.filter(|not_null| !not_null);
    }
}

/// A value that is unique in a table may come several times from a view over it. Returns whether this is one.
fn doubt_views(database: &Database, table: &[SqlName], columns: &mut [Column]) -> Result<bool, CliError> {
    let is_view = database.is_traced_view(table)?;
    if is_view {
        for origin in columns.iter_mut().filter_map(|column| column.origin.as_mut()) {
            origin.unique = None;
        }
    }
    Ok(is_view)
}
