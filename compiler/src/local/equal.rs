//! Equality classes: which values are equal in every row of a select and of the selects that enclose it.
//!
//! In: the conditions of selects, outermost first. Out: for a value, the values equal to it. A condition on
//! one member of a class holds for all, so a condition on a caller's column can become a condition on a
//! stored column.

use crate::algebra::{Condition, Expr};
use crate::ir::CompareOp;
use indexmap::IndexSet;

/// Values in classes; those of a class are equal.
#[derive(Clone, Debug, Default)]
pub(super) struct Equals {
    classes: Vec<IndexSet<Expr>>,
}

impl Equals {
    /// These equalities, and those that a select's conditions demand.
    pub(super) fn with(&self, filter: &[Condition]) -> Self {
        let mut equals = self.clone();
        for condition in filter {
            if let Condition::Compare { op: CompareOp::Equal, left, right } = condition {
                equals.join(*left, *right);
            }
        }
        equals
    }

    fn join(&mut self, left: Expr, right: Expr) {
        let mut joined = IndexSet::from([left, right]);
        self.classes.retain(|class| {
            let meets = class.contains(&left) || class.contains(&right);
            if meets {
                joined.extend(class);
            }
            !meets
        });
        self.classes.push(joined);
    }

    /// The first value that equals this one and is wanted; the value itself comes first.
    pub(super) fn find(&self, expr: Expr, wanted: impl Fn(Expr) -> bool) -> Option<Expr> {
        if wanted(expr) {
            return Some(expr);
        }
        let class = self.classes.iter().find(|class| class.contains(&expr))?;
        class.iter().copied().find(|other| wanted(*other))
    }

    /// The pairs of equal values of which one is `left` and the other `right`, one pair a class.
    pub(super) fn pairs(
        &self,
        left: impl Fn(Expr) -> bool,
        right: impl Fn(Expr) -> bool,
    ) -> Vec<(Expr, Expr)> {
        let pair = |class: &IndexSet<Expr>| {
            let first = |is: &dyn Fn(Expr) -> bool| class.iter().copied().find(|expr| is(*expr));
            Some((first(&left)?, first(&right)?))
        };
        self.classes.iter().filter_map(pair).collect()
    }
}
