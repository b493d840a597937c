//! The service over real connections: every endpoint, every status, every form that clients send.
//!
//! Each test starts a server of its own on a free port, with a store in a folder of its own, and speaks to it
//! through a plain socket, so that it sees what is on the wire, without a client library in between.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on should stop where it is"
)]

mod authzen;
mod authzen_examples;
mod checks;
mod codes;
mod connections;
mod errors;
mod facts;
mod headers;
mod keys;
mod local;
mod long;
mod memory;
mod metrics;
mod misspelt;
mod pages;
mod parity;
mod policy;
mod queries;
mod quoted_names;
mod rates;
mod raw;
mod review;
mod status;
mod streams;
mod subjects;
mod tls;
mod unread;
mod unmentioned;
mod unread_facts;
mod uploads;
mod why;
mod why_local;
