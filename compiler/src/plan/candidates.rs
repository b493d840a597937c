//! The plans of one question, best first, and which of them is taken.
//!
//! A question's program has one or two [`Form`]s, and each of them several plans, which differ in what
//! becomes a table of its own ([`Shares`]). The more, the smaller the plan; the less, the more closely it
//! follows what is asked. [`first_fit`] takes the first plan that becomes a statement.
//!
//! A plan that is too large is followed by the next one. A form whose closest plan is refused for any other
//! reason is left, since a variable that nothing binds in branches is bound in no table either; the other
//! form may still do.

use super::planner::{Ends, Shares};
use super::{Planned, Request, plan};
use crate::limits;
use crate::question::CompileError;
use crate::refusal::Refusal;
use crate::rewrite::Form;
use std::collections::VecDeque;

/// The plans of one question.
pub(crate) struct Candidates<'c> {
    request: Request<'c>,
    forms: &'c [Form],
    ends: Ends,
    /// Whether a plan that reads its tables in many places comes after a smaller one. Nothing else counts
    /// what a database without a bound of its own makes of it.
    small_first: bool,
    /// What is still to be planned: the form, and what it shares.
    queue: VecDeque<(usize, Shares)>,
    /// A plan that waits until a smaller one is refused.
    large: Option<Candidate>,
    /// Why each form was refused, its closest plan if that was tried.
    refusals: Vec<Option<Refusal>>,
}

/// One plan.
pub(crate) struct Candidate {
    /// The form of the program that it plans, by its index.
    pub(crate) form: usize,
    shares: Shares,
    pub(crate) planned: Planned,
}

impl<'c> Candidates<'c> {
    /// The plans of the forms; `counts_readings` says whether the database bounds how often a statement reads
    /// its tables, so that printing finds out whether a plan is too large.
    pub(crate) fn new(request: Request<'c>, forms: &'c [Form], ends: Ends, counts_readings: bool) -> Self {
        let all = || 0..forms.len();
        let close = all().flat_map(|form| [(form, Shares::Rows), (form, Shares::Tests)]);
        // The smallest plans, which take no account of who asks for what.
        let small = all().map(|form| (form, Shares::Relations));
        let queue = close.chain(small).collect();
        let refusals = vec![None; forms.len()];
        Self { request, forms, ends, small_first: !counts_readings, queue, large: None, refusals }
    }

    /// The next plan.
    fn next(&mut self) -> Option<Result<Candidate, CompileError>> {
        if let Some(large) = self.large.take() {
            return Some(Ok(large));
        }
        while let Some((form, shares)) = self.queue.pop_front() {
            match self.plan(form, shares) {
                Ok(planned) if self.small_first && shares == Shares::Rows && is_large(&planned) => {
                    // The next in the queue is the smaller plan of the same form.
                    self.large = Some(Candidate { form, shares, planned });
                }
                Ok(planned) => return Some(Ok(Candidate { form, shares, planned })),
                Err(CompileError::Refused(refusal)) => {
                    self.refuse(form, shares, refusal);
                    if let Some(large) = self.large.take() {
                        return Some(Ok(large));
                    }
                }
                Err(bug @ CompileError::Bug(_)) => return Some(Err(bug)),
            }
        }
        None
    }

    fn plan(&self, form: usize, shares: Shares) -> Result<Planned, CompileError> {
        let of = self.forms.get(form).ok_or_else(|| CompileError::Bug("a plan of no form".into()))?;
        plan(&self.request, of, shares, self.ends)
    }

    /// Notes why a plan cannot be taken, and leaves out those that would be refused for the same reason.
    fn refuse(&mut self, form: usize, shares: Shares, refusal: Refusal) {
        if shares == Shares::Rows && !refusal.another_plan_may_help() {
            self.queue.retain(|(other, _)| *other != form);
        }
        if let Some(reason) = self.refusals.get_mut(form)
            && (reason.is_none() || shares == Shares::Rows)
        {
            *reason = Some(refusal);
        }
    }

    /// Why the question is refused: for the reason of the form that names roles as the policy does.
    fn into_refusal(self) -> CompileError {
        match self.refusals.into_iter().flatten().next_back() {
            Some(refusal) => CompileError::Refused(refusal),
            None => CompileError::Bug("no plan was tried".into()),
        }
    }
}

/// What `fit` makes of the first plan that it does not refuse.
///
/// # Errors
/// What `fit` or the planner refuse the plans for, if they refuse all; [`CompileError::Bug`] at once.
pub(crate) fn first_fit<T>(
    mut candidates: Candidates<'_>,
    mut fit: impl FnMut(Candidate) -> Result<T, CompileError>,
) -> Result<T, CompileError> {
    while let Some(candidate) = candidates.next() {
        let candidate = candidate?;
        let (form, shares) = (candidate.form, candidate.shares);
        match fit(candidate) {
            Err(CompileError::Refused(refusal)) => candidates.refuse(form, shares, refusal),
            other => return other,
        }
    }
    Err(candidates.into_refusal())
}

fn is_large(planned: &Planned) -> bool {
    planned.plan.n_readings() > limits::TABLE_READINGS
}
