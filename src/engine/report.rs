//! The results of a policy's tests, as data.

use portcullis_compiler::question::RefusedQuestion;

/// The results of a policy's tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestReport {
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
    /// A line for each that failed: where it is, and what was found.
    pub failures: Vec<String>,
}

impl TestReport {
    /// Whether every assertion held.
    pub fn success(&self) -> bool {
        self.tests.iter().all(|test| test.failures.is_empty())
    }

    /// A line for each assertion that failed, with its test.
    pub fn errors(&self) -> Vec<String> {
        let of_test = |test: &TestOutcome| {
            let line = |failure: &String| format!("test `{}`, {failure}", test.name);
            test.failures.iter().map(line).collect::<Vec<_>>()
        };
        self.tests.iter().flat_map(of_test).collect()
    }

    /// One line for each failure.
    pub fn message(&self) -> String {
        self.errors().join("\n")
    }
}
