//! Questions, their shapes, and what a compiled statement needs to be run.
//!
//! A [`Question`] is a conjunction of atoms over variables, each given, one of several, wanted or
//! ignored: *may alice read repo 7* has three given variables, *which repos* wants the third. Its
//! [`Shape`] leaves out the values that do not change the statement, so that one compiled statement
//! serves every question of the shape; the [`Statement`] says which value goes into which parameter.

use crate::catalog::{ColumnId, ContextId};
use crate::deadline::OutOfTime;
use crate::id_vec::IdVec;
pub use crate::ir::QuestionVarId;
use crate::ir::{ConstId, Program, TypeId};
use crate::refusal::{Limit, MessageVar, Refusal, RuleAtLimit};

/// A question with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The conjuncts, all of which must hold.
    pub atoms: Vec<QuestionAtom>,
    /// The variables.
    pub vars: IdVec<QuestionVarId, QuestionVar>,
    /// Whether the answer is read in pages: one [`Domain::Wanted`] variable, answers after
    /// [`Slot::PageAfter`], at most [`Slot::PageLimit`] of them.
    pub paged: bool,
}

/// One predicate of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionAtom {
    /// The predicate's name; its arity is the number of arguments.
    pub predicate: String,
    /// Variables of the question.
    pub args: Vec<QuestionVarId>,
}

/// One variable of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionVar {
    /// How messages name it.
    pub name: String,
    /// Its exact concrete type; `None` for any type.
    pub ty: Option<String>,
    /// Whether its value is given or asked for.
    pub domain: Domain,
}

/// Whether a variable's value is given or asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Exactly this value; the variable has a type.
    Given(String),
    /// Any of these values; the variable has a type.
    GivenOneOf(Vec<String>),
    /// Its values are the answer.
    Wanted,
    /// Some value must exist, which does not matter.
    Ignored,
}

impl QuestionVar {
    /// A variable with exactly one value.
    pub fn given(name: &str, ty: &str, id: &str) -> Self {
        Self { name: name.into(), ty: Some(ty.into()), domain: Domain::Given(id.into()) }
    }

    /// A variable whose values of one type are asked for.
    pub fn wanted(name: &str, ty: Option<&str>) -> Self {
        Self { name: name.into(), ty: ty.map(Into::into), domain: Domain::Wanted }
    }

    fn in_message(&self) -> MessageVar<'_> {
        let has_value = matches!(self.domain, Domain::Given(_) | Domain::GivenOneOf(_));
        MessageVar { name: &self.name, has_type: self.ty.is_some(), has_value }
    }
}

impl Question {
    /// One atom whose arguments are the variables in their order.
    pub fn atom(predicate: &str, vars: Vec<QuestionVar>) -> Self {
        let vars = IdVec::from(vars);
        let atom = QuestionAtom { predicate: predicate.into(), args: vars.ids().collect() };
        Self { atoms: vec![atom], vars, paged: false }
    }

    /// The variables whose values are asked for.
    pub fn wanted(&self) -> impl Iterator<Item = (QuestionVarId, &QuestionVar)> {
        self.vars.enumerate().filter(|(_, var)| matches!(var.domain, Domain::Wanted))
    }

    /// The type of a variable that must have one: its value is given, or in one of the caller's columns.
    pub(crate) fn type_of(&self, var: QuestionVarId) -> Result<&str, CompileError> {
        let ty = self.vars[var].ty.as_deref();
        ty.ok_or_else(|| CompileError::Bug("a given variable without a type".into()))
    }

    /// The type of this name: the policy's, or one of this question alone.
    pub(crate) fn type_id(&self, program: &Program, name: &str) -> TypeId {
        program.type_id(name).unwrap_or_else(|| {
            let first = self.vars.position(|var| var.ty.as_deref() == Some(name));
            first.map_or(TypeId::FOREIGN, TypeId::of_unmentioned)
        })
    }
}

/// A question without the names and values that do not change its statement: the key of a plan cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The atoms: predicate name and variables.
    pub atoms: Vec<(String, Vec<QuestionVarId>)>,
    /// The variables.
    pub vars: IdVec<QuestionVarId, ShapeVar>,
    /// See [`Question::paged`].
    pub paged: bool,
}

/// A variable of a shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShapeVar {
    /// Its concrete type ([`TypeId::of_unmentioned`] if the policy does not mention it); `None` for any type.
    pub ty: Option<TypeId>,
    /// Whether its value is given or asked for.
    pub domain: ShapeDomain,
}

