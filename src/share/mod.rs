//! Shares memory and processor time fairly between requests.
//!
//! ```text
//! request ─▶ Account ─┬─ uses bytes of the Budget until it is dropped
//!                     └─ names the Asker, whose long work waits for its turn (Turns)
//! ```
//!
//! This is plain counting and queueing, independent of what the memory and time are used for.

mod budget;
mod meter;
mod priority;
mod turns;

pub use budget::{Account, Budget, NoRoom, SMALL};
pub use meter::Meter;
pub use priority::give_way;
pub use turns::{Asker, Lost, Turns};
