//! Finds types, predicates and literals by name, and rules by call.

use super::ids::TypeId;
use super::rule::Rule;
use super::rules::RuleIndex;
use super::symbols::{Constant, Predicate, Signature, TypeDef};
use indexmap::{Equivalent, IndexSet};
use rustc_hash::FxHashMap;

/// Hash indexes over a program's tables, built once with the program.
#[derive(Clone, Debug, Default)]
pub struct Index {
    pub(super) types: FxHashMap<String, TypeId>,
    /// For each predicate, the positions of its signatures in
    /// [`Program::signatures`](super::Program::signatures).
    pub(super) signatures: Vec<Vec<usize>>,
    /// The rules by the calls that they can match.
    pub(crate) rules: RuleIndex,
}

impl Index {
    /// Indexes finished tables.
    pub fn new(
        types: &[TypeDef],
        predicates: &IndexSet<Predicate>,
        constants: &IndexSet<Constant>,
        signatures: &[Signature],
        rules: &[Rule],
    ) -> Self {
        let named = types.iter().enumerate().filter(|(_, ty)| !ty.name.is_empty());
        let types = named.map(|(at, ty)| (ty.name.clone(), TypeId::from_index(at))).collect();
        let mut by_predicate = vec![Vec::new(); predicates.len()];
        for (at, signature) in signatures.iter().enumerate() {
            let key = PredicateKey { name: &signature.predicate, arity: signature.args.len() };
            if let Some(bucket) = predicates.get_index_of(&key).and_then(|pred| by_predicate.get_mut(pred)) {
                bucket.push(at);
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
