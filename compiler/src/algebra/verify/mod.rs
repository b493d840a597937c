//! Checks a plan between the passes that rewrite it.
//!
//! In: a plan, what it may refer to, and for a pass the plan before it. Out: nothing, or a bug in Portcullis,
//! reported with the name of the pass. Two things are checked. [`references`]: everything that the plan names
//! exists and is what its readers take it for. [`accounts`]: no condition of an alternative was lost, and
//! none added that the pass may not add.
//!
//! Conditions are accounted for after every pass that changed a plan. References are checked after every pass
//! in tests and debug builds, and in release builds once, before printing. A plan with a fault ends as
//! [`CompileError::Bug`] and never as a text.

mod accounts;
mod atoms;
mod references;
#[cfg(test)]
mod tests;

pub(crate) use accounts::Keeps;

use super::Plan;
use crate::catalog::Catalog;
use crate::ir::{Constant, Program};
use crate::question::{CompileError, ShapeVar};
use indexmap::IndexSet;

/// What a plan may refer to.
#[derive(Clone, Copy)]
pub(crate) struct Verifier<'v> {
    /// The policy, with its literals and types.
    pub(crate) program: &'v Program,
    /// The relations.
    pub(crate) catalog: &'v Catalog,
    /// Literals that the policy does not have.
    pub(crate) constants: &'v IndexSet<Constant>,
    /// The question's variables whose values the statement gets.
    pub(crate) vars: &'v [ShapeVar],
    /// For each embedded source how many columns it has; `None` where rows are too many to be printed.
    pub(crate) embedded: &'v [Option<usize>],
    /// Which values are still to come.
    pub(crate) open: Open,
}

/// Which values a plan leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    /// All that the question gives.
    Given,
    /// That of one variable, which is one of the caller's columns, or none: the others are substituted.
    Column(Option<usize>),
}

impl<'v> Verifier<'v> {
    /// For a plan without embedded rows whose values come with each question.
    pub(crate) fn of(
        program: &'v Program,
        catalog: &'v Catalog,
        constants: &'v IndexSet<Constant>,
        vars: &'v [ShapeVar],
    ) -> Self {
        Self { program, catalog, constants, vars, embedded: &[], open: Open::Given }
    }

    /// Checks what a plan refers to; `pass` made it.
    ///
    /// # Errors
    /// [`CompileError::Bug`] for a reference to nothing, or to something else than its reader takes it for.
    pub(crate) fn check(&self, pass: &str, plan: &Plan) -> Result<(), CompileError> {
        references::check(self, plan).map_err(|fault| bug(pass, &fault))
    }

    /// Checks what became of a plan whose embedded sources stand for parts of it.
    ///
    /// # Errors
    /// [`CompileError::Bug`] if a condition was lost.
    pub(crate) fn account(
        &self,
        pass: &str,
        keeps: Keeps,
        before: &Plan,
        after: &Plan,
        parts: &[&Plan],
    ) -> Result<(), CompileError> {
        if cfg!(debug_assertions) {
            self.check(pass, after)?;
        }
        accounts::check(keeps, before, after, parts).map_err(|fault| bug(pass, &fault))
    }
}

fn bug(pass: &str, fault: &str) -> CompileError {
    CompileError::Bug(format!("after the pass `{pass}`: {fault}"))
}
