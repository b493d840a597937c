//! A fixpoint over the whole state, kept as one array for each column, in a row.
//!
//! In: a table whose steps read it several times. Out: two common table expressions, the states and the rows
//! of the last.
//!
//! ```text
//! state (s0)  =  ARRAY(the base, sorted)
//!         UNION  ARRAY(unnest(st.s0) and the result of a step, sorted) FROM state st
//! ```
//!
//! An array has the type of its column, so a step compares the caller's columns as they are, and their
//! indexes can be used. All arrays of a state are in the order of its tuples, each of which it holds once. So
//! equal states are equal rows, and `UNION` ends with the first that repeats; the largest is the fixpoint.
//! Texts are compared and sorted by bytes. What reads them gets the default collation, which gives way to
//! that of a column. The demand, if there is one, is read from an array as well, `UNNEST(ARRAY(…))`:
//! PostgreSQL estimates a recursive table at ten times its start and more, scans whole tables to join it, and
//! compiles the statement because it looks costly.

use crate::algebra::{Repeats, Select, Table, TableId};
use crate::catalog::ColumnId;
use crate::dialect::State;
use crate::question::CompileError;
use crate::sql::at::{At, Itself};
use crate::sql::build::{self, CteKind};
use crate::sql::lower::{Lowering, column_names};
use crate::sql::printing::Printing;
use crate::sql::strategy::{RowStrategy, read_by_state};
use sqlparser::ast::{Cte, Expr as Sql, Query, SetExpr, TableFactor};

/// The names of a state's arrays and of the columns that they hold.
struct StateColumns {
    arrays: Vec<String>,
    names: Vec<String>,
}

impl StateColumns {
    fn of(table: &Table) -> Self {
        let arrays = (0..table.n_columns).map(|column| format!("s{column}"));
        Self { arrays: arrays.collect(), names: column_names(table.n_columns) }
    }

    fn arrays(&self) -> Vec<&str> {
        self.arrays.iter().map(String::as_str).collect()
    }

    fn names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }
}

