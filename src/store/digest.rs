//! The digest of a key, which can be compared in one way only.
//!
//! How long `==` takes on bytes tells how many of them agree. So the digest has no `==`, and nothing outside of this
//! file has its bytes to compare, except the map in which good keys are counted; what is left is
//! [`KeyDigest::is`], which takes the same time whatever differs. That would hardly matter for a digest, as who
//! guesses keys cannot choose what theirs begin with; but it is one thing less to argue about.

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// SHA-256 of a whole key.
#[derive(Clone)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// What no key has, as far as anybody knows.
    pub(super) const NONE: Self = Self([0; 32]);

    /// The digest of a key's text.
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }

    /// Whether both are of the same key, in constant time.
    pub fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// For a map of keys that are known to be good: there is nothing to find out by how long it looks for one.
    pub fn into_map_key(self) -> [u8; 32] {
        self.0
    }
}

impl std::fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(digest)")
    }
}

impl ToSql for KeyDigest {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(&self.0)))
    }
}

impl FromSql for KeyDigest {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        FromSql::column_result(value).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewKey;
    use std::marker::PhantomData;

    /// Has [`Comparable::IS`] as its own constant if `T` has `==`, and as that of the trait if it has not.
    struct Probe<T>(PhantomData<T>);

    trait Comparable {
        const IS: bool = false;
    }

    impl<T> Comparable for Probe<T> {}

    impl<T: PartialEq> Probe<T> {
        const IS: bool = true;
    }

    /// Nothing that holds a key or its digest can be compared with `==`: this compiles only as long as that is so.
    #[test]
    fn secrets_have_no_equality() {
        const { assert!(Probe::<[u8; 32]>::IS) };
        const { assert!(!Probe::<KeyDigest>::IS) };
        const { assert!(!Probe::<NewKey>::IS) };
    }

    #[test]
    fn a_digest_is_its_own_and_no_other() {
        let digest = KeyDigest::of("e_env_id_secret");
        assert!(digest.is(&KeyDigest::of("e_env_id_secret")));
        assert!(!digest.is(&KeyDigest::of("e_env_id_secret ")) && !digest.is(&KeyDigest::NONE));
        for bit in 0..256 {
            let mut other = digest.clone();
            other.0[bit / 8] ^= 1 << (bit % 8);
            assert!(!digest.is(&other), "{bit}");
        }
    }

    #[test]
    fn a_digest_is_not_told() {
        assert_eq!(format!("{:?}", KeyDigest::of("key")), "(digest)");
    }
}
