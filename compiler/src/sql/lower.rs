//! A plan becomes SQL syntax for one dialect.
//!
//! In: the parts of a plan, each with its [position](At). Out: nodes of sqlparser's tree, which no longer
//! depend on the dialect. The [`Printing`] decides what differs between kinds of statements.

use super::at::{At, Itself};
use super::build::{self, CteKind};
use super::printing::Printing;
use crate::algebra::{
    Condition, Expr, From, FromKind, ITSELF, Plan, Repeats, Select, Table, TableBody, TableId, TableRef,
};
use crate::catalog::{Catalog, ColumnId};
use crate::datalog::constant;
use crate::deadline::Deadline;
use crate::dialect::Features;
use crate::ir::{ConstId, Constant, Program};
use crate::keys::Keys;
use crate::question::CompileError;
use crate::refusal::Limit;
use indexmap::IndexSet;
use sqlparser::ast::{Cte, Expr as Sql, SetExpr, TableFactor};

/// What a plan refers to, and the database that it is printed for.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'l> {
    /// The policy.
    pub(super) program: &'l Program,
    /// What the plan's sources are.
    pub(super) catalog: &'l Catalog,
    /// Literals of the catalog and the question, which the policy does not have.
    pub(super) constants: &'l IndexSet<Constant>,
    /// What the database can do.
    pub(super) features: &'static Features,
    /// What the bindings promise of the caller's tables; none for a store.
    pub(super) keys: Option<Keys<'l>>,
    /// When the statement must be printed.
    pub(super) deadline: Deadline,
}

/// Lowers the parts of a plan to one statement.
pub(super) struct Lowering<'l, T> {
    pub(super) inputs: Inputs<'l>,
    /// The kind of statement, and what it has needed so far.
    pub(super) target: T,
}

impl<'l> Inputs<'l> {
    pub(super) fn constant(self, literal: ConstId) -> Option<&'l Constant> {
        constant(self.program, self.constants, literal)
    }

    /// The text of a literal.
    pub(super) fn literal_text(self, literal: ConstId) -> Result<&'l str, CompileError> {
        let constant = self.constant(literal).map(|constant| constant.text.as_str());
        constant.ok_or_else(|| CompileError::Bug("a literal without an entry".into()))
    }
}

/// How a value that is unconstrained is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unconstrained {
    /// As `NULL`.
    Null,
    /// As the text `*`.
    Star,
}

/// Whether one of these tables reads itself.
pub(super) fn cte_kind<'t>(tables: impl IntoIterator<Item = &'t Table>) -> CteKind {
    let is_recursive = |table: &Table| match table.body {
        TableBody::Union(_) => false,
        TableBody::Recursive { .. } | TableBody::WholeState { .. } => true,
    };
    if tables.into_iter().any(is_recursive) { CteKind::Recursive } else { CteKind::Plain }
}

/// The name of a table's column: `c0`, `c1`, …
pub(super) fn column_name(column: ColumnId) -> String {
    format!("c{}", column.index())
}

/// The names of a table's columns.
pub(super) fn column_names(n_columns: usize) -> Vec<String> {
    ColumnId::all(n_columns).map(column_name).collect()
}

