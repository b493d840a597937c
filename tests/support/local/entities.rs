//! Schemas with a table for each type of things, as most applications have them.
//!
//! What is known of a thing at most once is in its row: `has_relation(Issue:_, parent, Repository:_)` is a
//! column `issues.parent_1`, NULL where an issue has none, and `is_public(Repository:_)` a flag. Some such
//! columns count only where a flag of the row says so, and some are computed. The document promises that the
//! tables' ids are unique, so a filter over exactly that column may read the row.

use super::renaming::Renaming;
use super::schema::{Bound, Candidates, Key, Schema, column_type, key_type, spelled};
use super::style::Style;
use super::tables::{Column, ColumnType, Row, Table, quoted};
use std::collections::{BTreeMap, BTreeSet};

/// The column with the ids of each thing.
const ID: &str = "id";

/// Puts what it can into rows of things and returns the other groups; every type gets its table.
pub(crate) fn place(
    style: Style,
    renaming: &Renaming,
    groups: Vec<(Key, Vec<Row>)>,
    ids: &BTreeMap<String, BTreeSet<String>>,
    schema: &mut Schema,
) -> Vec<(Key, Vec<Row>)> {
    let mut things: BTreeMap<String, Table> = BTreeMap::new();
    for (number, (ty, ids)) in ids.iter().enumerate().filter(|(_, (ty, _))| !is_primitive(ty)) {
        let word: String = ty.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = match number % 2 {
            0 => format!("{}s_{number}", word.to_lowercase()),
            _ => quoted(&format!("{word}s")),
        };
        let id = key_type(style, renaming, ty, ids.iter().map(String::as_str));
        let columns = vec![Column { name: ID.to_owned(), ty: id }];
        let rows = ids.iter().map(|id| vec![Some(id.clone())]).collect();
        things.insert(ty.clone(), Table { name, columns, key: Some(0), rows });
    }
    let mut rest = Vec::new();
    for (number, (key, rows)) in groups.into_iter().enumerate() {
        match place_one(style, renaming, number, &key, &rows, &mut things) {
            Some(query) => {
                let spelled = spelled(&key, number);
                schema.bound.push(Bound { fact: key, key: spelled, query });
            }
            None => rest.push((key, rows)),
        }
    }
    for (number, (ty, table)) in things.into_iter().enumerate() {
        let column = format!("{}.{ID}", table.name);
        schema.promises.insert(ty.clone(), column.clone());
        // Of two tables with names like this one's, one has an alias, and the other's column is named alone.
        let other = if matches!(number % 4, 0 | 3) {
            let alias = style.candidate_alias();
            Candidates { from: format!("{} AS {alias}", table.name), column: format!("{alias}.{ID}") }
        } else {
            Candidates { from: table.name.clone(), column: ID.to_owned() }
        };
        let candidates = [Candidates { from: table.name.clone(), column }, other];
        schema.candidates.insert(ty, candidates.into());
        schema.tables.push(table);
    }
    rest
}

/// Adds a column for a group, if each thing has at most one, and returns the query that reads it.
fn place_one(
    style: Style,
    renaming: &Renaming,
    number: usize,
    key: &Key,
    rows: &[Row],
    things: &mut BTreeMap<String, Table>,
) -> Option<String> {
    let types: Vec<&String> =
        key.1.iter().filter(|(_, constant)| constant.is_none()).map(|(ty, _)| ty).collect();
    let thing_at = (0..types.len()).find(|&at| {
        let ids: BTreeSet<&Option<String>> = rows.iter().map(|row| &row[at]).collect();
        things.contains_key(types[at]) && ids.len() == rows.len()
    })?;
    let table = things.get_mut(types[thing_at])?;
    let known: BTreeSet<&Option<String>> = table.rows.iter().map(|row| &row[0]).collect();
    if !rows.iter().all(|row| known.contains(&row[thing_at])) {
        return None;
    }
    let word: String = key.0.chars().filter(char::is_ascii_alphanumeric).collect();
    let from = style.reference(&table.name, number);
    let said: BTreeMap<&Option<String>, &Row> = rows.iter().map(|row| (&row[thing_at], row)).collect();
    match types.len() {
        1 => {
            let flag = format!("is_{word}_{number}");
            for row in &mut table.rows {
                let is_said = said.contains_key(&row[0]);
                row.push(Some(if is_said { "1" } else { "0" }.to_owned()));
            }
            table.columns.push(Column { name: flag.clone(), ty: ColumnType::Integer });
            Some(format!("SELECT {ID} FROM {from} WHERE {flag} = 1"))
        }
        2 => {
            let other_at = 1 - thing_at;
            let name = format!("{word}_{number}");
            let values = rows.iter().filter_map(|row| row[other_at].as_deref());
            let ty = column_type(style, renaming, types[other_at], &name, values);
            let value = |row: &Row| said.get(&row[0]).and_then(|said| said[other_at].clone());
            let values: Vec<Option<String>> = table.rows.iter().map(value).collect();
            let added = add_column(table, number, Column { name, ty }, values);
            let OtherColumn { shown, condition } = added;
            let list = if thing_at == 0 { format!("{ID}, {shown}") } else { format!("{shown}, {ID}") };
            Some(format!("SELECT {list} FROM {from} WHERE {condition}"))
        }
        _ => None,
    }
}

/// How a query reads a column, and which rows it leaves out.
struct OtherColumn {
    shown: String,
    condition: String,
}

/// Adds a column with these values, NULL where a thing has none. In some tables such a thing has a value,
/// too, and a flag says that it is no fact.
fn add_column(table: &mut Table, number: usize, column: Column, values: Vec<Option<String>>) -> OtherColumn {
    let (name, is_exact) = (column.name.clone(), !column.ignores_case());
    table.columns.push(column);
    if !number.is_multiple_of(3) {
        for (row, value) in table.rows.iter_mut().zip(values) {
            row.push(value);
        }
        let is_computed = number % 3 == 1 && is_exact;
        let shown = if is_computed { format!("coalesce({name}, {name})") } else { name.clone() };
        // Every row has an id: several queries of a table have the same condition.
        let condition = if is_computed { format!("{ID} IS NOT NULL") } else { format!("{name} IS NOT NULL") };
        return OtherColumn { shown, condition };
    }
    let flag = format!("has_{name}");
    let stranger = values.iter().flatten().next().cloned();
    for (row, value) in table.rows.iter_mut().zip(values) {
        let is_said = i32::from(value.is_some()).to_string();
        row.extend([value.or_else(|| stranger.clone()), Some(is_said)]);
    }
    table.columns.push(Column { name: flag.clone(), ty: ColumnType::Integer });
    let condition =
        if number.is_multiple_of(2) { format!("{flag} = 1") } else { format!("NOT {flag} IN (0)") };
    OtherColumn { shown: name, condition }
}

fn is_primitive(ty: &str) -> bool {
    matches!(ty, "String" | "Integer" | "Boolean")
}
