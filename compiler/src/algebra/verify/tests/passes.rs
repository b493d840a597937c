//! What a pass may change, and what is a loss all the same.

use super::{LOCKED, OWNER, TABLE, answer, column, equal, given, read, sound};
use crate::algebra::verify::Keeps;
use crate::algebra::verify::accounts::check;
use crate::algebra::{
    Alias, Condition, From, FromKind, Plan, Select, SetUse, Table, TableBody, TableId, TableRef,
};
use crate::catalog::{ColumnId, SourceId};
use crate::ir::CompareOp;

fn with(filter: Vec<Condition>) -> Plan {
    let mut plan = sound();
    answer(&mut plan).filter = filter;
    plan
}

fn test(filter: Vec<Condition>) -> Select {
    read(&[], filter, Vec::new())
}

/// `owner` denied for one user and for the row.
fn ban(filter: &[Condition]) -> Condition {
    Condition::None(vec![read(&[(9, OWNER)], filter.to_vec(), Vec::new())])
}

#[test]
fn an_alternative_may_deny_more_if_the_old_one_stays() {
    let (of_user, of_row) = (equal(column(9, 0), given(0)), equal(column(9, 1), column(4, 0)));
    let before = with(vec![ban(&[of_user.clone(), of_row.clone()])]);
    let asked = |all: Vec<Condition>| {
        let branches = all.into_iter().map(|condition| test(vec![condition])).collect();
        with(vec![Condition::Any(branches)])
    };
    let law = |after: &Plan| check(Keeps::Stricter, &before, after, &[]);
    let row_by_row = || ban(&[of_user.clone(), of_row.clone()]);
    assert_eq!(law(&asked(vec![ban(std::slice::from_ref(&of_user)), row_by_row()])), Ok(()));
    // Without the old one, rows are missing.
    let lost = law(&asked(vec![ban(std::slice::from_ref(&of_user))]));
    assert!(lost.is_err_and(|fault| fault.contains("an alternative was lost")));
    // A ban that denies less, or none at all.
    let narrower = ban(&[of_user.clone(), of_row.clone(), equal(column(9, 1), given(1))]);
    for weaker in [narrower, equal(column(4, 0), column(4, 0))] {
        let lost = law(&asked(vec![weaker, row_by_row()]));
        assert!(lost.is_err_and(|fault| fault.contains("a condition was lost")));
    }
}

/// The old alternative with a branch and its own denial never holds; the new form has it as well.
#[test]
fn a_branch_may_be_denied_next_to_it() {
    let filter = vec![equal(column(9, 0), given(0)), equal(column(9, 1), column(4, 0))];
    let row = || read(&[(9, OWNER)], filter.clone(), Vec::new());
    let asked = || Condition::Any(vec![row(), test(vec![equal(column(4, 0), given(1))])]);
    let before = with(vec![asked(), Condition::None(vec![row()])]);
    let anything = ban(&[equal(column(9, 0), given(0))]);
    let skipping = Condition::Any(vec![test(vec![anything]), test(vec![Condition::None(vec![row()])])]);
    assert_eq!(check(Keeps::Stricter, &before, &with(vec![asked(), skipping]), &[]), Ok(()));
}

#[test]
fn only_an_alternative_that_another_one_covers_may_be_left_out() {
    let alternatives = |all: &[Vec<Condition>]| {
        let mut plan = sound();
        let selects = all.iter().map(|filter| Select { filter: filter.clone(), ..answer(&mut plan).clone() });
        *plan.answer.selects_mut() = selects.collect();
        plan
    };
    let (one, other) = (equal(column(4, 0), given(1)), ban(&[equal(column(9, 0), given(0))]));
    let (less, more) = (vec![one.clone()], vec![one, other.clone()]);
    let law = |before: &[Vec<Condition>], after: &[Vec<Condition>]| {
        check(Keeps::Covering, &alternatives(before), &alternatives(after), &[])
    };
    assert_eq!(law(&[less.clone(), more.clone()], std::slice::from_ref(&less)), Ok(()));
    for (before, after) in [([less.clone(), more.clone()], more), ([less.clone(), vec![other]], less)] {
        let lost = law(&before, &[after]);
        assert!(lost.as_ref().is_err_and(|fault| fault.contains("an alternative was lost")), "{lost:?}");
    }
}

