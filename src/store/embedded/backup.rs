//! Backups: a store in one file that can prove that it is complete.
//!
//! A backup is an SQLite database, readable by any SQLite, followed by one line with the SHA-256 of
//! everything before it. SQLite alone does not notice a changed letter in a value, and not always a missing
//! end.
//!
//! ```text
//! Snapshot ─copy─▶ FILE.part ─check its trees─▶ digest ─▶ FILE          (whether or not the store is being served)
//! FILE ─digest─▶ DIR/store.db.restore ─check its trees─▶ DIR/store.db   (DIR is locked, so no service uses it)
//! ```
//!
//! In both directions a file gets its final name only once it is complete and on the disk. Until then the
//! store that it replaces is complete too: its log has been checkpointed, or removed, before.

use super::connect::{DATABASE, lock, open_file, private_file, sync_directory};
use super::snapshot::{Holdings, Snapshot, holdings};
use super::{mark, migrate, name, remains};
use crate::store::error::StoreError;
use rusqlite::{Connection, OpenFlags};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The last line of a backup, up to the digest.
const SEAL: &str = "\nportcullis backup 1, sha256 ";

/// The length of the last line in bytes: the words, 64 digits and the line break.
const SEAL_BYTES: u64 = SEAL.len() as u64 + 64 + 1;

/// What happens to a file or a store that is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the command is refused.
    Keep,
    /// It is replaced.
    Replace,
}

impl Snapshot {
    /// Writes the snapshot to a file, reporting the pages done and their total.
    pub fn back_up(
        &self,
        file: &Path,
        existing: Existing,
        progress: impl FnMut(u64, u64),
    ) -> Result<Holdings, StoreError> {
        if existing == Existing::Keep && file.exists() {
            return Err(StoreError::FileExists(file.into()));
        }
        let part = with_suffix(file, ".part");
        remove(&part)?;
        let written = self.write(&part, progress);
        if written.is_err() {
            // The first error is the one that explains.
            let _ = remove(&part);
        }
        let held = written?;
        match existing {
            Existing::Replace => rename(&part, file)?,
            Existing::Keep => {
                let placed = place_new(&part, file);
                if placed.is_err() {
                    let _ = remove(&part);
                }
                placed?;
            }
        }
        Ok(held)
    }

