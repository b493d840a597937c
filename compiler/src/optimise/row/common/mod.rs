//! Evaluates conditions on the row that alternatives of a filter share once, before them.
//!
//! ```text
//! (row.owner != u and a) or (row.owner != u and b)   ─▶   row.owner != u and (a or b)
//! ```
//!
//! A denial before the alternatives is an anti-join. Inside them it is tested for each row by itself, and
//! PostgreSQL assumes that each such test holds for half of the rows.
//!
//! Sets and choices that only some alternatives share are factored out of those. *Agents of the ticket's
//! brand or group, if they are senior or the ticket is plain; and its assignee* comes multiplied out:
//!
//! ```text
//! row.b in s and senior or row.b in s and plain or row.g in t and senior or row.g in t and plain or c
//!     ─▶   (row.b in s and (senior or plain)) or (row.g in t and (senior or plain)) or c
//!     ─▶   ((row.b in s or row.g in t) and (senior or plain)) or c
//! ```
//!
//! What holds around alternatives is not asked inside them, and alternatives of which one asks nothing else
//! are left out:
//!
//! ```text
//! row.owner = u and (row.owner = u or b)   ─▶   row.owner = u
//! ```

mod normal;
mod shown;

pub(super) use normal::{Normal, by_shown_rows};

use super::rows_of;
use super::sets::rank;
use crate::algebra::aliases::{TakenAliases, mentioned, rename, renumber_inside};
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Select};
use shown::{
    see_around, see_rows_in_choices, see_rows_in_denials, show_rows_in_choices, show_rows_in_denials,
};

/// Takes what alternatives of a filter have in common out of them.
pub(in super::super) fn take_out(answer: &mut Vec<Select>) {
    let mut taken = TakenAliases::of(answer.iter());
    let mut all = Select { filter: vec![Condition::Any(std::mem::take(answer))], ..Select::default() };
    in_select(&mut all, &HoldsAround::default(), &mut taken);
    see_rows_in_denials(&mut all, &[]);
    *answer = match (all.from.as_slice(), all.filter.as_mut_slice()) {
        ([], [Condition::Any(alternatives)]) => std::mem::take(alternatives),
        _ => vec![all],
    };
}

/// What surrounds a select.
#[derive(Clone, Default)]
struct HoldsAround {
    /// The sources that expose the row.
    rows: Vec<From>,
    /// The conditions that hold.
    hold: Vec<Normal>,
    /// All sources: a test of the row's container has alternatives about the container.
    sources: Vec<Alias>,
}

impl HoldsAround {
    /// The same without a choice, which does not hold around its own branches.
    fn without(&self, choice: &Condition) -> Self {
        let own = by_shown_rows(choice, &self.rows);
        let mut around = self.clone();
        around.hold.retain(|known| *known != own);
        around
    }

    /// Whether a condition mentions a source around it, or one of `rows`, which show the row.
    fn has_subject_of(&self, condition: &Condition, rows: &[From]) -> bool {
        let is_around =
            |alias: &Alias| self.sources.contains(alias) || rows.iter().any(|row| row.alias == *alias);
        asks_row(condition) || mentioned(condition).iter().any(is_around)
    }
}

/// Takes out of each test of several alternatives what they have in common.
fn in_select(select: &mut Select, around: &HoldsAround, taken: &mut TakenAliases) {
    let outside = around.rows.as_slice();
    see_around(select, outside);
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
    show_rows_in_denials(select, &rows);
    let hold = ask_once(select, &rows, &around.hold);
    let own = select.from.iter().map(|from| from.alias);
    let sources = around.sources.iter().copied().chain(own).collect();
    let inside = HoldsAround { rows, hold, sources };
    let mut found = Vec::new();
    select.filter.retain_mut(|condition| {
        let inside = match condition {
            Condition::Any(_) => inside.without(condition),
            _ => return true,
        };
        let Condition::Any(branches) = condition else { return true };
        branches.iter_mut().for_each(|branch| in_select(branch, &inside, taken));
        if branches.iter().all(Select::reads_nothing) {
            share(branches, &inside, taken);
            found.extend(common(branches, &inside));
            branches.iter_mut().for_each(|branch| show_rows_in_choices(branch, taken));
            found.extend(common(branches, &inside));
        }
        // What is left of an alternative that asked nothing else always holds.
        !branches.iter().any(Select::is_unit)
    });
    let has_found = !found.is_empty();
    for (shown, condition) in found {
        add(select, shown, condition, outside, taken);
    }
    // The row may be shown around the alternatives only now.
    see_rows_in_choices(select, outside);
    if has_found {
        let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
        ask_once(select, &rows, &around.hold);
        select.filter.sort_by_key(|condition| rank(condition, &rows));
    }
}

/// Makes one alternative of those that have a set or a choice in common which is about the row, or about the
/// container that a test reads, and takes that out of them. What all of them have in common is taken out by
/// the caller.
fn share(branches: &mut Vec<Select>, around: &HoldsAround, taken: &mut TakenAliases) {
    while let Some(fewer) = grouped(branches, around, taken) {
        *branches = fewer;
        branches.iter_mut().for_each(|branch| in_select(branch, around, taken));
    }
}

