//! A question's program whose clauses keep the variables and conditions of their rules, for explanations.
//!
//! In: what [`super::specialise`] gets. Out: the same relations and clauses, but each clause has a variable
//! for each one of its rule that nothing replaced, and says which condition of the rule each of its goals
//! comes from.

use super::emit;
use super::emit::Emitted;
use super::index::Sources;
use super::question_rule::QuestionRule;
use super::specialiser::Specialiser;
use super::traced::{Traced, TracedRelation};
use crate::catalog::Catalog;
use crate::deadline::Deadline;
use crate::id_vec::IdVec;
use crate::ir::Program;
use crate::question::{CompileError, Shape};
use indexmap::IndexSet;

/// Returns the traced program of one question.
///
/// # Errors
/// As [`super::specialise`].
pub(crate) fn trace(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    deadline: Deadline,
) -> Result<Traced, CompileError> {
    let Some(question) = QuestionRule::new(program, shape) else {
        let (relations, roots) = (IdVec::new(), IdVec::new());
        return Ok(Traced { relations, roots, extra_constants: IndexSet::new() });
    };
    let mut work = Specialiser::new(program, Sources::new(program, catalog), deadline);
    work.answer_all(&question)?;
    let roots = question.traced_roots(&mut work)?;
    let relations = work.relations(emit::traced)?.into_iter();
    let relations = relations.map(|Emitted { pred, table, adornments, clauses }| TracedRelation {
        pred,
        call: table,
        adornments,
        clauses: clauses.into(),
    });
    Ok(Traced { relations: relations.collect(), roots, extra_constants: work.sources.extra_constants })
}
