//! Self-joins that only bound other sources, as tests.
//!
//! In: a select in which two sources read one table by the same column, whose SQL type is not declared.
//! Nothing promises that the column is unique, or the row would be read once already: they may see different
//! rows. Out: the same rows, where the one that is only compared, by order or for a difference, is a test of
//! the other:
//!
//! ```text
//! deals t1 (id, region) ⋈ ceilings t2 (region, most) ⋈ deals t3 (id, value)
//!     where t1.region = t2.region, t3.id = t1.id, t3.value <= t2.most
//!   ─▶   deals t1 ⋈ ceilings t2
//!     where t1.region = t2.region, exists (deals t3 where t3.id = t1.id, t3.value <= t2.most)
//! ```
//!
//! Such a column is compared as text, and PostgreSQL has no statistics on that. It expects one pair of rows
//! in 200 to agree: a join of two readings of 400,000 deals would have 800 million rows, and all that
//! follows is planned for those. A test keeps at most the rows that there are.

use crate::algebra::aliases::mentioned;
use crate::algebra::{Alias, Condition, Expr, From, Plan, Select, TableBody};
use crate::id_vec::IdVec;
use crate::ir::CompareOp;
use crate::keys::Keys;

#[cfg(test)]
mod tests;

/// Rewrites every select of a plan but those of a fixpoint's steps, which have few rows.
pub(super) fn test(plan: &mut Plan, keys: Keys<'_>) {
    let bases = plan.tables.iter_mut().flat_map(|table| match &mut table.body {
        TableBody::Union(selects) | TableBody::Recursive { base: selects, .. } => selects.as_mut_slice(),
        TableBody::WholeState { .. } => &mut [],
    });
    for select in bases.chain(plan.answer.selects_mut()) {
        in_select(select, keys);
    }
}

/// An equality between a source of a select and another source, both of which read the same column.
#[derive(Clone, Copy, Debug)]
struct SelfJoin {
    /// The source's column.
    copy: Expr,
    /// The other one's.
    kept: Expr,
}

/// Rewrites a select. Its branches stay as they are: a test inside a test is planned apart from it, and
/// would be run for each row.
fn in_select(select: &mut Select, keys: Keys<'_>) {
    let mut next = 0;
    while let Some(from) = select.from.get(next).copied() {
        match without_copy(select, from, keys) {
            Some(rest) => *select = rest,
            None => next += 1,
        }
    }
}

/// The select with a test in the place of a source, if that is only compared.
fn without_copy(select: &Select, from: From, keys: Keys<'_>) -> Option<Select> {
    self_joins(select, from.alias, keys).find_map(|join| {
        let TakenApart { link, own, mut rest } = apart(select, from, join);
        let is_third = |alias: Alias| alias != from.alias && Some(alias) != join.kept.alias();
        let bounds_third = own.iter().any(|condition| mentioned(condition).into_iter().any(is_third));
        let mut is_used = rest.output.iter().any(|expr| expr.alias() == Some(from.alias));
        is_used |= rest.from.iter().any(|other| other.kind.seen_row() == Some(from.alias));
        if is_used || !bounds_third || !own.iter().all(only_compares) {
            return None;
        }
        let filter = [vec![link], own].concat();
        rest.filter.push(Condition::Any(vec![Select { from: vec![from], filter, output: IdVec::new() }]));
        Some(rest)
    })
}

/// A source and all that is asked of it, apart from the rest of its select.
struct TakenApart {
    /// The equality of the two columns.
    link: Condition,
    /// The other conditions that mention the source.
    own: Vec<Condition>,
    /// The select without it, with the other source's column in the place of its own.
    rest: Select,
}

fn apart(select: &Select, from: From, SelfJoin { copy, kept }: SelfJoin) -> TakenApart {
    let mut rest = select.clone();
    rest.filter.retain(|condition| condition.equal_to(copy) != Some(kept));
    rest.for_each_expr_mut(&mut |expr| {
        if *expr == copy {
            *expr = kept;
        }
    });
    rest.from.retain(|other| other.alias != from.alias);
    let (own, filter) =
        rest.filter.into_iter().partition(|condition| mentioned(condition).contains(&from.alias));
    rest.filter = filter;
    TakenApart { link: Condition::Compare { op: CompareOp::Equal, left: copy, right: kept }, own, rest }
}

/// Whether a condition finds no rows: an equality may lead to an index.
fn only_compares(condition: &Condition) -> bool {
    match condition {
        Condition::Compare { op, .. } => *op != CompareOp::Equal,
        Condition::OneOf { .. }
        | Condition::In { .. }
        | Condition::Meets { .. }
        | Condition::Any(_)
        | Condition::None(_) => false,
    }
}

/// The equalities of a source's columns with the same columns of other sources, if their type is not
/// declared.
fn self_joins(select: &Select, own: Alias, keys: Keys<'_>) -> impl Iterator<Item = SelfJoin> {
    select.filter.iter().filter_map(move |condition| match *condition {
        Condition::Compare { op: CompareOp::Equal, left, right } => {
            let (copy, kept) =
                [(left, right), (right, left)].into_iter().find(|(side, _)| side.alias() == Some(own))?;
            let is_again = kept.alias() != Some(own)
                && keys.are_same_column((copy, &select.from), (kept, &select.from))
                && !keys.is_declared(copy, &select.from);
            is_again.then_some(SelfJoin { copy, kept })
        }
        _ => None,
    })
}
