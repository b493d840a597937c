//! The forms of SQL that a caller gets: a decision, rows, or a filter.
//!
//! In: a folded plan. Out: one text. A decision and rows are whole statements. A filter is a condition that
//! the caller may put anywhere: each subquery defines the tables that it reads, no name that the compiler
//! makes up is one of the caller's, and the condition is never NULL. Its subqueries use the caller's column
//! only if the column is qualified by its table.

use super::analysis::{Caller, GivenColumn};
use super::filter::{Filter, LookedUp};
use super::sets::in_query;
use super::target::Local;
use super::template::{Template, ValuePlace};
use crate::algebra::verify::Verifier;
use crate::algebra::{Condition, Embedded, Plan, Select, SetUse};
use crate::bindings::{Bindings, ColumnExpr, SqlName};
use crate::catalog::{Catalog, ColumnId};
use crate::deadline::Deadline;
use crate::dialect::{Dialect, Extent};
use crate::ir::{Constant, Program};
use crate::keys::Keys;
use crate::question::{CompileError, QuestionVarId};
use crate::sql::at::{At, QueryAround};
use crate::sql::build;
use crate::sql::held::HeldValues;
use crate::sql::lower::{Inputs, Lowering, Unconstrained, column_name, cte_kind};
use crate::sql::printing::Printing;
use crate::sql::representation::{ColumnOf, Representation};
use crate::sql::strategy::{KeyStrategy, TableReader};
use crate::text;
use indexmap::IndexSet;
use sqlparser::ast::{BinaryOperator, Expr as Sql, Query, SetExpr};

/// What is printed for a caller's database.
#[derive(Clone, Copy)]
pub(crate) struct LocalStatement<'l> {
    /// What the plan may refer to.
    pub(crate) verifier: Verifier<'l>,
    /// The policy.
    pub(crate) program: &'l Program,
    /// What the plan's sources are.
    pub(crate) catalog: &'l Catalog,
    /// Literals that the policy does not have.
    pub(crate) constants: &'l IndexSet<Constant>,
    /// The caller's database.
    pub(crate) dialect: Dialect,
    /// The caller's queries and types.
    pub(crate) bindings: &'l Bindings,
    /// The rows of embedded sources.
    pub(crate) embedded: &'l [Embedded],
    /// The literals that are values of the question.
    pub(crate) places: &'l [ValuePlace],
    /// Prefix of generated names, see [`free_prefix`](super::caller::free_prefix).
    pub(crate) prefix: &'l str,
    /// When it must be printed.
    pub(crate) deadline: Deadline,
}

/// The caller's column as an expression.
pub(crate) fn column_text(column: &ColumnExpr) -> Sql {
    build::raw(&column.text)
}

