//! Joins the compiler and the store: questions in, decisions out.
//!
//! The store knows nothing about policies and the compiler nothing about tables; the engine connects them. An
//! [`Engine`] is one environment: a store of facts with one active policy. Every question takes the same
//! path:
//!
//! ```text
//! request ─facts─▶ values ─questions─▶ Question ─┐
//! policy ─policies─▶ Active ──────────────────────┼─plans─▶ Statement ─answers─▶ rows on a reader
//! store's tables + context facts ─catalog─▶ ──────┘
//! ```
//!
//! A question whose shape is known costs a look-up and a run of a prepared statement. The tests of a policy
//! take the same path, but over their own facts only.

mod answers;
mod attributes;
mod catalog;
mod checks;
mod conjunctions;
mod counters;
mod draft;
mod environments;
mod error;
mod evaluate;
mod facts;
mod following;
#[cfg(test)]
mod fixture;
mod impact;
mod keys;
mod local;
pub mod notation;
mod pages;
mod plans;
mod policies;
mod policy_tests;
mod question_names;
mod questions;
mod report;
mod review;
mod rule_graph;
mod search;
mod settings;
mod stages;
mod stored;
mod subjects;
mod tables;
#[cfg(test)]
mod tests;
mod trial_values;
mod unread_facts;
mod versions;
mod view;
mod why;

pub use crate::store::{ArgPattern, Change, Fact, FactPattern, FactReading, Usage, Value, WriteMark};
pub use attributes::{Attribute, AttributeOwner};
pub use checks::{ActionsQuestion, Decision};
pub use counters::{Counters, DecisionCount, Lookups};
pub use draft::{AnsweredValue, Answers, Draft, PolicyNames, TestEdits};
pub use environments::{
    check_name as check_environment_name, connect_environments, environment_names, environments_at,
    open_environment, open_environments,
};
pub use error::{EngineError, PolicyRefusal};
pub use evaluate::{AnsweredFact, Assignment, EvaluateQuery, EvaluateVar};
pub use facts::check_fact;
pub use impact::{ChangedAnswer, Impact, PastQuestion, PossibleAnswer};
pub use local::{
    LocalEmbedded, LocalEnd, LocalExplanation, LocalMode, LocalProbe, LocalQuestion, LocalRequest, LocalRule,
    LocalSet, LocalSlow, UnboundDenials, allow_question, conjunction_of, given_value, local_question,
    reads_bound, wanted_columns,
};
pub use pages::{ListPage, Page};
pub use policies::{PolicyChange, PolicyOptions, PolicyOutcome};
pub use policy_tests::{Coverage, CoveredRule};
pub use portcullis_compiler::builtin;
pub use portcullis_compiler::local::StartingEnd;
pub use portcullis_compiler::question::{Question, RefusedQuestion};
pub use portcullis_compiler::refusal::Refusal;
pub use question_names::QuestionNames;
pub use questions::check_predicates;
pub use report::{RefusedAssertion, TestOutcome, TestReport};
pub use review::{Review, ReviewQuestion, Reviewed, ReviewedType};
pub use rule_graph::{RuleEdge, RuleGraph, RuleNode};
pub use search::{FactSearch, FoundPage};
pub use settings::EngineSettings;
pub use stages::QuestionStages;
pub use stored::FoundFacts;
pub use subjects::{SubjectList, SubjectsPage, SubjectsQuestion};
pub use tables::{TooManyTables, review_tables};
pub use versions::DecidingPolicy;
pub use view::unix_time;
pub use why::{
    CallerRow, Explanation, FactOrigin, FailedGoal, LocalWhy, LocalWhyRequest, Suggestion, SuggestionEffects,
    Suggestions, Verdict, Why, WhyAtom, WhyAttempt, WhyBy, WhyCondition, WhyLack, WhyQuestion, WhyRule,
    WhyStep,
};

use crate::share::{Account, Turns};
use crate::store::postgres::{PoolUsage, ReplicaUsage, StoreServers};
use crate::store::{ConsistentRead, Relations, Stats, Store, Token};
use counters::Counted;
use local::Documents;
use parking_lot::RwLock;
use plans::Plans;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::{Mutex, watch};
use versions::Active;

/// The name of *any value* in results: every resource, every action.
pub const ANY: &str = "*";

