//! Tests of what is anchored.

use super::super::sample::{catalog, column, equal, given, literal, read, reading, source};
use super::super::{EmbeddedId, ITSELF, TableId};
use super::*;
use crate::catalog::{BindingId, ColumnId, SourceId};
use crate::ir::ConstId;

/// Of the catalog: a user and a document, these two with a role between them, a document and its level,
/// whether it is open, or its tag.
const OWNS: usize = 0;
const ROLE: usize = 1;
const LEVEL: usize = 2;
const OPEN: usize = 3;
const TAG: usize = 4;

fn relations() -> Catalog {
    let mut catalog = catalog(&[
        ("owns", &["User", "Document"]),
        ("role", &["User", STRING, "Document"]),
        ("level", &["Document", INTEGER]),
        ("open", &["Document", BOOLEAN]),
        ("tag", &["Document", STRING]),
    ]);
    catalog.relations[SourceId::from_index(TAG)].source =
        RelationSource::Bound { binding: BindingId::from_index(0), has_typed_texts: true };
    catalog
}

fn is_anchored(select: &Select) -> bool {
    Anchors::new(&relations(), &[]).is_anchored(select)
}

/// Whether a select of one relation, as 1, that shows its first column is anchored under a condition.
fn starts(relation: usize, condition: Condition) -> bool {
    is_anchored(&read(&[(1, source(relation))], vec![condition], vec![column(1, 0)]))
}

fn one_of(expr: Expr) -> Condition {
    Condition::OneOf { expr, literals: vec![ConstId::from_index(0), ConstId::from_index(1)] }
}

fn is_in(expr: Expr, set: Select, used: SetUse) -> Condition {
    Condition::In { expr, selects: vec![set], used }
}

#[test]
fn a_set_starts_from_an_id_and_not_from_a_word_or_a_number() {
    assert!(!is_anchored(&reading(1, source(OWNS), vec![column(1, 0)])));
    assert!(starts(OWNS, equal(column(1, 1), literal(0))));
    assert!(starts(OWNS, equal(literal(0), column(1, 1))));
    assert!(starts(OWNS, one_of(column(1, 1))));
    assert!(!starts(ROLE, equal(column(1, 1), literal(0))));
    assert!(!starts(ROLE, one_of(column(1, 1))));
    assert!(!starts(LEVEL, equal(column(1, 1), literal(0))));
    let unequal = Condition::Compare { op: CompareOp::NotEqual, left: column(1, 1), right: literal(0) };
    assert!(!starts(OWNS, unequal));
}

/// 9 is a source around the select. The number of one row may be a code, and so may its text, if an index
/// finds it.
#[test]
fn a_set_starts_from_a_value_around_it() {
    assert!(starts(OWNS, equal(column(1, 1), column(9, 0))));
    assert!(starts(LEVEL, equal(column(1, 1), column(9, 0))));
    assert!(!starts(ROLE, equal(column(1, 1), column(9, 0))));
    assert!(starts(TAG, equal(column(1, 1), column(9, 0))));
    assert!(!starts(OPEN, equal(column(1, 1), column(9, 0))));
}

#[test]
fn equalities_lead_from_source_to_source() {
    let chain = |links: Vec<Condition>| {
        let from = [(1, source(OWNS)), (2, source(OWNS)), (3, source(OWNS))];
        is_anchored(&read(&from, links, vec![column(3, 0)]))
    };
    let (start, first) = (equal(column(1, 0), literal(0)), equal(column(2, 1), column(1, 1)));
    let last = equal(column(3, 1), column(2, 1));
    assert!(chain(vec![last.clone(), first.clone(), start.clone()]));
    assert!(!chain(vec![last, first.clone()]));
    assert!(!chain(vec![first, start]));
}

#[test]
fn a_row_that_is_read_again_is_reached_with_its_source() {
    let id = |relation| match source(relation) {
        FromKind::Source(source) => source,
        _ => panic!("no relation"),
    };
    let key = ColumnId::FIRST;
    let again = FromKind::Again { source: id(LEVEL), key, row: Alias::of_number(1), row_key: key };
    let of = |condition| read(&[(1, source(OWNS)), (2, again)], vec![condition], vec![column(2, 0)]);
    assert!(is_anchored(&of(equal(column(1, 1), literal(0)))));
    assert!(!is_anchored(&of(equal(column(2, 1), literal(0)))));
}

#[test]
fn a_set_starts_from_a_set_that_starts() {
    let inner = |filter| read(&[(2, source(OWNS))], filter, vec![column(2, 1)]);
    let small = inner(vec![equal(column(2, 0), literal(0))]);
    for used in [SetUse::ToFind, SetUse::ToTest] {
        assert!(starts(OWNS, is_in(column(1, 1), small.clone(), used)));
        assert!(!starts(OWNS, is_in(column(1, 1), inner(Vec::new()), used)));
    }
    let both =
        Condition::In { expr: column(1, 1), selects: vec![small, inner(Vec::new())], used: SetUse::ToFind };
    assert!(!starts(OWNS, both));
}

