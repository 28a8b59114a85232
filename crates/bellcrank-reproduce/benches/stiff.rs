//! Stiff machines: the iteration `auto` beside the others, and how default runs grow with stiffness.
//!
//!     cargo bench -p bellcrank-reproduce --bench stiff [iterations | growth | random | NAME] [--one METHOD K]
//!
//! Twelve machines at five stiffnesses, and a hundred random ones. Counts decide; seconds are not told. Machines beyond the bounds (1.05
//! times the best iteration, steps that grow by more than 1.5) are listed at the end, each with its reason. `--one` runs a single
//! machine once, for callgrind.

use bellcrank_model::System;
use bellcrank_model::read::read_text;
use bellcrank_reproduce::coordinate_splitting::bushings::{LADDER, STIFF};
use bellcrank_solve::choices::{ErrorBudget, MethodName, Options, Tested};
use bellcrank_solve::newton::Iteration;
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status, Summary};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A machine with a parameter k.
struct Machine {
    name: String,
    text: String,
    /// What follows k, beside the parameter itself.
    changes: fn(f64) -> Vec<(&'static str, f64)>,
    until: f64,
}

const STIFFNESSES: [f64; 5] = [1e5, 1e6, 1e7, 1e8, 1e9];

/// A machine of this bench, or an example.
fn text(path: &str) -> String {
    let path = format!("{}/{path}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn own(name: &str) -> String {
    text(&format!("benches/stiff/{name}"))
}

fn example(name: &str) -> String {
    text(&format!("../../examples/{name}"))
}

fn k_alone(k: f64) -> Vec<(&'static str, f64)> {
    vec![("k", k)]
}

fn machines() -> Vec<Machine> {
    let alone: [(&str, String, f64); 10] = [
        ("radial", own("L_radial"), 2.0),
        ("gear", own("J_gear"), 2.0),
        ("driven", own("H_driven"), 1.2),
        ("top", own("top"), 1.0),
        ("four-bar", own("four-bar"), 2.0),
        ("four-bar in space", own("spatial-four-bar"), 2.0),
        ("arm", own("arm"), 1.0),
        ("two bodies", STIFF.into(), 1.0),
        ("ladder", LADDER.into(), 2.0),
        ("pendulum", example("stiff-bushing"), 1.0),
    ];
    let mut all: Vec<Machine> = alone
        .into_iter()
        .map(|(name, text, until)| Machine { name: name.into(), text, changes: k_alone, until })
        .collect();
    let suspension = |k| vec![("hard", k), ("soft", 0.25 * k), ("tilt", 5e-4 * k), ("twist", 1.5e-5 * k)];
    all.push(Machine { name: "suspension".into(), text: example("suspension"), changes: suspension, until: 0.5 });
    let corner = |k| vec![("krub", k), ("kax", 0.25 * k), ("ktilt", 5e-4 * k), ("ktw", 1e-5 * k)];
    all.push(Machine { name: "corner".into(), text: example("wishbone-corner"), changes: corner, until: 0.5 });
    all
}

/// Numbers between 0 and 1 that are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * self.roll()
    }

    fn below(&mut self, n: usize) -> usize {
        ((self.roll() * n as f64) as usize).min(n - 1)
    }
}

