//! What a statement reads in a caller's database: bound queries, the caller's row, and rows of literals.
//!
//! In: sources of a plan. Out: how each is read, and what its columns are called. A query of one table is
//! read as that table, any other in parentheses. A row with a NULL in any column is not a fact, so each
//! column is tested for NULL unless a comparison already excludes it.

use super::target::Local;
use crate::algebra::{Condition, EmbeddedId, Expr, FromKind, Select};
use crate::bindings::{BoundQuery, PlainColumn, PlainQuery, RowPart, SqlName};
use crate::catalog::{BindingId, ColumnId, RelationSource, SourceId};
use crate::id_vec::IdVec;
use crate::ir::CompareOp;
use crate::question::CompileError;
use crate::sql::at::At;
use crate::sql::build;
use crate::sql::lower::{Lowering, column_name, column_names};
use crate::sql::printing::Printing;
use crate::sql::representation::Representation;
use sqlparser::ast::{Cte, Expr as Sql, SetExpr, TableFactor};

/// Chooses a prefix under which no generated name equals a word of the caller.
pub(crate) fn free_prefix<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let words: Vec<&str> = words.collect();
    let is_ours = |rest: &str| {
        let numbered = |start: &str| {
            rest.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        matches!(rest, "w" | "x" | "r" | "a" | "u" | "s" | "l" | "st" | "e" | "q" | "given")
            || ["pc", "pb", "pk", "pe", "t"].into_iter().any(numbered)
    };
    let mut prefix = String::new();
    while words.iter().any(|word| word.strip_prefix(prefix.as_str()).is_some_and(is_ours)) {
        prefix.push_str("p_");
    }
    prefix
}

