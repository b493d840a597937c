//! The only constructors of SQL syntax nodes.
//!
//! sqlparser's nodes are public structs that grow with each release, and its printer guesses whether a text
//! is escaped already. So a node is made here alone: expressions in `expr`, what they read in `query`, and
//! text that came from outside in `quoted`, or in `respelled` where a driver would misread it.

mod expr;
mod query;
mod quoted;
mod respelled;

pub(super) use expr::*;
pub(super) use query::*;
pub(super) use quoted::{ident, lit, raw, whole};
pub(super) use respelled::{bytes, compact, plain_lit};
