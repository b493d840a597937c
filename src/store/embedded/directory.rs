//! Which table holds which facts.
//!
//! Each signature has one table `f<N>`. The table `relation` maps signatures to N and counts the facts.
//! [`Directory`] is the writer's copy of it, [`Relations`] what everyone else sees.
//!
//! ```text
//! writer: Directory ──commit──▶ Arc<Relations> (generation 7) ──▶ readers compile SQL against it
//!         └── equals the table `relation`: after a rollback it is read again
//! ```
//!
//! INVARIANT: a table that a snapshot names exists for as long as the snapshot is held. Tables are dropped
//! only after a `clear`, once the last snapshot that names them is gone; until then they remain, empty.
//! INVARIANT: an N is never reused for another signature (the table `relation` counts with AUTOINCREMENT).
//! INVARIANT: a fact belongs to exactly one relation. A name that shares a table never gets its own later: by
//! then there are `MAX_NAMES` of them, and only a `clear` removes relations.

use crate::store::error::StoreError;
use crate::store::fact::{Fact, FactPattern};
use crate::store::signature::{self, Relations, StoredArg, StoredRelation};
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Weak};

/// The writer's record of a relation.
#[derive(Debug)]
pub(super) struct RelationEntry {
    id: i64,
    pub(super) relation: StoredRelation,
    pub(super) insert_sql: String,
    n_facts: u64,
    counted: bool,
}

impl RelationEntry {
    fn new(id: i64, predicate: &str, args: Vec<StoredArg>, n_facts: u64) -> Self {
        let relation = StoredRelation::numbered(id, predicate, args);
        Self { id, insert_sql: insert_sql(&relation), relation, n_facts, counted: true }
    }

    /// Counts facts that were inserted and deleted.
    pub(super) fn count(&mut self, inserted: u64, deleted: u64) {
        self.n_facts = self.n_facts.saturating_add(inserted).saturating_sub(deleted);
        self.counted &= inserted == 0 && deleted == 0;
    }
}

/// The writer's view of the relations.
#[derive(Debug, Default)]
pub(super) struct Directory {
    entries: Vec<RelationEntry>,
    by_predicate: FxHashMap<String, Vec<usize>>,
    /// Whether the set of relations differs from the published one.
    pub(super) changed: bool,
}

impl Directory {
    /// Reloads the table `relation` after a rollback.
    pub(super) fn reload(&mut self, conn: &Connection) -> Result<(), StoreError> {
        // Relations of earlier batches in the same transaction may still be unpublished.
        let changed = self.changed;
        *self = Self { changed, ..Self::load(conn)? };
        Ok(())
    }

    /// Reads the table `relation`.
    pub(super) fn load(conn: &Connection) -> Result<Self, StoreError> {
        let mut directory = Self::default();
        let mut statement =
            conn.prepare_cached("SELECT id, predicate, args, facts FROM relation ORDER BY id")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let predicate: String = row.get(1)?;
            let args: String = row.get(2)?;
            let args = serde_json::from_str(&args)
                .map_err(|error| StoreError::Corrupt(format!("arguments of a relation: {error}")))?;
            directory.push(RelationEntry::new(row.get(0)?, &predicate, args, row.get(3)?));
        }
        Ok(directory)
    }

    fn push(&mut self, entry: RelationEntry) -> usize {
        let idx = self.entries.len();
        self.by_predicate.entry(entry.relation.predicate.clone()).or_default().push(idx);
        self.entries.push(entry);
        idx
    }

    /// The relation that a fact belongs to, created if it does not exist.
    pub(super) fn place_of(
        &mut self,
        conn: &Connection,
        fact: &Fact,
    ) -> Result<&mut RelationEntry, StoreError> {
        let of_predicate = self.of_predicate(&fact.predicate).map(|(_, relation)| relation);
        let args = signature::args_of(fact, of_predicate);
        let idx = match self.find(&fact.predicate, &args) {
            Some(idx) => idx,
            None => self.create(conn, &fact.predicate, args)?,
        };
        self.entry(idx)
    }

    fn of_predicate(&self, predicate: &str) -> impl Iterator<Item = (usize, &StoredRelation)> {
        let known = self.by_predicate.get(predicate).into_iter().flatten();
        known.filter_map(|idx| Some((*idx, &self.entries.get(*idx)?.relation)))
    }

    fn find(&self, predicate: &str, args: &[StoredArg]) -> Option<usize> {
        self.of_predicate(predicate).find(|(_, relation)| relation.args == args).map(|(idx, _)| idx)
    }

    fn create(
        &mut self,
        conn: &Connection,
        predicate: &str,
        args: Vec<StoredArg>,
    ) -> Result<usize, StoreError> {
        let text = signature::stored_args(predicate, &args)?;
        conn.prepare_cached("INSERT INTO relation (predicate, args, facts) VALUES (?1, ?2, 0)")?
            .execute((predicate, text))?;
        let entry = RelationEntry::new(conn.last_insert_rowid(), predicate, args, 0);
        create_table(conn, &entry.relation)?;
        self.changed = true;
        Ok(self.push(entry))
    }

    pub(super) fn entry(&mut self, idx: usize) -> Result<&mut RelationEntry, StoreError> {
        self.entries.get_mut(idx).ok_or_else(|| StoreError::Bug(format!("no relation at {idx}")))
    }

    /// The relations whose facts can match.
    pub(super) fn covered_by(&self, pattern: &FactPattern) -> Vec<usize> {
        let covers =
            |idx: &usize| self.entries.get(*idx).is_some_and(|entry| pattern.covers(&entry.relation));
        match &pattern.predicate {
            Some(name) => self.by_predicate.get(name).into_iter().flatten().copied().filter(covers).collect(),
            None => (0..self.entries.len()).filter(covers).collect(),
        }
    }

    /// Writes the counts that changed.
    pub(super) fn save_counts(&mut self, conn: &Connection) -> Result<(), StoreError> {
        for entry in self.entries.iter_mut().filter(|entry| !entry.counted) {
            conn.prepare_cached("UPDATE relation SET facts = ?2 WHERE id = ?1")?
                .execute((entry.id, entry.n_facts))?;
            entry.counted = true;
        }
        Ok(())
    }

    /// Empties and forgets every relation; returns the tables that remain, and how many facts were deleted.
    pub(super) fn clear(&mut self, conn: &Connection) -> Result<(Vec<String>, u64), StoreError> {
        let mut tables = Vec::new();
        let mut deleted = 0_u64;
        for entry in self.entries.drain(..) {
            let gone = conn.execute(&format!("DELETE FROM {}", entry.relation.table), [])?;
            deleted = deleted.saturating_add(gone as u64);
            tables.push(entry.relation.table);
        }
        conn.execute("DELETE FROM relation", [])?;
        self.by_predicate.clear();
        self.changed |= !tables.is_empty();
        Ok((tables, deleted))
    }

    /// The relations for readers.
    pub(super) fn snapshot(&self, generation: u64) -> Relations {
        let mut relations: Vec<StoredRelation> =
            self.entries.iter().map(|entry| entry.relation.clone()).collect();
        relations.sort_unstable_by(|a, b| (&a.predicate, &a.args).cmp(&(&b.predicate, &b.args)));
        Relations { generation, schema: None, relations }
    }
}

