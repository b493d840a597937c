//! How many rules stand on top of each other in the lowest proof of an atom: the round in which naive
//! evaluation derives it first.

use super::Oracle;
use crate::model::Tuple;
use crate::notation::Cell;
use portcullis_compiler::question::Question;
use std::collections::HashMap;

/// The height of each atom: its predicate's number and its arguments.
pub(super) type Heights = HashMap<(usize, Tuple), usize>;

impl Oracle<'_> {
    /// The height of the lowest proof of a question: that of its highest atom. `None` if it does not hold.
    pub fn height(&self, question: &Question) -> Option<usize> {
        let mut lowest: Option<usize> = None;
        self.assignments(question, &mut |env| {
            let height = question.atoms.iter().map(|atom| {
                let tuple = atom.args.iter().map(|&var| env[var].unwrap()).collect();
                self.heights()[&(self.number_of(&atom.predicate, atom.args.len()).unwrap(), tuple)]
            });
            let height = height.max().unwrap_or_default();
            lowest = Some(lowest.map_or(height, |lowest| lowest.min(height)));
        });
        lowest
    }

    /// The heights of all atoms that some values of these cells make; `None` where one does not hold.
    pub fn heights_of(&self, predicate: &str, cells: &[Cell]) -> Vec<Option<usize>> {
        let Some(number) = self.number_of(predicate, cells.len()) else { return vec![None] };
        let tuples = self.domain.expand(&[cells.to_vec()].into());
        tuples.into_iter().map(|tuple| self.heights().get(&(number, tuple)).copied()).collect()
    }

    fn heights(&self) -> &Heights {
        self.heights.get_or_init(|| {
            let mut heights = Heights::new();
            self.rounds(&self.model, &mut |pred, tuple, round| {
                heights.entry((pred, tuple.clone())).or_insert(round);
            });
            heights
        })
    }
}
