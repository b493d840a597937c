//! The height of the lowest proof of an atom, in rules: the round in which naive evaluation derives it first.

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
                let tuple = atom.args.iter().map(|&var| env[var.index()].unwrap()).collect();
                self.heights()[&(self.number_of(&atom.predicate, atom.args.len()).unwrap(), tuple)]
            });
            let height = height.max().unwrap_or_default();
            lowest = Some(lowest.map_or(height, |lowest| lowest.min(height)));
        });
        lowest
    }

    /// How many atoms some values of these cells make, and the heights of those that hold.
    pub fn heights_of(&self, predicate: &str, cells: &[Cell]) -> (usize, Vec<usize>) {
        let Some(pred) = self.number_of(predicate, cells.len()) else { return (1, Vec::new()) };
        let covered: Vec<Vec<bool>> = cells.iter().map(|cell| self.domain.covered(cell)).collect();
        let n_values = covered.iter().map(|covered| covered.iter().filter(|is_covered| **is_covered).count());
        let is_one = |tuple: &Tuple| tuple.iter().zip(&covered).all(|(number, covered)| covered[*number]);
        let heights = self.heights().iter().filter(|((of, tuple), _)| *of == pred && is_one(tuple));
        (n_values.product(), heights.map(|(_, height)| *height).collect())
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
