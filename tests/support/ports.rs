//! Ports for servers that cannot choose one themselves.

use std::net::TcpListener;

/// How often another port is tried.
const TRIES: usize = 5;

/// A port of 127.0.0.1 that is free. Another process may take it before a server listens there.
///
/// # Panics
/// This machine has no free port.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.expect("a free port").port()
}

/// Starts a server of PostgreSQL at a free port. If the port was taken meanwhile, another one is tried.
pub(crate) fn at_free_port<S>(start: impl Fn(u16) -> Result<S, String>) -> Result<(S, u16), String> {
    let mut tries = 0;
    loop {
        let port = free_port();
        tries += 1;
        match start(port) {
            Err(error) if error.contains("Address already in use") && tries < TRIES => {}
            started => return Ok((started?, port)),
        }
    }
}
