//! `/metrics`: the service's metrics in the text format of Prometheus.
//!
//! Requests are counted here as they happen; [`scrape`] adds the engines' counters and what is stored. Labels
//! are the declared path of an endpoint (never a path that was sent), a known HTTP method, a status, an
//! environment or a version. There are no ids or keys, and the number of series is bounded by the number of
//! endpoints.
//!
//! The metrics are about all traffic, so they are for operators. At the usual address they need a key and
//! cover only that key's environment; the address of `metrics_listen` shows all environments to anyone who
//! can reach it.

mod scrape;

use super::AppState;
use super::auth::ReadAccess;
use super::error::ApiError;
use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use prometheus::core::Collector;
use prometheus::{
    HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry, TEXT_FORMAT,
};
use std::sync::Arc;
use std::time::Duration;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Upper ends of the buckets, in seconds: a check takes a tenth of a millisecond, a question at most 20 s.
const BUCKETS: &[f64] = &[
    0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    30.0,
];

/// The label for paths without an endpoint.
pub(super) const UNKNOWN_PATH: &str = "unknown";

/// At the usual address, with a key.
pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(of_the_key))
}

/// At its own address, without a key.
pub(super) fn open_router(app: Arc<AppState>) -> Router {
    Router::from(OpenApiRouter::new().routes(routes!(of_all)))
        .fallback(async || ApiError::NotFound("there is no such path: use `/metrics`".to_owned()))
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .with_state(app)
}

/// Read the metrics of the process and of the key's environment
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics",
    tag = "Service",
    responses((
        status = 200,
        description = "Counters and histograms, in the text form of Prometheus",
        body = String,
        content_type = "text/plain",
    )),
)]
async fn of_the_key(
    ReadAccess(environment): ReadAccess,
    State(app): State<Arc<AppState>>,
) -> Result<Response, ApiError> {
    Ok(in_text(scrape::text(&app, &[environment]).await?))
}

/// Read the metrics of the process and of all environments
#[utoipa::path(
    get,
    path = "/metrics",
    security(()),
    responses((
        status = 200,
        description = "Counters and histograms, in the text form of Prometheus",
        body = String,
        content_type = "text/plain",
    )),
)]
async fn of_all(State(app): State<Arc<AppState>>) -> Result<Response, ApiError> {
    let mut environments: Vec<_> = app.environments.read().values().cloned().collect();
    environments.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    Ok(in_text(scrape::text(&app, &environments).await?))
}

fn in_text(text: String) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static(TEXT_FORMAT))], text).into_response()
}

/// Which limit refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Too many were in progress.
    Concurrency,
    /// It timed out.
    Time,
    /// Its key exceeded its rate.
    Rate,
}

/// The metrics that are counted as requests happen.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    durations: HistogramVec,
    refused: IntCounterVec,
    connections: IntGauge,
    accepted: IntCounter,
    broken_handshakes: IntCounter,
}

impl Metrics {
    /// Everything at zero.
    pub(super) fn new() -> Self {
        let registry = Registry::new();
        let requests = Opts::new("portcullis_http_requests_total", "Requests that were answered.");
        let requests = kept(&registry, IntCounterVec::new(requests, &["method", "path", "status"]));
        let durations = "From the head of a request to its answer.";
        let durations = HistogramOpts::new("portcullis_http_request_duration_seconds", durations);
        let durations = HistogramVec::new(durations.buckets(BUCKETS.to_vec()), &["method", "path"]);
        let durations = kept(&registry, durations);
        let refused =
            Opts::new("portcullis_http_refused_total", "Requests that a limit of the service refused.");
        let refused = kept(&registry, IntCounterVec::new(refused, &["reason"]));
        for reason in [Refused::Concurrency, Refused::Time, Refused::Rate] {
            // Create the series now, so that its first increase is visible.
            let _ = refused.get_metric_with_label_values(&[reason.label()]);
        }
        let connections = IntGauge::new("portcullis_connections", "Connections that are open.");
        let accepted = IntCounter::new("portcullis_connections_total", "Connections that were accepted.");
        let broken = "portcullis_tls_handshake_failures_total";
        let broken = IntCounter::new(broken, "Connections that ended in their TLS handshake.");
        let build = Opts::new("portcullis_build_info", "The version of the service; the value is 1.");
        let build =
            kept(&registry, IntGauge::with_opts(build.const_label("version", env!("CARGO_PKG_VERSION"))));
        build.set(1);
        Self {
            requests,
            durations,
            refused,
            connections: kept(&registry, connections),
            accepted: kept(&registry, accepted),
            broken_handshakes: kept(&registry, broken),
            registry,
        }
    }

    /// Counts a request by its method, its declared path and its answer.
    pub(super) fn answered(&self, method: &Method, path: &str, status: StatusCode, took: Duration) {
        let method = label(method);
        // The number of labels matches the declaration, so this cannot fail.
        if let Ok(requests) = self.requests.get_metric_with_label_values(&[method, path, status.as_str()]) {
            requests.inc();
        }
        if let Ok(durations) = self.durations.get_metric_with_label_values(&[method, path]) {
            durations.observe(took.as_secs_f64());
        }
        if status == StatusCode::TOO_MANY_REQUESTS {
            self.refused(Refused::Rate);
        }
    }

    /// Counts a request that a limit refused.
    pub(super) fn refused(&self, reason: Refused) {
        if let Ok(refused) = self.refused.get_metric_with_label_values(&[reason.label()]) {
            refused.inc();
        }
    }

    /// Counts a connection, which is open until the returned value is dropped.
    pub(super) fn connected(this: &Arc<Self>) -> Connected {
        this.accepted.inc();
        this.connections.inc();
        Connected(Arc::clone(this))
    }

    /// Counts a connection whose TLS handshake failed.
    pub(super) fn broken_handshake(&self) {
        self.broken_handshakes.inc();
    }
}

impl Refused {
    fn label(self) -> &'static str {
        match self {
            Self::Concurrency => "concurrency",
            Self::Time => "time",
            Self::Rate => "rate",
        }
    }
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connected(Arc<Metrics>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connections.dec();
    }
}

/// The method, if HTTP defines it: a client may send any word.
fn label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// Registers a metric.
#[expect(
    clippy::expect_used,
    reason = "names and labels are constants of this folder, and its tests make them all"
)]
fn kept<C: Collector + Clone + 'static>(registry: &Registry, made: prometheus::Result<C>) -> C {
    let number = made.expect("a name of Prometheus");
    registry.register(Box::new(number.clone())).expect("a name of its own");
    number
}
