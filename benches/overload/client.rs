//! A client that opens a connection for each request and reads its answer to the end.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(90);

/// A request, as bytes on the wire.
pub(crate) fn request(method: &str, path: &str, key: &str, body: &str) -> Vec<u8> {
    let head = format!(
        "{method} /api{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// Sends a request; the status of its answer and the first bytes after the head.
///
/// # Errors
/// The connection was refused or cut, or nothing came in time.
pub(crate) fn ask(address: SocketAddr, request: &[u8]) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // A service may answer before it has read the body, and then close.
    let sent = stream.write_all(request);
    answer(&mut stream).map_err(|error| sent.err().unwrap_or(error))
}

/// Reads an answer to its end, and keeps its beginning.
fn answer(stream: &mut TcpStream) -> io::Result<(u16, Vec<u8>)> {
    const KEPT: usize = 4_096;
    let (mut kept, mut part) = (Vec::new(), vec![0; 64 * 1_024]);
    loop {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(n) => kept.extend(part[..n].iter().take(KEPT - kept.len().min(KEPT))),
            // Cut after its answer: what came counts.
            Err(_) if !kept.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    let text = String::from_utf8_lossy(&kept);
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = text.find("\r\n\r\n").map(|at| text.as_bytes()[at + 4..].to_vec());
    match (status, body) {
        (Some(status), Some(body)) => Ok((status, body)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
