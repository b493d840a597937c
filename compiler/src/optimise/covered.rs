//! Drops an alternative whose conditions include all of another's.
//!
//! Everyone reads a public document, and the members of a group read what the group reads. So a member reads
//! a public document in two ways, of which the second finds nothing that the first does not:
//!
//! ```text
//! public(d)  or  public(d) ⋈ member(u, g)   ─▶   public(d)
//! ```
//!
//! One alternative covers another if its sources can be mapped to different ones of the other so that each
//! of its conditions becomes a different one of the other, and both return the same: a containment mapping
//! (Chandra and Merlin 1977). The search is bounded; what it does not find stays, and costs time but no
//! answer.

use crate::algebra::aliases::{TakenAliases, renumber_inside};
use crate::algebra::{Alias, Condition, FromKind, Plan, Select, TableBody};

/// How many searches a plan may start, and sources all of them may try to map.
const STEPS: usize = 10_000;

/// How many alternatives of one union are compared with each other.
const ALTERNATIVES: usize = 64;

/// Drops what is covered among the alternatives of the answer, of each table that is not a fixpoint, and of
/// tests.
pub(super) fn drop_covered(plan: &mut Plan) {
    let mut left = STEPS;
    for table in &mut plan.tables {
        match &mut table.body {
            TableBody::Union(arms) => in_union(arms, &mut left),
            TableBody::Recursive { base, .. } | TableBody::WholeState { base, .. } => {
                in_union(base, &mut left);
            }
        }
    }
    in_union(plan.answer.selects_mut(), &mut left);
}

fn in_union(alternatives: &mut Vec<Select>, left: &mut usize) {
    for condition in alternatives.iter_mut().flat_map(|select| &mut select.filter) {
        match condition {
            Condition::In { selects: branches, .. } | Condition::Any(branches) => in_union(branches, left),
            Condition::None(_)
            | Condition::Compare { .. }
            | Condition::OneOf { .. }
            | Condition::Meets { .. } => {}
        }
    }
    if alternatives.len() > ALTERNATIVES {
        return;
    }
    let mut at = 0;
    while let Some(select) = alternatives.get(at) {
        let is_covered = alternatives.iter().enumerate().any(|(other, covering)| {
            // Of two that cover each other, the first stays.
            other != at && covers(covering, select, left) && (other < at || !covers(select, covering, left))
        });
        if is_covered {
            alternatives.remove(at);
        } else {
            at += 1;
        }
    }
}

/// Whether a select returns all rows that the other one returns.
fn covers(covering: &Select, covered: &Select, left: &mut usize) -> bool {
    covering.from.len() <= covered.from.len()
        && covering.filter.len() <= covered.filter.len()
        && covering.output.len() == covered.output.len()
        && take_step(left)
        && Mapping { covering, covered, images: Vec::new() }.exists(left)
}

/// Takes one step, if there is one left.
fn take_step(left: &mut usize) -> bool {
    let fewer = left.checked_sub(1);
    *left = fewer.unwrap_or_default();
    fewer.is_some()
}

/// Sources of one select, mapped to those of another.
struct Mapping<'a> {
    covering: &'a Select,
    covered: &'a Select,
    /// What the first sources are mapped to.
    images: Vec<Alias>,
}

impl Mapping<'_> {
    /// Whether the mapping can be completed.
    fn exists(&mut self, left: &mut usize) -> bool {
        let Some(next) = self.covering.from.get(self.images.len()) else { return self.holds() };
        for image in &self.covered.from {
            let is_like = image.kind == next.kind && !matches!(image.kind, FromKind::Again { .. });
            if !is_like || self.images.contains(&image.alias) {
                continue;
            }
            if !take_step(left) {
                return false;
            }
            self.images.push(image.alias);
            if self.exists(left) {
                return true;
            }
            self.images.pop();
        }
        false
    }

    /// Whether the mapped select asks nothing that the other one does not, and returns the same.
    fn holds(&self) -> bool {
        let image = |alias: &mut Alias| {
            let mut images = self.covering.from.iter().zip(&self.images);
            if let Some((_, image)) = images.find(|(from, _)| from.alias == *alias) {
                *alias = *image;
            }
        };
        let mut asked: Vec<Condition> =
            self.covered.filter.iter().map(|asked| mapped(asked, |_| {})).collect();
        let mut is_asked = |condition: &Condition| {
            let mapped = mapped(condition, image);
            let place = asked.iter().position(|asked| *asked == mapped);
            place.map(|place| asked.swap_remove(place)).is_some()
        };
        let mut output = Select { output: self.covering.output.clone(), ..Select::default() };
        output.for_each_alias_mut(&mut { image });
        output.output == self.covered.output && self.covering.filter.iter().all(&mut is_asked)
    }
}

