//! Authentication: from the `Authorization` header to an environment and an access level.
//!
//! [`QuestionAccess`], [`ReadAccess`] and [`WriteAccess`] are extractors of the request's head. A handler
//! names the one it needs as its first argument, so no handler can forget the check, and a body is read only
//! after the key has been found valid (401) and sufficient (403).
//!
//! A key is `e_<environment>_<key id>_<secret>`. Almost all keys are in the store of their environment. The
//! embedded store checks them in memory: one hash and one look-up. A store on PostgreSQL, which other nodes
//! change, reads its clock first. So results are not cached, and a revoked key is refused, and a new policy
//! decides, from the very next request on. Questions read the clock with their answer: their key is looked up
//! in memory, and once more before the answer leaves. So what is wrong with the body alone may be said first.
//! Only answers that replicas give while the primary is out of reach are given by the keys that are known.
//!
//! A [`FixedKey`] comes from the configuration, lasts as long as the process, and is kept as a hash too.
//! Digests are compared in constant time. If keys have a rate limit, it is enforced here too (429).

use super::error::{ApiError, UNKNOWN_KEY};
use super::headers::SentOffset;
use super::{AppState, Environment, RequestShare};
use crate::engine::{Engine, EngineError};
use crate::share::{Account, Asker};
use crate::store::{Access, DatabaseError, KeyDigest, StoreError};
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

/// A request whose key may ask questions.
#[derive(Debug)]
pub(super) struct QuestionAccess {
    app: Arc<AppState>,
    environment: Arc<Environment>,
    /// The key, if it must be looked up again before an answer leaves.
    provisional: Option<String>,
}

/// A request whose key may read.
#[derive(Debug)]
pub(super) struct ReadAccess(pub(super) Arc<Environment>);

/// A request whose key may change facts and policy.
#[derive(Debug)]
pub(super) struct WriteAccess(pub(super) Arc<Environment>);

/// A key that was found.
struct FoundKey {
    environment: Arc<Environment>,
    access: Access,
    name: String,
    /// Whether another process may have revoked it.
    is_provisional: bool,
}

impl FromRequestParts<Arc<AppState>> for QuestionAccess {
    type Rejection = ApiError;

    async fn from_request_parts(head: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let key = sent_key(&head.headers)?.to_owned();
        let found = match fixed(&key, app).or_else(|| known(&key, app)) {
            Some(found) => found,
            None => stored(&key, app).await?,
        };
        let is_provisional = found.is_provisional;
        let (environment, access) = admit(head, app, &key, found)?;
        match access {
            Access::ReadWrite | Access::ReadOnly => {
                let environment = after_sent_offset(head, environment);
                let (app, provisional) = (Arc::clone(app), is_provisional.then_some(key));
                Ok(Self { app, environment, provisional })
            }
        }
    }
}

impl FromRequestParts<Arc<AppState>> for ReadAccess {
    type Rejection = ApiError;

    async fn from_request_parts(head: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let (environment, access) = authenticate(head, app).await?;
        match access {
            Access::ReadWrite | Access::ReadOnly => Ok(Self(after_sent_offset(head, environment))),
        }
    }
}

impl FromRequestParts<Arc<AppState>> for WriteAccess {
    type Rejection = ApiError;

    async fn from_request_parts(head: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let (environment, access) = authenticate(head, app).await?;
        match access {
            // A write does not depend on the offset: a client that has one of a lost write could otherwise
            // never write again.
            Access::ReadWrite => Ok(Self(Arc::new(environment))),
            Access::ReadOnly => Err(ApiError::Forbidden),
        }
    }
}

impl QuestionAccess {
    /// The environment of the key.
    pub(super) fn opened(&self) -> &Environment {
        &self.environment
    }

    /// The name of the environment.
    pub(super) fn environment(&self) -> &str {
        &self.environment.name
    }

    /// The secret that authenticates page tokens.
    pub(super) fn secret(&self) -> &[u8; 32] {
        self.environment.engine.secret()
    }

    /// The answer to a question. Neither it nor why there is none leaves the service if the key was revoked.
    pub(super) async fn ask<T>(
        &self,
        question: impl AsyncFnOnce(&Engine) -> Result<T, EngineError>,
    ) -> Result<T, ApiError> {
        let failed = |error| failed(error, &self.app, &self.environment);
        let engine = &self.environment.engine;
        let answer = question(engine).await;
        let is_unanswered = match &answer {
            Err(EngineError::Store(error)) => error.is_unanswered(),
            Err(EngineError::Timeout(_)) => true,
            Err(_) | Ok(_) => false,
        };
        if is_unanswered {
            return answer.map_err(failed);
        }
        let is_valid = match &self.provisional {
            Some(key) => engine.was_valid(key).await.map_err(failed)?,
            None => true,
        };
        if !is_valid {
            return Err(ApiError::Unauthorized(UNKNOWN_KEY));
        }
        answer.map_err(failed)
    }
}

