//! A question's program whose clauses say which rules and conditions they come from.

use super::pattern::CallId;
use crate::datalog::{Adornment, Clause, Goal, RelId, Term};
use crate::id_vec::{IdVec, id};
use crate::ir::{BodyLiteralId, Constant, PredId, TypeId, VarId};
use indexmap::IndexSet;

id!(/// A clause of a traced relation, or of the question.
    pub(crate) ClauseId, "clause");
id!(/// A goal of a traced clause.
    pub(crate) GoalId, "goal");

/// A clause with what its rule says of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TracedClause {
    /// The clause. Its variables are numbered as those of its rule, or of the question.
    pub(crate) clause: Clause,
    /// What each variable of the rule, or of the question, became, and its type, if it has one.
    pub(crate) vars: IdVec<VarId, (Term, Option<TypeId>)>,
    /// For each goal the literal of the rule's body, or the question's atom, that it comes from; `None` for
    /// an equality of two values, and for values of the question.
    pub(crate) literals: IdVec<GoalId, Option<BodyLiteralId>>,
}

impl TracedClause {
    /// A goal. Ids come from the clause that they index.
    #[expect(clippy::indexing_slicing, reason = "ids come from the clause that they index")]
    pub(crate) fn goal(&self, goal: GoalId) -> &Goal {
        &self.clause.goals[goal.index()]
    }

    /// The goals with their ids.
    pub(crate) fn goals(&self) -> impl Iterator<Item = (GoalId, &Goal)> {
        self.literals.ids().zip(&self.clause.goals)
    }
}

/// A specialised predicate with traced clauses.
#[derive(Clone, Debug)]
pub(crate) struct TracedRelation {
    /// The predicate it specialises.
    pub(crate) pred: PredId,
    /// The call that it answers. All answers to a call are in the relations of that call.
    pub(crate) call: CallId,
    /// One entry per position of the predicate.
    pub(crate) adornments: Vec<Adornment>,
    /// Its alternatives.
    pub(crate) clauses: IdVec<ClauseId, TracedClause>,
}

/// A question's own program, traced.
#[derive(Clone, Debug)]
pub(crate) struct Traced {
    /// The relations that the question needs.
    pub(crate) relations: IdVec<RelId, TracedRelation>,
    /// The question's alternatives.
    pub(crate) roots: IdVec<ClauseId, TracedClause>,
    /// Literals of the catalog that the policy does not have; numbered after the policy's.
    pub(crate) extra_constants: IndexSet<Constant>,
}
