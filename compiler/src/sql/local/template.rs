//! SQL with places for the values of a question.
//!
//! In: the text of a statement, with a mark where the literal of a value goes. Out: a [`Template`], which
//! makes the text of every question that differs in these values alone. A mark begins and ends with NUL,
//! which is nowhere else in the text: literals escape it, and queries, columns and names with it are refused.

use crate::dialect::Escapes;
use crate::ir::ConstId;
use crate::question::{Domain, Question, QuestionVarId};
use crate::sql::build;
use sqlparser::ast::Expr as Sql;

/// The delimiter of a mark.
const MARK: char = '\0';

/// A literal that is a value of the question, and the variable that has this value.
pub(crate) type ValuePlace = (ConstId, QuestionVarId);

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
        var: QuestionVarId,
        spelling: Spelling,
    },
}

/// How a value is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum Spelling {
    /// As it is, without quotes.
    Number,
    /// As a text, in quotes.
    Quoted,
}

/// A mark where the value of a variable goes.
pub(in crate::sql) fn mark(spelling: Spelling, var: QuestionVarId) -> Sql {
    let letter = match spelling {
        Spelling::Number => 'n',
        Spelling::Quoted => 'q',
    };
    build::placeholder(format!("{MARK}{letter}{}{MARK}", var.index()))
}

/// The text between two NULs, as a mark.
fn marked(text: &str) -> Option<Piece> {
    let (letter, var) = text.split_at_checked(1)?;
    let spelling = match letter {
        "n" => Spelling::Number,
        "q" => Spelling::Quoted,
        _ => return None,
    };
    Some(Piece::Value { var: QuestionVarId::from_index(var.parse().ok()?), spelling })
}

impl Template {
    /// Finds the marks in a statement that is laid out; `None` if one of them cannot be read.
    pub(in crate::sql) fn of(text: &str, escapes: Escapes) -> Option<Self> {
        let parts = text.split(MARK).enumerate();
        let piece = |(at, part): (usize, &str)| {
            if at % 2 == 1 { marked(part) } else { Some(Piece::Text(part.to_owned())) }
        };
        Some(Self { pieces: parts.map(piece).collect::<Option<_>>()?, escapes })
    }

    /// The text for a question; `None` if it gives no value where one goes.
    pub fn text(&self, question: &Question) -> Option<String> {
        let mut text = String::with_capacity(self.n_bytes());
        for piece in &self.pieces {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Value { var, spelling } => match (&question.vars.find(*var)?.domain, spelling) {
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
