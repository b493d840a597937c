//! A program as text, for `explain` and snapshots.
