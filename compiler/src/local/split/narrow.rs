//! Restricts parts by other stored facts before the store is asked for any of them.
//!
//! In: a select, split into groups, each of which becomes a part, and its other conditions. Out: the
//! same rows from smaller parts. A condition that reads stored facts only, of values that equal a
//! group's columns, is decided where the group is; so is a group that only tests another.
//!
//! ```text
//! docs t1, roles t2 where t2.tenant = t1.tenant and t2.user = given#0, none of suspended t3 where t3.0 = t1.tenant
//!          └─ the store is asked for the tenants of roles that are not suspended ─┘
//! ```
//!
//! Where the group is inside the branches of another condition, the condition goes into each of them.
//! What is asked for never grows: a set may only lose rows.

use super::group::{StoredGroup, is_column};
use super::same_rows::RowEqualities;
use super::{Outside, Splitter};
use crate::algebra::aliases::{free_aliases, renumber_inside};
use crate::algebra::{Alias, Condition, Expr, Select};
use crate::catalog::ColumnId;
use crate::id_vec::IdVec;
use crate::ir::CompareOp;
use indexmap::{IndexMap, IndexSet};

/// Which conditions become those of a group.
#[derive(Clone, Copy)]
enum Absorbed {
    /// Those that do not lead to fewer rows than the group.
    NoNarrower,
    /// All of them.
    All,
}

