//! The HTTP interface: requests in, the engine's answers out.
//!
//! A handler decodes, calls the engine and encodes; it decides nothing. Which file holds which endpoint:
//!
//! | file | endpoints |
//! |---|---|
//! | `facts` | `/batch`, `/bulk`, `/bulk_load`, `/bulk_delete`, `/facts`, `/clear_data` |
//! | `checks` | `/authorize`, `/authorize_resources`, `/list`, `/actions`, `/bulk_actions` |
//! | `subjects` | `/list_subjects` |
//! | `why` | `/explain` |
//! | `review` | `/review` |
//! | `queries` | `/query`, `/evaluate_query` |
//! | `local` | `/authorize_query`, `/list_query`, `/list_subjects_query`, `/actions_query`, `/evaluate_query_local`, `/explain_query`, `/why_query` |
//! | `parity` | `/expect` |
//! | `policy` | `/policy`, `/policy_metadata` |
//! | `status` | `/stats`, `/healthcheck`, and `/health`, `/ready` outside the prefix |
//! | `authzen` | `/access/v1/…` and `/.well-known/authzen-configuration`, outside the prefix |
//! | `openapi` | `/openapi.json`, `/docs` |
//! | `metrics` | `/metrics`, outside the prefix |
//! | `studio` | `/studio/…`, outside the prefix, if there is a studio |
//!
//! ```text
//! connection (serve, unread) ─→ edge: id, span, seat, time, panics ─→ key (auth), rate ─→ body (json) ─→ handler ─→ engine
//!                                                    large bodies and answers (large, stream): memory, turns
//! ```
//!
//! Afterwards every answer is JSON, every error has a `message`, and every answer has a request id and its
//! duration, but for those at the address of `metrics_listen`: a scrape takes no seat of a request. A single
//! layer, `edge`, wraps all other routes; everything else is an extractor, so a check costs only a handful of
//! allocations on its way to the engine.

mod accept;
mod auth;
mod authzen;
mod checks;
mod code;
mod collector;
mod decision_log;
mod distinct;
mod engine_settings;
mod environments;
mod error;
mod facts;
mod front_page;
mod headers;
mod json;
mod large;
mod local;
mod malformed;
mod metrics;
mod openapi;
mod own_host;
mod page;
mod params;
mod parity;
mod policy;
mod policy_error;
mod queries;
mod rate;
mod review;
mod seats;
mod serve;
mod shared_store;
mod status;
mod stream;
mod studio;
mod subjects;
mod timed_stream;
mod tls;
mod traces;
mod unread;
mod values;
mod why;

pub use auth::DEVELOPMENT_KEY;
pub use code::ErrorCode;
pub use collector::collector_agent;
pub use decision_log::{DecisionLog, DecisionLogError};
pub use engine_settings::engine_settings;
pub use local::{ExplanationOut, LocalWhyOut};
pub use review::{ReviewOut, ReviewRefusedOut, ReviewedTypeOut};
pub use serve::{serve, serve_metrics};
pub use shared_store::SharedStore;
pub use studio::Studio;
pub use tls::{Tls, TlsError};
pub use values::ArgOut;
pub use why::{
    AtomOut, AttemptOut, ConditionOut, EffectsOut, FailureOut, LackOut, RuleOut, SourceOut, StepOut, WhyOut,
};

use crate::config::{Config, Secret};
use crate::engine::Engine;
use crate::share::{Account, Asker, Budget, Turns};
use auth::FixedKey;
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use error::ApiError;
use headers::RequestId;
use metrics::{Metrics, Refused, UNKNOWN_PATH};
use parity::Decisions;
use parking_lot::RwLock;
use rate::Rates;
use rustc_hash::FxHashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;
use tokio::sync::Semaphore;
use tracing::Instrument;
use tracing::field::Empty;
use utoipa_axum::router::OpenApiRouter;

/// The path prefix of every endpoint but the probes, metrics and those of AuthZEN.
const PREFIX: &str = "/api";

/// The environment that exists without any setup. It is that of the development key, so its content is still
/// there when real keys follow.
pub const DEFAULT_ENVIRONMENT: &str = "0123456789";

/// The message for a path without an endpoint.
const NO_PATH: &str = "there is no such path: `/api/docs` describes all, `/api/openapi.json` is for programs";

/// The same where there is a studio.
const NO_PATH_WITH_STUDIO: &str = "there is no such path: `/studio/` is for people, `/api/docs` describes all, `/api/openapi.json` is for \
                                  programs";

/// The target of log lines about answered requests, for filters of the log.
const REQUEST_LOG: &str = "portcullis::requests";

/// A policy and its facts, separate from those of every other environment.
#[derive(Debug)]
pub struct Environment {
    /// Its name, which is the second part of its keys.
    pub name: String,
    /// Its engine.
    pub engine: Engine,
}

