//! A checked policy: its symbols and rules in tables, its blocks and its tests.

use super::ids::{ConstId, PredId, RuleId, SignatureId, TypeId};
use super::index::Index;
use super::rule::Rule;
use super::symbols::{Constant, Predicate, Signature, TypeDef};
use crate::id_vec::IdVec;
use crate::source::{SourceMap, Span};
use indexmap::IndexSet;
use std::collections::BTreeSet;

/// A checked policy, with everything that later stages need.
#[derive(Clone, Debug)]
pub struct Program {
    /// The text the spans point into.
    pub source: SourceMap,
    /// All types; the first six are fixed, see [`TypeId`]'s constants.
    pub types: IdVec<TypeId, TypeDef>,
    /// All predicates, keyed by name and arity, in order of first mention.
    pub predicates: IndexSet<Predicate>,
    /// All rules, the implied `allow` rules included.
    pub rules: IdVec<RuleId, Rule>,
    /// Every literal of the policy, once.
    pub constants: IndexSet<Constant>,
    /// The facts that may be stored.
    pub signatures: IdVec<SignatureId, Signature>,
    /// The predicates of its `declare`s.
    pub declared: BTreeSet<String>,
    /// The blocks, for `GET /policy_metadata`; sorted by name, `global` always there.
    pub blocks: Vec<BlockInfo>,
    /// The policy's own tests, desugared.
    pub tests: Vec<Test>,
    /// Looks up types, predicates and literals by name, and rules by call.
    pub index: Index,
}

impl Program {
    /// The same names and literals without a rule: what holds is what is a fact.
    #[must_use]
    pub fn without_rules(&self) -> Self {
        let Self { source, types, predicates, constants, signatures, declared, .. } = self;
        Self {
            source: source.clone(),
            types: types.clone(),
            predicates: predicates.clone(),
            rules: IdVec::new(),
            constants: constants.clone(),
            signatures: signatures.clone(),
            declared: declared.clone(),
            blocks: Vec::new(),
            tests: Vec::new(),
            index: Index::new(types, predicates, constants, signatures, &IdVec::new()),
        }
    }
}

/// One block in the response to `GET /policy_metadata`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockInfo {
    /// The block's name, `global` for the global one.
    pub name: String,
    /// Its roles, inherited ones included, sorted.
    pub roles: Vec<String>,
    /// Its permissions, inherited ones included, sorted.
    pub permissions: Vec<String>,
    /// Its relations with the related type, inherited ones included, sorted by name.
    pub relations: Vec<(String, String)>,
}

/// A concrete fact of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The predicate's name.
    pub predicate: String,
    /// Its arguments.
    pub args: Vec<ConstId>,
}

/// A test of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Its name.
    pub name: String,
    /// The only facts in the test, those of its fixtures included.
    pub facts: Vec<Fact>,
    /// The assertions, all of which must hold.
    pub assertions: Vec<Assertion>,
}

/// An assertion, as generated predicates of arity 0 (no variable) or 1 (one variable).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// `assert` or `assert_not`.
    pub positive: bool,
    /// Generated: `goal(v) :- p(…, v, …)`, which holds for the answers of the assertion's query.
    pub goal: PredId,
    /// The variable's concrete types; `None` if the assertion has no variable.
    pub var_types: Option<Vec<TypeId>>,
    /// Generated: `iff(v) :- condition`, with the arity of `goal`.
    pub iff: Option<PredId>,
    /// Its position.
    pub span: Span,
}
