//! Turns joins into tests of sets, for a database that plans those better.
//!
//! In: the selects of a list, in which one source holds the answer and others lead to it. Out: the same
//! rows, with `answer.column in (select …)` where the others are tied to the answer by one equality alone.
//! PostgreSQL evaluates such a select once, takes its size for small, and then looks the answer up by an
//! index; a join over a recursive table it takes for ten times its base, and scans whole tables.
//!
//! ```text
//! t1(r) ⋈ t2(r, f) ⋈ answer(f, i)   ─▶   answer.f in (t2.f where t2.r in (t1.r))
//! ```

use crate::algebra::groups::{Group, groups};
use crate::algebra::{Condition, From, FromKind, Plan, Select, TableBody};
use crate::ir::CompareOp;

/// Rewrites the alternatives of a list, its tables and what its fixpoints start from.
pub(super) fn in_list(plan: &mut Plan) {
    in_tables(plan);
    plan.answer.selects_mut().iter_mut().for_each(to_set);
}

/// Rewrites the tables of a list and what its fixpoints start from. Steps stay: their rows are those of the
/// step before, which are few.
pub(super) fn in_tables(plan: &mut Plan) {
    for table in &mut plan.tables {
        match &mut table.body {
            TableBody::Union(selects) | TableBody::Recursive { base: selects, .. } => {
                selects.iter_mut().for_each(to_set);
            }
            TableBody::WholeState { .. } => {}
        }
    }
}

/// Rewrites the alternatives of a check or of what may be done, and its tables.
pub(super) fn in_check(plan: &mut Plan) {
    plan.answer.selects_mut().iter_mut().for_each(lead);
    for table in &mut plan.tables {
        // What a fixpoint starts from stays joined: of a set the database does not know how small it is.
        if let TableBody::Union(selects) = &mut table.body {
            selects.iter_mut().for_each(lead);
        }
    }
}

/// Makes sets of what leads to the source that a select shows, or of what leads to its last one.
fn lead(select: &mut Select) {
    for condition in &mut select.filter {
        if let Condition::Any(branches) | Condition::None(branches) = condition {
            branches.iter_mut().for_each(lead);
        }
    }
    let shown = select.output.iter().find_map(|expr| expr.alias());
    // The caller's tables have indexes; common table expressions have none.
    let indexed = select.from.iter().rfind(|from| matches!(from.kind, FromKind::Source(_)));
    let last = indexed.or(select.from.last()).map(|from| from.alias);
    if let Some(main) = shown.or(last) {
        set_tests(select, main);
    }
}

fn to_set(select: &mut Select) {
    if let Some(main) = select.output.first().and_then(|expr| expr.alias()) {
        set_tests(select, main);
    }
}

/// Rewrites the sources that only lead to `main`.
pub(crate) fn set_tests(select: &mut Select, main: usize) {
    if select.output.iter().any(|expr| expr.alias().is_some_and(|alias| alias != main)) {
        return;
    }
    let (groups, own) = groups(select, main);
    select.from.retain(|from| from.alias == main);
    select.filter = own;
    for group in groups {
        put(group, select, main);
    }
}

/// Puts a group into the select: as a test of a set, as a test of existence, or as it was.
fn put(group: Group, select: &mut Select, main: usize) {
    let Group { from, links, inner } = group;
    match links.as_slice() {
        [] => {
            let branch = Select { from, filter: inner, output: Vec::new() };
            select.filter.push(Condition::Any(vec![branch]));
        }
        [Condition::Compare { op: CompareOp::Equal, left, right }]
            if !matches!(from.as_slice(), [From { kind: FromKind::Embedded(_), .. }]) =>
        {
            let (own, other) = if left.alias() == Some(main) { (*left, *right) } else { (*right, *left) };
            let mut set = Select { from, filter: inner, output: vec![other] };
            if let Some(alias) = other.alias() {
                set_tests(&mut set, alias);
            }
            select.filter.push(Condition::In { expr: own, selects: vec![set] });
        }
        _ => {
            select.from.extend(from);
            select.filter.extend(links);
            select.filter.extend(inner);
        }
    }
}
