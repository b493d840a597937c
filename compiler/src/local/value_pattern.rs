//! Decides which questions can share a printed text, in which only the spelling of their values differs.
//!
//! In: a plan that asks the store for nothing, and a question. Out: a [`ValuePattern`]. What is done to a
//! plan looks at a value in two ways only: it asks whether the value equals another value or a literal of
//! the policy, and whether it is one of an SQL type. So the pattern says which values are equal, what types
//! admit them, and the value itself where the policy mentions it. A plan that compares by order, reads the
//! time or asks the store for rows looks at more; its text is made for each question.

use super::plan::LocalPlan;
use super::request::SqlRequest;
use crate::bindings::{Fit, is_uuid};
use crate::ir::{ConstId, Constant, Program};
use crate::question::{Domain, Question, QuestionVar, QuestionVarId};
use crate::sql::local::compare::is_small_number;
use crate::sql::local::template::ValuePlace;
use indexmap::IndexSet;

/// What the SQL of a question depends on, apart from its plan and form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValuePattern(Vec<ValueClass>);

/// What it depends on of one variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ValueClass {
    /// Nothing is given.
    Nothing,
    /// The value itself.
    Exactly(String),
    /// Any value that equals the value of variable `same_as`, the first variable with it, that fits each SQL
    /// type in the same way, and that may be left untyped in the same cases.
    Any { same_as: QuestionVarId, fits: Vec<Fit>, untyped: [bool; 2] },
}

impl ValuePattern {
    /// About how much memory it takes.
    pub fn n_bytes(&self) -> usize {
        let of_class = |class: &ValueClass| match class {
            ValueClass::Nothing => 32,
            ValueClass::Exactly(text) => 32 + text.len(),
            ValueClass::Any { fits, .. } => 32 + fits.len(),
        };
        self.0.iter().map(of_class).sum()
    }
}

impl LocalPlan {
    /// What the SQL of a question depends on, apart from the spelling of its values: the
    /// [template](super::LocalSql::template) of one question is that of all with the same pattern, and asks
    /// the store for nothing. `None` if there is more that it depends on.
    pub fn value_pattern(&self, request: &SqlRequest<'_>) -> Option<ValuePattern> {
        if !self.variants().all(|variant| variant.is_by_values) {
            return None;
        }
        let vars = &request.question.vars;
        let class = |(id, var): (QuestionVarId, &QuestionVar)| {
            let text = match &var.domain {
                Domain::Given(text) => text,
                Domain::GivenOneOf(_) => return None,
                Domain::Wanted | Domain::Ignored => return Some(ValueClass::Nothing),
            };
            let ty = var.ty.as_deref().and_then(|ty| request.program.type_id(ty));
            if ty.is_none() || self.mentions(request.program, text) {
                return Some(ValueClass::Exactly(text.clone()));
            }
            let is_same = |other: &QuestionVar| other.domain == var.domain;
            let same_as = vars.position(is_same).unwrap_or(id);
            let fits = request.bindings.sql_types.values().map(|ty| ty.fit(text)).collect();
            Some(ValueClass::Any { same_as, fits, untyped: [is_small_number(text), is_uuid(text)] })
        };
        vars.enumerate().map(class).collect::<Option<_>>().map(ValuePattern)
    }

    /// Whether a literal of the policy or of the plan has this text.
    fn mentions(&self, program: &Program, text: &str) -> bool {
        let of_plans = self.variants().flat_map(|variant| &variant.constants);
        program.constants.iter().chain(of_plans).any(|held| held.text == text)
    }
}

/// The literals that are values of the question and that the policy does not have.
pub(super) fn places(
    program: &Program,
    constants: &IndexSet<Constant>,
    question: &Question,
) -> Vec<ValuePlace> {
    let place = |(id, var): (QuestionVarId, &QuestionVar)| {
        let Domain::Given(text) = &var.domain else { return None };
        let ty = program.type_id(var.ty.as_deref()?)?;
        let number = constants.get_index_of(&Constant { ty, text: text.clone() })?;
        Some((ConstId::from_index(program.constants.len() + number), id))
    };
    question.vars.enumerate().filter_map(place).collect()
}
