//! Denies each branch by itself where a denial of the row has several.
//!
//! ```text
//! not (row.owner = o and (blocks(user, o) or blocks(o, user)))
//!     ─▶   not (row.owner = o and blocks(user, o)) and not (row.owner = o and blocks(o, user))
//! ```
//!
//! PostgreSQL turns each of these into an anti-join, and estimates it. A negated `OR` of tests would run for
//! each row, at a cost for which the statement is compiled first.

use super::{is_of_row, rows_of};
use crate::algebra::aliases::{TakenAliases, renumber};
use crate::algebra::{Condition, From, Plan, Select};

/// How many branches are denied one by one: more make the statement long, and slow to plan.
const MOST_BRANCHES: usize = 4;

/// Splits the denials of all alternatives of a filter.
pub(in super::super) fn split(plan: &mut Plan) {
    let mut taken = TakenAliases::of(plan.answer.selects());
    for select in plan.answer.selects_mut() {
        in_select(select, &[], &mut taken);
    }
}

/// Splits the denials of an alternative, and of those inside it; `outside` expose the row around it.
fn in_select(select: &mut Select, outside: &[From], taken: &mut TakenAliases) {
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
    for condition in &mut select.filter {
        match condition {
            Condition::Any(branches) if branches.iter().all(Select::reads_nothing) => {
                branches.iter_mut().for_each(|branch| in_select(branch, &rows, taken));
            }
            Condition::None(branches) => {
                let split = branches.iter().flat_map(|branch| {
                    branches_of(branch, &rows, taken).unwrap_or_else(|| vec![branch.clone()])
                });
                *branches = split.collect();
            }
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::In { .. }
            | Condition::Meets { .. }
            | Condition::Any(_) => {}
        }
    }
}

/// A denial for each branch, if what is denied is a comparison of the row with one of several branches, each
/// of which looks up something else.
fn branches_of(denied: &Select, rows: &[From], taken: &mut TakenAliases) -> Option<Vec<Select>> {
    let rows: Vec<From> = rows.iter().copied().chain(rows_of(&denied.from)).collect();
    let (choices, others): (Vec<&Condition>, Vec<&Condition>) =
        denied.filter.iter().partition(|condition| matches!(condition, Condition::Any(_)));
    let [Condition::Any(branches)] = choices.as_slice() else { return None };
    let are_plain = others.iter().all(|condition| condition.branches().is_empty());
    let looks_up = |branch: &Select| {
        let mut of_row = false;
        branch.for_each_expr(&mut |expr| of_row |= is_of_row(expr, &rows));
        of_row && !branch.reads_nothing()
    };
    let is_split = denied.reads_nothing()
        && are_plain
        && (2..=MOST_BRANCHES).contains(&branches.len())
        && branches.iter().all(looks_up);
    is_split.then(|| {
        let with = |branch: &Select| {
            let from = denied.from.iter().chain(&branch.from).copied().collect();
            let filter = others.iter().copied().chain(&branch.filter).cloned().collect();
            let mut split = Select { from, filter, output: denied.output.clone() };
            renumber(&mut split, taken);
            split
        };
        branches.iter().map(with).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::FromKind;
    use crate::algebra::aliases::number_aliases;
    use crate::algebra::sample::{column, equal, literal, read, source};
    use crate::catalog::ColumnId;
    use crate::ir::CompareOp;

    const BLOCKS: usize = 1;

    /// A denial of the row as 1: of its owner, and of something about the owner.
    fn denied(about: Vec<Condition>) -> Select {
        let FromKind::Source(owners) = source(0) else { panic!("no relation") };
        let row = FromKind::Row { source: owners, key: ColumnId::FIRST };
        let is_owned = Condition::Compare { op: CompareOp::NotEqual, left: column(1, 1), right: literal(1) };
        read(&[(1, row)], [vec![is_owned], about].concat(), Vec::new())
    }

    /// The owner and a user, in this order, are in the relation.
    fn blocked(place: usize, user: u32, owner: u32) -> Select {
        let filter = vec![equal(column(place, user), literal(0)), equal(column(place, owner), column(1, 1))];
        read(&[(place, source(BLOCKS))], filter, Vec::new())
    }

    /// The branches of a denial after the pass, numbered.
    fn split_up(denied: Select) -> Vec<Select> {
        let mut select = Select { filter: vec![Condition::None(vec![denied])], ..Select::default() };
        let mut taken = TakenAliases::of([&select]);
        in_select(&mut select, &[], &mut taken);
        let mut branches: Vec<Select> = select.filter.iter().flat_map(Condition::branches).cloned().collect();
        branches.iter_mut().for_each(|branch| number_aliases([branch]));
        branches
    }

    #[test]
    fn each_branch_is_denied_with_what_the_others_share() {
        let both = Condition::Any(vec![blocked(2, 0, 1), blocked(3, 1, 0)]);
        let alone = |user: u32, owner: u32| {
            let Select { from, filter, .. } = blocked(2, user, owner);
            let mut alone = denied(filter);
            alone.from.extend(from);
            alone
        };
        assert_eq!(split_up(denied(vec![both])), [alone(0, 1), alone(1, 0)]);
    }

    /// A branch about the row alone, or about something else, needs no anti-join; other tests would be
    /// repeated.
    #[test]
    fn other_choices_stay() {
        let of_row = read(&[], vec![equal(column(1, 1), literal(0))], Vec::new());
        let apart = read(&[(4, source(BLOCKS))], vec![equal(column(4, 0), literal(0))], Vec::new());
        let both = |other: Select| Condition::Any(vec![blocked(2, 0, 1), other]);
        let tested = Condition::None(vec![blocked(5, 0, 1)]);
        for about in [vec![both(of_row)], vec![both(apart)], vec![both(blocked(3, 1, 0)), tested]] {
            assert_eq!(split_up(denied(about)).len(), 1);
        }
    }
}
