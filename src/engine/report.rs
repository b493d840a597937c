//! How the tests of a policy ended, as data.

use portcullis_compiler::question::RefusedQuestion;

/// How the tests of a policy ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestReport {
    /// A line for each assertion that failed.
    pub errors: Vec<String>,
    /// Each test that ran, in the policy's order.
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

/// How one test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOutcome {
    /// The test's name.
    pub name: String,
    /// Assertions that held.
    pub passed: usize,
    /// Assertions in all.
    pub total: usize,
}

impl TestReport {
    /// Whether every assertion held.
    pub fn success(&self) -> bool {
        self.errors.is_empty()
    }

    /// Every failure, a line each.
    pub fn message(&self) -> String {
        self.errors.join("\n")
    }
}
