//! The language server: diagnostics, fixes, navigation and formatting while a policy is edited.
//!
//! In: messages of the Language Server Protocol 3.17. Out: responses, and a document's diagnostics whenever
//! it changes. One thread handles the messages in order. Each change parses and checks the whole document,
//! which takes milliseconds; requests are answered from its latest text.
//!
//! ```text
//! message ─ server ─▶ document (text, tree, diagnostics) ─┬▶ findings   diagnostics, quick fixes
//!                                                         ├▶ outline    symbols, folding
//!                                                         └▶ places     definitions, references
//! ```

mod document;
mod findings;
mod outline;
mod places;
mod position;
mod server;

pub use server::{ServerError, serve};
