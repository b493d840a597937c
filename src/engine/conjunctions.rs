//! Answers a conjunction of unrelated calls part by part.
//!
//! In: a prepared conjunction. Out: its assignments. Calls that share only given variables hold
//! independently, so the answer is the product of the answers of such parts. A database would compute the
//! whole product before finding that it exceeds the limit of rows; here the rows of the parts are counted
//! first.
//!
//! ```text
//! a(x), b(x, y), c(z) ─split─▶ [a(x), b(x, y)]  [c(z)] ─rows of each, in one snapshot─▶ product, or refused
//! ```
//!
//! Whether the conjunction can be enumerated is decided for the whole, because if one part is empty another
//! need not be enumerable.

use super::EngineError;
use super::answers::{Prepared, Row, Unanswered, expected, too_many_rows};
use super::evaluate::Assignment;
use super::view::View;
use crate::store::{Expected, Reader, StoreError, Work};
use portcullis_compiler::id_vec::IdVec;
use portcullis_compiler::question::{AnswerColumn, Domain, Question, QuestionAtom, QuestionVarId};

/// A conjunction that can be run.
#[derive(Debug)]
pub(super) struct Conjunction {
    /// All calls as one question.
    whole: Prepared,
    /// The groups of calls that share variables; empty if `whole` gives the answer.
    parts: Vec<Part>,
    /// The variables of `whole` in the answer.
    shown: Vec<Shown>,
    /// Variables that no call uses, with their possible values.
    unused: Vec<(String, Vec<Option<String>>)>,
}

/// A part of a conjunction.
#[derive(Debug)]
struct Part {
    prepared: Prepared,
    shown: Vec<Shown>,
}

/// A variable in an answer.
#[derive(Debug)]
struct Shown {
    name: String,
    /// The column of its value.
    column: Option<usize>,
    /// The values that it has if the row has none.
    otherwise: Vec<Option<String>>,
}

