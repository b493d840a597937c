//! Replicas: servers that follow the primary, and answer questions in its place.
//!
//! ```text
//! question ─▶ names a write, or may be old ─▶ replica ─▶ answer and clock ─▶ primary's clock ─▶ answer
//!                 │ no                           │ behind, silent, in another state │ other policy, lost
//!                 └──────────────────────────────┴──────────────────────────────────┴─▶ asked of the primary
//! ```
//!
//! A question may be asked of a replica if it names a write, which the replica must have seen, or if answers
//! may have an age, which the replica must not exceed. It proves that with its clock: it has reached a moment
//! that the primary had when it was read so long ago.
//!
//! Only facts may be old. The primary's clock is read once more, so revoked keys are known as after any
//! question. The answer is discarded if the primary has another policy or other relations, or if it does not
//! know the replica's moment. While the primary is out of reach, answers that may have an age are given
//! without it, if the replica has the policy, the keys and the relations that this process knows.

use super::PostgresStore;
use super::address::Address;
use super::clock::Clock;
use super::connect::WantedServer;
use super::error::passing;
use super::frontier::Frontier;
use super::moments::Moments;
use super::pause::Pause;
use super::pinned::ReaderSource;
use super::pool::{AskedRead, ReaderPool};
use super::reader::PgReader;
use crate::share::Asker;
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use crate::store::options::StoreOptions;
use crate::store::query::Expected;
use crate::store::token::Token;
use parking_lot::Mutex;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What is asked of a reader. The answer is of any type, so that the code around the question is compiled
/// once: answers have about forty types.
pub(in crate::store) type PgRead = Arc<dyn Fn(&PgReader) -> Result<AnyAnswer, StoreError> + Send + Sync>;

pub(in crate::store) type AnyAnswer = Box<dyn Any + Send>;

/// How long reading a clock may take, besides the time to connect.
const CLOCK_TIME: Duration = Duration::from_millis(500);

/// The servers of a store.
#[derive(Clone, Debug)]
pub struct StoreServers {
    /// Where all is written, and read unless a replica may answer.
    pub primary: Address,
    /// The replicas.
    pub replicas: Vec<Address>,
    /// How old the facts of an answer may be. `None` if only questions that name a write are asked of
    /// replicas, which see that write.
    pub max_staleness: Option<Duration>,
}

/// A primary without replicas.
impl From<Address> for StoreServers {
    fn from(primary: Address) -> Self {
        Self { primary, replicas: Vec::new(), max_staleness: None }
    }
}

/// How often a replica was asked, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaUsage {
    /// Its address, without the password.
    pub at: String,
    /// It gave the answer.
    pub answered: u64,
    /// It had not received the facts yet, or the primary has another policy or other relations.
    pub behind: u64,
    /// It did not answer, or the primary did not, and the answer could not be given without it.
    pub failed: u64,
}

/// The replicas of a store.
#[derive(Debug)]
pub(super) struct Replicas {
    all: Vec<Replica>,
    /// Whose turn it is.
    next: AtomicUsize,
    max_staleness: Option<Duration>,
    moments: Mutex<Moments>,
    /// Of the primary.
    pause: Pause,
}

#[derive(Debug)]
struct Replica {
    at: String,
    readers: ReaderPool,
    pause: Pause,
    answered: AtomicU64,
    behind: AtomicU64,
    failed: AtomicU64,
}

/// What became of an answer of a replica.
enum ReplicaVerdict {
    /// It holds, with this clock.
    Holds(Clock),
    /// It is too old, or not of this store.
    Behind,
    /// The primary does not answer.
    Unknown,
}

impl Replica {
    /// Its answer. A server that is silent fails soon, also for a question that may take long.
    async fn answer(
        &self,
        asked: &AskedRead,
        expected: Expected,
        read: &PgRead,
    ) -> Result<(AnyAnswer, Option<Clock>), StoreError> {
        let began = Instant::now();
        let closure = |read: PgRead| move |reader: &PgReader| read(reader);
        if expected == Expected::Brief {
            let tried = self.readers.try_briefly(asked.clone(), closure(Arc::clone(read))).await?.0;
            if !matches!(tried, Err(StoreError::Timeout(_))) {
                return tried;
            }
        }
        match self.readers.confirm_within(asked.clone(), CLOCK_TIME).await {
            Ok(_) => {}
            Err(StoreError::Timeout(_)) => {
                let reason = format!("no answer within {:?}", began.elapsed());
                return Err(DatabaseError::Unreachable { at: self.at.clone(), reason }.into());
            }
            Err(error) => return Err(error),
        }
        self.readers.run(asked.clone(), closure(Arc::clone(read))).await
    }
}

