//! What the unit tests of several modules need.

pub(crate) mod random;
