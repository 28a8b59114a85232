//! Motions against known ones, past singular positions, and the paper's pictures.

use super::known::{CHAIN, NETS, SINGULAR};
use super::models::{chain, net};
use super::runs::{LoopMachine, Setup};
use super::{names, short};
use crate::claim::{Against, at_most};
use crate::report::{Missing, Report, Table};
use bellcrank_solve::choices::Solver;
use bellcrank_solve::methods::tableau::RK2;
use bellcrank_view::plot::{Axis, Curve, Figure};

/// Motions against known ones.
pub(super) fn references(report: &mut Report, _: bool) {
    let mut rows = Vec::new();
    for solver in [Solver::Direct, Solver::LoopCg] {
        let machine = LoopMachine::new(&chain(4));
        for (until, corners) in &CHAIN[..2] {
            let off = machine.controlled(solver, 1e-10, *until).map_or(f64::NAN, |q| machine.corners_off(&q, corners));
            rows.push(vec![solver.name().into(), "chain, m = 4".into(), until.to_string(), short(off)]);
            let what = format!("chain of four squares at t = {until}, {}", solver.name());
            report.claim("references", Against::Independent, what).asks("error [m]", off, at_most(5e-12));
        }
        for (w, space, until, place) in NETS {
            let machine = LoopMachine::new(&net(w, w, 0.5, space));
            let off =
                machine.controlled(solver, 1e-10, until).map_or(f64::NAN, |q| machine.end_off(&q, w * w - 1, &place));
            let name = format!("net {w}×{w}{}", if space { " in space" } else { "" });
            rows.push(vec![solver.name().into(), name.clone(), until.to_string(), short(off)]);
            let what = format!("{name} at t = {until}, {}", solver.name());
            report.claim("references", Against::Independent, what).asks("error [m]", off, at_most(5e-12));
        }
    }
    report.tables.push(Table {
        title: "Motions against known ones: dop853, relative tolerance 1e-10".into(),
        note: "Nets in their plane move like one chain of heavy rods, so their motion is known by other means.".into(),
        header: names(["solver", "machine", "t", "error [m]"]),
        rows,
    });
}

/// Past singular positions.
pub(super) fn singular(report: &mut Report, _: bool) {
    let machine = LoopMachine::new(&chain(4));
    let (until, corners) = CHAIN[2];
    let mut rows = Vec::new();
    for (solver, rtol) in [(Solver::Direct, 1e-8), (Solver::LoopCg, 1e-8), (Solver::Direct, 1e-6)] {
        let off = machine.controlled(solver, rtol, until).map_or(f64::NAN, |q| machine.corners_off(&q, &corners));
        rows.push(vec![format!("{}, rtol {rtol:.0e}", solver.name()), short(off)]);
        let what = format!("past four singular positions to t = 1, {}, rtol {rtol:.0e}", solver.name());
        report.claim("singular", Against::Independent, what).asks("error/rtol", off / rtol, at_most(0.3));
    }
    let how = Setup { iterates: 2, ..Setup::default() };
    let run = machine.srm(&RK2, 1e-3, how, until);
    let off = run.map_or(f64::NAN, |run| machine.corners_off(run.last(), &corners));
    rows.push(vec!["srm, RK2, h = .001".into(), short(off)]);
    report.missing.push(Missing {
        table: "singular positions",
        paper: "SRM passes singular positions",
        ours: format!("it passes them and is {off:.2} m off at t = 1 s, on a machine of 4 m (RK2, h = .001, two iterates)"),
        why: "Near a singular position D P Dᵀ loses rank, and the iteration no longer contracts along the direction that is lost. \
              Loop-CG and elimination pass the same positions to the tolerance.",
    });
    let mut events = Vec::new();
    for solver in [Solver::LoopCg, Solver::Direct] {
        events = machine.singular_times(solver, 1e-8, until);
        let near = |t: f64| events.iter().map(|e| (e.0 - t).abs()).fold(f64::INFINITY, f64::min);
        let off = SINGULAR.iter().map(|t| near(*t)).fold(0.0, f64::max);
        let ranks =
            SINGULAR.iter().filter(|t| events.iter().any(|e| (e.0 - **t).abs() < 2e-4 && e.1.contains("rank"))).count();
        let what = format!("each passage is logged with its time and its change of rank, {}", solver.name());
        let claim = report.claim("singular", Against::Independent, what);
        claim.all("passages", ranks, SINGULAR.len()).asks("largest error of the time [s]", off, at_most(1e-4));
    }
    report.tables.push(Table {
        title: "A chain of four squares at t = 1 s, past the positions in which a square's links stand on a line"
            .into(),
        note: format!(
            "Logged: {}",
            events.iter().map(|(t, what)| format!("t = {t:.4} s {what}")).collect::<Vec<_>>().join("; ")
        ),
        header: names(["solver", "error [m]"]),
        rows,
    });
}

/// Figures 4.2 and 4.4.
pub(super) fn motion(report: &mut Report, _: bool) {
    let picture = |title: &str, frames: Vec<(String, Vec<(f64, f64)>)>| Figure {
        title: title.into(),
        abscissa: Axis::linear("x [m], frames side by side"),
        ordinate: Axis::linear("y [m]"),
        curves: frames.into_iter().map(|(name, points)| Curve { name, points, marked: false }).collect(),
    };
    let shifted = |rods: Vec<(f64, f64)>, dx: f64| rods.into_iter().map(|(x, y)| (x + dx, y)).collect();
    let machine = LoopMachine::new(&chain(4));
    // as the paper has them
    let times: Vec<f64> = (0..=11).map(|k| 0.2 * k as f64).collect();
    let frames = machine.frames(1e-8, &times);
    let whole = frames.len() == times.len();
    let chain_frames =
        frames.into_iter().enumerate().map(|(k, (t, rods))| (format!("t = {t:.1} s"), shifted(rods, 6.0 * k as f64)));
    report.figures.push(("figure-4-2", picture("Figure 4.2: motion of the chain of squares", chain_frames.collect())));
    let machine = LoopMachine::new(&net(6, 6, 0.5, false));
    let times: Vec<f64> = (0..=4).map(|k| 0.5 * k as f64).collect();
    let frames = machine.frames(1e-6, &times);
    let both = whole && frames.len() == times.len();
    let net_frames =
        frames.into_iter().enumerate().map(|(k, (t, rods))| (format!("t = {t:.1} s"), shifted(rods, 12.0 * k as f64)));
    report.figures.push(("figure-4-4", picture("Figure 4.4: motion of a net", net_frames.collect())));
    let energy = machine.energy_error(1e-6, 2.0);
    let claim =
        report.claim("motion", Against::Theory, "chain and net run to t = 2.2 and 2; energy of the net at rtol 1e-6");
    claim.all("runs that finished", both as usize, 1);
    claim.asks("error by the work of gravity", energy, at_most(4e-9));
}
