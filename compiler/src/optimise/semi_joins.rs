//! Reads of the table that a step extends, as tests.
//!
//! In: a step of a fixpoint over the whole state. Out: the same rows from fewer sources. Where a source is
//! the table itself, and all columns read from it equal columns of one other source, it only tests that
//! source:
//!
//! ```text
//! itself t1 ⋈ itself t2 ⋈ gate t3 where t3.1 = t1.0, t3.2 = t2.0
//!   ─▶   gate t3 where exists (itself t1 where t3.1 = t1.0), exists (itself t2 where t3.2 = t2.0)
//! ```
//!
//! The database hashes the table for a test, or starts from it by an index. It cannot know that
//! joins only test, nor how large the table is, and may join the table with itself first.

use crate::algebra::{Alias, Condition, Expr, From, FromKind, ITSELF, Plan, Select, TableBody};
use crate::id_vec::IdVec;
use crate::ir::CompareOp;

/// Makes tests of such sources in all steps over the whole state.
pub(super) fn test_states(plan: &mut Plan) {
    for table in &mut plan.tables {
        if let TableBody::WholeState { step, .. } = &mut table.body {
            step.iter_mut().for_each(semi_join);
        }
    }
}

/// Makes the sources of a step test each other where they can.
fn semi_join(step: &mut Select) {
    let own: Vec<From> = step.from.iter().filter(|from| from.kind == ITSELF).copied().collect();
    for from in own {
        let others: Vec<From> = step.from.iter().filter(|other| other.kind != ITSELF).copied().collect();
        if let Some(known) = others.into_iter().find_map(|other| known_by(step, from.alias, other)) {
            test(step, from, &known);
        }
    }
}

/// What the columns that are read of a source equal, if all are columns of one other source or the same for
/// every row. What the step exposes must have the type of the state: a column that is bound to the same type
/// has it, a literal or an embedded text may not.
fn known_by(step: &Select, own: Alias, other: From) -> Option<Vec<(Expr, Expr)>> {
    let mut read: Vec<Expr> = Vec::new();
    step.for_each_expr(&mut |expr| {
        if expr.alias() == Some(own) && !read.contains(&expr) {
            read.push(expr);
        }
    });
    let equal = |column: Expr| {
        step.filter.iter().find_map(|condition| {
            let value = condition.equal_to(column)?;
            let is_of_other = value.alias() == Some(other.alias);
            let fits = match other.kind {
                FromKind::Source(_) if is_of_other => true,
                _ => !step.output.contains(&column),
            };
            (fits && (is_of_other || value.is_static())).then_some((column, value))
        })
    };
    read.into_iter().map(equal).collect()
}

/// Makes a test of a source, whose columns equal known values.
fn test(step: &mut Select, from: From, known: &[(Expr, Expr)]) {
    step.from.retain(|other| other.alias != from.alias);
    for (column, value) in known {
        let place = step.filter.iter().position(|condition| condition.equal_to(*column) == Some(*value));
        if let Some(at) = place {
            step.filter.remove(at);
        }
    }
    step.for_each_expr_mut(&mut |expr| {
        if let Some((_, value)) = known.iter().find(|(column, _)| column == expr) {
            *expr = *value;
        }
    });
    let equal = |(column, value): &(Expr, Expr)| {
        let op = CompareOp::Equal;
        Condition::Compare { op, left: *value, right: *column }
    };
    let filter = known.iter().map(equal).collect();
    step.filter.push(Condition::Any(vec![Select { from: vec![from], filter, output: IdVec::new() }]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{column, equal, given};
    use crate::catalog::SourceId;

    const fn from(alias: usize, kind: FromKind) -> From {
        From { alias: Alias::of_number(alias), kind }
    }

    /// A step over the table itself, twice, and a relation.
    fn step(filter: Vec<Condition>, output: Expr) -> Select {
        let from = vec![from(1, ITSELF), from(2, ITSELF), from(3, FromKind::Source(SourceId::from_index(0)))];
        Select { from, filter, output: vec![output].into() }
    }

    #[test]
    fn what_only_tests_another_source_is_a_test() {
        let mut found = step(
            vec![
                equal(column(1, 0), Expr::Now),
                equal(column(3, 1), column(1, 1)),
                equal(column(3, 2), column(2, 1)),
            ],
            column(2, 1),
        );
        let test = |alias, filter| {
            Condition::Any(vec![Select { from: vec![from(alias, ITSELF)], filter, output: IdVec::new() }])
        };
        let after = Select {
            from: vec![from(3, FromKind::Source(SourceId::from_index(0)))],
            filter: vec![
                test(1, vec![equal(Expr::Now, column(1, 0)), equal(column(3, 1), column(1, 1))]),
                test(2, vec![equal(column(3, 2), column(2, 1))]),
            ],
            output: vec![column(3, 2)].into(),
        };
        semi_join(&mut found);
        assert_eq!(found, after);
    }

    /// The verifier counts comparisons, and one that is lost would not be found where another occurs twice.
    #[test]
    fn a_condition_that_occurs_twice_leaves_one() {
        let twice = || equal(column(1, 0), Expr::Now);
        let mut found = step(
            vec![twice(), twice(), equal(column(3, 2), column(2, 1)), equal(column(3, 1), column(1, 1))],
            column(2, 1),
        );
        semi_join(&mut found);
        assert!(found.filter.contains(&equal(Expr::Now, Expr::Now)), "{found:?}");
        assert_eq!(found.from.len(), 1, "{found:?}");
    }

    /// The second reading ties the first to the relation, has a value that nothing else has, or exposes a
    /// literal.
    #[test]
    fn what_joins_others_stays_a_source() {
        for filter in [
            vec![equal(column(1, 1), column(2, 0)), equal(column(3, 0), column(2, 1))],
            vec![equal(column(3, 0), column(2, 0))],
            vec![equal(column(2, 1), given(0))],
        ] {
            let mut after = step(filter, column(2, 1));
            semi_join(&mut after);
            assert!(after.from.contains(&from(2, ITSELF)), "{after:?}");
        }
    }
}
