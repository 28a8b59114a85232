//! A link over gRPC.

use crate::client::RunId;
use crate::keys::{Keys, random};
use crate::remote::{Link, LinkDown, Received};
use crate::tls;
use crate::wire::{HEALTH, HealthReply, HealthRequest, RUN, Reply, Request};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Status};
use tonic_prost::ProstCodec;

/// One runtime serves all links of the program.
fn runtime() -> Result<&'static Runtime, String> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let make = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("links").enable_all().build().map_err(|e| e.to_string())
    };
    RUNTIME.get_or_init(make).as_ref().map_err(|e| format!("no runtime for the network: {e}"))
}

/// The address of a part, with the credentials of the coordinator.
#[derive(Clone)]
pub struct Address {
    endpoint: Endpoint,
    token: Option<MetadataValue<Ascii>>,
    url: String,
    /// Most bytes of one message.
    message: usize,
    silence: Duration,
    runtime: &'static Runtime,
}

/// Whether the host of a URL is this machine.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

impl Address {
    /// An address such as `https://host:port`. Without TLS only this machine is reached.
    pub fn new(url: &str, keys: Option<&Keys>, token: Option<&str>, silence: Duration) -> Result<Address, String> {
        let bad = |why: String| format!("the address `{url}` {why}");
        let endpoint = Endpoint::from_shared(url.to_string())
            .map_err(|_| bad("is not a valid address\nhelp: write https://host:port".into()))?;
        let host = endpoint.uri().host().unwrap_or_default().to_string();
        if endpoint.uri().port_u16().is_none() {
            return Err(bad("has no port\nhelp: write https://host:port".into()));
        }
        let mut endpoint = endpoint
            .connect_timeout(silence / 2)
            .http2_keep_alive_interval(silence / 2)
            .keep_alive_timeout(silence / 2)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true);
        match (endpoint.uri().scheme_str(), keys) {
            (Some("https"), Some(keys)) => {
                let mut tls = ClientTlsConfig::new().ca_certificate(keys.authority()).domain_name(host);
                if let Some(identity) = keys.client() {
                    tls = tls.identity(identity);
                }
                endpoint = endpoint.tls_config(tls).map_err(|e| bad(format!("cannot be used: {}", chain(&e))))?;
            }
            (Some("https"), None) => {
                return Err(bad("needs keys\nhelp: use --tls DIR, or tls = \"DIR\" in the part".into()));
            }
            (Some("http"), None) if is_loopback(&host) => {}
            (Some("http"), None) => {
                return Err(bad("is on another machine and would be reached in the open\nhelp: write https://".into()));
            }
            (Some("http"), Some(_)) => return Err(bad("makes no use of the keys\nhelp: write https://".into())),
            _ => return Err(bad("is not one of a part\nhelp: write https://host:port".into())),
        }
        let token = token.map(|t| format!("Bearer {t}").parse()).transpose();
        let token = token.map_err(|_| "the token holds characters that cannot be sent".to_string())?;
        Ok(Address { endpoint, token, url: url.to_string(), message: 64 << 20, silence, runtime: runtime()? })
    }

    fn request<T>(&self, body: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(body);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        request
    }

    async fn grpc(&self) -> Result<Grpc<Channel>, LinkDown> {
        let channel = self.endpoint.connect().await;
        let channel = channel.map_err(|e| down(&e))?;
        let mut grpc = Grpc::new(channel).max_decoding_message_size(self.message);
        grpc.ready().await.map_err(|e| down(&e))?;
        Ok(grpc)
    }

    /// Carries messages until the link ends. The part may wait for our first message before it opens its own stream, so the stream
    /// is opened here and not while connecting.
    async fn carry(
        self: Arc<Address>,
        mut grpc: Grpc<Channel>,
        requests: mpsc::Receiver<Request>,
        put: mpsc::Sender<(Instant, Result<Reply, Status>)>,
    ) {
        let codec: ProstCodec<Request, Reply> = ProstCodec::default();
        let request = self.request(Queue(requests));
        let mut stream = match grpc.streaming(request, PathAndQuery::from_static(RUN), codec).await {
            Ok(answer) => answer.into_inner(),
            Err(status) => {
                let _ = put.send((Instant::now(), Err(status))).await;
                return;
            }
        };
        loop {
            let came = match stream.message().await {
                Ok(Some(reply)) => Ok(reply),
                Ok(None) => Err(Status::unavailable("the part closed the link")),
                Err(status) => Err(status),
            };
            let over = came.is_err();
            if put.send((Instant::now(), came)).await.is_err() || over {
                return;
            }
        }
    }

    /// Asks a part for its health.
    pub fn health(&self) -> Result<HealthReply, String> {
        let ask = async {
            let mut grpc = self.grpc().await?;
            let codec: ProstCodec<HealthRequest, HealthReply> = ProstCodec::default();
            let path = PathAndQuery::from_static(HEALTH);
            let answer = grpc.unary(self.request(HealthRequest {}), path, codec).await;
            Ok(answer.map_err(|s| refused(&s))?.into_inner())
        };
        let answer = self.runtime.block_on(async { tokio::time::timeout(self.silence, ask).await });
        answer
            .map_err(|_| format!("no answer within {:.1} s", self.silence.as_secs_f64()))?
            .map_err(|d: LinkDown| d.why)
    }
}