/// A chain of two to five rods in space on pins, balls and bushings, one bushing at least, perhaps closed by a stiff spring; with
/// little damping, some or none.
fn random(seed: u64) -> Machine {
    let mut dice = Dice(seed.wrapping_mul(0x9E3779B97F4A7C15) + 1);
    let n = 2 + dice.below(4);
    let damping = [0.0, 0.002, 0.02, 0.1][dice.below(4)];
    let mut text = String::from("[model]\ngravity = [0, 0, -9.81]\n[parameter]\nk = 1e7\n");
    let mut at = vec![[0.0, 0.0, 0.0]];
    for i in 0..n {
        let last = at[i];
        let next =
            [last[0] + dice.between(0.3, 0.8), last[1] + dice.between(-0.3, 0.3), last[2] + dice.between(-0.3, 0.3)];
        let mass = dice.between(0.5, 4.0);
        let _ = writeln!(text, "[body.r{i}]\nrod = {{ from = {last:?}, to = {next:?}, mass = {mass}, radius = 0.05 }}");
        at.push(next);
    }
    let soft = dice.below(n);
    for i in 0..n {
        let (before, p) = (if i == 0 { "ground".into() } else { format!("r{}", i - 1) }, at[i]);
        let kind = if i == soft { 2 } else { dice.below(3) };
        let _ = match kind {
            0 => writeln!(
                text,
                "[joint.j{i}]\ntype = \"revolute\"\nbetween = [\"{before}\", \"r{i}\"]\nat = {p:?}\naxis = [{}, 1, {}]",
                dice.between(-0.4, 0.4),
                dice.between(-0.4, 0.4)
            ),
            1 => writeln!(text, "[joint.j{i}]\ntype = \"spherical\"\nbetween = [\"{before}\", \"r{i}\"]\nat = {p:?}"),
            _ => {
                let (turn, c) = ([0.0, 1e-3, 1e-2][dice.below(3)], format!("\"{damping}*sqrt(k)\""));
                let d = format!("\"{}*sqrt(k)+0.05\"", damping * turn);
                let r = if turn == 0.0 { "20".to_string() } else { format!("\"{turn}*k\"") };
                writeln!(
                    text,
                    "[force.b{i}]\ntype = \"bushing\"\nbetween = [\"{before}\", \"r{i}\"]\nat = {p:?}\nstiffness = [\"k\", \"{}*k\", \"k\", {r}, {r}, {r}]\n\
                     damping = [{c}, {c}, {c}, {d}, {d}, {d}]",
                    dice.between(0.3, 3.0)
                )
            }
        };
    }
    if dice.below(3) == 0 {
        // a strut that is loaded from the start
        let (tip, foot) = (at[n], [at[n][0], at[n][1], at[n][2] - 0.7]);
        let _ = writeln!(
            text,
            "[force.strut]\ntype = \"spring-damper\"\nbetween = [\"ground\", \"r{}\"]\nat = [{foot:?}, {tip:?}]\nstiffness = \"0.1*k\"\n\
             damping = \"{damping}*sqrt(k)\"\nlength = 0.7",
            n - 1
        );
    }
    Machine { name: format!("random {seed}"), text, changes: k_alone, until: 0.5 }
}

impl Machine {
    fn system(&self, k: f64) -> Result<Arc<System>, String> {
        let changes: Vec<String> =
            (self.changes)(k).iter().map(|(name, x)| format!("parameter.{name}={x:e}")).collect();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/model.toml");
        let read = read_text(folder, &self.text, &changes).map_err(|_| "the model does not read".to_string())?;
        Ok(Arc::new(read.model.compile()))
    }

    fn run(&self, k: f64, options: Options) -> Result<Found, String> {
        let options = Options { until: self.until, ..options };
        let system = self.system(k)?;
        let mut simulation = Simulation::new(system.clone(), options).map_err(|e| format!("{e}"))?;
        let summary = simulation.run(&mut Silent);
        let coordinates = system.layout().bodies.clone();
        let q = &simulation.state().q;
        // places of the bodies
        let places =
            coordinates.iter().flat_map(|b| q[b.start..b.start + if b.len() == 3 { 2 } else { 3 }].to_vec()).collect();
        Ok(Found { summary, places })
    }
}

struct Found {
    summary: Summary,
    places: Vec<f64>,
}

impl Found {
    fn finished(&self) -> bool {
        self.summary.status == Status::Finished
    }

    fn counts(&self) -> String {
        let s = &self.summary.statistics;
        format!(
            "{}/{}/{}/{}/{}",
            s.steps, s.residual_evaluations, s.jacobian_evaluations, s.error_test_failures, s.convergence_failures
        )
    }

    fn off(&self, other: &Found) -> f64 {
        self.places.iter().zip(&other.places).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }
}

/// As the audit ran it: positions tested, orders up to 2.
fn by_iteration(iteration: Iteration, most: usize) -> Options {
    let (method, rtol) = (MethodName::Bdf, 1e-3);
    Options { method, iteration: Some(iteration), rtol, ..Options::default() }.with(|o| {
        (o.testing.test, o.parameters.max_order) = (Some(Tested::Q), 2);
        o.testing.budget = ErrorBudget::Step;
        o.resources.max_steps = Some(most);
    })
}

const ITERATIONS: [Iteration; 5] = [
    Iteration::Auto,
    Iteration::Full,
    Iteration::Simplified,
    Iteration::CoordinateSplit,
    Iteration::CoordinateModified,
];

/// Work on several threads.
fn share<T: Sync, R: Send + Default + Clone>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), std::sync::Mutex::new(vec![R::default(); items.len()]));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(i) else { break };
                    let found = work(item);
                    done.lock().unwrap_or_else(|e| e.into_inner())[i] = found;
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(|e| e.into_inner())
}

/// A machine of a table: by how much it is off the bound, its row, and the reason if it is beyond.
type Judged = (f64, String, Option<String>);

