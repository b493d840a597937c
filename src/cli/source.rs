//! What answers the questions of a command: an engine in memory, or a service.

use super::error::CliError;
use super::folder::{self, EnvironmentState};
use super::origin::Origin;
use super::service::Service;
use super::{local, serve};
use crate::engine::Engine;
use tokio::runtime::Runtime;

/// What answers.
pub(super) enum Source {
    /// An engine that holds files, or a data folder with what that calls its state.
    Memory {
        /// The engine.
        engine: Engine,
        /// Where it runs.
        runtime: Runtime,
        /// The state of the data folder.
        state: Option<EnvironmentState>,
    },
    /// A running service.
    Service(Service),
}

impl Source {
    /// What answers questions about this.
    pub(super) fn of(origin: Origin) -> Result<Self, CliError> {
        match origin {
            Origin::Service(service) => Ok(Self::Service(service)),
            Origin::Files { policy, facts } => {
                let runtime = serve::runtime()?;
                let engine = runtime.block_on(local::engine(&policy, facts.as_deref()))?;
                Ok(Self::Memory { engine, runtime, state: None })
            }
            Origin::Folder { folder, .. } => {
                let runtime = serve::runtime()?;
                let held = folder::hold(&folder, None, &runtime)?;
                Ok(Self::Memory { engine: held.engine, runtime, state: Some(held.state) })
            }
        }
    }
}
