//! Seconds to an accuracy: sequential regularization, loop-CG and elimination of the whole system.

use super::models::{chain, net, pendulum};
use super::runs::{LoopMachine, Setup};
use super::{names, short};
use crate::clock::processor;
use crate::report::{Report, Table};
use bellcrank_solve::choices::Solver;
use bellcrank_solve::engines::Engine;
use bellcrank_solve::methods::tableau::{DORMAND_PRINCE_5, RK2};
use bellcrank_view::plot::{Axis, Curve, Figure};
use std::time::Instant;

/// The accuracy in m, and the time.
const ACCURACY: f64 = 1e-4;
const UNTIL: f64 = 0.2;

/// A run is stopped when it takes longer, in seconds of the processor.
const LONGEST_RUN: f64 = 20.0;
/// A search for the number of steps goes no further than this.
const MAX_STEPS: usize = 20_000;

/// Whose seconds are told.
const WAYS: [&str; 3] = ["srm", "loop-cg", "direct"];

/// Where some bodies are at the end.
struct Exact(Vec<(usize, Vec<f64>)>);

impl Exact {
    fn off(&self, machine: &LoopMachine, q: &[f64]) -> f64 {
        self.0.iter().map(|(body, place)| machine.end_off(q, *body, place)).fold(0.0, f64::max)
    }
}

/// The far ends of some rods of a machine at the end of an error-controlled run, by the names of the rods.
fn ends(machine: &LoopMachine, rods: &[&str]) -> Vec<Vec<f64>> {
    let q = machine.controlled(Solver::Direct, 1e-10, UNTIL).unwrap_or_default();
    let end = |name: &&str| {
        let body = machine.system.model.bodies.iter().position(|b| b.name == **name);
        let from = body.map_or(0, |b| machine.system.layout().bodies[b].start);
        (0..2).map(|i| q.get(from + i).copied().unwrap_or(f64::NAN)).collect()
    };
    rods.iter().map(end).collect()
}

/// The first corners of a chain of squares; those of 25 squares move like those of any number.
fn exact_chain() -> Exact {
    let places = ends(&LoopMachine::new(&chain(25)), &["c1", "c2", "c3", "c4"]);
    Exact(places.into_iter().enumerate().map(|(k, place)| (4 * k + 2, place)).collect())
}

/// The last joint of a net: it moves like one chain of heavy rods.
fn exact_net(w: usize) -> Exact {
    let bottom = format!("v{w}");
    let mut place = ends(&LoopMachine::new(&pendulum(w, w, 0.5)), &[&bottom]).swap_remove(0);
    place[0] += w as f64 - 1.0;
    Exact(vec![(w * w - 1, place)])
}

/// What was found of one way on one machine.
#[derive(Clone, Copy)]
struct TimedRun {
    steps: usize,
    /// Seconds from the machine to its motion; where the run was stopped, by the steps that it took.
    seconds: f64,
    /// The largest error at the end, or the seconds after which it was stopped and the part of the run that was done.
    end: Result<f64, (f64, f64)>,
}

impl TimedRun {
    fn cell(&self) -> String {
        match self.end {
            Ok(_) => short(self.seconds),
            Err((after, part)) => {
                format!("≥ {} (stopped after {after:.0} s, {:.0} %)", short(self.seconds), 100.0 * part)
            }
        }
    }
}

/// A run with this many steps.
fn run(machine: &LoopMachine, way: &str, steps: usize, exact: &Exact) -> Option<TimedRun> {
    let (wall, h) = (Instant::now(), UNTIL / steps as f64);
    let began = processor(wall);
    let seconds = || 1e-9 * (processor(wall) - began);
    let mut engine: Box<dyn Engine> = match way {
        "srm" => Box::new(machine.regularized(&RK2, h, Setup::default())?),
        "loop-cg" => Box::new(machine.engine(&DORMAND_PRINCE_5, Solver::LoopCg, Some(h), 1e-6).ok()?),
        _ => Box::new(machine.engine(&DORMAND_PRINCE_5, Solver::Direct, Some(h), 1e-6).ok()?),
    };
    let ready = seconds();
    while engine.state().t < UNTIL {
        if engine.step(UNTIL).is_err() {
            return Some(TimedRun { steps, seconds: seconds(), end: Ok(f64::INFINITY) });
        }
        engine.settle();
        let (part, so_far) = (engine.state().t / UNTIL, seconds());
        let patience = if way == "srm" { LONGEST_RUN } else { 3.0 * LONGEST_RUN };
        if so_far > patience && part < 0.99 {
            let seconds = ready + (so_far - ready) / part;
            return Some(TimedRun { steps, seconds, end: Err((so_far, part)) });
        }
    }
    Some(TimedRun { steps, seconds: seconds(), end: Ok(exact.off(machine, &engine.state().q)) })
}

