//! Deletes a store (`portcullis environments delete`).
//!
//! In: the directory of a store that no process has open. Its name changes first, to one under which nothing
//! looks for a store. So a process that is killed in between leaves no half store behind; the next call
//! removes what is left under the other name.

use super::connect::{DATABASE, LOCK, lock, sync_directory};
use crate::store::error::StoreError;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Deletes the store in a directory, and the directory, which must have nothing else in it.
pub fn delete(dir: &Path) -> Result<(), StoreError> {
    let mut name = OsString::from(".deleted-");
    name.push(dir.file_name().unwrap_or_default());
    let doomed = dir.with_file_name(name);
    let was_begun = remove(&doomed)?;
    if !dir.is_dir() {
        return if was_begun { Ok(()) } else { Err(StoreError::Missing(dir.into())) };
    }
    refuse_others(dir)?;
    let _lock = lock(dir)?;
    fs::rename(dir, &doomed).map_err(|error| StoreError::io(dir, &error))?;
    if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        sync_directory(parent)?;
    }
    remove(&doomed).map(drop)
}

/// Refuses a directory with unrelated files: it may be another program's.
fn refuse_others(dir: &Path) -> Result<(), StoreError> {
    let unreadable = |error| StoreError::io(dir, &error);
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        if name != LOCK && !name.to_string_lossy().starts_with(DATABASE) {
            return Err(StoreError::NotAStore(dir.join(name)));
        }
    }
    Ok(())
}

/// Removes a directory, and returns whether it was there.
fn remove(dir: &Path) -> Result<bool, StoreError> {
    match fs::remove_dir_all(dir) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io(dir, &error)),
    }
}