impl View {
    /// Splits a conjunction that has been prepared as a whole.
    pub(super) async fn conjunction(
        &self,
        whole: Prepared,
        question: &Question,
        unused: Vec<(String, Vec<Option<String>>)>,
    ) -> Result<Conjunction, EngineError> {
        let mut parts = Vec::new();
        for part in split(question) {
            match self.prepare(&part).await {
                Ok(prepared) => {
                    let shown = shown(&part, &prepared);
                    parts.push(Part { prepared, shown });
                }
                // The whole can be answered even though this part cannot.
                Err(EngineError::Refused(_)) => {
                    parts.clear();
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let shown = shown(question, &whole);
        Ok(Conjunction { whole, parts, shown, unused })
    }
}

/// The parts that share only given variables; empty if there is only one.
fn split(question: &Question) -> Vec<Question> {
    let is_open = |var: &QuestionVarId| match question.vars[*var].domain {
        Domain::Given(_) => false,
        Domain::GivenOneOf(_) | Domain::Wanted | Domain::Ignored => true,
    };
    let mut parts: Vec<Vec<&QuestionAtom>> = Vec::new();
    let mut closed = Vec::new();
    for atom in &question.atoms {
        if !atom.args.iter().any(is_open) {
            closed.push(atom);
            continue;
        }
        let shares = |part: &Vec<&QuestionAtom>| {
            part.iter().any(|other| other.args.iter().any(|var| is_open(var) && atom.args.contains(var)))
        };
        let (joined, apart): (Vec<_>, Vec<_>) = parts.into_iter().partition(shares);
        parts = apart;
        parts.push(joined.into_iter().flatten().chain([atom]).collect());
    }
    if parts.len() < 2 {
        return Vec::new();
    }
    // Calls without wanted variables can go to any part.
    if let Some(first) = parts.first_mut() {
        first.append(&mut closed);
    }
    parts.iter().map(|atoms| part_of(question, atoms)).collect()
}

/// The question with only these calls.
fn part_of(question: &Question, atoms: &[&QuestionAtom]) -> Question {
    // For each variable of the part the one that it is of the whole.
    let mut of_whole: IdVec<QuestionVarId, QuestionVarId> = IdVec::new();
    let mut of_part =
        |var: &QuestionVarId| of_whole.position(|known| known == var).unwrap_or_else(|| of_whole.push(*var));
    let atom = |atom: &&QuestionAtom| QuestionAtom {
        predicate: atom.predicate.clone(),
        args: atom.args.iter().map(&mut of_part).collect(),
    };
    let atoms = atoms.iter().map(atom).collect();
    let vars = of_whole.iter().map(|var| question.vars[*var].clone()).collect();
    Question { atoms, vars, paged: false }
}

/// The positions of a question's variables in its rows.
fn shown(question: &Question, prepared: &Prepared) -> Vec<Shown> {
    let shown = question.vars.enumerate().map(|(id, var)| Shown {
        name: var.name.clone(),
        column: prepared.columns().iter().position(|column| *column == AnswerColumn::Id(id)),
        otherwise: match &var.domain {
            Domain::Given(id) => vec![Some(id.clone())],
            // Any of the given values.
            Domain::GivenOneOf(ids) => ids.iter().cloned().map(Some).collect(),
            Domain::Wanted | Domain::Ignored => vec![None],
        },
    });
    shown.collect()
}

impl Conjunction {
    /// What is expected of the time that it takes.
    pub(super) fn expected(&self) -> Expected {
        let parts = self.parts.iter().map(|part| &part.prepared);
        expected(std::iter::once(&self.whole).chain(parts))
    }

    /// The distinct assignments, sorted.
    pub(super) fn answers(&self, reader: &Reader) -> Result<Vec<Assignment>, Unanswered> {
        let most = self.whole.max_rows();
        let factors = if self.parts.is_empty() {
            vec![(self.whole.answers(reader)?, &self.shown)]
        } else {
            let rows = reader.snapshot(|reader| self.rows_of_parts(reader))?;
            rows.into_iter().zip(self.parts.iter().map(|part| &part.shown)).collect()
        };
        let mut answers = vec![Assignment::new()];
        for (rows, shown) in factors {
            reader.count(Work::Answers(rows.len()))?;
            let mut of_rows = Vec::with_capacity(rows.len());
            for row in &rows {
                let mut of_row = vec![Assignment::new()];
                for var in shown {
                    let found = var.column.and_then(|column| row.get(column)).and_then(Option::as_ref);
                    match found {
                        Some(id) => extend(&mut of_row, &var.name, &[Some(id.clone())], most, reader)?,
                        None => extend(&mut of_row, &var.name, &var.otherwise, most, reader)?,
                    }
                }
                of_rows.append(&mut of_row);
            }
            answers = product(&answers, of_rows, most, reader)?;
        }
        for (name, values) in &self.unused {
            extend(&mut answers, name, values, most, reader)?;
        }
        answers.sort_unstable();
        answers.dedup();
        Ok(answers)
    }

    /// The rows of each part; empty if one part has none.
    fn rows_of_parts(&self, reader: &Reader) -> Result<Vec<Vec<Row>>, Unanswered> {
        self.whole.check_enumerable(reader)?;
        let most = self.whole.max_rows();
        let (mut all, mut n_rows, mut refused) = (Vec::new(), 1_usize, None);
        for Part { prepared, .. } in &self.parts {
            if refused.is_some() {
                if !prepared.has_answers(reader)? {
                    return Ok(vec![Vec::new()]);
                }
                continue;
            }
            match prepared.answers(reader) {
                Ok(rows) if rows.is_empty() => return Ok(vec![rows]),
                Ok(rows) => {
                    n_rows = n_rows.saturating_mul(rows.len());
                    all.push(rows);
                    refused = (n_rows > most).then(|| too_many_rows(most).into());
                }
                Err(error @ (Unanswered::Refused(_) | Unanswered::Store(StoreError::TooLarge(_)))) => {
                    refused = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        match refused {
            Some(error) => Err(error),
            None => Ok(all),
        }
    }
}

/// Extends each assignment by a variable, with each of its values.
fn extend(
    answers: &mut Vec<Assignment>,
    name: &str,
    values: &[Option<String>],
    most: usize,
    reader: &Reader,
) -> Result<(), StoreError> {
    if let [value] = values {
        for answer in answers {
            answer.insert(name.to_owned(), value.clone());
        }
        return Ok(());
    }
    let of_value = |value: &Option<String>| Assignment::from([(name.to_owned(), value.clone())]);
    *answers = product(answers, values.iter().map(of_value).collect(), most, reader)?;
    Ok(())
}

/// The product of both, unless it exceeds the limit of rows.
fn product(
    left: &[Assignment],
    right: Vec<Assignment>,
    most: usize,
    reader: &Reader,
) -> Result<Vec<Assignment>, StoreError> {
    let n_answers = left.len().saturating_mul(right.len());
    if n_answers > most {
        return Err(too_many_rows(most));
    }
    if let [only] = left
        && only.is_empty()
    {
        return Ok(right);
    }
    reader.count(Work::Answers(n_answers))?;
    let mut all = Vec::with_capacity(n_answers);
    for answer in left {
        for other in &right {
            let both = answer.iter().chain(other).map(|(name, value)| (name.clone(), value.clone()));
            all.push(both.collect());
        }
    }
    Ok(all)
}