/// The first number of steps, doubled from a given one, that reaches the accuracy or takes too long.
fn reach(machine: &LoopMachine, way: &str, from: usize, exact: &Exact) -> Option<TimedRun> {
    let mut steps = from;
    loop {
        let found = run(machine, way, steps, exact)?;
        if !found.end.is_ok_and(|error| error >= ACCURACY || error.is_nan()) || steps >= MAX_STEPS {
            // the clock of the processor ticks in some ms
            let times = (0.1 / found.seconds.max(1e-3)) as usize;
            let again: Vec<TimedRun> = (0..times).filter_map(|_| run(machine, way, steps, exact)).collect();
            let seconds = again.iter().map(|f| f.seconds).sum::<f64>() / times.max(1) as f64;
            return Some(if times > 1 { TimedRun { seconds, ..found } } else { found });
        }
        steps *= 2;
    }
}

/// The diagram of chains and nets.
pub fn diagram(report: &mut Report, quick: bool) {
    let sizes: &[usize] = if quick { &[100, 1000] } else { &[100, 1000, 10_000, 100_000] };
    let mut rows = Vec::new();
    for (file, kind) in [("time-chain", "chain of squares"), ("time-net", "square net")] {
        let mut curves = WAYS.map(|name| Curve { name: name.into(), points: Vec::new(), marked: true });
        let mut stopped = WAYS.map(|name| Curve { name: format!("{name}, stopped"), points: Vec::new(), marked: true });
        let mut least = [25, 1, 1];
        for &n in sizes {
            let w = ((n as f64 / 2.0).sqrt()).round() as usize;
            let (text, n, exact) = match file {
                "time-chain" => (chain(n / 4), n / 4 * 4, exact_chain()),
                _ => (net(w, w, 0.5, false), (2 * w - 1) * w, exact_net(w)),
            };
            let machine = LoopMachine::at_rest(&text);
            let mut row = vec![kind.to_string(), n.to_string()];
            let mut steps = Vec::new();
            for (k, way) in WAYS.into_iter().enumerate() {
                // what a smaller machine needs, a larger one needs too
                let Some(found) = reach(&machine, way, least[k], &exact) else { continue };
                least[k] = found.steps;
                let curve = if found.end.is_ok() { &mut curves[k] } else { &mut stopped[k] };
                curve.points.push((n as f64, found.seconds));
                row.push(found.cell());
                let error = found.end.map_or("–".into(), short);
                steps.push(format!("{} ({error} m)", found.steps));
            }
            row.append(&mut steps);
            rows.push(row);
        }
        let growth = |c: &Curve| match (c.points.first(), c.points.last()) {
            (Some(a), Some(b)) if b.0 > a.0 => format!("{:.2}", (b.1 / a.1).ln() / (b.0 / a.0).ln()),
            _ => "–".into(),
        };
        rows.push([kind.to_string(), "exponent".into()].into_iter().chain(curves.iter().map(growth)).collect());
        let curves = curves.into_iter().chain(stopped).filter(|c| !c.points.is_empty()).collect();
        report.figures.push((
            file,
            Figure {
                title: format!("Seconds to {ACCURACY:.0e} m at t = {UNTIL} s: {kind}"),
                abscissa: Axis::logarithmic("n"),
                ordinate: Axis::logarithmic("s"),
                curves,
            },
        ));
    }
    report.tables.push(Table {
        title: format!("Seconds to an error of {ACCURACY:.0e} m at t = {UNTIL} s"),
        note: format!(
            "srm: RK2 with two iterates; the others: Dormand and Prince's method of order 5. Fixed steps, their number doubled \
             until the error is small enough; the seconds are those of the processor for the last of these runs, one thread, with \
             everything: orderings, evaluation of the model, factors, projection. A run that took more than {LONGEST_RUN} s, three \
             times that without srm, was stopped at its next step: ≥ is by the part that was done, with as many steps as the next smaller machine needs. The exponent \
             is that of the growth with n, of whole runs; as clocks vary, no claim hangs on it."
        ),
        header: names(["machine", "n", "srm", "loop-cg", "direct", "srm steps (error)", "loop-cg steps", "direct steps"]),
        rows,
    });
}
