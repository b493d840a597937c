//! `/studio/session`: a token or a key becomes a session, and what the session may do.

use super::sessions::cookie;
use super::{NO_SESSION, StudioState, opens};
use crate::config::PublicUrl;
use crate::http::error::ApiError;
use crate::http::json::{Json, Object};
use crate::store::Access;
use axum::extract::{FromRequest, Request, State};
use axum::http::header::{AUTHORIZATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

/// What opens a session.
#[derive(Debug, Deserialize)]
struct OpenIn {
    /// The token of the printed link.
    token: Option<String>,
    /// Or a key.
    key: Option<String>,
}

/// What a session may do.
#[derive(Debug, Serialize)]
struct SessionOut {
    environment: String,
    can_write: bool,
    version: &'static str,
}

/// What the session of a request may do
pub(super) async fn read(State(state): State<StudioState>, headers: HeaderMap) -> Result<Response, ApiError> {
    let key = state.studio.sessions.key(&headers).ok_or(ApiError::Unauthorized(NO_SESSION))?;
    Ok(Json(known(&state, &key).await?).into_response())
}

/// Opens a session
pub(super) async fn open(State(state): State<StudioState>, request: Request) -> Result<Response, ApiError> {
    let headers = request.headers().clone();
    let Json(Object(OpenIn { token, key })) =
        Json::<Object<OpenIn>>::from_request(request, &state.app).await?;
    let sessions = &state.studio.sessions;
    let key = match (token, key) {
        (Some(token), None) => sessions.redeem(&token).ok_or(ApiError::Unauthorized(
            "this link was used before, or belongs to an earlier start: give a key, or start the service again",
        ))?,
        (None, Some(key)) => {
            state.studio.sign_ins.count()?;
            key.trim().to_owned()
        }
        (Some(_), Some(_)) | (None, None) => {
            return Err(ApiError::BadRequest("exactly one of `token` and `key` is expected".to_owned()));
        }
    };
    let session = known(&state, &key).await?;
    let value = sessions.open(&key).map_err(|error| ApiError::Internal(error.to_string()))?;
    Ok(with_cookie(&state, &headers, Some(&value), Json(session).into_response()))
}

/// Ends a session
pub(super) async fn close(State(state): State<StudioState>, headers: HeaderMap) -> Response {
    state.studio.sessions.close(&headers);
    with_cookie(&state, &headers, None, Json(serde_json::json!({})).into_response())
}

async fn known(state: &StudioState, key: &str) -> Result<SessionOut, ApiError> {
    let (environment, access) = opens(key, &state.app).await?;
    let can_write = match access {
        Access::ReadWrite => true,
        Access::ReadOnly => false,
    };
    Ok(SessionOut { environment, can_write, version: env!("CARGO_PKG_VERSION") })
}

fn with_cookie(
    state: &StudioState,
    headers: &HeaderMap,
    value: Option<&str>,
    mut response: Response,
) -> Response {
    let config = &state.app.config;
    let is_public_https = config.public_url.as_ref().is_some_and(|PublicUrl(url)| url.starts_with("https:"));
    let is_secure = config.tls_cert.is_some() || (is_public_https && !config.dev);
    if let Some(cookie) = cookie(headers, value, is_secure) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// Gives a request the key of its session, instead of any that it carries.
pub(super) fn authorize(headers: &mut HeaderMap, key: &str) -> Result<(), ApiError> {
    let mut value =
        HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| ApiError::Unauthorized(NO_SESSION))?;
    value.set_sensitive(true);
    headers.insert(AUTHORIZATION, value);
    Ok(())
}