impl<T> Lowering<'_, T>
where
    Self: Printing,
{
    /// The fixpoint as a table of states and a table of what the last one holds.
    pub(in crate::sql) fn array_state(
        &mut self,
        at: At<'_>,
        table: &Table,
        base: &[Select],
        step: &[Select],
    ) -> Result<Vec<Cte>, CompileError> {
        let columns = StateColumns::of(table);
        let state = format!("{}_state", table.name);
        let from_state = || build::table(build::ident(&state), "st");
        let (tables, mut ctes) = self.read_as_few(at, table);
        // A fixpoint is never itself a test, even where a test reads its table: the tests in it are joined.
        let in_state = At { tables: &tables, depth: 0, ..at };
        let mut start = Vec::new();
        for select in base {
            start.push(self.select(in_state, select)?);
        }
        let whole = self.named("w");
        let mut next = vec![reading(&whole, &columns.names)];
        let in_step = At { itself: Itself::Named(&whole), ..in_state };
        for select in step {
            next.push(self.select(in_step, select)?);
        }
        let current = self.unpacked(at, Vec::new(), "st", &columns);
        let current = build::materialized(build::cte(&whole, &columns.names(), build::query(current)));
        let start = self.sorted(at, start, Vec::new(), &columns);
        let next = self.sorted(at, next, vec![current], &columns);
        let first = vec![build::derived_as(start, "n", &columns.arrays())];
        let again = vec![from_state(), build::lateral(next, "n", &columns.arrays())];
        let arms = [first, again].map(|from| selected("n", &columns.arrays, from));
        let Some(states) = build::union(arms.into(), Repeats::Removed) else {
            return Err(CompileError::Bug("a fixpoint without arms".into()));
        };
        let size = columns.arrays().first().map(|array| {
            let array = build::column("st", build::ident(array));
            build::descending(build::call("cardinality", vec![array]))
        });
        let all = build::query(selected("st", &columns.arrays, vec![from_state()]));
        let last = build::limited(build::ordered(all, size.into_iter().collect()), build::number(1));
        let rows = self.unpacked(at, vec![build::derived(last, "l")], "l", &columns);
        ctes.push(build::cte(&state, &columns.arrays(), build::query(states)));
        ctes.push(build::materialized(build::cte(&table.name, &columns.names(), build::query(rows))));
        Ok(ctes)
    }

    /// The tables under the names by which the fixpoint reads them, and what makes them so.
    fn read_as_few(&self, at: At<'_>, table: &Table) -> (Vec<Table>, Vec<Cte>) {
        let mut tables = at.tables.to_vec();
        let mut few = Vec::new();
        for (id, read) in TableId::all(at.tables).zip(&mut tables) {
            match read_by_state(table, id, read, self.inputs.features) {
                RowStrategy::Query => {}
                RowStrategy::Arrays | RowStrategy::OneRow => {
                    let names = column_names(read.n_columns);
                    let array = build::array_of(build::query(reading(&read.name, &names)));
                    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
                    let rows = selected("e", &names, vec![build::unnest(vec![array], "e", &columns)]);
                    read.name = format!("{}_few{}", table.name, id.index());
                    few.push(build::materialized(build::cte(&read.name, &columns, build::query(rows))));
                }
            }
        }
        (tables, few)
    }

    /// The rows of these arms as one row of arrays, each row once and all in order.
    fn sorted(&self, at: At<'_>, arms: Vec<SetExpr>, mut with: Vec<Cte>, columns: &StateColumns) -> Query {
        let x = self.named("x");
        let arms = build::union(arms, Repeats::Kept).unwrap_or_else(|| self.no_rows(columns.names.len()));
        let from = vec![build::derived_as(build::query(arms), "u", &columns.names())];
        let exact = ColumnId::all(columns.names.len()).zip(&columns.names).map(|(column, name)| {
            let value = build::column("u", build::ident(name));
            let is_text = self.holds_text(at, column);
            build::item(if is_text { self.in_byte_order(value) } else { value }, None)
        });
        let rows = build::distinct(build::select(exact.collect(), build::joined(from), Vec::new()));
        with.push(build::cte(&x, &columns.names(), build::query(rows)));
        let value = |name: &String| build::column(&x, build::ident(name));
        let arrays = columns.names.iter().map(|name| {
            let from = vec![build::table(build::ident(&x), &x)];
            let values = selected(&x, std::slice::from_ref(name), from);
            let order = columns.names.iter().map(|name| build::ascending(value(name))).collect();
            build::item(build::array_of(build::ordered(build::query(values), order)), None)
        });
        let row = build::select(arrays.collect(), Vec::new(), Vec::new());
        build::with(build::query(row), CteKind::Plain, with)
    }

    /// The rows of the arrays of `alias`, which is in `from` or encloses the query.
    fn unpacked(
        &self,
        at: At<'_>,
        mut from: Vec<TableFactor>,
        alias: &str,
        columns: &StateColumns,
    ) -> SetExpr {
        let arrays = columns.arrays.iter().map(|array| build::column(alias, build::ident(array)));
        from.push(build::unnest(arrays.collect(), "e", &columns.names()));
        let items = ColumnId::all(columns.names.len()).zip(&columns.names).map(|(column, name)| {
            let value = build::column("e", build::ident(name));
            build::item(if self.holds_text(at, column) { self.in_usual_order(value) } else { value }, None)
        });
        build::select(items.collect(), build::joined(from), Vec::new())
    }

    /// A text in the collation that gives way to that of a column.
    fn in_usual_order(&self, text: Sql) -> Sql {
        match self.inputs.features.state {
            State::Arrays { collation: Some(collation) } => build::collate(text, collation),
            State::Arrays { collation: None } | State::Json => text,
        }
    }
}

/// `SELECT table.a, table.b FROM table`
fn reading(table: &str, names: &[String]) -> SetExpr {
    selected(table, names, vec![build::table(build::ident(table), table)])
}

/// `SELECT alias.a, alias.b FROM from`
fn selected(alias: &str, names: &[String], from: Vec<TableFactor>) -> SetExpr {
    let items = names.iter().map(|name| build::item(build::column(alias, build::ident(name)), None));
    build::select(items.collect(), build::joined(from), Vec::new())
}
