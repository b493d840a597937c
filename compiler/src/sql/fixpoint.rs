//! Tables of a plan, fixpoints included, as common table expressions.
//!
//! In: a table. Out: one common table expression, or two for a fixpoint over the whole state, which
//! `whole_state` makes.

use super::at::{At, Itself};
use super::build::{self, CteKind};
use super::lower::{Lowering, column_names};
use super::printing::Printing;
use super::strategy::{RowStrategy, TableReader, repeats_of_only};
use crate::algebra::{Repeats, Select, Table, TableBody, TableId};
use crate::dialect::State;
use crate::question::CompileError;
use sqlparser::ast::{Cte, SetExpr, TableFactor};

impl<T> Lowering<'_, T>
where
    Self: Printing,
{
    /// A table of a plan; `at` is in its body.
    pub(super) fn table(&mut self, at: At<'_>, table: &Table) -> Result<Vec<Cte>, CompileError> {
        let names = column_names(table.n_columns);
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        let at = At { itself: Itself::Named(&table.name), ..at };
        let arms = |this: &mut Self, selects: &[Select]| -> Result<Vec<SetExpr>, CompileError> {
            selects.iter().map(|select| this.select(at, select)).collect()
        };
        match &table.body {
            TableBody::Union(selects) => {
                let arms = arms(self, selects)?;
                let all = build::union(arms, table.repeats).unwrap_or_else(|| self.no_rows(table.n_columns));
                let all = match selects.as_slice() {
                    [only] if repeats_of_only(table, only) == Repeats::Removed => build::distinct(all),
                    _ => all,
                };
                Ok(vec![build::cte(&table.name, &columns, build::query(all))])
            }
            TableBody::Recursive { base, .. } | TableBody::WholeState { base, .. } if base.is_empty() => {
                let nothing = self.no_rows(table.n_columns);
                Ok(vec![build::cte(&table.name, &columns, build::query(nothing))])
            }
            TableBody::Recursive { base, step } => {
                let starts = arms(self, base)?;
                let body = if self.inputs.features.flat_recursive_arms {
                    let step = arms(self, step)?;
                    build::union(starts.into_iter().chain(step).collect(), Repeats::Removed)
                } else {
                    let base =
                        build::union(starts, Repeats::Kept).map(|all| self.start(at, table, base, all));
                    let step = self.recursive_arm(at, table, step)?;
                    build::union(base.into_iter().chain(step).collect(), Repeats::Removed)
                };
                let body = body.unwrap_or_else(|| self.no_rows(table.n_columns));
                Ok(vec![build::cte(&table.name, &columns, build::query(body))])
            }
            TableBody::WholeState { base, step } => match self.inputs.features.state {
                State::Json => self.json_state(at, table, base, step),
                State::Arrays { .. } => self.array_state(at, table, base, step),
            },
        }
    }

    /// All rows that a recursion starts from, as one arm. If they count as one row, each step is planned for
    /// ten, and finds the next rows by an index where there is one.
    fn start(&self, at: At<'_>, table: &Table, base: &[Select], all: SetExpr) -> SetExpr {
        match RowStrategy::of_start(table, base, at.tables, &self.inputs) {
            RowStrategy::Arrays => as_few(all, table.n_columns),
            RowStrategy::OneRow => {
                let one = build::counted_as_a_tenth(build::query(as_few(all, table.n_columns)));
                let from = build::joined(vec![build::derived(one, "u")]);
                build::select(vec![build::star()], from, Vec::new())
            }
            RowStrategy::Query if base.len() > 1 => Self::wrap(all),
            RowStrategy::Query => all,
        }
    }

    /// The tables as these selects read them, and the common table expressions of those that they read from
    /// arrays. They need not be materialised, unlike those of `read_as_few`: no fixpoint reads them.
    pub(super) fn tested_as_few(
        &self,
        read: &[Table],
        selects: &[Select],
        reader: TableReader,
    ) -> (Vec<Table>, Vec<Cte>) {
        let mut tables = read.to_vec();
        let mut few = Vec::new();
        for (id, table) in TableId::all(read).zip(&mut tables) {
            match RowStrategy::of_tested(selects, id, table, reader, self.inputs.features) {
                RowStrategy::Query => {}
                RowStrategy::Arrays | RowStrategy::OneRow => {
                    let names = column_names(table.n_columns);
                    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
                    let alias = self.named("s");
                    let item = |name: &String| build::item(build::column(&alias, build::ident(name)), None);
                    let from = build::joined(vec![build::table(build::ident(&table.name), &alias)]);
                    let all = build::select(names.iter().map(item).collect(), from, Vec::new());
                    table.name.push_str("_few");
                    few.push(build::cte(&table.name, &columns, build::query(as_few(all, table.n_columns))));
                }
            }
        }
        (tables, few)
    }

    pub(super) fn no_rows(&self, n_columns: usize) -> SetExpr {
        let nulls = (0..n_columns).map(|_| build::item(self.as_value(build::null()), None)).collect();
        build::select(nulls, Vec::new(), vec![build::boolean(false)])
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
            arms.push(self.select(at, select)?);
        }
        if arms.len() <= 1 {
            return Ok(arms.pop());
        }
        let all = build::union(arms, Repeats::Kept)
            .ok_or_else(|| CompileError::Bug("steps without an arm".into()))?;
        let from_itself = build::joined(vec![build::table(build::ident(&table.name), "s")]);
        let inner =
            build::cte(name, &[], build::query(build::select(vec![build::star()], from_itself, Vec::new())));
        let query = build::with(build::query(all), CteKind::Plain, vec![inner]);
        let from = build::joined(vec![build::derived(query, "l")]);
        Ok(Some(build::select(vec![build::star()], from, Vec::new())))
    }
}

/// Rows that the database estimates as few: those of an array.
pub(super) fn as_few(rows: SetExpr, n_columns: usize) -> SetExpr {
    match n_columns {
        1 => build::elements_of(build::array_of(build::query(rows))),
        _ => rows_of_arrays(rows, n_columns),
    }
}

/// Rows through an array for each column: `SELECT unnest(a.c0), … FROM (SELECT array_agg(s.c0), …) AS a`. All
/// arrays are filled in one order, and taken apart in step.
fn rows_of_arrays(rows: SetExpr, n_columns: usize) -> SetExpr {
    let names = column_names(n_columns);
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let of_each = |function: &str, alias: &str, from: Vec<TableFactor>| {
        let item = |name: &String| {
            let value = build::column(alias, build::ident(name));
            build::item(build::call(function, vec![value]), Some(build::ident(name)))
        };
        build::select(names.iter().map(item).collect(), build::joined(from), Vec::new())
    };
    let arrays = of_each("array_agg", "s", vec![build::derived_as(build::query(rows), "s", &columns)]);
    of_each("unnest", "a", vec![build::derived(build::query(arrays), "a")])
}
