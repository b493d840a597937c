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
mod environments;
mod error;
mod evaluate;
mod facts;
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

pub use crate::store::{ArgPattern, Change, Fact, FactPattern, Value};
pub use checks::ActionsQuestion;
pub use environments::{check_name as check_environment_name, open_environments};
pub use error::{EngineError, PolicyRefusal};
pub use evaluate::{AnsweredFact, Assignment, EvaluateQuery, EvaluateVar};
pub use local::{LocalEmbedded, LocalExplanation, LocalMode, LocalQuestion, LocalRequest, LocalRule};
pub use pages::{ListPage, Page};
pub use policies::{PolicyChange, PolicyOptions, PolicyOutcome};
pub use questions::check_predicates;
pub use report::{TestOutcome, TestReport};
pub use settings::EngineSettings;
pub use view::unix_time;

use crate::store::{Key, Stats, Store, StoreOptions};
use local::Documents;
use parking_lot::RwLock;
use plans::Plans;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Mutex;
use versions::Active;

/// How a result names *any value*: every resource, every action.
pub const ANY: &str = "*";

/// Facts whose check is worth a thread of its own: some milliseconds.
const MANY_FACTS: usize = 5_000;

/// One environment: a store of facts and the policy that decides over them. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Store,
    settings: EngineSettings,
    /// The active policy with its compiled questions; `None` before the first policy.
    plans: RwLock<Option<Arc<Plans>>>,
    /// Held while the active policy is replaced.
    uploads: Mutex<()>,
    documents: Documents,
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
        let shared = Shared { store, settings, plans: RwLock::new(None), uploads: Mutex::new(()), documents };
        let engine = Self { shared: Arc::new(shared) };
        if let Some(policy) = stored {
            let active = view::off_the_workers(move || Active::of(&policy)).await??;
            engine.activate(Some(Arc::new(active)));
        }
        Ok(engine)
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
        let plans = self.plans();
        let check = move || {
            let program = plans.as_ref().map(|plans| &*plans.policy.program);
            facts::check_changes(program, &changes).map(|()| changes)
        };
        let changes = if n > MANY_FACTS { view::off_the_workers(check).await?? } else { check()? };
        Ok(self.store().apply_within(changes, self.settings().delete_reach).await?.offset)
    }

    /// The stored facts that match a pattern.
    pub async fn facts(&self, pattern: FactPattern) -> Result<Vec<Fact>, EngineError> {
        facts::check_pattern(&pattern)?;
        Ok(self.store().facts(pattern, usize::MAX).await?.facts)
    }

    /// How much is stored.
    pub async fn stats(&self) -> Result<EngineStats, EngineError> {
        let versions = self.store().policy_versions().await?.into_iter().map(|version| version.id).collect();
        Ok(EngineStats { versions, facts: self.store().stats().await? })
    }

    /// The key with this text, unless it is unknown or revoked.
    pub fn verify_key(&self, text: &str) -> Option<Key> {
        self.store().verify_key(text)
    }

    /// A random secret that stays with this environment; page tokens are authenticated with it.
    pub fn secret(&self) -> &[u8; 32] {
        self.store().secret()
    }

    fn store(&self) -> &Store {
        &self.shared.store
    }

    fn settings(&self) -> &EngineSettings {
        &self.shared.settings
    }

    /// The data-bindings documents that were sent last.
    fn documents(&self) -> &Documents {
        &self.shared.documents
    }

    fn uploads(&self) -> &Mutex<()> {
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

    /// Lets a policy answer from now on.
    fn activate(&self, policy: Option<Arc<Active>>) {
        let mut plans = self.shared.plans.write();
        let bytes = self.settings().plan_bytes;
        *plans = policy.map(|policy| Arc::new(Plans::new(policy, self.store().relations(), bytes)));
    }
}

fn options(settings: &EngineSettings) -> StoreOptions {
    StoreOptions { query_time: settings.query_time, ..StoreOptions::default() }
}
