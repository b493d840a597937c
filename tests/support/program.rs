//! The program as a process: run to its end, or serving a data folder until it is stopped or killed.

use super::wire::{Answer, bearer};
use portcullis::http::DEVELOPMENT_KEY;
use serde_json::Value as Json;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use ureq::http::{HeaderName, HeaderValue};

/// How long an answer or an end is waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where cargo built the program.
pub fn path() -> PathBuf {
    let path = std::env::var_os("CARGO_BIN_EXE_portcullis");
    path.expect("`cargo test` and `cargo bench` say where the program is").into()
}

/// The program in a folder, without the settings of the person who runs the tests.
pub fn portcullis(folder: &Path) -> Command {
    let mut command = Command::new(path());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("PORTCULLIS_") || name.starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
    // A login of that person stays out of it, too.
    command.env("XDG_CONFIG_HOME", folder.join(".config"));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// A process that was started and may not answer yet; it is killed when this is dropped.
pub struct Program {
    child: Child,
    log: PathBuf,
    stdout: BufReader<ChildStdout>,
}

impl Program {
    /// Starts `serve` over a data folder, on a free port; what it logs goes to `FOLDER/log`.
    pub fn spawn(folder: &Path, data: &str, args: &[&str]) -> Self {
        Self::spawn_as(portcullis(folder), folder, data, args)
    }

    /// The same by another command, whose last argument is the program.
    pub fn spawn_as(mut command: Command, folder: &Path, data: &str, args: &[&str]) -> Self {
        let log = folder.join("log");
        let file = File::options().create(true).append(true).open(&log).unwrap();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", data]).args(args);
        let mut child = command.stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, log, stdout }
    }

    /// Waits until it answers; the error is what it said instead.
    pub fn answering(mut self) -> Result<Service, String> {
        let mut welcome = String::new();
        self.stdout.read_line(&mut welcome).unwrap();
        match welcome.split_whitespace().find_map(|word| word.strip_suffix("/api;")) {
            Some(url) => {
                let url = url.to_owned();
                Ok(Service { caller: Caller::new(&url), program: self, _folder: None })
            }
            None => Err(format!("{} {}", self.ended(), self.logged())),
        }
    }

    /// All that it has logged, and those before it in the same folder.
    pub fn logged(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// The next line that it prints with this text.
    pub fn prints(&mut self, text: &str) -> String {
        loop {
            let mut line = String::new();
            let n_bytes = self.stdout.read_line(&mut line).unwrap();
            assert!(n_bytes > 0, "it prints no {text}");
            if line.contains(text) {
                return line.trim_end().to_owned();
            }
        }
    }

    /// Waits until it has logged this.
    pub fn logs(&self, text: &str) {
        let began = Instant::now();
        while !self.logged().contains(text) {
            assert!(began.elapsed() < PATIENCE, "no {text} in {}", self.logged());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it as a power switch would.
    pub fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is still running.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits until it has ended by itself.
    pub fn ended(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "it does not end: {}", self.logged());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A service that answers.
pub struct Service {
    /// Its process.
    pub program: Program,
    /// A client of it.
    pub caller: Caller,
    /// The folder that is removed with it, if it has one.
    _folder: Option<TempDir>,
}

impl Service {
    /// Starts it and waits until it answers.
    pub fn start(folder: &Path, args: &[&str]) -> Self {
        Program::spawn(folder, "d", args).answering().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts it in development mode in a folder that is removed with it, and waits until it answers.
    pub fn develop(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let started = Self::develop_as(portcullis(folder.path()), folder, "d", args);
        started.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same by another command, whose last argument is the program, and over this data folder; the error
    /// is what it said instead of an answer.
    pub fn develop_as(command: Command, folder: TempDir, data: &str, args: &[&str]) -> Result<Self, String> {
        let started = Program::spawn_as(command, folder.path(), data, &[&["--dev"], args].concat());
        Ok(Self { _folder: Some(folder), ..started.answering()? })
    }

    /// Posts a body with the key of development mode: the status of the answer.
    pub fn post(&self, path: &str, body: &Json, headers: &[(&str, &str)]) -> u16 {
        let body = body.to_string();
        let sent = self.caller.send(DEVELOPMENT_KEY, &format!("POST {path}"), headers, Some(body.as_bytes()));
        sent.unwrap().0
    }

    /// Asks it to stop, waits until it has, and returns what it logged.
    pub fn stop(mut self) -> String {
        self.program.signal("TERM");
        let status = self.program.ended();
        let log = self.program.logged();
        assert!(status.success(), "{status} {log}");
        log
    }
}

/// A client with a connection of its own.
pub struct Caller {
    /// `http://ADDRESS`, or `https://ADDRESS`
    pub url: String,
    agent: ureq::Agent,
}

impl Caller {
    /// A client of the service at this address, with any certificate.
    pub fn new(url: &str) -> Self {
        let trusting = ureq::tls::TlsConfig::builder().disable_verification(true).build();
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .tls_config(trusting)
            .timeout_global(Some(PATIENCE))
            .build();
        Self { url: url.to_owned(), agent: agent.into() }
    }

    /// The address alone.
    pub fn address(&self) -> SocketAddr {
        self.url.split_once("://").unwrap().1.parse().unwrap()
    }

    /// Begins a request that ends with the connection, in a service with a single place for requests; from
    /// then on, all others are refused.
    pub fn take_only_place(&self, key: &str) -> TcpStream {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let mut stream = TcpStream::connect(self.address()).unwrap();
            let head = format!("Host: localhost\r\n{}\r\nContent-Type: application/json", bearer(key));
            write!(stream, "POST /api/batch HTTP/1.1\r\n{head}\r\nContent-Length: 2\r\n\r\n").unwrap();
            // It has an answer at once if another request still has the place.
            stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            let is_waiting = stream.peek(&mut [0]).is_err();
            if is_waiting && self.get(key, "facts").0 == 503 {
                return stream;
            }
        }
        panic!("the request does not take the place");
    }

    /// Status and text of the answer to `METHOD /path`, unless the service breaks off.
    pub fn send(
        &self,
        key: &str,
        request: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<(u16, String), ureq::Error> {
        let Answer { status, text, .. } = self.ask(key, request, headers, body)?;
        Ok((status, text))
    }

    /// The answer to `METHOD /path`, unless the service breaks off.
    pub fn ask(
        &self,
        key: &str,
        request: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Answer, ureq::Error> {
        let (method, path) = request.split_once(' ').unwrap();
        let request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        let mut request = request.header("Authorization", format!("Bearer {key}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if body.is_some() {
            request = request.header("Content-Type", "application/json");
        }
        let request = request.body(body.unwrap_or_default()).unwrap();
        let request = self.agent.configure_request(request).allow_non_standard_methods(true).build();
        let mut answer = self.agent.run(request)?;
        let text = answer.body_mut().with_config().limit(1 << 30).read_to_string()?;
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.to_string(), value.to_str().unwrap_or_default().to_owned())
        };
        let headers = answer.headers().iter().map(header).collect();
        Ok(Answer::of(answer.status().as_u16(), headers, text))
    }

    /// Status and answer, unless the service breaks off.
    pub fn try_post(&self, key: &str, path: &str, body: &Json) -> Result<(u16, Json), ureq::Error> {
        let (status, text) =
            self.send(key, &format!("POST /api/{path}"), &[], Some(body.to_string().as_bytes()))?;
        Ok((status, serde_json::from_str(&text).unwrap()))
    }

    /// Status and answer.
    pub fn post(&self, key: &str, path: &str, body: &Json) -> (u16, Json) {
        self.try_post(key, path, body).unwrap()
    }

    /// Status and answer.
    pub fn get(&self, key: &str, path: &str) -> (u16, Json) {
        let (status, text) = self.send(key, &format!("GET /api/{path}"), &[], None).unwrap();
        (status, serde_json::from_str(&text).unwrap())
    }
}

/// Runs the program to its end: exit code, standard output, standard error.
pub fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = portcullis(folder).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A fresh key of an environment, which is made if it is missing.
pub fn key(folder: &Path, environment: &str) -> String {
    let (code, out, err) = run(folder, &["keys", "create", "--data", "d", "--environment", environment]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    out.trim().to_owned()
}
