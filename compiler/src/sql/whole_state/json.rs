//! A fixpoint over the whole state, kept as one JSON array of tuples, each an array of its own.
//!
//! In: a table whose steps read it several times. Out: two common table expressions, the states and the rows
//! of the last.

use crate::algebra::{Repeats, Select, Table};
use crate::catalog::ColumnId;
use crate::question::CompileError;
use crate::sql::at::{At, Itself};
use crate::sql::build::{self, CteKind};
use crate::sql::lower::{Lowering, Unconstrained, column_names};
use crate::sql::printing::Printing;
use crate::sql::strategy::StateStrategy;
use sqlparser::ast::{Cte, Expr as Sql, Query, SetExpr, TableFactor, TableWithJoins};

impl<T> Lowering<'_, T>
where
    Self: Printing,
{
    /// The fixpoint whose state is one row: the sorted set of all tuples so far. It ends when the state
    /// repeats; the largest state is the fixpoint.
    pub(in crate::sql) fn json_state(
        &mut self,
        at: At<'_>,
        table: &Table,
        base: &[Select],
        step: &[Select],
    ) -> Result<Vec<Cte>, CompileError> {
        let names = column_names(table.n_columns);
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        let state = format!("{}_state", table.name);
        let mut base_arms = Vec::new();
        for select in base {
            base_arms.push(self.named_select(at, select, &names, Unconstrained::Null)?);
        }
        // The state is a set: rows that come twice would make it look larger than what follows.
        let start = build::union(base_arms, Repeats::Kept).unwrap_or_else(|| self.no_rows(table.n_columns));
        let start = build::joined(vec![build::derived(build::query(start), "u")]);
        let start = build::distinct(build::select(vec![build::star()], start, Vec::new()));
        let all = |table: &str| {
            let items = names
                .iter()
                .map(|name| build::item(build::column(table, build::ident(name)), None))
                .collect();
            let from = build::joined(vec![build::table(build::ident(table), table)]);
            build::select(items, from, Vec::new())
        };
        let whole = self.named("w");
        let mut next_arms = vec![all(&whole)];
        let itself = match StateStrategy::of(step) {
            StateStrategy::Table => Itself::Named(&whole),
            StateStrategy::Unpacked => Itself::Tuples,
        };
        for select in step {
            next_arms.push(self.select(At { itself, ..at }, select)?);
        }
        let next = build::union(next_arms, Repeats::Removed).unwrap_or_else(|| self.no_rows(table.n_columns));
        let from_state = || build::joined(vec![build::table(build::ident(&state), "st")]);
        let current = Self::unpack(build::column("st", build::ident("s")), &names);
        let inner = build::materialized(build::cte(&whole, &columns, build::query(current)));
        let first = self.pack(build::query(start), &names, Vec::new());
        let again = self.pack(build::query(next), &names, vec![inner]);
        let first = build::select(vec![build::item(first, None)], Vec::new(), Vec::new());
        let again = build::select(vec![build::item(again, None)], from_state(), Vec::new());
        let Some(body) = build::union(vec![first, again], Repeats::Removed) else {
            return Err(CompileError::Bug("a fixpoint without arms".into()));
        };
        let result = Self::unpack(Self::largest(from_state()), &names);
        Ok(vec![
            build::cte(&state, &["s"], build::query(body)),
            build::materialized(build::cte(&table.name, &columns, build::query(result))),
        ])
    }

    /// The largest of the states that `st` reads.
    fn largest(from_states: Vec<TableWithJoins>) -> Sql {
        let state = || build::column("st", build::ident("s"));
        let states = build::select(vec![build::item(state(), None)], from_states, Vec::new());
        let by_size = vec![build::descending(build::call("json_array_length", vec![state()]))];
        build::scalar(build::limited(build::ordered(build::query(states), by_size), build::number(1)))
    }

    /// The rows of a query as one value, sorted.
    fn pack(&self, rows: Query, names: &[String], with: Vec<Cte>) -> Sql {
        let x = self.named("x");
        let columns = || names.iter().map(|name| build::column(&x, build::ident(name))).collect::<Vec<_>>();
        // The column names come from a table that is made for them, since a union has those of its first arm.
        let named: Vec<&str> = names.iter().map(String::as_str).collect();
        let from = build::joined(vec![build::table(build::ident(&x), &x)]);
        let mut ctes = with;
        ctes.push(build::cte(&x, &named, rows));
        let sorted = build::select(vec![build::star()], from, Vec::new());
        let by = columns().into_iter().map(build::ascending).collect();
        let sorted = build::with(build::ordered(build::query(sorted), by), CteKind::Plain, ctes);
        let from = build::joined(vec![build::derived(sorted, &x)]);
        let tuple = build::call("json_array", columns());
        let item = build::item(build::call("json_group_array", vec![tuple]), None);
        build::scalar(build::query(build::select(vec![item], from, Vec::new())))
    }

    /// The rows that [`Self::pack`] packed.
    fn unpack(state: Sql, names: &[String]) -> SetExpr {
        let from = build::joined(vec![Self::tuples(state, "e")]);
        let items =
            ColumnId::all(names.len()).map(|column| build::item(build::element("e", column), None)).collect();
        build::select(items, from, Vec::new())
    }

    /// The state's tuples under an alias, each as `alias.value`.
    pub(in crate::sql) fn json_tuples(alias: &str) -> TableFactor {
        Self::tuples(build::column("st", build::ident("s")), alias)
    }

    fn tuples(state: Sql, alias: &str) -> TableFactor {
        build::table_function("json_each", vec![state], alias, &[])
    }
}
