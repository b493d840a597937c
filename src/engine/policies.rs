//! Replaces the active policy.
//!
//! In: a policy's text. Out: the policy is active, or it is refused and nothing changed. Uploads wait for
//! each other; whoever asks meanwhile sees the policy of before or the new one as a whole.
//!
//! ```text
//! text ─check─▶ program ─run its tests─▶ store the version ─▶ answer with it
//!         └▶ Validation          └▶ Tests (unless forced)
//! ```
//!
//! Once begun, an upload runs to its end even if the request that brought it goes away: a version that was
//! stored but does not answer would come to life at the next start.

use super::error::PolicyRefusal;
use super::versions::Active;
use super::view::off_the_workers;
use super::{Engine, EngineError};
use portcullis_compiler::diagnostic::{Diagnostic, Severity, render};
use portcullis_compiler::ir::Program;
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::{Checked, check};
use std::sync::Arc;

/// How a policy is uploaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyOptions {
    /// Stores a policy whose tests fail; never one that does not validate.
    pub force: bool,
    /// Stops at the first test that fails.
    pub fail_fast: bool,
    /// Adds the lints to the message.
    pub show_suggestions: bool,
}

/// What an upload did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyOutcome {
    /// Whether anything changed.
    pub change: PolicyChange,
    /// A sentence for the author, with the lints if they were asked for.
    pub message: String,
    /// The version that is active now.
    pub version: u64,
    /// The store's offset, which a later read may be asked to have seen.
    pub offset: u64,
}

/// Whether an upload changed the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyChange {
    /// The policy is active now.
    Updated,
    /// The active policy was the same already.
    Unchanged,
}

impl Engine {
    /// Makes this the active policy.
    pub async fn set_policy(
        &self,
        src: String,
        filename: String,
        options: PolicyOptions,
    ) -> Result<PolicyOutcome, EngineError> {
        let engine = self.clone();
        let upload = tokio::spawn(async move { engine.upload(src, filename, options).await });
        let mut outcome = upload.await.map_err(|error| EngineError::Bug(error.to_string()))??;
        if options.show_suggestions
            && let Some(reason) = self.unfit().await?
        {
            let lint = format!("\n\nwarning: no check of this policy can be answered: {reason}");
            outcome.message.push_str(&lint);
        }
        Ok(outcome)
    }

    async fn upload(
        &self,
        src: String,
        filename: String,
        options: PolicyOptions,
    ) -> Result<PolicyOutcome, EngineError> {
        let _one_at_a_time = self.uploads().lock().await;
        let active = self.plans().map(|plans| Arc::clone(&plans.policy));
        let same = |active: &Arc<Active>| {
            let source = &active.program.source;
            source.text() == src && source.name() == filename
        };
        if let Some(active) = active.filter(same) {
            return Ok(active.outcome(PolicyChange::Unchanged, options, self.offset().await?));
        }
        let source = SourceMap::new(&*filename, &*src);
        let checked = off_the_workers(move || examine(&source)).await?;
        let (program, lints) = checked.map_err(EngineError::Policy)?;
        let program = Arc::new(program);
        if !options.force {
            let report = self.test_policy(&program, options.fail_fast).await?;
            if !report.success() {
                let refusal = PolicyRefusal::Tests { message: report.message(), report };
                return Err(EngineError::Policy(refusal));
            }
        }
        let version = self.store().put_policy(src, filename).await?.id;
        let active = Arc::new(Active { version, program, lints });
        self.activate(Some(Arc::clone(&active)));
        Ok(active.outcome(PolicyChange::Updated, options, self.offset().await?))
    }

    /// The number of the last change.
    async fn offset(&self) -> Result<u64, EngineError> {
        Ok(self.store().apply(Vec::new()).await?.offset)
    }

    /// Removes every fact, and the policy; returns the store's offset.
    pub async fn clear(&self) -> Result<u64, EngineError> {
        let engine = self.clone();
        let clear = tokio::spawn(async move {
            let _one_at_a_time = engine.uploads().lock().await;
            let cleared = engine.store().clear().await?;
            engine.activate(None);
            Ok(cleared.offset)
        });
        clear.await.map_err(|error| EngineError::Bug(error.to_string()))?
    }
}

impl Active {
    fn outcome(&self, change: PolicyChange, options: PolicyOptions, offset: u64) -> PolicyOutcome {
        let mut message = match change {
            PolicyChange::Updated => "The policy was updated.",
            PolicyChange::Unchanged => "The policy was not updated because it is unchanged.",
        }
        .to_owned();
        if options.show_suggestions {
            for lint in &self.lints {
                message.push_str("\n\n");
                message.push_str(&render::render(&self.program.source, lint));
            }
        }
        PolicyOutcome { change, message, version: self.version, offset }
    }
}

/// Checks a policy: its program and lints, or why it is refused.
fn examine(source: &SourceMap) -> Result<(Program, Vec<Diagnostic>), PolicyRefusal> {
    let Checked { program, diagnostics } = check(source);
    let (errors, lints): (Vec<_>, Vec<_>) =
        diagnostics.into_iter().partition(|diagnostic| diagnostic.severity() == Severity::Error);
    program.map(|program| (program, lints)).ok_or_else(|| {
        let errors: Vec<String> = errors.iter().map(|error| render::render(source, error)).collect();
        PolicyRefusal::Validation { message: errors.join("\n\n"), errors }
    })
}
