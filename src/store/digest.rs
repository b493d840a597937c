//! The digest of a key, which can be compared only in constant time.
//!
//! The duration of `==` on bytes reveals how many of them agree. So the digest has no `==`, and its bytes are
//! accessible only to the store, which writes and reads them, and to the map that counts good keys. What
//! remains is [`KeyDigest::is`], which always takes the same time. It would hardly matter for a digest,
//! because an attacker cannot choose the digests of guessed keys; but this way there is nothing to argue
//! about.

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// SHA-256 of a whole key.
#[derive(Clone)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// A digest that no known key has.
    pub(super) const NONE: Self = Self([0; 32]);

    /// The digest of a key's text.
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }

    /// Whether both are digests of the same key, in constant time.
    pub fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// Its bytes, to store them.
    pub(super) fn stored(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest with these stored bytes.
    pub(super) fn from_stored(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// For a map of keys that are known to be good: timing its look-ups reveals nothing.
    pub fn into_map_key(self) -> [u8; 32] {
        self.0
    }
}

impl std::fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(digest)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewKey;
    use std::marker::PhantomData;

    /// Its own constant `IS` applies if `T` has `==`, and the trait's otherwise.
    struct Probe<T>(PhantomData<T>);

    trait Comparable {
        const IS: bool = false;
    }

    impl<T> Comparable for Probe<T> {}

    impl<T: PartialEq> Probe<T> {
        const IS: bool = true;
    }

    /// No type that holds a key or its digest can be compared with `==`: otherwise this does not compile.
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
    fn debug_hides_a_digest() {
        assert_eq!(format!("{:?}", KeyDigest::of("key")), "(digest)");
    }
}
