//! Visitors of a select's sources, conditions and values, those of its branches included.

use super::ids::Alias;
use super::plan::Plan;
use super::select::{Condition, Expr, From, FromKind, Select};

impl Plan {
    /// Visits every source.
    pub(crate) fn for_each_source(&self, visit: &mut impl FnMut(&From)) {
        self.selects().for_each(|select| select.for_each_source(visit));
    }

    /// Visits every condition, each before those of its branches.
    pub(crate) fn for_each_condition(&self, visit: &mut impl FnMut(&Condition)) {
        self.selects().for_each(|select| select.for_each_condition(visit));
    }
}

impl Select {
    /// The selects of all branches, not those inside them.
    pub(crate) fn branches(&self) -> impl Iterator<Item = &Self> {
        self.filter.iter().flat_map(Condition::branches)
    }

    /// Visits every source.
    pub(crate) fn for_each_source(&self, visit: &mut impl FnMut(&From)) {
        self.from.iter().for_each(&mut *visit);
        self.branches().for_each(|branch| branch.for_each_source(visit));
    }

    /// Visits every source.
    pub(crate) fn for_each_source_mut(&mut self, visit: &mut impl FnMut(&mut From)) {
        self.from.iter_mut().for_each(&mut *visit);
        let branches = self.filter.iter_mut().flat_map(Condition::branches_mut);
        branches.for_each(|branch| branch.for_each_source_mut(visit));
    }

    /// Visits every condition, each before those of its branches.
    pub(crate) fn for_each_condition(&self, visit: &mut impl FnMut(&Condition)) {
        for condition in &self.filter {
            visit(condition);
            condition.branches().iter().for_each(|branch| branch.for_each_condition(visit));
        }
    }

    /// Visits every value.
    pub(crate) fn for_each_expr(&self, visit: &mut impl FnMut(Expr)) {
        self.output.iter().for_each(|expr| visit(*expr));
        self.filter.iter().for_each(|condition| condition.for_each_expr(visit));
    }

    /// Visits every value.
    pub(crate) fn for_each_expr_mut(&mut self, visit: &mut impl FnMut(&mut Expr)) {
        self.output.iter_mut().for_each(&mut *visit);
        self.filter.iter_mut().for_each(|condition| condition.for_each_expr_mut(visit));
    }

    /// Visits every alias, definitions and uses alike: sources first, the output last.
    pub(crate) fn for_each_alias_mut(&mut self, visit: &mut impl FnMut(&mut Alias)) {
        for from in &mut self.from {
            visit(&mut from.alias);
            if let FromKind::Again { row, .. } = &mut from.kind {
                visit(row);
            }
        }
        self.filter.iter_mut().for_each(|condition| condition.for_each_alias_mut(visit));
        self.output.iter_mut().for_each(|expr| expr.visit_alias_mut(visit));
    }
}

impl Condition {
    /// Visits every value.
    pub(crate) fn for_each_expr(&self, visit: &mut impl FnMut(Expr)) {
        match self {
            Self::Compare { left, right, .. } => {
                visit(*left);
                visit(*right);
            }
            Self::OneOf { expr, .. } | Self::In { expr, .. } | Self::Meets { row: expr, .. } => visit(*expr),
            Self::Any(_) | Self::None(_) => {}
        }
        self.branches().iter().for_each(|branch| branch.for_each_expr(visit));
    }

    /// Visits every value.
    pub(crate) fn for_each_expr_mut(&mut self, visit: &mut impl FnMut(&mut Expr)) {
        self.own_exprs_mut().into_iter().for_each(&mut *visit);
        self.branches_mut().iter_mut().for_each(|branch| branch.for_each_expr_mut(visit));
    }

    /// Visits every alias, definitions and uses alike.
    pub(crate) fn for_each_alias_mut(&mut self, visit: &mut impl FnMut(&mut Alias)) {
        for expr in self.own_exprs_mut() {
            expr.visit_alias_mut(visit);
        }
        self.branches_mut().iter_mut().for_each(|branch| branch.for_each_alias_mut(visit));
    }

    /// The values of the condition itself.
    pub(crate) fn own_exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Self::Compare { left, right, .. } => vec![left, right],
            Self::OneOf { expr, .. } | Self::In { expr, .. } | Self::Meets { row: expr, .. } => vec![expr],
            Self::Any(_) | Self::None(_) => Vec::new(),
        }
    }
}

impl Expr {
    /// The alias of the column that it is.
    pub(crate) fn alias(self) -> Option<Alias> {
        match self {
            Self::Column { alias, .. } => Some(alias),
            Self::Const(_)
            | Self::Given(_)
            | Self::Now
            | Self::Tag(_)
            | Self::Filler
            | Self::TypeName(_)
            | Self::Unconstrained => None,
        }
    }

    fn visit_alias_mut(&mut self, visit: &mut impl FnMut(&mut Alias)) {
        match self {
            Self::Column { alias, .. } => visit(alias),
            Self::Const(_)
            | Self::Given(_)
            | Self::Now
            | Self::Tag(_)
            | Self::Filler
            | Self::TypeName(_)
            | Self::Unconstrained => {}
        }
    }
}
