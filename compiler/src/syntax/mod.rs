//! Reads policy text into a syntax tree, and prints trees.
//!
//! In: a source text. Out: an [`ast::Policy`] with everything that could be read, and diagnostics for the
//! rest. Parsing never fails. A statement with a mistake is repaired if its meaning is clear and dropped
//! otherwise, and parsing continues after it, so that one run reports all mistakes. No text can cause a
//! panic, a stack overflow or excessive work.
//!
//! ```text
//! text ─ lexer ─▶ tokens ─ grammar ─▶ tree        print:  tree ─▶ canonical text
//!          └──────────┬───────┴─▶ error ─▶ …      format: tree and comments ─▶ text for people
//! ```
//!
//! The lexer bounds nesting, which also bounds every recursion on the tree. No other module uses the parser
//! library.
//!
//! Names are not resolved here: `role`, `on` and `iff` are still as written.

pub mod ast;
mod error;
mod format;
mod grammar;
mod lexer;
mod print;
mod read;
mod token;

pub use format::{FormatError, format};
pub use print::print;
pub use read::parse;

#[cfg(test)]
mod tests;