/// The alternatives with some of them made one: those that share a condition as it is, or else with choices
/// that show the row themselves. `None` if there are no such alternatives, or if all share it.
fn grouped(branches: &[Select], around: &HoldsAround, taken: &mut TakenAliases) -> Option<Vec<Select>> {
    let group = |mut all: Vec<Select>| {
        group_by(&mut all, &around.rows, |condition, rows| {
            let is_shared = matches!(condition, Condition::In { .. } | Condition::Any(_));
            is_shared && around.has_subject_of(condition, rows)
        });
        (all.len() < branches.len() && all.len() > 1).then_some(all)
    };
    group(branches.to_vec()).or_else(|| {
        let mut shown = branches.to_vec();
        shown.iter_mut().for_each(|branch| show_rows_in_choices(branch, taken));
        group(shown)
    })
}

/// Makes one alternative of those that look a value up in the same set, so that they have it in common.
pub(super) fn group_by_sets(selects: &mut Vec<Select>) {
    group_by(selects, &[], |condition, _| matches!(condition, Condition::In { .. }));
}

/// Makes one alternative of those that have a condition of this kind in common; the rows `outside` are shown
/// around them.
fn group_by(selects: &mut Vec<Select>, outside: &[From], is_of_kind: impl Fn(&Condition, &[From]) -> bool) {
    let of_kind = |select: &Select| -> Vec<Normal> {
        let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
        let conditions = select.filter.iter().filter(|condition| is_of_kind(condition, &rows));
        conditions.map(|condition| by_shown_rows(condition, &rows)).collect()
    };
    let mut rest: Vec<(Vec<Normal>, Select)> =
        std::mem::take(selects).into_iter().map(|select| (of_kind(&select), select)).collect();
    while !rest.is_empty() {
        let (own, first) = rest.remove(0);
        let is_shared = |condition: &&Normal| rest.iter().any(|(other, _)| other.contains(condition));
        let Some(shared) = own.iter().find(is_shared) else {
            selects.push(first);
            continue;
        };
        let (with, without) = rest.into_iter().partition(|(other, _)| other.contains(shared));
        rest = without;
        let with: Vec<(Vec<Normal>, Select)> = with;
        let branches = std::iter::once(first).chain(with.into_iter().map(|(_, select)| select)).collect();
        selects.push(Select { filter: vec![Condition::Any(branches)], ..Select::default() });
    }
}

/// Drops a condition that holds around the select or that it has already; returns all that hold then.
fn ask_once(select: &mut Select, rows: &[From], around: &[Normal]) -> Vec<Normal> {
    let mut hold = around.to_vec();
    select.filter.retain(|condition| {
        let normal = by_shown_rows(condition, rows);
        let is_new = !hold.contains(&normal);
        if is_new {
            hold.push(normal);
        }
        is_new
    });
    hold
}

/// Takes the conditions on the row that all alternatives have out of them. Each comes with the sources of the
/// row that it mentions. Conditions that depend on no row are taken out with them: the filter tests those
/// once, before any row (see [`crate::local`]), but does not look for them inside alternatives.
fn common(branches: &mut [Select], around: &HoldsAround) -> Vec<(Vec<From>, Condition)> {
    let Some((first, others)) = branches.split_first() else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    let of_branch = |branch: &Select| -> Vec<Normal> {
        let rows: Vec<From> = rows_of(&branch.from).collect();
        branch.filter.iter().map(|condition| by_shown_rows(condition, &rows)).collect()
    };
    let others: Vec<_> = others.iter().map(of_branch).collect();
    let rows: Vec<From> = rows_of(&first.from).collect();
    let shared = |normal: &Normal| others.iter().all(|other| other.contains(normal));
    let is_own = |alias: &Alias| first.from.iter().any(|from| from.alias == *alias);
    let is_row = |alias: &Alias| rows.iter().any(|row| row.alias == *alias);
    let mut found = Vec::new();
    let mut normals = Vec::new();
    let mut has_subject = false;
    for (condition, normal) in first.filter.iter().zip(of_branch(first)) {
        let mentioned = mentioned(condition);
        if shared(&normal) && mentioned.iter().all(|alias| is_row(alias) || !is_own(alias)) {
            has_subject |= around.has_subject_of(condition, &rows);
            let shown = rows.iter().copied().filter(|row| mentioned.contains(&row.alias)).collect();
            found.push((shown, condition.clone()));
            normals.push(normal);
        }
    }
    if !has_subject {
        return Vec::new();
    }
    for branch in branches {
        let rows: Vec<From> = rows_of(&branch.from).collect();
        branch.filter.retain(|condition| !normals.contains(&by_shown_rows(condition, &rows)));
    }
    found
}

