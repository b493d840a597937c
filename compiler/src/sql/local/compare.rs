//! Comparisons of values that are represented in different ways.
//!
//! A literal that is not a value of a column's type equals no value of the column. That is decided here, so
//! the statement never fails because of it.

use super::target::Local;
use crate::algebra::Expr;
use crate::bindings::{Family, Fit, SqlType, is_uuid, is_whole};
use crate::dialect::Features;
use crate::ir::{CompareOp, ConstId, TypeId};
use crate::question::CompileError;
use crate::sql::at::At;
use crate::sql::build;
use crate::sql::lower::Lowering;
use crate::sql::printing::Printing;
use crate::sql::representation::{ColumnOf, Representation};
use crate::sql::strategy::ComparisonStrategy;
use sqlparser::ast::{BinaryOperator, Expr as Sql};

impl Lowering<'_, Local<'_>> {
    /// `left op right`, for values in any representation.
    pub(in crate::sql) fn compared(
        &mut self,
        at: At<'_>,
        op: CompareOp,
        left: Expr,
        right: Expr,
    ) -> Result<Sql, CompileError> {
        let operator = build::operator(op);
        if !matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
            return self.ordered(at, operator, left, right);
        }
        match (left, right) {
            (Expr::Const(_), Expr::Const(_)) => {}
            (Expr::Const(literal), value) | (value, Expr::Const(literal)) => {
                let (representation, column_of) = (self.represent(at, value), at.column_of(value));
                let value = self.expr(at, value)?;
                return match op {
                    CompareOp::NotEqual => self.unequal(value, &representation, column_of, literal),
                    _ => self.one_of(value, &representation, column_of, &[literal]),
                };
            }
            _ => {}
        }
        let (of_left, of_right) = (self.represent(at, left), self.represent(at, right));
        let are_of_caller = at.are_in_callers_tables([left, right]);
        let (left, right) = (self.expr(at, left)?, self.expr(at, right)?);
        let features = self.inputs.features;
        let as_text = |left, right| {
            build::binary(
                of_left.as_text(left, features),
                operator.clone(),
                of_right.as_text(right, features),
            )
        };
        Ok(match ComparisonStrategy::of(op, &of_left, &of_right) {
            ComparisonStrategy::NativeAndText => {
                let same = as_text(left.clone(), right.clone());
                build::nested(build::all(vec![build::binary(left, operator, right), same]))
            }
            ComparisonStrategy::Text => as_text(left, right),
            // Two columns of a type whose operators are not those of text would compare by that type's.
            ComparisonStrategy::Native if are_of_caller && features.strict_types && of_right.is_text() => {
                build::binary(left, operator, build::cast(right, "TEXT"))
            }
            ComparisonStrategy::Native => build::binary(left, operator, right),
        })
    }

    /// `left op right`, for integers. What is not an integer in its one form is false in any order, and not
    /// NULL: a denial of it holds.
    fn ordered(
        &mut self,
        at: At<'_>,
        operator: BinaryOperator,
        left: Expr,
        right: Expr,
    ) -> Result<Sql, CompileError> {
        let are_of_caller = at.are_in_callers_tables([left, right]);
        let is_native = self.represent(at, right).is_integer();
        let (left, right) = (self.integer(at, left)?, self.integer(at, right)?);
        let Features { strict_types, integer, .. } = *self.inputs.features;
        // Two columns of text would compare as text; a text and an integer are an error.
        let is_cast = are_of_caller && is_native && strict_types;
        let may_be_null = [&left, &right].into_iter().any(build::is_conditional);
        let compared =
            build::binary(left, operator, if is_cast { build::cast(right, integer) } else { right });
        Ok(if may_be_null { build::is_true(build::nested(compared)) } else { compared })
    }

    /// `value IN (…)`, for a value in any representation.
    pub(in crate::sql) fn one_of(
        &mut self,
        value: Sql,
        representation: &Representation,
        column_of: ColumnOf,
        literals: &[ConstId],
    ) -> Result<Sql, CompileError> {
        let features = self.inputs.features;
        match representation {
            Representation::Native(ty) => self.one_of_type(value, ty, column_of, literals),
            Representation::Text
            | Representation::Collated
            | Representation::Undeclared(_)
            | Representation::Opaque(_) => {
                let list = literals.iter().map(|literal| self.literal(*literal));
                let list: Vec<Sql> = list.collect::<Result<_, _>>()?;
                let is_indexed = match representation {
                    Representation::Undeclared(ty) => self.suffice_untyped(*ty, literals)?,
                    _ => *representation == Representation::Collated,
                };
                let text = representation.as_text(value.clone(), features);
                let exact = build::equals_one(text, list.clone());
                Ok(if is_indexed {
                    build::nested(build::all(vec![build::equals_one(value, list), exact]))
                } else {
                    exact
                })
            }
        }
    }

    /// `value IN (…)`, for a value of an SQL type: each literal as it fits the type.
    fn one_of_type(
        &self,
        value: Sql,
        ty: &SqlType,
        column_of: ColumnOf,
        literals: &[ConstId],
    ) -> Result<Sql, CompileError> {
        let (mut values, mut wide, mut texts, mut fits) = (Vec::new(), Vec::new(), Vec::new(), true);
        let mut exact = Vec::new();
        for literal in literals {
            match ty.fit(self.inputs.literal_text(*literal)?) {
                Fit::Value => {
                    values.push(self.native(ty, *literal)?);
                    exact.extend(ty.family.is_inexact().then(|| self.literal(*literal)).transpose()?);
                }
                Fit::Wide => wide.push(self.native(ty, *literal)?),
                Fit::Text => texts.push(self.literal(*literal)?),
                Fit::Never => fits = false,
            }
        }
        // A number or a typed literal is an error in a column of a different family.
        let is_checked = !(values.is_empty() && wide.is_empty());
        if let Some(first) = values.first_mut() {
            *first = self.typed(ty, first.clone());
        }
        let text = Representation::Native(ty.clone()).as_text(value.clone(), self.inputs.features);
        let mut any = Vec::new();
        if !exact.is_empty() {
            // The indexed comparison ignores blanks at the end, or case; the one as text does not.
            let same = build::equals_one(text.clone(), exact);
            let indexed = build::equals_one(value.clone(), std::mem::take(&mut values));
            any.push(build::nested(build::all(vec![indexed, same])));
        }
        for (value, list) in [(value.clone(), values), (value.clone(), wide), (text, texts)] {
            if !list.is_empty() {
                any.push(build::equals_one(value, list));
            }
        }
        if !fits && !is_checked {
            any.extend(self.never(value, ty, column_of));
        }
        Ok(build::any(any))
    }

    /// A text literal with its type: a bare one would take the type of its column, and could then equal
    /// another id (`'05'` an integer `5`, `'HR'` a citext `hr`). One in a list is enough. A literal for a
    /// declared `citext` stays bare, since the texts are compared, too.
    fn typed(&self, ty: &SqlType, literal: Sql) -> Sql {
        let is_quoted = matches!(ty.family, Family::Text | Family::Padded | Family::Uuid);
        if is_quoted && self.inputs.features.strict_types { build::cast(literal, &ty.name) } else { literal }
    }

    /// `(value = 0 AND FALSE)`, or `value <> value`: true for no row, and an error if the column is of
    /// a different family, in which the literal might be a value.
    fn never(&self, value: Sql, ty: &SqlType, column_of: ColumnOf) -> Option<Sql> {
        let some = match ty.family {
            Family::Integer | Family::Numeric => build::number(0),
            Family::Uuid => build::cast(build::lit("00000000-0000-0000-0000-000000000000"), &ty.name),
            Family::IntegerAffinity
            | Family::Text
            | Family::Padded
            | Family::Caseless
            | Family::Other
            | Family::Ambiguous => return None,
        };
        self.inputs.features.strict_types.then(|| match column_of {
            ColumnOf::Caller => {
                let equal = build::binary(value, BinaryOperator::Eq, some);
                build::nested(build::all(vec![equal, build::boolean(false)]))
            }
            ColumnOf::Table => build::nested(build::binary(value.clone(), BinaryOperator::NotEq, value)),
        })
    }

    /// `value <> literal`, for a value in any representation.
    fn unequal(
        &self,
        value: Sql,
        representation: &Representation,
        column_of: ColumnOf,
        literal: ConstId,
    ) -> Result<Sql, CompileError> {
        let features = self.inputs.features;
        let unequal = |left, right| build::binary(left, BinaryOperator::NotEq, right);
        let Representation::Native(ty) = representation else {
            return Ok(unequal(representation.as_text(value, features), self.literal(literal)?));
        };
        Ok(match ty.fit(self.inputs.literal_text(literal)?) {
            Fit::Value | Fit::Wide if !ty.family.is_inexact() => {
                unequal(value, self.typed(ty, self.native(ty, literal)?))
            }
            Fit::Value | Fit::Wide | Fit::Text => {
                unequal(representation.as_text(value, features), self.literal(literal)?)
            }
            Fit::Never => self.never(value, ty, column_of).map_or_else(|| build::boolean(true), build::not),
        })
    }

    /// Whether literals may take their type from the column that they are compared with, so that an index can
    /// be used. A small number or a UUID is a value of any column that contains such values; anything else is
    /// compared as text, since the database would refuse it. Only a text column holds both numbers and UUIDs,
    /// and a String or Boolean may be an enumeration. A value of a different type may equal the literal
    /// without being the same id, as a date does `20240101`, so the text is compared as well.
    pub(in crate::sql) fn suffice_untyped(
        &self,
        ty: Option<TypeId>,
        literals: &[ConstId],
    ) -> Result<bool, CompileError> {
        let (mut numbers, mut uuids) = (true, true);
        for literal in literals {
            let text = self.inputs.literal_text(*literal)?;
            numbers &= is_small_number(text);
            uuids &= is_uuid(text);
        }
        let is_id = !matches!(ty, Some(TypeId::STRING | TypeId::BOOLEAN));
        Ok(self.inputs.features.literals_are_untyped && is_id && (numbers || uuids))
    }
}

/// A canonical number that every integer type of four bytes holds.
pub(crate) fn is_small_number(text: &str) -> bool {
    is_whole(text) && text.strip_prefix('-').unwrap_or(text).len() <= 9
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
