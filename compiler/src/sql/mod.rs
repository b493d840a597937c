//! A plan becomes one SQL statement.
//!
//! In: a `Plan`. Out: text and the parameters it needs. The stages: `lower` makes sqlparser's syntax tree for
//! a dialect, with nodes from `build` alone; `expansion` counts what SQLite would make of its text, which may be refused;
//! `layout` lays the text out. For a caller's database `template` leaves open where the question's values stand.

mod at;
mod build;
pub(crate) mod caller;
pub(crate) mod compare;
mod condition;
pub(crate) mod expansion;
mod fixpoint;
pub(crate) mod forms;
pub(crate) mod hosted;
mod integer;
mod layout;
mod local;
mod lower;
mod representation;
mod sets;
mod target;
pub(crate) mod template;
mod tokens;
mod value;

use crate::algebra::Plan;
use crate::algebra::verify::Verifier;
use crate::catalog::Catalog;
use crate::dialect::Features;
use crate::ir::Program;
use crate::plan::Planned;
use crate::question::{CompileError, RefusedIf, Shape, Statement};
use crate::refusal::Limit;
use hosted::{Hosted, Values};
use lower::{Inputs, Lowering};
use std::fmt::Display;

/// Prints a plan for a database.
pub(crate) fn to_sql(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    planned: &Planned,
    features: &'static Features,
    values: &Values<'_>,
) -> Result<Statement, CompileError> {
    let verifier = Verifier::of(program, catalog, &planned.extra_constants, &shape.vars);
    let commented = matches!(values, Values::Literals(_));
    let constants = &planned.extra_constants;
    let inputs = Inputs { program, catalog, constants, features };
    let print = |plan: &Plan| {
        verifier.check("sql", plan)?;
        let mut lowering = Lowering { inputs, target: Hosted::new(values) };
        let (query, answer) = lowering.plan(plan)?;
        let comment = |name: &str| {
            let table = plan.tables.iter().find(|table| commented && table.name == name);
            table.map(|table| table.comment.clone())
        };
        Ok((printed(&query, features, 0, comment)?, lowering.target.into_slots(), answer))
    };
    let (sql, slots, answer) = print(&planned.plan)?;
    let refused_if = match &planned.refusal {
        None => None,
        Some((plan, refusal)) => {
            let (sql, slots, _) = print(plan)?;
            Some(RefusedIf { sql, slots, refusal: refusal.clone() })
        }
    };
    Ok(Statement { sql, slots, answer, refused_if })
}

/// The text of a statement, or of a condition in one, laid out; `comment` gives the comment of a common table expression
/// by its name. In a database that expands common table expressions the text is refused if it leaves fewer than
/// `reserved` cursors to others, or if a union is too long.
fn printed(
    node: &impl Display,
    features: &Features,
    reserved: usize,
    comment: impl Fn(&str) -> Option<String>,
) -> Result<String, CompileError> {
    let text = node.to_string();
    let tokens = tokens::tokens(&text);
    if let Some(cursors) = features.limits.cursors {
        let size = expansion::size_of(&tokens);
        let most = cursors.saturating_sub(reserved);
        if size.cursors.is_some_and(|cursors| cursors > most) {
            return Err(CompileError::too_large(Limit::Readings { most }));
        }
        let most = features.limits.union_arms;
        if size.arms > most {
            return Err(CompileError::too_large(Limit::UnionArms { most }));
        }
    }
    Ok(layout::layout(&text, &tokens, comment))
}
