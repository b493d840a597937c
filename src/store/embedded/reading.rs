//! Reads the facts of one moment in parts, for an answer that is sent while it is read.
//!
//! In: a pattern. Out: every fact that matches at that moment, in the order of
//! [`FactPage`](crate::store::FactPage). Between two parts it holds no thread and no reader of the store,
//! only a [`Snapshot`]; each part continues after the last fact of the previous one. A reading may take as
//! long as its client does, and meanwhile the log cannot start over. So when the log reaches its limit, all
//! readings are cut: writes never wait for a slow client.

use super::facts;
use super::published::Published;
use super::snapshot::Snapshot;
use super::value;
use crate::store::error::StoreError;
use crate::store::fact::{ArgPattern, Fact, FactPattern};
use crate::store::query::{Param, lacks_value};
use crate::store::signature::StoredRelation;
use parking_lot::Mutex;
use rusqlite::params_from_iter;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Weak};

/// Facts that are read in parts.
#[derive(Debug)]
pub struct SqliteReading {
    cursor: Arc<Mutex<Option<Cursor>>>,
    published: Arc<Published>,
}

/// All readings that may be cut.
#[derive(Debug, Default)]
pub(super) struct Readings(Mutex<Vec<Weak<Mutex<Option<Cursor>>>>>);

/// The position of a reading.
#[derive(Debug)]
struct Cursor {
    snapshot: Snapshot,
    pattern: FactPattern,
    /// The current relation.
    idx: usize,
    /// The values of the last fact in the positions that the pattern leaves open; `None` at the start of a
    /// relation.
    after: Option<Vec<String>>,
}

impl Readings {
    fn add(&self, cursor: &Arc<Mutex<Option<Cursor>>>) {
        let mut all = self.0.lock();
        all.retain(|reading| reading.strong_count() > 0);
        all.push(Arc::downgrade(cursor));
    }

    /// Ends all readings, after the parts that are being read.
    pub(super) fn cut(&self) {
        let all: Vec<_> = self.0.lock().drain(..).collect();
        let n_cut = all.iter().filter_map(Weak::upgrade).filter_map(|reading| reading.lock().take()).count();
        if n_cut > 0 {
            tracing::warn!(n_cut, "the log is full: cut the lists of facts that were being read");
        }
    }
}

impl SqliteReading {
    /// Starts reading the current facts.
    pub(super) fn begin(
        published: Arc<Published>,
        dir: &Path,
        pattern: FactPattern,
    ) -> Result<Self, StoreError> {
        let cursor = Cursor { snapshot: Snapshot::open(dir)?, pattern, idx: 0, after: None };
        let cursor = Arc::new(Mutex::new(Some(cursor)));
        published.readings.add(&cursor);
        Ok(Self { cursor, published })
    }

    /// Passes facts to `each` until it has enough; returns whether there may be more.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if the reading was cut: facts are missing.
    pub fn part(&self, each: impl FnMut(&Fact) -> ControlFlow<()>) -> Result<bool, StoreError> {
        let part = self.cursor.lock().as_mut().ok_or(StoreError::Busy)?.part(each);
        self.published.after(part)
    }
}

impl Cursor {
    fn part(&mut self, mut each: impl FnMut(&Fact) -> ControlFlow<()>) -> Result<bool, StoreError> {
        while let Some(relation) = self.snapshot.relations().get(self.idx) {
            if self.pattern.covers(relation)
                && let Some(last) = self.rest(relation, &mut each)?
            {
                self.after = Some(last);
                return Ok(true);
            }
            self.idx += 1;
            self.after = None;
        }
        Ok(false)
    }

    /// Passes the rest of a relation to `each`. If `each` stops early, returns the last values in the open
    /// positions.
    fn rest(
        &self,
        relation: &StoredRelation,
        each: &mut impl FnMut(&Fact) -> ControlFlow<()>,
    ) -> Result<Option<Vec<String>>, StoreError> {
        let is_open = |idx: usize| !matches!(self.pattern.args.get(idx), Some(ArgPattern::Exact(_)));
        let open: Vec<(usize, String)> = relation.columns().filter(|(idx, _)| is_open(*idx)).collect();
        let (sql, params) = statement(relation, &self.pattern, &open, self.after.as_deref());
        let mut statement = self.snapshot.connection().prepare_cached(&sql)?;
        let n_columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            let id = |idx| {
                let id = value::read(row, idx)?.ok_or_else(|| lacks_value(&relation.table))?;
                Ok(id.into_owned())
            };
            let ids: Vec<String> = (0..n_columns).map(id).collect::<Result<_, StoreError>>()?;
            let fact = relation.fact(ids);
            if each(&fact).is_break() {
                let last = open.iter().filter_map(|(idx, _)| fact.args.get(*idx));
                return Ok(Some(last.map(|value| value.id.clone()).collect()));
            }
        }
        Ok(None)
    }
}

/// Selects what matches in a relation, after these values of the open columns.
fn statement(
    relation: &StoredRelation,
    pattern: &FactPattern,
    open: &[(usize, String)],
    after: Option<&[String]>,
) -> (String, Vec<Param>) {
    let (mut condition, mut params) = facts::condition(relation, pattern);
    let names: Vec<&str> = open.iter().map(|(_, column)| column.as_str()).collect();
    let names = names.join(", ");
    if let Some(after) = after {
        let first = params.len() + 1;
        params.extend(after.iter().cloned().map(Param::Value));
        let marks: Vec<String> = (first..=params.len()).map(|n| format!("?{n}")).collect();
        let lead = if condition.is_empty() { " WHERE " } else { " AND " };
        // With every column given there is at most one fact, and it has been read.
        let rest =
            if open.is_empty() { "FALSE".to_owned() } else { format!("({names}) > ({})", marks.join(", ")) };
        condition = format!("{condition}{lead}{rest}");
    }
    let order = if open.is_empty() { String::new() } else { format!(" ORDER BY {names}") };
    (format!("SELECT {} FROM {}{condition}{order}", relation.key(), relation.table), params)
}
