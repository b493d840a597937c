//! Probes a primary that did not answer in time, until it answers.
//!
//! A probe makes a new connection to each server and asks for settings, so no lock of a table can hold it up.
//! It runs on a thread of its own, whose end does not depend on who suspected the server.

use super::address::{Address, ServerAddress};
use super::connect::attempt;
use super::pause::scattered;
use super::runtime::OwnRuntime;
use super::silence::{Silence, is_suspect};
use super::tls::Connector;
use crate::store::error::StoreError;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long a probe may take.
pub(super) const PROBE_TIME: Duration = Duration::from_secs(2);

/// About how long until the next one.
const PAUSE: Duration = Duration::from_millis(600);

/// Passes an outcome on. If no server was reached for long, it first waits until it is known whether the
/// primary is silent.
pub(super) async fn judged<T>(
    address: &Address,
    began: Instant,
    outcome: Result<T, StoreError>,
) -> Result<T, StoreError> {
    if is_suspect(began, &outcome) {
        is_silent(address).await;
    }
    outcome
}

/// Whether the primary is silent: a probe decides.
pub(super) async fn is_silent(address: &Address) -> bool {
    if address.silence.suspect()
        && let Err(error) = start(address)
    {
        tracing::warn!(%error, "cannot try whether the primary answers");
        address.silence.note(true);
    }
    address.silence.decided().await
}

/// Starts the thread.
fn start(address: &Address) -> Result<(), StoreError> {
    let Address { servers, tls, primary, .. } = address.clone();
    let (mut probing, runtime) = (Probing(Some(Arc::downgrade(&address.silence))), OwnRuntime::new()?);
    let try_all = async move {
        // To become silent takes one probe without an answer. To end that, a server has all its time.
        let mut most = PROBE_TIME;
        loop {
            let n_answers = probing.silence().map(|silence| silence.n_answers());
            let found = look_for_primary(&servers, &tls, most).await;
            // Nobody asks any more once it is gone.
            let Some(known) = probing.silence() else { return Ok(()) };
            if let FoundPrimary::At(nth) = found {
                primary.store(nth, Ordering::SeqCst);
            }
            // A pooler may keep a new connection waiting while those of the node have answers.
            let answers = found != FoundPrimary::Silent || n_answers != Some(known.n_answers());
            if answers {
                probing.0 = None;
            }
            known.note(answers);
            if answers {
                return Ok(());
            }
            drop(known);
            most = Duration::MAX;
            sleep(scattered(PAUSE)).await;
        }
    };
    let thread = thread::Builder::new().name("store-probe".into());
    let thread = thread.spawn(move || runtime.block_on(try_all));
    thread.map(drop).map_err(|error| StoreError::no_thread(&error))
}

/// What the thread knows; `None` once it has noted an answer. If it ends in any other way, requests must try
/// by themselves.
struct Probing(Option<Weak<Silence>>);

impl Probing {
    fn silence(&self) -> Option<Arc<Silence>> {
        self.0.as_ref()?.upgrade()
    }
}

impl Drop for Probing {
    fn drop(&mut self) {
        if let Some(silence) = self.silence() {
            silence.note(true);
        }
    }
}

/// What a probe finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FoundPrimary {
    /// This server is the primary.
    At(usize),
    /// All servers answer or refuse, and none is the primary: connecting fails at once.
    Nowhere,
    /// It may be one that does not answer.
    Silent,
}

