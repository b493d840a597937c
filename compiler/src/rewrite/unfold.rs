//! Replaces renamings by what they rename, so that hierarchies become one relation.
//!
//! In: a [`Specialised`] program. Out: the same relations with fewer clauses. Two rewrites, together, as each
//! needs the other's inclusions:
//!
//! 1. **Unfold renames.** A clause whose body is one call with the head's own columns only includes
//!    another relation (`"reader" if "maintainer"`): it is replaced by that relation's other clauses.
//! 2. **Drop the subsumed.** If `q` is included in `p`, then `p :- e, q` adds nothing to `p :- e, p`. By
//!    induction on derivations: what the dropped clause derives, the kept one does.
//!
//! Once [`super::literals`] has merged what is left, `reader <- maintainer <- admin`, each inherited from the
//! parent folder, is one scan `role IN ('admin', 'maintainer', 'reader')` and one recursive clause.

use super::inclusion::{Inclusions, renamed};
use crate::datalog::{Clause, Goal, RelId, Specialised, Term};
use crate::id_vec::IdVec;
use crate::ir::Polarity;
use crate::limits;
use crate::ordered::OrderedMap;
use rustc_hash::FxHashSet;

/// A clause's head and goals with the relations that it calls positively erased, by which like clauses are
/// found.
type WithoutCalls = (Vec<Term>, Vec<Goal>);

/// How many clauses that differ only in what they call one clause is compared with; more are seldom
/// comparable.
const COMPARED: usize = 64;

/// Rewrites the relations that the question reaches, and empties all others.
pub(super) fn unfold(program: &mut Specialised) {
    let mut inclusions = Inclusions::new(program);
    let mut budget = limits::UNFOLDED_CLAUSES;
    let mut rewritten: IdVec<RelId, Option<Vec<Clause>>> = IdVec::like(&program.relations, None);
    for root in &mut program.roots {
        represent(&mut root.clause, &inclusions);
    }
    let mut queue: Vec<RelId> = program.roots.iter().flat_map(|root| root.clause.callees()).collect();
    while let Some(rel) = queue.pop() {
        if rewritten[rel].is_none() {
            let clauses = without_subsumed(program, rel, &mut inclusions, &mut budget);
            queue.extend(clauses.iter().flat_map(Clause::callees));
            rewritten[rel] = Some(clauses);
        }
    }
    for (relation, clauses) in program.relations.iter_mut().zip(&mut rewritten) {
        // What the question does not reach was not rewritten, and is emptied.
        relation.clauses = clauses.take().unwrap_or_default();
    }
}

/// Calls the representatives of what a clause calls.
fn represent(clause: &mut Clause, inclusions: &Inclusions) {
    for goal in &mut clause.goals {
        if let Goal::Call { rel, .. } = goal {
            *rel = inclusions.representative(*rel);
        }
    }
}

/// The clauses of a relation after unfolding, without those that another one covers.
///
/// The relation keeps its own clauses if unfolding it would exceed the budget.
fn without_subsumed(
    program: &Specialised,
    rel: RelId,
    inclusions: &mut Inclusions,
    budget: &mut usize,
) -> Vec<Clause> {
    let clauses_of = |rel: &RelId| &program.relations[*rel].clauses;
    let mut included = inclusions.included(rel);
    let n_clauses = included.iter().map(|rel| clauses_of(rel).len()).sum();
    match budget.checked_sub(n_clauses) {
        Some(left) => *budget = left,
        None => included = inclusions.group(rel).to_vec(),
    }
    let unfolded: FxHashSet<RelId> = included.iter().copied().collect();
    let mut clauses: Vec<Clause> = included.iter().flat_map(clauses_of).cloned().collect();
    clauses.retain(|clause| renamed(clause).is_none_or(|rel| !unfolded.contains(&rel)));
    if let [clause] = clauses.as_mut_slice() {
        represent(clause, inclusions);
        return clauses;
    }
    // Clauses that agree except in the relations they call.
    let mut buckets: OrderedMap<WithoutCalls, Vec<Clause>> = OrderedMap::default();
    for mut clause in clauses {
        represent(&mut clause, inclusions);
        let bucket = buckets.entry(without_calls(&clause)).or_default();
        if bucket.iter().take(COMPARED).any(|kept| is_subsumed(&clause, kept, inclusions)) {
            continue;
        }
        if bucket.len() <= COMPARED {
            bucket.retain(|kept| !is_subsumed(kept, &clause, inclusions));
        }
        bucket.push(clause);
    }
    buckets.into_values().flatten().collect()
}

/// The clause with every positively called relation erased.
fn without_calls(clause: &Clause) -> WithoutCalls {
    let mut goals = clause.goals.clone();
    for goal in &mut goals {
        if let Goal::Call { polarity: Polarity::Positive, rel, .. } = goal {
            *rel = RelId::ERASED;
        }
    }
    (clause.head.clone(), goals)
}

/// Whether each relation that `clause` calls is included in the one that `other` calls there.
fn is_subsumed(clause: &Clause, other: &Clause, inclusions: &mut Inclusions) -> bool {
    clause.goals.iter().zip(&other.goals).all(|(goal, other)| match (goal, other) {
        (
            Goal::Call { polarity: Polarity::Positive, rel: smaller, .. },
            Goal::Call { polarity: Polarity::Positive, rel: larger, .. },
        ) => inclusions.includes(*larger, *smaller),
        (goal, other) => goal == other,
    })
}
