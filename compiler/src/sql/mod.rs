//! A plan becomes one SQL statement.
//!
//! In: a `Plan`. Out: text and the parameters it needs. The stages: `lower` makes sqlparser's syntax tree for
//! a [`dialect`], with nodes from `build` alone; `layout` prints it.

mod build;
pub mod dialect;
mod layout;
pub(crate) mod lower;

use crate::catalog::Catalog;
use crate::ir::Program;
use crate::plan::Planned;
use crate::question::{CompileError, Statement};
use dialect::Dialect;
use indexmap::IndexSet;
use lower::{Lowering, Values};

/// Prints a plan for a dialect.
pub(crate) fn to_sql(
    program: &Program,
    catalog: &Catalog,
    planned: &Planned,
    dialect: Dialect,
    values: Values<'_>,
) -> Result<Statement, CompileError> {
    let commented = matches!(values, Values::Literals(_));
    let mut lowering = Lowering {
        program,
        catalog,
        extra_constants: &planned.extra_constants,
        features: dialect.features(),
        values,
        slots: IndexSet::new(),
    };
    let (query, answer) = lowering.plan(&planned.plan)?;
    let comment = |name: &str| {
        let table = planned.plan.tables.iter().find(|table| commented && table.name == name);
        table.map(|table| table.comment.clone())
    };
    let sql = layout::layout(&query.to_string(), comment);
    Ok(Statement { sql, slots: lowering.slots.into_iter().collect(), answer })
}
