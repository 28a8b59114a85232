//! Messages no honest coordinator sends: refused, with both values where there are two, and nobody else notices.

use crate::loopback::{LOG, runtime, serve};
use crate::machines::{Dice, FOUR_BAR, limits, part_models, solver, system};
use bellcrank_glue::{Correction, Coupling, Window};
use bellcrank_net::wire::{
    Attempt, Begin, Correct, Hello, Motions, Observe, PROTOCOL, RUN, Refusal, Reply, ReplyKind, Request, RequestKind,
    Restore, Save, Stamp, Start, UNITS,
};
use bellcrank_net::{AccessPolicy, ServerLimits};
use prost::Message;
use prost::bytes::{Buf, BufMut};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::mpsc;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};

/// Sends bytes as they are.
#[derive(Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Reply;
    type Encoder = Raw;
    type Decoder = Raw;
    fn encoder(&mut self) -> Raw {
        Raw
    }
    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;
    fn encode(&mut self, item: Vec<u8>, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Reply;
    type Error = Status;
    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Reply>, Status> {
        let bytes = from.copy_to_bytes(from.remaining());
        Reply::decode(bytes).map(Some).map_err(|e| Status::internal(e.to_string()))
    }
}

struct Stream(mpsc::UnboundedReceiver<Vec<u8>>);

impl tonic::codegen::tokio_stream::Stream for Stream {
    type Item = Vec<u8>;
    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Vec<u8>>> {
        self.0.poll_recv(cx)
    }
}

/// One stream, by hand.
pub struct Wire {
    pub out: mpsc::UnboundedSender<Vec<u8>>,
    pub replies: Streaming<Reply>,
}

/// Nothing in this file may take longer.
const HANG: Duration = Duration::from_secs(60);

impl Wire {
    pub async fn open(channel: &Channel) -> Wire {
        let (out, requests) = mpsc::unbounded_channel();
        let mut grpc = Grpc::new(channel.clone());
        grpc.ready().await.unwrap();
        let call = tonic::Request::new(Stream(requests));
        let answer = grpc.streaming(call, PathAndQuery::from_static(RUN), Raw).await.unwrap();
        Wire { out, replies: answer.into_inner() }
    }

    /// Sends bytes, and waits for what comes: a reply, the end, or an error of the stream.
    pub async fn bytes(&mut self, bytes: Vec<u8>) -> Result<Option<Reply>, Status> {
        let _ = self.out.send(bytes);
        tokio::time::timeout(HANG, self.replies.message()).await.expect("hangs")
    }

    pub async fn tell(&mut self, request: Request) -> ReplyKind {
        self.bytes(request.encode_to_vec()).await.unwrap().unwrap().what.unwrap()
    }
}

pub fn hello(run: u8) -> Hello {
    Hello { protocol: PROTOCOL, run: vec![run; 16], next: 1, units: UNITS.into(), model: Vec::new() }
}

pub fn greeting(hello: Hello) -> Request {
    Request { what: Some(RequestKind::Hello(hello)), ..Request::default() }
}

pub async fn channel(address: SocketAddr) -> Channel {
    Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap()
}

fn refusal(tell: ReplyKind) -> Refusal {
    match tell {
        ReplyKind::Refusal(refusal) => refusal,
        other => panic!("was not refused: {other:?}"),
    }
}

const TIMES: usize = 100;
const MESSAGE: usize = 64 << 10;