/// The environment that a key opens, and what it may do there.
pub(super) async fn opens(key: &str, app: &AppState) -> Result<(String, Access), ApiError> {
    let found = match fixed(key, app) {
        Some(found) => found,
        None => stored(key, app).await?,
    };
    Ok((found.environment.name.clone(), found.access))
}

/// The environment with its engine set up for this request, and the access level of the key, which is valid
/// whatever other processes have done before.
async fn authenticate(head: &mut Parts, app: &AppState) -> Result<(Environment, Access), ApiError> {
    let key = sent_key(&head.headers)?.to_owned();
    let found = match fixed(&key, app) {
        Some(found) => {
            found.environment.engine.follow().await?;
            found
        }
        None => stored(&key, app).await?,
    };
    admit(head, app, &key, found)
}

/// Counts the request for its key, and sets the environment's engine up for it.
fn admit(
    head: &mut Parts,
    app: &AppState,
    key: &str,
    FoundKey { environment, access, name, .. }: FoundKey,
) -> Result<(Environment, Access), ApiError> {
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
    Ok((Environment { name: environment.name.clone(), engine }, access))
}

/// An environment whose questions see the writes up to the offset that the request carries.
fn after_sent_offset(head: &Parts, Environment { name, engine }: Environment) -> Arc<Environment> {
    Arc::new(Environment { engine: SentOffset::of(&head.headers).bind(&engine), name })
}

/// A key in the store of its environment, if this process knows it.
fn known(key: &str, app: &AppState) -> Option<FoundKey> {
    let environment = app.environment(named_environment(key))?;
    let known = environment.engine.known_key(key)?;
    Some(FoundKey { environment, access: known.access, name: known.name, is_provisional: true })
}

/// A key in the store of its environment, which is asked what other processes have changed.
async fn stored(key: &str, app: &AppState) -> Result<FoundKey, ApiError> {
    let unknown = || ApiError::Unauthorized(UNKNOWN_KEY);
    let environment = app.find_environment(named_environment(key)).await?.ok_or_else(unknown)?;
    let known = environment.engine.find_key(key).await.map_err(|error| failed(error, app, &environment))?;
    let known = known.ok_or_else(unknown)?;
    Ok(FoundKey { environment, access: known.access, name: known.name, is_provisional: false })
}

/// The error of a request. An environment that was deleted from the store is closed.
fn failed(error: EngineError, app: &AppState, environment: &Environment) -> ApiError {
    if let EngineError::Store(StoreError::Database(DatabaseError::NoEnvironment(name))) = &error
        && app.close(environment)
    {
        tracing::info!(environment = name, "the environment was deleted from the store, and is closed");
    }
    error.into()
}

/// The environment that a key names.
fn named_environment(key: &str) -> &str {
    key.split('_').nth(1).unwrap_or_default()
}

/// The account of a request.
pub(super) fn account(extensions: &Extensions, app: &AppState) -> Arc<Account> {
    extensions.get().cloned().unwrap_or_else(|| Arc::new(Account::new(&app.budget)))
}

/// A configured key. All of them are compared, whichever matches.
fn fixed(key: &str, app: &AppState) -> Option<FoundKey> {
    if app.fixed_keys.is_empty() {
        return None;
    }
    let sent = KeyDigest::of(key);
    let fits = |known: &FixedKey| known.digest.is(&sent);
    let found =
        app.fixed_keys.iter().fold(None, |found, known| if fits(known) { Some(known) } else { found })?;
    Some(FoundKey {
        environment: Arc::clone(&found.environment),
        access: Access::ReadWrite,
        name: KeyName::CONFIGURED.to_owned(),
        is_provisional: false,
    })
}

/// The key in the header. The oldest client sends it after `Basic`, unencoded.
fn sent_key(headers: &HeaderMap) -> Result<&str, ApiError> {
    let key = || {
        let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
        let known = scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("basic");
        Some(key.trim()).filter(|key| known && !key.is_empty())
    };
    key()
        .ok_or(ApiError::Unauthorized("no API key: the header `Authorization: Bearer <API_KEY>` is expected"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn sent(text: &str) -> Option<String> {
        let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(text).unwrap())]);
        sent_key(&headers).ok().map(ToOwned::to_owned)
    }

    #[test]
    fn bearer_and_basic_carry_the_key_as_it_is() {
        assert_eq!(sent("Bearer e_1_2_x").as_deref(), Some("e_1_2_x"));
        assert_eq!(sent("bearer   e_1_2_x ").as_deref(), Some("e_1_2_x"));
        assert_eq!(sent("Basic e_1_2_x").as_deref(), Some("e_1_2_x"));
        assert_eq!(sent("Digest e_1_2_x"), None);
        assert_eq!(sent("Bearer "), None);
        assert_eq!(sent("e_1_2_x"), None);
        assert!(sent_key(&HeaderMap::new()).is_err());
    }
}