impl Replicas {
    /// Readers for the replicas. They connect when they are used.
    pub(super) fn new(
        servers: &StoreServers,
        schema: &str,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        let replica = |address: &Address| {
            let source = ReaderSource {
                address: address.clone(),
                wanted: WantedServer::Any,
                schema: schema.to_owned(),
                limit: options.query_time,
            };
            Ok::<_, StoreError>(Replica {
                at: address.to_string(),
                readers: ReaderPool::new(&Arc::new(source), options)?,
                pause: Pause::default(),
                answered: AtomicU64::new(0),
                behind: AtomicU64::new(0),
                failed: AtomicU64::new(0),
            })
        };
        Ok(Self {
            all: servers.replicas.iter().map(replica).collect::<Result<_, _>>()?,
            next: AtomicUsize::new(0),
            max_staleness: servers.max_staleness,
            moments: Mutex::default(),
            pause: Pause::default(),
        })
    }

    /// Notes what the primary's clock was at some time after this one.
    pub(super) fn observe(&self, since: Instant, clock: &Clock) {
        self.pause.end();
        if let Some(most) = self.max_staleness.filter(|_| !clock.is_standby) {
            self.moments.lock().add(since, clock.token, most);
        }
    }

    /// A moment that contains all that was acknowledged before the age that answers may have.
    fn old_enough(&self) -> Option<Token> {
        let most = self.max_staleness?;
        let oldest = Instant::now().checked_sub(most);
        self.moments.lock().since(oldest)
    }

    /// Those that can be asked, beginning with the one whose turn it is.
    fn in_turn(&self) -> impl Iterator<Item = &Replica> {
        let first = self.next.fetch_add(1, Ordering::Relaxed) % self.all.len().max(1);
        let (before, after) = self.all.split_at_checked(first).unwrap_or((&self.all, &[]));
        after.iter().chain(before).filter(|replica| replica.pause.admits())
    }

    pub(super) fn usage(&self) -> Vec<ReplicaUsage> {
        let of = |replica: &Replica| ReplicaUsage {
            at: replica.at.clone(),
            answered: replica.answered.load(Ordering::Relaxed),
            behind: replica.behind.load(Ordering::Relaxed),
            failed: replica.failed.load(Ordering::Relaxed),
        };
        self.all.iter().map(of).collect()
    }

    /// The readers of all of them.
    pub(super) fn pools(&self) -> impl Iterator<Item = &ReaderPool> {
        self.all.iter().map(|replica| &replica.readers)
    }
}

impl PostgresStore {
    /// Asks a replica, if it may answer, or else the primary. Returns also the primary's clock, at the moment
    /// that the answer is of.
    pub(in crate::store) async fn ask(
        &self,
        asked: AskedRead,
        expected: Expected,
        read: PgRead,
    ) -> Result<(AnyAnswer, Option<Clock>), StoreError> {
        if let Some(answered) = self.ask_replicas(&asked, expected, &read).await {
            return answered.map(|(answer, clock)| (answer, Some(clock)));
        }
        self.ask_primary(asked, expected, read).await
    }

    /// Asks the primary. Returns also its clock.
    pub(in crate::store) async fn ask_primary(
        &self,
        asked: AskedRead,
        expected: Expected,
        read: PgRead,
    ) -> Result<(AnyAnswer, Option<Clock>), StoreError> {
        match expected {
            Expected::Brief => self.read_brief(asked, move |reader: &PgReader| read(reader)).await,
            Expected::Long => self.read(asked, move |reader: &PgReader| read(reader)).await,
        }
    }

    /// Whether questions can be answered: by the primary, or by a replica while it is out of reach.
    pub async fn ready(&self, asker: Asker) -> Result<(), StoreError> {
        let is_left_alone = self.primary_is_silent() || self.replicas.pause.is_running();
        if is_left_alone && self.answers_without_primary() {
            return Ok(());
        }
        match self.follow(asker).await {
            Err(error) if passing(&error).is_some() && self.answers_without_primary() => Ok(()),
            followed => followed,
        }
    }

    /// Whether questions are answered although the primary is out of reach.
    pub fn answers_without_primary(&self) -> bool {
        let is_usable = |replica: &Replica| !replica.pause.is_running();
        self.published.lost().is_none()
            && !self.published.is_outdated()
            && self.replicas.old_enough().is_some()
            && self.replicas.all.iter().any(is_usable)
    }

