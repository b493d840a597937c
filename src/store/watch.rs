//! Notices when files of an open store are removed or replaced.
//!
//! An open file works on without its name: SQLite would keep writing to files that the next start does not
//! find. So before and after each commit, and once a second when idle, each path is compared with the file
//! that was there at the start. The files are identified by path only: opening and closing one of them would
//! release SQLite's locks on it.

use std::path::{Path, PathBuf};

/// Identifies a file independently of its name: device and inode.
type Identity = (u64, u64);

/// The files of an open store as they were when it was opened.
#[derive(Debug)]
pub(super) struct Watch {
    files: Vec<(PathBuf, Identity)>,
}

impl Watch {
    /// Watches those of the files that exist.
    pub(super) fn new(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let found = |path: PathBuf| identity(&path).ok().flatten().map(|identity| (path, identity));
        Self { files: files.into_iter().filter_map(found).collect() }
    }

    /// What happened to the first file that is no longer in its place.
    pub(super) fn missing(&self) -> Option<String> {
        self.files.iter().find_map(|(path, before)| {
            let state = match identity(path) {
                Ok(Some(now)) if now == *before => return None,
                Ok(Some(_)) => "replaced",
                Ok(None) => "removed",
                // For example, a folder without search permission: what is in it is unknown.
                Err(_) => return None,
            };
            Some(format!("`{}` was {state} while the store is open", path.display()))
        })
    }

    /// Whether this file is the one that was opened.
    pub(super) fn is_in_place(&self, path: &Path) -> bool {
        let before = self.files.iter().find(|(watched, _)| watched == path);
        before.is_none_or(|(path, before)| matches!(identity(path), Ok(Some(now)) if now == *before))
    }
}

/// The identity of the file at a path, if there is one.
#[cfg(unix)]
fn identity(path: &Path) -> std::io::Result<Option<Identity>> {
    use std::os::unix::fs::MetadataExt;
    match path.metadata() {
        Ok(found) => Ok(Some((found.dev(), found.ino()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// On other systems an open file can be neither removed nor replaced.
#[cfg(not(unix))]
fn identity(_path: &Path) -> std::io::Result<Option<Identity>> {
    Ok(None)
}
