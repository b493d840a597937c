//! Reads the values of a plan's selects and conditions, those of branches included.

use super::algebra::{Condition, Expr, Select};

impl Select {
    /// Visits every value of the select and its branches, to read it.
    pub(crate) fn each_expr(&self, visit: &mut impl FnMut(Expr)) {
        self.output.iter().for_each(|expr| visit(*expr));
        self.filter.iter().for_each(|condition| condition.each_expr(visit));
    }
}

impl Condition {
    /// Visits every value of the condition and its branches, to read it.
    pub(crate) fn each_expr(&self, visit: &mut impl FnMut(Expr)) {
        match self {
            Self::Compare { left, right, .. } => {
                visit(*left);
                visit(*right);
            }
            Self::OneOf { expr, .. } | Self::In { expr, .. } => visit(*expr),
            Self::Any(_) | Self::None(_) => {}
        }
        self.branches().iter().for_each(|branch| branch.each_expr(visit));
    }
}