#[test]
fn a_comparison_may_be_written_from_either_side() {
    let compared = |op, left, right| with(vec![Condition::Compare { op, left, right }]);
    let (row, user) = (column(4, 0), given(1));
    let before = compared(CompareOp::LessOrEqual, row, user);
    let law = |after: &Plan| check(Keeps::Covering, &before, after, &[]);
    assert_eq!(law(&compared(CompareOp::GreaterOrEqual, user, row)), Ok(()));
    for other in [
        compared(CompareOp::LessOrEqual, user, row),
        compared(CompareOp::GreaterOrEqual, row, user),
        compared(CompareOp::Greater, user, row),
    ] {
        assert!(law(&other).is_err_and(|fault| fault.contains("a condition was lost")));
    }
}

/// Three values are equal if two pairs of them are, and so the third pair may be left out: beside the others,
/// in a set or in a denial. No second pair may.
#[test]
fn an_equality_that_follows_from_others_may_be_left_out() {
    let [x, y, user] = [column(4, 0), column(8, 1), given(0)];
    let of = |filter: Vec<Condition>| {
        let mut plan = with(filter);
        answer(&mut plan).from.push(From { alias: Alias::of_number(8), kind: OWNER });
        plan
    };
    let pairs = [equal(x, y), equal(y, user), equal(user, x)];
    let denied = |pairs: &[Condition]| {
        let branch = read(&[(9, LOCKED)], [pairs, &[equal(column(9, 0), x)]].concat(), Vec::new());
        vec![equal(y, given(1)), Condition::None(vec![branch])]
    };
    let in_set = |pairs: &[Condition]| {
        let selects = vec![read(&[(9, LOCKED)], pairs.to_vec(), vec![column(9, 0)])];
        vec![Condition::In { expr: x, selects, used: SetUse::ToFind }]
    };
    for form in [&<[Condition]>::to_vec as &dyn Fn(&[Condition]) -> Vec<Condition>, &denied, &in_set] {
        let before = of(form(&pairs));
        for keeps in [Keeps::Equals, Keeps::EqualsInSelects] {
            let law = |pairs: &[Condition]| check(keeps, &before, &of(form(pairs)), &[]);
            for (one, other) in [(0, 1), (1, 2), (2, 0)] {
                assert_eq!(law(&[pairs[one].clone(), pairs[other].clone()]), Ok(()), "{keeps:?}");
                let lost = law(std::slice::from_ref(&pairs[one]));
                assert!(lost.is_err_and(|fault| fault.contains("a condition was lost")), "{keeps:?}");
            }
        }
    }
}

/// A set's value equals what the set shows, and a row that is read again has the key of that row.
#[test]
fn what_a_set_or_a_row_read_again_says_may_be_left_out() {
    let x = column(4, 0);
    let in_set = |filter: &[Condition]| {
        let selects = vec![read(&[(9, OWNER)], filter.to_vec(), vec![column(9, 1)])];
        with(vec![equal(x, given(1)), Condition::In { expr: x, selects, used: SetUse::ToFind }])
    };
    let [shown, other] = [0, 1].map(|place| equal(column(9, 1 - place), given(1)));
    let law = |filter: &[Condition]| {
        check(Keeps::Equals, &in_set(&[shown.clone(), other.clone()]), &in_set(filter), &[])
    };
    assert_eq!(law(std::slice::from_ref(&other)), Ok(()));
    assert!(law(std::slice::from_ref(&shown)).is_err());

    let again = |filter: &[Condition]| {
        let mut plan = with([&[equal(column(8, 0), given(0))], filter].concat());
        let again = FromKind::Again {
            source: SourceId(0),
            key: ColumnId::FIRST,
            row: Alias::of_number(8),
            row_key: ColumnId::FIRST,
        };
        let sources = [(8, OWNER), (9, again)];
        answer(&mut plan)
            .from
            .extend(sources.map(|(alias, kind)| From { alias: Alias::of_number(alias), kind }));
        plan
    };
    let [key, value] = [0, 1].map(|place| equal(column(9, place), given(0)));
    let law = |filter: &[Condition]| {
        check(Keeps::Equals, &again(&[key.clone(), value.clone()]), &again(filter), &[])
    };
    assert_eq!(law(std::slice::from_ref(&value)), Ok(()));
    assert!(law(std::slice::from_ref(&key)).is_err());
}

