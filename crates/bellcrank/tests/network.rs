//! Parts on other hosts: the program as users run it, with delays, losses, frozen and killed parts and cut links.

mod common;

use common::root;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bellcrank");
const PARTS: [&str; 3] = ["chassis", "suspension", "wheel"];

/// A run that takes longer than this hangs.
const HANG: Duration = Duration::from_secs(120);

/// An empty folder; another run of these tests at the same time has its own, and its own keys in it. Those that were left
/// behind are removed an hour later.
fn scratch(name: &str) -> PathBuf {
    let all = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("network");
    for entry in std::fs::read_dir(&all).into_iter().flatten().flatten() {
        let age = entry.metadata().ok().and_then(|m| m.modified().ok()?.elapsed().ok());
        if age.is_some_and(|age| age.as_secs() > 3600) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let folder = all.join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    /// Its first line, which says where it listens.
    fn start(mut command: Command) -> (Process, String) {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let process = Process(child);
        let (send, line) = mpsc::channel();
        thread::spawn(move || {
            let mut lines = BufReader::new(out).lines();
            // other lines come before it in the process of a test
            if let Some(line) = lines.by_ref().flatten().find_map(|l| l.find("http").map(|at| l[at..].to_string())) {
                let _ = send.send(line);
            }
            lines.for_each(|_| ());
        });
        let line = line.recv_timeout(HANG).unwrap_or_else(|_| panic!("{command:?} says nothing"));
        (process, line)
    }

    fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap();
        assert!(done.success());
    }
}

