//! Facts of a running service, over its HTTP interface.
//!
//! Requests that the service temporarily refuses (429, 503) are repeated when it says. A broken connection is
//! opened again, and a chunk whose answer was lost is sent again: facts are a set, so storing them twice
//! changes nothing.

use super::chunks::Chunk;
use crate::cli::error::{CliError, ServiceError};
use crate::cli::facts_file::FactJson;
use crate::cli::progress::ProgressLine;
use crate::cli::service::{LONGEST_PAUSE, RETRY_TIME, Service, asked_to_wait, lost, said};
use crate::engine::Fact;
use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::Deserializer;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use ureq::Body;
use ureq::http::{Response, StatusCode};

impl Service {
    /// Stores a chunk, and shows on the progress line why it waits.
    pub(super) fn store(&self, chunk: &Chunk, place: &str, progress: &ProgressLine) -> Result<(), CliError> {
        let start = Instant::now();
        let mut pause = Duration::from_secs(1);
        loop {
            let request =
                self.agent.post(format!("{}/batch", self.base)).header("Authorization", self.bearer());
            let (why, wait) = match request.content_type("application/json").send(&chunk.body) {
                Ok(response) if response.status().is_success() => {
                    progress.say("");
                    return Ok(());
                }
                Ok(response) => match asked_to_wait(&response) {
                    Some(asked) => (refusal(response), asked.max(Duration::from_millis(100))),
                    None => return Err(CliError::at(place, refusal(response).into())),
                },
                Err(
                    error @ (ureq::Error::Io(_) | ureq::Error::Timeout(_) | ureq::Error::ConnectionFailed),
                ) => (lost(&error), pause),
                Err(error) => return Err(lost(&error).into()),
            };
            pause = wait.min(LONGEST_PAUSE);
            if start.elapsed() + pause > RETRY_TIME {
                let error = CliError::GaveUp { error: why, time: RETRY_TIME };
                return Err(CliError::at(place, error));
            }
            progress.say(format!("waits: {why}"));
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Passes every fact of one moment that matches the parameters to `each`.
    pub(super) fn facts(
        &self,
        matching: &[(String, String)],
        each: impl FnMut(Fact) -> ControlFlow<()>,
    ) -> Result<(), CliError> {
        let response = self.get("facts", matching)?;
        let mut json = Deserializer::from_reader(BufReader::new(response.into_body().into_reader()));
        let read = json.deserialize_seq(Each(each)).and_then(|whole| if whole { json.end() } else { Ok(()) });
        read.map_err(|error| ServiceError::UnexpectedAnswer(error.to_string()).into())
    }
}

/// Why the service refused a chunk.
fn refusal(response: Response<Body>) -> ServiceError {
    let status = response.status();
    let (message, code) = said(response);
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => ServiceError::LargeChunk { message, code },
        status => ServiceError::Refused { status: status.as_u16(), message, code },
    }
}

/// Reads an array of facts without storing it; returns whether it was read to its end.
struct Each<F>(F);

impl<'de, F: FnMut(Fact) -> ControlFlow<()>> Visitor<'de> for Each<F> {
    type Value = bool;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of facts")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut facts: A) -> Result<bool, A::Error> {
        while let Some(fact) = facts.next_element::<FactJson>()? {
            if (self.0)(fact.into()).is_break() {
                // The rest is taken as it comes, so that the reader is content.
                while facts.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                return Ok(false);
            }
        }
        Ok(true)
    }
}