#[test]
fn streams_that_begin_badly_end_and_others_go_on() {
    let part_model = part_models(&system(FOUR_BAR), &["b"]).parts.remove(0);
    let (address, registry) = serve(part_model, AccessPolicy::default(), ServerLimits { message: MESSAGE, ..limits() });
    runtime().block_on(async {
        let channel = channel(address).await;
        let mut honest = Wire::open(&channel).await;
        assert!(matches!(honest.tell(greeting(hello(1))).await, ReplyKind::Welcome(_)));
        let mut dice = Dice(7);
        let kinds = ["noise", "cut", "huge", "no hello", "protocol", "run", "units", "model"];
        for kind in kinds {
            for k in 0..TIMES {
                let mut wire = Wire::open(&channel).await;
                let mut h = hello(2);
                let refused = match kind {
                    "noise" => {
                        // a tag of wire type 7 means nothing in any version
                        let mut noise: Vec<u8> = (0..1 + dice.below(200)).map(|_| dice.next() as u8).collect();
                        noise.insert(0, 0x0f);
                        wire.bytes(noise).await
                    }
                    "cut" => {
                        let whole = greeting(h).encode_to_vec();
                        let cut = 1 + dice.below(whole.len() - 1);
                        wire.bytes(whole[..cut].to_vec()).await
                    }
                    "huge" => wire.bytes(vec![0; MESSAGE + 1 + dice.below(10_000)]).await,
                    "no hello" => {
                        let sequence = dice.next() % 100;
                        let what = Some(RequestKind::Observe(Observe {}));
                        wire.bytes(Request { sequence, commit: None, what }.encode_to_vec()).await
                    }
                    "protocol" => {
                        h.protocol = 2 + dice.next() as u32 % 1000;
                        wire.bytes(greeting(h).encode_to_vec()).await
                    }
                    "run" => {
                        h.run = vec![0; (17 + dice.below(100)) % 100];
                        h.run.truncate(if h.run.len() == 16 { 15 } else { 99 });
                        wire.bytes(greeting(h).encode_to_vec()).await
                    }
                    "units" => {
                        h.units = ["", "si", "mm", "imperial", "\u{1b}[2J"][k % 5].into();
                        wire.bytes(greeting(h).encode_to_vec()).await
                    }
                    _ => {
                        h.model = (0..32).map(|_| dice.next() as u8).collect();
                        wire.bytes(greeting(h).encode_to_vec()).await
                    }
                };
                match refused {
                    // a message that is none, or too large, ends the stream
                    Err(_) | Ok(None) => assert!(["noise", "cut", "huge"].contains(&kind), "{kind}"),
                    Ok(Some(reply)) => {
                        let r = refusal(reply.what.unwrap());
                        let both = !r.expected.is_empty() && !r.found.is_empty();
                        assert!(both || kind == "no hello" || kind == "cut", "{kind}: {r}");
                        // and it is over
                        let end = wire.bytes(Vec::new()).await;
                        assert!(matches!(end, Ok(None) | Err(_)), "{kind}: {end:?}");
                    }
                }
            }
            assert_eq!(registry.runs(), 1, "{kind}");
        }
        // what strangers send cannot play with the terminal of who reads the log
        let log = LOG.lock().unwrap().clone();
        assert!(log.iter().any(|l| l.contains("was refused: units")));
        // (the help of refusals by TLS stands on a line of its own)
        let clean = |text: &str| !text.chars().any(char::is_control);
        assert!(log.iter().all(|l| l.split("\nhelp: ").all(clean)), "{log:?}");
        let solver = Start::from(&solver(Coupling::Stabilized));
        let start = Request { sequence: 1, commit: None, what: Some(RequestKind::Start(solver)) };
        assert!(matches!(honest.tell(start).await, ReplyKind::Started(_)));
    });
}

