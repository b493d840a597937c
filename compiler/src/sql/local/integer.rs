//! Integers in an order comparison.
//!
//! A policy's integers are texts of one form each, `7` and never `07`. A caller's column may hold anything. A
//! value of a different form is not an integer, and its row is ignored: it is NULL here, and its comparison
//! is false, so that the statement does not fail. A column that is declared as an integer of at most 64 bits
//! is compared as it is.

use super::target::Local;
use crate::algebra::{Expr, FromKind};
use crate::bindings::Family;
use crate::dialect::IntegerTest;
use crate::question::{CompileError, Slot};
use crate::sql::at::At;
use crate::sql::build;
use crate::sql::lower::Lowering;
use crate::sql::printing::Printing;
use crate::sql::representation::{Representation, bytes};
use sqlparser::ast::{BinaryOperator, Expr as Sql};

/// Canonical integers, and the most bytes that one of 64 bits has.
const PATTERN: &str = "0|-?[1-9][0-9]*";
const MOST_BYTES: i64 = 20;

impl Lowering<'_, Local<'_>> {
    /// A value as an integer, NULL if it is not one.
    pub(in crate::sql) fn integer(&mut self, at: At<'_>, expr: Expr) -> Result<Sql, CompileError> {
        let is_ours = match expr {
            Expr::Const(literal) => {
                let number = self.inputs.literal_text(literal)?.parse();
                return Ok(number.map_or_else(|_| build::null(), build::number));
            }
            Expr::Now => return self.value(Slot::Now),
            // The store holds integers in no other form.
            Expr::Column { alias, .. } => {
                matches!(at.scope.kind(alias), Some(FromKind::Embedded(_) | FromKind::Values(_)))
            }
            Expr::Given(_) | Expr::Tag(_) | Expr::Filler | Expr::TypeName(_) | Expr::Unconstrained => false,
        };
        let representation = self.represent(at, expr);
        let value = self.expr(at, expr)?;
        match representation {
            Representation::Native(ty) if ty.family == Family::Integer => return Ok(value),
            Representation::Text
            | Representation::Native(_)
            | Representation::Collated
            | Representation::Undeclared(_)
            | Representation::Opaque(_) => {}
        }
        if is_ours {
            return Ok(build::cast(value, self.inputs.features.integer));
        }
        let text = bytes(value, self.inputs.features);
        Ok(match self.inputs.features.integer_test {
            IntegerTest::RoundTrip => {
                let number = build::cast(text.clone(), self.inputs.features.integer);
                let again = build::cast(number.clone(), "TEXT");
                build::only_if(build::binary(again, BinaryOperator::Eq, text), number)
            }
            IntegerTest::Pattern => {
                let length = build::call("length", vec![text.clone()]);
                let is_short = build::binary(length, BinaryOperator::LtEq, build::number(MOST_BYTES));
                let test = build::all(vec![build::similar(text.clone(), PATTERN), is_short]);
                // Twenty bytes may still be too much for 64 bits. The cast is safe only inside the first
                // test.
                let number = build::cast(text, "NUMERIC");
                let is_in_range = build::between(number.clone(), i64::MIN, i64::MAX);
                build::only_if(test, build::only_if(is_in_range, number))
            }
        })
    }
}
