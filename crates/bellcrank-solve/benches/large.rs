//! Large models on the general path: `cargo bench -p bellcrank-solve --bench large [-- NAMES…]`.
//!
//! Ladder, net, spatial ladder, seven-body and slider-crank from model files, as `bellcrank run` takes them; model
//! building is left out. Every repetition of a run does the same work in its k-th step, so the time of a run is the sum
//! over its steps of the least time that step took in any repetition: other work on the machine then hardly counts.
//! Errors are against the same run with a tenth of the step. The last column is the general sparse LU on the same matrix
//! (factors and one solution), timed in the same run.

use bellcrank_math::linear::blocks::BlockMatrix;
use bellcrank_math::linear::solver::LinearSolver;
use bellcrank_math::linear::sparse::SparseLu;
use bellcrank_math::threads::team::Team;
use bellcrank_model::read::read_text;
use bellcrank_model::{Dynamics, Point, System};
use bellcrank_solve::FormulationKind;
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::formulation;
use bellcrank_solve::history::AcceptedStep;
use bellcrank_solve::linear::MatrixPlan;
use bellcrank_solve::newton::Iteration;
use bellcrank_solve::record::OnStep;
use bellcrank_solve::run::{self, Simulation, Status};
use bellcrank_solve::step::Step;
use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

