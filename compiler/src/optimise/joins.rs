//! Joins the branch of each test that has only one.
//!
//! In: a plan whose answer asks for existence, or drops duplicates. Out: the same rows from fewer queries
//! inside queries. PostgreSQL plans each of them by itself, and takes longer to plan such a check than to run
//! it.
//!
//! ```text
//! t1 where exists (t2 where a)   ─▶   t1 ⋈ t2 where a
//! ```

use crate::algebra::{Condition, Plan, Select};

/// Rewrites the guard and the alternatives of a plan's answer. Rows may come twice then: a check asks whether
/// there is one, and a list drops the others.
pub(super) fn join_single(plan: &mut Plan) {
    join_branches(&mut plan.guard);
    plan.answer.selects_mut().iter_mut().for_each(join_branches);
}

fn join_branches(select: &mut Select) {
    let mut at = 0;
    while let Some(condition) = select.filter.get_mut(at) {
        match condition {
            Condition::Any(branches) => {
                branches.iter_mut().for_each(join_branches);
                if let [only] = branches.as_mut_slice()
                    && !select.from.is_empty()
                    && !only.from.is_empty()
                {
                    let mut only = std::mem::take(only);
                    select.filter.remove(at);
                    select.from.append(&mut only.from);
                    select.filter.append(&mut only.filter);
                    continue;
                }
            }
            Condition::None(branches) => branches.iter_mut().for_each(join_branches),
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. }
            | Condition::In { .. } => {}
        }
        at += 1;
    }
}
