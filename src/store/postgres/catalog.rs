//! The relations of an environment: which facts share a table, and how a table is made.
//!
//! The table `relation` has a row for each, which counts its facts. A relation is published once it has had a
//! fact: a statement reads every published relation of its predicates, and most that a policy can name stay
//! empty. [`Catalog`] is the writer's copy, [`Relations`] what everyone else sees. The clock counts how often
//! the published ones have changed.
//!
//! INVARIANT: a fact belongs to exactly one relation. A name that shares a table never gets its own later: by
//! then there are enough names, and only a `clear` removes relations.
//! INVARIANT: a table exists as long as a question that knows it may read it. After a `clear` it is
//! retired, with its facts, and dropped later. The number of a relation is never used again.

use super::reading::LIFETIME;
use super::session::{PgSession, value};
use crate::store::error::StoreError;
use crate::store::fact::{Fact, FactPattern};
use crate::store::signature::{self, Relations, StoredArg, StoredRelation};
use std::time::Duration;
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;

/// How many retired tables are dropped at most in one transaction, which keeps all others waiting.
const DROPPED: usize = 100;

/// A table is tidied once the changes amount to a tenth of its rows, but not before the first of these
/// numbers, and always after the second. Autovacuum may take a minute to notice.
const CHANGES: (u64, u64) = (500, 10_000);

/// All relations as the writer knows them.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    /// How often the published relations have changed.
    pub(super) generation: i64,
    entries: Vec<CatalogEntry>,
}

/// The writer's record of a relation.
#[derive(Debug)]
pub(super) struct CatalogEntry {
    id: i32,
    pub(super) relation: StoredRelation,
    is_used: bool,
    /// Facts that were inserted and deleted since the counts were saved.
    inserted: u64,
    deleted: u64,
    /// How many facts it has, as far as this writer knows.
    n_facts: u64,
    /// How many changes there were since the table was last tidied.
    n_unseen: u64,
}

impl CatalogEntry {
    /// Counts facts that were inserted and deleted.
    pub(super) fn count(&mut self, inserted: u64, deleted: u64) {
        self.inserted += inserted;
        self.deleted += deleted;
    }

    fn has_changed_much(&self) -> bool {
        self.n_unseen >= (self.n_facts / 10).clamp(CHANGES.0, CHANGES.1)
    }
}

impl Catalog {
    /// Reads the table `relation` and the number of its state.
    pub(super) async fn load(
        session: PgSession<'_, impl GenericClient>,
        schema: &str,
    ) -> Result<Self, StoreError> {
        // One statement: the number belongs to these relations.
        let load = format!(
            "SELECT c.catalog, r.id, r.predicate, r.args::text, r.used FROM {schema}.clock c
             LEFT JOIN {schema}.relation r ON true ORDER BY r.id"
        );
        let mut catalog = Self::default();
        for row in session.rows(&load, &[]).await? {
            catalog.generation = value(&row, 0)?;
            if let Some(id) = value::<Option<i32>>(&row, 1)? {
                let args: &str = value(&row, 3)?;
                let args = serde_json::from_str(args)
                    .map_err(|error| StoreError::Corrupt(format!("arguments of a relation: {error}")))?;
                catalog.push(id, value(&row, 2)?, args, value(&row, 4)?);
            }
        }
        Ok(catalog)
    }

    fn push(&mut self, id: i32, predicate: &str, args: Vec<StoredArg>, is_used: bool) -> usize {
        let relation = StoredRelation::numbered(id.into(), predicate, args);
        let (inserted, deleted, n_facts, n_unseen) = (0, 0, 0, 0);
        self.entries.push(CatalogEntry { id, relation, is_used, inserted, deleted, n_facts, n_unseen });
        self.entries.len() - 1
    }

    /// The published relations, with the schema that their tables are in.
    pub(super) fn published(&self, schema: &str) -> Relations {
        let used = self.entries.iter().filter(|entry| entry.is_used);
        let mut relations: Vec<StoredRelation> = used.map(|entry| entry.relation.clone()).collect();
        relations.sort_unstable_by(|a, b| (&a.predicate, &a.args).cmp(&(&b.predicate, &b.args)));
        let generation = u64::try_from(self.generation).unwrap_or_default();
        Relations { generation, schema: Some(schema.to_owned()), relations }
    }

