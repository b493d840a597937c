//! Seats of connections, and who gives way when they are short.
//!
//! A connection has a seat from its acceptance to its end. When one more comes and none is free, the connection gives way that
//! is missed least: of those that never sent a whole request the oldest, then the one that has been at rest
//! for longest. Whoever is at work keeps the seat. So neither heads that never end nor connections that were
//! forgotten keep anybody out, however many there are.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How long a connection that was asked has for giving way, before the next is asked.
const PATIENCE: Duration = Duration::from_millis(100);

/// Who is asked first to give way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// It never sent a whole request.
    Unheard,
    /// It waits for the next request.
    AtRest,
}

/// A place in the order of those that could give way: the rank, and since when.
type SeatOrder = (Rank, u64);

/// The seats behind one listener.
#[derive(Debug)]
pub(super) struct Seats {
    free: Arc<Semaphore>,
    order: Mutex<Order>,
}

#[derive(Debug, Default)]
struct Order {
    next: u64,
    resting: BTreeMap<SeatOrder, Arc<Leave>>,
}

impl Seats {
    pub(super) fn new(n: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(n.min(Semaphore::MAX_PERMITS)));
        Arc::new(Self { free, order: Mutex::default() })
    }

    /// A seat, as soon as there is one; somebody gives way for it.
    pub(super) async fn take(self: &Arc<Self>) -> Seat {
        let mut permit = Arc::clone(&self.free).try_acquire_owned().ok();
        while permit.is_none() {
            let oldest = self.order.lock().resting.pop_first();
            if let Some((_, leave)) = oldest {
                leave.ask();
            }
            let freed = Arc::clone(&self.free).acquire_owned();
            permit = tokio::time::timeout(PATIENCE, freed).await.ok().and_then(Result::ok);
        }
        let seat = Seat {
            seats: Arc::clone(self),
            place: Mutex::new(None),
            heard: AtomicBool::new(false),
            leave: Arc::default(),
            _permit: permit,
        };
        seat.enter(Rank::Unheard);
        seat
    }
}

/// The seat of one connection.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    /// Where it stands among those that could give way, if it could.
    place: Mutex<Option<SeatOrder>>,
    heard: AtomicBool,
    leave: Arc<Leave>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Seat {
    /// Tells when it is to give way.
    pub(super) fn leave(&self) -> Arc<Leave> {
        Arc::clone(&self.leave)
    }

    /// A request has come: it keeps the seat.
    pub(super) fn work(&self) {
        self.heard.store(true, Ordering::Relaxed);
        self.give_up_place();
    }

    /// Whether it ever sent a whole request.
    pub(super) fn is_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    fn give_up_place(&self) {
        if let Some(place) = self.place.lock().take() {
            self.seats.order.lock().resting.remove(&place);
        }
    }

    /// The request is answered.
    pub(super) fn rest(&self) {
        self.enter(Rank::AtRest);
    }

    fn enter(&self, rank: Rank) {
        let mut order = self.seats.order.lock();
        let place = (rank, order.next);
        order.next += 1;
        order.resting.insert(place, Arc::clone(&self.leave));
        *self.place.lock() = Some(place);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.give_up_place();
    }
}

/// The wish that a connection gives way.
#[derive(Debug, Default)]
pub(super) struct Leave {
    asked: AtomicBool,
    notify: Notify,
}

impl Leave {
    fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
        self.notify.notify_one();
    }

    /// Ready once it is to give way; for one waiter.
    pub(super) async fn asked(&self) {
        self.notify.notified().await;
    }

    /// Whether it is to give way.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn the_oldest_that_was_never_heard_gives_way_first() {
        let seats = Seats::new(4);
        let mut taken = Vec::new();
        for _ in 0..4 {
            taken.push(seats.take().await);
        }
        // The first is at rest, the second at work.
        taken[0].work();
        taken[0].rest();
        taken[1].work();
        let mut waiting = Box::pin(seats.take());
        assert!(tokio::time::timeout(SOON, &mut waiting).await.is_err());
        let asked = |taken: &[Seat]| taken.iter().map(|seat| seat.leave.is_asked()).collect::<Vec<_>>();
        assert_eq!(asked(&taken), [false, false, true, false]);
        drop(taken.remove(2));
        drop(waiting.await);

        let mut more = vec![seats.take().await];
        drop(taken.remove(2));
        more.push(seats.take().await);
        more[0].work();
        more[1].work();
        let mut waiting = Box::pin(seats.take());
        assert!(tokio::time::timeout(SOON, &mut waiting).await.is_err());
        assert_eq!(asked(&taken), [true, false], "nobody but one at rest is left");
        // Nobody can give way, until somebody is at rest again.
        assert!(tokio::time::timeout(3 * PATIENCE, &mut waiting).await.is_err());
        taken[1].rest();
        assert!(tokio::time::timeout(3 * PATIENCE, &mut waiting).await.is_err());
        assert_eq!(asked(&taken), [true, true]);
        drop(taken);
        waiting.await;
    }
}
