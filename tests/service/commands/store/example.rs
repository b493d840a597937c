//! The files in docs/scale-out/example, started as processes instead of containers: two nodes, the primary, a
//! replica and the balancer.

use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::ports::free_port;
use portcullis_testkit::program::{Caller, Program, Service, portcullis};
use portcullis_testkit::server::POLICY;
use portcullis_testkit::wire::{fact_json, question};
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long anything may take until it works.
const PATIENCE: Duration = Duration::from_secs(20);

fn file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scale-out/example");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// A file in which each of these places is replaced by a port of this machine.
fn placed(name: &str, places: &[(&str, u16)]) -> String {
    places.iter().fold(file(name), |text, (place, port)| {
        assert!(text.contains(place), "{name} does not name {place}");
        text.replace(place, &format!("127.0.0.1:{port}"))
    })
}

/// The settings of the example for the primary and the replica; they listen on this machine only.
fn settings() -> Vec<String> {
    let lines = file("postgresql.conf");
    let lines = lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let settings = lines.map(|line| line.replace(" = ", "=").replace('\'', ""));
    settings.filter(|line| !line.starts_with("listen_addresses")).collect()
}

/// The balancer; it ends with the test.
struct Balancer(Child);

impl Balancer {
    fn start(folder: &Path, port: u16, nodes: [&Service; 2]) -> Self {
        let [one, two] = nodes.map(|node| node.caller.address().port());
        let config = placed("haproxy.cfg", &[("one:8081", one), ("two:8081", two), (":8080", port)]);
        fs::write(folder.join("haproxy.cfg"), config).unwrap();
        let mut command = Command::new("haproxy");
        command.args(["-db", "-f", "haproxy.cfg"]).current_dir(folder).stdin(Stdio::null());
        let started = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(started.expect("haproxy is missing: run scripts/setup"))
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Repeats a request until its status is 200.
fn until_done(what: &str, mut request: impl FnMut() -> u16) {
    let began = Instant::now();
    loop {
        let status = request();
        if status == 200 {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{what}: {status}");
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_example_serves_on_without_a_node_and_without_the_primary() {
    let settings = settings();
    let mut settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    // Else the log is sent a while after the commit.
    settings.push("synchronous_commit=on");
    let (first, primary) = Cluster::with_port(&settings).unwrap();
    let server = |port: u16, database: &str| format!("postgres://postgres@127.0.0.1:{port}/{database}");
    super::sql(&server(primary, "postgres"), "CREATE ROLE portcullis LOGIN");
    super::sql(&server(primary, "postgres"), "CREATE DATABASE portcullis OWNER portcullis");
    let (_second, replica) = Cluster::standby_of(primary, &settings).unwrap();
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    let config = placed("portcullis.toml", &[("primary:5432", primary), ("replica:5432", replica)]);
    fs::write(folder.path().join("portcullis.toml"), config).unwrap();
    let node = || {
        let node = Program::spawn(folder.path(), "d", &["--config", "portcullis.toml"]).answering();
        node.unwrap_or_else(|error| panic!("{error}"))
    };
    let (mut one, two) = (node(), node());
    let _balancer = Balancer::start(folder.path(), port, [&one, &two]);
    let args = ["keys", "create", "--config", "portcullis.toml", "--name", "first"];
    let made = portcullis(folder.path()).args(args).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let key = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let caller = Caller::new(&format!("http://127.0.0.1:{port}"));
    let send = |path: &str, body: &serde_json::Value| {
        let body = body.to_string();
        caller.send(&key, &format!("POST /api/{path}"), &[], Some(body.as_bytes())).map_or(0, |sent| sent.0)
    };
    until_done("a policy", || send("policy", &json!({ "src": POLICY })));
    let inserting = |id: &str| json!([{ "inserts": [fact_json(&["is_public", id])] }]);
    assert_eq!(send("batch", &inserting("Repo:a")), 200);
    let may = |repository: &str| {
        let (status, answer) = caller.post(&key, "authorize", &question("ada", "read", repository));
        assert_eq!(status, 200, "{answer}");
        answer["allowed"] == true
    };
    // In turn, so each of them is asked.
    assert!((0..10).all(|_| may("a") && !may("b")));
    let lag = "SELECT (pg_last_wal_replay_lsn() >= '";
    let written = super::text(&server(primary, "postgres"), "SELECT pg_current_wal_flush_lsn()::text");
    let followed = format!("{lag}{written}')::int::text");
    until_done("the replica", || {
        if super::text(&server(replica, "postgres"), &followed) == "1" { 200 } else { 0 }
    });
    one.program.kill();
    assert!((0..20).all(|_| may("a")), "the other node answers");
    first.kill().unwrap();
    assert!((0..20).all(|_| may("a")), "the replica answers");
    super::sql(&server(replica, "postgres"), "SELECT pg_promote(true, 20)");
    until_done("a batch", || send("batch", &inserting("Repo:b")));
    assert!(may("a") && may("b"));
    two.stop();
}

/// What the test above does not start: how the containers are put together.
#[test]
fn each_file_and_place_of_the_example_is_in_its_compose_file() {
    let compose = file("compose.yaml");
    for name in ["postgresql.conf", "replication.sh", "portcullis.toml", "haproxy.cfg"] {
        assert!(compose.contains(&format!("- ./{name}:")), "{name}");
    }
    for service in ["primary", "replica", "one", "two", "balancer"] {
        assert!(compose.contains(&format!("\n  {service}:")), "{service}");
    }
}
