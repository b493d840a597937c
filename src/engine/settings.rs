//! The bounds of one engine, each with its reason.
//!
//! `config` fills these in from the command line and the environment; the defaults are those of the
//! published contract.

use crate::share::Turns;
use std::sync::Arc;
use std::time::Duration;

/// The bounds of one engine.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// The longest that a question may run.
    pub query_time: Duration,
    /// The longest that a long question may wait for its turn before.
    pub query_wait: Duration,
    /// Readers of brief questions; `None` for as many as fit the processors.
    pub readers: Option<usize>,
    /// Readers of long questions; `None` for as many as fit the processors.
    pub long_readers: Option<usize>,
    /// The longest that the tests of a policy may run, all of them and its check together.
    pub policy_test_time: Duration,
    /// Context facts of one request: each is sent to the statement as a parameter.
    pub context_facts: usize,
    /// Facts and patterns of one batch; `None` leaves the bound to the size of the body.
    pub batch_facts: Option<usize>,
    /// Stored facts that one pattern of a deletion may match; `None` is no bound.
    pub delete_reach: Option<u64>,
    /// Bytes of compiled statements that are kept for reuse. Of local checks, documents, plans and texts may take
    /// a quarter of it each beside.
    pub plan_bytes: u64,
    /// Predicates of one question: the work of compiling grows with their combinations.
    pub question_atoms: usize,
    /// Answers over any predicates: a product of unrelated ones would otherwise fill the memory. A list of
    /// ids has no bound but what is stored.
    pub answer_rows: usize,
    /// Values of stored facts for one condition in the SQL of a local check: a text is sent, parsed and planned each time.
    pub embedded_values: usize,
    /// Where long work waits its turn; environments with the same settings share it.
    pub turns: Arc<Turns>,
    /// Where a question that is asked for the first time waits to be compiled, shared in the same way: one takes a
    /// millisecond, seldom a second, and does not wait for long work.
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
            turns: Arc::new(Turns::beside_others()),
            compiling: Arc::new(Turns::for_each_processor()),
        }
    }
}
