//! Writes a command's output: text for people, JSON for programs.

use super::error::CliError;
use clap::ValueEnum;
use std::ffi::OsStr;
use std::io::{ErrorKind, IsTerminal, Write};

/// The format of a command's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Text for people.
    #[default]
    Text,
    /// One JSON document.
    Json,
}

// A documentation comment on this struct would be shown as that of the command.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct FormatArgs {
    /// How to write the result
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl FormatArgs {
    /// The format that they name.
    pub(super) fn format(self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// Whether an output gets colours: a terminal does, unless `NO_COLOR` is set (<https://no-color.org>).
pub(super) fn is_coloured(output: &impl IsTerminal) -> bool {
    wants_colours(output.is_terminal(), std::env::var_os("NO_COLOR").as_deref())
}

fn wants_colours(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
}

/// Writes lines to the standard output. A reader that has closed it has seen enough: that is not a failure,
/// and the command still ends with its own verdict.
pub(super) fn to_stdout(text: &str) -> Result<(), CliError> {
    unless_closed(to_open_stdout(text))
}

/// Writes a text to the standard output as it is, like [`to_stdout`].
pub(super) fn to_stdout_as_is(text: &str) -> Result<(), CliError> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    unless_closed(written.map_err(|error| output_error("the standard output", error)))
}

/// The result of writing, where a closed reader is not a failure.
pub(super) fn unless_closed(written: Result<(), CliError>) -> Result<(), CliError> {
    match written {
        Err(CliError::OutputClosed) => Ok(()),
        written => written,
    }
}

/// Writes lines to the standard output, and fails if its reader has closed it.
pub(super) fn to_open_stdout(text: &str) -> Result<(), CliError> {
    let mut stdout = std::io::stdout().lock();
    let written = writeln!(stdout, "{}", text.trim_end_matches('\n')).and_then(|()| stdout.flush());
    written.map_err(|error| output_error("the standard output", error))
}

/// An error while writing; a closed reader is a case of its own.
pub(super) fn output_error(to: &str, error: std::io::Error) -> CliError {
    match error.kind() {
        ErrorKind::BrokenPipe => CliError::OutputClosed,
        _ => CliError::Output { to: to.to_owned(), error },
    }
}

/// Writes lines to the standard error, if possible.
pub(super) fn to_stderr(text: &str) {
    // If the standard error cannot be written, there is nowhere to report that.
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end_matches('\n'));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_colours_unless_it_wants_none() {
        assert!(wants_colours(true, None) && wants_colours(true, Some(OsStr::new(""))));
        assert!(!wants_colours(true, Some(OsStr::new("1"))) && !wants_colours(false, None));
    }
}
