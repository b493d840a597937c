//! The transactions of a writer, on its connection.

use super::batch::{BatchCounts, BatchTarget};
use super::catalog::{self, Catalog};
use super::connect::{WantedServer, connect};
use super::error::passing;
use super::frontier::Frontier;
use super::kept_nonces::KeptNonces;
use super::keys::{self, LoadedKeys};
use super::policy;
use super::row_change::RowChange;
use super::schema::check_reader;
use super::session::{PgSession, SessionMark, value};
use super::writer::{BatchWork, QueuedBatch, WriteDone, Written};
use super::writer_source::WriterSource;
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use crate::store::fact::Applied;
use crate::store::key::{Access, NewKey, random};
use crate::store::policy::PolicyVersion;
use crate::store::signature::Relations;
use crate::store::token::{Nonce, Token};
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

/// How long a revision is kept, as PostgreSQL reads it.
const KEPT: &str = "24 hours";

/// How many of the oldest revisions are looked at, at least, when old ones are removed.
const LOOKED_AT: i64 = 256;

/// After this many transactions, old revisions and retired tables are removed.
const CLEANED: u64 = 128;

/// How long the end of a transaction that failed may take.
const ROLLBACK_TIME: Duration = Duration::from_secs(2);

/// The connection of a writer.
pub(super) struct WriterConnection {
    client: Client,
    at: String,
    mark: SessionMark,
    /// The relations, equal to those of the database whenever the clock says so.
    catalog: Option<Catalog>,
    n_transactions: u64,
    /// How many revisions were made since old ones were removed.
    n_revisions: i64,
    /// How often the primary had become silent before it was made.
    pub(super) n_silences: u64,
}

/// A transaction that can be committed.
pub(super) struct PreparedWrite {
    /// What each batch did.
    pub(super) outcomes: Vec<Written>,
    /// Identifies it, to find out whether it was committed; `None` if it changed nothing.
    pub(super) stamp: Option<Stamp>,
    /// The relations after it, if the set changed.
    pub(super) relations: Option<Relations>,
    /// The keys after it, if the set changed.
    pub(super) keys: Option<LoadedKeys>,
    /// What the server was asked to have.
    pub(super) named: Frontier,
}

/// The last revision of a transaction, and the random number of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    revision: i64,
    transaction: [u8; 16],
}

impl WriterConnection {
    /// Connects to the primary.
    pub(super) async fn open(source: &WriterSource) -> Result<Self, StoreError> {
        let n_silences = source.address.silence.count();
        let (client, server) = connect(&source.address, WantedServer::ReadWrite).await?;
        let (limit, mark) = (source.limit.as_millis().max(1), SessionMark::new()?);
        let settings = format!(
            "SET search_path = pg_catalog; SET jit = off; SET client_min_messages = warning;
             SET statement_timeout = {limit}; SET lock_timeout = {limit};
             SET idle_in_transaction_session_timeout = {limit}; {}",
            mark.set()
        );
        PgSession::new(&client, &server.at).run(&settings).await?;
        let at = server.at;
        Ok(Self { client, at, mark, catalog: None, n_transactions: 0, n_revisions: 0, n_silences })
    }

