//! `/studio`: a page on which people edit a policy and see what it does.
//!
//! Everything that the page loads or asks is below its own path, and comes from this program. A request that
//! carries a session's cookie is answered with the rights of the key that opened the session, and only here:
//! elsewhere the cookie means nothing.
//!
//! ```text
//! request ─guard: host, origin─▶ ─┬▶ files     the page
//!                                 ├▶ sessions  a token or a key becomes a cookie
//!                                 └▶ cookie ─▶ key ─┬▶ /studio/api/…    the HTTP interface as it is
//!                                                   ├▶ /studio/draft/…  questions about a policy that is not stored
//!                                                   └▶ /studio/lsp      the language server
//! ```
//!
//! These paths serve the page and nothing else, so they are not in the OpenAPI document.

mod bindings;
mod decisions;
mod draft;
mod editors;
mod files;
mod guard;
mod session;
mod sessions;
mod sign_ins;
mod socket;

use super::AppState;
use super::auth::opens;
use super::error::ApiError;
use crate::lsp::Workbench;
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::Uri;
use axum::http::header::CONTENT_LENGTH;
use axum::http::uri::PathAndQuery;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use editors::Editors;
use sessions::Sessions;
use sign_ins::SignIns;
use std::sync::Arc;
use tokio::sync::watch;
use tower::ServiceExt;

/// The path below which everything of the studio is.
const STUDIO: &str = "/studio";

/// The pages that describe the HTTP interface.
const DOCS: &str = "/api/docs";

/// The studio of a service.
pub struct Studio {
    workbench: Arc<dyn Workbench + Send + Sync>,
    sessions: Sessions,
    sign_ins: SignIns,
    editors: Arc<Editors>,
    /// Set when the service stops.
    stopping: watch::Sender<bool>,
}

impl std::fmt::Debug for Studio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Studio").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}

impl Studio {
    /// A studio without a session. The workbench runs the commands of its editors.
    pub fn new(workbench: Arc<dyn Workbench + Send + Sync>) -> Self {
        Self {
            workbench,
            sessions: Sessions::default(),
            sign_ins: SignIns::default(),
            editors: Arc::default(),
            stopping: watch::Sender::default(),
        }
    }

    /// A path that opens one session with this key, once.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn link(&self, key: &str) -> Result<String, getrandom::Error> {
        // Browsers do not send a fragment, so the token is in no log.
        Ok(format!("{STUDIO}/#token={}", self.sessions.token(key)?))
    }

    /// Disconnects the editors.
    pub(super) fn stop(&self) {
        self.stopping.send_replace(true);
    }
}

/// What the handlers of the studio share.
#[derive(Clone)]
struct StudioState {
    app: Arc<AppState>,
    studio: Arc<Studio>,
    /// What a request with a session reaches: the HTTP interface, and questions about drafts.
    inner: Router,
}

/// The paths of the studio; none if there is no studio.
pub(super) fn router<S>(app: &Arc<AppState>, api: Router) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let Some(studio) = app.studio.clone() else { return Router::new() };
    let drafts = Router::new().nest("/draft", draft::router()).with_state(Arc::clone(app));
    let inner = api.merge(drafts).method_not_allowed_fallback(async || ApiError::MethodNotAllowed);
    let inner = inner.layer(from_fn(with_path));
    let state = StudioState { app: Arc::clone(app), studio, inner };
    let below = |path: &str| format!("{STUDIO}/{path}");
    Router::new()
        .route(STUDIO, get(files::to_page))
        .route(&below(""), get(files::page))
        .route(&below("session"), get(session::read).post(session::open).delete(session::close))
        .route(&below("lsp"), get(socket::connect))
        .route(&below("api/{*path}"), any(inside))
        .route(&below("draft/{*path}"), any(inside))
        .route(&below("{file}"), get(files::file))
        .layer(from_fn_with_state(state.clone(), guard::guarded))
        .with_state(state)
}

/// The route that a request of the page matched in the router behind the cookie, for the log and the metrics.
#[derive(Clone, Debug)]
pub(super) struct InnerPath(MatchedPath);

impl InnerPath {
    /// As the page asks for it.
    pub(super) fn text(&self) -> String {
        format!("{STUDIO}{}", self.0.as_str())
    }
}

/// Adds the matched route to an answer.
async fn with_path(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    if let Some(path) = path {
        response.extensions_mut().insert(InnerPath(path));
    }
    response
}

/// A request of the page, with the rights of its session's key.
async fn inside(State(state): State<StudioState>, mut request: Request) -> Response {
    let Some(key) = state.studio.sessions.key(request.headers()) else {
        return ApiError::Unauthorized(NO_SESSION).into_response();
    };
    if let Err(error) = session::authorize(request.headers_mut(), &key) {
        return error.into_response();
    }
    let inner = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
    let inner = inner.strip_prefix(STUDIO).unwrap_or(inner);
    // The pages of the interface allow their own styles, which the studio's pages must not.
    if inner.starts_with(DOCS) {
        return ApiError::NotFound(NO_PATH.to_owned()).into_response();
    }
    match inner.parse::<Uri>() {
        Ok(uri) => *request.uri_mut() = uri,
        Err(_) => return ApiError::NotFound(NO_PATH.to_owned()).into_response(),
    }
    // Otherwise the route of the inner router would be appended to that of this one.
    request.extensions_mut().remove::<MatchedPath>();
    let mut response = state.inner.clone().oneshot(request).await.into_response();
    // A large answer is encoded later: its length is not that of what is there now.
    response.headers_mut().remove(CONTENT_LENGTH);
    response
}

/// The message for a request without a session.
const NO_SESSION: &str = "this page has no session, or it has ended: open the printed link, or give a key";

/// The message for a path that the page does not have.
const NO_PATH: &str = "the studio has no such path";
