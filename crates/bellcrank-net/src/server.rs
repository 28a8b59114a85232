//! A server of one part over gRPC: every run gets its own copy.

use crate::keys::{Keys, same_token};
use crate::link::Queue;
use crate::session::{Bucket, Desk, Seat, Verdict, lock};
use crate::wire::{Ask, HEALTH, HealthReply, HealthRequest, PROTOCOL, RUN, Refusal, Reply, Request, Tell, hex};
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

/// A stream has to greet within this time.
const GREETING: Duration = Duration::from_secs(10);

/// A client that leaves so many replies unread is left.
const UNREAD: usize = 64;

/// How often a server asks whether the other side is still there.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// What a server runs on: as many threads at work as twice its processors, and always the same ones. With a thread for
/// every run, and new ones after every pause, the system's allocator spreads the same few megabytes over ever more
/// heaps: 30 % more in half a minute, though not a byte was lost.
pub fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let processors = std::thread::available_parallelism().map_or(2, |n| n.get());
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.max_blocking_threads((2 * processors).max(4)).thread_keep_alive(Duration::from_secs(24 * 3600));
    builder.enable_all().build().map_err(|e| format!("no runtime for the network: {e}"))
}

/// Who may come in.
#[derive(Default)]
pub struct Guard {
    /// Certificates: of the server, and with `mutual` of the clients too.
    pub keys: Option<Keys>,
    /// Whether clients need a certificate.
    pub mutual: bool,
    /// Whether clients need a token.
    pub token: Option<String>,
}

impl Guard {
    /// Refuses what is not safe: any other address than a loopback one needs mutual TLS, or TLS with a token.
    pub fn check(&self, address: &SocketAddr) -> Result<(), String> {
        let safe = self.keys.is_some() && (self.mutual || self.token.is_some());
        if address.ip().is_loopback() || safe {
            return Ok(());
        }
        Err(format!(
            "{address} can be reached from other machines: a part is served there with certificates only\n\
             help: make keys with `bellcrank keys DIR --host HOST` and use --tls DIR (the coordinator needs the client's \
             key), or --tls DIR --token-file FILE; or listen on 127.0.0.1"
        ))
    }
}

/// A server that listens.
pub struct Server {
    incoming: TcpIncoming,
    address: SocketAddr,
    guard: Guard,
    desk: Arc<Desk>,
}

/// Tells what happens, for people.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

impl Server {
    /// Listens at an address. Must be called within a runtime.
    pub fn bind(address: SocketAddr, desk: Arc<Desk>, guard: Guard) -> Result<Server, String> {
        guard.check(&address)?;
        let incoming = TcpIncoming::bind(address)
            .map_err(|e| format!("cannot listen at {address}: {e}"))?
            .with_nodelay(Some(true));
        let address = incoming.local_addr().map_err(|e| e.to_string())?;
        Ok(Server { incoming, address, guard, desk })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until told to stop.
    pub async fn serve(self, log: Log, stop: impl Future<Output = ()>) -> Result<(), String> {
        let runs = self.desk.limits.runs;
        let mut server = tonic::transport::Server::builder()
            .http2_keepalive_interval(Some(KEEPALIVE))
            .http2_keepalive_timeout(Some(KEEPALIVE))
            .max_concurrent_streams(Some(runs as u32 + 8))
            .http2_max_header_list_size(Some(16 << 10));
        if let Some(keys) = &self.guard.keys {
            let identity = keys.server().ok_or("the keys have no server.pem with server.key")?;
            let mut tls = ServerTlsConfig::new().identity(identity).timeout(GREETING);
            if self.guard.mutual {
                tls = tls.client_ca_root(keys.authority());
            }
            server = server.tls_config(tls).map_err(|e| format!("the keys cannot be used: {e}"))?;
        }
        let token = self.guard.token.map(|t| format!("Bearer {t}").into_bytes());
        let door = Door { desk: self.desk, token: token.map(Arc::new), log, clock: Instant::now() };
        server.serve_with_incoming_shutdown(door, self.incoming, stop).await.map_err(|e| e.to_string())
    }
}

/// Where requests come in.
#[derive(Clone)]
struct Door {
    desk: Arc<Desk>,
    token: Option<Arc<Vec<u8>>>,
    log: Log,
    clock: Instant,
}

impl Service<http::Request<Body>> for Door {
    type Response = http::Response<Body>;
    type Error = std::convert::Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let door = self.clone();
        Box::pin(async move {
            if let Some(right) = &door.token {
                let given = request.headers().get("authorization").map_or(&[][..], |v| v.as_bytes());
                if !same_token(given, right) {
                    return Ok(Status::unauthenticated("the token is missing or wrong").into_http());
                }
            }
            let limit = door.desk.limits.message;
            match request.uri().path() {
                RUN => {
                    let codec: ProstCodec<Reply, Request> = ProstCodec::default();
                    Ok(Grpc::new(codec).max_decoding_message_size(limit).streaming(door, request).await)
                }
                HEALTH => {
                    let codec: ProstCodec<HealthReply, HealthRequest> = ProstCodec::default();
                    Ok(Grpc::new(codec).max_decoding_message_size(limit).unary(door, request).await)
                }
                _ => Ok(Status::unimplemented("there is no such method").into_http()),
            }
        })
    }
}

