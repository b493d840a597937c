//! Tests the container of each row that other conditions find, instead of listing the containers that the
//! actor reaches.
//!
//! ```text
//! (row.owner = u or row.f in S) and row.f in (f where folders(f, t), member(u, t))
//!     ─▶   (row.owner = u or row.f in S) and probe(folders(row.f, t), member(u, t))
//! ```
//!
//! A guard such as *the folder's tenant is one of the user's* starts from the actor, but leads through the
//! tenant to all of its folders, of which a user who sees ten documents needs ten. The container is found by
//! its key, so a test reads one row of it. The rows must be found by another condition: otherwise the list
//! is what finds them. Of two conditions that both list containers, one finds the rows, and the other stays a
//! list, which is hashed: its list is of the same kind as the one that is made anyway. And only one way must
//! lead to the container. PostgreSQL counts the start of a set once for each row that a test around it is
//! made for, so that a test of several ways looks costlier than it is: the statement is compiled, and the
//! rows are searched for in another way. A test that is an alternative itself must be printed without a set
//! inside it, as the look-up of one column of the container.

use super::super::setting::Setting;
use super::rows_of;
use crate::algebra::aliases::TakenAliases;
use crate::algebra::anchor::Anchors;
use crate::algebra::probe::probe_of;
use crate::algebra::{Condition, Expr, From, FromKind, Plan, Select, SetUse};
use crate::id_vec::IdVec;
use crate::ir::CompareOp;
use crate::keys::Keys;

/// Replaces the sets of containers in all alternatives of a filter.
pub(in super::super) fn probe(plan: &mut Plan, setting: &Setting<'_>) {
    let Some(bindings) = setting.bindings else { return };
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors::new(setting.catalog, tables);
    let prober = Prober { anchors: &anchors, keys: Keys { catalog: setting.catalog, bindings } };
    let is_alternative = answer.selects().len() > 1;
    for select in answer.selects_mut() {
        let mut taken = TakenAliases::of([&*select]);
        prober.in_select(select, RowPlace { outside: &[], is_found: false, is_alternative }, &mut taken);
    }
}

/// Where a condition on the row is.
#[derive(Clone, Copy)]
struct RowPlace<'a> {
    /// The sources around it that show the row.
    outside: &'a [From],
    /// Whether other conditions find the row.
    is_found: bool,
    /// Whether it is one of several alternatives.
    is_alternative: bool,
}

struct Prober<'a> {
    anchors: &'a Anchors<'a>,
    keys: Keys<'a>,
}

