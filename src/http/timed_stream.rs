//! A TCP stream with timeouts, so that no client can hold a connection for long.
//!
//! A client that has closed its side may still read or be gone, which only a write can show. So it gets a
//! moment for its answer, and then its request is cancelled.
//!
//! An answer may be ready before the body has been read, for instance 401 or 413. Closing a socket with
//! unread bytes resets the connection, and the client loses the answer. So a closed connection lingers: what
//! still arrives is read and dropped, for a limited time.

use super::malformed;
use super::seats::Leave;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

/// How long a closed connection lingers in total, and without receiving anything.
const LINGER_TIME: Duration = Duration::from_secs(5);
const LINGER_QUIET: Duration = Duration::from_secs(1);

/// How long a client that has closed its side may wait for its answer.
const HALF_CLOSED_TIME: Duration = Duration::from_secs(2);

/// A TCP stream with timeouts.
///
/// A write without progress fails after `write_time`. hyper's own error answers are replaced. When closed,
/// the stream lingers: it drops what still arrives.
pub(super) struct TimedStream {
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
    /// A stream whose writes have this much time; it stops lingering when asked to stop or leave.
    pub(super) fn new(
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
