//! A server of one part over gRPC: every run gets its own copy.

use crate::client::RunId;
pub use crate::doors::Log;
use crate::doors::{Connection, Doors, Guest, Presence};
use crate::filter::RequestVerdict;
use crate::keys::{Keys, same_token};
use crate::link::Queue;
use crate::locks::lock;
use crate::registry::{RateLimit, RunRegistry, RunSlot};
use crate::tls;
use crate::wire::{
    HEALTH, HealthReply, HealthRequest, PROTOCOL, RUN, Refusal, Reply, ReplyKind, Request, RequestKind, hex,
};
use bellcrank_model::file::diagnostic::escaped;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, StreamingService, UnaryService};
use tonic::{Response, Status, Streaming};
use tonic_prost::ProstCodec;

/// A stream must greet within this time.
const GREETING: Duration = Duration::from_secs(10);

/// A client that leaves this many replies unread is dropped.
const UNREAD: usize = 64;

/// Connections beyond two for each run.
const SPARE: usize = 64;

/// Interval between keep-alive pings.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// Requests that take longer than this leave their place at work to others, and go on beside them.
const LONG: Duration = Duration::from_secs(1);

/// Between two looks whether anybody still waits for a request.
const LOOK: Duration = Duration::from_millis(100);

/// Requests that are worked on at once, beside the long ones. With one thread per run, and new ones after every pause, the system's
/// allocator spreads the same few megabytes over ever more heaps: 30 % more in half a minute, without a leak.
fn places() -> usize {
    (2 * std::thread::available_parallelism().map_or(2, |n| n.get())).max(4)
}

/// The runtime of a server: its threads are kept for good.
pub fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.thread_keep_alive(Duration::from_secs(24 * 3600));
    builder.enable_all().build().map_err(|e| format!("no runtime for the network: {e}"))
}

/// Who may connect.
#[derive(Default)]
pub struct AccessPolicy {
    /// Certificates: of the server, and with `mutual` of the clients too.
    pub keys: Option<Keys>,
    /// Whether clients need a certificate.
    pub mutual: bool,
    /// The token that clients need, if any.
    pub token: Option<String>,
}

impl AccessPolicy {
    /// Refuses what is unsafe: an address other than loopback needs mutual TLS, or TLS with a token.
    pub fn check(&self, address: &SocketAddr) -> Result<(), String> {
        let safe = self.keys.is_some() && (self.mutual || self.token.is_some());
        if address.ip().is_loopback() || safe {
            return Ok(());
        }
        Err(format!(
            "{address} can be reached from other machines: a part is served there only with certificates\n\
             help: make keys with `bellcrank keys DIR --host HOST` and use --tls DIR (the coordinator needs the client's \
             key), or --tls DIR --token-file FILE; or listen on 127.0.0.1"
        ))
    }
}

/// A listening server.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    policy: AccessPolicy,
    registry: Arc<RunRegistry>,
}

/// A server at work: it ends when it is told to, or with an error.
pub type Serving = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

