//! The argument types of `has_role`, `has_permission` and `has_relation`, from blocks, rules, typed calls and
//! `declare`s.

use crate::builtin::{HAS_PERMISSION, HAS_RELATION, HAS_ROLE};
use crate::id_vec::IdVec;
use crate::ir::{ConstId, LiteralKind, PredId, Rule, RuleId, Signature, SignatureArg, Term, TypeId};
use crate::resolve::blocks::Blocks;
use crate::resolve::formula::term_types;
use crate::resolve::tables::Tables;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The types whose blocks declare a name as a role, permission or relation.
#[derive(Default)]
pub(super) struct Declarers<'a>(FxHashMap<&'a str, FxHashMap<&'static str, Vec<TypeId>>>);

impl<'a> Declarers<'a> {
    /// Reads the blocks.
    pub(super) fn of(blocks: &Blocks<'a>) -> Self {
        let mut named: FxHashMap<&str, FxHashMap<&str, Vec<TypeId>>> = FxHashMap::default();
        for block in &blocks.list {
            for (&name, declared) in &block.names {
                named.entry(name).or_default().entry(declared.kind.noun()).or_default().push(block.ty);
            }
        }
        Self(named)
    }

    /// The types that declare `name` as a role, permission or relation; `None` if there are none.
    pub(super) fn types(&self, noun: &str, name: &str) -> Option<&[TypeId]> {
        self.0.get(name)?.get(noun).map(Vec::as_slice)
    }
}

/// The types of one argument in rules, typed calls and declarations.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenTypes {
    any: bool,
    types: BTreeSet<TypeId>,
}

impl SeenTypes {
    /// Adds types; `None` for any.
    pub(super) fn add(&mut self, types: Option<&[TypeId]>) {
        match types {
            Some(types) => self.types.extend(types),
            None => self.any = true,
        }
    }

    /// The types, sorted; `None` for any.
    pub(super) fn types(&self) -> Option<Vec<TypeId>> {
        (!self.any).then(|| self.types.iter().copied().collect())
    }
}

/// The types of the first and last argument of each `has_…` predicate, by the name between them.
#[derive(Default)]
pub(super) struct Uses(FxHashMap<(PredId, Option<ConstId>), [SeenTypes; 2]>);

impl Uses {
    /// Collects the types from the rules, as inferred so far, and from the `declare`s.
    pub(super) fn of(tables: &Tables, declared: &[Signature], rules: &IdVec<RuleId, Rule>) -> Self {
        let mut uses = Self::default();
        for rule in rules {
            if let ([first, name, last], Some(_)) = (rule.params.as_slice(), noun(tables, rule.head)) {
                let seen = uses.0.entry((rule.head, literal(*name))).or_default();
                for (seen, term) in seen.iter_mut().zip([*first, *last]) {
                    seen.add(term_types(tables, rule, term).as_deref());
                }
            }
            for called in &rule.body {
                let LiteralKind::Atom { pred, args, .. } = &called.kind else { continue };
                let ([first, name, last], Some(_)) = (args.as_slice(), noun(tables, *pred)) else { continue };
                let seen = uses.0.entry((*pred, literal(*name))).or_default();
                for (seen, term) in seen.iter_mut().zip([*first, *last]) {
                    // An untyped call says nothing about what is stored or derived.
                    if let Some(types) = term_types(tables, rule, term) {
                        seen.add(Some(&types));
                    }
                }
            }
        }
        for signature in declared {
            let Some(pred) = tables.find_predicate(&signature.predicate, signature.args.len()) else {
                continue;
            };
            let ([first, _, last], Some(_)) = (signature.args.as_slice(), noun(tables, pred)) else {
                continue;
            };
            let seen = uses.0.entry((pred, None)).or_default();
            for (seen, arg) in seen.iter_mut().zip([first, last]) {
                match arg {
                    SignatureArg::OneOf(types) => seen.add(Some(types)),
                    SignatureArg::Literal(_) | SignatureArg::Any => seen.add(None),
                }
            }
        }
        uses
    }

    /// The types of the first (0) or last (1) argument, for a name, or for a variable in its place.
    pub(super) fn seen(&self, pred: PredId, name: Option<ConstId>, side: usize) -> Option<&SeenTypes> {
        self.0.get(&(pred, name)).and_then(|sides| sides.get(side))
    }
}

/// The literal, if the term is one.
pub(super) fn literal(term: Term) -> Option<ConstId> {
    match term {
        Term::Const(constant) => Some(constant),
        Term::Var(_) | Term::Now => None,
    }
}

/// What the predicate's middle argument names, if blocks declare names for it.
pub(super) fn noun(tables: &Tables, pred: PredId) -> Option<&'static str> {
    match tables.predicate_name(pred) {
        HAS_ROLE => Some("role"),
        HAS_PERMISSION => Some("permission"),
        HAS_RELATION => Some("relation"),
        _ => None,
    }
}
