//! Replaces the active policy.
//!
//! In: a policy's text. Out: the policy is active, or it is refused and nothing changed. Uploads wait for
//! each other; questions meanwhile see either the old policy or the new one as a whole.
//!
//! ```text
//! text ─check─▶ program ─run its tests─▶ compare stored facts ─▶ store the version ─▶ activate
//!         └▶ Validation          └▶ Tests (unless forced)   └▶ UnreadFacts
//! ```
//!
//! Checking and testing share one time limit, and stop if the uploading request goes away. Storing always
//! completes: otherwise a stored version that is not active would become active at the next start.

use super::error::PolicyRefusal;
use super::versions::Active;
use super::{Engine, EngineError, policy_tests};
use crate::store::{PolicyDigest, Reader, StoreError, WriteMark, aside};
use portcullis_compiler::deadline::Deadline;
use portcullis_compiler::diagnostic::{Code, Diagnostic, Severity, render};
use portcullis_compiler::ir::Program;
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::{Checked, check};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedMutexGuard;

/// Options of an upload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyOptions {
    /// Stores a policy whose tests fail; never one that does not validate.
    pub force: bool,
    /// Stops at the first test that fails.
    pub fail_fast: bool,
    /// Adds the lints to the message. The one that no check can be answered is always there.
    pub show_suggestions: bool,
}

/// What an upload did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyOutcome {
    /// Whether the policy changed.
    pub change: PolicyChange,
    /// A message for the author, with the lints.
    pub message: String,
    /// The version that is now active.
    pub version: u64,
    /// The moment after it, which later questions may require.
    pub mark: WriteMark,
}

/// Whether an upload changed the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyChange {
    /// The policy is now active.
    Updated,
    /// The active policy already was the same.
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
        let turn = self.turn().await?;
        self.follow().await?;
        let same = |active: &Arc<Active>| {
            let source = &active.program.source;
            source.text() == src && source.name() == filename
        };
        // For a moment, a question may have made an older one the active one.
        let is_newest =
            |active: &Arc<Active>| self.store().newest_policy().is_none_or(|newest| newest == active.version);
        if let Some(active) = self.active().filter(same).filter(is_newest) {
            return Ok(active.outcome(PolicyChange::Unchanged, options, self.store().last_write()));
        }
        let source = SourceMap::new(&*filename, &*src);
        let limit = self.settings().policy_test_time;
        // The turn ends with the work, which may be shortly after the request is gone.
        let deadline = Deadline::after(limit);
        let examined = aside(limit, move |reader| Ok((examine(&source, options, reader, deadline), turn)));
        let mut ending = self.shared.ending.subscribe();
        let (examined, turn) = tokio::select! {
            examined = examined => examined?,
            _ = ending.wait_for(|is_ending| *is_ending) => return Err(StoreError::Closed.into()),
        };
        let (program, lints) = examined.map_err(|error| match error {
            EngineError::Timeout(_) => too_long(limit),
            error => error,
        })?;
        self.check_denials(&program).await?;
        let engine = self.clone();
        let stored = tokio::spawn(async move {
            let _turn = turn;
            let digest = PolicyDigest::of(&src);
            let (version, mark) = engine.store().put_policy(src, filename).await?;
            let active = Arc::new(Active::new(version.id, digest, program, lints));
            engine.activate(Some(Arc::clone(&active)));
            Ok(active.outcome(PolicyChange::Updated, options, mark))
        });
        stored.await.map_err(|error| EngineError::Bug(error.to_string()))?
    }

    /// Waits until no other upload is running, for at most the time limit of one.
    async fn turn(&self) -> Result<OwnedMutexGuard<()>, EngineError> {
        let turn = Arc::clone(self.uploads()).lock_owned();
        let turn = tokio::time::timeout(self.settings().policy_test_time, turn).await;
        turn.map_err(|_| StoreError::Busy.into())
    }

    /// Removes every fact, and the policy; returns the moment after it.
    pub async fn clear(&self) -> Result<WriteMark, EngineError> {
        let (engine, turn) = (self.clone(), self.turn().await?);
        let clear = tokio::spawn(async move {
            let _turn = turn;
            let cleared = engine.store().clear().await?;
            engine.activate(None);
            Ok(cleared.mark())
        });
        clear.await.map_err(|error| EngineError::Bug(error.to_string()))?
    }
}

impl Active {
    fn outcome(&self, change: PolicyChange, options: PolicyOptions, mark: WriteMark) -> PolicyOutcome {
        let mut message = match change {
            PolicyChange::Updated => "The policy was updated.",
            PolicyChange::Unchanged => "The policy was not updated because it is unchanged.",
        }
        .to_owned();
        // Not a matter of taste: nothing works under such a policy.
        let is_shown = |lint: &&Diagnostic| options.show_suggestions || lint.code == Code::Unanswerable;
        for lint in self.lints.iter().filter(is_shown) {
            message.push_str("\n\n");
            message.push_str(&render::render(&self.program.source, lint));
        }
        PolicyOutcome { change, message, version: self.version, mark }
    }
}

/// Checks a policy and runs its tests: its program and lints, or why it is refused.
fn examine(
    source: &SourceMap,
    options: PolicyOptions,
    reader: &Reader,
    deadline: Deadline,
) -> Result<(Program, Vec<Diagnostic>), EngineError> {
    let Checked { program, diagnostics } = check(source);
    let (errors, lints): (Vec<_>, Vec<_>) =
        diagnostics.into_iter().partition(|diagnostic| diagnostic.severity() == Severity::Error);
    let Some(program) = program else {
        let errors: Vec<String> = errors.iter().map(|error| render::render(source, error)).collect();
        return Err(EngineError::Policy(PolicyRefusal::Validation { message: errors.join("\n\n"), errors }));
    };
    if !options.force {
        let report = policy_tests::run_all(&program, options.fail_fast, reader, deadline)?;
        if !report.success() {
            return Err(EngineError::Policy(PolicyRefusal::Tests { message: report.message(), report }));
        }
    }
    Ok((program, lints))
}

/// The error for a policy whose tests take too long.
fn too_long(limit: Duration) -> EngineError {
    EngineError::Timeout(format!(
        "the tests of the policy take longer than {limit:?}, the limit for all of them together: write fewer tests, or upload with `force`, which skips them"
    ))
}