struct Counting;
static LIVE: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { Heap.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { Heap.dealloc(p, layout) }
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_add(size, Ordering::Relaxed);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { Heap.realloc(p, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// m squares of unit rods, pinned at the first node: bodies in the plane, rods or bodies in space.
fn ladder(m: usize, kind: &str) -> String {
    let space = kind == "space";
    let mut text = match space {
        true => String::from("model = { gravity = [0, -9.81, 0] }\n"),
        false => String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n"),
    };
    let mut body = |name: &str, (x, y): (f64, f64), (u, v): (f64, f64)| {
        let (cx, cy) = (0.5 * (x + u), 0.5 * (y + v));
        let upright = x == u;
        let _ = match kind {
            "rods" => writeln!(text, "body.{name} = {{ rod = {{ from = [{x}, {y}], to = [{u}, {v}], mass = 1 }} }}"),
            "space" => {
                let inertia = if upright { "1/12, 0.01, 1/12" } else { "0.01, 1/12, 1/12" };
                let inertia = inertia.replace("1/12", "0.08333333333333333");
                writeln!(text, "body.{name} = {{ mass = 1, inertia = [{inertia}], at = [{cx}, {cy}, 0] }}")
            }
            _ => writeln!(text, "body.{name} = {{ mass = 1, inertia = 0.08333333333333333, at = [{cx}, {cy}] }}"),
        };
    };
    for i in 0..=m {
        let x = i as f64;
        body(&format!("v{i}"), (x, -1.0), (x, 0.0));
        if i < m {
            body(&format!("t{i}"), (x, 0.0), (x + 1.0, 0.0));
            body(&format!("b{i}"), (x, -1.0), (x + 1.0, -1.0));
        }
    }
    let mut count = 0;
    let mut pin = |a: &str, b: &str, x: usize, y: i32| {
        let z = if space { ", 0" } else { "" };
        let axis = if space { ", axis = [0, 0, 1]" } else { "" };
        count += 1;
        let _ = writeln!(
            text,
            "joint.p{count} = {{ type = \"revolute\", between = [\"{a}\", \"{b}\"], at = [{x}, {y}{z}]{axis} }}"
        );
    };
    pin("ground", "v0", 0, 0);
    for i in 0..=m {
        for (row, y) in [("t", 0), ("b", -1)] {
            let v = format!("v{i}");
            if i > 0 {
                pin(&format!("{row}{}", i - 1), &v, i, y);
            }
            if i < m {
                pin(&v, &format!("{row}{i}"), i, y);
            }
        }
    }
    text
}

/// n × n unit masses, joined by unit links, two corners held.
fn net(n: usize) -> String {
    let mut text = String::from("model = { gravity = [0, 0, -9.81] }\n");
    let mut links = String::new();
    for i in 0..n {
        for j in 0..n {
            let _ = writeln!(text, "body.m{i}_{j} = {{ mass = 1, at = [{i}, {j}, 0] }}");
            for (k, l) in [(i + 1, j), (i, j + 1)] {
                if k < n && l < n {
                    let _ = writeln!(
                        links,
                        "joint.l{i}_{j}_{k}_{l} = {{ type = \"distance\", between = [\"m{i}_{j}\", \"m{k}_{l}\"], on = [[0, 0, 0], [0, 0, 0]] }}"
                    );
                }
            }
        }
    }
    let last = n - 1;
    for i in [0, last] {
        let _ = writeln!(
            links,
            "joint.c{i} = {{ type = \"spherical\", between = [\"ground\", \"m{i}_{i}\"], at = [{i}, {i}, 0] }}"
        );
    }
    text + &links
}

fn system(text: &str) -> Arc<System> {
    match read_text("model.toml", text, &[]) {
        Ok(read) => Arc::new(read.model.compile()),
        Err(report) => panic!("{report}"),
    }
}

/// The most memory the process had so far, in MiB; of a case alone where it is the first.
fn peak_mebibytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok()).map_or(f64::NAN, |kib| kib / 1024.0)
}

/// How often phases and the baseline are timed.
const REPEATED: usize = 5;

/// What a run took, and where it ended.
struct Run {
    /// Nanoseconds of every step.
    times: Vec<f64>,
    steps: f64,
    iterations: f64,
    factorizations: f64,
    last: Vec<f64>,
    bytes: usize,
}

fn run(system: &Arc<System>, options: &Options) -> Run {
    let before = LIVE.load(Ordering::Relaxed);
    let mut simulation = match Simulation::new(system.clone(), options.clone()) {
        Ok(simulation) => simulation,
        Err(error) => panic!("{error}"),
    };
    let bytes = LIVE.load(Ordering::Relaxed) - before;
    let clock = Instant::now();
    let (mut before, mut times) = (0.0, Vec::with_capacity(4096));
    let summary = simulation.run(&mut OnStep(|_: &AcceptedStep| {
        let now = clock.elapsed().as_nanos() as f64;
        times.push(now - before);
        before = now;
    }));
    if let Status::Failed(why) = &summary.status {
        println!("failed: {why}");
    }
    let s = summary.statistics;
    Run {
        times,
        steps: s.steps as f64,
        iterations: s.iterations as f64,
        factorizations: s.factorizations as f64,
        last: simulation.state().q.clone(),
        bytes,
    }
}

/// A run with the least time of every step over several.
fn best_run(system: &Arc<System>, options: &Options, repetitions: usize) -> Run {
    let mut best = run(system, options);
    (1..repetitions).for_each(|_| best.keep_least(run(system, options)));
    best
}

impl Run {
    /// Takes the times of those steps in which another run was faster.
    fn keep_least(&mut self, other: Run) {
        self.times.iter_mut().zip(other.times).for_each(|(b, t)| *b = b.min(t));
    }

    /// Nanoseconds in all.
    fn time(&self) -> f64 {
        self.times.iter().sum()
    }
}

/// Microseconds per step and body of every phase of a step, from an engine that measures them.
fn phases(system: &Arc<System>, options: &Options, steps: usize) -> String {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let Ok((start, _)) = bellcrank_solve::start::assemble(&dynamics, &system.initial_state()) else {
        return String::new();
    };
    let Ok(mut engine) = run::engine(&dynamics, options, &start) else { return String::new() };
    let mut least: Vec<Vec<f64>> = Vec::new();
    let mut names = Vec::new();
    for repetition in 0..REPEATED {
        engine.measure();
        let mut taken: Vec<Vec<f64>> = Vec::new();
        let mut before: Vec<f64> = Vec::new();
        for _ in 0..steps {
            let clock = Instant::now();
            if engine.step(options.until).is_err() {
                return String::new();
            }
            engine.settle();
            let all = clock.elapsed().as_secs_f64();
            names = engine.seconds().iter().map(|p| p.0).collect();
            let now: Vec<f64> = engine.seconds().iter().map(|p| p.1).collect();
            before.resize(now.len(), 0.0);
            let mut parts: Vec<f64> = now.iter().zip(&before).map(|(n, b)| n - b).collect();
            parts.push(all - parts.iter().sum::<f64>());
            taken.push(parts);
            before = now;
        }
        if least.is_empty() {
            least = taken;
        } else {
            let pairs = least.iter_mut().flatten().zip(taken.into_iter().flatten());
            pairs.for_each(|(l, t)| *l = l.min(t));
        }
        if repetition + 1 < REPEATED {
            let Ok(again) = run::engine(&dynamics, options, &start) else { return String::new() };
            engine = again;
        }
    }
    let rank =
        engine.rank().map_or(String::new(), |(dropped, pivot)| format!("; {dropped} rows dropped, pivot {pivot:.0e}"));
    names.push("rest");
    let sum = |k: usize| least.iter().map(|step| step[k]).sum::<f64>();
    let per = |s: f64| s * 1e6 / steps as f64 / system.layout().bodies.len() as f64;
    let out: Vec<String> = names.iter().enumerate().map(|(k, name)| format!("{name} {:.3}", per(sum(k)))).collect();
    out.join(", ") + &rank
}

/// Nanoseconds of factors and one solution by the general sparse LU for the matrix of a step.
fn baseline(system: &Arc<System>, h: f64) -> f64 {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let Ok((start, _)) = bellcrank_solve::start::assemble(&dynamics, &system.initial_state()) else {
        return f64::NAN;
    };
    let plan = MatrixPlan { condensed: true, lean: true, ..MatrixPlan::default() };
    let mut step = Step::planned(dynamics, formulation::index3(), Point { t: h, ..start }, plan);
    step.stencil.slopes = bellcrank_model::Slopes { q: 2.0 / h, v: 2.0 / h, z: 2.0 / h };
    let mut matrix = BlockMatrix::new(step.pattern().clone());
    step.form_matrix(Iteration::Full, &mut matrix);
    let mut solver = SparseLu::new();
    if solver.analyze(step.pattern()).is_err() {
        return f64::NAN;
    }
    let mut b: Vec<f64> = (0..matrix.pattern().dimension()).map(|i| (i as f64).sin()).collect();
    let mut best = f64::INFINITY;
    for _ in 0..REPEATED {
        let clock = Instant::now();
        if solver.factor(&matrix).is_err() || solver.solve(&mut b).is_err() {
            return f64::NAN;
        }
        best = best.min(clock.elapsed().as_nanos() as f64);
    }
    best
}

struct Case {
    name: String,
    text: String,
    /// Whether the answer is checked with a tenth of the step.
    checked: bool,
}

fn main() {
    // arguments: parts of names to run, all without
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| name.ends_with(w.as_str()));
    let repetitions: usize = std::env::var("REPETITIONS").ok().and_then(|r| r.parse().ok()).unwrap_or(5);
    let mut cases = Vec::new();
    for (kind, name) in [("plane", "ladder of planar bodies"), ("rods", "ladder of rods"), ("space", "spatial ladder")]
    {
        for m in [33, 333, 3333, 33333] {
            let name = format!("{name} {}", 3 * m + 1);
            if is_wanted(&name) {
                cases.push(Case { name, text: ladder(m, kind), checked: m <= 333 });
            }
        }
    }
    for n in [10, 30, 100] {
        let name = format!("net {n}");
        if is_wanted(&name) {
            cases.push(Case { name, text: net(n), checked: n <= 30 });
        }
    }
    println!("{:32} per step: µs, µs per body, iterations, factorizations; error; bytes per body; sparse LU µs", "");
    for case in cases {
        let built = Instant::now();
        let system = system(&case.text);
        let built = built.elapsed().as_secs_f64();
        let bodies = system.layout().bodies.len() as f64;
        let options = Options {
            method: MethodName::GeneralizedAlpha,
            formulation: Some(FormulationKind::Index3),
            step: Some(1e-3),
            until: 0.2,
            sample: Some(0.2),
            ..Options::default()
        }
        .with(|o| (o.parameters.rho, o.resources.threads) = (0.9, Some(1)));
        let repeated = if bodies > 5e4 { repetitions.min(3) } else { repetitions };
        let two = options.clone().with(|o| o.resources.threads = Some(2));
        let (mut best, mut both) = (run(&system, &options), run(&system, &two));
        for _ in 1..repeated {
            best.keep_least(run(&system, &options));
            both.keep_least(run(&system, &two));
        }
        assert_eq!(both.last, best.last, "{}: two threads compute what one does", case.name);
        let error = match case.checked {
            true => {
                let fine = run(&system, &Options { step: Some(1e-4), ..options.clone() });
                let n = fine.last.len();
                let tip = n.saturating_sub(6)..n;
                best.last[tip.clone()].iter().zip(&fine.last[tip]).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()))
            }
            false => f64::NAN,
        };
        let peak = peak_mebibytes();
        let per_step = best.time() * 1e-3 / best.steps;
        println!(
            "{:32} {per_step:10.1} {:7.3} {:5.2} {:5.2}  {error:8.1e}  {:6.0}  {:9.1}   two threads {:4.2} ×  (built in {built:.1} s, peak {peak:.0} MiB)",
            case.name,
            per_step / bodies,
            best.iterations / best.steps,
            best.factorizations / best.steps,
            best.bytes as f64 / bodies,
            baseline(&system, 1e-3) * 1e-3,
            best.time() / both.time(),
        );
        let steps = if bodies > 5e4 { 20 } else { 100 };
        println!("{:32} µs per body: {}", "", phases(&system, &options, steps));
        println!("{:32} two threads: {}", "", Team::of(2).lead(|| phases(&system, &options, steps)));
    }
    small(is_wanted, repetitions);
}

