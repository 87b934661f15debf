//! Connections: at most so many, and none that stays open for nothing.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// The most connections at once: a browser opens six.
const MOST: usize = 64;
/// How long a connection may take for the head of a request, and may have none.
const HEAD: Duration = Duration::from_secs(10);
/// How long the rest of a request and its answer may take until the first byte of that; analyses may take a minute.
const ANSWER: Duration = Duration::from_secs(90);
/// How long an answer may pause; events pause for 15 seconds.
const PAUSE: Duration = Duration::from_secs(30);

/// A listener that accepts no more connections than it may.
pub(crate) struct Bounded {
    listener: TcpListener,
    free: Arc<Semaphore>,
}

impl Bounded {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self { listener, free: Arc::new(Semaphore::new(MOST)) }
    }
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        /// After an error such as too many open files.
        const REST: Duration = Duration::from_millis(200);
        loop {
            let Ok(place) = Arc::clone(&self.free).acquire_owned().await else { std::future::pending().await };
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    return (
                        Connection { stream, phase: Phase::default(), end: Box::pin(sleep(HEAD)), _place: place },
                        from,
                    );
                }
                Err(_) => sleep(REST).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// What a connection is about, seen from the bytes that cross it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The head of a request, which ends with an empty line: whether there is a line, and whether the one that comes is empty so far.
    Head { begun: bool, empty: bool },
    /// The rest of the request, and what is done for it.
    Work,
    /// The answer, and the time behind it.
    Answer,
}

impl Default for Phase {
    fn default() -> Self {
        Self::Head { begun: false, empty: true }
    }
}

impl Phase {
    /// After bytes of the other side.
    fn read(self, bytes: &[u8]) -> Self {
        let phase = if self == Self::Answer && !bytes.is_empty() { Self::default() } else { self };
        bytes.iter().fold(phase, |phase, byte| match (phase, byte) {
            (Self::Head { begun: true, empty: true }, b'\n') => Self::Work,
            (Self::Head { begun, .. }, b'\n') => Self::Head { begun, empty: true },
            (Self::Head { .. }, b'\r') | (Self::Work | Self::Answer, _) => phase,
            (Self::Head { .. }, _) => Self::Head { begun: true, empty: false },
        })
    }

    /// How long it may last: an answer, from byte to byte, all else as a whole.
    fn time(self) -> Duration {
        match self {
            Self::Head { .. } => HEAD,
            Self::Work => ANSWER,
            Self::Answer => PAUSE,
        }
    }
}

/// A connection, which ends when what it is about takes too long.
pub(crate) struct Connection {
    stream: TcpStream,
    phase: Phase,
    end: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    /// Starts the clock again when something else begins.
    fn enter(&mut self, phase: Phase) {
        let same = matches!((self.phase, phase), (Phase::Head { .. }, Phase::Head { .. }) | (Phase::Work, Phase::Work));
        if !same {
            self.end.as_mut().reset(Instant::now() + phase.time());
        }
        self.phase = phase;
    }

    /// Looks at the clock if nothing crossed.
    fn or_late<T>(&mut self, context: &mut Context<'_>, crossed: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if crossed.is_pending() && self.end.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        crossed
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        if read.is_ready() {
            let phase = self.phase.read(&into.filled()[before..]);
            self.enter(phase);
        }
        self.or_late(context, read)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if written.is_ready() {
            self.enter(Phase::Answer);
        }
        self.or_late(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_with_an_empty_line_wherever_it_is_cut() {
        for (request, rest) in [("GET / HTTP/1.1\r\nHost: a\r\n\r\n", ""), ("POST / HTTP/1.1\nHost: a\n\n", "a\n\nb")] {
            for cut in 0..request.len() {
                let (first, second) = request.split_at(cut);
                let phase = Phase::default().read(first.as_bytes());
                assert!(matches!(phase, Phase::Head { .. }), "{first:?}");
                assert_eq!(phase.read(second.as_bytes()), Phase::Work, "{first:?}, {second:?}");
                assert_eq!(phase.read(second.as_bytes()).read(rest.as_bytes()), Phase::Work);
            }
        }
        for unfinished in ["", "\r\n\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n", "GET / HTTP/1.1\r\n \r\n"] {
            assert!(matches!(Phase::default().read(unfinished.as_bytes()), Phase::Head { .. }), "{unfinished:?}");
        }
        assert_eq!(Phase::Answer.read(b""), Phase::Answer);
        assert_eq!(Phase::Answer.read(b"GET"), Phase::Head { begun: true, empty: false });
    }
}
