//! How values are held, and how two of them are compared.
//!
//! The store holds every id as text. A caller's database holds ids in columns of its own types: what the
//! bindings say of a type decides whether its values are compared natively, so that indexes serve, or as
//! text. A literal that is no value of the type can equal none of its values; that is decided here, and the
//! statement never fails over it.

use super::build;
use super::lower::{Lowering, Sources};
use super::template::Place;
use crate::algebra::TableRef;
use crate::algebra::{Embedded, Expr, FromKind, Plan, Select, TableBody};
use crate::bindings::{Bindings, Family, Fit, Name, SqlType};
use crate::datalog::constant;
use crate::ir::{ConstId, TypeId};
use crate::question::CompileError;
use indexmap::IndexMap;
use sqlparser::ast::Expr as Sql;

/// How a value is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// As text of our own.
    Text,
    /// As a value of this SQL type.
    Native(SqlType),
    /// In a column of the caller's whose SQL type is told and compared as text, with values of this type.
    Opaque(Option<TypeId>),
    /// In a column of the caller's whose SQL type nobody told, with values of this type.
    Untold(Option<TypeId>),
}

/// What a statement for a caller's database needs beside the plan.
#[derive(Debug)]
pub(crate) struct LocalValues<'l> {
    /// The caller's queries and types.
    pub(crate) bindings: &'l Bindings,
    /// The rows of embedded sources.
    pub(crate) embedded: &'l [Embedded],
    /// The literals that are values of the question.
    pub(crate) places: &'l [Place],
    /// What our names begin with, so that they are none of the caller's.
    pub(crate) prefix: String,
    /// How each column of each table is held.
    pub(crate) tables: Vec<Vec<Held>>,
    /// The table whose body is being printed.
    pub(crate) current: Option<usize>,
    /// The question's variable that is a column of the caller's, its type and its name in the statement.
    pub(crate) column: Option<(usize, Held, Sql)>,
    /// The name of the caller's row and its key, where a filter may read the row's other columns.
    pub(crate) row: Option<(String, Name)>,
    /// How the answer's columns must come out.
    pub(crate) answer: Held,
    /// Whether each query brings the tables that it reads: a filter has no place for them.
    pub(crate) own_tables: bool,
    /// Whether a filter's sets are hashed.
    pub(crate) hashes: bool,
    /// Inside how many sets and tables the statement is being printed.
    pub(crate) in_sets: usize,
    /// The caller's queries that are read by name, each with the number of its columns.
    pub(crate) read: IndexMap<usize, usize>,
}

impl SqlType {
    /// How a column of this type holds values of a type of the policy.
    pub(super) fn held(&self, ty: Option<TypeId>) -> Held {
        match self.family {
            Family::Integer
            | Family::Numeric
            | Family::IntegerAffinity
            | Family::Text
            | Family::Padded
            | Family::Uuid => Held::Native(self.clone()),
            Family::Other => Held::Opaque(ty),
            Family::Ambiguous => Held::Untold(ty),
        }
    }
}

