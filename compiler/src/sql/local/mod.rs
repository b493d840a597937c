//! Statements for a caller's database: a decision, rows, or a filter.
//!
//! In: a folded plan, or the sorted alternatives of a [`filter`]. Out: a [`template`], which leaves places
//! for the question's values. [`statement`] makes it, as a statement of the kind in `target`: `analysis`
//! finds out how each column represents its values, `compare` and `integer` compare them so, `sets` prints
//! tests and sets, [`caller`] what they read, and `held` the literals that they share.

pub(in crate::sql) mod analysis;
pub(crate) mod caller;
pub(crate) mod compare;
pub(crate) mod filter;
mod held;
mod integer;
mod sets;
pub(crate) mod statement;
pub(in crate::sql) mod target;
pub(crate) mod template;