/// Waits for the end of a run, and takes a hang for what it is.
fn finish(mut child: Child) -> Output {
    let started = Instant::now();
    let mut err = child.stderr.take().unwrap();
    let words = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = err.read_to_end(&mut text);
        text
    });
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Output { status, stdout: Vec::new(), stderr: words.join().unwrap() };
        }
        if started.elapsed() > HANG {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the run hangs");
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Speaks also where the words of a test that passes are not shown.
fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn quarter_car(file: &str) -> PathBuf {
    root().join("examples/quarter-car-parts").join(file)
}

/// The quarter car with parts by address, or by their models.
fn assembly(folder: &Path, parts: &[String; 3], solve: &str) -> PathBuf {
    let text = std::fs::read_to_string(quarter_car("assembly.toml")).unwrap();
    let mut text = text.split_once("[solve]").unwrap().0.to_string();
    for (name, part) in PARTS.iter().zip(parts) {
        let key = if part.starts_with("http") { "address" } else { "model" };
        text = text.replace(&format!("model = \"{name}.toml\""), &format!("{key} = {part:?}"));
    }
    let path = folder.join("assembly.toml");
    std::fs::write(&path, text + solve).unwrap();
    path
}

fn models() -> [String; 3] {
    PARTS.map(|p| quarter_car(&format!("{p}.toml")).to_string_lossy().into_owned())
}

fn csv(folder: &Path) -> Vec<u8> {
    std::fs::read(folder.join("results.csv")).unwrap()
}

/// The results of the run in one process.
fn reference(folder: &Path, solve: &str) -> Vec<u8> {
    let out = folder.join("reference");
    let assembly = assembly(folder, &models(), solve);
    let done = Command::new(PROGRAM).args(["glue"]).arg(&assembly).arg("--out").arg(&out).output().unwrap();
    assert!(done.status.success(), "{}", words(&done));
    csv(&out)
}

fn make_keys(folder: &Path, hosts: &[String]) -> PathBuf {
    let keys = folder.join("keys");
    let mut command = Command::new(PROGRAM);
    command.arg("keys").arg(&keys);
    hosts.iter().for_each(|h| _ = command.args(["--host", h]));
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", words(&done));
    keys
}

#[test]
fn a_part_is_served_to_other_machines_with_keys_only() {
    let folder = scratch("refusals");
    let keys = make_keys(&folder, &["part.example".into(), "10.1.2.3".into()]);
    for file in ["ca.pem", "ca.key", "server.pem", "server.key", "client.pem", "client.key", "token"] {
        assert!(keys.join(file).exists(), "{file}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(keys.join("server.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o77, 0, "{mode:o}");
    }
    let refused = |args: &[&str]| {
        let part = quarter_car("wheel.toml");
        let done = Command::new(PROGRAM).arg("serve").arg(part).args(args).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{args:?}: {}", words(&done));
        words(&done)
    };
    let token = keys.join("token").to_string_lossy().into_owned();
    assert!(refused(&["--listen", "0.0.0.0:0"]).contains("only with certificates"));
    assert!(refused(&["--listen", "0.0.0.0:0", "--token-file", &token]).contains("only with certificates"));
    assert!(refused(&["--listen", "nowhere"]).contains("is not an address"));
    assert!(refused(&["--tls", "nowhere"]).contains("ca.pem"));
    assert!(refused(&["--show", "everything"]).contains("ports or all"));
    std::fs::write(folder.join("short"), "abc\n").unwrap();
    assert!(refused(&["--token-file", &folder.join("short").to_string_lossy()]).contains("3 characters"));
    // the coordinator has the same rules
    let glue = |address: &str, args: &[&str]| {
        let [a, b, _] = models();
        let path = assembly(&folder, &[a, b, address.into()], "[solve]\nuntil = 0.01\nstep = 1e-3\n");
        let done = Command::new(PROGRAM).arg("glue").arg(path).args(args).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{}", words(&done));
        words(&done)
    };
    assert!(glue("http://10.1.2.3:7070", &[]).contains("in the open"));
    assert!(glue("https://10.1.2.3:7070", &[]).contains("needs keys"));
    assert!(glue("http://localhost", &[]).contains("has no port"));
    let gone = glue("http://127.0.0.1:1", &["--timeout", "0.3"]);
    assert!(gone.contains("part `wheel`") && gone.contains("gave no answer"), "{gone}");
    assert!(gone.contains("assembly.toml:"), "{gone}");
    let nothing = folder.join("nothing").to_string_lossy().into_owned();
    assert!(glue("http://127.0.0.1:1", &["--resume", "--out", &nothing]).contains("there is no checkpoint"));
}

#[test]
fn token_and_loopback_and_what_a_part_shows() {
    let folder = scratch("token");
    let keys = make_keys(&folder, &[]);
    let token = keys.join("token");
    let serve = |name: &str, more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("serve").arg(quarter_car(&format!("{name}.toml"))).args(["--listen", "127.0.0.1:0", "--quiet"]);
        command.arg("--keep").arg(folder.join(format!("{name}.kept"))).args(more);
        Process::start(command)
    };
    let (tls, secret) = (keys.to_string_lossy().into_owned(), token.to_string_lossy().into_owned());
    let (_one, chassis) = serve("chassis", &[]);
    let (_two, suspension) = serve("suspension", &["--tls", &tls, "--token-file", &secret]);
    let (_three, wheel) = serve("wheel", &["--tls", &tls, "--token-file", &secret]);
    assert!(chassis.starts_with("http://127.0.0.1:") && wheel.starts_with("https://127.0.0.1:"));
    let solve = "[solve]\nuntil = 0.05\nstep = 1e-3\nsample = 5e-3\n";
    let right = reference(&folder, solve);
    let path = assembly(&folder, &[chassis, suspension, wheel], solve);
    let out = folder.join("out");
    // without a client's key, with the token
    let bare = folder.join("bare");
    std::fs::create_dir_all(&bare).unwrap();
    std::fs::copy(keys.join("ca.pem"), bare.join("ca.pem")).unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("glue").arg(&path).arg("--tls").arg(&bare).arg("--out").arg(&out).args(args).output().unwrap()
    };
    let refused = run(&[]);
    assert!(!refused.status.success() && words(&refused).contains("token"), "{}", words(&refused));
    let done = run(&["--token-file", &secret, "--report"]);
    assert!(done.status.success(), "{}", words(&done));
    for column in ["round trips", "kB out", "iterations", "wall s"] {
        assert!(words(&done).contains(column), "{}", words(&done));
    }
    let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(out.join("summary.json")).unwrap()).unwrap();
    let network = &summary["parts"][2]["network"];
    let trips = network["round_trips"].as_u64().unwrap();
    assert!(trips > 50 && network["bytes_sent"].as_u64().unwrap() > 1000, "{summary}");
    let report = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(report.contains("round trips") && report.contains("suspension"));
    // a part shows its ports, and the values are those of the run in one process
    let text = |bytes: &[u8]| -> Vec<Vec<String>> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        text.lines().map(|l| l.split(',').map(str::to_string).collect()).collect()
    };
    let (ours, all) = (text(&csv(&out)), text(&right));
    assert_eq!(ours.len(), all.len());
    assert!(ours[0].len() > 10 && ours[0].len() < all[0].len());
    assert!(ours[0].iter().any(|c| c.contains("wheel/centre")) && !ours[0].iter().any(|c| c.contains("wheel/wheel")));
    for (k, name) in ours[0].iter().enumerate() {
        let there = all[0].iter().position(|n| n == name).unwrap_or_else(|| panic!("{name}"));
        assert!(ours.iter().zip(&all).all(|(a, b)| a[k] == b[there]), "{name}");
    }
}

