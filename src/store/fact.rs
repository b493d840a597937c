//! Facts and patterns, as plain data.
//!
//! The store accepts any text as predicate, type or id. What a policy accepts is checked before a fact gets
//! here.

use super::signature::{StoredArg, StoredRelation};
use super::token::{Nonce, WriteMark};

/// A typed reference: an entity, a String, an Integer or a Boolean.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    /// The type's name.
    pub ty: String,
    /// The id, or the text of a primitive in canonical form.
    pub id: String,
}

impl Value {
    /// A value from its parts.
    pub fn new(ty: &str, id: &str) -> Self {
        Self { ty: ty.into(), id: id.into() }
    }
}

/// A predicate applied to values. A store holds a set of facts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fact {
    /// The predicate's name.
    pub predicate: String,
    /// At least one.
    pub args: Vec<Value>,
}

impl Fact {
    /// A fact from its parts.
    pub fn new(predicate: &str, args: Vec<Value>) -> Self {
        Self { predicate: predicate.into(), args }
    }

    /// The types of the arguments.
    pub fn types(&self) -> impl ExactSizeIterator<Item = &str> {
        self.args.iter().map(|arg| arg.ty.as_str())
    }
}

/// What one argument of a matching fact may be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArgPattern {
    /// Any value of any type.
    Any,
    /// Any value of this type.
    Typed(String),
    /// This value.
    Exact(Value),
}

/// A pattern for facts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FactPattern {
    /// The predicate's name; `None` for any.
    pub predicate: Option<String>,
    /// The first arguments.
    pub args: Vec<ArgPattern>,
    /// Whether more arguments may follow.
    pub open_arity: bool,
}

impl FactPattern {
    /// The facts of one predicate with exactly these arguments.
    pub fn new(predicate: &str, args: Vec<ArgPattern>) -> Self {
        Self { predicate: Some(predicate.into()), args, open_arity: false }
    }

    /// All facts.
    pub fn everything() -> Self {
        Self { predicate: None, args: Vec::new(), open_arity: true }
    }

    /// Whether facts of this relation can match.
    pub(super) fn covers(&self, relation: &StoredRelation) -> bool {
        let arity = relation.args.len();
        let arity_fits = self.args.len() == arity || (self.open_arity && self.args.len() < arity);
        arity_fits
            && self.predicate.as_ref().is_none_or(|name| *name == relation.predicate)
            && self.args.iter().zip(&relation.args).all(|(arg, stored)| match (arg, stored) {
                (ArgPattern::Any, _) => true,
                (ArgPattern::Typed(wanted), stored) => wanted == stored.ty(),
                (ArgPattern::Exact(value), StoredArg::Column(ty)) => value.ty == *ty,
                (ArgPattern::Exact(value), StoredArg::Fixed(ty, id)) => value.ty == *ty && value.id == *id,
            })
    }
}

impl From<&Fact> for FactPattern {
    /// Exactly this fact.
    fn from(fact: &Fact) -> Self {
        Self::new(&fact.predicate, fact.args.iter().cloned().map(ArgPattern::Exact).collect())
    }
}

/// One step of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Adds facts; facts that are already stored stay as they are.
    Insert(Vec<Fact>),
    /// Removes every fact that matches one of the patterns.
    Delete(Vec<FactPattern>),
}

impl Change {
    /// How many facts or patterns it contains.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Insert(facts) => facts.len(),
            Self::Delete(patterns) => patterns.len(),
        }
    }
}

/// What a batch did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The number of changing writes up to and including this one, over the store's whole life.
    pub offset: u64,
    /// The random number of its batch in a store in a database.
    pub nonce: Option<Nonce>,
    /// Facts that were not stored before their insertion.
    pub inserted: u64,
    /// Facts that were removed.
    pub deleted: u64,
}

impl Applied {
    /// The moment after it.
    pub fn mark(&self) -> WriteMark {
        WriteMark { offset: self.offset, nonce: self.nonce }
    }
}

/// Stored facts in a fixed order: by signature, then ids, of which numbers come first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactPage {
    /// At most as many as requested.
    pub facts: Vec<Fact>,
    /// Whether more facts match.
    pub more: bool,
}

/// How many facts are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// All of them.
    pub total: u64,
    /// By predicate, in order of their names; without predicates that have no facts.
    pub predicates: Vec<(String, u64)>,
}
