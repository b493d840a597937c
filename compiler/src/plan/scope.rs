//! What encloses a select: the sources that a demand may start from.

use crate::algebra::aliases::mentioned;
use crate::algebra::{Alias, Condition, Expr, From, Select};
use crate::catalog::ColumnId;
use crate::id_vec::IdVec;

/// The selects around the one in the making, innermost first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Enclosing<'s> {
    /// The next select outwards.
    pub(super) outer: Option<&'s Enclosing<'s>>,
    /// The enclosing select so far.
    pub(super) select: Option<&'s Select>,
    /// Whether this is the step of a fixpoint, from which no other table may start.
    pub(super) in_step: bool,
}

impl Enclosing<'_> {
    /// The scope of a table of its own.
    pub(super) const TOP: Enclosing<'static> = Enclosing { outer: None, select: None, in_step: false };
    /// The scope of a fixpoint's step.
    pub(super) const STEP: Enclosing<'static> = Enclosing { outer: None, select: None, in_step: true };

    /// Whether the select is part of no other.
    pub(super) fn is_top(&self) -> bool {
        self.outer.is_none() && !self.in_step
    }

    /// Whether any enclosing select is a fixpoint's step.
    pub(super) fn is_in_step(&self) -> bool {
        self.in_step || self.outer.is_some_and(Enclosing::is_in_step)
    }

    /// How many selects enclose this one.
    pub(super) fn depth(&self) -> usize {
        self.outer.map_or(0, |outer| outer.depth() + 1)
    }

    /// All sources and simple conditions from the outermost select to `inner`, as one select.
    ///
    /// Branches are left out: what remains selects at least every row that the whole would, which is all
    /// that a demand needs. Sources that the wanted values do not depend on are dropped.
    pub(super) fn demand(&self, inner: &Select, output: IdVec<ColumnId, Expr>) -> Select {
        let mut demand = Select { output, ..Select::default() };
        self.collect(&mut demand);
        add(&mut demand, inner);
        drop_unrelated(&mut demand);
        demand
    }

    fn collect(&self, demand: &mut Select) {
        if let Some(outer) = self.outer {
            outer.collect(demand);
        }
        if let Some(select) = self.select {
            add(demand, select);
        }
    }
}

fn add(demand: &mut Select, select: &Select) {
    demand.from.extend(&select.from);
    let simple =
        |condition: &&Condition| matches!(condition, Condition::Compare { .. } | Condition::OneOf { .. });
    demand.filter.extend(select.filter.iter().filter(simple).cloned());
}

/// Keeps the sources that the output is connected to by conditions.
fn drop_unrelated(demand: &mut Select) {
    let mut related: Vec<Alias> = demand.output.iter().filter_map(|expr| expr.alias()).collect();
    loop {
        let before = related.len();
        for condition in &demand.filter {
            let mentioned = mentioned(condition);
            if mentioned.iter().any(|alias| related.contains(alias)) {
                for alias in mentioned {
                    if !related.contains(&alias) {
                        related.push(alias);
                    }
                }
            }
        }
        if related.len() == before {
            break;
        }
    }
    demand.from.retain(|from: &From| related.contains(&from.alias));
    demand.filter.retain(|condition| mentioned(condition).iter().all(|alias| related.contains(alias)));
}
