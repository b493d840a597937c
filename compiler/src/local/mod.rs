//! Statements for a caller's own database, over bound queries and stored facts mixed.
//!
//! In: a question over a catalog of stored relations and bound queries, and the form of SQL that is wanted.
//! Out, in two steps: a [`LocalPlan`], which depends on the question's shape alone and is worth keeping; and
//! with a question's values and the store's rows for it the SQL text. None of the caller's data is read here.
//!
//! 1. `planner` plans the question, and another one that tests each row where that is needed; `split`
//!    separates what the store decides from what is left for the caller's database; `narrow` filters stored
//!    facts by each other first;
//! 2. `fold` puts values and rows in, and evaluates what they determine; of two plans that read stored facts
//!    from different ends, `ways` takes the one with fewer of their values;
//! 3. `optimise` gives the plan the shape that the caller's database answers fast, and `filter`
//!    arranges the alternatives of a filter;
//! 4. `sql::local::statement` prints, with places for the question's values: a `value_pattern` says which
//!    questions share a text.

mod answer;
pub mod fact_query;
mod request;
mod filter;
pub(crate) mod fold;
mod memory;
mod plan;
mod planner;
mod put_literals;
mod split;
mod stages;
mod types;
mod value_pattern;
mod variant;
mod ways;

pub use crate::sql::local::template::Template;
pub use crate::sql::outline::{
    BoundColumn, CastReason, Outline, Probe, Reads, SetKind, SetMade, SlowPart, Start,
};
pub use fold::Fetched;
pub use plan::LocalPlan;
pub use planner::plan;
pub use request::{FilterVar, LocalError, PlanOptions, SqlDetail, SqlForm, SqlRequest};
pub use value_pattern::ValuePattern;
pub use ways::{End, OtherEnd, StartingEnd};

use crate::catalog::BindingId;
use crate::ir::RuleId;

/// SQL for a caller's database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalSql {
    /// The text, with places for the question's values.
    pub template: Template,
    /// What was left once values and rows were known; empty unless they are [wanted](SqlDetail::Explained).
    pub plan: String,
    /// The sets and look-ups of the text; empty unless they are [wanted](SqlDetail::Explained).
    pub outline: Outline,
    /// The rules that took part.
    pub rules: Vec<RuleId>,
    /// The bindings that it reads.
    pub bindings: Vec<BindingId>,
    /// From which end stored facts were read, where there are two.
    pub end: Option<End>,
    /// The stored facts that went into the text or decided parts of it: the predicates that they come from,
    /// and how many rows.
    pub embedded: Vec<(Vec<String>, usize)>,
}