/// A [`Domain`] without values, except a String that is a literal of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShapeDomain {
    /// This very String literal of the policy; no parameter is needed.
    Literal(ConstId),
    /// One value, as a parameter; if a String, none of the policy's literals.
    Given,
    /// One of several values, as a parameter.
    GivenOneOf,
    /// Its values are asked for.
    Wanted,
    /// Some value must exist.
    Ignored,
}

impl ShapeVar {
    /// Whether values are asked for that are no Strings. Rules are copied for each String, such as an action.
    pub(crate) fn is_listed(&self) -> bool {
        self.domain == ShapeDomain::Wanted && self.ty != Some(TypeId::STRING)
    }
}

impl Shape {
    /// The shape of a question under a policy.
    pub fn of(program: &Program, question: &Question) -> Self {
        let vars = question.vars.iter().map(|var| {
            let ty = var.ty.as_deref().map(|name| question.type_id(program, name));
            let domain = match &var.domain {
                Domain::Given(text) if ty == Some(TypeId::STRING) => {
                    program.string_literal(text).map_or(ShapeDomain::Given, ShapeDomain::Literal)
                }
                Domain::Given(_) => ShapeDomain::Given,
                Domain::GivenOneOf(_) => ShapeDomain::GivenOneOf,
                Domain::Wanted => ShapeDomain::Wanted,
                Domain::Ignored => ShapeDomain::Ignored,
            };
            ShapeVar { ty, domain }
        });
        let atoms = question.atoms.iter().map(|atom| (atom.predicate.clone(), atom.args.clone()));
        Self { atoms: atoms.collect(), vars: vars.collect(), paged: question.paged }
    }
}

/// One value that a statement needs; the vector's order is the parameters' order (`?1`, `?2`, …).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slot {
    /// The value of a [`Domain::Given`] variable, as text.
    Given(QuestionVarId),
    /// The values of a [`Domain::GivenOneOf`] variable, as a JSON array of text, or as an array where the
    /// rows of a relation are [arrays](Self::ContextColumn).
    OneOf(QuestionVarId),
    /// The rows of a [`RelationSource::Context`](crate::catalog::RelationSource::Context), as JSON.
    Context(ContextId),
    /// The values in one column of such rows, as an array, in the order of the rows.
    ContextColumn(ContextId, ColumnId),
    /// The name of the type of a variable, as text; for types that the policy does not mention.
    TypeOf(QuestionVarId),
    /// Seconds since the epoch, an integer; for a store an Integer in the form of its values.
    Now,
    /// The last answer of the previous page; for the first page what sorts before every answer.
    PageAfter,
    /// How many answers at most, an integer.
    PageLimit,
}

impl std::fmt::Display for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Given(var) => write!(f, "Given({})", var.index()),
            Self::OneOf(var) => write!(f, "OneOf({})", var.index()),
            Self::Context(slot) => write!(f, "Context({})", slot.index()),
            Self::ContextColumn(slot, column) => {
                write!(f, "Context({}).{}", slot.index(), column.index())
            }
            Self::TypeOf(var) => write!(f, "TypeOf({})", var.index()),
            Self::Now => f.write_str("Now"),
            Self::PageAfter => f.write_str("PageAfter"),
            Self::PageLimit => f.write_str("PageLimit"),
        }
    }
}

/// A statement that answers every question of one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The text, laid out for reading.
    pub sql: String,
    /// The parameters to bind.
    pub slots: Vec<Slot>,
    /// The meaning of the rows.
    pub answer: Answer,
    /// When the rows would not be the whole answer.
    pub refused_if: Option<RefusedIf>,
    /// The rule that most of it comes from, see [`Statement::too_many_readings`].
    pub largest_rule: Option<RuleAtLimit>,
}

impl Statement {
    /// The refusal of a question whose statement reads tables in more places than the store's database
    /// accepts, which the database reports only when it runs the statement.
    pub fn too_many_readings(&self) -> RefusedQuestion {
        RefusedQuestion::unnamed(Refusal::TooLarge { limit: Limit::StoreReadings, rule: self.largest_rule })
    }
}

