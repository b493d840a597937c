//! Sends admin commands to the service that runs on a data folder.

use super::error::CliError;
use crate::admin::{self, AdminCommand, AdminReply};
use std::path::Path;

/// The service's reply; `None` if no service runs.
pub(super) fn send(data: &Path, command: &AdminCommand) -> Result<Option<AdminReply>, CliError> {
    admin::send(data, command).map_err(|error| CliError::AdminSocket { data: data.into(), error })
}
