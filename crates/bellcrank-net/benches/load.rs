//! A minute of load on a served part: how long requests take, and how much memory the server holds meanwhile. Then 64 coordinators
//! that ask for attempts without end and are killed: how long others wait for the server.
//!
//!     cargo bench -p bellcrank-net --bench load -- [SECONDS [COORDINATORS]]

#[allow(dead_code)]
#[path = "../tests/network/machines.rs"]
mod machines;

use bellcrank_glue::{Coupling, Remote, Subdomain, Window};
use bellcrank_net::server::runtime;
use bellcrank_net::{
    AccessPolicy, Address, GrpcLink, RemotePart, RunRegistry, Server, ServerLimits, StateFolder, Timeouts,
};
use machines::{FOUR_BAR, offer, part_models, solver, system, temporary};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const WINDOWS: u64 = 50;
const WINDOW: f64 = 1e-3;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    match words.first().map(String::as_str) {
        Some("serve") => serve(),
        Some("endless") => endless(words[1].parse().expect("an address"), words[2].parse().expect("a number")),
        _ => load(
            words.first().map_or(60.0, |s| s.parse().expect("seconds")),
            words.get(1).map_or(50, |n| n.parse().expect("a number")),
        ),
    }
}

/// Another process of this program, and the first line that it says.
fn start(arguments: &[&str]) -> (Child, String) {
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().expect("a process");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    (child, line.trim().to_string())
}

fn serve() {
    let part = part_models(&system(FOUR_BAR), &["b"]).parts.remove(0);
    let states = Arc::new(StateFolder::new(temporary("states-under-load"), 256));
    let registry = Arc::new(RunRegistry::new(offer(part), states, ServerLimits::default()));
    let runtime = runtime().expect("a runtime");
    runtime.block_on(async {
        let server = Server::bind("127.0.0.1:0".parse().expect("an address"), registry, AccessPolicy::default());
        let server = server.expect("a server");
        println!("{}", server.address());
        server.serve(Arc::new(|_: &str| ()), std::future::pending()).await.expect("it serves");
    });
}

fn connect(address: SocketAddr, coupling: Coupling) -> Result<Box<dyn Subdomain>, String> {
    let patience = Timeouts::default();
    let address = Address::new(&format!("http://{address}"), None, None, patience.silence)?;
    let part = RemotePart::connect("crank", Box::new(GrpcLink::new(address)), patience).map_err(|e| e.to_string())?;
    Box::new(part).start(&solver(coupling)).map_err(|e| e.to_string())
}

/// Asks for attempts without end, until it is killed.
fn endless(address: SocketAddr, count: usize) {
    let ready = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                let mut part = connect(address, Coupling::Windows).expect("a part");
                part.begin(&[0.0; 6]).expect("a beginning");
                if ready.fetch_add(1, Ordering::SeqCst) + 1 == count {
                    println!("ready");
                }
                let _ = part.attempt(&Window { number: 0, from: 0.0, to: 1e300 }, &[0.0; 6], &[], false);
            });
        }
    });
}

/// One run of a part, as a coordinator asks for it; its last values as bits, and how long each request took.
fn one(address: SocketAddr, name: &str, times: &mut Vec<f64>) -> Result<Vec<u64>, String> {
    let mut part = connect(address, Coupling::Stabilized)?;
    let mut values = Vec::new();
    let mut timed = |what: &mut dyn FnMut() -> Result<(), bellcrank_glue::PartError>| {
        let began = Instant::now();
        what().map_err(|e| e.to_string())?;
        times.push(began.elapsed().as_secs_f64());
        Ok::<(), String>(())
    };
    timed(&mut || part.begin(&[0.0; 6]).map(|_| ()))?;
    for number in 0..WINDOWS {
        // the next window begins where the last one ended, to the bit
        let window = Window { number, from: WINDOW * number as f64, to: WINDOW * (number + 1) as f64 };
        timed(&mut || part.attempt(&window, &[0.0; 6], &[0.0; 6], false).map(|_| ()))?;
        part.commit().map_err(|e| e.to_string())?;
        if number % 10 == 9 {
            timed(&mut || part.keep(Path::new(""), &format!("{name}-{number}")))?;
        }
    }
    timed(&mut || part.observe(&mut values))?;
    Ok(values.iter().map(|x| x.to_bits()).collect())
}

fn resident(child: &Child) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{}/statm", child.id())).unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|p| p.parse::<f64>().ok()).unwrap_or(f64::NAN) * 4096.0 / 1e6
}

fn load(seconds: f64, coordinators: usize) {
    let (mut server, address) = start(&["serve"]);
    let address: SocketAddr = address.parse().expect("an address");
    let right = one(address, "first", &mut Vec::new()).expect("a run");
    let (over, began) = (AtomicBool::new(false), Instant::now());
    let mut times: Vec<f64> = Vec::new();
    let (mut runs, mut wrong) = (0, Vec::new());
    println!(
        "{coordinators} coordinators for {seconds} s, {WINDOWS} windows and 5 stored states in a run\n\n|  s | memory of the server, MB |\n|---|---|"
    );
    thread::scope(|scope| {
        let all: Vec<_> = (0..coordinators)
            .map(|k| {
                let (over, right) = (&over, &right);
                scope.spawn(move || {
                    let (mut times, mut runs, mut wrong) = (Vec::new(), 0, Vec::new());
                    while !over.load(Ordering::Relaxed) {
                        runs += 1;
                        match one(address, &format!("run{k}x{runs}"), &mut times) {
                            Ok(values) if values == *right => {}
                            Ok(_) => wrong.push("other numbers".to_string()),
                            Err(e) => wrong.push(e),
                        }
                    }
                    (times, runs, wrong)
                })
            })
            .collect();
        for k in 1..=10 {
            thread::sleep(Duration::from_secs_f64(
                (seconds * k as f64 / 10.0 - began.elapsed().as_secs_f64()).max(0.0),
            ));
            println!("| {:.0} | {:.1} |", began.elapsed().as_secs_f64(), resident(&server));
        }
        over.store(true, Ordering::Relaxed);
        for one in all {
            let (t, r, w) = one.join().expect("a thread");
            times.extend(t);
            runs += r;
            wrong.extend(w);
        }
    });
    times.sort_by(f64::total_cmp);
    let at = |part: f64| 1e3 * times[((times.len() - 1) as f64 * part) as usize];
    println!("\n{runs} runs, {} that ended wrong {:?}; {} requests", wrong.len(), wrong.first(), times.len());
    println!(
        "ms of a request: 50 % {:.2}, 90 % {:.2}, 99 % {:.2}, 99.9 % {:.2}, most {:.2}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0)
    );
    let (mut killed, ready) = start(&["endless", &address.to_string(), "64"]);
    assert_eq!(ready, "ready");
    thread::sleep(Duration::from_millis(500));
    killed.kill().expect("it was killed");
    let _ = killed.wait();
    let waits = Instant::now();
    let served = one(address, "after", &mut Vec::new());
    println!(
        "after 64 coordinators with attempts to t = 1e300 were killed, the next one was served within {:.1} s: {:?}",
        waits.elapsed().as_secs_f64(),
        served.map(|v| v == right)
    );
    println!("{:.1} MB at the end", resident(&server));
    let _ = server.kill();
    let _ = server.wait();
}
