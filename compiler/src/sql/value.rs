//! Values: columns by their names, literals, and parameters.

use super::at::{At, Itself};
use super::build;
use super::lower::Lowering;
use super::printing::Printing;
use crate::algebra::{Alias, Expr, FromKind, ITSELF};
use crate::catalog::ColumnId;
use crate::dialect::JsonRows;
use crate::question::{CompileError, Slot};
use crate::sql::lower::column_name;
use sqlparser::ast::{BinaryOperator, Expr as Sql, TableFactor};

impl<T> Lowering<'_, T>
where
    Self: Printing,
{
    pub(super) fn expr(&mut self, at: At<'_>, expr: Expr) -> Result<Sql, CompileError> {
        match expr {
            Expr::Column { alias, column } => self.column(at, alias, column),
            Expr::Const(literal) => self.literal(literal),
            Expr::Given(var) => self.value(Slot::Given(var)),
            Expr::Now => {
                let now = self.value(Slot::Now)?;
                Ok(if self.inputs.features.compact_values { now } else { build::cast(now, "TEXT") })
            }
            Expr::Tag(member) => Ok(build::lit(&member.index().to_string())),
            Expr::Filler => Ok(build::lit("0")),
            Expr::TypeName(ty) => match ty.unmentioned_var() {
                Some(var) => self.value(Slot::TypeOf(var)),
                None => match self.inputs.program.types[ty].named() {
                    Some(name) => Ok(build::lit(name)),
                    None => Err(CompileError::Bug("an answer of a type without a name".into())),
                },
            },
            Expr::Unconstrained => Ok(build::null()),
        }
    }

    fn column(&self, at: At<'_>, alias: Alias, column: ColumnId) -> Result<Sql, CompileError> {
        let kind = at.scope.kind(alias);
        let kind = kind.ok_or_else(|| CompileError::Bug(format!("{alias} is not in scope")))?;
        let table = self.alias(alias);
        match kind {
            ITSELF if matches!(at.itself, Itself::Tuples) => Ok(build::element(&table, column)),
            FromKind::Table(_) => Ok(build::column(&table, build::ident(&column_name(column)))),
            FromKind::Values(_) => Ok(match self.inputs.features.json_rows {
                JsonRows::JsonEach => build::column(&table, build::ident("value")),
                JsonRows::JsonbArrayElements => build::binary(
                    build::column(&table, build::ident("value")),
                    BinaryOperator::HashLongArrow,
                    build::lit("{}"),
                ),
            }),
            FromKind::Again { row, .. } => {
                let table = self.alias(row);
                self.source_column(kind, &table, column)
            }
            FromKind::Source(_) | FromKind::Embedded(_) | FromKind::Row { .. } => {
                self.source_column(kind, &table, column)
            }
        }
    }

    /// The name of a source in the statement.
    pub(super) fn alias(&self, alias: Alias) -> String {
        self.named(&alias.to_string())
    }

    /// A value without a column, as text.
    pub(super) fn text(&self, value: Sql) -> Sql {
        if self.inputs.features.casts_values { build::cast(value, "TEXT") } else { value }
    }

    /// The rows of a slot's JSON.
    pub(super) fn json_rows(&mut self, slot: Slot, alias: &str) -> Result<TableFactor, CompileError> {
        let value = self.value(slot)?;
        Ok(match self.inputs.features.json_rows {
            JsonRows::JsonEach => build::table_function("json_each", vec![value], alias, &[]),
            JsonRows::JsonbArrayElements => {
                let value = build::cast(value, "JSONB");
                build::table_function("jsonb_array_elements", vec![value], alias, &["value"])
            }
        })
    }
}
