//! Serves connections, none of which can hold resources for long without progress.
//!
//! Every connection is a task with a seat (`seats`). The head of a request must arrive in time, and its
//! answer must be read in time. A half-closed connection still gets its answer, and pipelined requests are
//! answered in order. After `shutdown` no connection is accepted, idle ones are closed, and those with a
//! request in progress get their answer first.
//!
//! ```text
//! socket ─→ TimedStream: time to write, lingering close ─→ TLS, if configured ─→ hyper: time for a head ─→ router
//! ```
//!
//! TLS is layered on top of the timeouts, so its own bytes cannot stall either. A handshake occupies the
//! connection's seat, and has as much time as a head.

use super::accept::Failures;
use super::metrics::Metrics;
use super::seats::{Seat, Seats};
use super::timed_stream::TimedStream;
use super::unread::Lender;
use super::{AppState, Tls};
use axum::Router;
use axum::http::header::EXPECT;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::Service;

/// Enough connections for a scraper or two.
const METRICS_CONNECTIONS: usize = 16;

/// Serves a listener's connections until `shutdown` is ready, then finishes the accepted ones.
pub async fn serve(listener: TcpListener, app: Arc<AppState>, shutdown: impl Future<Output = ()>) {
    let server = Server {
        router: super::router(Arc::clone(&app)),
        tls: app.tls.clone(),
        metrics: Some(Arc::clone(&app.metrics)),
        max_connections: app.config.max_connections.get(),
        app: Arc::clone(&app),
    };
    let Some(store) = &app.shared_store else { return server.run(listener, shutdown).await };
    tokio::select! {
        () = server.run(listener, shutdown) => {}
        () = store.peers().run(&app) => {}
    }
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
        if let Some(studio) = &self.app.studio {
            studio.stop();
        }
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
    let leave = &*seat.leave();
    let (seat, lender) = (&seat, &Lender::default());
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        seat.work();
        let waits_for_100 = request.headers().contains_key(EXPECT);
        let answer = router.clone().call(request.map(|body| lender.lend(body)));
        async move {
            let Ok(mut answer) = answer.await;
            // Its last bytes may still be unsent; a connection that is asked to close sends them first.
            seat.rest();
            lender.settle(&mut answer, leave, waits_for_100).await;
            Ok::<_, Infallible>(answer)
        }
    });
    let mut connection =
        std::pin::pin!(protocol.serve_connection(TokioIo::new(stream), service).with_upgrades());
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
