//! Splits alternatives on a row into a half that indexes answer completely, and one by which each row that
//! they find is tested.
//!
//! PostgreSQL finds the rows of `a or (b and c)` by the indexes of `a` and `b`. As no index answers `c`,
//! it then compares each of these rows with the whole condition again, and so searches the arrays of `a`
//! and `b` from end to end. So the condition is split:
//!
//! ```text
//! a or (b and c)   ─▶   (a or c) and (a or b)
//! ```
//!
//! PostgreSQL does not compare the second half again, because indexes answer all of it. The sets of the
//! first half are hashed. It comes first because where PostgreSQL finds the rows in another way, such as
//! in the order of a page, it compares each row with both halves, in this order unless their estimated
//! costs differ.
//!
//! Where all alternatives have the same conditions that no index answers, the first half needs no sets:
//!
//! ```text
//! a or (b and c) or (d and c)   ─▶   (a or c) and (a or b or d)
//! ```
//!
//! Of several sets in one alternative, only that of the row's key finds rows: the fewest, by PostgreSQL's
//! estimate. The others are hashed, too. So are all conditions of an alternative that indexes answer but one:
//! that with the fewest look-ups, and of texts only if there is no other.

use crate::algebra::aliases::{TakenAliases, free_aliases, renumber};
use crate::algebra::anchor::Anchors;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Select, SetUse};
use indexmap::IndexMap;

/// Splits the alternatives of a filter, and those inside them, and hashes the sets that only test rows.
/// `beside` is an alternative that the filter has by itself; returns whether it is part of the halves now.
pub(super) fn split(rows: &mut Vec<Select>, beside: Option<Select>, anchors: &Anchors<'_>) -> bool {
    let mut halving = Halving { anchors, implied: IndexMap::new() };
    rows.iter_mut().for_each(|row| halving.split_inside(row, &[]));
    let has_beside = beside.is_some();
    let all: Vec<Select> = beside.into_iter().chain(rows.iter().cloned()).collect();
    let halves = halving.halves(&all, &[]);
    let is_split = halves.is_some();
    if let Some(halves) = halves {
        let filter = halves.map(Condition::Any).into();
        *rows = vec![Select { filter, ..Select::default() }];
    }
    rows.iter_mut().for_each(|row| hash_sets(row, anchors));
    is_split && has_beside
}

/// The splitting of one filter.
struct Halving<'a> {
    anchors: &'a Anchors<'a>,
    /// Halves that indexes answer, each with the other half, which implies it.
    implied: IndexMap<Condition, Condition>,
}

impl Halving<'_> {
    /// Splits what is inside an alternative; the sources `outside` are around it.
    fn split_inside(&mut self, row: &mut Select, outside: &[From]) {
        let sources: Vec<From> = outside.iter().chain(&row.from).copied().collect();
        let mut filter = Vec::with_capacity(row.filter.len());
        for condition in std::mem::take(&mut row.filter) {
            match condition {
                Condition::Any(mut branches) if branches.iter().all(Select::reads_nothing) => {
                    branches.iter_mut().for_each(|branch| self.split_inside(branch, &sources));
                    match self.halves(&branches, &sources) {
                        Some(halves) => filter.extend(halves.map(Condition::Any)),
                        None => filter.push(Condition::Any(branches)),
                    }
                }
                other => filter.push(other),
            }
        }
        row.filter = filter;
    }

    /// The half that tests rows and the half that indexes answer; `None` if the rows need not be compared
    /// again, or if that searches no array.
    fn halves(&mut self, branches: &[Select], outside: &[From]) -> Option<[Vec<Select>; 2]> {
        let arms: Vec<Arm> =
            branches.iter().map(|branch| Arm::of(branch, outside, self.anchors)).collect::<Option<_>>()?;
        let mut conditions: Vec<Select> =
            arms.iter().filter(|arm| !arm.is_found()).map(|arm| arm.others.clone()).collect();
        conditions.iter_mut().for_each(|others| renumber(others, &mut TakenAliases::with_canonical()));
        let (first, rest) = conditions.split_first()?;
        if arms.len() < 2 || !arms.iter().any(Arm::searches_array) {
            return None;
        }
        let differ = rest.iter().any(|others| others != first);
        let mut left = if differ { conditions.len() } else { 1 };
        let mut tested = Vec::new();
        for arm in &arms {
            if arm.is_found() || left > 0 {
                left -= usize::from(!arm.is_found());
                tested.push(arm.tested(differ, &self.implied));
            }
        }
        tested.sort_by_key(|select| select.filter.iter().map(cost).max());
        let found: Vec<Select> = arms.into_iter().map(|arm| arm.found).collect();
        if differ {
            self.implied.insert(Condition::Any(found.clone()), Condition::Any(tested.clone()));
        }
        Some([tested, found])
    }
}

/// An alternative, by what finds its rows.
struct Arm {
    /// The condition that an index answers, with the sources that it reads.
    found: Select,
    /// The others. A bound query that shows the row has conditions, too.
    others: Select,
}

impl Arm {
    /// `None` if no index answers a condition. Of several, the one with the fewest look-ups finds the rows,
    /// and not one of texts if there is another. The rest only test them.
    fn of(select: &Select, outside: &[From], anchors: &Anchors<'_>) -> Option<Self> {
        let sources: Vec<From> = outside.iter().chain(&select.from).copied().collect();
        let mut filter = select.filter.clone();
        test_beside_key(&mut filter, &sources);
        let (mut indexed, mut others): (Vec<Condition>, Vec<Condition>) =
            filter.into_iter().partition(|condition| anchors.is_indexed(condition, &sources));
        let look_ups = indexed.iter().map(|condition| LookUps::of(condition, &sources, anchors));
        let (_, best) = look_ups.zip(0..).min()?;
        let condition = indexed.remove(best);
        others.extend(indexed.into_iter().map(tested));
        let read = free_aliases(&condition);
        let is_read = |from: &&From| read.contains(&from.alias);
        let (from, tested): (Vec<From>, Vec<From>) = select.from.iter().partition(is_read);
        let others_read: Vec<Alias> = others.iter().flat_map(free_aliases).collect();
        let tested =
            tested.into_iter().chain(from.iter().copied().filter(|from| others_read.contains(&from.alias)));
        let others = Select { from: tested.collect(), filter: others, ..Select::default() };
        select
            .reads_nothing()
            .then_some(Self { found: Select { from, filter: vec![condition], ..Select::default() }, others })
    }