impl<T> Lowering<'_, T>
where
    Self: Printing,
{
    /// The tables of a plan, of a statement at whose top they are.
    pub(super) fn tables(&mut self, at: At<'_>, plan: &Plan) -> Result<Vec<Cte>, CompileError> {
        let mut ctes = Vec::new();
        for (id, table) in TableId::enumerate(&plan.tables) {
            ctes.extend(self.table(at.in_table(id), table)?);
        }
        Ok(ctes)
    }

    /// Whether some select has a row.
    pub(super) fn decision(&mut self, at: At<'_>, selects: &[Select]) -> Result<Sql, CompileError> {
        let mut alternatives = Vec::new();
        for select in selects {
            alternatives.push(self.alternative(at, select)?);
        }
        Ok(match alternatives.len() {
            0 => build::boolean(false),
            1 => alternatives.remove(0),
            _ => build::first_of(alternatives),
        })
    }

    /// Guards before alternatives of their own, or a test of whether there is a row.
    fn alternative(&mut self, at: At<'_>, select: &Select) -> Result<Sql, CompileError> {
        match (select.from.as_slice(), select.filter.split_last()) {
            ([], Some((Condition::Any(alternatives), guards))) => {
                let mut all = Vec::new();
                for guard in guards {
                    all.push(self.condition(at, guard)?);
                }
                all.push(self.decision(at, alternatives)?);
                Ok(build::all(all))
            }
            _ => self.branch(at, select),
        }
    }

    /// All rows of the selects, in the columns `c0`, `c1`, ….
    pub(super) fn arms(
        &mut self,
        at: At<'_>,
        selects: &[Select],
        n_columns: usize,
        unconstrained: Unconstrained,
    ) -> Result<SetExpr, CompileError> {
        let names = column_names(n_columns);
        let mut arms = Vec::new();
        for select in selects {
            arms.push(self.named_select(at, select, &names, unconstrained)?);
        }
        if arms.is_empty() {
            let nothing =
                names.iter().map(|name| build::item(self.as_value(build::null()), Some(build::ident(name))));
            arms.push(build::select(nothing.collect(), Vec::new(), vec![build::boolean(false)]));
        }
        let mut from = self.union_all(arms)?;
        if from.len() > 1 {
            let arms = from.into_iter().map(Self::wrap).collect();
            from = self.union_all(arms)?;
        }
        from.pop().ok_or_else(|| CompileError::Bug("an answer without an arm".into()))
    }

    /// `SELECT * FROM (arm) AS u`
    pub(super) fn wrap(arm: SetExpr) -> SetExpr {
        let from = build::joined(vec![build::derived(build::query(arm), "u")]);
        build::select(vec![build::star()], from, Vec::new())
    }

    /// The arms in unions no larger than the database allows.
    fn union_all(&self, arms: Vec<SetExpr>) -> Result<Vec<SetExpr>, CompileError> {
        let most = self.inputs.features.limits.union_arms;
        let mut unions = Vec::new();
        let mut arms = arms.into_iter().peekable();
        while arms.peek().is_some() {
            let chunk: Vec<SetExpr> = arms.by_ref().take(most).collect();
            unions.extend(build::union(chunk, Repeats::Kept));
        }
        if unions.len() > most {
            return Err(CompileError::too_large(Limit::SelectAlternatives { most }));
        }
        Ok(unions)
    }

    /// A value in the order of its bytes.
    pub(super) fn in_byte_order(&self, expr: Sql) -> Sql {
        match self.inputs.features.byte_order {
            Some(collation) => build::collate(expr, collation),
            None => expr,
        }
    }

    /// One select.
    pub(super) fn select(&mut self, at: At<'_>, select: &Select) -> Result<SetExpr, CompileError> {
        self.named_select(at, select, &[], Unconstrained::Null)
    }

    /// One select, with these names for its first columns.
    pub(super) fn named_select(
        &mut self,
        at: At<'_>,
        select: &Select,
        names: &[String],
        unconstrained: Unconstrained,
    ) -> Result<SetExpr, CompileError> {
        self.inputs.deadline.check()?;
        if let Some(rows) = self.applied(at, select, names, unconstrained)? {
            return Ok(rows);
        }
        let at = at.in_where(select);
        let mut projection = Vec::new();
        let mut names = names.iter();
        for (column, expr) in select.output.enumerate() {
            let value = match (expr, unconstrained) {
                (Expr::Unconstrained, Unconstrained::Star) => self.as_value(self.made("*")),
                (expr, _) => self.output(at, column, *expr)?,
            };
            projection.push(build::item(value, names.next().map(|name| build::ident(name))));
        }
        if projection.is_empty() {
            projection.push(build::item(build::number(1), None));
        }
        let most = self.inputs.features.limits.joined_tables;
        if select.from.len() > most {
            return Err(CompileError::too_large(Limit::JoinedRelations { most }));
        }
        let read = select.from.iter().filter(|from| from.kind.is_read());
        let factors = read.map(|from| self.factor(at, *from)).collect::<Result<Vec<_>, _>>()?;
        let filter = self.conditions(at, select)?;
        Ok(build::select(projection, build::joined(factors), filter))
    }

    pub(super) fn factor(&mut self, at: At<'_>, from: From) -> Result<TableFactor, CompileError> {
        let alias = self.alias(from.alias);
        match (from.kind, at.itself) {
            (ITSELF, Itself::Tuples) => Ok(Self::json_tuples(&alias)),
            (ITSELF, Itself::Absent) => Err(CompileError::Bug("a step outside of a fixpoint".into())),
            (ITSELF, Itself::Named(name)) => Ok(build::table(build::ident(name), &alias)),
            (FromKind::Table(TableRef::Table(id)), _) => {
                let table = id.of(at.tables);
                match &table.body {
                    TableBody::Union(selects) if at.derived.contains(&id) => {
                        let rows =
                            self.arms(at.in_table(id), selects, table.n_columns, Unconstrained::Null)?;
                        Ok(build::derived(build::query(rows), &alias))
                    }
                    TableBody::Union(_) | TableBody::Recursive { .. } | TableBody::WholeState { .. } => {
                        Ok(build::table(build::ident(&table.name), &alias))
                    }
                }
            }
            (FromKind::Values(slot), _) => self.parameter_rows(slot, std::iter::once(slot), &alias),
            (
                FromKind::Source(_) | FromKind::Embedded(_) | FromKind::Row { .. } | FromKind::Again { .. },
                _,
            ) => self.source(at, from.kind, &alias),
        }
    }
}
