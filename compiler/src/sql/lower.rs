//! A plan becomes SQL syntax for one dialect.
//!
//! In: a [`Plan`], the catalog's names, and where values come from. Out: one query and the parameters that
//! it needs, in order. Afterwards nothing depends on the dialect any more.

use super::build;
use super::held::LocalValues;
use crate::algebra::TableRef;
use crate::algebra::{Condition, Expr, From, FromKind, Plan, PlanAnswer, Range, Select, Table, TableBody};
use crate::catalog::{Catalog, Relation, RelationSource};
use crate::dialect::{Features, JsonRows};
use crate::ir::{Constant, Program};
use crate::question::{Answer, CompileError, Slot};
use crate::refusal::Limit;
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
    pub(crate) values: &'l Values<'l>,
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
    pub(super) aliases: Vec<From>,
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
pub(super) const ITSELF: FromKind = FromKind::Table(TableRef::Itself);

/// The names `c0`, `c1`, … of a table's columns.
pub(super) fn column_names(n_columns: usize) -> Vec<String> {
    (0..n_columns).map(|column| format!("c{column}")).collect()
}

impl<'l> Lowering<'l> {
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
            ctes.extend(self.table(&plan.tables, table, plan.may_repeat(index))?);
        }
        self.set_current(None);
        let recursive = plan.tables.iter().any(|table| !matches!(table.body, TableBody::Union(_)));
        Ok((ctes, recursive))
    }

    /// Whether some select has a row.
    pub(super) fn decision(&mut self, tables: &[Table], selects: &[Select]) -> Result<Sql, CompileError> {
        let mut alternatives = Vec::new();
        for select in selects {
            alternatives.push(self.alternative(tables, select)?);
        }
        Ok(match alternatives.len() {
            0 => build::boolean(false),
            1 => alternatives.remove(0),
            _ => build::first_of(alternatives),
        })
    }

    /// Guards before alternatives of their own, or a test of whether there is a row.
    fn alternative(&mut self, tables: &[Table], select: &Select) -> Result<Sql, CompileError> {
        let top = Sources::default();
        match (select.from.as_slice(), select.filter.split_last()) {
            ([], Some((Condition::Any(alternatives), guards))) => {
                let mut all = Vec::new();
                for guard in guards {
                    all.push(self.condition(tables, &top, guard)?);
                }
                all.push(self.decision(tables, alternatives)?);
                Ok(build::all(all))
            }
            _ => self.branch(tables, &top, select, false),
        }
    }

    /// All rows of the selects, in the columns `c0`, `c1`, ….
    pub(super) fn arms(
        &mut self,
        tables: &[Table],
        outer: &Sources,
        selects: &[Select],
        n_columns: usize,
        star: bool,
    ) -> Result<SetExpr, CompileError> {
        let names = column_names(n_columns);
        let mut arms = Vec::new();
        for select in selects {
            arms.push(self.select(tables, outer, select, Some(&names), star)?);
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
        let all = self.arms(tables, &Sources::default(), selects, n_columns, paged)?;
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
    pub(super) fn wrap(arm: SetExpr) -> SetExpr {
        let from = build::joined(vec![build::derived(build::query(arm), "u")]);
        build::select(false, vec![build::star()], from, Vec::new())
    }

    /// The arms in unions no larger than the dialect allows.
    fn union_all(&self, arms: Vec<SetExpr>) -> Result<Vec<SetExpr>, CompileError> {
        let mut unions = Vec::new();
        let mut arms = arms.into_iter().peekable();
        while arms.peek().is_some() {
            let chunk: Vec<SetExpr> = arms.by_ref().take(self.features.limits.union_arms).collect();
            unions.extend(build::union(chunk, true));
        }
        if unions.len() > self.features.limits.union_arms {
            return Err(CompileError::too_large(Limit::SelectAlternatives {
                most: self.features.limits.union_arms,
            }));
        }
        Ok(unions)
    }

    pub(super) fn in_byte_order(&self, expr: Sql) -> Sql {
        match self.features.byte_order {
            Some(collation) => build::collate(expr, collation),
            None => expr,
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
    pub(super) fn select_over(
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
        if select.from.len() > self.features.limits.joined_tables {
            return Err(CompileError::too_large(Limit::JoinedRelations {
                most: self.features.limits.joined_tables,
            }));
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
                RelationSource::Bound { binding } => self.bound(self.relation(index)?, *binding, &alias),
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

    pub(super) fn relation(&self, index: usize) -> Result<&'l Relation, CompileError> {
        self.catalog
            .relations
            .get(index)
            .ok_or_else(|| CompileError::Bug("a source without a relation".into()))
    }
}
