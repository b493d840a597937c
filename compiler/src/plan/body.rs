//! What the planner plans: clauses whose goals may read the tables that it has made so far.
//!
//! A question's Datalog program knows no tables. While a body is planned, a call of a recursive relation
//! becomes a read of the table that holds its closure, and a table that holds several relations has a column
//! that says which. These types are those of [`crate::datalog`] with that added.

use crate::algebra::TableRef;
use crate::catalog::SourceId;
use crate::datalog::recursion::MemberId;
use crate::datalog::{self, Adornment, RelId};
use crate::id_vec::IdVec;
use crate::ir::{CompareOp, ConstId, Polarity, PredId, RuleId, VarId};
use crate::question::{QuestionVarId, Slot};
use crate::refusal::VarName;

/// A relation and the clauses by which it is planned.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    /// The predicate that it specialises.
    pub(super) pred: PredId,
    /// One entry per position of the predicate.
    pub(super) adornments: Vec<Adornment>,
    /// Its alternatives.
    pub(super) clauses: Vec<Clause>,
}

/// One alternative of a relation.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    /// The rule it comes from; `None` for a union with stored facts.
    pub(super) rule: Option<RuleId>,
    /// One term per column of the relation or table.
    pub(super) head: Vec<Term>,
    /// The conjuncts.
    pub(super) goals: Vec<Goal>,
    /// Names of the clause's variables, for messages.
    pub(super) var_names: IdVec<VarId, VarName>,
}

/// A term of a clause; see [`datalog::Term`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Term {
    Var(VarId),
    Const(ConstId),
    Given(QuestionVarId),
    Now,
    Local(VarId),
    Ignored,
    /// Which member of a recursive component, where one table holds several.
    Tag(MemberId),
    /// The value of a column that no reader looks at.
    Filler,
}

impl Term {
    /// The variable that it is.
    pub(super) fn var(self) -> Option<VarId> {
        match self {
            Self::Var(var) => Some(var),
            Self::Const(_)
            | Self::Given(_)
            | Self::Now
            | Self::Local(_)
            | Self::Ignored
            | Self::Tag(_)
            | Self::Filler => None,
        }
    }
}

/// One conjunct of a clause; see [`datalog::Goal`].
#[derive(Clone, Debug)]
pub(super) enum Goal {
    Scan {
        polarity: Polarity,
        source: SourceId,
        args: Vec<ScanArg>,
        guards: Vec<(Term, ConstId)>,
    },
    Call {
        polarity: Polarity,
        rel: RelId,
        args: Vec<Term>,
        guards: Vec<(Term, ConstId)>,
    },
    Values {
        slot: Slot,
        term: Term,
    },
    Compare {
        op: CompareOp,
        left: Term,
        right: Term,
    },
    /// Rows of a table that the planner has made.
    Rows {
        /// The table.
        table: TableRef,
        /// One entry per column of the table.
        args: Vec<Term>,
    },
}

/// An argument of a scan; see [`datalog::ScanArg`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScanArg {
    Term(Term),
    OneOf(Vec<ConstId>),
}

impl Clause {
    /// The name of a variable, for messages.
    pub(super) fn name(&self, term: Term) -> &VarName {
        term.var().map_or(&VarName::UNNAMED, |var| &self.var_names[var])
    }

    /// A clause that another one is the pattern of: the same rule and variables, nothing else yet.
    pub(super) fn like(pattern: &datalog::Clause) -> Self {
        Self { rule: pattern.rule, head: Vec::new(), goals: Vec::new(), var_names: pattern.var_names.clone() }
    }
}

/// A variable without a name for each column.
pub(super) fn unnamed_columns(n_columns: usize) -> (Vec<Term>, IdVec<VarId, VarName>) {
    let names: IdVec<VarId, VarName> = vec![VarName::UNNAMED; n_columns].into();
    (names.ids().map(Term::Var).collect(), names)
}

impl Goal {
    /// A positive call.
    pub(super) fn call(rel: RelId, args: Vec<Term>) -> Self {
        Self::Call { polarity: Polarity::Positive, rel, args, guards: Vec::new() }
    }

