//! The forms of SQL that a caller gets: a decision, rows, or a filter.
//!
//! In: a folded plan. Out: one text. A statement stands for itself; a filter stands wherever the caller puts
//! it, so each query inside it brings the tables that it reads, its names are none of the caller's, the
//! caller's column stands outside of every query of ours, and it is never NULL.

use super::build;
use super::held::{Held, LocalValues};
use super::lower::{Literal, Lowering, Sources, Values};
use super::template::Template;
use crate::algebra::TableRef;
use crate::algebra::verify::Verifier;
use crate::algebra::{Condition, FromKind, Plan, PlanAnswer, Select, Table, TableBody};
use crate::bindings::ColumnExpr;
use crate::catalog::Catalog;
use crate::dialect::Dialect;
use crate::ir::{ConstId, Constant, Program};
use crate::limits;
use crate::question::{CompileError, Slot};
use indexmap::IndexSet;
use sqlparser::ast::{Cte, Expr as Sql, Query};

/// What is printed for a caller's database.
pub(crate) struct LocalStatement<'l> {
    /// What the plan may refer to.
    pub(crate) verifier: Verifier<'l>,
    /// The policy.
    pub(crate) program: &'l Program,
    /// What the plan's sources are.
    pub(crate) catalog: &'l Catalog,
    /// Literals beside the policy's.
    pub(crate) constants: &'l IndexSet<Constant>,
    /// The caller's database.
    pub(crate) dialect: Dialect,
    /// The caller's queries, and what stands in the text.
    pub(crate) values: LocalValues<'l>,
}

/// A filter's alternatives, each with the literals or selects of its kind.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    /// The column is one of these.
    pub(crate) literals: Vec<ConstId>,
    /// The column is this literal, if the select has a row.
    pub(crate) conditioned: Vec<(ConstId, Select)>,
    /// The caller's row passes, if the select over it has a row.
    pub(crate) rows: Vec<Select>,
    /// The column is in the one column of these.
    pub(crate) set: Vec<Select>,
    /// Every column passes, if one of these has a row.
    pub(crate) guards: Vec<Select>,
    /// What must hold beside, whatever the row.
    pub(crate) common: Vec<Condition>,
    /// Whether each row is tested anyway, so that sets had better be hashed than looked up by an index.
    pub(crate) hashes: bool,
}

impl Filter {
    /// The plan that decides of a row what the filter does; its literals ask nothing more.
    pub(crate) fn plan(&self, tables: &[Table]) -> Plan {
        let conditioned = self.conditioned.iter().map(|(_, select)| select);
        let all = conditioned.chain(&self.rows).chain(&self.set).chain(&self.guards);
        let literals = self.literals.iter().map(|_| Select::default());
        let guard = Select { filter: self.common.clone(), ..Select::default() };
        let answer = PlanAnswer::Decision(all.cloned().chain(literals.take(1)).collect());
        Plan { guard, ..Plan::new(tables.to_vec(), answer) }
    }
}

/// The caller's column as an expression.
pub(crate) fn column_text(column: &ColumnExpr) -> Sql {
    build::raw(&column.text)
}

