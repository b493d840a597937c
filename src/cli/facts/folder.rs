//! An environment in a data folder: it can be read at any time, and written while no service has it open.

use super::CliError;
use super::chunks::Chunk;
use crate::cli::active_policy::ActivePolicy;
use crate::cli::serve;
use crate::engine::{Change, Engine, EngineError, EngineSettings};
use crate::store::StoreError;
use std::path::Path;
use tokio::runtime::Runtime;

/// An environment that this process has open.
pub(super) struct Folder {
    engine: Engine,
    runtime: Runtime,
}

impl Folder {
    /// Opens an environment that exists.
    pub(super) fn open(dir: &Path) -> Result<Self, CliError> {
        if !dir.is_dir() {
            return Err(StoreError::Missing(dir.into()).into());
        }
        let runtime = serve::runtime()?;
        let opened = runtime.block_on(Engine::open(dir, EngineSettings::default()));
        let engine = opened.map_err(|error| match error {
            EngineError::Store(StoreError::Locked(_)) => CliError::FolderInUse(dir.into()),
            other => other.into(),
        })?;
        Ok(Self { engine, runtime })
    }

    /// The active policy.
    pub(super) fn policy(&self) -> Result<ActivePolicy, CliError> {
        Ok(self.runtime.block_on(ActivePolicy::of_engine(&self.engine))?)
    }

    /// Stores a chunk.
    pub(super) fn store(&self, chunk: Chunk, place: &str) -> Result<(), CliError> {
        let stored = self.runtime.block_on(self.engine.apply(vec![Change::Insert(chunk.facts)]));
        stored.map(|_| ()).map_err(|error| CliError::at(place, error.into()))
    }
}