/// An error with its causes: the last one is the one that helps.
fn chain(e: &dyn std::error::Error) -> String {
    let (mut out, mut cause) = (e.to_string(), e.source());
    while let Some(e) = cause {
        let next = e.to_string();
        if !out.contains(&next) {
            out = format!("{out}: {next}");
        }
        cause = e.source();
    }
    out
}

/// Why there is no link: what is wrong with keys is final, other faults are not.
fn down(e: &(dyn std::error::Error + 'static)) -> LinkDown {
    match tls::in_words(e, "part") {
        Some(why) => LinkDown { why, last: true },
        None => LinkDown { why: chain(e), last: false },
    }
}

/// Why a call failed. Refusals by the server itself are final, too.
fn refused(status: &Status) -> LinkDown {
    if let Some(why) = std::error::Error::source(status).and_then(|cause| tls::in_words(cause, "part")) {
        return LinkDown { why, last: true };
    }
    if matches!(status.code(), Code::Unauthenticated | Code::PermissionDenied | Code::Unimplemented) {
        return LinkDown { why: status.message().into(), last: true };
    }
    match (std::error::Error::source(status), status.message()) {
        (Some(cause), _) => down(cause),
        (None, "") => LinkDown { why: status.code().to_string(), last: false },
        (None, why) => LinkDown { why: why.into(), last: false },
    }
}

/// Capacity of the queue of replies; more wait in the network.
const UNREAD: usize = 64;

/// A queue as a stream.
pub(crate) struct Queue<T>(pub mpsc::Receiver<T>);

impl<T> tonic::codegen::tokio_stream::Stream for Queue<T> {
    type Item = T;
    fn poll_next(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<Option<T>> {
        self.0.poll_recv(cx)
    }
}

/// A link over gRPC.
pub struct GrpcLink {
    address: Arc<Address>,
    clock: Instant,
    out: Option<mpsc::Sender<Request>>,
    replies: Option<mpsc::Receiver<(Instant, Result<Reply, Status>)>>,
}

impl GrpcLink {
    /// A link that is not connected yet.
    pub fn new(address: Address) -> GrpcLink {
        GrpcLink { address: Arc::new(address), clock: Instant::now(), out: None, replies: None }
    }
}

impl Link for GrpcLink {
    fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    fn connect(&mut self, within: Duration) -> Result<(), LinkDown> {
        (self.out, self.replies) = (None, None);
        let address = self.address.clone();
        let opened = self.address.runtime.block_on(async { tokio::time::timeout(within, address.grpc()).await });
        let late = || LinkDown { why: format!("no link within {:.1} s", within.as_secs_f64()), last: false };
        let grpc = opened.map_err(|_| late())??;
        // a task of its own reads, so that replies and pings are handled while the coordinator computes
        let ((out, requests), (put, replies)) = (mpsc::channel(UNREAD), mpsc::channel(UNREAD));
        self.address.runtime.spawn(address.carry(grpc, requests, put));
        (self.out, self.replies) = (Some(out), Some(replies));
        Ok(())
    }

    fn send(&mut self, request: &Request) {
        if let Some(out) = &self.out {
            let _ = out.try_send(request.clone());
        }
    }

    fn receive(&mut self, until: Duration) -> Received {
        let wait = until.saturating_sub(self.now());
        let Some(replies) = &mut self.replies else {
            std::thread::sleep(wait);
            return Received::Nothing;
        };
        match self.address.runtime.block_on(async { tokio::time::timeout(wait, replies.recv()).await }) {
            Ok(Some((when, Ok(reply)))) => Received::Reply(reply, when - self.clock),
            Ok(Some((_, Err(status)))) => {
                (self.out, self.replies) = (None, None);
                Received::Down(refused(&status))
            }
            Ok(None) => {
                (self.out, self.replies) = (None, None);
                Received::Down(LinkDown { why: "the link ended".into(), last: false })
            }
            Err(_) => Received::Nothing,
        }
    }

    fn name_of_run(&mut self) -> RunId {
        random()
    }

    fn address(&self) -> String {
        self.address.url.clone()
    }
}
