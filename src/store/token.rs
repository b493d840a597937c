//! Which writes a question must see.

/// A moment of a store: all writes up to a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// How many batches have changed something, over the store's whole life.
    pub revision: u64,
    /// The random number of the last of them.
    pub nonce: Nonce,
}

/// The random number of a batch. Two batches with the same revision have different ones: one of them was lost
/// when another server took over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonce(pub i64);
