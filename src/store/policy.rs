//! All policy versions since the last `clear`; the newest is active.
//!
//! The SHA-256 of the active policy is stored with it. A letter that changes on the disk makes another
//! policy, which the database does not detect, and which may be valid and grant something else.

use sha2::{Digest, Sha256};
use std::fmt;

/// A stored policy without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyVersion {
    /// Its number, which is never reused, not even after a `clear`.
    pub id: u64,
    /// The name that came with the text.
    pub filename: String,
    /// When it was stored, in seconds since the epoch.
    pub created: i64,
    /// Whether it is active.
    pub active: bool,
}

/// A stored policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPolicy {
    /// Its version.
    pub version: PolicyVersion,
    /// Its text.
    pub src: String,
}

/// The beginning of the SHA-256 of a policy's text. Versions are numbers that start again in an environment
/// that is made again; this tells whether a policy is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyDigest(u32);

impl PolicyDigest {
    /// The digest of a policy's text.
    pub fn of(src: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(src).into();
        let [first, second, third, fourth, ..] = digest;
        Self(u32::from_be_bytes([first, second, third, fourth]))
    }
}

impl fmt::Display for PolicyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// A policy's number and the digest of its text.
pub(super) fn seal(id: u64, src: &str) -> Vec<u8> {
    [&id.to_be_bytes()[..], &Sha256::digest(src)].concat()
}
