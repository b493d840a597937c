//! Which values of a select its conditions make equal.

use crate::algebra::{Condition, Expr, Select};
use crate::ir::CompareOp;

/// Classes of values that are equal in every row of a select.
#[derive(Debug, Default)]
pub(super) struct Equalities {
    classes: Vec<Vec<Expr>>,
}

impl Equalities {
    /// What the equalities among the conditions of a select say, not those of its branches.
    pub(super) fn of(select: &Select) -> Self {
        let mut classes: Vec<Vec<Expr>> = Vec::new();
        for condition in &select.filter {
            let Condition::Compare { op: CompareOp::Equal, left, right } = condition else { continue };
            let (mut touched, rest): (Vec<Vec<Expr>>, Vec<Vec<Expr>>) =
                classes.into_iter().partition(|class| class.contains(left) || class.contains(right));
            classes = rest;
            let mut class: Vec<Expr> = touched.drain(..).flatten().collect();
            for side in [left, right] {
                if !class.contains(side) {
                    class.push(*side);
                }
            }
            classes.push(class);
        }
        Self { classes }
    }

    /// Whether two values are equal.
    pub(super) fn hold(&self, one: Expr, other: Expr) -> bool {
        one == other || self.classes.iter().any(|class| class.contains(&one) && class.contains(&other))
    }

    /// All values that equal this one.
    pub(super) fn of_value(&self, value: Expr) -> &[Expr] {
        self.classes.iter().find(|class| class.contains(&value)).map_or(&[], Vec::as_slice)
    }
}