    /// Visits every term.
    pub(super) fn for_each_term(&self, visit: &mut impl FnMut(Term)) {
        match self {
            Self::Scan { args, guards, .. } => {
                for arg in args {
                    match arg {
                        ScanArg::Term(term) => visit(*term),
                        ScanArg::OneOf(_) => {}
                    }
                }
                guards.iter().for_each(|(term, _)| visit(*term));
            }
            Self::Call { args, guards, .. } => {
                args.iter().for_each(|term| visit(*term));
                guards.iter().for_each(|(term, _)| visit(*term));
            }
            Self::Rows { args, .. } => args.iter().for_each(|term| visit(*term)),
            Self::Values { term, .. } => visit(*term),
            Self::Compare { left, right, .. } => {
                visit(*left);
                visit(*right);
            }
        }
    }

    /// Visits every term.
    pub(super) fn for_each_term_mut(&mut self, visit: &mut impl FnMut(&mut Term)) {
        match self {
            Self::Scan { args, guards, .. } => {
                for arg in args {
                    match arg {
                        ScanArg::Term(term) => visit(term),
                        ScanArg::OneOf(_) => {}
                    }
                }
                guards.iter_mut().for_each(|(term, _)| visit(term));
            }
            Self::Call { args, guards, .. } => {
                args.iter_mut().for_each(&mut *visit);
                guards.iter_mut().for_each(|(term, _)| visit(term));
            }
            Self::Rows { args, .. } => args.iter_mut().for_each(visit),
            Self::Values { term, .. } => visit(term),
            Self::Compare { left, right, .. } => {
                visit(left);
                visit(right);
            }
        }
    }

    /// Whether the goal has the term.
    pub(super) fn mentions(&self, term: Term) -> bool {
        let mut found = false;
        self.for_each_term(&mut |other| found |= other == term);
        found
    }
}

impl From<&datalog::Relation> for Relation {
    fn from(relation: &datalog::Relation) -> Self {
        Self {
            pred: relation.pred,
            adornments: relation.adornments.clone(),
            clauses: relation.clauses.iter().map(Clause::from).collect(),
        }
    }
}

impl From<&datalog::Clause> for Clause {
    fn from(clause: &datalog::Clause) -> Self {
        Self {
            head: terms(&clause.head),
            goals: clause.goals.iter().map(Goal::from).collect(),
            ..Self::like(clause)
        }
    }
}

impl From<datalog::Term> for Term {
    fn from(term: datalog::Term) -> Self {
        match term {
            datalog::Term::Var(var) => Self::Var(var),
            datalog::Term::Const(literal) => Self::Const(literal),
            datalog::Term::Given(var) => Self::Given(var),
            datalog::Term::Now => Self::Now,
            datalog::Term::Local(var) => Self::Local(var),
            datalog::Term::Ignored => Self::Ignored,
        }
    }
}

impl From<&datalog::Goal> for Goal {
    fn from(goal: &datalog::Goal) -> Self {
        match goal {
            datalog::Goal::Scan { polarity, source, args, guards } => {
                let args = args.iter().map(|arg| match arg {
                    datalog::ScanArg::Term(term) => ScanArg::Term((*term).into()),
                    datalog::ScanArg::OneOf(literals) => ScanArg::OneOf(literals.clone()),
                });
                Self::Scan {
                    polarity: *polarity,
                    source: *source,
                    args: args.collect(),
                    guards: only_if(guards),
                }
            }
            datalog::Goal::Call { polarity, rel, args, guards } => {
                Self::Call { polarity: *polarity, rel: *rel, args: terms(args), guards: only_if(guards) }
            }
            datalog::Goal::Values { slot, term } => Self::Values { slot: *slot, term: (*term).into() },
            datalog::Goal::Compare { op, left, right } => {
                Self::Compare { op: *op, left: (*left).into(), right: (*right).into() }
            }
        }
    }
}

/// Terms of the program, as the planner has them.
pub(super) fn terms(terms: &[datalog::Term]) -> Vec<Term> {
    terms.iter().map(|term| Term::from(*term)).collect()
}

fn only_if(guards: &[(datalog::Term, ConstId)]) -> Vec<(Term, ConstId)> {
    guards.iter().map(|(term, literal)| (Term::from(*term), *literal)).collect()
}
