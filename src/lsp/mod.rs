//! The language server: what an editor asks about the policy that someone writes.
//!
//! In: messages of the Language Server Protocol 3.17. Out: answers, and the findings of a document whenever
//! it changes. One thread reads one message after the other. A document is checked as a whole at each change,
//! which takes milliseconds; a request finds what the last change left.
//!
//! ```text
//! message ─ server ─▶ document (text, tree, findings) ─┬▶ findings   diagnostics, quick fixes
//!                                                      ├▶ outline    symbols, folding
//!                                                      └▶ places     definitions, references
//! ```

mod document;
mod findings;
mod outline;
mod places;
mod position;
mod server;

pub use server::{ServerError, serve};