/// Tries all servers at once, each for as long as a connection to it may take, and for `most` at the most.
async fn look_for_primary(servers: &[ServerAddress], tls: &Connector, most: Duration) -> FoundPrimary {
    let mut tries = JoinSet::new();
    for (nth, server) in servers.iter().enumerate() {
        let (limit, tls) = (most.min(server.limit), tls.clone());
        // Its own limit comes later.
        let server = ServerAddress { limit: 2 * limit, ..server.clone() };
        tries.spawn(async move { (nth, timeout(limit, attempt(&tls, &server, None)).await) });
    }
    let mut found = FoundPrimary::Nowhere;
    while let Some(tried) = tries.join_next().await {
        match tried {
            Ok((nth, Ok(Ok((_, server))))) if server.check_writes().is_ok() => return FoundPrimary::At(nth),
            Ok((_, Ok(_))) => {}
            Ok((_, Err(_))) | Err(_) => found = FoundPrimary::Silent,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::connect::{WantedServer, connect};
    use super::*;
    use portcullis_testkit::cluster::Cluster;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    fn address(ports: &[u16]) -> Address {
        let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        Address::parse(&format!("postgres://postgres@{}/postgres", hosts.join(","))).unwrap()
    }

    /// The system accepts the connections, and nobody answers.
    #[tokio::test]
    async fn a_server_that_accepts_and_says_nothing_is_silent_and_one_that_refuses_is_not() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let refusing = TcpListener::bind("127.0.0.1:0").unwrap();
        let (silent_port, refusing_port) =
            (silent.local_addr().unwrap().port(), refusing.local_addr().unwrap().port());
        drop(refusing);
        assert!(!is_silent(&address(&[refusing_port])).await);
        let both = address(&[refusing_port, silent_port]);
        let began = Instant::now();
        assert!(is_silent(&both).await && both.silence.is_on());
        assert!(began.elapsed() < 2 * PROBE_TIME, "{:?}", began.elapsed());
        let known = Arc::clone(&both.silence);
        drop(silent);
        while known.is_on() {
            assert!(began.elapsed() < 6 * PROBE_TIME, "it refuses now");
            sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(known.count(), 1);
    }

    /// A server, or a pooler, that does this with each connection; it ends with the process.
    fn stand_in(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(stream));
            }
        });
        Address::parse(&format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable")).unwrap()
    }

    /// Passes on what comes, both ways.
    fn pass_on(client: TcpStream, server: TcpStream) {
        let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut from, &mut to));
        let (mut from, mut to) = (server, client);
        std::io::copy(&mut from, &mut to).unwrap_or_default();
    }

    /// An authentication service may take seconds. No probe was ever long enough for that.
    #[tokio::test]
    async fn a_login_slower_than_the_first_probe_ends_the_silence() {
        let (_primary, port) = Cluster::with_port(&["shared_buffers=16MB"]).unwrap();
        let address = stand_in(move |client| {
            thread::sleep(PROBE_TIME + Duration::from_millis(500));
            pass_on(client, TcpStream::connect(("127.0.0.1", port)).unwrap());
        });
        let began = Instant::now();
        assert!(is_silent(&address).await, "nothing has answered");
        let known = &address.silence;
        while known.is_on() {
            assert!(began.elapsed() < 8 * PROBE_TIME, "it answers each login");
            sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(known.count(), 1);
    }

    /// The connections that the node has get answers: it is only a new one that waits.
    #[tokio::test]
    async fn a_pooler_that_keeps_new_connections_waiting_is_not_silent() {
        let address = stand_in(|client| {
            thread::sleep(Duration::from_mins(1));
            drop(client);
        });
        let answered = async {
            sleep(PROBE_TIME / 4).await;
            address.silence.unless_on(std::future::ready(Ok(()))).await
        };
        let (is_silent, answered) = tokio::join!(is_silent(&address), answered);
        assert!(answered.is_ok() && !is_silent);
        assert_eq!(address.silence.count(), 0);
    }

    /// A pooler, or a server, with as many connections as it takes.
    #[tokio::test]
    async fn a_pooler_that_refuses_because_it_is_full_is_not_silent() {
        let address = stand_in(|mut client| {
            let _startup = client.read(&mut [0; 1024]).unwrap();
            let fields = b"SFATAL\0VFATAL\0C53300\0Mno more connections allowed\0\0";
            let length = u32::try_from(fields.len() + 4).unwrap();
            client.write_all(&[b"E", &length.to_be_bytes()[..], fields].concat()).unwrap();
        });
        let began = Instant::now();
        assert!(!is_silent(&address).await);
        assert!(began.elapsed() < PROBE_TIME && address.silence.count() == 0);
        let refused = connect(&address, WantedServer::ReadWrite).await.map(|_| ()).unwrap_err();
        assert!(refused.to_string().contains("no more connections allowed"), "{refused}");
    }

    /// Where a failover leaves the old server silent, each connection would otherwise wait for it.
    #[tokio::test]
    async fn a_server_that_is_silent_does_not_keep_the_new_primary_from_being_found() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let (_primary, port) = Cluster::with_port(&["shared_buffers=16MB"]).unwrap();
        let address = address(&[silent.local_addr().unwrap().port(), port]);
        assert!(!is_silent(&address).await, "there is a primary");
        let began = Instant::now();
        let (_, server) = connect(&address, WantedServer::ReadWrite).await.unwrap();
        assert!(server.at.ends_with(&port.to_string()) && began.elapsed() < PROBE_TIME, "{server:?}");
    }
}
