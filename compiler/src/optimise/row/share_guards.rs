//! Tests once a guard that several alternatives have on their containers, and looks up a container once for all
//! of them.
//!
//! ```text
//! pages(row.page, s) and member(u, s) and not hidden(u, row.page)
//! or pages(row.page, s) and open(s) and not hidden(u, row.page)
//!     ─▶   pages(row.page, s) and not hidden(u, row.page) and (member(u, s) or open(s))
//! ```
//!
//! An alternative that starts from the actor would become a set of containers. If another one, for everybody,
//! has to be tested for each row anyway, such a set saves nothing, and each of the two would make the guard
//! for itself. So this pass takes alternatives together only if one of them does not start from a given value,
//! and only if they share a denial that reads more than a container.

use super::common::{Normal, by_shown_rows, rename};
use super::sets::{link_of, listed, with_shown};
use super::{is_of_row, rows_of};
use crate::algebra::aliases::{TakenAliases, mentioned, renumber_inside};
use crate::algebra::anchor::Anchors;
use crate::algebra::groups::around;
use crate::algebra::{Alias, Condition, Expr, From, Plan, Select};
use crate::catalog::Catalog;
use crate::keys::Keys;

/// Takes the alternatives of a filter together that share a guard.
pub(in super::super) fn share(plan: &mut Plan, catalog: &Catalog, keys: Keys<'_>) {
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors::new(catalog, tables);
    let mut taken = TakenAliases::of(answer.selects());
    let selects = answer.selects_mut();
    while let Some(places) = guarded_alike(selects, &anchors, keys) {
        let mut members = Vec::new();
        let mut others = Vec::new();
        for (place, select) in std::mem::take(selects).into_iter().enumerate() {
            if places.contains(&place) {
                members.push(GuardedAlternative::of(&select, keys));
            } else {
                others.push(select);
            }
        }
        others.push(merged(&members, &mut taken));
        *selects = others;
    }
}

/// An alternative, and the containers that keys lead to from the row.
#[derive(Clone, Debug)]
struct GuardedAlternative {
    /// The alternative. What its guards ask of a container's key, they ask of the equal value of the row.
    select: Select,
    /// The sources that show the row.
    rows: Vec<From>,
    /// The containers, each after that which leads to it. No two read the same relation, so that a relation
    /// says which one is meant.
    containers: Vec<Container>,
    /// The denials that depend on a container and read more than that.
    guards: Vec<Guard>,
}

/// A container, which is found by its key.
#[derive(Clone, Debug)]
struct Container {
    from: From,
    /// The equality of its key with a value of the row, or of another container.
    link: Condition,
}

/// A denial that depends on a container.
#[derive(Clone, Debug)]
struct Guard {
    /// Its place among the conditions.
    place: usize,
    /// The containers on which it depends.
    containers: Vec<Alias>,
}

/// Places of alternatives that share a guard, if one of them does not start from a given value.
fn guarded_alike(selects: &[Select], anchors: &Anchors<'_>, keys: Keys<'_>) -> Option<Vec<usize>> {
    let all: Vec<GuardedAlternative> =
        selects.iter().map(|select| GuardedAlternative::of(select, keys)).collect();
    all.iter().flat_map(GuardedAlternative::forms).find_map(|(_, form)| {
        let found = all.iter().enumerate().filter_map(|(place, one)| {
            let (guard, _) = one.forms().find(|(_, own)| *own == form)?;
            Some((place, one.is_listed(guard, anchors)))
        });
        let (places, listed): (Vec<usize>, Vec<bool>) = found.unzip();
        (places.len() > 1 && listed.contains(&false)).then_some(places)
    })
}

impl GuardedAlternative {
    fn of(select: &Select, keys: Keys<'_>) -> Self {
        let rows: Vec<From> = rows_of(&select.from).collect();
        let mut found = Self { select: select.clone(), rows, containers: Vec::new(), guards: Vec::new() };
        while let Some(next) = found.next(keys) {
            found.containers.push(next);
        }
        found.guards = found.find_guards();
        for guard in &found.guards {
            for container in found.containers.iter().rev() {
                if let Some(condition) = found.select.filter.get_mut(guard.place)
                    && let Some((value, key)) =
                        link_of(&container.link, &|expr| expr.alias() != Some(container.from.alias))
                {
                    *condition = with_shown(condition, key, value);
                }
            }
        }
        found
    }

    /// A container that a key leads to from what was found before.
    fn next(&self, keys: Keys<'_>) -> Option<Container> {
        let is_new = |from: &&From| !self.shown().any(|shown| shown.kind == from.kind);
        let is_shown = |value: Expr| self.shown().any(|shown| Some(shown.alias) == value.alias());
        self.select.from.iter().filter(is_new).find_map(|from| {
            let leads = |link: &&Condition| keys.looked_up(link, *from).is_some_and(is_shown);
            Some(Container { from: *from, link: self.select.filter.iter().find(leads)?.clone() })
        })
    }

    fn find_guards(&self) -> Vec<Guard> {
        let guards = self.select.filter.iter().enumerate().filter_map(|(place, condition)| {
            let is_denial =
                matches!(condition, Condition::None(denied) if !denied.iter().all(Select::reads_nothing));
            let mentioned = mentioned(condition);
            let found = self.containers.iter().map(|container| container.from.alias);
            let containers: Vec<Alias> = found.filter(|alias| mentioned.contains(alias)).collect();
            (is_denial && !containers.is_empty()).then_some(Guard { place, containers })
        });
        guards.collect()
    }

