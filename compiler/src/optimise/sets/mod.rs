//! Turns joins into tests of sets, for a database that plans those better.
//!
//! In: the selects of a list, in which one source holds the answer and others lead to it. Out: the same
//! rows, with `answer.column in (select …)` where the others are tied to the answer by one equality alone.
//! PostgreSQL evaluates such a select once, estimates it as small, and then looks the answer up by an
//! index; it estimates a join over a recursive table at ten times its base, and scans whole tables.
//!
//! ```text
//! t1(r) ⋈ t2(r, f) ⋈ answer(f, i)   ─▶   answer.f in (t2.f where t2.r in (t1.r))
//! ```

#[cfg(test)]
mod tests;

use crate::algebra::anchor::Anchors;
use crate::algebra::groups::{Around, Group, groups};
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, Select, SetUse, TableBody};
use crate::catalog::Catalog;
use crate::id_vec::IdVec;
use crate::ir::CompareOp;

/// Rewrites the alternatives of an answer that lists values.
pub(super) fn in_answer(plan: &mut Plan, catalog: &Catalog) {
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors::new(catalog, tables);
    answer.selects_mut().iter_mut().for_each(|select| to_set(select, &anchors));
}

/// Rewrites a list over a store, with tests of existence instead of sets: the database then joins from either
/// side, and knows that each row is wanted once.
pub(super) fn for_store(plan: &mut Plan) {
    let bases = plan.tables.iter_mut().map(|table| match &mut table.body {
        TableBody::Union(selects) | TableBody::Recursive { base: selects, .. } => selects.as_mut_slice(),
        TableBody::WholeState { .. } => &mut [],
    });
    for select in bases.flatten().chain(plan.answer.selects_mut()) {
        if let Some(main) = select.output.first().and_then(|expr| expr.alias()) {
            set_tests(select, main, None);
        }
    }
}

/// Rewrites the tables of a list and what its fixpoints start from. Steps stay: their rows are those of the
/// step before, which are few.
pub(super) fn in_tables(plan: &mut Plan, catalog: &Catalog) {
    for index in 0..plan.tables.len() {
        let (before, rest) = plan.tables.split_at_mut(index);
        let anchors = Anchors::new(catalog, before);
        match rest.first_mut().map(|table| &mut table.body) {
            Some(TableBody::Union(selects)) => {
                selects.iter_mut().for_each(|select| to_set(select, &anchors));
            }
            Some(TableBody::Recursive { base, .. }) => {
                for select in base {
                    show_relations(select);
                    to_set(select, &anchors);
                }
            }
            Some(TableBody::WholeState { .. }) | None => {}
        }
    }
}

/// Rewrites the alternatives of a check or of what may be done, and its tables.
pub(super) fn for_check(plan: &mut Plan, catalog: &Catalog) {
    for index in 0..plan.tables.len() {
        let (before, rest) = plan.tables.split_at_mut(index);
        let anchors = Anchors::new(catalog, before);
        // What a fixpoint starts from stays joined: the database cannot estimate a set's size.
        if let Some(TableBody::Union(selects)) = rest.first_mut().map(|table| &mut table.body) {
            selects.iter_mut().for_each(|select| lead(select, &anchors));
        }
    }
    let Plan { tables, guard, answer } = plan;
    let anchors = Anchors::new(catalog, tables);
    answer.selects_mut().iter_mut().chain([guard]).for_each(|select| lead(select, &anchors));
}

/// Makes sets of what leads to the source that a select exposes, or of what leads to its last one.
fn lead(select: &mut Select, anchors: &Anchors<'_>) {
    for condition in &mut select.filter {
        if let Condition::Any(branches) | Condition::None(branches) = condition {
            branches.iter_mut().for_each(|branch| lead(branch, anchors));
        }
    }
    lead_to_last(select, anchors);
}

