//! Tests once a guard that several alternatives have on their containers, and looks up a container once for
//! all of them.
//!
//! ```text
//! pages(row.page, s) and member(u, s) and not hidden(u, row.page)
//! or pages(row.page, s) and open(s) and not hidden(u, row.page)
//!     ─▶   pages(row.page, s) and not hidden(u, row.page) and (member(u, s) or open(s))
//! ```
//!
//! An alternative becomes a set of containers if given values lead to them. If another alternative must be
//! tested for each row, that set saves nothing, and each of the two would evaluate the guard by itself. So
//! this pass takes alternatives together only if they share a denial that reads more than a container, and
//! only if given values do not lead to the containers of one of them.

#[cfg(test)]
mod tests;

use super::common::{Normal, by_shown_rows};
use super::sets::{link_of, listed, with_shown};
use super::{is_of_row, rows_of};
use crate::algebra::aliases::{TakenAliases, mentioned, rename, renumber_inside};
use crate::algebra::anchor::Anchors;
use crate::algebra::groups::around;
use crate::algebra::{Alias, Condition, Expr, From, Plan, Select};
use crate::catalog::Catalog;
use crate::ir::CompareOp;
use crate::keys::Keys;

/// Takes the alternatives of a filter together that share a guard.
pub(in super::super) fn share(plan: &mut Plan, catalog: &Catalog, keys: Keys<'_>) {
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors::new(catalog, tables);
    let mut taken = TakenAliases::of(answer.selects());
    let selects = answer.selects_mut();
    loop {
        let all: Vec<GuardedAlternative> =
            selects.iter().map(|select| GuardedAlternative::of(select, keys)).collect();
        let Some(places) = guarded_alike(&all, &anchors) else { return };
        let mut members = Vec::new();
        let mut others = Vec::new();
        for (place, (select, alternative)) in std::mem::take(selects).into_iter().zip(all).enumerate() {
            if places.contains(&place) {
                members.push(alternative);
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

impl Container {
    /// The value that finds the container, and its key.
    fn key(&self) -> Option<(Expr, Expr)> {
        link_of(&self.link, &|expr| expr.alias() != Some(self.from.alias))
    }

    /// Whether a condition depends on the container, or on the value that finds it.
    fn is_asked_by(&self, condition: &Condition) -> bool {
        let value = self.key().map(|(value, _)| value);
        let mut found = false;
        condition.for_each_expr(&mut |expr| {
            found |= expr.alias() == Some(self.from.alias) || Some(expr) == value;
        });
        found
    }
}

/// A denial that depends on a container.
#[derive(Clone, Debug)]
struct Guard {
    /// Its place among the conditions.
    place: usize,
    /// The containers on which it depends.
    containers: Vec<Alias>,
}

/// Places of alternatives that share a guard, if given values do not lead to the containers of one of them.
fn guarded_alike(all: &[GuardedAlternative], anchors: &Anchors<'_>) -> Option<Vec<usize>> {
    let forms: Vec<Vec<_>> = all.iter().map(|one| one.forms().collect()).collect();
    forms.iter().flatten().find_map(|(_, form)| {
        let found = all.iter().zip(&forms).enumerate().filter_map(|(place, (one, own))| {
            let (guard, _) = own.iter().find(|(_, own)| own == form)?;
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
                    && let Some((value, key)) = container.key()
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
            let containers: Vec<Alias> = self
                .containers
                .iter()
                .filter(|container| container.is_asked_by(condition))
                .map(|container| container.from.alias)
                .collect();
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

    /// The form of a condition in which equal ones of different alternatives are equal. An equality has the
    /// value that leads to a container before its key.
    fn normal(&self, condition: &Condition) -> Normal {
        let shown: Vec<From> = self.shown().collect();
        let place = |expr: Expr| shown.iter().position(|from| Some(from.alias) == expr.alias());
        let turned = match condition {
            Condition::Compare { op: CompareOp::Equal, left, right } if place(*right) < place(*left) => {
                Some(Condition::Compare { op: CompareOp::Equal, left: *right, right: *left })
            }
            _ => None,
        };
        by_shown_rows(turned.as_ref().unwrap_or(condition), &shown)
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

    /// The conditions of these forms, with the sources that they mention, and the rest.
    fn taken_apart(&self, shared: &[Normal]) -> (Select, Select) {
        let is_shared = |condition: &&Condition| shared.contains(&self.normal(condition));
        let filter: Vec<Condition> = self.about_shown().filter(is_shared).cloned().collect();
        let is_read = |from: &From| filter.iter().any(|asked| mentioned(asked).contains(&from.alias));
        let from: Vec<From> = self.shown().filter(is_read).collect();
        let mut rest = self.select.clone();
        rest.from.retain(|own| !from.contains(own));
        rest.filter.retain(|condition| !filter.contains(condition));
        (Select { from, filter, ..Select::default() }, rest)
    }

    /// Those of these forms whose containers are found by equalities that have one of them, too.
    fn with_links(&self, forms: &[Normal]) -> Vec<Normal> {
        let has_links = |condition: &&Condition| {
            self.links_to(condition).into_iter().all(|link| forms.contains(&self.normal(link)))
        };
        let found: Vec<Normal> =
            self.about_shown().filter(has_links).map(|condition| self.normal(condition)).collect();
        forms.iter().filter(|form| found.contains(form)).cloned().collect()
    }

    /// Whether given values lead to the containers of a guard, so that they are listed.
    fn is_listed(&self, guard: &Guard, anchors: &Anchors<'_>) -> bool {
        let parts = around(&self.select, &|expr| is_of_row(expr, &self.rows));
        let is_guarded = |from: &From| guard.containers.contains(&from.alias);
        let group = parts.groups.iter().find(|group| group.from.iter().any(is_guarded));
        group.is_some_and(|group| listed(group, &self.rows, anchors).is_some())
    }
}

/// The forms of conditions that each of several alternatives has once. What is asked of a container is among
/// them only if what leads to the container is, in each alternative.
fn shared(members: &[GuardedAlternative]) -> Vec<Normal> {
    let forms = |one: &GuardedAlternative| one.about_shown().map(|own| one.normal(own)).collect::<Vec<_>>();
    let all: Vec<Vec<Normal>> = members.iter().map(forms).collect();
    let is_once = |form: &Normal, of: &[Normal]| of.iter().filter(|own| *own == form).count() == 1;
    let of_first = all.first().into_iter().flatten();
    let mut shared: Vec<Normal> =
        of_first.filter(|form| all.iter().all(|of| is_once(form, of))).cloned().collect();
    loop {
        let linked = members.iter().fold(shared.clone(), |forms, one| one.with_links(&forms));
        if linked.len() == shared.len() {
            return shared;
        }
        shared = linked;
    }
}

/// One alternative that holds where one of several does.
fn merged(members: &[GuardedAlternative], taken: &mut TakenAliases) -> Select {
    let forms = shared(members);
    let mut merged = Select::default();
    let mut branches = Vec::new();
    for one in members {
        let (mut shared, mut branch) = one.taken_apart(&forms);
        let is_first = branches.is_empty();
        if is_first {
            let fresh = |from: &From| From { alias: taken.take(), kind: from.kind };
            merged.from = shared.from.iter().map(fresh).collect();
        }
        for from in shared.from.clone() {
            if let Some(known) = merged.from.iter().find(|known| known.kind == from.kind) {
                rename(&mut shared, from.alias, known.alias);
                rename(&mut branch, from.alias, known.alias);
            }
        }
        if is_first {
            merged.filter = shared.filter;
        }
        branches.push(branch);
    }
    merged.filter.push(Condition::Any(branches));
    merged.filter.iter_mut().for_each(|condition| renumber_inside(condition, taken));
    merged
}