impl Server {
    /// Listens at an address. Must be called within a runtime.
    pub fn bind(address: SocketAddr, registry: Arc<RunRegistry>, policy: AccessPolicy) -> Result<Server, String> {
        policy.check(&address)?;
        let listen = || {
            let listener = std::net::TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            TcpListener::from_std(listener)
        };
        let listener = listen().map_err(|e| format!("cannot listen at {address}: {e}"))?;
        let address = listener.local_addr().map_err(|e| e.to_string())?;
        Ok(Server { listener, address, policy, registry })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is ready.
    pub fn serve(self, log: Log, stop: impl Future<Output = ()> + Send + 'static) -> Serving {
        // boxed, so that the server is compiled here, once
        Box::pin(self.serve_until(log, Box::pin(stop)))
    }

    async fn serve_until(self, log: Log, stop: Pin<Box<dyn Future<Output = ()> + Send>>) -> Result<(), String> {
        let limits = self.registry.limits;
        let server = tonic::transport::Server::builder()
            .http2_keepalive_interval(Some(KEEPALIVE))
            .http2_keepalive_timeout(Some(KEEPALIVE))
            .max_concurrent_streams(Some(limits.runs as u32 + 8))
            .http2_max_header_list_size(Some(16 << 10));
        let tls = match &self.policy.keys {
            Some(keys) => Some(Arc::new(tls::server_config(keys, self.policy.mutual)?)),
            None => None,
        };
        let doors = Doors { tls, most: 2 * limits.runs + SPARE, idle: limits.idle, log: log.clone() };
        let connections: Queue<std::io::Result<Connection>> = doors.open(self.listener);
        let token = self.policy.token.map(|t| Arc::new(format!("Bearer {t}").into_bytes()));
        let desk = Arc::new(Semaphore::new(places()));
        let service = GrpcService { registry: self.registry, token, log, desk, clock: Instant::now() };
        server.serve_with_incoming_shutdown(service, connections, stop).await.map_err(|e| e.to_string())
    }
}

/// The gRPC service of a part.
#[derive(Clone)]
struct GrpcService {
    registry: Arc<RunRegistry>,
    token: Option<Arc<Vec<u8>>>,
    log: Log,
    /// Places at work.
    desk: Arc<Semaphore>,
    clock: Instant,
}

impl Service<http::Request<Body>> for GrpcService {
    type Response = http::Response<Body>;
    type Error = std::convert::Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            if let Some(right) = &service.token {
                let given = request.headers().get("authorization").map_or(&[][..], |v| v.as_bytes());
                if !same_token(given, right) {
                    let guest = request.extensions().get::<Arc<Guest>>();
                    let peer = guest.map_or("unknown".into(), |g| g.address());
                    (service.log)(&format!("{peer} was refused: its token is missing or wrong"));
                    return Ok(Status::unauthenticated("the token is missing or wrong").into_http());
                }
            }
            let limit = service.registry.limits.message;
            match request.uri().path() {
                RUN => {
                    let codec: ProstCodec<Reply, Request> = ProstCodec::default();
                    Ok(Grpc::new(codec).max_decoding_message_size(limit).streaming(service, request).await)
                }
                HEALTH => {
                    let codec: ProstCodec<HealthReply, HealthRequest> = ProstCodec::default();
                    Ok(Grpc::new(codec).max_decoding_message_size(limit).unary(service, request).await)
                }
                _ => Ok(Status::unimplemented("there is no such method").into_http()),
            }
        })
    }
}

impl UnaryService<HealthRequest> for GrpcService {
    type Response = HealthReply;
    type Future = std::future::Ready<Result<Response<HealthReply>, Status>>;

    fn call(&mut self, _: tonic::Request<HealthRequest>) -> Self::Future {
        let registry = &self.registry;
        std::future::ready(Ok(Response::new(HealthReply {
            protocol: PROTOCOL,
            name: registry.offer.name().into(),
            model: registry.offer.model().into(),
            runs: registry.runs() as u32,
            most_runs: registry.limits.runs as u32,
        })))
    }
}

impl StreamingService<Request> for GrpcService {
    type Response = Reply;
    type ResponseStream = Queue<Result<Reply, Status>>;
    type Future = std::future::Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<Request>>) -> Self::Future {
        let guest = request.extensions().get::<Arc<Guest>>().cloned();
        let (put, replies) = mpsc::channel(UNREAD);
        let service = self.clone();
        tokio::spawn(async move {
            let _presence = guest.as_ref().map(Presence::of);
            let peer = guest.as_ref().map_or("unknown".into(), |g| g.address());
            service.run(request.into_inner(), put, peer).await;
        });
        std::future::ready(Ok(Response::new(Queue(replies))))
    }
}

type Put = mpsc::Sender<Result<Reply, Status>>;

/// The hold of a stream on its run.
struct Hold<'a> {
    slot: &'a RunSlot,
    stream: u64,
    clock: Instant,
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.slot.left(self.stream, self.clock.elapsed());
    }
}

impl GrpcService {
    /// Serves one stream.
    async fn run(self, mut requests: Streaming<Request>, put: Put, peer: String) {
        let Ok(Ok(Some(first))) = tokio::time::timeout(GREETING, requests.message()).await else {
            return;
        };
        let (run, slot, welcome) = match self.greet(&first).await {
            Ok(greeted) => greeted,
            Err(refusal) => {
                (self.log)(&escaped(&format!("{peer} was refused: {refusal}")));
                let _ = put.try_send(Ok(Reply { what: Some(ReplyKind::Refusal(refusal)), ..Reply::default() }));
                return;
            }
        };
        let stream = slot.take_over();
        let hold = Hold { slot: &slot, stream, clock: self.clock };
        // the full name of a run is a secret
        let short = hex(&run[..3]);
        (self.log)(&format!("run {short} from {peer}: link {stream}"));
        if put.try_send(Ok(welcome)).is_ok() {
            self.listen(&run, &slot, stream, requests, put, &short).await;
        }
        drop(hold);
        let windows = slot.session.try_lock().map_or(0, |s| s.windows());
        (self.log)(&format!("run {short}: link {stream} ended after {windows} windows"));
    }

