//! Serves connections, none of which can hold resources for long without progress.
//!
//! Every connection is a task with a seat (`seats`). The head of a request must arrive in time, and its
//! answer must be read in time. A half-closed connection still gets its answer, and pipelined requests are
//! answered in order. After `shutdown` no connection is accepted, idle ones are closed, and those with a
//! request in progress get their answer first.
//!
//! A client that has closed its side may still read or be gone, which only a write can show. So it gets a
//! moment for its answer, and then its request is cancelled.
//!
//! An answer may be ready before the body has been read, for instance 401 or 413. Closing a socket with
//! unread bytes resets the connection, and the client loses the answer. So a closed connection lingers: what
//! still arrives is read and dropped, for a limited time.
//!
//! ```text
//! socket ─→ TimedStream: time to write, lingering close ─→ TLS, if configured ─→ hyper: time for a head ─→ router
//! ```
//!
//! TLS is layered on top of the timeouts, so its own bytes cannot stall either. A handshake occupies the
//! connection's seat, and has as much time as a head.

use super::accept::Failures;
use super::metrics::Metrics;
use super::seats::{Leave, Seat, Seats};
use super::{AppState, Tls, malformed};
use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};
use tower::Service;

/// How long a closed connection lingers in total, and without receiving anything.
const LINGER_TIME: Duration = Duration::from_secs(5);
const LINGER_QUIET: Duration = Duration::from_secs(1);

/// How long a client that has closed its side may wait for its answer.
const HALF_CLOSED_TIME: Duration = Duration::from_secs(2);

/// Enough connections for a scraper or two.
const METRICS_CONNECTIONS: usize = 16;

/// Serves a listener's connections until `shutdown` is ready, then finishes the accepted ones.
pub async fn serve(listener: TcpListener, app: Arc<AppState>, shutdown: impl Future<Output = ()>) {
    let server = Server {
        router: super::router(Arc::clone(&app)),
        tls: app.tls.clone(),
        metrics: Some(Arc::clone(&app.metrics)),
        max_connections: app.config.max_connections,
        app,
    };
    server.run(listener, shutdown).await;
}

/// Serves only `/metrics`, without a key, until `shutdown` is ready.
pub async fn serve_metrics(listener: TcpListener, app: Arc<AppState>, shutdown: impl Future<Output = ()>) {
    let server = Server {
        router: super::metrics::open_router(Arc::clone(&app)),
        tls: None,
        metrics: None,
        max_connections: METRICS_CONNECTIONS,
        app,
    };
    server.run(listener, shutdown).await;
}

/// What serves a listener.
struct Server {
    app: Arc<AppState>,
    router: Router,
    tls: Option<Arc<Tls>>,
    /// Where connections are counted, if they are.
    metrics: Option<Arc<Metrics>>,
    max_connections: usize,
}

impl Server {
    async fn run(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let config = &self.app.config;
        let mut protocol = http1::Builder::new();
        // Not `pipeline_flush`: it delays an answer while bytes are unread, even those of a broken body that
        // are never read.
        protocol.timer(TokioTimer::new()).header_read_timeout(config.header_time).half_close(true);
        let seats = Seats::new(self.max_connections);
        let mut failures = Failures::new();
        let (stop, stopping) = watch::channel(());

        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let accepted = tokio::select! {
                accepted = accept(&listener, &seats) => accepted,
                () = &mut shutdown => break,
            };
            match accepted {
                Ok((stream, seat)) => {
                    failures.end();
                    let stream = TimedStream::new(stream, config.answer_time, stopping.clone(), seat.leave());
                    tokio::spawn(self.serve_connection(protocol.clone(), stream, stopping.clone(), seat));
                }
                Err(error) => tokio::time::sleep(failures.add(&error)).await,
            }
        }

        // From here on new connections are refused. Each open one sees the signal and drops its receiver at
        // its end.
        drop((listener, stopping));
        stop.send_replace(());
        let end_time = config.end_time();
        let patience = config.shutdown_time.saturating_sub(end_time);
        if tokio::time::timeout(patience, stop.closed()).await.is_err() {
            tracing::warn!("requests were still in progress at the end of `shutdown_time`");
            self.app.end_questions();
            // Requests that waited for the store now get an answer; the others are cut off.
            let _ = tokio::time::timeout(end_time / 2, stop.closed()).await;
        }
    }

    /// Does the TLS handshake, if configured, and serves the connection until either side ends it.
    fn serve_connection(
        &self,
        protocol: http1::Builder,
        stream: TimedStream,
        mut stopping: watch::Receiver<()>,
        seat: Seat,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (router, metrics) = (self.router.clone(), self.metrics.clone());
        let acceptor = self.tls.as_ref().map(|tls| tls.acceptor());
        let handshake_time = self.app.config.header_time;
        async move {
            let _open = metrics.as_ref().map(Metrics::connected);
            let leave = seat.leave();
            let Some(acceptor) = acceptor else {
                return answer_requests(protocol, stream, router, stopping, seat).await;
            };
            let handshake = tokio::time::timeout(handshake_time, acceptor.accept(stream));
            let shaken = tokio::select! {
                shaken = handshake => shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
                _ = stopping.changed() => return,
                () = leave.asked() => return,
            };
            match shaken {
                Ok(stream) => answer_requests(protocol, stream, router, stopping, seat).await,
                Err(error) => {
                    tracing::debug!(%error, "a TLS handshake failed");
                    if let Some(metrics) = metrics {
                        metrics.broken_handshake();
                    }
                }
            }
        }
    }
}

