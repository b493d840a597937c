//! The clock of an environment: one row that every batch updates first, and that every question reads in its
//! own statement.
//!
//! So the clock and the answer are of the same snapshot, whichever server answers. A statement that
//! was printed for a question is wrapped:
//!
//! ```text
//! SELECT <clock>, CASE WHEN c.revision >= $k THEN (<statement>) END FROM clock c
//!
//! SELECT <clock>, NULL, … FROM clock c
//! UNION ALL (SELECT NULL, …, q.* FROM (<statement>) q WHERE (SELECT revision FROM clock) >= $k)
//! ```
//!
//! `$k` is the revision that the question must see. A server that has not seen it evaluates nothing. In rows,
//! the clock comes first: without a parallel plan, which the sessions of readers exclude, PostgreSQL runs the
//! arms of `UNION ALL` in order. `$k+1` and `$k+2` are the revisions whose nonces are looked up, or NULL.

use super::session::{PgSession, value};
use super::value::SentParam;
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use crate::store::token::{Nonce, Token};
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Row};

/// How many columns the clock has in front of those of the statement.
pub(super) const N_COLUMNS: usize = 8;

/// The clock as a question saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// All writes up to here are in the answer.
    pub token: Token,
    /// The number of the active policy, 0 without one.
    pub policy: i64,
    /// How often the set of relations has changed.
    pub catalog: i64,
    /// How often the set of keys has changed.
    pub keys: i64,
    /// Whether the server accepts no writes.
    pub is_standby: bool,
}

/// Whether a question saw the writes that it must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// It saw them.
    Seen,
    /// The server has not received them yet.
    Behind,
    /// They are lost: the primary has not seen them, or another batch has their revision.
    Lost,
}

/// The writes that a question must see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WantedWrites {
    /// Those that this process has seen.
    pub(super) seen: Option<Token>,
    /// Those that the question names.
    pub(super) after: Option<Token>,
}

impl WantedWrites {
    /// The parameters of the clock, which follow those of the statement.
    pub(super) fn params(self) -> [SentParam; 3] {
        self.revisions().map(SentParam::Number)
    }

    fn revisions(self) -> [Option<i64>; 3] {
        let [seen, after] = [self.seen, self.after]
            .map(|token| token.map(|token| i64::try_from(token.revision).unwrap_or(i64::MAX)));
        [seen.max(after).or(Some(0)), seen, after]
    }
}

/// A row of the clock: as it is, and the nonces of the revisions that were looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockRow {
    clock: Clock,
    found_seen: Option<Nonce>,
    found_after: Option<Nonce>,
}

/// A statement with one truth value, with the clock. It has `n_params` parameters and gets three more.
pub(super) fn decision(schema: &str, statement: &str, n_params: usize) -> String {
    let (columns, seen) = (columns(schema, n_params), n_params + 1);
    format!("SELECT {columns}, CASE WHEN c.revision >= ${seen} THEN ({statement}) END FROM {schema}.clock c")
}

/// A statement with rows of values, with the clock as its first row.
pub(super) fn rows(schema: &str, statement: &str, n_params: usize, n_columns: usize) -> String {
    below(schema, statement, n_params, &", NULL::bytea".repeat(n_columns))
}

/// The same for a statement whose columns have these types.
pub(super) fn records(schema: &str, statement: &str, n_params: usize, types: &[&str]) -> String {
    let nulls: String = types.iter().flat_map(|ty| [", NULL::", ty]).collect();
    below(schema, statement, n_params, &nulls)
}

/// A statement below the clock, which has these NULLs in the columns of the statement.
fn below(schema: &str, statement: &str, n_params: usize, nulls: &str) -> String {
    let (columns, seen) = (columns(schema, n_params), n_params + 1);
    let all = if nulls.is_empty() { "" } else { ", q.*" };
    format!(
        "SELECT {columns}{nulls} FROM {schema}.clock c UNION ALL (SELECT NULL, NULL, NULL, NULL, NULL, NULL, \
         NULL, NULL{all} FROM ({statement}) q WHERE (SELECT revision FROM {schema}.clock) >= ${seen})"
    )
}

/// The clock alone.
pub(super) fn alone(schema: &str) -> String {
    format!("SELECT {} FROM {schema}.clock c WHERE $1::bigint IS NOT NULL", columns(schema, 0))
}

/// The clock now, on a connection that no reader has.
pub(super) async fn read(
    session: PgSession<'_, impl GenericClient>,
    schema: &str,
    wanted: WantedWrites,
) -> Result<Clock, StoreError> {
    let params = wanted.revisions();
    let params = params.each_ref().map(|revision| (revision as _, Type::INT8));
    ClockRow::read(&session.row(&alone(schema), &params).await?)?.checked(wanted)
}

