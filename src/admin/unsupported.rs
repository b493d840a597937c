//! For platforms without Unix sockets: keys can be managed only while the service is stopped.

use super::{AdminCommand, AdminReply};
use crate::engine::EngineSettings;
use crate::http::AppState;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The socket of a running service, which cannot exist on this platform.
#[derive(Debug)]
pub enum AdminSocket {}

impl AdminSocket {
    /// Always fails.
    pub fn bind(_data: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Cannot be called.
    pub async fn serve(self, _app: Arc<AppState>, _settings: EngineSettings) {
        match self {}
    }
}

/// Always finds no service.
pub fn send(_data: &Path, _command: &AdminCommand) -> io::Result<Option<AdminReply>> {
    Ok(None)
}
