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

mod denials;
mod ids;
mod index;
mod lookup;
pub mod print;
mod program;
mod rule;
mod rules;
mod symbols;

pub use denials::{CallArg, DenyingCall, DenyingCalls};
pub use ids::{BodyLiteralId, ConstId, PredId, QuestionVarId, RuleId, SignatureId, TypeId, VarId};
pub use index::Index;
pub(crate) use index::{ConstantKey, PredicateKey};
pub use lookup::NotUsed;
pub use program::{Assertion, BlockInfo, Fact, Program, Test};
pub use rule::{CompareOp, Literal, LiteralKind, Polarity, Rule, Term, VarType, Variable};
pub(crate) use rules::{Given, MatchingRules};
pub use symbols::{Constant, Predicate, Signature, SignatureArg, TypeDef, TypeKind};
