//! The primary is killed while nodes write, and a standby takes over.
//!
//! Each round has a primary with two standbys and two nodes. Writers note each batch that is acknowledged,
//! and ask the other node for it. Then all processes of the primary end at once, a standby is promoted, and
//! the nodes, which know all three servers, find it. What survived is compared with the notes.
//!
//! `PORTCULLIS_FAILOVERS` is the number of rounds; two run with the other tests.

use super::{ENVIRONMENT, options, pattern, public};
use portcullis::store::postgres::{Address, migrate};
use portcullis::store::{Change, DatabaseError, Store, StoreError, Token, WriteMark};
use portcullis_testkit::trio::{Confirmed, DatabaseServer, Trio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How many writers there are.
pub(super) const WRITERS: usize = 3;

/// How many batches of a writer must be acknowledged after the failover.
const AFTERWARDS: usize = 5;

/// How long nodes may need until they write again.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How far a round is.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) is_promoted: AtomicBool,
    /// Batches that were acknowledged.
    pub(super) n_batches: AtomicUsize,
}

/// The notes of a writer. Its nth batch replaces its fact `n - 1` by its fact `n`.
pub(super) struct Writer {
    name: String,
    /// The moments after its batches.
    pub(super) acknowledged: Vec<Token>,
    /// Whether a node has told it that writes were lost.
    pub(super) knows_of_loss: bool,
}

impl Writer {
    pub(super) fn new(name: String) -> Self {
        Self { name, acknowledged: Vec::new(), knows_of_loss: false }
    }

    /// The facts of this writer that a question sees.
    async fn seen(&self, store: &Store) -> Result<Vec<usize>, StoreError> {
        let page = store.facts(pattern("is_public", &["Repository:*"]), 10_000).await?;
        let number = |id: &str| id.strip_prefix(&*self.name)?.strip_prefix('.')?.parse().ok();
        Ok(page.facts.iter().filter_map(|fact| number(&fact.args[0].id)).collect())
    }

    /// Writes until it has enough batches after the failover, or learns that writes were lost.
    pub(super) async fn write(mut self, here: Store, there: Store, progress: Arc<Progress>) -> Self {
        let (mut last, mut n_afterwards) = (Instant::now(), 0);
        while n_afterwards < AFTERWARDS && !self.knows_of_loss {
            assert!(last.elapsed() < PATIENCE, "{}: nothing is written any more", self.name);
            let is_afterwards = progress.is_promoted.load(Ordering::SeqCst);
            let step = self.acknowledged.len() + 1;
            let repository = |step: usize| format!("{}.{step}", self.name);
            let old = pattern("is_public", &[&format!("Repository:{}", repository(step - 1))]);
            let batch = vec![Change::Delete(vec![old]), Change::Insert(vec![public(&repository(step))])];
            match here.apply(batch).await {
                Ok(applied) => {
                    let mark = WriteMark { offset: applied.offset, nonce: applied.nonce };
                    self.acknowledged.push(WriteMark::token(&mark.to_string()).unwrap());
                    progress.n_batches.fetch_add(1, Ordering::SeqCst);
                    (last, n_afterwards) = (Instant::now(), n_afterwards + usize::from(is_afterwards));
                    self.ask(&there, step).await;
                }
                Err(error) => self.note(&error),
            }
        }
        self
    }

    /// Asks for what its last batch did. No answer may be of an older state.
    async fn ask(&mut self, store: &Store, step: usize) {
        match self.seen(&store.after(self.acknowledged.last().copied())).await {
            Ok(seen) => assert_eq!(seen, [step], "{}", self.name),
            Err(error) => self.note(&error),
        }
    }

    fn note(&mut self, error: &StoreError) {
        match error {
            error if is_loss(error) => self.knows_of_loss = true,
            StoreError::Database(DatabaseError::UnknownWrite) => {}
            error => assert!(error.is_unanswered(), "{}: {error}", self.name),
        }
    }

