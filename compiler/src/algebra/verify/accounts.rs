//! No condition is lost: the atoms of every alternative after a pass are accounted for by those before it.
//!
//! An alternative with an atom less holds of more rows, which may be a wrong "allowed"; one with an atom
//! more, or an alternative less, may be a wrong "denied". What a pass may change is its [`Keeps`].

use super::atoms::{Alternative, Atoms, Inlines, PlanAtom, ReadFrom, ValueOrigin};
use super::budget::LayoutBudget;
use super::equal::{Counted, asks_as_much, entails};
use super::implied::without_implied_conditions;
use super::multiset::{contains, is_subset, missing, without_repeats};
use super::unsatisfiable::{Denials, contradicts_itself, is_of_one_row, n_readings, without_void_denials};
use crate::algebra::{Plan, Select, Table, TableBody};
use crate::ir::CompareOp;

/// What a pass keeps of a plan's alternatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// Their atoms.
    Atoms,
    /// Their atoms; an alternative that has all conditions of another one is dropped.
    Covering,
    /// Their atoms, and it reads the selects of a table in the table's place.
    Selects,
    /// Their atoms, each at least once: it reads once what occurred in several places.
    Once,
    /// Both: their atoms, each at least once, and it reads the selects of a table in the table's place.
    SelectsOnce,
    /// Their atoms. A denial may repeat what the alternative itself asks, or what follows from that, and an
    /// equality may be replaced by another one that follows.
    LoneDenials,
    /// Their atoms but those that the rows of a table imply.
    AllButImplied,
    /// Their atoms, and it adds alternatives that deny more.
    Stricter,
    /// The same number of atoms. Those that change are equalities, outside or inside denials, which follow
    /// from the others before and after.
    Entailed,
    /// The relations that are read and denied, and no fewer comparisons, apart from equalities that follow
    /// from others: it replaces a value by one that equals it, and adds what holds anyway.
    Equals,
    /// The same, without reading anything twice, and it reads the selects of a table in the table's place.
    EqualsInSelects,
    /// The relations that are read: it decides conditions by values.
    Relations,
}

/// Checks the result of a pass on a plan in which some sources now represent parts of it.
pub(super) fn check(keeps: Keeps, before: &Plan, after: &Plan, parts: &[&Plan]) -> Result<(), String> {
    let found = find_fault(keeps, before, after, parts);
    if found.is_ok() || !matches!(keeps, Keeps::Equals | Keeps::EqualsInSelects) {
        return found;
    }
    // Where a value replaces what equals it, conditions may become the same, and one is left out. Without
    // those that follow from others, both plans still ask the same, and no other one may be missing.
    let (before, after) = (without_implied_conditions(before), without_implied_conditions(after));
    let parts: Vec<Plan> = parts.iter().map(|part| without_implied_conditions(part)).collect();
    find_fault(keeps, &before, &after, &parts.iter().collect::<Vec<_>>()).or(found)
}

fn find_fault(keeps: Keeps, before: &Plan, after: &Plan, parts: &[&Plan]) -> Result<(), String> {
    let inlines = match keeps {
        // A table that keeps one of several selects would be inlined only afterwards.
        Keeps::Relations | Keeps::Covering => Inlines::Nothing,
        Keeps::Atoms
        | Keeps::Once
        | Keeps::LoneDenials
        | Keeps::AllButImplied
        | Keeps::Stricter
        | Keeps::Entailed
        | Keeps::Equals => Inlines::Single,
        Keeps::Selects | Keeps::SelectsOnce | Keeps::EqualsInSelects => Inlines::Every,
    };
    // These leave out no alternative only because it has a branch and its denial.
    let exempts = !matches!(keeps, Keeps::Stricter | Keeps::Covering);
    let old = Atoms { plan: before, parts: &[], inlines, exempts };
    let mut comparison =
        PlanComparison { keeps, old, new: Atoms { plan: after, parts, ..old }, budget: LayoutBudget::CHECK };
    comparison
        .compare(&|old, budget| old.of_answer(budget), &|new, budget| new.of_answer(budget))
        .map_err(|fault| format!("the answer: {fault}"))?;
    for table in &after.tables {
        let Some(known) = before.tables.iter().find(|known| known.name == table.name) else { continue };
        for part in [base, step] {
            let [known, selects] = [known, table].map(part);
            comparison
                .compare(&|old, budget| old.of_selects(known, budget), &|new, budget| {
                    new.of_selects(selects, budget)
                })
                .map_err(|fault| format!("{}: {fault}", table.name))?;
        }
    }
    Ok(())
}

