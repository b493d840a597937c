//! Alternatives that share a guard, and those that stay as they are.

use super::*;
use crate::algebra::sample::{bound_catalog, column, equal, literal, read, source};
use crate::algebra::{FromKind, PlanAnswer};
use crate::bindings;
use crate::catalog::{ColumnId, SourceId};

/// Replies have a comment, comments a page, pages a space; who is a member of a space, which spaces are open
/// to everybody, and from whom a page is hidden.
const BINDINGS: &str = "
    dialect: postgresql
    facts:
      on_page(Comment:_, Page:_): { query: 'SELECT id, page_id FROM comments' }
      in_space(Page:_, Space:_): { query: 'SELECT id, space_id FROM pages' }
      member(User:_, Space:_): { query: 'SELECT user_id, space_id FROM members' }
      open(Space:_): { query: 'SELECT id FROM spaces WHERE open' }
      hidden(Page:_, User:_): { query: 'SELECT page_id, user_id FROM hidden' }
      public(Page:_): { query: 'SELECT id FROM pages WHERE public' }
      answers(Reply:_, Comment:_): { query: 'SELECT id, comment_id FROM replies' }
    tables: { Comment: comments.id, Page: pages.id, Space: spaces.id }
";
const COMMENTS: usize = 0;
const PAGES: usize = 1;
const MEMBERS: usize = 2;
const OPEN: usize = 3;
const HIDDEN: usize = 4;
const PUBLIC: usize = 5;
const ANSWERS: u32 = 6;

/// The alternatives that these become.
fn taken_together(selects: Vec<Select>) -> Vec<Select> {
    let catalog = bound_catalog(&[
        ("on_page", &["Comment", "Page"]),
        ("in_space", &["Page", "Space"]),
        ("member", &["User", "Space"]),
        ("open", &["Space"]),
        ("hidden", &["Page", "User"]),
        ("public", &["Page"]),
        ("answers", &["Reply", "Comment"]),
    ]);
    let bindings = bindings::parse(BINDINGS).unwrap();
    let mut plan = Plan::new(Vec::new(), PlanAnswer::Decision(selects));
    share(&mut plan, &catalog, Keys { catalog: &catalog, bindings: &bindings });
    plan.answer.selects().to_vec()
}

/// An alternative whose sources are numbered from here: the row, its page by this column, and one more.
fn on_page(first: usize, page: (usize, u32), other: usize, filter: Vec<Condition>) -> Select {
    let (source_of_page, key) = page;
    let row = FromKind::Row { source: SourceId(0), key: ColumnId::FIRST };
    let from = [(first, row), (first + 1, source(source_of_page)), (first + 2, source(other))];
    let link = equal(column(first, 1), column(first + 1, key));
    read(&from, [vec![link], filter].concat(), Vec::new())
}

/// The page of the row is in a space of the user's.
fn in_own_space(first: usize) -> Vec<Condition> {
    vec![equal(column(first + 2, 0), literal(0)), equal(column(first + 1, 1), column(first + 2, 1))]
}

/// The same page in the other order: the key first, and a guard on the value of the row.
fn turned(mut select: Select, first: usize) -> Select {
    if let Some(Condition::Compare { left, right, .. }) = select.filter.first_mut() {
        std::mem::swap(left, right);
    }
    let of_row = select.filter.pop().map(|guard| with_shown(&guard, column(first + 1, 0), column(first, 1)));
    select.filter.extend(of_row);
    select
}

fn in_open_space(first: usize) -> Vec<Condition> {
    vec![equal(column(first + 2, 0), column(first + 1, 1))]
}

/// The page is not hidden from the user of this literal.
fn not_hidden(first: usize, user: usize) -> Condition {
    let of_page = equal(column(first + 3, 0), column(first + 1, 0));
    let filter = vec![of_page, equal(column(first + 3, 1), literal(user))];
    Condition::None(vec![read(&[(first + 3, source(HIDDEN))], filter, Vec::new())])
}

fn guarded(first: usize, mut filter: Vec<Condition>, user: usize) -> Vec<Condition> {
    filter.push(not_hidden(first, user));
    filter
}

#[test]
fn a_container_that_is_tested_for_everybody_is_looked_up_once() {
    let own = on_page(1, (PAGES, 0), MEMBERS, guarded(1, in_own_space(1), 0));
    let open = on_page(1, (PAGES, 0), OPEN, guarded(1, in_open_space(1), 0));
    let found = taken_together(vec![own.clone(), open.clone()]);
    assert_eq!(taken_together(vec![own, turned(open, 1)]), found);
    let [merged] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(merged.from.len(), 2);
    let [_, Condition::None(_), Condition::Any(branches)] = merged.filter.as_slice() else {
        panic!("{merged:?}")
    };
    let read: Vec<FromKind> = branches.iter().flat_map(|branch| &branch.from).map(|from| from.kind).collect();
    assert_eq!(read, [source(MEMBERS), source(OPEN)]);
    assert_eq!(branches.iter().map(|branch| branch.filter.len()).collect::<Vec<_>>(), [2, 1]);
}

