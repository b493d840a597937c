//! Which sources become tests.

use super::*;
use crate::algebra::sample::{bound_catalog, column, equal, literal, read, source};
use crate::bindings::parse;
use crate::primitive::INTEGER;

/// Regions and values of deals, in one table, and what users may sign in a region.
const REGIONS: usize = 0;
const VALUES: usize = 1;
const CEILINGS: usize = 2;

const FACTS: &str = "facts:
  is_in(Deal:_, Region:_):
    query: SELECT id, region FROM deals
  is_worth(Deal:_, Integer:_):
    query: SELECT id, value FROM deals
  has_ceiling(User:_, Region:_, Integer:_):
    query: SELECT login, region, most FROM ceilings
";

/// A select after the pass, with these declarations.
fn tested(mut select: Select, declared: &str) -> Select {
    let catalog = bound_catalog(&[
        ("is_in", &["Deal", "Region"]),
        ("is_worth", &["Deal", INTEGER]),
        ("has_ceiling", &["User", "Region", INTEGER]),
    ]);
    let bindings = parse(&[FACTS, declared].concat()).expect("the bindings are read");
    in_select(&mut select, Keys { catalog: &catalog, bindings: &bindings });
    select
}

fn at_most(left: Expr, right: Expr) -> Condition {
    Condition::Compare { op: CompareOp::LessOrEqual, left, right }
}

fn test(place: usize, relation: usize, filter: Vec<Condition>) -> Condition {
    Condition::Any(vec![read(&[(place, source(relation))], filter, Vec::new())])
}

/// What a user may sign: 1 and 3 are the deal, 2 the user's ceilings.
fn signed(others: &[Condition], output: Expr) -> Select {
    let from = [(1, source(REGIONS)), (2, source(CEILINGS)), (3, source(VALUES))];
    let filter = vec![
        equal(column(2, 0), literal(0)),
        equal(column(1, 1), column(2, 1)),
        equal(column(3, 0), column(1, 0)),
    ];
    read(&from, [&filter, others].concat(), vec![output])
}

#[test]
fn a_second_reading_that_is_only_compared_is_a_test() {
    let bound = at_most(column(3, 1), column(2, 2));
    let again = test(3, VALUES, vec![equal(column(3, 0), column(1, 0)), bound.clone()]);
    let start = vec![equal(column(2, 0), literal(0)), equal(column(1, 1), column(2, 1)), again];
    let after = read(&[(1, source(REGIONS)), (2, source(CEILINGS))], start, vec![column(1, 0)]);
    for shown in [column(1, 0), column(3, 0)] {
        let select = signed(std::slice::from_ref(&bound), shown);
        assert_eq!(tested(select, ""), after, "{shown:?}");
    }
}

/// It is found by the value of a third source, shown, only compared with a literal, or denied by.
#[test]
fn what_finds_rows_stays_a_source() {
    let bound = || at_most(column(3, 1), column(2, 2));
    let of_copy = read(&[(4, source(VALUES))], vec![at_most(column(4, 1), column(3, 1))], Vec::new());
    for (others, output) in [
        (vec![equal(column(3, 1), column(2, 2))], column(1, 0)),
        (vec![bound()], column(3, 1)),
        (vec![at_most(column(3, 1), literal(0))], column(1, 0)),
        (vec![bound(), Condition::None(vec![of_copy])], column(1, 0)),
    ] {
        let select = signed(&others, output);
        assert_eq!(tested(select.clone(), ""), select);
    }
}

/// An index finds the row, and the database knows how many it finds.
#[test]
fn a_column_of_a_declared_type_stays_a_source() {
    let select = signed(&[at_most(column(3, 1), column(2, 2))], column(1, 0));
    assert_eq!(tested(select.clone(), "sql_types: {Deal: uuid}\n"), select);
}
