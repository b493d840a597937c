//! The summary of the explanations: the ids in the questions, what would help, a line a statement, and what
//! is never allowed to whom.

use super::never::{MissedHead, NeverReason};
use super::questions::{Form, PermissionQuestion};
use super::step::DatabasePlan;
use super::{ExplainedStatement, Explanations};
use crate::cli::validate::plural;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A permission of a type of resource to a type of actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Grant<'e> {
    actor: &'e str,
    resource: &'e str,
    action: &'e str,
}

impl<'e> Grant<'e> {
    /// What a question about one permission asks for.
    fn asked(asked: &'e PermissionQuestion) -> Option<Self> {
        let PermissionQuestion { actor, action, resource, .. } = asked;
        action.as_ref().map(|action| Self { actor, resource, action })
    }

    /// Whether it is the same permission, to whomever.
    fn is_of_same_right(&self, other: &Self) -> bool {
        (self.resource, self.action) == (other.resource, other.action)
    }
}

impl Explanations {
    /// Which ids were taken, and what would help how many statements.
    pub(super) fn summary(&self) -> String {
        let ids = self.samples.values().map(|sample| match &sample.read_from {
            Some(place) => {
                let last = sample.last.as_ref().map(|last| format!(", {}:{last} the last", sample.ty));
                format!("\n  {}:{}  the first in {place}{}", sample.ty, sample.id, last.unwrap_or_default())
            }
            None => format!("\n  {}:{}  made up: the database has none", sample.ty, sample.id),
        });
        let mut text = format!("ids in the questions:{}\n", ids.collect::<String>());
        let helps = self.helps();
        if !helps.is_empty() {
            text.push_str("\nwhat would help:\n");
        }
        for (help, n_statements) in helps {
            let _ = writeln!(text, "  {help}  ({})", plural(n_statements, "statement"));
        }
        text.push_str("\nstatements:\n        cost  slow parts\n");
        let allowed = AllowedGrants::new(&self.statements);
        for explained in self.statements.iter().filter(|explained| allowed.has_line(explained)) {
            let _ = writeln!(text, "{}", explained.line());
        }
        text.push_str(&allowed.text());
        let n_slow = self.statements.iter().filter(|explained| explained.is_slow()).count();
        let n_failed = self.statements.iter().filter(|explained| explained.has_no_plan()).count();
        let _ = write!(
            text,
            "\n{}: {n_slow} with slow parts, {n_failed} without a plan",
            plural(self.statements.len(), "statement")
        );
        text
    }

    /// What would help, with the number of statements that it would help; the most first.
    pub(super) fn helps(&self) -> Vec<(String, usize)> {
        let mut helps: BTreeMap<&str, usize> = BTreeMap::new();
        for explained in &self.statements {
            let slow = explained.plan().into_iter().flat_map(DatabasePlan::all_slow);
            let mut of_statement: Vec<&str> =
                slow.flat_map(|slow| slow.help.iter().map(String::as_str)).collect();
            of_statement.sort_unstable();
            of_statement.dedup();
            of_statement.into_iter().for_each(|help| *helps.entry(help).or_default() += 1);
        }
        let mut helps: Vec<(String, usize)> =
            helps.into_iter().map(|(help, n)| (help.to_owned(), n)).collect();
        helps.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        helps
    }
}

/// What is asked for, and which of it no statement allows.
struct AllowedGrants<'e> {
    asked: BTreeSet<Grant<'e>>,
    never: BTreeMap<Grant<'e>, NeverReason>,
}

impl<'e> AllowedGrants<'e> {
    fn new(statements: &'e [ExplainedStatement]) -> Self {
        let mut never = BTreeMap::new();
        let mut allowed = BTreeSet::new();
        for explained in statements {
            let Some(grant) = Grant::asked(&explained.asked) else { continue };
            match explained.never() {
                Some(reason) => drop(never.insert(grant, *reason)),
                None => drop(allowed.insert(grant)),
            }
        }
        never.retain(|grant, _| !allowed.contains(grant));
        let asked = never.keys().copied().chain(allowed).collect();
        Self { asked, never }
    }

    /// Whether a statement has a line of its own: not if all that it asks for is never allowed.
    fn has_line(&self, explained: &ExplainedStatement) -> bool {
        let PermissionQuestion { form, actor, action, resource } = &explained.asked;
        // Who may do something is nobody where a check says so.
        let is_told = !explained.is_never() || *form != Form::Subjects;
        let of_statement = |grant: &&Grant<'_>| {
            (grant.actor, grant.resource) == (actor, resource)
                && action.as_ref().is_none_or(|action| grant.action == action)
        };
        is_told && self.asked.iter().filter(of_statement).any(|grant| !self.never.contains_key(grant))
    }

    /// What is never allowed, by reason: first what is not to anyone, then by type of actor.
    fn text(&self) -> String {
        let mut parts: BTreeMap<(&str, Option<&str>), BTreeSet<Grant<'_>>> = BTreeMap::new();
        for (grant, reason) in &self.never {
            let same: Vec<_> = self.asked.iter().filter(|other| other.is_of_same_right(grant)).collect();
            let reasons = same.iter().map(|other| self.never.get(other).copied()).collect::<Option<Vec<_>>>();
            let (reason, actor) = match reasons.and_then(|reasons| reasons.into_iter().max()) {
                Some(closest) => (closest, None),
                None => (*reason, Some(grant.actor)),
            };
            parts.entry((reason.heading(), actor)).or_default().insert(*grant);
        }
        let mut text = String::new();
        for reason in
            [NeverReason::LacksFacts, NeverReason::NotTaken(MissedHead::Resource), NeverReason::Ungranted]
        {
            let of_reason = parts.iter().filter(|((heading, _), _)| *heading == reason.heading());
            let lines: String = of_reason.map(|((_, actor), grants)| self.line(*actor, grants)).collect();
            if !lines.is_empty() {
                let _ = write!(text, "\n{}:\n{lines}", reason.heading());
            }
        }
        text
    }

    /// Some that are never allowed, by type of resource.
    fn line(&self, actor: Option<&str>, grants: &BTreeSet<Grant<'_>>) -> String {
        let mut of_types: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for grant in grants {
            of_types.entry(grant.resource).or_default().insert(grant.action);
        }
        let of_types = of_types.into_iter().map(|(resource, actions)| {
            let mut others = self.asked.iter().filter(|grant| grant.resource == resource);
            if others.all(|grant| actions.contains(grant.action)) {
                return format!("all of {resource}");
            }
            let actions: Vec<String> = actions.iter().map(|action| format!("{action:?}")).collect();
            format!("{} of {resource}", actions.join(", "))
        });
        let of_types: Vec<String> = of_types.collect();
        let actor = actor.map_or_else(|| "anyone".to_owned(), |actor| format!("a {actor}"));
        format!("  to {actor}: {}\n", of_types.join("; "))
    }
}