    pub(super) fn session(&self) -> PgSession<'_, Client> {
        PgSession::new(&self.client, &self.at)
    }

    /// Runs batches in a transaction, and leaves it open. A batch that fails changes nothing, and the others
    /// are applied. After an error nothing was committed, and the connection cannot be used again.
    pub(super) async fn prepare(
        &mut self,
        WriterSource { schema, environment, limit, published, .. }: &WriterSource,
        group: &[QueuedBatch],
    ) -> Result<PreparedWrite, StoreError> {
        let known = self.catalog.take();
        let is_cleaning = self.n_transactions.is_multiple_of(CLEANED);
        // Twice as many as were made, so that they do not become more and more.
        let n_old = LOOKED_AT.max(2 * self.n_revisions);
        let named = published.frontier();
        let mut open =
            OpenTransaction::begin(self.session(), &self.mark, schema, environment, known, &named).await?;
        let (generation, keys) = (open.catalog.generation, open.keys);
        let mut outcomes = Vec::new();
        for batch in group {
            outcomes.push(open.apply(batch).await?);
        }
        let stamp = open.raise_clock().await?;
        // Read before the commit: nothing may fail between the commit and its acknowledgement.
        let keys = if open.keys == keys { None } else { Some(open.load_keys().await?) };
        if is_cleaning {
            open.remove_old_revisions(n_old).await?;
            catalog::drop_retired(open.session, schema, *limit).await?;
        }
        let OpenTransaction { catalog, .. } = open;
        let relations = (catalog.generation != generation).then(|| catalog.published(schema));
        self.n_transactions += 1;
        let made = i64::try_from(group.len()).unwrap_or(i64::MAX);
        self.n_revisions = if is_cleaning { made } else { self.n_revisions.saturating_add(made) };
        self.catalog = Some(catalog);
        Ok(PreparedWrite { outcomes, stamp, relations, keys, named })
    }

    /// Statements for the tables that the batches on this connection have changed a lot.
    pub(super) fn take_tidying(&mut self, schema: &str) -> Vec<String> {
        self.catalog.as_mut().map(|catalog| catalog.take_tidying(schema)).unwrap_or_default()
    }

    /// Ends the open transaction. If the answer does not come, it may be committed or not.
    pub(super) async fn commit(&self) -> Result<(), StoreError> {
        self.session().run("COMMIT").await
    }

    /// Gives up the connection after an error. Its transaction may hold the lock of the clock, so it ends
    /// before this returns, if the server still answers. Otherwise it might stay open: the connection's own
    /// task, which closes it, runs only while the writer waits for something.
    pub(super) async fn abandon(self, error: &StoreError) {
        if passing(error).is_none() {
            // If this fails, the server ends the transaction with the connection.
            let _ = timeout(ROLLBACK_TIME, self.session().run("ROLLBACK")).await;
        }
        drop(self);
        yield_now().await;
    }

    /// Whether a transaction was committed. This waits until it has ended: it holds the lock of the clock.
    pub(super) async fn has(&self, schema: &str, stamp: Stamp) -> Result<bool, StoreError> {
        let session = self.session();
        session.run("BEGIN").await?;
        session.rows(&format!("SELECT FROM {schema}.clock FOR UPDATE"), &[]).await?;
        // A statement of its own: it sees what was committed while the one before waited.
        let find =
            format!("SELECT EXISTS (SELECT FROM {schema}.revision WHERE revision = $1 AND batch = $2)");
        let params = [(&stamp.revision as _, Type::INT8), (&&stamp.transaction[..] as _, Type::BYTEA)];
        let row = session.row(&find, &params).await?;
        session.run("ROLLBACK").await?;
        value(&row, 0)
    }
}

/// A transaction that holds the lock of the clock.
struct OpenTransaction<'t> {
    session: PgSession<'t, Client>,
    schema: &'t str,
    environment: &'t str,
    catalog: Catalog,
    /// The moment after the last change.
    token: Token,
    /// The number of the active policy, 0 without one.
    policy: i64,
    /// How often the set of keys has changed.
    keys: i64,
    /// The revisions that it makes, with their nonces.
    revisions: Vec<i64>,
    nonces: Vec<i64>,
}

