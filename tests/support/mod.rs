//! What the test binaries share: the referee, the fixtures' format and the question notation.

#![allow(dead_code, reason = "each test binary uses its own part of this module")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "test code: a panic is the failure report"
)]

pub(crate) mod domain;
pub(crate) mod fixture;
pub(crate) mod model;
pub(crate) mod notation;
pub(crate) mod oracle;
