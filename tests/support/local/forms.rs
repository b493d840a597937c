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
    let rows =
        if style.has_nulls() { with_noise(&table.rows, table.columns.len()) } else { table.rows.clone() };
    let from = style.reference(&table.name, number);
    let query = Query { style, number, table, rows, from };
    match style.form(number) {
        Form::Plain => query.plain(),
        // Ids that differ in their case only would be one.
        Form::Distinct if table.columns.iter().any(Column::ignores_case) => query.plain(),
        Form::Distinct => query.distinct(),
        Form::Table if style.dialect == Dialect::Postgresql => {
            query.exactly(&format!("TABLE {}", query.from))
        }
        Form::Star | Form::Table => query.exactly(&format!("SELECT * FROM {}", query.from)),
        Form::With => query.with(),
        Form::Where => query.filtered(),
        Form::PositiveBody if table.columns.len() > 1 => query.joined(),
        Form::Union => query.union(),
        Form::Values if !table.rows.is_empty() => query.values(),
        Form::PositiveBody | Form::Values | Form::Commented => query.commented(),
    }
}

/// What a bound query is made from; each method makes it in one form, with its tables.
struct Query<'t> {
    style: Style,
    number: usize,
    table: &'t Table,
    /// Those of the table, and others that are not facts.
    rows: Vec<Row>,
    /// How the query names the table.
    from: String,
}

/// Which rows count, in the words of several authors.
const NOT_DELETED: [&str; 5] = [
    "is_deleted = 0",
    "coalesce(is_deleted, 1) = 0",
    "abs(is_deleted) + 1 < 2 OR is_deleted IS NULL",
    "is_deleted BETWEEN -1 AND 0 AND NOT (is_deleted IN (1, 2))",
    "nullif(is_deleted, 1) IS NOT NULL",
];

impl Query<'_> {
    fn exactly(&self, query: &str) -> (Vec<Table>, String) {
        (vec![self.first(self.table.columns.clone(), self.rows.clone())], query.to_owned())
    }

    /// A table with one more column, and the others in a different order.
    fn wider(&self, query: String) -> (Vec<Table>, String) {
        let extra = Column { name: "updated_at".into(), ty: ColumnType::Text };
        let columns = std::iter::once(extra).chain(self.table.columns.iter().rev().cloned()).collect();
        let row = |row: &Row| std::iter::once(Some("now".into())).chain(row.iter().rev().cloned()).collect();
        (vec![self.first(columns, self.rows.iter().map(row).collect())], query)
    }

    fn plain(&self) -> (Vec<Table>, String) {
        self.wider(format!("SELECT {} FROM {}", self.list(), self.from))
    }

    fn distinct(&self) -> (Vec<Table>, String) {
        let qualified: Vec<String> =
            self.table.column_names().iter().map(|name| format!("x.{name}")).collect();
        self.wider(format!("SELECT DISTINCT {} FROM {} AS x", qualified.join(", "), self.from))
    }

    fn with(&self) -> (Vec<Table>, String) {
        let (list, from) = (self.list(), &self.from);
        self.wider(format!(
            "WITH t2 AS (SELECT {list} FROM {from}), w2 AS (SELECT * FROM t2) SELECT {list} FROM w2"
        ))
    }

    fn filtered(&self) -> (Vec<Table>, String) {
        let extra = Column { name: "is_deleted".into(), ty: ColumnType::Integer };
        let with = |deleted: &str, rows: &[Row]| -> Vec<Row> {
            rows.iter().map(|row| [row.as_slice(), &[Some(deleted.to_owned())]].concat()).collect()
        };
        let all = [with("0", &self.rows), with("1", &strangers(&self.table.rows))].concat();
        let columns = self.table.columns.iter().cloned().chain([extra]).collect();
        let condition = NOT_DELETED[self.rows.len() % NOT_DELETED.len()];
        let query = format!("SELECT {} FROM {} WHERE {condition}", self.list(), self.from);
        (vec![self.first(columns, all)], query)
    }

    /// The first column in one table, the others in another.
    fn joined(&self) -> (Vec<Table>, String) {
        let columns = &self.table.columns;
        let key = Column { name: "row_number".into(), ty: ColumnType::Integer };
        let numbered = |columns: std::ops::Range<usize>| -> Vec<Row> {
            let row = |(at, row): (usize, &Row)| [&row[columns.clone()], &[Some(at.to_string())]].concat();
            self.rows.iter().enumerate().map(row).collect()
        };
        let left = columns[..1].iter().cloned().chain([key.clone()]).collect();
        let right = columns[1..].iter().cloned().chain([key]).collect();
        let tables = vec![self.first(left, numbered(0..1)), self.second(right, numbered(1..columns.len()))];
        let names = self.table.column_names();
        let rest: Vec<String> = names[1..].iter().map(|name| format!("r.{name}")).collect();
        let query = format!(
            "SELECT l.{}, {} FROM {} l JOIN {} r ON r.row_number = l.row_number",
            names[0],
            rest.join(", "),
            self.from,
            self.second_from()
        );
        (tables, query)
    }

    /// Half of the rows in one table, half in another.
    fn union(&self) -> (Vec<Table>, String) {
        let columns = &self.table.columns;
        let (some, others) = self.rows.split_at(self.rows.len() / 2);
        let tables =
            vec![self.first(columns.clone(), some.to_vec()), self.second(columns.clone(), others.to_vec())];
        let (list, from, other) = (self.list(), &self.from, self.second_from());
        (tables, format!("SELECT {list} FROM {from} UNION ALL SELECT {list} FROM {other}"))
    }

    fn values(&self) -> (Vec<Table>, String) {
        let cell = |(column, cell): (&Column, &Option<String>)| {
            let literal = column.ty.literal(cell.as_deref());
            match column.ty {
                ColumnType::Text | ColumnType::Decoy | ColumnType::Integer | ColumnType::Enum { .. } => {
                    literal
                }
                ColumnType::Bigint | ColumnType::Ids(_) | ColumnType::Boolean => {
                    format!("CAST({literal} AS {})", cast_name(&column.ty, self.style.dialect))
                }
            }
        };
        let row = |row: &Row| self.table.columns.iter().zip(row).map(cell).collect::<Vec<_>>().join(", ");
        let rows: Vec<String> = self.rows.iter().map(|cells| format!("({})", row(cells))).collect();
        (Vec::new(), format!("VALUES {}", rows.join(", ")))
    }

    fn commented(&self) -> (Vec<Table>, String) {
        self.wider(format!(
            "SELECT -- it's one column a line; )\n  {}\nFROM /* the \"table\" ' */ {};\n",
            self.table.column_names().join(",\n  "),
            self.from
        ))
    }

    /// The names of the columns, as a query selects them.
    fn list(&self) -> String {
        self.table.column_names().join(", ")
    }

    /// The table that is named by `from`.
    fn first(&self, columns: Vec<Column>, rows: Vec<Row>) -> Table {
        Table { name: self.table.name.clone(), columns, key: None, rows }
    }

    /// One more table, for forms that need two.
    fn second(&self, columns: Vec<Column>, rows: Vec<Row>) -> Table {
        Table { name: self.second_name(), columns, key: None, rows }
    }

    /// How a query names the second table.
    fn second_from(&self) -> String {
        self.style.reference(&self.second_name(), self.number + 1)
    }

    fn second_name(&self) -> String {
        format!("beside_{}", self.number)
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
