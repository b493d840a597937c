//! Reads a data-bindings document for a command.

use crate::cli::error::CliError;
use portcullis_compiler::bindings::{self, Bindings};

/// The content of a document, or its mistakes, one line each.
pub(super) fn parse(file: &str, text: &str) -> Result<Bindings, CliError> {
    bindings::parse(text).map_err(|errors| CliError::Bindings { file: file.to_owned(), errors })
}
