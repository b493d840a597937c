//! x

pub mod store;
