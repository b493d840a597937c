//! The plans of one question, best first, and which of them is taken.
//!
//! A question's program has up to four [`RoleForm`]s, and each of them several plans, which differ in what
//! becomes a table of its own ([`Shares`]). More shared tables make a smaller plan; fewer keep it closer to
//! the question. [`first_fit`] takes the first plan that becomes a statement.
//!
//! A plan that is too large is followed by the next one, and one that is too deep for the database's parser
//! by one whose deep tests are tables. A form whose closest plan is refused for any other reason is
//! abandoned, since a variable that nothing binds in branches is bound in no table either; the other forms
//! may still work.

use super::approach::{Ends, Shares};
use super::{Approach, Planned, Request, plan};
use crate::id_vec::IdVec;
use crate::limits;
use crate::question::{CompileError, QuestionVarId};
use crate::refusal::Refusal;
use crate::rewrite::{RoleForm, RoleFormId};
use std::collections::VecDeque;

/// The order in which the plans of a form are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The closest first: what reads its tables in too many places is refused once it is counted.
    Closest,
    /// The next smaller plan before one that reads its tables in many places, which this database never
    /// refuses.
    Smaller,
    /// Only plans whose deep tests are tables.
    Shallow,
}

/// The plans of one question.
pub(crate) struct Candidates<'c> {
    request: Request<'c>,
    forms: &'c IdVec<RoleFormId, RoleForm>,
    order: Order,
    /// The approaches that remain to be tried.
    queue: VecDeque<Approach>,
    /// A plan that waits until a smaller one is refused.
    large: Option<Planned>,
    /// Why each form was refused, its closest plan if that was tried.
    refusals: IdVec<RoleFormId, Option<Refusal>>,
}

impl<'c> Candidates<'c> {
    /// The plans of the forms, from one end of stored facts; `column` is the variable whose value is one of
    /// the caller's columns.
    pub(crate) fn new(
        request: Request<'c>,
        forms: &'c IdVec<RoleFormId, RoleForm>,
        ends: Ends,
        column: Option<QuestionVarId>,
        order: Order,
    ) -> Self {
        let approach = |form, shares| Approach { form, shares, ends, column };
        let all = |shares| forms.ids().map(move |form| approach(form, shares));
        let queue = match order {
            Order::Closest | Order::Smaller => {
                let close = all(Shares::Rows).zip(all(Shares::Tests)).flat_map(<[Approach; 2]>::from);
                // The smallest plans, whose tables ignore the demand of their readers.
                close.chain(all(Shares::Relations)).collect()
            }
            Order::Shallow => all(Shares::DeepTests).collect(),
        };
        let refusals = IdVec::like(forms, None);
        Self { request, forms, order, queue, large: None, refusals }
    }

    /// The next plan.
    fn next(&mut self) -> Option<Result<Planned, CompileError>> {
        if let Some(large) = self.large.take() {
            return Some(Ok(large));
        }
        while let Some(approach) = self.queue.pop_front() {
            match plan(&self.request, self.forms, approach) {
                Ok(planned) if self.waits(&planned) => {
                    // The next in the queue is the smaller plan of the same form.
                    self.large = Some(planned);
                }
                Ok(planned) => return Some(Ok(planned)),
                Err(CompileError::Refused(refusal)) => {
                    self.refuse(approach, refusal);
                    if let Some(large) = self.large.take() {
                        return Some(Ok(large));
                    }
                }
                Err(error @ (CompileError::OutOfTime(_) | CompileError::Bug(_))) => return Some(Err(error)),
            }
        }
        None
    }

    /// Whether a plan waits for a smaller one.
    fn waits(&self, planned: &Planned) -> bool {
        self.order == Order::Smaller
            && planned.approach.shares == Shares::Rows
            && planned.plan.n_readings() > limits::TABLE_READINGS
    }

    /// Notes why a plan cannot be taken, and leaves out those that would be refused for the same reason.
    fn refuse(&mut self, approach: Approach, refusal: Refusal) {
        let Approach { form, shares, .. } = approach;
        if shares == Shares::Rows && !refusal.another_plan_may_help() {
            self.queue.retain(|other| other.form != form);
        }
        if shares == Shares::Rows && refusal.overflows_parser() {
            self.queue.push_front(Approach { shares: Shares::DeepTests, ..approach });
        }
        let reason = &mut self.refusals[form];
        if reason.is_none() || shares == Shares::Rows {
            *reason = Some(refusal);
        }
    }

    /// Why the question is refused: for the reason of the form that is closest to the policy, which names
    /// roles and repeats calls.
    fn into_refusal(self) -> CompileError {
        match self.refusals.into_iter().flatten().next_back() {
            Some(refusal) => CompileError::Refused(refusal),
            None => CompileError::Bug("no plan was tried".into()),
        }
    }
}

/// The result of `fit` for the first plan that it does not refuse.
///
/// # Errors
/// What `fit` or the planner refuse the plans for, if they refuse all; any other error at once.
pub(crate) fn first_fit<T>(
    mut candidates: Candidates<'_>,
    mut fit: impl FnMut(Planned) -> Result<T, CompileError>,
) -> Result<T, CompileError> {
    while let Some(planned) = candidates.next() {
        let planned = planned?;
        let approach = planned.approach;
        match fit(planned) {
            Err(CompileError::Refused(refusal)) => candidates.refuse(approach, refusal),
            other => return other,
        }
    }
    Err(candidates.into_refusal())
}