/// A proxy of one address that delays, loses (which TCP makes up for after a while) and can be cut.
fn proxy(listen: TcpListener, to: String, delay: Duration, jitter: Duration, loss: f64) -> Arc<AtomicBool> {
    let cut = Arc::new(AtomicBool::new(false));
    let flag = cut.clone();
    thread::spawn(move || {
        let mut seed = 1u64;
        for client in listen.incoming().flatten() {
            let Ok(server) = TcpStream::connect(&to) else { continue };
            let (Ok(a), Ok(b)) = (client.try_clone(), server.try_clone()) else { continue };
            for (from, into) in [(client, b), (server, a)] {
                seed += 1;
                let (flag, seed) = (flag.clone(), seed);
                thread::spawn(move || carry(from, into, delay, jitter, loss, &flag, seed));
            }
        }
    });
    cut
}

fn carry(
    mut from: TcpStream,
    mut into: TcpStream,
    delay: Duration,
    jitter: Duration,
    loss: f64,
    cut: &AtomicBool,
    mut seed: u64,
) {
    let _ = into.set_nodelay(true);
    let (send, receive) = mpsc::channel::<(Instant, Vec<u8>)>();
    let writer = thread::spawn(move || {
        for (due, bytes) in receive {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if into.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = into.shutdown(std::net::Shutdown::Both);
    });
    let mut part = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut buffer = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        // a cut link carries nothing, and says nothing
        while cut.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(10));
        }
        let mut wait = delay.saturating_sub(jitter) + jitter.mul_f64(2.0 * part());
        if part() < loss {
            wait += Duration::from_millis(200);
        }
        if send.send((Instant::now() + wait, buffer[..n].to_vec())).is_err() {
            break;
        }
    }
    drop(send);
    let _ = writer.join();
    let _ = from.shutdown(std::net::Shutdown::Both);
}

/// A proxy in a process of its own: started by the test below inside a network namespace.
#[test]
#[ignore = "a helper of another test"]
fn proxy_process() {
    let Ok(to) = std::env::var("PROXY_TO") else { return };
    let listen = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("http://{}", listen.local_addr().unwrap());
    proxy(listen, to, Duration::from_millis(20), Duration::from_millis(5), 0.01);
    loop {
        thread::park();
    }
}

