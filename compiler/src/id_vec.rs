//! Typed ids, and a vector whose index is an id, so that an index of one table is never taken for one of
//! another.
//!
//! Indexing is total for ids that the vector handed out itself, by [`IdVec::push`] or [`IdVec::ids`]. A
//! foreign id is a bug in Portcullis and ends the compilation at once instead of planning something else.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// What names an entry of an [`IdVec`].
pub trait Id: Copy {
    /// The id of the entry at `index`.
    fn of_index(index: usize) -> Self;
    /// The place of the entry.
    fn to_index(self) -> usize;
}

/// Declares a type of ids. Their `Debug` form is readable in snapshots.
macro_rules! id {
    ($(#[$doc:meta])* $vis:vis $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis struct $name($vis u32);

        impl $name {
            /// The id as an index into its table.
            $vis fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the entry at `index`. Every table is bounded far below the largest id, see
            /// [`limits`](crate::limits).
            $vis fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }
        }

        impl $crate::id_vec::Id for $name {
            fn of_index(index: usize) -> Self {
                Self::from_index(index)
            }

            fn to_index(self) -> usize {
                self.index()
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "#{}"), self.0)
            }
        }
    };
}

pub(crate) use id;

/// Entries of type `T`, each named by an `I`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdVec<I, T> {
    entries: Vec<T>,
    ids: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// A vector without entries.
    pub fn new() -> Self {
        Self::from_iter([])
    }

    /// As many copies of `entry` as `others` has entries, under the same ids.
    pub(crate) fn like<U>(others: &IdVec<I, U>, entry: T) -> Self
    where
        T: Clone,
    {
        vec![entry; others.len()].into_iter().collect()
    }

    /// Adds an entry and names it.
    pub fn push(&mut self, entry: T) -> I {
        self.entries.push(entry);
        I::of_index(self.entries.len() - 1)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of an id that another vector may have handed out; `None` if there is none here.
    pub fn find(&self, id: I) -> Option<&T> {
        self.entries.get(id.to_index())
    }

    /// The first entry, if there is one.
    pub fn first(&self) -> Option<&T> {
        self.entries.first()
    }

    /// The entries without their ids.
    pub fn as_slice(&self) -> &[T] {
        &self.entries
    }

    /// Drops all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Whether this is an entry.
    pub fn contains(&self, entry: &T) -> bool
    where
        T: PartialEq,
    {
        self.entries.contains(entry)
    }

    /// The first entry for which something holds.
    pub fn position(&self, holds: impl FnMut(&T) -> bool) -> Option<I> {
        self.entries.iter().position(holds).map(I::of_index)
    }

    /// The ids of all entries, ascending.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.entries.len()).map(I::of_index)
    }

    /// The entries in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    /// The entries in order.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.entries.iter_mut()
    }

    /// The entries with their ids, in order.
    pub fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
        self.ids().zip(&self.entries)
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    #[expect(clippy::indexing_slicing, reason = "ids come from the vector that they index")]
    fn index(&self, id: I) -> &T {
        &self.entries[id.to_index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[expect(clippy::indexing_slicing, reason = "ids come from the vector that they index")]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.to_index()]
    }
}

/// A set of ids.
#[derive(Clone, Debug)]
pub(crate) struct IdSet<I> {
    has: Vec<bool>,
    ids: PhantomData<fn(I) -> I>,
}

impl<I: Id> IdSet<I> {
    /// A set without ids.
    pub(crate) fn new() -> Self {
        Self { has: Vec::new(), ids: PhantomData }
    }

    /// Adds an id; whether it is new.
    pub(crate) fn insert(&mut self, id: I) -> bool {
        let index = id.to_index();
        if self.has.len() <= index {
            self.has.resize(index + 1, false);
        }
        self.has.get_mut(index).is_some_and(|has| !std::mem::replace(has, true))
    }

    /// Whether an id is in the set.
    pub(crate) fn contains(&self, id: I) -> bool {
        self.has.get(id.to_index()) == Some(&true)
    }

    /// Removes what is not in the other set.
    pub(crate) fn intersect(&mut self, other: &Self) {
        self.has.truncate(other.has.len());
        self.has.iter_mut().zip(&other.has).for_each(|(has, also)| *has &= also);
    }

    /// How many ids are in the set.
    pub(crate) fn len(&self) -> usize {
        self.has.iter().filter(|has| **has).count()
    }

    /// How many entries a walk over the set visits.
    pub(crate) fn n_visited(&self) -> usize {
        self.has.len()
    }

    /// The ids, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = I> {
        self.has.iter().enumerate().filter(|(_, has)| **has).map(|(index, _)| I::of_index(index))
    }
}

impl<I: Id> FromIterator<I> for IdSet<I> {
    fn from_iter<E: IntoIterator<Item = I>>(ids: E) -> Self {
        let mut set = Self::new();
        ids.into_iter().for_each(|id| {
            set.insert(id);
        });
        set
    }
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self::from_iter([])
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<E: IntoIterator<Item = T>>(entries: E) -> Self {
        Self { entries: entries.into_iter().collect(), ids: PhantomData }
    }
}

impl<I, T> Extend<T> for IdVec<I, T> {
    fn extend<E: IntoIterator<Item = T>>(&mut self, entries: E) {
        self.entries.extend(entries);
    }
}

impl<I, T> From<Vec<T>> for IdVec<I, T> {
    fn from(entries: Vec<T>) -> Self {
        entries.into_iter().collect()
    }
}

impl<I, T> IntoIterator for IdVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'v, I, T> IntoIterator for &'v IdVec<I, T> {
    type Item = &'v T;
    type IntoIter = std::slice::Iter<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}

impl<'v, I, T> IntoIterator for &'v mut IdVec<I, T> {
    type Item = &'v mut T;
    type IntoIter = std::slice::IterMut<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter_mut()
    }
}

impl<I, T: std::fmt::Debug> std::fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.entries).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::IdSet;
    use crate::ir::VarId;

    fn set(indices: &[usize]) -> IdSet<VarId> {
        indices.iter().map(|index| VarId::from_index(*index)).collect()
    }

    #[test]
    fn an_intersection_keeps_nothing_that_only_the_longer_set_has() {
        for (left, right) in [(&[1, 9][..], &[1, 2][..]), (&[1, 2], &[1, 9]), (&[1, 9], &[1])] {
            let mut common = set(left);
            common.intersect(&set(right));
            assert_eq!(common.iter().map(VarId::index).collect::<Vec<_>>(), [1], "{left:?} {right:?}");
            assert_eq!(common.len(), 1);
        }
    }

    #[test]
    fn an_id_is_new_once() {
        let mut vars = set(&[3]);
        assert!(!vars.insert(VarId::from_index(3)));
        assert!(vars.insert(VarId::from_index(70)));
        assert!(vars.contains(VarId::from_index(70)) && !vars.contains(VarId::from_index(71)));
    }
}
