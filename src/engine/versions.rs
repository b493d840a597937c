//! Policy versions: the active one, and older ones read on demand.
//!
//! In: a stored policy. Out: its text, or what it declares. The active policy is checked once and kept as
//! [`Active`]; older versions are checked again when their metadata is requested, which is rare.

use super::{Engine, EngineError};
use crate::store::{PolicyDigest, StoredPolicy};
use portcullis_compiler::diagnostic::Diagnostic;
use portcullis_compiler::ir::{BlockInfo, DenyingCalls, Program};
use portcullis_compiler::source::SourceMap;
use portcullis_compiler::{Checked, check};
use std::sync::{Arc, OnceLock};

/// The policy that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecidingPolicy {
    /// Its version.
    pub version: u64,
    /// The digest of its text.
    pub digest: PolicyDigest,
}

/// The active policy.
#[derive(Debug)]
pub(super) struct Active {
    /// Its version.
    pub(super) version: u64,
    /// The digest of its text.
    pub(super) digest: PolicyDigest,
    /// Its program, with the text and the file name in its source.
    pub(super) program: Arc<Program>,
    /// Its lints.
    pub(super) lints: Vec<Diagnostic>,
    /// The calls by which facts may deny something, once they were asked for.
    denying: OnceLock<DenyingCalls>,
}

impl Active {
    /// A checked policy.
    pub(super) fn new(version: u64, digest: PolicyDigest, program: Program, lints: Vec<Diagnostic>) -> Self {
        Self { version, digest, program: Arc::new(program), lints, denying: OnceLock::new() }
    }

    /// The calls by which facts may deny something.
    pub(super) fn denying_calls(&self) -> &DenyingCalls {
        self.denying.get_or_init(|| DenyingCalls::of(&self.program))
    }

    /// The empty policy.
    pub(super) fn empty() -> Result<Self, EngineError> {
        let Checked { program, diagnostics } = check(&SourceMap::new("policy.polar", ""));
        let program = program.ok_or_else(|| EngineError::Bug("the empty policy does not validate".into()))?;
        let digest = PolicyDigest::of("");
        Ok(Self::new(0, digest, program, diagnostics))
    }

    /// Checks a stored policy again.
    pub(super) fn of(policy: &StoredPolicy) -> Result<Self, EngineError> {
        let Checked { program, diagnostics } =
            check(&SourceMap::new(&*policy.version.filename, &*policy.src));
        let Some(program) = program else {
            let id = policy.version.id;
            return Err(EngineError::Bug(format!("policy {id} was accepted once but no longer validates")));
        };
        let digest = PolicyDigest::of(&policy.src);
        Ok(Self::new(policy.version.id, digest, program, diagnostics))
    }
}

impl Engine {
    /// A policy's text: the active one, or the version with this id. `None` before the first policy.
    pub async fn policy(&self, id: Option<u64>) -> Result<Option<StoredPolicy>, EngineError> {
        let policy = self.store().policy(id).await?;
        match (id, &policy) {
            (Some(id), None) => Err(no_version(id)),
            (None, _) | (Some(_), Some(_)) => Ok(policy),
        }
    }

    /// The same engine under this version of its policy, for questions about earlier answers.
    pub async fn at_version(&self, id: u64) -> Result<Self, EngineError> {
        let relations = self.store().relations();
        if self.active().is_some_and(|active| active.version == id) {
            return Ok(self.clone());
        }
        let plans = self.new_plans(self.older(id).await?, relations);
        Ok(Self { older: Some(Arc::new(plans)), ..self.clone() })
    }

    /// What a policy declares: one entry for each block, and `global`.
    pub async fn metadata(&self, id: Option<u64>) -> Result<Vec<BlockInfo>, EngineError> {
        self.consistently(|_| self.declared(id)).await
    }

    /// The same, of the policy that was active last as far as this process knows.
    async fn declared(&self, id: Option<u64>) -> Result<Vec<BlockInfo>, EngineError> {
        let active = self.active();
        if let Some(active) = &active
            && id.is_none_or(|id| id == active.version)
        {
            return Ok(active.program.blocks.clone());
        }
        let Some(id) = id else {
            return Err(EngineError::NotFound("there is no policy yet: upload one first".into()));
        };
        Ok(self.older(id).await?.program.blocks.clone())
    }

    /// A stored version, checked again when it is the asker's turn.
    async fn older(&self, id: u64) -> Result<Arc<Active>, EngineError> {
        let policy = self.store().policy(Some(id)).await?.ok_or_else(|| no_version(id))?;
        self.in_turn(move || Active::of(&policy)).await?.map(Arc::new)
    }
}

fn no_version(id: u64) -> EngineError {
    EngineError::NotFound(format!("there is no policy with id {id}"))
}
