//! Replaces a set of a filter that only reads a table by the table's alternatives.
//!
//! ```text
//! row.f in (t)   with   t = roles(u, f) ∪ folders(f, o), owns(u, o)
//!     ─▶   row.f in (roles(u, f)) ∪ (folders(f, o), owns(u, o))
//! ```
//!
//! Conditions on the set then apply to each alternative, which often reads the row already: see
//! [`super::guards`] and [`super::super::read_once`]. A table stays where each of its alternatives would get
//! a copy of long conditions: PostgreSQL plans every copy.

use super::super::sets::set_tests;
use super::guards::probed_column;
use super::rows_of;
use crate::algebra::aliases::{TakenAliases, renumber};
use crate::algebra::anchor::Anchors;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, PlanAnswer, Select, TableBody, TableRef};
use crate::catalog::Catalog;

/// How many alternatives a set may become; a table with more is read as it is.
const MOST_ARMS: usize = 8;

/// How many selects copies of conditions may add.
const MOST_COPIED: usize = 8;

/// The conditions on one value of the row, and how many selects they have.
type ProbedValue = (Expr, usize);

/// Takes the tables of all sets of a filter apart.
pub(in super::super) fn take_tables_apart(plan: &mut Plan, catalog: &Catalog) {
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors::new(catalog, tables);
    let mut taken = TakenAliases::of(answer.selects());
    match answer {
        PlanAnswer::Decision(conditions) => {
            let taker = Taker { anchors: &anchors, rows: &[], probed: &[] };
            conditions.iter_mut().for_each(|select| taker.in_select(select, &mut taken));
        }
        // What a filter returns is one set, in which the caller's column is looked up.
        PlanAnswer::Rows { selects, .. } => {
            let sets = std::mem::take(selects).into_iter();
            *selects = sets.flat_map(|set| arms(set, 0, &anchors, &mut taken)).collect();
        }
    }
}

/// What surrounds a condition on the row.
struct Taker<'a> {
    anchors: &'a Anchors<'a>,
    /// The sources that expose the row.
    rows: &'a [From],
    /// The probes that [`super::guards`] may put into the sets of these values.
    probed: &'a [ProbedValue],
}

impl Taker<'_> {
    fn in_select(&self, select: &mut Select, taken: &mut TakenAliases) {
        let rows: Vec<From> = self.rows.iter().copied().chain(rows_of(&select.from)).collect();
        let own = select.filter.iter().filter_map(|condition| {
            let n_selects = condition.branches().iter().map(|branch| 1 + branch.n_nested()).sum();
            Some((probed_column(condition, &rows)?, n_selects))
        });
        let probed: Vec<ProbedValue> = self.probed.iter().copied().chain(own).collect();
        let inside = Taker { rows: &rows, probed: &probed, ..*self };
        for condition in &mut select.filter {
            match condition {
                Condition::In { expr, selects, .. } => {
                    let of_value = probed.iter().filter(|(value, _)| value == expr);
                    let n_selects = of_value.map(|(_, n_selects)| n_selects).sum();
                    let sets = std::mem::take(selects).into_iter();
                    *selects = sets.flat_map(|set| arms(set, n_selects, self.anchors, taken)).collect();
                }
                Condition::Any(branches) => {
                    branches.iter_mut().for_each(|branch| inside.in_select(branch, taken));
                }
                Condition::None(_)
                | Condition::Compare { .. }
                | Condition::OneOf { .. }
                | Condition::Meets { .. } => {}
            }
        }
    }
}

/// The alternatives of the table that a set is, if it is one, and of the tables that these are. Each would
/// get probes of so many selects.
fn arms(set: Select, n_selects: usize, anchors: &Anchors<'_>, taken: &mut TakenAliases) -> Vec<Select> {
    let (mut open, mut all) = (vec![set], Vec::new());
    while let Some(set) = open.pop() {
        match table_arms(&set, open.len() + all.len(), n_selects, anchors) {
            Some((alias, arms)) => {
                let mut arms: Vec<Select> = arms.iter().map(|arm| of_arm(arm, alias, &set, taken)).collect();
                for arm in &mut arms {
                    if let Some(main) = arm.output.first().copied().and_then(Expr::alias) {
                        set_tests(arm, main, Some(anchors));
                    }
                }
                open.extend(arms.into_iter().rev());
            }
            None => all.push(set),
        }
    }
    all
}

/// The selects of the table that a set is, if they may take its place beside so many others: all of them are
/// few, and so are the copies of the conditions that each would get.
fn table_arms<'p>(
    set: &Select,
    n_others: usize,
    n_selects: usize,
    anchors: &Anchors<'p>,
) -> Option<(Alias, &'p [Select])> {
    let [From { alias, kind: FromKind::Table(TableRef::Table(table)) }] = set.from.as_slice() else {
        return None;
    };
    let TableBody::Union(arms) = &table.of(anchors.tables).body else { return None };
    let n_arms = n_others + arms.len();
    let is_short = n_arms <= MOST_ARMS && n_arms.saturating_sub(1) * n_selects <= MOST_COPIED;
    (is_short && arms.iter().all(shows_columns)).then_some((*alias, arms))
}

/// Whether every output of an alternative is a column; a literal cannot be restricted.
fn shows_columns(arm: &Select) -> bool {
    arm.output.iter().all(|shown| matches!(shown, Expr::Column { .. }))
}

/// One alternative of a table, with the set's conditions rewritten over this alternative's outputs.
fn of_arm(arm: &Select, table: Alias, set: &Select, taken: &mut TakenAliases) -> Select {
    let mut arm = arm.clone();
    renumber(&mut arm, taken);
    let shown = std::mem::replace(&mut arm.output, set.output.clone());
    let asked = arm.filter.len();
    arm.filter.extend(set.filter.iter().cloned());
    let place = |expr: &mut Expr| {
        if let Expr::Column { alias, column } = *expr
            && alias == table
        {
            *expr = shown[column];
        }
    };
    arm.output.iter_mut().for_each(place);
    for condition in arm.filter.iter_mut().skip(asked) {
        condition.for_each_expr_mut(&mut |expr| place(expr));
    }
    arm
}
