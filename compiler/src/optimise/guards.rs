//! Conditions that several alternatives have and that depend on no row: asked once, before the alternatives.
//!
//! ```text
//! (not banned and a) or (not banned and b) or c   ─▶   (not banned and (a or b)) or c
//! ```
//!
//! Sources that an alternative reads without showing anything of them are such a condition, too, if nothing
//! ties them to the others: that there are such rows.

use crate::algebra::aliases::{free_aliases, number_aliases};
use crate::algebra::groups::{Group, around};
use crate::algebra::{Condition, Expr, Plan, PlanAnswer, Select};
use crate::id_vec::IdVec;
use indexmap::{IndexMap, IndexSet};

/// Takes out what all alternatives of an answer share and what does not depend on the rows that they show.
/// The answer has no duplicates, so a source may become a test.
pub(super) fn take_common_of_answer(selects: &mut [Select]) -> Vec<Condition> {
    let mut common = take_common_sources(selects);
    common.append(&mut take_common(selects));
    common
}

/// Takes out the sources, with the conditions on them, that all of several alternatives read and none
/// exposes.
fn take_common_sources(selects: &mut [Select]) -> Vec<Condition> {
    let all: Vec<IndexMap<Condition, Group>> = selects.iter().map(unshown).collect();
    let Some((first, others)) = all.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    let is_common = |test: &&Condition| others.iter().all(|other| other.contains_key(*test));
    let common: Vec<Condition> = first.keys().filter(is_common).cloned().collect();
    for (select, mut groups) in selects.iter_mut().zip(all) {
        groups.retain(|test, _| common.contains(test));
        for group in groups.into_values() {
            select.from.retain(|from| !group.from.contains(from));
            select.filter.retain(|condition| !group.inner.contains(condition));
        }
    }
    common
}

/// The sources that an alternative reads and does not show, by the test that there are such rows.
fn unshown(select: &Select) -> IndexMap<Condition, Group> {
    let is_shown = |expr: Expr| select.output.iter().any(|shown| shown.alias() == expr.alias());
    let groups = around(select, &|expr| expr.alias().is_some() && is_shown(expr)).groups.into_iter();
    let tested = groups.filter(|group| group.links.is_empty()).filter_map(|group| {
        let rows = Select { from: group.from.clone(), filter: group.inner.clone(), output: IdVec::new() };
        Some((self_contained(&Condition::Any(vec![rows]))?, group))
    });
    tested.collect()
}

/// Takes out of the selects the conditions of all of them that depend on no row.
pub(crate) fn take_common(selects: &mut [Select]) -> Vec<Condition> {
    let Some((first, others)) = selects.split_first() else { return Vec::new() };
    if others.is_empty() && first.from.is_empty() {
        return Vec::new();
    }
    let has = |select: &Select, wanted: &Condition| {
        select.filter.iter().any(|condition| self_contained(condition).as_ref() == Some(wanted))
    };
    let closed = first.filter.iter().filter_map(self_contained);
    let common: Vec<Condition> =
        closed.filter(|condition| others.iter().all(|other| has(other, condition))).collect();
    for select in selects {
        select.filter.retain(|condition| self_contained(condition).is_none_or(|own| !common.contains(&own)));
    }
    common
}

/// A condition that depends on nothing around it, with its sources numbered from one.
fn self_contained(condition: &Condition) -> Option<Condition> {
    free_aliases(condition).is_empty().then(|| {
        let mut select = Select { filter: vec![condition.clone()], ..Select::default() };
        number_aliases([&mut select]);
        select.filter.remove(0)
    })
}

/// How many conditions are taken out of one decision, one inside the other: each compares all alternatives.
const MOST_GUARDS: usize = 8;

/// Asks what alternatives of a decision have in common before them, the most common first.
pub(super) fn factor_decision(plan: &mut Plan) {
    if let PlanAnswer::Decision(selects) = &mut plan.answer {
        let alternatives = std::mem::take(selects).into_iter().map(Guarded::new).collect();
        *selects = factor(alternatives, MOST_GUARDS);
    }
}

