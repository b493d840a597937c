//! The language server: diagnostics, fixes, navigation and formatting while a policy is edited.
//!
//! In: messages of the Language Server Protocol 3.17. Out: responses, and a document's diagnostics whenever
//! it changes. One thread handles the messages in order. Each change parses and checks the whole document,
//! which takes milliseconds; requests are answered from its latest text.
//!
//! ```text
//! message ─ server ─▶ document (text, tree, rules, findings) ─┬▶ findings   diagnostics, quick fixes
//!                                                             ├▶ hover      longhand, facts
//!                                                             ├▶ completion names, keywords
//!                                                             ├▶ outline    symbols, folding
//!                                                             └▶ places     definitions, references
//! ```

mod completion;
mod document;
mod findings;
mod hover;
mod outline;
mod places;
mod position;
mod server;

pub use server::{ServerError, serve};
