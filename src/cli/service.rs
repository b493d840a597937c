//! An environment of a running service, over its HTTP interface.

use super::active_policy::ActivePolicy;
use super::error::{ArgumentError, CliError, ServiceError, system_reason};
use crate::config::Secret;
use crate::http::{DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY};
use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::net::IpAddr;
use std::time::{Duration, Instant};
use ureq::http::{HeaderValue, Response, StatusCode, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

/// How long to wait for an answer; the service gives up earlier.
const ANSWER_TIME: Duration = Duration::from_mins(2);

/// How long a request is repeated that the service refuses for the moment.
pub(super) const RETRY_TIME: Duration = Duration::from_mins(5);

/// The longest pause between two attempts.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The longest answer that is held as a whole.
const MOST_ANSWER: u64 = 64 << 20;

/// A policy as the service returns it.
#[derive(Deserialize)]
pub(super) struct PolicySource {
    /// Its name.
    pub(super) filename: String,
    /// Its text.
    pub(super) src: String,
}

#[derive(Deserialize)]
struct PolicyAnswer {
    /// `None` before the first policy. It must be there, because any other server may answer `{}`.
    #[serde(deserialize_with = "Option::deserialize")]
    policy: Option<PolicySource>,
}

/// What a service says to a question.
pub(super) enum ServiceReply<T> {
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
pub(super) struct Service {
    pub(super) agent: Agent,
    /// The address of its interface, without a `/` at the end.
    pub(super) base: String,
    key: Secret,
    /// Whether no key was given.
    is_guess: bool,
    /// The last offset that an answer had. Later questions name it, so no answer is of an older state.
    offset: Mutex<Option<HeaderValue>>,
}

/// The header of offsets.
const OFFSET: &str = "OsoOffset";

impl Service {
    /// The service at an address that may end with `/api`. Without a key, the one that `serve --dev` accepts
    /// is tried on this machine, and nowhere else.
    pub(super) fn new(url: &str, key: Option<Secret>) -> Result<Self, CliError> {
        let host =
            host(url).map_err(|reason| ArgumentError::ServiceAddress { address: url.to_owned(), reason })?;
        let is_guess = key.is_none();
        let development = || is_loopback(&host).then(|| Secret(DEVELOPMENT_KEY.to_owned()));
        let key = key.or_else(development).ok_or(ServiceError::NoKey)?;
        let key = Secret(key.0.trim().to_owned());
        if key.0.is_empty() || !key.0.chars().all(|c| c.is_ascii_graphic()) {
            return Err(ServiceError::InvalidKey.into());
        }
        // Trust the certificates that this machine trusts: a service inside a company has one of its own
        // authority.
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_recv_response(Some(ANSWER_TIME))
            .user_agent(concat!("portcullis/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls);
        Ok(Self {
            agent: config.build().into(),
            base: format!("{}/api", base(url)),
            key,
            is_guess,
            offset: Mutex::default(),
        })
    }

    /// The service, and the environment according to the key.
    pub(super) fn name(&self) -> String {
        format!("{}, environment {}", self.base, self.environment())
    }

    /// The environment according to the key. A key in the settings may be any text; it is for the default
    /// environment.
    pub(super) fn environment(&self) -> &str {
        match self.key.0.split('_').collect::<Vec<_>>()[..] {
            ["e", environment, _, _, ..] => environment,
            _ => DEFAULT_ENVIRONMENT,
        }
    }

    /// The active policy.
    pub(super) fn policy(&self) -> Result<ActivePolicy, CliError> {
        let source = self.policy_source(None)?;
        Ok(ActivePolicy::of(source.as_ref().map(|source| (&*source.filename, &*source.src))))
    }

    /// The active policy as it was written, or that of a version; `None` before the first one.
    pub(super) fn policy_source(&self, version: Option<u64>) -> Result<Option<PolicySource>, CliError> {
        let path = version.map_or("policy".to_owned(), |id| format!("policy?id={id}"));
        Ok(self.read::<PolicyAnswer>(&path)?.policy)
    }

    /// The answer of an endpoint that is read.
    pub(super) fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        let mut response = self.get(path, &[])?;
        response.body_mut().with_config().limit(MOST_ANSWER).read_json().map_err(|error| lost(&error).into())
    }

    /// The answer of an endpoint, which may change something; it is asked once.
    pub(super) fn ask<T: DeserializeOwned>(&self, path: &str, body: &Json) -> Result<T, CliError> {
        let request = self.agent.post(format!("{}/{path}", self.base)).header("Authorization", self.bearer());
        let mut response = request.send_json(body).map_err(|error| lost(&error))?;
        if !response.status().is_success() {
            return Err(self.refused(response).into());
        }
        response.body_mut().with_config().limit(MOST_ANSWER).read_json().map_err(|error| lost(&error).into())
    }

    /// The answer of an endpoint that changes nothing, or why the question itself has none. Waits if the
    /// service asks for it.
    pub(super) fn try_ask<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Json,
    ) -> Result<ServiceReply<T>, CliError> {
        let start = Instant::now();
        loop {
            let mut request =
                self.agent.post(format!("{}/{path}", self.base)).header("Authorization", self.bearer());
            if let Some(offset) = &*self.offset.lock() {
                request = request.header(OFFSET, offset);
            }
            let mut response = request.send_json(body).map_err(|error| lost(&error))?;
            if let Some(offset) = response.headers().get(OFFSET) {
                *self.offset.lock() = Some(offset.clone());
            }
            if let Some(asked) = asked_to_wait(&response)
                && start.elapsed().saturating_add(asked) < RETRY_TIME
            {
                std::thread::sleep(asked.clamp(Duration::from_millis(100), LONGEST_PAUSE));
                continue;
            }
            match response.status() {
                status if status.is_success() => {
                    let read = response.body_mut().with_config().limit(MOST_ANSWER).read_json();
                    return read.map(ServiceReply::Answer).map_err(|error| lost(&error).into());
                }
                StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => {
                    let (message, code) = said(response);
                    return Ok(ServiceReply::Refused { message, code });
                }
                _ => return Err(self.refused(response).into()),
            }
        }
    }

    /// The answer of an endpoint that changes nothing. Waits if the service asks for it.
    pub(super) fn answer<T: DeserializeOwned>(&self, path: &str, body: &Json) -> Result<T, CliError> {
        match self.try_ask(path, body)? {
            ServiceReply::Answer(answer) => Ok(answer),
            ServiceReply::Refused { message, code } => Err(CliError::Unanswered { message, code }),
        }
    }

    /// The response of an endpoint that is read.
    pub(super) fn get(
        &self,
        path: &str,
        parameters: &[(String, String)],
    ) -> Result<Response<Body>, CliError> {
        let request = self.agent.get(format!("{}/{path}", self.base)).header("Authorization", self.bearer());
        let parameters = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let response = request.query_pairs(parameters).call().map_err(|error| lost(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refused(response).into())
    }

    /// Why the service refused a request.
    fn refused(&self, response: Response<Body>) -> ServiceError {
        let status = response.status();
        let (message, code) = said(response);
        match status {
            StatusCode::BAD_REQUEST => ServiceError::BadRequest { message, code },
            StatusCode::UNAUTHORIZED if self.is_guess => ServiceError::NoKey,
            status => ServiceError::Refused { status: status.as_u16(), message, code },
        }
    }

    /// The header that authenticates a request.
    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.key.0)
    }
}

/// An address without the ending that every service has.
pub(super) fn base(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    // The host may be called `api`.
    url.strip_suffix("/api").filter(|rest| !rest.ends_with('/')).unwrap_or(url)
}

/// The host of an address, or what is wrong with it.
fn host(url: &str) -> Result<String, &'static str> {
    let uri = url.parse::<Uri>().map_err(|_| NO_ADDRESS)?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    let authority = uri.authority().filter(|_| is_http && uri.query().is_none()).ok_or(NO_ADDRESS)?;
    if authority.as_str().contains('@') {
        return Err("has a user or a password, which is not sent: leave it out");
    }
    let host = authority.host();
    if host.is_empty() { Err(NO_ADDRESS) } else { Ok(host.to_owned()) }
}

