//! Turns joins into tests of sets, for a database that plans those better.
//!
//! In: the selects of a list, in which one source holds the answer and others lead to it. Out: the same
//! rows, with `answer.column in (select …)` where the others are tied to the answer by one equality alone.
//! PostgreSQL evaluates such a select once, estimates it as small, and then looks the answer up by an
//! index; it estimates a join over a recursive table at ten times its base, and scans whole tables.
//!
//! ```text
//! t1(r) ⋈ t2(r, f) ⋈ answer(f, i)   ─▶   answer.f in (t2.f where t2.r in (t1.r))
//! ```

use crate::algebra::anchor::Anchors;
use crate::algebra::groups::{Around, Group, groups};
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, Select, SetUse, TableBody};
use crate::catalog::Catalog;
use crate::id_vec::IdVec;
use crate::ir::CompareOp;

/// Rewrites the alternatives of a list, its tables and what its fixpoints start from.
pub(super) fn for_rows(plan: &mut Plan, catalog: &Catalog) {
    for_filter(plan, catalog);
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors::new(catalog, tables);
    answer.selects_mut().iter_mut().for_each(|select| to_set(select, &anchors));
}

/// Rewrites a list over a store, with tests of existence instead of sets: the database then joins from either
/// side, and knows that each row is wanted once.
pub(super) fn for_store(plan: &mut Plan) {
    let bases = plan.tables.iter_mut().map(|table| match &mut table.body {
        TableBody::Union(selects) | TableBody::Recursive { base: selects, .. } => selects.as_mut_slice(),
        TableBody::WholeState { .. } => &mut [],
    });
    for select in bases.flatten().chain(plan.answer.selects_mut()) {
        if let Some(main) = select.output.first().and_then(|expr| expr.alias()) {
            set_tests(select, main, None);
        }
    }
}

/// Rewrites the tables of a list and what its fixpoints start from. Steps stay: their rows are those of the
/// step before, which are few.
pub(super) fn for_filter(plan: &mut Plan, catalog: &Catalog) {
    for index in 0..plan.tables.len() {
        let (before, rest) = plan.tables.split_at_mut(index);
        let anchors = Anchors::new(catalog, before);
        match rest.first_mut().map(|table| &mut table.body) {
            Some(TableBody::Union(selects)) => {
                selects.iter_mut().for_each(|select| to_set(select, &anchors));
            }
            Some(TableBody::Recursive { base, .. }) => {
                for select in base {
                    show_relations(select);
                    to_set(select, &anchors);
                }
            }
            Some(TableBody::WholeState { .. }) | None => {}
        }
    }
}

/// Rewrites the alternatives of a check or of what may be done, and its tables.
pub(super) fn for_check(plan: &mut Plan, catalog: &Catalog) {
    for index in 0..plan.tables.len() {
        let (before, rest) = plan.tables.split_at_mut(index);
        let anchors = Anchors::new(catalog, before);
        // What a fixpoint starts from stays joined: the database cannot estimate a set's size.
        if let Some(TableBody::Union(selects)) = rest.first_mut().map(|table| &mut table.body) {
            selects.iter_mut().for_each(|select| lead(select, &anchors));
        }
    }
    let Plan { tables, guard, answer } = plan;
    let anchors = Anchors::new(catalog, tables);
    answer.selects_mut().iter_mut().chain([guard]).for_each(|select| lead(select, &anchors));
}

/// Makes sets of what leads to the source that a select exposes, or of what leads to its last one.
fn lead(select: &mut Select, anchors: &Anchors<'_>) {
    for condition in &mut select.filter {
        if let Condition::Any(branches) | Condition::None(branches) = condition {
            branches.iter_mut().for_each(|branch| lead(branch, anchors));
        }
    }
    lead_to_last(select, anchors);
}

/// The same, but not for the selects inside it.
fn lead_to_last(select: &mut Select, anchors: &Anchors<'_>) {
    let shown = select.output.iter().find_map(|expr| expr.alias());
    // The caller's tables have indexes; common table expressions have none.
    let indexed = select.from.iter().rfind(|from| matches!(from.kind, FromKind::Source(_)));
    let last = indexed.or(select.from.last()).map(|from| from.alias);
    if let Some(main) = shown.or(last) {
        set_tests(select, main, Some(anchors));
    }
}

/// Rewrites the sources of a set that only lead to the source whose values it shows.
pub(super) fn to_set(select: &mut Select, anchors: &Anchors<'_>) {
    if let Some(main) = select.output.first().and_then(|expr| expr.alias()) {
        set_tests(select, main, Some(anchors));
    }
}

/// Rewrites the sources that only lead to `main`, which is the root of the row that it exposes.
/// Without `anchors`, nothing becomes a set.
pub(crate) fn set_tests(select: &mut Select, main: Alias, anchors: Option<&Anchors<'_>>) {
    let main = root(select, main);
    let Around { main: kept, own, groups } = groups(select, main);
    let is_kept = |alias: Alias| kept.iter().any(|from| from.alias == alias);
    if select.output.iter().any(|expr| expr.alias().is_some_and(|alias| !is_kept(alias))) {
        return;
    }
    select.from.clone_from(&kept);
    select.filter = own;
    for group in groups {
        put(group, select, &kept, anchors);
    }
}

