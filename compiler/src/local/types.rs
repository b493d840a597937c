//! The types of the columns that a part answers with, so that its values are literals of the right type.

use super::split::Residual;
use crate::algebra::TableRef;
use crate::algebra::{Expr, FromKind, Plan, Select};
use crate::catalog::{Catalog, SourceId};
use crate::datalog::constant;
use crate::ir::{Constant, Program, TypeId};
use crate::question::{Shape, Slot};
use indexmap::IndexSet;

/// What the types of values depend on.
pub(super) struct Types<'t> {
    pub(super) program: &'t Program,
    pub(super) catalog: &'t Catalog,
    pub(super) constants: &'t IndexSet<Constant>,
    pub(super) shape: &'t Shape,
}

/// What an expression says of the type of its values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    /// Nothing: a fixpoint's own column has the type that the base gives it.
    Nothing,
    /// All are of this type.
    One(TypeId),
    /// They are of several types, or of one that the policy does not know.
    Several,
}

impl Said {
    fn of(ty: Option<TypeId>) -> Self {
        ty.map_or(Self::Several, Self::One)
    }

    fn ty(self) -> Option<TypeId> {
        match self {
            Self::One(ty) => Some(ty),
            Self::Nothing | Self::Several => None,
        }
    }
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
                let said = selects.iter().filter_map(|select| {
                    let expr = *select.output.get(column)?;
                    Some(self.of_expr(select, expr, &tables))
                });
                let mut said = said.filter(|said| *said != Said::Nothing);
                let first = said.next()?;
                said.all(|other| other == first).then_some(first)?.ty()
            };
            let columns = (0..table.n_columns).map(column).collect();
            tables.push(columns);
        }
        let select = plan.answer.selects().first();
        select.map_or_else(Vec::new, |select| {
            let types = select.output.iter().map(|expr| self.of_expr(select, *expr, &tables).ty());
            types.collect()
        })
    }

    fn of_expr(&self, select: &Select, expr: Expr, tables: &[Vec<Option<TypeId>>]) -> Said {
        match expr {
            Expr::Column { alias, column } => {
                let from = select.from.iter().find(|from| from.alias == alias);
                match from.map(|from| from.kind) {
                    Some(FromKind::Source(source)) => Said::of(self.of_source(source, column)),
                    Some(FromKind::Table(TableRef::Table(table))) => {
                        Said::of(table.of(tables).get(column).copied().flatten())
                    }
                    Some(FromKind::Values(Slot::OneOf(var) | Slot::Given(var))) => Said::of(self.of_var(var)),
                    Some(
                        FromKind::Values(
                            Slot::Context(_)
                            | Slot::TypeOf(_)
                            | Slot::Now
                            | Slot::PageAfter
                            | Slot::PageLimit,
                        )
                        | FromKind::Embedded(_)
                        | FromKind::Row { .. }
                        | FromKind::Again { .. },
                    ) => Said::Several,
                    Some(FromKind::Table(TableRef::Itself)) | None => Said::Nothing,
                }
            }
            Expr::Const(literal) => {
                Said::of(constant(self.program, self.constants, literal).map(|held| held.ty))
            }
            Expr::Given(var) => Said::of(self.of_var(var)),
            Expr::Now => Said::One(TypeId::INTEGER),
            Expr::Tag(_) | Expr::TypeName(_) | Expr::Unconstrained => Said::Several,
        }
    }

    fn of_source(&self, source: SourceId, column: usize) -> Option<TypeId> {
        let (ty, _) = self.catalog.relation(source).columns().nth(column)?;
        self.program.type_id(ty)
    }

    fn of_var(&self, var: usize) -> Option<TypeId> {
        self.shape.vars.get(var).and_then(|var| var.ty)
    }
}