/// What a recursion starts from decides; its steps only follow.
#[test]
fn a_table_is_anchored_with_all_that_it_starts_from() {
    let small = read(&[(1, source(OWNS))], vec![equal(column(1, 0), literal(0))], vec![column(1, 1)]);
    let large = reading(1, source(OWNS), vec![column(1, 1)]);
    let from_table = |body| {
        let tables = [Table::new("pc".to_owned(), String::new(), 1, body)];
        let select = reading(1, TableId::after::<Table>(&[]).source(), vec![column(1, 0)]);
        Anchors::new(&relations(), &tables).is_anchored(&select)
    };
    assert!(from_table(TableBody::Union(vec![small.clone()])));
    assert!(!from_table(TableBody::Union(vec![small.clone(), large.clone()])));
    let step = reading(2, ITSELF, vec![column(2, 0)]);
    let recursive = |base| TableBody::Recursive { base, step: vec![large.clone(), step.clone()] };
    assert!(from_table(recursive(vec![small])));
    assert!(!from_table(recursive(vec![large.clone()])));
}

/// Literals of the text are few; a select without sources has one row.
#[test]
fn what_shows_no_column_is_anchored_if_it_reads_nothing_or_starts_somewhere() {
    assert!(is_anchored(&Select::default()));
    assert!(!is_anchored(&reading(1, source(OWNS), Vec::new())));
    assert!(is_anchored(&reading(1, FromKind::Embedded(EmbeddedId(0)), Vec::new())));
    assert!(is_anchored(&reading(1, source(OWNS), vec![column(9, 0)])));
}

/// Before values are put in, a variable stands for one, unless it is the filter's column.
#[test]
fn a_variable_is_given_in_a_shape() {
    let select = read(&[(1, source(OWNS))], vec![equal(column(1, 0), given(3))], vec![column(1, 1)]);
    let relations = relations();
    assert!(Anchors::of_shape(&relations, &[], None).is_anchored(&select));
    assert!(!Anchors::of_shape(&relations, &[], Some(QuestionVarId(3))).is_anchored(&select));
    assert!(!is_anchored(&select));
    let by_word = read(&[(1, source(ROLE))], vec![equal(column(1, 1), column(9, 0))], vec![column(1, 0)]);
    assert!(Anchors::of_shape(&relations, &[], None).is_anchored(&by_word));
}

/// 1 is a row of a filter.
fn is_indexed(condition: Condition) -> bool {
    let row = read(&[(1, source(ROLE)), (2, source(LEVEL))], vec![condition], Vec::new());
    Anchors::new(&relations(), &[]).has_index(&row)
}

#[test]
fn an_index_finds_ids_and_sets_that_are_looked_up() {
    let set = || reading(3, source(OWNS), vec![column(3, 1)]);
    assert!(is_indexed(is_in(column(1, 0), set(), SetUse::ToFind)));
    assert!(!is_indexed(is_in(column(1, 0), set(), SetUse::ToTest)));
    assert!(is_indexed(equal(column(1, 2), literal(0))) && is_indexed(equal(literal(0), column(1, 2))));
    assert!(is_indexed(one_of(column(1, 2))) && is_indexed(one_of(given(0))));
    assert!(is_indexed(equal(given(0), literal(0))) && is_indexed(equal(literal(0), given(0))));
    assert!(!is_indexed(equal(column(1, 1), literal(0))) && !is_indexed(one_of(column(1, 1))));
    assert!(!is_indexed(equal(column(2, 1), literal(0))));
    assert!(!is_indexed(equal(column(1, 0), column(2, 0))));
    let denied = Select { filter: vec![equal(column(1, 0), literal(0))], ..Select::default() };
    assert!(!is_indexed(Condition::None(vec![denied])));
}

#[test]
fn alternatives_have_an_index_if_each_has() {
    let alternative = |filter| Select { filter, ..Select::default() };
    let by_id = || alternative(vec![equal(column(1, 0), literal(0))]);
    let by_word = || alternative(vec![equal(column(1, 1), literal(0))]);
    assert!(is_indexed(Condition::Any(vec![by_id(), by_id()])));
    assert!(!is_indexed(Condition::Any(vec![by_id(), by_word()])));
    let probe = read(&[(3, source(OWNS))], vec![equal(column(1, 0), literal(0))], Vec::new());
    assert!(!is_indexed(Condition::Any(vec![probe])));
}
