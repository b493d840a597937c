//! Requests and answers as they are on the wire.

use portcullis::http::ErrorCode;
use serde_json::Value as Json;
use std::io::Read;

/// An authorize request.
pub fn question(user: &str, action: &str, repo: &str) -> Json {
    serde_json::json!({
        "actor_type": "User", "actor_id": user, "action": action,
        "resource_type": "Repo", "resource_id": repo,
    })
}

/// A fact, written `["predicate", "Type:id", …]`.
pub fn fact_json(fact: &[&str]) -> Json {
    let args: Vec<Json> = fact[1..].iter().map(|arg| value_json(arg)).collect();
    serde_json::json!({ "predicate": fact[0], "args": args })
}

/// A value, written `Type:id`.
pub fn value_json(value: &str) -> Json {
    let (ty, id) = value.split_once(':').unwrap();
    serde_json::json!({ "type": ty, "id": id })
}

/// A fact, written `predicate(Type:id, …)`.
pub(crate) fn fact_text(fact: &Json) -> String {
    let text = |arg: &Json| format!("{}:{}", arg["type"].as_str().unwrap(), arg["id"].as_str().unwrap());
    let args: Vec<String> = fact["args"].as_array().unwrap().iter().map(text).collect();
    format!("{}({})", fact["predicate"].as_str().unwrap(), args.join(", "))
}

/// The header that carries a key.
pub fn bearer(key: &str) -> String {
    format!("Authorization: Bearer {key}")
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    headers: Vec<(String, String)>,
    /// Its body.
    pub text: String,
}

impl Answer {
    pub(crate) fn of(status: u16, headers: Vec<(String, String)>, text: String) -> Self {
        Self { status, headers, text }
    }

    /// Its body as JSON.
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error} in {:?}", self.text))
    }

    /// The text every error has; to AuthZEN it is the whole body.
    pub fn message(&self) -> String {
        let body = self.json();
        let message = if body.is_string() { &body } else { &body["message"] };
        message.as_str().unwrap_or_else(|| panic!("no message in {:?}", self.text)).to_owned()
    }

    /// A header, if there is one of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Checks the status and the exact body.
    pub fn is(&self, status: u16, body: &Json) {
        assert_eq!((self.status, &self.json()), (status, body));
    }

    /// The code of an error, which is one of the interface and has this status.
    pub fn code(&self) -> &'static str {
        let body = self.json();
        let known = ErrorCode::ALL.iter().find(|code| body["code"] == code.as_str());
        let code = known.unwrap_or_else(|| panic!("no code in {body}"));
        assert_eq!(code.status().as_u16(), self.status, "{body}");
        code.as_str()
    }

    /// Checks that this is an error whose message has this part.
    pub fn fails(&self, status: u16, part: &str) {
        assert_eq!(self.status, status, "{}", self.text);
        if !self.json().is_string() {
            self.code();
        }
        assert!(self.message().contains(part), "{:?} has no {part:?}", self.message());
        assert_eq!(self.header("content-type"), Some("application/json"));
    }
}

/// Reads one answer; its body is as long as its head says, or ends with an empty chunk.
pub fn read_answer(stream: &mut impl Read) -> Answer {
    try_read_answer(stream).unwrap()
}

/// Reads one answer, or nothing if the connection ends before it.
pub fn try_read_answer(stream: &mut impl Read) -> Option<Answer> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            Ok(_) | Err(_) => return None,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut answer = Answer { status, headers, text: String::new() };
    let mut body = Vec::new();
    if answer.header("transfer-encoding") == Some("chunked") {
        while read_chunk(stream, &mut body)? {}
    } else {
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        body.resize(length, 0);
        stream.read_exact(&mut body).unwrap();
    }
    answer.text = String::from_utf8(body).unwrap();
    Some(answer)
}

/// Reads one chunk; whether it was not the last, or nothing if the connection ends before it.
fn read_chunk(stream: &mut impl Read, body: &mut Vec<u8>) -> Option<bool> {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\r\n") {
        stream.read_exact(&mut byte).ok()?;
        line.push(byte[0]);
    }
    let length = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim_end(), 16).unwrap();
    let mut chunk = vec![0; length + 2];
    stream.read_exact(&mut chunk).ok()?;
    body.extend_from_slice(chunk.strip_suffix(b"\r\n").unwrap());
    Some(length > 0)
}
