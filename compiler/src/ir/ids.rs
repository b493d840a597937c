//! Typed ids for the parts of a program, and for the variables of a question about it.

use crate::id_vec::id;

id!(/// A type of the program.
    pub TypeId, "type");
id!(/// A predicate: a name with an arity.
    pub PredId, "pred");
id!(/// A signature of the program.
    pub SignatureId, "signature");
id!(/// A rule of the program.
    pub RuleId, "rule");
id!(/// A variable of one rule.
    pub VarId, "var");
id!(/// A literal of the program.
    pub ConstId, "const");
id!(/// A condition of one rule, or an atom of one question.
    pub BodyLiteralId, "literal");
id!(/// A variable of one question.
    pub QuestionVarId, "question_var");

impl QuestionVarId {
    /// The variable in the question's own clause, whose variables are those of the question.
    pub(crate) fn in_clause(self) -> VarId {
        VarId(self.0)
    }
}

impl VarId {
    /// The question's variable that is this one of the question's own clause.
    pub(crate) fn in_question(self) -> QuestionVarId {
        QuestionVarId(self.0)
    }
}

impl TypeId {
    /// `String`
    pub const STRING: Self = Self(0);
    /// `Integer`
    pub const INTEGER: Self = Self(1);
    /// `Boolean`
    pub const BOOLEAN: Self = Self(2);
    /// `Actor`
    pub const ACTOR: Self = Self(3);
    /// `Resource`
    pub const RESOURCE: Self = Self(4);
    /// Represents the types that the policy does not mention.
    pub const FOREIGN: Self = Self(5);

    /// The type of a question's variable that the policy does not mention; `var` is the question's first
    /// variable of the type, so that two such types differ.
    pub fn of_unmentioned(var: QuestionVarId) -> Self {
        Self(u32::MAX.saturating_sub(var.0).max(Self::LEAST_UNMENTIONED))
    }

    /// The first variable of the question with this type, if the policy does not mention the type.
    pub fn unmentioned_var(self) -> Option<QuestionVarId> {
        (self.0 >= Self::LEAST_UNMENTIONED).then_some(QuestionVarId(u32::MAX - self.0))
    }

    /// The ids from here belong to no [`TypeDef`](super::TypeDef): a policy has fewer types, and a question
    /// fewer variables, than this leaves to each.
    const LEAST_UNMENTIONED: u32 = u32::MAX / 2;
}
