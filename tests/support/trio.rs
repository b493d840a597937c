//! A primary with two standbys, one of which takes over when it dies.

use super::cluster::Cluster;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_postgres::{Client, NoTls};

/// How long a server may need for what is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// When a commit is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// When a standby, too, has it and shows it.
    ByStandby,
    /// When the primary has it. Standbys get nothing for a while before it dies.
    ByPrimary,
}

/// A server and its port.
pub struct DatabaseServer {
    cluster: Cluster,
    port: u16,
}

impl DatabaseServer {
    /// A primary without data.
    pub fn start() -> Self {
        Self::start_behind(None)
    }

    /// The address of its first database.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    fn start_behind(primary: Option<u16>) -> Self {
        // Without a standby that must confirm, this is an ordinary commit.
        let settings = ["shared_buffers=16MB", "wal_keep_size=512MB", "synchronous_commit=remote_apply"];
        let started = match primary {
            None => Cluster::with_port(&settings),
            Some(primary) => Cluster::standby_of(primary, &settings),
        };
        let (cluster, port) = started.unwrap();
        Self { cluster, port }
    }

    async fn connect(&self) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    async fn run(&self, statements: &[&str]) {
        let client = self.connect().await;
        for statement in statements {
            client.batch_execute(statement).await.unwrap();
        }
    }

    async fn text(&self, query: &str) -> String {
        let client = self.connect().await;
        client.query_one(query, &[]).await.unwrap().get::<_, Option<String>>(0).unwrap_or_default()
    }

    /// Waits until a query returns a text.
    async fn until(&self, query: &str, text: &str) {
        let began = Instant::now();
        while self.text(query).await != text {
            assert!(began.elapsed() < PATIENCE, "{query}: {}, not {text}", self.text(query).await);
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A primary and its standbys.
pub struct Trio {
    primary: DatabaseServer,
    standbys: [DatabaseServer; 2],
}

impl Trio {
    /// Gives a primary two standbys.
    pub async fn around(primary: DatabaseServer, confirmed: Confirmed) -> Self {
        let port = primary.port;
        let starting = [(); 2].map(|()| thread::spawn(move || DatabaseServer::start_behind(Some(port))));
        let trio = Self { standbys: starting.map(|standby| standby.join().unwrap()), primary };
        let streaming = "SELECT count(*)::text FROM pg_stat_replication WHERE state = 'streaming'";
        trio.primary.until(streaming, "2").await;
        if confirmed == Confirmed::ByStandby {
            let required = "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'";
            trio.primary.run(&[required, "SELECT pg_reload_conf()"]).await;
            let quorum = "SELECT count(*)::text FROM pg_stat_replication WHERE sync_state = 'quorum'";
            trio.primary.until(quorum, "2").await;
        }
        trio
    }

    /// The address with all servers, the primary last.
    pub fn url(&self) -> String {
        let [one, two] = &self.standbys;
        let hosts = [one, two, &self.primary].map(|server| format!("127.0.0.1:{}", server.port)).join(",");
        format!("postgres://postgres@{hosts}/postgres?connect_timeout=1&target_session_attrs=read-write")
    }

    /// The addresses of the standbys.
    pub fn standby_urls(&self) -> [String; 2] {
        [0, 1].map(|nth| format!("{}?connect_timeout=1", self.standbys[nth].url()))
    }

    /// Kills the primary, and promotes the standby that has more of its log. If standbys need not confirm,
    /// they lack some of the batches, which are counted.
    pub async fn fail_over(self, confirmed: Confirmed, n_batches: &AtomicUsize) -> DatabaseServer {
        if confirmed == Confirmed::ByPrimary {
            self.primary.cluster.stop_sending().unwrap();
            let (began, before) = (Instant::now(), n_batches.load(Ordering::SeqCst));
            while n_batches.load(Ordering::SeqCst) < before + 20 {
                assert!(began.elapsed() < PATIENCE, "nothing is written");
                sleep(Duration::from_millis(5)).await;
            }
        }
        self.primary.cluster.kill().unwrap();
        let received = "SELECT lpad((pg_last_wal_receive_lsn() - '0/0')::text, 20, '0')";
        let [one, two] = self.standbys;
        let is_first = one.text(received).await >= two.text(received).await;
        let promoted = if is_first { one } else { two };
        promoted.run(&["SELECT pg_promote(true, 30)"]).await;
        promoted
    }
}
