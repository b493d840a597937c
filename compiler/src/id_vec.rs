//! A vector whose index is an id, so that an index of one table is never taken for one of another.
//!
//! Indexing is total for ids that the vector handed out itself, by [`IdVec::push`] or [`IdVec::ids`]. A
//! foreign id is a bug in Portcullis and ends the compilation at once instead of planning something else.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// What names an entry of an [`IdVec`].
pub(crate) trait Id: Copy {
    /// The id of the entry at `index`.
    fn of_index(index: usize) -> Self;
    /// The place of the entry.
    fn to_index(self) -> usize;
}

/// Entries of type `T`, each named by an `I`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct IdVec<I, T> {
    entries: Vec<T>,
    ids: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// A vector without entries.
    pub(crate) fn new() -> Self {
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
    pub(crate) fn push(&mut self, entry: T) -> I {
        self.entries.push(entry);
        I::of_index(self.entries.len() - 1)
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The ids of all entries, ascending.
    pub(crate) fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.entries.len()).map(I::of_index)
    }

    /// The entries in order.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    /// The entries in order.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.entries.iter_mut()
    }

    /// The entries with their ids, in order.
    pub(crate) fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
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