    /// The relation that a fact belongs to, with its table, which is made if it does not exist.
    pub(super) async fn place_of(
        &mut self,
        session: PgSession<'_, impl GenericClient>,
        schema: &str,
        fact: &Fact,
    ) -> Result<&mut CatalogEntry, StoreError> {
        let of_predicate = self.entries.iter().map(|entry| &entry.relation);
        let of_predicate = of_predicate.filter(|relation| relation.predicate == fact.predicate);
        let args = signature::args_of(fact, of_predicate);
        let is_its =
            |entry: &CatalogEntry| entry.relation.predicate == fact.predicate && entry.relation.args == args;
        let found = self.entries.iter().position(is_its);
        let idx = match found {
            Some(idx) => idx,
            None => self.create(session, schema, &fact.predicate, args).await?,
        };
        self.entries.get_mut(idx).ok_or_else(|| StoreError::Bug(format!("no relation at {idx}")))
    }

    async fn create(
        &mut self,
        session: PgSession<'_, impl GenericClient>,
        schema: &str,
        predicate: &str,
        args: Vec<StoredArg>,
    ) -> Result<usize, StoreError> {
        let text = signature::stored_args(predicate, &args)?;
        let add = format!(
            "INSERT INTO {schema}.relation (predicate, args, facts, used)
             VALUES ($1, $2::text::jsonb, 0, false) RETURNING id"
        );
        let row = session.row(&add, &[(&predicate, Type::TEXT), (&text, Type::TEXT)]).await?;
        let idx = self.push(value(&row, 0)?, predicate, args, false);
        if let Some(entry) = self.entries.get(idx) {
            session.run(&table(schema, &entry.relation)).await?;
        }
        Ok(idx)
    }

    /// The relations whose facts can match.
    pub(super) fn covered_by(&mut self, pattern: &FactPattern) -> impl Iterator<Item = &mut CatalogEntry> {
        self.entries.iter_mut().filter(|entry| pattern.covers(&entry.relation))
    }

    /// Forgets all relations and retires their tables; returns how many facts they had.
    pub(super) async fn clear(
        &mut self,
        session: PgSession<'_, impl GenericClient>,
        schema: &str,
    ) -> Result<u64, StoreError> {
        let retire = format!(
            "WITH cleared AS (DELETE FROM {schema}.relation RETURNING id, facts),
               retired AS (INSERT INTO {schema}.retired SELECT 'f' || id, now() FROM cleared)
             SELECT coalesce(sum(facts), 0)::bigint FROM cleared"
        );
        let n_facts: i64 = value(&session.row(&retire, &[]).await?, 0)?;
        *self = Self { generation: self.generation + 1, entries: Vec::new() };
        Ok(u64::try_from(n_facts).unwrap_or_default())
    }

    /// Statements for the tables that have changed a lot, as after an import. Their counts start again at
    /// zero.
    ///
    /// Until ANALYZE the server plans questions as if the tables were small. Until VACUUM it looks at each
    /// row that it finds in an index, though the index has all that a question needs. Both read few pages:
    /// ANALYZE a sample, VACUUM what has changed, and it leaves rows that were deleted to autovacuum.
    pub(super) fn take_tidying(&mut self, schema: &str) -> Vec<String> {
        let mut changed = Vec::new();
        for entry in self.entries.iter_mut().filter(|entry| entry.has_changed_much()) {
            entry.n_unseen = 0;
            changed.push(format!("{schema}.{}", entry.relation.table));
        }
        if changed.is_empty() {
            return changed;
        }
        let tables = changed.join(", ");
        let vacuum = "VACUUM (SKIP_LOCKED, INDEX_CLEANUP OFF, TRUNCATE OFF)";
        vec![format!("ANALYZE {tables}"), format!("{vacuum} {tables}")]
    }

    /// Writes the counts that changed, and publishes relations with their first facts.
    pub(super) async fn save_counts(
        &mut self,
        session: PgSession<'_, impl GenericClient>,
        schema: &str,
    ) -> Result<(), StoreError> {
        let save = format!(
            "UPDATE {schema}.relation SET facts = facts + $2, used = used OR $3 WHERE id = $1
             RETURNING facts"
        );
        for entry in self.entries.iter_mut().filter(|entry| entry.inserted > 0 || entry.deleted > 0) {
            let difference = signed(entry.inserted)? - signed(entry.deleted)?;
            let is_first = !entry.is_used && entry.inserted > 0;
            let params =
                [(&entry.id as _, Type::INT4), (&difference as _, Type::INT8), (&is_first as _, Type::BOOL)];
            let n_facts: i64 = value(&session.row(&save, &params).await?, 0)?;
            entry.n_facts = u64::try_from(n_facts).unwrap_or_default();
            self.generation += i64::from(is_first);
            entry.n_unseen += entry.inserted + entry.deleted;
            (entry.is_used, entry.inserted, entry.deleted) = (entry.is_used || is_first, 0, 0);
        }
        Ok(())
    }
}

