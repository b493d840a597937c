//! The plans of one question that differ in the end from which stored facts are read, and which of them is
//! taken.
//!
//! In: a question's values and a way to read the store. Out: the plan that puts fewer values of stored facts
//! into the text. Both are counted, within what the other one needs: a document's folder is known to the
//! caller's database only, so the store either gives all folders to walk up through, or those that the actor
//! may see.

use super::fold::{Fetch, Folded};
use super::request::{LocalError, SqlRequest};
use super::variant::Variant;
use crate::algebra::{Condition, Expr, FromKind};
use crate::id_vec::IdVec;
use crate::ir::Constant;
use crate::limits;
use crate::question::CompileError;
use crate::refusal::Refusal;
use indexmap::IndexSet;

/// One plan, or two.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    /// Stored facts are walked from the values that are demanded, wherever they are.
    pub(super) demanded: Variant,
    /// Stored facts are walked from what the question gives and the store knows.
    pub(super) stored: Option<Variant>,
}

/// From which end stored facts were read, and how many of their values each end needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Whether it is the end of the question's own values, not that of the caller's rows.
    pub is_own: bool,
    /// How many values the text embeds.
    pub n_values: usize,
    /// How many it would be from the other end; `None` if they were not counted, or are too many.
    pub n_other: Option<usize>,
}

/// A plan with every value put in.
pub(super) struct Taken<'w> {
    pub(super) variant: &'w Variant,
    pub(super) folded: Folded,
    pub(super) constants: IndexSet<Constant>,
    /// If there were two ends.
    pub(super) end: Option<End>,
}

impl Ways {
    /// The plan from the demanded values, and the one from the other end if it differs.
    pub(super) fn new(demanded: Variant, stored: Option<Variant>) -> Self {
        let stored = stored.filter(|stored| stored.residual != demanded.residual);
        Self { demanded, stored }
    }

    /// The plans.
    pub(super) fn variants(&self) -> impl Iterator<Item = &Variant> {
        std::iter::once(&self.demanded).chain(&self.stored)
    }

    /// Puts values and rows into the plan that needs fewer of them.
    pub(super) fn fold<E>(
        &self,
        request: &SqlRequest<'_>,
        fetch: Fetch<'_, E>,
    ) -> Result<Taken<'_>, LocalError<E>> {
        let Some(stored) = &self.stored else {
            let (folded, constants) = self.demanded.fold(request, fetch)?;
            return Ok(Taken { variant: &self.demanded, folded, constants, end: None });
        };
        let own = match stored.fold(request, fetch) {
            Err(LocalError::Compile(CompileError::Refused(Refusal::TooManyValues { .. }))) => None,
            own => Some(own?),
        };
        let n_own = own.as_ref().map(|(folded, _)| n_values(folded));
        let other = match n_own {
            Some(n_own) if n_own <= limits::FEW_VALUES => None,
            // Only fewer are better.
            _ => {
                let most_values = n_own.map_or(request.most_values, |n_own| n_own.min(request.most_values));
                match self.demanded.fold(&SqlRequest { most_values, ..*request }, fetch) {
                    Err(LocalError::Compile(CompileError::Refused(Refusal::TooManyValues { .. })))
                        if own.is_some() =>
                    {
                        None
                    }
                    other => Some(other?),
                }
            }
        };
        let n_other = other.as_ref().map(|(folded, _)| n_values(folded));
        match (own, other) {
            (own, Some((folded, constants))) if own.is_none() || n_other < n_own => {
                let end = End { is_own: false, n_values: n_other.unwrap_or(0), n_other: n_own };
                Ok(Taken { variant: &self.demanded, folded, constants, end: Some(end) })
            }
            (Some((folded, constants)), _) => {
                let end = End { is_own: true, n_values: n_own.unwrap_or(0), n_other };
                Ok(Taken { variant: stored, folded, constants, end: Some(end) })
            }
            (None, _) => Err(LocalError::Compile(CompileError::Bug("no plan was folded".into()))),
        }
    }
}

/// How many values a text has of a plan.
fn n_values(folded: &Folded) -> usize {
    let mut count = 0_usize;
    folded.plan.for_each_source(&mut |from| {
        if let FromKind::Embedded(rows) = from.kind {
            let rows = rows.of(&folded.embedded).rows.as_ref();
            count += rows.map_or(0, |rows| rows.iter().map(IdVec::len).sum());
        }
    });
    folded.plan.for_each_condition(&mut |condition| match condition {
        Condition::OneOf { literals, .. } => count += literals.len(),
        Condition::Compare { left, right, .. } => {
            count += [left, right].into_iter().filter(|expr| matches!(expr, Expr::Const(_))).count();
        }
        Condition::In { .. } | Condition::Any(_) | Condition::None(_) => {}
    });
    let tables = folded.plan.tables.iter().flat_map(|table| table.body.selects());
    let outputs = tables.chain(folded.plan.answer.selects()).flat_map(|select| &select.output);
    count + outputs.filter(|expr| matches!(expr, Expr::Const(_))).count()
}