impl LocalStatement<'_> {
    /// How the caller's column holds the values of a type: what the bindings say is true of a column, not of
    /// what an expression makes of it.
    pub(crate) fn column_held(&self, column: &ColumnExpr, ty: &str) -> Held {
        let told = self.values.bindings.sql_types.get(ty).filter(|_| column.name.is_some());
        let ty = self.program.type_id(ty);
        told.map_or(Held::Untold(ty), |told| told.held(ty))
    }

    /// The statement with a variable whose value is the caller's column.
    pub(crate) fn given(mut self, var: usize, held: Held) -> Self {
        let given = build::column(&format!("{}given", self.values.prefix), build::ident("id"));
        self.values.column = Some((var, held, given));
        self
    }

    /// `SELECT … AS name`, one row with one truth value.
    pub(crate) fn decision(self, plan: &Plan, name: &str) -> Result<Template, CompileError> {
        self.statement(plan, |lowering, selects| {
            let holds = lowering.decision(&plan.tables, selects)?;
            let projection = vec![build::item(holds, Some(build::ident(name)))];
            Ok(build::query(build::select(false, projection, Vec::new(), Vec::new())))
        })
    }

    /// `SELECT DISTINCT …`: for each name the column of the answer that it shows. Sorted if there is one only
    /// and `sorted`, with `*` for any value.
    pub(crate) fn rows(
        self,
        plan: &Plan,
        n_columns: usize,
        names: &[(usize, String)],
        sorted: bool,
    ) -> Result<Template, CompileError> {
        self.statement(plan, |lowering, selects| {
            let all = lowering.arms(&plan.tables, &Sources::default(), selects, n_columns, sorted)?;
            let r = lowering.named("r");
            let column = |(column, name): &(usize, String)| {
                build::item(build::column(&r, build::ident(&format!("c{column}"))), Some(build::ident(name)))
            };
            let projection = names.iter().map(column).collect();
            let from = build::joined(vec![build::derived(build::query(all), &r)]);
            let guard = lowering.outer_conditions(&plan.tables, &plan.guard.filter)?;
            let distinct = build::query(build::select(true, projection, from, guard));
            let Some((_, name)) = names.first().filter(|_| sorted) else { return Ok(distinct) };
            let a = lowering.named("a");
            let value = || build::column(&a, build::ident(name));
            let from = build::joined(vec![build::derived(distinct, &a)]);
            let projection = vec![build::item(value(), None)];
            let outer = build::query(build::select(false, projection, from, Vec::new()));
            Ok(build::ordered(outer, vec![(lowering.in_byte_order(value()), false)]))
        })
    }

    fn statement(
        self,
        plan: &Plan,
        body: impl FnOnce(&mut Lowering<'_>, &[Select]) -> Result<Query, CompileError>,
    ) -> Result<Template, CompileError> {
        self.verifier.check("sql", plan)?;
        let mut lowering = self.lowering();
        lowering.hold_tables(plan);
        let (ctes, recursive) = lowering.tables(plan)?;
        let query = body(&mut lowering, plan.answer.selects())?;
        let mut all = lowering.read_queries()?;
        all.extend(ctes);
        lowering.printed(&build::with(query, recursive, all), 0)
    }

    /// A condition over the caller's column.
    pub(crate) fn filter(
        self,
        tables: &[Table],
        plan: &Plan,
        filter: &Filter,
        column: &Sql,
        held: &Held,
    ) -> Result<Template, CompileError> {
        self.verifier.check("sql", &filter.plan(tables))?;
        let mut lowering = self.lowering();
        lowering.hold_tables(plan);
        if let Some(local) = &mut lowering.local {
            local.own_tables = true;
            local.hashes = filter.hashes;
        }
        let mut of_column = Vec::new();
        let exact = lowering.exact(column.clone(), held);
        if !filter.literals.is_empty() {
            of_column.push(lowering.one_of(exact.clone(), held, &filter.literals)?);
        }
        for select in &filter.rows {
            of_column.push(lowering.branch(tables, &Sources::default(), select, false)?);
        }
        for (literal, select) in &filter.conditioned {
            let is = lowering.one_of(exact.clone(), held, &[*literal])?;
            let holds = lowering.branch(tables, &Sources::default(), select, false)?;
            of_column.push(build::nested(build::all(vec![is, holds])));
        }
        if !filter.set.is_empty() {
            of_column.push(lowering.value_in_set(tables, &Sources::default(), exact, held, &filter.set)?);
        }
        of_column.retain(|condition| *condition != build::boolean(false));
        let mut any = Vec::new();
        if !of_column.is_empty() {
            let known = build::is_not_null(column.clone());
            any.push(build::nested(build::all(vec![known, build::any(of_column)])));
        }
        for select in &filter.guards {
            if select.is_unit() {
                any = vec![build::boolean(true)];
                break;
            }
            any.push(lowering.branch(tables, &Sources::default(), select, false)?);
        }
        let any = build::any(any);
        let common_is_empty = filter.common.is_empty();
        let is_constant = any == build::boolean(false) || any == build::boolean(true) && common_is_empty;
        let filter = if is_constant {
            any
        } else {
            let mut all = lowering.outer_conditions(tables, &filter.common)?;
            all.push(any);
            build::nested(build::all(all))
        };
        lowering.printed(&filter, limits::CURSORS_OF_CALLER)
    }

    /// A condition over the caller's column that is decided row by row.
    pub(crate) fn row_test(self, plan: &Plan, column: &Sql) -> Result<Template, CompileError> {
        let (given, id) = {
            let given = format!("{}given", self.values.prefix);
            (given.clone(), build::column(&given, build::ident("id")))
        };
        self.verifier.check("sql", plan)?;
        let mut lowering = self.lowering();
        lowering.hold_tables(plan);
        let (ctes, recursive) = lowering.tables(plan)?;
        let holds = lowering.decision(&plan.tables, plan.answer.selects())?;
        let mut all = lowering.read_queries()?;
        all.extend(ctes);
        let holds = if all.is_empty() {
            holds
        } else {
            let projection = vec![build::item(holds, None)];
            let query = build::query(build::select(false, projection, Vec::new(), Vec::new()));
            build::scalar(build::with(query, recursive, all))
        };
        let value = vec![build::item(column.clone(), Some(build::ident("id")))];
        let value = build::query(build::select(false, value, Vec::new(), Vec::new()));
        let from = build::joined(vec![build::derived(value, &given)]);
        let projection = vec![build::item(build::number(1), None)];
        let filter = vec![build::is_not_null(id), holds];
        let query = build::query(build::select(false, projection, from, filter));
        lowering.printed(&build::nested(build::exists(query, false)), limits::CURSORS_OF_CALLER)
    }
}

