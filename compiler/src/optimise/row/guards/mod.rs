//! Moves probes that depend on one column of the row into the sets in which that column is looked up.
//!
//! ```text
//! row.f in (roles(u, f)) and not archived(row.f)   ─▶   row.f in (roles(u, f) where not archived(f))
//! ```
//!
//! A set has as many values as the actor has grants; a table may have millions of rows. Alternatives without
//! such a set get the probe themselves, except comparisons that an index can answer: the OR stays one of bare
//! columns, and the probe is tested after it, for the rows that pass the comparison.
//!
//! ```text
//! (row.f in S or row.owner = u) and probe(row.f)
//!   ─▶   (row.f in (S where probe) or row.owner = u) and (not (row.owner = u) or probe(row.f))
//! ```
//!
//! With the probe inside the OR, PostgreSQL would compare each row that it found with all of `S` again. A
//! denial of one source, such as that of an archived folder, is tested for all rows, unless there are
//! alternatives around it: so it becomes an anti-join. Then `row.id in T` stays as it is, like
//! `row.owner = u`. PostgreSQL estimates a subquery under an OR so high that it may compile the statement.
//! SQLite reads the rows of each alternative by themselves: there every alternative gets its probe, and an
//! index that holds the columns asked for is all that is read.
//!
//! A probe that joins sources stays one condition after the alternatives if one of them, which is neither
//! such a set nor such a comparison, would get a copy. PostgreSQL joins it with the rows that pass. A
//! denial that looks something up for each row that it reads ("lacks a tag of the file") stays one condition,
//! too, even inside alternatives: in a set, PostgreSQL would hash all those rows if it has no statistics.
//!
//! A denial that starts from the actor ("who blocked me") is a small set itself: it stays one condition on
//! the row if some alternative would only get a copy of it.

mod inner;
mod probes;

pub(super) use probes::probed_column;

use super::super::setting::Setting;
use super::{is_of_row, rows_of};
use crate::algebra::aliases::TakenAliases;
use crate::algebra::anchor::Anchors;
use crate::algebra::{Condition, Expr, From, FromKind, Plan, Select};
use probes::{copy, put};

/// Moves the probes of all alternatives of a filter.
pub(in super::super) fn move_into_sets(plan: &mut Plan, setting: &Setting<'_>) {
    let Plan { tables, answer, .. } = plan;
    let anchors = &Anchors::new(setting.catalog, tables);
    let around = if answer.selects().len() > 1 { Surroundings::Alternatives } else { Surroundings::Nothing };
    let mover = Mover { anchors, around, rechecks_sets: setting.features.rechecks_alternatives };
    for select in answer.selects_mut() {
        let mut taken = TakenAliases::of([&*select]);
        mover.move_in(select, &[], &mut taken);
        inner::move_in(select, anchors, &mut taken);
    }
}

/// Whether a select is one of several alternatives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Surroundings {
    /// It is the whole condition.
    Nothing,
    /// It is inside an OR.
    Alternatives,
}

/// What decides where a probe goes, apart from the filter.
#[derive(Clone, Copy)]
struct Mover<'a> {
    anchors: &'a Anchors<'a>,
    around: Surroundings,
    /// Whether the rows that indexes find for an OR are compared with all sets in it again.
    rechecks_sets: bool,
}

impl Mover<'_> {
    /// The same, for an alternative.
    fn inside(self) -> Self {
        Self { around: Surroundings::Alternatives, ..self }
    }

    fn move_in(self, select: &mut Select, outside: &[From], taken: &mut TakenAliases) {
        let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
        for condition in &mut select.filter {
            if let Condition::Any(branches) = condition {
                let inside = self.inside();
                branches
                    .iter_mut()
                    .filter(|branch| branch.reads_nothing())
                    .for_each(|branch| inside.move_in(branch, &rows, taken));
            }
        }
        let mut after = Vec::new();
        let mut at = 0;
        while let Some(condition) = select.filter.get(at).cloned() {
            let Some(column) = probed_column(&condition, &rows) else {
                at += 1;
                continue;
            };
            select.filter.remove(at);
            let may_copy = !starts_from_actor(&condition, &rows, self.anchors);
            let probe = RowProbe { condition: &condition, column, may_copy, rows: &rows, mover: self };
            match probe.put(select, taken) {
                Placement::All => {}
                Placement::AllBut(compared) => after.push(probe.of_rest(compared, taken)),
                Placement::None => {
                    select.filter.insert(at, condition);
                    at += 1;
                }
            }
        }
        select.filter.append(&mut after);
    }
}

/// Which of the rows that pass a select have passed a probe that was moved inside it.
enum Placement {
    /// All: the probe need not be tested again.
    All,
    /// Those of all alternatives but these.
    AllBut(Vec<Select>),
    /// None: nothing has taken the probe.
    None,
}

/// Whether what a probe reads starts from a given value, for any row.
fn starts_from_actor(probe: &Condition, rows: &[From], anchors: &Anchors<'_>) -> bool {
    let of_row = |condition: &Condition| {
        let mut found = false;
        condition.for_each_expr(&mut |expr| found |= is_of_row(expr, rows));
        found
    };
    probe.branches().iter().all(|branch| {
        let mut alone = branch.clone();
        alone.filter.retain(|condition| !of_row(condition));
        anchors.is_anchored(&alone)
    })
}

/// A condition that depends on one column of the row.
#[derive(Clone, Copy)]
struct RowProbe<'a> {
    condition: &'a Condition,
    column: Expr,
    /// Whether alternatives without a set may get a copy.
    may_copy: bool,
    /// The rows around it.
    rows: &'a [From],
    mover: Mover<'a>,
}