    /// Greets a run. Where all places are taken by runs that nobody holds, it waits until the first is given up.
    async fn greet(&self, first: &Request) -> Result<(RunId, Arc<RunSlot>, Reply), Refusal> {
        let Some(RequestKind::Hello(hello)) = &first.what else {
            return Err(Refusal::because("a stream begins with Hello"));
        };
        while let Some(wait) = self.registry.wait(hello, self.clock.elapsed()) {
            tokio::time::sleep(wait).await;
        }
        self.registry.hello(hello, self.clock.elapsed())
    }

    /// Takes the requests of a run until its link ends.
    async fn listen(
        &self,
        run: &RunId,
        slot: &Arc<RunSlot>,
        stream: u64,
        mut requests: Streaming<Request>,
        put: Put,
        short: &str,
    ) {
        let limits = self.registry.limits;
        let (mut rate, quiet) = (RateLimit::new(limits.rate), limits.linger / 4);
        let mut asked = Instant::now();
        loop {
            let came = tokio::time::timeout(quiet, requests.message()).await;
            if !slot.belongs_to(stream) || put.is_closed() {
                break;
            }
            // a link that is alive keeps its run, also without requests
            slot.touch(self.clock.elapsed());
            let request = match came {
                Err(_) if asked.elapsed() > limits.linger && lock(&slot.filter).is_idle() => break,
                Err(_) => continue,
                Ok(Ok(Some(request))) => request,
                Ok(Ok(None)) => break,
                Ok(Err(status)) => {
                    (self.log)(&escaped(&format!("run {short}: {}", status.message())));
                    let _ = put.try_send(Err(status));
                    break;
                }
            };
            asked = Instant::now();
            let wait = rate.delay(self.clock.elapsed());
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            let leaves = matches!(request.what, Some(RequestKind::Leave(_)));
            let verdict = lock(&slot.filter).admit(&request);
            match verdict {
                RequestVerdict::Say(reply) => {
                    if put.try_send(Ok(reply)).is_err() {
                        break;
                    }
                }
                RequestVerdict::Work => {
                    tokio::spawn(self.clone().work(slot.clone(), request, put.clone()));
                }
            }
            if leaves {
                self.registry.leave(run);
                break;
            }
        }
    }

    /// Works on a request in the background, so that the stream goes on listening; the reply is kept for repetitions. Work that
    /// nobody waits for is stopped, and begins anew if the request comes again.
    async fn work(self, slot: Arc<RunSlot>, request: Request, put: Put) {
        let (limits, sequence) = (self.registry.limits, request.sequence);
        let abandoned = || slot.is_abandoned(self.clock.elapsed(), limits.grace);
        let mut place = self.desk.clone().acquire_owned().await.ok();
        if abandoned() && !matches!(request.what, Some(RequestKind::Leave(_))) {
            return lock(&slot.filter).reopen();
        }
        slot.interrupt.store(false, Ordering::SeqCst);
        let (began, registry, at) = (Instant::now(), self.registry.clone(), slot.clone());
        let mut job = tokio::task::spawn_blocking(move || registry.work(&at, &request));
        let mut given_up = false;
        let done = loop {
            if let Ok(done) = tokio::time::timeout(LOOK, &mut job).await {
                break done;
            }
            given_up |= abandoned();
            if given_up || began.elapsed() > limits.call {
                slot.interrupt.store(true, Ordering::SeqCst);
            }
            if began.elapsed() > LONG {
                place = None;
            }
        };
        drop(place);
        let refused =
            |why: &str| Reply { sequence, nanoseconds: 0, what: Some(ReplyKind::Refusal(Refusal::because(why))) };
        let reply = match done {
            Err(_) => refused("the solver failed unexpectedly; the run cannot continue"),
            Ok(Reply { what: Some(ReplyKind::Refusal(_)), .. }) if given_up => {
                return lock(&slot.filter).reopen();
            }
            Ok(Reply { what: Some(ReplyKind::Refusal(r)), .. }) if began.elapsed() > limits.call => {
                let time = limits.call.as_secs_f64();
                refused(&format!(
                    "{r}: one request may take {time} s here\nhelp: take shorter windows, or serve the part with a longer --call"
                ))
            }
            Ok(reply) => reply,
        };
        lock(&slot.filter).finish(reply.clone());
        let _ = put.try_send(Ok(reply));
    }
}
