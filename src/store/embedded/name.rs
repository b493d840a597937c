//! Recognises copies of a store: a file next to it contains the name of its folder.
//!
//! A folder that was copied or renamed by hand is not meant to be served: its keys do not work under another
//! name, and serving it would change what may be a backup. So the first process that opens a store writes the
//! name of its folder, and a store in a folder with another name is not opened. A restored backup gets the
//! name of its new folder.

use super::connect::{DATABASE, LOCK, private_file, sync_directory};
use crate::store::error::StoreError;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The file with the name.
const NAME: &str = "store.db-name";

/// How many of its bytes count; a name has at most 64.
const MOST_BYTES: usize = 100;

/// Whether a directory has files of a store, whatever their state.
pub fn is_store(dir: &Path) -> bool {
    let Ok(entries) = fs::read_dir(dir) else { return true };
    entries.filter_map(Result::ok).any(|entry| {
        let name = entry.file_name();
        name == LOCK || name.to_string_lossy().starts_with(DATABASE)
    })
}

/// Refuses a store that was first served under another name.
pub fn check_own_name(dir: &Path) -> Result<(), StoreError> {
    let noted = match fs::read(path(dir)) {
        Ok(noted) => noted,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StoreError::unreadable(&path(dir), &error)),
    };
    let noted = String::from_utf8_lossy(noted.get(..MOST_BYTES).unwrap_or(&noted)).trim().to_owned();
    // A crash may have left it empty.
    if noted.is_empty() || noted == own(dir) {
        return Ok(());
    }
    Err(StoreError::OtherName { dir: dir.into(), name: noted })
}

/// Writes the name of a store's directory, unless it has been written before.
pub fn note_name(dir: &Path) -> Result<(), StoreError> {
    let is_noted = path(dir).metadata().is_ok_and(|found| found.len() > 0);
    if is_noted { Ok(()) } else { rename(dir) }
}

/// Writes the name of a store's directory, whether or not another name was written before.
pub(super) fn rename(dir: &Path) -> Result<(), StoreError> {
    let file = path(dir);
    let failed = |error| StoreError::io(&file, &error);
    let mut noted = private_file(&file)?;
    noted.set_len(0).map_err(failed)?;
    writeln!(noted, "{}", own(dir)).and_then(|()| noted.sync_all()).map_err(failed)?;
    sync_directory(dir)
}

fn path(dir: &Path) -> PathBuf {
    dir.join(NAME)
}

fn own(dir: &Path) -> String {
    dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_under_another_name_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [one, copy] = ["one", "one-copy"].map(|name| folder.path().join(name));
        for dir in [&one, &copy] {
            fs::create_dir(dir).unwrap();
        }
        assert!(!is_store(&one));
        check_own_name(&one).unwrap();
        note_name(&one).unwrap();
        assert!(is_store(&one));
        check_own_name(&one).unwrap();
        fs::copy(path(&one), path(&copy)).unwrap();
        note_name(&copy).unwrap();
        let refused = check_own_name(&copy).unwrap_err().to_string();
        assert!(refused.contains("one-copy") && refused.contains("environment `one`"), "{refused}");
        rename(&copy).unwrap();
        check_own_name(&copy).unwrap();
        fs::write(path(&copy), "").unwrap();
        check_own_name(&copy).unwrap();
    }
}
