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

use crate::ir::CompareOp;
use crate::plan::algebra::{Condition, From, FromKind, Plan, Select, TableBody};
use indexmap::IndexSet;

/// Rewrites the alternatives of a list, its tables and what its fixpoints start from.
pub(super) fn to_sets(plan: &mut Plan) {
    tables_to_sets(plan);
    plan.answer.selects_mut().iter_mut().for_each(to_set);
}

/// Rewrites the tables of a list and what its fixpoints start from. Steps stay: their rows are those of the
/// step before, which are few.
pub(super) fn tables_to_sets(plan: &mut Plan) {
    for table in &mut plan.tables {
        match &mut table.body {
            TableBody::Union(selects) | TableBody::Recursive { base: selects, .. } => {
                selects.iter_mut().for_each(to_set);
            }
            TableBody::WholeState { .. } => {}
        }
    }
}

fn to_set(select: &mut Select) {
    if let Some(main) = select.output.first().and_then(|expr| expr.alias()) {
        set_tests(select, main);
    }
}

/// Rewrites the sources that only lead to `main`.
pub(super) fn set_tests(select: &mut Select, main: usize) {
    if select.output.iter().any(|expr| expr.alias().is_some_and(|alias| alias != main)) {
        return;
    }
    let sources = std::mem::take(&mut select.from);
    let (kept, others): (Vec<From>, Vec<From>) = sources.into_iter().partition(|from| from.alias == main);
    select.from = kept;
    let conditions = std::mem::take(&mut select.filter);
    let (mut groups, own) = groups(others, conditions, main);
    select.filter = own;
    for group in &mut groups {
        group.replace(select, main);
    }
}

/// Sources that conditions connect without `main`, and every condition that mentions one of them.
#[derive(Default)]
pub(super) struct Group {
    pub(super) from: Vec<From>,
    pub(super) filter: Vec<Condition>,
}

/// The groups of a select, in the order of their first sources, and the conditions on `main` alone.
pub(super) fn groups(
    others: Vec<From>,
    conditions: Vec<Condition>,
    main: usize,
) -> (Vec<Group>, Vec<Condition>) {
    let order: Vec<usize> = others.iter().map(|from| from.alias).collect();
    let mut groups: Vec<Group> =
        others.into_iter().map(|from| Group { from: vec![from], filter: Vec::new() }).collect();
    let mut own = Vec::new();
    for condition in conditions {
        let mentioned: Vec<usize> =
            mentioned(&condition).into_iter().filter(|alias| *alias != main).collect();
        let (touched, mut rest): (Vec<Group>, Vec<Group>) = groups
            .into_iter()
            .partition(|group| group.from.iter().any(|from| mentioned.contains(&from.alias)));
        if touched.is_empty() {
            own.push(condition);
        } else {
            let mut merged = Group::default();
            for group in touched {
                merged.from.extend(group.from);
                merged.filter.extend(group.filter);
            }
            merged.from.sort_by_key(|from| order.iter().position(|alias| *alias == from.alias));
            merged.filter.push(condition);
            rest.push(merged);
        }
        groups = rest;
    }
    groups.sort_by_key(|group| {
        let first = group.from.first().map(|from| from.alias);
        order.iter().position(|alias| Some(*alias) == first)
    });
    (groups, own)
}

impl Group {
    /// Puts the group into the select: as a test of a set, as a test of existence, or as it was.
    fn replace(&mut self, select: &mut Select, main: usize) {
        let (links, inner): (Vec<Condition>, Vec<Condition>) = std::mem::take(&mut self.filter)
            .into_iter()
            .partition(|condition| mentioned(condition).contains(&main));
        let from = std::mem::take(&mut self.from);
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
}

/// Every alias that a condition mentions, those of its branches' own sources included.
pub(super) fn mentioned(condition: &Condition) -> IndexSet<usize> {
    let mut aliases = IndexSet::new();
    condition.each_expr(&mut |expr| aliases.extend(expr.alias()));
    aliases
}
