//! An explanation: why a question holds, or why it does not and what would make it hold. Data types only.
//!
//! Proofs and failures are lists whose entries refer to each other by id: one that is needed twice is
//! there once, and however deep a hierarchy is, neither building nor writing an explanation needs a deep
//! stack.

use crate::catalog::BindingId;
use crate::id_vec::{IdVec, id};
use crate::ir::RuleId;
use crate::primitive::{BOOLEAN, INTEGER, STRING};
use std::fmt;

id!(/// A step of an explanation.
    pub StepId, "step");
id!(/// Something that does not hold, of an explanation.
    pub FailureId, "failure");

/// What was found out about a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Whether the question holds.
    pub verdict: Verdict,
    /// Whether the budget was used up: a proof is right, but perhaps not the shortest; and reasons why
    /// something does not hold are not all that there are.
    pub truncated: bool,
    /// Facts and derivations, each once.
    pub steps: IdVec<StepId, Step>,
    /// If the question holds, the step of each of its atoms, in their order.
    pub proof: Vec<StepId>,
    /// If it does not hold: what fails, each goal once. The first is the question. Nothing is said to fail
    /// that was not looked for to the end.
    pub failures: IdVec<FailureId, FailedGoal>,
}

/// Whether a question holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// There is a proof.
    Holds,
    /// There is no proof.
    Fails,
    /// None was found within the budget.
    #[default]
    Unknown,
}

/// One fact, stored or derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The atom that holds.
    pub atom: Atom,
    /// The least height of a proof: 0 for a stored fact, else one more than the highest of the steps used.
    pub height: usize,
    /// The reason.
    pub by: By,
}

/// Why a step holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// It is a fact.
    Fact(FactOrigin),
    /// A rule derives it.
    Rule(Instance),
}

/// Where a fact is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FactOrigin {
    /// In a table.
    Stored,
    /// It came with the request.
    Context,
    /// In the rows of a bound query.
    Bound(BindingId),
}

/// A rule with values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The rule.
    pub rule: RuleId,
    /// One entry per condition of the rule, in its order.
    pub conditions: Vec<MetCondition>,
}

/// A condition of a rule with values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MetCondition {
    /// It holds by this step.
    Step(StepId),
    /// It holds; the step is not shown.
    Holds(Atom),
    /// Nothing like this holds.
    Absent(Atom),
    /// A comparison of values that holds.
    Test(String),
}

/// Something that does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedGoal {
    /// It, with any value where nothing is known; `None` for a question of several predicates.
    pub atom: Option<Atom>,
    /// Whether it could be a fact of its own, which does not exist.
    pub may_be_fact: bool,
    /// What each rule lacks: the attempts that came furthest.
    pub attempts: Vec<Attempt>,
    /// How many other attempts came as far.
    pub n_others: usize,
}

/// A rule that does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The rule; `None` for the question itself.
    pub rule: Option<RuleId>,
    /// The conditions that hold, in the order in which they were tried.
    pub met: Vec<MetCondition>,
    /// The first one that does not.
    pub lacks: Lack,
}

/// A condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// There is no such fact.
    Fact(Atom),
    /// This goal fails.
    Goal(FailureId),
    /// It is negated, and holds by this step.
    Refuted(StepId),
    /// The values do not compare.
    Test(String),
}

/// A predicate with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Atom {
    /// Its name.
    pub predicate: String,
    /// Its arguments.
    pub args: Vec<Arg>,
}

/// An argument of an atom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arg {
    /// The type; `None` for any.
    pub ty: Option<String>,
    /// The id; `None` for any value: of every value in what holds, of some value in what does not.
    pub id: Option<String>,
}

/// Facts that would make the question hold.
pub type Suggestion = Vec<Atom>;

impl fmt::Display for Atom {
    /// In the notation of questions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A part of a rule, such as what a `not` is of, is a predicate of its own: `'allow.2`.
        match self.predicate.strip_prefix('\'').and_then(|name| name.rsplit_once('.')) {
            Some((rule, number)) => write!(f, "part {number} of {rule}(")?,
            None => write!(f, "{}(", self.predicate)?,
        }
        for (at, arg) in self.args.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}{arg}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ty.as_deref(), self.id.as_deref()) {
            (None, None) => f.write_str("_"),
            (Some(ty), None) => write!(f, "{ty}:_"),
            (Some(STRING), Some(id)) => write!(f, "{id:?}"),
            (Some(INTEGER | BOOLEAN), Some(id)) => f.write_str(id),
            (ty, Some(id)) => {
                let ty = ty.unwrap_or("_");
                let is_plain = |c: char| c.is_alphanumeric() || "-._~@/+".contains(c);
                let is_word = !id.is_empty() && id != "_" && id.chars().all(is_plain);
                if is_word { write!(f, "{ty}:{id}") } else { write!(f, "{ty}:{id:?}") }
            }
        }
    }
}
