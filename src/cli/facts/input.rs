//! Reads facts from a file, and computes the digest of what has been read.
//!
//! The readers of both formats read ahead. So bytes are kept here until the reader reports how many of them
//! it has used; then they enter the digest. A row that does not end (an unclosed quote) is refused before it
//! fills the memory.

use super::json_lines::JsonLines;
use super::table::Table;
use super::{CliError, FactFormat};
use crate::engine::Fact;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::{self, Read};

/// The maximum size of a row in bytes, including what readers read ahead: a hundred times the largest fact.
const MOST_ROW: usize = 1 << 20;

/// The start of the next fact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InputPosition {
    /// Bytes before it.
    pub(super) bytes: u64,
    /// Lines before it.
    pub(super) lines: u64,
}

/// What is wrong in which line and column.
#[derive(Debug)]
pub(super) struct InputError {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) reason: String,
}

/// A file with a digest of the bytes that were used.
pub(super) struct Tracked {
    inner: Box<dyn Read>,
    /// Bytes that were read but are not yet in the digest.
    pending: Vec<u8>,
    /// How many bytes are in the digest.
    digested: u64,
    digest: Sha256,
    /// The start of the current row in bytes.
    row: u64,
}

impl Tracked {
    pub(super) fn new(inner: Box<dyn Read>) -> Self {
        Self { inner, pending: Vec::new(), digested: 0, digest: Sha256::new(), row: 0 }
    }

    /// Notes the start of a row.
    pub(super) fn begin_row(&mut self, bytes: u64) {
        self.row = bytes;
    }

    /// How many empty lines follow a position.
    pub(super) fn empty_lines(&self, bytes: u64) -> u64 {
        let at = usize::try_from(bytes.saturating_sub(self.digested)).unwrap_or(usize::MAX);
        let rest = self.pending.get(at..).unwrap_or_default();
        let ends = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        ends.filter(|byte| **byte == b'\n').count() as u64
    }

    /// Reads the first bytes into the digest; fewer if there are no more.
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let mut left = bytes;
        let mut buffer = vec![0; 1 << 16];
        while left > 0 {
            let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let n = self.inner.read(buffer.get_mut(..most).unwrap_or_default())?;
            if n == 0 {
                return Ok(());
            }
            self.digest.update(buffer.get(..n).unwrap_or_default());
            self.digested += n as u64;
            left -= n as u64;
        }
        self.row = self.digested;
        Ok(())
    }

    /// The digest of everything before a position, in hexadecimal.
    fn digest_to(&mut self, bytes: u64) -> String {
        let n = usize::try_from(bytes.saturating_sub(self.digested)).unwrap_or(usize::MAX);
        let counted: Vec<u8> = self.pending.drain(..n.min(self.pending.len())).collect();
        self.digest.update(&counted);
        self.digested += counted.len() as u64;
        self.digest.clone().finalize().iter().fold(String::new(), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

impl Read for Tracked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.digested + self.pending.len() as u64;
        if read.saturating_sub(self.row) > MOST_ROW as u64 {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "a fact of more than a megabyte"));
        }
        let n = self.inner.read(buffer)?;
        self.pending.extend_from_slice(buffer.get(..n).unwrap_or_default());
        Ok(n)
    }
}

/// A reader of facts.
pub(super) enum Input {
    Lines(JsonLines),
    Table(Table),
}

impl Input {
    /// Reads from the beginning.
    pub(super) fn new(source: Box<dyn Read>, format: FactFormat) -> Self {
        Self::over(Tracked::new(source), InputPosition::default(), format)
    }

    /// Reads from a position; also returns the digest of everything before it.
    pub(super) fn from(
        source: Box<dyn Read>,
        place: InputPosition,
        format: FactFormat,
    ) -> io::Result<(Self, String)> {
        let mut tracked = Tracked::new(source);
        tracked.skip(place.bytes)?;
        let digest = tracked.digest_to(tracked.digested);
        Ok((Self::over(tracked, place, format), digest))
    }

    fn over(tracked: Tracked, place: InputPosition, format: FactFormat) -> Self {
        match format {
            FactFormat::Jsonl => Self::Lines(JsonLines::new(tracked, place)),
            FactFormat::Csv => Self::Table(Table::new(tracked, place)),
        }
    }

    /// The next fact and its line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(Fact, u64)>, InputError> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Table(table) => table.next(),
        }
    }

    /// The start of the next fact.
    pub(super) fn place(&self) -> InputPosition {
        match self {
            Self::Lines(lines) => lines.place(),
            Self::Table(table) => table.place(),
        }
    }

    /// The digest of everything before the next fact.
    pub(super) fn digest(&mut self) -> String {
        let bytes = self.place().bytes;
        match self {
            Self::Lines(lines) => lines.source().digest_to(bytes),
            Self::Table(table) => table.source().digest_to(bytes),
        }
    }
}

impl InputError {
    /// The error with the name of its file.
    pub(super) fn within(self, name: &str) -> CliError {
        let Self { line, column, reason } = self;
        CliError::Input { name: name.to_owned(), line, column, reason }
    }
}
