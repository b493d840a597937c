//! Alternatives that differ in one literal, which a column of each equals, are one alternative over that
//! column.
//!
//! ```text
//! grants(u, "viewer", d), not expired(u, "viewer", d)   ∪   grants(u, "editor", d), not expired(u, "editor", d)
//!     ─▶   grants(u, r, d), r in ("viewer", "editor"), not expired(u, r, d)
//! ```
//!
//! Roles are the usual case. In the rules, each role has an `expired` of its own: the literal is part of a
//! call, and so part of a relation. Only in a plan are both readings of one source.
//!
//! The literal may also occur where something is compared with it for equality, at any depth. An answer keeps
//! its literal. Only Strings are replaced: columns of other types may show one value in several forms, which
//! are compared with a literal in its form, but with each other as they are.

#[cfg(test)]
mod tests;

use crate::algebra::aliases::number_aliases;
use crate::algebra::{Condition, Expr, FromKind, Plan, Select, TableBody};
use crate::catalog::Catalog;
use crate::ir::{CompareOp, ConstId};
use crate::others::Others;
use crate::primitive::STRING;
use indexmap::IndexMap;

/// With more alternatives than this they stay as they are: each test of each is compared with all others.
const MOST_ALTERNATIVES: usize = 128;

/// Merges the alternatives of a plan, of its tables and of their tests.
pub(super) fn merge(plan: &mut Plan, catalog: &Catalog) {
    for table in &mut plan.tables {
        match &mut table.body {
            TableBody::Union(selects) => merge_all(selects, catalog),
            TableBody::Recursive { base, step } | TableBody::WholeState { base, step } => {
                merge_all(base, catalog);
                merge_all(step, catalog);
            }
        }
    }
    plan.guard.filter.iter_mut().for_each(|condition| merge_inside(condition, catalog));
    merge_all(plan.answer.selects_mut(), catalog);
}

fn merge_all(selects: &mut Vec<Select>, catalog: &Catalog) {
    let inside = selects.iter_mut().flat_map(|select| &mut select.filter);
    inside.for_each(|condition| merge_inside(condition, catalog));
    if selects.len() > MOST_ALTERNATIVES {
        return;
    }
    loop {
        let mut merged: IndexMap<usize, Option<Select>> = IndexMap::new();
        for LiteralTwins { mut rest, value, literals } in twins(selects, catalog) {
            if literals.keys().any(|at| merged.contains_key(at)) {
                continue;
            }
            rest.filter
                .push(Condition::OneOf { expr: value, literals: literals.values().copied().collect() });
            // It replaces the first.
            let mut rest = Some(rest);
            merged.extend(literals.into_keys().map(|at| (at, rest.take())));
        }
        if merged.is_empty() {
            return;
        }
        let places = std::mem::take(selects).into_iter().enumerate();
        *selects =
            places.filter_map(|(at, select)| merged.swap_remove(&at).unwrap_or(Some(select))).collect();
    }
}

/// Merges the alternatives inside a condition. Those that are denied stay as they are: the verifier compares
/// denials as a whole, and would not find them again.
fn merge_inside(condition: &mut Condition, catalog: &Catalog) {
    match condition {
        Condition::In { selects: branches, .. } | Condition::Any(branches) => merge_all(branches, catalog),
        Condition::None(_)
        | Condition::Compare { .. }
        | Condition::OneOf { .. }
        | Condition::Meets { .. } => {}
    }
}

/// Alternatives that differ in a literal.
struct LiteralTwins {
    /// The first of them, without the comparison of the column with the literal, and with the column in place
    /// of the literal.
    rest: Select,
    /// The column.
    value: Expr,
    /// The literals, by the places of their alternatives.
    literals: IndexMap<usize, ConstId>,
}

/// All alternatives that differ in a literal. One may differ from some in one literal, and from others in
/// another.
fn twins(selects: &[Select], catalog: &Catalog) -> Vec<LiteralTwins> {
    let mut found: IndexMap<Select, LiteralTwins> = IndexMap::new();
    for (at, select) in selects.iter().enumerate() {
        for (others, condition) in Others::each(&select.filter) {
            let Some((value, literal)) = tested(condition, select, catalog) else { continue };
            let filter = others.to_vec();
            let without = Select { from: select.from.clone(), filter, output: select.output.clone() };
            let Some(rest) = over_column(without, value, literal) else { continue };
            // The column is part of what must be equal, and the literal is not.
            let mut asked = rest.clone();
            asked.filter.push(Condition::OneOf { expr: value, literals: Vec::new() });
            number_aliases([&mut asked]);
            let twins = found.entry(asked);
            let twins = twins.or_insert_with(|| LiteralTwins { rest, value, literals: IndexMap::new() });
            twins.literals.entry(at).or_insert(literal);
        }
    }
    found.into_values().filter(|twins| twins.literals.len() > 1).collect()
}

/// The column of a relation that must equal a literal, and the literal, if both are Strings.
fn tested(condition: &Condition, select: &Select, catalog: &Catalog) -> Option<(Expr, ConstId)> {
    let Condition::Compare { op: CompareOp::Equal, left, right: Expr::Const(literal) } = condition else {
        return None;
    };
    let Expr::Column { alias, column } = *left else { return None };
    let read = select.from.iter().find(|from| from.alias == alias)?;
    let FromKind::Source(source) = read.kind else { return None };
    let (ty, _) = catalog.relations[source].column(column)?;
    (ty == STRING).then_some((*left, *literal))
}

/// A select with a column in place of a literal that it equals; `None` if the literal occurs nowhere, or in a
/// place where it must stay.
fn over_column(mut select: Select, column: Expr, literal: ConstId) -> Option<Select> {
    let mut replaced = Replaced { column, literal, count: 0, must_stay: false };
    replaced.must_stay |= select.output.iter().any(|shown| *shown == Expr::Const(literal));
    select.filter.iter_mut().for_each(|condition| replaced.in_condition(condition));
    (replaced.count > 0 && !replaced.must_stay).then_some(select)
}

/// What was replaced so far.
struct Replaced {
    column: Expr,
    literal: ConstId,
    count: usize,
    /// Whether the literal occurs in a place where it must stay.
    must_stay: bool,
}

impl Replaced {
    fn in_condition(&mut self, condition: &mut Condition) {
        match condition {
            Condition::Compare { op: CompareOp::Equal | CompareOp::NotEqual, left, right } => {
                for side in [left, right] {
                    if *side == Expr::Const(self.literal) {
                        *side = self.column;
                        self.count += 1;
                    }
                }
            }
            Condition::Compare { left, right, .. } => {
                self.must_stay |= [*left, *right].contains(&Expr::Const(self.literal));
            }
            Condition::OneOf { expr, literals } => {
                self.must_stay |= literals.contains(&self.literal) || *expr == Expr::Const(self.literal);
            }
            Condition::Any(branches) | Condition::None(branches) => {
                branches.iter_mut().for_each(|branch| self.in_branch(branch));
            }
            // A set is made once, and so depends on no column around it.
            Condition::In { selects, .. } => {
                let mut inside = Self { count: 0, ..*self };
                let mut copies = selects.clone();
                copies.iter_mut().for_each(|branch| inside.in_branch(branch));
                self.must_stay |= inside.must_stay || inside.count > 0;
            }
            Condition::Meets { .. } => {}
        }
    }

    fn in_branch(&mut self, branch: &mut Select) {
        self.must_stay |= branch.output.iter().any(|shown| *shown == Expr::Const(self.literal));
        branch.filter.iter_mut().for_each(|condition| self.in_condition(condition));
    }
}
