//! Draws diagnostics.
