//! Which columns of the caller's queries are keys, as the bindings promise (`tables:`), and what follows.
//!
//! A key determines the row. So two sources that read one query see the same row where their keys are equal,
//! and sources of several queries of one table see columns of the same row.

mod one_row;
mod promised;

pub(crate) use one_row::OneRowTables;
pub(crate) use promised::Keys;