/// One environment: a store of facts and the policy that decides over them. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<EngineState>,
    store: Store,
    /// The account of the current request; `None` for the service itself.
    account: Option<Arc<Account>>,
    /// What comes with the questions besides their context facts.
    attributes: Arc<[Attribute]>,
    /// An older version of the policy, or a draft, which answers instead of the active one.
    older: Option<Arc<Plans>>,
    /// The time of its questions, if it is not the current one.
    moment: Option<i64>,
}

#[derive(Debug)]
struct EngineState {
    settings: EngineSettings,
    /// The active policy with its compiled questions; `None` before the first policy.
    plans: RwLock<Option<Arc<Plans>>>,
    /// The empty policy over no relations, used before the first policy.
    without_policy: OnceLock<Arc<Plans>>,
    /// How often a policy was made the active one; raised while `plans` is locked.
    activations: AtomicU64,
    /// Held while the active policy is being replaced.
    uploads: Arc<Mutex<()>>,
    /// Held while a policy is loaded that another process has stored.
    following: Mutex<()>,
    documents: Documents,
    counted: Arc<Counted>,
    /// Set when questions are no longer answered.
    ending: watch::Sender<bool>,
}

/// What an environment contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// The ids of its policies, oldest first.
    pub versions: Vec<u64>,
    /// The counts of its facts.
    pub facts: Stats,
}

impl Engine {
    /// Opens the environment in a folder and reloads its active policy.
    pub async fn open(dir: &Path, settings: EngineSettings) -> Result<Self, EngineError> {
        let (dir, options) = (dir.to_owned(), settings.store_options());
        let store = view::off_the_workers(move || Store::open(&dir, &options)).await??;
        Self::over(store, settings).await
    }

    /// An environment that disappears when it is dropped.
    pub async fn in_memory(settings: EngineSettings) -> Result<Self, EngineError> {
        let store = Store::in_memory(&settings.store_options())?;
        Self::over(store, settings).await
    }

    /// Opens the environment of a store in a PostgreSQL database and reloads its active policy.
    pub async fn connect(
        servers: &StoreServers,
        environment: &str,
        settings: EngineSettings,
    ) -> Result<Self, EngineError> {
        let store = Store::connect(servers, environment, &settings.store_options()).await?;
        Self::over(store, settings).await
    }

    async fn over(store: Store, settings: EngineSettings) -> Result<Self, EngineError> {
        let stored = store.policy(None).await?;
        let documents = Documents::new(settings.plan_bytes / 4);
        let shared = EngineState {
            settings,
            plans: RwLock::new(None),
            activations: AtomicU64::default(),
            without_policy: OnceLock::new(),
            uploads: Arc::default(),
            following: Mutex::default(),
            documents,
            counted: Arc::default(),
            ending: watch::Sender::default(),
        };
        let (shared, attributes) = (Arc::new(shared), Arc::default());
        let engine = Self { shared, store, account: None, attributes, older: None, moment: None };
        if let Some(policy) = stored {
            let active = view::off_the_workers(move || Active::of(&policy)).await??;
            engine.activate(Some(Arc::new(active)));
        }
        Ok(engine)
    }

    /// The same engine on behalf of one request: memory, processor time and readers are charged to its
    /// key.
    #[must_use]
    pub fn on_account(&self, account: Arc<Account>) -> Self {
        let store = self.store.asked_by(account.asker());
        Self { store, account: Some(account), ..self.clone() }
    }

    /// The same engine, whose questions must see all writes up to a moment ([`WriteMark::token`]).
    #[must_use]
    pub fn after(&self, after: Option<Token>) -> Self {
        Self { store: self.store.after(after), ..self.clone() }
    }

    /// The same engine, whose questions no replica answers.
    #[must_use]
    pub fn of_primary(&self) -> Self {
        Self { store: self.store.of_primary(), ..self.clone() }
    }

    /// The same engine for questions with these attributes. Those that the policy reads are context facts.
    #[must_use]
    pub fn with_attributes(&self, attributes: Vec<Attribute>) -> Self {
        Self { attributes: attributes.into(), ..self.clone() }
    }

    /// The same engine for questions at another time, in seconds since the epoch.
    #[must_use]
    pub fn at_moment(&self, moment: i64) -> Self {
        Self { moment: Some(moment), ..self.clone() }
    }

    /// The turns of its long work.
    pub fn turns(&self) -> &Arc<Turns> {
        &self.settings().turns
    }

    /// How many questions are running and waiting.
    pub fn usage(&self) -> Usage {
        self.store().usage()
    }

