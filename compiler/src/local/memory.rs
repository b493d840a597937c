//! An estimate of the memory that a plan takes, for a cache of plans.

use super::plan::LocalPlan;
use super::variant::Variant;
use crate::algebra::{Condition, Expr, From, Plan, Select, Table};
use std::mem::size_of;

impl LocalPlan {
    /// About how many bytes it takes.
    pub fn n_bytes(&self) -> usize {
        size_of::<Self>() + self.variants().map(of_variant).sum::<usize>()
    }
}

fn of_variant(variant: &Variant) -> usize {
    let parts = variant.residual.parts.iter().map(|part| of_plan(&part.plan));
    let statements = variant.statements.iter().map(|statement| statement.sql.len());
    let constants = variant.constants.iter().map(|held| held.text.len() + 64);
    of_plan(&variant.residual.plan)
        + parts.chain(statements).chain(constants).sum::<usize>()
        + variant.rules.len() * size_of::<usize>() * 3
}

fn of_plan(plan: &Plan) -> usize {
    let table = |table: &Table| size_of::<Table>() + table.name.len() + table.comment.len();
    plan.tables.iter().map(table).sum::<usize>() + plan.selects().map(of_select).sum::<usize>()
}

fn of_select(select: &Select) -> usize {
    let condition = |condition: &Condition| {
        let branches = condition.branches().iter().map(of_select).sum::<usize>();
        let literals = match condition {
            Condition::OneOf { literals, .. } => literals.len() * size_of::<usize>(),
            Condition::Compare { .. }
            | Condition::Meets { .. }
            | Condition::In { .. }
            | Condition::Any(_)
            | Condition::None(_) => 0,
        };
        size_of::<Condition>() + branches + literals
    };
    size_of::<Select>()
        + select.from.len() * size_of::<From>()
        + select.output.len() * size_of::<Expr>()
        + select.filter.iter().map(condition).sum::<usize>()
}
