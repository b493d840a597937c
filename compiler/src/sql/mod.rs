//! A plan becomes one SQL statement.
//!
//! In: a `Plan`. Out: text, and the parameters that it needs.
//!
//! 1. [`strategy`] decides how each test, set and comparison is evaluated, where SQL has several ways.
//! 2. `lower` makes sqlparser's syntax tree for a dialect, with `condition`, `fixpoint` and `value`. A
//!    fixpoint over the whole state is made in `whole_state`. [`printing`] names what differs between
//!    statements: `hosted` is for stored relations, [`local`] for a caller's database. Position is a value of
//!    [`at`], passed down; nodes come from `build` alone.
//! 3. [`text`] prints the tree, refuses text that is too large for the database, and lays it out.

mod applied;
mod at;
mod build;
mod condition;
mod fixpoint;
mod held;
pub(crate) mod hosted;
pub(crate) mod local;
mod lower;
pub(crate) mod outline;
mod printing;
mod representation;
mod strategy;
mod value;
mod whole_state;

use crate::algebra::Plan;
use crate::algebra::verify::Verifier;
use crate::dialect::{Extent, Features};
use crate::plan::{Planned, Request};
use crate::question::{CompileError, RefusedIf, Statement};
use crate::text;
use hosted::{Hosted, Values};
use lower::{Inputs, Lowering};

/// Prints a plan; if the text is too deep for the database's parser, once more with the deepest tests first,
/// where less is open before them.
pub(crate) fn within_parser<T>(
    plan: &Plan,
    mut print: impl FnMut(&Plan) -> Result<T, CompileError>,
) -> Result<T, CompileError> {
    match print(plan) {
        Err(CompileError::Refused(refusal)) if refusal.overflows_parser() => print(&plan.deepest_first()),
        printed => printed,
    }
}

/// Prints a plan for a database; `observe` sees the plan as it is printed.
pub(crate) fn to_sql(
    request: &Request<'_>,
    planned: &Planned,
    features: &'static Features,
    values: &Values<'_>,
    observe: &mut dyn FnMut(&Plan),
) -> Result<Statement, CompileError> {
    let Request { program, catalog, shape, deadline, .. } = *request;
    let verifier = Verifier::of(program, catalog, &planned.extra_constants, &shape.vars);
    let commented = matches!(values, Values::Literals(_));
    let constants = &planned.extra_constants;
    let inputs = Inputs { program, catalog, constants, features, keys: None, deadline };
    let print = |plan: &Plan| {
        verifier.check("sql", plan)?;
        let mut lowering = Lowering { inputs, target: Hosted::new(values) };
        let (query, answer) = lowering.plan(plan)?;
        let comment = |name: &str| {
            let table = plan.tables.iter().find(|table| commented && table.name == name);
            table.map(|table| table.comment.clone())
        };
        Ok((
            text::printed(&query, features, Extent::Statement, comment)?,
            lowering.target.into_slots(),
            answer,
        ))
    };
    let (sql, slots, answer) = within_parser(&planned.plan, |plan| {
        observe(plan);
        print(plan)
    })?;
    let refused_if = match &planned.refusal {
        None => None,
        Some((plan, refusal)) => {
            let (sql, slots, _) = within_parser(plan, print)?;
            Some(RefusedIf { sql, slots, refusal: refusal.clone() })
        }
    };
    Ok(Statement { sql, slots, answer, refused_if, largest_rule: planned.largest_rule })
}