/// A condition with its own sources numbered in their order, the aliases of all others mapped, and the lesser
/// side of a comparison first.
fn mapped(condition: &Condition, map: impl Fn(&mut Alias)) -> Condition {
    let mut condition = condition.clone();
    // First, so that none of its own sources has the alias that another one is mapped to.
    renumber_inside(&mut condition, &mut TakenAliases::with_canonical());
    condition.for_each_alias_mut(&mut |alias| map(alias));
    if let Condition::Compare { op, left, right } = &mut condition
        && left > right
    {
        std::mem::swap(left, right);
        *op = op.turned();
    }
    condition
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{column, equal, given};
    use crate::algebra::{Expr, From};
    use crate::catalog::SourceId;
    use crate::ir::CompareOp;

    fn select(sources: &[(usize, usize)], filter: Vec<Condition>, output: &[Expr]) -> Select {
        let from = sources.iter().map(|(alias, source)| From {
            alias: Alias::of_number(*alias),
            kind: FromKind::Source(SourceId::from_index(*source)),
        });
        Select { from: from.collect(), filter, output: output.to_vec().into() }
    }

    fn left(mut alternatives: Vec<Select>) -> Vec<Select> {
        in_union(&mut alternatives, &mut { STEPS });
        alternatives
    }

    #[test]
    fn what_asks_more_is_dropped() {
        let public = select(&[(1, 0)], vec![equal(column(1, 0), given(0))], &[]);
        let of_member = select(
            &[(2, 1), (3, 0)],
            vec![equal(column(2, 0), given(1)), equal(given(0), column(3, 0))],
            &[],
        );
        assert_eq!(left(vec![of_member.clone(), public.clone()]), std::slice::from_ref(&public));
        assert_eq!(left(vec![public.clone(), of_member]), [public]);
    }

    #[test]
    fn of_equal_alternatives_the_first_stays() {
        let one = select(&[(1, 0)], vec![equal(column(1, 0), column(1, 1))], &[column(1, 0)]);
        let other = select(&[(2, 0)], vec![equal(column(2, 1), column(2, 0))], &[column(2, 0)]);
        assert_eq!(left(vec![one.clone(), other]), [one]);
    }

    #[test]
    fn a_denial_is_compared_with_its_own_sources() {
        let denied = |alias, inside| {
            Condition::None(vec![select(
                &[(inside, 1)],
                vec![equal(column(alias, 0), column(inside, 0))],
                &[],
            )])
        };
        let less = select(&[(1, 0)], vec![denied(1, 2)], &[]);
        let more = select(&[(2, 0)], vec![denied(2, 5), equal(column(2, 1), Expr::Now)], &[]);
        assert_eq!(left(vec![more.clone(), less.clone()]), [less]);
        // It denies another column.
        let denied = Condition::None(vec![select(&[(5, 1)], vec![equal(column(2, 1), column(5, 0))], &[])]);
        let other = select(&[(2, 0)], vec![denied, equal(column(2, 1), Expr::Now)], &[]);
        let less = select(
            &[(1, 0)],
            vec![Condition::None(vec![select(&[(2, 1)], vec![equal(column(1, 0), column(2, 0))], &[])])],
            &[],
        );
        assert_eq!(left(vec![other.clone(), less.clone()]), [other, less]);
    }

    #[test]
    fn an_alternative_that_returns_or_asks_anything_else_stays() {
        let asks = |op, output| {
            let filter = vec![Condition::Compare { op, left: column(1, 0), right: given(0) }];
            select(&[(1, 0)], filter, &[output])
        };
        let all = vec![
            asks(CompareOp::Equal, column(1, 0)),
            asks(CompareOp::Equal, column(1, 1)),
            asks(CompareOp::NotEqual, column(1, 1)),
            select(&[(1, 1)], vec![equal(column(1, 0), given(0))], &[column(1, 0)]),
        ];
        assert_eq!(left(all.clone()), all);
    }
}
