//! Tests of which recursions become sets.

use super::*;
use crate::algebra::sample::{catalog, column, equal, given, reading};
use crate::algebra::{TableBody, TableId};
use crate::bindings::Bindings;
use crate::catalog::{ColumnId, SourceId};

/// What [`TestRewriter`] makes of a test that reads the recursion as 1, and relations as 2 and above, for
/// a filter over `given(0)` around which 9 is read.
fn rewritten(n_relations: usize, filter: Vec<Condition>) -> Select {
    rewritten_with((0..n_relations).map(relation).collect(), filter)
}

/// The same for a test that reads these sources.
fn rewritten_with(from: Vec<From>, filter: Vec<Condition>) -> Select {
    let mut test = reading(1, recursion(), Vec::new());
    test.from.extend(from);
    test.filter = filter;
    rewrite(|rewriter| rewriter.in_test(&mut test));
    test
}

fn rewrite(run: impl FnOnce(&TestRewriter<'_>)) {
    let body = TableBody::Recursive { base: Vec::new(), step: Vec::new() };
    let tables = [Table::new("pc".to_owned(), String::new(), 2, body)];
    let catalog = catalog(&[("one", &["Folder"; 2]), ("other", &["Folder"; 2])]);
    let keys = Some(Keys { catalog: &catalog, bindings: &Bindings::default() });
    run(&TestRewriter { sources: TestSources { tables: &tables, keys }, column: Some(QuestionVarId(0)) });
}

/// A source that reads a relation, as 2 and above.
fn relation(place: usize) -> From {
    let kind = FromKind::Source(SourceId::from_index(place));
    From { alias: Alias::of_number(place + 2), kind }
}

fn recursion() -> FromKind {
    TableId::after::<Table>(&[]).source()
}

/// Whether a test still reads the recursion.
fn reads_recursion(test: &Select) -> bool {
    test.from.iter().any(|from| from.kind == recursion())
}

fn is_in(expr: Expr, used: SetUse, inner: Vec<Condition>) -> Condition {
    let set = Select { filter: inner, ..reading(1, recursion(), vec![column(1, 0)]) };
    Condition::In { expr, selects: vec![set], used }
}

/// 3 is read by the alternative or the set. The test of 2 may find its rows, and what is inside it may not.
#[test]
fn a_test_inside_a_test_becomes_a_set_where_rows_are_read() {
    let inner =
        Select { filter: vec![equal(column(1, 0), column(2, 1))], ..reading(1, recursion(), Vec::new()) };
    let around = |condition| {
        let led = Select {
            from: vec![relation(0)],
            filter: vec![equal(column(2, 0), column(3, 0)), condition],
            ..Select::default()
        };
        Select {
            from: vec![relation(1)],
            filter: vec![Condition::Any(vec![led])],
            output: vec![column(3, 1)].into(),
        }
    };
    let before = around(Condition::Any(vec![inner.clone()]));
    let set = is_in(column(2, 1), SetUse::ToTest, Vec::new());
    let looked_up = Select { filter: vec![set], ..Select::default() };
    let after = around(Condition::Any(vec![looked_up]));
    let mut alternative = before.clone();
    rewrite(|rewriter| rewriter.in_alternative(&mut alternative));
    assert_eq!(alternative, after);
    let with_set = |set| Select {
        filter: vec![Condition::In { expr: given(0), selects: vec![set], used: SetUse::ToFind }],
        ..Select::default()
    };
    let mut alternative = with_set(before);
    rewrite(|rewriter| rewriter.in_alternative(&mut alternative));
    assert_eq!(alternative, with_set(after));
    let mut joined = with_set(Select {
        from: vec![relation(0)],
        filter: vec![Condition::Any(vec![inner])],
        output: vec![column(2, 0)].into(),
    });
    let same = joined.clone();
    rewrite(|rewriter| rewriter.in_alternative(&mut joined));
    assert_eq!(joined, same);
}

#[test]
fn a_recursion_becomes_a_set_for_the_row_and_for_what_the_row_leads_to() {
    let of_row = rewritten(0, vec![equal(column(1, 0), column(9, 1))]);
    assert_eq!(of_row.filter, [is_in(column(9, 1), SetUse::ToTest, Vec::new())]);
    assert!(of_row.from.is_empty());
    let led = equal(column(2, 0), given(0));
    let behind = rewritten(1, vec![led.clone(), equal(column(1, 0), column(2, 1))]);
    assert_eq!(behind.filter, [led, is_in(column(2, 1), SetUse::ToFind, Vec::new())]);
    assert!(!reads_recursion(&behind));
}

/// What is asked of the recursion alone is asked of the set.
#[test]
fn the_value_of_the_row_is_looked_up_if_another_equals_it() {
    let led = equal(column(2, 0), column(9, 1));
    let own = equal(column(1, 1), given(7));
    let test = rewritten(1, vec![led.clone(), own.clone(), equal(column(2, 0), column(1, 0))]);
    assert_eq!(test.filter, [led, is_in(column(9, 1), SetUse::ToTest, vec![own])]);
}

#[test]
fn values_that_equal_one_column_of_the_recursion_equal_each_other() {
    let led = equal(column(2, 0), given(0));
    let ties = [equal(column(2, 1), column(1, 0)), equal(column(9, 1), column(1, 0))];
    let test = rewritten(1, [vec![led.clone()], ties.into()].concat());
    let same = equal(column(2, 1), column(9, 1));
    assert_eq!(test.filter, [led, same, is_in(column(9, 1), SetUse::ToTest, Vec::new())]);
}

/// At most one row of the first relation, and one of the second for that.
#[test]
fn what_the_recursion_alone_leads_to_is_joined_in_the_set() {
    let (tied, own) = (equal(column(9, 1), column(1, 0)), equal(column(1, 1), given(7)));
    let joined = [
        equal(column(2, 0), column(1, 1)),
        equal(column(2, 1), given(7)),
        equal(column(3, 0), column(2, 1)),
        equal(column(1, 0), column(3, 1)),
    ];
    let test = rewritten(2, [vec![tied, own.clone()], joined.clone().into()].concat());
    let [Condition::In { expr, selects, used: SetUse::ToTest }] = test.filter.as_slice() else {
        panic!("{test:?}")
    };
    assert_eq!((*expr, test.from.len()), (column(9, 1), 0));
    let [set] = selects.as_slice() else { panic!("{test:?}") };
    assert_eq!((set.from.len(), set.output.as_slice()), (3, [column(1, 0)].as_slice()));
    assert_eq!(set.filter, [vec![own], joined.into()].concat());
}

/// One row, of which the recursion leads to one column, and the row around the test to another.
#[test]
fn a_row_is_not_split() {
    let (source, row, key) = (SourceId::from_index(1), Alias::of_number(2), ColumnId::FIRST);
    let again = FromKind::Again { source, key, row, row_key: key };
    let from = vec![relation(0), From { alias: Alias::of_number(3), kind: again }];
    let filter = vec![
        equal(column(1, 0), column(9, 1)),
        equal(column(2, 0), column(1, 1)),
        equal(column(2, 1), given(7)),
        equal(column(3, 1), column(9, 2)),
    ];
    let test = rewritten_with(from, filter.clone());
    assert_eq!((test.from.len(), test.filter), (3, filter));
}

#[test]
fn a_recursion_stays_where_no_set_can_take_its_place() {
    let tied = equal(column(1, 0), column(9, 1));
    let reached = equal(column(2, 0), column(1, 1));
    let denied = Select {
        filter: vec![equal(column(4, 0), column(2, 0)), equal(column(4, 1), column(2, 1))],
        ..reading(4, recursion(), Vec::new())
    };
    let order = Condition::Compare { op: CompareOp::Less, left: column(1, 0), right: column(9, 2) };
    for (n_relations, filter) in [
        // Two columns of it are tied.
        (0, vec![equal(column(1, 0), column(9, 1)), equal(column(1, 1), column(9, 2))]),
        // Something else ties it.
        (0, vec![equal(column(1, 0), column(9, 1)), order]),
        // Only the recursion leads to the relation.
        (1, vec![equal(column(1, 0), column(2, 0))]),
        // There may be many rows of the relation for one of the recursion.
        (1, vec![tied.clone(), reached.clone()]),
        // The row is tied to what the recursion leads to, too.
        (1, vec![tied.clone(), reached.clone(), equal(column(9, 2), column(2, 1))]),
        (
            2,
            vec![
                tied.clone(),
                equal(column(2, 0), column(1, 1)),
                equal(column(3, 0), given(0)),
                equal(column(3, 1), column(2, 1)),
            ],
        ),
        // The set would test each of its rows by a recursion.
        (1, vec![tied, reached, equal(column(2, 1), given(7)), Condition::None(vec![denied])]),
        // Nothing ties it.
        (1, vec![equal(column(2, 0), given(0))]),
    ] {
        let test = rewritten(n_relations, filter.clone());
        assert!(reads_recursion(&test), "{test:?}");
        assert_eq!(test.filter, filter);
    }
}

/// A second recursion starts from what nobody of the first one holds.
#[test]
fn a_test_inside_a_test_of_what_a_recursion_starts_from_is_a_set() {
    let reached = reading(3, recursion(), Vec::new());
    let held = Select {
        filter: vec![
            equal(column(2, 0), column(9, 0)),
            Condition::Any(vec![Select { filter: vec![equal(column(3, 0), column(2, 1))], ..reached }]),
        ],
        ..reading(2, relation(0).kind, Vec::new())
    };
    let base = Select {
        filter: vec![Condition::None(vec![held])],
        ..reading(9, relation(1).kind, vec![column(9, 0)])
    };
    let table = |base| {
        let body = TableBody::Recursive { base, step: Vec::new() };
        Table::new("pc".to_owned(), String::new(), 2, body)
    };
    let mut tables = vec![table(Vec::new()), table(vec![base])];
    let catalog = catalog(&[("one", &["Folder"; 2]), ("other", &["Folder"; 2])]);
    let keys = Some(Keys { catalog: &catalog, bindings: &Bindings::default() });
    look_up_in_tables(&mut tables, keys, None);
    let TableBody::Recursive { base, .. } = &tables[1].body else { panic!() };
    let Some(Condition::None(held)) = base[0].filter.first() else { panic!("{base:?}") };
    let set = reading(3, recursion(), vec![column(3, 0)]);
    let is_in = Condition::In { expr: column(2, 1), selects: vec![set], used: SetUse::ToTest };
    let looked_up = Select { filter: vec![is_in], ..Select::default() };
    assert_eq!(held[0].filter.last(), Some(&Condition::Any(vec![looked_up])));
}
