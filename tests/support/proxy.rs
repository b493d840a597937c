//! A proxy between a store and its server, which loses what a network can lose.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::thread;

/// What goes wrong next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// COMMIT does not reach the server, and the connection breaks.
    LostCommit,
    /// COMMIT reaches the server, but its answer is lost, and the connection breaks.
    LostAnswer,
    /// The same, and it refuses new connections.
    LostServer,
    /// Connections stay open, and nothing is forwarded.
    Silence,
}

/// A running proxy.
#[derive(Clone)]
pub struct Proxy {
    /// Where it listens on 127.0.0.1.
    pub port: u16,
    state: Arc<ProxyState>,
}

struct ProxyState {
    fault: AtomicU8,
    /// After this many bytes from the store its connection breaks; never if negative.
    left: AtomicI64,
}

impl Proxy {
    /// Starts a proxy in front of this port of 127.0.0.1.
    pub fn start(server: u16) -> Self {
        Self::before(&format!("127.0.0.1:{server}"))
    }

    /// Starts a proxy in front of a server at this host and port.
    pub fn before(server: &str) -> Self {
        let server = server.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(ProxyState { fault: AtomicU8::new(0), left: AtomicI64::new(i64::MAX) });
        let proxy = Self { port, state };
        let accepting = proxy.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if accepting.fault() == Fault::LostServer {
                    continue;
                }
                let server = TcpStream::connect(&*server).unwrap();
                let (here, there) = (accepting.clone(), accepting.clone());
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || here.forward_to_server(from, to));
                thread::spawn(move || there.forward_to_client(server, client));
            }
        });
        proxy
    }

    /// What goes wrong from now on.
    pub fn set(&self, fault: Fault) {
        self.state.fault.store(fault as u8, Ordering::SeqCst);
    }

    /// Breaks a connection after `n_bytes` from the store.
    pub fn cut_after(&self, n_bytes: i64) {
        self.state.left.store(n_bytes, Ordering::SeqCst);
    }

    fn fault(&self) -> Fault {
        let all = [Fault::None, Fault::LostCommit, Fault::LostAnswer, Fault::LostServer, Fault::Silence];
        all[usize::from(self.state.fault.load(Ordering::SeqCst))]
    }

    fn forward_to_server(&self, mut client: TcpStream, mut server: TcpStream) {
        let mut buffer = [0; 16_384];
        while let Ok(n @ 1..) = client.read(&mut buffer) {
            let sent = &buffer[..n];
            let is_commit = sent.windows(7).any(|text| text == b"COMMIT\0");
            let n_bytes = i64::try_from(n).unwrap();
            let left = self.state.left.fetch_sub(n_bytes, Ordering::SeqCst);
            match self.fault() {
                Fault::Silence => {}
                Fault::LostCommit if is_commit => {
                    self.set(Fault::None);
                    break;
                }
                _ if left < n_bytes => {
                    let kept = usize::try_from(left).unwrap_or(0);
                    let _ = server.write_all(&sent[..kept]);
                    break;
                }
                _ if server.write_all(sent).is_err() => break,
                _ => {}
            }
        }
        let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
    }

    fn forward_to_client(&self, mut server: TcpStream, mut client: TcpStream) {
        let mut buffer = [0; 16_384];
        while let Ok(n @ 1..) = server.read(&mut buffer) {
            let answer = &buffer[..n];
            let is_committed = answer.windows(7).any(|text| text == b"COMMIT\0");
            match self.fault() {
                Fault::Silence => {}
                Fault::LostAnswer if is_committed => {
                    self.set(Fault::None);
                    break;
                }
                Fault::LostServer if is_committed => break,
                _ if client.write_all(answer).is_err() => break,
                _ => {}
            }
        }
        let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
    }
}
