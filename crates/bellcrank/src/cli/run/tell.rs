//! What `run` tells people: the start, the end, the accuracy.

use crate::cli::output::{figure, plural};
use crate::cli::tell;
use bellcrank_model::file::diagnostic::escaped;
use bellcrank_model::file::suggest;
use bellcrank_model::system::System;
use bellcrank_solve::check::{Check, Severity};
use bellcrank_solve::run::{Energy, Names, Simulation, Summary};
use bellcrank_solve::verify::{self, Verification};
use std::path::PathBuf;

/// Words that may hold the user's names, in one line.
pub fn line(line: String) {
    tell(&escaped(&line));
}

/// The model, what is redundant in it, what `check` found, and how it was assembled.
pub fn start(system: &System, simulation: &Simulation, found: &Check) {
    const MOST: usize = 8;
    let model = &system.model;
    let a = simulation.assembly();
    let redundant = match a.redundant {
        0 => String::new(),
        n => format!(", {}", plural(n, "redundant equation", "redundant equations")),
    };
    line(format!(
        "{}: {}, {}, {}; {}{redundant}",
        model.name,
        plural(model.bodies.len(), "body", "bodies"),
        plural(model.joints.len(), "joint", "joints"),
        plural(model.forces.len(), "force", "forces"),
        plural(a.degrees_of_freedom, "degree of freedom", "degrees of freedom"),
    ));
    for r in found.redundancies.iter().take(MOST) {
        line(format!("  redundant: {} of {}", r.directions.join(", "), r.of));
    }
    if found.redundancies.is_empty() {
        for (joint, rows) in a.redundant_joints.iter().take(MOST) {
            line(format!("  redundant: {} of {joint}", plural(*rows, "equation", "equations")));
        }
    }
    simulation.plan().notes().for_each(|note| line(note.to_string()));
    let (shown, more) = found.shown();
    for f in shown.into_iter().filter(|f| f.severity != Severity::Note || f.kind == "unconnected") {
        line(format!("{}: {}", f.severity.word(), f.message));
    }
    more.into_iter().for_each(line);
    if !a.moved.is_empty() {
        let iterations = plural(a.iterations, "iteration", "iterations");
        line(format!("assembled in {iterations} (joints were open by {:.3e} m):", a.residual.0));
        for m in a.moved.iter().take(MOST) {
            line(format!("  {} moved by {:.3e} m and {:.3e} rad", m.name, m.distance, m.angle));
        }
        if a.moved.len() > MOST {
            line(format!("  and {} more", a.moved.len() - MOST));
        }
    }
    if !a.followed.is_empty() {
        let names: Vec<&str> = a.followed.iter().take(MOST).map(|f| f.name.as_str()).collect();
        let more = a.followed.len().saturating_sub(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        line(format!("loops move along at the start: {}{more}", names.join(", ")));
    }
}

/// The achieved accuracy, in the user's units.
pub fn verification(verification: &Result<Verification, String>, summary: &Summary) {
    let v = match verification {
        Ok(v) => v,
        Err(why) => return line(format!("accuracy: not known: {why}")),
    };
    let of = |unit: &str| if unit.is_empty() { "value".to_string() } else { unit.to_string() };
    match v.worst() {
        Some(w) => line(format!(
            "accuracy: the largest error is {:.2e} {} in {} at t = {:.6} s, {:.1e} of the largest {}",
            w.error,
            w.unit,
            w.name,
            w.t,
            w.relative(),
            of(w.unit)
        )),
        None => line("accuracy: no channels were recorded".into()),
    }
    let rows: Vec<_> = v.by_unit();
    let width = rows.iter().map(|d| d.unit.chars().count()).max().unwrap_or(0);
    for d in &rows {
        line(format!("  {:>9.2e} {:width$}  {}", d.error, d.unit, d.name));
    }
    if let Some(doubt) = v.agreement().doubt() {
        line(format!("  {doubt}"));
    }
    if let Some(t) = v.agrees_until {
        line(format!("  all runs agree to 1 % until t = {t:.6} s"));
    }
    let order = v.order.map_or(String::new(), |p| match verify::nominal_order(summary.names.method) {
        Some(n) if v.fixed => format!(", order {p:.2} ({} has {n})", summary.names.method),
        _ => format!(", order {p:.2}"),
    });
    let factor = v.factor.map_or(String::new(), |f| {
        let finer = if v.fixed { "a step 2.1 times finer" } else { "a tenth of the tolerance, with shorter steps," };
        format!("; {finer} makes it {f:.1} times smaller{order}")
    });
    line(format!("  compared with {}{factor}", v.against));
}

/// What the run cannot vouch for, also where nothing else is told.
pub fn doubts(summary: &Summary) {
    summary.doubts.iter().for_each(|doubt| line(format!("warning: {doubt}")));
}

/// What the run took and where it ended.
pub fn end(summary: &Summary, out: Option<&PathBuf>) {
    let s = &summary.statistics;
    let Names { method, formulation, iteration } = summary.names;
    summary.plan.revision_notes().for_each(|note| line(note.to_string()));
    if let Some(solver) = &summary.solver {
        line(format!("solver: {solver}"));
    }
    line(format!(
        "{method} on {formulation} ({iteration}): {}, {} rejected, {} evaluations, {} factorizations, {:.3} s",
        plural(s.steps, "step", "steps"),
        s.error_test_failures + s.convergence_failures,
        s.residual_evaluations,
        s.factorizations,
        summary.wall_seconds
    ));
    particulars(summary);
    const EVENTS: usize = 5;
    for event in summary.events.iter().take(EVENTS) {
        line(event.to_string());
    }
    if summary.events.len() > EVENTS {
        line(format!("and {}", plural(summary.events.len() - EVENTS, "more event", "more events")));
    }
    if let Some(error) = summary.error {
        line(format!("error: about {error:.1e} of the size of the machine, or rad, estimated while it ran"));
    }
    line(format!("drift: position {:.2e} m, velocity {:.2e} m/s", summary.drift.position, summary.drift.velocity));
    let Energy { initial, last, largest_error: error, .. } = summary.energy;
    let (initial, last) = (figure(initial), figure(last));
    line(format!("energy: {initial} J at the start, {last} J at the end, largest error of the balance {error:.2e} J"));
    last_values(summary);
    if let Some(out) = out {
        line(format!("results: {}", out.display()));
    }
}

/// What only some runs have: split coordinates, a solver of loops.
fn particulars(summary: &Summary) {
    if let Some(split) = &summary.split {
        line(format!(
            "split: {} independent and {} dependent coordinates, largest |Q| {:.2} (1 is ideal), chosen anew {}{}",
            split.independent,
            split.dependent,
            split.worst,
            plural(split.changes, "time", "times"),
            match split.redundant.is_empty() {
                true => String::new(),
                false => format!("; redundant: {}", split.redundant.join(", ")),
            }
        ));
    }
    if let Some(loops) = &summary.loops {
        let equations = plural(loops.equations, "equation of loops", "equations of loops");
        line(match loops.epsilon {
            Some((epsilon, limit)) => format!(
                "{}: {equations}, ε = {epsilon:.3e} s (stable from {limit:.3e} s), drift of loops by iterate {}",
                loops.solver,
                loops.drift.iter().map(|(d, _)| format!("{d:.2e} m")).collect::<Vec<_>>().join(", ")
            ),
            None => format!(
                "{}: {equations}, {:.1} iterations each time, preconditioner made {}",
                loops.solver,
                loops.iterations as f64 / loops.solves.max(1) as f64,
                plural(loops.renewals, "time", "times")
            ),
        });
    }
}

/// The last values of the first channels.
fn last_values(summary: &Summary) {
    const MOST: usize = 24;
    line(format!("t = {} s:", summary.t));
    let name = |name: &str| escaped(suggest::quoted(name).trim_matches('`'));
    let shown: Vec<(String, f64)> = summary.last.iter().take(MOST).map(|(n, x)| (name(n), *x)).collect();
    let width = shown.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in shown {
        line(format!("  {name:width$}  {:>17}", figure(value)));
    }
    if summary.last.len() > MOST {
        let more = plural(summary.last.len() - MOST, "more channel", "more channels");
        line(format!("  and {more} (--json prints them all)"));
    }
}
