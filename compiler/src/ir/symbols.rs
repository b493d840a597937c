//! The names and literals of a policy, each once, to which ids refer.

use super::ids::TypeId;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDef {
    /// Its name; empty for [`TypeKind::Foreign`], see [`TypeDef::named`].
    pub name: String,
    /// Its kind.
    pub kind: TypeKind,
    /// The concrete types whose values `x: ThisType` admits, sorted; a concrete type admits itself.
    pub admits: Vec<TypeId>,
}

impl TypeDef {
    /// Its name, if it has one.
    pub fn named(&self) -> Option<&str> {
        match self.kind {
            TypeKind::Foreign => None,
            TypeKind::Primitive
            | TypeKind::Abstract
            | TypeKind::Actor
            | TypeKind::Resource
            | TypeKind::Plain => Some(&self.name),
        }
    }
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
    /// Represents every type that the policy does not mention.
    Foreign,
}

/// A predicate: a name with an arity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Predicate {
    /// Its name; generated names start with `'`, which no identifier can.
    pub name: String,
    /// The number of arguments.
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

/// Facts that the policy can use: every combination of values that the arguments admit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The predicate's name.
    pub predicate: String,
    /// One entry per argument.
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
