//! An environment that no attacker has a key for. It has the same users and documents as the environment of
//! the probe, and the roles the other way round. During every attack, each question about it has the
//! answer that it had before, and keys that may not ask or write still may not.

use super::client::{ask, request};
use super::stage::{PROBE_ALLOWED, PROBE_DENIED};
use serde_json::{Value as Json, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a question is asked.
const PAUSE: Duration = Duration::from_millis(50);

/// The status of a service that has no seat left.
const OVERLOADED: u16 = 503;

/// The keys that the questions are asked with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys<'k> {
    /// Of the environment apart.
    pub(crate) apart: &'k str,
    /// One that may only read the environment of the probe.
    pub(crate) reader: &'k str,
    /// One that was revoked.
    pub(crate) revoked: &'k str,
}

/// A question and its answer without an attack.
#[derive(Debug)]
struct Asked {
    name: &'static str,
    request: Vec<u8>,
    answer: (u16, Vec<u8>),
}

/// Questions about who may see what, with their answers.
#[derive(Debug)]
pub(crate) struct Apart {
    address: SocketAddr,
    asked: Vec<Asked>,
}

/// What became of the answers during an attack.
#[derive(Debug, Default)]
pub(crate) struct Isolation {
    /// Answers that were the same.
    pub(crate) same: usize,
    /// The questions that were answered otherwise, each time.
    pub(crate) changed: Vec<&'static str>,
}

impl Apart {
    /// Asks every question once. The environment apart must be loaded.
    pub(crate) fn of(address: SocketAddr, keys: Keys<'_>) -> Self {
        let asked = questions(keys).into_iter().map(|question| {
            let answer = ask(address, &question.request).unwrap();
            let text = String::from_utf8_lossy(&answer.1);
            let name = question.name;
            assert_eq!(answer.0, question.status, "{name}: {text}");
            assert!(text.contains(question.says), "{name}: {text}");
            assert!(!text.contains("large") && !text.contains(question.hides), "{name}: {text}");
            Asked { name, request: question.request, answer }
        });
        Self { address, asked: asked.collect() }
    }

    /// Asks the questions in turn until `stop` is set.
    pub(crate) fn watch(self: &Arc<Self>, stop: &Arc<AtomicBool>) -> JoinHandle<Isolation> {
        let (apart, stop) = (Arc::clone(self), Arc::clone(stop));
        std::thread::spawn(move || {
            let mut isolation = Isolation::default();
            for asked in apart.asked.iter().cycle().take_while(|_| !stop.load(Ordering::Relaxed)) {
                match ask(apart.address, &asked.request) {
                    Ok(answer) if answer == asked.answer => isolation.same += 1,
                    // A refusal, or no answer, shows nothing.
                    Ok((OVERLOADED, _)) | Err(_) => {}
                    Ok(_) => isolation.changed.push(asked.name),
                }
                std::thread::sleep(PAUSE);
            }
            isolation
        })
    }
}

/// A question, and what is right.
struct Question {
    name: &'static str,
    request: Vec<u8>,
    status: u16,
    /// A text that the answer has.
    says: &'static str,
    /// A text that it must not have.
    hides: &'static str,
}

fn questions(keys: Keys<'_>) -> Vec<Question> {
    let question = |name, method, path, key, body: Json, status, says, hides| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        Question { name, request: request(method, path, key, &body), status, says, hides }
    };
    let apart =
        |name, path, body, says, hides| question(name, "POST", path, keys.apart, body, 200, says, hides);
    let seen =
        |name, path, says, hides| question(name, "GET", path, keys.apart, Json::Null, 200, says, hides);
    let written = json!({ "predicate": "large", "args": [{ "type": "Item", "id": "written" }] });
    let conjunction = json!({ "predicate": ["allow", ["who", "action", "doc"]], "calls": [], "constraints": {
        "who": { "type": "User", "ids": null },
        "action": { "type": "String", "ids": ["read"] },
        "doc": { "type": "Doc", "ids": null },
    } });
    vec![
        apart("authorize, allowed", "/authorize", check(PROBE_DENIED), "true", "false"),
        apart("authorize, denied", "/authorize", check(PROBE_ALLOWED), "false", "true"),
        apart("list", "/list", check(PROBE_DENIED), "probed", "item"),
        apart("list of nothing", "/list", check(PROBE_ALLOWED), "[]", "probed"),
        apart("actions", "/actions", check(PROBE_DENIED), "read", "error"),
        apart("list_subjects", "/list_subjects", check(PROBE_DENIED), PROBE_DENIED, PROBE_ALLOWED),
        apart("evaluate_query", "/evaluate_query", conjunction, PROBE_DENIED, PROBE_ALLOWED),
        apart("explain", "/explain", check(PROBE_DENIED), "has_role", PROBE_ALLOWED),
        seen("facts", "/facts", PROBE_DENIED, PROBE_ALLOWED),
        seen("stats", "/stats", "1", PROBE_ALLOWED),
        seen("policy", "/policy", "resource Doc", "pair("),
        question(
            "a revoked key",
            "POST",
            "/authorize",
            keys.revoked,
            check(PROBE_ALLOWED),
            401,
            "key",
            "true",
        ),
        question("no key", "POST", "/authorize", "", check(PROBE_ALLOWED), 401, "key", "true"),
        question("a key that only reads", "POST", "/facts", keys.reader, written, 403, "key", "true"),
    ]
}

fn check(user: &str) -> Json {
    json!({ "actor_type": "User", "actor_id": user, "action": "read",
        "resource_type": "Doc", "resource_id": "probed" })
}
