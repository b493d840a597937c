//! A question's program whose clauses say which rules and conditions they come from.

use super::pattern::CallId;
use crate::datalog::{Adornment, Clause, RelId, Term};
use crate::id_vec::IdVec;
use crate::ir::{Constant, PredId, TypeId, VarId};
use indexmap::IndexSet;

/// A clause with what its rule says of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TracedClause {
    /// The clause. Its variables are numbered as those of its rule, or of the question.
    pub(crate) clause: Clause,
    /// What each variable of the rule, or of the question, became, and its type, if it has one.
    pub(crate) vars: IdVec<VarId, (Term, Option<TypeId>)>,
    /// For each goal the literal of the rule's body, or the question's atom, that it comes from; `None` for
    /// an equality of two values, and for values of the question.
    pub(crate) literals: Vec<Option<usize>>,
}

/// A specialised predicate with traced clauses.
#[derive(Clone, Debug)]
pub(crate) struct TracedRelation {
    /// The predicate it specialises.
    pub(crate) pred: PredId,
    /// The call that it answers. What the relations of one call answer together is all that there is.
    pub(crate) call: CallId,
    /// One entry per position of the predicate.
    pub(crate) adornments: Vec<Adornment>,
    /// Its alternatives.
    pub(crate) clauses: Vec<TracedClause>,
}

/// A question's own program, traced.
#[derive(Clone, Debug)]
pub(crate) struct Traced {
    /// The relations that the question needs.
    pub(crate) relations: IdVec<RelId, TracedRelation>,
    /// The question's alternatives.
    pub(crate) roots: Vec<TracedClause>,
    /// Literals of the catalog that the policy does not have; numbered after the policy's.
    pub(crate) extra_constants: IndexSet<Constant>,
}
