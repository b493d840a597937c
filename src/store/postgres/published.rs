//! What a process knows of an environment: its relations and keys, how far it has seen, and whether it
//! accepts writes.

use super::clock::Clock;
use super::frontier::Frontier;
use super::keys::LoadedKeys;
use crate::store::database_error::DatabaseError;
use crate::store::key::KeyRing;
use crate::store::signature::Relations;
use crate::store::token::Token;
use parking_lot::{Mutex, RwLock};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The pause between two look-ups of unknown keys.
const LOOK_UP_PAUSE: Duration = Duration::from_secs(1);

/// The newest of everything that this process has seen.
#[derive(Debug)]
pub(super) struct PublishedState {
    relations: RwLock<Arc<Relations>>,
    keys: RwLock<PublishedKeys>,
    /// What was acknowledged or read.
    frontier: Mutex<Frontier>,
    /// The latest moment of which the policy is known. A write by this process does not reveal it.
    policy: Mutex<SeenMoment>,
    /// The revision that was lost when another server took over, if one was.
    lost: OnceLock<u64>,
    /// When an unknown key was looked up in the database last.
    looked_up: Mutex<Option<Instant>>,
    /// Why no server took the last write.
    fault: RwLock<Option<DatabaseError>>,
    /// When the primary said last that this release cannot use the store any more; `None` once it says
    /// otherwise.
    outdated: Mutex<Option<Instant>>,
}

/// A moment, and the version of the policy that is active then; 0 for none.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenMoment {
    pub(super) token: Token,
    pub(super) policy: u64,
}

impl SeenMoment {
    pub(super) fn of(clock: Clock) -> Self {
        Self { token: clock.token, policy: u64::try_from(clock.policy).unwrap_or_default() }
    }
}

/// The keys, and how often their set had changed.
#[derive(Debug)]
struct PublishedKeys {
    generation: i64,
    ring: Arc<KeyRing>,
}

impl PublishedState {
    pub(super) fn new(relations: Relations, keys: LoadedKeys, seen: SeenMoment) -> Self {
        let ring = Arc::new(KeyRing::new(keys.keys, &KeyRing::default()));
        Self {
            relations: RwLock::new(Arc::new(relations)),
            keys: RwLock::new(PublishedKeys { generation: keys.generation, ring }),
            frontier: Mutex::new(seen.token.into()),
            policy: Mutex::new(seen),
            lost: OnceLock::new(),
            looked_up: Mutex::default(),
            fault: RwLock::default(),
            outdated: Mutex::default(),
        }
    }

    pub(super) fn relations(&self) -> Arc<Relations> {
        Arc::clone(&self.relations.read())
    }

    /// Publishes relations, unless newer ones are known.
    pub(super) fn offer_relations(&self, relations: Relations) -> Arc<Relations> {
        let mut current = self.relations.write();
        if relations.generation > current.generation {
            *current = Arc::new(relations);
        }
        Arc::clone(&current)
    }

    pub(super) fn keys(&self) -> Arc<KeyRing> {
        Arc::clone(&self.keys.read().ring)
    }

    /// How often the set of the published keys had changed.
    pub(super) fn keys_generation(&self) -> i64 {
        self.keys.read().generation
    }

    /// Publishes keys, unless newer ones are known.
    pub(super) fn offer_keys(&self, LoadedKeys { generation, keys }: LoadedKeys) {
        let mut current = self.keys.write();
        if generation > current.generation {
            let ring = Arc::new(KeyRing::new(keys, &current.ring));
            *current = PublishedKeys { generation, ring };
        }
    }

    /// How far this process has seen, whichever process made the writes.
    pub(super) fn frontier(&self) -> Frontier {
        self.frontier.lock().clone()
    }

    /// The policy that is active, as far as this process has seen; 0 for none.
    pub(super) fn policy(&self) -> u64 {
        self.policy.lock().policy
    }

    /// Notes the moment of an answer or a write that followed all that was `named`.
    pub(super) fn note(&self, token: Token, named: Option<&Frontier>) {
        self.frontier.lock().add(token, named);
    }

    /// Notes the policy of a moment.
    pub(super) fn note_policy(&self, moment: SeenMoment) {
        let mut policy = self.policy.lock();
        if policy.token.revision <= moment.token.revision {
            *policy = moment;
        }
    }

    /// The revision that this process has seen and that was lost when another server took over or a backup
    /// was restored. Whatever else it knows may be lost, too.
    pub(super) fn lost(&self) -> Option<u64> {
        self.lost.get().copied()
    }

    /// Notes that a revision was lost.
    pub(super) fn note_lost(&self, revision: u64) {
        if self.lost.set(revision).is_ok() {
            tracing::error!(
                revision,
                "writes were lost when another server took over or a backup was restored: restart this process"
            );
        }
    }

    /// Whether an unknown key may be looked up in the database: not more often than every
    /// [`LOOK_UP_PAUSE`], so guessing keys does not load it.
    pub(super) fn may_look_up_keys(&self) -> bool {
        let mut last = self.looked_up.lock();
        let may = last.is_none_or(|last| last.elapsed() >= LOOK_UP_PAUSE);
        if may {
            *last = Some(Instant::now());
        }
        may
    }

    /// Whether the primary has said that this release cannot use the store any more.
    pub(super) fn is_outdated(&self) -> bool {
        self.outdated.lock().is_some()
    }

    /// Notes that the primary has said so.
    pub(super) fn note_outdated(&self) {
        *self.outdated.lock() = Some(Instant::now());
    }

    /// Notes that the primary has answered a question of this process that began then.
    pub(super) fn note_usable(&self, since: Instant) {
        // A question that began before may have been answered from before the migration.
        self.outdated.lock().take_if(|refused| *refused <= since);
    }

    pub(super) fn fault(&self) -> Option<DatabaseError> {
        self.fault.read().clone()
    }

    /// Notes why no server took a write, or that one did.
    pub(super) fn note_fault(&self, fault: Option<DatabaseError>) {
        let mut current = self.fault.write();
        if let (Some(fault), None) = (&fault, &*current) {
            tracing::error!(%fault, "the store takes no writes");
        }
        *current = fault;
    }
}
