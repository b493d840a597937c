//! Says whether the answer of a local check is right.
//!
//! The oracle has the last word. A refusal is right where the service itself refuses the question with all
//! facts in its store; but a filter need not enumerate, so it may answer what a list cannot. And it is right
//! where the answer can be enumerated only as long as some rows are missing: the service asks its store for
//! them first, and a text for a caller's database is made before anybody can look into that. A database
//! itself may refuse a statement where the document is mistaken about a column's type; an answer must be
//! right even then.

use super::ways::{Way, asked, filtered};
use super::{DIALECTS, Local};
use crate::fixture::{Answer, Expected};
use crate::hosted::Hosted;
use crate::notation::{Cell, Fact, Value};
use crate::oracle::Oracle;
use crate::outcome::Outcome;
use crate::refusal::Kind;
use portcullis_compiler::compile;
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::{CompileError, Domain, Question, QuestionVarId, Shape};
use portcullis_compiler::refusal::Refusal;
use std::collections::BTreeSet;

/// Everything known about one question.
pub struct Referee<'o> {
    /// The policy.
    pub program: &'o Program,
    /// The oracle, which knows all answers.
    pub oracle: &'o Oracle<'o>,
    /// The question.
    pub question: &'o Question,
    /// The service with all facts.
    pub hosted: &'o Hosted,
    /// The facts of each request.
    pub context: &'o [Fact],
}

impl Referee<'_> {
    /// Whether the answer is right; if not, what it should have been.
    pub fn judge(&self, local: &Local, way: Way, found: &Outcome) -> Result<(), String> {
        let is_right = match found {
            Expected::Refused(told) => match told.kind {
                None => local.is_mistaken(told),
                Some(kind) => {
                    local.is_divided && kind.is_too_large()
                        || self.is_refused()
                        || kind == Kind::NotEnumerable && self.depends_on_rows(local, way)
                }
            },
            Expected::Is(Answer::Decision(decision)) => *decision == self.oracle.decision(self.question),
            Expected::Is(Answer::Rows(rows)) => match filtered(self.question, way) {
                Some((_, var)) => *rows == self.passing(local, var),
                None => self.is_right(local, rows),
            },
        };
        if is_right { Ok(()) } else { Err(self.expected(local, way)) }
    }

    /// Whether a statement over these tables must ask its rows first whether they are the whole answer. A
    /// text for a caller cannot ask, nor whether a bound table is empty. A filter may test each row instead;
    /// but not one of a String, for whose values rules are copied. If a bound table is about a type that
    /// the policy does not mention, the compiler may name that as the reason instead.
    fn depends_on_rows(&self, local: &Local, way: Way) -> bool {
        let depends = |question: &Question| {
            let shape = Shape::of(self.program, question);
            // The other database answers a statement that is too large for this one.
            DIALECTS.iter().any(|&dialect| match compile(self.program, &local.tables, &shape, dialect) {
                Ok(statement) => statement.refused_if.is_some(),
                Err(CompileError::Refused(refusal)) => {
                    matches!(refusal, Refusal::NotEnumerable { .. } | Refusal::Unmentioned { .. })
                }
                Err(CompileError::OutOfTime(_) | CompileError::Bug(_)) => false,
            })
        };
        let of_row = filtered(self.question, way).filter(|(ty, _)| ty != "String").map(|(_, var)| {
            let mut question = self.question.clone();
            question.vars[var].domain = Domain::Given("of the row".to_owned());
            question
        });
        depends(self.question) && of_row.is_none_or(|question| depends(&question))
    }

    /// Whether the service refuses the question.
    fn is_refused(&self) -> bool {
        let asked = self.hosted.ask_every_way(self.question, self.context);
        asked.iter().any(|(_, found)| matches!(found, Expected::Refused(_)))
    }

    /// The candidates that a filter lets through.
    fn passing(&self, local: &Local, var: QuestionVarId) -> BTreeSet<Vec<Cell>> {
        let at = asked(self.question).position(|other| other == var).unwrap();
        let answers = self.oracle.values(self.question).into_iter().map(|row| row[at].clone());
        let is_listed = |value: &Value| local.listed.contains(value);
        answers.filter(is_listed).map(|value| vec![Cell::Value(value)]).collect()
    }

    /// Whether rows say exactly the answers. Whether they name an id that no column of the type could hold is
    /// left open: a caller could do nothing with it.
    fn is_right(&self, local: &Local, rows: &BTreeSet<Vec<Cell>>) -> bool {
        let is_stray = |value: &Value| local.renaming.is_stray(value);
        let strays = self.oracle.values(self.question).into_iter().filter(|row| row.iter().any(is_stray));
        let cells = strays.map(|row| row.into_iter().map(Cell::Value).collect());
        let all: BTreeSet<Vec<Cell>> = rows.iter().cloned().chain(cells).collect();
        self.oracle.agrees(self.question, rows) || self.oracle.agrees(self.question, &all)
    }

    fn expected(&self, local: &Local, way: Way) -> String {
        let rows = match (way, filtered(self.question, way)) {
            (Way::Authorize, _) => {
                return Answer::Decision(self.oracle.decision(self.question)).to_string();
            }
            (_, Some((_, var))) => self.passing(local, var),
            (Way::List | Way::Actions | Way::Subjects | Way::Select | Way::Filter(_), None) => {
                if asked(self.question).next().is_none() {
                    return Answer::Decision(self.oracle.decision(self.question)).to_string();
                }
                match self.oracle.answers(self.question) {
                    Some(rows) => rows,
                    None => return format!("{:?}", self.oracle.values(self.question)),
                }
            }
        };
        Answer::Rows(rows).to_string()
    }
}
