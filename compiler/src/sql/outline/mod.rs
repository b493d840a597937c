//! The parts of a text for a caller's database, for those who look for what is slow in it.
//!
//! In: the plan that is printed, and for a filter its sorted alternatives. Out: the sets that the text makes,
//! what it looks up for each row, and the parts that can use no index. All of it comes from the plan, by
//! the rules by which the text is printed; the text itself is not read.

mod comparisons;
mod report;
mod walk;

pub(crate) use report::FilterColumn;
pub use report::{BoundColumn, CastReason, Outline, Probe, Reads, SetKind, SetMade, SlowPart, Start};

use super::local::analysis::GivenColumn;
use super::local::filter::Filter;
use super::local::statement::{LocalStatement, column_text};
use crate::algebra::Plan;
use walk::Walk;

impl LocalStatement<'_> {
    /// The parts of the text of a check or of rows.
    pub(crate) fn outline(self, plan: &Plan) -> Outline {
        let lowering = self.lowering(plan, None, None);
        let mut walk = Walk::new(&lowering, plan, None);
        walk.tables(&[plan.answer.selects(), std::slice::from_ref(&plan.guard)].concat());
        walk.select(&plan.guard);
        plan.answer.selects().iter().for_each(|select| walk.select(select));
        walk.outline
    }

    /// The parts of the text of a filter.
    pub(crate) fn filter_outline(self, plan: &Plan, filter: &Filter, of: &FilterColumn<'_>) -> Outline {
        let representation = self.represent_column(of.column, of.ty);
        let given = GivenColumn { var: of.var, representation, name: column_text(of.column) };
        let lowering = self.lowering(plan, Some(given), filter.row.clone());
        let mut walk = Walk::new(&lowering, plan, Some(of));
        let alternatives = filter.plan(&plan.tables);
        walk.tables(&[alternatives.answer.selects(), &[alternatives.guard]].concat());
        walk.filter(filter);
        match self.bindings.tables.get(of.ty) {
            Some(_) if filter.row.is_some() => {}
            Some(promised) => {
                let promised =
                    format!("{}.{}", crate::bindings::SqlName::path(&promised.table), promised.column);
                walk.outline.slow.push(SlowPart::OtherColumn { ty: of.ty.to_owned(), promised });
            }
            None => walk.outline.slow.push(SlowPart::NoPromise { ty: of.ty.to_owned() }),
        }
        walk.outline
    }
}
