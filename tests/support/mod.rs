//! What the test binaries share: the referee, the fixtures' format, the question notation, and the ways to
//! ask the service.

#![allow(dead_code, reason = "each test binary uses its own part of this module")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "test code: a panic is the failure report"
)]

pub(crate) mod assertions;
pub(crate) mod cluster;
pub(crate) mod domain;
pub(crate) mod entry;
pub(crate) mod expand;
pub(crate) mod fixture;
pub(crate) mod generate;
pub(crate) mod guise;
pub(crate) mod hosted;
pub(crate) mod hostile;
pub(crate) mod join;
pub(crate) mod local;
pub(crate) mod longhand;
pub(crate) mod model;
pub(crate) mod notation;
pub(crate) mod oracle;
pub(crate) mod order;
pub(crate) mod outcome;
pub(crate) mod pages;
pub(crate) mod patterns;
pub(crate) mod placed;
pub(crate) mod policy;
pub(crate) mod postgres;
pub(crate) mod questions;
pub(crate) mod refusal;
pub(crate) mod reorder;
pub(crate) mod reparse;
pub(crate) mod returned;
pub(crate) mod server;
pub(crate) mod shorthand;
pub(crate) mod sql_limits;
pub(crate) mod vocabulary;
