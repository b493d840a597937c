//! Detects damage that SQLite overlooks when it opens a file.
//!
//! SQLite reads a file whose last page is cut as if it ended in zeros. That is right only while the log also
//! contains the page, because a checkpoint was in progress.
//!
//! SQLite reads a log up to the first frame with a wrong checksum, and takes the rest for an unfinished
//! commit. After a kill or a power failure that is right: a commit is on the disk before the next one starts,
//! so at most one is unfinished. But if two complete commits follow a wrong frame, they were acknowledged,
//! and SQLite would drop them silently. It would also drop a whole log with a damaged header.
//!
//! ```text
//! header │ frame frame commit │ frame commit │ WRONG commit │ frame commit │ commit │ zeros
//!                                            └ SQLite stops  └──── acknowledged ────┘
//! ```
//!
//! The last commit is the limit of this check: damage to it looks like a commit that never finished. Both
//! file formats are described in <https://sqlite.org/fileformat2.html>.

use crate::store::error::StoreError;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

/// The first bytes of every SQLite database.
const BEGINNING: &[u8] = b"SQLite format 3\0";

/// The magic number of a log with little-endian checksums; plus one for big-endian.
const MAGIC: u32 = 0x377f_0682;

/// The length of the log's header in bytes.
const HEADER: usize = 32;

/// The length of the header of each frame in bytes.
const FRAME_HEADER: usize = 24;

/// If this many complete commits follow a wrong frame, its commit was acknowledged.
const ACKNOWLEDGED: u32 = 2;

/// Refuses a file without its end, and a log of which SQLite would drop acknowledged commits. A missing or
/// empty log is fine.
pub(super) fn examine(database: &Path, log: &Path) -> Result<(), StoreError> {
    let file = match File::open(log) {
        Err(error) if error.kind() == ErrorKind::NotFound => return examine_end(database),
        opened => opened.map_err(|error| StoreError::io(log, &error))?,
    };
    let mut source = BufReader::with_capacity(1 << 20, file);
    match lost_after(&mut source).map_err(|error| StoreError::io(log, &error))? {
        None if source.get_ref().metadata().is_ok_and(|found| found.len() > 0) => Ok(()),
        None => examine_end(database),
        Some(frame) => {
            Err(StoreError::Corrupt(format!("frame {frame} of its log is damaged, and commits follow it")))
        }
    }
}

/// Refuses a database that ends in the middle of a page.
fn examine_end(database: &Path) -> Result<(), StoreError> {
    let read = || -> std::io::Result<_> {
        let mut file = File::open(database)?;
        let mut header = [0; 20];
        // SQLite itself detects files that are not databases,
        let is_one = fill(&mut file, &mut header)? && header.starts_with(BEGINNING);
        Ok((is_one.then_some(word(&header, 16) >> 16), file.metadata()?.len()))
    };
    let (page_bytes, length) = read().map_err(|error| StoreError::io(database, &error))?;
    match page_bytes {
        // and invalid page sizes.
        Some(bytes @ 2..) if !length.is_multiple_of(bytes.into()) => {
            Err(StoreError::Corrupt(format!("it ends within a page, after {length} bytes")))
        }
        Some(_) | None => Ok(()),
    }
}

/// SQLite's checksum over words of eight bytes.
type Sum = (u32, u32);

/// The number of the first wrong frame, from 1, if acknowledged commits follow it; 0 means the header.
fn lost_after(log: &mut impl Read) -> std::io::Result<Option<u64>> {
    let mut header = [0; HEADER];
    if !fill(log, &mut header)? {
        return Ok(None);
    }
    let magic = word(&header, 0);
    let big_endian = magic == MAGIC + 1;
    let page_bytes = usize::try_from(word(&header, 8)).unwrap_or_default();
    if !page_bytes.is_power_of_two() || !(512..=65_536).contains(&page_bytes) {
        // Without a page size, frames cannot be found. A header of zeros is a log that was never used.
        return Ok(header.iter().any(|byte| *byte != 0).then_some(0));
    }
    let (covered, checked) = header.split_at(HEADER - 8);
    let header_sum = (word(checked, 0), word(checked, 4));
    let is_whole = magic & !1 == MAGIC && sum((0, 0), covered, big_endian) == header_sum;
    let mut salts = is_whole.then(|| (word(&header, 16), word(&header, 20)));
    let mut wrong = (!is_whole).then_some(0);
    let (mut before, mut commits) = (header_sum, 0);
    let mut frame = vec![0; FRAME_HEADER + page_bytes];
    for number in 1.. {
        if !fill(log, &mut frame)? {
            break;
        }
        let (head, page) = frame.split_at(FRAME_HEADER);
        let (covered, _) = head.split_at(8);
        let own_salts = (word(head, 8), word(head, 12));
        let own_sum = (word(head, 16), word(head, 20));
        let found = sum(sum(before, covered, big_endian), page, big_endian);
        before = own_sum;
        if found != own_sum || own_salts != *salts.get_or_insert(own_salts) {
            wrong.get_or_insert(number);
            // A commit starts only after the previous one is on the disk.
            commits = u32::from(salts == Some(own_salts) && word(head, 4) != 0);
            continue;
        }
        commits += u32::from(word(head, 4) != 0);
        if wrong.is_some() && commits == ACKNOWLEDGED {
            return Ok(wrong);
        }
    }
    Ok(None)
}

