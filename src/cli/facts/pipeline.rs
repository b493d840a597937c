//! Stores chunks while the next one is read.
//!
//! ```text
//! read ─▶ chunk ─▶ one of two threads stores it ─▶ noted, in the order of the chunks
//! ```
//!
//! While a service stores one chunk, it can read the next one. So the chunk after one that fails may be
//! stored, too; what is noted ends before the first that is not.

use crate::cli::error::CliError;
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::thread;

/// How many chunks are stored at a time.
const UNDER_WAY: usize = 2;

/// Stores all chunks of `next`, each of which comes with what to note once it and all before it are stored.
/// Of several errors, the first chunk's is returned, and an error of `next` only if all chunks before are
/// stored.
pub(super) fn run<C: Send, E>(
    mut next: impl FnMut() -> Result<Option<(C, E)>, CliError>,
    store: &(impl Fn(C) -> Result<(), CliError> + Sync),
    mut note: impl FnMut(E),
) -> Result<(), CliError> {
    thread::scope(|scope| {
        let mut under_way = VecDeque::new();
        let ended = loop {
            let (chunk, end) = match next() {
                Ok(Some(next)) => next,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            if under_way.len() == UNDER_WAY
                && let Some(oldest) = under_way.pop_front()
            {
                note(stored(oldest)?);
            }
            under_way.push_back((end, scope.spawn(move || store(chunk))));
        };
        for oldest in under_way {
            note(stored(oldest)?);
        }
        ended
    })
}

/// Waits until a chunk is stored.
fn stored<E>((end, storing): (E, thread::ScopedJoinHandle<'_, Result<(), CliError>>)) -> Result<E, CliError> {
    storing.join().unwrap_or_else(|panic| resume_unwind(panic))?;
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::path::PathBuf;
    use std::sync::Barrier;

    fn failed(nth: usize) -> CliError {
        CliError::Exists(PathBuf::from(nth.to_string()))
    }

    /// Stores ten chunks, and what was noted, and the error.
    fn ten(store: &(impl Fn(usize) -> Result<(), CliError> + Sync)) -> (Vec<usize>, Option<String>) {
        let (mut numbers, mut noted) = (0..10, Vec::new());
        let outcome = run(|| Ok(numbers.next().map(|nth| (nth, nth))), store, |nth| noted.push(nth));
        (noted, outcome.err().map(|error| error.to_string()))
    }

    #[test]
    fn two_chunks_are_stored_at_a_time_and_noted_in_their_order() {
        let (both, all) = (Barrier::new(2), Mutex::new(Vec::new()));
        let noted = ten(&|nth| {
            // Neither goes on without the other.
            both.wait();
            all.lock().push(nth);
            Ok(())
        });
        assert_eq!(noted, ((0..10).collect(), None));
        let mut all = all.into_inner();
        all.sort_unstable();
        assert_eq!(all, noted.0);
    }

    #[test]
    fn what_is_noted_ends_before_the_first_chunk_that_fails() {
        let stored = Mutex::new(Vec::new());
        let (noted, error) = ten(&|nth| {
            if matches!(nth, 3 | 4) {
                return Err(failed(nth));
            }
            stored.lock().push(nth);
            Ok(())
        });
        assert_eq!(noted, [0, 1, 2]);
        assert!(error.is_some_and(|error| error.contains("`3` exists")));
        assert!(stored.into_inner().iter().all(|nth| *nth < 3), "nothing is begun after an error");
    }

    #[test]
    fn an_input_that_cannot_be_read_ends_after_the_chunks_before_it() {
        let (mut read, mut noted) = (0, Vec::new());
        let next = || {
            read += 1;
            if read == 4 { Err(failed(read)) } else { Ok(Some((read, read))) }
        };
        let outcome = run(next, &|_| Ok(()), |nth| noted.push(nth));
        assert!(outcome.is_err_and(|error| error.to_string().contains("`4`")));
        assert_eq!(noted, [1, 2, 3]);
    }
}
