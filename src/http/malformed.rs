//! Gives malformed HTTP requests a JSON error, as all errors have.
//!
//! hyper itself answers a head that it cannot parse, or that is too large, before there is a request for a
//! handler, and its answer has no body. But clients rely on the `message` of every error; a valid request
//! with very long parameters also ends here (414). So the connection inspects what is written: an answer
//! without a body and without a request id, which all other answers have, is one of hyper's, and the last on
//! its connection. It is replaced by one with the same status and a message.

use super::code::ErrorCode;
use super::headers::RequestId;

/// The end of an answer's head.
const END: &[u8] = b"\r\n\r\n";

/// The replacement, if the last answer in these bytes is one of hyper's own.
pub(super) fn instead_of(bytes: &[u8]) -> Option<Vec<u8>> {
    let head = bytes.strip_suffix(END)?;
    // A head follows the previous answer's body directly. Bodies never contain this kind of line break.
    let start = head.windows(9).rposition(|window| window == b"HTTP/1.1 ")?;
    let (before, head) = head.split_at_checked(start)?;
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?;
    let refused = status.strip_prefix("HTTP/1.1 4")?;
    let fields: Vec<&str> = lines.collect();
    let has = |name: &str| fields.iter().any(|field| field.to_ascii_lowercase().starts_with(name));
    if has("x-request-id:") || !has("content-length: 0") {
        return None;
    }
    let (code, message) = match refused.get(..2)? {
        "14" => (ErrorCode::UriTooLong, "the request's path and parameters are too long"),
        "31" => (ErrorCode::HeadersTooLarge, "the request's headers are too many or too large"),
        _ => (ErrorCode::InvalidHttp, "the request is not valid HTTP"),
    };
    let id = RequestId::fresh();
    tracing::debug!(id = id.as_str(), status, "refused a malformed request");
    let body = format!(r#"{{"message":"{message}","code":"{}"}}"#, code.as_str());
    let length = body.len();
    let mut answer = before.to_vec();
    let kept = fields.iter().filter(|field| !field.to_ascii_lowercase().starts_with("content-length:"));
    for line in std::iter::once(&status).chain(kept) {
        answer.extend_from_slice(line.as_bytes());
        answer.extend_from_slice(b"\r\n");
    }
    let id = id.as_str();
    answer.extend_from_slice(
        format!(
            "content-type: application/json\r\ncontent-length: {length}\r\nx-request-id: {id}\r\n\
             server-timing: oso;dur=0.000\r\n\r\n{body}"
        )
        .as_bytes(),
    );
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_without_a_body_gets_one() {
        let refusal =
            "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let before = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-request-id: a\r\n\r\n{}";
        let written = instead_of(format!("{before}{refusal}").as_bytes()).unwrap();
        let written = String::from_utf8(written).unwrap();
        let answer = written.strip_prefix(before).unwrap();
        assert!(answer.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n"));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())) && !head.contains("length: 0"));
        assert_eq!(
            body,
            r#"{"message":"the request's headers are too many or too large","code":"headers_too_large"}"#
        );
    }

    #[test]
    fn what_the_service_answers_stays() {
        for bytes in [
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nx-request-id: a\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nx-request-id: a\r\n\r\n{}",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "{}",
            "\r\n\r\n",
        ] {
            assert_eq!(instead_of(bytes.as_bytes()), None, "{bytes}");
        }
    }
}
