//! What the log, the numbers and the errors reveal about those who ask: nothing that they sent.

use super::requests::{POLICY, every, mistaken, note};
use portcullis_testkit::program::portcullis;
use portcullis_testkit::program::{Caller, Program, Service, key, run};
use serde_json::{Value as Json, json};
use std::fs;
use std::process::Command;

/// What every secret of these tests begins with, and nothing else in the world.
const MARK: &str = "zqx";

/// Words of our own inside that a stranger has no use for.
const INSIDE: &[&str] =
    &["SELECT ", "INSERT ", "sqlite", "SQLite", "store.db", "/tmp", "disk I/O", "panicked", "src/"];

/// Sends every request, good ones and bad ones, with every kind of key; the answers' statuses and texts.
fn talk(caller: &Caller, keys: &[String]) -> Vec<(u16, String)> {
    let (user, doc, text) = ("zqx-ada", "zqx-plans", "zqx-word");
    let requests = [every(user, doc, text), mistaken(user, doc, text)].concat();
    let send = |key: &str, request: &str, body: Option<&[u8]>| {
        let headers = [("X-Client-ID", text), ("Cookie", text), ("Accept", text)];
        let send = || caller.send(key, request, &headers, body);
        // Where a body was refused unread the connection is closed, which a client may notice with its next
        // request.
        send().or_else(|_| send()).unwrap()
    };
    let mut answers = Vec::new();
    for key in keys {
        for (request, body) in &requests {
            let body = body.as_ref().map(Json::to_string);
            answers.push(send(key, request, body.as_ref().map(String::as_bytes)));
        }
    }
    for body in ["zqx", "{\"zqx", "\"\\ud800zqx\"", &format!("[{}]", "\"zqx\",".repeat(17_000))] {
        for path in ["batch", "authorize", "policy", "explain_query", "explain", "why_query"] {
            answers.push(send(&keys[0], &format!("POST /api/{path}"), Some(body.as_bytes())));
        }
    }
    answers
}

/// The secrets of keys: what follows the id.
fn secrets(keys: &[String]) -> Vec<&str> {
    keys.iter().map(|key| key.splitn(4, '_').last().unwrap()).collect()
}

fn tells_nothing(what: &str, text: &str, keys: &[String]) {
    for line in text.lines() {
        assert!(!line.contains(MARK), "{what} reveals what was sent: {line}");
        for secret in secrets(keys) {
            assert!(!line.contains(secret), "{what} reveals a key: {line}");
        }
    }
}

#[test]
fn no_line_of_the_log_holds_what_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let mut keys = vec![key(folder, "0123456789")];
    let reading = run(folder, &["keys", "create", "--read-only", "--name", "zqx-name", "--data", "d"]);
    keys.push(reading.1.trim().to_owned());
    let strange = format!("e_0123456789_{}_zqx-wrong", keys[0].split('_').nth(2).unwrap());
    keys.extend([strange, "e_zqx_zqx_zqx".to_owned(), "zqx".to_owned()]);
    let tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--max-body", "100000"];
    for format in ["text", "json"] {
        let service = Service::start(folder, &[&tls[..], &["--log-format", format]].concat());
        assert!(service.caller.url.starts_with("https://"));
        let (status, answer) = service.caller.post(&keys[0], "policy", &json!({ "src": POLICY }));
        assert_eq!(status, 200, "{answer}");
        let answers = talk(&service.caller, &keys);
        // What is sent before there is HTTP at all, and a request id that is none.
        let _ =
            service.caller.send(&keys[0], "GET /api/stats", &[("X-Request-ID", "zqx zqx")], None).unwrap();
        let made = key(folder, "0123456789");
        assert_eq!(
            run(folder, &["keys", "revoke", made.split('_').nth(2).unwrap(), "--data", "d"]).0,
            Some(0)
        );
        for status in [200, 400, 401, 403, 404, 405, 413] {
            assert!(answers.iter().any(|(found, _)| *found == status), "no {status}");
        }
        let faults: Vec<_> = answers.iter().filter(|(status, _)| *status >= 500).collect();
        assert!(faults.is_empty(), "{faults:?}");
        let (_, numbers) = service.caller.send(&keys[1], "GET /metrics", &[], None).unwrap();
        tells_nothing("/metrics", &numbers, &keys);
        let log = service.stop();
        assert!(log.matches("answered").count() > answers.len(), "{log}");
        keys.push(made);
        tells_nothing("the log", &log, &keys);
        keys.pop();
    }
}

#[test]
fn a_refusal_of_a_limit_tells_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let keys = [key(folder.path(), "0123456789")];
    for (limit, status) in [("--rate-limit", 429), ("--max-requests", 503), ("--query-time", 400)] {
        let value = if limit == "--query-time" { "0" } else { "1" };
        let patient = ["--body-time", "600", "--request-time", "600"];
        let service = Service::start(folder.path(), &[&[limit, value], &patient[..]].concat());
        let only_place = (status == 503).then(|| service.caller.take_only_place(&keys[0]));
        let answers = talk(&service.caller, &keys);
        drop(only_place);
        assert!(answers.iter().any(|(found, _)| *found == status), "no {status}");
        let (status, answer) = answers.last().unwrap();
        assert!(!answer.contains(MARK) || *status == 400, "{answer}");
        tells_nothing("the log", &service.stop(), &keys);
    }
}

/// Internal errors say that they are internal, under the request's id, and no more; the log says why, without
/// what was sent.
#[test]
fn a_fault_tells_nothing_of_the_inside() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let key = key(folder, "0123456789");
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 1200; exec \"$@\"", "sh"]).current_dir(folder);
    limited.arg(portcullis(folder).get_program());
    let service = Program::spawn_as(limited, folder, "d", &[]).answering().unwrap();
    let (status, answer) = service.caller.post(&key, "policy", &json!({ "src": POLICY }));
    assert_eq!(status, 200, "{answer}");
    let mut refused = Vec::new();
    for n in 0..2_000 {
        let notes: Vec<Json> = (0..50).map(|k| note(&format!("zqx-{n}-{k}"), "zqx")).collect();
        let (status, answer) = service.caller.post(&key, "batch", &json!([{ "inserts": notes }]));
        if status != 200 {
            refused.push((status, answer.to_string()));
        }
        if refused.len() > 1 {
            break;
        }
    }
    refused.extend(talk(&service.caller, std::slice::from_ref(&key)));
    refused.retain(|(status, _)| *status >= 500);
    for status in [500, 503] {
        assert!(refused.iter().any(|(found, _)| *found == status), "no {status} in {refused:?}");
    }
    let place = folder.display().to_string();
    for (status, text) in &refused {
        for part in INSIDE.iter().copied().chain([place.as_str(), MARK]) {
            assert!(!text.contains(part), "{status} reveals `{part}`: {text}");
        }
    }
    let log = service.stop();
    assert!(log.contains("request failed") && log.contains("disk I/O error"), "{log}");
    tells_nothing("the log", &log, &[key]);
}
