//! The facts that an explanation of a local check reads: those of bound queries from the rows that the caller
//! sent, all others from the store and the request.

use super::caller::{CallerAnswers, FactRead, KnownFacts, MOST_READS, WantedReads};
use super::rows::StoredRows;
use crate::store::StoreError;
use portcullis_compiler::catalog::{Relation, RelationSource, SourceId};
use portcullis_compiler::why::Rows;

/// Why a read failed.
pub(super) enum Unread {
    /// The store failed.
    Store(StoreError),
    /// The caller's database has more rows for it than an explanation takes.
    TooMany,
}

/// The facts of one moment in the store and in a caller's database. A read whose rows the caller has not sent
/// yet is recorded and returns nothing, so the result of such a run must be discarded.
pub(super) struct MixedRows<'r> {
    stored: StoredRows<'r>,
    answers: &'r CallerAnswers,
    /// The reads whose rows are still missing.
    pub(super) wanted: WantedReads,
}

impl<'r> MixedRows<'r> {
    /// The facts of the store and of the request, and those in the caller's rows.
    pub(super) fn new(stored: StoredRows<'r>, answers: &'r CallerAnswers) -> Self {
        Self { stored, answers, wanted: WantedReads::new() }
    }
}

impl Rows for MixedRows<'_> {
    type Error = Unread;

    fn rows(
        &mut self,
        relation: SourceId,
        of: &Relation,
        bound: &[Option<&str>],
        most: usize,
    ) -> Result<Vec<Vec<String>>, Unread> {
        let RelationSource::Bound { binding, .. } = of.source else {
            return self.stored.rows(relation, of, bound, most).map_err(Unread::Store);
        };
        let bound = bound.iter().map(|value| value.map(str::to_owned)).collect();
        let read = FactRead { binding, bound };
        match self.answers.facts(&read, most) {
            KnownFacts::Enough(facts) => Ok(facts),
            KnownFacts::TooMany => Err(Unread::TooMany),
            KnownFacts::Ask(most) => {
                if self.wanted.len() < MOST_READS {
                    let wanted = self.wanted.entry(read).or_default();
                    *wanted = most.max(*wanted);
                }
                Ok(Vec::new())
            }
        }
    }

    fn is_late(&mut self) -> bool {
        self.wanted.len() >= MOST_READS || self.stored.is_late()
    }
}
