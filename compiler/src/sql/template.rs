//! SQL with places for the values of a question.
//!
//! In: a statement as `layout` prints it, with a mark where the literal of a value goes. Out: a [`Template`],
//! which gives the text of every question whose values are spelled in its places. A mark begins and ends with
//! NUL, which no text of a caller's can hold: our literals escape it, and queries, columns and names with it
//! are refused.

use super::build;
use super::lower::Lowering;
use crate::bindings::{Family, SqlType};
use crate::datalog::constant;
use crate::dialect::Escapes;
use crate::ir::ConstId;
use crate::question::{CompileError, Domain, Question};
use sqlparser::ast::Expr as Sql;

/// What stands before and behind a mark.
const MARK: char = '\0';

/// A literal that is a value of the question: which variable's.
pub(crate) type Place = (ConstId, usize);

/// A statement in which only the question's values are left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
    escapes: Escapes,
}

/// A part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// The value of a variable.
    Value {
        var: usize,
        spelling: Spelling,
    },
}

/// How a value is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// As it is.
    Number,
    /// As a text.
    Quoted,
}

impl Template {
    /// Finds the marks in a statement that is laid out.
    pub(super) fn of(text: &str, escapes: Escapes) -> Self {
        let mut pieces = Vec::new();
        for (at, part) in text.split(MARK).enumerate() {
            let place = part.split_at_checked(1).and_then(|(spelling, var)| match spelling {
                "n" => Some((Spelling::Number, var.parse().ok()?)),
                "q" => Some((Spelling::Quoted, var.parse().ok()?)),
                _ => None,
            });
            match place {
                Some((spelling, var)) if at % 2 == 1 => pieces.push(Piece::Value { var, spelling }),
                _ => pieces.push(Piece::Text(part.to_owned())),
            }
        }
        Self { pieces, escapes }
    }

    /// The text for a question; `None` if it gives no value where one goes.
    pub fn text(&self, question: &Question) -> Option<String> {
        let mut text = String::with_capacity(self.n_bytes());
        for piece in &self.pieces {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Value { var, spelling } => match (&question.vars.get(*var)?.domain, spelling) {
                    (Domain::Given(value), Spelling::Number) => text.push_str(value),
                    (Domain::Given(value), Spelling::Quoted) => {
                        text.push_str(&build::plain_lit(value, self.escapes).to_string());
                    }
                    _ => return None,
                },
            }
        }
        Some(text)
    }

    /// About how much memory it takes.
    pub fn n_bytes(&self) -> usize {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.len() + 64,
            Piece::Value { .. } => 64,
        };
        self.pieces.iter().map(piece).sum()
    }
}

impl Lowering<'_> {
    /// A literal as a text.
    pub(super) fn literal(&self, literal: ConstId) -> Result<Sql, CompileError> {
        if let Some(var) = self.place(literal) {
            return Ok(build::placeholder(format!("{MARK}q{var}{MARK}")));
        }
        let text = self.literal_text(literal)?;
        Ok(if self.features.compact_values { build::compact(text) } else { self.lit(text) })
    }

    /// A literal as a value of a type that it [fits](crate::bindings::Fit), wide or not.
    pub(super) fn native(&self, ty: &SqlType, literal: ConstId) -> Result<Sql, CompileError> {
        match (ty.family, self.place(literal)) {
            (Family::Integer | Family::Numeric | Family::IntegerAffinity, Some(var)) => {
                Ok(build::placeholder(format!("{MARK}n{var}{MARK}")))
            }
            (Family::Integer | Family::Numeric | Family::IntegerAffinity, None) => {
                let number = build::whole(self.literal_text(literal)?);
                number.ok_or_else(|| CompileError::Bug("a literal that is no number".into()))
            }
            (Family::Uuid | Family::Padded | Family::Text | Family::Other | Family::Ambiguous, _) => {
                self.literal(literal)
            }
        }
    }

    /// The variable whose value a literal is.
    fn place(&self, literal: ConstId) -> Option<usize> {
        let places = self.local.as_ref().map_or(&[][..], |local| local.places);
        places.iter().find(|(known, _)| *known == literal).map(|(_, var)| *var)
    }

    /// The text of a literal.
    pub(super) fn literal_text(&self, literal: ConstId) -> Result<&str, CompileError> {
        let held = constant(self.program, self.extra_constants, literal);
        held.map(|held| held.text.as_str())
            .ok_or_else(|| CompileError::Bug("a literal without an entry".into()))
    }
}
