//! Notices when files of an open store are removed, replaced or changed by another program.
//!
//! An open file works on without its name: SQLite would keep writing to files that the next start does not
//! find. So before and after each commit, and once a second when idle, each path is compared with the file
//! that was there at the start. The files are identified by path only: opening and closing one of them would
//! release SQLite's locks on it.
//!
//! A file may also be overwritten in its place, by a copy of an earlier state for example. Only the writer
//! changes the file and its log, so between two of its writes the file keeps its size and its time, and the
//! log never gets shorter.

use std::fs::metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Identifies a file independently of its name: device and inode.
type Identity = (u64, u64);

/// The files of an open store as they were when it was opened.
#[derive(Debug)]
pub(super) struct Watch {
    files: Vec<(PathBuf, Identity)>,
    /// The file of the facts, and its log.
    written: [PathBuf; 2],
    after_write: Option<FileState>,
}

/// The state of the files, as the store's own last write left it.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    /// The size of the file.
    size: u64,
    /// When it was changed.
    time: SystemTime,
    /// The size of the log.
    log: u64,
}

impl Watch {
    /// Watches those of the files that exist; the facts are in `file`.
    pub(super) fn new(files: impl IntoIterator<Item = PathBuf>, file: &Path) -> Self {
        let found = |path: PathBuf| identity(&path).ok().flatten().map(|identity| (path, identity));
        let mut log = file.as_os_str().to_owned();
        log.push("-wal");
        let written = [file.to_owned(), log.into()];
        Self { files: files.into_iter().filter_map(found).collect(), written, after_write: None }
    }

    /// Notes what the store itself has written.
    pub(super) fn note_write(&mut self) {
        self.after_write = self.state();
    }

    /// What another program did to the content of the files since the store's own last write.
    pub(super) fn changed(&self) -> Option<String> {
        let ([file, log], before, now) = (&self.written, self.after_write.as_ref()?, self.state()?);
        let (path, what) = if (now.size, now.time) != (before.size, before.time) {
            (file, "changed")
        } else if now.log < before.log {
            (log, "cut")
        } else {
            return None;
        };
        Some(format!("`{}` was {what} by another program while the store is open", path.display()))
    }

    fn state(&self) -> Option<FileState> {
        let [file, log] = &self.written;
        let found = metadata(file).ok()?;
        let log = metadata(log).map_or(0, |found| found.len());
        Some(FileState { size: found.len(), time: found.modified().ok()?, log })
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
