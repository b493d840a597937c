//! Computes the signatures, which say which facts may be stored: facts that a body, entry point or `declare`
//! reads, that a rule derives, or that a block declares as a role or relation, even if no rule reads them.
//!
//! In: the blocks and the typed rules. Out: [`Signature`]s, each of which has a set of concrete types, one
//! String, or anything for each argument. Only a String literal narrows a signature. An Integer or Boolean
//! literal counts by its type, because applications store `is_closed(issue, true)` where rules read only
//! `is_closed(resource, false)`.
//!
//! Signatures that differ in one argument only are merged, so that thousands of calls leave a few signatures
//! per predicate. This does not change which facts are accepted.

use super::blocks::{Blocks, NameKind};
use super::entry;
use super::tables::Tables;
use crate::builtin::{ALLOW, HAS_RELATION, HAS_ROLE};
use crate::id_vec::{IdVec, id};
use crate::ir::{ConstId, LiteralKind, PredId, Rule, Signature, SignatureArg, Term, TypeId, VarType};
use crate::syntax::ast::{Item, Policy};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxBuildHasher;

/// The signatures of the policy's `declare`s.
pub(super) fn declared(tables: &mut Tables, policy: &Policy) -> Vec<Signature> {
    let mut signatures = Vec::new();
    for item in &policy.items {
        let Item::Declare(declare) = item else { continue };
        tables.predicate(&declare.name.value, declare.types.len());
        let args = declare.types.iter().map(|ty| {
            let ty = tables.type_named(&ty.value);
            SignatureArg::OneOf(tables.admits(ty).to_vec())
        });
        signatures.push(Signature { predicate: declare.name.value.clone(), args: args.collect() });
    }
    signatures
}

/// A declared role or relation, as the fact that grants it.
#[derive(Debug)]
pub(super) struct Stated {
    pred: PredId,
    /// The type of the first argument: the actor with the role, or the resource with the relation.
    first: TypeId,
    name: ConstId,
    /// The type of the last argument; a global role has none.
    last: Option<TypeId>,
}

/// The roles and relations that the blocks declare.
pub(super) fn stated(tables: &mut Tables, blocks: &Blocks<'_>) -> Vec<Stated> {
    let mut found = Vec::new();
    for block in blocks.list.iter().chain(&blocks.global) {
        let resource = (block.ty != TypeId::FOREIGN).then_some(block.ty);
        for (&name, declared) in &block.names {
            if block.inherits(declared) {
                // The supertype's declaration admits the subtypes.
                continue;
            }
            let (predicate, first, last) = match (declared.kind, resource) {
                (NameKind::Role, resource) => (HAS_ROLE, TypeId::ACTOR, resource),
                (NameKind::Relation(related), Some(resource)) => (HAS_RELATION, resource, Some(related)),
                // A permission is read by the entry point; the global block has no relations.
                (NameKind::Relation(_), None) | (NameKind::Permission, _) => continue,
            };
            let pred = tables.predicate(predicate, if last.is_some() { 3 } else { 2 });
            found.push(Stated { pred, first, name: tables.string(name), last });
        }
    }
    found
}

id!(/// A set of types, see [`Signatures::sets`].
    TypeSetId, "types");

/// An argument of a signature, with interned type sets.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ArgTypes {
    OneOf(TypeSetId),
    Literal(ConstId),
    Any,
}

#[derive(Default)]
struct Signatures {
    sets: IndexSet<Vec<TypeId>, FxBuildHasher>,
    by_predicate: IndexMap<(String, usize), IndexSet<Vec<ArgTypes>, FxBuildHasher>, FxBuildHasher>,
}

/// All signatures of the policy.
pub(super) fn signatures(tables: &Tables, declared: &[Signature], stated: &[Stated]) -> Vec<Signature> {
    let mut signatures = Signatures::default();
    // By predicate id first: most uses repeat a signature, and looking up names costs more.
    let mut used: IdVec<PredId, IndexSet<Vec<ArgTypes>, FxBuildHasher>> =
        vec![IndexSet::default(); tables.predicates.len()].into();
    let mut buffer = Vec::new();
    let mut use_of = |pred: PredId, args: &mut dyn Iterator<Item = ArgTypes>| {
        buffer.clear();
        buffer.extend(args);
        if !used[pred].contains(buffer.as_slice()) {
            used[pred].insert(buffer.clone());
        }
    };
    for rule in &tables.rules {
        use_of(rule.head, &mut rule.params.iter().map(|&arg| signatures.arg(tables, rule, arg)));
        for literal in &rule.body {
            let LiteralKind::Atom { pred, args, .. } = &literal.kind else { continue };
            use_of(*pred, &mut args.iter().map(|&arg| signatures.arg(tables, rule, arg)));
        }
    }
    for &Stated { pred, first, name, last } in stated {
        let first = signatures.one_of(tables.admits(first));
        let last = last.map(|last| signatures.one_of(tables.admits(last)));
        use_of(pred, &mut [first, ArgTypes::Literal(name)].into_iter().chain(last));
    }
    for (predicate, set) in tables.predicates.iter().zip(used) {
        if !set.is_empty() && !predicate.name.starts_with('\'') {
            signatures.by_predicate.insert((predicate.name.clone(), predicate.arity), set);
        }
    }
    let string = signatures.one_of(&[TypeId::STRING]);
    for arity in entry::ARITIES {
        let args = [ArgTypes::Any, string, ArgTypes::Any].into_iter().take(arity).collect();
        signatures.add(ALLOW, args);
    }
    for signature in declared {
        let args = signature.args.iter().map(|arg| match arg {
            SignatureArg::OneOf(types) => signatures.one_of(types),
            SignatureArg::Literal(_) | SignatureArg::Any => ArgTypes::Any,
        });
        let args = args.collect();
        signatures.add(&signature.predicate, args);
    }
    signatures.joined(tables)
}

