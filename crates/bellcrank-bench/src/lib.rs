//! How fast, and how accurate at that speed: large and small machines, beside the programs that others would use.
//!
//! One thread, output at the end only, the building of models left out, seconds of the processor: the median of several
//! measurements, with their spread; ours and the peers' in one run on one machine, because figures of different days do not
//! compare.

pub mod peers;

use bellcrank_model::dynamics::roles::*;
use bellcrank_model::read::read_text;
use bellcrank_model::{Dynamics, Point, System};
use bellcrank_reproduce::clock::{Timing, processor};
use bellcrank_reproduce::coordinate_splitting::bushings::{STIFF, STIFF_END};
use bellcrank_reproduce::machines;
use bellcrank_reproduce::problems;
use bellcrank_reproduce::report::{Report, Table};
use bellcrank_solve::FormulationKind;
use bellcrank_solve::choices::{ErrorBudget, MethodName, Options, Tested};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status, Summary};
use bellcrank_view::plot::{Axis, Curve, Figure};
use peers::Peers;
use std::sync::Arc;
use std::time::Instant;

/// What can be measured.
pub const PROBLEMS: [&str; 7] =
    ["ladder", "spatial-ladder", "net", "chain", "seven-body", "slider-crank", "stiff-bushing"];

/// A program on a problem of some size.
struct Measurement {
    program: String,
    /// Rods, links, masses along a side, or stiffness.
    size: f64,
    /// Bodies and steps that the time is shared by.
    bodies: usize,
    steps: usize,
    time: Timing,
    error: f64,
    note: String,
}

/// A machine to run and what to look at.
struct BenchMachine {
    kind: &'static str,
    size: f64,
    text: String,
    watch: Vec<String>,
    until: f64,
    steps: usize,
    /// The programs to compare with at this size.
    peers: Vec<&'static str>,
}

/// Measures a problem of the list.
pub fn measure(problem: &str, quick: bool, peers: &Peers, tell: &mut dyn FnMut(&str)) -> Report {
    let mut report = Report { title: "Speed and accuracy".into(), ..Report::default() };
    let Some(&name) = PROBLEMS.iter().find(|name| **name == problem) else { return report };
    let rows = match name {
        "ladder" => ladders(quick, peers, tell, "ladder", machines::ladder),
        "spatial-ladder" => ladders(quick, peers, tell, "spatial-ladder", machines::spatial_ladder),
        "net" => nets(quick, peers, tell),
        "chain" => chains(quick, peers, tell),
        "seven-body" => small(peers, tell, "seven-body", problems::SEVEN_BODY, 0.03, 3200),
        "slider-crank" => small(peers, tell, "slider-crank", problems::SLIDER_CRANK, 2.0, 4000),
        _ => bushings(peers, tell),
    };
    show(&mut report, name, &rows);
    report
}

/// The processor at hand, where the system tells.
pub fn processor_name() -> Option<String> {
    let told = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("model name"))?;
    Some(line.trim_start_matches([' ', '\t', ':']).to_string())
}

/// Resident bytes of this process, where the system tells.
fn resident() -> f64 {
    let told = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = told.and_then(|t| t.split_whitespace().nth(1).and_then(|x| x.parse::<f64>().ok()));
    pages.map_or(f64::NAN, |pages| 4096.0 * pages)
}

fn compiled(text: &str, changes: &[String]) -> Arc<System> {
    match read_text("model.toml", text, changes) {
        Ok(read) => Arc::new(read.model.into_system()),
        Err(report) => unreachable!("the models of the bench are right: {report}"),
    }
}

fn simulation(system: &Arc<System>, options: &Options) -> Option<Simulation> {
    let (sample, threads) = (Some(options.until), Some(1));
    // other programs control the error of every step
    let budget = ErrorBudget::Step;
    let options =
        Options { sample, ..options.clone() }.with(|o| (o.resources.threads, o.testing.budget) = (threads, budget));
    Simulation::new(system.clone(), options).ok()
}

