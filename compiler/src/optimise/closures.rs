//! Reads a closure where a plan would close it once more.
//!
//! In: a plan. Out: the same plan, in which a fixpoint that starts from all rows of another one, and goes on
//! with the same steps, is that other one: its rows are closed under the steps already.
//!
//! ```text
//! ancestors = folder of doc ∪ parent of ancestors
//! above     = ancestors ∪ parent of above            ─▶   above is ancestors
//! ```

use crate::algebra::aliases::number_aliases;
use crate::algebra::{
    Expr, From, FromKind, Plan, PlanAnswer, Select, Table, TableBody, TableId, TableRef, prune,
};
use crate::catalog::ColumnId;

/// Replaces every closure of a closure.
pub(super) fn merge(plan: &mut Plan) {
    let mut changed = false;
    for table in TableId::all(&plan.tables) {
        let Some(same) = closed(table.of(&plan.tables), &plan.tables) else { continue };
        changed = true;
        for select in plan.selects_mut() {
            select.for_each_source_mut(&mut |from| {
                if from.kind == table.source() {
                    from.kind = same.source();
                }
            });
        }
    }
    if changed {
        let answered = std::mem::replace(&mut plan.answer, PlanAnswer::Decision(Vec::new()));
        let guard = std::mem::take(&mut plan.guard);
        let tables = std::mem::take(&mut plan.tables);
        *plan = prune(Plan { tables, guard, answer: answered });
    }
}

/// The table whose closure a table is, if that one is closed under the same steps.
fn closed(table: &Table, tables: &[Table]) -> Option<TableId> {
    let TableBody::Recursive { base, step } = &table.body else { return None };
    let [Select { from, filter, output }] = base.as_slice() else { return None };
    let [From { alias, kind: FromKind::Table(TableRef::Table(read)) }] = from.as_slice() else { return None };
    let of = read.of(tables);
    let TableBody::Recursive { step: steps, .. } = &of.body else { return None };
    let all = ColumnId::all(of.n_columns).map(|column| Expr::Column { alias: *alias, column });
    let is_whole = filter.is_empty() && output.iter().copied().eq(all);
    (is_whole && numbered(step) == numbered(steps)).then_some(*read)
}

/// Steps with their sources numbered from one.
fn numbered(steps: &[Select]) -> Vec<Select> {
    let mut steps = steps.to_vec();
    steps.iter_mut().for_each(|step| number_aliases([step]));
    steps
}
