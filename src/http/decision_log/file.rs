//! The file of the decision log, which is rotated at a maximum size.
//!
//! `decisions.log` becomes `decisions.log.1`, that `decisions.log.2`, and the oldest is removed. Only its
//! owner can read it, because it says who uses what. Lines are written whole or not at all: a part of a line
//! that a full disk leaves is removed, and one that a killed process left is ended before the next line.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// An open file with its limits.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    /// How many bytes it has.
    length: u64,
    /// Whether the file ends with a part of a line.
    has_part: bool,
    /// How many it may have.
    most: u64,
    /// How many older files are kept.
    n_kept: usize,
}

impl LogFile {
    /// Opens a file, which keeps what it has.
    pub(super) fn open(path: &Path, most: u64, n_kept: usize) -> io::Result<Self> {
        let file = append(path)?;
        let length = file.metadata()?.len();
        let has_part = length > 0 && !ends_a_line(path)?;
        Ok(Self { path: path.to_owned(), file, length, has_part, most, n_kept })
    }

    /// Opens the file of this name again, which another program may have moved away.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        *self = Self::open(&self.path, self.most, self.n_kept)?;
        Ok(())
    }

    /// Writes these lines, in one file if they fit. Another program may have emptied the file or removed it;
    /// a removed file is created again.
    pub(super) fn write<'l>(&mut self, lines: impl Iterator<Item = &'l str>) -> io::Result<()> {
        let metadata = self.file.metadata()?;
        if is_removed(&metadata) {
            self.reopen()?;
        } else {
            self.length = metadata.len();
        }
        let mut text = String::new();
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        if self.length > 0 && self.length.saturating_add(text.len() as u64) > self.most {
            self.start_anew()?;
        }
        if self.has_part {
            text.insert(0, '\n');
        }
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            self.has_part |= self.file.set_len(self.length).is_err();
            return Err(error);
        }
        self.length += text.len() as u64;
        self.has_part = false;
        Ok(())
    }

    /// Moves each file to the next number, and starts an empty one.
    fn start_anew(&mut self) -> io::Result<()> {
        for n in (0..self.n_kept).rev() {
            match fs::rename(self.numbered(n), self.numbered(n + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        if self.n_kept == 0 {
            match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        self.file = append(&self.path)?;
        self.length = 0;
        self.has_part = false;
        Ok(())
    }

    fn numbered(&self, n: usize) -> PathBuf {
        if n == 0 {
            return self.path.clone();
        }
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{n}"));
        name.into()
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Whether an open file has been removed, so that what is written to it is lost.
fn is_removed(metadata: &fs::Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::nlink(metadata) == 0;
    #[cfg(not(unix))]
    return false;
}

/// Whether the last byte of a file is the end of a line.
fn ends_a_line(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_moved_is_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, moved) = (folder.path().join("decisions.log"), folder.path().join("moved"));
        let mut log = LogFile::open(&path, 1_000, 0).unwrap();
        log.write(["one"].into_iter()).unwrap();
        fs::rename(&path, &moved).unwrap();
        log.write(["two"].into_iter()).unwrap();
        log.reopen().unwrap();
        log.write(["three"].into_iter()).unwrap();
        assert_eq!(fs::read_to_string(&moved).unwrap(), "one\ntwo\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
        fs::remove_file(&path).unwrap();
        log.write(["x".repeat(1_000).as_str()].into_iter()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().len(), 1_001, "a missing file is created again, too");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_removed_is_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("logs");
        fs::create_dir(&inside).unwrap();
        let path = inside.join("decisions.log");
        let mut log = LogFile::open(&path, 1_000, 0).unwrap();
        log.write(["one"].into_iter()).unwrap();
        fs::remove_file(&path).unwrap();
        log.write(["two"].into_iter()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
        fs::remove_dir_all(&inside).unwrap();
        assert!(log.write(["lost"].into_iter()).is_err(), "without its folder, lines are lost, and counted");
        fs::create_dir(&inside).unwrap();
        log.write(["three"].into_iter()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
    }

    #[test]
    fn a_file_that_was_emptied_is_not_full() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decisions.log");
        let mut log = LogFile::open(&path, 8, 1).unwrap();
        log.write(["before"].into_iter()).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        log.write(["after"].into_iter()).unwrap();
        assert_eq!((log.length, fs::read_to_string(&path).unwrap().as_str()), (6, "after\n"));
        assert!(!folder.path().join("decisions.log.1").exists());
    }

    #[test]
    fn a_part_of_a_line_does_not_spoil_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decisions.log");
        fs::write(&path, "whole\nhal").unwrap();
        let mut log = LogFile::open(&path, 1_000, 0).unwrap();
        log.write(["next"].into_iter()).unwrap();
        log.write(["last"].into_iter()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole\nhal\nnext\nlast\n");
        let mut log = LogFile::open(&path, 1_000, 0).unwrap();
        log.write(["again"].into_iter()).unwrap();
        assert!(fs::read_to_string(&path).unwrap().ends_with("\nlast\nagain\n"));
    }

    #[test]
    fn a_full_file_moves_to_the_next_number_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decisions.log");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
        let mut log = LogFile::open(&path, 8, 2).unwrap();
        for line in ["one", "two", "three", "four", "five", "a line of its own length"] {
            log.write([line].into_iter()).unwrap();
        }
        assert_eq!(read("decisions.log").as_deref(), Some("a line of its own length\n"));
        assert_eq!(read("decisions.log.1").as_deref(), Some("five\n"));
        assert_eq!(read("decisions.log.2").as_deref(), Some("four\n"));
        assert_eq!(read("decisions.log.3"), None, "`three` and what was before are gone");

        drop(log);
        let mut log = LogFile::open(&path, 100, 0).unwrap();
        log.write(["more"].into_iter()).unwrap();
        assert_eq!(read("decisions.log").as_deref(), Some("a line of its own length\nmore\n"));
        log.write(["x".repeat(99).as_str()].into_iter()).unwrap();
        assert_eq!(read("decisions.log").unwrap().len(), 100);
        assert_eq!(read("decisions.log.1").as_deref(), Some("five\n"), "none is kept, and none is touched");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("decisions.log");
        LogFile::open(&path, 8, 2).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
