//! Joins the compiler and the store: questions in, decisions out.
//!
//! The store knows nothing of policies and the compiler nothing of tables; this is where they meet. An
//! [`Engine`] is one environment: a store of facts with one active policy. Every question takes the same way:
//!
//! ```text
//! request ─facts─▶ values ─questions─▶ Question ─┐
//! policy ─policies─▶ Active ──────────────────────┼─plans─▶ Statement ─answers─▶ rows on a reader
//! store's tables + context facts ─catalog─▶ ──────┘
//! ```
//!
//! A question that was asked before in the same shape costs a look-up and the run of a prepared statement.
//! The tests of a policy take that way too, over their own facts only.

mod answers;
mod candidates;
mod catalog;
mod checks;
mod conjunctions;
mod counters;
mod environments;
mod error;
mod evaluate;
mod facts;
mod fitness;
#[cfg(test)]
mod fixture;
mod local;
pub mod notation;
mod pages;
mod plans;
mod policies;
mod policy_tests;
mod questions;
mod report;
mod settings;
#[cfg(test)]
mod tests;
mod versions;
mod view;

pub use crate::store::{ArgPattern, Change, Fact, FactPattern, FactReading, Usage, Value};
pub use checks::ActionsQuestion;
pub use counters::{Counters, Decided, Lookups};
pub use environments::{check_name as check_environment_name, environment_names, open_environments};
pub use error::{EngineError, PolicyRefusal};
pub use evaluate::{AnsweredFact, Assignment, EvaluateQuery, EvaluateVar};
pub use facts::check_fact;
pub use local::{LocalEmbedded, LocalExplanation, LocalMode, LocalQuestion, LocalRequest, LocalRule};
pub use pages::{ListPage, Page};
pub use policies::{PolicyChange, PolicyOptions, PolicyOutcome};
pub use portcullis_compiler::builtin;
pub use portcullis_compiler::question::RefusedQuestion;
pub use portcullis_compiler::refusal::Refusal;
pub use questions::check_predicates;
pub use report::{RefusedAssertion, TestOutcome, TestReport};
pub use settings::EngineSettings;
pub use view::unix_time;

use crate::share::{Account, Turns};
use crate::store::{Access, Key, NewKey, Stats, Store, StoreOptions};
use counters::Counted;
use local::Documents;
use parking_lot::RwLock;
use plans::Plans;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tokio::sync::{Mutex, watch};
use versions::Active;

/// How a result names *any value*: every resource, every action.
pub const ANY: &str = "*";

/// Facts that are read at once; more are read a part at a time.
const FEW_FACTS: usize = 1_000;

/// Facts whose handling is worth a turn beside the workers: about a millisecond.
const MANY: usize = 2_000;

/// One environment: a store of facts and the policy that decides over them. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<EngineState>,
    store: Store,
    /// The account of the request for which it answers; none for the service itself.
    account: Option<Arc<Account>>,
}

#[derive(Debug)]
struct EngineState {
    settings: EngineSettings,
    /// The active policy with its compiled questions; `None` before the first policy.
    plans: RwLock<Option<Arc<Plans>>>,
    /// What answers before that: no rule, over no relation.
    without_policy: OnceLock<Arc<Plans>>,
    /// Held while the active policy is replaced, by whoever works on that.
    uploads: Arc<Mutex<()>>,
    documents: Documents,
    counted: Arc<Counted>,
    /// Set when nothing is answered any more.
    ending: watch::Sender<bool>,
}

/// The stored facts that match a pattern.
#[derive(Debug)]
pub enum FoundFacts {
    /// All of them.
    Few(Vec<Fact>),
    /// So many that they are read a part at a time.
    Many(FactReading),
}

/// How much an environment holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// The ids of its policies, oldest first.
    pub versions: Vec<u64>,
    /// Its facts.
    pub facts: Stats,
}

impl Engine {
    /// Opens the environment in a folder and reloads its active policy.
    pub async fn open(dir: &Path, settings: EngineSettings) -> Result<Self, EngineError> {
        let (dir, options) = (dir.to_owned(), options(&settings));
        let store = view::off_the_workers(move || Store::open(&dir, &options)).await??;
        Self::over(store, settings).await
    }

