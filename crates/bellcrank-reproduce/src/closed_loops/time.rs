//! Seconds to an accuracy: sequential regularization, loop-CG and elimination of the whole system.

use super::models::{chain, net, pendulum};
use super::runs::{Machine, Setup};
use super::{names, short};
use crate::report::{Report, Table};
use bellcrank_solve::engines::Engine;
use bellcrank_solve::methods::tableau::{DORMAND_PRINCE_5, RK2};
use bellcrank_solve::options::Solver;
use bellcrank_view::plot::{Axis, Curve, Figure};
use std::time::Instant;

/// The accuracy in m, and the time.
const ACCURACY: f64 = 1e-4;
const UNTIL: f64 = 0.2;

/// Steps of RK2 with two iterates, and of Dormand and Prince's method, that reach the accuracy on a small machine.
fn steps(small: &Machine, exact: &dyn Fn(&[f64]) -> f64) -> (usize, usize) {
    let mut srm = 25;
    while srm < 20_000 {
        let run = small.srm(&RK2, UNTIL / srm as f64, Setup::default(), UNTIL);
        if run.is_some_and(|run| exact(run.last()) < ACCURACY) {
            break;
        }
        srm *= 2;
    }
    let mut direct = 1;
    while direct < 20_000 {
        let Ok(mut engine) = small.engine(&DORMAND_PRINCE_5, Solver::Direct, Some(UNTIL / direct as f64), 1e-6) else {
            break;
        };
        let mut went = true;
        while went && engine.state().t < UNTIL {
            went = engine.step(UNTIL).is_ok();
            engine.settle();
        }
        if went && exact(&engine.state().q) < ACCURACY {
            break;
        }
        direct *= 2;
    }
    (srm, direct)
}

/// The fastest of some steps.
fn fastest(engine: &mut dyn Engine, steps: usize) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..steps {
        let clock = Instant::now();
        if engine.step(f64::INFINITY).is_err() {
            return f64::NAN;
        }
        engine.settle();
        least = least.min(clock.elapsed().as_secs_f64());
    }
    least
}

/// The mean of some steps: the preconditioner is made anew in some of them.
fn mean(engine: &mut dyn Engine, steps: usize) -> f64 {
    let clock = Instant::now();
    for _ in 0..steps {
        if engine.step(f64::INFINITY).is_err() {
            return f64::NAN;
        }
        engine.settle();
    }
    clock.elapsed().as_secs_f64() / steps as f64
}

/// The diagram of chains and nets.
pub fn diagram(report: &mut Report, quick: bool) {
    let sizes: &[usize] = if quick { &[100, 1000] } else { &[100, 1000, 10_000, 100_000] };
    let reference = Machine::new(&pendulum(6, 6, 0.5));
    let bottom = reference.controlled(Solver::Direct, 1e-11, UNTIL).unwrap_or_default();
    let small_net = Machine::new(&net(6, 6, 0.5, false));
    let at = reference.system.model.bodies.iter().position(|b| b.name == "v6").unwrap_or(0);
    let from = bellcrank_model::Dynamics::layout(&*reference.system).bodies[at].start;
    let place =
        [bottom.get(from).copied().unwrap_or(f64::NAN) + 5.0, bottom.get(from + 1).copied().unwrap_or(f64::NAN)];
    let net_off = |q: &[f64]| small_net.end_off(q, 35, &place);
    let small_chain = Machine::new(&chain(4));
    let known = small_chain.controlled(Solver::Direct, 1e-11, UNTIL).unwrap_or_default();
    let corner = |k: usize| {
        let from = bellcrank_model::Dynamics::layout(&*small_chain.system).bodies[4 * k + 2].start;
        [known.get(from).copied().unwrap_or(f64::NAN), known.get(from + 1).copied().unwrap_or(f64::NAN)]
    };
    let corners: Vec<[f64; 2]> = (0..4).map(corner).collect();
    let chain_off = |q: &[f64]| small_chain.corners_off(q, &corners);
    let kinds: [(&'static str, &str, (usize, usize)); 2] = [
        ("time-chain", "chain of squares", steps(&small_chain, &chain_off)),
        ("time-net", "square net", steps(&small_net, &net_off)),
    ];
    let mut rows = Vec::new();
    for (file, kind, (srm_steps, direct_steps)) in kinds {
        let mut curves: Vec<Curve> = ["srm", "loop-cg", "direct"]
            .iter()
            .map(|name| Curve { name: name.to_string(), points: Vec::new(), marked: true })
            .collect();
        for &n in sizes {
            let w = ((n as f64 / 2.0).sqrt()).round() as usize;
            let (machine, n) = match file {
                "time-chain" => (Machine::new(&chain(n / 4)), n / 4 * 4),
                _ => (Machine::new(&net(w, w, 0.5, false)), (2 * w - 1) * w),
            };
            let count = if n > 20_000 { 2 } else { 4 };
            let (h, long) = (UNTIL / srm_steps as f64, UNTIL / direct_steps as f64);
            let srm = machine.regularized(&RK2, h, Setup::default()).map_or(f64::NAN, |mut e| fastest(&mut e, count));
            let of = |solver: Solver| {
                let engine = machine.engine(&DORMAND_PRINCE_5, solver, Some(long), 1e-6);
                engine.map_or(f64::NAN, |mut e| mean(&mut e, direct_steps.clamp(2, 4)))
            };
            let (cg, direct) = (of(Solver::LoopCg), of(Solver::Direct));
            let totals = [srm * srm_steps as f64, cg * direct_steps as f64, direct * direct_steps as f64];
            curves.iter_mut().zip(totals).for_each(|(c, t)| c.points.push((n as f64, t)));
            let cells = [short(srm), short(cg), short(direct)].into_iter().chain(totals.map(short));
            rows.push([kind.to_string(), n.to_string()].into_iter().chain(cells).collect());
        }
        let growth = |c: &Curve| match (c.points.first(), c.points.last()) {
            (Some(a), Some(b)) => format!("{:.2}", (b.1 / a.1).ln() / (b.0 / a.0).ln()),
            _ => String::new(),
        };
        let exponents = curves.iter().map(growth);
        rows.push([kind.to_string(), "exponent".into()].into_iter().chain(exponents).collect());
        report.figures.push((
            file,
            Figure {
                title: format!("Seconds to {ACCURACY:.0e} m at t = {UNTIL} s: {kind}"),
                abscissa: Axis::logarithmic("n"),
                ordinate: Axis::logarithmic("s"),
                curves,
            },
        ));
        rows.push(vec![
            kind.into(),
            "steps".into(),
            srm_steps.to_string(),
            direct_steps.to_string(),
            direct_steps.to_string(),
        ]);
    }
    report.tables.push(Table {
        title: format!("Seconds to an error of {ACCURACY:.0e} m at t = {UNTIL} s"),
        note: "srm: RK2 with two iterates; the others: Dormand and Prince's method of order 5. The number of steps is the one a \
               small machine needs (doubled until its error is small enough), seconds per step are measured at each n, one \
               thread, with everything: evaluation of the model, factors, projection. The exponent is that of the growth with n; as clocks \
               vary, no claim hangs on it."
            .into(),
        header: names(["machine", "n", "srm step", "loop-cg step", "direct step", "srm", "loop-cg", "direct"]),
        rows,
    });
}
