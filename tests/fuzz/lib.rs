//! What is done with one input of the fuzzer, a module a target.
//!
//! Each has a `run(data)` that takes any bytes and panics at whatever is a fault of ours. Two programs call them:
//! `fuzz_targets/`, which libFuzzer drives (`scripts/fuzz`), and `main.rs`, which runs the inputs of `corpus/` with all
//! other tests. Inputs are text that people can read and write; bytes that are no UTF-8 become replacement characters.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a panic is the failure report"
)]

pub mod bindings;
pub mod bodies;
pub mod policy;
pub mod printers;
#[path = "../support/reparse.rs"]
mod reparse;
pub mod upload;
mod world;