/// The condition under which an answer cannot be enumerated: some rule then holds of values that it only
/// tests ("everything but what is banned").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedIf {
    /// A statement with one row and one column: must the question be refused? Ask it in the snapshot of the
    /// statement that it belongs to.
    pub sql: String,
    /// The parameters to bind.
    pub slots: Vec<Slot>,
    /// The reason.
    pub refusal: Refusal,
}

/// The meaning of a statement's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// One row with one column `allowed`: does the question have an answer?
    Decision,
    /// One row per answer, each distinct, sorted by the columns.
    Rows(IdVec<ColumnId, AnswerColumn>),
    /// Distinct rows of this many values in any order, which only the plan of a local check reads.
    Part(usize),
}

impl Answer {
    /// How many columns a row has.
    pub fn n_columns(&self) -> usize {
        match self {
            Self::Decision => 1,
            Self::Rows(columns) => columns.len(),
            Self::Part(n_columns) => *n_columns,
        }
    }
}

/// One column of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerColumn {
    /// The id of a wanted or one-of variable; NULL means any value.
    Id(QuestionVarId),
    /// The type's name of a wanted variable that has no type; it is the column before its id. NULL means any
    /// type.
    Type(QuestionVarId),
}

/// Why a question has no statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// The answer cannot be enumerated, bound or expressed.
    Refused(Refusal),
    /// The time in which it had to be compiled is over.
    OutOfTime(OutOfTime),
    /// An internal invariant did not hold; never the caller's fault.
    Bug(String),
}

impl From<OutOfTime> for CompileError {
    fn from(out_of_time: OutOfTime) -> Self {
        Self::OutOfTime(out_of_time)
    }
}

impl CompileError {
    /// The question needs more than one statement can hold.
    pub(crate) fn too_large(limit: Limit) -> Self {
        Self::Refused(Refusal::TooLarge { limit, rule: None })
    }

    /// The same error; a limit that names no rule yet gets this one.
    pub(crate) fn at_rule(self, at: Option<RuleAtLimit>) -> Self {
        match self {
            Self::Refused(Refusal::TooLarge { limit, rule: None }) => {
                Self::Refused(Refusal::TooLarge { limit, rule: at })
            }
            error @ (Self::Refused(_) | Self::OutOfTime(_) | Self::Bug(_)) => error,
        }
    }
}

impl Question {
    /// A refusal of this question in words, with its own names of its variables.
    pub fn refused(&self, refusal: Refusal) -> RefusedQuestion {
        self.refused_over(refusal, None)
    }

    /// The same, where the values of a variable come from a column of the caller's query, so that it makes no
    /// sense to advise one.
    pub fn refused_over(&self, refusal: Refusal, column: Option<QuestionVarId>) -> RefusedQuestion {
        let mut vars: IdVec<QuestionVarId, MessageVar<'_>> =
            self.vars.iter().map(QuestionVar::in_message).collect();
        if let Some(column) = column {
            vars[column].has_value = true;
        }
        let message = refusal.message(&vars);
        RefusedQuestion { refusal, message }
    }
}

/// A refusal, and its message to the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedQuestion {
    /// The reason.
    pub refusal: Refusal,
    /// The same in words, with the names that the caller gave to the question's variables.
    pub message: String,
}

impl RefusedQuestion {
    /// A refusal that names no variable, for callers without the question.
    pub fn unnamed(refusal: Refusal) -> Self {
        let message = refusal.message(&IdVec::new());
        Self { refusal, message }
    }
}

impl std::fmt::Display for RefusedQuestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_for_size_speaks_of_variables_only_where_one_is_open() {
        let advised = |ty: Option<&str>, domain| {
            let var = QuestionVar { name: "actor".into(), ty: ty.map(Into::into), domain };
            let refusal = Refusal::TooLarge { limit: Limit::RuleCopies { most: 9 }, rule: None };
            Question::atom("allow", vec![var]).refused(refusal).message
        };
        let given = Domain::Given("ada".into());
        let narrower = |by| {
            format!(
                "the question needs more than 9 copies of rules: {by}, or give the rules' variables narrower types"
            )
        };
        assert_eq!(advised(None, given.clone()), narrower("give `actor` a type"));
        assert_eq!(advised(Some("User"), Domain::Wanted), narrower("give `actor` a value"));
        for domain in [given, Domain::GivenOneOf(vec!["ada".into()])] {
            let split =
                "the question needs more than 9 copies of rules: give the rules' variables narrower types";
            assert_eq!(advised(Some("User"), domain), split);
        }
    }
}
