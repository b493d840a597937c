//! Statements over stored relations, in which all values have one form: text, or the form of a store.
//!
//! In: a plan. Out: one query, and the slots of its parameters in order; or a query with literals instead of
//! parameters. A relation is a stored table, or comes with the request.

use super::at::{At, Siblings};
use super::build;
use super::lower::{Lowering, Unconstrained, column_name, column_names, cte_kind};
use super::printing::Printing;
use super::strategy::Fence;
use crate::algebra::{AnswerColumns, Expr, FromKind, Plan, PlanAnswer, Range, Select, SetUse};
use crate::catalog::{ColumnId, Relation, RelationSource, SourceId};
use crate::dialect::{ParameterRows, Placeholder, ValueForm};
use crate::ir::{CompareOp, ConstId};
use crate::question::{Answer, CompileError, Slot};
use indexmap::IndexSet;
use sqlparser::ast::{BinaryOperator, Expr as Sql, Query, TableFactor};

/// Where a statement's values come from.
pub(crate) enum Values<'v> {
    /// From parameters.
    Parameters,
    /// From the question itself, as literals in the text; `None` for a value that it does not have.
    Literals(&'v dyn Fn(Slot) -> Option<LiteralValue>),
}

/// A value for a literal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LiteralValue {
    /// Text.
    Text(String),
    /// Several texts, where a parameter would be a JSON array.
    Texts(Vec<String>),
    /// An integer.
    Integer(i64),
}

/// A statement over stored relations.
pub(super) struct Hosted<'l> {
    values: &'l Values<'l>,
    /// The slots of the parameters so far, in the order of their numbers.
    slots: IndexSet<Slot>,
}

impl<'l> Hosted<'l> {
    pub(super) fn new(values: &'l Values<'l>) -> Self {
        Self { values, slots: IndexSet::new() }
    }

    /// The slots of the statement's parameters, in the order of their numbers.
    pub(super) fn into_slots(self) -> Vec<Slot> {
        self.slots.into_iter().collect()
    }
}

impl<'l> Lowering<'l, Hosted<'_>> {
    /// Lowers a whole plan.
    pub(super) fn plan(&mut self, plan: &Plan) -> Result<(Query, Answer), CompileError> {
        let at = At::top(&plan.tables);
        let ctes = self.tables(at, plan)?;
        let (query, answer) = match &plan.answer {
            PlanAnswer::Decision(selects) => {
                let allowed = self.decision(at, selects)?;
                let projection = vec![build::item(allowed, Some(build::ident("allowed")))];
                let query = build::query(build::select(projection, Vec::new(), Vec::new()));
                (query, Answer::Decision)
            }
            PlanAnswer::Rows { selects, columns, range } => {
                let answer = match columns {
                    AnswerColumns::OfQuestion(columns) => Answer::Rows(columns.clone()),
                    AnswerColumns::OfPart(_) => Answer::Part(columns.len()),
                };
                (self.rows(at, selects, columns.len(), *range)?, answer)
            }
        };
        Ok((build::with(query, cte_kind(&plan.tables), ctes), answer))
    }

    fn rows(
        &mut self,
        at: At<'_>,
        selects: &[Select],
        n_columns: usize,
        range: Range,
    ) -> Result<Query, CompileError> {
        let names = column_names(n_columns);
        let paged = range == Range::Page;
        let unconstrained = if paged { Unconstrained::Star } else { Unconstrained::Null };
        let all = self.arms(at, selects, n_columns, unconstrained)?;
        let projection =
            names.iter().map(|name| build::item(build::column("r", build::ident(name)), None)).collect();
        let filter = if paged {
            let after = self.value(Slot::PageAfter)?;
            let column = self.in_byte_order(build::column("r", build::ident("c0")));
            vec![build::binary(column, BinaryOperator::Gt, after)]
        } else {
            Vec::new()
        };
        let from = build::joined(vec![build::derived(build::query(all), "r")]);
        let rows = build::select(projection, from, filter);
        let is_sorted_once = range == Range::All && self.inputs.features.hashes_distinct;
        let distinct = build::query(if is_sorted_once {
            let by = names.iter().map(|name| build::column("r", build::ident(name)));
            build::distinct_on(rows, by.collect())
        } else {
            build::distinct(rows)
        });
        if let Range::Some(most) = range {
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            return Ok(build::limited(distinct, build::number(most)));
        }
        // A select with DISTINCT may order only by what it selects, and a collation is an expression of its
        // own.
        let outer = self.inputs.features.byte_order.is_some();
        let (query, table) = if outer {
            let projection =
                names.iter().map(|name| build::item(build::column("a", build::ident(name)), None)).collect();
            let from = build::joined(vec![build::derived(distinct, "a")]);
            (build::query(build::select(projection, from, Vec::new())), "a")
        } else {
            (distinct, "r")
        };
        let by = names
            .iter()
            .map(|name| build::ascending(self.in_byte_order(build::column(table, build::ident(name)))));
        // The store's readers expect any value before all others, where SQLite sorts NULL by itself.
        let nulls_first = !paged && self.inputs.features.values == ValueForm::Bytes;
        let by = by.map(|by| if nulls_first { build::nulls_first(by) } else { by });
        let query = build::ordered(query, by.collect());
        Ok(if paged { build::limited(query, self.value(Slot::PageLimit)?) } else { query })
    }

    /// A value with the type of values, which a column has.
    fn with_type(&self, value: Expr, sql: Sql) -> Sql {
        if matches!(value, Expr::Column { .. }) { sql } else { self.as_value(sql) }
    }

    fn stored(&self, kind: FromKind) -> Result<&'l Relation, CompileError> {
        match kind {
            FromKind::Source(source) => Ok(&self.inputs.catalog.relations[source]),
            FromKind::Table(_)
            | FromKind::Values(_)
            | FromKind::Embedded(_)
            | FromKind::Row { .. }
            | FromKind::Again { .. } => Err(not_stored()),
        }
    }
}

