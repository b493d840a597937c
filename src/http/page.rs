//! Page tokens: where a list continues, bound to its question.
//!
//! In: a list question and the last id of a page. Out: an opaque text that a client sends back. A token
//! contains the page size and that id, so the server stores nothing and tokens survive a restart. It also
//! contains an HMAC under the store's secret over both, the environment and the question, so tokens of
//! another question or environment, and forged ones, are refused. Pages continue after an id, not at a row
//! number, so writes between two pages neither repeat nor skip an id that stays allowed.

use super::error::ApiError;
use crate::engine::Fact;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The smallest page size of a list.
pub(super) const MIN_PAGE: usize = 10_000;

/// The largest page; a request for more gets this many ids and a token.
const MAX_PAGE: usize = 1_000_000;

/// The version of the tokens' layout and of the order of ids, the first byte of a token. Version 1 ordered
/// ids by their bytes.
const VERSION: u8 = 2;

const TAG: usize = 32;

/// Where a page starts and how long it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PagePosition {
    pub(super) size: usize,
    pub(super) after: Option<String>,
}

impl PagePosition {
    /// The first page of this size, which must be at least `least`.
    fn first(size: usize, least: usize) -> Result<Self, ApiError> {
        if size < least {
            return Err(ApiError::BadRequest(format!(
                "`page_size`: {size} is too small: use at least {least}"
            )));
        }
        Ok(Self { size: size.min(MAX_PAGE), after: None })
    }
}

/// The parts of a list question to which a token is bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound<'a> {
    pub(super) environment: &'a str,
    /// What is asked, in an order that determines it.
    pub(super) question: &'a [&'a str],
    pub(super) context: &'a [Fact],
}

impl Bound<'_> {
    /// Where a request's page starts; `None` if it asks for no pages. A token determines the size as well.
    pub(super) fn position(
        &self,
        secret: &[u8; 32],
        token: Option<&str>,
        size: Option<usize>,
        least: usize,
    ) -> Result<Option<PagePosition>, ApiError> {
        // Some clients send an empty token for none.
        match (token.filter(|token| !token.is_empty()), size) {
            (Some(token), _) => self.open(secret, token).map(Some),
            (None, Some(size)) => PagePosition::first(size, least).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The token of the page after `after`.
    pub(super) fn token(&self, secret: &[u8; 32], size: usize, after: &str) -> String {
        let mut token = vec![VERSION];
        token.extend_from_slice(&(size as u64).to_be_bytes());
        token.extend_from_slice(after.as_bytes());
        let tag = self.mac(secret, &token).finalize().into_bytes();
        token.extend_from_slice(&tag);
        BASE64_URL_SAFE_NO_PAD.encode(token)
    }

    /// The position in a token.
    fn open(&self, secret: &[u8; 32], token: &str) -> Result<PagePosition, ApiError> {
        self.verified(secret, token).ok_or_else(bad_token)
    }

    fn verified(&self, secret: &[u8; 32], token: &str) -> Option<PagePosition> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).ok()?;
        let (signed, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG)?)?;
        self.mac(secret, signed).verify_slice(tag).ok()?;
        let (&[version], rest) = signed.split_first_chunk()?;
        let (size, after) = rest.split_first_chunk()?;
        let after = std::str::from_utf8(after).ok()?;
        let place = PagePosition { size: usize::from_be_bytes(*size), after: Some(after.to_owned()) };
        (version == VERSION).then_some(place)
    }

    /// The HMAC over everything to which a token is bound, each part preceded by its length.
    fn mac(&self, secret: &[u8; 32], signed: &[u8]) -> Hmac<Sha256> {
        let mut mac = keyed_mac(secret);
        let mut part = |bytes: &[u8]| {
            mac.update(&(bytes.len() as u64).to_be_bytes());
            mac.update(bytes);
        };
        part(signed);
        part(self.environment.as_bytes());
        self.question.iter().for_each(|text| part(text.as_bytes()));
        for fact in sorted(self.context) {
            part(fact.predicate.as_bytes());
            part(&(fact.args.len() as u64).to_be_bytes());
            for arg in &fact.args {
                part(arg.ty.as_bytes());
                part(arg.id.as_bytes());
            }
        }
        mac
    }
}