    /// Compares what survived with the notes; returns how many batches were lost.
    pub(super) async fn check(&self, store: &Store) -> usize {
        let survived = self.seen(store).await.unwrap();
        let n_acknowledged = self.acknowledged.len();
        // The servers that are left may have got nothing of this writer.
        let last = survived.last().copied().unwrap_or(0);
        assert!(survived.len() <= 1 && last <= n_acknowledged + 1, "{}: {survived:?}", self.name);
        for (step, token) in (1..).zip(&self.acknowledged) {
            let is_right = match self.seen(&store.after(Some(*token))).await {
                Ok(seen) => step <= last && seen == survived,
                Err(error) => step > last && is_loss(&error),
            };
            assert!(is_right, "{}: batch {step}, and {survived:?} survived", self.name);
        }
        n_acknowledged.saturating_sub(last)
    }
}

/// Whether an error says that writes were lost: 409, or 503 until the node is started again.
fn is_loss(error: &StoreError) -> bool {
    matches!(error, StoreError::Database(DatabaseError::LostWrite { .. } | DatabaseError::TakenOver { .. }))
}

/// One round. Returns the new primary, how many batches were acknowledged, and how many of them were lost.
async fn round(primary: DatabaseServer, nth: usize, confirmed: Confirmed) -> (DatabaseServer, usize, usize) {
    let trio = Trio::around(primary, confirmed).await;
    let address = Address::parse(&trio.url()).unwrap();
    let open = async || Store::connect(&address.clone().into(), ENVIRONMENT, &options()).await.unwrap();
    let nodes = [open().await, open().await];
    let progress = Arc::new(Progress::default());
    let writing: Vec<_> = (0..WRITERS)
        .map(|n| {
            let writer = Writer::new(format!("{nth}.{n}"));
            let (here, there) = (nodes[n % 2].clone(), nodes[(n + 1) % 2].clone());
            tokio::spawn(writer.write(here, there, Arc::clone(&progress)))
        })
        .collect();
    sleep(Duration::from_millis(300 + 37 * u64::try_from(nth % 10).unwrap())).await;
    let promoted = trio.fail_over(confirmed, &progress.n_batches).await;
    progress.is_promoted.store(true, Ordering::SeqCst);
    let mut writers = Vec::new();
    for writer in writing {
        writers.push(writer.await.unwrap());
    }
    // As if the nodes had been started again.
    drop(nodes);
    let node = open().await;
    let (mut n_acknowledged, mut n_lost) = (0, 0);
    for writer in &writers {
        let lost = writer.check(&node).await;
        assert!(writer.knows_of_loss || lost == 0, "{}: {lost} lost, and not told", writer.name);
        (n_acknowledged, n_lost) = (n_acknowledged + writer.acknowledged.len(), n_lost + lost);
    }
    (promoted, n_acknowledged, n_lost)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_is_lost_unnoticed_when_the_primary_is_killed() {
    let n_rounds: usize = std::env::var("PORTCULLIS_FAILOVERS").map_or(2, |rounds| rounds.parse().unwrap());
    let mut primary = DatabaseServer::start();
    migrate(&Address::parse(&primary.url()).unwrap(), ENVIRONMENT).await.unwrap();
    let (mut confirmed_writes, mut unconfirmed, mut lost) = (0, 0, 0);
    for nth in 0..n_rounds {
        let confirmed = if nth % 2 == 0 { Confirmed::ByStandby } else { Confirmed::ByPrimary };
        let (promoted, n_acknowledged, n_lost) = round(primary, nth, confirmed).await;
        if confirmed == Confirmed::ByStandby {
            assert_eq!(n_lost, 0, "round {nth}: a standby had confirmed them");
            confirmed_writes += n_acknowledged;
        } else {
            assert!(n_lost > 0, "round {nth}: the standbys got all of it");
            (unconfirmed, lost) = (unconfirmed + n_acknowledged, lost + n_lost);
        }
        primary = promoted;
    }
    println!(
        "{confirmed_writes} confirmed by a standby, none lost; of {unconfirmed} others, {lost} lost, all told"
    );
}
