//! Bound keys whose name is probably a misspelling of a fact that denies something.
//!
//! A document may serve several policies, so a key that the policy does not name is left out. If it was meant
//! to deny something (`Locked(Doc:_)` for `locked`), the answer would permit too much. So a question is
//! refused if a key differs only by upper and lower case from a name that a denial of the policy reads, and
//! if that name has no other facts. `bindings check` also reports names with one other letter.

use crate::engine::EngineError;
use crate::engine::question_names::names_fact;
use crate::engine::versions::Active;
use crate::store::Relations;
use portcullis_compiler::bindings::{Binding, Bindings};
use portcullis_compiler::diagnostic::suggest::one_slip;
use portcullis_compiler::ir::{DenyingCalls, Program};

/// The names that denials of a policy read and that a document does not bind.
#[derive(Debug)]
pub struct UnboundDenials<'p> {
    program: &'p Program,
    names: Vec<&'p str>,
}

impl<'p> UnboundDenials<'p> {
    /// Those of a policy with these denying calls.
    pub fn of(program: &'p Program, calls: &DenyingCalls, bindings: &Bindings) -> Self {
        let denies = |name: &str, arity| !calls.of_predicate(name, arity, program).is_empty();
        let is_bound = |name: &str| bindings.facts.iter().any(|binding| binding.predicate == name);
        let read = program.predicates.iter().filter(|known| denies(&known.name, known.arity));
        let names = read.map(|known| known.name.as_str()).filter(|name| !is_bound(name)).collect();
        Self { program, names }
    }

    /// The one that a key means which the policy does not name: it differs by case or by one letter.
    pub fn meant_by(&self, binding: &Binding) -> Option<&'p str> {
        let name = &*binding.predicate;
        if names_fact(self.program, name) {
            return None;
        }
        self.with_other_case(name).or_else(|| one_slip(name, self.names.iter().copied()))
    }

    fn with_other_case(&self, name: &str) -> Option<&'p str> {
        let lower = name.to_lowercase();
        self.names.iter().copied().find(|known| *known != name && known.to_lowercase() == lower)
    }
}

/// Refuses a document with a key that differs only by case from a name that a denial reads, if that name has
/// neither another key nor stored facts.
pub(in crate::engine) fn check(
    active: &Active,
    relations: &Relations,
    bindings: &Bindings,
) -> Result<(), EngineError> {
    let program = &active.program;
    let unnamed = || bindings.facts.iter().filter(|binding| !names_fact(program, &binding.predicate));
    if unnamed().next().is_none() {
        return Ok(());
    }
    let mut denials = UnboundDenials::of(program, active.denying_calls(), bindings);
    let is_stored = |name: &str| relations.relations.iter().any(|relation| relation.predicate == name);
    denials.names.retain(|name| !is_stored(name));
    let refused = unnamed().find_map(|binding| Some((binding, denials.with_other_case(&binding.predicate)?)));
    let Some((Binding { line, key, predicate, .. }, meant)) = refused else { return Ok(()) };
    Err(EngineError::Bindings(format!(
        "line {line}: `{key}` is not read, and a denial of the policy reads `{meant}`, which has neither a key nor \
         stored facts: write `{meant}` instead of `{predicate}`, or bind `{meant}`, too"
    )))
}
