//! The least height of each answer's proofs.
//!
//! A stored fact has height 0, and what a rule derives is one higher than the highest answer that it uses.
//! Heights are found as by naive evaluation: what follows in round *k* from answers of earlier rounds has
//! height *k*.

use super::rows::Rows;
use super::state::{AnswerId, Derivations, FrameId, Via};
use super::world::World;
use rustc_hash::FxHashMap;

/// A way to an answer: what it ends with, how high it makes the answer, and the answers that it waits for.
struct Derivation {
    answer: AnswerId,
    last: FrameId,
    /// 1 if a rule derives it.
    rises: usize,
    n_missing: usize,
    height: usize,
}

/// Computes the heights of all answers from `first` on; those before it have theirs.
pub(super) fn compute<R: Rows>(state: &mut Derivations, world: &World<'_, R>, first: usize) {
    let mut derivations: Vec<Derivation> = Vec::new();
    let mut waiting: FxHashMap<AnswerId, Vec<usize>> = FxHashMap::default();
    let mut round: Vec<Vec<usize>> = Vec::new();
    for answer in (first..state.answers.len()).map(AnswerId::from_index) {
        state.answers[answer].best = None;
        let table = state.answers[answer].table;
        let clauses = world.clauses(state.tables[table].key.0);
        for &last in &state.answers[answer].derivations {
            let clause = clauses.get(state.frames[last].clause);
            let rises = usize::from(clause.is_some_and(|traced| traced.clause.rule.is_some()));
            let mut derivation = Derivation { answer, last, rises, n_missing: 0, height: 0 };
            let place = derivations.len();
            for (_, via) in state.conditions(last) {
                let Via::Answer(used) = via else { continue };
                if used.index() < first {
                    let known = state.answers[used].best.map_or(0, |(height, _)| height);
                    derivation.height = derivation.height.max(known);
                } else {
                    derivation.n_missing += 1;
                    waiting.entry(used).or_default().push(place);
                }
            }
            if derivation.n_missing == 0 {
                due(&mut round, derivation.height + rises, place);
            }
            derivations.push(derivation);
        }
    }
    let mut height = 0;
    while height < round.len() {
        // A derivation that adds nothing, as of a stored fact, is due in the round that it is found in.
        while let Some(place) = round.get_mut(height).and_then(Vec::pop) {
            let Some(&Derivation { answer, last, .. }) = derivations.get(place) else { continue };
            let found = &mut state.answers[answer];
            if found.best.is_some() {
                continue;
            }
            found.best = Some((height, last));
            for place in waiting.remove(&answer).unwrap_or_default() {
                let Some(derivation) = derivations.get_mut(place) else { continue };
                derivation.n_missing -= 1;
                derivation.height = derivation.height.max(height);
                if derivation.n_missing == 0 {
                    due(&mut round, derivation.height + derivation.rises, place);
                }
            }
        }
        height += 1;
    }
}

/// Notes in which round a derivation is complete.
fn due(round: &mut Vec<Vec<usize>>, height: usize, place: usize) {
    if round.len() <= height {
        round.resize_with(height + 1, Vec::new);
    }
    if let Some(round) = round.get_mut(height) {
        round.push(place);
    }
}
