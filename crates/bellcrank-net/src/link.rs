//! A link over gRPC.

use crate::client::RunId;
use crate::keys::{Keys, random};
use crate::remote::{Came, Down, Link};
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

/// How to reach a part: an address, and what proves who we are.
#[derive(Clone)]
pub struct Way {
    endpoint: Endpoint,
    token: Option<MetadataValue<Ascii>>,
    address: String,
    /// Most bytes of one message.
    message: usize,
    runtime: &'static Runtime,
}

/// Whether a host of a URL is this machine.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

impl Way {
    /// The way to an address like `https://host:port`. Without TLS only this machine is reached.
    pub fn new(url: &str, keys: Option<&Keys>, token: Option<&str>, silence: Duration) -> Result<Way, String> {
        let bad = |why: String| format!("the address `{url}` {why}");
        let endpoint = Endpoint::from_shared(url.to_string())
            .map_err(|_| bad("is no address\nhelp: write https://host:port".into()))?;
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
            _ => return Err(bad("is none for parts\nhelp: write https://host:port".into())),
        }
        let token = token.map(|t| format!("Bearer {t}").parse()).transpose();
        let token = token.map_err(|_| "the token holds characters that cannot be sent".to_string())?;
        Ok(Way { endpoint, token, address: url.to_string(), message: 64 << 20, runtime: runtime()? })
    }

    fn request<T>(&self, body: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(body);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        request
    }

    async fn grpc(&self) -> Result<Grpc<Channel>, Down> {
        let channel = self.endpoint.connect().await;
        let channel = channel.map_err(|e| Down { why: chain(&e), last: false })?;
        let mut grpc = Grpc::new(channel).max_decoding_message_size(self.message);
        grpc.ready().await.map_err(|e| Down { why: chain(&e), last: false })?;
        Ok(grpc)
    }

    /// Carries messages until the link ends. What a part answers at the opening comes with its first message: it may wait for
    /// ours.
    async fn carry(
        self: Arc<Way>,
        mut grpc: Grpc<Channel>,
        requests: mpsc::Receiver<Request>,
        put: mpsc::Sender<Result<Reply, Status>>,
    ) {
        let codec: ProstCodec<Request, Reply> = ProstCodec::default();
        let request = self.request(Queue(requests));
        let mut stream = match grpc.streaming(request, PathAndQuery::from_static(RUN), codec).await {
            Ok(answer) => answer.into_inner(),
            Err(status) => {
                let _ = put.send(Err(status)).await;
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
            if put.send(came).await.is_err() || over {
                return;
            }
        }
    }

    /// Asks a part whether it is there.
    pub fn health(&self) -> Result<HealthReply, String> {
        let ask = async {
            let mut grpc = self.grpc().await?;
            let codec: ProstCodec<HealthRequest, HealthReply> = ProstCodec::default();
            let path = PathAndQuery::from_static(HEALTH);
            let answer = grpc.unary(self.request(HealthRequest {}), path, codec).await;
            Ok(answer.map_err(|s| down(&s))?.into_inner())
        };
        self.runtime.block_on(ask).map_err(|d: Down| d.why)
    }
}

/// An error with what caused it: the last cause is the one that helps.
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

/// Refusals of the server itself are final; what happens to a link is not.
fn down(status: &Status) -> Down {
    let last = matches!(status.code(), Code::Unauthenticated | Code::PermissionDenied | Code::Unimplemented);
    Down { why: if status.message().is_empty() { status.code().to_string() } else { status.message().into() }, last }
}

/// So many replies wait to be read; more stay in the network.
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
    way: Arc<Way>,
    clock: Instant,
    out: Option<mpsc::Sender<Request>>,
    replies: Option<mpsc::Receiver<Result<Reply, Status>>>,
}

impl GrpcLink {
    /// A link that is not made yet.
    pub fn new(way: Way) -> GrpcLink {
        GrpcLink { way: Arc::new(way), clock: Instant::now(), out: None, replies: None }
    }
}

impl Link for GrpcLink {
    fn now(&self) -> Duration {
        self.clock.elapsed()
    }

    fn connect(&mut self, within: Duration) -> Result<(), Down> {
        (self.out, self.replies) = (None, None);
        let way = self.way.clone();
        let opened = self.way.runtime.block_on(async { tokio::time::timeout(within, way.grpc()).await });
        let late = || Down { why: format!("no link within {:.1} s", within.as_secs_f64()), last: false };
        let grpc = opened.map_err(|_| late())??;
        // a task of its own reads, so that replies and pings are seen while the coordinator computes
        let ((out, requests), (put, replies)) = (mpsc::channel(UNREAD), mpsc::channel(UNREAD));
        self.way.runtime.spawn(way.carry(grpc, requests, put));
        (self.out, self.replies) = (Some(out), Some(replies));
        Ok(())
    }

    fn send(&mut self, request: &Request) {
        if let Some(out) = &self.out {
            let _ = out.try_send(request.clone());
        }
    }

    fn receive(&mut self, until: Duration) -> Came {
        let wait = until.saturating_sub(self.now());
        let Some(replies) = &mut self.replies else {
            std::thread::sleep(wait);
            return Came::Nothing;
        };
        match self.way.runtime.block_on(async { tokio::time::timeout(wait, replies.recv()).await }) {
            Ok(Some(Ok(reply))) => Came::Reply(reply),
            Ok(Some(Err(status))) => {
                (self.out, self.replies) = (None, None);
                Came::Down(down(&status))
            }
            Ok(None) => {
                (self.out, self.replies) = (None, None);
                Came::Down(Down { why: "the link ended".into(), last: false })
            }
            Err(_) => Came::Nothing,
        }
    }

    fn name_of_run(&mut self) -> RunId {
        random()
    }

    fn address(&self) -> String {
        self.way.address.clone()
    }
}
