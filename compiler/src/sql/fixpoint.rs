//! Tables of a plan, fixpoints included, as common table expressions.
//!
//! In: a table. Out: one common table expression, or two for a fixpoint over the whole state.

use super::at::{At, ITSELF, Itself};
use super::build;
use super::lower::{Lowering, column_names};
use super::target::Target;
use crate::algebra::{Select, Table, TableBody};
use crate::dialect::State;
use crate::question::CompileError;
use sqlparser::ast::{Cte, Expr as Sql, Query, SetExpr, TableFactor, TableWithJoins};

/// If a fixpoint's steps read its state more often than this, they read the state itself.
const STATE_READINGS: usize = 8;

impl<T> Lowering<'_, T>
where
    Self: Target,
{
    /// A table of a plan; `repeats` says whether its rows may come twice. `at` is in its body.
    pub(super) fn table(
        &mut self,
        at: At<'_>,
        table: &Table,
        repeats: bool,
    ) -> Result<Vec<Cte>, CompileError> {
        let names = column_names(table.n_columns);
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        let at = At { itself: Itself::Named(&table.name), ..at };
        let arms = |this: &mut Self, selects: &[Select]| -> Result<Vec<SetExpr>, CompileError> {
            selects.iter().map(|select| this.select(at, select, None, false)).collect()
        };
        match &table.body {
            TableBody::Union(selects) => {
                let arms = arms(self, selects)?;
                let all = build::union(arms, repeats).unwrap_or_else(|| self.no_rows(table.n_columns));
                Ok(vec![build::cte(&table.name, &columns, build::query(all), false)])
            }
            TableBody::Recursive { base, .. } | TableBody::WholeState { base, .. } if base.is_empty() => {
                let nothing = self.no_rows(table.n_columns);
                Ok(vec![build::cte(&table.name, &columns, build::query(nothing), false)])
            }
            TableBody::Recursive { base, step } => {
                let base = arms(self, base)?;
                let body = if self.inputs.features.flat_recursive_arms {
                    let step = arms(self, step)?;
                    build::union(base.into_iter().chain(step).collect(), false)
                } else {
                    let base = match base.len() {
                        0 | 1 => base.into_iter().next(),
                        _ => build::union(base, true).map(Self::wrap),
                    };
                    let step = self.recursive_arm(at, table, step)?;
                    build::union(base.into_iter().chain(step).collect(), false)
                };
                let body = body.unwrap_or_else(|| self.no_rows(table.n_columns));
                Ok(vec![build::cte(&table.name, &columns, build::query(body), false)])
            }
            TableBody::WholeState { base, step } => self.whole_state(at, table, base, step),
        }
    }

    fn no_rows(&self, n_columns: usize) -> SetExpr {
        let nulls = (0..n_columns).map(|_| build::item(self.text(build::null()), None)).collect();
        build::select(false, nulls, Vec::new(), vec![build::boolean(false)])
    }

    /// All steps as one arm that names the table once, as an inner table `w`.
    fn recursive_arm(
        &mut self,
        at: At<'_>,
        table: &Table,
        step: &[Select],
    ) -> Result<Option<SetExpr>, CompileError> {
        let whole = self.named("w");
        let name = if step.len() == 1 { &table.name } else { &whole };
        let at = At { itself: Itself::Named(name), ..at };
        let mut arms = Vec::new();
        for select in step {
            arms.push(self.select(at, select, None, false)?);
        }
        if arms.len() <= 1 {
            return Ok(arms.pop());
        }
        let Some(all) = build::union(arms, true) else { return Ok(None) };
        let from_itself = build::joined(vec![build::table(build::ident(&table.name), "s")]);
        let inner = build::cte(
            name,
            &[],
            build::query(build::select(false, vec![build::star()], from_itself, Vec::new())),
            false,
        );
        let query = build::with(build::query(all), false, vec![inner]);
        let from = build::joined(vec![build::derived(query, "l")]);
        Ok(Some(build::select(false, vec![build::star()], from, Vec::new())))
    }

    /// The fixpoint whose state is one row: the sorted set of all tuples so far. It ends when the state
    /// repeats; the largest state is the fixpoint.
    fn whole_state(
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
            base_arms.push(self.select(at, select, Some(&names), false)?);
        }
        // The state is a set: rows that come twice would make it look larger than what follows.
        let start = build::union(base_arms, true).unwrap_or_else(|| self.no_rows(table.n_columns));
        let start = build::joined(vec![build::derived(build::query(start), "u")]);
        let start = build::select(true, vec![build::star()], start, Vec::new());
        let all = |table: &str| {
            let items = names
                .iter()
                .map(|name| build::item(build::column(table, build::ident(name)), None))
                .collect();
            let from = build::joined(vec![build::table(build::ident(table), table)]);
            build::select(false, items, from, Vec::new())
        };
        let whole = self.named("w");
        let mut next_arms = vec![all(&whole)];
        // A table made of the state joins faster, but the state itself is not copied for each reading.
        let n_readings: usize =
            step.iter().map(|select| select.from.iter().filter(|from| from.kind == ITSELF).count()).sum();
        let itself = if n_readings > STATE_READINGS { Itself::State } else { Itself::Named(&whole) };
        for select in step {
            next_arms.push(self.select(At { itself, ..at }, select, None, false)?);
        }
        let next = build::union(next_arms, false).unwrap_or_else(|| self.no_rows(table.n_columns));
        let from_state = || build::joined(vec![build::table(build::ident(&state), "st")]);
        let current = self.unpack(build::column("st", build::ident("s")), &names);
        let inner = build::cte(&whole, &columns, build::query(current), true);
        let first = self.pack(build::query(start), &names, Vec::new());
        let again = self.pack(build::query(next), &names, vec![inner]);
        let first = build::select(false, vec![build::item(first, None)], Vec::new(), Vec::new());
        let again = build::select(false, vec![build::item(again, None)], from_state(), Vec::new());
        let Some(body) = build::union(vec![first, again], false) else {
            return Err(CompileError::Bug("a fixpoint without arms".into()));
        };
        let result = self.unpack(self.largest(from_state()), &names);
        Ok(vec![
            build::cte(&state, &["s"], build::query(body), false),
            build::cte(&table.name, &columns, build::query(result), true),
        ])
    }

    /// The largest of the states that `st` reads.
    fn largest(&self, from_states: Vec<TableWithJoins>) -> Sql {
        let state = || build::column("st", build::ident("s"));
        let size = match self.inputs.features.state {
            State::Json => "json_array_length",
            State::JsonbArray => "cardinality",
        };
        let states = build::select(false, vec![build::item(state(), None)], from_states, Vec::new());
        let by_size = vec![(build::call(size, vec![state()]), true)];
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
        ctes.push(build::cte(&x, &named, rows, false));
        match self.inputs.features.state {
            State::Json => {
                let sorted = build::select(false, vec![build::star()], from, Vec::new());
                let by = columns().into_iter().map(|column| (column, false)).collect();
                let sorted = build::with(build::ordered(build::query(sorted), by), false, ctes);
                let from = build::joined(vec![build::derived(sorted, &x)]);
                let tuple = build::call("json_array", columns());
                let item = build::item(build::call("json_group_array", vec![tuple]), None);
                build::scalar(build::query(build::select(false, vec![item], from, Vec::new())))
            }
            State::JsonbArray => {
                let tuple = build::call("jsonb_build_array", columns());
                let item = build::item(tuple, None);
                let sorted = build::query(build::select(false, vec![item], from, Vec::new()));
                build::array_of(build::with(
                    build::ordered(sorted, vec![(build::number(1), false)]),
                    false,
                    ctes,
                ))
            }
        }
    }

    /// The rows that [`Self::pack`] packed.
    fn unpack(&self, state: Sql, names: &[String]) -> SetExpr {
        let from = build::joined(vec![self.state_rows(state, "e")]);
        let items = (0..names.len()).map(|column| build::item(build::element("e", column), None)).collect();
        build::select(false, items, from, Vec::new())
    }

    /// A state's tuples, each as `alias.value`.
    pub(super) fn state_rows(&self, state: Sql, alias: &str) -> TableFactor {
        match self.inputs.features.state {
            State::Json => build::table_function("json_each", vec![state], alias, &[]),
            State::JsonbArray => build::unnest(state, alias, "value"),
        }
    }
}