    /// The guards that depend on nothing but the row and its containers. Each comes with the form in which
    /// equal ones of different alternatives are equal, and the forms of what leads to its containers.
    fn forms(&self) -> impl Iterator<Item = (&Guard, (Normal, Vec<Normal>))> {
        self.guards.iter().filter_map(|guard| {
            let denial = self.select.filter.get(guard.place).filter(|denial| self.is_about_shown(denial))?;
            let links = self.links_to(denial).into_iter().map(|link| self.normal(link)).collect();
            Some((guard, (self.normal(denial), links)))
        })
    }

    /// The sources that show the row and its containers.
    fn shown(&self) -> impl Iterator<Item = From> {
        self.rows.iter().copied().chain(self.containers.iter().map(|container| container.from))
    }

    /// The form of a condition in which equal ones of different alternatives are equal.
    fn normal(&self, condition: &Condition) -> Normal {
        by_shown_rows(condition, &self.shown().collect::<Vec<_>>())
    }

    /// Whether a condition mentions no other source of the alternative.
    fn is_about_shown(&self, condition: &Condition) -> bool {
        let is_shown = |alias: Alias| self.shown().any(|from| from.alias == alias);
        let is_own = |alias: Alias| self.select.from.iter().any(|from| from.alias == alias);
        mentioned(condition).into_iter().all(|alias| is_shown(alias) || !is_own(alias))
    }

    /// The conditions on the row and its containers alone.
    fn about_shown(&self) -> impl Iterator<Item = &Condition> {
        self.select.filter.iter().filter(|condition| self.is_about_shown(condition))
    }

    /// The equalities that lead to the containers which a condition mentions.
    fn links_to(&self, condition: &Condition) -> Vec<&Condition> {
        let mut wanted = mentioned(condition);
        let mut links = Vec::new();
        for Container { from, link } in self.containers.iter().rev() {
            if wanted.contains(&from.alias) {
                wanted.extend(mentioned(link));
                links.push(link);
            }
        }
        links
    }

    /// What is shared with other alternatives, and the rest.
    fn taken_apart(&self, is_shared: &dyn Fn(&Normal) -> bool) -> (Select, Select) {
        // What is asked of a container is shared only if what leads to the container is.
        let is_shared_with_links = |condition: &&Condition| {
            let links = self.links_to(condition);
            links.into_iter().chain([*condition]).all(|asked| is_shared(&self.normal(asked)))
        };
        let filter: Vec<Condition> = self.about_shown().filter(is_shared_with_links).cloned().collect();
        let is_read = |from: &From| filter.iter().any(|asked| mentioned(asked).contains(&from.alias));
        let from: Vec<From> = self.shown().filter(is_read).collect();
        let mut rest = self.select.clone();
        rest.from.retain(|own| !from.contains(own));
        rest.filter.retain(|condition| !filter.contains(condition));
        (Select { from, filter, ..Select::default() }, rest)
    }

    /// Whether given values lead to the containers of a guard, so that they are listed.
    fn is_listed(&self, guard: &Guard, anchors: &Anchors<'_>) -> bool {
        let parts = around(&self.select, &|expr| is_of_row(expr, &self.rows));
        let is_guarded = |from: &From| guard.containers.contains(&from.alias);
        let group = parts.groups.iter().find(|group| group.from.iter().any(is_guarded));
        group.is_some_and(|group| listed(group, &self.rows, anchors).is_some())
    }
}

/// One alternative that holds where one of several does.
fn merged(members: &[GuardedAlternative], taken: &mut TakenAliases) -> Select {
    let normals = |one: &GuardedAlternative| one.about_shown().map(|own| one.normal(own)).collect::<Vec<_>>();
    let all: Vec<Vec<Normal>> = members.iter().map(normals).collect();
    let is_once = |normal: &Normal, of: &[Normal]| of.iter().filter(|own| *own == normal).count() == 1;
    let is_shared = |normal: &Normal| all.iter().all(|of| is_once(normal, of));
    let mut merged = Select::default();
    let mut branches = Vec::new();
    for one in members {
        let (mut shared, mut branch) = one.taken_apart(&is_shared);
        if merged.from.is_empty() {
            let fresh = |from: &From| From { alias: taken.take(), kind: from.kind };
            merged.from = shared.from.iter().map(fresh).collect();
        }
        for from in shared.from.clone() {
            if let Some(known) = merged.from.iter().find(|known| known.kind == from.kind) {
                rename(&mut shared, from.alias, known.alias);
                rename(&mut branch, from.alias, known.alias);
            }
        }
        merged.filter = shared.filter;
        branches.push(branch);
    }
    merged.filter.push(Condition::Any(branches));
    merged.filter.iter_mut().for_each(|condition| renumber_inside(condition, taken));
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{bound_catalog, column, equal, literal, read, source};
    use crate::algebra::{FromKind, PlanAnswer};
    use crate::bindings;
    use crate::catalog::{ColumnId, SourceId};

    /// Replies have a comment, comments a page, pages a space; who is a member of a space, which spaces are open to everybody,
    /// and from whom a page is hidden.
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
        let found = taken_together(vec![own, open]);
        let [merged] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(merged.from.len(), 2);
        let [_, Condition::None(_), Condition::Any(branches)] = merged.filter.as_slice() else {
            panic!("{merged:?}")
        };
        let read: Vec<FromKind> =
            branches.iter().flat_map(|branch| &branch.from).map(|from| from.kind).collect();
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
}
