//! The plans of a shape: of the original question, and where that cannot answer a filter in full, of the
//! question that tests each row.
//!
//! In: a question's shape and the form of SQL. Out: a [`LocalPlan`]. Each of the two questions is specialised
//! and rewritten once at most. Both are planned within a limit on the readings of tables before either is
//! planned without it, since a small test of each row is better than a large plan that lists values.

use super::plan::LocalPlan;
use super::request::{FilterVar, PlanOptions};
use super::variant::Variant;
use super::ways::Ways;
use crate::advice;
use crate::bindings::Bindings;
use crate::catalog::Catalog;
use crate::compile;
use crate::dialect::{Features, StoreDialect};
use crate::id_vec::IdVec;
use crate::ir::Program;
use crate::keys::Keys;
use crate::limits;
use crate::plan::candidates::{Candidates, Order, first_fit};
use crate::plan::{Ends, Planned, Request};
use crate::question::{CompileError, QuestionVarId, Shape, ShapeDomain};
use crate::refusal::{Limit, Refusal};
use crate::rewrite::{RoleForm, RoleFormId};

/// Plans a shape over a catalog with the relations of `bindings`.
///
/// # Errors
/// [`CompileError::Refused`] if the question cannot be answered by one statement,
/// [`CompileError::OutOfTime`] after the deadline.
pub fn plan(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    filter: Option<FilterVar>,
    bindings: &Bindings,
    options: PlanOptions,
) -> Result<LocalPlan, CompileError> {
    let PlanOptions { store, most_rows, deadline } = options;
    let keys = Keys { catalog, bindings };
    let filters = filter.is_some();
    let request = Request { program, catalog, shape, filters, deadline };
    let given = filter.and_then(|filter| given_by_row(shape, filter.var));
    let is_qualified = filter.is_some_and(|filter| filter.is_qualified);
    let named = given.as_ref().map(|(var, _)| *var).filter(|_| is_qualified);
    let mut original = Rewritten { request, column: named, forms: None };
    let mut row = given.as_ref().map(|(column, shape)| {
        let request = Request { program, catalog, shape, filters, deadline };
        Rewritten { request, column: Some(*column), forms: None }
    });
    let planner = |limits| LocalPlanner { keys, limits, store, most_rows };
    let features = bindings.dialect.features();
    let mut found = FoundPlans::default();
    for limits in attempts(features) {
        found.complete(&mut original, row.as_mut(), planner(limits))?;
        if !found.lacks_larger() {
            break;
        }
    }
    let mut shallow = found.final_refusals();
    let mut plan = found.into_plan(&request)?;
    if features.limits.parser_stack.is_fixed() && plan.nesting_depth() > limits::FEW_NESTED_BRANCHES {
        let limits = PlanLimits { most_readings: None, order: Order::Shallow };
        shallow.complete(&mut original, row.as_mut(), planner(limits))?;
        plan.shallow = or_refused(shallow.into_plan(&request))?.ok().map(Box::new);
    }
    Ok(plan)
}

/// Which plans are tried.
#[derive(Clone, Copy)]
struct PlanLimits {
    /// The most places in which a plan may read its tables.
    most_readings: Option<usize>,
    /// The order of its candidates.
    order: Order,
}

/// The limits in the order in which they are tried. The last has none on readings: stored facts may shrink a
/// large plan, so its size is checked in the printed text.
fn attempts(features: &Features) -> impl Iterator<Item = PlanLimits> {
    let few = PlanLimits { most_readings: Some(limits::TABLE_READINGS), order: Order::Closest };
    let any = PlanLimits { most_readings: None, order: Order::Smaller };
    features.bounds_readings().then_some(few).into_iter().chain([any])
}

/// The variable of a filter that a row can supply, and the shape of the question with its value given. The
/// variable must be wanted, and not a String, because rules are copied for each String.
fn given_by_row(shape: &Shape, var: QuestionVarId) -> Option<(QuestionVarId, Shape)> {
    let mut given = shape.clone();
    let wanted = &mut given.vars[var];
    let can_be_supplied = wanted.is_listed();
    wanted.domain = ShapeDomain::Given;
    can_be_supplied.then_some((var, given))
}

/// A question, which is specialised and rewritten when it is planned for the first time.
struct Rewritten<'q> {
    request: Request<'q>,
    /// The variable whose value is the caller's column.
    column: Option<QuestionVarId>,
    forms: Option<Result<IdVec<RoleFormId, RoleForm>, CompileError>>,
}