/// Shows columns of relations instead of a table's columns that equal them, so that the table only leads to
/// the relations.
fn show_relations(select: &mut Select) {
    let is = |value: Expr, wanted: fn(&FromKind) -> bool| {
        select.from.iter().any(|from| value.alias() == Some(from.alias) && wanted(&from.kind))
    };
    let is_of_table = |value: Expr| is(value, |kind| matches!(kind, FromKind::Table(_)));
    let is_of_relation = |value: &Expr| is(*value, |kind| matches!(kind, FromKind::Source(_)));
    let shown = |value: &Expr| {
        if is_of_table(*value) { select.equal_to(*value).find(is_of_relation) } else { Some(*value) }
    };
    if let Some(output) = select.output.iter().map(shown).collect() {
        select.output = output;
    }
}

/// The source that reads the row which a source exposes.
fn root(select: &Select, alias: Alias) -> Alias {
    let kind = select.from.iter().find(|from| from.alias == alias).map(|from| from.kind);
    if let Some(FromKind::Again { row, .. }) = kind { row } else { alias }
}

/// Puts a group into the select: as a test of a set, as a test of existence, or as it was. A set that nothing
/// restricts is tested for the value at hand.
fn put(group: Group, select: &mut Select, kept: &[From], anchors: Option<&Anchors<'_>>) {
    let Group { from, links, inner } = group;
    match links.as_slice() {
        [] => {
            let mut branch = Select { from, filter: inner, output: IdVec::new() };
            let has_index = branch.from.iter().any(|from| matches!(from.kind, FromKind::Source(_)));
            if let Some(anchors) = anchors.filter(|_| has_index) {
                lead_to_last(&mut branch, anchors);
            }
            select.filter.push(Condition::Any(vec![branch]));
        }
        [Condition::Compare { op: CompareOp::Equal, left, right }]
            if !matches!(from.as_slice(), [From { kind: FromKind::Embedded(_), .. }]) =>
        {
            let is_kept = left.alias().is_some_and(|alias| kept.iter().any(|from| from.alias == alias));
            let (own, other) = if is_kept { (*left, *right) } else { (*right, *left) };
            let mut set = Select { from, filter: inner, output: vec![other].into() };
            if !anchors.is_some_and(|anchors| anchors.is_anchored(&set)) {
                let Select { from, mut filter, .. } = set;
                filter.extend(links);
                select.filter.push(Condition::Any(vec![Select { from, filter, output: IdVec::new() }]));
                return;
            }
            if let Some(alias) = other.alias() {
                set_tests(&mut set, alias, anchors);
            }
            select.filter.push(Condition::In { expr: own, selects: vec![set], used: SetUse::ToFind });
        }
        _ => {
            select.from.extend(from);
            select.filter.extend(links);
            select.filter.extend(inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{catalog, column, equal, literal, read, source};
    use crate::algebra::{EmbeddedId, ITSELF, PlanAnswer, Table, TableRef};
    use crate::catalog::ColumnId;

    /// Of the catalog: pairs of ids, and ids with a word.
    const PAIRS: usize = 0;
    const WORDS: usize = 1;

    fn relations() -> Catalog {
        catalog(&[("pair", &["User", "Document"]), ("word", &["Document", "String"])])
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
        let step = read(
            &[(1, ITSELF), (2, source(PAIRS))],
            vec![equal(column(1, 0), column(2, 1))],
            vec![column(1, 0)],
        );
        let body = TableBody::Recursive { base: vec![led.clone()], step: vec![step] };
        let table = Table::new("pc".to_owned(), String::new(), 1, body);
        Plan::new(vec![table], answer(vec![led]))
    }

    /// Whether the base, the step and the answer of a plan have a set or a test in place of a source.
    fn rewritten(plan: &Plan) -> [bool; 3] {
        let Some(TableBody::Recursive { base, step }) = plan.tables.first().map(|table| &table.body) else {
            panic!("no recursion")
        };
        [base.as_slice(), step, plan.answer.selects()]
            .map(|selects| selects.iter().all(|s| s.from.len() == 1))
    }

    #[test]
    fn each_kind_of_statement_has_its_sets() {
        let catalog = relations();
        let after = |pass: &dyn Fn(&mut Plan)| {
            let mut plan = recursive(PlanAnswer::Decision);
            pass(&mut plan);
            rewritten(&plan)
        };
        assert_eq!(after(&|plan| for_filter(plan, &catalog)), [true, false, false]);
        assert_eq!(after(&|plan| for_rows(plan, &catalog)), [true, false, true]);
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
        let mut plan =
            Plan::new(Vec::new(), PlanAnswer::Decision(vec![check.clone(), denied(check.clone())]));
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
}