fn ip(args: &str) -> bool {
    let done = Command::new("ip").args(args.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    done.is_ok_and(|s| s.success())
}

/// Four hosts: a coordinator and three parts, in network namespaces with pairs of virtual wires between them, where that is
/// permitted; else processes on this machine.
struct Hosts {
    names: Option<[String; 4]>,
    netem: bool,
    proxies: Vec<Process>,
    cuts: Vec<Arc<AtomicBool>>,
}

impl Hosts {
    fn new() -> Hosts {
        let id = std::process::id() % 10_000;
        let names = ["c", "1", "2", "3"].map(|k| format!("bc{id}-{k}"));
        let mut hosts = Hosts { names: Some(names.clone()), netem: false, proxies: Vec::new(), cuts: Vec::new() };
        let mut good = names.iter().all(|n| ip(&format!("netns add {n}")) && ip(&format!("-n {n} link set lo up")));
        for (k, part) in names.iter().enumerate().skip(1) {
            let c = &names[0];
            good = good
                && ip(&format!("-n {c} link add w{k} type veth peer name w0 netns {part}"))
                && ip(&format!("-n {c} addr add 10.77.{k}.1/24 dev w{k}"))
                && ip(&format!("-n {part} addr add 10.77.{k}.2/24 dev w0"))
                && ip(&format!("-n {c} link set w{k} up"))
                && ip(&format!("-n {part} link set w0 up"));
        }
        if !good {
            say("network namespaces are not permitted here: processes and a proxy stand for hosts");
            hosts.clear();
            hosts.names = None;
            return hosts;
        }
        hosts.netem = (1..4).all(|k| {
            let rule = format!("netns exec {} tc qdisc add dev w{k} root netem delay 20ms 5ms loss 1%", names[0]);
            ip(&rule)
        });
        let by = if hosts.netem { "tc netem" } else { "a proxy, for the kernel has no netem" };
        say(&format!("four network namespaces with veth pairs; delay and loss by {by}"));
        hosts
    }

    fn clear(&mut self) {
        for name in self.names.iter().flatten() {
            ip(&format!("netns del {name}"));
        }
    }

    /// A command on a host: 0 is the coordinator.
    fn on(&self, host: usize, program: &str) -> Command {
        match &self.names {
            None => Command::new(program),
            Some(names) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &names[host], program]);
                command
            }
        }
    }

    fn address(&self, part: usize) -> String {
        if self.names.is_some() { format!("10.77.{part}.2") } else { "127.0.0.1".into() }
    }

    /// How the coordinator sees the address of a part: through delay and loss.
    fn seen(&mut self, url: &str) -> String {
        let to = url.trim_start_matches("https://").to_string();
        if self.netem {
            return url.to_string();
        }
        if self.names.is_none() {
            let listen = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listen.local_addr().unwrap();
            self.cuts.push(proxy(listen, to, Duration::from_millis(20), Duration::from_millis(5), 0.01));
            return format!("https://{address}");
        }
        let own = std::env::current_exe().unwrap();
        let mut command = self.on(0, &own.to_string_lossy());
        command.args(["proxy_process", "--exact", "--ignored", "--nocapture"]).env("PROXY_TO", to);
        let (process, line) = Process::start(command);
        self.proxies.push(process);
        line.replace("http://", "https://")
    }

    /// Cuts the link of a part, or mends it.
    fn cut(&self, part: usize, cut: bool) {
        match &self.names {
            None => self.cuts[part - 1].store(cut, Ordering::SeqCst),
            Some(names) => {
                let state = if cut { "down" } else { "up" };
                assert!(ip(&format!("-n {} link set w{part} {state}", names[0])));
            }
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.proxies.clear();
        self.clear();
    }
}