#[test]
fn requests_that_are_wrong_change_nothing() {
    let cut = part_models(&system(FOUR_BAR), &["b"]);
    let mut own = cut.parts[0].clone().start(&solver(Coupling::Stabilized)).unwrap();
    let (address, _) = serve(cut.parts[0].clone(), AccessPolicy::default(), limits());
    runtime().block_on(async {
        let channel = channel(address).await;
        let mut wire = Wire::open(&channel).await;
        wire.tell(greeting(hello(1))).await;
        let mut sequence = 0;
        let mut next = |what: RequestKind| {
            sequence += 1;
            Request { sequence, commit: None, what: Some(what) }
        };
        assert!(matches!(
            wire.tell(next(RequestKind::Start(Start::from(&solver(Coupling::Stabilized))))).await,
            ReplyKind::Started(_)
        ));
        let begin = RequestKind::Begin(Begin { loads: vec![0.0; 6] });
        assert!(matches!(wire.tell(next(begin)).await, ReplyKind::Motions(_)));
        own.begin(&[0.0; 6]).unwrap();
        let mut dice = Dice(3);
        let mut committed = None;
        for window in 0..3u64 {
            let (from, to) = (window as f64 * 1e-3, (window + 1) as f64 * 1e-3);
            let good =
                Attempt { window, iteration: 1, from, to, loads: vec![0.5; 6], shifts: vec![0.0; 6], admittance: true };
            let kinds = [
                "not finite",
                "wrong size",
                "backwards",
                "no time",
                "window",
                "commit",
                "replay",
                "gap",
                "solver",
                "state",
                "hello",
                "start",
            ];
            for kind in kinds {
                for k in 0..TIMES {
                    let mut a = good.clone();
                    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][k % 3];
                    let mut request = match kind {
                        "not finite" => {
                            let at = dice.below(6);
                            if k % 2 == 0 {
                                a.loads[at] = odd
                            } else {
                                a.shifts[at] = odd
                            }
                            next(RequestKind::Attempt(a))
                        }
                        "wrong size" => {
                            let n = [0, 1, 5, 7, 12, 1000][k % 6];
                            if k % 2 == 0 {
                                a.loads.resize(n, 0.0)
                            } else {
                                a.shifts.resize(n, 0.0)
                            }
                            next(RequestKind::Attempt(a))
                        }
                        "backwards" => {
                            a.from -= [1e-3, 1e-18, 1.0][k % 3] * (1.0 + dice.part());
                            if a.from == from {
                                a.from = f64::from_bits(from.to_bits() ^ 1);
                            }
                            next(RequestKind::Attempt(a))
                        }
                        "no time" => {
                            a.to = [from, from - 1.0, odd][k % 3];
                            next(RequestKind::Attempt(a))
                        }
                        "window" => {
                            a.window = if k % 2 == 0 { window + 1 + dice.next() % 9 } else { window.wrapping_sub(1) };
                            next(RequestKind::Attempt(a))
                        }
                        "commit" => {
                            let stamp = Stamp { window: dice.next() % 4, iteration: 2 + dice.next() % 9 };
                            Request { commit: Some(stamp), ..next(RequestKind::Observe(Observe {})) }
                        }
                        "replay" | "gap" => next(RequestKind::Observe(Observe {})),
                        "solver" => {
                            let mut s = Start::from(&solver(Coupling::Stabilized));
                            match k % 4 {
                                0 => s.coupling = "glue".into(),
                                1 => s.rho = odd,
                                2 => s.rtol = -1.0,
                                _ => s.step = odd,
                            }
                            next(RequestKind::Start(s))
                        }
                        "state" => {
                            let id = ["../../etc/passwd", "a/b", "a b", "\0", &"x".repeat(81)][k % 5].to_string();
                            next(if k % 2 == 0 {
                                RequestKind::Restore(Restore { id })
                            } else {
                                RequestKind::Save(Save { id })
                            })
                        }
                        "hello" => next(RequestKind::Hello(hello(1))),
                        _ => next(RequestKind::Start(Start::from(&solver(Coupling::Stabilized)))),
                    };
                    if kind == "replay" {
                        // what is new gets its number back
                        let number = request.sequence;
                        request.sequence = dice.next() % (number - 1);
                        let old = refusal(wire.tell(request.clone()).await);
                        assert_eq!(old.expected, (number).to_string(), "{old}");
                        request.sequence = number;
                        // and twice the same is done once
                        let bytes = request.encode_to_vec();
                        let (first, second) =
                            (wire.bytes(bytes.clone()).await.unwrap(), wire.bytes(bytes).await.unwrap());
                        assert_eq!(first, second);
                        continue;
                    }
                    if kind == "gap" {
                        let number = request.sequence;
                        request.sequence += 1 + dice.next() % 1000;
                        let gap = refusal(wire.tell(request.clone()).await);
                        assert_eq!((gap.expected, gap.found), (number.to_string(), request.sequence.to_string()));
                        request.sequence = number;
                        assert!(matches!(wire.tell(request).await, ReplyKind::Values(_)));
                        continue;
                    }
                    let r = refusal(wire.tell(request).await);
                    let two = !["hello", "start", "solver"].contains(&kind);
                    assert!(!two || (!r.expected.is_empty() && !r.found.is_empty()), "{kind}: {r}");
                }
            }
            // after all that the part does what it would have done, to the bit
            let honest = Request { commit: committed.take(), ..next(RequestKind::Attempt(good.clone())) };
            let ReplyKind::Motions(answer) = wire.tell(honest).await else { panic!() };
            let own_window = Window { number: window, from, to };
            let right = own.attempt(&own_window, &good.loads, &good.shifts, true).unwrap();
            assert!(answer == Motions::from(&right));
            own.commit().unwrap();
            let stamp = Stamp { window, iteration: 1 };
            let taken = Request { commit: Some(stamp), ..next(RequestKind::Observe(Observe {})) };
            assert!(matches!(wire.tell(taken).await, ReplyKind::Values(_)));
        }
    });
}

