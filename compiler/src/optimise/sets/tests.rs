//! What becomes a set, and what stays joined.

use super::*;
use crate::algebra::sample::{catalog, column, equal, literal, read, source};
use crate::algebra::{EmbeddedId, ITSELF, PlanAnswer, Table, TableRef};
use crate::catalog::ColumnId;
use crate::primitive::STRING;

/// Of the catalog: pairs of ids, and ids with a word.
const PAIRS: usize = 0;
const WORDS: usize = 1;

fn relations() -> Catalog {
    catalog(&[("pair", &["User", "Document"]), ("word", &["Document", STRING])])
}

/// A list of `1.1` that reads pairs as 1, and these sources.
fn listing(others: &[(usize, FromKind)], filter: Vec<Condition>) -> Select {
    read(&[&[(1, source(PAIRS))], others].concat(), filter, vec![column(1, 1)])
}

fn with_sets(mut select: Select) -> Select {
    let catalog = relations();
    set_tests(&mut select, Alias::of_number(1), Some(&Anchors::new(&catalog, &[])));
    select
}

fn is_in(expr: Expr, set: Select) -> Condition {
    Condition::In { expr, selects: vec![set], used: SetUse::ToFind }
}

/// A test of pairs as 2 under these conditions.
fn test_of_pairs(filter: Vec<Condition>) -> Condition {
    Condition::Any(vec![read(&[(2, source(PAIRS))], filter, Vec::new())])
}

#[test]
fn what_one_equality_connects_becomes_a_set_if_it_starts_from_a_value() {
    let (link, start) = (equal(column(1, 0), column(2, 1)), equal(column(2, 0), literal(0)));
    let turned = equal(column(2, 1), column(1, 0));
    let set = read(&[(2, source(PAIRS))], vec![start.clone()], vec![column(2, 1)]);
    for link in [&link, &turned] {
        let select = with_sets(listing(&[(2, source(PAIRS))], vec![link.clone(), start.clone()]));
        assert_eq!(select, listing(&[], vec![is_in(column(1, 0), set.clone())]));
    }
    let all = with_sets(listing(&[(2, source(PAIRS))], vec![link.clone()]));
    assert_eq!(all, listing(&[], vec![test_of_pairs(vec![link.clone()])]));
    let mut tested = listing(&[(2, source(PAIRS))], vec![link.clone(), start.clone()]);
    set_tests(&mut tested, Alias::of_number(1), None);
    assert_eq!(tested, listing(&[], vec![test_of_pairs(vec![start, link])]));
}

#[test]
fn a_set_has_sets_of_what_leads_to_it() {
    let links = vec![
        equal(column(1, 0), column(2, 0)),
        equal(column(2, 1), column(3, 1)),
        equal(column(3, 0), literal(0)),
    ];
    let select = with_sets(listing(&[(2, source(PAIRS)), (3, source(PAIRS))], links));
    let inner = read(&[(3, source(PAIRS))], vec![equal(column(3, 0), literal(0))], vec![column(3, 1)]);
    let set = read(&[(2, source(PAIRS))], vec![is_in(column(2, 1), inner)], vec![column(2, 0)]);
    assert_eq!(select, listing(&[], vec![is_in(column(1, 0), set)]));
}

/// Two equalities say which value belongs to which; literals of the text are joined.
#[test]
fn what_is_connected_otherwise_stays() {
    let pair = vec![equal(column(1, 0), column(2, 0)), equal(column(1, 1), column(2, 1))];
    let joined = listing(&[(2, source(PAIRS))], pair);
    assert_eq!(with_sets(joined.clone()), joined);
    let embedded = [(2, FromKind::Embedded(EmbeddedId(0)))];
    let rows = listing(&embedded, vec![equal(column(1, 0), column(2, 0))]);
    assert_eq!(with_sets(rows.clone()), rows);
    let mut shown = listing(&[(2, source(PAIRS))], vec![equal(column(1, 0), column(2, 1))]);
    shown.output = vec![column(1, 1), column(2, 0)].into();
    assert_eq!(with_sets(shown.clone()), shown);
}

/// A table that leads to the documents of several users shows the user whose document each is.
#[test]
fn a_table_whose_columns_a_relation_has_only_leads_to_it() {
    let from = [(1, FromKind::Table(TableRef::Itself)), (2, source(PAIRS))];
    let link = equal(column(1, 0), column(2, 0));
    let mut base = read(&from, vec![link.clone()], vec![column(1, 0), column(2, 1)]);
    show_relations(&mut base);
    assert_eq!(base.output, vec![column(2, 0), column(2, 1)].into());
    let mut shown = read(&from, vec![link], vec![column(1, 0), column(1, 1)]);
    let before = shown.clone();
    show_relations(&mut shown);
    assert_eq!(shown, before, "no column of the relation equals the table's second");
}

