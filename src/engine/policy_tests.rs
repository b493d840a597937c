//! Runs the tests in a policy.
//!
//! In: a checked program. Out: a [`TestReport`]. A test runs exactly like a hosted check with context facts:
//! its facts are the only relations of its catalog, and its assertions are compiled to SQL and run on the
//! embedded engine. Tests never see stored facts and do not delay questions, because they have their own
//! thread and reader. All tests of a policy share one time limit, which includes compiling.
//!
//! An assertion with a variable is decided value by value: both its query and its `iff` expression are asked
//! about every trial value: those are all values that the policy can distinguish (see
//! [`trial_values`](super::trial_values)).
//!
//! ```text
//! assert p(v) iff e       for every value:  p(v) is e(v)
//! assert_not p(v) iff e   for every value:  p(v) is not e(v)
//! assert p(v)             every value is an answer
//! assert_not p(v)         none is
//! ```

mod coverage;

pub use coverage::{Coverage, CoveredRule};

use super::answers::{SlotValues, Unanswered, row_query};
use super::catalog::{self, Context};
use super::report::{RefusedAssertion, TestOutcome, TestReport};
use super::trial_values::{TrialValue, trial_values};
use super::view::unix_time;
use super::{Engine, EngineError, questions};
use crate::store::{Fact, Param, Reader, StoreError, Value, aside};
use portcullis_compiler::catalog::Catalog;
use portcullis_compiler::deadline::{Deadline, OutOfTime};
use portcullis_compiler::ir::{Assertion, ConstId, PredId, Program, Test, TypeId};
use portcullis_compiler::question::{CompileError, Question, RefusedIf, RefusedQuestion, Shape, Statement};
use portcullis_compiler::{StoreDialect, compile_for_store};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many values a message lists; it only counts further ones.
const SHOWN: usize = 5;

impl Engine {
    /// Runs the tests of a policy, active or not, within their common time limit.
    pub async fn test_policy(
        &self,
        program: &Arc<Program>,
        fail_fast: bool,
    ) -> Result<TestReport, EngineError> {
        let program = Arc::clone(program);
        let limit = self.settings().policy_test_time;
        let deadline = Deadline::after(limit);
        aside(limit, move |reader| Ok(run_all(&program, fail_fast, reader, deadline))).await?
    }
}

/// Runs the tests of a policy in order, up to the first failure if `fail_fast` is set.
pub(super) fn run_all(
    program: &Program,
    fail_fast: bool,
    reader: &Reader,
    deadline: Deadline,
) -> Result<TestReport, EngineError> {
    let mut report = TestReport::default();
    for test in &program.tests {
        run(&Bench::new(program, test, reader, deadline), test, &mut report)?;
        if fail_fast && !report.success() {
            break;
        }
    }
    Ok(report)
}

/// Runs one test and adds its result to the report.
fn run(bench: &Bench<'_>, test: &Test, report: &mut TestReport) -> Result<(), EngineError> {
    let program = bench.program;
    let total = test.assertions.len();
    let mut failures = Vec::new();
    for assertion in &test.assertions {
        let line = program.source.locate(assertion.span).line;
        let found = match bench.decide(assertion) {
            Ok(found) => found,
            Err(Trouble::Refused(question)) => {
                let found = format!("cannot be decided: {question}");
                let test = test.name.clone();
                report.refused.push(RefusedAssertion { test, line, question: *question });
                Some(found)
            }
            Err(Trouble::Failed(error)) => return Err(error),
        };
        if let Some(found) = found {
            let written = program.source.snippet(assertion.span).trim_end_matches(';');
            let written = written.split_whitespace().collect::<Vec<_>>().join(" ");
            failures.push(format!("line {line}: `{written}` {found}"));
        }
    }
    let passed = total - failures.len();
    report.tests.push(TestOutcome { name: test.name.clone(), passed, total, failures });
    Ok(())
}

/// Why an assertion cannot be decided.
enum Trouble {
    /// The compiler refuses its query.
    Refused(Box<RefusedQuestion>),
    /// An internal error.
    Failed(EngineError),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Unanswered> for Trouble {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Refused(refused) => Self::Refused(refused),
            Unanswered::Store(error) => error.into(),
        }
    }
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

/// A test with its facts.
struct Bench<'a> {
    program: &'a Program,
    reader: &'a Reader<'a>,
    context: Context,
    catalog: Catalog,
    now: i64,
    /// When all tests must be done.
    deadline: Deadline,
}

impl<'a> Bench<'a> {
    fn new(program: &'a Program, test: &'a Test, reader: &'a Reader<'a>, deadline: Deadline) -> Self {
        let facts = facts(program, test);
        let context = Context::of(&facts, StoreDialect::Sqlite);
        let catalog = catalog::catalog(&[], &context.signatures);
        Self { program, reader, context, catalog, now: unix_time(), deadline }
    }