/// Lays out the alternatives of a part of a plan; `None` if they are too many.
type LaysOut<'f> = &'f dyn Fn(Atoms<'_>, &mut LayoutBudget) -> Option<Vec<Alternative>>;

/// The plans before and after a pass, and how much may still be laid out.
struct PlanComparison<'a> {
    keeps: Keeps,
    old: Atoms<'a>,
    new: Atoms<'a>,
    budget: LayoutBudget,
}

impl PlanComparison<'_> {
    /// Compares a part of the old plan with one of the new plan.
    fn compare(&mut self, of_old: LaysOut<'_>, of_new: LaysOut<'_>) -> Result<(), String> {
        let Some([old, new]) = self.lay_out(of_old, of_new) else { return Ok(()) };
        let [old, new] = [old, new].map(|all| self.counted(all));
        let compared = self.find_loss([&old, &old], [&new, &new]);
        if compared.is_ok() {
            return compared;
        }
        // An alternative that never holds may look like one in one of the plans only, and so may a denial of
        // what never holds. So first compare both plans with nothing left out, which can hide no loss.
        let with = |exempts| PlanComparison {
            old: Atoms { exempts, ..self.old },
            new: Atoms { exempts, ..self.new },
            budget: LayoutBudget::SECOND_LOOK,
            ..*self
        };
        let parts = [with(self.new.exempts), with(false)].map(|mut part| part.lay_out(of_old, of_new));
        let ([old, new], [all_old, all_new]) = match parts {
            [Some(some), Some(all)] => (some, all.map(|all| self.counted(all))),
            // There are too many to lay out all of them.
            [None, _] | [_, None] => ([old.clone(), new.clone()], [old, new]),
        };
        if self.find_loss([&all_old, &all_old], [&all_new, &all_new]).is_ok() {
            return Ok(());
        }
        let may_hold = |all: Vec<Alternative>, plan| {
            self.counted(
                all.into_iter().filter(|alternative| !contradicts_itself(alternative, plan)).collect(),
            )
        };
        let (old, new) = (may_hold(old, self.old), may_hold(new, self.new));
        let compared = self.find_loss([&old, &all_old], [&new, &all_new]);
        if compared.is_ok() {
            return compared;
        }
        let [old, all_old, new, all_new] =
            [old, all_old, new, all_new].map(|all| all.iter().map(without_void_denials).collect::<Vec<_>>());
        self.find_loss([&old, &all_old], [&new, &all_new])
    }

    /// The old alternatives and the new ones.
    fn lay_out(&mut self, of_old: LaysOut<'_>, of_new: LaysOut<'_>) -> Option<[Vec<Alternative>; 2]> {
        Some([of_old(self.old, &mut self.budget)?, of_new(self.new, &mut self.budget)?])
    }

    /// The alternatives without the repeats that do not count.
    fn counted(&self, all: Vec<Alternative>) -> Vec<Alternative> {
        match self.keeps {
            Keeps::Once | Keeps::SelectsOnce => all.into_iter().map(without_repeats).collect(),
            Keeps::Selects => all.into_iter().map(without_repeated_denials).collect(),
            Keeps::LoneDenials => all.into_iter().map(without_what_holds).collect(),
            Keeps::Atoms
            | Keeps::Covering
            | Keeps::AllButImplied
            | Keeps::Stricter
            | Keeps::Entailed
            | Keeps::Equals
            | Keeps::EqualsInSelects
            | Keeps::Relations => all,
        }
    }

    /// Compares alternatives: those that must be found in the other plan, and all in which to look.
    fn find_loss(
        &self,
        [old, all_old]: [&[Alternative]; 2],
        [new, all_new]: [&[Alternative]; 2],
    ) -> Result<(), String> {
        let (keeps, plan) = (self.keeps, self.new);
        // Nothing lost: each new alternative asks at least what some old one asks.
        let is_kept = |new: &Alternative| {
            all_old.iter().any(|old| asks(keeps, new, old, plan))
                || keeps == Keeps::AllButImplied && asks_in_each_case(new, all_old, plan)
        };
        if let Some(weaker) = new.iter().find(|new| !is_kept(new)) {
            let lost = all_old.iter().map(|old| missing(weaker, old)).min_by_key(Vec::len);
            return Err(format!("a condition was lost: {lost:?}, and nothing asked only {weaker:?}"));
        }
        // Nothing denied: each old alternative asks at least what some new one asks.
        let stays = |old: &Alternative| match keeps {
            Keeps::Atoms | Keeps::Covering | Keeps::Stricter | Keeps::Selects => {
                all_new.iter().any(|new| contains(old, new))
            }
            Keeps::AllButImplied => all_new.iter().any(|new| adds_nothing(new, old, plan)),
            Keeps::Once | Keeps::SelectsOnce => all_new.iter().any(|new| is_subset(new, old)),
            Keeps::LoneDenials => all_new.iter().any(|new| asks(keeps, old, new, plan)),
            // It may add what holds anyway, but must not leave the alternative out.
            Keeps::Entailed | Keeps::Equals | Keeps::EqualsInSelects => {
                all_new.iter().any(|new| asks(keeps, new, old, plan))
            }
            // What values decide is not looked at.
            Keeps::Relations => true,
        };
        match old.iter().find(|old| !stays(old)) {
            Some(lost) => Err(format!("an alternative was lost: {lost:?}")),
            None => Ok(()),
        }
    }
}

