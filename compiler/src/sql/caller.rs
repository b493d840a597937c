//! What a statement reads of the caller's: queries, rows, and values that stand in the text.
//!
//! In: sources of a plan. Out: how each is read and how its columns are called. A query of one table is read
//! as that table, any other between parentheses. A row with a NULL in any column is no fact, so each column
//! that no comparison excludes it from is tested for it.

use super::build;
use super::held::{Held, LocalValues, compare_natively};
use super::lower::{Lowering, Sources, column_names};
use crate::algebra::{Condition, Expr, FromKind, Select, Table};
use crate::bindings::{BoundQuery, ConditionPart, Family, Name, PlainQuery};
use crate::catalog::{Relation, RelationSource};
use crate::ir::CompareOp;
use crate::question::CompileError;
use sqlparser::ast::{Cte, Expr as Sql, Query, TableFactor};

impl LocalValues<'_> {
    /// A prefix with which no name of ours is a word of the caller's.
    pub(crate) fn free_prefix<'w>(words: impl Iterator<Item = &'w str>) -> String {
        let words: Vec<&str> = words.collect();
        let is_ours = |rest: &str| {
            let numbered = |start: &str| {
                rest.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            };
            matches!(rest, "w" | "x" | "r" | "a" | "u" | "s" | "l" | "st" | "e" | "q" | "given")
                || ["pc", "pb", "pk", "t"].into_iter().any(numbered)
        };
        let mut prefix = String::new();
        while words.iter().any(|word| word.strip_prefix(prefix.as_str()).is_some_and(is_ours)) {
            prefix.push_str("p_");
        }
        prefix
    }
}

