//! What one request sees: one policy, one set of relations, its own context facts, one moment.
//!
//! In: an engine and a request's context facts. Out: questions prepared against exactly these. Replacing the
//! policy does not affect an existing view.

use super::answers::{Prepared, SlotValues, Window};
use super::catalog::Context;
use super::counters::Counted;
use super::local::{Document, LocalKey};
use super::plans::{PlanKey, Plans};
use super::versions::DecidingPolicy;
use super::{Engine, EngineError, attributes, facts};
use crate::share::{Account, Asker, Turns};
use crate::store::{ConsistentRead, Fact};
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::Question;
use portcullis_compiler::why::Rules;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// What one request sees.
#[derive(Debug)]
pub(super) struct View {
    plans: Arc<Plans>,
    counted: Arc<Counted>,
    /// Whether this is the first attempt.
    is_first: bool,
    /// The facts of `context` that the policy reads of the engine's attributes.
    attributes: Vec<Fact>,
    context: Context,
    now: i64,
    max_rows: usize,
    account: Option<Arc<Account>>,
    compiling: Arc<Turns>,
}

impl Engine {
    /// The view of a request; `None` before the first policy, when nothing can be granted.
    pub(super) fn view(
        &self,
        attempt: &ConsistentRead<'_>,
        context: &[Fact],
    ) -> Result<Option<View>, EngineError> {
        let plans = self.plans(attempt);
        let program = plans.as_ref().map(|plans| &*plans.policy.program);
        let mut context = Cow::Borrowed(context);
        let mut attributes = Vec::new();
        if let Some(plans) = plans.as_ref().filter(|_| !self.attributes.is_empty()) {
            attributes = attributes::facts(&plans.policy, &self.attributes)?;
            context.to_mut().extend(attributes.iter().cloned());
        }
        let limit = self.settings().context_facts;
        if context.len() > limit {
            let n = context.len();
            return Err(EngineError::TooLarge(format!(
                "the request has {n} context facts, at most {limit} are allowed: send fewer, store them, or raise `max_context_facts`"
            )));
        }
        context.iter().try_for_each(|fact| facts::check_fact(program, fact))?;
        let max_rows = self.settings().answer_rows;
        let counted = Arc::clone(self.counted());
        Ok(plans.map(|plans| View {
            plans,
            counted,
            is_first: attempt.is_first(),
            attributes,
            context: Context::of(&context, self.store().dialect()),
            now: self.moment.unwrap_or_else(unix_time),
            max_rows,
            account: self.account.clone(),
            compiling: Arc::clone(&self.settings().compiling),
        }))
    }

    /// The view before the first policy, when nothing can be granted.
    pub(super) fn view_without_policy(&self, attempt: &ConsistentRead<'_>) -> Result<View, EngineError> {
        let max_rows = self.settings().answer_rows;
        let plans = self.plans_without_policy()?;
        let counted = Arc::clone(self.counted());
        let is_first = attempt.is_first();
        let (context, now, account) =
            (Context::of(&[], self.store().dialect()), unix_time(), self.account.clone());
        let compiling = Arc::clone(&self.settings().compiling);
        let attributes = Vec::new();
        Ok(View { plans, counted, is_first, attributes, context, now, max_rows, account, compiling })
    }
}

impl View {
    /// The policy's compiled questions.
    pub(super) fn plans(&self) -> Arc<Plans> {
        Arc::clone(&self.plans)
    }

    /// The facts that the policy reads of the engine's attributes.
    pub(super) fn attributes(&self) -> &[Fact] {
        &self.attributes
    }

    /// The context facts.
    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// Seconds since the epoch.
    pub(super) fn now(&self) -> i64 {
        self.now
    }

    /// The same at another time, if there is one.
    pub(super) fn at(self, now: Option<i64>) -> Self {
        Self { now: now.unwrap_or(self.now), ..self }
    }

    /// The version of the policy.
    pub(super) fn version(&self) -> u64 {
        self.plans.policy.version
    }

    /// The version of the policy, with the digest of its text.
    pub(super) fn deciding(&self) -> DecidingPolicy {
        DecidingPolicy { version: self.version(), digest: self.plans.policy.digest }
    }

    /// The policy.
    pub(super) fn program(&self) -> &Program {
        &self.plans.policy.program
    }

    /// Compiles a question, or takes it from the cache, and fills its values in.
    pub(super) async fn prepare(&self, question: &Question) -> Result<Prepared, EngineError> {
        self.prepare_window(question, None).await
    }

    /// The rules of a question for explanations, from the cache if they are there.
    pub(super) async fn rules(&self, question: &Question) -> Result<Arc<Rules>, EngineError> {
        let key = PlanKey::of(&self.plans, question, &self.context);
        let rules = if let Some(known) = self.plans.known_rules(&key) {
            known
        } else {
            let plans = Arc::clone(&self.plans);
            in_turn(&self.compiling, self.account.as_deref(), move || plans.rules(key)).await?
        };
        rules.map_err(|error| EngineError::uncompiled(error, question))
    }

    /// [`View::rules`] over the relations of a caller's database, too.
    pub(super) async fn local_rules(
        &self,
        question: &Question,
        document: &Arc<Document>,
    ) -> Result<Arc<Rules>, EngineError> {
        let key = LocalKey::of(&self.plans, question, &self.context, document);
        let rules = if let Some(known) = self.plans.known_local_rules(&key) {
            known
        } else {
            self.plans.check_names(&self.context.signatures, document)?;
            let (plans, document) = (Arc::clone(&self.plans), Arc::clone(document));
            let make = move || plans.local_rules(key, &document);
            in_turn(&self.compiling, self.account.as_deref(), make).await?
        };
        rules.map_err(|error| EngineError::uncompiled(error, question))
    }

    /// [`View::prepare`] for a paged question.
    pub(super) async fn prepare_window(
        &self,
        question: &Question,
        window: Option<Window<'_>>,
    ) -> Result<Prepared, EngineError> {
        // A bulk request prepares thousands of questions without ever waiting: let other tasks run.
        tokio::task::coop::consume_budget().await;
        let key = PlanKey::of(&self.plans, question, &self.context);
        let known = self.counted.stored_plans.note(self.is_first, self.plans.known(&key));
        let compiled = if let Some(compiled) = known {
            compiled
        } else {
            let plans = Arc::clone(&self.plans);
            in_turn(&self.compiling, self.account.as_deref(), move || plans.compile(key)).await?
        };
        let binding = SlotValues { context: &self.context, now: self.now, window };
        let compiled = compiled.map_err(|error| EngineError::uncompiled(error, question))?;
        let (plans, account) = (Arc::clone(&self.plans), self.account.clone());
        Prepared::new(plans, compiled, question, &binding, self.max_rows, account)
    }
}

/// Runs a long computation when it is its asker's turn.
pub(super) async fn in_turn<T: Send + 'static>(
    turns: &Arc<Turns>,
    account: Option<&Account>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EngineError> {
    let asker = account.map_or(Asker::default(), Account::asker);
    turns.run(asker, work).await.map_err(|lost| EngineError::Bug(lost.to_string()))
}

/// Runs a long computation of the service itself off the async workers.
pub(super) async fn off_the_workers<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EngineError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| EngineError::Bug(error.to_string()))
}

/// Seconds since the epoch: the `@current_unix_time` of a question.
pub fn unix_time() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX)
}