/// Fills the buffer; returns whether there was enough to read.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match source.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The number at a position. Numbers in headers are big-endian on every machine.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_be_bytes)
}

fn sum(seed: Sum, bytes: &[u8], big_endian: bool) -> Sum {
    let (pairs, _) = bytes.as_chunks::<8>();
    pairs.iter().fold(seed, |(first, second), [a, b, c, d, e, f, g, h]| {
        let read = |word| if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) };
        let first = first.wrapping_add(read([*a, *b, *c, *d])).wrapping_add(second);
        (first, second.wrapping_add(read([*e, *f, *g, *h])).wrapping_add(first))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 512;

    /// A log of frames, each the last of its commit or not.
    fn log(commits: &[bool]) -> Vec<u8> {
        let mut log = Vec::new();
        for word in [MAGIC, 3_007_000, 512, 0, 7, 8] {
            log.extend(word.to_be_bytes());
        }
        let mut before = sum((0, 0), &log, false);
        log.extend([before.0, before.1].into_iter().flat_map(u32::to_be_bytes));
        for (number, commit) in (1_u32..).zip(commits) {
            let covered =
                [number, u32::from(*commit)].into_iter().flat_map(u32::to_be_bytes).collect::<Vec<_>>();
            let page = vec![number.to_be_bytes()[3]; PAGE];
            before = sum(sum(before, &covered, false), &page, false);
            log.extend(covered);
            log.extend([7, 8, before.0, before.1].into_iter().flat_map(u32::to_be_bytes));
            log.extend(page);
        }
        log
    }

    fn lost(log: &[u8]) -> Option<u64> {
        lost_after(&mut &*log).unwrap()
    }

    /// The place of a byte of a frame's page.
    fn page_of(frame: usize) -> usize {
        HEADER + (frame - 1) * (FRAME_HEADER + PAGE) + FRAME_HEADER + 100
    }

    #[test]
    fn a_log_that_ends_anywhere_has_lost_nothing() {
        let whole = log(&[false, true, true, false, true]);
        for end in 0..=whole.len() {
            assert_eq!(lost(&whole[..end]), None, "{end}");
        }
        let mut preallocated = whole;
        preallocated.resize(preallocated.len() + 5 * (FRAME_HEADER + PAGE), 0);
        assert_eq!(lost(&preallocated), None);
        assert_eq!(lost(&[0; 4_000]), None, "never begun");
    }

    #[test]
    fn a_wrong_frame_before_two_commits_is_damage() {
        let whole = log(&[true, false, true, false, true, true]);
        for at in [page_of(2), page_of(3), page_of(2) - 101, page_of(2) - 110, page_of(2) - 124] {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            assert_eq!(lost(&damaged), Some(if at == page_of(3) { 3 } else { 2 }), "{at}");
        }
        for at in [0, 8, 9, 16, 24] {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            assert_eq!(lost(&damaged), Some(0), "byte {at} of the header");
        }
    }

    #[test]
    fn a_wrong_frame_before_one_commit_may_be_its_own() {
        let mut torn = log(&[true, true, false, false, true]);
        torn[page_of(3)] ^= 4;
        assert_eq!(lost(&torn), None);
        torn[page_of(2)] ^= 4;
        assert_eq!(lost(&torn), None, "two wrong ones");
        let mut damaged = log(&[true, true, false, true]);
        damaged[page_of(2)] ^= 4;
        assert_eq!(lost(&damaged), Some(2), "the end of a commit was reached");
    }
}
