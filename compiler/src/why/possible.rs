//! Relations for facts that the policy can use and the catalog does not have.
//!
//! A rule that reads a kind of fact of which there is none has no clause in a question's program, because it
//! cannot match. Why it does not is what an explanation must say, so every kind that is not there gets an
//! empty relation.

use super::rules::Rules;
use crate::catalog::{Catalog, Relation, RelationArg, RelationSource, SourceId};
use crate::ir::{Program, Signature, SignatureArg, TypeId, TypeKind};
use std::collections::BTreeSet;

/// How many kinds of fact are added. A policy with more speaks of many types at once.
const MOST: usize = 2_000;

/// The catalog with an empty relation for each kind of fact that it lacks, and whether there were too many of
/// them.
pub(super) fn with_possible(program: &Program, catalog: &Catalog) -> (Catalog, bool) {
    let mut catalog = catalog.clone();
    let n_known = catalog.relations.len();
    let mut added: BTreeSet<(String, Vec<RelationArg>)> = BTreeSet::new();
    let mut is_cut = false;
    for signature in &program.signatures {
        let Some(kinds) = kinds(program, signature) else {
            is_cut = true;
            continue;
        };
        let is_covered = |args: &Vec<RelationArg>| {
            let known = catalog.relations.iter().filter(|known| known.predicate == signature.predicate);
            known.into_iter().any(|known| covers(&known.args, args))
        };
        for args in kinds.into_iter().filter(|args| !is_covered(args)) {
            if added.len() == MOST {
                is_cut = true;
                break;
            }
            added.insert((signature.predicate.clone(), args));
        }
    }
    // A general kind makes those with a literal in it superfluous.
    let is_needed = |(predicate, args): &&(String, Vec<RelationArg>)| {
        !added.iter().any(|(other, general)| other == predicate && general != args && covers(general, args))
    };
    let relations = added.iter().filter(is_needed).map(|(predicate, args)| Relation {
        predicate: predicate.clone(),
        args: args.clone(),
        source: RelationSource::Context { slot: n_known },
    });
    let relations: Vec<Relation> = relations.collect();
    catalog.relations.extend(relations);
    (catalog, is_cut)
}

/// Whether every fact of the second kind is one of the first.
fn covers(general: &[RelationArg], special: &[RelationArg]) -> bool {
    let is_covered = |(general, special): (&RelationArg, &RelationArg)| match (general, special) {
        (RelationArg::Column { ty, .. }, RelationArg::Column { ty: other, .. })
        | (RelationArg::Column { ty, .. }, RelationArg::Constant { ty: other, .. }) => ty == other,
        (RelationArg::Constant { .. }, RelationArg::Constant { .. }) => general == special,
        (RelationArg::Constant { .. }, RelationArg::Column { .. }) => false,
    };
    general.len() == special.len() && general.iter().zip(special).all(is_covered)
}

/// The arguments of every kind of fact of a signature; `None` if they are too many.
fn kinds(program: &Program, signature: &Signature) -> Option<Vec<Vec<RelationArg>>> {
    let mut kinds: Vec<Vec<RelationArg>> = vec![Vec::new()];
    for arg in &signature.args {
        let args = match arg {
            SignatureArg::OneOf(types) => columns(program, types.iter().copied()),
            SignatureArg::Any => {
                let concrete = (0..program.types.len()).map(TypeId::from_index).filter(|ty| {
                    program.types.get(ty.index()).is_some_and(|ty| match ty.kind {
                        TypeKind::Primitive | TypeKind::Actor | TypeKind::Resource | TypeKind::Plain => true,
                        TypeKind::Abstract | TypeKind::Foreign => false,
                    })
                });
                columns(program, concrete)
            }
            SignatureArg::Literal(text) => {
                let ty = program.types.get(TypeId::STRING.index())?.name.clone();
                vec![RelationArg::Constant { ty, text: text.clone() }]
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
    let known = types.filter_map(|ty| program.types.get(ty.index()));
    known.map(|ty| RelationArg::Column { ty: ty.name.clone(), column: String::new() }).collect()
}

impl Rules {
    /// Whether a fact of this relation may be suggested: one that the policy derives all the same is no
    /// answer to what would grant it.
    pub(super) fn may_assume(&self, source: SourceId) -> bool {
        !self.derived.contains(&self.catalog.relation(source).predicate)
    }
}