#[test]
fn corrections_that_are_wrong_change_nothing() {
    let cut = part_models(&system(FOUR_BAR), &["b"]);
    let gauss = solver(Coupling::Gauss);
    let mut own = cut.parts[0].clone().start(&gauss).unwrap();
    let (address, _) = serve(cut.parts[0].clone(), AccessPolicy::default(), limits());
    runtime().block_on(async {
        let mut wire = Wire::open(&channel(address).await).await;
        wire.tell(greeting(hello(1))).await;
        let mut sequence = 0;
        let mut next = |what: RequestKind| {
            sequence += 1;
            Request { sequence, commit: None, what: Some(what) }
        };
        assert!(matches!(wire.tell(next(RequestKind::Start(Start::from(&gauss)))).await, ReplyKind::Started(_)));
        let begin = RequestKind::Begin(Begin { loads: vec![0.0; 6] });
        assert!(matches!(wire.tell(next(begin)).await, ReplyKind::Motions(_)));
        own.begin(&[0.0; 6]).unwrap();
        let good = |step: &str, iteration| Correct {
            window: 0,
            iteration,
            from: 0.0,
            to: 1e-3,
            step: step.into(),
            loads: vec![0.5; 6],
            shifts: vec![0.0; 6],
        };
        let window = Window { number: 0, from: 0.0, to: 1e-3 };
        let early = refusal(wire.tell(next(RequestKind::Correct(good("dynamics", 1)))).await);
        assert!(early.why.contains("was not asked to predict"), "{early}");
        let steps = [
            ("predict", Correction::Predict),
            ("dynamics", Correction::Dynamics),
            ("acceleration", Correction::Acceleration),
            ("position", Correction::Position),
        ];
        for (k, (word, step)) in steps.into_iter().enumerate() {
            let right = good(word, k as u64 + 1);
            let wrong = [
                Correct { step: "glue".into(), ..right.clone() },
                Correct { loads: vec![0.0; 7], ..right.clone() },
                Correct { shifts: Vec::new(), ..right.clone() },
                Correct { loads: vec![f64::NAN; 6], ..right.clone() },
                Correct { window: 1, ..right.clone() },
                Correct { iteration: k as u64, ..right.clone() },
                Correct { to: 0.0, ..right.clone() },
            ];
            for correct in wrong {
                let r = refusal(wire.tell(next(RequestKind::Correct(correct))).await);
                assert!(!r.expected.is_empty() && !r.found.is_empty(), "{r}");
            }
            // a part that is corrected level by level is not tried at once
            let attempt = Attempt {
                window: 0,
                iteration: k as u64 + 1,
                from: 0.0,
                to: 1e-3,
                loads: vec![0.0; 6],
                shifts: vec![0.0; 6],
                admittance: false,
            };
            let r = refusal(wire.tell(next(RequestKind::Attempt(attempt))).await);
            assert!(r.why.contains("corrections of its trial"), "{r}");
            let ReplyKind::Motions(answer) = wire.tell(next(RequestKind::Correct(right.clone()))).await else {
                panic!()
            };
            let mine = own.correct(&window, step, &right.loads, &right.shifts).unwrap();
            assert!(answer == Motions::from(mine), "{word}");
        }
        let stamp = Stamp { window: 0, iteration: 4 };
        let taken = Request { commit: Some(stamp), ..next(RequestKind::Observe(Observe {})) };
        assert!(matches!(wire.tell(taken).await, ReplyKind::Values(_)));
    });
}
