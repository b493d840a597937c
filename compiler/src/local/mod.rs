//! Statements for a caller's own database, over bound queries and stored facts mixed.
//!
//! In: a question over a catalog of stored relations and bound queries, and the form of SQL that is wanted.
//! Out, in two steps: a [`LocalPlan`], which depends on the question's shape alone and is worth keeping; and
//! with a question's values and the store's rows for it the SQL text. None of the caller's data is read here.
//!
//! 1. `split` separates what the store decides from what is left for the caller's database; `narrow`
//!    filters stored facts by each other first;
//! 2. `fold` puts values and rows in, and evaluates what they determine; of two plans that read stored facts
//!    from different ends, `ways` takes the one with fewer of their values;
//! 3. `optimise` gives the plan the shape that the caller's database answers fast, and `filter`
//!    arranges the alternatives of a filter;
//! 4. `sql::forms` prints, with places for the question's values: a `value_pattern` says which questions
//!    share a text.

mod answer;
mod asked;
mod component;
mod filter;
pub(crate) mod fold;
mod narrow;
mod plan;
mod put;
pub mod reading;
mod same_rows;
mod split;
mod stages;
mod types;
mod value_pattern;
mod variant;
mod ways;
mod weight;

pub use crate::sql::outline::{
    BoundColumn, CastReason, Outline, Probe, Reads, SetKind, SetMade, SlowPart, Start,
};
pub use crate::sql::template::Template;
pub use asked::{Asked, Form, LocalError};
pub use fold::Fetched;
pub use plan::LocalPlan;
pub use value_pattern::ValuePattern;
pub use ways::End;

use crate::advice;
use crate::bindings::Bindings;
use crate::catalog::Catalog;
use crate::compile;
use crate::dialect::Features;
use crate::ir::{Program, RuleId, TypeId};
use crate::keys::Keys;
use crate::limits;
use crate::plan::candidates::{Candidates, Order, first_fit};
use crate::plan::{Ends, Planned, Request};
use crate::question::{CompileError, Shape, ShapeDomain, ShapeVar};
use crate::refusal::{Limit, Refusal};
use crate::rewrite::RoleForm;
use variant::Variant;
use ways::Ways;

/// SQL for a caller's database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalSql {
    /// The text, with places for the question's values.
    pub template: Template,
    /// What was left once values and rows were known; empty unless [`Asked::explains`].
    pub plan: String,
    /// What the text is made of; empty unless [`Asked::explains`].
    pub outline: Outline,
    /// The rules that took part.
    pub rules: Vec<RuleId>,
    /// The bindings that it reads, by index.
    pub bindings: Vec<usize>,
    /// From which end stored facts were read, where there are two.
    pub end: Option<End>,
    /// The stored facts that went into the text or decided parts of it: the predicates that they come from,
    /// and how many rows.
    pub embedded: Vec<(Vec<String>, usize)>,
}

/// Plans a shape over a catalog with the relations of `bindings`; `most_rows` bounds what is read of each
/// part.
///
/// # Errors
/// [`CompileError::Refused`] if the question cannot be answered by one statement.
pub fn plan(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    form: &Form,
    bindings: &Bindings,
    most_rows: usize,
) -> Result<LocalPlan, CompileError> {
    let keys = Keys { catalog, bindings };
    let request = Request { program, catalog, shape };
    let forms = or_refused(compile::forms(&request))?;
    let mut best: Option<LocalPlan> = None;
    for most_readings in sizes(bindings.dialect.features()) {
        let planner = SizedPlanner { program, keys, most_readings: *most_readings, most_rows };
        let SizedPlan { plan, lacks_larger } = planner.sized_plan(request, &forms, form)?;
        // A larger plan is taken if the smaller one has no answer, or lacks the test of a row.
        if best.as_ref().is_none_or(|small| small.ways.is_err() || plan.row.is_some()) {
            best = Some(plan);
        }
        if !lacks_larger {
            break;
        }
    }
    let best = best.ok_or_else(|| CompileError::Bug("no plan was tried".into()))?;
    best.advised(&request).whole()
}

/// The limits on the places in which a plan reads its tables, in the order in which they are tried. The last
/// is `None`: stored facts may shrink a large plan, so its size is checked in the printed text.
fn sizes(features: &Features) -> &'static [Option<usize>] {
    if features.bounds_readings() { &[Some(limits::TABLE_READINGS), None] } else { &[None] }
}

/// The plans of one size.
struct SizedPlan {
    plan: LocalPlan,
    /// Whether only a plan that is too large would answer, or test a row that must be tested.
    lacks_larger: bool,
}

/// What one kind of plan becomes: the question as it was asked, and when its rows are not the whole answer.
type AskedVariant = (Variant, Option<(Variant, Refusal)>);

/// Makes the plans of a shape, within the limit on table readings, if there is one.
#[derive(Clone, Copy)]
struct SizedPlanner<'m> {
    program: &'m Program,
    keys: Keys<'m>,
    most_readings: Option<usize>,
    most_rows: usize,
}

