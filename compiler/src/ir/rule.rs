//! A rule: its parameters, its variables, and a flat conjunction of literals.

use super::ids::{BodyLiteralId, ConstId, PredId, TypeId, VarId};
use crate::id_vec::IdVec;
use crate::source::Span;

/// One alternative of a predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The predicate it defines.
    pub head: PredId,
    /// The head's arguments: variables (perhaps repeated) and literals.
    pub params: Vec<Term>,
    /// The variables.
    pub vars: IdVec<VarId, Variable>,
    /// The conditions, all of which must hold.
    pub body: IdVec<BodyLiteralId, Literal>,
    /// Its position in the source: of the shorthand rule if desugared, empty for the implied `allow`.
    pub span: Span,
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
    /// The test.
    pub kind: LiteralKind,
    /// Where the author wrote it.
    pub span: Span,
}

/// The test of a conjunct.
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
