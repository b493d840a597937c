//! The decision log: a line for each decision, in a file and at a collector.

use super::collector::{Sent, collector};
use super::service::{question, role, start_within, with_policy};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::{self, Service};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::time::Duration;

fn lines(path: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// How many lines for a file or a collector were dropped.
fn dropped(service: &Service, sink: &str) -> u64 {
    let metrics = service.caller.send(DEVELOPMENT_KEY, "GET /metrics", &[], None).unwrap().1;
    let name = format!("portcullis_decisions_dropped_total{{sink=\"{sink}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
}

/// Waits until there is a line.
pub(super) fn is_written(path: &Path) {
    let end = std::time::Instant::now() + Duration::from_secs(10);
    while lines(path).is_empty() {
        assert!(std::time::Instant::now() < end, "the line is written soon");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn value(ty: &str, id: &str) -> Json {
    json!({ "type": ty, "id": id })
}

#[test]
fn each_decision_is_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.log");
    let log = path.to_str().unwrap();
    let flags = ["--decision-log", log, "--decision-log-facts", "except has_role"];
    let service = with_policy(&flags);
    let post = |path: &str, body: &Json, headers: &[(&str, &str)]| {
        assert_eq!(service.post(path, body, headers), 200, "{path}");
    };
    post("/api/authorize", &question("ada", "docs"), &[("X-Request-ID", "before")]);
    post("/api/facts", &role("ada", "reader", "docs"), &[]);
    let mut with_context = question("ada", "docs");
    let open = json!({ "predicate": "is_public", "args": [value("Repo", "docs")] });
    with_context["context_facts"] = json!([role("bob", "reader", "docs"), open]);
    post("/api/authorize", &with_context, &[("X-Request-ID", "after")]);
    let many = json!({
        "actor_type": "User", "actor_id": "ada", "action": "read",
        "resources": [value("Repo", "no"), value("Repo", "docs"), value("Repo", "no"), value("Repo", "docs")],
    });
    post("/api/authorize_resources", &many, &[("X-Request-ID", "many")]);
    let evaluations = json!({
        "subject": value("User", "ada"), "resource": value("Repo", "docs"),
        "evaluations": [{ "action": { "name": "read" } }, { "action": { "name": "write" } }],
    });
    post("/access/v1/evaluations", &evaluations, &[("X-Request-ID", "each")]);
    service.stop();

    let lines = lines(&path);
    let of = |id: &str| lines.iter().filter(|line| line["request_id"] == id).collect::<Vec<_>>();
    let [before, after] = [of("before")[0], of("after")[0]];
    let (actor, resource) = (value("User", "ada"), value("Repo", "docs"));
    let expected = json!({
        "time": before["time"], "took_us": before["took_us"], "request_id": "before",
        "environment": "0123456789", "key": "(configured)", "policy": 1,
        "policy_digest": before["policy_digest"], "offset": before["offset"],
        "actor": actor, "action": "read", "resource": resource, "allowed": false,
    });
    assert_eq!(*before, expected);
    let time = before["time"].as_str().unwrap();
    assert!(time.starts_with("20") && time.ends_with('Z') && time.contains('T'), "{time}");
    assert!(before["took_us"].as_u64().unwrap() > 0);
    assert_eq!((&after["allowed"], &after["context_facts"]), (&json!(true), &json!([open])));
    assert_eq!(after["context_facts_left_out"], 1, "a fact of a predicate that is not shown");
    assert!(after["offset"].as_u64().unwrap() > before["offset"].as_u64().unwrap());
    let allowed = |id: &str| of(id).iter().map(|line| line["allowed"].as_bool().unwrap()).collect::<Vec<_>>();
    assert_eq!(allowed("many"), [false, true, false, true]);
    assert_eq!(allowed("each"), [true, false]);
    assert_eq!(lines.len(), 8);
}

#[test]
fn properties_that_the_policy_reads_are_context_facts_of_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.log");
    let log = path.to_str().unwrap();
    let service = with_policy(&["--decision-log", log, "--decision-log-facts", "all"]);
    let policy = json!({ "src": r#"
        actor User {}
        resource Repo { permissions = ["read"]; }
        has_permission(user: User, "read", _: Repo) if subject_property(user, "role", "auditor");
    "# });
    assert_eq!(service.post("/api/policy", &policy, &[]), 200);
    let subject = json!({ "type": "User", "id": "ada", "properties": { "role": "auditor", "age": 7 } });
    let body = json!({ "subject": subject, "action": { "name": "read" }, "resource": value("Repo", "docs") });
    let id = [("X-Request-ID", r#"a"b\c"#)];
    assert_eq!(service.post("/access/v1/evaluation", &body, &id), 200);
    is_written(&path);
    let line = lines(&path).remove(0);
    let args = json!([value("User", "ada"), value("String", "role"), value("String", "auditor")]);
    let property = json!([{ "predicate": "subject_property", "args": args }]);
    assert_eq!((&line["allowed"], &line["context_facts"]), (&json!(true), &property));
    // So the replay has them as well.
    let given = ["why", "--request", r#"a"b\c"#, "--decision-log", log, "--url", &service.caller.url];
    let mut command = program::portcullis(folder.path());
    let run = command.args(given).env("PORTCULLIS_API_KEY", DEVELOPMENT_KEY).output().unwrap();
    let out = String::from_utf8(run.stdout).unwrap();
    assert!(out.contains("yes: allow(") && out.contains("of the request"), "{out}");
    service.stop();
}

#[test]
fn an_evaluation_that_is_denied_for_a_mistake_is_logged_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.log");
    let service = with_policy(&["--decision-log", path.to_str().unwrap()]);
    let evaluations = json!({
        "subject": value("User", "ada"), "action": { "name": "read" },
        "evaluations": [
            { "resource": value("Repo", "docs") }, { "resource": value("Repo", "") }, { "resource": {} },
        ],
    });
    let id = [("X-Request-ID", "mixed")];
    assert_eq!(service.post("/access/v1/evaluations", &evaluations, &id), 200);
    is_written(&path);
    let lines = lines(&path);
    assert_eq!(lines.len(), 2, "one without a resource is not logged: {lines:?}");
    assert_eq!((&lines[0]["error"], &lines[1]["allowed"]), (&json!(null), &json!(false)));
    assert_eq!((&lines[1]["policy"], &lines[1]["offset"]), (&json!(null), &json!(null)));
    let error = lines[1]["error"].as_str().unwrap();
    assert!(error.contains("resource"), "{error}");
    let given =
        ["why", "--request", "mixed", "--decision-log", "decisions.log", "--url", &service.caller.url];
    let mut command = program::portcullis(folder.path());
    let run = command.args(given).env("PORTCULLIS_API_KEY", DEVELOPMENT_KEY).output().unwrap();
    let said = String::from_utf8(run.stdout).unwrap();
    assert!(said.contains(&format!(": {error}\n")) && said.contains("by policy 1\n"), "{said}");
    service.stop();
}

#[test]
fn a_collector_receives_each_decision() {
    let (address, received) = collector();
    let service = with_policy(&["--decision-log-endpoint", &address]);
    assert_eq!(service.post("/api/authorize", &question("ada", "docs"), &[]), 200);
    service.stop();
    let Sent { head, body } = received.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(head.starts_with("post /v1/logs http/1.1\r\n"), "{head}");
    let sent: Json = serde_json::from_slice(&body).unwrap();
    let records = &sent["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
    assert_eq!(records.as_array().unwrap().len(), 1, "{sent}");
    let line: Json = serde_json::from_str(records[0]["body"]["stringValue"].as_str().unwrap()).unwrap();
    assert_eq!((&line["actor"], &line["allowed"]), (&value("User", "ada"), &json!(false)));
    assert!(records[0]["timeUnixNano"].as_str().unwrap().len() == 19);
}

#[test]
fn lines_that_are_lost_are_counted_and_no_answer_waits() {
    let service = with_policy(&["--decision-log-endpoint", "http://127.0.0.1:9"]);
    for _ in 0..3 {
        assert_eq!(service.post("/api/authorize", &question("ada", "docs"), &[]), 200);
    }
    service.program.logs("cannot send decisions to the collector");
    let dropped = || dropped(&service, "collector");
    let end = std::time::Instant::now() + Duration::from_secs(10);
    while dropped() < 3 {
        assert!(std::time::Instant::now() < end, "{} of 3 are counted", dropped());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_collector_that_does_not_answer_does_not_delay_the_end() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let service = with_policy(&["--decision-log-endpoint", &address, "--shutdown-time", "2"]);
    assert_eq!(service.post("/api/authorize", &question("ada", "docs"), &[]), 200);
    let begun = std::time::Instant::now();
    let logged = service.stop();
    // Its own limit for a batch is five seconds.
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let lost = "the last lines of the decision log are lost: the collector is too slow";
    assert!(logged.contains(lost) && logged.contains("n_lines=1"), "{logged}");
}

#[test]
fn a_silent_collector_costs_neither_lines_of_the_file_nor_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.log");
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let log = path.to_str().unwrap();
    let service = with_policy(&["--decision-log", log, "--decision-log-endpoint", &address]);
    let resources: Vec<Json> = (0..1_000).map(|n| value("Repo", &format!("r{n}"))).collect();
    let many = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resources": resources });
    let n_written = || std::fs::read_to_string(&path).unwrap().lines().count();
    // More than its queue of 16,384 lines takes.
    let n_requests = 25;
    let mut slowest = Duration::ZERO;
    for n in 1..=n_requests {
        let begun = std::time::Instant::now();
        assert_eq!(service.post("/api/authorize_resources", &many, &[]), 200);
        slowest = slowest.max(begun.elapsed());
        let end = std::time::Instant::now() + Duration::from_secs(4);
        while n_written() < n * 1_000 {
            assert!(std::time::Instant::now() < end, "{} of {n} thousand lines", n_written());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    assert!(slowest < Duration::from_secs(4), "{slowest:?}: the collector may take five seconds");
    assert_eq!(lines(&path).len(), n_requests * 1_000);
    assert_eq!(dropped(&service, "file"), 0);
    let n_dropped = dropped(&service, "collector");
    assert!(n_dropped > 4_000, "{n_dropped} are counted");
}

#[test]
fn a_file_that_was_moved_away_is_left_alone_after_a_hangup() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.log");
    let service = with_policy(&["--decision-log", path.to_str().unwrap()]);
    let ask = |user: &str| {
        assert_eq!(service.post("/api/authorize", &question(user, "docs"), &[]), 200);
    };
    ask("ada");
    is_written(&path);
    let moved = folder.path().join("decisions.log-20261123");
    std::fs::rename(&path, &moved).unwrap();
    service.program.signal("HUP");
    service.program.logs("the decision log is opened again before its next line");
    ask("eve");
    service.program.logs("the decision log was opened again");
    is_written(&path);
    assert_eq!(
        (&lines(&moved)[0]["actor"]["id"], &lines(&path)[0]["actor"]["id"]),
        (&json!("ada"), &json!("eve"))
    );
    assert_eq!((lines(&moved).len(), lines(&path).len()), (1, 1));
    service.stop();
}

#[test]
fn a_full_disk_leaves_no_part_of_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.log");
    // Beyond this size a file cannot be written, as on a full disk; the store needs less.
    let limit = "trap '' XFSZ; ulimit -f 1000";
    let service = start_within(limit, &["--decision-log", path.to_str().unwrap()]);
    let resources: Vec<Json> = (0..2_000).map(|n| value("Repo", &format!("r{n}"))).collect();
    let many = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resources": resources });
    while !service.program.logged().contains("cannot write the decision log") {
        assert_eq!(service.post("/api/authorize_resources", &many, &[]), 200);
        std::thread::sleep(Duration::from_millis(100));
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written.ends_with("}\n"), "{:?}", written.lines().last());
    let n_written = lines(&path).len();
    assert!(n_written > 1_000, "{n_written} lines");
    assert_eq!(service.post("/api/authorize", &question("ada", "docs"), &[]), 200);
    let end = std::time::Instant::now() + Duration::from_secs(10);
    while lines(&path).len() == n_written {
        assert!(std::time::Instant::now() < end, "what fits is written");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_log_that_cannot_be_written_prevents_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["serve", "--dev", "--listen", "127.0.0.1:0", "--decision-log", "missing/decisions.log"];
    let run = program::portcullis(folder.path()).args(args).output().unwrap();
    assert_eq!(run.status.code(), Some(1));
    let said = String::from_utf8(run.stderr).unwrap();
    assert!(said.starts_with("error: cannot write the decision log `missing/decisions.log`: "), "{said}");
}