impl SizedPlanner<'_> {
    /// The plans of a shape, whose program has these forms.
    fn sized_plan(
        &self,
        request: Request<'_>,
        forms: &Result<Vec<RoleForm>, Refusal>,
        form: &Form,
    ) -> Result<SizedPlan, CompileError> {
        let planned = match forms {
            Ok(forms) => or_refused(self.ways(request, forms))?,
            Err(refusal) => Err(refusal.clone()),
        };
        let (ways, refusal) = match planned {
            Ok((ways, refusal)) => (Ok(ways), refusal),
            Err(refusal) => (Err(refusal), None),
        };
        let n_relations = self.keys.catalog.relations.len();
        let mut plan = LocalPlan { ways, refusal, row: None, n_relations };
        let mut lacks_larger = plan.ways.as_ref().is_err_and(Refusal::another_plan_may_help);
        if let Some((var, given)) = plan.lacks_row(request.shape, form) {
            match or_refused(self.row(&given, var))? {
                Ok(Some(row)) => {
                    plan.row = Some(row);
                    lacks_larger = false;
                }
                Ok(None) => {}
                Err(refusal) => lacks_larger |= refusal.another_plan_may_help(),
            }
        }
        Ok(SizedPlan { plan, lacks_larger })
    }

    /// The question as it was asked, from both ends of stored facts, and when its rows are not the whole
    /// answer.
    fn ways(
        &self,
        request: Request<'_>,
        forms: &[RoleForm],
    ) -> Result<(Ways, Option<(Ways, Refusal)>), CompileError> {
        let from = |ends| {
            first_fit(self.candidates(request, forms, ends), |planned| {
                let has_other_end = planned.has_other_end;
                Ok((self.made(planned, request.shape)?, has_other_end))
            })
        };
        let ((asked, refusal), has_other_end) = from(Ends::Asked)?;
        let other = has_other_end.then(|| or_refused(from(Ends::Stored { column: None }))).transpose()?;
        // It is one more way to the same answer, and not needed.
        let other = other.and_then(Result::ok).map(|(made, _)| made);
        let (stored, refusing) = other.map_or((None, None), |(stored, refusal)| (Some(stored), refusal));
        let refusing = refusing.map(|(refusing, _)| refusing);
        Ok((Ways::new(asked, stored), refusal.map(|(asked, reason)| (Ways::new(asked, refusing), reason))))
    }

    /// The question with the value of a column as given, from both ends of stored facts; none if its rows
    /// would not be the whole answer.
    fn row(&self, shape: &Shape, column: usize) -> Result<Option<Ways>, CompileError> {
        let request = Request { program: self.program, catalog: self.keys.catalog, shape };
        let forms = compile::forms(&request)?;
        let from = |ends| {
            first_fit(self.candidates(request, &forms, ends), |mut planned| {
                if planned.refusal.is_some() {
                    return Ok(None);
                }
                // One of several values may still be asked for; a row passes with any of them.
                planned.plan.answer.decide();
                self.variant(planned, shape, Some(column)).map(Some)
            })
        };
        let Some(asked) = from(Ends::Asked)? else { return Ok(None) };
        let other = or_refused(from(Ends::Stored { column: Some(column) }))?;
        Ok(Some(Ways::new(asked, other.ok().flatten())))
    }

    fn candidates<'c>(&self, request: Request<'c>, forms: &'c [RoleForm], ends: Ends) -> Candidates<'c> {
        let order = if self.most_readings.is_some() { Order::Closest } else { Order::Smaller };
        Candidates::new(request, forms, ends, order)
    }

    fn made(&self, mut planned: Planned, shape: &Shape) -> Result<AskedVariant, CompileError> {
        let refusal = planned.refusal.take().map(|(plan, reason)| {
            let refusing = Planned { plan, ..planned.clone() };
            Ok((self.variant(refusing, shape, None)?, reason))
        });
        Ok((self.variant(planned, shape, None)?, refusal.transpose()?))
    }

    fn variant(
        &self,
        planned: Planned,
        shape: &Shape,
        column: Option<usize>,
    ) -> Result<Variant, CompileError> {
        let most_clauses = planned.most;
        let request = Request { program: self.program, catalog: self.keys.catalog, shape };
        let variant = Variant::new(&request, self.keys, planned, column, self.most_rows);
        let variant = variant.map_err(|error| error.at_rule(most_clauses))?;
        match self.most_readings {
            Some(most) if variant.residual.plan.n_readings() > most => {
                Err(CompileError::too_large(Limit::Readings { most }).at_rule(most_clauses))
            }
            Some(_) | None => Ok(variant),
        }
    }
}

/// What was made, or why it was refused.
fn or_refused<T>(made: Result<T, CompileError>) -> Result<Result<T, Refusal>, CompileError> {
    match made {
        Ok(made) => Ok(Ok(made)),
        Err(CompileError::Refused(refusal)) => Ok(Err(refusal)),
        Err(bug @ CompileError::Bug(_)) => Err(bug),
    }
}

impl LocalPlan {
    /// The plan, whose refusals name only values that would help.
    fn advised(self, request: &Request<'_>) -> Self {
        let ways = self.ways.map_err(|refusal| advice::helpful(request, refusal));
        let refusal = self.refusal.map(|(ways, refusal)| (ways, advice::helpful(request, refusal)));
        Self { ways, refusal, ..self }
    }

    /// The plan, if it answers anything.
    fn whole(self) -> Result<Self, CompileError> {
        match self.ways {
            Err(refusal) if self.row.is_none() => Err(CompileError::Refused(refusal)),
            ways => Ok(Self { ways, ..self }),
        }
    }

    /// The variable of a filter that nothing enumerates in full and that no plan tests row by row, and the
    /// shape of the question that tests it: with its value given. Each row can supply a value that is asked
    /// for, unless it is a String, for whose values rules are copied.
    fn lacks_row(&self, shape: &Shape, form: &Form) -> Option<(usize, Shape)> {
        let Form::Filter { var, .. } = *form else { return None };
        let mut given = shape.clone();
        let ShapeVar { domain, ty, .. } = given.vars.get_mut(var)?;
        let can_be_supplied = *domain == ShapeDomain::Wanted && *ty != Some(TypeId::STRING);
        *domain = ShapeDomain::Given;
        let is_lacking = self.row.is_none() && (self.ways.is_err() || self.refusal.is_some());
        (can_be_supplied && is_lacking).then_some((var, given))
    }
}
