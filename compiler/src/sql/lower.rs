//! A plan becomes SQL syntax for one dialect.
//!
//! In: a [`Plan`], the catalog's names, and where values come from. Out: one query and the parameters that
//! it needs, in order. Afterwards nothing depends on the dialect any more.

use super::build;
use super::held::LocalValues;
use crate::catalog::{Catalog, Relation, RelationArg, RelationSource};
use crate::dialect::{Features, JsonRows, Placeholder, State};
use crate::ir::{CompareOp, ConstId, Constant, Program};
use crate::plan::algebra::{
    Condition, Expr, From, FromKind, Plan, PlanAnswer, Range, Select, Table, TableBody,
};
use crate::question::{Answer, CompileError, Slot};
use crate::specialise::clause::{TableRef, constant};
use indexmap::IndexSet;
use sqlparser::ast::{BinaryOperator, Cte, Expr as Sql, Query, SetExpr, TableFactor};

/// Where a statement's values come from.
pub(crate) enum Values<'v> {
    /// From parameters.
    Parameters,
    /// From the question itself, as literals in the text.
    Literals(&'v dyn Fn(Slot) -> Literal),
}

/// A value for a literal.
pub(crate) enum Literal {
    /// Text.
    Text(String),
    /// Several texts, where a parameter would be a JSON array.
    Texts(Vec<String>),
    /// An integer.
    Integer(i64),
}

/// What is lowered, and the parameters met so far.
pub(crate) struct Lowering<'l> {
    pub(crate) program: &'l Program,
    pub(crate) catalog: &'l Catalog,
    pub(crate) extra_constants: &'l IndexSet<Constant>,
    pub(crate) features: &'static Features,
    pub(crate) values: Values<'l>,
    pub(crate) slots: IndexSet<Slot>,
    /// How many tests enclose what is lowered now.
    pub(crate) depth: usize,
    /// Whether a fixpoint's step reads the state itself instead of a table made of it.
    pub(crate) reads_state: bool,
    /// For a statement on a caller's database.
    pub(crate) local: Option<LocalValues<'l>>,
}

/// What a select's sources are, for its columns' names.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    aliases: Vec<From>,
}

impl Sources {
    /// The sources of a select that stands alone.
    pub(super) fn of(select: &Select) -> Self {
        Self { aliases: select.from.clone() }
    }

    /// What an alias stands for.
    pub(super) fn kind(&self, alias: usize) -> Option<FromKind> {
        self.aliases.iter().rev().find(|from| from.alias == alias).map(|from| from.kind)
    }
}

/// The source of a step that reads its own table.
const ITSELF: FromKind = FromKind::Table(TableRef::Itself);

/// More readings of a fixpoint's state than this in its steps, and they read the state itself.
const STATE_READINGS: usize = 8;

/// The names `c0`, `c1`, … of a table's columns.
fn column_names(n_columns: usize) -> Vec<String> {
    (0..n_columns).map(|column| format!("c{column}")).collect()
}

