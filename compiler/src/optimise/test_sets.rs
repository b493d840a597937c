//! Looks a value up in one set alone, and only tests the other sets that it must be in.
//!
//! ```text
//! row.f in A and row.f in B   ─▶   row.f in (a from A where a among B)
//! ```
//!
//! With an array for each set, PostgreSQL looks up every pair of elements in the index; and where no index
//! finds a row, it searches an array from end to end for each. A set that is only tested is hashed. So the
//! work grows with the sum of the sets' sizes and not with their product, whatever PostgreSQL knows of them.

use super::setting::Setting;
use crate::algebra::anchor::Anchors;
use crate::algebra::{Condition, Expr, FromKind, Plan, Select, SetUse, TableId};
use crate::bindings::Bindings;
use crate::keys::Keys;

/// Decides what each set of a plan is for.
pub(super) fn test_sets(plan: &mut Plan, setting: &Setting<'_>) {
    for table in TableId::all(&plan.tables) {
        let (before, rest) = plan.tables.split_at_mut(table.index());
        let uses = SetUses {
            anchors: Anchors { catalog: setting.catalog, tables: before },
            bindings: setting.bindings,
        };
        let selects = rest.first_mut().into_iter().flat_map(|table| table.body.selects_mut());
        selects.for_each(|select| uses.in_select(select, &[]));
    }
    let Plan { tables, guard, answer } = plan;
    let uses = SetUses { anchors: Anchors { catalog: setting.catalog, tables }, bindings: setting.bindings };
    uses.in_select(guard, &[]);
    answer.selects_mut().iter_mut().for_each(|select| uses.in_select(select, &[]));
}

/// Decides what each set is used for.
struct SetUses<'a> {
    anchors: Anchors<'a>,
    bindings: Option<&'a Bindings>,
}

impl SetUses<'_> {
    /// Decides for all sets in a select; `found` are the values that sets around it find.
    fn in_select(&self, select: &mut Select, found: &[Expr]) {
        test_found(select, found);
        nest(select);
        self.test_shown(select);
        let mut found = if select.reads_nothing() { found.to_vec() } else { Vec::new() };
        found.extend(select.filter.iter().filter_map(finds));
        for condition in &mut select.filter {
            let is_set = matches!(condition, Condition::In { .. });
            for inner in condition.branches_mut() {
                let is_condition = !is_set && inner.reads_nothing();
                self.in_select(inner, if is_condition { &found } else { &[] });
            }
        }
    }

    /// Only tests the value that a select exposes, if the select finds its rows without that set.
    fn test_shown(&self, select: &mut Select) {
        for at in (0..select.filter.len()).rev() {
            let Some(shown) = select.filter.get(at).and_then(finds) else { continue };
            if !select.output.contains(&shown) || self.may_be_key(select, shown) {
                continue;
            }
            let others = select.filter.iter().filter(|condition| !matches!(condition, Condition::In { .. }));
            let rest = Select {
                from: select.from.clone(),
                filter: others.cloned().collect(),
                output: vec![shown].into(),
            };
            if self.anchors.is_anchored(&rest) {
                only_test(select, at);
            }
        }
    }

    /// Whether an index may find one row for this value: the column is a key, or nothing promises which
    /// column is.
    fn may_be_key(&self, select: &Select, value: Expr) -> bool {
        let Expr::Column { alias, column } = value else { return false };
        let kind = select.from.iter().find(|from| from.alias == alias).map(|from| from.kind);
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

fn only_test(select: &mut Select, at: usize) {
    if let Some(Condition::In { used, .. }) = select.filter.get_mut(at) {
        *used = SetUse::ToTest;
    }
}

/// Leaves one set to find each value. The others move into it, if it is one select: fewer values are looked
/// up then.
fn nest(select: &mut Select) {
    while let Some((one, other)) = pair(select) {
        let (outer, inner) =
            if is_single(select, one) || !is_single(select, other) { (one, other) } else { (other, one) };
        only_test(select, inner);
        if !is_single(select, outer) {
            continue;
        }
        let mut moved = select.filter.remove(inner);
        let outer = if outer > inner { outer - 1 } else { outer };
        if let Some(Condition::In { selects, .. }) = select.filter.get_mut(outer)
            && let [set] = selects.as_mut_slice()
            && let [shown] = set.output.as_slice()
            && let Condition::In { expr, .. } = &mut moved
        {
            *expr = *shown;
            set.filter.push(moved);
        }
    }
}

/// Two sets of a select that find the same value.
fn pair(select: &Select) -> Option<(usize, usize)> {
    let all: Vec<Option<Expr>> = select.filter.iter().map(finds).collect();
    all.iter().enumerate().find_map(|(one, value)| {
        let other = all.iter().skip(one + 1).position(|other| value.is_some() && other == value)?;
        Some((one, one + 1 + other))
    })
}

/// Whether a set is one select that exposes a column.
fn is_single(select: &Select, at: usize) -> bool {
    match select.filter.get(at) {
        Some(Condition::In { selects, .. }) => match selects.as_slice() {
            [set] => matches!(set.output.as_slice(), [Expr::Column { .. }]),
            _ => false,
        },
        _ => false,
    }
}
