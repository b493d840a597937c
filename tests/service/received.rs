//! Requests as a fake service receives them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;

/// The first line of a request, and its body.
pub(crate) fn request(stream: &TcpStream) -> (String, Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (first, body)
}
