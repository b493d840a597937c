//! A client of the studio that sends requests exactly as the tests write them.

use portcullis_testkit::program::Service;
use serde_json::Value as Json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The status, the head and the body of an answer to a request that is written as it is sent.
pub(super) struct Reply {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(super) fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// Sends a request, whose `Host` is the service's address if the headers have none.
pub(super) fn send(service: &Service, request: &str, headers: &[(&str, &str)], body: Option<&Json>) -> Reply {
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

pub(super) fn origin(service: &Service) -> String {
    service.caller.url.clone()
}

/// Opens a session. Returns its cookie as a browser sends it back.
pub(super) fn open(service: &Service, what: &Json) -> Result<String, Reply> {
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

/// Opens a socket of an editor, with the cookie of a session.
pub(super) fn connect(service: &Service, cookie: &str) -> TcpStream {
    let mut socket = TcpStream::connect(service.caller.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let request = format!(
        "GET /studio/lsp HTTP/1.1\r\nHost: {}\r\nOrigin: {}\r\nCookie: {cookie}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        service.caller.address(),
        origin(service),
    );
    socket.write_all(request.as_bytes()).unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    socket
}

/// The first byte of a frame that closes a socket.
pub(super) const CLOSE: u8 = 0x88;

/// The first byte and the content of the first frame that the service sends.
pub(super) fn first_frame(socket: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut head = [0; 2];
    socket.read_exact(&mut head).unwrap();
    let [kind, length] = head;
    let mut content = vec![0; usize::from(length)];
    socket.read_exact(&mut content).unwrap();
    (kind, content)
}
