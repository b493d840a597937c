//! A filter as a plan of conditions on the caller's column: for `explain`, and to check that no pass loses a
//! condition.
//!
//! In: the plan that is arranged, or a filter. Out: a plan that decides the same for one row. Passes gather
//! the literals of many alternatives in one list, so plans are compared with all such alternatives as one.

use super::sort::literals;
use crate::algebra::{Condition, Embedded, Expr, From, FromKind, Plan, PlanAnswer, Select, SetUse, Table};
use crate::ir::{CompareOp, ConstId};
use crate::question::QuestionVarId;
use crate::sql::local::filter::Filter;

/// A filter as a plan: every alternative is a condition on the column or on the row.
pub(super) fn shown(filter: &Filter, var: QuestionVarId, tables: &[Table]) -> Plan {
    let column = Expr::Given(var);
    let mut plan = Filter { common: filter.common.clone(), ..Filter::default() }.plan(tables);
    let selects = plan.answer.selects_mut();
    selects.extend(filter.guards.iter().cloned());
    if !filter.literals.is_empty() {
        selects.push(test(one_of(column, filter.literals.clone())));
    }
    for (literal, select) in &filter.conditioned {
        let mut select = select.clone();
        let right = Expr::Const(*literal);
        select.filter.insert(0, Condition::Compare { op: CompareOp::Equal, left: column, right });
        selects.push(select);
    }
    selects.extend(filter.rows.iter().cloned());
    selects.extend(filter.looked_up.iter().flat_map(|looked_up| &looked_up.rows).cloned());
    if !filter.set.is_empty() {
        let (selects_of_set, used) = (filter.set.clone(), SetUse::ToFind);
        selects.push(test(Condition::In { expr: column, selects: selects_of_set, used }));
    }
    plan
}

/// The plan that is arranged, as the passes' results are compared with it.
pub(super) fn before(plan: &Plan, var: QuestionVarId, embedded: &[Embedded]) -> Plan {
    let mut plan = plan.clone();
    if let PlanAnswer::Rows { selects, .. } = &plan.answer {
        let selects = selects.iter().map(|select| on_column(select.clone(), Expr::Given(var), embedded));
        plan.answer = PlanAnswer::Decision(selects.collect());
    }
    with_literals_gathered(plan)
}

/// An alternative that answers with values, as a condition on the column.
fn on_column(mut select: Select, column: Expr, embedded: &[Embedded]) -> Select {
    let mut shown = std::mem::take(&mut select.output).into_iter();
    match (shown.next(), select.from.as_slice(), select.filter.as_slice()) {
        (Some(Expr::Column { column: cell, .. }), [From { kind: FromKind::Embedded(rows), .. }], []) => {
            let rows = rows.of(embedded).rows.iter().flatten();
            return test(one_of(column, rows.map(|row| row[cell]).collect()));
        }
        (Some(left @ (Expr::Const(_) | Expr::Column { .. })), _, _) => {
            select.filter.push(Condition::Compare { op: CompareOp::Equal, left, right: column });
        }
        _ => {}
    }
    select
}

/// A plan of conditions in which each condition that the column is a literal is written in the same way, and
/// all alternatives that ask only that are one.
pub(super) fn with_literals_gathered(mut plan: Plan) -> Plan {
    let PlanAnswer::Decision(selects) = &mut plan.answer else { return plan };
    plan.guard.filter.iter_mut().for_each(write_literals);
    selects.iter_mut().flat_map(|select| &mut select.filter).for_each(write_literals);
    let mut gathered: Option<(Expr, Vec<ConstId>)> = None;
    selects.retain(|select| match (select.from.as_slice(), select.filter.as_slice()) {
        ([], [Condition::OneOf { expr: expr @ Expr::Given(_), literals }]) => {
            gathered.get_or_insert((*expr, Vec::new())).1.extend(literals);
            false
        }
        _ => true,
    });
    selects.extend(gathered.map(|(column, literals)| test(one_of(column, literals))));
    plan
}

