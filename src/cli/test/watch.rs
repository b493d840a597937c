//! Runs the tests again whenever a file changes.
//!
//! The files are read a few times a second: they are few and small, and this works on every file system. A
//! file that cannot be read, as while an editor replaces it, is reported like any result, and read again.

use crate::cli::error::{CliError, UsageError};
use crate::cli::output;
use crate::cli::policy_file::{PolicyFile, UnreadFile};
use std::path::PathBuf;
use std::time::Duration;

/// How long a change may stay unnoticed.
const PAUSE: Duration = Duration::from_millis(300);

/// Passes the files to `run`, and again after each change. Returns only an error that ends the command: the
/// output is closed, or the standard input cannot be watched.
pub(super) fn again_and_again<T>(
    files: &[PathBuf],
    mut run: impl FnMut(Vec<Result<PolicyFile, UnreadFile>>) -> Result<(), CliError>,
) -> Result<T, CliError> {
    if files.iter().any(|file| file.as_os_str() == "-") {
        return Err(UsageError::WatchedInput.into());
    }
    let mut before: Option<Vec<(String, String)>> = None;
    loop {
        let read = PolicyFile::all(files);
        let now = read.iter().map(content).collect();
        if before.as_ref() != Some(&now) {
            match run(read) {
                Err(CliError::OutputClosed) => return Err(CliError::OutputClosed),
                Err(error) => output::to_stderr(&format!("error: {error}")),
                Ok(()) => {}
            }
            output::to_stderr("waiting for a change …");
            before = Some(now);
        }
        std::thread::sleep(PAUSE);
    }
}

/// The name of a file, with its text or the reason why it cannot be read.
fn content(read: &Result<PolicyFile, UnreadFile>) -> (String, String) {
    match read {
        Ok(file) => (file.source.name().to_owned(), file.source.text().to_owned()),
        Err(UnreadFile { path, error }) => (path.display().to_string(), error.to_string()),
    }
}
