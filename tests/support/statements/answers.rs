//! What the rows of a statement mean.

use super::Cells;
use super::values::Form;
use crate::fixture::Answer;
use crate::id_order::Key;
use crate::notation::{Cell, Value};
use crate::outcome::Outcome;
use crate::refusal::NoAnswer;
use portcullis_compiler::Dialect;
use portcullis_compiler::question::{
    self, AnswerColumn, CompileError, Domain, Question, QuestionVarId, Statement,
};

/// Only the compiler may refuse; what the database refuses is a bug.
pub(super) fn outcome(
    question: &Question,
    compiled: &Result<Statement, CompileError>,
    run: impl FnOnce(&Statement) -> Result<Answer, String>,
) -> Outcome {
    match compiled {
        Ok(statement) => match run(statement) {
            Ok(answer) => Outcome::Is(answer),
            Err(message) => Outcome::Refused(NoAnswer::fault(message)),
        },
        Err(CompileError::Refused(refusal)) => Outcome::Refused(NoAnswer::refused(question, refusal.clone())),
        Err(CompileError::OutOfTime(_)) => Outcome::Refused(NoAnswer::fault("out of time")),
        Err(CompileError::Bug(text)) => Outcome::Refused(NoAnswer::fault(text)),
    }
}

/// What rows mean; they must be in order and each once.
pub(super) fn answer(
    question: &Question,
    meaning: &question::Answer,
    rows: &[Cells],
    dialect: Dialect,
    form: Form,
) -> Result<Answer, String> {
    // SQLite puts NULL first, PostgreSQL last, unless the statement is for a store.
    let nulls_last = dialect == Dialect::Postgresql && matches!(form, Form::Text);
    if !rows.is_sorted_by(|before, after| keys(before, form, nulls_last) < keys(after, form, nulls_last)) {
        return Err(format!("rows twice or out of order: {rows:?}"));
    }
    match (meaning, rows) {
        (question::Answer::Decision, [row]) if row.len() == 1 => {
            Ok(Answer::Decision(row[0].as_deref() == Some("1")))
        }
        (question::Answer::Decision, rows) => Err(format!("no decision: {rows:?}")),
        (question::Answer::Rows(_) | question::Answer::Part(_), _) => Ok(cells(question, meaning, rows)),
    }
}

/// What a row is ordered by.
fn keys(row: &Cells, form: Form, nulls_last: bool) -> Vec<(bool, Option<Key<'_>>)> {
    let keys =
        row.iter().map(|cell| (nulls_last && cell.is_none(), cell.as_deref().map(|text| form.key(text))));
    keys.collect()
}

/// Rows as a page of fixtures writes them: a cell for each variable that is asked for, in their order.
pub(super) fn cells(question: &Question, meaning: &question::Answer, rows: &[Cells]) -> Answer {
    let question::Answer::Rows(columns) = meaning else { panic!("rows of a decision") };
    let is_asked =
        |&var: &QuestionVarId| matches!(question.vars[var].domain, Domain::Wanted | Domain::GivenOneOf(_));
    let asked: Vec<QuestionVarId> = question.vars.ids().filter(is_asked).collect();
    let cell = |row: &Cells, var: QuestionVarId| {
        let value = |column: AnswerColumn| {
            columns.iter().position(|other| *other == column).and_then(|at| row[at].clone())
        };
        let ty = question.vars[var].ty.clone().or_else(|| value(AnswerColumn::Type(var)));
        match (ty, value(AnswerColumn::Id(var))) {
            (Some(ty), Some(id)) => Cell::Value(Value::new(&ty, &id)),
            (Some(ty), None) => Cell::AnyOf(ty),
            (None, None) => Cell::Any,
            (None, Some(id)) => panic!("the id {id:?} has no type"),
        }
    };
    Answer::Rows(rows.iter().map(|row| asked.iter().map(|&var| cell(row, var)).collect()).collect())
}