/// Small machines with error control: the first tolerance with an error below 1e-6.
fn small(is_wanted: impl Fn(&str) -> bool, repetitions: usize) {
    let problems = [
        ("seven-body", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/seven-body/model.toml")), 0.03),
        ("slider-crank", include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/slider-crank/model.toml")), 2.0),
    ];
    for (name, text, until) in problems.into_iter().filter(|p| is_wanted(p.0)) {
        let system = system(text);
        let of = |method, rtol| Options { method, rtol, until, ..Options::default() };
        let reference = run(&system, &of(MethodName::Dop853, 1e-12)).last;
        for method in [MethodName::Auto, MethodName::Dopri5, MethodName::Dop853, MethodName::Bdf] {
            for exponent in 16..40 {
                let options = of(method, 10f64.powf(-0.25 * exponent as f64));
                let best = best_run(&system, &options, 10 * repetitions);
                let error = best.last.iter().zip(&reference).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
                if error <= 1e-6 {
                    println!(
                        "{name:32} {:8} rtol {:.1e}: {:8.3} ms, error {error:.1e}, {} steps, {:.2} µs per step",
                        method.name(),
                        options.rtol,
                        best.time() * 1e-6,
                        best.steps,
                        best.time() * 1e-3 / best.steps
                    );
                    break;
                }
            }
        }
    }
}