/// Drops the tables of relations that were cleared so long ago that no question and no reading needs them. A
/// table that something else reads, such as a backup, is dropped later: the clock is locked, so others would
/// wait for it, too.
pub(super) async fn drop_retired(
    session: PgSession<'_, impl GenericClient>,
    schema: &str,
    query_time: Duration,
) -> Result<(), StoreError> {
    let unread = format!(
        "SELECT name FROM {schema}.retired WHERE at < now() - $1 * interval '1 second'
         ORDER BY at LIMIT {DROPPED}"
    );
    // A question may take its full time after it got its relations, and once more in its last attempt.
    let time = (query_time * 3).max(LIFETIME * 2).as_secs_f64();
    for row in session.rows(&unread, &[(&time, Type::FLOAT8)]).await? {
        let name: &str = value(&row, 0)?;
        let table = format!("{schema}.{name}");
        let forget = format!("DELETE FROM {schema}.retired WHERE name = $1");
        session.run("SAVEPOINT retired").await?;
        let drop = format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE NOWAIT; DROP TABLE {table}");
        match session.run(&drop).await {
            Err(StoreError::Busy) => session.run("ROLLBACK TO retired").await?,
            dropped => {
                dropped?;
                session.execute(&forget, &[(&name, Type::TEXT)]).await?;
            }
        }
        session.run("RELEASE retired").await?;
    }
    Ok(())
}

fn signed(count: u64) -> Result<i64, StoreError> {
    i64::try_from(count).map_err(|_| StoreError::Bug("a batch with more facts than there are numbers".into()))
}

/// The statements that make a relation's table, with a primary key that starts with the first argument and an
/// index that starts with the last. Values stay in their row as they are: a value of the storage EXTERNAL is
/// not compressed, and the index refuses rows that are too long to stay. Of the storage PLAIN, each would
/// take three bytes more, and be aligned. The facts that the engine accepts are so short that they stay
/// anyway; `toast_tuple_target` is for the longer ones of other callers of the library.
fn table(schema: &str, relation: &StoredRelation) -> String {
    let columns: Vec<String> = relation.columns().map(|(_, column)| column).collect();
    let declared: Vec<String> = columns.iter().map(|column| format!("{column} bytea NOT NULL")).collect();
    let stored: Vec<String> =
        columns.iter().map(|column| format!("ALTER {column} SET STORAGE EXTERNAL")).collect();
    let table = format!("{schema}.{}", relation.table);
    let mut statements = format!(
        "CREATE TABLE {table} ({}, PRIMARY KEY ({})) \
         WITH (autovacuum_analyze_scale_factor = 0.02, toast_tuple_target = 8160);
         ALTER TABLE {table} {};",
        declared.join(", "),
        columns.join(", "),
        stored.join(", ")
    );
    if columns.len() > 1 {
        let reversed: Vec<&str> = columns.iter().rev().map(String::as_str).collect();
        let index = format!("CREATE INDEX {}r ON {table} ({});", relation.table, reversed.join(", "));
        statements.push_str(&index);
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_an_index_from_both_ends() {
        let args = ["Issue", "Repository"].map(|ty| StoredArg::Column(ty.to_owned()));
        let [first, last] = args;
        let fixed = StoredArg::Fixed("String".to_owned(), "repository".to_owned());
        let relation = StoredRelation::numbered(3, "has_relation", vec![first, fixed, last]);
        assert_eq!(
            table("e", &relation),
            "CREATE TABLE e.f3 (a0 bytea NOT NULL, a2 bytea NOT NULL, PRIMARY KEY (a0, a2)) \
             WITH (autovacuum_analyze_scale_factor = 0.02, toast_tuple_target = 8160);
         ALTER TABLE e.f3 ALTER a0 SET STORAGE EXTERNAL, ALTER a2 SET STORAGE EXTERNAL;\
             CREATE INDEX f3r ON e.f3 (a2, a0);"
        );
        let single =
            StoredRelation::numbered(4, "is_public", vec![StoredArg::Column("Repository".to_owned())]);
        assert!(!table("e", &single).contains("CREATE INDEX"));
    }
}
