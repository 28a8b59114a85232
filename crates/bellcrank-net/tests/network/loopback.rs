//! gRPC and TLS on this machine.

use crate::machines::{
    DOUBLE_FOUR_BAR, Dice, FOUR_BAR, SPATIAL, chain, join, limits, offer, options, part_models, rows, solver, store,
    system, temporary,
};
use bellcrank_glue::{
    Assembly, Coordinator, Coupling, GlueOptions, GlueReport, PartModel, Remote, RemoteEntry, Solver, Subdomain,
    read_assembly, read_assembly_with, read_part_model,
};
use bellcrank_model::System;
use bellcrank_net::keys::{make, read_token};
use bellcrank_net::wire::{RUN, Reply, Request};
use bellcrank_net::{AccessPolicy, Address, GrpcLink, Keys, RemotePart, RunRegistry, Server, ServerLimits, Timeouts};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request as Call};
use tonic_prost::ProstCodec;

/// Generous: tests share the machine with others.
pub const PATIENCE: Timeouts = Timeouts { silence: Duration::from_secs(30), call: Duration::from_secs(300) };

/// What servers say of those they refuse.
pub static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note(line: &str) {
    if line.contains("refused") {
        LOG.lock().unwrap().push(line.into());
    }
}

pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap())
}

pub fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = temporary("keys");
        make(&folder, &[]).unwrap();
        folder
    })
}

pub fn keys() -> Keys {
    Keys::read(folder()).unwrap()
}

pub fn mutual() -> AccessPolicy {
    AccessPolicy { keys: Some(keys()), mutual: true, token: None }
}

/// Serves a part until the program ends.
pub fn serve(part_model: PartModel, policy: AccessPolicy, limits: ServerLimits) -> (SocketAddr, Arc<RunRegistry>) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let store = store(&format!("store-{}", COUNT.fetch_add(1, Ordering::SeqCst)));
    let registry = Arc::new(RunRegistry::new(offer(part_model), store, limits));
    let _guard = runtime().enter();
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), registry.clone(), policy).unwrap();
    let address = server.address();
    runtime().spawn(server.serve(Arc::new(|line: &str| note(line)), std::future::pending()));
    (address, registry)
}

/// A part behind an address, with its solver.
pub fn reach(name: &str, address: SocketAddr, keys: Option<&Keys>, how: &Solver) -> Box<dyn Subdomain> {
    let scheme = if keys.is_some() { "https" } else { "http" };
    let address = Address::new(&format!("{scheme}://{address}"), keys, None, PATIENCE.silence).unwrap();
    let part = RemotePart::connect(name, Box::new(GrpcLink::new(address)), PATIENCE).unwrap_or_else(|e| panic!("{e}"));
    Box::new(part).start(how).unwrap_or_else(|e| panic!("{e}"))
}

/// The parts behind mutual TLS.
fn there(system: &Arc<System>, at: &[&str], options: GlueOptions) -> Coordinator {
    join(system, at, options, &mut |_, part_model| far(part_model, &solver(options.coupling)))
}

/// A part behind mutual TLS.
fn far(part_model: PartModel, how: &Solver) -> Box<dyn Subdomain> {
    let name = part_model.name.clone();
    let (address, _) = serve(part_model, mutual(), limits());
    reach(&name, address, Some(&keys()), how)
}

/// The solvers of parts that differ: in step all the same, else other methods, tolerances and steps.
fn several(coupling: Coupling, part: usize) -> Solver {
    let of = |method: &str, rtol, step| Solver { method: Some(method.into()), rtol, step, ..solver(coupling) };
    match part % 3 {
        0 => of("dopri5", 1e-8, None),
        1 => of("bdf", 1e-7, None),
        _ => of("gen-alpha", 1e-7, Some(1e-4)),
    }
}

/// Runs near and far parts and compares every bit of every channel after every window.
fn same_bytes(what: &str, mut near: Coordinator, mut far: Coordinator, until: f64) -> GlueReport {
    let (a, b) = (rows(&mut near, until), rows(&mut far, until));
    assert!(a == b, "{what}");
    assert_eq!(near.report().exchanges, far.report().exchanges, "{what}");
    for part in far.parts() {
        let t = part.traffic().unwrap();
        assert_eq!(t.links, 1);
        assert!(t.bytes[0] > 0 && t.bytes[1] > 0);
    }
    assert_eq!(a.len(), far.report().windows);
    far.report().clone()
}

