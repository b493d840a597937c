//! Values: columns by their names, literals, and what comes as a parameter.

use super::build;
use super::lower::{ITSELF, Lowering, Sources};
use super::lower::{Literal, Values};
use crate::algebra::{Expr, FromKind};
use crate::catalog::RelationSource;
use crate::dialect::{JsonRows, Placeholder};
use crate::question::{CompileError, Slot};
use sqlparser::ast::{BinaryOperator, Expr as Sql};

impl Lowering<'_> {
    pub(super) fn expr(&mut self, sources: &Sources, expr: Expr) -> Result<Sql, CompileError> {
        match expr {
            Expr::Column { alias, column } => self.column(sources, alias, column),
            Expr::Const(literal) => self.literal(literal),
            Expr::Given(var) => match self.local.as_ref().and_then(|local| local.column.as_ref()) {
                Some((column, held, name)) if *column == var => Ok(self.exact(name.clone(), held)),
                Some(_) | None => Ok(self.value(Slot::Given(var))),
            },
            Expr::Now => {
                let now = self.value(Slot::Now);
                Ok(if self.features.compact_values { now } else { build::cast(now, "TEXT") })
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
            FromKind::Row(index) => {
                let held = self.held(sources, Expr::Column { alias, column });
                Ok(self.exact(self.row_column(index, column)?, &held))
            }
            FromKind::Embedded(_) => Ok(build::column(&table, build::ident(&format!("c{column}")))),
            FromKind::Source(index) => {
                let relation = self.relation(index)?;
                match &relation.source {
                    RelationSource::Table { .. } => {
                        let (_, name) = relation
                            .columns()
                            .nth(column)
                            .ok_or_else(|| CompileError::Bug("a column without a name".into()))?;
                        Ok(build::column(&table, build::ident(name)))
                    }
                    RelationSource::Bound { binding } => {
                        let held = self.held(sources, Expr::Column { alias, column });
                        Ok(self.exact(self.bound_column(*binding, &table, column)?, &held))
                    }
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

    /// A value without a column, as text.
    pub(super) fn text(&self, value: Sql) -> Sql {
        if self.features.casts_values { build::cast(value, "TEXT") } else { value }
    }

    /// The value of a slot: a parameter, or a literal.
    pub(super) fn value(&mut self, slot: Slot) -> Sql {
        match self.values {
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