#[test]
fn three_hosts_with_delay_loss_frozen_and_killed_parts_and_a_cut_link() {
    let folder = scratch("hosts");
    let solve = "[solve]\nuntil = 0.016\nstep = 1e-3\nsample = 8e-3\n";
    let right = reference(&folder, solve);
    let mut hosts = Hosts::new();
    let keys = make_keys(&folder, &[1, 2, 3].map(|k| hosts.address(k)));
    let serve = |hosts: &Hosts, part: usize, port: u16| {
        let mut command = hosts.on(part, PROGRAM);
        command.arg("serve").arg(quarter_car(&format!("{}.toml", PARTS[part - 1])));
        command.args(["--show", "all", "--quiet", "--listen", &format!("{}:{port}", hosts.address(part))]);
        command.arg("--tls").arg(&keys).arg("--keep").arg(folder.join(format!("kept-{part}")));
        Process::start(command)
    };
    let mut parts: Vec<Option<Process>> = Vec::new();
    let (mut addresses, mut ports) = (Vec::new(), Vec::new());
    for part in 1..4 {
        let (process, url) = serve(&hosts, part, 0);
        ports.push(url.rsplit(':').next().unwrap().parse::<u16>().unwrap());
        addresses.push(hosts.seen(&url));
        parts.push(Some(process));
    }
    let path = assembly(&folder, &[addresses[0].clone(), addresses[1].clone(), addresses[2].clone()], solve);
    let glue = |hosts: &Hosts, out: &Path, args: &[&str]| {
        let mut command = hosts.on(0, PROGRAM);
        command.arg("glue").arg(&path).arg("--tls").arg(&keys).arg("--out").arg(out);
        command.args(["--checkpoint", "4"]).args(args);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // delay and loss alone change nothing
    let out = folder.join("delayed");
    let patient = ["--timeout", "60"];
    let done = finish(glue(&hosts, &out, &patient));
    assert!(done.status.success(), "{}", words(&done));
    assert!(csv(&out) == right);
    // what happens to whom, in the middle of a run
    for (what, part) in [("freeze", 2), ("kill", 3), ("cut", 1), ("kill for good", 2)] {
        let name = PARTS[part - 1];
        let out = folder.join(what);
        let run = glue(&hosts, &out, &["--timeout", "3"]);
        let started = Instant::now();
        while !out.join("checkpoint/interface.state").exists() && started.elapsed() < HANG {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(500));
        match what {
            "freeze" => parts[part - 1].as_ref().unwrap().signal("-STOP"),
            "cut" => hosts.cut(part, true),
            _ => parts[part - 1] = None,
        }
        if what == "kill" {
            parts[part - 1] = Some(serve(&hosts, part, ports[part - 1]).0);
        }
        let done = finish(run);
        // mend it
        match what {
            "freeze" => parts[part - 1].as_ref().unwrap().signal("-CONT"),
            "cut" => hosts.cut(part, false),
            "kill for good" => parts[part - 1] = Some(serve(&hosts, part, ports[part - 1]).0),
            _ => {}
        }
        let said = words(&done);
        println!("{what}: {}", said.lines().find(|l| l.contains("part `")).unwrap_or("ran through"));
        if done.status.success() {
            // it was over before, or the part was taken back
            assert!(csv(&out) == right, "{what}: {said}");
            continue;
        }
        assert_eq!(done.status.code(), Some(1), "{what}: {said}");
        assert!(said.contains(&format!("part `{name}`")) && said.contains("last window was"), "{what}: {said}");
        assert!(said.contains("--resume"), "{what}: {said}");
        let again = finish(glue(&hosts, &out, &["--resume", "--timeout", "60"]));
        assert!(again.status.success(), "{what}, resumed: {}", words(&again));
        assert!(csv(&out) == right, "{what}, resumed");
    }
}

/// A result of some thousand rows, as a run would have written it.
#[cfg(target_os = "linux")]
fn large_result(folder: &Path, columns: usize, rows: usize) {
    use bellcrank_solve::record::{Channel, Header, Recorder};
    let channels = (0..columns).map(|k| Channel { name: format!("c{k}"), unit: "m" }).collect();
    let mut out = bellcrank_results::Folder::new(folder);
    out.begin(&Header { model: "large".into(), channels }).unwrap();
    for k in 0..rows {
        let values: Vec<f64> = (0..columns).map(|c| (k * columns + c) as f64 * 1.000001).collect();
        out.frame(k as f64 * 1e-3, &values).unwrap();
    }
    out.end(&bellcrank_results::json::Object::new(serde_json::json!({"status": "finished"}))).unwrap();
}

/// Each of the heavy answers took 128 MB, all of them at once, and idle connections kept everybody out for half a minute.
#[cfg(target_os = "linux")]
#[test]
fn the_viewer_answers_beside_40_heavy_requests_and_48_idle_connections_within_512_mb() {
    let folder = scratch("viewer");
    large_result(&folder.join("out"), 250, 4000);
    let mut command = Command::new(PROGRAM);
    command.arg("view").arg(folder.join("out")).args(["--no-open", "--port", "0"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let told = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let url = told.into_iter().find_map(|l| l.find("http://").map(|at| l[at..].to_string())).unwrap();
    let viewer = Process(child);
    let address = url.trim_start_matches("http://").split('/').next().unwrap().to_string();
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let (mut bytes, mut first, mut buffer) = (0, Vec::new(), vec![0; 1 << 16]);
        while let Ok(n @ 1..) = stream.read(&mut buffer) {
            if bytes == 0 {
                first = buffer[..n.min(12)].to_vec();
            }
            bytes += n;
        }
        (String::from_utf8_lossy(&first).into_owned(), bytes)
    };
    let idle: Vec<TcpStream> = (0..48).map(|_| TcpStream::connect(&address).unwrap()).collect();
    thread::sleep(Duration::from_millis(1200));
    let slowest = thread::scope(|scope| {
        // eight million values each: 64 MB
        let heavy: Vec<_> =
            (0..40).map(|_| scope.spawn(|| ask("/api/columns?at=0-249*8%2B0".replace("%2B", "+").as_str()))).collect();
        let mut slowest = Duration::ZERO;
        while heavy.iter().any(|h| !h.is_finished()) {
            let began = Instant::now();
            let (status, bytes) = ask("/");
            assert!(status.contains("200") && bytes > 100_000, "{status}: {bytes}");
            slowest = slowest.max(began.elapsed());
            thread::sleep(Duration::from_millis(50));
        }
        for answer in heavy {
            let (status, bytes) = answer.join().unwrap();
            assert!(status.contains("200") && bytes > 64_000_000, "{status}: {bytes}");
        }
        slowest
    });
    drop(idle);
    let status = std::fs::read_to_string(format!("/proc/{}/status", viewer.0.id())).unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap().trim().trim_end_matches(" kB");
    let peak: usize = peak.trim().parse().unwrap();
    say(&format!("viewer: at most {} MB; the page came within {slowest:?}", peak >> 10));
    assert!(peak >> 10 < 512, "{peak} kB");
    assert!(slowest < Duration::from_secs(10), "{slowest:?}");
}

/// The Python of a virtual environment with gRPC, or why there is none.
fn python() -> Result<PathBuf, String> {
    let venv = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("python-part");
    let python = venv.join("bin/python");
    let run = |command: &mut Command| match command.output() {
        Err(e) => Err(format!("{command:?}: {e}")),
        Ok(o) if !o.status.success() => Err(format!("{command:?}: {}", words(&o))),
        Ok(_) => Ok(()),
    };
    let works = || run(Command::new(&python).args(["-c", "import grpc, grpc_tools"]));
    if works().is_err() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        run(Command::new(&python).args(["-m", "pip", "install", "-q", "grpcio>=1.60", "grpcio-tools>=1.60"]))?;
        works()?;
    }
    Ok(python)
}

#[test]
fn a_part_in_python_works_from_the_published_protocol_alone() {
    let python = match python() {
        Ok(python) => python,
        Err(why) => {
            say(&format!("SKIPPED: the Python part was NOT tested, for pip cannot install grpcio here: {why}"));
            return;
        }
    };
    let folder = scratch("python");
    let proto = root().join("proto/bellcrank/part/v1");
    let mut protoc = Command::new(&python);
    protoc.args(["-m", "grpc_tools.protoc"]).arg(format!("-I{}", proto.display()));
    protoc.arg(format!("--python_out={}", folder.display())).arg(format!("--grpc_python_out={}", folder.display()));
    let made = protoc.arg("part.proto").output().unwrap();
    assert!(made.status.success(), "{}", words(&made));
    let keys = make_keys(&folder, &[]);
    let mut command = Command::new(&python);
    command.arg(root().join("examples/python-part/part.py")).args(["--listen", "127.0.0.1:0"]);
    command.arg("--tls").arg(&keys).arg("--keep").arg(folder.join("kept")).env("PYTHONPATH", &folder);
    let (_part, url) = Process::start(command);
    let example = std::fs::read_to_string(root().join("examples/python-part/assembly.toml")).unwrap();
    let example = example.replace("../quarter-car-parts", &quarter_car("").to_string_lossy());
    let example = example.replace("until = 0.6", "until = 0.08");
    let far = folder.join("far.toml");
    std::fs::write(&far, example.replace("http://127.0.0.1:7071", &url)).unwrap();
    let near = folder.join("near.toml");
    let model = format!("model = {:?}\nmethod = \"dopri5\"", quarter_car("wheel.toml"));
    std::fs::write(&near, example.replace("address = \"http://127.0.0.1:7071\"", &model)).unwrap();
    let run = |path: &Path, out: &str, args: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("glue").arg(path).arg("--tls").arg(&keys).arg("--out").arg(folder.join(out)).args(args);
        command.args(["--checkpoint", "10", "--timeout", "30"]);
        let done = finish(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
        assert!(done.status.success(), "{}", words(&done));
        csv(&folder.join(out))
    };
    let (python, rust) = (run(&far, "far", &[]), run(&near, "near", &[]));
    let column = |bytes: &[u8], name: &str| -> Vec<f64> {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let at = text.lines().next().unwrap().split(',').position(|c| c.starts_with(name)).unwrap();
        text.lines().skip(1).map(|l| l.split(',').nth(at).unwrap().parse().unwrap()).collect()
    };
    for name in ["chassis/chassis.y", "suspension/arm.y", "wheel/centre.x", "wheel/centre.y"] {
        let (a, b) = (column(&python, name), column(&rust, name));
        let difference = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(a.len() == b.len() && a.len() > 10 && difference < 1e-6, "{name}: {difference:e}");
    }
    // and it comes back from its checkpoint
    assert_eq!(run(&far, "far", &["--resume"]), python);
}

/// What communication costs: run by hand, its table stands in the book.
#[test]
#[ignore = "measures"]
fn cost_against_window_length_and_round_trip_time() {
    let folder = scratch("cost");
    let keys = make_keys(&folder, &[]);
    let mut parts = Vec::new();
    let urls = [0, 1, 2].map(|k| {
        let mut command = Command::new(PROGRAM);
        command.arg("serve").arg(quarter_car(&format!("{}.toml", PARTS[k]))).args([
            "--listen",
            "127.0.0.1:0",
            "--quiet",
        ]);
        command.arg("--tls").arg(&keys).arg("--keep").arg(folder.join(format!("kept-{k}")));
        let (process, url) = Process::start(command);
        parts.push(process);
        url
    });
    println!("| RTT ms | window ms | exchanges per window | ms per window | ms per simulated ms | at work % |");
    println!("|---|---|---|---|---|---|");
    for rtt in [0u64, 1, 20, 50] {
        let seen = urls.clone().map(|url| {
            if rtt == 0 {
                return url;
            }
            let listen = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listen.local_addr().unwrap();
            let to = url.trim_start_matches("https://").to_string();
            proxy(listen, to, Duration::from_micros(500 * rtt), Duration::ZERO, 0.0);
            format!("https://{address}")
        });
        for window in [0.5e-3, 1e-3, 2e-3, 5e-3] {
            let windows = if rtt > 1 { 40 } else { 400 };
            let until = window * windows as f64;
            let path =
                assembly(&folder, &seen, &format!("[solve]\nuntil = {until}\nstep = {window}\nsample = {until}\n"));
            let mut command = Command::new(PROGRAM);
            let done = command.arg("glue").arg(&path).arg("--tls").arg(&keys).arg("--json").output().unwrap();
            assert!(done.status.success(), "{}", words(&done));
            let s: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
            let n = s["windows"].as_f64().unwrap();
            let parts = s["parts"].as_array().unwrap();
            let sum = |f: &dyn Fn(&serde_json::Value) -> f64| parts.iter().map(f).sum::<f64>();
            let wall = sum(&|p| p["seconds"].as_f64().unwrap());
            let work = sum(&|p| p["network"]["seconds_working"].as_f64().unwrap());
            println!(
                "| {rtt} | {} | {:.2} | {:.2} | {:.2} | {:.0} |",
                window * 1e3,
                s["exchanges"].as_f64().unwrap() / n,
                1e3 * wall / n,
                wall / until,
                100.0 * work / wall
            );
        }
    }
}