/// How a run goes, untimed.
fn run(system: &Arc<System>, options: &Options) -> Option<Summary> {
    let summary = simulation(system, options)?.run(&mut Silent);
    (summary.status == Status::Finished).then_some(summary)
}

/// Runs that are shorter than this are measured in batches.
const BATCH: f64 = 0.02;

/// What takes longer is run once.
const LONG: f64 = 5.0;

/// Batches whose median counts.
const BATCHES: usize = 7;

/// Seconds of the processor for a run, and how it goes.
fn timed(system: &Arc<System>, options: &Options) -> Option<(Timing, Summary)> {
    let clock = Instant::now();
    let mut first = simulation(system, options)?;
    let before = processor(clock);
    let summary = first.run(&mut Silent);
    let seconds = 1e-9 * (processor(clock) - before);
    if summary.status != Status::Finished {
        return None;
    }
    drop(first);
    if seconds >= LONG {
        return Some((Timing::of(vec![seconds]), summary));
    }
    let batch = (BATCH / seconds).ceil().max(1.0) as usize;
    let mut measured = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        let mut ready = (0..batch).map(|_| simulation(system, options)).collect::<Option<Vec<_>>>()?;
        let before = processor(clock);
        ready.iter_mut().for_each(|s| {
            s.run(&mut Silent);
        });
        measured.push(1e-9 * (processor(clock) - before) / batch as f64);
    }
    Some((Timing::of(measured), summary))
}

/// What a peer answers, with the median of as many runs.
fn asked(peers: &Peers, name: &str, problem: &serde_json::Value) -> Result<(Timing, Vec<f64>), String> {
    let first = peers.ask(name, problem)?;
    let mut measured = vec![first.seconds];
    while first.seconds < LONG && measured.len() < BATCHES {
        measured.push(peers.ask(name, problem)?.seconds);
    }
    Ok((Timing::of(measured), first.values))
}

fn watched(summary: &Summary, watch: &[String]) -> Vec<f64> {
    let last = |name: &String| summary.last.iter().find(|(n, _)| n == name).map_or(f64::NAN, |(_, x)| *x);
    watch.iter().map(last).collect()
}

/// The largest difference of any value.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let worst = |m: f64, e: f64| if e <= m { m } else { e }; // keeps NaN
    if a.len() != b.len() { f64::NAN } else { a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, worst) }
}

/// Generalized-α on index 3 with ρ∞ = .9, as the peers run it.
fn in_steps(until: f64, steps: usize) -> Options {
    Options {
        method: MethodName::GeneralizedAlpha,
        formulation: Some(FormulationKind::Index3),
        step: Some(until / steps as f64),
        until,
        ..Options::default()
    }
    .with(|o| o.parameters.rho = 0.9)
}

/// Up to this many bodies the reference is a run of order 8.
const EXACT: usize = 1000;

