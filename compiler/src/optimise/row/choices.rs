//! Factors out a choice that some alternatives have, and others have only a branch of.
//!
//! *A viewer, if the data set is open or the user may edit it*, where editors and owners are viewers:
//!
//! ```text
//! (row.w in viewed and open) or ((row.owner = u or row.w in edited) and (row.w in viewed or row.owner = u))
//!     ─▶   (open or row.owner = u or row.w in edited) and (row.w in viewed or row.owner = u)
//! ```
//!
//! Multiplied out for `open` alone, the alternatives had no choice in common that an index answers, and each
//! row was compared with every value of their sets. An alternative may ask for the whole choice instead of
//! its branch if, with each other branch, it meets all conditions of an alternative, which lets the row pass
//! anyway.

use super::common::{Normal, by_shown_rows, group_by_sets};
use super::rows_of;
use crate::algebra::aliases::free_aliases;
use crate::algebra::{Condition, From, FromKind, Select};

/// Makes one alternative of those that have a choice, or can ask for it instead of one of its branches.
pub(in super::super) fn factor_out(alternatives: &mut Vec<Select>) {
    let has_choice = |select: &Select| select.filter.iter().any(is_choice);
    while alternatives.len() > 1 && alternatives.iter().any(has_choice) {
        let known: Vec<RowConditions> =
            alternatives.iter().map(|select| RowConditions::of(select, &[])).collect();
        let mut places = alternatives.iter().enumerate().flat_map(|(at, select)| {
            let choices = select.filter.iter().enumerate().filter(|(_, condition)| is_choice(condition));
            choices.map(move |(place, _)| (at, place))
        });
        let Some(all) = places.find_map(|(at, place)| factored(alternatives, &known, at, place)) else {
            return;
        };
        *alternatives = all;
    }
}

/// Whether a condition is a choice between conditions on the row.
fn is_choice(condition: &Condition) -> bool {
    matches!(condition, Condition::Any(branches) if branches.len() > 1 && branches.iter().all(asks_row_alone))
}

/// Whether a select reads nothing but the row.
fn asks_row_alone(select: &Select) -> bool {
    select.from.iter().all(|from| matches!(from.kind, FromKind::Row { .. }))
}

/// The alternatives with this choice of the one at this place factored out; `None` if no other one can ask
/// for it.
fn factored(
    alternatives: &[Select],
    known: &[RowConditions],
    at: usize,
    place: usize,
) -> Option<Vec<Select>> {
    let choice = alternatives.get(at)?.filter.get(place)?;
    let asked = known.get(at)?;
    let (normal, branches) = (asked.conditions.get(place)?, asked.branches.get(place)?);
    if !free_aliases(choice).is_empty() {
        return None;
    }
    let (mut under, mut others, mut widens) = (Vec::new(), Vec::new(), false);
    for (select, asked) in alternatives.iter().zip(known) {
        let shared = asked.without(std::slice::from_ref(normal));
        let is_shared = shared.is_some();
        let widened = || branches.iter().find_map(|branch| asked.widened(branch, branches, known));
        let Some(rest) = shared.or_else(widened) else {
            others.push(select.clone());
            continue;
        };
        widens |= !is_shared;
        let kept = select.filter.iter().zip(&asked.conditions);
        let filter = kept.filter(|(_, normal)| rest.conditions.contains(normal)).map(|(own, _)| own.clone());
        under.push((Select { filter: filter.collect(), ..select.clone() }, rest));
    }
    let mut under = without_covered(under);
    let mut filter = vec![choice.clone()];
    group_by_sets(&mut under);
    if !under.iter().any(Select::is_unit) {
        filter.push(Condition::Any(under));
    }
    others.push(Select { filter, ..Select::default() });
    widens.then_some(others)
}

/// The alternatives without those that ask for all that another one does.
fn without_covered(mut alternatives: Vec<(Select, RowConditions)>) -> Vec<Select> {
    let mut kept: Vec<(Select, RowConditions)> = Vec::new();
    while let Some((select, asked)) = alternatives.pop() {
        let mut others = alternatives.iter().chain(&kept);
        if !others.any(|(_, other)| other.follows_from(&[&asked])) {
            kept.push((select, asked));
        }
    }
    kept.into_iter().rev().map(|(select, _)| select).collect()
}

/// What a select asks for.
#[derive(Clone)]
struct RowConditions {
    /// Whether it reads nothing but the row.
    is_of_row: bool,
    /// The sources that show the row: their columns have values.
    shown: Vec<FromKind>,
    /// Its conditions.
    conditions: Vec<Normal>,
    /// For each condition its branches, if it is a choice.
    branches: Vec<Vec<Self>>,
}

impl RowConditions {
    fn of(select: &Select, outside: &[From]) -> Self {
        let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
        let branches = |condition: &Condition| match condition {
            Condition::Any(branches) if is_choice(condition) => {
                branches.iter().map(|branch| Self::of(branch, &rows)).collect()
            }
            _ => Vec::new(),
        };
        Self {
            is_of_row: asks_row_alone(select),
            shown: select.from.iter().map(|from| from.kind).collect(),
            conditions: select.filter.iter().map(|condition| by_shown_rows(condition, &rows)).collect(),
            branches: select.filter.iter().map(branches).collect(),
        }
    }

    /// What else it asks for; `None` if it does not have all of these conditions.
    fn without(&self, conditions: &[Normal]) -> Option<Self> {
        if !self.is_of_row || !conditions.iter().all(|condition| self.conditions.contains(condition)) {
            return None;
        }
        let kept = self.conditions.iter().zip(&self.branches).filter(|(own, _)| !conditions.contains(own));
        let (conditions, branches) = kept.map(|(own, branches)| (own.clone(), branches.clone())).unzip();
        Some(Self { conditions, branches, shown: self.shown.clone(), is_of_row: true })
    }

