//! Reads a key: from a terminal that does not show it, or from the first line of the standard input.

use crate::cli::error::CliError;
use crate::cli::output;
use std::io::{self, BufRead, IsTerminal, Read};

/// The longest line that is read.
const MOST_BYTES: u64 = 64 << 10;

/// The key, without white space around it.
pub(super) fn read() -> Result<String, CliError> {
    let read = if io::stdin().is_terminal() { asked() } else { line() };
    read.map(|line| line.trim().to_owned()).map_err(CliError::Key)
}

fn line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().take(MOST_BYTES).read_line(&mut line)?;
    Ok(line)
}

/// Asks for the key on a terminal that does not show what is typed. Ctrl-C is then a character like any
/// other, which no key has, so the terminal is always restored.
#[cfg(unix)]
fn asked() -> io::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let terminal = io::stdin();
    let before = tcgetattr(&terminal)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
    tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    output::to_stderr("the key, which is not shown:");
    let read = line();
    tcsetattr(&terminal, OptionalActions::Flush, &before)?;
    read
}

/// Elsewhere the key must come from a file or another program.
#[cfg(not(unix))]
fn asked() -> io::Result<String> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this system cannot hide typed input: redirect a file that contains the key",
    ))
}
