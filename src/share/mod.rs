//! What all requests share, and how much of it one may take: memory and processors.
//!
//! ```text
//! request ─▶ Account ─┬─ holds bytes of the Budget until it is dropped
//!                     └─ names the Asker, whose work waits its turn among the others' (Turns)
//! ```
//!
//! Plain counting and queueing: nothing here knows what is held or computed.

mod budget;
mod meter;
mod turns;

pub use budget::{Account, Budget, NoRoom, SMALL};
pub use meter::Meter;
pub use turns::{Asker, Lost, Turns};
