//! No request sees another environment: to any question with a key of `b`, the answer is the one that a
//! service without the other environment gives, and nothing of the other one changes.

use super::requests::{POLICY, Request, every, mistaken, note, role};
use portcullis::engine::unix_time;
use portcullis_testkit::program::{Caller, Service, key};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::Path;

const A: &str = "0123456789";

/// Sends a request; status and text of the answer.
fn ask(caller: &Caller, key: &str, (request, body): &Request) -> (u16, String) {
    let body = body.as_ref().map(Json::to_string);
    caller.send(key, request, &[("X-Request-ID", "shared")], body.as_ref().map(String::as_bytes)).unwrap()
}

/// Makes the policy, with a comment, the active one, and stores facts.
fn load(caller: &Caller, key: &str, comment: &str, facts: &[Json]) {
    let policy = json!({ "src": format!("{POLICY}# {comment}\n"), "filename": "p.polar" });
    let (status, answer) = caller.post(key, "policy", &policy);
    assert_eq!(status, 200, "{answer}");
    let (status, answer) = caller.post(key, "batch", &json!([{ "inserts": facts }]));
    assert_eq!(status, 200, "{answer}");
}

/// A service with an environment `b`, and its key there.
fn serve(folder: &Path) -> (Service, String) {
    let key = key(folder, "b");
    let service = Service::start(folder, &["--public-url", "https://pdp.example.com"]);
    load(&service.caller, &key, "first", &[]);
    load(&service.caller, &key, "second", &[role("bob", "memo")]);
    (service, key)
}

#[test]
fn an_environment_answers_as_if_it_were_alone() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let key_of_a = key(folders[0].path(), A);
    let (shared, key_of_b) = serve(folders[0].path());
    let (alone, key_alone) = serve(folders[1].path());
    let hidden = [role("ada", "plans"), role("ada", "hidden"), note("ada", "private"), role("bob", "hidden")];
    for comment in ["one", "two", "three"] {
        load(&shared.caller, &key_of_a, comment, &hidden);
    }
    let mut compared = BTreeSet::new();
    let questions = |user: &str, doc: &str, text: &str| {
        // What changes something comes last, and in `a` the state of before is wanted.
        let all = every(user, doc, text);
        let first = all.iter().position(|(request, _)| request == "POST /api/facts").unwrap();
        let (asked, changing) = all.split_at(first);
        (asked.to_vec(), changing.to_vec())
    };
    let state = |key: &str| {
        let states = ["GET /api/facts", "GET /api/stats", "GET /api/policy", "GET /api/policy_metadata"];
        states.map(|request| ask(&shared.caller, key, &(request.to_owned(), None)))
    };
    let before = state(&key_of_a);
    for (user, doc, text) in [("ada", "plans", "hidden"), ("bob", "memo", "private"), ("bob", "plans", "x")] {
        let (asked, changing) = questions(user, doc, text);
        for request in asked.iter().chain(&mistaken(user, doc, text)).chain(&changing) {
            if asked.contains(request) {
                // `a` first: its plans, texts and answers are what a cache would confuse.
                let (status, answer) = ask(&shared.caller, &key_of_a, request);
                assert!(status < 500, "{request:?}: {answer}");
            }
            let both = || (ask(&shared.caller, &key_of_b, request), ask(&alone.caller, &key_alone, request));
            let mut second = unix_time();
            let (mut found, mut expected) = both();
            // Some answers contain the second in which they are made.
            while asked.contains(request) && unix_time() != second {
                second = unix_time();
                (found, expected) = both();
            }
            assert_eq!(found, expected, "{request:?}");
            let path = request.0.split(['?', '%']).next().unwrap().to_owned();
            if found.0 == 200 {
                compared.insert(path);
            }
        }
        assert_eq!(state(&key_of_a), before, "what `b` does changes nothing in `a`");
        for (service, key) in [(&shared, &key_of_b), (&alone, &key_alone)] {
            load(&service.caller, key, text, &[role("bob", "memo")]);
        }
    }
    for (_, text) in &before {
        assert!(text.len() > 10, "{text}");
    }
    assert_eq!(compared, operations(&shared.caller), "every operation was compared");

    // The numbers of `b` name no other environment; the one place that shows all is for operators.
    let (status, numbers) = ask(&shared.caller, &key_of_b, &("GET /metrics".to_owned(), None));
    assert!(status == 200 && numbers.contains("environment=\"b\""), "{numbers}");
    assert!(!numbers.contains(A), "{numbers}");
    shared.stop();
    alone.stop();
}

/// What the service offers, by its own description, but the files of its documentation and its numbers.
fn operations(caller: &Caller) -> BTreeSet<String> {
    let (_, document) = caller.get("", "openapi.json");
    let paths = document["paths"].as_object().unwrap().iter();
    let all = paths.flat_map(|(path, item)| {
        item.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    all.filter(|name| !["docs", "openapi.json", "metrics"].iter().any(|part| name.contains(part))).collect()
}