impl Lowering<'_> {
    /// Lowers a whole plan.
    pub(crate) fn plan(&mut self, plan: &Plan) -> Result<(Query, Answer), CompileError> {
        let (ctes, recursive) = self.tables(plan)?;
        let (query, answer) = match &plan.answer {
            PlanAnswer::Decision(selects) => {
                let allowed = self.decision(&plan.tables, selects)?;
                let projection = vec![build::item(allowed, Some(build::ident("allowed")))];
                let query = build::query(build::select(false, projection, Vec::new(), Vec::new()));
                (query, Answer::Decision)
            }
            PlanAnswer::Rows { selects, columns, range } => {
                (self.rows(&plan.tables, selects, columns.len(), *range)?, Answer::Rows(columns.clone()))
            }
        };
        Ok((build::with(query, recursive, ctes), answer))
    }

    /// The tables of a plan, and whether any is recursive.
    pub(super) fn tables(&mut self, plan: &Plan) -> Result<(Vec<Cte>, bool), CompileError> {
        let mut ctes = Vec::new();
        for (index, table) in plan.tables.iter().enumerate() {
            self.set_current(Some(index));
            ctes.extend(self.table(&plan.tables, table)?);
        }
        self.set_current(None);
        let recursive = plan.tables.iter().any(|table| !matches!(table.body, TableBody::Union(_)));
        Ok((ctes, recursive))
    }

    /// Whether some select has a row.
    pub(super) fn decision(&mut self, tables: &[Table], selects: &[Select]) -> Result<Sql, CompileError> {
        let mut conditions = Vec::new();
        if let [Select { from, filter, .. }] = selects
            && let (true, Some((Condition::Any(branches), before))) = (from.is_empty(), filter.split_last())
        {
            let mut all = Vec::new();
            for condition in before {
                all.push(self.condition(tables, &Sources::default(), condition)?);
            }
            all.push(self.decision(tables, branches)?);
            return Ok(build::all(all));
        }
        for select in selects {
            conditions.push(self.branch(tables, &Sources::default(), select, false)?);
        }
        Ok(match conditions.len() {
            0 => build::boolean(false),
            1 => conditions.remove(0),
            _ => build::first_of(conditions),
        })
    }

    /// All rows of the selects, in the columns `c0`, `c1`, ….
    pub(super) fn arms(
        &mut self,
        tables: &[Table],
        selects: &[Select],
        n_columns: usize,
        star: bool,
    ) -> Result<SetExpr, CompileError> {
        let names = column_names(n_columns);
        let mut arms = Vec::new();
        for select in selects {
            arms.push(self.select(tables, &Sources::default(), select, Some(&names), star)?);
        }
        if arms.is_empty() {
            let nothing =
                names.iter().map(|name| build::item(self.text(build::null()), Some(build::ident(name))));
            arms.push(build::select(false, nothing.collect(), Vec::new(), vec![build::boolean(false)]));
        }
        let mut from = self.union_all(arms)?;
        if from.len() > 1 {
            let arms = from.into_iter().map(Self::wrap).collect();
            from = self.union_all(arms)?;
        }
        from.pop().ok_or_else(|| CompileError::Bug("an answer without an arm".into()))
    }

    fn rows(
        &mut self,
        tables: &[Table],
        selects: &[Select],
        n_columns: usize,
        range: Range,
    ) -> Result<Query, CompileError> {
        let names = column_names(n_columns);
        let paged = range == Range::Page;
        let all = self.arms(tables, selects, n_columns, paged)?;
        let projection =
            names.iter().map(|name| build::item(build::column("r", build::ident(name)), None)).collect();
        let filter = if paged {
            let after = self.value(Slot::PageAfter);
            vec![build::binary(
                self.in_byte_order(build::column("r", build::ident("c0"))),
                BinaryOperator::Gt,
                after,
            )]
        } else {
            Vec::new()
        };
        let from = build::joined(vec![build::derived(build::query(all), "r")]);
        let distinct = build::query(build::select(true, projection, from, filter));
        if let Range::Some(most) = range {
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            return Ok(build::limited(distinct, build::number(most)));
        }
        // A select with DISTINCT may order only by what it selects, and a collation is an expression of its own.
        let outer = self.features.byte_order.is_some();
        let (query, table) = if outer {
            let projection =
                names.iter().map(|name| build::item(build::column("a", build::ident(name)), None)).collect();
            let from = build::joined(vec![build::derived(distinct, "a")]);
            (build::query(build::select(false, projection, from, Vec::new())), "a")
        } else {
            (distinct, "r")
        };
        let by =
            names.iter().map(|name| (self.in_byte_order(build::column(table, build::ident(name))), false));
        let query = build::ordered(query, by.collect());
        Ok(if paged { build::limited(query, self.value(Slot::PageLimit)) } else { query })
    }

    /// `SELECT * FROM (arm) AS u`
    fn wrap(arm: SetExpr) -> SetExpr {
        let from = build::joined(vec![build::derived(build::query(arm), "u")]);
        build::select(false, vec![build::star()], from, Vec::new())
    }

    /// The arms in unions no larger than the dialect allows.
    fn union_all(&self, arms: Vec<SetExpr>) -> Result<Vec<SetExpr>, CompileError> {
        let mut unions = Vec::new();
        let mut arms = arms.into_iter().peekable();
        while arms.peek().is_some() {
            let chunk: Vec<SetExpr> = arms.by_ref().take(self.features.union_arms).collect();
            unions.extend(build::union(chunk, true));
        }
        if unions.len() > self.features.union_arms {
            return Err(too_large("alternatives", self.features.union_arms));
        }
        Ok(unions)
    }

    pub(super) fn in_byte_order(&self, expr: Sql) -> Sql {
        match self.features.byte_order {
            Some(collation) => build::collate(expr, collation),
            None => expr,
        }
    }

    pub(super) fn table(&mut self, tables: &[Table], table: &Table) -> Result<Vec<Cte>, CompileError> {
        let names = column_names(table.n_columns);
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        let none = Sources::default();
        let arms = |this: &mut Self, selects: &[Select]| -> Result<Vec<SetExpr>, CompileError> {
            let itself = &table.name;
            selects
                .iter()
                .map(|select| this.select_over(tables, &none, select, None, false, itself))
                .collect()
        };
        match &table.body {
            TableBody::Union(selects) => {
                let arms = arms(self, selects)?;
                let all = build::union(arms, false).unwrap_or_else(|| self.no_rows(table.n_columns));
                Ok(vec![build::cte(&table.name, &columns, build::query(all), false)])
            }
            TableBody::Recursive { base, .. } | TableBody::WholeState { base, .. } if base.is_empty() => {
                let nothing = self.no_rows(table.n_columns);
                Ok(vec![build::cte(&table.name, &columns, build::query(nothing), false)])
            }
            TableBody::Recursive { base, step } => {
                let base = arms(self, base)?;
                let body = if self.features.flat_recursive_arms {
                    let step = arms(self, step)?;
                    build::union(base.into_iter().chain(step).collect(), false)
                } else {
                    let base = match base.len() {
                        0 | 1 => base.into_iter().next(),
                        _ => build::union(base, true).map(Self::wrap),
                    };
                    let step = self.recursive_arm(tables, table, step)?;
                    build::union(base.into_iter().chain(step).collect(), false)
                };
                let body = body.unwrap_or_else(|| self.no_rows(table.n_columns));
                Ok(vec![build::cte(&table.name, &columns, build::query(body), false)])
            }
            TableBody::WholeState { base, step } => self.whole_state(tables, table, base, step),
        }
    }

    fn no_rows(&self, n_columns: usize) -> SetExpr {
        let nulls = (0..n_columns).map(|_| build::item(self.text(build::null()), None)).collect();
        build::select(false, nulls, Vec::new(), vec![build::boolean(false)])
    }

    /// All steps as one arm that names the table once, as an inner table `w`.
    fn recursive_arm(
        &mut self,
        tables: &[Table],
        table: &Table,
        step: &[Select],
    ) -> Result<Option<SetExpr>, CompileError> {
        let whole = self.named("w");
        let name = if step.len() == 1 { &table.name } else { &whole };
        let mut arms = Vec::new();
        for select in step {
            arms.push(self.select_over(tables, &Sources::default(), select, None, false, name)?);
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
        tables: &[Table],
        table: &Table,
        base: &[Select],
        step: &[Select],
    ) -> Result<Vec<Cte>, CompileError> {
        let names = column_names(table.n_columns);
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        let state = format!("{}_state", table.name);
        let none = Sources::default();
        let mut base_arms = Vec::new();
        for select in base {
            base_arms.push(self.select(tables, &none, select, Some(&names), false)?);
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
        // A table made of the state joins faster; the state itself is not copied for each reading.
        let n_readings: usize =
            step.iter().map(|select| select.from.iter().filter(|from| from.kind == ITSELF).count()).sum();
        self.reads_state = n_readings > STATE_READINGS;
        for select in step {
            next_arms.push(self.select_over(tables, &none, select, None, false, &whole)?);
        }
        self.reads_state = false;
        let next = build::union(next_arms, false).unwrap_or_else(|| self.no_rows(table.n_columns));
        let from_state = build::joined(vec![build::table(build::ident(&state), "st")]);
        let current = self.unpack(build::column("st", build::ident("s")), &names);
        let inner = build::cte(&whole, &columns, build::query(current), true);
        let first = self.pack(build::query(start), &names, Vec::new());
        let again = self.pack(build::query(next), &names, vec![inner]);
        let first = build::select(false, vec![build::item(first, None)], Vec::new(), Vec::new());
        let again = build::select(false, vec![build::item(again, None)], from_state.clone(), Vec::new());
        let Some(body) = build::union(vec![first, again], false) else {
            return Err(CompileError::Bug("a fixpoint without arms".into()));
        };
        let size = match self.features.state {
            State::Json => "json_array_length",
            State::JsonbArray => "cardinality",
        };
        let largest = build::select(
            false,
            vec![build::item(build::column("st", build::ident("s")), None)],
            from_state,
            Vec::new(),
        );
        let by_size = vec![(build::call(size, vec![build::column("st", build::ident("s"))]), true)];
        let largest = build::limited(build::ordered(build::query(largest), by_size), build::number(1));
        let result = self.unpack(build::scalar(largest), &names);
        Ok(vec![
            build::cte(&state, &["s"], build::query(body), false),
            build::cte(&table.name, &columns, build::query(result), true),
        ])
    }

    /// The rows of a query as one value, sorted.
    fn pack(&self, rows: Query, names: &[String], with: Vec<Cte>) -> Sql {
        let x = self.named("x");
        let columns = || names.iter().map(|name| build::column(&x, build::ident(name))).collect::<Vec<_>>();
        // The column names come from a table of our own: the arms' names are the first arm's.
        let named: Vec<&str> = names.iter().map(String::as_str).collect();
        let from = build::joined(vec![build::table(build::ident(&x), &x)]);
        let mut ctes = with;
        ctes.push(build::cte(&x, &named, rows, false));
        match self.features.state {
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
        let value = || build::column("e", build::ident("value"));
        let item =
            |at| build::item(build::binary(value(), BinaryOperator::LongArrow, build::number(at)), None);
        let items = (0..).take(names.len()).map(item).collect();
        build::select(false, items, from, Vec::new())
    }

    /// A state's tuples, each as `alias.value`.
    fn state_rows(&self, state: Sql, alias: &str) -> TableFactor {
        match self.features.state {
            State::Json => build::table_function("json_each", vec![state], alias, &[]),
            State::JsonbArray => build::unnest(state, alias, "value"),
        }
    }

    pub(super) fn select(
        &mut self,
        tables: &[Table],
        outer: &Sources,
        select: &Select,
        names: Option<&[String]>,
        star: bool,
    ) -> Result<SetExpr, CompileError> {
        self.select_over(tables, outer, select, names, star, "")
    }

    /// A select in which [`TableRef::Itself`] is called `itself`.
    fn select_over(
        &mut self,
        tables: &[Table],
        outer: &Sources,
        select: &Select,
        names: Option<&[String]>,
        star: bool,
        itself: &str,
    ) -> Result<SetExpr, CompileError> {
        let mut sources = outer.clone();
        sources.aliases.extend(&select.from);
        let mut projection = Vec::new();
        for (index, expr) in select.output.iter().enumerate() {
            let value = match expr {
                Expr::Unconstrained if star => self.text(build::lit("*")),
                _ if self.local.is_some() => {
                    let wanted = self.wanted(index);
                    self.as_held(&sources, *expr, &wanted)?
                }
                Expr::Column { .. } => self.expr(&sources, *expr)?,
                _ => {
                    let value = self.expr(&sources, *expr)?;
                    self.text(value)
                }
            };
            let name = names.and_then(|names| names.get(index)).map(|name| build::ident(name));
            projection.push(build::item(value, name));
        }
        if projection.is_empty() {
            projection.push(build::item(build::number(1), None));
        }
        if select.from.len() > self.features.joined_tables {
            return Err(too_large("joined relations", self.features.joined_tables));
        }
        let read = select.from.iter().filter(|from| !matches!(from.kind, FromKind::Row(_)));
        let factors = read.map(|from| self.factor(tables, *from, itself)).collect::<Result<Vec<_>, _>>()?;
        let filter = self.conditions(tables, &sources, select)?;
        Ok(build::select(false, projection, build::joined(factors), filter))
    }

    fn factor(&mut self, tables: &[Table], from: From, itself: &str) -> Result<TableFactor, CompileError> {
        let alias = self.alias(from.alias);
        match from.kind {
            FromKind::Source(index) => match &self.relation(index)?.source {
                RelationSource::Table { name } => Ok(build::table(build::ident(name), &alias)),
                RelationSource::Bound { binding } => self.bound(*binding, &alias),
                RelationSource::Context { slot } => {
                    let slot = Slot::Context(*slot);
                    Ok(self.json_rows(slot, &alias))
                }
            },
            ITSELF if self.reads_state => Ok(self.state_rows(build::column("st", build::ident("s")), &alias)),
            ITSELF => Ok(build::table(build::ident(itself), &alias)),
            FromKind::Table(TableRef::Table(index)) => {
                let table =
                    tables.get(index).ok_or_else(|| CompileError::Bug("a table without an entry".into()))?;
                Ok(build::table(build::ident(&table.name), &alias))
            }
            FromKind::Values(slot) => Ok(self.json_rows(slot, &alias)),
            FromKind::Embedded(index) => self.embedded(index, &alias),
            FromKind::Row(_) => Err(CompileError::Bug("a row is not read".into())),
        }
    }

    /// The name of a source in the statement.
    pub(super) fn alias(&self, alias: usize) -> String {
        self.named(&format!("t{alias}"))
    }

    fn json_rows(&mut self, slot: Slot, alias: &str) -> TableFactor {
        let value = self.value(slot);
        match self.features.json_rows {
            JsonRows::JsonEach => build::table_function("json_each", vec![value], alias, &[]),
            JsonRows::JsonbArrayElements => build::table_function(
                "jsonb_array_elements",
                vec![build::cast(value, "JSONB")],
                alias,
                &["value"],
            ),
        }
    }

    pub(super) fn relation(&self, index: usize) -> Result<&Relation, CompileError> {
        self.catalog
            .relations
            .get(index)
            .ok_or_else(|| CompileError::Bug("a source without a relation".into()))
    }

    fn conditions(
        &mut self,
        tables: &[Table],
        sources: &Sources,
        select: &Select,
    ) -> Result<Vec<Sql>, CompileError> {
        let mut conditions = Vec::new();
        for condition in &select.filter {
            conditions.push(self.condition(tables, sources, condition)?);
        }
        self.facts_only(select, &mut conditions)?;
        Ok(conditions)
    }

    pub(super) fn condition(
        &mut self,
        tables: &[Table],
        sources: &Sources,
        condition: &Condition,
    ) -> Result<Sql, CompileError> {
        match condition {
            Condition::Compare { op, left, right } if self.local.is_some() => {
                self.compared(sources, *op, *left, *right)
            }
            Condition::Compare { op, left, right } => {
                let (left, right) = (self.expr(sources, *left)?, self.expr(sources, *right)?);
                let (operator, is_order) = match op {
                    CompareOp::Equal => (BinaryOperator::Eq, false),
                    CompareOp::NotEqual => (BinaryOperator::NotEq, false),
                    CompareOp::Less => (BinaryOperator::Lt, true),
                    CompareOp::LessOrEqual => (BinaryOperator::LtEq, true),
                    CompareOp::Greater => (BinaryOperator::Gt, true),
                    CompareOp::GreaterOrEqual => (BinaryOperator::GtEq, true),
                };
                let integer = |expr| if is_order { build::cast(expr, self.features.integer) } else { expr };
                Ok(build::binary(integer(left), operator, integer(right)))
            }
            Condition::OneOf { expr, literals } if self.local.is_some() => {
                let held = self.held(sources, *expr);
                let value = self.expr(sources, *expr)?;
                self.one_of(value, &held, literals)
            }
            Condition::In { expr, selects } => self.in_set(tables, sources, *expr, selects),
            Condition::OneOf { expr, literals } => {
                let expr = self.expr(sources, *expr)?;
                let list =
                    literals.iter().map(|literal| self.literal(*literal)).collect::<Result<Vec<_>, _>>()?;
                Ok(build::in_list(expr, list))
            }
            Condition::Any(branches) => {
                let several = branches.len() > 1;
                let branches = branches.iter().map(|branch| self.branch(tables, sources, branch, several));
                Ok(build::any(branches.collect::<Result<Vec<_>, _>>()?))
            }
            Condition::None(branches) => {
                let mut none = Vec::new();
                for branch in branches {
                    none.push(self.no_branch(tables, sources, branch)?);
                }
                Ok(build::all(none))
            }
        }
    }

    /// Whether a select has a row; `several` if it is one of several alternatives.
    pub(super) fn branch(
        &mut self,
        tables: &[Table],
        outer: &Sources,
        select: &Select,
        several: bool,
    ) -> Result<Sql, CompileError> {
        if reads_nothing(select) {
            let mut sources = outer.clone();
            sources.aliases.extend(&select.from);
            let conditions = self.conditions(tables, &sources, select)?;
            let several = conditions.len() > 1;
            let all = build::all(conditions);
            return Ok(if several { build::nested(all) } else { all });
        }
        // Near the top the choice between probing and hashing is worth being made.
        let is_nested = self.depth > 1 && several || self.depth > 0 && self.local.is_some();
        let is_fenced = is_nested && self.features.fences_alternatives;
        let query = self.test(tables, outer, select)?;
        Ok(build::exists(if is_fenced { build::fenced(query) } else { query }, false))
    }

    /// Whether a select has no row.
    fn no_branch(&mut self, tables: &[Table], outer: &Sources, select: &Select) -> Result<Sql, CompileError> {
        if reads_nothing(select) {
            let mut sources = outer.clone();
            sources.aliases.extend(&select.from);
            let conditions = self.conditions(tables, &sources, select)?;
            return Ok(build::not(build::all(conditions)));
        }
        Ok(build::exists(self.test(tables, outer, select)?, true))
    }

    /// The query of a test.
    fn test(&mut self, tables: &[Table], outer: &Sources, select: &Select) -> Result<Query, CompileError> {
        self.depth += 1;
        let query = self.in_own_scope(tables, std::slice::from_ref(select), |this| {
            Ok(build::query(this.select(tables, outer, select, None, false)?))
        });
        self.depth -= 1;
        query
    }

    pub(super) fn expr(&mut self, sources: &Sources, expr: Expr) -> Result<Sql, CompileError> {
        match expr {
            Expr::Column { alias, column } => self.column(sources, alias, column),
            Expr::Const(literal) => self.literal(literal),
            Expr::Given(var) => match self.local.as_ref().and_then(|local| local.column.as_ref()) {
                Some((column, _, name)) if *column == var => Ok(name.clone()),
                Some(_) | None => Ok(self.value(Slot::Given(var))),
            },
            Expr::Now => {
                // Integers are stored as text; only order comparisons read them as numbers.
                let now = self.value(Slot::Now);
                Ok(build::cast(now, "TEXT"))
            }
            Expr::Tag(tag) => Ok(build::lit(&tag.to_string())),
            Expr::TypeName(ty) => {
                let ty = self.program.types.get(ty.index());
                Ok(build::lit(ty.map_or("", |ty| ty.name.as_str())))
            }
            Expr::Unconstrained => Ok(build::null()),
        }
    }

    pub(super) fn column(&self, sources: &Sources, alias: usize, column: usize) -> Result<Sql, CompileError> {
        let from = sources.aliases.iter().rev().find(|from| from.alias == alias);
        let from = from.ok_or_else(|| CompileError::Bug(format!("t{alias} is not in scope")))?;
        let table = self.alias(alias);
        match from.kind {
            FromKind::Row(index) => self.row_column(index, column),
            FromKind::Embedded(_) => Ok(build::column(&table, build::ident(&format!("c{column}")))),
            FromKind::Source(index) => {
                let relation = self.relation(index)?;
                match &relation.source {
                    RelationSource::Table { .. } => {
                        let columns = relation.args.iter().filter_map(|arg| match arg {
                            RelationArg::Column { column, .. } => Some(column),
                            RelationArg::Constant { .. } => None,
                        });
                        let name = columns.into_iter().nth(column);
                        let name = name.ok_or_else(|| CompileError::Bug("a column without a name".into()))?;
                        Ok(build::column(&table, build::ident(name)))
                    }
                    RelationSource::Bound { binding } => self.bound_column(*binding, &table, column),
                    RelationSource::Context { .. } => Ok(build::binary(
                        build::column(&table, build::ident("value")),
                        BinaryOperator::LongArrow,
                        build::number(i64::try_from(column).unwrap_or(0)),
                    )),
                }
            }
            ITSELF if self.reads_state => Ok(build::binary(
                build::column(&table, build::ident("value")),
                BinaryOperator::LongArrow,
                build::number(i64::try_from(column).unwrap_or(0)),
            )),
            FromKind::Table(_) => Ok(build::column(&table, build::ident(&format!("c{column}")))),
            FromKind::Values(_) => Ok(match self.features.json_rows {
                JsonRows::JsonEach => build::column(&table, build::ident("value")),
                JsonRows::JsonbArrayElements => build::binary(
                    build::column(&table, build::ident("value")),
                    BinaryOperator::HashLongArrow,
                    build::lit("{}"),
                ),
            }),
        }
    }

    pub(super) fn literal(&self, literal: ConstId) -> Result<Sql, CompileError> {
        let held = constant(self.program, self.extra_constants, literal);
        held.map(|held| self.lit(&held.text))
            .ok_or_else(|| CompileError::Bug("a literal without an entry".into()))
    }

    /// A value without a column, as text.
    pub(super) fn text(&self, value: Sql) -> Sql {
        if self.features.casts_values { build::cast(value, "TEXT") } else { value }
    }

    /// The value of a slot: a parameter, or a literal.
    fn value(&mut self, slot: Slot) -> Sql {
        match &self.values {
            Values::Parameters => {
                let number = self.slots.insert_full(slot).0 + 1;
                build::placeholder(match self.features.placeholder {
                    Placeholder::Question => format!("?{number}"),
                    Placeholder::Dollar => format!("${number}"),
                })
            }
            Values::Literals(value) => match value(slot) {
                Literal::Text(text) => build::lit(&text),
                Literal::Texts(texts) => build::lit(&json_array(&texts)),
                Literal::Integer(integer) => build::number(integer),
            },
        }
    }
}

/// Whether a select is a condition on what surrounds it.
fn reads_nothing(select: &Select) -> bool {
    select.from.iter().all(|from| matches!(from.kind, FromKind::Row(_)))
}

/// The refusal of a statement that the database would refuse.
pub(super) fn too_large(what: &str, limit: usize) -> CompileError {
    CompileError::Refused(format!(
        "the question needs more than {limit} {what} in one select, which the database refuses: split the rule, or give its variables types or values"
    ))
}

/// Texts as a JSON array, for a literal where a parameter would stand.
fn json_array(texts: &[String]) -> String {
    let escaped = texts.iter().map(|text| {
        let chars = text.chars().map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        });
        format!("\"{}\"", chars.collect::<String>())
    });
    format!("[{}]", escaped.collect::<Vec<_>>().join(","))
}
