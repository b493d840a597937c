//! Authentication: from the `Authorization` header to an environment and an access level.
//!
//! [`ReadAccess`] and [`WriteAccess`] are extractors of the request's head. A handler names the one it needs
//! as its first argument, so no handler can forget the check, and a body is read only after the key has been
//! found valid (401) and sufficient (403).
//!
//! A key is `e_<environment>_<key id>_<secret>`. Almost all keys are in the store of their environment. The
//! embedded store checks them in memory: one hash and one look-up. A store on PostgreSQL, which other nodes
//! change, reads its clock first. So results are not cached, and a revoked key is refused, and a new policy
//! decides, from the very next request on. A [`FixedKey`] comes from the configuration, lasts as long
//! as the process, and is kept as a hash too. Digests are compared in constant time. If keys have a rate
//! limit, it is enforced here too (429).

use super::error::ApiError;
use super::{AppState, Environment, RequestShare};
use crate::share::{Account, Asker};
use crate::store::{Access, KeyDigest};
use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};
use std::sync::Arc;

/// The key that the clients' own test suites use; accepted in development mode only.
pub const DEVELOPMENT_KEY: &str = "e_0123456789_12345_osotesttoken01xiIn";

/// A key with full access from the configuration.
#[derive(Clone, Debug)]
pub(super) struct FixedKey {
    digest: KeyDigest,
    environment: Arc<Environment>,
}

impl FixedKey {
    pub(super) fn new(key: &str, environment: Arc<Environment>) -> Self {
        Self { digest: KeyDigest::of(key), environment }
    }
}

/// The name of a request's key, for the decision log.
#[derive(Clone, Debug)]
pub(super) struct KeyName(Arc<str>);

impl KeyName {
    /// Configured keys have no name of their own.
    const CONFIGURED: &str = "(configured)";

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A request whose key may read.
#[derive(Debug)]
pub(super) struct ReadAccess(pub(super) Arc<Environment>);

/// A request whose key may change facts and policy.
#[derive(Debug)]
pub(super) struct WriteAccess(pub(super) Arc<Environment>);

impl FromRequestParts<Arc<AppState>> for ReadAccess {
    type Rejection = ApiError;

    async fn from_request_parts(head: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let (environment, access) = authenticate(head, app).await?;
        match access {
            Access::ReadWrite | Access::ReadOnly => Ok(Self(environment)),
        }
    }
}

impl FromRequestParts<Arc<AppState>> for WriteAccess {
    type Rejection = ApiError;

    async fn from_request_parts(head: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let (environment, access) = authenticate(head, app).await?;
        match access {
            Access::ReadWrite => Ok(Self(environment)),
            Access::ReadOnly => Err(ApiError::Forbidden),
        }
    }
}

/// The environment with its engine set up for this request, and the access level of the key.
async fn authenticate(head: &mut Parts, app: &AppState) -> Result<(Arc<Environment>, Access), ApiError> {
    let key = sent_key(&head.headers).ok_or(ApiError::Unauthorized(
        "no API key: the header `Authorization: Bearer <API_KEY>` is expected",
    ))?;
    let found = match fixed(key, &app.fixed_keys) {
        Some((environment, access)) => {
            environment.engine.follow().await?;
            Some((environment, access, KeyName::CONFIGURED.to_owned()))
        }
        None => stored(key, app).await?,
    };
    let (environment, access, name) =
        found.ok_or(ApiError::Unauthorized("the API key is unknown or was revoked: send another one"))?;
    tracing::Span::current().record("environment", environment.name.as_str());
    if let Some(rates) = &app.rates {
        rates.count(&KeyDigest::of(key).into_map_key())?;
    }
    let asker = Asker::new(&environment.name, key);
    if let Some(share) = head.extensions.get::<RequestShare>() {
        share.take(app, asker)?;
    }
    let account = account(&head.extensions, app);
    account.belongs_to(asker);
    if app.decision_log.is_some() {
        head.extensions.insert(KeyName(name.into()));
    }
    let engine = environment.engine.on_account(account);
    Ok((Arc::new(Environment { name: environment.name.clone(), engine }), access))
}

/// What a key in the store of its environment gives access to, and its name.
async fn stored(key: &str, app: &AppState) -> Result<Option<(Arc<Environment>, Access, String)>, ApiError> {
    let name = key.split('_').nth(1).unwrap_or_default();
    let Some(environment) = app.find_environment(name).await? else { return Ok(None) };
    let known = environment.engine.find_key(key).await?;
    Ok(known.map(|known| (environment, known.access, known.name)))
}

/// The account of a request.
pub(super) fn account(extensions: &Extensions, app: &AppState) -> Arc<Account> {
    extensions.get().cloned().unwrap_or_else(|| Arc::new(Account::new(&app.budget)))
}

/// What a configured key gives access to. All of them are compared, whichever matches.
fn fixed(key: &str, fixed_keys: &[FixedKey]) -> Option<(Arc<Environment>, Access)> {
    if fixed_keys.is_empty() {
        return None;
    }
    let sent = KeyDigest::of(key);
    let fits = |known: &FixedKey| known.digest.is(&sent);
    let found = fixed_keys.iter().fold(None, |found, known| if fits(known) { Some(known) } else { found })?;
    Some((Arc::clone(&found.environment), Access::ReadWrite))
}

/// The key in the header. The oldest client sends it after `Basic`, unencoded.
fn sent_key(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    let known = scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("basic");
    Some(key.trim()).filter(|key| known && !key.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn sent(text: &str) -> Option<String> {
        let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(text).unwrap())]);
        sent_key(&headers).map(ToOwned::to_owned)
    }

    #[test]
    fn bearer_and_basic_carry_the_key_as_it_is() {
        assert_eq!(sent("Bearer e_1_2_x").as_deref(), Some("e_1_2_x"));
        assert_eq!(sent("bearer   e_1_2_x ").as_deref(), Some("e_1_2_x"));
        assert_eq!(sent("Basic e_1_2_x").as_deref(), Some("e_1_2_x"));
        assert_eq!(sent("Digest e_1_2_x"), None);
        assert_eq!(sent("Bearer "), None);
        assert_eq!(sent("e_1_2_x"), None);
        assert_eq!(sent_key(&HeaderMap::new()), None);
    }
}
