//! What remains of the writer after a panic: it takes no more writes, and holds the lock of the store for as
//! long as questions are answered from it.

use super::{Fault, Job, Pending, WriterState};
use crate::store::error::StoreError;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl WriterState {
    /// Takes writes until the store is closed, and refuses them once one has panicked.
    pub(super) fn serve_or_refuse(&mut self, jobs: &flume::Receiver<Box<dyn Job>>) {
        // After a panic, the state is only used again after it was read from the file.
        if catch_unwind(AssertUnwindSafe(|| self.serve(jobs))).is_ok() {
            self.end();
            return;
        }
        let fault = Fault::Failed("the writer panicked: the log has the details".into());
        self.published.stop_writes(fault.clone());
        let reread = catch_unwind(AssertUnwindSafe(|| self.reread()));
        let reread = reread.unwrap_or_else(|_| Err(StoreError::Bug("the writer panicked again".into())));
        if let Err(error) = reread {
            tracing::error!(%error, "questions may fail until the store is opened again");
        }
        jobs.iter().for_each(|job| job.reply(Err(fault.clone().into())));
    }

    /// Publishes what is in the file. Readers wait for a commit that was announced, and it may be there.
    fn reread(&mut self) -> Result<(), StoreError> {
        if !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        self.offset =
            self.conn.query_row("SELECT value FROM meta WHERE name = 'offset'", [], |row| row.get(0))?;
        self.directory.reload(&self.conn)?;
        self.directory.changed = true;
        let news = self.news(Pending { keys_changed: true, ..Pending::default() })?;
        self.publish(news);
        Ok(())
    }
}
