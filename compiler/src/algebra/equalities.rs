//! Equality classes: which values are equal in every row of a select, and of the selects that enclose it.
//!
//! In: the conditions of selects, outermost first. Out: for a value, the values equal to it.

use super::select::{Condition, Expr, Select};
use crate::ir::CompareOp;
use indexmap::IndexSet;

/// Values in classes; those of a class are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Equalities {
    classes: Vec<IndexSet<Expr>>,
}

impl Equalities {
    /// What the conditions of a select demand, not those of its branches.
    pub(crate) fn of(select: &Select) -> Self {
        let mut equalities = Self::default();
        equalities.demand(select);
        equalities
    }

    /// Adds what the conditions of a select demand.
    pub(crate) fn demand(&mut self, select: &Select) {
        for condition in &select.filter {
            if let Condition::Compare { op: CompareOp::Equal, left, right } = condition {
                self.join(*left, *right);
            }
        }
    }

    /// Makes two values equal; whether they were not.
    pub(crate) fn join(&mut self, left: Expr, right: Expr) -> bool {
        let is_new = !self.hold(left, right);
        let mut joined = IndexSet::from([left, right]);
        self.classes.retain(|class| {
            let meets = class.contains(&left) || class.contains(&right);
            if meets {
                joined.extend(class);
            }
            !meets
        });
        self.classes.push(joined);
        is_new
    }

    /// Whether two values are equal.
    pub(crate) fn hold(&self, one: Expr, other: Expr) -> bool {
        one == other || self.classes.iter().any(|class| class.contains(&one) && class.contains(&other))
    }

    /// All values that equal this one, itself among them if a condition demands any.
    pub(crate) fn of_value(&self, value: Expr) -> impl Iterator<Item = Expr> {
        self.classes.iter().find(|class| class.contains(&value)).into_iter().flatten().copied()
    }

    /// The first value that equals this one and is wanted; the value itself comes first.
    pub(crate) fn find(&self, value: Expr, wanted: impl Fn(Expr) -> bool) -> Option<Expr> {
        if wanted(value) { Some(value) } else { self.of_value(value).find(|other| wanted(*other)) }
    }

    /// The pairs of equal values of which one is `left` and the other `right`, one pair a class.
    pub(crate) fn pairs(
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
