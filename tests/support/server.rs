//! A server inside the test, on a free port, and the plainest client that can talk to it.

use super::wire::{Answer, bearer, fact_json, fact_text, question, read_answer};
use portcullis::config::Config;
use portcullis::engine::{Engine, EngineSettings, connect_environments};
use portcullis::http::{
    self, AppState, DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY, Environment, OptionalParts, SharedStore, Tls,
};
use portcullis::store::postgres::{Address, StoreServers};
use serde_json::Value as Json;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// Users with roles on organizations and repositories; a repository can be public, a user banned.
pub const POLICY: &str = r#"
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
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// Where the numbers are shown without a key, if the settings say so.
    pub metrics: Option<SocketAddr>,
    /// Its certificate, if the settings name one.
    pub tls: Option<Arc<Tls>>,
    runtime: Option<Runtime>,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
    folder: Option<TempDir>,
    /// The connection of a request without an end.
    endless: Option<TcpStream>,
}

/// A number for a setting that must be above zero.
pub fn count(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

impl Server {
    /// A server with [`POLICY`].
    pub fn start() -> Self {
        let server = Self::empty();
        let answer = server.post("/api/policy", &serde_json::json!({ "src": POLICY }));
        assert_eq!(answer.status, 200, "{}", answer.text);
        server
    }

    /// A server without a policy.
    pub fn empty() -> Self {
        Self::with(Config::default())
    }

    /// A server in development mode with these settings, over a fresh folder.
    pub fn with(config: Config) -> Self {
        Self::over(Config { dev: true, ..config }, tempfile::tempdir().unwrap())
    }

    /// A server in development mode whose only place for requests is taken by one without an end.
    pub fn full(config: Config) -> Self {
        let (body_time, request_time) = (Duration::from_hours(1), Duration::from_hours(1));
        let mut server = Self::with(Config { max_requests: count(1), body_time, request_time, ..config });
        let key = bearer(DEVELOPMENT_KEY);
        let head = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 2";
        let takes_place = |_| {
            let mut stream = server.connect();
            write!(stream, "POST /api/batch HTTP/1.1\r\n{key}\r\n{head}\r\n\r\n").unwrap();
            // It has an answer at once if another request still has the place.
            stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let is_waiting = stream.peek(&mut [0]).is_err();
            (is_waiting && server.get("/health").status == 503).then_some(stream)
        };
        let stream = (0..1_000).find_map(takes_place);
        server.endless = Some(stream.expect("the request does not take the place"));
        server
    }

    /// A server in development mode whose store is not on the disk.
    pub fn in_memory() -> Self {
        let runtime = runtime();
        let engine = runtime.block_on(Engine::in_memory(EngineSettings::default())).unwrap();
        Self::around(runtime, engine, Config { dev: true, ..Config::default() }, None)
    }

    /// A server with exactly these settings, over a folder that may have been used before.
    pub fn over(config: Config, folder: TempDir) -> Self {
        let settings = http::engine_settings(&config);
        let runtime = runtime();
        let engine = runtime.block_on(Engine::open(folder.path(), settings)).unwrap();
        Self::around(runtime, engine, config, Some(folder))
    }

    /// A node in development mode over the store in a PostgreSQL database.
    pub fn node(database: &str) -> Self {
        Self::node_of(Address::parse(database).unwrap().into())
    }

    /// A node in development mode over a store with replicas.
    pub fn node_of(servers: StoreServers) -> Self {
        let metrics_listen = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
        let config = Config { dev: true, metrics_listen, ..Config::default() };
        let settings =
            EngineSettings { readers: Some(2), long_readers: Some(1), ..http::engine_settings(&config) };
        let runtime = runtime();
        let connected = connect_environments(&servers, DEFAULT_ENVIRONMENT, &settings);
        let environments = runtime.block_on(connected).unwrap().into_iter();
        let environments = environments.map(|(name, engine)| Environment { name, engine });
        let shared_store = Some(SharedStore::new(servers, settings));
        let parts = OptionalParts { shared_store, ..OptionalParts::default() };
        Self::serving(runtime, environments, parts, config, None)
    }

    fn around(runtime: Runtime, engine: Engine, config: Config, folder: Option<TempDir>) -> Self {
        let environment = Environment { name: DEFAULT_ENVIRONMENT.to_owned(), engine };
        Self::serving(runtime, [environment], OptionalParts::default(), config, folder)
    }

    fn serving(
        runtime: Runtime,
        environments: impl IntoIterator<Item = Environment>,
        parts: OptionalParts,
        config: Config,
        folder: Option<TempDir>,
    ) -> Self {
        let bind = |address: SocketAddr| {
            let listener = runtime.block_on(TcpListener::bind(address)).unwrap();
            let address = listener.local_addr().unwrap();
            (listener, address)
        };
        let (listener, address) = bind(SocketAddr::from(([127, 0, 0, 1], 0)));
        let tls = Tls::read(config.tls_cert.as_deref(), config.tls_key.as_deref()).unwrap().map(Arc::new);
        let (metrics_listener, metrics) = config.metrics_listen.map(bind).unzip();
        let parts = OptionalParts { tls: tls.clone(), ..parts };
        let state = Arc::new(AppState::new(config, environments, parts));
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
            folder,
            endless: None,
        }
    }

    /// Asks the server to stop, and returns before it has.
    pub fn begin_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until the server has finished what it accepted.
    pub fn finish_stop(&mut self) {
        drop(self.endless.take());
        self.begin_stop();
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap();
        }
    }

    /// Stops the server and returns its folder, which is no longer open.
    pub fn into_folder(mut self) -> TempDir {
        self.finish_stop();
        // Tasks of cut connections hold the store until they are gone.
        drop(self.runtime.take());
        self.folder.take().unwrap()
    }

    /// The same store, served by another server in development mode.
    #[must_use]
    pub fn restart(self) -> Self {
        Self::over(Config { dev: true, ..Config::default() }, self.into_folder())
    }

    /// Asks with the development key.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[&bearer(DEVELOPMENT_KEY)], b"")
    }

    /// Posts a body with the development key.
    pub fn post(&self, path: &str, body: &Json) -> Answer {
        self.call("POST", path, body)
    }

    /// Sends a body with the development key.
    pub fn call(&self, method: &str, path: &str, body: &Json) -> Answer {
        let headers = [&*bearer(DEVELOPMENT_KEY), "Content-Type: application/json"];
        self.send(method, path, &headers, body.to_string().as_bytes())
    }

    /// Sends one request on a connection of its own.
    pub fn send(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        for header in headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        stream.write_all(head.as_bytes()).unwrap();
        write!(stream, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
        stream.write_all(body).unwrap();
        read_answer(&mut stream)
    }

    /// A connection on which anything can be sent.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Adds facts, each `["predicate", "Type:id", …]`.
    pub fn add(&self, facts: &[&[&str]]) {
        let facts: Vec<Json> = facts.iter().map(|fact| fact_json(fact)).collect();
        let answer = self.post("/api/batch", &serde_json::json!([{ "inserts": facts }]));
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    /// The stored facts, each as `predicate(Type:id, …)`, sorted.
    pub fn stored(&self) -> Vec<String> {
        let answer = self.get("/api/facts");
        assert_eq!(answer.status, 200, "{}", answer.text);
        let mut facts: Vec<String> = answer.json().as_array().unwrap().iter().map(fact_text).collect();
        facts.sort();
        facts
    }

    /// Whether a user may do this to a repository.
    pub fn may(&self, user: &str, action: &str, repo: &str) -> bool {
        let answer = self.post("/api/authorize", &question(user, action, repo));
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["allowed"].as_bool().unwrap()
    }
}

/// What one server runs on.
fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.finish_stop();
    }
}
