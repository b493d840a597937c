//! What the unit tests of several modules need.

pub(crate) mod processor;
pub(crate) mod random;