/// A question with the forms of its program.
#[derive(Clone, Copy)]
struct Posed<'q> {
    request: Request<'q>,
    column: Option<QuestionVarId>,
    forms: &'q IdVec<RoleFormId, RoleForm>,
}

impl Rewritten<'_> {
    fn posed(&mut self) -> Result<Posed<'_>, CompileError> {
        let Self { request, column, forms } = self;
        match forms.get_or_insert_with(|| compile::forms(request)) {
            Ok(forms) => Ok(Posed { request: *request, column: *column, forms }),
            Err(error) => Err(error.clone()),
        }
    }
}

/// The plans of the original question; and if their rows may be incomplete, those that decide whether they
/// are, with the refusal for that case.
type OriginalWays = (Ways, Option<(Ways, Refusal)>);

/// The plans that were found, and why others were refused; `None` where nothing was tried.
#[derive(Default)]
struct FoundPlans {
    /// Those of the original question.
    original: Option<Result<OriginalWays, Refusal>>,
    /// Those of the question with the value of a column as given.
    row: Option<Result<Ways, Refusal>>,
}

/// Whether a question was not planned yet, or has only a plan that is too large.
fn is_open<P>(found: Option<&Result<P, Refusal>>) -> bool {
    match found {
        Some(Ok(_)) => false,
        Some(Err(refusal)) => refusal.another_plan_may_help(),
        None => true,
    }
}

/// A refusal that no other plan can cure.
fn final_refusal<P>(found: Option<&Result<P, Refusal>>) -> Option<Result<P, Refusal>> {
    let refusal = found?.as_ref().err()?;
    (!refusal.another_plan_may_help()).then(|| Err(refusal.clone()))
}

impl FoundPlans {
    /// Only the refusals that no other plan can cure.
    fn final_refusals(&self) -> Self {
        Self { original: final_refusal(self.original.as_ref()), row: final_refusal(self.row.as_ref()) }
    }

    /// Plans the original question, and the one by row where a row must be tested, unless there is a plan
    /// already or a refusal that no plan can cure.
    fn complete(
        &mut self,
        original: &mut Rewritten<'_>,
        row: Option<&mut Rewritten<'_>>,
        planner: LocalPlanner<'_>,
    ) -> Result<(), CompileError> {
        if is_open(self.original.as_ref()) {
            self.original = Some(or_refused(original.posed().and_then(|posed| planner.original(posed)))?);
        }
        if let Some(row) = row.filter(|_| self.lacks_row() && is_open(self.row.as_ref())) {
            self.row = Some(or_refused(row.posed().and_then(|posed| planner.row(posed)))?);
        }
        Ok(())
    }

    fn tests_row(&self) -> bool {
        matches!(self.row, Some(Ok(_)))
    }

    /// Whether nothing enumerates the answer in full, and nothing tests it row by row.
    fn lacks_row(&self) -> bool {
        !matches!(self.original, Some(Ok((_, None)))) && !self.tests_row()
    }

    /// Whether only a plan that is too large would answer, or test a row that must be tested.
    fn lacks_larger(&self) -> bool {
        self.lacks_row()
            && (is_open(self.original.as_ref()) || (self.row.is_some() && is_open(self.row.as_ref())))
    }

    /// The plan, if it answers anything; its refusals name only values that would help.
    fn into_plan(self, request: &Request<'_>) -> Result<LocalPlan, CompileError> {
        let original = self.original.ok_or_else(|| CompileError::Bug("no plan was tried".into()))?;
        let row = self.row.and_then(Result::ok);
        let advised = |refusal| advice::helpful(request, refusal);
        let (ways, refusal) = match original {
            Ok((ways, None)) => (Ok(ways), None),
            Ok((ways, Some((refusing, refusal)))) => (Ok(ways), Some((refusing, advised(refusal)?))),
            Err(refusal) if row.is_none() => return Err(CompileError::Refused(advised(refusal)?)),
            Err(refusal) => (Err(advised(refusal)?), None),
        };
        Ok(LocalPlan { ways, refusal, row, shallow: None, n_relations: request.catalog.relations.len() })
    }
}

/// One plan of the original question, and another one with the reason if its rows are not the whole answer.
type OriginalVariant = (Variant, Option<(Variant, Refusal)>);

