//! Reads a row once where several bound queries of one table find it by the same key.
//!
//! In: a plan over bound queries. Out: the same answers, where a source that would look a row up which
//! another source reads already [sees that row again](FromKind::Again). A fact about a row is a column of it:
//!
//! ```text
//! docs t1 (id, folder) ⋈ docs t2 (id, status) where t1.id = t2.id   ─▶   docs t1 (id, folder, status)
//! ```
//!
//! That both rows are the same follows from the key, which the bindings promise to be unique (`tables:`). An
//! inner select sees the rows of those around it, so that a test of existence often becomes a comparison.
//!
//! In a filter, a row with a given key is read twice rather than once if that keeps conditions on the
//! caller's row apart: *the user's clearance is at least the document's, and the user's office is the
//! folder's* are two conditions, of which each starts from the user's row. Over one row they would be a test
//! of pairs.

use super::super::row::{fact_condition, is_of_row, rows_of};
use super::super::setting::{Row, Setting};
use crate::algebra::equalities::Equalities;
use crate::algebra::groups::around;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, Select, TableBody};
use crate::bindings::Bindings;
use crate::catalog::ColumnId;
use crate::id_vec::IdVec;
use crate::ir::CompareOp;
use crate::keys::Keys;
use crate::others::Others;
use crate::question::QuestionVarId;

/// Rewrites every select of a plan but those of a fixpoint on the whole state.
pub(in super::super) fn read_once(plan: &mut Plan, setting: &Setting<'_>, bindings: &Bindings) {
    let keys = Keys { catalog: setting.catalog, bindings };
    let Plan { tables, guard, answer } = plan;
    let of_tables = tables.iter_mut().filter(|table| !matches!(table.body, TableBody::WholeState { .. }));
    let selects = of_tables.flat_map(|table| table.body.selects_mut());
    for select in selects.chain([guard]).chain(answer.selects_mut()) {
        merge(select, &mut Vec::new(), setting.row, keys);
    }
}

/// Merges the sources of one select, which does not read the caller's row.
pub(in super::super) fn read_row_once(select: &mut Select, keys: Keys<'_>) {
    merge(select, &mut Vec::new(), None, keys);
}

/// Merges the sources of a select and of its branches; `around` are those of the selects around it.
fn merge(select: &mut Select, around: &mut Vec<From>, row: Option<Row<'_>>, keys: Keys<'_>) {
    let outside = around.len();
    let equalities = Equalities::of(select);
    let apart = KeptApart::of(select, row);
    let Select { from, filter, output } = select;
    Others::for_each_mut(from, |others, from| {
        let is_apart = |known: Alias, key: Expr| apart.holds(from.alias, known, key, &equalities);
        if let Some((kind, same)) = seen(*from, around, &equalities, keys, &is_apart)
            && !(matches!(kind, FromKind::Again { .. }) && is_seen(from.alias, &others, filter))
        {
            from.kind = kind;
            use_key(filter, output, same);
            if let (FromKind::Row { source, .. }, Some(row)) = (kind, row) {
                filter.extend(fact_condition(source, row, keys));
            }
        }
        around.push(*from);
    });
    for condition in filter {
        condition.branches_mut().iter_mut().for_each(|branch| merge(branch, around, row, keys));
    }
    around.truncate(outside);
}

/// The parts of a filter's select that are conditions on the caller's row by themselves.
struct KeptApart {
    /// The sources of each part.
    parts: Vec<Vec<Alias>>,
    /// The variable of the caller's row.
    row: Option<QuestionVarId>,
}

impl KeptApart {
    /// The parts of a select that reads the caller's row. Other selects have none.
    fn of(select: &Select, row: Option<Row<'_>>) -> Self {
        let rows: Vec<From> = rows_of(&select.from).collect();
        let parts = if rows.is_empty() {
            Vec::new()
        } else {
            let groups = around(select, &|expr| is_of_row(expr, &rows)).groups;
            groups.iter().map(|group| group.from.iter().map(|from| from.alias).collect()).collect()
        };
        Self { parts, row: row.map(|row| row.var) }
    }

    /// Whether two sources are in different parts, although both have the same given key.
    fn holds(&self, one: Alias, other: Alias, key: Expr, equalities: &Equalities) -> bool {
        let part = |alias: Alias| self.parts.iter().position(|part| part.contains(&alias));
        let is_given = |expr: Expr| match expr {
            Expr::Given(var) => Some(var) != self.row,
            other => other.is_static(),
        };
        part(one).is_some_and(|own| part(other).is_some_and(|part| part != own))
            && equalities.find(key, is_given).is_some()
    }
}

/// Whether another source of its select, or of a branch of it, sees the row that a source reads. Then the
/// source goes on reading it.
fn is_seen(alias: Alias, others: &Others<'_, From>, filter: &[Condition]) -> bool {
    let sees = |from: &From| matches!(from.kind, FromKind::Again { row, .. } if row == alias);
    let mut found = others.iter().any(sees);
    for branch in filter.iter().flat_map(Condition::branches) {
        branch.for_each_source(&mut |from| found |= sees(from));
    }
    found
}

/// If a source reads a row that is read already, returns how to refer to that row, and the equal keys.
fn seen(
    from: From,
    around: &[From],
    equalities: &Equalities,
    keys: Keys<'_>,
    is_apart: &dyn Fn(Alias, Expr) -> bool,
) -> Option<(FromKind, (Expr, Expr))> {
    let FromKind::Source(source) = from.kind else { return None };
    for (key, promised) in keys.of(source) {
        let own = Expr::Column { alias: from.alias, column: key };
        for known in around {
            let other = match known.kind {
                FromKind::Source(other)
                | FromKind::Row { source: other, .. }
                | FromKind::Again { source: other, .. } => other,
                FromKind::Table(_) | FromKind::Values(_) | FromKind::Embedded(_) => continue,
            };
            let known_key = keys.of(other).find(|(column, of)| {
                *of == promised && equalities.hold(own, Expr::Column { alias: known.alias, column: *column })
            });
            let Some((column, _)) = known_key.filter(|_| !is_apart(known.alias, own)) else { continue };
            let same = (own, Expr::Column { alias: known.alias, column });
            let kind = match known.kind {
                FromKind::Row { .. } => FromKind::Row { source, key },
                FromKind::Again { row, row_key, .. } => FromKind::Again { source, key, row, row_key },
                _ => FromKind::Again { source, key, row: known.alias, row_key: column },
            };
            return Some((kind, same));
        }
    }
    None
}

/// Replaces the key of a row by the equal key of the same row, under which it is read. Conditions that
/// then hold anyway, or occur twice, are dropped: each would connect the row once more with what reads
/// it.
fn use_key(filter: &mut Vec<Condition>, output: &mut IdVec<ColumnId, Expr>, (own, known): (Expr, Expr)) {
    let mut replace = |expr: &mut Expr| {
        if *expr == own {
            *expr = known;
        }
    };
    output.iter_mut().for_each(&mut replace);
    filter.iter_mut().for_each(|condition| condition.for_each_expr_mut(&mut replace));
    let mut seen: Vec<(Expr, Expr)> = Vec::new();
    filter.retain(|condition| match condition {
        Condition::Compare { op: CompareOp::Equal, left, right } if *left == known || *right == known => {
            let is_new =
                left != right && !seen.contains(&(*left, *right)) && !seen.contains(&(*right, *left));
            seen.push((*left, *right));
            is_new
        }
        _ => true,
    });
}
