//! The typed rules of a policy: no shorthand, no unresolved names.
//!
//! Data types only; [`crate::resolve`] builds a [`Program`] from the syntax tree. Invariants: each rule is a
//! flat conjunction; alternatives are separate rules; a negated compound, or a disjunction too large to
//! distribute, is a generated predicate; each name is an id; each literal is interned in
//! [`Program::constants`].
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

/// A checked policy, with everything that later stages need.
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
    /// Looks up types, predicates and literals by name, and rules by call.
    pub index: Index,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDef {
    /// Its name; empty for [`TypeId::FOREIGN`].
    pub name: String,
    /// Its kind.
    pub kind: TypeKind,
    /// The concrete types whose values `x: ThisType` admits, sorted; a concrete type admits itself.
    pub admits: Vec<TypeId>,
}

/// What kind of type it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// `String`, `Integer` or `Boolean`.
    Primitive,
    /// `Actor` or `Resource`; no value has exactly this type.
    Abstract,
    /// An `actor` block.
    Actor,
    /// A `resource` block.
    Resource,
    /// Used without a block: a concrete type that is neither an actor nor a resource.
    Plain,
    /// Stands for every type that the policy does not mention.
    Foreign,
}

/// A predicate: a name with an arity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Predicate {
    /// Its name; generated names start with `'`, which no identifier can.
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
    /// Unknown: any value, even of a type that the policy never mentions.
    Any,
    /// One of these concrete types, sorted; empty if the rule can never match.
    OneOf(Vec<TypeId>),
}

/// A variable of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// As written; `_` if anonymous, and a readable name if implied by shorthand.
    pub name: String,
    /// Its possible types, from the annotation, `matches` conjuncts and inference.
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
    /// Its position in the source: of the shorthand rule if desugared, empty for the implied `allow`.
    pub span: Span,
}

/// Whether a literal is negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Polarity {
    /// Must hold.
    Positive,
    /// Must not hold; variables that occur only in this literal are existential inside it.
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
        /// Whether it is negated.
        polarity: Polarity,
        /// The predicate.
        pred: PredId,
        /// Its arguments.
        args: Vec<Term>,
    },
    /// A comparison; negation is folded into the operator.
    Compare {
        /// `=` unifies, `!=` negates it, the others compare Integers.
        op: CompareOp,
        /// Left side.
        left: Term,
        /// Right side.
        right: Term,
    },
    /// The term is one of these literals (positive, which enumerates them), or none of them (negated).
    OneOf {
        /// Whether it is negated.
        polarity: Polarity,
        /// The term.
        term: Term,
        /// The literals.
        values: Vec<ConstId>,
    },
    /// The variable's value has none of these concrete types: a negated `matches`. A positive one narrows the
    /// variable's type instead.
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
    /// Not [`CompareOp::Equal`]; holds if the types differ.
    NotEqual,
    /// `<`, which like the next three compares Integers only.
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl CompareOp {
    /// The comparison that holds when both sides change places.
    pub(crate) fn turned(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }
}

impl std::fmt::Display for CompareOp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        })
    }
}

/// Facts that the policy can use: every combination of values that the arguments admit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The predicate's name.
    pub predicate: String,
    /// One entry an argument.
    pub args: Vec<SignatureArg>,
}

/// The values that one argument of a stored fact may take.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SignatureArg {
    /// Any value of one of these concrete types, sorted.
    OneOf(Vec<TypeId>),
    /// Exactly this String.
    Literal(String),
    /// Any value of any concrete type that the policy mentions.
    Any,
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
    /// What must hold.
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
    /// Where it was written.
    pub span: Span,
}
