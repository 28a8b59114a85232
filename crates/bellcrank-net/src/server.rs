//! A server of one part over gRPC: every run gets its own copy.

use crate::filter::Verdict;
use crate::keys::{Keys, same_token};
use crate::link::Queue;
use crate::registry::{RateLimit, RunRegistry, RunSlot, lock};
use crate::wire::{
    HEALTH, HealthReply, HealthRequest, PROTOCOL, RUN, Refusal, Reply, ReplyKind, Request, RequestKind, hex,
};
use bellcrank_model::file::diagnostic::escaped;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, StreamingService, UnaryService};
use tonic::transport::ServerTlsConfig;
use tonic::transport::server::{TcpConnectInfo, TcpIncoming, TlsConnectInfo};
use tonic::{Response, Status, Streaming};
use tonic_prost::ProstCodec;

/// A stream must greet within this time.
const GREETING: Duration = Duration::from_secs(10);

/// A client that leaves this many replies unread is dropped.
const UNREAD: usize = 64;

/// Interval between keep-alive pings.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// The runtime of a server: two worker threads per processor, kept for good. With one thread per run, and new ones after every
/// pause, the system's allocator spreads the same few megabytes over ever more heaps: 30 % more in half a minute, without a leak.
pub fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let processors = std::thread::available_parallelism().map_or(2, |n| n.get());
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.max_blocking_threads((2 * processors).max(4)).thread_keep_alive(Duration::from_secs(24 * 3600));
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
    incoming: TcpIncoming,
    address: SocketAddr,
    policy: AccessPolicy,
    registry: Arc<RunRegistry>,
}

/// Takes messages for people.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

impl Server {
    /// Listens at an address. Must be called within a runtime.
    pub fn bind(address: SocketAddr, registry: Arc<RunRegistry>, policy: AccessPolicy) -> Result<Server, String> {
        policy.check(&address)?;
        let incoming = TcpIncoming::bind(address)
            .map_err(|e| format!("cannot listen at {address}: {e}"))?
            .with_nodelay(Some(true));
        let address = incoming.local_addr().map_err(|e| e.to_string())?;
        Ok(Server { incoming, address, policy, registry })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is ready.
    pub async fn serve(self, log: Log, stop: impl Future<Output = ()>) -> Result<(), String> {
        let runs = self.registry.limits.runs;
        let mut server = tonic::transport::Server::builder()
            .http2_keepalive_interval(Some(KEEPALIVE))
            .http2_keepalive_timeout(Some(KEEPALIVE))
            .max_concurrent_streams(Some(runs as u32 + 8))
            .http2_max_header_list_size(Some(16 << 10));
        if let Some(keys) = &self.policy.keys {
            let identity = keys.server().ok_or("the keys have no server.pem with server.key")?;
            let mut tls = ServerTlsConfig::new().identity(identity).timeout(GREETING);
            if self.policy.mutual {
                tls = tls.client_ca_root(keys.authority());
            }
            server = server.tls_config(tls).map_err(|e| format!("the keys cannot be used: {e}"))?;
        }
        let token = self.policy.token.map(|t| format!("Bearer {t}").into_bytes());
        let service = GrpcService { registry: self.registry, token: token.map(Arc::new), log, clock: Instant::now() };
        server.serve_with_incoming_shutdown(service, self.incoming, stop).await.map_err(|e| e.to_string())
    }
}

/// The gRPC service of a part.
#[derive(Clone)]
struct GrpcService {
    registry: Arc<RunRegistry>,
    token: Option<Arc<Vec<u8>>>,
    log: Log,
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
        let tcp = request.extensions().get::<TcpConnectInfo>().and_then(|i| i.remote_addr());
        let tls =
            || request.extensions().get::<TlsConnectInfo<TcpConnectInfo>>().and_then(|i| i.get_ref().remote_addr());
        let peer = tcp.or_else(tls).map_or("unknown".into(), |a| a.to_string());
        let (put, replies) = mpsc::channel(UNREAD);
        tokio::spawn(self.clone().run(request.into_inner(), put, peer));
        std::future::ready(Ok(Response::new(Queue(replies))))
    }
}

type Put = mpsc::Sender<Result<Reply, Status>>;

impl GrpcService {
    /// Serves one stream.
    async fn run(self, mut requests: Streaming<Request>, put: Put, peer: String) {
        let Ok(Ok(Some(first))) = tokio::time::timeout(GREETING, requests.message()).await else {
            return;
        };
        let greeted = match &first.what {
            Some(RequestKind::Hello(hello)) => self.registry.hello(hello, self.clock.elapsed()),
            _ => Err(Refusal::because("a stream begins with Hello")),
        };
        let (run, slot, welcome) = match greeted {
            Ok(greeted) => greeted,
            Err(refusal) => {
                (self.log)(&escaped(&format!("{peer} was refused: {refusal}")));
                let _ = put.try_send(Ok(Reply { what: Some(ReplyKind::Refusal(refusal)), ..Reply::default() }));
                return;
            }
        };
        let stream = slot.take_over();
        // the full name of a run is a secret
        let short = hex(&run[..3]);
        (self.log)(&format!("run {short} from {peer}: link {stream}"));
        if put.try_send(Ok(welcome)).is_err() {
            return;
        }
        let mut limit = RateLimit::new(self.registry.limits.rate);
        let quiet = self.registry.limits.linger / 4;
        loop {
            let came = tokio::time::timeout(quiet, requests.message()).await;
            if !slot.belongs_to(stream) || put.is_closed() {
                break;
            }
            // a link that is alive keeps its run, also without requests
            slot.touch(self.clock.elapsed());
            let request = match came {
                Err(_) => continue,
                Ok(Ok(Some(request))) => request,
                Ok(Ok(None)) => break,
                Ok(Err(status)) => {
                    (self.log)(&escaped(&format!("run {short}: {}", status.message())));
                    let _ = put.try_send(Err(status));
                    break;
                }
            };
            let wait = limit.delay(self.clock.elapsed());
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            let leaves = matches!(request.what, Some(RequestKind::Leave(_)));
            let verdict = lock(&slot.filter).admit(&request);
            match verdict {
                Verdict::Say(reply) => {
                    if put.try_send(Ok(reply)).is_err() {
                        break;
                    }
                }
                Verdict::Work => {
                    tokio::spawn(work(slot.clone(), request, put.clone()));
                }
            }
            if leaves {
                self.registry.leave(&run);
                break;
            }
        }
        let windows = slot.session.try_lock().map_or(0, |s| s.windows());
        (self.log)(&format!("run {short}: link {stream} ended after {windows} windows"));
    }
}

/// Works on a request in the background, so that the stream goes on listening; the reply is kept for repetitions.
async fn work(slot: Arc<RunSlot>, request: Request, put: Put) {
    let sequence = request.sequence;
    let at = slot.clone();
    let done = tokio::task::spawn_blocking(move || lock(&at.session).work(&request)).await;
    let reply = done.unwrap_or_else(|_| {
        let refusal = Refusal::because("the solver failed unexpectedly; the run cannot continue");
        Reply { sequence, nanoseconds: 0, what: Some(ReplyKind::Refusal(refusal)) }
    });
    lock(&slot.filter).finish(reply.clone());
    let _ = put.try_send(Ok(reply));
}
