//! The rows that an explanation of a local check reads: what the caller's database said of its bound queries,
//! and for everything else the store and the request.

use super::caller::{CallerAnswers, FactRead, KnownFacts, MOST_READS, WantedReads};
use super::rows::StoredRows;
use crate::store::StoreError;
use portcullis_compiler::catalog::{Relation, RelationSource};
use portcullis_compiler::why::Rows;

/// Why a read failed.
pub(super) enum Unread {
    /// The store failed.
    Store(StoreError),
    /// The caller's database has more rows for it than an explanation takes.
    TooMany,
}

/// The facts of one moment in the store and in a caller's database. What the database was not asked for yet
/// is noted, and seems to have no rows: what is found then is of no use.
pub(super) struct MixedRows<'r> {
    stored: StoredRows<'r>,
    answers: &'r CallerAnswers,
    /// What the database is to be asked for.
    pub(super) wanted: WantedReads,
}

impl<'r> MixedRows<'r> {
    /// The facts of the store and of the request, and those that the database said.
    pub(super) fn new(stored: StoredRows<'r>, answers: &'r CallerAnswers) -> Self {
        Self { stored, answers, wanted: WantedReads::new() }
    }
}

impl Rows for MixedRows<'_> {
    type Error = Unread;

    fn rows(
        &mut self,
        relation: usize,
        of: &Relation,
        bound: &[Option<&str>],
        most: usize,
    ) -> Result<Vec<Vec<String>>, Unread> {
        let RelationSource::Bound { binding } = of.source else {
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
