//! Numbers the variables of a clause anew, so that clauses that differ in these alone become equal.

use super::{Clause, Goal, Term};
use crate::id_vec::IdVec;
use crate::ir::VarId;
use crate::ordered::OrderedSet;
use crate::refusal::VarName;

/// Numbers the variables of a clause in the order in which they are seen.
pub(crate) struct ClauseNumbering<'c> {
    clause: &'c Clause,
    numbers: OrderedSet<VarId>,
}

impl<'c> ClauseNumbering<'c> {
    /// Of a clause of which nothing is numbered yet.
    pub(crate) fn of(clause: &'c Clause) -> Self {
        Self { clause, numbers: OrderedSet::default() }
    }

    /// Numbers the variables of terms.
    pub(crate) fn terms(&mut self, terms: &mut [Term]) {
        for term in terms {
            self.term(term);
        }
    }

    /// Numbers the variables of goals.
    pub(crate) fn goals(&mut self, goals: &mut [Goal]) {
        for goal in goals {
            goal.for_each_term_mut(&mut |term| self.term(term));
        }
    }

    fn term(&mut self, term: &mut Term) {
        if let Term::Var(var) | Term::Local(var) = term {
            *var = VarId::from_index(self.numbers.insert_full(*var).0);
        }
    }

    /// The names of the variables seen so far.
    pub(crate) fn names(&self) -> IdVec<VarId, VarName> {
        let name = |var: &VarId| self.clause.var_names.find(*var).cloned().unwrap_or(VarName::UNNAMED);
        self.numbers.iter().map(name).collect()
    }
}