impl UnaryService<HealthRequest> for Door {
    type Response = HealthReply;
    type Future = std::future::Ready<Result<Response<HealthReply>, Status>>;

    fn call(&mut self, _: tonic::Request<HealthRequest>) -> Self::Future {
        let desk = &self.desk;
        std::future::ready(Ok(Response::new(HealthReply {
            protocol: PROTOCOL,
            name: desk.offer.name().into(),
            model: desk.offer.model().into(),
            runs: desk.runs() as u32,
            most_runs: desk.limits.runs as u32,
        })))
    }
}

impl StreamingService<Request> for Door {
    type Response = Reply;
    type ResponseStream = Queue<Result<Reply, Status>>;
    type Future = std::future::Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<Request>>) -> Self::Future {
        let tcp = request.extensions().get::<TcpConnectInfo>().and_then(|i| i.remote_addr());
        let tls =
            || request.extensions().get::<TlsConnectInfo<TcpConnectInfo>>().and_then(|i| i.get_ref().remote_addr());
        let peer = tcp.or_else(tls).map_or("somewhere".into(), |a| a.to_string());
        let (put, replies) = mpsc::channel(UNREAD);
        tokio::spawn(self.clone().run(request.into_inner(), put, peer));
        std::future::ready(Ok(Response::new(Queue(replies))))
    }
}

type Put = mpsc::Sender<Result<Reply, Status>>;

impl Door {
    /// Serves one stream.
    async fn run(self, mut requests: Streaming<Request>, put: Put, peer: String) {
        let Ok(Ok(Some(first))) = tokio::time::timeout(GREETING, requests.message()).await else {
            return;
        };
        let greeted = match &first.what {
            Some(Ask::Hello(hello)) => self.desk.hello(hello, self.clock.elapsed()),
            _ => Err(Refusal::because("a stream begins with Hello")),
        };
        let (run, seat, welcome) = match greeted {
            Ok(greeted) => greeted,
            Err(refusal) => {
                (self.log)(&escaped(&format!("{peer} was refused: {refusal}")));
                let _ = put.try_send(Ok(Reply { what: Some(Tell::Refusal(refusal)), ..Reply::default() }));
                return;
            }
        };
        let stream = seat.take_over();
        // the rest of the name is a secret
        let short = hex(&run[..3]);
        (self.log)(&format!("run {short} from {peer}: link {stream}"));
        if put.try_send(Ok(welcome)).is_err() {
            return;
        }
        let mut bucket = Bucket::new(self.desk.limits.rate);
        let quiet = self.desk.limits.linger / 4;
        loop {
            let came = tokio::time::timeout(quiet, requests.message()).await;
            if !seat.belongs_to(stream) || put.is_closed() {
                break;
            }
            // a link that is kept alive keeps its run, also while nothing is asked
            seat.touch(self.clock.elapsed());
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
            let wait = bucket.delay(self.clock.elapsed());
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            let leaves = matches!(request.what, Some(Ask::Leave(_)));
            let verdict = lock(&seat.gate).admit(&request);
            match verdict {
                Verdict::Say(reply) => {
                    if put.try_send(Ok(reply)).is_err() {
                        break;
                    }
                }
                Verdict::Work => {
                    tokio::spawn(work(seat.clone(), request, put.clone()));
                }
            }
            if leaves {
                self.desk.leave(&run);
                break;
            }
        }
        let windows = seat.session.try_lock().map_or(0, |s| s.windows());
        (self.log)(&format!("run {short}: link {stream} ended after {windows} windows"));
    }
}

/// Works on a request aside, so that the stream goes on listening; the reply is kept for whoever asks again.
async fn work(seat: Arc<Seat>, request: Request, put: Put) {
    let sequence = request.sequence;
    let at = seat.clone();
    let done = tokio::task::spawn_blocking(move || lock(&at.session).work(&request)).await;
    let reply = done.unwrap_or_else(|_| {
        let refusal = Refusal::because("the solver broke down; the run cannot go on");
        Reply { sequence, nanoseconds: 0, what: Some(Tell::Refusal(refusal)) }
    });
    lock(&seat.gate).finish(reply.clone());
    let _ = put.try_send(Ok(reply));
}
