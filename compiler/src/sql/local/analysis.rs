//! How the values of a plan are represented in a caller's database.
//!
//! In: a plan, and what is known of the caller. Out: the [`Representation`] of each value, and of each column
//! of the plan's tables.

use super::template::ValuePlace;
use crate::algebra::{Embedded, EmbeddedId, Expr, FromKind, Plan, Select, TableBody, TableId, TableRef};
use crate::bindings::{Bindings, Family, Fit, SqlName, SqlType};
use crate::catalog::{ColumnId, RelationSource, SourceId};
use crate::dialect::State;
use crate::id_vec::IdVec;
use crate::ir::ConstId;
use crate::question::QuestionVarId;
use crate::sql::at::SourceScope;
use crate::sql::lower::Inputs;
use crate::sql::representation::Representation;
use sqlparser::ast::Expr as Sql;

/// What is known of a caller's database and of the question.
#[derive(Clone)]
pub(in crate::sql) struct Caller<'l> {
    pub(in crate::sql) inputs: Inputs<'l>,
    /// The caller's queries and types.
    pub(in crate::sql) bindings: &'l Bindings,
    /// The rows of embedded sources.
    pub(in crate::sql) embedded: &'l [Embedded],
    /// The literals that are values of the question.
    pub(in crate::sql) places: &'l [ValuePlace],
    /// Prefix of generated names, with which none equals a name of the caller.
    pub(in crate::sql) prefix: &'l str,
    /// The question's variable that is one of the caller's columns.
    pub(in crate::sql) column: Option<GivenColumn>,
    /// The name of the caller's row and its key, where a filter may read the row's other columns.
    pub(in crate::sql) row: Option<(String, SqlName)>,
}

/// A variable of the question whose value is in one of the caller's columns.
#[derive(Clone)]
pub(in crate::sql) struct GivenColumn {
    pub(in crate::sql) var: QuestionVarId,
    pub(in crate::sql) representation: Representation,
    /// What the statement calls the column.
    pub(in crate::sql) name: Sql,
}

