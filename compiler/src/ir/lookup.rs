//! Look-ups by name in a program, and the test whether it accepts a fact.
//!
//! In: the tables of a finished [`Program`]. Look-ups take constant time for any size of policy, because a
//! bulk load calls [`Program::accepts`] for every fact.

use super::ids::{ConstId, PredId, TypeId};
use super::index::{ConstantKey, PredicateKey};
use super::program::Program;
use super::symbols::{Constant, Predicate, Signature, SignatureArg, TypeKind};
use crate::primitive::STRING;
use std::fmt;

impl Program {
    /// A literal of the policy. Ids of literals in its rules come from the program that they index.
    #[expect(clippy::indexing_slicing, reason = "a literal's id is its place among the program's literals")]
    pub fn literal(&self, id: ConstId) -> &Constant {
        &self.constants[id.index()]
    }

    /// A predicate. Ids of predicates come from the program that they index.
    #[expect(
        clippy::indexing_slicing,
        reason = "a predicate's id is its place among the program's predicates"
    )]
    pub fn predicate(&self, id: PredId) -> &Predicate {
        &self.predicates[id.index()]
    }

    /// The type of this name.
    pub fn type_id(&self, name: &str) -> Option<TypeId> {
        self.index.types.get(name).copied()
    }

    /// The String literal of this text, if the policy has one.
    pub fn string_literal(&self, text: &str) -> Option<ConstId> {
        self.constants.get_index_of(&ConstantKey { ty: TypeId::STRING, text }).map(ConstId::from_index)
    }

    /// The predicate of this name and arity.
    pub fn predicate_id(&self, name: &str, arity: usize) -> Option<PredId> {
        self.predicates.get_index_of(&PredicateKey { name, arity }).map(PredId::from_index)
    }

    /// Whether a fact with these arguments, each a type and an id, is one that the policy can use.
    ///
    /// # Errors
    /// [`NotUsed`] if it is not.
    pub fn accepts(&self, predicate: &str, args: &[(&str, &str)]) -> Result<(), NotUsed> {
        let usable = self.admitting(predicate, args.len(), args).next().is_some();
        if usable { Ok(()) } else { Err(NotUsed::new(predicate, args)) }
    }

    /// What the last argument of a fact may be whose other arguments are these; nothing if the policy can use
    /// no such fact.
    pub fn accepted_after(
        &self,
        predicate: &str,
        first: &[(&str, &str)],
    ) -> impl Iterator<Item = &SignatureArg> {
        self.admitting(predicate, first.len() + 1, first).filter_map(|signature| signature.args.last())
    }

    /// The signatures with this number of arguments whose first arguments admit these.
    fn admitting(
        &self,
        predicate: &str,
        arity: usize,
        first: &[(&str, &str)],
    ) -> impl Iterator<Item = &Signature> {
        let bucket = self.predicate_id(predicate, arity).map(|pred| &self.index.signatures[pred]);
        let given: Vec<(Option<TypeId>, &str)> =
            first.iter().map(|(ty, id)| (self.type_id(ty), *id)).collect();
        bucket.into_iter().flatten().map(|id| &self.signatures[*id]).filter(move |signature| {
            signature.args.iter().zip(&given).all(|(arg, &(ty, id))| self.admits(arg, ty, id))
        })
    }

    fn admits(&self, arg: &SignatureArg, ty: Option<TypeId>, id: &str) -> bool {
        let Some(ty) = ty else { return false };
        match arg {
            SignatureArg::OneOf(types) => types.binary_search(&ty).is_ok(),
            SignatureArg::Literal(text) => ty == TypeId::STRING && text == id,
            SignatureArg::Any => match self.types[ty].kind {
                TypeKind::Primitive | TypeKind::Actor | TypeKind::Resource | TypeKind::Plain => true,
                TypeKind::Abstract | TypeKind::Foreign => false,
            },
        }
    }
}

/// A fact that the policy does not use, with the types of its arguments; Strings with their text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotUsed {
    predicate: String,
    args: Vec<String>,
}

impl NotUsed {
    fn new(predicate: &str, args: &[(&str, &str)]) -> Self {
        let shown = |(ty, id): &(&str, &str)| {
            if *ty == STRING { format!("\"{id}\"") } else { (*ty).to_owned() }
        };
        Self { predicate: predicate.to_owned(), args: args.iter().map(shown).collect() }
    }

    /// What is wrong.
    pub(crate) fn title(&self) -> String {
        format!("{}({}) is not used in policy", self.predicate, self.args.join(", "))
    }

    /// What to do.
    pub(crate) fn help(&self) -> String {
        format!(
            "use this fact in your policy, or add 'declare {}(...)' to your policy to force this fact type to \
             be accepted",
            self.predicate
        )
    }
}

/// The sentences that clients know.
impl fmt::Display for NotUsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. Help: {}.", self.title(), self.help())
    }
}