impl<'t> OpenTransaction<'t> {
    /// Locks the clock. The relations that are known from before are used if they are still the same.
    ///
    /// # Errors
    /// [`DatabaseError::TakenOver`] if the server does not have what this process has seen: its writes would
    /// hide that. [`DatabaseError::Outdated`] if this release cannot use the store any more.
    async fn begin(
        session: PgSession<'t, Client>,
        mark: &SessionMark,
        schema: &'t str,
        environment: &'t str,
        known: Option<Catalog>,
        seen: &Frontier,
    ) -> Result<Self, StoreError> {
        session.run("BEGIN").await?;
        let marked = SessionMark::VALUE;
        let lock = format!(
            "SELECT revision, nonce, catalog, policy, keys, min_reader, {marked} FROM {schema}.clock FOR UPDATE"
        );
        let row = session.row(&lock, &[]).await?;
        mark.check(value(&row, 6)?, &session.at())?;
        check_reader(value::<i32>(&row, 5)?.into())?;
        // A statement of its own: it sees what was committed while the one before waited.
        let find = format!("SELECT {}", KeptNonces::expression(schema, 1));
        let revisions: Vec<i64> = seen.tokens().map(Token::number).collect();
        let kept = KeptNonces::read(&session.row(&find, &[(&revisions, Type::INT8_ARRAY)]).await?, 0)?;
        let (revision, nonce, generation): (i64, i64, i64) =
            (value(&row, 0)?, value(&row, 1)?, value(&row, 2)?);
        let catalog = match known.filter(|catalog| catalog.generation == generation) {
            Some(catalog) => catalog,
            None => Catalog::load(session, schema).await?,
        };
        let revision = u64::try_from(revision).unwrap_or_default();
        let token = Token { revision, nonce: Nonce(nonce) };
        if let Some(lost) = seen.tokens().find(|seen| token.lacks(*seen, kept.of(seen.revision))) {
            return Err(DatabaseError::TakenOver { revision: lost.revision }.into());
        }
        let (policy, keys) = (value(&row, 3)?, value(&row, 4)?);
        let (revisions, nonces) = (Vec::new(), Vec::new());
        Ok(Self { session, schema, environment, catalog, token, policy, keys, revisions, nonces })
    }

    /// Applies a batch completely, or not at all; an error if the transaction is lost.
    async fn apply(&mut self, batch: &QueuedBatch) -> Result<Written, StoreError> {
        self.session.run("SAVEPOINT batch").await?;
        let generation = self.catalog.generation;
        let written = match self.run(&batch.work).await {
            Err(error @ StoreError::Database(DatabaseError::Unreachable { .. })) => return Err(error),
            Err(error) => {
                self.session.run("ROLLBACK TO batch").await?;
                self.catalog = Catalog::load(self.session, self.schema).await?;
                // The clock in the database does not know about the batches before this one.
                self.catalog.generation = generation;
                Err(error)
            }
            Ok(done) => Ok((done, self.token)),
        };
        self.session.run("RELEASE batch").await?;
        Ok(written)
    }

    async fn run(&mut self, work: &BatchWork) -> Result<WriteDone, StoreError> {
        Ok(match work {
            BatchWork::Apply { changes, delete_reach } => {
                let counts = self.change(changes, *delete_reach).await?;
                WriteDone::Applied(self.applied(counts))
            }
            BatchWork::Clear => {
                let counts = self.clear().await?;
                WriteDone::Applied(self.applied(counts))
            }
            BatchWork::PutPolicy { src, filename } => {
                WriteDone::Policy(self.put_policy(src, filename).await?)
            }
            BatchWork::CreateKey { name, access } => {
                WriteDone::Created(self.create_key(name, *access).await?)
            }
            BatchWork::RevokeKey(id) => WriteDone::Revoked(self.revoke_key(id).await?),
        })
    }

    fn applied(&self, BatchCounts { inserted, deleted }: BatchCounts) -> Applied {
        Applied { offset: self.token.revision, nonce: Some(self.token.nonce), inserted, deleted }
    }

    async fn change(
        &mut self,
        changes: &[RowChange],
        delete_reach: Option<u64>,
    ) -> Result<BatchCounts, StoreError> {
        let Self { session, schema, catalog, .. } = self;
        let mut target = BatchTarget { session: *session, schema, catalog };
        let counts = target.apply(changes, delete_reach).await?;
        catalog.save_counts(*session, schema).await?;
        if counts.inserted + counts.deleted > 0 {
            self.advance()?;
        }
        Ok(counts)
    }

