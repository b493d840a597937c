//! Finding a program's things by name, and which facts it accepts.

use super::{ConstId, Constant, PredId, Predicate, Program, TypeId};

impl Program {
    /// The type of this name.
    pub fn type_id(&self, name: &str) -> Option<TypeId> {
        self.types.iter().position(|ty| !name.is_empty() && ty.name == name).map(TypeId::from_index)
    }

    /// The String literal of this text, if the policy has one.
    pub fn string_literal(&self, text: &str) -> Option<ConstId> {
        let constant = Constant { ty: TypeId::STRING, text: text.to_owned() };
        self.constants.get_index_of(&constant).map(ConstId::from_index)
    }

    /// The predicate of this name and arity.
    pub fn predicate_id(&self, name: &str, arity: usize) -> Option<PredId> {
        let predicate = Predicate { name: name.to_owned(), arity };
        self.predicates.get_index_of(&predicate).map(PredId::from_index)
    }
}