impl Splitter<'_> {
    /// Narrows the groups of a select, and records the columns that the residual uses. `around` are the
    /// groups of the selects around it, and what is equal in its own rows.
    pub(super) fn narrow(
        &mut self,
        groups: &mut Vec<StoredGroup>,
        rest: &mut Vec<Condition>,
        output: &mut IdVec<ColumnId, Expr>,
        around: &Outside,
    ) {
        let equals = &around.equals;
        let stored = groups.iter().flat_map(|group| &group.from).map(|from| from.alias);
        let stored: IndexSet<Alias> = stored.collect();
        self.absorb(groups, rest, equals, Absorbed::NoNarrower);
        want(groups, rest, output);
        self.merge_tests(groups, rest, output, equals);
        self.move_inwards(groups, rest, output, around, &stored);
        self.absorb(groups, rest, equals, Absorbed::All);
        want(groups, rest, output);
        let all = groups.clone();
        for (at, group) in groups.iter_mut().enumerate() {
            if self.leads.hold_group(group) {
                continue;
            }
            for (other_at, other) in all.iter().enumerate() {
                if at != other_at && self.leads.hold_group(other) {
                    self.restrict(group, other, &[], Some(equals));
                }
            }
        }
    }

    /// Asks only for what agrees with another group.
    pub(super) fn restrict(
        &mut self,
        group: &mut StoredGroup,
        other: &StoredGroup,
        rest: &[Condition],
        equals: Option<&RowEqualities>,
    ) {
        if let Some(restriction) = group.restriction(other, rest, equals) {
            // INVARIANT: an alias is declared once, so that no condition that moves is read in a scope where
            // another source has the name of one of its own.
            let restriction = self.renamed(restriction);
            group.filter.push(restriction);
        }
    }

    /// Makes conditions over stored facts those of a group that has all their values.
    fn absorb(
        &self,
        groups: &mut Vec<StoredGroup>,
        rest: &mut Vec<Condition>,
        equals: &RowEqualities,
        absorbed: Absorbed,
    ) {
        for condition in std::mem::take(rest) {
            let leads = match &condition {
                Condition::Any(branches) => self.leads.hold_branches(branches),
                _ => false,
            };
            let decided = groups.iter_mut().find_map(|group| {
                let takes = match absorbed {
                    Absorbed::All => true,
                    Absorbed::NoNarrower => !leads || self.leads.hold_group(group),
                };
                let decided = self.decided(&condition, group, equals).filter(|_| takes)?;
                Some((group, decided))
            });
            match decided {
                Some((group, decided)) => group.filter.push(decided),
                None => match self.decided(&condition, &StoredGroup::default(), equals) {
                    Some(decided) => {
                        groups.push(StoredGroup { filter: vec![decided], ..StoredGroup::default() });
                    }
                    None => rest.push(condition),
                },
            }
        }
    }

    /// A condition over stored facts with a group's columns in the place of the values that equal them,
    /// if it mentions nothing else then.
    fn decided(
        &self,
        condition: &Condition,
        group: &StoredGroup,
        equals: &RowEqualities,
    ) -> Option<Condition> {
        if condition.branches().is_empty() {
            return None;
        }
        let free = free_aliases(condition);
        let mut by: IndexMap<Expr, Option<Expr>> = IndexMap::new();
        condition.for_each_expr(&mut |expr| {
            let is_free =
                expr.alias().is_some_and(|alias| free.contains(&alias)) || is_column(expr, self.column);
            if is_free && !group.owns(expr) {
                let is_known =
                    |other: Expr| group.owns(other) || other.is_static() && !is_column(other, self.column);
                by.insert(expr, equals.equalities.find(expr, is_known));
            }
        });
        let mut decided = condition.clone();
        if by.values().any(Option::is_none) {
            return None;
        }
        decided.for_each_expr_mut(&mut |expr| {
            if let Some(Some(known)) = by.get(expr) {
                *expr = *known;
            }
        });
        let is_told = free_aliases(&decided).into_iter().all(|alias| group.has(alias));
        (is_told && self.is_pure(&decided)).then_some(decided)
    }

    /// Makes a group that only tests another a condition of it.
    fn merge_tests(
        &mut self,
        groups: &mut Vec<StoredGroup>,
        rest: &mut Vec<Condition>,
        output: &mut IdVec<ColumnId, Expr>,
        equals: &RowEqualities,
    ) {
        for at in (0..groups.len()).rev() {
            let tested = groups.remove(at);
            let tests = |tested: &StoredGroup, other: &StoredGroup| {
                tested.as_test(|own| equals.equalities.find(own, |expr| other.owns(expr))).is_some()
            };
            let is_narrow = self.leads.hold_group(&tested);
            let owner = groups.iter_mut().enumerate().find(|(other_at, other)| {
                let other_narrow = self.leads.hold_group(other);
                // If two groups test each other, keep the narrower, or else the first.
                let stays = || other_narrow || !is_narrow && (*other_at < at || !tests(other, &tested));
                tests(&tested, other) && stays()
            });
            let Some((_, owner)) = owner else {
                groups.insert(at, tested);
                continue;
            };
            let of_owner = |own: Expr| equals.equalities.find(own, |expr| owner.owns(expr));
            let by: Vec<(Expr, Expr)> =
                tested.wanted.iter().filter_map(|own| Some((*own, of_owner(*own)?))).collect();
            let test = tested.as_test(of_owner);
            owner.filter.extend(test);
            replace(rest, output, &by);
            want(groups, rest, output);
        }
    }

    /// Moves what stored facts test into the branches whose parts it narrows. `stored` are the stored sources
    /// of the select, those of groups that were merged as well.
    fn move_inwards(
        &mut self,
        groups: &mut Vec<StoredGroup>,
        rest: &mut Vec<Condition>,
        output: &mut IdVec<ColumnId, Expr>,
        around: &Outside,
        stored: &IndexSet<Alias>,
    ) {
        let equals = &around.equals;
        let column = self.column;
        // A stored value of a select around this one is known here only if its part is asked for it.
        let is_outside = |expr: Expr| {
            let outer = around.groups.iter().find(|group| group.owns(expr));
            let is_known = outer.is_none_or(|outer| outer.wanted.contains(&expr));
            expr.alias().is_some_and(|alias| !stored.contains(&alias) && is_known) || is_column(expr, column)
        };
        let mut at = 0;
        while let Some(group) = groups.get(at) {
            let is_wide = !self.leads.hold_group(group);
            let test = group.as_test(|own| equals.equalities.find(own, is_outside)).filter(|_| is_wide);
            let moved = test.is_some_and(|test| self.move_into_any(&test, rest, equals));
            if moved {
                let merged = groups.remove(at);
                let by: Vec<(Expr, Expr)> = merged
                    .wanted
                    .iter()
                    .filter_map(|own| Some((*own, equals.equalities.find(*own, is_outside)?)))
                    .collect();
                replace(rest, output, &by);
            } else {
                at += 1;
            }
        }
        let mut at = 0;
        while at < rest.len() {
            let condition = rest.remove(at);
            let moves = match &condition {
                Condition::None(_) => true,
                Condition::Any(branches) => !self.leads.hold_branches(branches),
                Condition::Compare { .. }
                | Condition::OneOf { .. }
                | Condition::Meets { .. }
                | Condition::In { .. } => false,
            };
            if !(moves && self.move_into_any(&condition, rest, equals)) {
                rest.insert(at, condition);
                at += 1;
            }
        }
    }

    /// Moves a test into the branches of some condition; whether there is one that takes it.
    fn move_into_any(&mut self, test: &Condition, rest: &mut [Condition], equals: &RowEqualities) -> bool {
        for condition in rest {
            if let Condition::Any(branches) = condition
                && let Some(moved) = self.moved(test, branches, equals)
            {
                *branches = moved;
                return true;
            }
        }
        false
    }

    /// Branches with a test of stored facts in each, if each has a part that it narrows.
    fn moved(
        &mut self,
        test: &Condition,
        branches: &[Select],
        equals: &RowEqualities,
    ) -> Option<Vec<Select>> {
        let mut moved = Vec::new();
        for branch in branches {
            let equals = equals.with(branch, self.keys);
            let (groups, _, _) = self.take_apart(&mut branch.clone());
            let takes = |group: &&StoredGroup| {
                let is_narrow = self.leads.hold_group(group);
                let narrows = is_narrow || matches!(test, Condition::None(_));
                !group.from.is_empty() && narrows
            };
            let mut narrowed = groups.iter().filter(takes);
            let decided = narrowed.find_map(|group| self.decided(test, group, &equals));
            let mut branch = branch.clone();
            match decided {
                Some(decided) => {
                    let decided = self.renamed(decided);
                    branch.filter.push(decided);
                }
                None if self.move_into_any(test, &mut branch.filter, &equals) => {}
                None => return None,
            }
            moved.push(branch);
        }
        (!moved.is_empty()).then_some(moved)
    }

    /// A condition whose own sources have aliases that no other has.
    fn renamed(&mut self, mut condition: Condition) -> Condition {
        renumber_inside(&mut condition, &mut self.aliases);
        condition
    }
}