/// The secret that was made with the environment.
pub(super) async fn secret(
    session: PgSession<'_, impl GenericClient>,
    schema: &str,
) -> Result<[u8; 32], StoreError> {
    let row = session.row(&format!("SELECT secret FROM {schema}.clock"), &[]).await?;
    let secret: &[u8] = value(&row, 0)?;
    secret.try_into().map_err(|_| StoreError::Corrupt("the secret has a wrong length".to_owned()))
}

fn columns(schema: &str, n_params: usize) -> String {
    let nonce = |param| format!("(SELECT r.nonce FROM {schema}.revision r WHERE r.revision = ${param})");
    let [seen, after] = [n_params + 2, n_params + 3].map(nonce);
    format!("c.revision, c.nonce, c.policy, c.catalog, c.keys, pg_is_in_recovery(), {seen}, {after}")
}

impl ClockRow {
    /// Reads it from the first columns of a row.
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let revision: i64 = value(row, 0)?;
        let revision = u64::try_from(revision)
            .map_err(|_| StoreError::Corrupt(format!("the clock has the revision {revision}")))?;
        let token = Token { revision, nonce: Nonce(value(row, 1)?) };
        let (policy, catalog, keys) = (value(row, 2)?, value(row, 3)?, value(row, 4)?);
        let clock = Clock { token, policy, catalog, keys, is_standby: value(row, 5)? };
        let found = |column| Ok::<_, StoreError>(value::<Option<i64>>(row, column)?.map(Nonce));
        Ok(Self { clock, found_seen: found(6)?, found_after: found(7)? })
    }

    /// The clock.
    ///
    /// # Errors
    /// [`DatabaseError::TakenOver`] if a write is lost that this process has seen, and
    /// [`DatabaseError::LostWrite`] if one is lost that the question names. [`DatabaseError::Behind`] on a
    /// standby that has not received one of them yet.
    pub(super) fn checked(&self, WantedWrites { seen, after }: WantedWrites) -> Result<Clock, StoreError> {
        let revision = |token: Option<Token>| token.map_or(0, |token| token.revision);
        match (self.clock.sight(seen, self.found_seen), self.clock.sight(after, self.found_after)) {
            (Sight::Lost, _) => Err(DatabaseError::TakenOver { revision: revision(seen) }.into()),
            (_, Sight::Lost) => Err(DatabaseError::LostWrite { revision: revision(after) }.into()),
            (Sight::Behind, _) => Err(DatabaseError::Behind { revision: revision(seen) }.into()),
            (_, Sight::Behind) => Err(DatabaseError::Behind { revision: revision(after) }.into()),
            (Sight::Seen, Sight::Seen) => Ok(self.clock),
        }
    }
}

