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
//! arms of `UNION ALL` in order. `$k+1` are the revisions whose nonces are looked up.
//!
//! The clock also says which releases can still read the store. So a node whose release a migration has left
//! behind refuses the next question and the next batch, and uses nothing of the answer.

use super::frontier::Frontier;
use super::kept_nonces::KeptNonces;
use super::schema::check_reader;
use super::session::{PgSession, SessionMark, value};
use super::value::SentParam;
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use crate::store::token::{Nonce, Token};
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Row};

/// How many columns the clock has in front of those of the statement.
pub(super) const N_COLUMNS: usize = 2;

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WantedWrites {
    /// Those that this process has seen.
    pub(super) seen: Option<Frontier>,
    /// Those that the question names.
    pub(super) after: Option<Token>,
    /// A moment that the server must know by its random number.
    pub(super) known: Option<Token>,
}

impl WantedWrites {
    /// The parameters of the clock, which follow those of the statement.
    pub(super) fn params(&self) -> [SentParam; 2] {
        let (least, all) = self.revisions();
        [SentParam::Number(least), SentParam::Numbers(all)]
    }

    /// The revision that the server must have, and all that are looked up.
    fn revisions(&self) -> (i64, Vec<i64>) {
        let seen = self.seen.iter().flat_map(Frontier::tokens);
        let all: Vec<i64> = seen.chain(self.after).chain(self.known).map(Token::number).collect();
        (all.iter().copied().max().unwrap_or_default(), all)
    }
}

/// A row of the clock: as it is, and the nonces of the revisions that were looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClockRow {
    clock: Clock,
    /// The oldest format whose releases can use the store.
    min_reader: i64,
    kept: KeptNonces,
}

/// A statement with one truth value, with the clock. It has `n_params` parameters and gets two more.
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
        "SELECT {columns}{nulls} FROM {schema}.clock c UNION ALL (SELECT NULL, NULL{all} FROM ({statement}) q \
         WHERE (SELECT revision FROM {schema}.clock) >= ${seen})"
    )
}