/// Neither what starts from the actor alone, nor alternatives that have only a part of a guard, or none,
/// in common, nor what is no container.
#[test]
fn other_alternatives_stay() {
    let own = |user| on_page(1, (PAGES, 0), MEMBERS, guarded(1, in_own_space(1), user));
    let open = |user| on_page(11, (PAGES, 0), OPEN, guarded(11, in_open_space(11), user));
    let without_guard = on_page(11, (PAGES, 0), OPEN, in_open_space(11));
    let by_space = |first| on_page(first, (PAGES, 1), OPEN, guarded(first, in_open_space(first), 0));
    for selects in [
        vec![own(0), own(0)],
        vec![own(0), open(1)],
        vec![own(0), without_guard],
        vec![by_space(1), by_space(11)],
    ] {
        assert_eq!(taken_together(selects.clone()), selects);
    }
}

/// A third alternative with the guard is tested in the same look-up, and one without it stays.
#[test]
fn all_alternatives_with_the_guard_share_the_look_up() {
    let own = on_page(1, (PAGES, 0), MEMBERS, guarded(1, in_own_space(1), 0));
    let open = |first| on_page(first, (PAGES, 0), OPEN, guarded(first, in_open_space(first), 0));
    let free = on_page(31, (PAGES, 0), MEMBERS, in_own_space(31));
    let found = taken_together(vec![own, open(11), free.clone(), open(21)]);
    let [left, merged] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(*left, free);
    assert!(matches!(merged.filter.last(), Some(Condition::Any(branches)) if branches.len() == 3));
}

/// Another bound query of pages does not have the spaces, so each alternative looks up the page itself.
#[test]
fn a_guard_is_shared_by_alternatives_that_read_different_facts() {
    let own = on_page(1, (PAGES, 0), MEMBERS, guarded(1, in_own_space(1), 0));
    let public = on_page(11, (PUBLIC, 0), OPEN, guarded(11, Vec::new(), 0));
    let found = taken_together(vec![own, public]);
    let [merged] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(merged.from.len(), 1);
    let [denial @ Condition::None(_), Condition::Any(branches)] = merged.filter.as_slice() else {
        panic!("{merged:?}")
    };
    assert!(is_about(denial, merged.from[0].alias));
    assert_eq!(branches.iter().map(|branch| branch.from.len()).collect::<Vec<_>>(), [2, 2]);
}

fn is_about(condition: &Condition, alias: Alias) -> bool {
    mentioned(condition).contains(&alias)
}

/// The guard is about the page of the comment to which the row is a reply.
#[test]
fn a_container_may_be_found_through_another_one() {
    let below = |first: usize, select: Select| {
        let row = FromKind::Row { source: SourceId(ANSWERS), key: ColumnId::FIRST };
        let mut from: Vec<(usize, FromKind)> = vec![(first + 4, row), (first, source(COMMENTS))];
        from.extend(select.from.iter().skip(1).zip(first + 1..).map(|(from, alias)| (alias, from.kind)));
        let link = equal(column(first + 4, 1), column(first, 0));
        read(&from, [vec![link], select.filter].concat(), Vec::new())
    };
    let own = below(1, on_page(1, (PAGES, 0), MEMBERS, guarded(1, in_own_space(1), 0)));
    let open = below(11, on_page(11, (PAGES, 0), OPEN, guarded(11, in_open_space(11), 0)));
    let found = taken_together(vec![own, open]);
    let [merged] = found.as_slice() else { panic!("{found:?}") };
    let kinds: Vec<FromKind> = merged.from.iter().skip(1).map(|from| from.kind).collect();
    assert_eq!(kinds, [source(COMMENTS), source(PAGES)]);
    assert_eq!(merged.filter.len(), 4);
}

/// Two equalities lead to the page of one alternative, and one to that of the other, in either order.
#[test]
fn a_container_that_is_found_in_two_ways_is_shared_as_far_as_all_find_it() {
    let own = on_page(1, (PAGES, 0), MEMBERS, guarded(1, in_own_space(1), 0));
    let mut open = on_page(11, (PAGES, 0), OPEN, guarded(11, in_open_space(11), 0));
    open.filter.insert(0, equal(column(11, 2), column(12, 0)));
    for selects in [vec![own.clone(), open.clone()], vec![open, own]] {
        let found = taken_together(selects.clone());
        let n_sources = |select: &Select| {
            let mut n_sources = 0;
            select.for_each_source(&mut |_| n_sources += 1);
            n_sources
        };
        // Each alternative that was merged has its own sources, or those that all share.
        for select in &found {
            let mut known: Vec<Alias> = Vec::new();
            select.for_each_source(&mut |from| known.push(from.alias));
            for condition in &select.filter {
                assert!(mentioned(condition).iter().all(|alias| known.contains(alias)), "{select:?}");
            }
        }
        assert!(found.iter().map(n_sources).sum::<usize>() >= 6, "{found:?}");
    }
}

/// What one alternative asks twice stays in it.
#[test]
fn a_condition_that_occurs_twice_is_not_shared() {
    let asked = |first: usize| equal(column(first + 1, 2), literal(0));
    let twice = |first| guarded(first, [in_own_space(first), vec![asked(first), asked(first)]].concat(), 0);
    let once = |first| guarded(first, [in_open_space(first), vec![asked(first)]].concat(), 0);
    let own = on_page(1, (PAGES, 0), MEMBERS, twice(1));
    let open = on_page(11, (PAGES, 0), OPEN, once(11));
    let found = taken_together(vec![own, open]);
    let [merged] = found.as_slice() else { panic!("{found:?}") };
    let Some(Condition::Any(branches)) = merged.filter.last() else { panic!("{merged:?}") };
    assert_eq!(branches.iter().map(|branch| branch.filter.len()).collect::<Vec<_>>(), [4, 2]);
}
