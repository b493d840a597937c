//! Finds types, predicates and literals by name, and rules by call.

use super::ids::{PredId, RuleId, SignatureId, TypeId};
use super::rule::Rule;
use super::rules::RuleIndex;
use super::symbols::{Constant, Predicate, Signature, TypeDef};
use crate::id_vec::IdVec;
use indexmap::{Equivalent, IndexSet};
use rustc_hash::FxHashMap;

/// Hash indexes over a program's tables, built once with the program.
#[derive(Clone, Debug, Default)]
pub struct Index {
    pub(super) types: FxHashMap<String, TypeId>,
    /// The signatures of each predicate.
    pub(super) signatures: IdVec<PredId, Vec<SignatureId>>,
    /// The rules by the calls that they can match.
    pub(crate) rules: RuleIndex,
}

impl Index {
    /// Indexes finished tables.
    pub fn new(
        types: &IdVec<TypeId, TypeDef>,
        predicates: &IndexSet<Predicate>,
        constants: &IndexSet<Constant>,
        signatures: &IdVec<SignatureId, Signature>,
        rules: &IdVec<RuleId, Rule>,
    ) -> Self {
        let types = types.enumerate().filter_map(|(id, ty)| Some((ty.named()?.to_owned(), id))).collect();
        let mut by_predicate: IdVec<PredId, Vec<SignatureId>> = vec![Vec::new(); predicates.len()].into();
        for (id, signature) in signatures.enumerate() {
            let key = PredicateKey { name: &signature.predicate, arity: signature.args.len() };
            if let Some(pred) = predicates.get_index_of(&key) {
                by_predicate[PredId::from_index(pred)].push(id);
            }
        }
        Self { types, signatures: by_predicate, rules: RuleIndex::new(predicates, constants, rules) }
    }
}

/// Borrowed form of [`Predicate`].
#[derive(Hash)]
pub(crate) struct PredicateKey<'a> {
    pub(crate) name: &'a str,
    pub(crate) arity: usize,
}

impl Equivalent<Predicate> for PredicateKey<'_> {
    fn equivalent(&self, key: &Predicate) -> bool {
        self.arity == key.arity && self.name == key.name
    }
}

/// Borrowed form of [`Constant`].
#[derive(Hash)]
pub(crate) struct ConstantKey<'a> {
    pub(crate) ty: TypeId,
    pub(crate) text: &'a str,
}

impl Equivalent<Constant> for ConstantKey<'_> {
    fn equivalent(&self, key: &Constant) -> bool {
        self.ty == key.ty && self.text == key.text
    }
}
