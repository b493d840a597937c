//! What is kept when things end badly: a process that is killed, a disk that is full, a folder that cannot be
//! written, a file that is damaged.
//!
//! What was acknowledged is whole and present, what was not is wholly there or not at all, and a
//! service that cannot use what it finds says what, where and what to do.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on should stop where it is"
)]

mod damage;
mod full;
mod kills;
mod logs;
mod migration;
mod mounts;
mod new_keys;
mod readonly;
mod store;
mod writers;
