//! How values are represented in SQL, and how they become text.
//!
//! The store compares values in their compact form (see `compact`). A caller's database keeps ids in columns
//! of its own types: the type that the bindings declare decides whether values are compared natively, so that
//! indexes can be used, or as text.

use super::build;
use crate::bindings::{Family, SqlType};
use crate::dialect::Features;
use crate::ir::TypeId;
use sqlparser::ast::{BinaryOperator, Expr as Sql};

/// How a value is represented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Representation {
    /// As text that this statement makes.
    Text,
    /// As a value of this SQL type.
    Native(SqlType),
    /// In a caller's text column, whose collation may treat different texts as equal.
    Collated,
    /// In a caller's column with values of this type, whose SQL type is declared and must be compared as
    /// text.
    Opaque(Option<TypeId>),
    /// In a caller's column with values of this type, whose SQL type is not declared.
    Undeclared(Option<TypeId>),
}

/// Whose column a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnOf {
    /// The caller's query: the database knows its type, and an operator that the type does not have is an
    /// error.
    Caller,
    /// A table of the statement, into which values may have been cast. A wrong cast fails when it is
    /// evaluated, so no condition may let the database skip it.
    Table,
}

impl Representation {
    /// How a caller's column represents the values of a type, given the SQL type that is declared for it.
    pub(super) fn of_column(declared: Option<&SqlType>, ty: Option<TypeId>, features: &Features) -> Self {
        match Self::of(declared, ty) {
            Self::Native(ty) if ty.family == Family::Text && features.columns_are_collated => Self::Collated,
            representation => representation,
        }
    }

    /// How a literal represents a value of a type, given the SQL type that is declared for it.
    pub(super) fn of(declared: Option<&SqlType>, ty: Option<TypeId>) -> Self {
        let Some(declared) = declared else { return Self::Undeclared(ty) };
        match declared.family {
            Family::Integer
            | Family::Numeric
            | Family::IntegerAffinity
            | Family::Text
            | Family::Padded
            | Family::Caseless
            | Family::Uuid => Self::Native(declared.clone()),
            Family::Other => Self::Opaque(ty),
            Family::Ambiguous => Self::Undeclared(ty),
        }
    }

    /// The representation of a column that holds values of both.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Native(one), Self::Native(other)) => match one.family.join(other.family) {
                Some(family) if family == one.family => Self::Native(one),
                Some(_) => Self::Native(SqlType::numeric()),
                None => Self::Text,
            },
            (Self::Undeclared(one), Self::Undeclared(other)) if one == other => Self::Undeclared(one),
            (Self::Opaque(one), Self::Opaque(other)) if one == other => Self::Opaque(one),
            (Self::Text | Self::Native(_) | Self::Collated | Self::Undeclared(_) | Self::Opaque(_), _) => {
                Self::Text
            }
        }
    }

    /// Whether two values compare without a cast.
    pub(super) fn compares_natively_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Native(one), Self::Native(other)) => one.family.join(other.family).is_some(),
            (Self::Collated, other) | (other, Self::Collated) => other.is_text(),
            (Self::Text | Self::Native(_) | Self::Undeclared(_) | Self::Opaque(_), _) => false,
        }
    }

    /// Whether the database ignores case in comparisons.
    pub(super) fn is_caseless(&self) -> bool {
        self.is_of(Family::Caseless)
    }

    /// Whether `=` may hold for different values. It can use an index, but needs a second comparison
    /// [by bytes](Self::as_text).
    pub(super) fn is_inexact(&self) -> bool {
        self.is_inexact_type() || *self == Self::Collated
    }

    /// Whether `=` of the declared type may hold for different values.
    pub(super) fn is_inexact_type(&self) -> bool {
        matches!(self, Self::Native(ty) if ty.family.is_inexact())
    }

    /// Whether the database compares the values as texts without a cast.
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text | Self::Collated) || self.is_of(Family::Text)
    }

    /// Whether the values are in columns that are declared as integers of at most 64 bits.
    pub(super) fn is_integer(&self) -> bool {
        self.is_of(Family::Integer)
    }

    /// Whether equal values have one text, and other values have others.
    pub(super) fn has_one_text(&self) -> bool {
        self.is_of(Family::Integer) || self.is_of(Family::Uuid)
    }

    fn is_of(&self, family: Family) -> bool {
        match self {
            Self::Native(ty) => ty.family == family,
            Self::Text | Self::Collated | Self::Undeclared(_) | Self::Opaque(_) => false,
        }
    }

    /// What to look up in a set. For a collated column: the column, which can use its index, and its bytes,
    /// which decide.
    pub(super) fn looked_up(&self, value: Sql, features: &Features) -> Vec<Sql> {
        match self {
            Self::Collated => vec![value.clone(), self.as_text(value, features)],
            Self::Text | Self::Native(_) | Self::Undeclared(_) | Self::Opaque(_) => vec![value],
        }
    }

    /// A value as text, which is compared by its bytes.
    pub(super) fn as_text(&self, value: Sql, features: &Features) -> Sql {
        match self {
            Self::Text => value,
            Self::Undeclared(Some(TypeId::BOOLEAN)) | Self::Opaque(Some(TypeId::BOOLEAN))
                if features.boolean_is_number =>
            {
                build::case(bytes(value, features), &[("1", "true"), ("0", "false")])
            }
            Self::Native(_) | Self::Collated | Self::Undeclared(_) | Self::Opaque(_) => {
                bytes(value, features)
            }
        }
    }
}

/// A column's value as text: `CAST(value AS TEXT)`, or `value || ''` where a cast would keep the column's
/// collation.
pub(super) fn bytes(value: Sql, features: &Features) -> Sql {
    if features.columns_are_collated {
        build::binary(value, BinaryOperator::StringConcat, build::lit(""))
    } else {
        build::cast(value, "TEXT")
    }
}
