//! What is done with one input of the fuzzer, a module a target.
//!
//! Each has a `run(data)` that takes any bytes and panics on a fault of the program. Two programs call them:
//! `tests/fuzz/fuzz_targets`, which libFuzzer drives (`scripts/fuzz`), and `tests/random/fuzz.rs`, which runs
//! the inputs of `tests/fuzz/corpus`. Inputs are text that people can read and write; bytes that are not
//! UTF-8 become replacement characters.

pub mod bindings;
pub mod bodies;
pub mod corpus;
pub mod policy;
pub mod printers;
pub mod upload;
mod world;
