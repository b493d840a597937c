//! What a caller's database said, and what it is still to be asked.
//!
//! In: the rows that the statements of earlier answers returned. Each names the part of a statement that it
//! is of: a read `[binding, at most, [value or null, …]]`, or a decision `[time, digest of its SQL]`. Out:
//! the facts and decisions that are known, and one statement for those that are not. So nothing is kept
//! between the requests of one explanation.

use crate::engine::EngineError;
use portcullis_compiler::bindings::Bindings;
use portcullis_compiler::catalog::{BindingId, Relation};
use portcullis_compiler::id_vec::IdVec;
use portcullis_compiler::ir::Program;
use portcullis_compiler::local::fact_query::{self, NamedQuery, Returns};
use portcullis_compiler::question::CompileError;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many rows a read returns at most: few, if a few are enough to choose what to read.
const FEW: usize = 64;
const MANY: usize = 10_000;

/// How many rows are taken into account in all. With more, the explanation is truncated.
const MOST_ROWS: usize = 20_000;

/// How many reads one statement has at most. SQLite takes 500 selects in a union.
pub(super) const MOST_READS: usize = 100;

/// A row that a statement for a caller's database returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallerRow {
    /// The part of the statement that it is of.
    pub part: String,
    /// Its values.
    pub values: Vec<Option<String>>,
}

/// Facts of a bound query: those whose columns have these values, where there is one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FactRead {
    /// The binding.
    pub(super) binding: BindingId,
    /// One entry per column.
    pub(super) bound: Vec<Option<String>>,
}

/// The facts that a read found.
#[derive(Clone, Debug, Default)]
struct FetchedFacts {
    /// How many the database was asked for at most.
    most: usize,
    /// A text for each column.
    facts: BTreeSet<Vec<String>>,
}

/// What is known of a read.
pub(super) enum KnownFacts {
    /// These: all that there are, or as many as were wanted.
    Enough(Vec<Vec<String>>),
    /// The database is to be asked for this many.
    Ask(usize),
    /// There are more than an explanation reads.
    TooMany,
}

/// The reads that the database is to be asked for, each with the most rows.
pub(super) type WantedReads = BTreeMap<FactRead, usize>;

/// What a caller's database said.
#[derive(Clone, Debug, Default)]
pub(super) struct CallerAnswers {
    reads: BTreeMap<FactRead, FetchedFacts>,
    n_facts: usize,
    decisions: BTreeMap<String, bool>,
    /// The time for which the first decision was asked: the whole explanation is of that moment.
    pub(super) now: Option<i64>,
}

impl CallerAnswers {
    /// Reads the rows that a caller sent.
    ///
    /// # Errors
    /// [`EngineError::BadRequest`] if a row is not one that a statement returns.
    pub(super) fn of(rows: &[CallerRow]) -> Result<Self, EngineError> {
        let mut answers = Self::default();
        for (at, row) in rows.iter().enumerate() {
            answers.add(row).ok_or_else(|| {
                EngineError::BadRequest(format!(
                    "rows[{at}] is not a row of a statement that this endpoint made: send each row as the database \
                     returned it"
                ))
            })?;
        }
        Ok(answers)
    }

    fn add(&mut self, CallerRow { part, values }: &CallerRow) -> Option<()> {
        if let Ok((now, _)) = serde_json::from_str::<(i64, String)>(part) {
            self.now.get_or_insert(now);
            self.decisions.insert(part.clone(), truth(values)?);
            return Some(());
        }
        let (binding, most, bound) =
            serde_json::from_str::<(usize, usize, Vec<Option<String>>)>(part).ok()?;
        let (binding, facts) = (BindingId::from_index(binding), facts(&bound, values)?);
        let found = self.reads.entry(FactRead { binding, bound }).or_default();
        found.most = found.most.max(most);
        for fact in facts {
            self.n_facts += usize::from(found.facts.insert(fact));
        }
        Some(())
    }

    /// What is known of a read, of which `most` facts are wanted.
    pub(super) fn facts(&self, read: &FactRead, most: usize) -> KnownFacts {
        let known = self.reads.get(read);
        if let Some(FetchedFacts { most: asked, facts }) = known
            && (facts.len() < *asked || facts.len() >= most)
        {
            return KnownFacts::Enough(facts.iter().take(most).cloned().collect());
        }
        let is_over = self.n_facts >= MOST_ROWS || known.is_some_and(|found| found.most >= MANY);
        match most {
            _ if is_over => KnownFacts::TooMany,
            ..=FEW => KnownFacts::Ask(FEW),
            _ => KnownFacts::Ask(MANY),
        }
    }

    /// The decision of a statement, if the database was asked.
    pub(super) fn decision(&self, decision: &AskedDecision) -> Option<bool> {
        self.decisions.get(&decision.name).copied()
    }
}

