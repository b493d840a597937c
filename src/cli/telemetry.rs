//! Writes log lines to the standard error and sends traces to a collector.
//!
//! In: the settings. Out: a subscriber for the whole process, and [`Telemetry`], which must be finished so
//! that the last lines and spans are written and sent. Neither delays an answer: lines and spans wait in
//! bounded queues, and separate threads write and send them. If the reader of the log or the collector
//! stalls, what does not fit into the queue is lost.

use super::error::CliError;
use super::output;
use crate::config::{CollectorUrl, Config, LogFormat};
use crate::http::collector_agent;
use async_trait::async_trait;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::io::BufWriter;
use std::time::Duration;
use tracing::level_filters::LevelFilter;
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

/// How long the collector may take for a batch of spans, and for the last one when the service ends.
const EXPORT_TIME: Duration = Duration::from_secs(5);

/// Must be finished at the end.
#[derive(Debug)]
pub(super) struct Telemetry {
    traces: Option<SdkTracerProvider>,
    /// Writes the remaining lines when it is dropped.
    lines: WorkerGuard,
}

impl Telemetry {
    /// Starts writing lines, and sending traces if a collector is configured.
    pub(super) fn start(config: &Config) -> Result<Self, CliError> {
        let traces = config.otlp_endpoint.as_ref().map(tracer_provider).transpose()?;
        let spans = traces.as_ref().map(|provider| {
            let layer = tracing_opentelemetry::layer()
                .with_tracer(provider.tracer("portcullis"))
                .with_location(false)
                .with_threads(false)
                .with_tracked_inactivity(false);
            // Requests and their events, independent of the log filter.
            layer.with_filter(Targets::new().with_target("portcullis::http", LevelFilter::INFO))
        });
        // Buffered, so that the thread writes several lines at once.
        let stderr = BufWriter::new(std::io::stderr());
        let (writer, written) = NonBlockingBuilder::default().finish(stderr);
        let subscriber = Registry::default().with(spans).with(lines(config, writer));
        // A second subscriber is refused, and the first stays in use.
        let _ = subscriber.try_init();
        Ok(Self { traces, lines: written })
    }

    /// Sends the remaining spans and writes the remaining lines.
    pub(super) fn finish(self) {
        if let Some(Err(error)) = self.traces.map(|traces| traces.shutdown_with_timeout(EXPORT_TIME)) {
            tracing::warn!(%error, "the last traces were not sent");
        }
        drop(self.lines);
    }
}

/// The layer that writes lines to the standard error.
fn lines<S>(config: &Config, writer: NonBlocking) -> impl Layer<S>
where
    S: tracing::Subscriber + for<'span> tracing_subscriber::registry::LookupSpan<'span>,
{
    let layer = fmt::layer().with_writer(writer);
    let layer = match config.log_format {
        LogFormat::Text => layer.with_ansi(output::is_coloured(&std::io::stderr())).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).with_span_list(false).boxed(),
    };
    layer.with_filter(EnvFilter::builder().parse_lossy(&config.log))
}

fn tracer_provider(CollectorUrl(collector): &CollectorUrl) -> Result<SdkTracerProvider, CliError> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(TraceClient(collector_agent(EXPORT_TIME)))
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{collector}/v1/traces"))
        .build()
        .map_err(|error| CliError::Traces(error.to_string()))?;
    let service = Resource::builder().with_service_name("portcullis").build();
    Ok(SdkTracerProvider::builder().with_resource(service).with_batch_exporter(exporter).build())
}

/// The HTTP client for the collector.
#[derive(Debug)]
struct TraceClient(ureq::Agent);

#[async_trait]
impl HttpClient for TraceClient {
    /// Blocks, because the exporter has its own thread.
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let answer = self.0.run(Request::from_parts(head, body.as_ref()))?;
        let (head, mut body) = answer.into_parts();
        Ok(Response::from_parts(head, body.read_to_vec()?.into()))
    }
}
