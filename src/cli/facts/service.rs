//! An environment of a running service, over its HTTP interface.
//!
//! Requests that the service temporarily refuses (429, 503) are repeated when it says. A broken connection is
//! opened again, and a chunk whose answer was lost is sent again: facts are a set, so storing them twice
//! changes nothing.

use super::CliError;
use super::chunks::{Chunk, Policy, policy};
use crate::cli::facts_file::FactJson;
use crate::cli::progress::ProgressLine;
use crate::config::Secret;
use crate::engine::Fact;
use serde::de::{DeserializeOwned, Deserializer as _, SeqAccess, Visitor};
use serde_json::{Deserializer, Value as Json};
use std::io::BufReader;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use ureq::http::{Response, StatusCode};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

/// How long to wait for an answer; the service gives up earlier.
const ANSWER_TIME: Duration = Duration::from_mins(2);

/// How long a chunk is retried before the import gives up.
const RETRY_TIME: Duration = Duration::from_mins(5);

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The longest answer that is held as a whole.
const MOST_ANSWER: u64 = 64 << 20;

/// What a service says to a question.
pub(in crate::cli) enum ServiceReply<T> {
    /// The answer.
    Answer(T),
    /// The question has no answer.
    Refused {
        /// Why.
        message: String,
        /// What kind of error it is.
        code: String,
    },
}

/// An environment of a service.
pub(in crate::cli) struct Service {
    agent: Agent,
    base: String,
    key: Secret,
}

impl Service {
    /// The service at an address that may end with `/api`.
    pub(in crate::cli) fn new(url: &str, key: Secret) -> Result<Self, CliError> {
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(CliError::Refused(format!("`{url}` is not an address: write http://… or https://…")));
        }
        let base = url.trim_end_matches('/').trim_end_matches("/api");
        // Trust the certificates that this machine trusts: a service inside a company has one of its own
        // authority.
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_recv_response(Some(ANSWER_TIME))
            .user_agent(concat!("portcullis/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls);
        Ok(Self { agent: config.build().into(), base: format!("{base}/api"), key })
    }

    /// The service, and the environment according to the key.
    pub(super) fn name(&self) -> String {
        let environment = self.key.0.split('_').nth(1).unwrap_or_default();
        format!("{}, environment {environment}", self.base)
    }

    /// The active policy.
    pub(super) fn policy(&self) -> Result<Policy, CliError> {
        let mut response = self.get("policy")?;
        let read = response.body_mut().with_config().limit(MOST_ANSWER).read_json();
        let answer: Json = read.map_err(|error| lost(&error))?;
        let text = |name: &str| answer.pointer(&format!("/policy/{name}")).and_then(Json::as_str);
        Ok(text("src").map_or(Policy::None, |src| policy(text("filename").unwrap_or_default(), src)))
    }

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
                    None => return Err(CliError::Refused(format!("{place}: {}", refusal(response)))),
                },
                Err(
                    error @ (ureq::Error::Io(_) | ureq::Error::Timeout(_) | ureq::Error::ConnectionFailed),
                ) => (lost(&error).to_string(), pause),
                Err(error) => return Err(lost(&error)),
            };
            pause = wait.min(LONGEST_PAUSE);
            if start.elapsed() + pause > RETRY_TIME {
                return Err(CliError::Refused(format!("{place}: {why}, for {} s", RETRY_TIME.as_secs())));
            }
            progress.say(format!("waits: {why}"));
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Passes every fact of one moment to `each`.
    pub(super) fn facts(&self, each: impl FnMut(Fact) -> ControlFlow<()>) -> Result<(), CliError> {
        let response = self.get("facts")?;
        let mut json = Deserializer::from_reader(BufReader::new(response.into_body().into_reader()));
        let read = json.deserialize_seq(Each(each)).and_then(|whole| if whole { json.end() } else { Ok(()) });
        read.map_err(|error| CliError::Refused(format!("cannot read the answer of the service: {error}; check that the address is that of a Portcullis service")))
    }

    /// The answer of an endpoint that changes nothing.
    pub(in crate::cli) fn ask<T: DeserializeOwned>(&self, path: &str, body: &Json) -> Result<T, CliError> {
        let request = self.agent.post(format!("{}/{path}", self.base)).header("Authorization", self.bearer());
        let mut response = request.send_json(body).map_err(|error| lost(&error))?;
        if !response.status().is_success() {
            return Err(CliError::Refused(refusal(response)));
        }
        response.body_mut().with_config().limit(MOST_ANSWER).read_json().map_err(|error| lost(&error))
    }

    /// The answer of an endpoint that changes nothing, or why the question itself has none. Waits if the
    /// service asks for it.
    pub(in crate::cli) fn try_ask<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Json,
    ) -> Result<ServiceReply<T>, CliError> {
        let start = Instant::now();
        loop {
            let request =
                self.agent.post(format!("{}/{path}", self.base)).header("Authorization", self.bearer());
            let mut response = request.send_json(body).map_err(|error| lost(&error))?;
            if let Some(asked) = asked_to_wait(&response)
                && start.elapsed() + asked < RETRY_TIME
            {
                std::thread::sleep(asked.clamp(Duration::from_millis(100), LONGEST_PAUSE));
                continue;
            }
            match response.status() {
                status if status.is_success() => {
                    let read = response.body_mut().with_config().limit(MOST_ANSWER).read_json();
                    return read.map(ServiceReply::Answer).map_err(|error| lost(&error));
                }
                StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => {
                    let answer: Option<Json> = response.body_mut().read_json().ok();
                    let text = |name: &str| answer.as_ref()?.get(name)?.as_str().map(str::to_owned);
                    let message = text("message").unwrap_or_else(|| "no message".to_owned());
                    return Ok(ServiceReply::Refused { message, code: text("code").unwrap_or_default() });
                }
                _ => return Err(CliError::Refused(refusal(response))),
            }
        }
    }

    fn get(&self, path: &str) -> Result<Response<Body>, CliError> {
        let request = self.agent.get(format!("{}/{path}", self.base)).header("Authorization", self.bearer());
        let response = request.call().map_err(|error| lost(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(CliError::Refused(refusal(response)))
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.key.0)
    }
}

/// How long the service asks to wait, if it does.
fn asked_to_wait(response: &Response<Body>) -> Option<Duration> {
    match response.status() {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let header = response.headers().get("retry-after").and_then(|text| text.to_str().ok());
            Some(Duration::from_secs(header.and_then(|text| text.trim().parse().ok()).unwrap_or(1)))
        }
        _ => None,
    }
}

/// The service's message, with its status.
fn refusal(mut response: Response<Body>) -> String {
    let status = response.status().as_u16();
    let answer: Option<Json> = response.body_mut().read_json().ok();
    let message = answer.as_ref().and_then(|answer| answer.get("message")?.as_str()).unwrap_or("no message");
    match status {
        413 => format!("the service answers {status}: {message}; try a smaller --chunk"),
        _ => format!("the service answers {status}: {message}"),
    }
}

fn lost(error: &ureq::Error) -> CliError {
    CliError::Refused(format!("no answer from the service: {error}; check its address, and that it runs"))
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
