//! Equality classes: which values are equal in every row of a select and of the selects that enclose it.
//!
//! In: selects, outermost first. Out: for a value, the values equal to it: those that conditions demand, and
//! those that follow from a key (a functional dependency), where two sources read one row of one query. A
//! condition on one member of a class holds for all, so a condition on a caller's column can become a
//! condition on a stored column.

use crate::algebra::{Alias, Condition, Expr, FromKind, Select};
use crate::catalog::SourceId;
use crate::ir::CompareOp;
use crate::keys::Keys;
use indexmap::IndexSet;

/// Values in classes; those of a class are equal.
#[derive(Clone, Debug, Default)]
pub(super) struct Equals {
    classes: Vec<IndexSet<Expr>>,
    /// The sources of the selects that read a relation with a key.
    keyed: Vec<(Alias, SourceId)>,
}

impl Equals {
    /// These equalities, and those of a select inside.
    pub(super) fn with(&self, select: &Select, keys: Keys<'_>) -> Self {
        let mut equals = self.clone();
        for condition in &select.filter {
            if let Condition::Compare { op: CompareOp::Equal, left, right } = condition {
                equals.join(*left, *right);
            }
        }
        let keyed = select.from.iter().filter_map(|from| match from.kind {
            FromKind::Source(source) => keys.of(source).next().map(|_| (from.alias, source)),
            FromKind::Table(_)
            | FromKind::Values(_)
            | FromKind::Embedded(_)
            | FromKind::Row { .. }
            | FromKind::Again { .. } => None,
        });
        equals.keyed.extend(keyed);
        // The columns of one row may be the key of another one.
        while equals.join_rows(keys) {}
        equals
    }

    /// Makes the columns of two sources equal that read one row; whether some were not.
    fn join_rows(&mut self, keys: Keys<'_>) -> bool {
        let mut joined = false;
        for (at, (one, source)) in self.keyed.clone().into_iter().enumerate() {
            for (other, _) in self.keyed.clone().into_iter().take(at).filter(|(_, read)| *read == source) {
                let pair = |column| [one, other].map(|alias| Expr::Column { alias, column });
                let is_one_row = keys.of(source).any(|(key, _)| self.are_equal(pair(key)));
                if is_one_row {
                    for column in 0..keys.catalog.relation(source).columns().count() {
                        let [left, right] = pair(column);
                        if !self.are_equal([left, right]) {
                            self.join(left, right);
                            joined = true;
                        }
                    }
                }
            }
        }
        joined
    }

    fn are_equal(&self, [left, right]: [Expr; 2]) -> bool {
        self.find(left, |other| other == right).is_some()
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