/// A select, and its conditions that depend on no row.
struct Guarded {
    select: Select,
    closed: IndexSet<Condition>,
}

impl Guarded {
    fn new(select: Select) -> Self {
        let closed = select.filter.iter().filter_map(self_contained).collect();
        Self { select, closed }
    }

    fn without(mut self, guard: &Condition) -> Self {
        self.closed.shift_remove(guard);
        self.select.filter.retain(|condition| self_contained(condition).as_ref() != Some(guard));
        self
    }
}

/// Factors out the most common condition, at the position of the first alternative that has it, and then the
/// next one, at most `most` times.
fn factor(alternatives: Vec<Guarded>, most: usize) -> Vec<Select> {
    let Some((place, guard)) = most_common(&alternatives).filter(|_| most > 0) else {
        return alternatives.into_iter().map(|alternative| alternative.select).collect();
    };
    let has_guard = |alternative: &Guarded| alternative.closed.contains(&guard);
    let (guarded, mut others): (Vec<_>, Vec<_>) = alternatives.into_iter().partition(has_guard);
    let inner = factor(guarded.into_iter().map(|guarded| guarded.without(&guard)).collect(), most - 1);
    let mut filter = vec![guard];
    match inner.as_slice() {
        [only] if only.from.is_empty() => filter.extend(only.filter.iter().cloned()),
        several if several.iter().any(Select::is_unit) => {}
        _ => filter.push(Condition::Any(inner)),
    }
    // What is left of them may be a choice that other alternatives have.
    let asked = Select { from: Vec::new(), filter, output: IdVec::new() };
    others.insert(place, Guarded::new(asked));
    factor(others, most - 1)
}

/// The condition that most alternatives have, if it is more than one, and the place of the first of them.
fn most_common(alternatives: &[Guarded]) -> Option<(usize, Condition)> {
    let mut found: IndexMap<&Condition, (usize, usize)> = IndexMap::new();
    for (place, alternative) in alternatives.iter().enumerate() {
        for condition in &alternative.closed {
            let (_, count) = found.entry(condition).or_insert((place, 0));
            *count += 1;
        }
    }
    let most = found.values().map(|(_, count)| *count).max().filter(|most| *most > 1)?;
    let (condition, (place, _)) = found.into_iter().find(|(_, (_, count))| *count == most)?;
    Some((place, condition.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{column, equal, literal, reading, source};

    /// That the relation at this place has a row about the literal.
    fn has(alias: usize, place: usize) -> Select {
        let filter = vec![equal(column(alias, 0), literal(0))];
        Select { filter, ..reading(alias, source(place), Vec::new()) }
    }

    fn no(alias: usize, place: usize) -> Condition {
        Condition::None(vec![has(alias, place)])
    }

    /// Two alternatives have two denials. The third has one of them, and the other two as a choice.
    #[test]
    fn what_is_left_of_alternatives_is_a_choice_that_another_one_has() {
        let under = |mut select: Select, conditions: Vec<Condition>| {
            select.filter.extend(conditions);
            select
        };
        let choice = Condition::Any(vec![has(8, 3), has(9, 4)]);
        let alternatives = [
            under(has(1, 3), vec![no(2, 1), no(3, 2)]),
            under(has(4, 4), vec![no(2, 1), no(3, 2)]),
            under(has(5, 5), vec![no(6, 1), choice]),
        ];
        let after = factor(alternatives.into_iter().map(Guarded::new).collect(), MOST_GUARDS);
        let mut readings = 0;
        after.iter().for_each(|select| {
            select.for_each_source(&mut |from| readings += usize::from(from.kind == source(3)));
        });
        assert_eq!((after.len(), readings), (1, 1), "{after:?}");
    }
}
