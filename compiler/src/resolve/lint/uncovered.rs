//! Finds resource types whose permissions no check can grant, because the policy's own rules of `allow` take
//! none of them.
//!
//! A policy that defines `allow` has no implied one, which would take every type. Parameters count as they
//! are written, and not as inferred: one without a type takes every type. Permissions that other rules read,
//! as those of a container that its contents inherit, need no check of their own.

use super::unused::Used;
use crate::builtin::{ALLOW, HAS_PERMISSION};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::TypeId;
use crate::resolve::blocks::{Block, Blocks, NameKind};
use crate::resolve::tables::Tables;
use crate::source::Span;
use crate::syntax::ast::{Item, Param, Policy, Term};
use rustc_hash::FxHashSet;

/// Reports each block with permissions of which no rule of `allow` takes a value, nor one of a subtype.
pub(super) fn uncovered_types(tables: &mut Tables, blocks: &Blocks<'_>, policy: &Policy) {
    let rules = policy.items.iter().filter_map(|item| match item {
        Item::Rule(rule) if rule.name.value == ALLOW => match rule.params.as_slice() {
            [_, _, resource] => Some((rule.name.span, resource)),
            _ => None,
        },
        Item::Rule(_) | Item::Block(_) | Item::Declare(_) | Item::Fixture(_) | Item::Test(_) => None,
    });
    let (mut first, mut covered) = (None, FxHashSet::default());
    for (span, resource) in rules {
        first = first.or(Some(span));
        match taken(tables, resource) {
            Some(types) => covered.extend(types),
            None => return,
        }
    }
    let Some(first) = first else { return };
    let read = Used::read(tables);
    let mut found = Vec::new();
    for block in &blocks.list {
        if !covered.contains(&block.ty) && !blocks.subtypes(block).any(|sub| covered.contains(&sub)) {
            found.extend(uncovered(block, first, |name| {
                read.contains(tables, (HAS_PERMISSION, 3), name, block.ty)
            }));
        }
    }
    for diagnostic in found {
        tables.report(diagnostic);
    }
}

/// The types of values that a parameter takes; `None` if it may take any.
fn taken(tables: &Tables, param: &Param) -> Option<Vec<TypeId>> {
    let ty = match (&param.ty, &param.term.value) {
        (Some(ty), _) | (None, Term::Object { ty, .. }) => tables.find_type(&ty.value)?,
        (None, Term::Variable(_)) => return None,
        (None, Term::String(_) | Term::Integer(_) | Term::Boolean(_) | Term::CurrentUnixTime) => {
            return Some(Vec::new());
        }
    };
    Some(tables.admits(ty).to_vec())
}

/// A block with permissions that no rule of `allow` takes and no other rule reads.
fn uncovered(block: &Block<'_>, first: Span, is_read: impl Fn(&str) -> bool) -> Option<Diagnostic> {
    let mut permissions = block.names.iter().filter(|(_, declared)| declared.kind == NameKind::Permission);
    let (permission, _) = permissions.find(|(name, _)| !is_read(name))?;
    let name = &block.ast.name;
    let ty = &name.value;
    let title = format!("no check of a `{ty}` is ever allowed, because no rule of `allow` takes one");
    let label = format!("a check of its permission `{permission}` is always denied");
    let help =
        "add a rule of `allow` for it, with the conditions that the others have, if it is to be checked";
    let found = Diagnostic::new(Code::NeverAllowed, title, name.span, label);
    Some(found.with_label(first, "the policy's own rules replace the implied one").with_help(help))
}