/// Why `auto` takes more evaluations than the best of the others.
fn reason_of_evaluations(auto: &Summary, best: &(Iteration, Summary)) -> String {
    let (name, best) = (best.0.name(), &best.1.statistics);
    let auto = &auto.statistics;
    let per_step = |f: usize, steps: usize| f as f64 / steps.max(1) as f64;
    let own = per_step(auto.residual_evaluations, auto.steps);
    let other = per_step(best.residual_evaluations, best.steps);
    let steps = auto.steps as f64 / best.steps.max(1) as f64;
    let why = match (steps > 1.02, own > 1.02 * other) {
        (true, false) => {
            format!("other steps: {} against {} of {name}, {own:.2} evaluations in each", auto.steps, best.steps)
        }
        (false, _) => format!("more corrections: {own:.2} evaluations in a step against {other:.2} of {name}"),
        (true, true) => format!(
            "other steps and more corrections: {} of {own:.2} evaluations against {} of {other:.2} of {name}",
            auto.steps, best.steps
        ),
    };
    format!("{why}, {} matrices against {}", auto.jacobian_evaluations, best.jacobian_evaluations)
}

/// Why steps grow with the stiffness: what is left of it with orders up to 2, and with positions tested alone.
fn reason_of_growth(m: &Machine, soft: f64, stiff: f64) -> String {
    let by = |order: usize, test: Tested| {
        let options = Options { method: MethodName::Bdf, ..Options::default() }.with(|o| {
            (o.testing.test, o.parameters.max_order) = (Some(test), order);
            o.testing.budget = ErrorBudget::Step;
            o.resources.max_steps = Some(300_000);
        });
        let steps = |k| m.run(k, options.clone()).map_or(f64::NAN, |found| found.summary.statistics.steps as f64);
        steps(stiff) / steps(soft)
    };
    let [all, low] = [5, 2].map(|order| by(order, Tested::QV));
    let [positions, both] = [5, 2].map(|order| by(order, Tested::Q));
    let why = match (both > BOUND, positions > BOUND, low > BOUND) {
        (true, ..) => "a vibration whose displacement is above the tolerance is followed",
        (_, true, true) => {
            "a vibration whose velocity is above the tolerance is followed, and orders above 2 are unstable near the imaginary axis"
        }
        (_, false, true) => "a vibration whose velocity is above the tolerance is followed",
        (_, _, false) => "orders above 2 are unstable near the imaginary axis",
    };
    format!(
        "{why} (bdf × {all:.1}, orders up to 2 × {low:.1}, positions tested alone × {positions:.1}, both × {both:.1} from {soft:.0e} to \
         {stiff:.0e})"
    )
}

/// Steps may grow by this factor over all stiffnesses.
const BOUND: f64 = 1.5;

/// Lists what is beyond the bounds.
fn list_beyond(rows: &[Judged]) {
    for (ratio, row, reason) in rows.iter().filter(|r| r.2.is_some()) {
        let name: String = row.chars().take(26).collect();
        println!("beyond: {} {ratio:.2}: {}", name.trim_end(), reason.as_deref().unwrap_or_default());
    }
}

/// `auto` by the best of the others that ends where `full` with a hundredth of the tolerance does.
fn iterations(machines: &[Machine], stiffnesses: &[f64]) {
    let all: Vec<(&Machine, f64)> = machines.iter().flat_map(|m| stiffnesses.iter().map(move |k| (m, *k))).collect();
    let rows = share(&all, |(m, k)| -> Judged {
        let auto = match m.run(*k, by_iteration(Iteration::Auto, 100_000)) {
            Ok(found) => found,
            Err(why) => return (f64::NAN, format!("{:20} {k:.0e} {why}", m.name), Some("it does not run".into())),
        };
        let f = auto.summary.statistics.residual_evaluations;
        let most = 20 * f;
        let mut cells = vec![auto.counts()];
        let mut best: Option<(Iteration, Summary)> = None;
        for iteration in &ITERATIONS[1..] {
            let Ok(other) = m.run(*k, by_iteration(*iteration, most)) else { continue };
            let astray = other.off(&auto) > 0.02;
            let mark = if !other.finished() {
                " failed"
            } else if astray {
                " astray"
            } else {
                ""
            };
            cells.push(format!("{}{mark}", other.counts()));
            let of = |s: &Summary| s.statistics.residual_evaluations;
            if mark.is_empty() && best.as_ref().is_none_or(|b| of(&other.summary) < of(&b.1)) {
                best = Some((*iteration, other.summary));
            }
        }
        let least = best.as_ref().map_or(f64::INFINITY, |b| b.1.statistics.residual_evaluations as f64);
        let ratio = if auto.finished() { f as f64 / least } else { f64::INFINITY };
        let why = match &best {
            Some(best) => reason_of_evaluations(&auto.summary, best),
            None => "it does not finish".into(),
        };
        let row = format!("{:20} {k:.0e} {ratio:5.2}  {}", m.name, cells.join("  "));
        (ratio, row, (ratio > 1.05).then_some(why))
    });
    println!("machine, k, auto by the best, then steps/f/J/etf/ctf of auto, full, simplified, cs, cm");
    rows.iter().for_each(|(_, row, _)| println!("{row}"));
    list_beyond(&rows);
    let beyond = |most: f64| rows.iter().filter(|r| r.0.is_nan() || r.0 > most).count();
    println!("{} runs: {} above 1.05, {} above 1.10", rows.len(), beyond(1.05), beyond(1.10));
}