/// A statement for a caller's database has no parameters: its values stand in the plan.
fn no_value(_: Slot) -> Literal {
    Literal::Text(String::new())
}

impl<'l> LocalStatement<'l> {
    fn lowering(self) -> Lowering<'l> {
        Lowering {
            program: self.program,
            catalog: self.catalog,
            extra_constants: self.constants,
            features: self.dialect.features(),
            values: &Values::Literals(&no_value),
            slots: IndexSet::new(),
            depth: 0,
            reads_state: false,
            local: Some(self.values),
        }
    }
}

impl Lowering<'_> {
    /// A query that brings the tables which it reads, where it stands in a filter; else the query alone.
    pub(super) fn in_own_scope(
        &mut self,
        tables: &[Table],
        selects: &[Select],
        body: impl FnOnce(&mut Self) -> Result<Query, CompileError>,
    ) -> Result<Query, CompileError> {
        let Some(local) = self.local.as_mut().filter(|local| local.own_tables) else { return body(self) };
        local.own_tables = false;
        self.step_in(true);
        let mut ctes: Vec<Cte> = Vec::new();
        let mut recursive = false;
        let needed = needed(tables, selects);
        for (index, table) in tables.iter().enumerate().filter(|(index, _)| needed.contains(index)) {
            self.set_current(Some(index));
            recursive |= !matches!(table.body, TableBody::Union(_));
            ctes.extend(self.table(tables, table, false)?);
        }
        self.set_current(None);
        self.step_in(false);
        let query = body(self)?;
        let mut all = self.read_queries()?;
        all.extend(ctes);
        if let Some(local) = &mut self.local {
            local.own_tables = true;
        }
        Ok(build::with(query, recursive, all))
    }

    fn printed(&self, node: &impl std::fmt::Display, reserved: usize) -> Result<Template, CompileError> {
        let text = super::printed(node, self.features, reserved, |_| None)?;
        Ok(Template::of(&text, self.features.escapes))
    }

    /// Conditions that mention no source.
    fn outer_conditions(
        &mut self,
        tables: &[Table],
        conditions: &[Condition],
    ) -> Result<Vec<Sql>, CompileError> {
        let none = Sources::default();
        conditions.iter().map(|condition| self.condition(tables, &none, condition)).collect()
    }
}

/// The tables that selects read, directly or through others.
fn needed(tables: &[Table], selects: &[Select]) -> IndexSet<usize> {
    fn collect(select: &Select, found: &mut IndexSet<usize>) {
        for from in &select.from {
            if let FromKind::Table(TableRef::Table(table)) = from.kind {
                found.insert(table);
            }
        }
        let branches = select.filter.iter().flat_map(Condition::branches);
        branches.for_each(|branch| collect(branch, found));
    }
    let mut found = IndexSet::new();
    selects.iter().for_each(|select| collect(select, &mut found));
    let mut at = 0;
    while let Some(table) = found.get_index(at).and_then(|index| tables.get(*index)) {
        table.body.selects().for_each(|select| collect(select, &mut found));
        at += 1;
    }
    found
}
