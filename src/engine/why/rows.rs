//! The rows that an explanation reads: the store's tables, and the request's context facts.

use crate::engine::answers::no_room;
use crate::share::{Account, Meter};
use crate::store::{Fact, Lookup, Reader, StoreError, Work};
use portcullis_compiler::catalog::{Relation, RelationSource, SourceId};
use portcullis_compiler::why::Rows;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an explanation may take.
const TIME: Duration = Duration::from_secs(1);

/// About how many bytes follow from a read, and from each row of it.
const READ_BYTES: usize = 128;
const ROW_BYTES: usize = 512;

/// The facts of one moment.
pub(in crate::engine) struct StoredRows<'r> {
    reader: &'r Reader<'r>,
    context: &'r [Fact],
    meter: Meter,
    until: Option<Instant>,
}

impl<'r> StoredRows<'r> {
    /// The facts that a reader sees, and those of the request.
    pub(in crate::engine) fn new(
        reader: &'r Reader<'r>,
        context: &'r [Fact],
        account: Option<&Arc<Account>>,
    ) -> Self {
        Self { reader, context, meter: Meter::new(account), until: Instant::now().checked_add(TIME) }
    }

    /// The context facts of a relation's kind.
    fn sent(&self, of: &Relation, bound: &[Option<&str>], most: usize) -> Vec<Vec<String>> {
        let is_of = |fact: &&Fact| {
            let types = of.columns().map(|(ty, _)| ty);
            fact.predicate == of.predicate && fact.types().eq(types)
        };
        let ids = |fact: &Fact| fact.args.iter().map(|arg| arg.id.clone()).collect::<Vec<String>>();
        let is_asked = |row: &Vec<String>| {
            row.iter().zip(bound).all(|(id, bound)| bound.is_none_or(|bound| bound == id))
        };
        let mut found: Vec<Vec<String>> =
            self.context.iter().filter(is_of).map(ids).filter(is_asked).collect();
        found.sort_unstable();
        found.dedup();
        found.truncate(most);
        found
    }
}

impl Rows for StoredRows<'_> {
    type Error = StoreError;

    fn rows(
        &mut self,
        _relation: SourceId,
        of: &Relation,
        bound: &[Option<&str>],
        most: usize,
    ) -> Result<Vec<Vec<String>>, StoreError> {
        let found = match &of.source {
            RelationSource::Table { name, .. } => {
                let names = of.columns().map(|(_, column)| column);
                let columns = names.zip(bound.iter().copied()).collect();
                self.reader.look_up(&Lookup { table: name, columns, most })?
            }
            RelationSource::Context { .. } => self.sent(of, bound, most),
            RelationSource::Bound { .. } => {
                return Err(StoreError::Bug("an explanation reads a bound query".to_owned()));
            }
        };
        self.reader.count(Work::Rows(1 + found.len()))?;
        self.meter.grow(READ_BYTES + ROW_BYTES.saturating_mul(found.len())).map_err(no_room)?;
        Ok(found)
    }

    fn is_late(&mut self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}
