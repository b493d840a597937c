//! Alternatives that deny what they ask may be left out, and no others.

use super::{ITSELF, LOCKED, OWNER, answer, column, equal, given, read, sound};
use crate::algebra::verify::Keeps;
use crate::algebra::verify::accounts::check as account;
use crate::algebra::{Condition, Expr, Plan, Select};
use crate::ir::ConstId;

#[test]
fn a_guard_may_be_for_one_alternative_only() {
    let owned =
        || Condition::Any(vec![read(&[(8, OWNER)], vec![equal(column(8, 1), column(4, 0))], Vec::new())]);
    let locked = |alias| {
        Condition::None(vec![read(
            &[(alias, LOCKED)],
            vec![equal(column(alias, 0), column(4, 0))],
            Vec::new(),
        )])
    };
    let is_given = |var| equal(column(4, 0), given(var));
    let test = |filter| read(&[], filter, Vec::new());
    let of = |filter: Vec<Condition>| {
        let mut plan = sound();
        answer(&mut plan).filter.extend(filter);
        plan
    };
    let before =
        of(vec![Condition::Any(vec![test(vec![owned(), locked(9)]), test(vec![is_given(0), locked(10)])])]);
    let after = |exempt| {
        let alternatives = Condition::Any(vec![test(vec![owned(), locked(9)]), test(vec![is_given(0)])]);
        let exempt = test(vec![Condition::None(vec![test(exempt)])]);
        of(vec![alternatives, Condition::Any(vec![exempt, test(vec![locked(10)])])])
    };
    let check = |after: &Plan| account(Keeps::Equals, &before, after, &[]);
    assert_eq!(check(&after(vec![is_given(0)])), Ok(()));
    // The guard would be for other rows than those of the alternative.
    assert!(check(&after(vec![is_given(1)])).is_err());
    assert!(check(&after(vec![is_given(0), is_given(1)])).is_err());
}

/// A select of one predicate is no row of another: their tags differ.
#[test]
fn an_alternative_that_equates_two_literals_may_be_left_out() {
    let literal = |index| Expr::Const(ConstId::from_index(index));
    let row = || equal(column(4, 0), given(0));
    let tagged = |tag| read(&[], vec![row(), equal(literal(tag), literal(1))], Vec::new());
    let of = |branches: Vec<Select>| {
        let mut plan = sound();
        answer(&mut plan).filter.push(Condition::Any(branches));
        plan
    };
    let untagged = || read(&[], vec![row()], Vec::new());
    let check = |before: &Plan, after: &Plan| account(Keeps::EqualsInSelects, before, after, &[]);
    assert_eq!(check(&of(vec![tagged(0), untagged()]), &of(vec![untagged()])), Ok(()));
    // The same literal on both sides says nothing: its alternative holds.
    assert!(check(&of(vec![tagged(1), untagged()]), &of(vec![])).is_err());
}

/// A denial of what never holds denies nothing. One of the rest of it does.
#[test]
fn a_denial_that_equates_two_literals_may_be_left_out() {
    let literal = |index| Expr::Const(ConstId::from_index(index));
    let row = || equal(column(4, 0), given(0));
    let denial = |filter| Condition::None(vec![read(&[], filter, Vec::new())]);
    let of = |denials: Vec<Condition>| {
        let mut plan = sound();
        answer(&mut plan).filter.extend(denials);
        plan
    };
    let check = |before: &Plan, after: &Plan| account(Keeps::Atoms, before, after, &[]);
    let tagged = |tag| denial(vec![row(), equal(literal(tag), literal(1))]);
    assert_eq!(check(&of(vec![tagged(0)]), &of(Vec::new())), Ok(()));
    assert_eq!(check(&of(vec![denial(vec![row(), tagged(0)])]), &of(vec![denial(vec![row()])])), Ok(()));
    assert!(check(&of(vec![tagged(0)]), &of(vec![denial(vec![row()])])).is_err());
    assert!(check(&of(vec![tagged(1)]), &of(Vec::new())).is_err());
    assert!(check(&of(vec![denial(vec![row(), tagged(1)])]), &of(vec![denial(vec![row()])])).is_err());
}

