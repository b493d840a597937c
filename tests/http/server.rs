//! A server on a free port, and the plainest client that can talk to it.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    num::NonZeroUsize,
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};

use portcullis::{
    config::Config,
    engine::{Engine, EngineSettings},
    http::{self, AppState, DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY, Environment, ErrorCode, Tls},
};
use serde_json::Value as Json;
use tokio::sync::oneshot;

/// Users with roles on organizations and repositories; a repository can be public, a user banned.
pub(crate) const POLICY: &str = r#"
actor User {}

global {
  roles = ["auditor"];
  permissions = ["audit"];
  "audit" if "auditor";
}

resource Org {
  roles = ["member"];
  permissions = ["invite"];
  "invite" if "member";
}

resource Repo {
  roles = ["reader", "writer"];
  permissions = ["read", "write"];
  relations = { org: Org };
  "reader" if "writer";
  "reader" if "member" on "org";
  "read" if "reader";
  "write" if "writer";
  "read" if is_public(resource);
}

has_permission(_: User, "visit", _: Org);
trusts(user: User, _anybody) if is_trusting(user);

declare age(User, Integer);
declare active(User, Boolean);
"#;

/// A running server; dropping it shuts it down.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// Where the numbers are shown without a key, if the settings say so.
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) tls: Option<Arc<Tls>>,
    runtime: Option<tokio::runtime::Runtime>,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
    folder: Option<tempfile::TempDir>,
}

impl Server {
    /// A server with [`POLICY`].
    pub(crate) fn start() -> Self {
        let server = Self::empty();
        let answer = server.post("/api/policy", &serde_json::json!({ "src": POLICY }));
        assert_eq!(answer.status, 200, "{}", answer.text);
        server
    }

    /// A server without a policy.
    pub(crate) fn empty() -> Self {
        Self::with(Config::default())
    }

    /// A server in development mode with these settings, over a fresh folder.
    pub(crate) fn with(config: Config) -> Self {
        Self::over(Config { dev: true, ..config }, tempfile::tempdir().unwrap())
    }