impl LocalStatement<'_> {
    /// How the caller's column represents the values of a type. What the bindings declare is true of a
    /// column, not of another expression.
    pub(crate) fn represent_column(&self, column: &ColumnExpr, ty: &str) -> Representation {
        let declared = self.bindings.sql_types.get(ty).filter(|_| column.name.is_some());
        Representation::of_column(declared, self.program.type_id(ty), self.dialect.features())
    }

    /// `SELECT … AS name`, one row with one truth value.
    pub(crate) fn decision(self, plan: &Plan, name: &str) -> Result<Template, CompileError> {
        self.statement(plan, |lowering, at, selects| {
            let holds = lowering.decision(at, selects)?;
            let projection = vec![build::item(holds, Some(build::ident(name)))];
            Ok(build::query(build::select(projection, Vec::new(), Vec::new())))
        })
    }

    /// `SELECT DISTINCT …`: `names` has the name of each column and the column of the answer that it shows.
    pub(crate) fn rows(self, plan: &Plan, names: &[(ColumnId, String)]) -> Result<Template, CompileError> {
        self.statement(plan, |lowering, at, selects| {
            let all = lowering.arms(at, selects, plan.answer.n_columns(), Unconstrained::Null)?;
            lowering.distinct(at, plan, all, names)
        })
    }

    /// `SELECT DISTINCT …` of the answer's one column, in order, with `*` for any value.
    pub(crate) fn list(self, plan: &Plan, name: &str) -> Result<Template, CompileError> {
        self.statement(plan, |lowering, at, selects| {
            let all = lowering.arms(at, selects, 1, Unconstrained::Star)?;
            let distinct = lowering.distinct(at, plan, all, &[(ColumnId::FIRST, name.to_owned())])?;
            let a = lowering.named("a");
            let value = || build::column(&a, build::ident(name));
            let from = build::joined(vec![build::derived(distinct, &a)]);
            let projection = vec![build::item(value(), None)];
            let outer = build::query(build::select(projection, from, Vec::new()));
            Ok(build::ordered(outer, vec![build::ascending(lowering.in_byte_order(value()))]))
        })
    }

    fn statement(
        self,
        plan: &Plan,
        body: impl FnOnce(&mut Lowering<'_, Local<'_>>, At<'_>, &[Select]) -> Result<Query, CompileError>,
    ) -> Result<Template, CompileError> {
        self.verifier.check("sql", plan)?;
        let mut lowering = self.lowering(plan, None, None);
        let held = HeldValues::of(plan.selects());
        let ctes = lowering.tables(At { held: &held, ..At::top(&plan.tables) }, plan)?;
        let read = [plan.answer.selects(), std::slice::from_ref(&plan.guard)].concat();
        let (tables, few) = lowering.tested_as_few(&plan.tables, &read, TableReader::Answer);
        let at = At { held: &held, ..At::top(&tables) };
        let query = body(&mut lowering, at, plan.answer.selects())?;
        let mut all = lowering.read_by_name();
        all.extend(ctes.into_iter().chain(few));
        lowering.printed(&build::with(query, cte_kind(&plan.tables), all), Extent::Statement)
    }

    /// A condition over the caller's column, which represents its values like this.
    pub(crate) fn filter(
        self,
        plan: &Plan,
        filter: &Filter,
        var: QuestionVarId,
        column: &Sql,
        representation: &Representation,
    ) -> Result<Template, CompileError> {
        self.verifier.check("sql", &filter.plan(&plan.tables))?;
        let given = GivenColumn { var, representation: representation.clone(), name: column.clone() };
        let mut lowering = self.lowering(plan, Some(given.clone()), filter.row.clone());
        let under_or = filter.n_alternatives() > 1;
        let at = At { access: filter.access, under_or, ..At::filter(&plan.tables) };
        let of_column = self.tests_of_column(&mut lowering, at, plan, filter, &given)?;
        let any = if filter.guards.iter().any(Select::is_unit) {
            build::boolean(true)
        } else {
            // Where a guard holds, no row is tested.
            let guards = filter.guards.iter().map(|select| lowering.branch(at, select));
            let mut any = guards.collect::<Result<Vec<_>, _>>()?;
            if !of_column.is_empty() {
                let known = build::is_not_null(column.clone());
                any.push(build::nested(build::all(vec![known, build::any(of_column)])));
            }
            build::any(any)
        };
        let common_is_empty = filter.common.is_empty();
        let is_constant = any == build::boolean(false) || any == build::boolean(true) && common_is_empty;
        let condition = if is_constant {
            any
        } else {
            let mut all = lowering.guards(at, &filter.common)?;
            all.push(any);
            build::nested(build::all(all))
        };
        lowering.printed(&condition, Extent::Condition)
    }

    /// The tests of the column's value, each of which lets the row pass.
    fn tests_of_column(
        self,
        lowering: &mut Lowering<'_, Local<'_>>,
        at: At<'_>,
        plan: &Plan,
        filter: &Filter,
        given: &GivenColumn,
    ) -> Result<Vec<Sql>, CompileError> {
        let GivenColumn { var, representation, name: column } = given;
        let mut of_column = Vec::new();
        if !filter.literals.is_empty() {
            of_column.push(lowering.one_of(
                column.clone(),
                representation,
                ColumnOf::Caller,
                &filter.literals,
            )?);
        }
        for select in &filter.rows {
            of_column.push(lowering.branch(at, select)?);
        }
        for (literal, select) in &filter.conditioned {
            let is = lowering.one_of(column.clone(), representation, ColumnOf::Caller, &[*literal])?;
            let holds = lowering.branch(at, select)?;
            of_column.push(build::nested(build::all(vec![is, holds])));
        }
        if !filter.set.is_empty() {
            of_column.push(lowering.value_in_set(at, column, representation, &filter.set, SetUse::ToFind)?);
        }
        if let Some(looked_up) = filter.looked_up.as_ref().filter(|looked_up| !looked_up.rows.is_empty()) {
            let column = column.clone();
            let features = self.dialect.features();
            of_column.push(match KeyStrategy::of(filter, looked_up, features) {
                KeyStrategy::Row => {
                    build::exists(self.row_of(plan, looked_up, *var, representation, Some(column))?)
                }
                KeyStrategy::Set(strategy) => {
                    let value = build::tuple(representation.looked_up(column, features));
                    let keys = self.row_of(plan, looked_up, *var, representation, None)?;
                    in_query(strategy, value, keys)
                }
            });
        }
        of_column.retain(|condition| *condition != build::boolean(false));
        Ok(of_column)
    }

    /// The keys of the rows of a table that pass a filter, or of the one with this `key`.
    fn row_of(
        self,
        plan: &Plan,
        looked_up: &LookedUp,
        var: QuestionVarId,
        representation: &Representation,
        key: Option<Sql>,
    ) -> Result<Query, CompileError> {
        let LookedUp { table, rows, access, .. } = looked_up;
        let name = format!("{}given", self.prefix);
        let own = build::raw(&format!("{name}.{}", table.column));
        let given = GivenColumn { var, representation: representation.clone(), name: own.clone() };
        let row = Some((name.clone(), table.column.clone()));
        let mut lowering = self.lowering(plan, Some(given), row);
        let query_around = if key.is_some() { QueryAround::RowOfKey } else { QueryAround::Anything };
        let at = At { access: *access, under_or: rows.len() > 1, query_around, ..At::filter(&plan.tables) };
        let rows = rows.iter().map(|row| lowering.branch(at, row));
        let holds = build::any(rows.collect::<Result<Vec<_>, _>>()?);
        let from = build::joined(vec![build::raw_table(&SqlName::path(&table.table), &name, &[])]);
        let (shown, filter) = match key {
            Some(key) => (vec![build::number(1)], vec![build::binary(own, BinaryOperator::Eq, key), holds]),
            None => (representation.looked_up(own, self.dialect.features()), vec![holds]),
        };
        let shown = shown.into_iter().map(|value| build::item(value, None)).collect();
        Ok(build::query(build::select(shown, from, filter)))
    }

    /// A condition over the caller's column that is decided row by row: the plan takes the value of `var` as
    /// given, which the column represents like this.
    pub(crate) fn row_test(
        self,
        plan: &Plan,
        column: &Sql,
        var: QuestionVarId,
        representation: Representation,
    ) -> Result<Template, CompileError> {
        let given = format!("{}given", self.prefix);
        let id = build::column(&given, build::ident("id"));
        self.verifier.check("sql", plan)?;
        let given_column = GivenColumn { var, representation, name: id.clone() };
        let mut lowering = self.lowering(plan, Some(given_column), None);
        // PostgreSQL makes no join of a test that has a `WITH`.
        let held = HeldValues::of(plan.selects().filter(|_| !plan.tables.is_empty()));
        let at = At { held: &held, ..At::top(&plan.tables) };
        let ctes = lowering.tables(at, plan)?;
        let holds = lowering.decision(at, plan.answer.selects())?;
        let mut all = lowering.read_by_name();
        all.extend(ctes);
        let holds = if all.is_empty() {
            holds
        } else {
            let projection = vec![build::item(holds, None)];
            let query = build::query(build::select(projection, Vec::new(), Vec::new()));
            build::scalar(build::with(query, cte_kind(&plan.tables), all))
        };
        let value = vec![build::item(column.clone(), Some(build::ident("id")))];
        let value = build::query(build::select(value, Vec::new(), Vec::new()));
        let from = build::joined(vec![build::derived(value, &given)]);
        let projection = vec![build::item(build::number(1), None)];
        let filter = vec![build::is_not_null(id), holds];
        let query = build::query(build::select(projection, from, filter));
        lowering.printed(&build::nested(build::exists(query)), Extent::Condition)
    }
}

