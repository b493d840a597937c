//! The results of a policy's tests, as data.

use portcullis_compiler::question::RefusedQuestion;

/// The results of a policy's tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestReport {
    /// A line for each assertion that failed.
    pub errors: Vec<String>,
    /// The tests that ran, in the policy's order.
    pub tests: Vec<TestOutcome>,
    /// The assertions that failed because their questions are refused.
    pub refused: Vec<RefusedAssertion>,
}

/// An assertion that cannot be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedAssertion {
    /// The test's name.
    pub test: String,
    /// The assertion's line, from 1.
    pub line: usize,
    /// Why.
    pub question: RefusedQuestion,
}

/// The result of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOutcome {
    /// The test's name.
    pub name: String,
    /// How many assertions held.
    pub passed: usize,
    /// How many assertions it has.
    pub total: usize,
}

impl TestReport {
    /// Whether every assertion held.
    pub fn success(&self) -> bool {
        self.errors.is_empty()
    }

    /// One line for each failure.
    pub fn message(&self) -> String {
        self.errors.join("\n")
    }
}