#[test]
fn a_value_may_be_replaced_by_one_that_equals_it() {
    let [x, y] = [column(4, 0), column(8, 1)];
    let of = |filter: &[Condition]| {
        let mut plan = with(filter.to_vec());
        answer(&mut plan).from.push(From { alias: Alias::of_number(8), kind: OWNER });
        plan
    };
    let before = of(&[equal(x, y), equal(y, given(0)), ban(&[equal(column(9, 0), y)])]);
    for keeps in [Keeps::Equals, Keeps::EqualsInSelects] {
        let law = |filter: &[Condition]| check(keeps, &before, &of(filter), &[]);
        let of_given = ban(&[equal(column(9, 0), given(0))]);
        assert_eq!(law(&[equal(x, given(0)), equal(y, given(0)), of_given.clone()]), Ok(()));
        assert!(law(&[equal(y, given(0)), of_given.clone()]).is_err(), "{keeps:?}");
        // As many comparisons, of which one says nothing, or what another one says.
        for empty in [equal(x, x), equal(given(0), y)] {
            let lost = law(&[empty, equal(y, given(0)), of_given.clone()]);
            assert_eq!(lost.is_err(), keeps == Keeps::EqualsInSelects, "{keeps:?}");
        }
        let of_any = law(&[equal(x, given(0)), equal(y, given(0)), ban(&[equal(given(0), given(0))])]);
        assert_eq!(of_any.is_err(), keeps == Keeps::EqualsInSelects, "{keeps:?}: the ban names no row");
    }
}

#[test]
fn a_set_may_move_into_another_set_of_the_value() {
    let x = column(4, 0);
    let owned = |filter: &[Condition], shown| {
        let selects = vec![read(&[(8, OWNER)], filter.to_vec(), vec![shown])];
        Condition::In { expr: x, selects, used: SetUse::ToFind }
    };
    let locked = |expr| {
        let selects = vec![read(&[(9, LOCKED)], Vec::new(), vec![column(9, 0)])];
        Condition::In { expr, selects, used: SetUse::ToTest }
    };
    let [user, document] = [column(8, 0), column(8, 1)];
    let before = with(vec![owned(&[], document), locked(x)]);
    let law = |filter: Vec<Condition>| check(Keeps::Entailed, &before, &with(filter), &[]);
    assert_eq!(law(vec![owned(&[locked(document)], document)]), Ok(()));
    // The moved set is lost, or tests another value.
    assert!(law(vec![owned(&[], document)]).is_err());
    assert!(law(vec![owned(&[locked(user)], document)]).is_err());
    assert!(law(vec![owned(&[locked(column(9, 0))], document)]).is_err());
    // The other set shows another value.
    assert!(law(vec![owned(&[locked(document)], user)]).is_err());
    // It is added, which denies what was allowed.
    assert!(law(vec![owned(&[locked(document), locked(document)], document)]).is_err());
}

