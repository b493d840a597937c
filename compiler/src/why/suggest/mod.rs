//! Which facts would make a question hold: the fewest that do.
//!
//! In: a question without a proof. The run is repeated, and may now assume one fact that does not exist,
//! then two, then three: the lightest derivation (Knuth 1977) where a missing fact costs 1, found by
//! cost. A search ends with the first sets that it finds, and goes on only if the engine confirms none of
//! them: facts of helper predicates, which callers do not store, come last. A search that ends at its limit
//! without a set is repeated with a smaller [reach](search::SearchReach). Only facts whose values are
//! all known are assumed; those that the policy derives anyway, permissions, are not. Whether a negation
//! holds is decided without what is assumed, so the real engine must answer with each suggestion before
//! it is shown.

pub(super) mod search;

pub use search::{SuggestionSearch, Suggestions};

use super::explanation::{Arg, Atom, Suggestion};
use super::height;
use super::rows::{Budget, Rows};
use super::run::Run;
use super::state::{AnswerTableId, Assumed, Derivations, GoalAnswer};
use super::world::{Fault, World};
use crate::ordered::OrderedSet;
use search::Assumable;

/// The search for sets of one size may take one part in this many of an explanation's goals, and of its work.
/// Near goals come first, and so do the suggestions that a person would think of; a search to the end takes
/// several times as long as all the rest.
const PARTS: (usize, usize) = (10, 5);

/// The smallest sets of facts with which the question may hold.
pub(super) fn suggest<R: Rows>(
    world: &mut World<'_, R>,
    budget: Budget,
    search: SuggestionSearch,
) -> Result<Suggestions, R::Error> {
    let (goals, work) = PARTS;
    let budget = Budget { goals: budget.goals.div_ceil(goals), work: budget.work.div_ceil(work) };
    let rules = world.rules;
    // Rules that were left out would use other facts.
    let mut found = Suggestions { truncated: rules.is_cut, ..Suggestions::default() };
    let mut next = Some(search);
    while let Some(search) = next.filter(|_| found.sets.is_empty()) {
        world.allow(budget);
        let mut run = Run::assuming(world, search);
        let is_cut = match run.question() {
            Ok(()) => false,
            Err(Fault::Spent | Fault::Open(_) | Fault::Lost) => true,
            Err(Fault::Rows(error)) => return Err(error),
        };
        let Run { mut state, root, skips_rows, .. } = run;
        height::compute(&mut state, world, 0);
        let mut sets = root.map_or_else(Vec::new, |root| smallest(&state, root));
        sets.retain(|set| set.len() == search.n_facts && search.finds(&state, set, &rules.helpers));
        found.truncated |= is_cut || skips_rows || sets.len() > search.most;
        found.sets = sets.into_iter().take(search.most).map(|set| facts(&state, set)).collect();
        next = if is_cut { search.next_nearer() } else { search.next() };
        // Without helper predicates there are no other facts.
        next = next.filter(|next| next.assumable == Assumable::Stored || !rules.helpers.is_empty());
    }
    Ok(Suggestions { next, ..found })
}

impl SuggestionSearch {
    /// Whether no earlier search finds this set.
    fn finds(self, state: &Derivations, set: &Assumed, helpers: &OrderedSet<String>) -> bool {
        let mut facts = set.iter().filter_map(|fact| state.assumed.get_index(fact.index()));
        match self.assumable {
            Assumable::Stored => true,
            Assumable::Any => facts.any(|(predicate, _)| helpers.contains(predicate)),
        }
    }
}

/// The sets of facts with which a goal has an answer, without those that contain another set. Smaller sets
/// come first; among sets of the same size, those with lower proofs.
fn smallest(state: &Derivations, goal: AnswerTableId) -> Vec<&Assumed> {
    let answers = state.tables[goal].answers.iter();
    let mut found: Vec<&GoalAnswer> = answers.map(|answer| &state.answers[*answer]).collect();
    found.retain(|answer| !answer.assumed.is_empty());
    found.sort_by_key(|answer| (answer.assumed.len(), answer.best.map_or(usize::MAX, |(height, _)| height)));
    let mut smallest: Vec<&Assumed> = Vec::new();
    for GoalAnswer { assumed: set, .. } in found {
        let is_wider = |known: &&Assumed| known.iter().all(|fact| set.contains(fact));
        if !smallest.iter().any(is_wider) {
            smallest.push(set);
        }
    }
    smallest
}

fn facts(state: &Derivations, set: &Assumed) -> Suggestion {
    let facts = set.iter().filter_map(|fact| state.assumed.get_index(fact.index()));
    let arg = |(ty, id): &(String, String)| Arg { ty: Some(ty.clone()), id: Some(id.clone()) };
    let atom = |(predicate, args): &(String, Vec<(String, String)>)| Atom {
        predicate: predicate.clone(),
        args: args.iter().map(arg).collect(),
    };
    facts.map(atom).collect()
}
