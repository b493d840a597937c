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

/// An end of stored facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartingEnd {
    /// What the question gives and the store knows.
    Stored,
    /// The values that are demanded: those of the caller's rows.
    Demanded,
}

/// From which end stored facts were read, and how many of their values each end needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The end that was taken.
    pub from: StartingEnd,
    /// How many values the text embeds.
    pub n_values: usize,
    /// How many it would be from the other end.
    pub other: OtherEnd,
}

/// How many values the end needs that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherEnd {
    /// This many.
    Counted(usize),
    /// No fewer than the end that was taken: the rest was not counted.
    NoFewer,
    /// More than a text may have.
    TooMany,
    /// Nobody counted: the end that was taken needs only a few.
    NotCounted,
}

impl OtherEnd {
    /// The number, if it is known.
    pub fn n_values(self) -> Option<usize> {
        match self {
            Self::Counted(n_values) => Some(n_values),
            Self::NoFewer | Self::TooMany | Self::NotCounted => None,
        }
    }
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
        let from_stored = match stored.fold(request, fetch) {
            Err(LocalError::Compile(CompileError::Refused(Refusal::TooManyValues { .. }))) => None,
            folded => Some(CountedPlan::new(folded?)),
        };
        let Some(from_stored) = from_stored else {
            let from_demanded = CountedPlan::new(self.demanded.fold(request, fetch)?);
            return Ok(from_demanded.taken(&self.demanded, StartingEnd::Demanded, OtherEnd::TooMany));
        };
        if from_stored.n_values <= limits::FEW_VALUES {
            return Ok(from_stored.taken(stored, StartingEnd::Stored, OtherEnd::NotCounted));
        }
        // Only fewer are better.
        let most_values = from_stored.n_values.min(request.most_values);
        let from_demanded = match self.demanded.fold(&SqlRequest { most_values, ..*request }, fetch) {
            Err(LocalError::Compile(CompileError::Refused(Refusal::TooManyValues { .. }))) => None,
            folded => Some(CountedPlan::new(folded?)),
        };
        Ok(match from_demanded {
            Some(from_demanded) if from_demanded.n_values < from_stored.n_values => {
                let other = OtherEnd::Counted(from_stored.n_values);
                from_demanded.taken(&self.demanded, StartingEnd::Demanded, other)
            }
            Some(CountedPlan { n_values, .. }) => {
                from_stored.taken(stored, StartingEnd::Stored, OtherEnd::Counted(n_values))
            }
            None => from_stored.taken(stored, StartingEnd::Stored, OtherEnd::NoFewer),
        })
    }
}

/// A plan with every value put in, and how many values its text has.
struct CountedPlan {
    folded: Folded,
    constants: IndexSet<Constant>,
    n_values: usize,
}

impl CountedPlan {
    fn new((folded, constants): (Folded, IndexSet<Constant>)) -> Self {
        let n_values = n_values(&folded);
        Self { folded, constants, n_values }
    }

    fn taken(self, variant: &Variant, from: StartingEnd, other: OtherEnd) -> Taken<'_> {
        let Self { folded, constants, n_values } = self;
        Taken { variant, folded, constants, end: Some(End { from, n_values, other }) }
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
        Condition::Meets { .. } | Condition::In { .. } | Condition::Any(_) | Condition::None(_) => {}
    });
    let tables = folded.plan.tables.iter().flat_map(|table| table.body.selects());
    let outputs = tables.chain(folded.plan.answer.selects()).flat_map(|select| &select.output);
    count + outputs.filter(|expr| matches!(expr, Expr::Const(_))).count()
}