/// Records the columns of each group that the residual uses, in its own values and in those of its branches.
fn want(groups: &mut [StoredGroup], rest: &mut [Condition], output: &mut IdVec<ColumnId, Expr>) {
    groups.iter_mut().for_each(|group| group.wanted.clear());
    let mut want = |expr: &mut Expr| {
        if let Some(owner) = groups.iter_mut().find(|group| group.owns(*expr)) {
            owner.wanted.insert(*expr);
        }
    };
    output.iter_mut().for_each(&mut want);
    rest.iter_mut().for_each(|condition| condition.for_each_expr_mut(&mut want));
}

/// Replaces values by others that equal them, and drops the comparisons that say nothing more.
fn replace(rest: &mut Vec<Condition>, output: &mut IdVec<ColumnId, Expr>, by: &[(Expr, Expr)]) {
    let mut replace = |expr: &mut Expr| {
        if let Some((_, by)) = by.iter().find(|(own, _)| own == expr) {
            *expr = *by;
        }
    };
    output.iter_mut().for_each(&mut replace);
    let mut left: Vec<Condition> = Vec::new();
    for mut condition in std::mem::take(rest) {
        condition.for_each_expr_mut(&mut replace);
        let is_said = matches!(
            &condition,
            Condition::Compare { op: CompareOp::Equal, left, right } if left == right
        );
        if !is_said && !left.contains(&condition) {
            left.push(condition);
        }
    }
    *rest = left;
}
