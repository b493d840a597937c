//! x
pub(crate) mod algebra;
mod answer;
mod build;
mod closure;
mod collapse;
mod conjunction;
mod linearise;
mod planner;
pub(crate) mod print;
mod recursion;
mod scope;

use crate::catalog::Catalog;
use crate::ir::Program;
use crate::question::{CompileError, Shape};
use algebra::Plan;
use indexmap::IndexSet;
use planner::Planner;

/// A plan and the literals that it mentions beside the policy's.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) extra_constants: IndexSet<crate::ir::Constant>,
}

use crate::specialise::{self, RuleIndex};

/// x
pub(crate) fn plan(
    program: &Program,
    rules: &RuleIndex,
    catalog: &Catalog,
    shape: &Shape,
) -> Result<Planned, CompileError> {
    let mut specialised = specialise::specialise(program, rules, catalog, shape)?;
    collapse::collapse(&mut specialised);
    linearise::linearise(&mut specialised);
    let extra_constants = specialised.extra_constants.clone();
    let roots = specialised.roots.clone();
    let mut planner = Planner::new(program, specialised);
    let answer = planner.answer(shape, &roots)?;
    Ok(Planned { extra_constants, plan: planner.into_plan(answer) })
}
