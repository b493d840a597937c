//! Looks a value up in one set alone, and only tests the other sets that it must be in.
//!
//! ```text
//! row.f in A and row.f in B   ─▶   row.f in (a from A where a among B)
//! ```
//!
//! With an array for each set, PostgreSQL looks up every pair of elements in the index; and where no index
//! finds a row, it searches an array from end to end for each. A set that is only tested is hashed. So the
//! work grows with the sum of the sets' sizes and not with their product, regardless of PostgreSQL's
//! statistics.
//!
//! A set of values of the very column that it is compared with, as in *the owner's documents that are in one
//! of these folders* where nothing promises a key, becomes a probe: the database may join by the column's
//! index.

use super::setting::Setting;
use crate::algebra::aliases::TakenAliases;
use crate::algebra::anchor::Anchors;
use crate::algebra::probe::probe_of;
use crate::algebra::{Condition, Expr, From, FromKind, Plan, Select, SetUse, TableId};
use crate::bindings::Bindings;
use crate::keys::Keys;
use crate::others::Others;

/// Decides what each set of a plan is used for.
pub(super) fn test_sets(plan: &mut Plan, setting: &Setting<'_>) {
    for table in TableId::all(&plan.tables) {
        let (before, rest) = plan.tables.split_at_mut(table.index());
        let uses = SetUses { anchors: Anchors::new(setting.catalog, before), bindings: setting.bindings };
        let selects = rest.first_mut().into_iter().flat_map(|table| table.body.selects_mut());
        selects.for_each(|select| uses.in_alternative(select));
    }
    let Plan { tables, guard, answer } = plan;
    let uses = SetUses { anchors: Anchors::new(setting.catalog, tables), bindings: setting.bindings };
    answer.selects_mut().iter_mut().chain([guard]).for_each(|select| uses.in_alternative(select));
}

/// Decides what each set is used for.
struct SetUses<'a> {
    anchors: Anchors<'a>,
    bindings: Option<&'a Bindings>,
}

impl SetUses<'_> {
    /// Decides for all sets in an alternative.
    fn in_alternative(&self, select: &mut Select) {
        let mut taken = TakenAliases::of([&*select]);
        self.in_select(select, &[], &mut taken);
    }

    /// Decides for all sets in a select; `found` are the values that sets around it find.
    fn in_select(&self, select: &mut Select, found: &[Expr], taken: &mut TakenAliases) {
        test_found(select, found);
        nest(&mut select.filter);
        self.test_shown(select, taken);
        let mut found = if select.reads_nothing() { found.to_vec() } else { Vec::new() };
        found.extend(select.filter.iter().filter_map(finds));
        for condition in &mut select.filter {
            let is_set = matches!(condition, Condition::In { .. });
            for inner in condition.branches_mut() {
                let is_condition = !is_set && inner.reads_nothing();
                self.in_select(inner, if is_condition { &found } else { &[] }, taken);
            }
        }
    }

    /// Only tests the value that a select exposes, if the select finds its rows without that set. If the set
    /// reads the same column of the same table, each of the rows is looked up there.
    fn test_shown(&self, select: &mut Select, taken: &mut TakenAliases) {
        let Select { from, filter, output } = select;
        Others::for_each_mut(filter, |others, condition| {
            let Condition::In { expr: shown, used: used @ SetUse::ToFind, selects } = condition else {
                return;
            };
            if !output.contains(shown) {
                return;
            }
            let is_again = selects.iter().all(|set| self.reads_again(from, *shown, set));
            if !is_again && self.may_be_key(from, *shown) {
                return;
            }
            let others = others.iter().filter(|condition| !matches!(condition, Condition::In { .. }));
            let rest =
                Select { from: from.clone(), filter: others.cloned().collect(), output: vec![*shown].into() };
            if !self.anchors.is_anchored(&rest) {
                return;
            }
            if is_again {
                let shown = *shown;
                let probe = |set: Select| probe_of(set, shown, taken);
                *condition = Condition::Any(std::mem::take(selects).into_iter().map(probe).collect());
            } else {
                *used = SetUse::ToTest;
            }
        });
    }

    /// Whether a set's values come from the same column of the same table as a value, perhaps through another
    /// bound query.
    fn reads_again(&self, sources: &[From], value: Expr, set: &Select) -> bool {
        let ([shown], Some(bindings)) = (set.output.as_slice(), self.bindings) else { return false };
        let keys = Keys { catalog: self.anchors.catalog, bindings };
        keys.are_same_column((value, sources), (*shown, &set.from))
    }

    /// Whether an index may find one row for this value: the column is a key, or nothing promises which
    /// column is.
    fn may_be_key(&self, sources: &[From], value: Expr) -> bool {
        let Expr::Column { alias, column } = value else { return false };
        let kind = sources.iter().find(|from| from.alias == alias).map(|from| from.kind);
        let (Some(FromKind::Source(source)), Some(bindings)) = (kind, self.bindings) else { return false };
        let catalog = self.anchors.catalog;
        let ty = catalog.relations[source].column(column).map(|(ty, _)| ty);
        let is_promised = ty.is_some_and(|ty| bindings.tables.contains_key(ty));
        !is_promised || Keys { catalog, bindings }.is_key(source, column)
    }
}

/// The value that a condition finds in a set.
fn finds(condition: &Condition) -> Option<Expr> {
    match condition {
        Condition::In { expr, used: SetUse::ToFind, .. } => Some(*expr),
        Condition::In { used: SetUse::ToTest, .. }
        | Condition::Compare { .. }
        | Condition::OneOf { .. }
        | Condition::Meets { .. }
        | Condition::Any(_)
        | Condition::None(_) => None,
    }
}

/// Only tests the sets of values that sets around the select find.
fn test_found(select: &mut Select, found: &[Expr]) {
    for condition in &mut select.filter {
        if let Condition::In { expr, used, .. } = condition
            && found.contains(expr)
        {
            *used = SetUse::ToTest;
        }
    }
}

/// Leaves one set to find each value. The others move into it, if it is one select: fewer values are looked
/// up then.
fn nest(filter: &mut Vec<Condition>) {
    let mut left: Vec<Condition> = Vec::new();
    for condition in std::mem::take(filter) {
        let Condition::In { expr, mut selects, used: SetUse::ToFind } = condition else {
            left.push(condition);
            continue;
        };
        let same = left.iter_mut().find_map(|earlier| match earlier {
            Condition::In { expr: own, selects, used: SetUse::ToFind } if *own == expr => Some(selects),
            _ => None,
        });
        let Some(earlier) = same else {
            left.push(Condition::In { expr, selects, used: SetUse::ToFind });
            continue;
        };
        if let Some((shown, tests)) = single(earlier) {
            tests.push(Condition::In { expr: shown, selects, used: SetUse::ToTest });
        } else if let Some((shown, tests)) = single(&mut selects) {
            let earlier = std::mem::take(earlier);
            tests.push(Condition::In { expr: shown, selects: earlier, used: SetUse::ToTest });
            left.retain(|condition| finds(condition) != Some(expr));
            left.push(Condition::In { expr, selects, used: SetUse::ToFind });
        } else {
            left.push(Condition::In { expr, selects, used: SetUse::ToTest });
        }
    }
    *filter = left;
}

/// The column that a set exposes and the conditions of its select, if it is one select.
fn single(selects: &mut [Select]) -> Option<(Expr, &mut Vec<Condition>)> {
    match selects {
        [Select { filter, output, .. }] => match output.as_slice() {
            [shown @ Expr::Column { .. }] => Some((*shown, filter)),
            _ => None,
        },
        _ => None,
    }
}
