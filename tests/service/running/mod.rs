//! The running program: settings, logs, traces, signals, the first steps of README.md, and the files in
//! docs/operations.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop where it is")]

mod collector;
mod decision_log;
mod files;
mod limits;
mod logs;
mod precautions;
mod readme;
mod replay;
mod service;
mod settings;
mod signals;
mod traces;