/// A statement with the parameters of one below the clock, but without the clock, for its plan.
pub(super) fn alone_below(schema: &str, statement: &str, n_params: usize) -> String {
    let seen = n_params + 1;
    let looked_up = seen + 1;
    format!(
        "SELECT q.* FROM ({statement}) q WHERE (SELECT revision FROM {schema}.clock) >= ${seen} \
         AND ${looked_up}::bigint[] IS NOT NULL"
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
    wanted: &WantedWrites,
) -> Result<Clock, StoreError> {
    let (least, all) = wanted.revisions();
    let params = [(&least as _, Type::INT8), (&all as _, Type::INT8_ARRAY)];
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
    let kept = KeptNonces::expression(schema, n_params + 2);
    let mark = SessionMark::VALUE;
    // One array: every row of an answer has the columns of the clock, too.
    format!(
        "ARRAY[c.revision, c.nonce, c.policy, c.catalog, c.keys, c.min_reader, pg_is_in_recovery()::integer] \
         || {kept}, {mark}"
    )
}

/// The mark of the session in a row of the clock.
pub(super) fn mark(row: &Row) -> Result<Option<&str>, StoreError> {
    value(row, 1)
}

impl ClockRow {
    /// Reads it from the first columns of a row.
    pub(super) fn read(row: &Row) -> Result<Self, StoreError> {
        let numbers: Vec<i64> = value(row, 0)?;
        let [revision, nonce, policy, catalog, keys, min_reader, is_standby, ref kept @ ..] = numbers[..]
        else {
            return Err(StoreError::Bug("the clock lacks a number".to_owned()));
        };
        let revision = u64::try_from(revision)
            .map_err(|_| StoreError::Corrupt(format!("the clock has the revision {revision}")))?;
        let token = Token { revision, nonce: Nonce(nonce) };
        let clock = Clock { token, policy, catalog, keys, is_standby: is_standby != 0 };
        Ok(Self { clock, min_reader, kept: KeptNonces::of_pairs(kept) })
    }

    /// The clock.
    ///
    /// # Errors
    /// [`DatabaseError::Outdated`] if this release cannot use the store any more.
    /// [`DatabaseError::TakenOver`] if a write is lost that this process has seen, and
    /// [`DatabaseError::LostWrite`] if one is lost that the question names. [`DatabaseError::Behind`] on a
    /// standby that has not received one of them yet.
    pub(super) fn checked(
        &self,
        WantedWrites { seen, after, known }: &WantedWrites,
    ) -> Result<Clock, StoreError> {
        check_reader(self.min_reader)?;
        let seen = seen.iter().flat_map(Frontier::tokens);
        let with = |sight: Sight| move |token: &Token| self.sight(*token) == sight;
        let error = if let Some(Token { revision, .. }) = seen.clone().find(with(Sight::Lost)) {
            DatabaseError::TakenOver { revision }
        } else if let Some(Token { revision, .. }) = after.filter(with(Sight::Lost)) {
            DatabaseError::LostWrite { revision }
        } else if let Some(Token { revision, .. }) = known.filter(|known| !self.knows(*known)) {
            DatabaseError::LostWrite { revision }
        } else if let Some(Token { revision, .. }) = seen.chain(*after).find(with(Sight::Behind)) {
            DatabaseError::Behind { revision }
        } else {
            return Ok(self.clock);
        };
        Err(error.into())
    }

    /// Whether this moment was the server's, as its random number shows.
    fn knows(&self, moment: Token) -> bool {
        self.clock.token == moment || self.kept.of(moment.revision) == Some(moment.nonce)
    }

    /// Whether all writes up to this token were seen.
    fn sight(&self, write: Token) -> Sight {
        let Clock { token, is_standby, .. } = self.clock;
        if is_standby && token.revision < write.revision {
            Sight::Behind
        } else if token.lacks(write, self.kept.of(write.revision)) {
            Sight::Lost
        } else {
            Sight::Seen
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::address::Address;
    use super::super::connect::WantedServer;
    use super::super::migrate::migrate;
    use super::super::pinned::ReaderSource;
    use super::super::schema::FORMAT;
    use super::*;
    use portcullis_testkit::cluster::Cluster;
    use std::ops::ControlFlow;

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
        let mut connection = source.connect(&SessionMark::new().unwrap()).await.unwrap();
        let wrapped = rows(&source.schema, "SELECT seal FROM portcullis_e1.policy ORDER BY seal", 0, 1);
        let explain = format!("EXPLAIN (COSTS OFF) {wrapped}").replace("$1", "0").replace("$2", "'{}'");
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
                  ->  ProjectSet
                        ->  Index Scan using revision_pkey on revision r
                              Index Cond: (revision = ANY ('{}'::bigint[]))
          ->  Result
                One-Time Filter: ($1 >= 0)
                InitPlan 2 (returns $1)
                  ->  Seq Scan on clock
                ->  Sort
                      Sort Key: policy.seal
                      ->  Seq Scan on policy
        ");
    }

    /// A clock at a revision with the nonce 1, and the nonces of some revisions.
    fn row(revision: u64, is_standby: bool, kept: &[(u64, i64)]) -> ClockRow {
        let token = Token { revision, nonce: Nonce(1) };
        let clock = Clock { token, policy: 0, catalog: 0, keys: 0, is_standby };
        let pairs: Vec<i64> = kept.iter().flat_map(|(of, nonce)| [of.cast_signed(), *nonce]).collect();
        let kept = KeptNonces::of_pairs(&pairs);
        ClockRow { clock, min_reader: i64::from(FORMAT), kept }
    }

    fn token(revision: u64, nonce: i64) -> Token {
        Token { revision, nonce: Nonce(nonce) }
    }

    #[test]
    fn a_server_has_seen_a_write_if_its_revision_has_the_same_nonce() {
        let sight = |revision, is_standby, kept: &[_]| row(revision, is_standby, kept).sight(token(7, 5));
        let same = row(7, false, &[(7, 1)]).sight(token(7, 1));
        assert_eq!(same, Sight::Seen);
        assert_eq!(sight(9, false, &[(7, 5)]), Sight::Seen);
        assert_eq!(sight(9, true, &[(5, 6), (7, 5)]), Sight::Seen);
        // The revision is no longer kept.
        assert_eq!(sight(9, false, &[(5, 6)]), Sight::Seen);
        assert_eq!(sight(7, false, &[]), Sight::Lost);
        assert_eq!(sight(6, true, &[]), Sight::Behind);
        assert_eq!(sight(6, false, &[]), Sight::Lost);
        assert_eq!(sight(9, false, &[(7, 6)]), Sight::Lost);
        assert_eq!(sight(9, true, &[(7, 6)]), Sight::Lost);
    }

    #[test]
    fn a_store_that_needs_a_later_release_is_refused_whatever_was_seen() {
        let newer = ClockRow { min_reader: i64::from(FORMAT) + 1, ..row(3, true, &[]) };
        for after in [None, Some(token(7, 5))] {
            let refused = newer.checked(&WantedWrites { after, ..WantedWrites::default() }).unwrap_err();
            assert_eq!(
                refused.to_string(),
                format!(
                    "the store was migrated: it needs a release that knows format {}, and this one knows formats up to \
                     {FORMAT}; upgrade this node to the release that migrated it",
                    FORMAT + 1
                )
            );
        }
    }

    #[test]
    fn what_this_process_has_seen_and_what_a_question_names_are_both_looked_up() {
        let mut two = Frontier::from(token(4, 4));
        two.add(token(5, 5), None);
        let checked = |revision, is_standby, kept: &[_], after| {
            let wanted = WantedWrites { seen: Some(two.clone()), after: Some(after), known: None };
            match row(revision, is_standby, kept).checked(&wanted) {
                Ok(_) => Ok(()),
                Err(StoreError::Database(error)) => Err(error),
                Err(other) => panic!("{other}"),
            }
        };
        assert_eq!(checked(9, false, &[(4, 4), (5, 5), (7, 7)], token(7, 7)), Ok(()));
        // The server that took over has more writes than this process knows, and different ones.
        let taken_over = |revision| Err(DatabaseError::TakenOver { revision });
        assert_eq!(checked(9, false, &[(4, 4), (5, 6), (7, 7)], token(7, 7)), taken_over(5));
        assert_eq!(checked(9, false, &[(4, 6), (5, 5), (7, 7)], token(7, 8)), taken_over(4));
        let lost = Err(DatabaseError::LostWrite { revision: 7 });
        assert_eq!(checked(9, false, &[(4, 4), (5, 5), (7, 7)], token(7, 8)), lost);
        let behind = Err(DatabaseError::Behind { revision: 7 });
        assert_eq!(checked(6, true, &[(4, 4), (5, 5)], token(7, 8)), behind);
    }

    #[test]
    fn a_moment_is_known_by_its_random_number_alone() {
        let checked = |kept: &[_], known| {
            let wanted = WantedWrites { known: Some(known), ..WantedWrites::default() };
            row(9, false, kept).checked(&wanted).is_ok()
        };
        assert!(checked(&[], token(9, 1)) && checked(&[(7, 5)], token(7, 5)));
        assert!(!checked(&[], token(9, 2)) && !checked(&[(7, 6)], token(7, 5)));
        // Not kept any more: it may be of another history.
        assert!(!checked(&[], token(7, 5)) && !checked(&[], token(11, 5)));
    }

    #[test]
    fn the_greatest_revision_is_the_condition_of_a_statement() {
        let params = |seen: Option<u64>, after: Option<u64>| {
            let seen = seen.map(|revision| token(revision, 5).into());
            WantedWrites { seen, after: after.map(|revision| token(revision, 5)), known: None }.revisions()
        };
        assert_eq!(params(None, None), (0, vec![]));
        assert_eq!(params(Some(5), None), (5, vec![5]));
        assert_eq!(params(Some(5), Some(7)), (7, vec![5, 7]));
        assert_eq!(params(Some(9), Some(7)), (9, vec![9, 7]));
    }

    #[test]
    fn statements_are_wrapped_with_two_more_parameters() {
        let columns = "ARRAY[c.revision, c.nonce, c.policy, c.catalog, c.keys, c.min_reader, \
                       pg_is_in_recovery()::integer] || ARRAY(SELECT unnest(ARRAY[r.revision, r.nonce]) FROM e.revision r \
                       WHERE r.revision = ANY($4)), current_setting('portcullis.session', true)";
        assert_eq!(
            decision("e", "SELECT $1 = $2", 2),
            format!("SELECT {columns}, CASE WHEN c.revision >= $3 THEN (SELECT $1 = $2) END FROM e.clock c")
        );
        assert_eq!(
            rows("e", "SELECT a0, a2 FROM e.f1", 2, 2),
            format!(
                "SELECT {columns}, NULL::bytea, NULL::bytea FROM e.clock c UNION ALL (SELECT NULL, NULL, q.* \
                 FROM (SELECT a0, a2 FROM e.f1) q WHERE (SELECT revision FROM e.clock) >= $3)"
            )
        );
    }
}
