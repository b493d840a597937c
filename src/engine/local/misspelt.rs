//! Bound keys whose name is probably a misspelling of a fact that denies something.
//!
//! A document may serve several policies, so a key that the policy does not name is left out. If it was meant
//! to deny something (`Locked(Doc:_)` for `locked`), the answer would permit too much. So a document is
//! refused if a key differs only by case from facts that a denial of the policy reads, and if these facts
//! come from nowhere else: no key, no stored fact, no fact of the request and no rule. It is refused for
//! every question, because which of them reach the denial is not known before they are planned. `bindings
//! check` also reports names that are one letter off.

use crate::engine::EngineError;
use crate::engine::catalog::ContextSignature;
use crate::engine::question_names::names_fact;
use crate::engine::versions::Active;
use crate::store::Relations;
use portcullis_compiler::bindings::{Binding, Bindings};
use portcullis_compiler::diagnostic::suggest::one_slip;
use portcullis_compiler::ir::{DenyingCalls, Program};
use std::collections::BTreeSet;

/// The facts that denials of a policy read and that neither its rules nor a document provide.
#[derive(Debug)]
pub struct UnboundDenials<'p> {
    program: &'p Program,
    /// Their names and numbers of arguments.
    facts: Vec<(&'p str, usize)>,
}

impl<'p> UnboundDenials<'p> {
    /// Those of a policy with these denying calls.
    pub fn of(program: &'p Program, calls: &DenyingCalls, bindings: &Bindings) -> Self {
        let derived: BTreeSet<(&str, usize)> = program
            .rules
            .iter()
            .map(|rule| program.predicate(rule.head))
            .map(|head| (head.name.as_str(), head.arity))
            .collect();
        let is_bound = |(name, arity): (&str, usize)| {
            bindings.facts.iter().any(|binding| binding.predicate == name && binding.args.len() == arity)
        };
        let read = program.predicates.iter().map(|known| (known.name.as_str(), known.arity));
        let denies = |(name, arity): (&str, usize)| !calls.of_predicate(name, arity, program).is_empty();
        let facts = read.filter(|fact| denies(*fact) && !derived.contains(fact) && !is_bound(*fact));
        Self { program, facts: facts.collect() }
    }

    /// The name that a key has in another case, if the policy does not name the key.
    pub fn in_other_case(&self, binding: &Binding) -> Option<&'p str> {
        let lower = binding.predicate.to_lowercase();
        self.meant(binding).find(|name| name.to_lowercase() == lower)
    }

    /// The name that a key is one letter off, if the policy does not name the key.
    pub fn one_letter_off(&self, binding: &Binding) -> Option<&'p str> {
        one_slip(&binding.predicate, self.meant(binding))
    }

    /// The names that a key may mean: none if the policy has the key's name.
    fn meant(&self, binding: &Binding) -> impl Iterator<Item = &'p str> {
        let facts = if names_fact(self.program, &binding.predicate) { &[] } else { self.facts.as_slice() };
        let arity = binding.args.len();
        facts.iter().filter(move |(_, known)| *known == arity).map(|(name, _)| *name)
    }
}

/// Refuses a document in which a denial would be lost because a name is in another case. `context` has the
/// facts of the request.
pub(in crate::engine) fn check(
    active: &Active,
    relations: &Relations,
    context: &[ContextSignature],
    bindings: &Bindings,
) -> Result<(), EngineError> {
    let program = &active.program;
    let unnamed = || bindings.facts.iter().filter(|binding| !names_fact(program, &binding.predicate));
    if unnamed().next().is_none() {
        return Ok(());
    }
    let mut denials = UnboundDenials::of(program, active.denying_calls(), bindings);
    let is_stored = |name: &str| relations.relations.iter().any(|relation| relation.predicate == name);
    let is_in_request = |name: &str| context.iter().any(|(predicate, _)| predicate == name);
    denials.facts.retain(|(name, _)| !is_stored(name) && !is_in_request(name));
    let refused = unnamed().find_map(|binding| Some((binding, denials.in_other_case(binding)?)));
    let Some((Binding { line, key, predicate, .. }, meant)) = refused else { return Ok(()) };
    Err(EngineError::Bindings(format!(
        "line {line}: `{key}` is not read, and a denial of the policy reads `{meant}`, which has no key and was never \
         stored: write `{meant}` instead of `{predicate}`, or bind `{meant}`, too"
    )))
}