/// Steps of default runs over stiffness, and of generalized-alpha.
fn growth(machines: &[Machine], stiffnesses: &[f64]) {
    let rows = share(machines, |m| -> Judged {
        let mut out = String::new();
        let mut steps = Vec::new();
        for &k in stiffnesses {
            let tight = m.run(
                k,
                Options { method: MethodName::Bdf, rtol: 1e-8, ..Options::default() }
                    .with(|o| o.testing.budget = ErrorBudget::Step),
            );
            let cell = |options: Options| match (m.run(k, options), &tight) {
                (Ok(found), Ok(tight)) => {
                    let mark = if found.finished() { "" } else { " failed" };
                    (found.summary.statistics.steps, format!("{} {:.1e}{mark}", found.counts(), found.off(tight)))
                }
                (Err(why), _) => (0, why),
                (_, Err(why)) => (0, why.clone()),
            };
            let own = cell(Options::default().with(|o| o.testing.budget = ErrorBudget::Step));
            let low = cell(Options { method: MethodName::Bdf, ..Options::default() }.with(|o| {
                o.testing.budget = ErrorBudget::Step;
                o.parameters.max_order = 2;
            }));
            let alpha = cell(
                Options { method: MethodName::GeneralizedAlpha, ..Options::default() }
                    .with(|o| o.testing.budget = ErrorBudget::Step),
            );
            steps.push(own.0);
            let _ = writeln!(out, "{:20} {k:.0e}  {}   bdf2 {}   gen-alpha {}", m.name, own.1, low.1, alpha.1);
        }
        let (least, most) = (steps.iter().min().copied().unwrap_or(0), steps.iter().max().copied().unwrap_or(0));
        let ratio = most as f64 / least as f64;
        let _ = write!(out, "{:20} most by fewest steps {ratio:.2}", m.name);
        let ends = stiffnesses.first().zip(stiffnesses.last()).filter(|_| ratio.is_nan() || ratio > BOUND);
        (ratio, out, ends.map(|(soft, stiff)| reason_of_growth(m, *soft, *stiff)))
    });
    println!("machine, k, steps/f/J/etf/ctf of a default run and its distance from one at 1e-8 [m]");
    rows.iter().for_each(|(_, row, _)| println!("{row}"));
    list_beyond(&rows);
    println!(
        "{} machines: {} grow by more than 1.5",
        rows.len(),
        rows.iter().filter(|r| r.0.is_nan() || r.0 > BOUND).count()
    );
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let what = wanted.first().map_or("", String::as_str);
    let named = |m: &Machine| m.name == what;
    if let [_, flag, method, k] = &wanted[..]
        && flag == "--one"
    {
        let k: f64 = k.parse().unwrap_or(1e7);
        let options = match Iteration::by_name(method) {
            Some(iteration) => by_iteration(iteration, 100_000),
            None => Options::default(),
        };
        for m in machines().iter().filter(|m| named(m)) {
            println!("{}", m.run(k, options.clone()).map_or_else(|why| why, |found| found.counts()));
        }
        return;
    }
    if let Some(one) = machines().into_iter().find(|m| named(m)) {
        iterations(std::slice::from_ref(&one), &STIFFNESSES);
        return growth(&[one], &STIFFNESSES);
    }
    if matches!(what, "" | "iterations") {
        iterations(&machines(), &STIFFNESSES);
    }
    if matches!(what, "" | "growth") {
        growth(&machines(), &STIFFNESSES);
    }
    if matches!(what, "" | "random") {
        let all: Vec<Machine> = (0..100).map(random).collect();
        let stiffness = [1e5, 1e7, 1e9];
        // each at one stiffness
        for (j, k) in stiffness.iter().enumerate() {
            let some: Vec<Machine> = (0..100).filter(|i| i % 3 == j).map(|i| random(i as u64)).collect();
            iterations(&some, &[*k]);
        }
        growth(&all[..30], &stiffness);
    }
}
