//! A page's own tables and document, instead of those that a style makes.
//!
//! In: statements that make the tables on every database, and a document without a dialect. Out: a [`Local`]
//! like any other. What may be listed are the rows of the table that the document promises for the type, or
//! candidates in a column of the type that the document declares.

use super::caller::Caller;
use super::kind::Kind;
use super::renaming::Renaming;
use super::schema::{Candidates, Schema};
use super::style::Style;
use super::tables::{Column, ColumnType, Table};
use super::{DIALECTS, Local, Side, ways};
use crate::fixture::Written;
use crate::hosted::Hosted;
use crate::notation::{Fact, Value};
use crate::policy;
use portcullis_compiler::Dialect;
use portcullis_compiler::question::Question;
use std::collections::{BTreeMap, BTreeSet};

impl Local {
    /// The page's tables, with all other facts in the store or the request.
    pub fn written(
        policy: &str,
        written: &Written,
        (facts, context): (&[Fact], &[Fact]),
        values: &BTreeSet<Value>,
        questions: &[&Question],
    ) -> Result<Self, String> {
        let is_stored = |fact: &&Fact| !written.local.contains(fact);
        let stored: Vec<Fact> = facts.iter().filter(is_stored).cloned().collect();
        let engine = Hosted::new(policy)?;
        engine.store(&stored)?;
        let kinds =
            section(&written.bindings, "sql_types").into_iter().map(|(ty, name)| (ty, Kind::named(&name)));
        let renaming = Renaming::identity(kinds.collect(), values);
        let promises = section(&written.bindings, "tables");
        let types = ways::filtered_types(questions);
        let mut listed = BTreeSet::new();
        let mut sides = Vec::new();
        for dialect in DIALECTS {
            let mut schema = Schema { promises: promises.clone(), ..Schema::default() };
            let caller = Caller::new(dialect)?;
            caller.script(&statements(written, dialect))?;
            for (number, ty) in types.iter().enumerate() {
                let candidates = if let Some(column) = promises.get(ty) {
                    let (candidates, ids) = promised(&caller, column)?;
                    listed.extend(ids.iter().map(|id| Value::new(ty, id)));
                    candidates
                } else {
                    let is_listed = |value: &&Value| value.ty == *ty && !renaming.is_stray(value);
                    let held: Vec<&Value> = values.iter().filter(is_listed).collect();
                    listed.extend(held.iter().map(|value| (*value).clone()));
                    let ids = ColumnType::Ids(renaming.kind(ty).column(dialect, 0));
                    let table = table(format!("candidates_{number}"), ids, &held);
                    caller.script(&table.script(dialect))?;
                    let from = table.name.clone();
                    schema.tables.push(table);
                    Candidates { column: format!("{from}.id"), from }
                };
                schema.candidates.insert(ty.clone(), vec![candidates]);
            }
            let document = document(written, dialect);
            sides.push(Side { style: Style { n: 0, dialect }, schema, document, caller });
        }
        let name = "as the page writes it".to_owned();
        Ok(Self {
            name,
            engine,
            renaming,
            stored,
            request: context.to_vec(),
            sides,
            is_divided: true,
            tables: policy::tables(facts),
            listed,
            alone: 1,
            n_asked: std::cell::Cell::default(),
        })
    }
}

/// The statements that make and fill the page's tables.
fn statements(written: &Written, dialect: Dialect) -> String {
    match dialect {
        Dialect::Postgresql => written.schema.replace("CREATE TABLE", "CREATE TEMPORARY TABLE"),
        Dialect::Sqlite => written.schema.clone(),
    }
}

fn document(written: &Written, dialect: Dialect) -> String {
    match dialect {
        Dialect::Postgresql => written.bindings.clone(),
        Dialect::Sqlite => format!("{}dialect: sqlite\n", written.bindings),
    }
}

/// The rows of a promised table as candidates, and their ids.
fn promised(caller: &Caller, column: &str) -> Result<(Candidates, Vec<String>), String> {
    let (from, _) = column.rsplit_once('.').ok_or("a promise names a table and a column")?;
    let ids = caller.run(&format!("SELECT CAST({column} AS TEXT) FROM {from}"))?.rows.concat();
    let candidates = Candidates { from: from.to_owned(), column: column.to_owned() };
    Ok((candidates, ids.into_iter().flatten().collect()))
}

/// A table with the ids of these values, and NULL.
fn table(name: String, ids: ColumnType, values: &[&Value]) -> Table {
    let rows = values.iter().map(|value| Some(value.id.clone())).chain([None]).map(|id| vec![id]);
    Table { name, columns: vec![Column { name: "id".into(), ty: ids }], key: None, rows: rows.collect() }
}

/// The entries of one part of a document, each on its line.
fn section(document: &str, name: &str) -> BTreeMap<String, String> {
    let head = format!("{name}:");
    let inside = document.lines().skip_while(|line| *line != head).skip(1);
    let entries = inside.take_while(|line| line.starts_with(' '));
    let entry = |line: &str| {
        let (key, value) = line.trim().split_once(": ")?;
        Some((key.to_owned(), value.trim_matches('"').to_owned()))
    };
    entries.filter_map(entry).collect()
}
