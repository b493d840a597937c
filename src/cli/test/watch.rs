//! Runs the tests again whenever a file changes.
//!
//! The files are read a few times a second: they are few and small, and this works on every file system. A
//! file that cannot be read, as while an editor replaces it, is reported and waited for.

use crate::cli::error::{CliError, UsageError};
use crate::cli::output;
use crate::cli::policy_file::PolicyFile;
use std::path::PathBuf;
use std::time::Duration;

/// How long a change may stay unnoticed.
const PAUSE: Duration = Duration::from_millis(300);

/// Passes the files to `run`, and again after each change. Returns only an error that ends the command: the
/// output is closed, or the standard input cannot be watched.
pub(super) fn again_and_again<T>(
    files: &[PathBuf],
    mut run: impl FnMut(Vec<PolicyFile>) -> Result<(), CliError>,
) -> Result<T, CliError> {
    if files.iter().any(|file| file.as_os_str() == "-") {
        return Err(UsageError::WatchedInput.into());
    }
    let mut before: Option<Result<Vec<(String, String)>, String>> = None;
    loop {
        let read = PolicyFile::all(files);
        let now = match &read {
            Ok(files) => {
                let text = |file: &PolicyFile| (file.source.name().to_owned(), file.source.text().to_owned());
                Ok(files.iter().map(text).collect())
            }
            Err(error) => Err(error.to_string()),
        };
        if before.as_ref() != Some(&now) {
            match read.and_then(&mut run) {
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