impl Caller<'_> {
    /// How a value is represented. `tables` has the columns of the plan's tables, and `itself` is the table
    /// whose body contains the value.
    pub(in crate::sql) fn represent(
        &self,
        tables: &[IdVec<ColumnId, Representation>],
        itself: Option<TableId>,
        scope: SourceScope<'_>,
        expr: Expr,
    ) -> Representation {
        match expr {
            Expr::Column { alias, column } => match scope.kind(alias) {
                Some(
                    FromKind::Source(source) | FromKind::Row { source, .. } | FromKind::Again { source, .. },
                ) => self.of_source(source, column),
                Some(FromKind::Table(TableRef::Table(table))) => of_column(tables, table, column),
                Some(FromKind::Table(TableRef::Itself)) => {
                    itself.map_or(Representation::Text, |table| of_column(tables, table, column))
                }
                Some(FromKind::Embedded(rows)) => self.of_embedded(rows, column),
                Some(FromKind::Values(_)) | None => Representation::Text,
            },
            Expr::Const(literal) => self.of_literal(literal),
            Expr::Given(var) => match &self.column {
                Some(column) if column.var == var => column.representation.clone(),
                Some(_) | None => Representation::Text,
            },
            Expr::Now | Expr::Tag(_) | Expr::Filler | Expr::TypeName(_) | Expr::Unconstrained => {
                Representation::Text
            }
        }
    }

    /// How a column of a relation is represented.
    pub(in crate::sql) fn of_source(&self, source: SourceId, column: ColumnId) -> Representation {
        match self.column_type(source, column) {
            Some(name) => {
                let (ty, declared) = (self.inputs.program.type_id(name), self.bindings.sql_types.get(name));
                Representation::of_column(declared, ty, self.inputs.features)
            }
            None => Representation::Text,
        }
    }

    /// The type of a bound relation's column, by name.
    fn column_type(&self, source: SourceId, column: ColumnId) -> Option<&str> {
        let relation = &self.inputs.catalog.relations[source];
        match relation.source {
            RelationSource::Bound { .. } => {}
            RelationSource::Table { .. } | RelationSource::Context { .. } => return None,
        }
        relation.column(column).map(|(ty, _)| ty)
    }

    /// A literal is a native value if its type has a native representation that it fits; a number that is too
    /// wide for the type is one of the wider type. No text is cast to `citext`.
    fn of_literal(&self, literal: ConstId) -> Representation {
        let Some(literal) = self.inputs.constant(literal) else { return Representation::Text };
        // A type that the policy does not mention has no representation of its own.
        let ty = self.inputs.program.types.find(literal.ty);
        match ty.map(|ty| Representation::of(self.bindings.sql_types.get(&ty.name), None)) {
            Some(Representation::Native(ty)) => match ty.fit(&literal.text) {
                Fit::Value if ty.family == Family::Caseless => Representation::Text,
                Fit::Value => Representation::Native(ty),
                Fit::Wide => Representation::Native(SqlType::numeric()),
                Fit::Text | Fit::Never => Representation::Text,
            },
            Some(
                Representation::Text
                | Representation::Collated
                | Representation::Opaque(_)
                | Representation::Undeclared(_),
            )
            | None => Representation::Text,
        }
    }

    pub(in crate::sql) fn of_embedded(&self, rows: EmbeddedId, column: ColumnId) -> Representation {
        let rows = rows.of(self.embedded).rows.as_deref().unwrap_or_default();
        let values = rows.iter().map(|row| row[column]);
        let each = values.map(|literal| self.of_literal(literal));
        each.reduce(Representation::join).unwrap_or(Representation::Text)
    }

    /// How the columns of each table are represented: natively if every value that goes into them is.
    pub(in crate::sql) fn represent_tables(&self, plan: &Plan) -> Vec<IdVec<ColumnId, Representation>> {
        let mut tables: Vec<IdVec<ColumnId, Representation>> = Vec::new();
        for (id, table) in TableId::enumerate(&plan.tables) {
            let mut columns: IdVec<ColumnId, Option<Representation>> = vec![None; table.n_columns].into();
            if matches!(table.body, TableBody::WholeState { .. }) && self.inputs.features.state == State::Json
            {
                columns = vec![Some(Representation::Text); table.n_columns].into();
            }
            // Each round may turn a column into text, and then it stays text.
            for _ in 0..=table.n_columns {
                tables.truncate(id.index());
                tables.push(
                    columns.iter().map(|known| known.clone().unwrap_or(Representation::Text)).collect(),
                );
                for select in table.body.selects() {
                    self.represent_select(&tables, id, select, &mut columns);
                }
            }
            tables.truncate(id.index());
            tables.push(columns.into_iter().map(|known| known.unwrap_or(Representation::Text)).collect());
        }
        tables
    }

    /// Joins what a select of a table's body puts into its columns.
    fn represent_select(
        &self,
        tables: &[IdVec<ColumnId, Representation>],
        table: TableId,
        select: &Select,
        columns: &mut IdVec<ColumnId, Option<Representation>>,
    ) {
        let scope = SourceScope::of(select);
        let before = columns.clone();
        for (slot, expr) in columns.iter_mut().zip(&select.output) {
            let new = match *expr {
                Expr::Column { alias, column }
                    if scope.kind(alias) == Some(FromKind::Table(TableRef::Itself)) =>
                {
                    before[column].clone()
                }
                expr => Some(match self.represent(tables, Some(table), scope, expr) {
                    Representation::Collated | Representation::Undeclared(_) | Representation::Opaque(_) => {
                        Representation::Text
                    }
                    // In its own type it would equal values that differ in blanks or case, even in a column
                    // of a different type.
                    Representation::Native(ty) if ty.family.is_inexact() => Representation::Text,
                    known @ (Representation::Text | Representation::Native(_)) => known,
                }),
            };
            *slot = match (slot.take(), new) {
                (Some(old), Some(new)) => Some(old.join(new)),
                (old, new) => old.or(new),
            };
        }
    }

    /// The variable whose value a literal is.
    pub(in crate::sql) fn place(&self, literal: ConstId) -> Option<QuestionVarId> {
        self.places.iter().find(|(known, _)| *known == literal).map(|(_, var)| *var)
    }
}

/// The representation of a table's column. The verifier has found that the table has it.
pub(in crate::sql) fn of_column(
    tables: &[IdVec<ColumnId, Representation>],
    table: TableId,
    column: ColumnId,
) -> Representation {
    table.of(tables)[column].clone()
}