/// What an address is.
const NO_ADDRESS: &str = "is not an address: write http://… or https://…";

/// The message and the code of a response that refuses something.
pub(super) fn said(mut response: Response<Body>) -> (String, String) {
    let answer: Option<Json> = response.body_mut().read_json().ok();
    let text = |name: &str| answer.as_ref()?.get(name)?.as_str().map(str::to_owned);
    (text("message").unwrap_or_else(|| "no message".to_owned()), text("code").unwrap_or_default())
}

/// Whether a host is this machine.
fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Whether a response is the service's own: it has all of these headers, of which proxies add some.
fn is_of_service(response: &Response<Body>) -> bool {
    let headers = response.headers();
    let is_json = headers.get("content-type").is_some_and(|form| form.as_bytes() == b"application/json");
    is_json && headers.contains_key("x-request-id") && headers.contains_key("server-timing")
}

/// How long the service asks to wait, if it does.
pub(super) fn asked_to_wait(response: &Response<Body>) -> Option<Duration> {
    match response.status() {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let Some(header) = response.headers().get("retry-after") else {
                // The service itself says how long, unless waiting cannot help. A proxy says nothing.
                return (!is_of_service(response)).then_some(Duration::from_secs(1));
            };
            let seconds = header.to_str().ok().and_then(|text| text.trim().parse().ok());
            Some(Duration::from_secs(seconds.unwrap_or(1)))
        }
        _ => None,
    }
}

