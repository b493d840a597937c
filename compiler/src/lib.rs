//! Compiles a Polar policy and a question to one SQL statement.
//!
//! [`check`] reads a policy, [`compile`] and [`compile_text`] answer a question about it with SQL, and
//! [`explain`] shows every stage in between.
#![doc = include_str!("../ARCHITECTURE.md")]

mod advice;
mod algebra;
pub mod bindings;
pub mod builtin;
pub mod catalog;
pub mod compact;
mod compile;
mod datalog;
pub mod deadline;
pub mod diagnostic;
pub mod dialect;
mod fitness;
pub mod id_vec;
pub mod ir;
mod keys;
pub mod limits;
pub mod local;
mod optimise;
mod ordered;
mod others;
mod pass;
mod plan;
pub mod primitive;
pub mod question;
pub mod refusal;
pub mod resolve;
mod rewrite;
pub mod source;
mod specialise;
pub mod spelling;
mod sql;
mod stages;
pub mod strata;
pub mod syntax;
#[cfg(test)]
mod tests;
mod text;
pub mod why;

use catalog::Catalog;
use compile::Target;
use deadline::Deadline;
use diagnostic::{Diagnostic, Severity};
pub use dialect::{Dialect, StoreDialect};
use ir::Program;
use plan::Request;
use question::{CompileError, Question, Shape, Statement};
use source::SourceMap;
use sql::hosted::Values;
pub use stages::{Explained, Stage};
use syntax::ast::Policy;
pub use text::expansion::{StatementSize, statement_size};

/// A policy that was read: the program if it has no error, and every finding, sorted by position.
#[derive(Debug)]
pub struct Checked {
    /// The program; `None` if any diagnostic is an error.
    pub program: Option<Program>,
    /// Errors and lints.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a policy: all its errors and lints, and the program if there is no error.
pub fn check(source: &SourceMap) -> Checked {
    let (policy, diagnostics) = syntax::parse(source);
    check_tree(source, &policy, diagnostics)
}

/// Checks a policy that [`syntax::parse`] has read, with the diagnostics of reading it.
pub fn check_tree(source: &SourceMap, policy: &Policy, mut diagnostics: Vec<Diagnostic>) -> Checked {
    let (resolved, found) = resolve::resolve(source, policy);
    diagnostics.extend(found);
    let has_error =
        |diagnostics: &[Diagnostic]| diagnostics.iter().any(|found| found.severity() == Severity::Error);
    let mut program = resolved.filter(|_| !has_error(&diagnostics));
    if let Some(resolved) = &program {
        diagnostics.extend(strata::check(resolved));
        if has_error(&diagnostics) {
            program = None;
        } else {
            diagnostics.extend(fitness::check(resolved, Deadline::after_seconds(limits::FITNESS_SECONDS)));
        }
    }
    Checked { program, diagnostics: diagnostic::settle(diagnostics) }
}

/// Compiles the shape of a question to a statement with parameters.
///
/// # Errors
/// [`CompileError::Refused`] if the answer cannot be enumerated or expressed.
pub fn compile(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    dialect: Dialect,
) -> Result<Statement, CompileError> {
    let target = Target::tables(dialect, Values::Parameters);
    advised(&Request { program, catalog, shape, filters: false, deadline: Deadline::NEVER }, &target)
}

/// Compiles the shape of a question to a statement for a store, whose tables, parameters and answers hold
/// values in the form of its dialect, the [current time](question::Slot::Now) included.
///
/// # Errors
/// As [`compile`]; [`CompileError::OutOfTime`] after the deadline.
pub fn compile_for_store(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    store: StoreDialect,
    deadline: Deadline,
) -> Result<Statement, CompileError> {
    advised(&Request { program, catalog, shape, filters: false, deadline }, &Target::store(store))
}

/// Compiles a question to a statement with its values as literals; it needs no parameters.
///
/// `now` is the value of `@current_unix_time`, in seconds since the epoch. The answer is not cut into pages.
///
/// # Errors
/// As [`compile`]; [`CompileError::Bug`] also if the catalog has relations that come with the request.
pub fn compile_text(
    program: &Program,
    catalog: &Catalog,
    question: &Question,
    dialect: Dialect,
    now: i64,
) -> Result<Statement, CompileError> {
    let value = |slot| compile::literal(question, now, slot);
    let shape = &Shape::of(program, question);
    let target = Target::tables(dialect, Values::Literals(&value));
    advised(&Request { program, catalog, shape, filters: false, deadline: Deadline::NEVER }, &target)
}

/// The statement of a question. What a refusal advises is tried first.
fn advised(request: &Request<'_>, target: &Target<'_>) -> Result<Statement, CompileError> {
    let statement = compile::statement(request, target);
    let mut statement = statement.map_err(|error| advice::helpful_error(request, error))?;
    if let Some(refused_if) = &mut statement.refused_if {
        refused_if.refusal = advice::helpful(request, refused_if.refusal.clone())?;
    }
    Ok(statement)
}

/// Compiles a question and returns the result of each stage.
///
/// # Errors
/// As [`compile_for_store`].
pub fn explain(
    program: &Program,
    catalog: &Catalog,
    question: &Question,
    dialect: Dialect,
    deadline: Deadline,
) -> Result<Explained, CompileError> {
    let shape = &Shape::of(program, question);
    let request = &Request { program, catalog, shape, filters: false, deadline };
    stages::explain(request, question, dialect).map_err(|error| advice::helpful_error(request, error))
}