/// A machine in fixed steps, ours and the peers'.
fn in_fixed_steps(m: &BenchMachine, peers: &Peers, tell: &mut dyn FnMut(&str)) -> Vec<Measurement> {
    tell(&format!("{} of {}", m.kind, m.size));
    let before = resident();
    let system = compiled(&m.text, &[]);
    let bodies = system.model.bodies.len();
    let row = |program: &str, time, error, note: String| Measurement {
        program: program.into(),
        size: m.size,
        bodies,
        steps: m.steps,
        time,
        error,
        note,
    };
    let Some((time, summary)) = timed(&system, &in_steps(m.until, m.steps)) else {
        return vec![row("Bellcrank", Timing::NONE, f64::NAN, "failed".into())];
    };
    let bytes = (resident() - before) / bodies as f64;
    let ours = watched(&summary, &m.watch);
    let exact = Options { method: MethodName::Dop853, rtol: 1e-11, until: m.until, ..Options::default() };
    let exactly = || run(&system, &exact).map(|s| watched(&s, &m.watch));
    let extrapolated = || {
        let finer = watched(&run(&system, &in_steps(m.until, 2 * m.steps))?, &m.watch);
        Some(finer.iter().zip(&ours).map(|(fine, coarse)| fine + (fine - coarse) / 3.0).collect())
    };
    let reference: Vec<f64> = if bodies <= EXACT { exactly() } else { extrapolated() }.unwrap_or_default();
    let s = &summary.statistics;
    let mut note = format!(
        "{:.1} iterations, {:.1} factorizations a step",
        s.iterations as f64 / s.steps as f64,
        s.factorizations as f64 / s.steps as f64
    );
    // what an earlier model left free is not counted
    if bodies >= 10_000 && bytes > 1e3 {
        note += &format!(", {:.1} kB a body with the model", 1e-3 * bytes);
    }
    let mut out = vec![row("Bellcrank", time, distance(&ours, &reference), note)];
    for peer in m.peers.iter().filter(|p| peers.has(p)) {
        let problem = peers::problem(m.kind, &m.text, &m.watch, m.until, m.steps, 1);
        out.push(match asked(peers, peer, &problem) {
            Ok((time, values)) => row(peer, time, distance(&values, &reference), String::new()),
            Err(why) => row(peer, Timing::NONE, f64::NAN, why),
        });
    }
    out
}

fn ladders(
    quick: bool,
    peers: &Peers,
    tell: &mut dyn FnMut(&str),
    kind: &'static str,
    text: fn(usize) -> String,
) -> Vec<Measurement> {
    let squares: &[usize] = match (quick, kind) {
        (true, _) => &[33, 333],
        (false, "ladder") => &[33, 333, 3333, 33_333],
        (false, _) => &[33, 333, 3333],
    };
    let each = squares.iter().flat_map(|&squares| {
        let n = 3 * squares + 1;
        let peer = match (kind, n) {
            ("spatial-ladder", _) => vec![],
            (_, 0..200) => vec!["Exudyn", "MuJoCo"],
            (_, 200..20_000) => vec!["Exudyn"],
            _ => vec![],
        };
        let watch = ["tip.x", "tip.y"].map(String::from).to_vec();
        let m = BenchMachine { kind, size: n as f64, text: text(squares), watch, until: 0.2, steps: 200, peers: peer };
        in_fixed_steps(&m, peers, tell)
    });
    each.collect()
}

fn nets(quick: bool, peers: &Peers, tell: &mut dyn FnMut(&str)) -> Vec<Measurement> {
    let sides: &[usize] = if quick { &[10, 30] } else { &[10, 30, 100] };
    let each = sides.iter().flat_map(|&n| {
        let watch = ["p1_1.x", "p1_1.y", "p1_1.z"].map(String::from).to_vec();
        let (text, peer) = (machines::net(n), vec!["Exudyn"]);
        let m = BenchMachine { kind: "net", size: n as f64, text, watch, until: 0.2, steps: 200, peers: peer };
        in_fixed_steps(&m, peers, tell)
    });
    each.collect()
}