/// There is no answer.
pub(super) fn lost(error: &ureq::Error) -> ServiceError {
    match error {
        ureq::Error::Json(error) => ServiceError::UnexpectedAnswer(error.to_string()),
        ureq::Error::Io(error) => ServiceError::Unreachable(system_reason(error)),
        error => ServiceError::Unreachable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener};

    fn refused(url: &str, key: Option<&str>) -> Option<String> {
        let key = key.map(|key| Secret(key.to_owned()));
        Service::new(url, key).err().map(|error| error.to_string())
    }

    #[test]
    fn only_this_machine_gets_the_key_of_development() {
        let here =
            ["http://localhost", "http://LOCALHOST:8081/api", "http://127.0.0.1:1", "https://[::1]:8081/"];
        for url in here.into_iter().chain(["HTTP://127.0.0.1"]) {
            assert_eq!(refused(url, None), None, "{url}");
        }
        let no_key = ServiceError::NoKey.to_string();
        for url in
            ["http://example.com", "http://localhost.example.com", "http://10.0.0.1", "http://a/127.0.0.1"]
        {
            assert_eq!(refused(url, None).as_deref(), Some(&*no_key), "{url}");
        }
    }

    #[test]
    fn a_wrong_address_or_key_is_reported() {
        for url in [
            "",
            "localhost:8081",
            "ftp://a",
            "http://",
            "http:///x",
            "http://a b",
            "http://a:99999/?x=1",
            "http://a/?x",
        ] {
            assert!(refused(url, Some("k")).is_some_and(|reason| reason.contains(NO_ADDRESS)), "{url}");
        }
        let reason = refused("http://127.0.0.1@example.com/", None).unwrap_or_default();
        assert!(reason.contains("has a user or a password"), "{reason}");
        let invalid = ServiceError::InvalidKey.to_string();
        for key in ["", " \n", "a\nb", "\u{feff}k", "é"] {
            assert_eq!(refused("http://a", Some(key)).as_deref(), Some(&*invalid), "{key:?}");
        }
        assert_eq!(refused("http://a", Some(" k\r\n")), None);
    }

    #[test]
    fn a_key_without_an_environment_is_for_the_default_one() {
        let environment = |key: &str| {
            let service = Service::new("http://a", Some(Secret(key.to_owned()))).unwrap_or_else(|_| panic!());
            service.environment().to_owned()
        };
        assert_eq!(environment("e_staging_1_c2_VjcmV0"), "staging");
        for key in ["9f86d081884c7d659a2feaa0c55ad015", "e_staging", "my_own_long_key"] {
            assert_eq!(environment(key), DEFAULT_ENVIRONMENT, "{key}");
        }
    }

    #[test]
    fn a_host_may_have_the_name_of_the_interface() {
        for (url, expected) in
            [("http://a/api/", "http://a"), ("http://api", "http://api"), ("http://api/api", "http://api")]
        {
            assert_eq!(base(url), expected);
        }
    }

    #[test]
    fn a_service_that_does_not_ask_to_wait_is_not_asked_again() {
        let asked = |headers: &[(&str, &str)]| {
            let mut response = Response::builder().status(503);
            for (name, value) in headers {
                response = response.header(*name, *value);
            }
            asked_to_wait(&response.body(Body::builder().data("")).unwrap()).map(|wait| wait.as_secs())
        };
        assert_eq!(asked(&[("X-Request-ID", "1"), ("Retry-After", "7")]), Some(7));
        let timing = ("Server-Timing", "oso;dur=1");
        assert_eq!(asked(&[("X-Request-ID", "1"), timing, ("Content-Type", "application/json")]), None);
        // Of a proxy.
        assert_eq!(asked(&[]), Some(1));
        assert_eq!(asked(&[("X-Request-ID", "1"), ("Content-Type", "text/html")]), Some(1));
        assert_eq!(asked(&[("X-Request-ID", "1"), ("Content-Type", "application/json")]), Some(1));
    }

    #[test]
    fn a_service_that_asks_to_wait_for_ever_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _request = stream.read(&mut [0; 4096]).unwrap();
            let wait = u64::MAX;
            write!(stream, "HTTP/1.1 503 X\r\nRetry-After: {wait}\r\nContent-Length: 0\r\n\r\n").unwrap();
            // A connection that is closed with something unread is reset, and the reply is lost.
            stream.shutdown(Shutdown::Write).unwrap();
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap_or_default();
        });
        let service = Service::new(&url, Some(Secret("k".to_owned()))).unwrap_or_else(|_| panic!());
        let reply = service.answer::<Json>("authorize", &Json::Null).unwrap_err().to_string();
        assert!(reply.contains("503"), "{reply}");
    }
}
