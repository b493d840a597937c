//! Sends decisions to a collector: OTLP over HTTP, in its JSON form.
//!
//! See "JSON Protobuf Encoding" in the OpenTelemetry protocol's specification: `POST /v1/logs`, numbers of 64
//! bits as text. Each decision is a log record whose body is the line of the file.

use super::line::Timestamp;
use crate::config::HttpAddress;
use serde_json::{Value, json};
use std::time::Duration;

/// How long the collector may take for a batch.
const TIME: Duration = Duration::from_secs(5);

/// OTLP's number for INFO.
const INFO: u8 = 9;

/// A collector of logs.
#[derive(Debug)]
pub(super) struct Collector {
    agent: ureq::Agent,
    url: String,
}

impl Collector {
    pub(super) fn new(HttpAddress(address): &HttpAddress) -> Self {
        let config = ureq::Agent::config_builder().timeout_global(Some(TIME)).proxy(None).build();
        Self { agent: config.into(), url: format!("{address}/v1/logs") }
    }

    /// Sends lines, each with its time.
    pub(super) fn send(&self, lines: &[(Timestamp, String)]) -> Result<(), ureq::Error> {
        self.agent.post(&self.url).send_json(request(lines)).map(drop)
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