    /// The first answer of a replica that holds; `None` if the primary must be asked.
    async fn ask_replicas(
        &self,
        asked: &AskedRead,
        expected: Expected,
        read: &PgRead,
    ) -> Option<Result<(AnyAnswer, Clock), StoreError>> {
        let replicas = &self.replicas;
        if replicas.all.is_empty() || asked.after.is_none() && replicas.max_staleness.is_none() {
            return None;
        }
        let reached = match replicas.max_staleness {
            None => None,
            Some(_) => Some(Frontier::from(self.old_enough(asked).await?)),
        };
        for replica in replicas.in_turn() {
            let asked = AskedRead { seen: reached.clone(), ..asked.clone() };
            let answered = tokio::select! {
                answered = replica.answer(&asked, expected, read) => answered,
                () = replica.pause.begun() => Err(StoreError::Busy),
            };
            let verdict = match answered {
                Ok((answer, Some(clock))) => {
                    replica.pause.end();
                    match self.verdict(&asked, clock).await {
                        ReplicaVerdict::Holds(clock) => {
                            replica.answered.fetch_add(1, Ordering::Relaxed);
                            return Some(Ok((answer, clock)));
                        }
                        other => other,
                    }
                }
                // Nothing was read.
                Ok((_, None)) => return None,
                Err(error @ (StoreError::Closed | StoreError::Timeout(_))) => return Some(Err(error)),
                Err(StoreError::Database(
                    DatabaseError::Behind { .. }
                    | DatabaseError::LostWrite { .. }
                    | DatabaseError::TakenOver { .. }
                    | DatabaseError::Outdated { .. }
                    | DatabaseError::NoTable(_),
                )) => {
                    replica.pause.end();
                    ReplicaVerdict::Behind
                }
                // Replay may end a question; and all readers may have one.
                Err(StoreError::Busy | StoreError::Overloaded(_)) => ReplicaVerdict::Unknown,
                Err(error) => {
                    tracing::warn!(%error, replica = replica.at, "a replica does not answer");
                    replica.pause.begin();
                    ReplicaVerdict::Unknown
                }
            };
            let is_behind = matches!(verdict, ReplicaVerdict::Behind);
            let count = if is_behind { &replica.behind } else { &replica.failed };
            count.fetch_add(1, Ordering::Relaxed);
        }
        None
    }

    /// A moment that contains all that was acknowledged before the age that answers may have. The clock is
    /// read if this process has not read it for so long.
    async fn old_enough(&self, asked: &AskedRead) -> Option<Token> {
        match self.replicas.old_enough() {
            Some(known) => Some(known),
            None => Some(self.primary_clock(asked, None).await.ok()??.token),
        }
    }

    /// The clock of the primary, which must know a moment; `None` while it is out of reach.
    async fn primary_clock(
        &self,
        asked: &AskedRead,
        known: Option<Token>,
    ) -> Result<Option<Clock>, StoreError> {
        let pause = &self.replicas.pause;
        if self.primary_is_silent() || !pause.admits() {
            return Ok(None);
        }
        let (since, seen) = (Instant::now(), self.frontier());
        // That the question has little time left does not show that the primary is silent.
        let clock = AskedRead { seen: Some(seen.clone()), after: None, known, until: None, ..asked.clone() };
        let confirmed = tokio::select! {
            confirmed = self.readers.confirm_within(clock, CLOCK_TIME) => confirmed,
            () = pause.begun() => return Ok(None),
        };
        let noted = self.noted(since, Some(&seen), confirmed.map(|clock| (clock, Some(clock))));
        match self.unless_taken_over(noted) {
            Ok((clock, _)) => Ok(Some(clock)),
            Err(error) if matches!(error, StoreError::Timeout(_)) || passing(&error).is_some() => {
                pause.begin();
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the answer holds that a replica gave with this clock.
    async fn verdict(&self, asked: &AskedRead, clock: Clock) -> ReplicaVerdict {
        match self.primary_clock(asked, Some(clock.token)).await {
            Ok(Some(primary)) => {
                let is_same = primary.policy == clock.policy && primary.catalog == clock.catalog;
                if is_same && !primary.is_standby {
                    ReplicaVerdict::Holds(Clock { token: clock.token, ..primary })
                } else {
                    ReplicaVerdict::Behind
                }
            }
            Ok(None) if self.is_still_recent(asked) && self.has_state_of(clock) => {
                ReplicaVerdict::Holds(clock)
            }
            Ok(None) | Err(StoreError::Busy | StoreError::Overloaded(_)) => ReplicaVerdict::Unknown,
            Err(error) => {
                tracing::debug!(%error, "a replica was in a state that the primary does not know");
                ReplicaVerdict::Behind
            }
        }
    }

    /// Whether the moment that a replica had to have reached is still recent enough: waiting for the primary
    /// takes time.
    fn is_still_recent(&self, asked: &AskedRead) -> bool {
        let reached = asked.seen.as_ref().map(Frontier::newest);
        reached.is_some() && reached == self.replicas.old_enough()
    }

    /// Whether a clock has the policy, the keys and the relations that this process knows, and this process
    /// knows of nothing that keeps it from answering.
    fn has_state_of(&self, clock: Clock) -> bool {
        u64::try_from(clock.policy).is_ok_and(|policy| policy == self.newest_policy())
            && u64::try_from(clock.catalog).is_ok_and(|catalog| catalog == self.relations().generation)
            && clock.keys == self.keys_generation()
            && self.published.lost().is_none()
            && !self.published.is_outdated()
    }
}
