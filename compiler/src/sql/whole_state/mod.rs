//! Fixpoints over the whole state: all tuples so far are one row, and a step computes the next row from it.
//!
//! In: a table whose steps read it several times, which no recursive common table expression may. Out: two
//! common table expressions, the states and the rows of the last. A database keeps a state as one [`json`]
//! text, or as an [`array`](mod@array) for each column.

mod array;
mod json;