/// `not (owned (x) and locked (x))`
#[test]
fn a_set_may_move_into_another_set_of_the_value_inside_a_denial() {
    let x = column(4, 0);
    let among = |alias, relation, filter: Vec<Condition>, shown, used| {
        let selects = vec![read(&[(alias, relation)], filter, vec![column(alias, shown)])];
        Condition::In { expr: x, selects, used }
    };
    let locked = |expr| {
        let selects = vec![read(&[(9, LOCKED)], Vec::new(), vec![column(9, 0)])];
        Condition::In { expr, selects, used: SetUse::ToTest }
    };
    let denied = |filter| {
        let denied = Select { filter, ..Select::default() };
        with(vec![Condition::None(vec![denied])])
    };
    let owned = |filter, shown| among(8, OWNER, filter, shown, SetUse::ToFind);
    let before = denied(vec![owned(Vec::new(), 1), locked(x)]);
    let law = |filter| check(Keeps::Entailed, &before, &denied(filter), &[]);
    assert_eq!(law(vec![owned(vec![locked(column(8, 1))], 1)]), Ok(()));
    // The moved set is lost, which denies more, tests another value, or occurs twice, which denies less.
    assert!(law(vec![owned(Vec::new(), 1)]).is_err());
    assert!(law(vec![owned(vec![locked(column(8, 0))], 1)]).is_err());
    assert!(law(vec![owned(vec![locked(column(8, 1)), locked(column(8, 1))], 1)]).is_err());
}

/// `not (locked and not (row and owner of row))`, where `row` is a row that is read around it anyway.
#[test]
fn a_row_read_around_a_denial_of_a_denial_is_no_loss() {
    let row = |alias| equal(column(alias, 0), given(1));
    let owned = |shared: bool, of: usize| {
        let own = equal(column(7, 1), column(of, 1));
        let from: &[_] = if shared { &[(7, OWNER)] } else { &[(of, OWNER), (7, OWNER)] };
        let filter = if shared { vec![own] } else { vec![own, row(of)] };
        Condition::None(vec![read(from, filter, Vec::new())])
    };
    let of = |shared: bool, with_row: bool| {
        let of = if shared { 8 } else { 6 };
        let locked = read(&[(9, LOCKED)], vec![owned(shared, of)], Vec::new());
        let mut plan = with(vec![Condition::None(vec![locked])]);
        if with_row {
            let select = answer(&mut plan);
            select.from.push(From { alias: Alias::of_number(8), kind: OWNER });
            select.filter.push(row(8));
        }
        plan
    };
    let law = |before: &Plan, after: &Plan| check(Keeps::Once, before, after, &[]);
    assert_eq!(law(&of(false, true), &of(true, true)), Ok(()));
    // Nothing reads the row around it.
    assert!(law(&of(false, false), &of(true, false)).is_err());
}

/// Each level has two denials that differ from those on the other side only in what holds around them.
#[test]
fn denials_within_denials_do_not_multiply() {
    fn nested(depth: u32, extra: &[Condition]) -> Vec<Condition> {
        let branch = |var| {
            let mut filter = extra.to_vec();
            filter.push(equal(column(4, 0), given(var)));
            if depth > 0 {
                filter.extend(nested(depth - 1, extra));
            }
            test(filter)
        };
        vec![Condition::None(vec![branch(depth)]), Condition::None(vec![branch(depth + 100)])]
    }
    let around = equal(column(4, 0), given(1));
    let of = |extra: &[Condition]| with([vec![around.clone()], nested(6, extra)].concat());
    let (before, after) = (of(std::slice::from_ref(&around)), of(&[]));
    assert_eq!(check(Keeps::Once, &before, &after, &[]), Ok(()));
    assert!(check(Keeps::Atoms, &before, &after, &[]).is_err());
}

