//! Passes that rest on promised keys: two rows of a table with the same key are the same row.

pub(super) mod key_joins;
pub(super) mod read_once;
pub(super) mod share_rows;
