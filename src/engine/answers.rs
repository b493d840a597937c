//! Runs a compiled question on the store.
//!
//! In: a statement with the values of one question. Out: a decision, or rows in which `None` means *any
//! value*. Values reach the statement as parameters only, in the order of its slots.

use super::EngineError;
use super::catalog::Context;
use super::plans::Plans;
use crate::share::{Account, Meter, NoRoom};
use crate::store::{ConsistentRead, Expected, Param, Reader, RowQuery, StoreError};
use portcullis_compiler::question::{
    Answer, AnswerColumn, Domain, Question, QuestionVarId, RefusedIf, RefusedQuestion, Slot, Statement,
};
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A question whose statement and values have more bytes is not tried as a brief one: reading them alone may
/// take a millisecond.
const BRIEF_BYTES: usize = 64 << 10;

/// Why reading failed.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// The rows would not be the complete answer.
    Refused(Box<RefusedQuestion>),
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for Unanswered {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Unanswered {
    /// Why a question's statement was not read. The store knows no rules: what is too much for it is refused
    /// here.
    pub(super) fn of(statement: &Statement, error: StoreError) -> Self {
        match error {
            StoreError::TooManyReadings => Self::Refused(Box::new(statement.too_many_readings())),
            error => Self::Store(error),
        }
    }
}

/// What is expected of a question with these statements.
pub(super) fn expected<'p>(statements: impl IntoIterator<Item = &'p Prepared>) -> Expected {
    if statements.into_iter().any(Prepared::is_heavy) { Expected::Long } else { Expected::Brief }
}

/// Runs a read as the kind of question that it is expected to be.
pub(super) async fn read<T, R>(
    attempt: &ConsistentRead<'_>,
    expected: Expected,
    read: R,
) -> Result<T, EngineError>
where
    T: Send + 'static,
    R: Fn(&Reader) -> Result<T, Unanswered> + Send + Sync + 'static,
{
    let read = move |reader: &Reader| match read(reader) {
        Ok(answer) => Ok(Ok(answer)),
        Err(Unanswered::Refused(refused)) => Ok(Err(refused)),
        Err(Unanswered::Store(error)) => Err(error),
    };
    attempt.read(expected, read).await?.map_err(EngineError::Refused)
}

/// About how many bytes an answer takes in addition to its values, for itself and for each of them.
const ROW_BYTES: usize = 24;
const VALUE_BYTES: usize = 64;

/// A statement and the values for its parameters: ready to run on any reader.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    statement: Arc<Statement>,
    params: Vec<Param>,
    /// For questions that may have to be refused: the values of the statement that decides it, and the
    /// refusal.
    refused_if: Option<(Vec<Param>, Box<RefusedQuestion>)>,
    max_rows: usize,
    account: Option<Arc<Account>>,
    /// INVARIANT: the store keeps the tables that the statement names while its relations are held.
    _plans: Arc<Plans>,
}

/// The part of a paged answer to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    /// Answers after this id; `None` for the first page.
    pub(super) after: Option<&'a str>,
    /// The maximum number of answers.
    pub(super) limit: usize,
}

/// The values for slots that are not in the question itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotValues<'a> {
    /// The request's context facts, in the form that the store's statements take.
    pub(super) context: &'a Context,
    /// Seconds since the epoch.
    pub(super) now: i64,
    /// The page, for a paged question.
    pub(super) window: Option<Window<'a>>,
}

impl SlotValues<'_> {
    /// The value for one slot of a statement.
    pub(super) fn param(&self, question: &Question, slot: Slot) -> Option<Param> {
        let domain = |var: QuestionVarId| question.vars.find(var).map(|var| &var.domain);
        Some(match slot {
            Slot::Given(var) => match domain(var)? {
                Domain::Given(text) => Param::Value(text.clone()),
                Domain::GivenOneOf(_) | Domain::Wanted | Domain::Ignored => return None,
            },
            Slot::OneOf(var) => match domain(var)? {
                Domain::GivenOneOf(texts) => self.context.values(texts),
                Domain::Given(_) | Domain::Wanted | Domain::Ignored => return None,
            },
            Slot::Context(slot) => self.context.rows(slot)?,
            Slot::ContextColumn(slot, column) => self.context.column(slot, column)?,
            Slot::TypeOf(var) => Param::Value(question.vars.find(var)?.ty.clone()?),
            Slot::Now => Param::Number(self.now),
            Slot::PageAfter => {
                self.window?.after.map_or(Param::Least, |after| Param::Value(after.to_owned()))
            }
            Slot::PageLimit => Param::Limit(self.window?.limit),
        })
    }

    /// The values for a statement's slots, in order.
    pub(super) fn params(&self, question: &Question, slots: &[Slot]) -> Result<Vec<Param>, EngineError> {
        let params: Option<_> = slots.iter().map(|slot| self.param(question, *slot)).collect();
        params
            .ok_or_else(|| EngineError::Bug("a statement asks for a value its question does not have".into()))
    }
}

