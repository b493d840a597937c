//! What a hostile page, and a client without rights, are refused.

use super::serve;
use libtest_mimic::{Failed, Trial};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::program::{Service, key, portcullis};
use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

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
        Trial::test("it_is_off_unless_asked_for", it_is_off_unless_asked_for),
    ]
}

/// The status, the head and the body of an answer to a request that is written as it is sent.
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// Sends a request, whose `Host` is the service's address if the headers have none.
fn send(service: &Service, request: &str, headers: &[(&str, &str)], body: Option<&Json>) -> Reply {
    let address = service.caller.address();
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let has = |name: &str| headers.iter().any(|(known, _)| *known == name);
    let host = (!has("Host")).then(|| format!("Host: {address}"));
    let end = (!has("Connection")).then(|| "Connection: close".to_owned());
    let body = body.map(Json::to_string);
    let kind = body.as_ref().map(|_| "Content-Type: application/json".to_owned());
    let length = body.as_ref().map(|body| format!("Content-Length: {}", body.len()));
    let given = headers.iter().map(|(name, value)| format!("{name}: {value}"));
    let first = std::iter::once(format!("{request} HTTP/1.1"));
    let lines: Vec<String> = first.chain(host).chain(end).chain(given).chain(kind).chain(length).collect();
    let text = format!("{}\r\n\r\n{}", lines.join("\r\n"), body.unwrap_or_default());
    socket.write_all(text.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    // The answer to an upgrade does not end the connection.
    while !is_whole(&bytes) {
        match socket.read(&mut part).unwrap() {
            0 => break,
            n_bytes => bytes.extend_from_slice(&part[..n_bytes]),
        }
    }
    let answer = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Reply { status, head: head.to_owned(), body: body.to_owned() }
}

/// Whether these are all bytes of an answer, as its head says.
fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    head.starts_with("http/1.1 101") || length.is_some_and(|length| body.len() >= length.parse().unwrap())
}

fn origin(service: &Service) -> String {
    service.caller.url.clone()
}

/// Opens a session; the cookie as the browser sends it back.
fn open(service: &Service, what: &Json) -> Result<String, Reply> {
    let origin = origin(service);
    let reply = send(service, "POST /studio/session", &[("Origin", &origin)], Some(what));
    if reply.status != 200 {
        return Err(reply);
    }
    let cookie = reply.header("Set-Cookie").unwrap();
    for part in ["; Path=/studio", "; HttpOnly", "; SameSite=Strict", "; Max-Age=43200"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    Ok(cookie.split(';').next().unwrap().to_owned())
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
    // A key in the request does not replace that of the session.
    let wrong = [("Cookie", cookie.as_str()), ("Authorization", "Bearer e_0123456789_1_x")];
    assert_eq!(send(&service, "GET /studio/api/policy", &wrong, None).status, 200);
    let alone = [("Authorization", format!("Bearer {DEVELOPMENT_KEY}"))];
    let alone: Vec<(&str, &str)> = alone.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(send(&service, "GET /studio/api/policy", &alone, None).status, 401);
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
        assert_eq!(send(&service, &format!("GET {path}"), &rebound, None).status, 403, "{path}");
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