#[test]
fn what_nothing_connects_is_tested() {
    let start = equal(column(2, 0), literal(0));
    let select = with_sets(listing(&[(2, source(PAIRS))], vec![start.clone()]));
    assert_eq!(select, listing(&[], vec![test_of_pairs(vec![start])]));
}

#[test]
fn a_row_that_is_shown_again_stays_with_its_source() {
    let FromKind::Source(word) = source(WORDS) else { panic!("no relation") };
    let key = ColumnId::FIRST;
    let again = FromKind::Again { source: word, key, row: Alias::of_number(2), row_key: key };
    let (link, start) = (equal(column(1, 0), column(2, 0)), equal(column(1, 1), literal(0)));
    let mut select = read(
        &[(1, source(PAIRS)), (2, source(WORDS)), (3, again)],
        vec![link, start.clone()],
        vec![column(3, 1)],
    );
    let catalog = relations();
    set_tests(&mut select, Alias::of_number(3), Some(&Anchors::new(&catalog, &[])));
    let set = read(&[(1, source(PAIRS))], vec![start], vec![column(1, 0)]);
    let sets = vec![is_in(column(2, 0), set)];
    assert_eq!(select, read(&[(2, source(WORDS)), (3, again)], sets, vec![column(3, 1)]));
}

/// A plan with a recursion, and an answer that reads the same as its base. 2 leads to 1.
fn recursive(answer: impl FnOnce(Vec<Select>) -> PlanAnswer) -> Plan {
    let links = vec![equal(column(1, 0), column(2, 1)), equal(column(2, 0), literal(0))];
    let led = listing(&[(2, source(PAIRS))], links.clone());
    let step =
        read(&[(1, ITSELF), (2, source(PAIRS))], vec![equal(column(1, 0), column(2, 1))], vec![column(1, 0)]);
    let body = TableBody::Recursive { base: vec![led.clone()], step: vec![step] };
    let table = Table::new("pc".to_owned(), String::new(), 1, body);
    Plan::new(vec![table], answer(vec![led]))
}

/// Whether the base, the step and the answer of a plan have a set or a test in place of a source.
fn rewritten(plan: &Plan) -> [bool; 3] {
    let Some(TableBody::Recursive { base, step }) = plan.tables.first().map(|table| &table.body) else {
        panic!("no recursion")
    };
    [base.as_slice(), step, plan.answer.selects()].map(|selects| selects.iter().all(|s| s.from.len() == 1))
}

#[test]
fn each_kind_of_statement_has_its_sets() {
    let catalog = relations();
    let after = |pass: &dyn Fn(&mut Plan)| {
        let mut plan = recursive(PlanAnswer::Decision);
        pass(&mut plan);
        rewritten(&plan)
    };
    assert_eq!(after(&|plan| in_tables(plan, &catalog)), [true, false, false]);
    assert_eq!(after(&|plan| in_answer(plan, &catalog)), [false, false, true]);
    assert_eq!(after(&for_store), [true, false, true]);
    assert_eq!(after(&|plan| for_check(plan, &catalog)), [false, false, true]);
}

/// A check shows nothing: what leads to its last relation becomes a set, in its branches too.
#[test]
fn a_check_ends_with_its_last_relation() {
    let links = vec![equal(column(1, 1), column(2, 1)), equal(column(1, 0), literal(0))];
    let check = read(&[(1, source(PAIRS)), (2, source(PAIRS))], links, Vec::new());
    let set = read(&[(1, source(PAIRS))], vec![equal(column(1, 0), literal(0))], vec![column(1, 1)]);
    let led = read(&[(2, source(PAIRS))], vec![is_in(column(2, 1), set)], Vec::new());
    let denied = |select| Select { filter: vec![Condition::None(vec![select])], ..Select::default() };
    let mut plan = Plan::new(Vec::new(), PlanAnswer::Decision(vec![check.clone(), denied(check.clone())]));
    plan.guard = denied(check);
    for_check(&mut plan, &relations());
    assert_eq!(plan.answer.selects(), [led.clone(), denied(led.clone())]);
    assert_eq!(plan.guard, denied(led));
}

/// Otherwise the relation would become a set for the literals, which no index finds.
#[test]
fn a_check_ends_with_a_relation_rather_than_with_literals() {
    let from = [(1, source(PAIRS)), (2, FromKind::Embedded(EmbeddedId(0)))];
    let link = equal(column(1, 1), column(2, 0));
    let mut select = read(&from, vec![link], Vec::new());
    let before = select.clone();
    let catalog = relations();
    lead_to_last(&mut select, &Anchors::new(&catalog, &[]));
    assert_eq!(select, before);
}