    /// A server with exactly these settings, over a folder that may have been used before.
    pub(crate) fn over(config: Config, folder: tempfile::TempDir) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let settings = EngineSettings {
            query_time: config.query_time,
            query_wait: config.query_wait,
            readers: config.readers.map(NonZeroUsize::get),
            long_readers: config.long_readers.map(NonZeroUsize::get),
            policy_test_time: config.policy_test_time,
            context_facts: config.max_context_facts,
            batch_facts: config.max_batch,
            delete_reach: config.max_delete,
            embedded_values: config.embedded_values,
            ..EngineSettings::default()
        };
        let engine = runtime.block_on(Engine::open(folder.path(), settings)).unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let environment = Environment { name: DEFAULT_ENVIRONMENT.to_owned(), engine };
        let tls = Tls::read(config.tls_cert.as_deref(), config.tls_key.as_deref()).unwrap().map(Arc::new);
        let bind = |address| runtime.block_on(tokio::net::TcpListener::bind(address)).unwrap();
        let metrics_listener = config.metrics_listen.map(bind);
        let metrics = metrics_listener.as_ref().map(|listener| listener.local_addr().unwrap());
        let state = AppState::new(config, [environment]);
        let state = match &tls {
            Some(tls) => state.with_tls(Arc::clone(tls)),
            None => state,
        };
        let state = Arc::new(state);
        if let Some(listener) = metrics_listener {
            runtime.spawn(http::serve_metrics(listener, Arc::clone(&state), std::future::pending()));
        }
        let (stop, stopped) = oneshot::channel::<()>();
        let handle = runtime.handle().clone();
        let serving = std::thread::spawn(move || {
            handle.block_on(http::serve(listener, state, async {
                let _ = stopped.await;
            }));
        });
        Self {
            address,
            metrics,
            tls,
            runtime: Some(runtime),
            stop: Some(stop),
            serving: Some(serving),
            folder: Some(folder),
        }
    }

    /// Tells the server to stop, and returns before it has.
    pub(crate) fn begin_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until the server has finished what it accepted.
    pub(crate) fn finish_stop(&mut self) {
        self.begin_stop();
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap();
        }
    }

    /// Stops the server and returns its folder, which nobody has open any more.
    pub(crate) fn into_folder(mut self) -> tempfile::TempDir {
        self.finish_stop();
        // Tasks of cut connections hold the store until they are gone.
        drop(self.runtime.take());
        self.folder.take().unwrap()
    }

    /// The same store, served by another server in development mode.
    pub(crate) fn restart(self) -> Self {
        Self::over(Config { dev: true, ..Config::default() }, self.into_folder())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[&bearer(DEVELOPMENT_KEY)], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Json) -> Answer {
        self.call("POST", path, body)
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: &Json) -> Answer {
        let headers = [&*bearer(DEVELOPMENT_KEY), "Content-Type: application/json"];
        self.send(method, path, &headers, body.to_string().as_bytes())
    }

    /// Sends one request on a connection of its own.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n");
        for header in headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        stream.write_all(head.as_bytes()).unwrap();
        write!(stream, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
        stream.write_all(body).unwrap();
        read_answer(&mut stream)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Adds facts, each `["predicate", "Type:id", …]`.
    pub(crate) fn add(&self, facts: &[&[&str]]) {
        let facts: Vec<Json> = facts.iter().map(|fact| fact_json(fact)).collect();
        let answer = self.post("/api/batch", &serde_json::json!([{ "inserts": facts }]));
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    /// The stored facts, each as `predicate(Type:id, …)`, sorted.
    pub(crate) fn stored(&self) -> Vec<String> {
        let answer = self.get("/api/facts");
        assert_eq!(answer.status, 200, "{}", answer.text);
        let mut facts: Vec<String> = answer.json().as_array().unwrap().iter().map(fact_text).collect();
        facts.sort();
        facts
    }

    /// Whether a user may do this to a repository.
    pub(crate) fn may(&self, user: &str, action: &str, repo: &str) -> bool {
        let answer = self.post("/api/authorize", &question(user, action, repo));
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["allowed"].as_bool().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.finish_stop();
    }
}

/// An authorize request.
pub(crate) fn question(user: &str, action: &str, repo: &str) -> Json {
    serde_json::json!({
        "actor_type": "User", "actor_id": user, "action": action,
        "resource_type": "Repo", "resource_id": repo,
    })
}

/// A fact, written `["predicate", "Type:id", …]`.
pub(crate) fn fact_json(fact: &[&str]) -> Json {
    let args: Vec<Json> = fact[1..].iter().map(|arg| value_json(arg)).collect();
    serde_json::json!({ "predicate": fact[0], "args": args })
}

/// A value, written `Type:id`.
pub(crate) fn value_json(value: &str) -> Json {
    let (ty, id) = value.split_once(':').unwrap();
    serde_json::json!({ "type": ty, "id": id })
}

fn fact_text(fact: &Json) -> String {
    let text = |arg: &Json| format!("{}:{}", arg["type"].as_str().unwrap(), arg["id"].as_str().unwrap());
    let args: Vec<String> = fact["args"].as_array().unwrap().iter().map(text).collect();
    format!("{}({})", fact["predicate"].as_str().unwrap(), args.join(", "))
}

pub(crate) fn bearer(key: &str) -> String {
    format!("Authorization: Bearer {key}")
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error} in {:?}", self.text))
    }

    /// The text every error has.
    pub(crate) fn message(&self) -> String {
        self.json()["message"].as_str().unwrap_or_else(|| panic!("no message in {:?}", self.text)).to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Checks the status and the exact body.
    pub(crate) fn is(&self, status: u16, body: &Json) {
        assert_eq!((self.status, &self.json()), (status, body));
    }

    /// The code of an error, which is one of the interface and has this status.
    pub(crate) fn code(&self) -> &'static str {
        let body = self.json();
        let known = ErrorCode::ALL.iter().find(|code| body["code"] == code.as_str());
        let code = known.unwrap_or_else(|| panic!("no code in {body}"));
        assert_eq!(code.status().as_u16(), self.status, "{body}");
        code.as_str()
    }

    /// Checks that this is an error whose message has this part.
    pub(crate) fn fails(&self, status: u16, part: &str) {
        assert_eq!(self.status, status, "{}", self.text);
        self.code();
        assert!(self.message().contains(part), "{:?} has no {part:?}", self.message());
        assert_eq!(self.header("content-type"), Some("application/json"));
    }
}

/// Reads one answer; its body is as long as its head says, or ends with an empty chunk.
pub(crate) fn read_answer(stream: &mut impl Read) -> Answer {
    try_read_answer(stream).unwrap()
}

/// Reads one answer, or nothing if the connection ends before it.
pub(crate) fn try_read_answer(stream: &mut impl Read) -> Option<Answer> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            Ok(_) | Err(_) => return None,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut answer = Answer { status, headers, text: String::new() };
    let mut body = Vec::new();
    if answer.header("transfer-encoding") == Some("chunked") {
        while read_chunk(stream, &mut body)? {}
    } else {
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        body.resize(length, 0);
        stream.read_exact(&mut body).unwrap();
    }
    answer.text = String::from_utf8(body).unwrap();
    Some(answer)
}

/// Reads one chunk; whether it was not the last, or nothing if the connection ends before it.
fn read_chunk(stream: &mut impl Read, body: &mut Vec<u8>) -> Option<bool> {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\r\n") {
        stream.read_exact(&mut byte).ok()?;
        line.push(byte[0]);
    }
    let length = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim_end(), 16).unwrap();
    let mut chunk = vec![0; length + 2];
    stream.read_exact(&mut chunk).ok()?;
    body.extend_from_slice(chunk.strip_suffix(b"\r\n").unwrap());
    Some(length > 0)
}