/// It holds always, so it is not taken apart by that branch.
#[test]
fn a_test_may_have_a_branch_and_its_denial() {
    let asked = || read(&[], vec![equal(column(4, 0), given(0))], Vec::new());
    let denied = read(&[], vec![Condition::None(vec![asked()])], Vec::new());
    let of = |branches: Vec<Select>| {
        let mut plan = sound();
        answer(&mut plan).filter.push(Condition::Any(branches));
        plan
    };
    let always = of(vec![denied.clone(), asked()]);
    assert_eq!(account(Keeps::Equals, &always, &always, &[]), Ok(()));
    assert!(account(Keeps::Equals, &of(vec![denied]), &always, &[]).is_err());
}

/// Each pair of tests doubles the cases.
#[test]
fn many_denials_are_not_taken_apart() {
    let asked = |var| read(&[], vec![equal(column(4, 0), given(var))], Vec::new());
    let mut plan = sound();
    for var in 0..40 {
        let denied = read(&[], vec![Condition::None(vec![asked(var)])], Vec::new());
        let other = asked(var + 100);
        answer(&mut plan).filter.push(Condition::Any(vec![asked(var), other.clone()]));
        answer(&mut plan).filter.push(Condition::Any(vec![denied, other]));
    }
    assert_eq!(account(Keeps::Equals, &plan, &plan, &[]), Ok(()));
}

#[test]
fn an_alternative_that_denies_what_it_asks_may_go() {
    let locked = |alias| read(&[(alias, LOCKED)], vec![equal(column(alias, 0), given(1))], Vec::new());
    let of = |alternatives: &[Vec<Condition>]| {
        let mut plan = sound();
        let branches = alternatives.iter().map(|filter| read(&[], filter.clone(), Vec::new()));
        answer(&mut plan).filter.push(Condition::Any(branches.collect()));
        plan
    };
    let asked = |alias| Condition::Any(vec![locked(alias)]);
    let denied = |alias| Condition::None(vec![locked(alias)]);
    let other = || vec![equal(column(4, 0), given(0))];
    let after = of(&[other()]);
    let check = |before: &Plan| account(Keeps::Once, before, &after, &[]);
    assert_eq!(check(&of(&[other(), vec![asked(9), denied(10)]])), Ok(()));
    assert!(check(&of(&[other(), vec![asked(9)]])).is_err());
    // The same with a denial inside what is asked and denied: of an owner whom nothing locks.
    let owned =
        |alias, locked| read(&[(alias, OWNER)], vec![equal(column(alias, 0), given(0)), locked], Vec::new());
    let unlocked = |alias| Condition::Any(vec![owned(alias, denied(alias + 1))]);
    let not = |locked: Condition| Condition::None(vec![owned(13, locked)]);
    assert_eq!(check(&of(&[other(), vec![unlocked(9), not(denied(14))]])), Ok(()));
    // An owner whom something else may lock.
    let of_another =
        Condition::None(vec![read(&[(14, LOCKED)], vec![equal(column(14, 0), given(0))], Vec::new())]);
    assert!(check(&of(&[other(), vec![unlocked(9), not(of_another)]])).is_err());
}

/// A pass moves a denial into a branch, next to a test that has what it denies: one of a table's rows, whose
/// columns the atoms do not say.
#[test]
fn a_denial_may_move_away_from_what_it_denies() {
    let in_table =
        |alias, var| read(&[(alias, ITSELF)], vec![equal(column(alias, 0), given(var))], Vec::new());
    let denied = || Condition::None(vec![in_table(9, 0), in_table(9, 1)]);
    let of = |denied: &[Condition]| {
        let mut plan = sound();
        let filter = &mut answer(&mut plan).filter;
        filter.push(Condition::Any(vec![in_table(9, 0), in_table(9, 2)]));
        filter.extend(denied.iter().cloned());
        plan
    };
    let beside = of(&[denied()]);
    let inside = of(&[Condition::Any(vec![read(&[], vec![denied()], Vec::new())])]);
    let check = |before: &Plan, after: &Plan| account(Keeps::Once, before, after, &[]);
    assert_eq!(check(&beside, &inside), Ok(()));
    assert_eq!(check(&inside, &beside), Ok(()));
    // The denial is lost, or denies what may hold.
    assert!(check(&beside, &of(&[])).is_err());
    assert!(check(&of(&[]), &inside).is_err());
    // The alternative that may hold is lost.
    let mut left_out = beside.clone();
    answer(&mut left_out).filter.push(Condition::Any(Vec::new()));
    assert!(check(&beside, &left_out).is_err());
}
