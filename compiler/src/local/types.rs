//! The types of the columns that a part answers with, so that its values are literals of the right type.

use super::split::Residual;
use crate::catalog::{Catalog, RelationArg};
use crate::ir::{Constant, Program, TypeId};
use crate::plan::algebra::{Expr, FromKind, Plan, Select};
use crate::question::{Shape, Slot};
use crate::specialise::clause::{TableRef, constant};
use indexmap::IndexSet;

/// What the types of values depend on.
pub(super) struct Types<'t> {
    pub(super) program: &'t Program,
    pub(super) catalog: &'t Catalog,
    pub(super) constants: &'t IndexSet<Constant>,
    pub(super) shape: &'t Shape,
}

impl Types<'_> {
    /// For each part the types of its columns; `None` where a column holds values of several.
    pub(super) fn of_parts(&self, residual: &Residual) -> Vec<Vec<Option<TypeId>>> {
        residual.parts.iter().map(|part| self.of_answer(&part.plan)).collect()
    }

    fn of_answer(&self, plan: &Plan) -> Vec<Option<TypeId>> {
        let mut tables: Vec<Vec<Option<TypeId>>> = Vec::new();
        for table in &plan.tables {
            // A step adds no type that the base does not have: its columns are the relation's.
            let selects: Vec<&Select> = table.body.selects().collect();
            let column = |column: usize| {
                let mut types = selects.iter().filter_map(|select| {
                    let expr = *select.output.get(column)?;
                    self.of_expr(select, expr, &tables)
                });
                let first = types.next()?;
                types.all(|ty| ty == first).then_some(first).flatten()
            };
            let columns = (0..table.n_columns).map(column).collect();
            tables.push(columns);
        }
        let select = plan.answer.selects().first();
        select.map_or_else(Vec::new, |select| {
            let types = select.output.iter().map(|expr| self.of_expr(select, *expr, &tables).flatten());
            types.collect()
        })
    }

    /// The type of a value: `None` if it says nothing, as a fixpoint's own column; `Some(None)` for several.
    fn of_expr(&self, select: &Select, expr: Expr, tables: &[Vec<Option<TypeId>>]) -> Option<Option<TypeId>> {
        match expr {
            Expr::Column { alias, column } => {
                let from = select.from.iter().find(|from| from.alias == alias)?;
                match from.kind {
                    FromKind::Source(source) => {
                        let args = &self.catalog.relations.get(source)?.args;
                        let mut columns = args.iter().filter_map(|arg| match arg {
                            RelationArg::Column { ty, .. } => Some(ty),
                            RelationArg::Constant { .. } => None,
                        });
                        Some(columns.nth(column).and_then(|ty| self.program.type_id(ty)))
                    }
                    FromKind::Table(TableRef::Itself) => None,
                    FromKind::Table(TableRef::Table(table)) => {
                        Some(tables.get(table).and_then(|columns| columns.get(column).copied()).flatten())
                    }
                    FromKind::Values(Slot::OneOf(var) | Slot::Given(var)) => {
                        Some(self.shape.vars.get(var).and_then(|var| var.ty))
                    }
                    FromKind::Values(Slot::Context(_) | Slot::Now | Slot::PageAfter | Slot::PageLimit)
                    | FromKind::Embedded(_)
                    | FromKind::Row(_) => Some(None),
                }
            }
            Expr::Const(literal) => Some(constant(self.program, self.constants, literal).map(|held| held.ty)),
            Expr::Given(var) => Some(self.shape.vars.get(var).and_then(|var| var.ty)),
            Expr::Now => Some(Some(TypeId::INTEGER)),
            Expr::Tag(_) | Expr::TypeName(_) | Expr::Unconstrained => Some(None),
        }
    }
}
