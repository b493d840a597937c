//! Maps and sets in insertion order, so that the same input gives the same output.
//!
//! Keys are ids or built from ids, so a fast hash is enough, as in `FxHashMap`.

use rustc_hash::FxBuildHasher;

/// A map in insertion order.
pub(crate) type OrderedMap<K, V> = indexmap::IndexMap<K, V, FxBuildHasher>;

/// A set in insertion order.
pub(crate) type OrderedSet<T> = indexmap::IndexSet<T, FxBuildHasher>;