impl<'l> Lowering<'_, Local<'l>> {
    fn query(&self, binding: BindingId) -> &'l BoundQuery {
        &self.target.caller.bindings.facts[binding].query
    }

    /// The binding of a bound relation.
    fn binding(&self, source: SourceId) -> Result<BindingId, CompileError> {
        match self.inputs.catalog.relations[source].source {
            RelationSource::Bound { binding, .. } => Ok(binding),
            RelationSource::Table { .. } | RelationSource::Context { .. } => {
                Err(CompileError::Bug("a stored relation in a caller's database".into()))
            }
        }
    }

    /// A bound query as a source.
    pub(in crate::sql) fn bound(
        &mut self,
        source: SourceId,
        alias: &str,
    ) -> Result<TableFactor, CompileError> {
        let binding = self.binding(source)?;
        let query = self.query(binding);
        if let Some(plain) = &query.plain {
            return Ok(build::raw_table(&SqlName::path(&plain.table), alias, &[]));
        }
        let n_columns = self.inputs.catalog.relations[source].columns().count();
        if self.inputs.features.derived_columns {
            let names = column_names(n_columns);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Ok(build::raw_table(&format!("({})", query.text), alias, &names));
        }
        self.target.read.insert(binding, n_columns);
        Ok(build::raw_table(&self.query_name(binding), alias, &[]))
    }

    /// The bound queries and literals that were read by name since the last call, as common table
    /// expressions.
    pub(in crate::sql) fn read_by_name(&mut self) -> Vec<Cte> {
        let read = std::mem::take(&mut self.target.read).into_iter();
        let cte = |(binding, n_columns): (BindingId, usize)| {
            let columns = column_names(n_columns);
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            build::raw_cte(&self.query_name(binding), &columns, &self.query(binding).text)
        };
        let queries: Vec<Cte> = read.map(cte).collect();
        queries.into_iter().chain(self.take_held()).collect()
    }

    /// The name of a bound query that is a common table expression.
    fn query_name(&self, binding: BindingId) -> String {
        self.named(&format!("pb{}", binding.index()))
    }

    /// A column of a bound query.
    pub(in crate::sql) fn bound_column(
        &self,
        source: SourceId,
        alias: &str,
        column: ColumnId,
    ) -> Result<Sql, CompileError> {
        match &self.query(self.binding(source)?).plain {
            Some(plain) => plain_column(plain, alias, column),
            None => Ok(build::column(alias, build::ident(&column_name(column)))),
        }
    }

    /// A column of the row that the caller's own query looks at.
    pub(in crate::sql) fn row_column(&self, source: SourceId, column: ColumnId) -> Result<Sql, CompileError> {
        match &self.query(self.binding(source)?).plain {
            Some(plain) => plain_column(plain, self.row_name()?, column),
            None => Err(CompileError::Bug("a row of a query that is not plain".into())),
        }
    }

    /// The condition of a bound query, on the row that the caller's own query looks at. It is never NULL,
    /// because NULL differs from false outside a query. `(c) IS TRUE` hides `c` from indexes, so where one
    /// may find the rows by it, it is `c AND (c) IS NOT NULL`.
    pub(in crate::sql) fn row_meets_condition(
        &self,
        at: At<'_>,
        source: SourceId,
    ) -> Result<Sql, CompileError> {
        let Some(PlainQuery { condition, is_never_null, .. }) = &self.query(self.binding(source)?).plain
        else {
            return Err(CompileError::Bug("a condition of a query that is not plain".into()));
        };
        let text = build::raw(&RowPart::over(condition, self.row_name()?));
        Ok(if *is_never_null {
            text
        } else if at.is_denied || at.under_or {
            build::is_true(text)
        } else {
            build::all(vec![text.clone(), build::is_not_null(text)])
        })
    }

    /// What the caller's query calls the row that it looks at.
    fn row_name(&self) -> Result<&str, CompileError> {
        let row = self.target.caller.row.as_ref().map(|(name, _)| name.as_str());
        row.ok_or_else(|| CompileError::Bug("a row of a query that looks at none".into()))
    }

    fn is_key(&self, query: &BoundQuery, column: ColumnId) -> bool {
        let name = query.plain.as_ref().and_then(|plain| plain.name(column));
        self.target.caller.row.as_ref().zip(name).is_some_and(|((_, key), name)| key == name)
    }

    /// Rows of values, and how many columns they have.
    pub(in crate::sql) fn embedded_values(&self, id: EmbeddedId) -> Result<(SetExpr, usize), CompileError> {
        let caller = &self.target.caller;
        let rows = id.of(caller.embedded).rows.as_ref();
        let rows = rows.ok_or_else(|| CompileError::Bug("an embedded source without rows".into()))?;
        let n_columns = rows.first().map_or(0, IdVec::len);
        let columns: Vec<Representation> =
            ColumnId::all(n_columns).map(|column| caller.of_embedded(id, column)).collect();
        let mut values = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let mut cells = Vec::new();
            for (literal, column) in row.iter().zip(&columns) {
                // The first row gives the columns their types.
                cells.push(match column {
                    Representation::Native(ty) if at == 0 => {
                        build::cast(self.native(ty, *literal)?, &ty.name)
                    }
                    Representation::Native(ty) => self.native(ty, *literal)?,
                    Representation::Text
                    | Representation::Collated
                    | Representation::Undeclared(_)
                    | Representation::Opaque(_) => {
                        let text = self.literal(*literal)?;
                        if at == 0 { self.as_value(text) } else { text }
                    }
                });
            }
            values.push(cells);
        }
        Ok((build::values(values), n_columns))
    }

    /// Rows of values as a source.
    pub(in crate::sql) fn embedded(&self, id: EmbeddedId, alias: &str) -> Result<TableFactor, CompileError> {
        let (values, n_columns) = self.embedded_values(id)?;
        let values = build::query(values);
        let names = column_names(n_columns);
        if self.inputs.features.derived_columns {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Ok(build::derived_as(values, alias, &names));
        }
        let items = (1..).zip(&names).map(|(number, name)| {
            build::item(build::raw(&format!("column{number}")), Some(build::ident(name)))
        });
        let from = build::joined(vec![build::derived(values, &self.named("q"))]);
        Ok(build::derived(build::query(build::select(items.collect(), from, Vec::new())), alias))
    }

    /// Adds the conditions under which rows of bound queries are facts: that a row meets its query's own
    /// condition, and that no column is NULL. For the caller's row the plan tests the former, as
    /// [`Condition::Meets`].
    pub(in crate::sql) fn facts_only(
        &self,
        select: &Select,
        conditions: &mut Vec<Sql>,
    ) -> Result<(), CompileError> {
        for from in &select.from {
            let (source, alias, is_row) = match from.kind {
                FromKind::Source(source) => (source, self.alias(from.alias), false),
                FromKind::Again { source, row, .. } => (source, self.alias(row), false),
                FromKind::Row { source, .. } => (source, self.row_name()?.to_owned(), true),
                FromKind::Table(_) | FromKind::Values(_) | FromKind::Embedded(_) => continue,
            };
            // Outside a query of its own a condition must not be NULL, because NULL differs from false there.
            let must_be_known = select.reads_nothing();
            let query = self.query(self.binding(source)?);
            if let Some(PlainQuery { condition, is_never_null, .. }) = &query.plain
                && !condition.is_empty()
                && !is_row
            {
                let condition = build::raw(&RowPart::over(condition, &alias));
                let is_compared = must_be_known && !is_never_null;
                conditions.push(if is_compared { build::is_true(condition) } else { condition });
            }
            for column in self.inputs.catalog.relations[source].column_ids() {
                let expr = Expr::Column { alias: from.alias, column };
                // The key is tested once: for all alternatives, or where the row is read.
                let is_key = match from.kind {
                    FromKind::Row { .. } => self.is_key(query, column),
                    FromKind::Again { key, .. } => column == key,
                    FromKind::Source(_)
                    | FromKind::Table(_)
                    | FromKind::Values(_)
                    | FromKind::Embedded(_) => false,
                };
                if !is_key && (must_be_known || !is_compared(select, expr)) {
                    let name = if is_row {
                        self.row_column(source, column)
                    } else {
                        self.bound_column(source, &alias, column)
                    };
                    conditions.push(build::is_not_null(name?));
                }
            }
        }
        Ok(())
    }
}

fn plain_column(plain: &PlainQuery, table: &str, column: ColumnId) -> Result<Sql, CompileError> {
    let text = match plain.columns.find(column) {
        Some(PlainColumn::Named(name)) => format!("{table}.{name}"),
        Some(PlainColumn::Computed(parts)) => RowPart::over(parts, table),
        None => return Err(CompileError::Bug("a column that a query does not select".into())),
    };
    Ok(build::raw(&text))
}

/// Whether the select has a comparison that excludes NULL in this column.
fn is_compared(select: &Select, column: Expr) -> bool {
    select.filter.iter().any(|condition| match condition {
        Condition::Compare { op: CompareOp::NotEqual, .. }
        | Condition::Meets { .. }
        | Condition::Any(_)
        | Condition::None(_) => false,
        Condition::Compare { left, right, .. } => *left == column || *right == column,
        Condition::OneOf { expr, .. } | Condition::In { expr, .. } => *expr == column,
    })
}
