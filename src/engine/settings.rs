//! The limits of one engine, each with its reason.
//!
//! `config` fills these in from the settings; the defaults are those of the published contract.

use crate::share::Turns;
use crate::store::StoreOptions;
use std::sync::Arc;
use std::time::Duration;

/// The limits of one engine.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// How long a question may run.
    pub query_time: Duration,
    /// How long a long question may wait for its turn before it runs.
    pub query_wait: Duration,
    /// The number of readers for brief questions; `None` to fit the processors.
    pub readers: Option<usize>,
    /// The number of readers for long questions; `None` to fit the processors.
    pub long_readers: Option<usize>,
    /// How long checking a policy and running its tests may take in total.
    pub policy_test_time: Duration,
    /// The maximum number of context facts of a request: each is sent to the statement as a parameter.
    pub context_facts: usize,
    /// The maximum number of facts and patterns in a batch; `None` leaves it to the size of the body.
    pub batch_facts: Option<usize>,
    /// How many stored facts one pattern of a deletion may match; `None` for no limit.
    pub delete_reach: Option<u64>,
    /// The memory for compiled statements that are cached, in bytes. What else is cached of questions and
    /// documents takes as much again at most.
    pub plan_bytes: u64,
    /// The maximum number of predicates in a question: the work of compiling grows with their combinations.
    pub question_atoms: usize,
    /// The maximum number of rows of an answer over any predicates: a product of unrelated ones could
    /// otherwise fill the memory. A list of ids is limited only by what is stored.
    pub answer_rows: usize,
    /// The maximum number of values of stored facts in one condition of a local check's SQL, which is sent,
    /// parsed and planned each time.
    pub embedded_values: usize,
    /// The turns of long work, shared by environments with the same settings.
    pub turns: Arc<Turns>,
    /// The turns of questions that must be compiled, shared in the same way. Compiling takes a millisecond,
    /// rarely a second, and does not wait for other long work.
    pub compiling: Arc<Turns>,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            query_time: Duration::from_secs(20),
            query_wait: Duration::from_secs(20),
            readers: None,
            long_readers: None,
            policy_test_time: Duration::from_secs(20),
            context_facts: 100,
            batch_facts: None,
            delete_reach: None,
            plan_bytes: 64 << 20,
            question_atoms: 32,
            answer_rows: 1_000_000,
            embedded_values: 10_000,
            turns: Arc::new(Turns::with_low_priority()),
            compiling: Arc::new(Turns::for_each_processor()),
        }
    }
}

impl EngineSettings {
    /// Those of the store.
    pub(super) fn store_options(&self) -> StoreOptions {
        let defaults = StoreOptions::default();
        StoreOptions {
            readers: self.readers.unwrap_or(defaults.readers),
            long_readers: self.long_readers.unwrap_or(defaults.long_readers),
            query_time: self.query_time,
            query_wait: self.query_wait,
            ..defaults
        }
    }
}