/// Tables that remain after a `clear`, and the snapshots that name them.
#[derive(Debug, Default)]
pub(super) struct Retired {
    snapshots: Vec<Weak<Relations>>,
    tables: Vec<String>,
}

impl Retired {
    /// Records a published snapshot.
    pub(super) fn watch(&mut self, snapshot: &Arc<Relations>) {
        self.snapshots.retain(|held| held.strong_count() > 0);
        self.snapshots.push(Arc::downgrade(snapshot));
    }

    /// Adds tables that no later snapshot names.
    pub(super) fn add(&mut self, tables: Vec<String>) {
        self.tables.extend(tables);
    }

    /// Drops the tables once only the newest snapshot, which does not name them, is alive.
    pub(super) fn drop_unused(&mut self, conn: &Connection) -> Result<(), StoreError> {
        if self.tables.is_empty() {
            return Ok(());
        }
        self.snapshots.retain(|held| held.strong_count() > 0);
        if self.snapshots.len() > 1 {
            return Ok(());
        }
        let transaction = conn.unchecked_transaction()?;
        for table in self.tables.drain(..) {
            transaction.execute(&format!("DROP TABLE {table}"), [])?;
        }
        Ok(transaction.commit()?)
    }
}

/// Drops the tables that remained after a `clear` when the process ended, and checks that no table is
/// missing.
pub(super) fn reconcile(conn: &Connection) -> Result<(), StoreError> {
    let mut retired = Retired::default();
    retired.add(unnamed(conn, &Directory::load(conn)?)?);
    retired.drop_unused(conn)
}

/// The tables of facts that no relation names; each relation must have its own.
pub(super) fn unnamed(conn: &Connection, directory: &Directory) -> Result<Vec<String>, StoreError> {
    let mut statement =
        conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'f[0-9]*'")?;
    let mut tables =
        statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    tables.retain(|table| table.bytes().skip(1).all(|byte| byte.is_ascii_digit()));
    let named = |table: &String| directory.entries.iter().any(|entry| entry.relation.table == *table);
    let (kept, orphans): (Vec<String>, Vec<String>) = tables.into_iter().partition(named);
    if let Some(lost) = directory.entries.iter().find(|entry| !kept.contains(&entry.relation.table)) {
        return Err(StoreError::Corrupt(format!("table `{}` is missing", lost.relation.table)));
    }
    Ok(orphans)
}

/// Creates a relation's table, with a primary key that starts with the first argument and an index that
/// starts with the last.
fn create_table(conn: &Connection, relation: &StoredRelation) -> Result<(), StoreError> {
    let table = &relation.table;
    let key = relation.key();
    let declared = key.replace(',', " NOT NULL,");
    conn.execute_batch(&format!(
        "CREATE TABLE {table} ({declared} NOT NULL, PRIMARY KEY ({key})) WITHOUT ROWID"
    ))?;
    let reversed: Vec<String> = relation.columns().rev().map(|(_, column)| column).collect();
    if reversed.len() > 1 {
        let reversed = reversed.join(", ");
        conn.execute_batch(&format!("CREATE INDEX {table}r ON {table} ({reversed})"))?;
    }
    Ok(())
}

fn insert_sql(relation: &StoredRelation) -> String {
    let marks: Vec<String> = (1..=relation.columns().count()).map(|n| format!("?{n}")).collect();
    format!("INSERT OR IGNORE INTO {} VALUES ({})", relation.table, marks.join(", "))
}