/// Accepts the next connection, once there is a seat for it.
async fn accept(listener: &TcpListener, seats: &Arc<Seats>) -> io::Result<(TcpStream, Seat)> {
    let (stream, _) = listener.accept().await?;
    let seat = seats.take().await;
    // Answers are small and written at once; delaying them to combine writes gains nothing.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    Ok((stream, seat))
}

/// Answers the requests of a connection until either side ends it.
async fn answer_requests(
    protocol: http1::Builder,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    mut stopping: watch::Receiver<()>,
    seat: Seat,
) {
    let leave = seat.leave();
    let seat = &seat;
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        seat.work();
        let answer = router.clone().call(request);
        async move {
            let answer = answer.await.map_err(|never: Infallible| never);
            // Its last bytes may still be unsent; a connection that is asked to close sends them first.
            seat.rest();
            answer
        }
    });
    let mut connection = std::pin::pin!(protocol.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = &mut connection => ended,
        _ = stopping.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = leave.asked() => {
            if seat.is_heard() {
                connection.as_mut().graceful_shutdown();
                connection.await
            } else {
                // It has no request to answer.
                Ok(())
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// A TCP stream with timeouts.
///
/// A write without progress fails after `write_time`. hyper's own error answers are replaced. When closed,
/// the stream lingers: it drops what still arrives.
struct TimedStream {
    stream: TcpStream,
    write_time: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    /// The timer of a client that has closed its side.
    leaves: Option<Pin<Box<Sleep>>>,
    stopping: watch::Receiver<()>,
    leave: Arc<Leave>,
    replacement: Option<Replacement>,
    linger: Option<Linger>,
}

/// An answer that replaces one of hyper's, and how much of it has been written.
struct Replacement {
    bytes: Vec<u8>,
    written: usize,
}

/// The timers of a lingering stream.
struct Linger {
    ends: Instant,
    timer: Pin<Box<Sleep>>,
}

impl TimedStream {
    fn new(
        stream: TcpStream,
        write_time: Duration,
        stopping: watch::Receiver<()>,
        leave: Arc<Leave>,
    ) -> Self {
        Self {
            stream,
            write_time,
            stalled: None,
            leaves: None,
            stopping,
            leave,
            replacement: None,
            linger: None,
        }
    }

    /// Ready once the client has closed its side and its time is over. Polled when there is nothing to write,
    /// that is, while a request is in progress.
    fn poll_gone(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.leaves.is_none() {
            // Leave the bytes unread: they may be the next request.
            if !matches!(ready!(self.stream.poll_read_ready(context)), Ok(())) {
                return Poll::Ready(());
            }
            let state = pin!(self.stream.ready(Interest::READABLE));
            match state.poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Ok(state)) if state.is_read_closed() => {}
                Poll::Ready(_) | Poll::Pending => return Poll::Pending,
            }
        }
        let leaves = || Box::pin(tokio::time::sleep(HALF_CLOSED_TIME));
        self.leaves.get_or_insert_with(leaves).as_mut().poll(context)
    }

    /// The result of a write, or a timeout.
    fn in_time(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            self.leaves = None;
            return written;
        }
        let limit = self.write_time;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Whether a replacement is written instead of these bytes; from now on, if they end with one of hyper's
    /// errors.
    fn replaces(&mut self, before: &[io::IoSlice<'_>], last: &[u8]) -> bool {
        if self.replacement.is_none()
            && let Some(replacement) = malformed::instead_of(last)
        {
            let before = before.iter().flat_map(|slice| slice.iter().copied());
            self.replacement = Some(Replacement { bytes: before.chain(replacement).collect(), written: 0 });
        }
        self.replacement.is_some()
    }

    /// Writes the whole replacement, which is the last answer on the connection.
    fn poll_replace(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(replacement) = &mut self.replacement
            && let Some(left) = replacement.bytes.get(replacement.written..).filter(|left| !left.is_empty())
        {
            let written = Pin::new(&mut self.stream).poll_write(context, left);
            let n = ready!(self.in_time(written, context))?;
            if let Some(replacement) = &mut self.replacement {
                replacement.written += n;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Neither a shutdown nor a connection that needs the seat waits for lingering.
        if self.leave.is_asked() || self.stopping.has_changed().unwrap_or(true) {
            return Poll::Ready(());
        }
        let linger = self.linger.get_or_insert_with(|| Linger {
            ends: Instant::now() + LINGER_TIME,
            timer: Box::pin(tokio::time::sleep(LINGER_QUIET)),
        });
        let mut scratch = [0; 16 * 1024];
        loop {
            let mut buffer = ReadBuf::new(&mut scratch);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    let quiet = Instant::now() + LINGER_QUIET;
                    linger.timer.as_mut().reset(quiet.min(linger.ends));
                    if quiet > linger.ends + LINGER_QUIET {
                        return Poll::Ready(());
                    }
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return linger.timer.as_mut().poll(context),
            }
        }
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.replaces(&[], bytes) {
            return self.poll_replace(context).map_ok(|()| bytes.len());
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some((last, before)) = slices.split_last()
            && self.replaces(before, last)
        {
            let length = slices.iter().map(|slice| slice.len()).sum();
            return self.poll_replace(context).map_ok(|()| length);
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.in_time(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.poll_gone(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        self.poll_linger(context).map(Ok)
    }
}
