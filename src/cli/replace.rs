//! Replaces a file's text at once: a reader finds either the old text or the new one. Shows what changes.

use super::error::CliError;
use super::policy_file;
use similar::TextDiff;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Replaces a text, unless the file has been changed since it was read.
pub(super) fn replace(path: &Path, old: &str, new: &str) -> Result<(), CliError> {
    let failed = |error| CliError::unwritable(path, error);
    // The new file replaces the one that a link refers to, not the link.
    let path = &fs::canonicalize(path).map_err(failed)?;
    if policy_file::read(path)? != old {
        return Err(CliError::Changed(path.into()));
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = write(path, &part, new).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        // The first error is the one that explains.
        let _ = fs::remove_file(&part);
    }
    written.map_err(failed)
}

fn write(path: &Path, part: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(part)?;
    file.set_permissions(fs::metadata(path)?.permissions())?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// How long to search for a minimal diff before accepting a longer one.
const DIFF_TIME: Duration = Duration::from_secs(1);

/// What changes from the old text to the new one, under their names, as a unified diff.
pub(super) fn diff(old: &str, new: &str, [old_name, new_name]: [&str; 2]) -> String {
    TextDiff::configure()
        .timeout(DIFF_TIME)
        .diff_lines(old, new)
        .unified_diff()
        .header(old_name, new_name)
        .to_string()
}