/// The same alternative, with each denial once: two become the same where a value replaces what equals it.
/// Both are kept if they may refer to different rows even though their atoms are the same.
fn without_repeated_denials(mut alternative: Alternative) -> Alternative {
    let is_clear = |denied: &Alternative| {
        let n_readings = |read: &ReadFrom| {
            n_readings(&alternative, read, Denials::Skipped) + n_readings(denied, read, Denials::Read)
        };
        let is_read_once = |read: &ReadFrom| matches!(read, ReadFrom::Relation(_)) && n_readings(read) == 1;
        denied.iter().all(|atom| is_of_one_row(atom, &is_read_once))
    };
    let clear: Vec<PlanAtom> = alternative
        .iter()
        .filter(|atom| matches!(atom, PlanAtom::None(denied) if is_clear(denied)))
        .cloned()
        .collect();
    alternative.sort();
    alternative.dedup_by(|one, other| one == other && clear.contains(one));
    alternative
}

/// The same alternative, with denials that do not ask what the alternative itself asks, or what follows from
/// that.
fn without_what_holds(mut alternative: Alternative) -> Alternative {
    let around: Alternative =
        alternative.iter().filter(|atom| !matches!(atom, PlanAtom::None(_))).cloned().collect();
    for atom in &mut alternative {
        if let PlanAtom::None(denied) = atom {
            let new = missing(&around, denied).into_iter().filter(|atom| !entails(&around, &[atom]));
            *denied = new.cloned().collect();
        }
    }
    alternative.sort();
    alternative
}

fn base(table: &Table) -> &[Select] {
    let (TableBody::Union(base) | TableBody::Recursive { base, .. } | TableBody::WholeState { base, .. }) =
        &table.body;
    base
}

fn step(table: &Table) -> &[Select] {
    match &table.body {
        TableBody::Union(_) => &[],
        TableBody::Recursive { step, .. } | TableBody::WholeState { step, .. } => step,
    }
}

/// Whether an alternative has all conditions of an old one, as far as the pass must keep them.
fn asks(keeps: Keeps, new: &Alternative, old: &Alternative, plan: Atoms<'_>) -> bool {
    match keeps {
        Keeps::Atoms | Keeps::Covering | Keeps::Selects => contains(new, old),
        Keeps::LoneDenials => entails(new, &missing(new, old)),
        Keeps::Stricter => missing(new, old).iter().all(|atom| denies_more(new, atom)),
        Keeps::Entailed => {
            let is_implied = entails(new, &missing(new, old));
            is_implied && new.len() == old.len() && entails(old, &missing(old, new))
        }
        Keeps::Equals => asks_as_much(Counted::All, new, old),
        Keeps::EqualsInSelects => asks_as_much(Counted::Independent, new, old),
        Keeps::Once | Keeps::SelectsOnce => is_subset(old, new),
        Keeps::AllButImplied => missing(new, old).iter().all(|atom| is_implied(atom, new, plan)),
        Keeps::Relations => relations(new) == relations(old),
    }
}

