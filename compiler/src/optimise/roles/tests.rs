//! Which alternatives become one, and which stay as they are.

use super::*;
use crate::algebra::sample::{catalog, column, equal, given, literal, read, reading, source};
use crate::algebra::{PlanAnswer, SetUse, Table, TableId};
use crate::primitive::INTEGER;

const GRANTS: usize = 0;
const LEVELS: usize = 1;
const EXPIRED: usize = 2;

/// What becomes of the alternatives of a decision, in a plan with one table of roles.
fn merged(alternatives: Vec<Select>) -> Vec<Select> {
    let catalog = catalog(&[
        ("grants", &["User", STRING, "Doc"]),
        ("levels", &["User", INTEGER, "Doc"]),
        ("expired", &["User", STRING, "Doc"]),
    ]);
    let body = TableBody::Union(vec![reading(1, source(GRANTS), vec![column(1, 1)])]);
    let table = Table::new("pc".to_owned(), String::new(), 1, body);
    let mut plan = Plan::new(vec![table], PlanAnswer::Decision(alternatives));
    merge(&mut plan, &catalog);
    plan.answer.selects().to_vec()
}

fn assert_stay(alternative: impl Fn(usize) -> Select) {
    let all: Vec<Select> = [0, 1].map(alternative).into();
    assert_eq!(merged(all.clone()), all);
}

/// A grant whose role is this literal, under another condition on it.
fn grant(role: usize, other: Condition) -> Select {
    let filter = vec![equal(column(1, 0), given(0)), equal(column(1, 1), literal(role)), other];
    read(&[(1, source(GRANTS))], filter, vec![column(1, 2)])
}

/// What expired with this role.
fn expired(role: Expr) -> Select {
    let filter = vec![equal(column(2, 0), column(1, 0)), equal(column(2, 1), role)];
    read(&[(2, source(EXPIRED))], filter, vec![column(2, 0)])
}

fn one_of(expr: Expr, literals: &[usize]) -> Condition {
    let literals = literals.iter().map(|literal| ConstId::from_index(*literal)).collect();
    Condition::OneOf { expr, literals }
}

fn denied(role: Expr) -> Condition {
    Condition::None(vec![expired(role)])
}

/// The grants of these roles that are not expired, as one alternative.
fn unexpired(roles: &[usize]) -> Select {
    let filter = vec![equal(column(1, 0), given(0)), denied(column(1, 1)), one_of(column(1, 1), roles)];
    read(&[(1, source(GRANTS))], filter, vec![column(1, 2)])
}

#[test]
fn alternatives_that_differ_in_a_role_are_one() {
    let grants = |roles: &[usize]| roles.iter().map(|role| grant(*role, denied(literal(*role)))).collect();
    assert_eq!(merged(grants(&[0, 1, 2])), [unexpired(&[0, 1, 2])]);
    assert_eq!(merged(grants(&[0])), grants(&[0]));
    // Inside what a test asks, too.
    let test = |branches| vec![read(&[], vec![Condition::Any(branches)], Vec::new())];
    assert_eq!(merged(test(grants(&[0, 1]))), test(vec![unexpired(&[0, 1])]));
}

#[test]
fn denied_alternatives_stay() {
    let branches = [0, 1].map(|role| grant(role, denied(literal(role))));
    let denial = vec![read(&[], vec![Condition::None(branches.into())], Vec::new())];
    assert_eq!(merged(denial.clone()), denial);
}

/// The role is shown, is compared by order, is one of several literals, or is asked in a set, which
/// depends on no row around it.
#[test]
fn a_role_that_must_stay_a_literal_keeps_its_alternative() {
    let with = |role: usize, condition: Condition| {
        let mut select = grant(role, denied(literal(role)));
        select.filter.push(condition);
        select
    };
    assert_stay(|role| Select {
        output: vec![column(1, 2), literal(role)].into(),
        ..grant(role, denied(literal(role)))
    });
    let less = |role| Condition::Compare { op: CompareOp::Less, left: column(1, 2), right: literal(role) };
    assert_stay(|role| with(role, less(role)));
    assert_stay(|role| with(role, one_of(column(1, 2), &[role, 7])));
    let set =
        |role| read(&[(3, source(EXPIRED))], vec![equal(column(3, 1), literal(role))], vec![column(3, 2)]);
    let is_in = |role| Condition::In { expr: column(1, 2), selects: vec![set(role)], used: SetUse::ToFind };
    assert_stay(|role| with(role, is_in(role)));
    let shown = |role| Select { output: vec![literal(role)].into(), ..expired(literal(role)) };
    assert_stay(|role| with(role, Condition::Any(vec![shown(role)])));
}

/// Values of other types have several forms: the literal `1` equals the column `01`, but not its text.
#[test]
fn literals_of_columns_of_other_types_stay() {
    assert_stay(|level| Select {
        from: reading(1, source(LEVELS), Vec::new()).from,
        ..grant(level, denied(literal(level)))
    });
    // The types of a table's columns are not known.
    assert_stay(|role| {
        let filter = vec![equal(column(1, 0), literal(role)), denied(literal(role))];
        read(&[(1, TableId(0).source())], filter, Vec::new())
    });
}

/// Another pass merges these.
#[test]
fn a_role_that_nothing_else_mentions_stays() {
    assert_stay(|role| grant(role, denied(given(1))));
}

#[test]
fn alternatives_that_differ_otherwise_stay() {
    // In a value that is no literal, too.
    assert_stay(|role| {
        let mut select = grant(role, denied(literal(role)));
        select.filter.push(equal(column(1, 2), given(role.try_into().unwrap())));
        select
    });
    // In two literals, of which nothing else mentions the second.
    assert_stay(|role| {
        let mut select = grant(role, denied(literal(role)));
        select.filter.push(equal(column(1, 2), literal(role + 10)));
        select
    });
    // One expired with the other's role.
    assert_stay(|role| grant(role, denied(literal(1 - role))));
}

#[test]
fn too_many_alternatives_stay() {
    let grants = |n: usize| (0..n).map(|role| grant(role, denied(literal(role)))).collect::<Vec<_>>();
    assert_eq!(merged(grants(MOST_ALTERNATIVES)).len(), 1);
    assert_eq!(merged(grants(MOST_ALTERNATIVES + 1)), grants(MOST_ALTERNATIVES + 1));
}

/// The type of a column around the alternatives is not known.
#[test]
fn a_role_of_a_row_around_stays() {
    assert_stay(|role| {
        let filter = vec![equal(column(9, 1), literal(role)), denied(literal(role))];
        read(&[(1, source(GRANTS))], filter, Vec::new())
    });
}
