//! The sources of a select that conditions connect, seen from one of them.

use super::aliases::mentioned;
use super::{Condition, From, Select};

/// Sources that conditions connect without the main one.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// The sources, in their order.
    pub(crate) from: Vec<From>,
    /// The conditions on the main source, too.
    pub(crate) links: Vec<Condition>,
    /// The others that mention one of the sources.
    pub(crate) inner: Vec<Condition>,
}

/// The groups around the source `main` of a select, in the order of their first sources, and the conditions
/// that mention none of them.
pub(crate) fn groups(select: &Select, main: usize) -> (Vec<Group>, Vec<Condition>) {
    let others = select.from.iter().filter(|from| from.alias != main);
    let mut groups: Vec<Group> = others.map(|from| Group { from: vec![*from], ..Group::default() }).collect();
    let mut own = Vec::new();
    for condition in &select.filter {
        let mentioned = mentioned(condition);
        let (touched, rest): (Vec<Group>, Vec<Group>) = groups
            .into_iter()
            .partition(|group| group.from.iter().any(|from| mentioned.contains(&from.alias)));
        groups = rest;
        if touched.is_empty() {
            own.push(condition.clone());
            continue;
        }
        let mut merged = Group::default();
        for group in touched {
            merged.from.extend(group.from);
            merged.links.extend(group.links);
            merged.inner.extend(group.inner);
        }
        let place = if mentioned.contains(&main) { &mut merged.links } else { &mut merged.inner };
        place.push(condition.clone());
        groups.push(merged);
    }
    let place = |from: &From| select.from.iter().position(|own| own.alias == from.alias);
    for group in &mut groups {
        group.from.sort_by_key(place);
    }
    groups.sort_by_key(|group| group.from.first().and_then(place));
    (groups, own)
}
