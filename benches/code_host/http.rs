//! A client of the least possible cost: one kept connection, one write and one read a request.

use portcullis::http::DEVELOPMENT_KEY;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A kept connection to the service.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Client {
    /// Connects.
    pub(crate) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), body: Vec::new() }
    }

    /// Posts a JSON body and returns the answer's body; anything but success ends the measurement.
    pub(crate) fn post(&mut self, path: &str, body: &str) -> &[u8] {
        let (status, answer) = self.send("POST", path, body);
        assert!((200..300).contains(&status), "{status} {}", String::from_utf8_lossy(answer));
        answer
    }

    /// Sends a request and returns the answer's status and body.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> (u16, &[u8]) {
        let request = format!(
            "{method} /api{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {DEVELOPMENT_KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).unwrap();
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line).unwrap();
            if line == "\r\n" {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).unwrap();
        (status, &self.body)
    }
}
