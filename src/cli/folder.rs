//! An environment of a data folder, held in memory to be asked.
//!
//! In: the environment's folder, whether or not a service has it open. Out: an engine with one version of its
//! policy and its facts of one moment; the folder is only read. Facts that the policy does not use are left
//! out, because no answer depends on them.

use super::error::{CliError, LoggedError};
use crate::engine::{Change, Engine, EngineSettings, Fact, PolicyOptions, check_fact};
use crate::store::Snapshot;
use portcullis_compiler::source::SourceMap;
use std::ops::ControlFlow;
use std::path::Path;
use tokio::runtime::Runtime;

/// How many facts are added at once.
const CHUNK: usize = 10_000;

/// What was held.
pub(super) struct HeldFolder {
    /// Answers.
    pub(super) engine: Engine,
    /// Its state.
    pub(super) state: EnvironmentState,
}

/// A state of an environment.
#[derive(Clone, Copy, Debug)]
pub(super) struct EnvironmentState {
    /// The version of the policy that is held; `None` before the first one.
    pub(super) policy_version: Option<u64>,
    /// Its offset.
    pub(super) offset: u64,
}

/// The file name and the text of the active policy in a folder; `None` if there is no policy yet.
pub(super) fn policy(dir: &Path) -> Result<Option<(String, String)>, CliError> {
    let stored = Snapshot::open(dir)?.policy(None)?;
    Ok(stored.map(|stored| (stored.version.filename, stored.src)))
}

/// Holds the environment of a folder, with its active policy or an older version.
pub(super) fn hold(dir: &Path, version: Option<u64>, runtime: &Runtime) -> Result<HeldFolder, CliError> {
    let snapshot = Snapshot::open(dir)?;
    let offset = snapshot.holdings()?.offset;
    let engine = runtime.block_on(Engine::in_memory(EngineSettings::default()))?;
    let Some(stored) = snapshot.policy(version)? else {
        if let Some(version) = version {
            return Err(LoggedError::NoVersion { folder: dir.into(), version }.into());
        }
        return Ok(HeldFolder { engine, state: EnvironmentState { policy_version: None, offset } });
    };
    let state = EnvironmentState { policy_version: Some(stored.version.id), offset };
    let program =
        portcullis_compiler::check(&SourceMap::new(&*stored.version.filename, &*stored.src)).program;
    // Its tests passed, or were skipped, when it was stored.
    let options = PolicyOptions { force: true, ..PolicyOptions::default() };
    runtime.block_on(engine.set_policy(stored.src, stored.version.filename, options))?;
    let mut chunk: Vec<Fact> = Vec::new();
    let mut failed = None;
    let add = |facts: Vec<Fact>| runtime.block_on(engine.apply(vec![Change::Insert(facts)])).map(drop);
    snapshot.facts(|fact| {
        if check_fact(program.as_ref(), &fact).is_ok() {
            chunk.push(fact);
        }
        if chunk.len() < CHUNK {
            return ControlFlow::Continue(());
        }
        failed = add(std::mem::take(&mut chunk)).err();
        if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    add(chunk)?;
    Ok(HeldFolder { engine, state })
}