/// One answer, with a value for each column; `None` means any value.
pub(super) type Row = Vec<Option<String>>;

/// About how many bytes an answer with these values takes.
fn row_bytes(row: &[Option<Cow<'_, str>>]) -> usize {
    row.iter().flatten().map(|value| value.len()).sum::<usize>() + ROW_BYTES + VALUE_BYTES * row.len()
}

/// Counts an answer towards the memory of its request.
pub(super) fn charge(meter: &mut Meter, row: &[Option<Cow<'_, str>>]) -> Result<(), StoreError> {
    meter.grow(row_bytes(row)).map_err(no_room)
}

/// An answer exceeds the limit of rows.
pub(super) fn too_many_rows(most: usize) -> StoreError {
    StoreError::TooLarge(format!("the answer has more than {most} rows: ask for less at once"))
}

/// An answer does not fit into the memory budget.
pub(super) fn no_room(refused: NoRoom) -> StoreError {
    match refused {
        NoRoom::Now => StoreError::Busy,
        NoRoom::Ever(most) => StoreError::TooLarge(format!(
            "the answer takes more than the {most} bytes of memory that one request may use: ask for less at once, or raise `max_memory`"
        )),
    }
}

/// The text of a statement, and how many columns it has.
pub(super) fn row_query(statement: &Statement) -> RowQuery<'_> {
    RowQuery { sql: &statement.sql, n_columns: statement.answer.n_columns() }
}

impl Prepared {
    /// Fills a question's values into its statement.
    pub(super) fn new(
        plans: Arc<Plans>,
        statement: Arc<Statement>,
        question: &Question,
        binding: &SlotValues<'_>,
        max_rows: usize,
        account: Option<Arc<Account>>,
    ) -> Result<Self, EngineError> {
        let params = binding.params(question, &statement.slots)?;
        let refused_if = match &statement.refused_if {
            Some(RefusedIf { slots, refusal, .. }) => {
                Some((binding.params(question, slots)?, Box::new(question.refused(refusal.clone()))))
            }
            None => None,
        };
        Ok(Self { statement, params, refused_if, max_rows, account, _plans: plans })
    }

    /// Runs `body` in a snapshot in which the rows are the complete answer, or refuses the question.
    fn enumerable<T>(
        &self,
        reader: &Reader,
        body: impl FnOnce(&Reader) -> Result<T, StoreError>,
    ) -> Result<T, Unanswered> {
        let body = |reader: &Reader| body(reader).map_err(|error| self.unanswered(error));
        if self.refused_if.is_none() {
            return body(reader);
        }
        reader.snapshot(|reader| match self.refused(reader)? {
            Some(refused) => Err(Unanswered::Refused(Box::new(refused.clone()))),
            None => body(reader),
        })
    }

    fn unanswered(&self, error: StoreError) -> Unanswered {
        Unanswered::of(&self.statement, error)
    }

    /// Why the question must be refused over the current facts, if it must.
    fn refused(&self, reader: &Reader) -> Result<Option<&RefusedQuestion>, Unanswered> {
        let (Some(refused_if), Some((params, refused))) = (&self.statement.refused_if, &self.refused_if)
        else {
            return Ok(None);
        };
        let is_refused = reader.decision(&refused_if.sql, params);
        Ok(is_refused.map_err(|error| self.unanswered(error))?.then_some(&**refused))
    }

    /// Whether the question has an answer.
    pub(super) fn decision(&self, reader: &Reader) -> Result<bool, Unanswered> {
        let decision = reader.decision(&self.statement.sql, &self.params);
        decision.map_err(|error| self.unanswered(error))
    }

    /// Like [`Prepared::rows`]; a decision that holds yields one row without columns.
    pub(super) fn answers(&self, reader: &Reader) -> Result<Vec<Row>, Unanswered> {
        if !self.is_decision() {
            return self.rows(reader);
        }
        let holds = self.decision(reader)?;
        Ok(if holds { vec![Row::new()] } else { Vec::new() })
    }

    /// Whether there is an answer, including one that cannot be enumerated.
    pub(super) fn has_answers(&self, reader: &Reader) -> Result<bool, Unanswered> {
        if self.refused(reader)?.is_some() {
            return Ok(true);
        }
        if self.is_decision() {
            return self.decision(reader);
        }
        let is_more = reader.first_rows(self.query(), &self.params, 0, |_| ());
        is_more.map_err(|error| self.unanswered(error))
    }

    /// All distinct answers, with the columns [`Prepared::columns`]. Stops reading at the limit.
    pub(super) fn rows(&self, reader: &Reader) -> Result<Vec<Row>, Unanswered> {
        let mut rows = Vec::new();
        let mut meter = self.meter();
        self.each(reader, |row| {
            if rows.len() == self.max_rows {
                return Err(too_many_rows(self.max_rows));
            }
            charge(&mut meter, row)?;
            rows.push(row.iter_mut().map(|value| value.take().map(Cow::into_owned)).collect());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(rows)
    }

    /// The answers of a question with one wanted variable.
    pub(super) fn ids(&self, reader: &Reader) -> Result<Vec<Option<String>>, Unanswered> {
        let mut ids = Vec::new();
        let mut meter = self.meter();
        self.each(reader, |row| {
            charge(&mut meter, row)?;
            ids.push(row.first_mut().and_then(Option::take).map(Cow::into_owned));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(ids)
    }

    /// Calls `body` with each answer in order, until it breaks or fails. The answers are complete, or the
    /// question is refused before the first.
    pub(super) fn each(
        &self,
        reader: &Reader,
        body: impl FnMut(&mut [Option<Cow<'_, str>>]) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), Unanswered> {
        self.enumerable(reader, |reader| reader.rows_until(self.query(), &self.params, body))
    }

    fn query(&self) -> RowQuery<'_> {
        row_query(&self.statement)
    }

    /// A meter for the rows of an answer.
    pub(super) fn meter(&self) -> Meter {
        Meter::new(self.account.as_ref())
    }

    /// The meaning of a row's columns; empty for a decision, and for a part, which only its plan can read.
    pub(super) fn columns(&self) -> &[AnswerColumn] {
        match &self.statement.answer {
            Answer::Decision | Answer::Part(_) => &[],
            Answer::Rows(columns) => columns.as_slice(),
        }
    }

    /// Whether reading the statement and its values alone may take long.
    fn is_heavy(&self) -> bool {
        let refusing = self.refused_if.iter().flat_map(|(params, _)| params);
        let params = self.params.iter().chain(refusing);
        self.statement.sql.len() + params.map(Param::n_bytes).sum::<usize>() > BRIEF_BYTES
    }

    /// Fails if the question must be refused.
    pub(super) fn check_enumerable(&self, reader: &Reader) -> Result<(), Unanswered> {
        self.enumerable(reader, |_| Ok(()))
    }

    /// The maximum number of rows of an answer.
    pub(super) fn max_rows(&self) -> usize {
        self.max_rows
    }

    /// Whether the question is never refused.
    pub(super) fn is_enumerable(&self) -> bool {
        self.statement.refused_if.is_none()
    }

    /// Whether the answer is a single yes or no.
    pub(super) fn is_decision(&self) -> bool {
        matches!(self.statement.answer, Answer::Decision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_compiler::refusal::{Place, RuleAtLimit};
    use portcullis_compiler::source::Span;

    #[test]
    fn a_statement_that_is_too_deep_for_the_store_is_a_refusal_that_names_a_rule() {
        let largest_rule = Some(RuleAtLimit::Largest(Place { span: Span::default(), line: 7 }));
        let (sql, slots, answer) = (String::new(), Vec::new(), Answer::Decision);
        let statement = Statement { sql, slots, answer, refused_if: None, largest_rule };
        let Unanswered::Refused(refused) = Unanswered::of(&statement, StoreError::TooManyReadings) else {
            panic!("refused")
        };
        assert_eq!(refused.refusal.code(), "question_too_large");
        let ending = "one statement (most of it comes from the rule at line 7): give its variables types or values, or split the rules";
        assert!(refused.message.ends_with(ending), "{}", refused.message);
        assert!(matches!(Unanswered::of(&statement, StoreError::Busy), Unanswered::Store(StoreError::Busy)));
    }
}