impl RowProbe<'_> {
    /// Puts the probe into the sets of its column, or else into the alternatives of which all have such sets,
    /// or some if the others may get copies.
    fn put(&self, select: &mut Select, taken: &mut TakenAliases) -> Placement {
        for condition in &mut select.filter {
            if let Condition::In { expr, selects, .. } = condition
                && *expr == self.column
                && selects.iter().all(|set| set.output.len() == 1)
            {
                selects.iter_mut().for_each(|set| put(self.condition, self.column, set, taken));
                return Placement::All;
            }
        }
        let has_set = |branch: &Select| has_set(self.column, branch);
        let takes = |condition: &&mut Condition| match condition {
            Condition::Any(branches) => {
                branches.iter().all(Select::reads_nothing)
                    && branches.iter().any(has_set)
                    && (self.may_copy || branches.iter().all(has_set))
                    && !self.reads_all_rows(branches)
                    && !self.is_better_joined(branches)
            }
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. }
            | Condition::In { .. }
            | Condition::None(_) => false,
        };
        let Some(Condition::Any(branches)) = select.filter.iter_mut().find(takes) else {
            return Placement::None;
        };
        let (compared, others): (Vec<&mut Select>, Vec<&mut Select>) =
            branches.iter_mut().partition(|branch| self.mover.rechecks_sets && self.is_compared(branch));
        let inside = Self { mover: self.mover.inside(), ..*self };
        for branch in others {
            match inside.put(branch, taken) {
                Placement::All => {}
                Placement::AllBut(compared) => branch.filter.push(inside.of_rest(compared, taken)),
                Placement::None => branch.filter.push(copy(self.condition, taken)),
            }
        }
        if compared.is_empty() {
            Placement::All
        } else {
            Placement::AllBut(compared.into_iter().map(|branch| branch.clone()).collect())
        }
    }

    /// The probe after the alternatives, for the rows of those that have not taken it.
    fn of_rest(&self, compared: Vec<Select>, taken: &mut TakenAliases) -> Condition {
        let probe = copy(self.condition, taken);
        if self.is_of_all_rows() {
            return probe;
        }
        let exempt = copy(&Condition::None(compared), taken);
        let branches =
            [exempt, probe].map(|condition| Select { filter: vec![condition], ..Select::default() });
        Condition::Any(branches.into())
    }

    /// Whether no index finds the rows of these alternatives, so that all rows are read. The probe is then
    /// joined with them, unless it is one of several alternatives itself.
    fn reads_all_rows(&self, branches: &[Select]) -> bool {
        self.mover.rechecks_sets
            && self.mover.around == Surroundings::Nothing
            && !branches.iter().all(|branch| self.mover.anchors.has_index_among(branch, self.rows))
    }

    /// Whether the probe stays one condition on the row: it joins sources, or is a denial with a look-up
    /// inside, and an alternative that has no set to take it, and is no comparison, would get a copy.
    /// PostgreSQL joins it with the rows that pass the alternatives, but runs a copy for each row, at a cost
    /// for which it compiles the statement.
    fn is_better_joined(&self, branches: &[Select]) -> bool {
        let is_joined = match self.condition {
            Condition::Any(probes) => {
                self.mover.around == Surroundings::Nothing && probes.iter().any(reads_several)
            }
            Condition::None(denied) => denied.iter().any(Select::looks_up_inside),
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. }
            | Condition::In { .. } => false,
        };
        let would_copy = |branch: &Select| !has_set(self.column, branch) && !self.is_compared(branch);
        self.mover.rechecks_sets && is_joined && branches.iter().any(would_copy)
    }

    /// Whether the probe is tested for all rows after the alternatives, if it is tested for some.
    fn is_of_all_rows(&self) -> bool {
        self.mover.around == Surroundings::Nothing && denies_one_source(self.condition)
    }

    /// Whether an alternative only compares columns of the row, and an index finds its rows. It may also look
    /// one up in the set of another column, if the probe is tested for all rows anyway.
    fn is_compared(&self, branch: &Select) -> bool {
        let is_comparison = |condition: &Condition| match condition {
            Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. } => true,
            Condition::In { expr, .. } => *expr != self.column && self.is_of_all_rows(),
            Condition::Any(_) | Condition::None(_) => false,
        };
        branch.filter.iter().all(is_comparison) && self.mover.anchors.has_index_among(branch, self.rows)
    }
}

/// Whether a select joins what it reads.
fn reads_several(select: &Select) -> bool {
    select.from.iter().filter(|from| from.kind.is_read()).count() > 1
}

/// Whether a probe denies what one source of the catalog has.
fn denies_one_source(probe: &Condition) -> bool {
    match probe {
        Condition::None(branches) => {
            let is_one = |select: &Select| matches!(select.from.as_slice(), [from] if matches!(from.kind, FromKind::Source(_)));
            matches!(branches.as_slice(), [only] if is_one(only) && only.branches().next().is_none())
        }
        Condition::Any(_)
        | Condition::Compare { .. }
        | Condition::OneOf { .. }
        | Condition::Meets { .. }
        | Condition::In { .. } => false,
    }
}

/// Whether an alternative looks a column up in a set, whichever of the alternatives inside it holds.
fn has_set(column: Expr, select: &Select) -> bool {
    select.filter.iter().any(|condition| match condition {
        Condition::In { expr, selects, .. } => {
            *expr == column && selects.iter().all(|set| set.output.len() == 1)
        }
        Condition::Any(branches) => {
            branches.iter().all(Select::reads_nothing)
                && branches.iter().all(|branch| has_set(column, branch))
        }
        Condition::Compare { .. }
        | Condition::OneOf { .. }
        | Condition::Meets { .. }
        | Condition::None(_) => false,
    })
}
