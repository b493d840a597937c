//! A plan becomes one SQL statement.
//!
//! In: a `Plan`. Out: text and the parameters it needs. The stages: `lower` makes sqlparser's syntax tree for
//! a dialect, with nodes from `build` alone; `layout` prints it. For a caller's database `template` leaves open
//! where the question's values stand.

mod build;
mod caller;
pub(crate) mod compare;
mod condition;
mod fixpoint;
pub(crate) mod forms;
pub(crate) mod held;
mod integer;
mod layout;
pub(crate) mod lower;
pub(crate) mod template;
mod value;

use crate::catalog::Catalog;
use crate::dialect::Features;
use crate::ir::Program;
use crate::plan::Planned;
use crate::plan::algebra::Plan;
use crate::question::{CompileError, Refusal, Slot, Statement};
use indexmap::IndexSet;
use lower::{Lowering, Values};

/// Prints a plan for a database.
pub(crate) fn to_sql(
    program: &Program,
    catalog: &Catalog,
    planned: &Planned,
    features: &'static Features,
    values: Values<'_>,
) -> Result<Statement, CompileError> {
    let commented = matches!(values, Values::Literals(_));
    let mut lowering = Lowering {
        program,
        catalog,
        extra_constants: &planned.extra_constants,
        features,
        values,
        slots: IndexSet::new(),
        depth: 0,
        reads_state: false,
        local: None,
    };
    let print = |lowering: &mut Lowering<'_>, plan: &Plan| {
        let (query, answer) = lowering.plan(plan)?;
        let comment = |name: &str| {
            let table = plan.tables.iter().find(|table| commented && table.name == name);
            table.map(|table| table.comment.clone())
        };
        let slots: Vec<Slot> = std::mem::take(&mut lowering.slots).into_iter().collect();
        Ok((layout::layout(&query.to_string(), comment), slots, answer))
    };
    let (sql, slots, answer) = print(&mut lowering, &planned.plan)?;
    let refusal = match &planned.refusal {
        None => None,
        Some((plan, message)) => {
            let (sql, slots, _) = print(&mut lowering, plan)?;
            Some(Refusal { sql, slots, message: message.clone() })
        }
    };
    Ok(Statement { sql, slots, answer, refusal })
}
