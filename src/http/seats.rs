//! Limits open connections: a seat for each, and which one is closed if none is free.
//!
//! A connection has a seat from its acceptance to its end. If a new one arrives and no seat is free, the
//! least useful one is closed: the oldest that never sent a complete request, or else the one that has been
//! idle for longest. A connection with a request in progress keeps its seat. So neither slow heads nor
//! forgotten connections can block others, however many there are.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How long a connection has to close after it was asked, before the next one is asked.
const LEAVE_TIME: Duration = Duration::from_millis(100);

/// Which connections are asked first to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// It never sent a complete request.
    Unheard,
    /// It is idle between requests.
    AtRest,
}

/// A position in the order of connections that could close: the rank, and since when.
type SeatOrder = (Rank, u64);

/// The seats of one listener.
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

impl Order {
    /// Adds a connection that could close; returns its position.
    fn add(&mut self, rank: Rank, leave: &Arc<Leave>) -> SeatOrder {
        let place = (rank, self.next);
        self.next += 1;
        self.resting.insert(place, Arc::clone(leave));
        place
    }
}

impl Seats {
    pub(super) fn new(n: usize) -> Arc<Self> {
        let free = Arc::new(Semaphore::new(n.min(Semaphore::MAX_PERMITS)));
        Arc::new(Self { free, order: Mutex::default() })
    }

    /// Waits for a seat; another connection may have to close.
    pub(super) async fn take(self: &Arc<Self>) -> Seat {
        let mut free = Arc::clone(&self.free).try_acquire_owned().ok();
        let permit = loop {
            if let Some(permit) = free {
                break permit;
            }
            let oldest = self.order.lock().resting.pop_first();
            if let Some((_, leave)) = oldest {
                leave.ask();
            }
            let freed = Arc::clone(&self.free).acquire_owned();
            free = tokio::time::timeout(LEAVE_TIME, freed).await.ok().and_then(Result::ok);
        };
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
    /// Its position among the connections that could close.
    place: Mutex<Option<SeatOrder>>,
    heard: AtomicBool,
    leave: Arc<Leave>,
    _permit: OwnedSemaphorePermit,
}

impl Seat {
    /// Reports when it must close.
    pub(super) fn leave(&self) -> Arc<Leave> {
        Arc::clone(&self.leave)
    }

    /// A request has arrived: it keeps the seat.
    pub(super) fn work(&self) {
        self.heard.store(true, Ordering::Relaxed);
        self.give_up_place();
    }

    /// Whether it ever sent a complete request.
    pub(super) fn is_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    fn give_up_place(&self) {
        // One lock at a time: `enter` takes both as well.
        let place = self.place.lock().take();
        if let Some(place) = place {
            self.seats.order.lock().resting.remove(&place);
        }
    }

    /// The request has been answered.
    pub(super) fn rest(&self) {
        self.enter(Rank::AtRest);
    }

    fn enter(&self, rank: Rank) {
        let place = self.seats.order.lock().add(rank, &self.leave);
        *self.place.lock() = Some(place);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.give_up_place();
    }
}

/// The request to a connection to close.
#[derive(Debug, Default)]
pub(super) struct Leave {
    asked: AtomicBool,
    notify: Notify,
}

impl Leave {
    fn ask(&self) {
        self.asked.store(true, Ordering::SeqCst);
        self.notify.notify_waiters();
    }

    /// Ready once it must close.
    pub(super) async fn asked(&self) {
        // Listen before looking, so that a request in between is not missed.
        let asked = self.notify.notified();
        if !self.is_asked() {
            asked.await;
        }
    }

    /// Whether it must close.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
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
        assert_eq!(asked(&taken), [true, false], "only an idle one is asked");
        // No connection can close until one is idle again.
        assert!(tokio::time::timeout(3 * LEAVE_TIME, &mut waiting).await.is_err());
        taken[1].rest();
        assert!(tokio::time::timeout(3 * LEAVE_TIME, &mut waiting).await.is_err());
        assert_eq!(asked(&taken), [true, true]);
        drop(taken);
        waiting.await;
    }
}
