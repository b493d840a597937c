//! Where there are no such sockets, keys are managed while the service is stopped.

use super::{Order, Outcome};
use crate::engine::EngineSettings;
use crate::http::AppState;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The socket that there cannot be.
#[derive(Debug)]
pub enum Control {}

impl Control {
    /// Fails.
    pub fn bind(_data: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Is never called.
    pub async fn serve(self, _app: Arc<AppState>, _settings: EngineSettings) {
        match self {}
    }
}

/// Finds no service.
pub fn ask(_data: &Path, _order: &Order) -> io::Result<Option<Outcome>> {
    Ok(None)
}
