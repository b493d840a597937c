//! Finds declared roles and relations that no rule reads, permissions that no rule grants, and rules that can
//! never match.

use crate::builtin::{HAS_PERMISSION, HAS_RELATION, HAS_ROLE};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{ConstId, LiteralKind, PredId, Rule, Term, TypeId, VarType};
use crate::resolve::blocks::{Blocks, NameKind};
use crate::resolve::formula::term_types;
use crate::resolve::tables::Tables;
use crate::source::Span;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

/// Declared roles and relations that no rule reads, and permissions that no rule grants.
pub(super) fn unused_terms(tables: &mut Tables, blocks: &Blocks<'_>) {
    let used = Used::of(tables);
    let mut found = Vec::new();
    for block in blocks.list.iter().chain(&blocks.global) {
        let is_global = block.ty == TypeId::FOREIGN;
        for (&name, declared) in &block.names {
            let (predicate, verb) = match declared.kind {
                NameKind::Role => (HAS_ROLE, "reads"),
                NameKind::Permission => (HAS_PERMISSION, "uses"),
                NameKind::Relation(_) => (HAS_RELATION, "reads"),
            };
            let arity = if is_global { 2 } else { 3 };
            let is_used = |ty| used.contains(tables, (predicate, arity), name, ty);
            if block.inherits(declared) || is_used(block.ty) || blocks.subtypes(block).any(is_used) {
                continue;
            }
            let noun = declared.kind.noun();
            let title = format!("no rule {verb} the {noun} `{name}` of `{}`", block.ast.name.value);
            let label = format!("this {noun} has no effect");
            found.push(Diagnostic::new(Code::UnusedTerm, title, declared.span, label));
        }
    }
    for diagnostic in found {
        tables.report(diagnostic);
    }
}

/// The roles and relations that rules read, and the permissions that they grant or name. A variable covers
/// all names.
#[derive(Default)]
pub(super) struct Used {
    by_name: FxHashMap<(PredId, Option<ConstId>), ResourceTypes>,
}

/// The resource types for which a name is used.
#[derive(Default)]
struct ResourceTypes {
    any: bool,
    types: FxHashSet<TypeId>,
}

impl Used {
    /// What rules read, grant or name.
    fn of(tables: &Tables) -> Self {
        let mut used = Self::read(tables);
        let permissions = [2, 3].map(|arity| tables.find_predicate(HAS_PERMISSION, arity));
        for rule in tables.rules.iter().filter(|rule| permissions.contains(&Some(rule.head))) {
            if rule.span != Span::default() {
                used.add(tables, rule, (rule.head, &rule.params), 2);
            }
        }
        used
    }

    /// What the conditions of rules read or name.
    pub(super) fn read(tables: &Tables) -> Self {
        let mut used = Self::default();
        let roles = [2, 3].map(|arity| tables.find_predicate(HAS_ROLE, arity));
        let permissions = [2, 3].map(|arity| tables.find_predicate(HAS_PERMISSION, arity));
        let relations = [tables.find_predicate(HAS_RELATION, 3)];
        // The implied `allow` reads every permission, so it does not count as a use.
        for rule in tables.rules.iter().filter(|rule| rule.span != Span::default()) {
            for literal in &rule.body {
                let LiteralKind::Atom { pred, args, .. } = &literal.kind else { continue };
                let called = Some(*pred);
                if roles.contains(&called) {
                    used.add(tables, rule, (*pred, args), 2);
                } else if relations.contains(&called) {
                    used.add(tables, rule, (*pred, args), 0);
                } else if permissions.contains(&called) && matches!(args.get(1), Some(Term::Const(_))) {
                    // A rule that reads any permission only forwards it.
                    used.add(tables, rule, (*pred, args), 2);
                }
            }
        }
        used
    }

    fn add(&mut self, tables: &Tables, rule: &Rule, (pred, args): (PredId, &[Term]), resource: usize) {
        let name = match args.get(1) {
            Some(Term::Const(name)) => Some(*name),
            Some(Term::Var(_) | Term::Now) => None,
            None => return,
        };
        let types = self.by_name.entry((pred, name)).or_default();
        match args.get(resource).map(|&resource| term_types(tables, rule, resource)) {
            Some(Some(resource)) if !resource.is_empty() => types.types.extend(resource),
            // A rule that can never match gets its own finding.
            Some(Some(_) | None) | None => types.any = true,
        }
    }

    /// Whether a name of a predicate is used for a type of resources.
    pub(super) fn contains(
        &self,
        tables: &Tables,
        (predicate, arity): (&str, usize),
        name: &str,
        ty: TypeId,
    ) -> bool {
        let Some(pred) = tables.find_predicate(predicate, arity) else { return false };
        let name = tables.find_string(name);
        let covers = |types: &ResourceTypes| types.any || types.types.contains(&ty);
        // If the policy lacks the literal, only a variable can refer to the name.
        let keys = [name.map(Some), Some(None)];
        keys.into_iter().flatten().any(|name| self.by_name.get(&(pred, name)).is_some_and(covers))
    }
}

/// Rules in which every alternative has a variable without possible values.
pub(super) fn never_matching(tables: &mut Tables) {
    let mut rules: IndexMap<Span, Option<&str>, FxBuildHasher> = IndexMap::default();
    for rule in &tables.rules {
        if rule.span == Span::default() || tables.is_generated(rule.head) {
            continue;
        }
        let never = rule.vars.iter().find(|var| var.ty == VarType::OneOf(Vec::new()));
        let never = never.map(|var| var.name.as_str());
        let seen = rules.entry(rule.span).or_insert(never);
        *seen = seen.and(never);
    }
    let no_actors = tables.admits(TypeId::ACTOR).is_empty();
    let mut found = Vec::new();
    let mut blamed = false;
    for (span, variable) in rules {
        let Some(variable) = variable else { continue };
        if no_actors && variable == "actor" {
            // One cause that affects every shorthand rule.
            if !std::mem::replace(&mut blamed, true) {
                let title = "this rule can never match, because no `actor` block is declared";
                let diagnostic = Diagnostic::new(Code::NeverMatches, title, span, "no value is an actor");
                found.push(diagnostic.with_help("declare the actor: `actor User {}`"));
            }
            continue;
        }
        let label = format!("no value fits `{variable}`");
        let diagnostic = Diagnostic::new(Code::NeverMatches, "this rule can never match", span, label);
        let note = format!("the conditions on `{variable}` require types that exclude each other");
        found.push(diagnostic.with_note(note));
    }
    tables.diagnostics.extend(found);
}
