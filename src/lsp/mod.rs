//! The language server: diagnostics, fixes, navigation, renaming and formatting while a policy is edited.
//!
//! In: messages of the Language Server Protocol 3.17. Out: responses, and a document's diagnostics whenever
//! it changes. One thread handles the messages in order. Each change parses and checks the whole document,
//! which takes milliseconds; requests are answered from its latest text.
//!
//! ```text
//! message ─ server ─▶ document (text, tree, rules, findings) ─┬▶ findings   diagnostics, quick fixes
//!            │                                                ├▶ hover      longhand, facts, types
//!         requests                                            ├▶ completion names, keywords
//!            │                                                ├▶ outline    symbols, folding
//!            │                                                ├▶ places     definitions, references
//!            │                                                ├▶ rename     edits
//!            │                                                └▶ lenses     commands at tests and rules
//!            ├▶ bindings    data bindings: mistakes, formatting, completion
//!            └▶ commands ─▶ Workbench (the rest of the program: runs tests, writes SQL, reads a schema)
//! ```
//!
//! `names` says what each name in the tree means, `words` what surrounds a position that does not parse.

mod bindings;
mod commands;
mod completion;
mod document;
mod findings;
mod hover;
mod lenses;
mod names;
mod outline;
mod places;
mod position;
mod question;
mod rename;
mod requests;
mod server;
#[cfg(test)]
mod tests;
mod words;

pub use bindings::{LiveFinding, LiveSeverity, Schema, SchemaTable};
pub use commands::{Ran, Workbench};
pub use server::{ServerError, Settings, serve};
