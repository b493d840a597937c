//! The ground atoms that the oracle derives.

use std::collections::{HashMap, HashSet};

/// The numbers of an atom's arguments.
pub type Tuple = Vec<usize>;

/// Ground atoms: a predicate's number and its arguments; with an index by each argument.
#[derive(Clone, Default)]
pub struct Model {
    rows: HashMap<usize, Vec<Tuple>>,
    index: HashMap<(usize, usize, usize), Vec<usize>>,
    /// Every atom.
    pub present: HashSet<(usize, Tuple)>,
}

impl Model {
    /// Adds an atom unless it is there.
    pub fn insert(&mut self, pred: usize, tuple: Tuple) {
        if self.present.insert((pred, tuple.clone())) {
            let rows = self.rows.entry(pred).or_default();
            for (at, &value) in tuple.iter().enumerate() {
                self.index.entry((pred, at, value)).or_default().push(rows.len());
            }
            rows.push(tuple);
        }
    }

    /// The atoms that may match: those that agree in the argument whose value is the rarest.
    pub fn candidates(&self, pred: usize, args: &[Option<usize>]) -> Vec<&Tuple> {
        let Some(rows) = self.rows.get(&pred) else { return Vec::new() };
        let known = args.iter().enumerate().filter_map(|(at, arg)| arg.map(|value| (at, value)));
        let with = |(at, value)| self.index.get(&(pred, at, value)).map_or(&[][..], Vec::as_slice);
        match known.map(with).min_by_key(|found| found.len()) {
            Some(found) => found.iter().map(|&row| &rows[row]).collect(),
            None => rows.iter().collect(),
        }
    }
}
