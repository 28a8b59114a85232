//! The connections of a server: how they come in, and when they are closed.
//!
//! ```text
//!     accept ── TLS, in a task of its own ── Connection ── HTTP/2 ── streams, each a run
//!        └ too many: the one that is idle for longest makes room
//! ```

use crate::link::Queue;
use crate::locks::lock;
use crate::tls;
use bellcrank_model::file::diagnostic::escaped;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

/// A handshake must end within this time.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long the other end has to read why it was refused.
const FAREWELL: Duration = Duration::from_millis(500);
/// Pause after a connection could not be accepted: out of file handles, for instance.
const BREATH: Duration = Duration::from_millis(50);

/// Takes messages for people.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Who is at the other end of a connection.
pub(crate) struct Guest {
    address: SocketAddr,
    /// Streams that are open.
    streams: AtomicUsize,
    /// When the last stream ended, or the connection began.
    idle_since: Mutex<Instant>,
    /// Whether it has to make room.
    sent_away: AtomicBool,
}

impl Guest {
    /// Its address, for people.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// For how long there has been no stream.
    fn idle(&self) -> Option<Duration> {
        (self.streams.load(Ordering::SeqCst) == 0).then(|| lock(&self.idle_since).elapsed())
    }
}

/// A stream of a connection: while there is one, the connection stays.
pub(crate) struct Presence(Arc<Guest>);