    /// Whether an index answers the whole alternative.
    fn is_found(&self) -> bool {
        self.others.is_unit()
    }

    /// The alternative as a test of one row. Unless alternatives `differ` in the conditions that no index
    /// answers, the indexed one is left out: a row that passes no other alternative was found by it, or by
    /// one with the same conditions. So is one that the others imply.
    fn tested(&self, differ: bool, implied: &IndexMap<Condition, Condition>) -> Select {
        let mut both = self.others.clone();
        let is_implied =
            self.found.filter.iter().all(|condition| {
                implied.get(condition).is_some_and(|other| self.others.filter.contains(other))
            });
        if self.is_found() || differ && !is_implied {
            both.from.extend(self.found.from.iter().filter(|from| !self.others.from.contains(from)));
            both.filter.extend(self.found.filter.iter().cloned().map(tested));
        }
        both
    }

    fn searches_array(&self) -> bool {
        let is_set = |condition: &Condition| {
            !matches!(
                condition,
                Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. }
            )
        };
        self.found.filter.iter().any(is_set)
    }
}

/// The order of conditions that a row is tested by: a comparison costs least, a query most.
pub(super) fn cost(condition: &Condition) -> usize {
    let of_branch = |branch: &Select| {
        if branch.reads_nothing() { branch.filter.iter().map(cost).max().unwrap_or(0) } else { 2 }
    };
    match condition {
        Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. } => 0,
        Condition::In { .. } => 1,
        Condition::Any(branches) | Condition::None(branches) => {
            branches.iter().map(of_branch).max().unwrap_or(0)
        }
    }
}

/// Uses the other sets of a row only as tests if one set finds the row by its key.
fn test_beside_key(filter: &mut [Condition], sources: &[From]) {
    if let Some(key) = filter.iter().position(|condition| finds_key(condition, sources)) {
        let sets = filter.iter_mut().enumerate().filter(|(index, _)| *index != key);
        for (_, condition) in sets {
            if let Condition::In { used, .. } = condition {
                *used = SetUse::ToTest;
            }
        }
    }
}

/// How an index finds the rows for which a condition holds. The less, the better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct LookUps {
    /// Whether some are of values that many rows share, such as a text.
    are_wide: bool,
    /// How many there are.
    count: usize,
}

impl LookUps {
    fn of(condition: &Condition, from: &[From], anchors: &Anchors<'_>) -> Self {
        match condition {
            Condition::Any(branches) => {
                let all = branches.iter().map(|branch| {
                    let from: Vec<From> = from.iter().chain(&branch.from).copied().collect();
                    let indexed = branch.filter.iter().filter(|inner| anchors.is_indexed(inner, &from));
                    indexed.map(|inner| Self::of(inner, &from, anchors)).min().unwrap_or_default()
                });
                all.fold(Self::default(), |sum, branch| Self {
                    are_wide: sum.are_wide || branch.are_wide,
                    count: sum.count + branch.count,
                })
            }
            Condition::In { expr, .. } => Self { are_wide: !anchors.names_thing(*expr, from), count: 1 },
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. }
            | Condition::None(_) => Self { are_wide: false, count: 1 },
        }
    }
}

/// Whether a condition finds the key of one of these sources in a set.
fn finds_key(condition: &Condition, sources: &[From]) -> bool {
    let Condition::In { expr, used: SetUse::ToFind, .. } = condition else { return false };
    match *expr {
        Expr::Given(_) => true,
        Expr::Column { alias, column } => sources.iter().any(|from| match from.kind {
            FromKind::Row { key, .. } | FromKind::Again { key, .. } => from.alias == alias && key == column,
            FromKind::Source(_) | FromKind::Table(_) | FromKind::Values(_) | FromKind::Embedded(_) => false,
        }),
        Expr::Const(_)
        | Expr::Now
        | Expr::Tag(_)
        | Expr::Filler
        | Expr::TypeName(_)
        | Expr::Unconstrained => false,
    }
}

/// Hashes the sets that only test rows, which another condition finds: those beside a set of keys, and those
/// of alternatives that no index answers. An array would be searched from end to end for each row.
fn hash_sets(row: &mut Select, anchors: &Anchors<'_>) {
    let Select { from, filter, .. } = row;
    test_beside_key(filter, from);
    for condition in filter {
        if matches!(condition, Condition::Any(branches) if branches.iter().all(Select::reads_nothing))
            && !anchors.is_indexed(condition, from)
        {
            *condition = tested(std::mem::replace(condition, Condition::Any(Vec::new())));
        }
    }
}

/// The condition with its sets hashed.
fn tested(mut condition: Condition) -> Condition {
    match &mut condition {
        Condition::In { used, .. } => *used = SetUse::ToTest,
        Condition::Any(branches) => {
            for branch in branches {
                branch.filter = std::mem::take(&mut branch.filter).into_iter().map(tested).collect();
            }
        }
        Condition::Compare { .. }
        | Condition::OneOf { .. }
        | Condition::Meets { .. }
        | Condition::None(_) => {}
    }
    condition
}