    fn write(&self, part: &Path, progress: impl FnMut(u64, u64)) -> Result<Holdings, StoreError> {
        private_file(part)?;
        let mut copy = open_file(part, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // An unfinished copy is discarded, so it need not be durable.
        copy.pragma_update(None, "synchronous", "OFF")?;
        self.copy_into(&mut copy, progress)?;
        // A backup is a single file without a log.
        copy.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
        migrate::check_trees(&mut copy)?;
        remains::rest(&copy)?;
        let held = holdings(&copy)?;
        copy.close().map_err(|(_, error)| error)?;
        let io = |error: std::io::Error| StoreError::io(part, &error);
        let mut file = File::options().read(true).append(true).open(part).map_err(io)?;
        let digest = digest(&mut file).map_err(io)?;
        file.write_all(format!("{SEAL}{digest}\n").as_bytes()).and_then(|()| file.sync_all()).map_err(io)?;
        Ok(held)
    }
}

/// Restores a backup into a directory that is not being served; returns what is in it.
pub fn restore(file: &Path, dir: &Path, existing: Existing) -> Result<Holdings, StoreError> {
    // One handle for both: another file of this name must not be taken for the one that was checked.
    let mut opened = File::open(file).map_err(|error| StoreError::unreadable(file, &error))?;
    let bytes = check_seal(&mut opened, file)?;
    let _lock = lock(dir)?;
    let database = dir.join(DATABASE);
    let has_former = fs::metadata(&database).is_ok_and(|former| former.len() > 0);
    if has_former && existing == Existing::Keep {
        return Err(StoreError::Exists(dir.into()));
    }
    let part = with_suffix(&database, ".restore");
    remove(&part)?;
    let restored = unpack(opened.take(bytes), file, &part);
    if restored.is_err() {
        // The first error is the one that explains.
        let _ = remove(&part);
    }
    let held = restored?;
    if has_former {
        settle_former(&database);
    }
    forget_log(&database)?;
    name::rename(dir)?;
    rename(&part, &database)?;
    Ok(held)
}

/// Checks the digest of a backup; returns the length of the database in it, and goes back to its start.
fn check_seal(opened: &mut File, file: &Path) -> Result<u64, StoreError> {
    let bad = |reason: &str| StoreError::BadBackup { file: file.into(), reason: reason.into() };
    let io = |error: std::io::Error| StoreError::unreadable(file, &error);
    let Some(bytes) = opened.metadata().map_err(io)?.len().checked_sub(SEAL_BYTES) else {
        return Err(bad("it is too short to be one"));
    };
    let found = digest(&mut (&mut *opened).take(bytes)).map_err(io)?;
    let mut seal = Vec::new();
    opened.read_to_end(&mut seal).map_err(io)?;
    let Some(digest) = seal.strip_prefix(SEAL.as_bytes()) else {
        return Err(bad("it does not end like a backup: its end is missing, or it is a different file"));
    };
    if digest.strip_suffix(b"\n") != Some(found.as_bytes()) {
        return Err(bad("its content does not match its SHA-256"));
    }
    opened.rewind().map_err(io)?;
    Ok(bytes)
}

/// Extracts the database from a backup, and checks that this release can serve it.
fn unpack(mut source: impl Read, file: &Path, part: &Path) -> Result<Holdings, StoreError> {
    let mut target = private_file(part)?;
    let copied = std::io::copy(&mut source, &mut target).and_then(|_| target.sync_all());
    copied.map_err(|error| StoreError::io(part, &error))?;
    let mut conn = open_file(part, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    migrate::examine(&conn, file)?;
    migrate::migrate(&mut conn, file)?;
    migrate::check_trees(&mut conn)?;
    let held = holdings(&conn)?;
    conn.close().map_err(|(_, error)| error)?;
    Ok(held)
}

/// Empties the log of the store that is being replaced. A damaged store is a good reason for a restore, and
/// its log is not worth copying.
fn settle_former(database: &Path) {
    let emptied = open_file(database, OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(empty_log);
    if let Err(error) = emptied {
        tracing::warn!(%error, "the store that is being replaced cannot be read completely");
    }
}

/// Removes a log and a mark, so that they do not meet the file that replaces theirs.
fn forget_log(database: &Path) -> Result<(), StoreError> {
    remove(&with_suffix(database, "-wal"))?;
    remove(&with_suffix(database, "-shm"))?;
    mark::forget(database.parent().unwrap_or(Path::new(".")))
}

fn empty_log(conn: Connection) -> Result<(), StoreError> {
    remains::rest(&conn)?;
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    conn.close().map_err(|(_, error)| error.into())
}

fn digest(source: &mut impl Read) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = source.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        hasher.update(buffer.get(..n).unwrap_or_default());
    }
    Ok(hasher.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// The path with a suffix added.
pub(super) fn with_suffix(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Removes a file, if it exists.
fn remove(file: &Path) -> Result<(), StoreError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::io(file, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(|error| StoreError::io(to, &error))?;
    sync_folder_of(to)
}

/// Renames a file, unless there is one of the new name: it may have been made in the meantime.
fn place_new(from: &Path, to: &Path) -> Result<(), StoreError> {
    match fs::hard_link(from, to) {
        Ok(()) => remove(from)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(StoreError::FileExists(to.into()));
        }
        // Some file systems have no links.
        Err(_) => return place_without_links(from, to),
    }
    sync_folder_of(to)
}

/// The same without links: an empty file takes the name first, and the renamed one replaces it.
fn place_without_links(from: &Path, to: &Path) -> Result<(), StoreError> {
    match File::create_new(to) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(StoreError::FileExists(to.into()));
        }
        Err(error) => return Err(StoreError::io(to, &error)),
    }
    let renamed = rename(from, to);
    if renamed.is_err() && from.exists() {
        // It holds nothing but the name.
        let _ = remove(to);
    }
    renamed
}

fn sync_folder_of(file: &Path) -> Result<(), StoreError> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    sync_directory(folder.unwrap_or(Path::new(".")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, StoreOptions};

    #[test]
    fn without_links_a_file_that_was_made_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [part, file] = ["part", "file"].map(|name| folder.path().join(name));
        fs::write(&part, "new").unwrap();
        place_without_links(&part, &file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        fs::write(&part, "newer").unwrap();
        assert!(matches!(place_without_links(&part, &file), Err(StoreError::FileExists(_))));
        assert_eq!((fs::read_to_string(&file).unwrap(), part.exists()), ("new".to_owned(), true));
        // What cannot be renamed leaves no empty file.
        let folder_in_the_way = folder.path().join("folder");
        fs::create_dir(&folder_in_the_way).unwrap();
        let other = folder.path().join("other");
        assert!(place_without_links(&folder_in_the_way, &other).is_err() && !other.exists());
    }

    #[tokio::test]
    async fn what_is_unpacked_is_what_was_checked() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("a");
        drop(Store::open(&dir, &StoreOptions::default()).unwrap());
        let file = folder.path().join("a.db");
        Snapshot::open(&dir).unwrap().back_up(&file, Existing::Keep, |_, _| {}).unwrap();
        let mut opened = File::open(&file).unwrap();
        let bytes = check_seal(&mut opened, &file).unwrap();
        // A backup job puts another file in its place.
        let other = folder.path().join("other");
        fs::write(&other, vec![b'x'; usize::try_from(bytes).unwrap()]).unwrap();
        fs::rename(&other, &file).unwrap();
        unpack(opened.take(bytes), &file, &folder.path().join("part")).unwrap();
    }
}