    /// An environment that is gone when it is dropped.
    pub async fn in_memory(settings: EngineSettings) -> Result<Self, EngineError> {
        let store = Store::in_memory(&options(&settings))?;
        Self::over(store, settings).await
    }

    async fn over(store: Store, settings: EngineSettings) -> Result<Self, EngineError> {
        let stored = store.policy(None).await?;
        let documents = Documents::new(settings.plan_bytes / 4);
        let shared = EngineState {
            settings,
            plans: RwLock::new(None),
            without_policy: OnceLock::new(),
            uploads: Arc::default(),
            documents,
            counted: Arc::default(),
            ending: watch::Sender::default(),
        };
        let engine = Self { shared: Arc::new(shared), store, account: None };
        if let Some(policy) = stored {
            let active = view::off_the_workers(move || Active::of(&policy)).await??;
            engine.activate(Some(Arc::new(active)));
        }
        Ok(engine)
    }

    /// The same engine for one request, which takes what it needs of memory, processors and readers in the name of its
    /// asker.
    #[must_use]
    pub fn on_account(&self, account: Arc<Account>) -> Self {
        let store = self.store.asked_by(account.asker());
        Self { shared: Arc::clone(&self.shared), store, account: Some(account) }
    }

    /// Where its long work waits its turn.
    pub fn turns(&self) -> &Arc<Turns> {
        &self.settings().turns
    }

    /// How many questions run and wait.
    pub fn usage(&self) -> Usage {
        self.store().usage()
    }

    /// Ends the questions and the tests that run, and answers no more; writes go on.
    pub fn end_questions(&self) {
        self.shared.ending.send_replace(true);
        self.store().end_questions();
    }

    /// Applies changes in their order, all or none, and returns the store's offset; durable once this returns.
    ///
    /// Inserted facts must be ones that the active policy can consume.
    pub async fn apply(&self, changes: Vec<Change>) -> Result<u64, EngineError> {
        let n: usize = changes.iter().map(facts::size).sum();
        if let Some(limit) = self.settings().batch_facts
            && n > limit
        {
            return Err(EngineError::TooLarge(format!(
                "the batch has {n} facts, at most {limit} are allowed"
            )));
        }
        let (plans, account) = (self.plans(), self.account.clone());
        let check = move || {
            let program = plans.as_ref().map(|plans| &*plans.policy.program);
            facts::check_changes(program, &changes)?;
            // What they take was guessed before.
            if let Some(account) = account.filter(|account| account.bytes() > 0) {
                account.shrink_to(changes.iter().map(facts::bytes).sum());
            }
            Ok::<_, EngineError>(changes)
        };
        let changes = if n > MANY { self.in_turn(check).await?? } else { check()? };
        let (engine, reach) = (self.clone(), self.settings().delete_reach);
        // The facts wait in the writer's queue, in the request's name, even if nobody waits for the answer any more.
        let write = async move {
            let applied = engine.store().apply_within(changes, reach).await?;
            engine.counted().wrote(applied.inserted, applied.deleted);
            Ok::<_, EngineError>(applied.offset)
        };
        if self.account.as_ref().is_some_and(|account| account.bytes() > 0) {
            tokio::spawn(write).await.map_err(|error| EngineError::Bug(error.to_string()))?
        } else {
            write.await
        }
    }

    /// The stored facts that match a pattern.
    pub async fn facts(&self, pattern: FactPattern) -> Result<Vec<Fact>, EngineError> {
        facts::check_pattern(&pattern)?;
        Ok(self.store().facts(pattern, usize::MAX).await?.facts)
    }

    /// The stored facts that match a pattern, those of one moment however many they are.
    pub async fn find_facts(&self, pattern: FactPattern) -> Result<FoundFacts, EngineError> {
        facts::check_pattern(&pattern)?;
        let page = self.store().facts(pattern.clone(), FEW_FACTS).await?;
        if !page.more {
            return Ok(FoundFacts::Few(page.facts));
        }
        let (engine, open) = (self.clone(), pattern.clone());
        match self.in_turn(move || engine.store().reading(open)).await?? {
            Some(reading) => Ok(FoundFacts::Many(reading)),
            None => self.facts(pattern).await.map(FoundFacts::Few),
        }
    }

