//! Relations for facts that the policy can use and the catalog does not have.
//!
//! A rule that reads a kind of fact that does not exist has no clause in a question's program, because it
//! cannot match. Why it does not is what an explanation must say, so every kind that is not there gets an
//! empty relation.

use crate::catalog::{Catalog, ContextId, Relation, RelationArg, RelationSource};
use crate::ir::{Program, Signature, SignatureArg, TypeId, TypeKind};
use crate::primitive::STRING;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// How many kinds of fact are added. A policy with more refers to many types at once.
const MOST: usize = 2_000;

/// The catalog with an empty relation for each kind of fact that it lacks, and whether there were too many of
/// them.
pub(super) fn with_possible(program: &Program, catalog: &Catalog) -> (Catalog, bool) {
    let mut catalog = catalog.clone();
    // No relation of the catalog has this id, and the rows behind it are never read.
    let unasked = ContextId::from_index(catalog.relations.len());
    let mut added: BTreeSet<(String, Vec<RelationArg>)> = BTreeSet::new();
    let mut is_cut = false;
    let known = catalog.relations.iter().map(|relation| (&*relation.predicate, &*relation.args));
    let known = Kinds::of(known);
    for signature in &program.signatures {
        let Some(kinds) = kinds(program, signature) else {
            is_cut = true;
            continue;
        };
        for args in kinds.into_iter().filter(|args| !known.cover(&signature.predicate, args)) {
            if added.len() == MOST {
                is_cut = true;
                break;
            }
            added.insert((signature.predicate.clone(), args));
        }
    }
    // A general kind makes those with a literal in it superfluous.
    let kinds = Kinds::of(added.iter().map(|(predicate, args)| (&**predicate, &**args)));
    let needed = added.iter().filter(|(predicate, args)| !kinds.cover_strictly(predicate, args));
    let relations = needed.map(|(predicate, args)| Relation {
        predicate: predicate.clone(),
        args: args.clone(),
        source: RelationSource::Context { slot: unasked },
    });
    let relations: Vec<Relation> = relations.collect();
    catalog.relations.extend(relations);
    (catalog, is_cut)
}

/// Kinds of fact by predicate and types of arguments. Only kinds with the same types can cover each other,
/// and there may be thousands of others.
struct Kinds<'k>(FxHashMap<(&'k str, Vec<&'k str>), Vec<&'k [RelationArg]>>);

impl<'k> Kinds<'k> {
    fn of(kinds: impl Iterator<Item = (&'k str, &'k [RelationArg])>) -> Self {
        let mut by_types: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for (predicate, args) in kinds {
            by_types.entry((predicate, types(args))).or_default().push(args);
        }
        Self(by_types)
    }

    fn alike<'s>(&'s self, predicate: &'s str, args: &'s [RelationArg]) -> &'s [&'s [RelationArg]] {
        self.0.get(&(predicate, types(args))).map_or(&[], Vec::as_slice)
    }

    /// Whether every fact of this kind is of one of these.
    fn cover(&self, predicate: &str, args: &[RelationArg]) -> bool {
        self.alike(predicate, args).iter().any(|general| covers(general, args))
    }

    /// The same with a different kind than this one itself.
    fn cover_strictly(&self, predicate: &str, args: &[RelationArg]) -> bool {
        self.alike(predicate, args).iter().any(|general| *general != args && covers(general, args))
    }
}

/// The types of a relation's arguments.
fn types(args: &[RelationArg]) -> Vec<&str> {
    args.iter().map(RelationArg::ty).collect()
}

/// Whether every fact of the second kind is one of the first; the types are the same.
fn covers(general: &[RelationArg], special: &[RelationArg]) -> bool {
    let is_covered = |(general, special): (&RelationArg, &RelationArg)| match (general, special) {
        (RelationArg::Column { .. }, RelationArg::Column { .. } | RelationArg::Constant { .. }) => true,
        (RelationArg::Constant { .. }, RelationArg::Constant { .. }) => general == special,
        (RelationArg::Constant { .. }, RelationArg::Column { .. }) => false,
    };
    general.iter().zip(special).all(is_covered)
}

/// The arguments of every kind of fact of a signature; `None` if they are too many.
fn kinds(program: &Program, signature: &Signature) -> Option<Vec<Vec<RelationArg>>> {
    let mut kinds: Vec<Vec<RelationArg>> = vec![Vec::new()];
    for arg in &signature.args {
        let args = match arg {
            SignatureArg::OneOf(types) => columns(program, types.iter().copied()),
            SignatureArg::Any => {
                let is_concrete = |ty: &TypeId| match program.types[*ty].kind {
                    TypeKind::Primitive | TypeKind::Actor | TypeKind::Resource | TypeKind::Plain => true,
                    TypeKind::Abstract | TypeKind::Foreign => false,
                };
                columns(program, program.types.ids().filter(is_concrete))
            }
            SignatureArg::Literal(text) => {
                vec![RelationArg::Constant { ty: STRING.to_owned(), text: text.clone() }]
            }
        };
        if kinds.len().saturating_mul(args.len()) > MOST {
            return None;
        }
        let extended = |kind: &Vec<RelationArg>| {
            let extend = |arg: &RelationArg| kind.iter().cloned().chain([arg.clone()]).collect();
            args.iter().map(extend).collect::<Vec<Vec<RelationArg>>>()
        };
        kinds = kinds.iter().flat_map(extended).collect();
    }
    Some(kinds)
}

fn columns(program: &Program, types: impl Iterator<Item = TypeId>) -> Vec<RelationArg> {
    let names = types.map(|ty| program.types[ty].name.clone());
    names.map(|ty| RelationArg::Column { ty, column: String::new() }).collect()
}