impl Signatures {
    fn one_of(&mut self, types: &[TypeId]) -> ArgTypes {
        let at = match self.sets.get_index_of(types) {
            Some(at) => at,
            None => self.sets.insert_full(types.to_vec()).0,
        };
        ArgTypes::OneOf(TypeSetId::from_index(at))
    }

    #[expect(clippy::indexing_slicing, reason = "ids come from the set that they index")]
    fn types(&self, set: TypeSetId) -> &[TypeId] {
        &self.sets[set.index()]
    }

    fn arg(&mut self, tables: &Tables, rule: &Rule, term: Term) -> ArgTypes {
        match term {
            Term::Const(constant) => match tables.constant_type(constant) {
                TypeId::STRING => ArgTypes::Literal(constant),
                ty => self.one_of(&[ty]),
            },
            Term::Now => self.one_of(&[TypeId::INTEGER]),
            Term::Var(var) => match &rule.vars[var].ty {
                VarType::OneOf(types) => self.one_of(types),
                VarType::Any => ArgTypes::Any,
            },
        }
    }

    fn add(&mut self, predicate: &str, args: Vec<ArgTypes>) {
        self.by_predicate.entry((predicate.to_owned(), args.len())).or_default().insert(args);
    }

    /// The merged signatures, sorted by predicate.
    fn joined(mut self, tables: &Tables) -> Vec<Signature> {
        let by_predicate = std::mem::take(&mut self.by_predicate);
        let mut signatures = Vec::new();
        for ((predicate, arity), mut group) in by_predicate {
            for position in (0..arity).rev() {
                group = self.join(group, position);
            }
            for args in group {
                let args: Vec<SignatureArg> = args.iter().map(|&arg| self.public(tables, arg)).collect();
                // A call that no value matches accepts nothing.
                if !args.contains(&SignatureArg::OneOf(Vec::new())) {
                    signatures.push(Signature { predicate: predicate.clone(), args });
                }
            }
        }
        signatures.sort_by(|a, b| {
            (&a.predicate, a.args.len(), &a.args).cmp(&(&b.predicate, b.args.len(), &b.args))
        });
        signatures
    }

    /// Merges the signatures that differ in one position only.
    #[expect(clippy::indexing_slicing, reason = "each signature of the group has the position")]
    fn join(
        &mut self,
        group: IndexSet<Vec<ArgTypes>, FxBuildHasher>,
        position: usize,
    ) -> IndexSet<Vec<ArgTypes>, FxBuildHasher> {
        let mut groups: IndexMap<Vec<ArgTypes>, Vec<ArgTypes>, FxBuildHasher> = IndexMap::default();
        for mut signature in group {
            let arg = std::mem::replace(&mut signature[position], ArgTypes::Any);
            groups.entry(signature).or_default().push(arg);
        }
        let mut joined = IndexSet::default();
        for (mut signature, args) in groups {
            for arg in self.union(&args) {
                signature[position] = arg;
                joined.insert(signature.clone());
            }
        }
        joined
    }

    /// A minimal list of arguments that admits the same values.
    fn union(&mut self, args: &[ArgTypes]) -> Vec<ArgTypes> {
        if args.contains(&ArgTypes::Any) {
            return vec![ArgTypes::Any];
        }
        let mut types: Vec<TypeId> = Vec::new();
        let mut literals = Vec::new();
        for arg in args {
            match arg {
                ArgTypes::OneOf(set) => types.extend(self.types(*set)),
                ArgTypes::Literal(_) => literals.push(*arg),
                ArgTypes::Any => {}
            }
        }
        types.sort_unstable();
        types.dedup();
        if types.contains(&TypeId::STRING) {
            literals.clear();
        }
        if !types.is_empty() || literals.is_empty() {
            literals.push(self.one_of(&types));
        }
        literals
    }

    fn public(&self, tables: &Tables, arg: ArgTypes) -> SignatureArg {
        match arg {
            ArgTypes::OneOf(set) => SignatureArg::OneOf(self.types(set).to_vec()),
            ArgTypes::Literal(constant) => SignatureArg::Literal(tables.constant_text(constant).to_owned()),
            ArgTypes::Any => SignatureArg::Any,
        }
    }
}
