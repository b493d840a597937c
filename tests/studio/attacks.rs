//! What a hostile page, and a client without rights, are refused.

use super::client::{CLOSE, connect, first_frame, open, origin, send};
use super::serve;
use libtest_mimic::{Failed, Trial};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::{Service, key, portcullis};
use serde_json::{Value as Json, json};
use std::time::{Duration, Instant};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("a_link_opens_one_session", || {
            a_link_opens_one_session();
            Ok(())
        }),
        Trial::test("a_cookie_is_good_for_the_studio_alone", || {
            a_cookie_is_good_for_the_studio_alone();
            Ok(())
        }),
        Trial::test("other_names_and_pages_are_refused", || {
            other_names_and_pages_are_refused();
            Ok(())
        }),
        Trial::test("rights_are_those_of_the_key", || {
            rights_are_those_of_the_key();
            Ok(())
        }),
        Trial::test("a_key_has_a_few_editors", || {
            a_key_has_a_few_editors();
            Ok(())
        }),
        Trial::test("keys_are_not_tried_for_ever", || {
            keys_are_not_tried_for_ever();
            Ok(())
        }),
        Trial::test("it_is_off_unless_asked_for", it_is_off_unless_asked_for),
    ]
}

fn a_link_opens_one_session() {
    let (service, link, _) = serve().unwrap();
    let (page, token) = link.split_once("#token=").unwrap();
    assert!(page.ends_with("/studio/"), "{link}");
    let page = send(&service, "GET /studio/", &[("Accept-Encoding", "gzip")], None);
    assert_eq!(page.status, 200);
    let policy = page.header("Content-Security-Policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
    assert_eq!(page.header("X-Content-Type-Options"), Some("nosniff"));
    assert_eq!(page.header("Referrer-Policy"), Some("no-referrer"));
    let cookie = open(&service, &json!({ "token": token })).ok().unwrap();
    let session = send(&service, "GET /studio/session", &[("Cookie", &cookie)], None);
    assert_eq!((session.status, session.json()["can_write"].clone()), (200, json!(true)));
    let again = open(&service, &json!({ "token": token })).unwrap_err();
    assert_eq!((again.status, again.json()["code"].clone()), (401, json!("unauthorized")));
    let guessed =
        open(&service, &json!({ "token": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" })).unwrap_err();
    assert_eq!(guessed.status, 401);
}

fn a_cookie_is_good_for_the_studio_alone() {
    let (service, _, _) = serve().unwrap();
    let cookie = open(&service, &json!({ "key": DEVELOPMENT_KEY })).ok().unwrap();
    let with = |path: &str| send(&service, &format!("GET {path}"), &[("Cookie", &cookie)], None).status;
    assert_eq!(with("/studio/api/policy"), 200);
    for path in ["/api/policy", "/api/facts", "/metrics"] {
        assert_eq!(with(path), 401, "{path}");
    }
    // What is behind the cookie is the interface as it is, and no path leads out of it.
    for path in
        ["/studio/api/../draft/answer", "/studio/api//policy", "/studio/api/nothing", "/studio/nothing"]
    {
        assert!(matches!(with(path), 404 | 405), "{path}");
    }
    let ours = origin(&service);
    let from_us = [("Cookie", cookie.as_str()), ("Origin", ours.as_str())];
    for request in ["GET /studio/api/clear_data", "GET /studio/draft/answer", "DELETE /studio/api/policy"] {
        let refused = send(&service, request, &from_us, None);
        let code = refused.json()["code"].clone();
        assert_eq!((refused.status, code), (405, json!("method_not_allowed")), "{request}");
        assert!(refused.header("Allow").is_some(), "{request}");
    }
    // A key in the request does not replace that of the session.
    let wrong = [("Cookie", cookie.as_str()), ("Authorization", "Bearer e_0123456789_1_x")];
    assert_eq!(send(&service, "GET /studio/api/policy", &wrong, None).status, 200);
    let alone = [("Authorization", format!("Bearer {DEVELOPMENT_KEY}"))];
    let alone: Vec<(&str, &str)> = alone.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(send(&service, "GET /studio/api/policy", &alone, None).status, 401);
    // The metrics name the inner route.
    let metrics = service.caller.send(DEVELOPMENT_KEY, "GET /metrics", &[], None).unwrap().1;
    assert!(metrics.contains(r#"path="/studio/api/policy""#), "{metrics}");
    let origin = origin(&service);
    let end = [("Cookie", cookie.as_str()), ("Origin", origin.as_str())];
    assert_eq!(send(&service, "DELETE /studio/session", &end, None).status, 200);
    assert_eq!(with("/studio/api/policy"), 401);
}

fn other_names_and_pages_are_refused() {
    let (service, _, _) = serve().unwrap();
    let cookie = open(&service, &json!({ "key": DEVELOPMENT_KEY })).ok().unwrap();
    let cookie = ("Cookie", cookie.as_str());
    let rebound = [cookie, ("Host", "attacker.example"), ("Accept-Encoding", "gzip")];
    for path in ["/studio/", "/studio/session", "/studio/api/policy"] {
        let refused = send(&service, &format!("GET {path}"), &rebound, None);
        assert_eq!((refused.status, refused.json()["code"].clone()), (403, json!("foreign_page")), "{path}");
    }
    let fact = json!({ "predicate": "p", "args": [{ "type": "T", "id": "x" }] });
    assert_eq!(service.caller.post(DEVELOPMENT_KEY, "policy", &json!({ "src": "declare p(T);" })).0, 200);
    let ours = origin(&service);
    let add =
        |headers: &[(&str, &str)]| send(&service, "POST /studio/api/facts", headers, Some(&fact)).status;
    assert_eq!(add(&[cookie]), 403);
    for other in ["http://attacker.example", "http://localhost:3000", "null"] {
        assert_eq!(add(&[cookie, ("Origin", other)]), 403, "{other}");
    }
    assert_eq!(add(&[cookie, ("Origin", &ours)]), 200);
    assert_eq!(add(&[("Origin", &ours)]), 401);
    let upgrade = |headers: &[(&str, &str)]| {
        let usual = [
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        send(&service, "GET /studio/lsp", &[&usual, headers].concat(), None).status
    };
    assert_eq!(upgrade(&[cookie, ("Origin", &ours)]), 101);
    assert_eq!(upgrade(&[cookie, ("Origin", "http://attacker.example")]), 403);
    assert_eq!(upgrade(&[cookie]), 403);
    assert_eq!(upgrade(&[("Origin", &ours)]), 401);
}

fn rights_are_those_of_the_key() {
    let (service, _, reader) = serve().unwrap();
    let ours = origin(&service);
    for wrong in ["", "e_0123456789_1_guess", "e_none_1_x", "x\r\ny"] {
        assert_eq!(open(&service, &json!({ "key": wrong })).unwrap_err().status, 401, "{wrong:?}");
    }
    assert_eq!(open(&service, &json!({})).unwrap_err().status, 400);
    let cookie = open(&service, &json!({ "key": reader })).ok().unwrap();
    let headers = [("Cookie", cookie.as_str()), ("Origin", ours.as_str())];
    let session = send(&service, "GET /studio/session", &headers, None);
    assert_eq!(session.json()["can_write"], json!(false));
    let post =
        |path: &str, body: &Json| send(&service, &format!("POST /studio/{path}"), &headers, Some(body));
    let draft = json!({ "policy": "actor User {}\np(_: User);", "question": "p(User:a)" });
    let answer = post("draft/answer", &draft);
    assert_eq!((answer.status, answer.json()["allowed"].clone()), (200, json!(true)), "{}", answer.body);
    let fact = json!({ "predicate": "p", "args": [{ "type": "T", "id": "x" }] });
    assert_eq!(post("api/facts", &fact).status, 403);
    assert_eq!(post("api/policy", &json!({ "src": "" })).status, 403);
    // The draft was not stored by any of this.
    let (_, stored) = service.caller.get(DEVELOPMENT_KEY, "policy");
    assert_eq!(stored, json!({ "policy": null }));
}

fn a_key_has_a_few_editors() {
    let (service, _, reader) = serve().unwrap();
    let writer = open(&service, &json!({ "key": DEVELOPMENT_KEY })).ok().unwrap();
    let other = open(&service, &json!({ "key": reader })).ok().unwrap();
    let mut editors: Vec<_> = (0..8).map(|_| connect(&service, &writer)).collect();
    let (kind, text) = first_frame(&mut connect(&service, &writer));
    let (code, reason) = text.split_at(2);
    assert_eq!((kind, code), (CLOSE, 1013_u16.to_be_bytes().as_slice()));
    let reason = String::from_utf8_lossy(reason);
    assert!(reason.starts_with("this key has 8 editors open"), "{reason}");
    let is_open = |cookie: &str| first_frame(&mut connect(&service, cookie)).0 != CLOSE;
    assert!(is_open(&other), "another key has seats of its own");
    editors.pop();
    // The service sees soon that the editor has gone.
    let end = Instant::now() + Duration::from_secs(10);
    while !is_open(&writer) {
        assert!(Instant::now() < end, "its place is free again");
    }
}

fn keys_are_not_tried_for_ever() {
    let (service, link, _) = serve().unwrap();
    let (_, token) = link.split_once("#token=").unwrap();
    let guess = |n: usize| open(&service, &json!({ "key": format!("e_0123456789_1_{n}") })).unwrap_err();
    let answers: Vec<_> = (0..45).map(guess).collect();
    let refused = answers.iter().find(|answer| answer.status != 401).unwrap();
    assert_eq!((refused.status, refused.json()["code"].clone()), (429, json!("rate_limited")));
    assert_eq!(refused.header("Retry-After"), Some("1"));
    assert!(answers.iter().take(30).all(|answer| answer.status == 401), "a few are free");
    // Neither the printed link nor the rest of the service depends on it.
    assert!(open(&service, &json!({ "token": token })).is_ok());
    assert_eq!(service.caller.get(DEVELOPMENT_KEY, "policy").0, 200);
}

fn it_is_off_unless_asked_for() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let first = key(folder.path(), "0123456789");
    let service = Service::start(folder.path(), &[]);
    for path in ["/studio", "/studio/", "/studio/session"] {
        assert_eq!(send(&service, &format!("GET {path}"), &[], None).status, 404, "{path}");
    }
    drop(service);
    let mut command = portcullis(folder.path());
    command.env("PORTCULLIS_STUDIO", "true");
    let program = portcullis_testkit::program::Program::spawn_as(command, folder.path(), "d", &[]);
    let mut service = program.answering()?;
    let line = service.program.prints("the studio is on");
    assert!(line.ends_with("/studio/"), "{line}");
    let to = send(&service, "GET /studio", &[], None);
    assert_eq!((to.status, to.header("Location")), (308, Some("studio/")));
    assert_eq!(open(&service, &json!({ "key": DEVELOPMENT_KEY })).unwrap_err().status, 401);
    assert!(open(&service, &json!({ "key": first })).is_ok());
    Ok(())
}