    /// What else it asks for than one branch of a choice, if it may ask for the choice instead: with any
    /// other branch it meets all that one of the alternatives asks for.
    fn widened(&self, own: &Self, branches: &[Self], alternatives: &[Self]) -> Option<Self> {
        let rest = self.without(&own.conditions).filter(|rest| !rest.conditions.is_empty())?;
        let is_there = |kind: &FromKind| self.shown.contains(kind);
        let is_met = |branch: &Self| {
            let known = [&rest, branch];
            branch.conditions == own.conditions
                || alternatives.iter().any(|alternative| alternative.follows_from(&known))
        };
        let has_own = !own.conditions.is_empty() && own.shown.iter().all(is_there);
        (has_own && branches.iter().all(is_met)).then_some(rest)
    }

    /// Whether it holds for a row for which all of these hold.
    fn follows_from(&self, known: &[&Self]) -> bool {
        let holds = |condition: &Normal| known.iter().any(|known| known.conditions.contains(condition));
        let is_shown = |kind: &FromKind| known.iter().any(|known| known.shown.contains(kind));
        self.is_of_row
            && self.shown.iter().all(is_shown)
            && self.conditions.iter().zip(&self.branches).all(|(condition, branches)| {
                holds(condition) || branches.iter().any(|branch| branch.follows_from(known))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{column, equal, given, literal};
    use crate::algebra::{Alias, Expr};
    use crate::catalog::{ColumnId, SourceId};

    /// A condition on a column of the row, which a bound query shows.
    fn asks(alias: usize, source: usize, value: Expr) -> Select {
        let kind = FromKind::Row { source: SourceId::from_index(source), key: ColumnId::FIRST };
        let from = vec![From { alias: Alias::of_number(alias), kind }];
        Select { from, filter: vec![equal(column(alias, 1), value)], ..Select::default() }
    }

    fn viewed(alias: usize) -> Select {
        asks(alias, 0, literal(0))
    }

    fn owned(alias: usize) -> Select {
        asks(alias, 1, literal(1))
    }

    fn edited(alias: usize) -> Select {
        asks(alias, 2, literal(2))
    }

    /// That a row is viewed, and open.
    fn viewed_and_open() -> Select {
        let Select { from, mut filter, output } = viewed(1);
        filter.push(equal(Expr::Now, literal(9)));
        Select { from, filter, output }
    }

    fn all(choices: Vec<Vec<Select>>) -> Select {
        Select { filter: choices.into_iter().map(Condition::Any).collect(), ..Select::default() }
    }

    /// The alternatives, and whether a choice was factored out.
    fn factored(alternatives: &[Select]) -> (Vec<Select>, bool) {
        let mut after = alternatives.to_vec();
        factor_out(&mut after);
        let changes = after != alternatives;
        (after, changes)
    }

    #[test]
    fn an_alternative_with_a_branch_asks_for_the_choice() {
        let choice = vec![viewed(4), owned(5)];
        let edits = vec![owned(2), edited(3)];
        let (after, _) = factored(&[viewed_and_open(), all(vec![edits.clone(), choice.clone()])]);
        let Select { from, .. } = viewed(1);
        let open = Select { from, filter: vec![equal(Expr::Now, literal(9))], ..Select::default() };
        assert_eq!(after, [all(vec![choice, vec![open, all(vec![edits])]])]);
    }

    /// Both ask that the row is open, once each asks for the choice; one of them also shows an editor.
    #[test]
    fn alternatives_that_differ_in_the_branch_become_one() {
        let open = |mut select: Select| {
            select.filter.push(equal(Expr::Now, literal(9)));
            select
        };
        let named = || Select { filter: vec![equal(given(0), literal(4))], ..Select::default() };
        let ways = vec![named(), owned(5), edited(6)];
        let exceptions = vec![owned(2), asks(3, 3, literal(3))];
        let (after, changes) = factored(&[open(named()), open(edited(7)), all(vec![exceptions, ways])]);
        let [Select { filter, .. }] = after.as_slice() else { panic!("{after:?}") };
        let [_, Condition::Any(under)] = filter.as_slice() else { panic!("{filter:?}") };
        assert_eq!((changes, under.len()), (true, 2), "open, or an exception: {under:?}");
    }

    /// An owner would pass if the row is open.
    #[test]
    fn a_branch_that_lets_other_rows_pass_stays() {
        let choice = vec![viewed(4), owned(5)];
        assert!(!factored(&[viewed_and_open(), all(vec![vec![edited(2), edited(3)], choice])]).1);
    }

    /// They need a row of another bound query: its columns must have values.
    #[test]
    fn a_branch_or_an_alternative_that_shows_another_row_stays() {
        let edits = vec![owned(2), edited(3)];
        let mut more = viewed(4);
        more.from.extend(edited(6).from);
        assert!(!factored(&[viewed_and_open(), all(vec![edits.clone(), vec![more, owned(5)]])]).1);
        let mut met = all(vec![edits, vec![viewed(4), owned(5)]]);
        met.from.extend(edited(6).from);
        assert!(!factored(&[viewed_and_open(), met]).1);
    }

    /// The choice means a row that only its own alternative shows.
    #[test]
    fn a_choice_about_a_row_outside_it_stays() {
        let Select { from, filter, .. } = owned(5);
        let outside = Select { filter, ..Select::default() };
        let mut met = all(vec![vec![owned(2), edited(3)], vec![viewed(4), outside]]);
        met.from = from;
        assert!(!factored(&[viewed_and_open(), met]).1);
    }
}
