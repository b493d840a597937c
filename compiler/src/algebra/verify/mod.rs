//! Checks a plan between the passes that rewrite it.
//!
//! In: a plan, what it may refer to, and for a pass the plan before it. Out: nothing, or a bug in Portcullis,
//! reported with the name of the pass. Two things are checked. [`references`]: everything that the plan names
//! exists and is what its readers take it for. [`accounts`]: no condition of an alternative was lost, and
//! none added that the pass may not add.
//!
//! Both are checked after every pass that changed a plan, in every build. A plan with a fault ends as
//! [`CompileError::Bug`] and never as a text.

mod accounts;
mod atoms;
mod budget;
mod contradictions;
mod equal;
mod implied;
mod multiset;
mod references;
#[cfg(test)]
mod tests;
mod unsatisfiable;
mod verifier;

pub(crate) use accounts::Keeps;
pub(crate) use verifier::{Open, Verifier};

use super::Plan;
use crate::question::CompileError;

impl Verifier<'_> {
    /// Checks what a plan refers to; `pass` made it.
    ///
    /// # Errors
    /// [`CompileError::Bug`] for a reference to nothing, or to something else than its reader takes it for.
    pub(crate) fn check(&self, pass: &str, plan: &Plan) -> Result<(), CompileError> {
        references::check(self, plan).map_err(|fault| bug(pass, &fault))
    }

    /// Checks a rewritten plan whose embedded sources represent parts of it.
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
        self.check(pass, after)?;
        accounts::check(keeps, before, after, parts).map_err(|fault| bug(pass, &fault))
    }
}

/// Checks, pass by pass, that a plan keeps its conditions.
pub(crate) struct Account {
    before: Plan,
}

impl Account {
    /// The account of a plan before its first pass.
    pub(crate) fn of(before: Plan) -> Self {
        Self { before }
    }

    /// Checks a plan after a pass, if that changed it.
    ///
    /// # Errors
    /// [`CompileError::Bug`] if a condition was lost.
    pub(crate) fn after(
        &mut self,
        pass: &str,
        keeps: Keeps,
        plan: &Plan,
        verifier: &Verifier<'_>,
    ) -> Result<(), CompileError> {
        if *plan != self.before {
            verifier.account(pass, keeps, &self.before, plan, &[])?;
            self.before.clone_from(plan);
        }
        Ok(())
    }
}

/// Whether all conditions of a plan are found again in a rewritten one: for a pass that leaves a plan as it
/// is otherwise.
pub(crate) fn keeps_conditions(keeps: Keeps, before: &Plan, after: &Plan) -> bool {
    accounts::check(keeps, before, after, &[]).is_ok()
}

fn bug(pass: &str, fault: &str) -> CompileError {
    CompileError::Bug(format!("after the pass `{pass}`: {fault}"))
}