#[test]
fn glued_over_loopback_tls_gives_the_same_bytes_as_in_one_process() {
    let problem = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/problems/");
        std::fs::read_to_string(format!("{folder}{name}/model.toml")).unwrap()
    };
    let (flexible, seven, chain) = (problem("flexible-slider-crank"), problem("seven-body"), chain());
    use Coupling::{Gauss, Position, Stabilized, Windows};
    let cases: [(&str, &[&str], Coupling, f64, usize); 26] = [
        (FOUR_BAR, &["a"], Stabilized, 1e-3, 30),
        (FOUR_BAR, &["b"], Stabilized, 1e-3, 30),
        (FOUR_BAR, &["c"], Stabilized, 1e-3, 30),
        (FOUR_BAR, &["d"], Stabilized, 1e-3, 30),
        (FOUR_BAR, &["b", "d"], Stabilized, 1e-3, 30),
        (FOUR_BAR, &["a", "b", "c", "d"], Stabilized, 1e-3, 30),
        (FOUR_BAR, &["a", "c"], Position, 1e-3, 30),
        (DOUBLE_FOUR_BAR, &["e", "f"], Stabilized, 1e-3, 20),
        (SPATIAL, &["socket"], Stabilized, 1e-3, 20),
        (SPATIAL, &["pin", "socket"], Position, 1e-3, 20),
        (&chain, &["j25", "j50", "j75"], Stabilized, 1e-3, 6),
        (&flexible, &["elbow"], Stabilized, 1e-4, 10),
        (&seven, &["E3"], Stabilized, 1e-5, 20),
        (&seven, &["crank", "B"], Position, 1e-5, 20),
        // corrected level by level
        (FOUR_BAR, &["b", "d"], Gauss, 2e-3, 10),
        (SPATIAL, &["pin", "socket"], Gauss, 2e-3, 10),
        (DOUBLE_FOUR_BAR, &["e", "f"], Gauss, 2e-3, 5),
        (&flexible, &["elbow"], Gauss, 1e-4, 5),
        // every part with its own method and steps
        (FOUR_BAR, &["a"], Windows, 1e-3, 5),
        (FOUR_BAR, &["b", "d"], Windows, 5e-3, 5),
        (FOUR_BAR, &["c"], Windows, 1e-3, 5),
        (DOUBLE_FOUR_BAR, &["e", "f"], Windows, 2e-3, 5),
        (SPATIAL, &["socket"], Windows, 2e-3, 5),
        (&chain, &["j25", "j50", "j75"], Windows, 1e-3, 2),
        (&flexible, &["elbow"], Windows, 1e-4, 3),
        (&seven, &["E3"], Windows, 2e-5, 5),
    ];
    for (text, at, coupling, step, windows) in cases {
        let (system, options) = (system(text), options(coupling, step));
        let near = join(&system, at, options, &mut |k, part_model| part_model.start(&several(coupling, k)).unwrap());
        let far = join(&system, at, options, &mut |k, part_model| far(part_model, &several(coupling, k)));
        let r = same_bytes(&format!("{at:?} {coupling:?}"), near, far, step * windows as f64);
        assert_eq!(r.windows, windows);
        let most = if coupling == Gauss { 16 } else { 2 };
        assert!(r.exchanges <= most * windows, "{at:?} {coupling:?}: {r:?}");
    }
}