/// An HMAC under the secret of an environment, so far over nothing.
pub(super) fn keyed_mac(secret: &[u8; 32]) -> Hmac<Sha256> {
    // A key that is shorter than a block of the hash is filled up with zeros, as RFC 2104 defines.
    let mut block = [0; 64];
    block.iter_mut().zip(secret).for_each(|(to, from)| *to = *from);
    Hmac::new(&block.into())
}

/// The error for a token that does not belong to its question.
pub(super) fn bad_token() -> ApiError {
    ApiError::BadRequest(
        "`page_token` is damaged or belongs to another question: ask for the first page, without it"
            .to_owned(),
    )
}

/// The arguments of a fact, to be compared.
fn args(fact: &Fact) -> impl Iterator<Item = (&str, &str)> {
    fact.args.iter().map(|arg| (&*arg.ty, &*arg.id))
}

/// The context facts in a fixed order, so that clients may send them in any.
fn sorted(context: &[Fact]) -> Vec<&Fact> {
    let mut facts: Vec<&Fact> = context.iter().collect();
    facts.sort_by(|a, b| a.predicate.cmp(&b.predicate).then_with(|| args(a).cmp(args(b))));
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Value;

    const SECRET: &[u8; 32] = b"a secret of the store, 32 bytes.";

    const ADA: &[&str] = &["User", "ada", "read", "Doc"];

    fn fact(id: &str) -> Fact {
        Fact { predicate: "is_public".into(), args: vec![Value { ty: "Doc".into(), id: id.into() }] }
    }

    fn bound<'a>(question: &'a [&'a str], context: &'a [Fact]) -> Bound<'a> {
        Bound { environment: "0123456789", question, context }
    }

    #[test]
    fn a_token_leads_back_to_its_place() {
        for after in ["", "doc-7", "ümläut", "'; DROP TABLE facts; --"] {
            let token = bound(ADA, &[]).token(SECRET, 12_345, after);
            let place = bound(ADA, &[]).open(SECRET, &token).unwrap();
            assert_eq!(place, PagePosition { size: 12_345, after: Some(after.into()) });
        }
    }

    #[test]
    fn a_token_of_anything_else_is_refused() {
        let context = [fact("x")];
        let token = bound(ADA, &[]).token(SECRET, 10_000, "doc-7");
        let others = [
            bound(&["User", "bob", "read", "Doc"], &[]),
            Bound { environment: "1", ..bound(ADA, &[]) },
            bound(&["User", "ada", "write", "Doc"], &[]),
            bound(&["User", "ada", "read", "Folder"], &[]),
            bound(&["User", "ada", "readDoc"], &[]),
            bound(ADA, &context),
        ];
        for other in others {
            assert!(other.open(SECRET, &token).is_err(), "{other:?}");
        }
        assert!(bound(ADA, &[]).open(&[7; 32], &token).is_err());
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let token = bound(ADA, &[]).token(SECRET, 10_000, "doc-7");
        for index in 0..token.len() {
            let mut damaged = token.clone().into_bytes();
            damaged[index] = if damaged[index] == b'A' { b'B' } else { b'A' };
            let damaged = String::from_utf8(damaged).unwrap();
            assert!(bound(ADA, &[]).open(SECRET, &damaged).is_err(), "{index}");
        }
        let n = token.len();
        let cut = [token.chars().skip(1).collect(), token.chars().take(n - 1).collect()];
        for broken in ["", "A", "!!"].map(String::from).into_iter().chain(cut) {
            assert!(bound(ADA, &[]).open(SECRET, &broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn the_order_of_the_context_does_not_matter() {
        let token = bound(ADA, &[fact("a"), fact("b")]).token(SECRET, 10_000, "doc-7");
        assert!(bound(ADA, &[fact("b"), fact("a")]).open(SECRET, &token).is_ok());
    }

    #[test]
    fn the_mac_is_hmac_with_sha_256() {
        let mut mac = keyed_mac(SECRET);
        mac.update(b"what do ya want for nothing?");
        let same =
            Hmac::<Sha256>::new_from_slice(SECRET).unwrap().chain_update(b"what do ya want for nothing?");
        assert_eq!(mac.finalize().into_bytes(), same.finalize().into_bytes());
    }

    #[test]
    fn a_page_has_a_least_size() {
        let first = |size| PagePosition::first(size, MIN_PAGE);
        assert!(first(9_999).is_err());
        assert_eq!(first(10_000).unwrap().size, 10_000);
        assert_eq!(first(usize::MAX).unwrap().size, MAX_PAGE);
    }
}
