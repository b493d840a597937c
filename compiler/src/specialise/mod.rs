//! Copies of the policy's predicates for exactly the types and literals that a question needs.
//!
//! In: a [`Program`], a [`Catalog`] and a question's [`Shape`]. Out: a [`Specialised`] program whose
//! relations have one concrete type or one String literal at each position, and no position that the
//! clauses leave unconstrained. Afterwards no test of a type is left, and no rule that cannot match.
//!
//! The method is tabled partial evaluation (Tamaki and Sato 1986; Warren 1992) over an abstract domain: a
//! *call pattern* says of each argument the literal, the type or nothing; its table collects the
//! *adornments* that the predicate answers with. A table that grows makes its readers run again, until
//! nothing grows. Then each pair of pattern and adornment becomes a relation, and each way in which a rule
//! reaches it a clause: those of a table's last run, which has seen all that it reads.
//!
//! What a rule leaves unconstrained is decided here, at compile time: no `= x OR IS NULL` is ever emitted.
//! Negated atoms do not take part in the fixpoint: a head variable that only a negation mentions is
//! [`Adornment::Tested`] for any contents of the negated predicate.

mod adorn;
mod choices;
mod dependencies;
mod emit;
mod frame;
mod index;
mod left_out;
mod negated;
mod pattern;
mod question_rule;
mod solve;
mod specialiser;
mod trace;
mod traced;
mod unify;

pub(crate) use dependencies::{Dependencies, Dependency, dependencies};
pub(crate) use pattern::CallId;
pub(crate) use trace::trace;
pub(crate) use traced::{ClauseId, GoalId, Traced, TracedClause};

use crate::catalog::Catalog;
use crate::datalog::{Relation, Specialised};
use crate::deadline::Deadline;
use crate::id_vec::IdVec;
use crate::ir::Program;
use crate::question::{CompileError, Shape};
use emit::Emitted;
use index::Sources;
use indexmap::IndexSet;
use question_rule::QuestionRule;
use specialiser::Specialiser;

/// Returns the program of one question.
///
/// # Errors
/// [`CompileError::Refused`] if the copies exceed
/// [`SPECIALISATION_STEPS`](crate::limits::SPECIALISATION_STEPS) or what they deny
/// [`DENIALS`](crate::limits::DENIALS), a test needs the type of a variable that has none, or a negation
/// would not see facts of a type that the policy does not mention; [`CompileError::OutOfTime`] after the
/// deadline.
pub(crate) fn specialise(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    deadline: Deadline,
) -> Result<Specialised, CompileError> {
    let Some(question) = QuestionRule::new(program, shape) else {
        return Ok(Specialised {
            relations: IdVec::new(),
            roots: Vec::new(),
            extra_constants: IndexSet::new(),
        });
    };
    let mut work = Specialiser::new(program, Sources::new(program, catalog), deadline);
    work.answer_all(&question)?;
    let roots = question.roots(&mut work)?;
    let relations = work.relations(emit::clause)?.into_iter();
    let relations =
        relations.map(|Emitted { pred, adornments, clauses, .. }| Relation { pred, adornments, clauses });
    Ok(Specialised { relations: relations.collect(), roots, extra_constants: work.sources.extra_constants })
}
