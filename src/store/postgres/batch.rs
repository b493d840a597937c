//! Applies the changes of one batch inside a transaction.
//!
//! Values are always parameters; the text of a statement contains only the names of tables and columns, which
//! are made from numbers.

use super::catalog::Catalog;
use super::facts::matching;
use super::new_rows::NewRows;
use super::row_change::{FactRows, RowChange};
use super::session::PgSession;
use super::value::form;
use crate::store::error::StoreError;
use crate::store::fact::FactPattern;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

/// How many facts a batch added and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BatchCounts {
    pub(super) inserted: u64,
    pub(super) deleted: u64,
}

/// An environment inside a transaction.
pub(super) struct BatchTarget<'t> {
    pub(super) session: PgSession<'t, Client>,
    pub(super) schema: &'t str,
    pub(super) catalog: &'t mut Catalog,
}

impl BatchTarget<'_> {
    /// Applies the changes in order. Fails if a pattern of a deletion matches more facts than `delete_reach`.
    pub(super) async fn apply(
        &mut self,
        changes: &[RowChange],
        delete_reach: Option<u64>,
    ) -> Result<BatchCounts, StoreError> {
        let mut counts = BatchCounts::default();
        for change in changes {
            match change {
                RowChange::Insert(facts) => counts.inserted += self.insert(facts).await?,
                RowChange::Delete(patterns) => {
                    for pattern in patterns {
                        let matched = self.delete(pattern).await?;
                        if let Some(allowed) = delete_reach.filter(|allowed| matched > *allowed) {
                            return Err(StoreError::Reach { matched, allowed });
                        }
                        counts.deleted += matched;
                    }
                }
            }
        }
        Ok(counts)
    }

    /// Inserts facts, a statement for each relation; returns how many were new.
    async fn insert(&mut self, facts: &[FactRows]) -> Result<u64, StoreError> {
        let mut inserted = 0;
        for FactRows { first, rows } in facts {
            let entry = self.catalog.place_of(self.session, self.schema, first).await?;
            let new = NewRows::of(&entry.relation, rows).insert(self.session, self.schema).await?;
            entry.count(new, 0);
            inserted += new;
        }
        Ok(inserted)
    }

    /// Deletes every fact that matches a pattern; returns how many there were.
    async fn delete(&mut self, pattern: &FactPattern) -> Result<u64, StoreError> {
        let mut deleted = 0;
        for entry in self.catalog.covered_by(pattern) {
            let (condition, values) = matching(&entry.relation, pattern);
            let values: Vec<Vec<u8>> = values.into_iter().map(form).collect();
            let delete = format!("DELETE FROM {}.{}{condition}", self.schema, entry.relation.table);
            let params: Vec<(&(dyn ToSql + Sync), Type)> =
                values.iter().map(|value| (value as _, Type::BYTEA)).collect();
            let gone = self.session.execute(&delete, &params).await?;
            entry.count(0, gone);
            deleted += gone;
        }
        Ok(deleted)
    }
}
