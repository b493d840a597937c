//! The table of policy versions.
//!
//! Each has its own seal. A letter that changes on the disk makes another policy, which may be valid and
//! grant something else, so a text that does not match its seal is never returned.

use super::PostgresStore;
use super::clock::N_COLUMNS;
use super::published::SeenMoment;
use super::reader::PgReader;
use super::schema::now;
use super::session::{PgSession, value};
use super::value::SentParam;
use super::writer::{BatchWork, WriteDone};
use crate::store::error::StoreError;
use crate::store::policy::{PolicyVersion, StoredPolicy, seal};
use crate::store::token::Token;
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Row};

/// The columns of a version, with their types.
const VERSION: &str = "id, filename, created, active";
const VERSION_TYPES: [&str; 4] = ["bigint", "text", "bigint", "boolean"];

impl PostgresStore {
    /// Stores a policy as the active one. Returns also the moment after it: from then on, the clock has its
    /// number.
    pub async fn put_policy(
        &self,
        src: String,
        filename: String,
    ) -> Result<(PolicyVersion, Token), StoreError> {
        match self.writer.write(BatchWork::PutPolicy { src, filename }).await? {
            (WriteDone::Policy(version), token) => {
                self.published.note_policy(SeenMoment { token, policy: version.id });
                Ok((version, token))
            }
            (other, _) => Err(other.unexpected()),
        }
    }
}

impl PgReader {
    /// The policy with this id, or the active one.
    pub fn policy(&self, id: Option<u64>) -> Result<Option<StoredPolicy>, StoreError> {
        let (condition, params) = match id {
            None => ("active", Vec::new()),
            // No policy has a number that is larger than those of PostgreSQL, or this one.
            Some(id) => {
                let id = i64::try_from(id).unwrap_or(i64::MAX);
                ("id = $1", vec![SentParam::Number(id)])
            }
        };
        let find = format!("SELECT {VERSION}, src, seal FROM {}.policy WHERE {condition}", self.schema());
        let types = [&VERSION_TYPES[..], &["text", "bytea"]].concat();
        let mut found = None;
        self.records(&find, &types, params, &mut |row| {
            found = Some(sealed(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// All versions, oldest first, without their texts.
    pub fn policy_versions(&self) -> Result<Vec<PolicyVersion>, StoreError> {
        let list = format!("SELECT {VERSION} FROM {}.policy ORDER BY id", self.schema());
        let mut versions = Vec::new();
        self.records(&list, &VERSION_TYPES, Vec::new(), &mut |row| {
            versions.push(version(row)?);
            Ok(())
        })?;
        Ok(versions)
    }
}

fn version(row: &Row) -> Result<PolicyVersion, StoreError> {
    let id: i64 = value(row, N_COLUMNS)?;
    Ok(PolicyVersion {
        id: id.unsigned_abs(),
        filename: value(row, N_COLUMNS + 1)?,
        created: value(row, N_COLUMNS + 2)?,
        active: value(row, N_COLUMNS + 3)?,
    })
}

/// The policy in a row; an error if it does not match its seal.
fn sealed(row: &Row) -> Result<StoredPolicy, StoreError> {
    let version = version(row)?;
    let (src, stored): (String, &[u8]) = (value(row, N_COLUMNS + 4)?, value(row, N_COLUMNS + 5)?);
    if seal(version.id, &src) != stored {
        return Err(StoreError::Corrupt(format!("policy {} does not match its SHA-256", version.id)));
    }
    Ok(StoredPolicy { version, src })
}

/// Stores a policy as the active one. INVARIANT: the transaction holds the lock of the clock.
pub(super) async fn put(
    session: PgSession<'_, impl GenericClient>,
    schema: &str,
    src: &str,
    filename: &str,
) -> Result<PolicyVersion, StoreError> {
    if [src, filename].iter().any(|text| text.contains('\0')) {
        return Err(StoreError::PolicyText);
    }
    session.run(&format!("UPDATE {schema}.policy SET active = false WHERE active")).await?;
    // The number is needed for the seal. It is taken for good, even if the transaction is rolled back.
    let next = format!("SELECT nextval(pg_get_serial_sequence('{schema}.policy', 'id'))");
    let id: i64 = value(&session.row(&next, &[]).await?, 0)?;
    let (created, seal) = (now(), seal(id.unsigned_abs(), src));
    let add = format!(
        "INSERT INTO {schema}.policy (id, src, filename, created, active, seal) OVERRIDING SYSTEM VALUE
         VALUES ($1, $2, $3, $4, true, $5)"
    );
    let params = [
        (&id as _, Type::INT8),
        (&src as _, Type::TEXT),
        (&filename as _, Type::TEXT),
        (&created as _, Type::INT8),
        (&seal as _, Type::BYTEA),
    ];
    session.execute(&add, &params).await?;
    Ok(PolicyVersion { id: id.unsigned_abs(), filename: filename.to_owned(), created, active: true })
}
