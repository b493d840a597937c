//! Near names.