/// Whether a condition mentions the filter's column, or shows the row itself.
fn asks_row(condition: &Condition) -> bool {
    let mut found = false;
    condition.for_each_expr(&mut |expr| found |= matches!(expr, Expr::Given(_)));
    for branch in condition.branches() {
        branch.for_each_source(&mut |from| found |= matches!(from.kind, FromKind::Row { .. }));
    }
    found
}

/// Adds a condition that alternatives had in common to the select around them, with the sources that it
/// needs.
fn add(
    select: &mut Select,
    shown: Vec<From>,
    mut condition: Condition,
    outside: &[From],
    taken: &mut TakenAliases,
) {
    renumber_inside(&mut condition, taken);
    for row in shown {
        let known = outside.iter().copied().chain(rows_of(&select.from)).find(|from| from.kind == row.kind);
        let alias = known.map_or_else(
            || {
                let alias = taken.take();
                select.from.push(From { alias, kind: row.kind });
                alias
            },
            |known| known.alias,
        );
        let mut renamed = Select { filter: vec![condition], ..Select::default() };
        rename(&mut renamed, row.alias, alias);
        condition = renamed.filter.swap_remove(0);
    }
    select.filter.push(condition);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::SetUse;
    use crate::algebra::sample::{column, equal, literal, read, source};
    use crate::catalog::{ColumnId, SourceId};

    /// A source that shows the row as a bound query does.
    fn row(source: usize) -> FromKind {
        FromKind::Row { source: SourceId::from_index(source), key: ColumnId::FIRST }
    }

    /// That the row's column is in a set that the bound query `set` lists.
    fn looked_up(alias: usize, shown: usize, set: usize) -> Select {
        let listed = read(&[(alias + 1, source(set))], Vec::new(), vec![column(alias + 1, 0)]);
        let is_in = Condition::In { expr: column(alias, 1), selects: vec![listed], used: SetUse::ToFind };
        read(&[(alias, row(shown))], vec![is_in], Vec::new())
    }

    fn factored(mut alternatives: Vec<Select>) -> Vec<Select> {
        take_out(&mut alternatives);
        alternatives
    }

    /// Whether the user is senior, or the row is plain; the alias is that of a source that shows the row.
    fn senior() -> Condition {
        equal(Expr::Now, literal(0))
    }

    fn plain(alias: usize) -> Condition {
        equal(column(alias, 2), literal(1))
    }

    /// A look-up in a set for each branch of the choice, as rules multiply it out.
    fn multiplied(alias: usize, set: usize) -> [Select; 2] {
        let under = |alias: usize, condition: Condition| {
            let mut select = looked_up(alias, 0, set);
            select.filter.push(condition);
            select
        };
        [under(alias, senior()), under(alias + 2, plain(alias + 2))]
    }

    #[test]
    fn some_alternatives_share_sets_and_then_a_choice() {
        let own = read(&[(20, row(1))], vec![equal(column(20, 1), literal(2))], Vec::new());
        let alternatives = [multiplied(1, 7).to_vec(), multiplied(5, 8).to_vec(), vec![own.clone()]].concat();
        let after = factored(alternatives);
        let [shared, rest] = after.as_slice() else { panic!("{after:?}") };
        assert_eq!(*rest, own);
        let choices: Vec<&[Select]> = shared.filter.iter().map(Condition::branches).collect();
        let [one, other] = choices.as_slice() else { panic!("{shared:?}") };
        assert_eq!((one.len(), other.len()), (2, 2));
        let sets = |branches: &[Select]| {
            branches
                .iter()
                .flat_map(|branch| &branch.filter)
                .filter(|condition| matches!(condition, Condition::In { .. }))
                .count()
        };
        assert_eq!(sets(one) + sets(other), 2, "each set is looked up once: {shared:?}");
    }

    /// It looks like its only branch, and must not be left out as what holds around that.
    #[test]
    fn a_choice_of_one_branch_stays() {
        let asked = |alternatives: Vec<Select>| {
            let mut n = 0;
            let filter = vec![Condition::Any(factored(alternatives))];
            let all = Select { filter, ..Select::default() };
            all.for_each_source(&mut |from| n += usize::from(from.kind == source(7)));
            n
        };
        assert_eq!(asked(vec![looked_up(1, 0, 7)]), 1);
        let choice =
            |alternatives| Select { filter: vec![Condition::Any(alternatives)], ..Select::default() };
        assert_eq!(asked(vec![choice(vec![choice(vec![looked_up(1, 0, 7)])])]), 1);
        let none = choice(Vec::new());
        assert_eq!(asked(vec![choice(vec![looked_up(1, 0, 7), none])]), 1);
    }

    /// Both show the row as what was taken out of them does, and one asks nothing else.
    #[test]
    fn an_alternative_that_asks_nothing_else_leaves_out_the_others() {
        let [senior, _] = multiplied(1, 7);
        let after = factored(vec![senior, looked_up(5, 0, 7)]);
        let [Select { filter, .. }] = after.as_slice() else { panic!("{after:?}") };
        assert!(matches!(filter.as_slice(), [Condition::In { .. }]), "{filter:?}");
    }
}
