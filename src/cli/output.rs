//! Writes what a command found: text for people, JSON for programs.

use super::error::CliError;
use clap::ValueEnum;
use std::io::{ErrorKind, Write};

/// How a command writes its findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Text for people.
    #[default]
    Text,
    /// One JSON document.
    Json,
}

/// Writes lines to the standard output.
pub(super) fn to_stdout(text: &str) -> Result<(), CliError> {
    let mut stdout = std::io::stdout().lock();
    let written = writeln!(stdout, "{}", text.trim_end_matches('\n')).and_then(|()| stdout.flush());
    written.map_err(|error| output_error("the standard output", error))
}

/// A failure to write somewhere; that nobody reads any more is none of ours.
pub(super) fn output_error(what: &str, error: std::io::Error) -> CliError {
    match error.kind() {
        ErrorKind::BrokenPipe => CliError::OutputClosed,
        _ => CliError::Io { what: what.to_owned(), error },
    }
}

/// Writes lines to the standard error, as far as that is possible.
pub(super) fn to_stderr(text: &str) {
    // Where the standard error cannot be written there is no place left to say so.
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end_matches('\n'));
}