/// What a service may have or not.
#[derive(Debug, Default)]
pub struct OptionalParts {
    /// The store, if other nodes use it, too: environments that they make in it are opened.
    pub shared_store: Option<SharedStore>,
    /// The studio, if it is served.
    pub studio: Option<Studio>,
    /// The certificate, if connections are encrypted.
    pub tls: Option<Arc<Tls>>,
    /// The log of decisions, if they are logged.
    pub decision_log: Option<Arc<DecisionLog>>,
}

/// The state that all requests share.
#[derive(Debug)]
pub struct AppState {
    config: Config,
    /// Environments may be added and removed while the service runs, except the first.
    environments: RwLock<FxHashMap<String, Arc<Environment>>>,
    fixed_keys: Vec<FixedKey>,
    seats: Semaphore,
    /// The requests in progress, by key. However many one key has begun, others still find room.
    requests: Arc<Budget>,
    budget: Arc<Budget>,
    /// The budget of answers that are read from the store while they are sent. One key may have as many as it
    /// leaves to others.
    streams: Arc<Budget>,
    /// The turns of long work, here and in the engines.
    turns: Arc<Turns>,
    rates: Option<Rates>,
    decisions: Decisions,
    metrics: Arc<Metrics>,
    tls: Option<Arc<Tls>>,
    decision_log: Option<Arc<DecisionLog>>,
    shared_store: Option<SharedStore>,
    studio: Option<Arc<Studio>>,
}

impl AppState {
    /// The state of a service with these environments. Keys from the configuration give access to the first.
    pub fn new(
        config: Config,
        environments: impl IntoIterator<Item = Environment>,
        parts: OptionalParts,
    ) -> Self {
        let OptionalParts { shared_store, studio, tls, decision_log } = parts;
        let environments: Vec<_> = environments.into_iter().map(Arc::new).collect();
        let turns = environments.first().map(|first| Arc::clone(first.engine.turns()));
        let turns = turns.unwrap_or_else(|| Arc::new(Turns::with_low_priority()));
        let budget = Arc::new(Budget::new(config.max_memory));
        let streams = Arc::new(Budget::new(stream::MOST_STREAMS));
        let configured = config.api_key.as_ref().map(|Secret(key)| key.as_str());
        let development = config.dev.then_some(DEVELOPMENT_KEY);
        let keys = configured.into_iter().chain(development);
        let fixed_keys = environments
            .first()
            .into_iter()
            .flat_map(|first| keys.clone().map(|key| FixedKey::new(key, Arc::clone(first))))
            .collect();
        let seats = Semaphore::new(config.max_requests.get().min(Semaphore::MAX_PERMITS));
        // One more, so that half of it is a request where a single one is allowed.
        let requests = Arc::new(Budget::new(config.max_requests.get().saturating_add(1)));
        let decisions = Decisions::default();
        environments.iter().for_each(|environment| decisions.begin(environment));
        let environments = environments.into_iter().map(|each| (each.name.clone(), each)).collect();
        let environments = RwLock::new(environments);
        let rates = config.rate_limit.map(|each_second| Rates::new(each_second, config.rate_burst));
        let metrics = Arc::new(Metrics::new());
        Self {
            config,
            environments,
            fixed_keys,
            seats,
            requests,
            budget,
            streams,
            turns,
            rates,
            decisions,
            metrics,
            tls,
            decision_log,
            shared_store,
            studio: studio.map(Arc::new),
        }
    }
}

/// Every path with its handlers and their descriptions.
fn routes() -> OpenApiRouter<Arc<AppState>> {
    let api = OpenApiRouter::new()
        .merge(facts::router())
        .merge(checks::router())
        .merge(subjects::router())
        .merge(queries::router())
        .merge(why::router())
        .merge(review::router())
        .merge(local::router())
        .merge(parity::router())
        .merge(policy::router())
        .merge(status::router())
        .merge(openapi::router());
    OpenApiRouter::new()
        .nest(PREFIX, api)
        .merge(authzen::router())
        .merge(status::probes())
        .merge(metrics::router())
}

/// Every path with its handlers, wrapped in the layer.
pub(crate) fn router(app: Arc<AppState>) -> Router {
    let no_path = if app.studio.is_some() { NO_PATH_WITH_STUDIO } else { NO_PATH };
    let not_found = async move || ApiError::NotFound(no_path.to_owned());
    let people = front_page::address(app.studio.is_some());
    let front = async move |request: Request| {
        if front_page::is_asked(&request) {
            people.into_response()
        } else {
            not_found().await.into_response()
        }
    };
    let api = Router::from(routes()).fallback(not_found).with_state(Arc::clone(&app));
    Router::from(routes())
        .merge(studio::router(&app, api))
        .fallback(front)
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .layer(from_fn_with_state(Arc::clone(&app), edge))
        .with_state(app)
}