    /// How much is stored.
    pub async fn stats(&self) -> Result<EngineStats, EngineError> {
        let versions = self.store().policy_versions().await?.into_iter().map(|version| version.id).collect();
        Ok(EngineStats { versions, facts: self.store().stats().await? })
    }

    /// How many bytes the environment takes on the disk.
    pub async fn bytes(&self) -> Result<u64, EngineError> {
        Ok(self.store().bytes().await?)
    }

    /// What was counted since the environment was opened.
    pub fn counters(&self) -> Counters {
        self.counted().read()
    }

    /// The key with this text, unless it is unknown or revoked.
    pub fn verify_key(&self, text: &str) -> Option<Key> {
        self.store().verify_key(text)
    }

    /// All keys, oldest first, the revoked ones too.
    pub fn keys(&self) -> Vec<Key> {
        self.store().keys()
    }

    /// When a key was used last, in seconds since the epoch; `None` if it never was.
    pub fn key_last_used(&self, id: &str) -> Option<i64> {
        self.store().key_last_used(id)
    }

    /// Makes a key, which opens its environment at once; its text is known only now.
    pub async fn create_key(
        &self,
        environment: String,
        name: String,
        access: Access,
    ) -> Result<NewKey, EngineError> {
        Ok(self.store().create_key(environment, name, access).await?)
    }

    /// Refuses a key from now on; returns whether it exists.
    pub async fn revoke_key(&self, id: String) -> Result<bool, EngineError> {
        Ok(self.store().revoke_key(id).await?)
    }

    /// A random secret that stays with this environment; page tokens are authenticated with it.
    pub fn secret(&self) -> &[u8; 32] {
        self.store().secret()
    }

    /// Why this environment takes no writes any more, if it takes none.
    pub fn fault(&self) -> Option<EngineError> {
        self.store().fault().map(EngineError::from)
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn settings(&self) -> &EngineSettings {
        &self.shared.settings
    }

    /// The data-bindings documents that were sent last.
    fn documents(&self) -> &Documents {
        &self.shared.documents
    }

    /// Does work that only computes, but for long, when the asker's turn comes.
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        view::in_turn(self.turns(), self.account.as_deref(), work).await
    }

    fn counted(&self) -> &Arc<Counted> {
        &self.shared.counted
    }

    fn uploads(&self) -> &Arc<Mutex<()>> {
        &self.shared.uploads
    }

    /// The active policy and its compiled questions over the relations of now.
    fn plans(&self) -> Option<Arc<Plans>> {
        let relations = self.store().relations();
        {
            let plans = self.shared.plans.read();
            match &*plans {
                Some(plans) if plans.generation() < relations.generation => {}
                current => return current.clone(),
            }
        }
        // A table came: the first question of the new generation starts over.
        let mut plans = self.shared.plans.write();
        if let Some(stale) = plans.as_ref().filter(|plans| plans.generation() < relations.generation) {
            let policy = Arc::clone(&stale.policy);
            *plans = Some(Arc::new(Plans::new(policy, relations, self.settings().plan_bytes)));
        }
        plans.clone()
    }

    /// A policy without a rule, which is what answers before the first one.
    fn plans_without_policy(&self) -> Result<Arc<Plans>, EngineError> {
        if let Some(known) = self.shared.without_policy.get() {
            return Ok(Arc::clone(known));
        }
        let policy = Arc::new(Active::empty()?);
        let plans = Arc::new(Plans::new(policy, Arc::default(), self.settings().plan_bytes / 16));
        Ok(Arc::clone(self.shared.without_policy.get_or_init(|| plans)))
    }

    /// Lets a policy answer from now on.
    fn activate(&self, policy: Option<Arc<Active>>) {
        let mut plans = self.shared.plans.write();
        let bytes = self.settings().plan_bytes;
        *plans = policy.map(|policy| Arc::new(Plans::new(policy, self.store().relations(), bytes)));
    }
}

fn options(settings: &EngineSettings) -> StoreOptions {
    let defaults = StoreOptions::default();
    StoreOptions {
        readers: settings.readers.unwrap_or(defaults.readers),
        long_readers: settings.long_readers.unwrap_or(defaults.long_readers),
        query_time: settings.query_time,
        query_wait: settings.query_wait,
        ..defaults
    }
}