    /// Decides an assertion: what was found instead, or `None` if it holds.
    fn decide(&self, assertion: &Assertion) -> Result<Option<String>, Trouble> {
        let Some(types) = &assertion.var_types else {
            let holds = self.holds(assertion.goal)?;
            let expected = match assertion.iff {
                Some(iff) => self.holds(iff)?,
                None => true,
            };
            let found = if holds { "has an answer" } else { "has no answer" };
            return Ok((holds != (expected == assertion.positive)).then(|| found.to_owned()));
        };
        let mut unexpected = Vec::new();
        let mut missing = Vec::new();
        for &ty in types {
            let values = trial_values(self.program, ty, self.now);
            let answers = self.holding(assertion.goal, ty, &values)?;
            let expected = match assertion.iff {
                Some(iff) => self.holding(iff, ty, &values)?,
                None => values.iter().map(|value| value.text.clone()).collect(),
            };
            for value in values {
                let expected = expected.contains(&value.text) == assertion.positive;
                match (answers.contains(&value.text), expected) {
                    (true, false) => unexpected.push(value),
                    (false, true) => missing.push(value),
                    (true, true) | (false, false) => {}
                }
            }
        }
        let found = [("holds for", unexpected), ("does not hold for", missing)]
            .into_iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(verb, values)| format!("{verb} {}", shown(&values)));
        let found: Vec<String> = found.collect();
        Ok((!found.is_empty()).then(|| found.join(", and ")))
    }

    /// Whether a predicate without arguments holds.
    fn holds(&self, pred: PredId) -> Result<bool, Trouble> {
        let (statement, params) = self.prepare(&Question::atom(self.name(pred), Vec::new()))?;
        let holds = self.reader.decision(&statement.sql, &params);
        Ok(holds.map_err(|error| Unanswered::of(&statement, error))?)
    }

    /// The trial values for which a predicate with one argument holds.
    fn holding(&self, pred: PredId, ty: TypeId, among: &[TrialValue]) -> Result<BTreeSet<String>, Trouble> {
        let type_name = &self.program.types[ty].name;
        let ids = || among.iter().map(|value| value.text.clone());
        let question = questions::holds_of(self.name(pred), type_name, ids().collect());
        let (statement, params) = self.prepare(&question)?;
        let mut holding = BTreeSet::new();
        let read = self.reader.rows(row_query(&statement), &params, |row| {
            match row.first_mut().and_then(Option::take) {
                Some(id) => holding.extend([id.into_owned()]),
                None => holding.extend(ids()),
            }
        });
        read.map_err(|error| Unanswered::of(&statement, error))?;
        Ok(holding)
    }

    fn prepare(&self, question: &Question) -> Result<(Statement, Vec<Param>), Trouble> {
        // The time of compiling counts, because it takes longer than most tests.
        self.reader.check()?;
        let shape = Shape::of(self.program, question);
        let refused = |refusal| Trouble::Refused(Box::new(question.refused(refusal)));
        let (catalog, store) = (&self.catalog, StoreDialect::Sqlite);
        let statement = match compile_for_store(self.program, catalog, &shape, store, self.deadline) {
            Ok(Statement { refused_if: Some(RefusedIf { refusal, .. }), .. })
            | Err(CompileError::Refused(refusal)) => return Err(refused(refusal)),
            Ok(statement) => statement,
            Err(CompileError::OutOfTime(OutOfTime { limit })) => {
                return Err(Trouble::Failed(EngineError::Timeout(format!(
                    "the policy and its tests took longer than {limit:?}: test less, simplify the rules, or raise `policy_test_time`"
                ))));
            }
            Err(CompileError::Bug(text)) => return Err(Trouble::Failed(EngineError::Bug(text))),
        };
        let binding = SlotValues { context: &self.context, now: self.now, window: None };
        let params = binding.params(question, &statement.slots)?;
        Ok((statement, params))
    }

    fn name(&self, pred: PredId) -> &str {
        &self.program.predicate(pred).name
    }
}

/// The facts of a test.
fn facts(program: &Program, test: &Test) -> Vec<Fact> {
    let value = |id: &ConstId| {
        let constant = program.literal(*id);
        Value { ty: program.types[constant.ty].name.clone(), id: constant.text.clone() }
    };
    let fact = |fact: &portcullis_compiler::ir::Fact| Fact {
        predicate: fact.predicate.clone(),
        args: fact.args.iter().map(value).collect(),
    };
    test.facts.iter().map(fact).collect()
}

/// A few of the values, and the number of the others.
fn shown(values: &[TrialValue]) -> String {
    let listed = values.iter().take(SHOWN).map(|value| value.shown.as_str()).collect::<Vec<_>>().join(", ");
    match values.len().saturating_sub(SHOWN) {
        0 => listed,
        n_more => format!("{listed} and {n_more} more"),
    }
}
