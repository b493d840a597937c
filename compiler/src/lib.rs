//! Compiles a Polar policy and a question to one SQL statement.
//!
//! The modules stand in the order in which data flows.

pub mod source;
pub mod limits;
pub mod diagnostic;
pub mod syntax;
pub mod ir;
pub mod resolve;
pub mod catalog;
pub mod question;

use diagnostic::Diagnostic;
use ir::Program;

/// A policy that was read: the program if it has no error, and every finding, sorted by position.
#[derive(Debug)]
pub struct Checked {
    /// The program; `None` if any diagnostic is an error.
    pub program: Option<Program>,
    /// Errors and lints.
    pub diagnostics: Vec<Diagnostic>,
}