#[test]
fn the_quarter_car_from_its_files_gives_the_same_bytes_over_tls() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quarter-car-parts/");
    let text = std::fs::read_to_string(format!("{folder}assembly.toml")).unwrap();
    let addressed = ["chassis", "suspension", "wheel"].iter().fold(text, |text, name| {
        let part_model = read_part_model(name, format!("{folder}{name}.toml").as_ref()).unwrap();
        let (address, _) = serve(part_model, mutual(), limits());
        text.replace(&format!("model = \"{name}.toml\""), &format!("address = \"https://{address}\""))
    });
    let file = temporary("quarter-car").join("assembly.toml").to_string_lossy().into_owned();
    std::fs::write(&file, addressed).unwrap();
    for (coupling, step, windows) in [(Coupling::Stabilized, 1e-3, 40), (Coupling::Windows, 1e-3, 8)] {
        let start = |assembly: Assembly| {
            let parts = assembly.parts.into_iter().enumerate().map(|(k, p)| p.start(&several(coupling, k)).unwrap());
            Coordinator::new(parts.collect(), assembly.interface, 0.0, options(coupling, step)).unwrap()
        };
        let near = start(read_assembly(&format!("{folder}assembly.toml")).unwrap());
        let mut reached = 0;
        let far = read_assembly_with(&file, &mut |to: &RemoteEntry| {
            reached += 1;
            let address = Address::new(&to.url, Some(&keys()), None, PATIENCE.silence)?;
            let part = RemotePart::connect(&to.part, Box::new(GrpcLink::new(address)), PATIENCE);
            Ok(Box::new(part.map_err(|e| e.to_string())?) as Box<dyn Remote>)
        });
        let far = start(far.unwrap());
        assert_eq!(reached, 3);
        let r = same_bytes(&format!("quarter car, {coupling:?}"), near, far, step * windows as f64);
        assert_eq!(r.windows, windows);
        // the bushing is out of balance at the start
        assert!(r.exchanges <= 2 * windows + 4, "{coupling:?}: {r:?}");
    }
}

#[test]
fn saved_in_memory_and_kept_on_the_parts_own_disk() {
    let machine = system(SPATIAL);
    let options = options(Coupling::Stabilized, 2e-3);
    let mut run = there(&machine, &["socket"], options);
    let folder = temporary("kept-over-tls");
    let mut first = Vec::new();
    run.run(0.04, &mut |run| {
        if run.windows() == 5 {
            run.save()?;
        }
        if run.windows() == 10 {
            run.keep(&folder, "ten", &[1])?;
        }
        first.push(run.observe()?);
        Ok(())
    })
    .unwrap();
    // the coordinator's folder holds its interface, and nothing of the parts
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files, ["interface.state"]);
    run.restore().unwrap();
    assert_eq!(run.windows(), 5);
    run.recover(&folder).unwrap();
    assert_eq!(run.windows(), 10);
    let mut again = Vec::new();
    run.run(0.04, &mut |run| {
        again.push(run.observe()?);
        Ok(())
    })
    .unwrap();
    assert_eq!(first[10..], again);
}

/// A folder with keys of the authority of these tests, of which one pair is no longer valid.
fn expired(to: &std::path::Path, which: &str) {
    for name in ["ca.pem", "server.pem", "server.key", "client.pem", "client.key"] {
        std::fs::copy(folder().join(name), to.join(name)).unwrap();
    }
    let authority = KeyPair::from_pem(&std::fs::read_to_string(folder().join("ca.key")).unwrap()).unwrap();
    let mut of = CertificateParams::default();
    of.distinguished_name = DistinguishedName::new();
    of.distinguished_name.push(DnType::CommonName, "Bellcrank authority");
    let issuer = Issuer::new(of, authority);
    let mut p = CertificateParams::new(["127.0.0.1".to_string(), "localhost".to_string()]).unwrap();
    (p.not_before, p.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2024, 1, 1));
    let server = which == "server";
    let purpose = if server { ExtendedKeyUsagePurpose::ServerAuth } else { ExtendedKeyUsagePurpose::ClientAuth };
    (p.extended_key_usages, p.key_usages) = (vec![purpose], vec![KeyUsagePurpose::DigitalSignature]);
    let own = KeyPair::generate().unwrap();
    std::fs::write(to.join(format!("{which}.pem")), p.signed_by(&own, &issuer).unwrap().pem()).unwrap();
    std::fs::write(to.join(format!("{which}.key")), own.serialize_pem()).unwrap();
}

