//! Lines that the processes of a store send each other, by NOTIFY.
//!
//! Each keeps one connection to the primary, which sends and listens. A line reaches those that listen at
//! that moment; it is stored nowhere, and may be lost. Lines that wait share a notification, and
//! notifications are not sent all the time: each is a transaction. It waits for neither disk nor standby.
//!
//! Every role of the database may listen, and send lines of its own.

use super::address::Address;
use super::connect::{WantedServer, connect_listening};
use super::pause::scattered;
use super::session::{PgSession, SessionMark, value};
use crate::store::database_error::DatabaseError;
use crate::store::error::StoreError;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

/// The name of the channel.
const CHANNEL: &str = "portcullis";

/// How many lines, and how many notifications, may wait; further ones are lost.
const MOST_NOTICES: usize = 10_000;

/// How many bytes a notification has at most. PostgreSQL takes less than 8,000.
const LONGEST: usize = 7_900;

/// The least time from one statement to the next.
const SPACING: Duration = Duration::from_millis(5);

/// How long a statement may take.
const TIME: Duration = Duration::from_secs(5);

/// How often an idle connection is tried.
const BEAT: Duration = Duration::from_secs(10);

/// How long until it connects again, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(8));

/// Sends lines to all processes that listen at the same store, and gets theirs and its own.
#[derive(Debug)]
pub struct Notices {
    address: Address,
    queue: (flume::Sender<String>, flume::Receiver<String>),
    is_listening: AtomicBool,
    /// How many lines found the queue full.
    n_lost: AtomicU64,
}

impl Notices {
    /// Those of the store at an address. It connects once it [runs](Self::run).
    pub fn new(address: Address) -> Self {
        let (queue, is_listening, n_lost) =
            (flume::bounded(MOST_NOTICES), AtomicBool::new(false), AtomicU64::new(0));
        Self { address, queue, is_listening, n_lost }
    }

    /// Whether a line that is sent now, and its answer, can arrive.
    pub fn is_listening(&self) -> bool {
        self.is_listening.load(Ordering::SeqCst)
    }

    /// Sends a line, which is short and has no line break, if there is a connection.
    pub fn send(&self, line: String) {
        debug_assert!(line.len() < LONGEST && !line.contains('\n'), "not a line: {line}");
        if self.is_listening() && self.queue.0.try_send(line).is_err() {
            let n_lost = self.n_lost.fetch_add(1, Ordering::Relaxed) + 1;
            // Not each of them: the log would grow with what others ask.
            if n_lost.is_power_of_two() {
                tracing::warn!(n_lost, "too many lines for other nodes: some are lost");
            }
        }
    }

    /// Sends what waits, and passes on what arrives, as long as it is polled. After a failure it connects
    /// again, to the server that is the primary then.
    pub async fn run(&self, receive: impl Fn(&str)) {
        let mut pause = PAUSE.0;
        loop {
            let Err(error) = self.exchange(&receive).await;
            if self.is_listening.swap(false, Ordering::SeqCst) {
                pause = PAUSE.0;
                tracing::warn!(%error, "cannot hear other nodes any more: connecting again");
            }
            // Nobody waits for what has not been sent by then.
            self.queue.1.drain();
            sleep(scattered(pause)).await;
            pause = (pause * 2).min(PAUSE.1);
        }
    }

    /// Sends and receives until the connection fails.
    async fn exchange(&self, receive: &impl Fn(&str)) -> Result<Infallible, StoreError> {
        let (heard, notices) = flume::bounded(MOST_NOTICES);
        let (client, server) = connect_listening(&self.address, WantedServer::ReadWrite, heard).await?;
        let connection = NoticeConnection { client, at: server.at, mark: SessionMark::new()? };
        connection.listen().await?;
        self.is_listening.store(true, Ordering::SeqCst);
        let mut last = Instant::now();
        loop {
            let next_line = async {
                sleep_until(last + SPACING).await;
                self.queue.1.recv_async().await
            };
            tokio::select! {
                notice = notices.recv_async() => match notice {
                    Ok(notice) => notice.lines().for_each(receive),
                    Err(_) => return Err(connection.failed("the connection ended")),
                },
                line = next_line => {
                    let lines = line.into_iter().chain(self.queue.1.try_iter()).take(MOST_NOTICES / 10);
                    connection.notify(&together(lines)).await?;
                    last = Instant::now();
                }
                () = sleep_until(last + BEAT) => {
                    connection.notify(&[]).await?;
                    last = Instant::now();
                }
            }
        }
    }
}

/// The connection that sends and listens.
struct NoticeConnection {
    client: Client,
    at: String,
    mark: SessionMark,
}

impl NoticeConnection {
    async fn listen(&self) -> Result<(), StoreError> {
        let (limit, mark) = (TIME.as_millis(), self.mark.set());
        let listen = format!(
            "SET search_path = pg_catalog; SET synchronous_commit = off; SET statement_timeout = {limit}; {mark};
             LISTEN {CHANNEL}"
        );
        self.within(PgSession::new(&self.client, &self.at).run(&listen)).await
    }

    /// Sends notifications, perhaps none.
    async fn notify(&self, notifications: &[String]) -> Result<(), StoreError> {
        const VALUE: &str = SessionMark::VALUE;
        let notify = format!("SELECT count(pg_notify($1, n)), {VALUE} FROM unnest($2::text[]) AS s (n)");
        let params = [(&CHANNEL as _, Type::TEXT), (&notifications as _, Type::TEXT_ARRAY)];
        let row = self.within(PgSession::new(&self.client, &self.at).row(&notify, &params)).await?;
        self.mark.check(value(&row, 1)?, &self.at)
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        timeout(TIME, work).await.map_err(|_| self.failed(&format!("no answer within {TIME:?}")))?
    }

    fn failed(&self, reason: &str) -> StoreError {
        DatabaseError::Unreachable { at: self.at.clone(), reason: reason.to_owned() }.into()
    }
}

/// Lines as few notifications.
fn together(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in lines {
        match all.last_mut() {
            Some(last) if last.len() + 1 + line.len() <= LONGEST => {
                last.push('\n');
                last.push_str(&line);
            }
            _ => all.push(line),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_share_a_notification_as_far_as_it_may_grow() {
        let line = |n: usize| format!("{n:099}");
        let all = together((0..200).map(line));
        assert_eq!(all.iter().map(String::len).collect::<Vec<_>>(), [7_899, 7_899, 4_199]);
        let back: Vec<&str> = all.iter().flat_map(|notice| notice.lines()).collect();
        assert_eq!(back, (0..200).map(line).collect::<Vec<_>>());
        assert_eq!(together([]), Vec::<String>::new());
    }
}