fn write_literals(condition: &mut Condition) {
    condition.branches_mut().iter_mut().flat_map(|branch| &mut branch.filter).for_each(write_literals);
    let column = match condition {
        Condition::Compare { left: column @ Expr::Given(_), .. }
        | Condition::Compare { right: column @ Expr::Given(_), .. }
        | Condition::OneOf { expr: column, .. } => *column,
        _ => return,
    };
    if let Some(literals) = literals(condition) {
        *condition = one_of(column, literals);
    }
}

fn one_of(column: Expr, mut literals: Vec<ConstId>) -> Condition {
    literals.sort_unstable();
    literals.dedup();
    Condition::OneOf { expr: column, literals }
}

fn test(condition: Condition) -> Select {
    Select { filter: vec![condition], ..Select::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Alias, AnswerColumns, Range};

    use crate::algebra::sample::{column, equal, given, literal, read, source};
    use crate::algebra::verify::{Keeps, keeps_conditions};
    use crate::catalog::{ColumnId, SourceId};

    const VAR: QuestionVarId = QuestionVarId(0);

    fn plan(selects: Vec<Select>) -> Plan {
        Plan::new(Vec::new(), PlanAnswer::Decision(selects))
    }

    /// The caller's row, shown by a relation.
    fn row(number: usize) -> From {
        let kind = FromKind::Row { source: SourceId::from_index(number), key: ColumnId::FIRST };
        From { alias: Alias::of_number(number), kind }
    }

    /// The row is this literal, or the relation 2 has it.
    fn either(literals: Vec<Condition>) -> Condition {
        let by_literal = Select { filter: literals, ..Select::default() };
        let by_row = Select { from: vec![row(2)], ..Select::default() };
        Condition::Any(vec![by_literal, by_row])
    }

    /// A column that the relation 1 shows of the row is in a set of the relation 3.
    fn looked_up() -> Condition {
        let selects = vec![read(&[(3, source(3))], Vec::new(), vec![column(3, 0)])];
        Condition::In { expr: column(1, 1), selects, used: SetUse::ToFind }
    }

    /// Whether a filter of these rows has all conditions of a row that is a literal or in the relation 2, and
    /// has a column in a set.
    fn is_kept(rows: Vec<Select>) -> bool {
        let filter = vec![either(vec![equal(literal(7), given(0))]), looked_up()];
        let before =
            before(&plan(vec![Select { from: vec![row(1)], filter, ..Select::default() }]), VAR, &[]);
        let filter = Filter { rows, ..Filter::default() };
        keeps_conditions(Keeps::Once, &before, &with_literals_gathered(shown(&filter, VAR, &[])))
    }

    /// The same in two tests of one branch each, as alternatives are split.
    fn split(first: Condition) -> Vec<Select> {
        let second = Select { from: vec![row(1)], filter: vec![looked_up()], ..Select::default() };
        let tests = [test(first), second].map(|branch| Condition::Any(vec![branch]));
        vec![Select { filter: tests.into(), ..Select::default() }]
    }

    #[test]
    fn a_literal_is_accounted_for_where_a_split_moves_it() {
        assert!(is_kept(split(either(vec![equal(literal(7), given(0))]))));
        assert!(!is_kept(split(either(Vec::new()))), "the literal was lost");
        assert!(!is_kept(split(either(vec![equal(literal(8), given(0))]))), "another literal");
    }

    #[test]
    fn literals_of_many_alternatives_are_accounted_for_as_one_list() {
        let row = |row| Select { output: vec![literal(row)].into(), ..Select::default() };
        let selects = [7, 8].map(row).into();
        let rows = Plan::new(
            Vec::new(),
            PlanAnswer::Rows { selects, columns: AnswerColumns::OfPart(1), range: Range::All },
        );
        let keeps = |literals: &[usize]| {
            let literals = literals.iter().map(|literal| ConstId::from_index(*literal)).collect();
            let filter = Filter { literals, ..Filter::default() };
            let after = with_literals_gathered(shown(&filter, VAR, &[]));
            keeps_conditions(Keeps::Once, &before(&rows, VAR, &[]), &after)
        };
        assert!(keeps(&[7, 8]));
        assert!(!keeps(&[7]), "an answer was lost");
        assert!(!keeps(&[7, 8, 9]), "an answer was added");
    }
}
