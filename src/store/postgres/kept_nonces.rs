//! The nonces of recent revisions, by which a write that was lost in a failover is noticed.

use super::session::value;
use crate::store::error::StoreError;
use crate::store::token::Nonce;
use tokio_postgres::Row;

/// The nonces of the revisions that were looked up, as far as the server keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KeptNonces(Vec<(u64, Nonce)>);

impl KeptNonces {
    /// The expression that looks them up: an array of revisions, each followed by its nonce.
    pub(super) fn expression(schema: &str, param: usize) -> String {
        format!(
            "ARRAY(SELECT unnest(ARRAY[r.revision, r.nonce]) FROM {schema}.revision r \
             WHERE r.revision = ANY(${param}))"
        )
    }

    /// The value of the expression.
    pub(super) fn read(row: &Row, column: usize) -> Result<Self, StoreError> {
        value(row, column).map(|numbers: Vec<i64>| Self::of_pairs(&numbers))
    }

    /// Reads revisions, each followed by its nonce.
    pub(super) fn of_pairs(numbers: &[i64]) -> Self {
        let pairs = numbers.chunks_exact(2).filter_map(|pair| match *pair {
            [revision, nonce] => Some((revision.unsigned_abs(), Nonce(nonce))),
            _ => None,
        });
        Self(pairs.collect())
    }

    /// The nonce of a revision.
    pub(super) fn of(&self, revision: u64) -> Option<Nonce> {
        self.0.iter().find(|(kept, _)| *kept == revision).map(|(_, nonce)| *nonce)
    }
}