impl Prober<'_> {
    /// Replaces the sets of a condition on the row.
    fn in_select(&self, select: &mut Select, place: RowPlace<'_>, taken: &mut TakenAliases) {
        let RowPlace { outside, is_found, is_alternative } = place;
        let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
        let (sets, others): (Vec<&Condition>, Vec<&Condition>) =
            select.filter.iter().partition(|condition| self.listed(condition).is_some());
        let finders: Vec<&Condition> =
            others.into_iter().filter(|condition| self.finds_few(condition, &rows)).collect();
        let is_probed = !sets.is_empty() && (is_found || !finders.is_empty());
        // A condition that finds the rows keeps its own lists.
        let is_found = is_found || finders.into_iter().any(|condition| !self.has_list(condition));
        for condition in &mut select.filter {
            if let Condition::Any(branches) = condition
                && branches.iter().all(Select::reads_nothing)
            {
                let is_alternative = is_alternative || branches.len() > 1;
                let place = RowPlace { outside: &rows, is_found, is_alternative };
                branches.iter_mut().for_each(|branch| self.in_select(branch, place, taken));
            } else if is_probed
                && let Some((value, list)) = self.listed(condition)
                && (!is_alternative || is_keyed(list))
            {
                let mut list = list.clone();
                if !is_alternative {
                    join_sets(&mut list);
                }
                *condition = Condition::Any(vec![probe_of(list, value, taken)]);
            }
        }
    }

    /// Whether a condition, or one inside its alternatives, lists containers.
    fn has_list(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Any(branches) => {
                branches.iter().flat_map(|branch| &branch.filter).any(|condition| self.has_list(condition))
            }
            Condition::In { selects, used: SetUse::ToFind, .. } => {
                selects.iter().any(|set| self.is_list(set) && is_one_way(set))
            }
            Condition::In { used: SetUse::ToTest, .. }
            | Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. }
            | Condition::None(_) => false,
        }
    }

    /// Whether an index finds the rows for which a condition holds, and they are few: those of the actor, or
    /// those that belong to one thing.
    fn finds_few(&self, condition: &Condition, rows: &[From]) -> bool {
        match condition {
            Condition::Any(branches) => branches.iter().all(|branch| {
                let rows: Vec<From> = rows.iter().chain(&branch.from).copied().collect();
                branch.reads_nothing()
                    && branch.filter.iter().any(|condition| self.finds_few(condition, &rows))
            }),
            Condition::In { expr, .. } => {
                self.anchors.is_indexed(condition, rows) && self.anchors.names_thing(*expr, rows)
            }
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. }
            | Condition::None(_) => self.anchors.is_indexed(condition, rows),
        }
    }

    /// The value and the list, if a condition looks it up in a list of containers to which one way leads.
    fn listed<'s>(&self, condition: &'s Condition) -> Option<(Expr, &'s Select)> {
        let Condition::In { expr, selects, used: SetUse::ToFind } = condition else { return None };
        match selects.as_slice() {
            [set] if self.is_list(set) && is_one_way(set) => Some((*expr, set)),
            _ => None,
        }
    }

    /// Whether a set lists keys of a table whose rows the actor reaches only through other tables.
    fn is_list(&self, set: &Select) -> bool {
        let [Expr::Column { alias, column }] = set.output.as_slice() else { return false };
        let kind = set.from.iter().find(|from| from.alias == *alias).map(|from| from.kind);
        let Some(FromKind::Source(source)) = kind else { return false };
        self.keys.is_key(source, *column) && !self.is_the_actors(set)
    }

    /// Whether a column of the set's own table equals a value of the question.
    fn is_the_actors(&self, set: &Select) -> bool {
        set.filter.iter().any(|condition| match condition {
            Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. } => {
                self.anchors.is_indexed(condition, &set.from)
            }
            Condition::In { .. } | Condition::Any(_) | Condition::None(_) => false,
        })
    }
}

/// Whether a list only compares columns of the containers and looks one of them up in a set: then its test
/// is that of a container's column in the set (`keyed_row` in `sql/strategy/exists`).
fn is_keyed(list: &Select) -> bool {
    let is_set = |condition: &&Condition| matches!(condition, Condition::In { .. });
    let (sets, others): (Vec<&Condition>, Vec<&Condition>) = list.filter.iter().partition(is_set);
    list.from.len() == 1 && sets.len() == 1 && others.into_iter().all(Condition::is_of_columns)
}

/// Whether a set reads sources of the catalog alone and has no alternatives, and so for the sets in which it
/// looks its own values up.
fn is_one_way(set: &Select) -> bool {
    set.from.iter().all(|from| matches!(from.kind, FromKind::Source(_)))
        && set.filter.iter().all(|condition| match condition {
            Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. }
            | Condition::None(_) => true,
            Condition::In { selects, .. } => matches!(selects.as_slice(), [inner] if is_one_way(inner)),
            Condition::Any(_) => false,
        })
}

/// Joins the sets in which a select looks its own values up. The database estimates how many rows a join of
/// tables has, and an array at ten elements. A probe that is one of several alternatives is planned by itself
/// and costs least with arrays, which are made once.
fn join_sets(select: &mut Select) {
    for condition in std::mem::take(&mut select.filter) {
        match condition {
            Condition::In { expr, selects, used } => match <[Select; 1]>::try_from(selects) {
                Ok([mut set]) if set.from.iter().all(|from| matches!(from.kind, FromKind::Source(_))) => {
                    let shown = std::mem::replace(&mut set.output, IdVec::new());
                    join_sets(&mut set);
                    select.from.append(&mut set.from);
                    select.filter.append(&mut set.filter);
                    select.filter.extend(shown.into_iter().map(|value| equals(value, expr)));
                }
                Ok([set]) => select.filter.push(Condition::In { expr, selects: vec![set], used }),
                Err(selects) => select.filter.push(Condition::In { expr, selects, used }),
            },
            other => select.filter.push(other),
        }
    }
}

fn equals(left: Expr, right: Expr) -> Condition {
    Condition::Compare { op: CompareOp::Equal, left, right }
}