impl Presence {
    pub(crate) fn of(guest: &Arc<Guest>) -> Presence {
        guest.streams.fetch_add(1, Ordering::SeqCst);
        Presence(guest.clone())
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        *lock(&self.0.idle_since) = Instant::now();
        self.0.streams.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The bytes of a connection.
enum Carrier {
    Open(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection that ends when nothing is asked on it.
pub(crate) struct Connection {
    carrier: Carrier,
    guest: Arc<Guest>,
    idle: Duration,
    nap: Pin<Box<Sleep>>,
    /// Told where the first bytes are those of TLS and there is none here; nobody once they came.
    unread: Option<Log>,
}

impl Connection {
    fn new(carrier: Carrier, guest: Arc<Guest>, doors: &Doors) -> Connection {
        let unread = matches!(carrier, Carrier::Open(_)).then(|| doors.log.clone());
        Connection { carrier, guest, idle: doors.idle, nap: Box::pin(tokio::time::sleep(doors.idle / 8)), unread }
    }

    /// Looks at the first bytes: a coordinator that uses TLS is sent away.
    fn meet(&mut self, first: &[u8]) -> io::Result<()> {
        let (Some(byte), Carrier::Open(stream)) = (first.first(), &self.carrier) else { return Ok(()) };
        if let Some(log) = self.unread.take().filter(|_| *byte == tls::HANDSHAKE_RECORD) {
            log(&format!("{} was refused: {}", self.guest.address, tls::uses("coordinator")));
            // what is not TLS tells the other end that there is none
            let _ = stream.try_write(&tls::plain_farewell(""));
            return Err(io::Error::new(io::ErrorKind::InvalidData, "TLS where there is none"));
        }
        Ok(())
    }

    /// Wakes up now and then; an error where the connection is to end.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            ready!(self.nap.as_mut().poll(cx));
            if let Some(time) = self.guest.idle()
                && (time >= self.idle || self.guest.sent_away.load(Ordering::SeqCst))
            {
                return Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "the connection was idle"));
            }
            self.nap = Box::pin(tokio::time::sleep(self.idle / 8));
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = Arc<Guest>;
    fn connect_info(&self) -> Arc<Guest> {
        self.guest.clone()
    }
}

macro_rules! carried {
    ($self:ident, $call:ident($($argument:expr),*)) => {
        match &mut $self.carrier {
            Carrier::Open(c) => Pin::new(c).$call($($argument),*),
            Carrier::Tls(c) => Pin::new(c).$call($($argument),*),
        }
    };
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        match carried!(self, poll_read(cx, into)) {
            Poll::Ready(Ok(())) if self.unread.is_some() => Poll::Ready(self.meet(&into.filled()[before..])),
            Poll::Ready(read) => Poll::Ready(read),
            Poll::Pending => self.poll_idle(cx).map(Err),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        carried!(self, poll_write(cx, bytes))
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        carried!(self, poll_flush(cx))
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        carried!(self, poll_shutdown(cx))
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        carried!(self, poll_write_vectored(cx, bytes))
    }
    fn is_write_vectored(&self) -> bool {
        match &self.carrier {
            Carrier::Open(c) => c.is_write_vectored(),
            Carrier::Tls(c) => c.is_write_vectored(),
        }
    }
}

/// Lets connections in.
pub(crate) struct Doors {
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// Connections at the same time.
    pub(crate) most: usize,
    /// A connection without a stream is closed after this time.
    pub(crate) idle: Duration,
    pub(crate) log: Log,
}

impl Doors {
    /// Accepts connections until nobody takes them any more.
    pub(crate) fn open(self, listener: TcpListener) -> Queue<io::Result<Connection>> {
        let (put, come) = mpsc::channel(64);
        tokio::spawn(Arc::new(self).accept(listener, put));
        Queue(come)
    }

    async fn accept(self: Arc<Doors>, listener: TcpListener, put: mpsc::Sender<io::Result<Connection>>) {
        let mut guests: Vec<Weak<Guest>> = Vec::new();
        loop {
            let (stream, address) = tokio::select! {
                () = put.closed() => return,
                came = listener.accept() => match came {
                    Ok(came) => came,
                    Err(_) => {
                        tokio::time::sleep(BREATH).await;
                        continue;
                    }
                },
            };
            let _ = stream.set_nodelay(true);
            guests.retain(|g| g.strong_count() > 0);
            if guests.len() >= self.most && !make_room(&guests) {
                (self.log)(&format!("{address} was refused: there are {} connections", guests.len()));
                continue;
            }
            let (streams, sent_away) = (AtomicUsize::new(0), AtomicBool::new(false));
            let guest = Arc::new(Guest { address, streams, idle_since: Mutex::new(Instant::now()), sent_away });
            guests.push(Arc::downgrade(&guest));
            let (doors, put) = (self.clone(), put.clone());
            tokio::spawn(async move {
                if let Some(connection) = doors.greet(stream, guest).await {
                    let _ = put.send(Ok(connection)).await;
                }
            });
        }
    }

    /// A connection, with TLS if that is asked for; nothing if the other end has no right to it, which is told on both ends.
    async fn greet(&self, stream: TcpStream, guest: Arc<Guest>) -> Option<Connection> {
        let Some(config) = &self.tls else {
            return Some(Connection::new(Carrier::Open(stream), guest, self));
        };
        let handshake = async {
            let mut first = [0];
            if stream.peek(&mut first).await.is_ok_and(|read| read > 0) && first[0] != tls::HANDSHAKE_RECORD {
                let mut stream = stream;
                let _ = stream.write_all(&tls::plain_farewell(tls::NEEDS_TLS)).await;
                return Err((
                    io::Error::other(rustls::Error::from(rustls::InvalidMessage::InvalidContentType)),
                    stream,
                ));
            }
            TlsAcceptor::from(config.clone()).accept(stream).into_fallible().await
        };
        match tokio::time::timeout(HANDSHAKE.min(self.idle), handshake).await {
            Ok(Ok(stream)) => Some(Connection::new(Carrier::Tls(Box::new(stream)), guest, self)),
            Ok(Err((e, stream))) => {
                if let Some(why) = tls::in_words(&e, "coordinator") {
                    (self.log)(&escaped(&format!("{} was refused: {why}", guest.address)));
                }
                say_farewell(stream).await;
                None
            }
            Err(_) => None,
        }
    }
}

/// Sends the connection away that has been idle for longest.
fn make_room(guests: &[Weak<Guest>]) -> bool {
    let idle = guests.iter().filter_map(Weak::upgrade).filter(|g| !g.sent_away.load(Ordering::SeqCst));
    let longest = idle.filter_map(|g| Some((g.idle()?, g))).max_by_key(|(time, _)| *time);
    longest.is_some_and(|(_, guest)| !guest.sent_away.swap(true, Ordering::SeqCst))
}

/// Reads what is still coming: if a connection is closed with bytes unread, the alert that says why is lost with it.
async fn say_farewell(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    let mut rest = [0; 4096];
    let read = async { while matches!(stream.read(&mut rest).await, Ok(1..)) {} };
    let _ = tokio::time::timeout(FAREWELL, read).await;
}
