//! Deletes a store (`portcullis environments delete`).
//!
//! In: the directory of a store that no process has open. Its name changes first, to one under which nothing
//! looks for a store. So a process that is killed in between leaves no half store behind.

use super::connect::{lock, sync_directory};
use super::error::StoreError;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Deletes the store in a directory, and the directory.
pub fn delete(dir: &Path) -> Result<(), StoreError> {
    if !dir.is_dir() {
        return Err(StoreError::Missing(dir.into()));
    }
    let _lock = lock(dir)?;
    let mut name = OsString::from(".deleted-");
    name.push(dir.file_name().unwrap_or_default());
    let doomed = dir.with_file_name(name);
    remove(&doomed)?;
    fs::rename(dir, &doomed).map_err(|error| StoreError::io(dir, &error))?;
    if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        sync_directory(parent)?;
    }
    remove(&doomed)
}

/// Removes a directory, if it is there.
fn remove(dir: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::io(dir, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
