//! The parts of a text for a caller's database, for those who look for what is slow in it.
//!
//! In: the plan that is printed, and for a filter its sorted alternatives. Out: the sets that the text makes,
//! what it looks up for each row, and the parts that can use no index. All of it comes from the plan, by
//! the rules by which the text is printed; the text itself is not read.

mod comparisons;
mod reads;
mod report;
mod walk;

pub(crate) use report::FilterColumn;
pub use report::{BoundColumn, CastReason, Outline, Probe, Reads, SetKind, SetMade, SlowPart, Start};

use super::local::analysis::GivenColumn;
use super::local::filter::Filter;
use super::local::statement::{LocalStatement, column_text};
use crate::algebra::Plan;
use crate::bindings::{Binding, BindingArg, RowTable, SqlName};
use crate::catalog::BindingId;
use std::collections::BTreeSet;
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
            Some(promised) if filter.row.is_some() => self.composite(&mut walk.outline, of.ty, promised),
            Some(promised) => {
                let name = of.column.name.as_ref().and_then(|name| name.split_last());
                let is_of_row = name.is_some_and(|(column, table)| {
                    *column != promised.column && self.bindings.is_called(promised, table)
                });
                let promised = format!("{}.{}", SqlName::path(&promised.table), promised.column);
                walk.outline.slow.push(SlowPart::OtherColumn { ty: of.ty.to_owned(), promised, is_of_row });
            }
            None => walk.outline.slow.push(SlowPart::NoPromise { ty: of.ty.to_owned() }),
        }
        walk.outline
    }

    /// Notes the bound queries that say something of the rows of a filter's table, and are more than its
    /// columns.
    fn composite(self, outline: &mut Outline, ty: &str, promised: &RowTable) {
        let is_about_row = |binding: &BindingId| {
            let Binding { args, query, .. } = &self.bindings.facts[*binding];
            let has_id = args.iter().any(|arg| matches!(arg, BindingArg::Column { ty: of } if of == ty));
            has_id && query.plain.is_none() && self.bindings.facts[*binding].may_read(&promised.table)
        };
        let of_sets = outline.sets.iter().map(|set| &set.reads);
        let read = of_sets.chain(outline.probes.iter().map(|probe| &probe.reads));
        let read: BTreeSet<BindingId> = read.flat_map(|reads| &reads.bindings).copied().collect();
        let table = SqlName::path(&promised.table);
        let found = read.into_iter().filter(is_about_row);
        outline.slow.extend(found.map(|binding| SlowPart::Composite { binding, table: table.clone() }));
    }
}