impl Lowering<'_> {
    /// A name of ours, which is none of the caller's.
    pub(super) fn named(&self, name: &str) -> String {
        let prefix = self.local.as_ref().map_or("", |local| local.prefix.as_str());
        format!("{prefix}{name}")
    }

    /// Text as a literal.
    pub(super) fn lit(&self, text: &str) -> Sql {
        match self.local {
            Some(_) => build::plain_lit(text, self.features.escapes),
            None => build::lit(text),
        }
    }

    /// Says which table's body is being printed.
    pub(super) fn set_current(&mut self, table: Option<usize>) {
        if let Some(local) = &mut self.local {
            local.current = table;
        }
    }

    /// How the column of this number must come out of the select that is being printed.
    pub(super) fn wanted(&self, column: usize) -> Held {
        let Some(local) = &self.local else { return Held::Text };
        match local.current {
            Some(table) => {
                local.tables.get(table).and_then(|columns| columns.get(column)).cloned().unwrap_or(Held::Text)
            }
            None => local.answer.clone(),
        }
    }

    /// The type of a relation's column, by name.
    pub(super) fn column_type(&self, source: usize, column: usize) -> Option<&str> {
        let relation = self.catalog.relations.get(source)?;
        match relation.source {
            RelationSource::Bound { .. } => {}
            RelationSource::Table { .. } | RelationSource::Context { .. } => return None,
        }
        relation.columns().nth(column).map(|(ty, _)| ty)
    }

    fn query(&self, binding: usize) -> Result<&BoundQuery, CompileError> {
        let local = self.local.as_ref().and_then(|local| local.bindings.facts.get(binding));
        local
            .map(|binding| &binding.query)
            .ok_or_else(|| CompileError::Bug("a binding without a query".into()))
    }

    /// A caller's query as a source; `relation` has its rows.
    pub(super) fn bound(
        &mut self,
        relation: &Relation,
        binding: usize,
        alias: &str,
    ) -> Result<TableFactor, CompileError> {
        let query = self.query(binding)?;
        if let Some(plain) = &query.plain {
            return Ok(build::raw_table(&Name::path(&plain.table), alias, &[]));
        }
        let n_columns = relation.columns().count();
        if self.features.derived_columns {
            let names = column_names(n_columns);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Ok(build::raw_table(&format!("({})", query.text), alias, &names));
        }
        if let Some(local) = &mut self.local {
            local.read.insert(binding, n_columns);
        }
        Ok(build::raw_table(&self.named(&format!("pb{binding}")), alias, &[]))
    }

    /// The caller's queries that were read by name, as common table expressions.
    pub(super) fn read_queries(&mut self) -> Result<Vec<Cte>, CompileError> {
        let Some(local) = &mut self.local else { return Ok(Vec::new()) };
        let mut ctes = Vec::new();
        for (binding, n_columns) in std::mem::take(&mut local.read) {
            let columns = column_names(n_columns);
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            let name = self.named(&format!("pb{binding}"));
            ctes.push(build::raw_cte(&name, &columns, &self.query(binding)?.text));
        }
        Ok(ctes)
    }

    /// A column of a caller's query.
    pub(super) fn bound_column(
        &self,
        binding: usize,
        alias: &str,
        column: usize,
    ) -> Result<Sql, CompileError> {
        match &self.query(binding)?.plain {
            Some(plain) => plain_column(plain, alias, column),
            None => Ok(build::column(alias, build::ident(&format!("c{column}")))),
        }
    }

    /// A column of the row that the caller's own query is at.
    pub(super) fn row_column(&self, source: usize, column: usize) -> Result<Sql, CompileError> {
        let RelationSource::Bound { binding } = &self.relation(source)?.source else {
            return Err(CompileError::Bug("a row of a stored relation".into()));
        };
        match &self.query(*binding)?.plain {
            Some(plain) => plain_column(plain, &self.row_name(), column),
            None => Err(CompileError::Bug("a row of a query that is not plain".into())),
        }
    }

    fn row_name(&self) -> String {
        let row = self.local.as_ref().and_then(|local| local.row.as_ref());
        row.map(|(name, _)| name.clone()).unwrap_or_default()
    }

    fn is_key(&self, query: &BoundQuery, column: usize) -> bool {
        let row = self.local.as_ref().and_then(|local| local.row.as_ref());
        let name = query.plain.as_ref().and_then(|plain| plain.columns.get(column));
        row.zip(name).is_some_and(|((_, key), name)| key == name)
    }

    /// Whether a column of a bound query is the unique column of its type's table, as the bindings promise.
    pub(super) fn is_unique(&self, source: usize, column: usize) -> Result<bool, CompileError> {
        let (Some(local), relation) = (&self.local, self.relation(source)?) else { return Ok(false) };
        let promised = relation.columns().nth(column).and_then(|(ty, _)| local.bindings.tables.get(ty));
        Ok(match relation.source {
            RelationSource::Bound { binding } => {
                promised.is_some_and(|promised| local.bindings.reads(binding, column, promised))
            }
            RelationSource::Table { .. } | RelationSource::Context { .. } => false,
        })
    }

    /// Rows of values as a source.
    pub(super) fn embedded(&mut self, index: usize, alias: &str) -> Result<TableFactor, CompileError> {
        let rows = self.local.as_ref().and_then(|local| local.embedded.get(index));
        let rows = rows.and_then(|embedded| embedded.rows.clone());
        let rows = rows.ok_or_else(|| CompileError::Bug("an embedded source without rows".into()))?;
        let n_columns = rows.first().map_or(0, Vec::len);
        let held: Vec<Held> = (0..n_columns).map(|column| self.held_embedded(index, column)).collect();
        let mut values = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let mut cells = Vec::new();
            for (literal, held) in row.iter().zip(&held) {
                // The first row gives the columns their types.
                cells.push(match held {
                    Held::Native(ty) if at == 0 => build::cast(self.native(ty, *literal)?, &ty.name),
                    Held::Native(ty) => self.native(ty, *literal)?,
                    Held::Text | Held::Untold(_) | Held::Opaque(_) if at == 0 => {
                        self.text(self.literal(*literal)?)
                    }
                    Held::Text | Held::Untold(_) | Held::Opaque(_) => self.literal(*literal)?,
                });
            }
            values.push(cells);
        }
        let values = build::query(build::values(values));
        let names = column_names(n_columns);
        if self.features.derived_columns {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Ok(build::derived_as(values, alias, &names));
        }
        let items = (1..).zip(&names).map(|(number, name)| {
            build::item(build::raw(&format!("column{number}")), Some(build::ident(name)))
        });
        let from = build::joined(vec![build::derived(values, &self.named("q"))]);
        Ok(build::derived(build::query(build::select(false, items.collect(), from, Vec::new())), alias))
    }

    /// Adds what makes the rows of the caller's queries facts: their conditions, and no NULL in them.
    pub(super) fn facts_only(&self, select: &Select, conditions: &mut Vec<Sql>) -> Result<(), CompileError> {
        for from in &select.from {
            let (FromKind::Source(source) | FromKind::Row(source)) = from.kind else { continue };
            let relation = self.relation(source)?;
            let RelationSource::Bound { binding } = &relation.source else { continue };
            let is_row = matches!(from.kind, FromKind::Row(_));
            let alias = if is_row { self.row_name() } else { self.alias(from.alias) };
            let query = self.query(*binding)?;
            let condition = query.plain.as_ref().map_or(&[][..], |plain| plain.condition.as_slice());
            if !condition.is_empty() {
                let text = |part: &ConditionPart| match part {
                    ConditionPart::Text(text) => text.clone(),
                    ConditionPart::Column(column) => format!("{alias}.{column}"),
                };
                let condition = build::raw(&format!("({})", condition.iter().map(text).collect::<String>()));
                // A row's condition stands outside of any query, where NULL is not the same as false.
                conditions.push(if is_row { build::is_true(condition) } else { condition });
            }
            for column in 0..relation.columns().count() {
                let expr = Expr::Column { alias: from.alias, column };
                let name = if is_row {
                    self.row_column(source, column)
                } else {
                    self.bound_column(*binding, &alias, column)
                };
                // The key is tested for all alternatives at once.
                let is_key = is_row && self.is_key(query, column);
                if !is_key && (is_row || !is_compared(select, expr)) {
                    conditions.push(build::is_not_null(name?));
                }
            }
        }
        Ok(())
    }

    /// `value IN (selects)`
    pub(super) fn in_set(
        &mut self,
        tables: &[Table],
        sources: &Sources,
        value: Expr,
        selects: &[Select],
    ) -> Result<Sql, CompileError> {
        let held = self.held(sources, value);
        let value = self.expr(sources, value)?;
        self.value_in_set(tables, sources, value, &held, selects)
    }

    /// `value IN (selects)`, for a value that is printed already. Selects whose values are held in another way
    /// than the value are compared as text.
    pub(super) fn value_in_set(
        &mut self,
        tables: &[Table],
        outer: &Sources,
        value: Sql,
        held: &Held,
        selects: &[Select],
    ) -> Result<Sql, CompileError> {
        let is_same = |select: &&Select| {
            let output = select.output.first();
            output.is_some_and(|expr| compare_natively(&self.held(&Sources::of(select), *expr), held))
        };
        let (native, text): (Vec<&Select>, Vec<&Select>) = selects.iter().partition(is_same);
        let mut any = Vec::new();
        if !native.is_empty() {
            let indexed = self.in_arms(tables, outer, value.clone(), held.clone(), &native)?;
            let is_padded = matches!(held, Held::Native(ty) if ty.family == Family::Padded);
            any.push(if is_padded {
                // Padded values ignore blanks at the end, which a VARCHAR among those of the set may have.
                let value = self.as_text(value.clone(), held);
                let exact = self.in_arms(tables, outer, value, Held::Text, &native)?;
                build::nested(build::all(vec![indexed, exact]))
            } else {
                indexed
            });
        }
        if !text.is_empty() {
            let value = self.as_text(value, held);
            any.push(self.in_arms(tables, outer, value, Held::Text, &text)?);
        }
        Ok(build::any(any))
    }

    /// Steps into a set or table, or out of it.
    pub(super) fn step_in(&mut self, into: bool) {
        if let Some(local) = &mut self.local {
            local.in_sets = if into { local.in_sets + 1 } else { local.in_sets.saturating_sub(1) };
        }
    }

    /// Prints a query whose one column is held in this way.
    pub(super) fn answering<T>(&mut self, answer: Held, print: impl FnOnce(&mut Self) -> T) -> T {
        let swap = |this: &mut Self, answer, current| {
            let local = this.local.as_mut();
            local.map(|local| {
                (std::mem::replace(&mut local.answer, answer), std::mem::replace(&mut local.current, current))
            })
        };
        let before = swap(self, answer, None);
        let printed = print(self);
        if let Some((answer, current)) = before {
            swap(self, answer, current);
        }
        printed
    }

    /// `value IN (selects)`, with the selects' values held in this way.
    fn in_arms(
        &mut self,
        tables: &[Table],
        outer: &Sources,
        value: Sql,
        wanted: Held,
        selects: &[&Select],
    ) -> Result<Sql, CompileError> {
        let selects: Vec<Select> = selects.iter().map(|select| (*select).clone()).collect();
        let hashes = self.local.as_ref().is_some_and(|local| local.in_sets == 0 && local.hashes);
        self.step_in(true);
        let arms = self.answering(wanted, |this| {
            this.in_own_scope(tables, &selects, |this| {
                Ok(build::query(this.arms(tables, outer, &selects, 1, false)?))
            })
        });
        self.step_in(false);
        let test = is_in(self.features.arrays_are_looked_up && !hashes, value, arms?);
        let is_condition = hashes && self.depth > 0 && self.features.joins_sets;
        Ok(if is_condition { build::is_true(build::nested(test)) } else { test })
    }
}

/// `value = ANY (ARRAY (query))` or `value IN (query)`, whichever the database plans better.
fn is_in(as_array: bool, value: Sql, query: Query) -> Sql {
    if as_array { build::equals_any(value, build::array_of(query)) } else { build::in_query(value, query) }
}

fn plain_column(plain: &PlainQuery, table: &str, column: usize) -> Result<Sql, CompileError> {
    let name = plain.columns.get(column);
    let name = name.ok_or_else(|| CompileError::Bug("a column without a name".into()))?;
    Ok(build::raw(&format!("{table}.{name}")))
}

/// Whether a comparison of the select holds for no NULL in this column.
fn is_compared(select: &Select, column: Expr) -> bool {
    select.filter.iter().any(|condition| match condition {
        Condition::Compare { op: CompareOp::NotEqual, .. } | Condition::Any(_) | Condition::None(_) => false,
        Condition::Compare { left, right, .. } => *left == column || *right == column,
        Condition::OneOf { expr, .. } | Condition::In { expr, .. } => *expr == column,
    })
}
