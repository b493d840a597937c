//! What a plan is checked against.

use crate::catalog::Catalog;
use crate::id_vec::IdVec;
use crate::ir::{Constant, Program, QuestionVarId};
use crate::question::ShapeVar;
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
    pub(crate) vars: &'v IdVec<QuestionVarId, ShapeVar>,
    /// For each embedded source how many columns it has; `None` where rows are too many to be printed.
    pub(crate) embedded: &'v [Option<usize>],
    /// Which values are still to come.
    pub(crate) open: Open,
    /// The variable whose value is one of the caller's columns, if any; its value stays open.
    pub(crate) column: Option<QuestionVarId>,
}

/// Which values of the question a plan leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    /// All that the question gives.
    Given,
    /// None: they are substituted.
    Nothing,
}

impl<'v> Verifier<'v> {
    /// For a plan without embedded rows whose values come with each question.
    pub(crate) fn of(
        program: &'v Program,
        catalog: &'v Catalog,
        constants: &'v IndexSet<Constant>,
        vars: &'v IdVec<QuestionVarId, ShapeVar>,
    ) -> Self {
        Self { program, catalog, constants, vars, embedded: &[], open: Open::Given, column: None }
    }
}
