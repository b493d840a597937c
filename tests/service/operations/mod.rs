//! What an operator does with a service that runs: keys, backups, imports and exports, with the program
//! itself.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop where it is"
)]

mod backups;
mod deletion;
mod environments;
mod fake_service;
mod keys;
mod login;
mod program;
mod resuming;
mod transfer;
