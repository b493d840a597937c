//! The shape in which a check is planned fast.
//!
//! In: a folded plan of a check, or of what may be done. Out: the same plan with fewer queries inside queries
//! and fewer joins. Each query inside another is planned by itself, and a join in every order: PostgreSQL takes
//! longer to plan such a statement than to run it.
//!
//! 1. A test with one branch becomes a join, where only existence counts.
//! 2. Sources that the rows of a closure [imply](crate::plan::implied) are left out.
//! 3. Rows that much starts from are [read once](super::prefix).
//! 4. Sources that only lead to the one that decides become [sets](super::sets), which are made once.

use super::prefix;
use super::sets::set_tests;
use crate::bindings::Bindings;
use crate::plan::algebra::{Condition, FromKind, Plan, Select, TableBody};
use crate::plan::implied;
use crate::plan::verify::{Keeps, Verifier};
use crate::question::CompileError;

/// Rewrites the alternatives and the tables of a plan; `prefix` begins the names of our tables.
pub(super) fn flatten(
    plan: &mut Plan,
    verifier: Verifier<'_>,
    bindings: &Bindings,
    prefix: &str,
) -> Result<(), CompileError> {
    // Rows may come twice; a check asks whether there is one, and a list drops the others.
    verifier.run("joins", plan, Keeps::Atoms, |plan| {
        plan.answer.selects_mut().iter_mut().for_each(join_single);
    })?;
    verifier.run("implied", plan, Keeps::AllButImplied, implied::drop_implied)?;
    verifier.run("prefix", plan, Keeps::Once, |plan| {
        prefix::share(plan, verifier.catalog, bindings, prefix);
    })?;
    verifier.run("sets", plan, Keeps::Atoms, to_sets)
}

/// Makes sets in the alternatives and in the tables.
fn to_sets(plan: &mut Plan) {
    plan.answer.selects_mut().iter_mut().for_each(sets);
    for table in &mut plan.tables {
        // What a fixpoint starts from stays joined: of a set the database does not know how small it is.
        if let TableBody::Union(selects) = &mut table.body {
            selects.iter_mut().for_each(sets);
        }
    }
}

/// Joins the branch of each test that has only one.
fn join_single(select: &mut Select) {
    let mut at = 0;
    while let Some(condition) = select.filter.get_mut(at) {
        match condition {
            Condition::Any(branches) => {
                branches.iter_mut().for_each(join_single);
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
            Condition::None(branches) => branches.iter_mut().for_each(join_single),
            Condition::Compare { .. } | Condition::OneOf { .. } | Condition::In { .. } => {}
        }
        at += 1;
    }
}

/// Makes sets of what leads to the source that a select shows, or of what leads to its last one.
fn sets(select: &mut Select) {
    for condition in &mut select.filter {
        if let Condition::Any(branches) | Condition::None(branches) = condition {
            branches.iter_mut().for_each(sets);
        }
    }
    let shown = select.output.iter().find_map(|expr| expr.alias());
    // An index serves a caller's table, and none of ours.
    let indexed = select.from.iter().rfind(|from| matches!(from.kind, FromKind::Source(_)));
    let last = indexed.or(select.from.last()).map(|from| from.alias);
    if let Some(main) = shown.or(last) {
        set_tests(select, main);
    }
}
