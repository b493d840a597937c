//! Which comparisons go through text, and why.
//!
//! The conditions are those under which [`Lowering::compared`](crate::sql::lower::Lowering) and its
//! neighbours print a cast. Only ids count: a role's name narrows nothing down.

use super::report::{BoundColumn, CastReason, SlowPart};
use super::walk::Walk;
use crate::algebra::{Expr, FromKind};
use crate::bindings::{Family, Fit};
use crate::ir::{CompareOp, ConstId};
use crate::primitive::Primitive;
use crate::sql::at::At;
use crate::sql::representation::Representation;
use crate::sql::strategy::{ComparisonStrategy, SetPart};

impl Walk<'_, '_> {
    /// A comparison of two values.
    pub(super) fn compared(&mut self, at: At<'_>, op: CompareOp, left: Expr, right: Expr) {
        if !matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
            return;
        }
        match (left, right) {
            (Expr::Const(_), Expr::Const(_)) => {}
            (Expr::Const(literal), value) | (value, Expr::Const(literal)) => {
                self.one_of(at, value, &[literal]);
            }
            (left, right) => {
                let of_left = self.lowering.represent(at, left);
                let of_right = self.lowering.represent(at, right);
                match ComparisonStrategy::of(op, &of_left, &of_right) {
                    ComparisonStrategy::Native => {}
                    ComparisonStrategy::NativeAndText if of_left.is_caseless() => {}
                    ComparisonStrategy::Text | ComparisonStrategy::NativeAndText => {
                        self.cast(at, left, &of_left);
                        self.cast(at, right, &of_right);
                    }
                }
            }
        }
    }

    /// A comparison with literals.
    pub(super) fn one_of(&mut self, at: At<'_>, value: Expr, literals: &[ConstId]) {
        let representation = self.lowering.represent(at, value);
        let text = |literal: &ConstId| self.lowering.inputs.literal_text(*literal).ok();
        let is_cast = match &representation {
            Representation::Native(ty) => {
                literals.iter().filter_map(text).any(|text| ty.fit(text) == Fit::Text)
            }
            Representation::Undeclared(ty) => {
                !self.lowering.suffice_untyped(*ty, literals).unwrap_or_default()
            }
            Representation::Opaque(_) => true,
            Representation::Text | Representation::Collated => false,
        };
        if is_cast {
            self.cast(at, value, &representation);
        }
    }

    /// A look-up in the parts of a set.
    pub(super) fn in_parts(&mut self, at: At<'_>, value: Expr, parts: &[SetPart<'_>]) {
        for part in parts {
            match part.comparison {
                ComparisonStrategy::Native | ComparisonStrategy::NativeAndText => {}
                ComparisonStrategy::Text => self.cast(at, value, &self.lowering.represent(at, value)),
            }
        }
    }

    /// Notes that a value is compared as text, if it is a column with ids.
    fn cast(&mut self, at: At<'_>, value: Expr, representation: &Representation) {
        let Some((column, ty)) = self.id_column(at, value) else { return };
        let reason = match representation {
            Representation::Undeclared(_) => CastReason::Undeclared,
            Representation::Opaque(_) => {
                let declared = self.lowering.target.caller.bindings.sql_types.get(&ty);
                let declared = declared.map(|declared| declared.name.clone()).unwrap_or_default();
                CastReason::Opaque { declared }
            }
            Representation::Native(ty) if ty.family == Family::Padded => {
                CastReason::Opaque { declared: ty.name.clone() }
            }
            Representation::Native(_) => CastReason::Mixed,
            Representation::Text | Representation::Collated => return,
        };
        self.slow(SlowPart::Cast { column, ty, reason });
    }

    /// The column with ids that a value is, and their type.
    fn id_column(&self, at: At<'_>, value: Expr) -> Option<(Option<BoundColumn>, String)> {
        let (column, ty) = match value {
            Expr::Given(var) => {
                let column = self.column.filter(|column| column.var == var)?;
                (None, column.ty.to_owned())
            }
            Expr::Column { alias, column } => match at.scope.kind(alias)? {
                FromKind::Source(source) | FromKind::Row { source, .. } | FromKind::Again { source, .. } => {
                    let relation = &self.lowering.inputs.catalog.relations[source];
                    let (ty, _) = relation.column(column)?;
                    (Some(BoundColumn { binding: self.binding(source)?, column }), ty.to_owned())
                }
                FromKind::Table(_) | FromKind::Values(_) | FromKind::Embedded(_) => return None,
            },
            Expr::Const(_)
            | Expr::Now
            | Expr::Tag(_)
            | Expr::Filler
            | Expr::TypeName(_)
            | Expr::Unconstrained => {
                return None;
            }
        };
        Primitive::named(&ty).is_none().then_some((column, ty))
    }
}