/// Gives a request its id, span, seat and time limit, and its answer the common headers.
async fn edge(State(app): State<Arc<AppState>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = RequestId::of(request.headers());
    id.note(request.headers_mut());
    let method = request.method().clone();
    // The declared path: the client's own text must not reach the log.
    let path = request.extensions().get::<MatchedPath>().cloned();
    let traced = app.config.otlp_endpoint.is_some();
    let span = if traced {
        let path = path.as_ref().map_or(UNKNOWN_PATH, MatchedPath::as_str);
        traces::span(&id, &method, path, request.headers())
    } else {
        tracing::info_span!("request", request_id = id.as_str(), environment = Empty)
    };

    let is_upload = method == Method::POST && path.as_ref().is_some_and(|path| policy::is_at(path.as_str()));
    let outcome = within_limits(&app, request, next).instrument(span.clone()).await;
    let mut response = outcome
        .unwrap_or_else(|error| if is_upload { policy::refused(error) } else { error.into_response() });
    if path.as_ref().is_some_and(|path| path.as_str().starts_with(authzen::PREFIX)) {
        response = authzen::as_text(response);
    }
    let inner = response.extensions_mut().remove::<studio::InnerPath>().map(|inner| inner.text());
    let took = started.elapsed();
    span.in_scope(|| {
        let path = inner.as_deref().or(path.as_ref().map(MatchedPath::as_str)).unwrap_or(UNKNOWN_PATH);
        let status = response.status();
        app.metrics.answered(&method, path, status, took);
        if traced {
            traces::answered(&span, &method, path, status);
        }
        let (status, took_us) = (status.as_u16(), u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        tracing::info!(target: REQUEST_LOG, %method, path, status, took_us, "answered");
    });
    headers::stamp(&mut response, id, took);
    response
}

/// Counts a request against its key's limit until it is answered.
#[derive(Clone, Debug)]
struct RequestShare(Arc<Account>);

impl RequestShare {
    /// Counts the request as one of this asker's.
    fn take(&self, app: &AppState, asker: Asker) -> Result<(), ApiError> {
        let Self(account) = self;
        account.belongs_to(asker);
        account.hold(1).map_err(|_| {
            app.metrics.refused(Refused::Concurrency);
            ApiError::Unavailable("too many requests of this key at once".to_owned())
        })
    }
}

/// The handler's answer, or that of an exceeded limit or a panic.
async fn within_limits(app: &AppState, mut request: Request, next: Next) -> Result<Response, ApiError> {
    let Ok(_seat) = app.seats.try_acquire() else {
        app.metrics.refused(Refused::Concurrency);
        return Err(ApiError::Unavailable("too many requests at once".to_owned()));
    };
    own_host::check(request.headers(), &app.config)?;
    let account = Arc::new(Account::new(&app.budget));
    request.extensions_mut().insert(Arc::clone(&account));
    let share = RequestShare(Arc::new(Account::new(&app.requests)));
    request.extensions_mut().insert(share.clone());
    let mut handler = pin!(async { large::encoded(next.run(request).await, app, account).await });
    let guarded = std::future::poll_fn(|context| {
        // A handler that panicked is never polled again, so its inconsistent state is never seen.
        match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(_) => Poll::Ready(Err(ApiError::Internal("a handler panicked".to_owned()))),
        }
    });
    let answered = tokio::time::timeout(app.config.request_time, guarded).await;
    drop(share);
    answered.unwrap_or_else(|_| {
        app.metrics.refused(Refused::Time);
        Err(ApiError::Unavailable("the request timed out".to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::routing::get;
    use std::time::Duration;
    use tower::ServiceExt;

    /// The status and the body of a handler's answer, through the layer.
    async fn answered(config: Config, path: &str) -> (StatusCode, String) {
        let app = Arc::new(AppState::new(config, [], OptionalParts::default()));
        let faulty = async || -> &'static str { panic!("an internal fault") };
        let slow = async || tokio::time::sleep(Duration::from_mins(1)).await;
        let router = Router::new()
            .route("/faulty", get(faulty))
            .route("/slow", get(slow))
            .layer(from_fn_with_state(Arc::clone(&app), edge))
            .with_state(app);
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert!(response.headers().contains_key("x-request-id"));
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_panic_is_500_and_says_nothing_of_its_cause() {
        let (status, body) = answered(Config::default(), "/faulty").await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(body.starts_with(r#"{"message":"internal error"#) && !body.contains("fault"), "{body}");
        assert!(body.ends_with(r#","code":"internal_error"}"#), "{body}");
    }

    #[tokio::test]
    async fn a_request_over_its_time_is_503() {
        let config = Config { request_time: Duration::from_millis(20), ..Config::default() };
        let (status, body) = answered(config, "/slow").await;
        assert_eq!((status, body.contains("message")), (StatusCode::SERVICE_UNAVAILABLE, true));
    }
}