/// The same, but not for the selects inside it.
fn lead_to_last(select: &mut Select, anchors: &Anchors<'_>) {
    let shown = select.output.iter().find_map(|expr| expr.alias());
    // The caller's tables have indexes; common table expressions have none.
    let indexed = select.from.iter().rfind(|from| matches!(from.kind, FromKind::Source(_)));
    let last = indexed.or(select.from.last()).map(|from| from.alias);
    if let Some(main) = shown.or(last) {
        set_tests(select, main, Some(anchors));
    }
}

/// Rewrites the sources of a set that only lead to the source whose values it shows.
pub(super) fn to_set(select: &mut Select, anchors: &Anchors<'_>) {
    if let Some(main) = select.output.first().and_then(|expr| expr.alias()) {
        set_tests(select, main, Some(anchors));
    }
}

/// Rewrites the sources that only lead to `main`, which is the root of the row that it exposes.
/// Without `anchors`, nothing becomes a set.
pub(crate) fn set_tests(select: &mut Select, main: Alias, anchors: Option<&Anchors<'_>>) {
    let main = root(select, main);
    let Around { main: kept, own, groups } = groups(select, main);
    let is_kept = |alias: Alias| kept.iter().any(|from| from.alias == alias);
    if select.output.iter().any(|expr| expr.alias().is_some_and(|alias| !is_kept(alias))) {
        return;
    }
    select.from.clone_from(&kept);
    select.filter = own;
    for group in groups {
        put(group, select, &kept, anchors);
    }
}

/// Shows columns of relations instead of a table's columns that equal them, so that the table only leads to
/// the relations.
fn show_relations(select: &mut Select) {
    let is = |value: Expr, wanted: fn(&FromKind) -> bool| {
        select.from.iter().any(|from| value.alias() == Some(from.alias) && wanted(&from.kind))
    };
    let is_of_table = |value: Expr| is(value, |kind| matches!(kind, FromKind::Table(_)));
    let is_of_relation = |value: &Expr| is(*value, |kind| matches!(kind, FromKind::Source(_)));
    let shown = |value: &Expr| {
        if is_of_table(*value) { select.equal_to(*value).find(is_of_relation) } else { Some(*value) }
    };
    if let Some(output) = select.output.iter().map(shown).collect() {
        select.output = output;
    }
}

/// The source that reads the row which a source exposes.
fn root(select: &Select, alias: Alias) -> Alias {
    let kind = select.from.iter().find(|from| from.alias == alias).map(|from| from.kind);
    if let Some(FromKind::Again { row, .. }) = kind { row } else { alias }
}

/// Puts a group into the select: as a test of a set, as a test of existence, or as it was. A set that nothing
/// restricts is tested for the value at hand.
fn put(group: Group, select: &mut Select, kept: &[From], anchors: Option<&Anchors<'_>>) {
    let Group { from, links, inner } = group;
    match links.as_slice() {
        [] => {
            let mut branch = Select { from, filter: inner, output: IdVec::new() };
            let has_index = branch.from.iter().any(|from| matches!(from.kind, FromKind::Source(_)));
            if let Some(anchors) = anchors.filter(|_| has_index) {
                lead_to_last(&mut branch, anchors);
            }
            select.filter.push(Condition::Any(vec![branch]));
        }
        [Condition::Compare { op: CompareOp::Equal, left, right }]
            if !matches!(from.as_slice(), [From { kind: FromKind::Embedded(_), .. }]) =>
        {
            let is_kept = left.alias().is_some_and(|alias| kept.iter().any(|from| from.alias == alias));
            let (own, other) = if is_kept { (*left, *right) } else { (*right, *left) };
            let mut set = Select { from, filter: inner, output: vec![other].into() };
            if !anchors.is_some_and(|anchors| anchors.is_anchored(&set)) {
                let Select { from, mut filter, .. } = set;
                filter.extend(links);
                select.filter.push(Condition::Any(vec![Select { from, filter, output: IdVec::new() }]));
                return;
            }
            if let Some(alias) = other.alias() {
                set_tests(&mut set, alias, anchors);
            }
            select.filter.push(Condition::In { expr: own, selects: vec![set], used: SetUse::ToFind });
        }
        _ => {
            select.from.extend(from);
            select.filter.extend(links);
            select.filter.extend(inner);
        }
    }
}