/// Forward dynamics of the open chain at qᵢ = .1 sin i, q̇ᵢ = .1 cos i; the value is the first acceleration.
fn chains(quick: bool, peers: &Peers, tell: &mut dyn FnMut(&str)) -> Vec<Measurement> {
    let sizes: &[usize] = if quick { &[10, 100, 1000] } else { &[10, 100, 1000, 10_000, 100_000] };
    let mut out = Vec::new();
    for &n in sizes {
        tell(&format!("chain of {n}"));
        let text = machines::chain(n);
        let system = compiled(&text, &[]);
        let start = Point::at(&system.initial_state(), system.layout());
        let chain = system.relative(&start);
        let mut p = Point::at(&chain.initial_state(), chain.layout());
        for i in 0..n {
            let k = (i + 1) as f64;
            (p.q[i], p.v[i]) = (0.1 * k.sin(), 0.1 * k.cos());
        }
        let mut w = chain.workspace();
        let times = (1_000_000 / n).max(4);
        let (clock, mut measured) = (Instant::now(), Vec::new());
        for _ in 0..BATCHES {
            let before = processor(clock);
            for _ in 0..times {
                w.invalidate();
                chain.realize(&p, &mut w);
                if chain.recursion(&mut p, &mut w).is_err() {
                    p.vdot[0] = f64::NAN;
                }
            }
            measured.push(1e-9 * (processor(clock) - before) / times as f64);
        }
        let mut rows = vec![("Bellcrank", Timing::of(measured), vec![p.vdot[0]], String::new())];
        let peer: &[&str] = match n {
            0..=100 => &["Pinocchio", "MuJoCo"],
            101..=1000 => &["MuJoCo"],
            _ => &[],
        };
        for name in peer.iter().filter(|name| peers.has(name)) {
            let times = if n < 1000 { 100_000 / n } else { 3 };
            rows.push(match asked(peers, name, &peers::problem("chain", &text, &[], 0.0, 0, times)) {
                Ok((time, values)) => (name, time, values, String::new()),
                Err(why) => (name, Timing::NONE, vec![], why),
            });
        }
        let reference = inverse_check(&chain, &mut p);
        out.extend(rows.into_iter().map(|(program, time, values, note)| Measurement {
            program: program.into(),
            size: n as f64,
            bodies: n,
            steps: 1,
            time,
            error: if program == "Bellcrank" { reference } else { distance(&values, &p.vdot[..1]) },
            note,
        }));
    }
    out
}

