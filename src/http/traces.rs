//! The OpenTelemetry span of a request.
//!
//! In: the head of a request. Out: a span that is exported once the request has been answered. Its attributes
//! have the names that OpenTelemetry defines for HTTP servers. A `traceparent` header makes the span part of
//! the caller's trace. Like the log, it contains the declared path and no ids of facts.

use super::headers::RequestId;
use axum::http::{HeaderMap, Method, StatusCode};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::Status;
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing::field::Empty;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The span of a traced request.
pub(super) fn span(id: &RequestId, method: &Method, path: &str, headers: &HeaderMap) -> Span {
    let span = tracing::info_span!(
        "request",
        request_id = id.as_str(),
        environment = Empty,
        otel.name = format_args!("{method} {path}"),
        otel.kind = "server",
    );
    let parent = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
    // This fails if the span is not exported; then it needs no parent.
    let _ = span.set_parent(parent);
    span
}

/// Completes the span of a request.
pub(super) fn answered(span: &Span, method: &Method, path: &str, status: StatusCode) {
    span.set_attribute("http.request.method", method.to_string());
    span.set_attribute("http.route", path.to_owned());
    span.set_attribute("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.set_status(Status::error(""));
    }
}