impl<'l> LocalStatement<'l> {
    pub(in crate::sql) fn lowering(
        self,
        plan: &Plan,
        column: Option<GivenColumn>,
        row: Option<(String, SqlName)>,
    ) -> Lowering<'l, Local<'l>> {
        let Self {
            program, catalog, constants, dialect, bindings, embedded, places, prefix, deadline, ..
        } = self;
        let (keys, features) = (Some(Keys { catalog, bindings }), dialect.features());
        let inputs = Inputs { program, catalog, constants, features, keys, deadline };
        let caller = Caller { inputs, bindings, embedded, places, prefix, column, row };
        Lowering { inputs, target: Local::of(caller, plan) }
    }
}

impl Lowering<'_, Local<'_>> {
    /// The text of a statement or of a condition, see [`text::printed`].
    fn printed(&self, node: &impl std::fmt::Display, extent: Extent) -> Result<Template, CompileError> {
        let printed = text::printed(node, self.inputs.features, extent, |_| None)?;
        let template = Template::of(&printed, self.inputs.features.escapes);
        template.ok_or_else(|| CompileError::Bug("a mark that says nothing".into()))
    }

    /// The distinct rows of a plan's answer, under its guard; see [`LocalStatement::rows`].
    fn distinct(
        &mut self,
        at: At<'_>,
        plan: &Plan,
        all: SetExpr,
        names: &[(ColumnId, String)],
    ) -> Result<Query, CompileError> {
        let r = self.named("r");
        let column = |(column, name): &(ColumnId, String)| {
            build::item(build::column(&r, build::ident(&column_name(*column))), Some(build::ident(name)))
        };
        let projection = names.iter().map(column).collect();
        let from = build::joined(vec![build::derived(build::query(all), &r)]);
        let guard = self.guards(at, &plan.guard.filter)?;
        Ok(build::query(build::distinct(build::select(projection, from, guard))))
    }

    /// Conditions that mention no source.
    fn guards(&mut self, at: At<'_>, conditions: &[Condition]) -> Result<Vec<Sql>, CompileError> {
        conditions.iter().map(|condition| self.condition(at, condition)).collect()
    }
}
