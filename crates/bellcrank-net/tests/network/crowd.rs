//! Many coordinators at once, and those that leave without a word.

use crate::loopback::{keys, mutual, reach, runtime, serve};
use crate::machines::{FOUR_BAR, Rows, here, join, limits, offer, options, part_models, solver, system, temporary};
use crate::malformed::{Wire, channel, greeting, hello};
use bellcrank_glue::{Checkpoints, Coupling, PartModel};
use bellcrank_net::session::Session;
use bellcrank_net::store::StateStore;
use bellcrank_net::wire::{Attempt, Begin, Observe, Reply, ReplyKind, Request, RequestKind, Stamp, Start};
use bellcrank_net::{AccessPolicy, RunRegistry, Server, ServerLimits, StateFolder};
use prost::Message;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Runs raced on the folder of states: what one removed the other could not remove any more, and 8 to 22 of 50 ended there.
#[test]
fn fifty_coordinators_that_keep_states_on_one_disk_all_end_right() {
    let machine = system(FOUR_BAR);
    let options = options(Coupling::Stabilized, 2e-3);
    let mut right = Rows::default();
    here(&machine, &["b"], options).run(0.02, &mut |run| bellcrank_glue::Watch::window(&mut right, run)).unwrap();
    let states = Arc::new(StateFolder::new(temporary("states-of-fifty"), 256));
    let part_model = part_models(&machine, &["b"]).parts.remove(0);
    let registry = Arc::new(RunRegistry::new(offer(part_model), states, limits()));
    let address = {
        let _inside = runtime().enter();
        let server = Server::bind("127.0.0.1:0".parse().unwrap(), registry, AccessPolicy::default()).unwrap();
        let address = server.address();
        runtime().spawn(server.serve(Arc::new(|_: &str| ()), std::future::pending()));
        address
    };
    let own = temporary("folders-of-fifty");
    let one = |k: usize| -> Result<(), String> {
        let mut run = join(&machine, &["b"], options, &mut |part, part_model| match part {
            0 => reach(&part_model.name.clone(), address, None, &solver(Coupling::Stabilized)),
            _ => part_model.start(&solver(Coupling::Stabilized)).unwrap(),
        });
        let (folder, name) = (own.join(k.to_string()), format!("run{k}"));
        let checkpoints = Checkpoints { folder, every: 1, run: name, parts: String::new() };
        let mut rows = Rows::default();
        checkpoints.run(&mut run, 0.02, &mut rows).map_err(|e| e.to_string())?;
        if rows.rows == right.rows { Ok(()) } else { Err("other numbers".into()) }
    };
    let ends: Vec<Result<(), String>> = thread::scope(|scope| {
        let runs: Vec<_> = (0..50)
            .map(|k| {
                let one = &one;
                scope.spawn(move || one(k))
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let died: Vec<_> = ends.iter().filter_map(|e| e.as_ref().err()).collect();
    assert!(died.is_empty(), "{} of 50 died: {died:?}", died.len());
}

const HANG: Duration = Duration::from_secs(30);

fn crank() -> PartModel {
    part_models(&system(FOUR_BAR), &["b"]).parts.remove(0)
}

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < HANG, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
    began.elapsed()
}

fn request(sequence: u64, what: RequestKind) -> Request {
    Request { sequence, commit: None, what: Some(what) }
}

/// A solver with steps of its own, so that a window takes as long as it is.
fn own_steps() -> RequestKind {
    RequestKind::Start(Start { coupling: "windows".into(), rho: 0.8, method: "dopri5".into(), rtol: 1e-8, step: 0.0 })
}

/// An attempt of a window from a committed time.
fn attempt(window: u64, from: f64, to: f64) -> RequestKind {
    RequestKind::Attempt(Attempt {
        window,
        iteration: 1,
        from,
        to,
        loads: vec![0.0; 6],
        shifts: Vec::new(),
        admittance: false,
    })
}

/// A run that has asked for an attempt without end.
async fn endless(address: SocketAddr, run: u8) -> Wire {
    let mut wire = Wire::open(&channel(address).await).await;
    assert!(matches!(wire.tell(greeting(hello(run))).await, ReplyKind::Welcome(_)));
    assert!(matches!(wire.tell(request(1, own_steps())).await, ReplyKind::Started(_)));
    let begin = RequestKind::Begin(Begin { loads: vec![0.0; 6] });
    assert!(matches!(wire.tell(request(2, begin)).await, ReplyKind::Motions(_)));
    wire.out.send(request(3, attempt(0, 0.0, 1e300)).encode_to_vec()).unwrap();
    wire
}

/// Another coordinator gets its work done.
fn is_served(address: SocketAddr) -> Duration {
    let (machine, options, began) = (system(FOUR_BAR), options(Coupling::Stabilized, 2e-3), Instant::now());
    let mut run = join(&machine, &["b"], options, &mut |part, part_model| match part {
        0 => reach(&part_model.name.clone(), address, None, &solver(Coupling::Stabilized)),
        _ => part_model.start(&solver(Coupling::Stabilized)).unwrap(),
    });
    run.run(0.01, &mut |_| Ok(())).unwrap();
    began.elapsed()
}

/// Four attempts to t = 1e300 took all threads for good, also when those who asked had left.
#[test]
fn attempts_without_end_hold_nobody_up_and_stop_when_their_clients_leave() {
    let (address, registry) =
        serve(crank(), AccessPolicy::default(), ServerLimits { grace: Duration::from_millis(300), ..limits() });
    let wires: Vec<Wire> = runtime().block_on(async {
        let mut wires = Vec::new();
        for run in 1..=12 {
            wires.push(endless(address, run).await);
        }
        wires
    });
    until("they are at work", || registry.at_work() == 12);
    let served = is_served(address);
    assert_eq!(registry.at_work(), 12);
    drop(wires);
    let stopped = until("work for those who left is stopped", || registry.at_work() == 0);
    println!("another run beside 12 without end: {served:?}; stopped after {stopped:?}");
}

#[test]
fn a_request_that_takes_too_long_is_refused_with_what_to_try() {
    let (address, registry) =
        serve(crank(), AccessPolicy::default(), ServerLimits { call: Duration::from_millis(400), ..limits() });
    runtime().block_on(async {
        let mut wire = endless(address, 1).await;
        let reply = tokio::time::timeout(HANG, wire.replies.message()).await.unwrap().unwrap().unwrap();
        let Some(ReplyKind::Refusal(refusal)) = reply.what else { panic!("{reply:?}") };
        let words = refusal.to_string();
        assert!(words.contains("was interrupted at t = ") && words.contains("one request may take 0.4 s"), "{words}");
        assert!(words.contains("--call"), "{words}");
        // and the run goes on from where it was
        let next = Request { sequence: 4, commit: None, what: Some(attempt(0, 0.0, 1e-3)) };
        assert!(matches!(wire.tell(next).await, ReplyKind::Motions(_)));
    });
    assert_eq!(registry.at_work(), 0);
}

/// A coordinator whose link was cut for a while comes back to work that was stopped.
#[test]
fn an_attempt_that_was_stopped_gives_the_same_answer_when_it_is_asked_again() {
    let states: Arc<dyn StateStore> = Arc::new(StateFolder::new(temporary("states-of-stopped"), 4));
    let talk = |stops: bool| -> Vec<Option<ReplyKind>> {
        let mut session = Session::new(offer(crank()), states.clone());
        let commit = Some(Stamp { window: 0, iteration: 1 });
        let requests = [
            request(1, own_steps()),
            request(2, RequestKind::Begin(Begin { loads: vec![0.0; 6] })),
            request(3, attempt(0, 0.0, 1e-2)),
            Request { sequence: 4, commit, what: Some(attempt(1, 1e-2, 2e-2)) },
            request(5, RequestKind::Observe(Observe {})),
        ];
        let mut tell = |request: &Request| {
            if stops && matches!(request.what, Some(RequestKind::Attempt(_))) {
                session.interrupt().store(true, Ordering::SeqCst);
                let Reply { what: Some(ReplyKind::Refusal(r)), .. } = session.work(request) else { panic!() };
                assert!(r.to_string().contains("was interrupted"), "{r}");
                session.interrupt().store(false, Ordering::SeqCst);
            }
            session.work(request).what
        };
        requests.iter().map(&mut tell).collect()
    };
    let (whole, stopped) = (talk(false), talk(true));
    assert!(whole == stopped, "{whole:?}\n{stopped:?}");
    assert!(matches!(whole[3], Some(ReplyKind::Motions(_))) && matches!(whole[4], Some(ReplyKind::Values(_))));
}

/// Killed coordinators left runs behind that kept their places for ten minutes.
#[test]
fn runs_that_were_abandoned_make_room_for_others() {
    let limits = ServerLimits { runs: 4, grace: Duration::from_millis(500), ..limits() };
    let (address, registry) = serve(crank(), AccessPolicy::default(), limits);
    let open = |run: u8| {
        runtime().block_on(async move {
            let mut wire = Wire::open(&channel(address).await).await;
            let reply = wire.tell(greeting(hello(run))).await;
            (wire, reply)
        })
    };
    let held: Vec<Wire> = (1..=3).map(|run| open(run).0).collect();
    drop(open(4).0);
    // the place of the one that left is given to the next, and only that
    let (fifth, reply) = open(5);
    assert!(matches!(reply, ReplyKind::Welcome(_)), "{reply:?}");
    let (_, reply) = open(6);
    let ReplyKind::Refusal(refusal) = reply else { panic!("{reply:?}") };
    assert!(refusal.to_string().contains("too many runs"), "{refusal}");
    assert_eq!(registry.runs(), 4);
    drop((held, fifth));
    let others: Vec<(Wire, ReplyKind)> = (11..=14).map(open).collect();
    assert!(others.iter().all(|(_, reply)| matches!(reply, ReplyKind::Welcome(_))));
}

#[test]
fn connections_on_which_nothing_is_asked_are_closed() {
    let limits = ServerLimits { idle: Duration::from_millis(600), ..limits() };
    for (policy, secret) in [(AccessPolicy::default(), false), (mutual(), true)] {
        let (address, registry) = serve(crank(), policy, limits);
        let keys = keys();
        let with = secret.then_some(&keys);
        let mut run = reach("crank", address, with, &solver(Coupling::Stabilized));
        let mut silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
        for stream in &mut silent {
            stream.set_read_timeout(Some(HANG)).unwrap();
            // at most a greeting of HTTP/2 comes, then the end
            let _ = stream.read_to_end(&mut Vec::new());
        }
        thread::sleep(2 * limits.idle);
        // a run may be idle for as long as it wants
        assert!(run.begin(&[0.0; 6]).is_ok());
        assert_eq!((registry.runs(), run.traffic().unwrap().links), (1, 1));
    }
}

/// More connections than a server takes: those that are idle make room.
#[test]
fn a_crowd_of_silent_connections_keeps_nobody_out() {
    let limits = ServerLimits { runs: 2, ..limits() };
    let (address, _) = serve(crank(), AccessPolicy::default(), limits);
    let silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    let served = is_served(address);
    println!("beside 300 silent connections: {served:?}");
    drop(silent);
}