/// Makes the plans of a question within some limits.
#[derive(Clone, Copy)]
struct LocalPlanner<'p> {
    keys: Keys<'p>,
    limits: PlanLimits,
    store: StoreDialect,
    most_rows: usize,
}

impl LocalPlanner<'_> {
    /// The original question, from both ends of stored facts, and when its rows are not the whole answer.
    fn original(&self, question: Posed<'_>) -> Result<OriginalWays, CompileError> {
        let from = |ends| {
            first_fit(self.candidates(question, ends), |planned| {
                let has_other_end = planned.has_other_end;
                Ok((self.original_variant(question, planned)?, has_other_end))
            })
        };
        let ((demanded, refusal), has_other_end) = from(Ends::Demanded)?;
        let other = has_other_end.then(|| or_refused(from(Ends::Stored))).transpose()?;
        // A refusal is dropped: the other end is only another way to the same answer.
        let (stored, stored_refusal) = match other.and_then(Result::ok) {
            Some(((stored, refusal), _)) => (Some(stored), refusal),
            None => (None, None),
        };
        let refusal = refusal.map(|(demanded, reason)| {
            let stored = stored_refusal.map(|(stored, _)| stored);
            (Ways::new(demanded, stored), reason)
        });
        Ok((Ways::new(demanded, stored), refusal))
    }

    /// The question with the value of a column as given, from both ends of stored facts.
    fn row(&self, question: Posed<'_>) -> Result<Ways, CompileError> {
        let from = |ends| {
            first_fit(self.candidates(question, ends), |mut planned| {
                // A part of the answer decides no row. Another form may have all of it.
                if let Some((_, reason)) = planned.refusal {
                    return Err(CompileError::Refused(reason));
                }
                // A row passes with any of several values.
                planned.plan.answer.decide();
                self.variant(question, planned)
            })
        };
        let demanded = from(Ends::Demanded)?;
        let stored = or_refused(from(Ends::Stored))?;
        Ok(Ways::new(demanded, stored.ok()))
    }

    fn candidates<'c>(&self, question: Posed<'c>, ends: Ends) -> Candidates<'c> {
        Candidates::new(question.request, question.forms, ends, question.column, self.limits.order)
    }

    fn original_variant(
        &self,
        question: Posed<'_>,
        mut planned: Planned,
    ) -> Result<OriginalVariant, CompileError> {
        let refusal = planned.refusal.take().map(|(plan, reason)| {
            let refusing = Planned { plan, ..planned.clone() };
            self.variant(question, refusing).map(|variant| (variant, reason))
        });
        Ok((self.variant(question, planned)?, refusal.transpose()?))
    }

    fn variant(&self, question: Posed<'_>, planned: Planned) -> Result<Variant, CompileError> {
        let Posed { request, column, .. } = question;
        let largest_rule = planned.largest_rule;
        let variant = Variant::new(&request, self.keys, planned, column, self.store, self.most_rows);
        let variant = variant.map_err(|error| error.at_rule(largest_rule))?;
        match self.limits.most_readings {
            Some(most) if variant.residual.plan.n_readings() > most => {
                Err(CompileError::too_large(Limit::Readings { most }).at_rule(largest_rule))
            }
            Some(_) | None => Ok(variant),
        }
    }
}

/// The result or the refusal; any other error stays one.
fn or_refused<T>(made: Result<T, CompileError>) -> Result<Result<T, Refusal>, CompileError> {
    match made {
        Ok(made) => Ok(Ok(made)),
        Err(CompileError::Refused(refusal)) => Ok(Err(refusal)),
        Err(error @ (CompileError::OutOfTime(_) | CompileError::Bug(_))) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::VarName;

    #[test]
    fn what_no_plan_can_cure_is_not_planned_again() {
        let var = VarName::UNNAMED;
        let tested_only = Refusal::NotExplainable { var, rule: None };
        let large = Refusal::TooLarge { limit: Limit::UnionArms { most: 500 }, rule: None };
        let found = FoundPlans { original: Some(Err(tested_only)), row: Some(Err(large)) };
        assert!(!is_open(found.original.as_ref()));
        assert!(is_open(found.row.as_ref()));
        assert!(found.lacks_larger());

        let kept = found.final_refusals();
        assert!(matches!(kept.original, Some(Err(Refusal::NotExplainable { .. }))));
        assert!(kept.row.is_none() && is_open(kept.row.as_ref()));
    }
}
