//! Values: columns by their names, literals, and parameters.

use super::at::{At, Itself};
use super::build;
use super::lower::Lowering;
use super::printing::Printing;
use crate::algebra::{Alias, Expr, FromKind, ITSELF};
use crate::catalog::ColumnId;
use crate::dialect::{ParameterRows, ValueForm};
use crate::question::{CompileError, Slot};
use crate::sql::lower::{column_name, column_names};
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
                Ok(match self.inputs.features.values {
                    ValueForm::Text => build::cast(now, "TEXT"),
                    ValueForm::Compact | ValueForm::Bytes => now,
                })
            }
            Expr::Tag(member) => Ok(self.made(&member.index().to_string())),
            Expr::Filler => Ok(self.made("0")),
            Expr::TypeName(ty) => match ty.unmentioned_var() {
                Some(var) => self.value(Slot::TypeOf(var)),
                None => match self.inputs.program.types[ty].named() {
                    Some(name) => Ok(self.made(name)),
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
            FromKind::Values(_) => Ok(match self.inputs.features.rows {
                ParameterRows::JsonEach => build::column(&table, build::ident("value")),
                ParameterRows::JsonbArrayElements => build::binary(
                    build::column(&table, build::ident("value")),
                    BinaryOperator::HashLongArrow,
                    build::lit("{}"),
                ),
                ParameterRows::Arrays => build::column(&table, build::ident(&column_name(column))),
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

    /// A value without a column, of the type of values.
    pub(super) fn as_value(&self, value: Sql) -> Sql {
        match self.inputs.features.value_cast {
            Some(ty) => build::cast(value, ty),
            None => value,
        }
    }

    /// A text of the compiler's own in the form of values. It is not a number, or compared only with others
    /// of its own.
    pub(super) fn made(&self, text: &str) -> Sql {
        match self.inputs.features.values {
            ValueForm::Text | ValueForm::Compact => build::lit(text),
            ValueForm::Bytes => build::bytes(text),
        }
    }

    /// Rows that come with the request: as JSON in one parameter, or as arrays in one for each column.
    pub(super) fn parameter_rows(
        &mut self,
        json: Slot,
        arrays: impl Iterator<Item = Slot>,
        alias: &str,
    ) -> Result<TableFactor, CompileError> {
        Ok(match self.inputs.features.rows {
            ParameterRows::JsonEach => {
                build::table_function("json_each", vec![self.value(json)?], alias, &[])
            }
            ParameterRows::JsonbArrayElements => {
                let value = build::cast(self.value(json)?, "JSONB");
                build::table_function("jsonb_array_elements", vec![value], alias, &["value"])
            }
            ParameterRows::Arrays => {
                let arrays = arrays.map(|slot| self.value(slot)).collect::<Result<Vec<_>, _>>()?;
                if arrays.is_empty() {
                    return Err(CompileError::Bug("rows of a request without a column".into()));
                }
                let names = column_names(arrays.len());
                build::unnest(arrays, alias, &names.iter().map(String::as_str).collect::<Vec<_>>())
            }
        })
    }
}