#[test]
fn keys_of_strangers_and_no_keys_are_refused() {
    let part_model = || part_models(&system(FOUR_BAR), &["b"]).parts.remove(0);
    let (address, registry) = serve(part_model(), mutual(), limits());
    let short = Timeouts { silence: Duration::from_secs(2), ..PATIENCE };
    let try_for = |timeouts: Timeouts, url: &str, keys: Option<&Keys>| {
        let address = Address::new(url, keys, None, timeouts.silence).unwrap();
        RemotePart::connect("crank", Box::new(GrpcLink::new(address)), timeouts).map(|_| ()).map_err(|e| e.to_string())
    };
    let try_with = |url: String, keys: Option<&Keys>| try_for(short, &url, keys);
    let url = format!("https://{address}");
    try_for(PATIENCE, &url, Some(&keys())).unwrap();
    // another authority, a server that poses as a client, nothing but the authority's certificate, and no TLS at all
    let stranger = temporary("stranger");
    make(&stranger, &[]).unwrap();
    let posing = temporary("posing");
    for (from, to) in [("ca.pem", "ca.pem"), ("server.pem", "client.pem"), ("server.key", "client.key")] {
        std::fs::copy(folder().join(from), posing.join(to)).unwrap();
    }
    let bare = temporary("bare");
    std::fs::copy(folder().join("ca.pem"), bare.join("ca.pem")).unwrap();
    // told at once, in words, and on both ends
    let told_to = |url: String, with: Option<&Keys>, here: &str, there: &str| {
        let (began, seen) = (Instant::now(), LOG.lock().unwrap().len());
        let e = try_with(url, with).unwrap_err();
        assert!(e.starts_with("part `crank`") && e.contains(here), "{here}: {e}");
        assert!(!e.contains("transport error") && began.elapsed() < short.silence, "{:?}: {e}", began.elapsed());
        let until = Instant::now() + Duration::from_secs(10);
        while !LOG.lock().unwrap()[seen..].iter().any(|line| line.contains("was refused: ") && line.contains(there)) {
            assert!(Instant::now() < until, "{there}: {:?}", &LOG.lock().unwrap()[seen..]);
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let told = |url: String, with: &Keys, here: &str, there: &str| told_to(url, Some(with), here, there);
    let read = |folder: &PathBuf| Keys::read(folder).unwrap();
    let another = "was made by another authority than ca.pem here";
    told(
        url.clone(),
        &read(&stranger),
        &format!("the certificate of the part {another}"),
        "refuses the certificate that it was shown",
    );
    told(url.clone(), &read(&posing), "it is for the other end", "is for the other end: servers need server.pem");
    told(
        url.clone(),
        &read(&bare),
        "asks for a certificate, and none was shown",
        "the coordinator showed no certificate",
    );
    // the right authority for the server, another one for the client
    let mixed = temporary("mixed");
    for (from, name) in [(folder(), "ca.pem"), (&stranger, "client.pem"), (&stranger, "client.key")] {
        std::fs::copy(from.join(name), mixed.join(name)).unwrap();
    }
    told(url.clone(), &read(&mixed), "made by another authority than the ca.pem of the part", another);
    // keys that were good until yesterday
    let old = temporary("old");
    expired(&old, "client");
    told(url.clone(), &read(&old), "it has expired", "the certificate of the coordinator has expired");
    expired(&old, "server");
    let past = AccessPolicy { keys: Some(read(&old)), mutual: true, token: None };
    let (gone, _) = serve(part_model(), past, limits());
    told(
        format!("https://{gone}"),
        &keys(),
        "the certificate of the part has expired",
        "refuses the certificate that it was shown: it has expired",
    );
    // TLS at one end alone
    told_to(
        format!("http://{address}"),
        None,
        "the part uses TLS, and this end does not",
        "the coordinator does not use TLS",
    );
    let (plain, _) = serve(part_model(), AccessPolicy::default(), limits());
    told(
        format!("https://{plain}"),
        &keys(),
        "the part does not use TLS",
        "the coordinator uses TLS, and this end does not",
    );
    // a client does not talk to a server of another authority
    let fake = AccessPolicy { keys: Some(read(&stranger)), mutual: true, token: None };
    let (other, _) = serve(part_model(), fake, limits());
    told(format!("https://{other}"), &keys(), another, "refuses the certificate that it was shown");
    try_for(PATIENCE, &url, Some(&keys())).unwrap();
    assert!(registry.runs() <= 1);
    // and nothing is sent in the open to other machines
    let open = Address::new("http://10.1.2.3:7070", None, None, short.silence).err().unwrap();
    assert!(open.contains("in the open"), "{open}");
    let outside: SocketAddr = "0.0.0.0:7070".parse().unwrap();
    let guards = [
        (AccessPolicy::default(), false),
        (AccessPolicy { token: Some("t".repeat(20)), ..AccessPolicy::default() }, false),
        (AccessPolicy { keys: Some(keys()), ..AccessPolicy::default() }, false),
        (mutual(), true),
        (AccessPolicy { keys: Some(keys()), mutual: false, token: Some("t".repeat(20)) }, true),
    ];
    for (policy, safe) in guards {
        assert_eq!(policy.check(&outside).is_ok(), safe);
        assert!(policy.check(&"[::1]:7070".parse().unwrap()).is_ok());
    }
}

/// What other runs of these tests do at the same time, in the same folder of the build.
#[test]
#[ignore = "a helper of the next test"]
fn other_keys() {
    println!("\nkeys in {}", folder().display());
}

/// They made new keys in the place of those of servers that were at work, and these gave no answer any more.
#[test]
fn another_run_of_these_tests_does_not_exchange_the_keys_of_this_one() {
    let part_model = part_models(&system(FOUR_BAR), &["b"]).parts.remove(0);
    let (address, _) = serve(part_model, mutual(), limits());
    let arguments = ["loopback::other_keys", "--exact", "--ignored", "--nocapture"];
    let other = std::process::Command::new(std::env::current_exe().unwrap()).args(arguments).output().unwrap();
    let said = String::from_utf8(other.stdout).unwrap();
    let theirs = said.lines().find_map(|l| l.strip_prefix("keys in ")).unwrap_or_else(|| panic!("{said}"));
    let authority = |folder: &std::path::Path| std::fs::read(folder.join("ca.pem")).unwrap();
    assert!(authority(theirs.as_ref()) != authority(folder()));
    let address = Address::new(&format!("https://{address}"), Some(&keys()), None, PATIENCE.silence).unwrap();
    RemotePart::connect("crank", Box::new(GrpcLink::new(address)), PATIENCE)
        .map(|_| ())
        .unwrap_or_else(|e| panic!("{e}"));
    let _ = std::fs::remove_dir_all(theirs);
}

/// A handshake that is never ended holds nobody up: one after the other they would take ten seconds each.
#[test]
fn strangers_who_say_nothing_or_nonsense_keep_nobody_out() {
    use std::io::Write;
    let part_model = part_models(&system(FOUR_BAR), &["b"]).parts.remove(0);
    let (address, _) = serve(part_model, mutual(), limits());
    let mut strangers: Vec<std::net::TcpStream> =
        (0..60).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    for (k, stranger) in strangers.iter_mut().enumerate() {
        let said: &[u8] = match k % 3 {
            0 => b"",
            1 => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            // the first bytes of a greeting of TLS, and no more
            _ => &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01],
        };
        // some are gone already
        let _ = stranger.write_all(said);
    }
    let address = Address::new(&format!("https://{address}"), Some(&keys()), None, PATIENCE.silence).unwrap();
    RemotePart::connect("crank", Box::new(GrpcLink::new(address)), PATIENCE)
        .map(|_| ())
        .unwrap_or_else(|e| panic!("{e}"));
    drop(strangers);
}

#[test]
fn a_thousand_wrong_tokens_open_nothing() {
    let right = read_token(&folder().join("token")).unwrap();
    let policy = AccessPolicy { keys: Some(keys()), mutual: false, token: Some(right.clone()) };
    let part_model = part_models(&system(FOUR_BAR), &["b"]).parts.remove(0);
    let (address, registry) = serve(part_model, policy, limits());
    let url = format!("https://{address}");
    let pem = |name: &str| std::fs::read_to_string(folder().join(name)).unwrap();
    runtime().block_on(async {
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem("ca.pem")));
        let channel = Endpoint::from_shared(url.clone()).unwrap().tls_config(tls).unwrap().connect().await.unwrap();
        let mut grpc = Grpc::new(channel);
        let mut dice = Dice(1);
        for k in 0..1000 {
            let n = right.len();
            let mut token = match k % 8 {
                0 => String::new(),
                1 => right[..dice.below(n)].to_string(),
                2 => format!("{right}{}", dice.below(10)),
                3 => right.to_uppercase(),
                4 => "x".repeat(1 + dice.below(2000)),
                5 => format!(" {right}"),
                _ => (0..n).map(|_| char::from_digit(dice.below(16) as u32, 16).unwrap()).collect(),
            };
            if token == right {
                token.push('0');
            }
            if k % 8 == 7 {
                // one digit is wrong
                let mut bytes = right.clone().into_bytes();
                let at = dice.below(n);
                bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
                token = String::from_utf8(bytes).unwrap();
            }
            let mut call = Call::new(tonic::codegen::tokio_stream::empty::<Request>());
            if k % 8 != 0 {
                call.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
            }
            grpc.ready().await.unwrap();
            let codec: ProstCodec<Request, Reply> = ProstCodec::default();
            let answer = grpc.streaming(call, PathAndQuery::from_static(RUN), codec).await;
            assert_eq!(answer.err().map(|s| s.code()), Some(Code::Unauthenticated), "{k}: {token}");
        }
    });
    assert_eq!(registry.runs(), 0);
    let address = |token: &str| Address::new(&url, Some(&keys()), Some(token), PATIENCE.silence).unwrap();
    assert_eq!(address(&right).health().unwrap().runs, 0);
    assert!(address("wrong").health().unwrap_err().contains("token"));
    // a wrong token is told at once, not tried again
    let started = Instant::now();
    let e = RemotePart::connect("crank", Box::new(GrpcLink::new(address("wrong"))), PATIENCE).err().unwrap();
    assert!(e.to_string().contains("the token is missing or wrong"), "{e}");
    assert!(started.elapsed() < PATIENCE.silence);
    assert!(RemotePart::connect("crank", Box::new(GrpcLink::new(address(&right))), PATIENCE).is_ok());
    let _ = Identity::from_pem(pem("client.pem"), pem("client.key"));
}

