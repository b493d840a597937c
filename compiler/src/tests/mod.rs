//! What the unit tests of several modules need, and tests of the whole compiler.

mod bound;
mod deadlines;
mod factored;
mod merged;
#[expect(unreachable_pub, reason = "the test kit exports it")]
#[path = "../../../tests/support/processor.rs"]
pub(crate) mod processor;
pub(crate) mod random;
mod redundant;
mod store_statements;
mod united;
