//! Tables for the rows of one bound query, and the query.
//!
//! Among the rows that are facts are others that are not: rows with NULL, rows that the query's condition
//! leaves out, and the same row again.

use super::kind::Live;
use super::style::{Form, Style};
use super::tables::{Column, ColumnType, Row, Table};
use portcullis_compiler::Dialect;
use std::collections::BTreeSet;

/// The tables and the query whose rows are `rows` and no other facts; `number` counts the queries.
pub(crate) fn bound(style: Style, number: usize, table: &Table) -> (Vec<Table>, String) {
    let Table { name, columns, rows, .. } = table;
    let noisy = if style.has_nulls() { with_noise(rows, columns.len()) } else { rows.clone() };
    let from = style.reference(name, number);
    let names = table.column_names();
    let list = names.join(", ");
    let whole = |columns: Vec<Column>, rows: Vec<Row>| Table { name: name.clone(), columns, key: None, rows };
    let beside = |columns: Vec<Column>, rows: Vec<Row>| Table {
        name: format!("beside_{number}"),
        columns,
        key: None,
        rows,
    };
    let other = style.reference(&format!("beside_{number}"), number + 1);
    let exactly = |query: String| (vec![whole(columns.clone(), noisy.clone())], query);
    let wider = |query: String| {
        let extra = Column { name: "updated_at".into(), ty: ColumnType::Text };
        let columns = std::iter::once(extra).chain(columns.iter().rev().cloned()).collect();
        let row = |row: &Row| std::iter::once(Some("now".into())).chain(row.iter().rev().cloned()).collect();
        (vec![whole(columns, noisy.iter().map(row).collect())], query)
    };
    match style.form(number) {
        Form::Plain => wider(format!("SELECT {list} FROM {from}")),
        // Ids that differ in their case only would be one.
        Form::Distinct
            if columns
                .iter()
                .any(|column| matches!(column.ty, ColumnType::Ids(live) if live.ignores_case())) =>
        {
            wider(format!("SELECT {list} FROM {from}"))
        }
        Form::Distinct => {
            let qualified: Vec<String> = names.iter().map(|name| format!("x.{name}")).collect();
            wider(format!("SELECT DISTINCT {} FROM {from} AS x", qualified.join(", ")))
        }
        Form::Table if style.dialect == Dialect::Postgresql => exactly(format!("TABLE {from}")),
        Form::Star | Form::Table => exactly(format!("SELECT * FROM {from}")),
        Form::With => wider(format!(
            "WITH t2 AS (SELECT {list} FROM {from}), w2 AS (SELECT * FROM t2) SELECT {list} FROM w2"
        )),
        Form::Where => {
            let extra = Column { name: "is_deleted".into(), ty: ColumnType::Integer };
            let with = |deleted: &str, rows: &[Row]| -> Vec<Row> {
                rows.iter().map(|row| [row.as_slice(), &[Some(deleted.to_owned())]].concat()).collect()
            };
            let all = [with("0", &noisy), with("1", &strangers(rows))].concat();
            let columns = columns.iter().cloned().chain([extra]).collect();
            (vec![whole(columns, all)], format!("SELECT {list} FROM {from} WHERE is_deleted = 0"))
        }
        Form::PositiveBody if columns.len() > 1 => {
            let key = Column { name: "row_number".into(), ty: ColumnType::Integer };
            let numbered = |columns: std::ops::Range<usize>| -> Vec<Row> {
                let row =
                    |(at, row): (usize, &Row)| [&row[columns.clone()], &[Some(at.to_string())]].concat();
                noisy.iter().enumerate().map(row).collect()
            };
            let left = columns[..1].iter().cloned().chain([key.clone()]).collect();
            let right = columns[1..].iter().cloned().chain([key]).collect();
            let tables = vec![whole(left, numbered(0..1)), beside(right, numbered(1..columns.len()))];
            let rest: Vec<String> = names[1..].iter().map(|name| format!("r.{name}")).collect();
            let query = format!(
                "SELECT l.{}, {} FROM {from} l JOIN {other} r ON r.row_number = l.row_number",
                names[0],
                rest.join(", ")
            );
            (tables, query)
        }
        Form::Union => {
            let (some, others) = noisy.split_at(noisy.len() / 2);
            let tables =
                vec![whole(columns.clone(), some.to_vec()), beside(columns.clone(), others.to_vec())];
            (tables, format!("SELECT {list} FROM {from} UNION ALL SELECT {list} FROM {other}"))
        }
        Form::Values if !rows.is_empty() => {
            let cell = |(column, cell): (&Column, &Option<String>)| {
                let literal = column.ty.literal(cell.as_deref());
                match column.ty {
                    ColumnType::Text | ColumnType::Decoy | ColumnType::Integer | ColumnType::Enum { .. } => {
                        literal
                    }
                    ColumnType::Bigint | ColumnType::Ids(_) | ColumnType::Boolean => {
                        format!("CAST({literal} AS {})", cast_name(&column.ty, style.dialect))
                    }
                }
            };
            let row = |row: &Row| columns.iter().zip(row).map(cell).collect::<Vec<_>>().join(", ");
            let rows: Vec<String> = noisy.iter().map(|cells| format!("({})", row(cells))).collect();
            (Vec::new(), format!("VALUES {}", rows.join(", ")))
        }
        Form::PositiveBody | Form::Values | Form::Commented => wider(format!(
            "SELECT -- it's one column a line; )\n  {}\nFROM /* the \"table\" ' */ {from};\n",
            names.join(",\n  ")
        )),
    }
}

/// SQLite reads a type's name in a cast as an affinity, that of `UUID` is a number's, and without a name
/// there is none.
fn cast_name(ty: &ColumnType, dialect: Dialect) -> String {
    match (ty, dialect) {
        (ColumnType::Ids(live), Dialect::Sqlite) => if live.is_number { "INTEGER" } else { "TEXT" }.into(),
        // A domain is made with its table, and these rows have none.
        (ColumnType::Ids(Live { domain_of: Some(of), .. }), _) => (*of).into(),
        (ty, dialect) => ty.name(dialect),
    }
}

/// The rows, some of them twice, and rows that are not facts because they lack a value.
fn with_noise(rows: &[Row], n_columns: usize) -> Vec<Row> {
    let mut all = rows.to_vec();
    for at in 0..n_columns {
        all.extend(rows.iter().take(2).map(|row| {
            let mut row = row.clone();
            row[at] = None;
            row
        }));
    }
    all.extend(rows.iter().take(3).cloned());
    all.push(vec![None; n_columns]);
    all
}

/// Rows over the same values that are not among the rows.
fn strangers(rows: &[Row]) -> Vec<Row> {
    let known: BTreeSet<&Row> = rows.iter().collect();
    let mut strangers = BTreeSet::new();
    for left in rows {
        for right in rows {
            let mixed: Row = left[..1].iter().chain(&right[1..]).cloned().collect();
            if !known.contains(&mixed) {
                strangers.insert(mixed);
            }
        }
    }
    strangers.into_iter().take(20).collect()
}
