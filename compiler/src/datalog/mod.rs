//! The Datalog program of one question: relations with concrete types, and their clauses.
//!
//! Data types first, then what several folders need to do with such a program: [`visit`] its terms, its
//! [`strata`], how its [`recursion`] moves, [`print`] it, and [`verify`] it between passes.
//! [`crate::specialise`] makes a program, [`crate::rewrite`] makes it smaller, [`crate::plan`] turns it into
//! algebra.
//!
//! INVARIANT: each position of a relation is either a literal, unconstrained, or a column of one concrete
//! type; literals and unconstrained positions have no column; no clause tests a type.
//!
//! ```text
//! has_role(User, "reader", Repo)[c0, c2]            the adornment of position 1 is the literal "reader"
//!     (v0, v1) :- f3(v0, "reader", v1)              a scan of a stored relation
//!     (v0, v1) :- f7(v1, v2), has_role(User, "reader", Org)(v0, v2)
//! ```

pub(crate) mod graph;
pub(crate) mod numbering;
pub(crate) mod print;
pub(crate) mod recursion;
pub(crate) mod strata;
pub(crate) mod unfold;
pub(crate) mod verify;
pub(crate) mod visit;

use crate::catalog::SourceId;
use crate::id_vec::{IdVec, id};
use crate::ir::{
    CompareOp, ConstId, Constant, Polarity, PredId, Program, QuestionVarId, RuleId, TypeId, VarId,
};
use crate::question::Slot;
use crate::refusal::VarName;
use indexmap::IndexSet;

id!(/// A relation of a question's program, see [`Specialised::relations`].
    pub(crate) RelId, "rel");

id!(/// A position of a relation, by its place among the arguments of the predicate. Not each has a column.
    pub(crate) PositionId, "position");

impl PositionId {
    /// The entry for this position, in a list with one entry per position.
    #[expect(clippy::indexing_slicing, reason = "a position is one of the predicate that the list is about")]
    pub(crate) fn of<T>(self, positions: &[T]) -> &T {
        &positions[self.index()]
    }
}

impl RelId {
    /// Takes the place of a relation where clauses are compared without regard to what they call. No program
    /// has a relation of this id.
    pub(crate) const ERASED: Self = Self(u32::MAX);
}

/// What is known of one position of a specialised relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Adornment {
    /// Every tuple has this literal here; no column.
    Literal(ConstId),
    /// Values of this type, which the clauses enumerate.
    Column(TypeId),
    /// Values of this type (any type if `None`), which the clauses only test: the caller must bind them.
    Tested(Option<TypeId>),
    /// The same, and in every tuple it is the value of an earlier position, which is tested too.
    Same {
        /// The earlier position.
        position: PositionId,
        /// The type.
        ty: Option<TypeId>,
    },
    /// Every value of this type (any type if `None`); no column.
    Unconstrained(Option<TypeId>),
}

impl Adornment {
    /// Whether the position has a column.
    pub(crate) fn has_column(self) -> bool {
        matches!(self, Self::Column(_)) || self.is_tested()
    }

    /// Whether the position has a column of values that may be ids. One leads to few rows; a String, such as
    /// a permission, may lead to all.
    pub(crate) fn holds_ids(self) -> bool {
        match self {
            Self::Column(ty) | Self::Tested(Some(ty)) | Self::Same { ty: Some(ty), .. } => {
                !matches!(ty, TypeId::STRING | TypeId::INTEGER | TypeId::BOOLEAN)
            }
            Self::Tested(None) | Self::Same { ty: None, .. } => true,
            Self::Literal(_) | Self::Unconstrained(_) => false,
        }
    }

    /// Whether the clauses only test the values.
    pub(crate) fn is_tested(self) -> bool {
        matches!(self, Self::Tested(_) | Self::Same { .. })
    }
}

/// A specialised predicate: the union of its clauses.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// The predicate it specialises.
    pub(crate) pred: PredId,
    /// One entry per position of the predicate.
    pub(crate) adornments: Vec<Adornment>,
    /// Its alternatives.
    pub(crate) clauses: Vec<Clause>,
}

impl Relation {
    /// The number of columns.
    pub(crate) fn n_columns(&self) -> usize {
        self.adornments.iter().filter(|adornment| adornment.has_column()).count()
    }
}

