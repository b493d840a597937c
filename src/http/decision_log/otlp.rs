//! Sends decisions to a collector: OTLP over HTTP, in its JSON form.
//!
//! See "JSON Protobuf Encoding" in the OpenTelemetry protocol's specification: `POST /v1/logs`, numbers of 64
//! bits as text. Each decision is a log record whose body is the line of the file.

use super::line::Timestamp;
use crate::config::{CollectorHeaders, CollectorUrl};
use crate::http::collector_agent;
use serde_json::{Value, json};
use std::time::Duration;
use ureq::http::StatusCode;

/// How long the collector may take for a batch.
const TIME: Duration = Duration::from_secs(5);

/// OTLP's number for INFO.
const INFO: u8 = 9;

/// A collector of logs.
#[derive(Debug)]
pub(super) struct Collector {
    agent: ureq::Agent,
    url: String,
    headers: CollectorHeaders,
}

/// Why a collector has no lines.
#[derive(Debug, thiserror::Error)]
pub(super) enum CollectorError {
    /// There is no answer.
    #[error("{0}")]
    NoAnswer(#[from] ureq::Error),
    /// It answers that it did not take them.
    #[error("the collector answers {0}")]
    Refused(StatusCode),
}

impl Collector {
    pub(super) fn new(CollectorUrl(address): &CollectorUrl, headers: CollectorHeaders) -> Self {
        Self { agent: collector_agent(TIME), url: format!("{address}/v1/logs"), headers }
    }

    /// Sends lines, each with its time.
    pub(super) fn send(&self, lines: &[(Timestamp, String)]) -> Result<(), CollectorError> {
        let CollectorHeaders(headers) = &self.headers;
        let empty = self.agent.post(&self.url);
        let post = headers.iter().fold(empty, |post, (name, value)| post.header(name, value));
        let status = post.send_json(request(lines))?.status();
        if status.is_success() { Ok(()) } else { Err(CollectorError::Refused(status)) }
    }
}

fn request(lines: &[(Timestamp, String)]) -> Value {
    let record = |(time, line): &(Timestamp, String)| {
        let nanos = time.nanos().to_string();
        json!({
            "timeUnixNano": nanos, "observedTimeUnixNano": nanos, "severityNumber": INFO,
            "severityText": "INFO", "body": { "stringValue": line },
        })
    };
    let records: Vec<Value> = lines.iter().map(record).collect();
    json!({
        "resourceLogs": [{
            "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": "portcullis" } }] },
            "scopeLogs": [{ "scope": { "name": "portcullis.decisions" }, "logRecords": records }],
        }],
    })
}
