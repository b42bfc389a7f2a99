//! Limits how many connections there are, how long each lasts, and how much of it is read.

use super::AdminLimits;
use axum::serve::Listener;
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot::{Receiver, Sender, channel};
use tokio::time::{Sleep, sleep};

/// Accepts connections within limits.
pub(super) struct LimitedListener {
    listener: TcpListener,
    limits: AdminLimits,
    /// What ends each connection that is open, the oldest first.
    open: VecDeque<Sender<()>>,
}

impl LimitedListener {
    pub(super) fn new(listener: TcpListener, limits: AdminLimits) -> Self {
        Self {
            listener,
            limits,
            open: VecDeque::new(),
        }
    }
}

impl Listener for LimitedListener {
    type Io = LimitedConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        // Tries again where a connection was lost before it was taken.
        let (stream, address) = Listener::accept(&mut self.listener).await;
        self.open.retain(|end| !end.is_closed());
        if self.open.len() >= self.limits.connections
            && let Some(oldest) = self.open.pop_front()
        {
            // Gone already, if it does not listen any more.
            let _ = oldest.send(());
        }
        let (end, ended) = channel();
        self.open.push_back(end);
        let connection = LimitedConnection {
            stream,
            left: self.limits.bytes,
            end: Box::pin(sleep(self.limits.time)),
            ended,
        };
        (connection, address)
    }

    fn local_addr(&self) -> Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A connection that ends by itself.
pub(super) struct LimitedConnection {
    stream: TcpStream,
    /// Bytes that may still be read, but for what one read brings more.
    left: usize,
    end: Pin<Box<Sleep>>,
    /// Says that a newer one needs its place.
    ended: Receiver<()>,
}

impl LimitedConnection {
    /// Fails when its time is over, or a newer connection needs its place, and has the task woken then.
    fn in_time(&mut self, context: &mut Context<'_>) -> Result<()> {
        let displaced = Pin::new(&mut self.ended).poll(context).is_ready();
        if displaced || self.end.as_mut().poll(context).is_ready() {
            return Err(Error::new(ErrorKind::TimedOut, "the connection took too long"));
        }
        Ok(())
    }
}

impl AsyncRead for LimitedConnection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        self.in_time(context)?;
        if self.left == 0 {
            return Poll::Ready(Err(Error::new(ErrorKind::InvalidData, "the request is too large")));
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.left = self.left.saturating_sub(buffer.filled().len() - before);
        polled
    }
}

impl AsyncWrite for LimitedConnection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        self.in_time(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.in_time(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.in_time(context)?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
