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

/// How many bytes of an answer are read.
const MOST_ANSWER: u64 = 64 << 10;

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
    /// It answers that it did not take some of them.
    #[error("the collector rejects {0} of the lines: {1}")]
    Rejected(u64, String),
}

impl CollectorError {
    /// How many lines are lost, if not all of them are.
    pub(super) fn n_lost(&self) -> Option<u64> {
        match self {
            Self::Rejected(n_lines, _) => Some(*n_lines),
            Self::NoAnswer(_) | Self::Refused(_) => None,
        }
    }
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
        let mut response = post.send_json(request(lines))?;
        if !response.status().is_success() {
            return Err(CollectorError::Refused(response.status()));
        }
        // A collector may accept the lines with an empty answer.
        let said = response.body_mut().with_config().limit(MOST_ANSWER).read_json::<Value>();
        let (n_rejected, message) = said.as_ref().map(rejected).unwrap_or_default();
        if n_rejected == 0 { Ok(()) } else { Err(CollectorError::Rejected(n_rejected, message)) }
    }
}

/// How many lines an answer rejects, and why (`ExportLogsServiceResponse.partial_success`).
fn rejected(answer: &Value) -> (u64, String) {
    let partial = &answer["partialSuccess"];
    let n_rejected = match &partial["rejectedLogRecords"] {
        Value::String(number) => number.parse().unwrap_or(0),
        number => number.as_u64().unwrap_or(0),
    };
    (n_rejected, partial["errorMessage"].as_str().unwrap_or("it does not say why").to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_reject_some_lines() {
        let answer = json!({ "partialSuccess": { "rejectedLogRecords": "20", "errorMessage": "too old" } });
        assert_eq!(rejected(&answer), (20, "too old".to_owned()));
        assert_eq!(rejected(&json!({ "partialSuccess": { "rejectedLogRecords": 2 } })).0, 2);
        for nothing in
            [json!({}), json!({ "partialSuccess": {} }), json!([]), json!({ "partialSuccess": null })]
        {
            assert_eq!(rejected(&nothing).0, 0, "{nothing}");
        }
    }
}