/// Whether an alternative asks what some old one asks, in each case in which a table that it reads has a row.
/// Which old one that is depends on the case: where a table was derived from one of several alternatives,
/// none of them holds of all its rows, but one of them holds of each.
fn asks_in_each_case(new: &Alternative, old: &[Alternative], plan: Atoms<'_>) -> bool {
    let asks_in = |case: &Alternative, old: &Alternative| {
        missing(new, old).iter().all(|atom| is_implied(atom, new, plan) || is_implied(atom, case, plan))
    };
    bases(new, plan).any(|base| {
        base.is_none_or(|cases| cases.iter().all(|case| old.iter().any(|old| asks_in(case, old))))
    })
}

/// Whether an alternative has a denial of which the atom, a denial as well, denies only a part.
fn denies_more(alternative: &Alternative, atom: &PlanAtom) -> bool {
    let PlanAtom::None(denied) = atom else { return false };
    alternative.iter().any(|known| match known {
        PlanAtom::None(more) => contains(denied, more),
        PlanAtom::Source(_) | PlanAtom::Compare(..) | PlanAtom::OneOf(..) => false,
    })
}

fn relations(alternative: &Alternative) -> Vec<&PlanAtom> {
    let is_relation = |atom: &&PlanAtom| matches!(atom, PlanAtom::Source(ReadFrom::Relation(_)));
    alternative.iter().filter(is_relation).collect()
}

/// Whether an alternative has no condition that the old one lacked, except those left out inside denials.
fn adds_nothing(new: &Alternative, old: &Alternative, plan: Atoms<'_>) -> bool {
    missing(old, new).into_iter().all(|atom| old.iter().any(|old| denies_the_same(atom, old, plan)))
}

/// Whether two atoms are denials of the same rows: the new one lacks only what its other atoms imply.
fn denies_the_same(new: &PlanAtom, old: &PlanAtom, plan: Atoms<'_>) -> bool {
    match (new, old) {
        (PlanAtom::None(new), PlanAtom::None(old)) => {
            missing(new, old).into_iter().all(|atom| is_implied(atom, new, plan))
                && adds_nothing(new, old, plan)
        }
        (PlanAtom::Source(_) | PlanAtom::Compare(..) | PlanAtom::OneOf(..) | PlanAtom::None(_), _) => false,
    }
}

/// Whether an atom that is left out holds of the rows of a table that the alternative reads: each row of the
/// table was derived from a row that satisfies the atom and equals it.
fn is_implied(atom: &PlanAtom, alternative: &Alternative, plan: Atoms<'_>) -> bool {
    let is_tie = match atom {
        PlanAtom::Compare(CompareOp::Equal, left, right) => {
            left == right
                || [left, right].iter().any(|side| matches!(side, ValueOrigin::Of(ReadFrom::Table(_))))
        }
        PlanAtom::Compare(..) | PlanAtom::Source(_) | PlanAtom::OneOf(..) | PlanAtom::None(_) => false,
    };
    // What the table started from may have been left out there, too, as a table before it implies it.
    is_tie
        || alternative.contains(atom)
        || alternative.iter().any(|new| denies_the_same(new, atom, plan))
        || bases(alternative, plan).any(|base| {
            base.is_none_or(|base| base.iter().all(|alternative| is_implied(atom, alternative, plan)))
        })
}

/// The alternatives from which each table that an alternative reads starts; `None` for a table that is too
/// large, which is not accounted for.
fn bases<'a>(
    alternative: &'a Alternative,
    plan: Atoms<'a>,
) -> impl Iterator<Item = Option<Vec<Alternative>>> {
    let read = alternative.iter().filter_map(move |atom| match atom {
        PlanAtom::Source(ReadFrom::Table(name)) => plan.plan.tables.iter().find(|table| table.name == *name),
        _ => None,
    });
    read.map(move |table| plan.of_selects(base(table), &mut { LayoutBudget::CHECK }))
}
