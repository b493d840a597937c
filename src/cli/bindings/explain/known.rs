//! What is known about the tables and columns that a plan mentions.

use super::reading::TableReaders;
use crate::cli::bindings::database::{ColumnKind, ColumnOrigin, Jit, TableSize};
use crate::cli::bindings::judge::{self, is_entity};
use crate::cli::bindings::live::Live;
use portcullis_compiler::bindings::Bindings;
use portcullis_compiler::ir::Program;
use std::collections::BTreeMap;

/// What is known.
#[derive(Debug)]
pub(super) struct KnownDatabase {
    /// The columns of bound queries that are read directly from a table.
    columns: Vec<KnownColumn>,
    /// The tables that were looked up, by schema and name.
    pub(super) tables: BTreeMap<(String, String), TableSize>,
    /// PostgreSQL's compiler of statements, if it is on.
    pub(super) jit: Option<Jit>,
    /// The corrections of the document: each change, such as `tables: Issue: issues.id`.
    changes: Vec<String>,
    /// Which rules read each table.
    pub(super) readers: TableReaders,
}

/// A bound column of a table.
#[derive(Clone, Debug)]
pub(super) struct KnownColumn {
    /// The table with its constraints.
    pub(super) origin: ColumnOrigin,
    /// The kind of its type.
    pub(super) kind: ColumnKind,
    /// The type whose ids or values it has.
    pub(super) ty: String,
    /// What the document lacks, if its index is not used for want of it.
    pub(super) lacking: Option<String>,
}

impl KnownColumn {
    /// Whether it has ids, by which rows are looked up.
    pub(super) fn is_entity(&self) -> bool {
        is_entity(&self.ty)
    }
}

impl KnownDatabase {
    /// From what the database reports about the document, and how the document could be corrected.
    pub(super) fn new(program: &Program, bindings: &Bindings, live: &Live, changes: Vec<String>) -> Self {
        let mut columns = Vec::new();
        for (ty, found) in live.columns_by_type(bindings) {
            let prefix = format!("sql_types: {ty}: ");
            let correction = changes.iter().find(|change| change.starts_with(&prefix)).cloned();
            let is_declared = bindings.sql_types.contains_key(ty);
            for column in found {
                let Some(origin) = column.origin.clone() else { continue };
                let own = || format!("sql_types: {ty}: {}", column.ty.name);
                let is_simple =
                    matches!(column.ty.kind, ColumnKind::Text | ColumnKind::Integer | ColumnKind::Uuid);
                let lacking = correction.clone().or_else(|| (!is_declared && is_simple).then(own));
                let lacking = lacking.filter(|_| is_entity(ty) && !judge::is_always_text(&column.ty));
                columns.push(KnownColumn { origin, kind: column.ty.kind, ty: ty.to_owned(), lacking });
            }
        }
        let readers = TableReaders::new(program, bindings, live);
        Self { columns, tables: BTreeMap::new(), jit: live.jit.clone(), changes, readers }
    }

    /// What is known of a table.
    pub(super) fn table(&self, (schema, name): (&str, &str)) -> Option<&TableSize> {
        self.tables.get(&(schema.to_owned(), name.to_owned()))
    }

    /// The bound columns of a table, each once.
    pub(super) fn columns(&self, table: &TableSize) -> Vec<&KnownColumn> {
        let mut found: Vec<&KnownColumn> = Vec::new();
        for column in self.columns.iter().filter(|column| column.origin.table == table.name) {
            if found.iter().all(|known| known.origin.column != column.origin.column) {
                found.push(column);
            }
        }
        found
    }

    /// The promise that the document could make for a type, and does not.
    pub(super) fn promise(&self, ty: &str) -> Option<String> {
        let prefix = format!("tables: {ty}: ");
        self.changes.iter().find(|change| change.starts_with(&prefix)).cloned()
    }
}