    /// Forgets all relations and policies. The tables stay for a while: questions that began before read
    /// them.
    async fn clear(&mut self) -> Result<BatchCounts, StoreError> {
        let deleted = self.catalog.clear(self.session, self.schema).await?;
        self.session.run(&format!("DELETE FROM {}.policy", self.schema)).await?;
        self.advance()?;
        self.policy = 0;
        Ok(BatchCounts { inserted: 0, deleted })
    }

    async fn put_policy(&mut self, src: &str, filename: &str) -> Result<PolicyVersion, StoreError> {
        let version = policy::put(self.session, self.schema, src, filename).await?;
        self.advance()?;
        self.policy = i64::try_from(version.id).unwrap_or(i64::MAX);
        Ok(version)
    }

    async fn create_key(&mut self, name: &str, access: Access) -> Result<NewKey, StoreError> {
        let new = keys::create(self.session, self.schema, self.environment, name, access).await?;
        self.change_keys()?;
        Ok(new)
    }

    async fn revoke_key(&mut self, id: &str) -> Result<bool, StoreError> {
        let exists = keys::revoke(self.session, self.schema, id).await?;
        if exists {
            self.change_keys()?;
        }
        Ok(exists)
    }

    /// Records that the set of keys changed. This also makes a revision: otherwise a commit whose answer was
    /// lost could not be found.
    fn change_keys(&mut self) -> Result<(), StoreError> {
        self.advance()?;
        self.keys += 1;
        Ok(())
    }

    async fn load_keys(&self) -> Result<LoadedKeys, StoreError> {
        keys::load(self.session, self.schema, self.environment).await
    }

    /// Makes a revision.
    fn advance(&mut self) -> Result<(), StoreError> {
        let nonce = i64::from_ne_bytes(random()?);
        self.token = Token { revision: self.token.revision + 1, nonce: Nonce(nonce) };
        self.revisions.push(i64::try_from(self.token.revision).unwrap_or(i64::MAX));
        self.nonces.push(nonce);
        Ok(())
    }

    /// Writes the new revisions, if there are any.
    async fn raise_clock(&self) -> Result<Option<Stamp>, StoreError> {
        let (Self { session, schema, .. }, Some(&revision)) = (self, self.revisions.last()) else {
            return Ok(None);
        };
        let stamp = Stamp { revision, transaction: random()? };
        let note = format!(
            "INSERT INTO {schema}.revision
             SELECT made.revision, made.nonce, now(), $3
             FROM unnest($1::bigint[], $2::bigint[]) made (revision, nonce)"
        );
        let params = [
            (&self.revisions as _, Type::INT8_ARRAY),
            (&self.nonces as _, Type::INT8_ARRAY),
            (&&stamp.transaction[..] as _, Type::BYTEA),
        ];
        session.execute(&note, &params).await?;
        let raise = format!(
            "UPDATE {schema}.clock
             SET revision = $1, nonce = $2, catalog = $3, policy = $4, keys = $5, beat = now()"
        );
        let Token { nonce: Nonce(nonce), .. } = self.token;
        let params = [
            (&revision as _, Type::INT8),
            (&nonce as _, Type::INT8),
            (&self.catalog.generation as _, Type::INT8),
            (&self.policy as _, Type::INT8),
            (&self.keys as _, Type::INT8),
        ];
        session.execute(&raise, &params).await?;
        Ok(Some(stamp))
    }

    /// Removes those of the `n` oldest revisions that are too old to be asked for.
    async fn remove_old_revisions(&self, n: i64) -> Result<(), StoreError> {
        let Self { session, schema, .. } = self;
        let remove = format!(
            "DELETE FROM {schema}.revision WHERE revision IN (
               SELECT o.revision FROM (SELECT * FROM {schema}.revision ORDER BY revision LIMIT $1) o
               WHERE o.at < now() - $2::text::interval)"
        );
        session.execute(&remove, &[(&n, Type::INT8), (&KEPT, Type::TEXT)]).await.map(|_| ())
    }
}