fn not_stored() -> CompileError {
    CompileError::Bug("a source that is not a stored relation".into())
}

/// Texts as a JSON array, for a literal in the place of a parameter.
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

impl Printing for Lowering<'_, Hosted<'_>> {
    fn named(&self, name: &str) -> String {
        name.to_owned()
    }

    fn literal(&self, literal: ConstId) -> Result<Sql, CompileError> {
        let text = self.inputs.literal_text(literal)?;
        Ok(match self.inputs.features.values {
            ValueForm::Text => build::lit(text),
            ValueForm::Compact => build::compact(text),
            ValueForm::Bytes => build::bytes(text),
        })
    }

    /// A parameter, or a literal in its place.
    fn value(&mut self, slot: Slot) -> Result<Sql, CompileError> {
        Ok(match self.target.values {
            Values::Parameters => {
                let number = self.target.slots.insert_full(slot).0 + 1;
                build::placeholder(match self.inputs.features.placeholder {
                    Placeholder::Question => format!("?{number}"),
                    Placeholder::Dollar => format!("${number}"),
                })
            }
            Values::Literals(value) => match value(slot) {
                Some(LiteralValue::Text(text)) => build::lit(&text),
                Some(LiteralValue::Texts(texts)) => build::lit(&json_array(&texts)),
                Some(LiteralValue::Integer(integer)) => build::number(integer),
                None => return Err(CompileError::Bug(format!("a question without a value for {slot}"))),
            },
        })
    }

    fn output(&mut self, at: At<'_>, _column: ColumnId, value: Expr) -> Result<Sql, CompileError> {
        let sql = self.expr(at, value)?;
        Ok(self.with_type(value, sql))
    }

    fn comparison(
        &mut self,
        at: At<'_>,
        op: CompareOp,
        left: Expr,
        right: Expr,
    ) -> Result<Sql, CompileError> {
        let (left_sql, right_sql) = (self.expr(at, left)?, self.expr(at, right)?);
        let is_order = !matches!(op, CompareOp::Equal | CompareOp::NotEqual);
        let in_order = |value, sql| match self.inputs.features.values {
            ValueForm::Text | ValueForm::Compact => build::cast(sql, self.inputs.features.integer),
            // Two literals without a type would be compared as texts.
            ValueForm::Bytes => self.with_type(value, sql),
        };
        let [left, right] = [(left, left_sql), (right, right_sql)]
            .map(|(value, sql)| if is_order { in_order(value, sql) } else { sql });
        Ok(build::binary(left, build::operator(op), right))
    }

    fn in_literals(&mut self, at: At<'_>, value: Expr, literals: &[ConstId]) -> Result<Sql, CompileError> {
        let value = self.expr(at, value)?;
        let list = literals.iter().map(|literal| self.literal(*literal)).collect::<Result<_, _>>()?;
        Ok(build::in_list(value, list))
    }

    fn row_meets(&self, _: At<'_>, _: SourceId) -> Result<Sql, CompileError> {
        Err(CompileError::Bug("a condition of a bound query in a plan over stored relations".into()))
    }

    fn in_selects(&mut self, _: At<'_>, _: Expr, _: &[Select], _: SetUse) -> Result<Sql, CompileError> {
        Err(CompileError::Bug("a set in a plan over stored relations".into()))
    }

    fn holds_text(&self, _: At<'_>, _: ColumnId) -> bool {
        true
    }

    fn source(&mut self, _: At<'_>, kind: FromKind, alias: &str) -> Result<TableFactor, CompileError> {
        let relation = self.stored(kind)?;
        match &relation.source {
            RelationSource::Table { schema, name } => Ok(build::stored_table(schema.as_deref(), name, alias)),
            RelationSource::Context { slot } => {
                let arrays = relation.column_ids().map(|column| Slot::ContextColumn(*slot, column));
                self.parameter_rows(Slot::Context(*slot), arrays, alias)
            }
            RelationSource::Bound { .. } => Err(not_stored()),
        }
    }

    fn source_column(&self, kind: FromKind, alias: &str, column: ColumnId) -> Result<Sql, CompileError> {
        let relation = self.stored(kind)?;
        match &relation.source {
            RelationSource::Table { .. } => {
                let name = relation.column(column);
                let (_, name) = name.ok_or_else(|| CompileError::Bug("a column without a name".into()))?;
                Ok(build::column(alias, build::ident(name)))
            }
            RelationSource::Context { .. } => Ok(match self.inputs.features.rows {
                ParameterRows::JsonEach | ParameterRows::JsonbArrayElements => build::element(alias, column),
                ParameterRows::Arrays => build::column(alias, build::ident(&column_name(column))),
            }),
            RelationSource::Bound { .. } => Err(not_stored()),
        }
    }

    fn row_conditions(&self, _: &Select, _: &mut Vec<Sql>) -> Result<(), CompileError> {
        Ok(())
    }

    fn has_row(&mut self, at: At<'_>, select: &Select) -> Result<Sql, CompileError> {
        let is_planned_twice = at.depth > 1 && at.siblings == Siblings::Present;
        let fence = if is_planned_twice { Fence::nested(self.inputs.features) } else { Fence::Absent };
        self.probe(at, select, fence)
    }

    fn has_no_row(&mut self, at: At<'_>, select: &Select) -> Result<Sql, CompileError> {
        Ok(build::not_exists(self.test(at, select)?))
    }

    fn test(&mut self, at: At<'_>, select: &Select) -> Result<Query, CompileError> {
        Ok(build::query(self.select(at.in_test(), select)?))
    }
}
