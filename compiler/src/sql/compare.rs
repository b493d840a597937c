//! Comparisons of values that are held in different ways.
//!
//! A literal that is no value of a column's type can equal none of its values; that is decided here, and the
//! statement never fails over it.

use super::build;
use super::held::Held;
use super::lower::{Lowering, Sources};
use crate::bindings::{Family, SqlType};
use crate::ir::{CompareOp, ConstId, TypeId};
use crate::plan::algebra::Expr;
use crate::question::CompileError;
use sqlparser::ast::{BinaryOperator, Expr as Sql};

impl Lowering<'_> {
    /// `left op right`, for values held in any way.
    pub(super) fn compared(
        &mut self,
        sources: &Sources,
        op: CompareOp,
        left: Expr,
        right: Expr,
    ) -> Result<Sql, CompileError> {
        let operator = match op {
            CompareOp::Equal => BinaryOperator::Eq,
            CompareOp::NotEqual => BinaryOperator::NotEq,
            CompareOp::Less => BinaryOperator::Lt,
            CompareOp::LessOrEqual => BinaryOperator::LtEq,
            CompareOp::Greater => BinaryOperator::Gt,
            CompareOp::GreaterOrEqual => BinaryOperator::GtEq,
        };
        if !matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
            return Ok(build::binary(self.integer(sources, left)?, operator, self.integer(sources, right)?));
        }
        match (left, right) {
            (Expr::Const(_), Expr::Const(_)) => {}
            (Expr::Const(literal), value) | (value, Expr::Const(literal)) => {
                let held = self.held(sources, value);
                let value = self.expr(sources, value)?;
                return match op {
                    CompareOp::NotEqual => self.unequal(value, &held, literal),
                    _ => self.one_of(value, &held, &[literal]),
                };
            }
            _ => {}
        }
        let (held_left, held_right) = (self.held(sources, left), self.held(sources, right));
        let (left, right) = (self.expr(sources, left)?, self.expr(sources, right)?);
        let (left, right) = match (&held_left, &held_right) {
            (Held::Text, Held::Text) => (left, right),
            (Held::Native(one), Held::Native(other)) if comparable(one, other) => (left, right),
            _ => (self.as_text(left, &held_left), self.as_text(right, &held_right)),
        };
        Ok(build::binary(left, operator, right))
    }

    /// `value IN (…)`, for a value held in any way.
    pub(super) fn one_of(
        &mut self,
        value: Sql,
        held: &Held,
        literals: &[ConstId],
    ) -> Result<Sql, CompileError> {
        let mut list = Vec::with_capacity(literals.len());
        let value = match held {
            Held::Native(ty) => {
                for literal in literals {
                    if ty.admits(self.literal_text(*literal)?) {
                        list.push(self.native(ty, *literal)?);
                    }
                }
                value
            }
            Held::Untold(ty) if self.suffice_untyped(*ty, literals)? => {
                let exact = self.as_text(value.clone(), held);
                let one = self.one_of(value, &Held::Text, literals)?;
                let exact = self.one_of(exact, &Held::Text, literals)?;
                return Ok(build::nested(build::all(vec![one, exact])));
            }
            Held::Text | Held::Untold(_) => {
                for literal in literals {
                    list.push(self.literal(*literal)?);
                }
                self.as_text(value, held)
            }
        };
        let mut list = list.into_iter();
        Ok(match (list.next(), list.len()) {
            (None, _) => build::boolean(false),
            (Some(only), 0) => build::binary(value, BinaryOperator::Eq, only),
            (Some(first), _) => build::in_list(value, std::iter::once(first).chain(list).collect()),
        })
    }

    /// `value <> literal`, for a value held in any way.
    fn unequal(&self, value: Sql, held: &Held, literal: ConstId) -> Result<Sql, CompileError> {
        Ok(match held {
            Held::Native(ty) if ty.admits(self.literal_text(literal)?) => {
                build::binary(value, BinaryOperator::NotEq, self.native(ty, literal)?)
            }
            Held::Native(_) => build::boolean(true),
            Held::Text | Held::Untold(_) => {
                build::binary(self.as_text(value, held), BinaryOperator::NotEq, self.literal(literal)?)
            }
        })
    }

    /// Whether literals may take their type from the column that they are compared with, so that an index
    /// serves: what looks like a small number or a UUID is one wherever the column holds such, and what does
    /// not is compared as text, since the database would refuse it. Numbers beside UUIDs are in no column but
    /// one of text, and a String or Boolean may well be an enumeration. What is equal as a value of another
    /// type, as `20240101` to a date, is not the same id: the text is compared beside.
    fn suffice_untyped(&self, ty: Option<TypeId>, literals: &[ConstId]) -> Result<bool, CompileError> {
        let (mut numbers, mut uuids) = (true, true);
        for literal in literals {
            let text = self.literal_text(*literal)?;
            numbers &= is_small_number(text);
            uuids &= is_uuid(text);
        }
        let is_id = !matches!(ty, Some(TypeId::STRING | TypeId::BOOLEAN));
        Ok(self.features.literals_are_untyped && is_id && (numbers || uuids))
    }
}

/// Whether values of two types compare without a cast.
fn comparable(left: &SqlType, right: &SqlType) -> bool {
    match (left.family, right.family) {
        (Family::Integer { .. }, Family::Integer { .. })
        | (Family::Uuid, Family::Uuid)
        | (Family::Padded, Family::Padded) => true,
        (Family::Integer { .. } | Family::Uuid | Family::Padded | Family::Text | Family::Other, _) => false,
    }
}

/// A canonical number that every integer type of four bytes holds.
pub(crate) fn is_small_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = digits == "0" && text == "0" || !digits.is_empty() && !digits.starts_with('0');
    canonical && digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A UUID in canonical form.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_numbers_and_uuids_are_left_untyped() {
        for text in ["0", "7", "-7", "999999999"] {
            assert!(is_small_number(text), "{text}");
        }
        for text in ["", "-", "-0", "00", "01", "+1", " 1", "1 ", "1.0", "1e3", "9999999999", "hr", "١"] {
            assert!(!is_small_number(text), "{text}");
        }
        assert!(is_uuid("018f3c2e-7b1a-7c3d-9e4f-0123456789ab"));
        for text in ["018F3C2E-7B1A-7C3D-9E4F-0123456789AB", "{018f3c2e-7b1a-7c3d-9e4f-0123456789}", "-"] {
            assert!(!is_uuid(text), "{text}");
        }
    }
}