impl Lowering<'_> {
    /// How a caller's columns hold the values of a type.
    pub(crate) fn held_type(&self, ty: Option<TypeId>, name: &str) -> Held {
        let told = self.local.as_ref().and_then(|local| local.bindings.sql_types.get(name));
        told.map_or(Held::Untold(ty), |told| told.held(ty))
    }

    /// How a value is held.
    pub(super) fn held(&self, sources: &Sources, expr: Expr) -> Held {
        let Some(local) = &self.local else { return Held::Text };
        match expr {
            Expr::Column { alias, column } => match sources.kind(alias) {
                Some(FromKind::Source(source) | FromKind::Row(source)) => {
                    match self.column_type(source, column) {
                        Some(name) => self.held_type(self.program.type_id(name), name),
                        None => Held::Text,
                    }
                }
                Some(FromKind::Table(TableRef::Table(table))) => held_column(&local.tables, table, column),
                Some(FromKind::Table(TableRef::Itself)) => {
                    local.current.map_or(Held::Text, |table| held_column(&local.tables, table, column))
                }
                Some(FromKind::Embedded(index)) => self.held_embedded(index, column),
                Some(FromKind::Values(_)) | None => Held::Text,
            },
            Expr::Const(literal) => self.held_literal(literal),
            Expr::Given(var) => match &local.column {
                Some((column, held, _)) if *column == var => held.clone(),
                Some(_) | None => Held::Text,
            },
            Expr::Now | Expr::Tag(_) | Expr::TypeName(_) | Expr::Unconstrained => Held::Text,
        }
    }

    /// A literal is a native value if its own type is held so and it is one; a number too wide for the type is one
    /// of the wider type.
    fn held_literal(&self, literal: ConstId) -> Held {
        let held = constant(self.program, self.extra_constants, literal);
        let name = held.and_then(|held| self.program.types.get(held.ty.index()));
        match (held, name.map(|ty| self.held_type(None, &ty.name))) {
            (Some(literal), Some(Held::Native(ty))) => match ty.fit(&literal.text) {
                Fit::Value => Held::Native(ty),
                Fit::Wide => Held::Native(SqlType::numeric()),
                Fit::Text | Fit::Never => Held::Text,
            },
            _ => Held::Text,
        }
    }

    pub(super) fn held_embedded(&self, index: usize, column: usize) -> Held {
        let embedded = self.local.as_ref().and_then(|local| local.embedded.get(index));
        let rows = embedded.and_then(|embedded| embedded.rows.as_deref()).unwrap_or_default();
        let values = rows.iter().filter_map(|row| row.get(column));
        values.map(|literal| self.held_literal(*literal)).reduce(together).unwrap_or(Held::Text)
    }

    /// Finds out how the columns of each table are held: natively if all that goes in is.
    pub(crate) fn hold_tables(&mut self, plan: &Plan) {
        for (index, table) in plan.tables.iter().enumerate() {
            let mut held: Vec<Option<Held>> = vec![None; table.n_columns];
            if matches!(table.body, TableBody::WholeState { .. }) {
                held = vec![Some(Held::Text); table.n_columns];
            }
            // Each round may make a column text, and text it stays.
            for _ in 0..=table.n_columns {
                let known = held.iter().map(|held| held.clone().unwrap_or(Held::Text)).collect();
                if let Some(local) = &mut self.local {
                    local.tables.truncate(index);
                    local.tables.push(known);
                    local.current = Some(index);
                }
                for select in table.body.selects() {
                    self.hold_select(select, &mut held);
                }
            }
            if let Some(local) = &mut self.local {
                local.tables.truncate(index);
                local.tables.push(held.into_iter().map(|held| held.unwrap_or(Held::Text)).collect());
                local.current = None;
            }
        }
    }

    fn hold_select(&self, select: &Select, held: &mut [Option<Held>]) {
        let sources = Sources::of(select);
        let before = held.to_vec();
        for (slot, expr) in held.iter_mut().zip(&select.output) {
            let new = match *expr {
                Expr::Column { alias, column }
                    if sources.kind(alias) == Some(FromKind::Table(TableRef::Itself)) =>
                {
                    before.get(column).cloned().flatten()
                }
                expr => Some(match self.held(&sources, expr) {
                    Held::Untold(_) | Held::Opaque(_) => Held::Text,
                    // As a value of its own type it would equal what differs in blanks, also in a column of another type.
                    Held::Native(ty) if ty.family == Family::Padded => Held::Text,
                    held @ (Held::Text | Held::Native(_)) => held,
                }),
            };
            *slot = match (slot.take(), new) {
                (Some(old), Some(new)) => Some(together(old, new)),
                (old, new) => old.or(new),
            };
        }
    }

    /// A column of the caller's, made to equal only what has the same bytes.
    pub(super) fn exact(&self, column: Sql, held: &Held) -> Sql {
        let is_text = match held {
            Held::Text | Held::Untold(_) | Held::Opaque(_) => true,
            Held::Native(ty) => ty.family == Family::Text,
        };
        match self.features.byte_equality {
            Some(collation) if is_text => build::collate(column, collation),
            Some(_) | None => column,
        }
    }

    /// A value as text.
    pub(super) fn as_text(&self, value: Sql, held: &Held) -> Sql {
        match held {
            Held::Text => value,
            Held::Untold(Some(TypeId::BOOLEAN)) | Held::Opaque(Some(TypeId::BOOLEAN))
                if self.features.boolean_is_number =>
            {
                let text = build::cast(value, "TEXT");
                build::case(text, &[("1", "true"), ("0", "false")])
            }
            Held::Untold(_) | Held::Opaque(_) => build::cast(value, "TEXT"),
            Held::Native(ty) if ty.family == Family::Text && !self.features.strict_types => value,
            // A cast keeps the column's collation.
            Held::Native(_) => self.exact(build::cast(value, "TEXT"), &Held::Text),
        }
    }

    /// A value in the way in which its column is held.
    pub(super) fn as_held(
        &mut self,
        sources: &Sources,
        expr: Expr,
        wanted: &Held,
    ) -> Result<Sql, CompileError> {
        match (wanted, expr) {
            (Held::Native(ty), Expr::Const(literal)) => match ty.fit(self.literal_text(literal)?) {
                Fit::Value => Ok(build::cast(self.native(ty, literal)?, &ty.name)),
                Fit::Wide => Ok(build::cast(self.native(ty, literal)?, &SqlType::numeric().name)),
                Fit::Text | Fit::Never => {
                    Err(CompileError::Bug("a literal in a column of another type".into()))
                }
            },
            (Held::Native(ty), _) => {
                let value = self.expr(sources, expr)?;
                let is_table = self.local.as_ref().is_some_and(|local| local.current.is_some());
                // A cast of a text to a number is a number, where it is no error.
                let is_cast = self.features.strict_types || ty.family == Family::Text;
                Ok(if is_table && is_cast { build::cast(value, &ty.name) } else { value })
            }
            (Held::Text | Held::Untold(_) | Held::Opaque(_), Expr::Column { .. } | Expr::Given(_)) => {
                let held = self.held(sources, expr);
                let value = self.expr(sources, expr)?;
                Ok(self.as_text(value, &held))
            }
            (Held::Text | Held::Untold(_) | Held::Opaque(_), _) => {
                let value = self.expr(sources, expr)?;
                Ok(self.text(value))
            }
        }
    }
}

fn held_column(tables: &[Vec<Held>], table: usize, column: usize) -> Held {
    tables.get(table).and_then(|columns| columns.get(column)).cloned().unwrap_or(Held::Text)
}

/// How a column is held into which both go.
fn together(left: Held, right: Held) -> Held {
    match (left, right) {
        (Held::Native(one), Held::Native(other)) => match one.family.join(other.family) {
            Some(family) if family == one.family => Held::Native(one),
            Some(_) => Held::Native(SqlType::numeric()),
            None => Held::Text,
        },
        (Held::Untold(one), Held::Untold(other)) if one == other => Held::Untold(one),
        (Held::Opaque(one), Held::Opaque(other)) if one == other => Held::Opaque(one),
        (Held::Text | Held::Native(_) | Held::Untold(_) | Held::Opaque(_), _) => Held::Text,
    }
}

/// Whether values that are held so compare without a cast.
pub(super) fn compare_natively(left: &Held, right: &Held) -> bool {
    match (left, right) {
        (Held::Native(one), Held::Native(other)) => one.family.join(other.family).is_some(),
        (Held::Text | Held::Native(_) | Held::Untold(_) | Held::Opaque(_), _) => false,
    }
}
