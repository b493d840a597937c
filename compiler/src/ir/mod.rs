//! The typed rules of a policy: no shorthand, no names as strings to look up, data only.
//!
//! In: nothing, these are types; [`crate::resolve`] builds a [`Program`] from the syntax tree. What is
//! true of every program: each rule is a flat conjunction (alternatives are separate rules, a negated
//! compound or a disjunction too large to distribute is a generated predicate), each name is an id, each
//! literal is interned in [`Program::constants`].
//!
//! ```text
//! "read" if is_public(resource) and not "banned";          one shorthand rule of `resource Doc`, becomes
//! has_permission(v0: {User, Bot}, "read", v1: {Doc})       one rule for each alternative of its body
//!     :- is_public(v1), not has_role(v0, "banned", v1)
//! ```

pub(crate) mod ids;
mod lookup;
pub mod print;
mod rules;

pub use ids::{ConstId, PredId, RuleId, TypeId, VarId};
pub use lookup::Index;
pub(crate) use lookup::{ConstantKey, PredicateKey};
pub(crate) use rules::{Candidates, Given, RuleIndex};

use crate::source::{SourceMap, Span};
use indexmap::IndexSet;

/// A checked policy: everything later stages need, and nothing they must look up by name.
#[derive(Clone, Debug)]
pub struct Program {
    /// The text the spans point into.
    pub source: SourceMap,
    /// All types; the first six are fixed, see [`TypeId`]'s constants.
    pub types: Vec<TypeDef>,
    /// All predicates, keyed by name and arity, in order of first mention.
    pub predicates: IndexSet<Predicate>,
    /// All rules, the implied `allow` rules included.
    pub rules: Vec<Rule>,
    /// Every literal of the policy, once.
    pub constants: IndexSet<Constant>,
    /// What may be stored.
    pub signatures: Vec<Signature>,
    /// The blocks, for `GET /policy_metadata`; sorted by name, `global` always there.
    pub blocks: Vec<BlockInfo>,
    /// The policy's own tests, desugared.
    pub tests: Vec<Test>,
    /// Finds the above by name.
    pub index: Index,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDef {
    /// Its name; empty for [`TypeId::FOREIGN`].
    pub name: String,
    /// What it is.
    pub kind: TypeKind,
    /// The concrete types whose values `x: ThisType` admits, sorted; a concrete type admits itself.
    pub admits: Vec<TypeId>,
}

/// What kind of type it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// `String`, `Integer` or `Boolean`.
    Primitive,
    /// `Actor` or `Resource`: no value has this very type.
    Abstract,
    /// An `actor` block.
    Actor,
    /// A `resource` block.
    Resource,
    /// Used, but not declared: a plain concrete type outside `Actor` and `Resource`.
    Plain,
    /// Stands for every type that the policy does not mention.
    Foreign,
}

/// A predicate: a name with an arity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Predicate {
    /// Its name; generated ones start with a character no identifier may start with (`'`).
    pub name: String,
    /// How many arguments.
    pub arity: usize,
}

/// A literal of the policy: a type and the text of its value in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    /// Its concrete type.
    pub ty: TypeId,
    /// Its text: an id, a string, a canonical decimal, `true` or `false`.
    pub text: String,
}

/// The concrete types that a variable may take.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum VarType {
    /// Nothing says: any value at all, also of a type that the policy never mentions.
    Any,
    /// One of these concrete types, sorted; empty if the rule can never match.
    OneOf(Vec<TypeId>),
}

/// A variable of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// As written; `_` for an anonymous one, and a readable name for one that shorthand implies.
    pub name: String,
    /// What it may hold: the annotation, `matches` conjuncts and inference from use together.
    pub ty: VarType,
}

/// An argument of a head, an atom or a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Term {
    /// A variable of the rule.
    Var(VarId),
    /// A literal.
    Const(ConstId),
    /// `@current_unix_time`, an Integer fixed once per question.
    Now,
}

/// One alternative of a predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The predicate it defines.
    pub head: PredId,
    /// The head's arguments: variables (perhaps repeated) and literals.
    pub params: Vec<Term>,
    /// The variables, indexed by [`VarId`].
    pub vars: Vec<Variable>,
    /// All must hold.
    pub body: Vec<Literal>,
    /// Where the author wrote it; the shorthand rule for desugared ones, empty for the implied `allow`.
    pub span: Span,
}

/// Whether a literal must hold or must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Polarity {
    /// Must hold.
    Positive,
    /// Must not hold; variables that occur in this literal alone are existential inside it.
    Negated,
}

/// One conjunct of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// What is tested.
    pub kind: LiteralKind,
    /// Where the author wrote it.
    pub span: Span,
}

/// What a conjunct tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiteralKind {
    /// A fact or a derived predicate.
    Atom {
        /// Must it hold or not.
        polarity: Polarity,
        /// The predicate.
        pred: PredId,
        /// Its arguments.
        args: Vec<Term>,
    },
    /// A comparison; the negated forms are folded into the operator.
    Compare {
        /// `=` unifies, `!=` is its negation, the others compare Integers.
        op: CompareOp,
        /// Left side.
        left: Term,
        /// Right side.
        right: Term,
    },
    /// The term is (positive: tries each; negated: is none) of these literals.
    OneOf {
        /// Is one, or is none.
        polarity: Polarity,
        /// The term.
        term: Term,
        /// The literals.
        values: Vec<ConstId>,
    },
    /// The variable's value has none of these concrete types (a negated `matches`; the positive one is
    /// in the variable's type).
    NotOfType {
        /// The variable.
        var: VarId,
        /// The excluded concrete types, sorted.
        types: Vec<TypeId>,
    },
    /// `false`: the rule never holds. (`true` is dropped.)
    False,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CompareOp {
    /// Same type and same value.
    Equal,
    /// Not [`CompareOp::Equal`]: also true of two different types.
    NotEqual,
    /// Integers only, as the four below.
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// A shape of fact that the policy can consume: every combination of what its arguments admit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The predicate's name.
    pub predicate: String,
    /// One entry an argument.
    pub args: Vec<SignatureArg>,
}

/// What may stand at one argument of a stored fact.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SignatureArg {
    /// Any value of one of these concrete types, sorted.
    OneOf(Vec<TypeId>),
    /// Exactly this String.
    Literal(String),
    /// Any value of any concrete type that the policy mentions.
    Any,
}

/// What `GET /policy_metadata` says of one block.
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
    /// The only data, fixtures included.
    pub facts: Vec<Fact>,
    /// What must hold.
    pub assertions: Vec<Assertion>,
}

/// An assertion, as generated predicates of arity 0 (no variable) or 1 (one variable).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// `assert` or `assert_not`.
    pub positive: bool,
    /// Generated: `goal(v) :- p(…, v, …)`; holds of the values that the assertion's query answers.
    pub goal: PredId,
    /// The variable's concrete types; `None` if the assertion has no variable.
    pub var_types: Option<Vec<TypeId>>,
    /// Generated: `iff(v) :- expression`; the same arity as `goal`.
    pub iff: Option<PredId>,
    /// Where it was written.
    pub span: Span,
}
