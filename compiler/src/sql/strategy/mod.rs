//! How each test, set, comparison and fixpoint is evaluated, where SQL has several ways.
//!
//! In: a part of a plan, where it is printed, how its values are represented, and what the database can do.
//! Out: a strategy. The printer prints what was decided, and the [`outline`](super::outline) reports it.
//!
//! These decisions are not passes of `optimise`, since the algebra cannot express their results: each is a
//! spelling of the same condition or table. Those on values also depend on how columns are represented, which
//! is known only once the plan is complete.

mod apply;
mod bloom_filters;
mod rows;
mod set;
mod exists;

pub(super) use apply::Applied;
pub(super) use bloom_filters::overestimated;
pub(super) use exists::{
    Fence, KeyedBound, KeyedRow, NumberBound, TestStrategy, ValueTuple, at_alternatives,
};
pub(super) use rows::{RowStrategy, StateStrategy, TableReader, read_by_state, repeats_of_only};
pub(super) use set::{ComparisonStrategy, KeyStrategy, SetPart, SetStrategy};
