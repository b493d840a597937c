//! The least height of each answer's proofs.
//!
//! A stored fact has height 0, and what a rule derives is one higher than the highest answer that it uses.
//! Heights are found as by naive evaluation: what follows in round *k* from answers of earlier rounds has
//! height *k*.

use super::rows::Rows;
use super::state::{AnswerId, Derivations, FrameId, Via};
use super::world::World;
use crate::id_vec::{IdVec, id};
use rustc_hash::FxHashMap;

id!(/// A way to an answer.
    DerivationId, "derivation");

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
    let mut derivations: IdVec<DerivationId, Derivation> = IdVec::new();
    let mut waiting: FxHashMap<AnswerId, Vec<DerivationId>> = FxHashMap::default();
    let mut round: Vec<Vec<DerivationId>> = Vec::new();
    for answer in (first..state.answers.len()).map(AnswerId::from_index) {
        state.answers[answer].best = None;
        for &last in &state.answers[answer].derivations {
            let rises = usize::from(world.clause(state, last).clause.rule.is_some());
            let id = derivations.push(Derivation { answer, last, rises, n_missing: 0, height: 0 });
            let derivation = &mut derivations[id];
            for (_, via) in state.conditions(last) {
                let Via::Answer(used) = via else { continue };
                if used.index() < first {
                    let known = state.answers[used].best.map_or(0, |(height, _)| height);
                    derivation.height = derivation.height.max(known);
                } else {
                    derivation.n_missing += 1;
                    waiting.entry(used).or_default().push(id);
                }
            }
            if derivation.n_missing == 0 {
                due(&mut round, derivation.height + rises, id);
            }
        }
    }
    let mut height = 0;
    while height < round.len() {
        // A derivation that adds nothing, as of a stored fact, is due in the round that it is found in.
        while let Some(id) = round.get_mut(height).and_then(Vec::pop) {
            let Derivation { answer, last, .. } = derivations[id];
            let found = &mut state.answers[answer];
            if found.best.is_some() {
                continue;
            }
            found.best = Some((height, last));
            for id in waiting.remove(&answer).unwrap_or_default() {
                let derivation = &mut derivations[id];
                derivation.n_missing -= 1;
                derivation.height = derivation.height.max(height);
                if derivation.n_missing == 0 {
                    due(&mut round, derivation.height + derivation.rises, id);
                }
            }
        }
        height += 1;
    }
}

/// Notes in which round a derivation is complete.
fn due(round: &mut Vec<Vec<DerivationId>>, height: usize, id: DerivationId) {
    if round.len() <= height {
        round.resize_with(height + 1, Vec::new);
    }
    if let Some(round) = round.get_mut(height) {
        round.push(id);
    }
}
