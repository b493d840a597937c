//! Maps and sets that keep the order in which things came, so that the same input gives the same output.
//!
//! Their keys are ids and what is made of ids: a fast hash does, as for `FxHashMap`.

use rustc_hash::FxBuildHasher;

/// A map in the order of insertion.
pub(crate) type OrderedMap<K, V> = indexmap::IndexMap<K, V, FxBuildHasher>;

/// A set in the order of insertion.
pub(crate) type OrderedSet<T> = indexmap::IndexSet<T, FxBuildHasher>;
