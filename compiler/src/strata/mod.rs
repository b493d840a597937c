//! x
pub mod graph;
