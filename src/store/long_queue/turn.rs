//! One question, as its asker and the thread that runs it share it.

use parking_lot::Mutex;
use std::sync::Arc;

/// How far a question is.
#[derive(Debug)]
enum Progress<G> {
    /// It waits for its turn.
    Waits,
    /// It runs until this is dropped, or has run.
    Runs(G),
    /// No one waits for its answer any more.
    IsLeft,
}

/// The asker's side: dropping it leaves the question.
#[derive(Debug)]
pub(super) struct AskedTurn<G>(Arc<Mutex<Progress<G>>>);

/// The thread's side.
#[derive(Debug)]
pub(super) struct RunTurn<G>(Arc<Mutex<Progress<G>>>);

/// Both sides of a question.
pub(super) fn turn<G>() -> (AskedTurn<G>, RunTurn<G>) {
    let progress = Arc::new(Mutex::new(Progress::Waits));
    (AskedTurn(Arc::clone(&progress)), RunTurn(progress))
}

impl<G> AskedTurn<G> {
    /// Whether it has begun to run.
    pub(super) fn has_begun(&self) -> bool {
        matches!(*self.0.lock(), Progress::Runs(_))
    }
}

impl<G> Drop for AskedTurn<G> {
    fn drop(&mut self) {
        *self.0.lock() = Progress::IsLeft;
    }
}

impl<G> RunTurn<G> {
    /// Prepares to run the question; returns whether anyone waits for the answer.
    pub(super) fn begin(&self, prepare: impl FnOnce() -> G) -> bool {
        let mut progress = self.0.lock();
        let is_asked = !matches!(*progress, Progress::IsLeft);
        if is_asked {
            *progress = Progress::Runs(prepare());
        }
        is_asked
    }
}
