//! A runtime for a single connection.

use crate::store::error::StoreError;
use tokio::runtime::{Builder, Runtime};

/// A runtime that the calling thread drives while it waits. It may be dropped in asynchronous code, too.
#[derive(Debug)]
pub(super) struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    pub(super) fn new() -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            StoreError::System(format!("cannot prepare a connection: {error}; raise the limit of open files"))
        })?;
        Ok(Self(Some(runtime)))
    }

    /// Waits for the outcome of something.
    pub(super) fn block_on<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.0.as_ref().map_or(Err(StoreError::Closed), |runtime| runtime.block_on(work))
    }
}

impl Drop for OwnRuntime {
    /// Inside of another runtime, dropping one in the ordinary way would panic.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
