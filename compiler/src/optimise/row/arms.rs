//! Replaces a set of a filter that only reads a table by the table's alternatives.
//!
//! ```text
//! row.f in (t)   with   t = roles(u, f) ∪ folders(f, o), owns(u, o)
//!     ─▶   row.f in (roles(u, f)) ∪ (folders(f, o), owns(u, o))
//! ```
//!
//! Conditions on the set then apply to each alternative, which often reads the row already: see
//! [`super::guards`] and [`super::super::read_once`].

use super::super::sets::set_tests;
use crate::algebra::aliases::{TakenAliases, renumber};
use crate::algebra::anchor::Anchors;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, PlanAnswer, Select, TableBody, TableRef};
use crate::catalog::Catalog;

/// How many alternatives a set may become; a table with more is read as it is.
const MOST_ARMS: usize = 8;

/// Takes the tables of all sets of a filter apart.
pub(in super::super) fn take_tables_apart(plan: &mut Plan, catalog: &Catalog) {
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors::new(catalog, tables);
    let mut taken = TakenAliases::of(answer.selects());
    match answer {
        PlanAnswer::Decision(conditions) => {
            conditions.iter_mut().for_each(|select| in_select(select, &anchors, &mut taken));
        }
        // What a filter returns is one set, in which the caller's column is looked up.
        PlanAnswer::Rows { selects, .. } => {
            let sets = std::mem::take(selects).into_iter();
            *selects = sets.flat_map(|set| arms(set, &anchors, &mut taken)).collect();
        }
    }
}

fn in_select(select: &mut Select, anchors: &Anchors<'_>, taken: &mut TakenAliases) {
    for condition in &mut select.filter {
        match condition {
            Condition::In { selects, .. } => {
                let sets = std::mem::take(selects).into_iter();
                *selects = sets.flat_map(|set| arms(set, anchors, taken)).collect();
            }
            Condition::Any(branches) => {
                branches.iter_mut().for_each(|branch| in_select(branch, anchors, taken));
            }
            Condition::None(_)
            | Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. } => {}
        }
    }
}

/// The alternatives of the table that a set is, if it is one.
fn arms(set: Select, anchors: &Anchors<'_>, taken: &mut TakenAliases) -> Vec<Select> {
    let [From { alias, kind: FromKind::Table(TableRef::Table(table)) }] = set.from.as_slice() else {
        return vec![set];
    };
    match &table.of(anchors.tables).body {
        TableBody::Union(arms) if arms.len() <= MOST_ARMS && arms.iter().all(shows_columns) => {
            let mut arms: Vec<Select> = arms.iter().map(|arm| of_arm(arm, *alias, &set, taken)).collect();
            for arm in &mut arms {
                if let Some(main) = arm.output.first().copied().and_then(Expr::alias) {
                    set_tests(arm, main, Some(anchors));
                }
            }
            arms
        }
        TableBody::Union(_) | TableBody::Recursive { .. } | TableBody::WholeState { .. } => vec![set],
    }
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