/// One alternative of a relation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Clause {
    /// The rule it comes from; `None` for a union with stored facts.
    pub(crate) rule: Option<RuleId>,
    /// One term per column of the relation.
    pub(crate) head: Vec<Term>,
    /// The conjuncts.
    pub(crate) goals: Vec<Goal>,
    /// Names of the clause's variables, for messages.
    pub(crate) var_names: IdVec<VarId, VarName>,
}

impl Clause {
    /// The name of a variable, for messages.
    pub(crate) fn name(&self, term: Term) -> &VarName {
        match term {
            Term::Var(var) => &self.var_names[var],
            Term::Const(_) | Term::Given(_) | Term::Now | Term::Local(_) | Term::Ignored => &VarName::UNNAMED,
        }
    }
}

/// A term of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Term {
    /// A variable of the clause.
    Var(VarId),
    /// A literal.
    Const(ConstId),
    /// The value of a question's variable.
    Given(QuestionVarId),
    /// `@current_unix_time`
    Now,
    /// A variable of a negated goal alone: no value of it may make the goal hold.
    Local(VarId),
    /// Nothing depends on it: existential, and nowhere else.
    Ignored,
}

/// One conjunct of a clause.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Goal {
    /// Rows of a catalog relation.
    Scan {
        /// Must a row exist, or none.
        polarity: Polarity,
        /// The relation.
        source: SourceId,
        /// One entry per column of the source.
        args: Vec<ScanArg>,
        /// Only if these hold as well; used under negation alone.
        guards: Vec<(Term, ConstId)>,
    },
    /// Tuples of a specialised relation.
    Call {
        /// Must a tuple exist, or none.
        polarity: Polarity,
        /// The relation.
        rel: RelId,
        /// One entry per column of the relation.
        args: Vec<Term>,
        /// Only if these hold as well; used under negation alone.
        guards: Vec<(Term, ConstId)>,
    },
    /// Values that come with the question.
    Values {
        /// Which parameter holds them.
        slot: Slot,
        /// The variable they bind.
        term: Term,
    },
    /// A comparison of two values of one type.
    Compare {
        /// Which.
        op: CompareOp,
        /// Left side.
        left: Term,
        /// Right side.
        right: Term,
    },
}

/// An argument of a scan.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ScanArg {
    /// Joins or tests one term.
    Term(Term),
    /// The column holds one of these literals, two or more, ascending.
    OneOf(Vec<ConstId>),
}

/// What one wanted variable of the question is in a root clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Output {
    /// A term of the root clause.
    Term(Term, TypeId),
    /// Any value of this type, or of any type.
    Unconstrained(Option<TypeId>),
}

impl Output {
    /// The type, if there is only one.
    pub(crate) fn ty(&self) -> Option<TypeId> {
        match self {
            Self::Term(_, ty) => Some(*ty),
            Self::Unconstrained(ty) => *ty,
        }
    }

    /// The term, if there is one.
    pub(crate) fn term(&self) -> Option<Term> {
        match self {
            Self::Term(term, _) => Some(*term),
            Self::Unconstrained(_) => None,
        }
    }
}

/// One alternative of the question itself.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    /// One entry per answer variable (wanted or one-of), in the question's order.
    pub(crate) outputs: Vec<Output>,
    /// What must hold; its head is empty.
    pub(crate) clause: Clause,
}

/// A question's own program.
#[derive(Clone, Debug)]
pub(crate) struct Specialised {
    /// The relations that the question needs.
    pub(crate) relations: IdVec<RelId, Relation>,
    /// The question's alternatives.
    pub(crate) roots: Vec<Root>,
    /// Literals of the catalog that the policy does not have; numbered after the policy's.
    pub(crate) extra_constants: IndexSet<Constant>,
}

/// The literal of this id, of the policy or of the catalog.
pub(crate) fn constant<'a>(
    program: &'a Program,
    extra: &'a IndexSet<Constant>,
    id: ConstId,
) -> Option<&'a Constant> {
    let n_policy = program.constants.len();
    match id.index().checked_sub(n_policy) {
        None => program.constants.get_index(id.index()),
        Some(index) => extra.get_index(index),
    }
}

/// The literal's number: the policy's, or one of the others, to which it is added.
pub(crate) fn intern(program: &Program, constants: &mut IndexSet<Constant>, value: Constant) -> ConstId {
    let index = match program.constants.get_index_of(&value) {
        Some(index) => index,
        None => program.constants.len() + constants.insert_full(value).0,
    };
    ConstId::from_index(index)
}