    /// How the connections of a store in a database are used: those to the primary, then those to each
    /// replica.
    pub fn pool_usage(&self) -> Vec<PoolUsage> {
        self.store().pool_usage()
    }

    /// How often each replica of a store in a database was asked.
    pub fn replica_usage(&self) -> Vec<ReplicaUsage> {
        self.store().replica_usage()
    }

    /// Whether the primary of a store in a database is silent: what needs it is refused at once.
    pub fn primary_is_silent(&self) -> Option<bool> {
        self.store().primary_is_silent()
    }

    /// Cancels running questions and tests, and answers no more. Writes continue.
    pub fn end_questions(&self) {
        self.shared.ending.send_replace(true);
        self.store().end_questions();
    }

    /// Counts what is stored.
    pub async fn stats(&self) -> Result<EngineStats, EngineError> {
        let versions = self.store().policy_versions().await?.into_iter().map(|version| version.id).collect();
        Ok(EngineStats { versions, facts: self.store().stats().await? })
    }

    /// The size of the environment on the disk in bytes.
    pub async fn bytes(&self) -> Result<u64, EngineError> {
        Ok(self.store().bytes().await?)
    }

    /// The counters since the environment was opened.
    pub fn counters(&self) -> Counters {
        self.counted().read()
    }

    /// The environment's random secret; it authenticates page tokens.
    pub fn secret(&self) -> &[u8; 32] {
        self.store().secret()
    }

    /// Why this environment no longer accepts writes, if it does not.
    pub fn fault(&self) -> Option<EngineError> {
        self.store().fault().map(EngineError::from)
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn settings(&self) -> &EngineSettings {
        &self.shared.settings
    }

    /// The data-bindings documents that were used last.
    fn documents(&self) -> &Documents {
        &self.shared.documents
    }

    /// Runs long computations when it is the asker's turn.
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

    /// The policy that answers: an older version, a draft, or the active one.
    fn active(&self) -> Option<Arc<Active>> {
        self.older.as_ref().map(|plans| Arc::clone(&plans.policy)).or_else(|| self.current())
    }

    /// The active policy.
    fn current(&self) -> Option<Arc<Active>> {
        self.shared.plans.read().as_ref().map(|plans| Arc::clone(&plans.policy))
    }

    /// The active policy and its compiled questions, over the relations of an attempt or newer ones.
    fn plans(&self, attempt: &ConsistentRead<'_>) -> Option<Arc<Plans>> {
        let relations = attempt.relations();
        let over = |policy: &Arc<Active>| Arc::new(self.new_plans(Arc::clone(policy), Arc::clone(relations)));
        let is_stale = |plans: &Arc<Plans>| plans.generation() < relations.generation;
        if let Some(older) = &self.older {
            return Some(if is_stale(older) { over(&older.policy) } else { Arc::clone(older) });
        }
        let current = self.shared.plans.read().clone();
        if !current.as_ref().is_some_and(is_stale) {
            return current;
        }
        // A table was added: the first question of the new generation starts with an empty cache.
        let mut plans = self.shared.plans.write();
        if let Some(stale) = plans.as_ref().filter(|plans| is_stale(plans)) {
            *plans = Some(over(&stale.policy));
        }
        plans.clone()
    }

    /// The empty policy, which answers before the first policy.
    fn plans_without_policy(&self) -> Result<Arc<Plans>, EngineError> {
        if let Some(known) = self.shared.without_policy.get() {
            return Ok(Arc::clone(known));
        }
        let policy = Arc::new(Active::empty()?);
        let (store, settings) = (self.store().dialect(), self.settings());
        let (bytes, limit) = (settings.plan_bytes / 16, settings.query_time);
        let plans = Arc::new(Plans::new(policy, Arc::default(), store, bytes, limit));
        Ok(Arc::clone(self.shared.without_policy.get_or_init(|| plans)))
    }

    /// Makes a policy the active one.
    fn activate(&self, policy: Option<Arc<Active>>) {
        let mut plans = self.shared.plans.write();
        self.shared.activations.fetch_add(1, Ordering::SeqCst);
        *plans = policy.map(|policy| Arc::new(self.new_plans(policy, self.store().relations())));
    }

    fn new_plans(&self, policy: Arc<Active>, relations: Arc<Relations>) -> Plans {
        let settings = self.settings();
        Plans::new(policy, relations, self.store().dialect(), settings.plan_bytes, settings.query_time)
    }
}
