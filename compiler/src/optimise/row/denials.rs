//! Moves denials into the probe next to them, inside one of several alternatives.
//!
//! ```text
//! a or (row.dept in s and not blocked(row) and probe(row))
//!     ─▶   a or (row.dept in s and probe(row, not blocked(row)))
//! ```
//!
//! PostgreSQL assumes that a subquery under an `OR` holds for half of the rows, and that two of them hold for
//! a quarter. With so few rows, a page looks expensive enough to be compiled before it runs. A denial outside
//! of alternatives stays where it is: it becomes an anti-join, which PostgreSQL estimates well.

use super::sets::{asks, is_bound, link_of, with_shown};
use super::{is_of_row, rows_of};
use crate::algebra::{Condition, From, Plan, Select};

/// Moves the denials of all alternatives of a filter.
pub(in super::super) fn move_into_probes(plan: &mut Plan) {
    in_alternatives(plan.answer.selects_mut(), &[]);
}

/// Moves the denials of alternatives; `outside` expose the row around them.
fn in_alternatives(selects: &mut [Select], outside: &[From]) {
    let is_one_of_several = selects.len() > 1;
    for select in selects {
        let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
        if is_one_of_several && select.filter.iter().any(|condition| is_probe(condition, &rows)) {
            move_in(select, &rows);
        }
        for condition in &mut select.filter {
            if let Condition::Any(branches) = condition
                && branches.iter().all(Select::reads_nothing)
            {
                in_alternatives(branches, &rows);
            }
        }
    }
}

fn move_in(select: &mut Select, rows: &[From]) {
    let filter = std::mem::take(&mut select.filter);
    let (denials, others) = filter.into_iter().partition(|condition| is_denial(condition, rows));
    select.filter = others;
    let probe = select.filter.iter_mut().filter(|condition| is_probe(condition, rows));
    if let Some(probe) = probe.flat_map(Condition::branches_mut).next() {
        // A denial of what the probe finds by its key reads no row of its own then.
        let link = probe.filter.iter().find_map(|link| link_of(link, &|expr| is_of_row(expr, rows)));
        let denials: Vec<Condition> = denials;
        probe.filter.extend(denials.into_iter().map(|denial| match link {
            Some((value, shown)) => with_shown(&denial, value, shown),
            None => denial,
        }));
    }
}

/// Whether a condition reads what belongs to the row. A test of something else is made once for all rows, as
/// are the numbers with which a value of the row is only compared.
fn is_probe(condition: &Condition, rows: &[From]) -> bool {
    let Condition::Any(branches) = condition else { return false };
    let [only] = branches.as_slice() else { return false };
    !only.reads_nothing() && !is_bound(only, rows) && asks(condition, &|expr| is_of_row(expr, rows))
}

/// Whether a condition looks up what denies the row. What does not depend on the row is tested once, before
/// the filter.
fn is_denial(condition: &Condition, rows: &[From]) -> bool {
    let Condition::None(branches) = condition else { return false };
    asks(condition, &|expr| is_of_row(expr, rows)) && branches.iter().any(|branch| !branch.reads_nothing())
}