/// What inverse dynamics makes of the accelerations of forward dynamics: the largest torque that is left.
fn inverse_check(chain: &bellcrank_model::Relative, p: &mut Point) -> f64 {
    use bellcrank_model::Piece;
    let mut w = chain.workspace();
    chain.realize(p, &mut w);
    let mut left = vec![0.0; p.v.len()];
    chain.add(1.0, Piece::MassAccel, p, &mut w, &mut left);
    chain.add(-1.0, Piece::Force, p, &mut w, &mut left);
    left.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// A small machine: the fastest run with an error of at most 1e-6.
fn small(
    peers: &Peers,
    tell: &mut dyn FnMut(&str),
    kind: &'static str,
    text: &str,
    until: f64,
    steps: usize,
) -> Vec<Measurement> {
    tell(kind);
    let system = compiled(text, &[]);
    let bodies = system.model.bodies.len();
    let watch: Vec<String> = system.model.bodies.iter().map(|b| format!("{}.angle", b.name)).collect();
    let with = |method, rtol| Options { method, rtol, until, ..Options::default() };
    let reference = run(&system, &with(MethodName::Dop853, 1e-12)).map(|s| watched(&s, &watch)).unwrap_or_default();
    let row = |program: &str, time, error, steps, note: String| Measurement {
        program: program.into(),
        size: bodies as f64,
        bodies,
        steps,
        time,
        error,
        note,
    };
    let mut out: Vec<Measurement> = Vec::new();
    for method in [MethodName::Dopri5, MethodName::Dop853, MethodName::Bdf] {
        let mut fastest: Option<Measurement> = None;
        for rtol in (8..=20).map(|k| 10f64.powf(-0.5 * k as f64)) {
            let options = with(method, rtol);
            let Some((time, summary)) = timed(&system, &options) else { continue };
            let error = distance(&watched(&summary, &watch), &reference);
            if error <= 1e-6 && fastest.as_ref().is_none_or(|f| time.seconds < f.time.seconds) {
                let note = format!("{} at rtol {rtol:.0e}", method.name());
                fastest = Some(row("Bellcrank", time, error, summary.statistics.steps, note));
            }
        }
        out.extend(fastest);
    }
    out.sort_by(|a, b| a.time.seconds.total_cmp(&b.time.seconds));
    if peers.has("Exudyn") {
        let problem = peers::problem(kind, text, &watch, until, steps, 1);
        out.push(match asked(peers, "Exudyn", &problem) {
            Ok((time, values)) => row("Exudyn", time, distance(&values, &reference), steps, String::new()),
            Err(why) => row("Exudyn", Timing::NONE, f64::NAN, steps, why),
        });
    }
    out
}

/// Fixed steps of the stiff bushing, for peers and for ourselves beside error control.
const BUSHING_STEPS: usize = 200;

/// The stiff bushing, error-controlled: steps must not grow with the stiffness.
fn bushings(peers: &Peers, tell: &mut dyn FnMut(&str)) -> Vec<Measurement> {
    tell("stiff bushing");
    let watch = ["second.x".to_string(), "second.y".to_string()];
    let (method, test) = (MethodName::Bdf, Some(Tested::Q));
    let options = Options { method, rtol: 1e-4, until: 1.0, ..Options::default() }.with(|o| {
        (o.testing.test, o.parameters.max_order) = (test, 2);
    });
    let mut out = Vec::new();
    for &(k, x, y) in &STIFF_END {
        let row = |program: &str, steps, time, error, note: String| Measurement {
            program: program.into(),
            size: k,
            bodies: 2,
            steps,
            time,
            error,
            note,
        };
        let system = compiled(STIFF, &[format!("parameter.k={k:e}")]);
        let fixed = in_steps(1.0, BUSHING_STEPS);
        for (program, options) in [("Bellcrank", &options), ("Bellcrank, fixed steps", &fixed)] {
            let Some((time, summary)) = timed(&system, options) else { continue };
            let (steps, error) = (summary.statistics.steps, distance(&watched(&summary, &watch), &[x, y]));
            out.push(row(program, steps, time, error, format!("{steps} steps")));
        }
        if peers.has("Exudyn") {
            let text = STIFF.replace("k = 1e5", &format!("k = {k:e}"));
            let problem = peers::problem("stiff-bushing", &text, &watch, 1.0, BUSHING_STEPS, 1);
            out.push(match asked(peers, "Exudyn", &problem) {
                Ok((time, values)) => {
                    let note = format!("{BUSHING_STEPS} steps");
                    row("Exudyn, fixed steps", BUSHING_STEPS, time, distance(&values, &[x, y]), note)
                }
                Err(why) => row("Exudyn, fixed steps", BUSHING_STEPS, Timing::NONE, f64::NAN, why),
            });
        }
    }
    out
}

/// What a problem is called, what its size is, what its error is.
fn words(problem: &str) -> [&'static str; 3] {
    match problem {
        "ladder" => ["Ladder of pinned unit rods in the plane, .2 s in 200 steps", "rods", "tip [m]"],
        "spatial-ladder" => ["The same ladder in space, with redundant loops", "rods", "tip [m]"],
        "net" => ["Net of masses with rigid links, .2 s in 200 steps", "masses along a side", "mass at a corner [m]"],
        "chain" => ["Open chain, one forward dynamics", "links", "torque left, or difference"],
        "seven-body" => ["Seven-body mechanism, .03 s to 1e-6", "bodies", "largest angle [rad]"],
        "slider-crank" => ["Slider-crank, 2 s to 1e-6", "bodies", "largest angle [rad]"],
        _ => ["Pendulum on a stiff bushing, 1 s at rtol 1e-4", "stiffness [N/m]", "position [m]"],
    }
}

fn show(report: &mut Report, problem: &'static str, rows: &[Measurement]) {
    let [title, size, error] = words(problem);
    let header = [size, "program", "time", "spread", "per step", "per body and step", "error", "ratio", "note"];
    let mut table = Table {
        title: title.into(),
        note: format!(
            "Seconds of one processor, the median of {BATCHES} batches, with their spread; error: {error}; ratio: time over ours at the same size."
        ),
        header: header.map(String::from).to_vec(),
        rows: Vec::new(),
    };
    for r in rows {
        let ours =
            rows.iter().filter(|o| o.size == r.size && o.program.starts_with("Bellcrank")).map(|o| o.time.seconds);
        let ratio = r.time.seconds / ours.fold(f64::INFINITY, f64::min);
        let step = r.time.seconds / r.steps as f64;
        table.rows.push(vec![
            if r.size >= 1e5 { format!("{:.0e}", r.size) } else { format!("{}", r.size) },
            r.program.clone(),
            duration(r.time.seconds),
            if r.time.spread.is_finite() { format!("{:.0} %", 100.0 * r.time.spread) } else { "–".into() },
            duration(step),
            duration(step / r.bodies as f64),
            format!("{:.1e}", r.error),
            if ratio.is_finite() { format!("{ratio:.2}") } else { "–".into() },
            r.note.clone(),
        ]);
    }
    report.tables.push(table);
    let mut curves: Vec<Curve> = Vec::new();
    let sizes = rows.iter().any(|r| r.size != rows[0].size);
    for r in rows.iter().filter(|r| r.time.seconds.is_finite()) {
        let per_body = 1e6 * r.time.seconds / (r.steps * r.bodies) as f64;
        // of one size: time over error
        let point = match (sizes, problem) {
            (true, "stiff-bushing") => (r.size, 1e3 * r.time.seconds),
            (true, _) => (r.size, per_body),
            (false, _) => (r.error, 1e3 * r.time.seconds),
        };
        let name = if sizes || r.note.is_empty() { r.program.clone() } else { format!("{} ({})", r.program, r.note) };
        match curves.iter_mut().find(|c| c.name == name) {
            Some(c) => c.points.push(point),
            None => curves.push(Curve { name, points: vec![point], marked: true }),
        }
    }
    let (abscissa, ordinate) = match (sizes, problem) {
        (true, "stiff-bushing") => (size.into(), "time [ms]"),
        (true, _) => (size.into(), "µs per body and step"),
        (false, _) => (format!("error, {error}"), "time [ms]"),
    };
    let (abscissa, ordinate) = (Axis::logarithmic(abscissa), Axis::logarithmic(ordinate));
    report.figures.push((problem, Figure { title: title.into(), abscissa, ordinate, curves }));
}

/// Seconds in a unit that reads well.
fn duration(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "–".into(),
        s if s < 1e-6 => format!("{:.0} ns", 1e9 * s),
        s if s < 1e-3 => format!("{:.3} µs", 1e6 * s),
        s if s < 1.0 => format!("{:.3} ms", 1e3 * s),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_move_as_they_should() {
        let nobody = Peers::find(std::path::Path::new("/nonexistent"), false);
        let nobody = nobody.unwrap_or_else(|e| unreachable!("{e}"));
        let m = |kind, text: String, watch: &[&str]| BenchMachine {
            kind,
            size: 1.0,
            text,
            watch: watch.iter().map(|w| w.to_string()).collect(),
            until: 0.2,
            steps: 200,
            peers: vec![],
        };
        for (machine, bodies) in [
            (m("ladder", machines::ladder(3), &["tip.x", "tip.y"]), 10),
            (m("spatial-ladder", machines::spatial_ladder(3), &["tip.x", "tip.y"]), 10),
            (m("net", machines::net(4), &["p1_1.x", "p1_1.y", "p1_1.z"]), 14),
        ] {
            let rows = in_fixed_steps(&machine, &nobody, &mut |_| {});
            assert_eq!((rows.len(), rows[0].bodies), (1, bodies), "{}", machine.kind);
            assert!(rows[0].error < 2e-6, "{}: {:e}", machine.kind, rows[0].error);
        }
    }

    #[test]
    fn both_ladders_have_one_motion() {
        let end = |text: String| {
            let options = Options { method: MethodName::Dop853, rtol: 1e-9, until: 0.2, ..Options::default() };
            let summary = run(&compiled(&text, &[]), &options)?;
            Some(watched(&summary, &["tip.x".into(), "tip.y".into()]))
        };
        let (plane, space) = (end(machines::ladder(4)), end(machines::spatial_ladder(4)));
        assert!(distance(&plane.unwrap_or_default(), &space.unwrap_or_default()) < 1e-8);
    }
}
