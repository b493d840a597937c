//! What a command asks of the service that runs over a data folder.

use super::error::CliError;
use crate::control::{self, Order, Outcome};
use std::path::Path;

/// The outcome of an order; `None` if no service takes it.
pub(super) fn give(data: &Path, order: &Order) -> Result<Option<Outcome>, CliError> {
    control::ask(data, order).map_err(|error| CliError::Io {
        what: format!("the control socket of the service in `{}`", data.display()),
        error,
    })
}
