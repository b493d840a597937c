//! What the writer does after a panic: the batches that it had are lost to their callers, and it goes on.

use super::{QueuedBatch, WriterThread};
use crate::store::error::StoreError;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl WriterThread {
    /// Does some work; `None` if it panicked. Then the batches that it had get no reply, and the next ones
    /// are written on a new connection: the server ends the transaction of the old one with it, and whatever
    /// it has committed is found there.
    pub(super) fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let done = catch_unwind(AssertUnwindSafe(|| work(self))).ok();
        if done.is_none() {
            tracing::error!("the writer panicked: it goes on with a new connection");
            let closed = catch_unwind(AssertUnwindSafe(|| self.close()));
            if closed.is_err() {
                tracing::error!("the writer panicked again, as it closed its connection");
            }
        }
        done
    }

    /// Gives the connection up.
    fn close(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        let fault = StoreError::Bug("the writer panicked".into());
        let close = async {
            connection.abandon(&fault).await;
            Ok(())
        };
        if let Err(error) = self.runtime.block_on(close) {
            tracing::warn!(%error, "cannot close the connection of the writer");
        }
    }

    /// The next batch, whatever happens while there is none; `None` once the store is closing.
    pub(super) fn next_guarded(&mut self, batches: &flume::Receiver<QueuedBatch>) -> Option<QueuedBatch> {
        loop {
            if let Some(next) = self.guarded(|state| state.next(batches)) {
                return next;
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::super::PostgresStore;
    use super::super::super::address::Address;
    use super::super::super::migrate::migrate;
    use super::super::BatchWork;
    use super::*;
    use crate::store::key::Access;
    use crate::store::options::StoreOptions;
    use portcullis_testkit::cluster::Cluster;

    /// The name of a key that the writer panics about.
    const PANICS: &str = "panics";

    pub(in super::super) fn panic_as_asked(group: &[QueuedBatch]) {
        let asks =
            |batch: &QueuedBatch| matches!(&batch.work, BatchWork::CreateKey { name, .. } if name == PANICS);
        assert!(!group.iter().any(asks), "as the test wants");
    }

    /// What was stored before stays known, and the next batches are stored.
    #[tokio::test]
    async fn a_panic_of_the_writer_harms_no_later_batch() {
        let cluster = Cluster::start(&["shared_buffers=16MB"]).unwrap();
        let address = format!("postgres://postgres@/postgres?host={}", cluster.folder);
        let address = Address::parse(&address).unwrap();
        migrate(&address, "default").await.unwrap();
        let store = PostgresStore::open(&address.into(), "default", &StoreOptions::default()).await.unwrap();
        let create = async |name: &str| {
            let work = BatchWork::CreateKey { name: name.to_owned(), access: Access::ReadOnly };
            store.writer.write(work).await
        };
        assert!(create("before").await.is_ok());
        let error = create(PANICS).await.unwrap_err();
        assert!(matches!(error, StoreError::Bug(_)), "{error}");
        for name in ["after", "later"] {
            assert!(create(name).await.is_ok(), "{name}");
        }
    }
}