/// The fact of a row, or none if the read found none. `None` if the row does not fit the read.
fn facts(bound: &[Option<String>], values: &[Option<String>]) -> Option<Vec<Vec<String>>> {
    if bound.iter().all(Option::is_some) {
        let fact: Option<Vec<String>> = bound.iter().cloned().collect();
        return Some(fact.filter(|_| truth(values) == Some(true)).into_iter().collect());
    }
    if values.iter().all(Option::is_none) {
        return Some(Vec::new());
    }
    let mut values = values.iter().cloned();
    let fact = bound.iter().map(|known| known.clone().or_else(|| values.next().flatten()));
    Some(vec![fact.collect::<Option<Vec<String>>>()?])
}

fn truth(values: &[Option<String>]) -> Option<bool> {
    match values.first()?.as_deref()? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// A statement of the caller's database that decides a question.
pub(super) struct AskedDecision {
    name: String,
    sql: String,
    column: &'static str,
}

impl AskedDecision {
    /// The statement with this text, which has one truth value in `column`.
    pub(super) fn new(sql: String, column: &'static str, now: i64) -> Self {
        let mut digest = DefaultHasher::new();
        sql.hash(&mut digest);
        let name = serde_json::json!([now, format!("{:016x}", digest.finish())]).to_string();
        Self { name, sql, column }
    }

    fn part(self) -> NamedQuery {
        let Self { name, sql, column } = self;
        NamedQuery { name, sql, returns: Returns::Decision(column.to_owned()) }
    }
}

/// The statement that answers what is not known yet, or its first part if that is too large for one. `facts`
/// is the policy without its rules, `relations` are those of the document.
pub(super) fn statement(
    facts: &Program,
    bindings: &Bindings,
    relations: &IdVec<BindingId, Relation>,
    decisions: Vec<AskedDecision>,
    reads: &WantedReads,
) -> Result<String, CompileError> {
    // Different suggestions may have the same statement.
    let mut asked = BTreeSet::new();
    let decisions = decisions.into_iter().filter(|decision| asked.insert(decision.name.clone()));
    let mut parts: Vec<NamedQuery> = decisions.map(AskedDecision::part).collect();
    for (FactRead { binding, bound }, most) in reads {
        let name = serde_json::json!([binding.index(), most, bound]).to_string();
        parts.push(fact_query::fact_rows(facts, bindings, &relations[*binding], bound, *most, name)?);
    }
    Ok(fact_query::together(&parts, bindings.dialect))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(part: &str, values: &[Option<&str>]) -> CallerRow {
        let values = values.iter().map(|value| value.map(str::to_owned)).collect();
        CallerRow { part: part.to_owned(), values }
    }

    fn read(bound: &[Option<&str>]) -> FactRead {
        FactRead {
            binding: BindingId(1),
            bound: bound.iter().map(|value| value.map(str::to_owned)).collect(),
        }
    }

    fn known(answers: &CallerAnswers, bound: &[Option<&str>], most: usize) -> Result<usize, usize> {
        match answers.facts(&read(bound), most) {
            KnownFacts::Enough(facts) => Ok(facts.len()),
            KnownFacts::Ask(n) => Err(n),
            KnownFacts::TooMany => Err(0),
        }
    }

    #[test]
    fn rows_say_what_is_known_and_what_is_not() {
        let few = r#"[1,64,["ada",null]]"#;
        let mut rows = vec![
            row(few, &[Some("reader"), None]),
            row(few, &[Some("reader"), None]),
            row(r#"[1,64,["bob",null]]"#, &[None, None]),
            row(r#"[1,64,["ada","owner"]]"#, &[Some("false")]),
            row(r#"[1,64,["ada","reader"]]"#, &[Some("true")]),
            row(r#"[7,"5d"]"#, &[Some("true"), None]),
        ];
        let answers = CallerAnswers::of(&rows).unwrap();
        assert_eq!((answers.now, answers.n_facts), (Some(7), 2));
        assert_eq!(known(&answers, &[Some("ada"), None], 1_000), Ok(1));
        assert_eq!(known(&answers, &[Some("bob"), None], 8), Ok(0));
        assert_eq!(known(&answers, &[Some("ada"), Some("owner")], 1), Ok(0));
        assert_eq!(known(&answers, &[Some("ada"), Some("reader")], 1), Ok(1));
        assert_eq!(known(&answers, &[None, None], 8), Err(FEW));
        assert_eq!(known(&answers, &[None, None], 1_000), Err(MANY));
        let ids: Vec<String> = (0..FEW).map(|n| n.to_string()).collect();
        rows.extend(ids.iter().map(|id| row(few, &[Some(id)])));
        let answers = CallerAnswers::of(&rows).unwrap();
        assert_eq!(known(&answers, &[Some("ada"), None], FEW), Ok(FEW));
        assert_eq!(known(&answers, &[Some("ada"), None], 1_000), Err(MANY), "there may be more");
    }

    #[test]
    fn a_row_that_no_statement_returns_is_refused() {
        let wrong = [
            row("", &[]),
            row("[1]", &[None]),
            row(r#"[1,64,["ada",null,null]]"#, &[Some("x"), None]),
            row(r#"[7,"5d"]"#, &[Some("1")]),
            row(r#"[7,"5d"]"#, &[]),
        ];
        for row in wrong {
            assert!(matches!(CallerAnswers::of(&[row]), Err(EngineError::BadRequest(_))));
        }
    }
}
