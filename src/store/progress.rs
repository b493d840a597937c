//! The progress of one question, shared by its asker and the thread that runs it.

use parking_lot::Mutex;
use std::sync::Arc;

/// How far a question has come.
#[derive(Debug)]
enum QuestionProgress<G> {
    /// It waits for its turn.
    Waits,
    /// It is running or has run. Dropping this guard cancels it.
    Runs(G),
    /// No one waits for its answer any more.
    IsLeft,
}

/// The asker's side: dropping it gives the question up.
#[derive(Debug)]
pub(super) struct AskerSide<G>(Arc<Mutex<QuestionProgress<G>>>);

/// The thread's side.
#[derive(Debug)]
pub(super) struct ThreadSide<G>(Arc<Mutex<QuestionProgress<G>>>);

/// Both sides of a question.
pub(super) fn progress<G>() -> (AskerSide<G>, ThreadSide<G>) {
    let progress = Arc::new(Mutex::new(QuestionProgress::Waits));
    (AskerSide(Arc::clone(&progress)), ThreadSide(progress))
}

impl<G> AskerSide<G> {
    /// Whether it has begun to run.
    pub(super) fn has_begun(&self) -> bool {
        matches!(*self.0.lock(), QuestionProgress::Runs(_))
    }
}

impl<G> Drop for AskerSide<G> {
    fn drop(&mut self) {
        *self.0.lock() = QuestionProgress::IsLeft;
    }
}

impl<G> ThreadSide<G> {
    /// Prepares to run the question; returns whether anyone waits for the answer.
    pub(super) fn begin(&self, prepare: impl FnOnce() -> G) -> bool {
        let mut progress = self.0.lock();
        let is_asked = !matches!(*progress, QuestionProgress::IsLeft);
        if is_asked {
            *progress = QuestionProgress::Runs(prepare());
        }
        is_asked
    }
}
