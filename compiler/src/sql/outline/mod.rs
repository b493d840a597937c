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
use crate::bindings::{RowTable, SqlName};
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
            Some(promised) if filter.row.is_some() => self.own_table(&mut walk.outline, of.ty, promised),
            Some(promised) => {
                let promised = format!("{}.{}", SqlName::path(&promised.table), promised.column);
                walk.outline.slow.push(SlowPart::OtherColumn { ty: of.ty.to_owned(), promised });
            }
            None => walk.outline.slow.push(SlowPart::NoPromise { ty: of.ty.to_owned() }),
        }
        walk.outline
    }

    /// Notes where a filter over the rows of a table reads the table besides.
    fn own_table(self, outline: &mut Outline, ty: &str, promised: &RowTable) {
        let reads_it = |binding: &&BindingId| self.bindings.facts[**binding].may_read(&promised.table);
        let is_composite = |binding: &&BindingId| self.bindings.facts[**binding].query.plain.is_none();
        let lists_it = |set: &&SetMade| {
            matches!(set.kind, SetKind::Table { .. }) && set.reads.bindings.iter().any(|it| reads_it(&it))
        };
        let lists = outline.sets.iter().filter(lists_it).filter_map(|set| set.name.as_ref());
        let own_rows = lists.map(|(table, _)| SlowPart::OwnRows { table: table.clone(), ty: ty.to_owned() });
        let of_sets = outline.sets.iter().map(|set| &set.reads);
        let read: BTreeSet<&BindingId> = of_sets
            .chain(outline.probes.iter().map(|probe| &probe.reads))
            .flat_map(|it| &it.bindings)
            .collect();
        let table = SqlName::path(&promised.table);
        let composite = read.into_iter().filter(is_composite).filter(reads_it);
        let composite =
            composite.map(|binding| SlowPart::Composite { binding: *binding, table: table.clone() });
        let found: Vec<SlowPart> = own_rows.chain(composite).collect();
        outline.slow.extend(found);
    }
}