impl Clock {
    /// Whether all writes up to this token were seen. `found` is the nonce of its revision, which is not kept
    /// for old ones: of these, only the number is known.
    fn sight(&self, token: Option<Token>, found: Option<Nonce>) -> Sight {
        match token {
            None => Sight::Seen,
            Some(token) if self.is_standby && self.token.revision < token.revision => Sight::Behind,
            Some(token) if self.token.lacks(token, found) => Sight::Lost,
            Some(_) => Sight::Seen,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::address::Address;
    use super::super::connect::WantedServer;
    use super::super::migrate::migrate;
    use super::super::pinned::ReaderSource;
    use super::*;
    use portcullis_testkit::cluster::Cluster;
    use std::ops::ControlFlow;

    const NONCE: Nonce = Nonce(-5);

    /// What the order of the rows rests on, and that a server that is behind evaluates nothing.
    #[tokio::test]
    async fn the_clock_is_the_first_arm_and_the_condition_comes_before_the_question() {
        let cluster = Cluster::start(&["shared_buffers=16MB"]).unwrap();
        let address = format!("postgres://postgres@/postgres?host={}", cluster.folder);
        let address = Address::parse(&address).unwrap();
        migrate(&address, "default").await.unwrap();
        let limit = std::time::Duration::from_secs(10);
        let schema = "portcullis_e1".to_owned();
        let source = ReaderSource { address, wanted: WantedServer::Any, schema, limit };
        let mut connection = source.connect().await.unwrap();
        let wrapped = rows(&source.schema, "SELECT seal FROM portcullis_e1.policy ORDER BY seal", 0, 1);
        let explain = format!("EXPLAIN (COSTS OFF) {wrapped}")
            .replace("$1", "0")
            .replace("$2", "NULL")
            .replace("$3", "NULL");
        let mut plan = Vec::new();
        let mut each = |row: &Row| {
            plan.push(value::<String>(row, 0)?);
            Ok(ControlFlow::Continue(()))
        };
        connection.stream(&explain, &[], &mut each).await.unwrap();
        insta::assert_snapshot!(plan.join("\n"), @r"
        Append
          ->  Seq Scan on clock c
                InitPlan 1 (returns $0)
                  ->  Result
                        One-Time Filter: false
                InitPlan 2 (returns $1)
                  ->  Result
                        One-Time Filter: false
          ->  Result
                One-Time Filter: ($2 >= 0)
                InitPlan 3 (returns $2)
                  ->  Seq Scan on clock
                ->  Sort
                      Sort Key: policy.seal
                      ->  Seq Scan on policy
        ");
    }

    fn clock(revision: u64, is_standby: bool, nonce: Nonce) -> Clock {
        Clock { token: Token { revision, nonce }, policy: 0, catalog: 0, keys: 0, is_standby }
    }

    #[test]
    fn a_server_has_seen_a_write_if_its_revision_has_the_same_nonce() {
        let token = Some(Token { revision: 7, nonce: NONCE });
        let sight = |revision, is_standby, found: Option<Nonce>| {
            clock(revision, is_standby, found.unwrap_or(Nonce(1))).sight(token, found)
        };
        assert_eq!(clock(0, false, NONCE).sight(None, None), Sight::Seen);
        assert_eq!(sight(7, false, Some(NONCE)), Sight::Seen);
        assert_eq!(sight(9, true, Some(NONCE)), Sight::Seen);
        // The revision is no longer kept.
        assert_eq!(sight(9, false, None), Sight::Seen);
        assert_eq!(sight(7, false, None), Sight::Lost);
        assert_eq!(sight(6, true, None), Sight::Behind);
        assert_eq!(sight(6, false, None), Sight::Lost);
        assert_eq!(sight(9, false, Some(Nonce(6))), Sight::Lost);
        assert_eq!(sight(9, true, Some(Nonce(6))), Sight::Lost);
    }

    #[test]
    fn what_this_process_has_seen_and_what_a_question_names_are_both_looked_up() {
        let token = |revision, nonce| Some(Token { revision, nonce: Nonce(nonce) });
        let checked = |revision, is_standby, found: [i64; 2], seen, after| {
            let [found_seen, found_after] = found.map(|nonce| Some(Nonce(nonce)));
            let row = ClockRow { clock: clock(revision, is_standby, Nonce(1)), found_seen, found_after };
            match row.checked(WantedWrites { seen, after }) {
                Ok(_) => Ok(()),
                Err(StoreError::Database(error)) => Err(error),
                Err(other) => panic!("{other}"),
            }
        };
        assert_eq!(checked(9, false, [5, 7], token(5, 5), token(7, 7)), Ok(()));
        // The server that took over has more writes than this process, and others.
        let taken_over = Err(DatabaseError::TakenOver { revision: 5 });
        assert_eq!(checked(9, false, [6, 7], token(5, 5), token(7, 7)), taken_over);
        assert_eq!(checked(9, false, [6, 7], token(5, 5), token(7, 8)), taken_over);
        let lost = Err(DatabaseError::LostWrite { revision: 7 });
        assert_eq!(checked(9, false, [5, 7], token(5, 5), token(7, 8)), lost);
        assert_eq!(
            checked(6, true, [5, 7], token(5, 5), token(7, 8)),
            Err(DatabaseError::Behind { revision: 7 })
        );
    }

    #[test]
    fn the_later_revision_is_the_condition_of_a_statement() {
        let token = |revision| Some(Token { revision, nonce: NONCE });
        let params = |seen, after| format!("{:?}", WantedWrites { seen, after }.params());
        assert_eq!(params(None, None), "[Number(Some(0)), Number(None), Number(None)]");
        assert_eq!(params(token(5), None), "[Number(Some(5)), Number(Some(5)), Number(None)]");
        assert_eq!(params(token(5), token(7)), "[Number(Some(7)), Number(Some(5)), Number(Some(7))]");
        assert_eq!(params(token(9), token(7)), "[Number(Some(9)), Number(Some(9)), Number(Some(7))]");
    }

    #[test]
    fn statements_are_wrapped_with_three_more_parameters() {
        let columns = "c.revision, c.nonce, c.policy, c.catalog, c.keys, pg_is_in_recovery(), \
                       (SELECT r.nonce FROM e.revision r WHERE r.revision = $4), \
                       (SELECT r.nonce FROM e.revision r WHERE r.revision = $5)";
        assert_eq!(
            decision("e", "SELECT $1 = $2", 2),
            format!("SELECT {columns}, CASE WHEN c.revision >= $3 THEN (SELECT $1 = $2) END FROM e.clock c")
        );
        assert_eq!(
            rows("e", "SELECT a0, a2 FROM e.f1", 2, 2),
            format!(
                "SELECT {columns}, NULL::bytea, NULL::bytea FROM e.clock c UNION ALL (SELECT NULL, NULL, NULL, \
                 NULL, NULL, NULL, NULL, NULL, q.* FROM (SELECT a0, a2 FROM e.f1) q \
                 WHERE (SELECT revision FROM e.clock) >= $3)"
            )
        );
    }
}