#[test]
fn a_server_takes_no_more_runs_than_it_said() {
    let machine = system(FOUR_BAR);
    let cut = part_models(&machine, &["b"]);
    let (address, registry) =
        serve(cut.parts[0].clone(), AccessPolicy::default(), ServerLimits { runs: 2, ..limits() });
    let address = || Address::new(&format!("http://{address}"), None, None, PATIENCE.silence).unwrap();
    let open = || RemotePart::connect("crank", Box::new(GrpcLink::new(address())), PATIENCE);
    let (first, second) = (open().unwrap(), open().unwrap());
    let e = open().err().unwrap().to_string();
    assert!(e.contains("too many runs: expected at most 2, found 3"), "{e}");
    drop(first);
    let waited = Instant::now();
    while registry.runs() > 1 && waited.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(open().is_ok());
    drop(second);
}

/// What a message costs: run by hand, its numbers stand in the book.
#[test]
#[ignore = "measures"]
fn microseconds_per_message() {
    let cut = part_models(&system(FOUR_BAR), &["b"]);
    let keys = keys();
    for (word, policy, with) in [("in the open", AccessPolicy::default(), None), ("mutual TLS", mutual(), Some(&keys))]
    {
        let (address, _) = serve(cut.parts[0].clone(), policy, limits());
        let mut part = reach("crank", address, with, &solver(Coupling::Stabilized));
        let mut times: Vec<f64> = (0..5000)
            .map(|_| {
                let started = Instant::now();
                part.begin(&[0.0; 6]).unwrap();
                started.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        let t = part.traffic().unwrap();
        times.sort_by(f64::total_cmp);
        let working = t.working / t.round_trips as f64 * 1e6;
        println!(
            "{word}: median {:.0} µs, 90 % below {:.0} µs per round trip, of which the part works {working:.0} µs; {} B out, {} B in",
            times[2500],
            times[4500],
            t.bytes[0] / t.round_trips,
            t.bytes[1] / t.round_trips
        );
    }
}