/// A table of what is locked or of the user, and one that starts from its rows. The second implies the first,
/// but neither of the ways in which the first may hold.
#[test]
fn a_table_implies_one_of_several_ways_in_each_case() {
    const SECOND: FromKind = FromKind::Table(TableRef::Table(TableId(1)));
    let locked = read(&[(2, LOCKED)], vec![equal(column(2, 0), column(1, 1))], Vec::new());
    let any = Condition::Any(vec![locked, test(vec![equal(column(1, 0), given(0))])]);
    let first = read(&[(1, OWNER)], vec![any], vec![column(1, 1)]);
    let tied = equal(column(2, 1), column(1, 0));
    let from_first = read(&[(1, TABLE), (2, OWNER)], vec![tied], vec![column(2, 1)]);
    let plan = |kinds: &[(usize, FromKind)], filter: &[Condition], other: &Select| {
        let mut plan = sound();
        let table =
            |name: &str, selects| Table::new(name.into(), String::new(), 1, TableBody::Union(selects));
        let second = vec![from_first.clone(), other.clone()];
        plan.tables = vec![table("first", vec![first.clone()]), table("second", second)];
        *answer(&mut plan) = read(kinds, filter.to_vec(), vec![column(5, 0)]);
        plan
    };
    let law = |other: &Select| {
        let both = plan(&[(4, TABLE), (5, SECOND)], &[equal(column(5, 0), column(4, 0))], other);
        check(Keeps::AllButImplied, &both, &plan(&[(5, SECOND)], &[], other), &[])
    };
    assert_eq!(law(&read(&[(3, TABLE)], Vec::new(), vec![column(3, 0)])), Ok(()));
    let unrelated = law(&read(&[(3, OWNER)], Vec::new(), vec![column(3, 1)]));
    assert!(unrelated.is_err_and(|fault| fault.contains("a condition was lost")));
}

/// A lock of the row's document is denied. The denial may read the document itself, by what holds around it,
/// but not without the condition that ties the lock to the document, and not under a condition of its own.
#[test]
fn a_denial_may_ask_what_the_alternative_asks() {
    let of_document = |alias: usize| equal(column(alias, 0), given(0));
    let of = |denied: Select| {
        let mut plan = with(vec![of_document(8), Condition::None(vec![denied])]);
        answer(&mut plan).from.push(From { alias: Alias::of_number(8), kind: OWNER });
        plan
    };
    let tied = |document| equal(column(9, 0), column(document, 1));
    let before = of(read(&[(9, LOCKED)], vec![tied(8)], Vec::new()));
    let law = |filter: Vec<Condition>| {
        check(Keeps::LoneDenials, &before, &of(read(&[(7, OWNER), (9, LOCKED)], filter, Vec::new())), &[])
    };
    assert_eq!(law(vec![of_document(7), tied(7)]), Ok(()));
    assert!(law(vec![of_document(7)]).is_err());
    let narrower = law(vec![of_document(7), tied(7), equal(column(9, 0), given(1))]);
    assert!(narrower.is_err_and(|fault| fault.contains("a condition was lost")));
}

/// The owners of two rows are one user, who is not the asker. Said of one row, it holds of the other.
#[test]
fn a_comparison_may_be_said_once_of_values_that_are_equal() {
    let is_one_user = || equal(column(8, 0), column(9, 0));
    let is_other = |alias: usize| Condition::Compare {
        op: CompareOp::NotEqual,
        left: column(alias, 0),
        right: given(0),
    };
    let of = |filter: Vec<Condition>| {
        let mut plan = with(filter);
        answer(&mut plan)
            .from
            .extend([8, 9].map(|alias| From { alias: Alias::of_number(alias), kind: OWNER }));
        plan
    };
    let law =
        |before: Vec<Condition>, after: Vec<Condition>| check(Keeps::Equals, &of(before), &of(after), &[]);
    assert_eq!(law(vec![is_one_user(), is_other(8), is_other(9)], vec![is_one_user(), is_other(9)]), Ok(()));
    for (before, after) in [
        (vec![is_other(8), is_other(9)], vec![is_other(9)]),
        (vec![is_one_user(), is_other(8), is_other(9)], vec![is_one_user()]),
        (vec![is_one_user(), is_other(8), is_other(9)], vec![is_other(9)]),
    ] {
        assert!(law(before, after).is_err_and(|fault| fault.contains("a condition was lost")));
    }
}
