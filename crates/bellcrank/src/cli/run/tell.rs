//! What `run` tells people: the start, the end, the accuracy.

use crate::cli::output::{figure, plural, supported};
use crate::cli::run::Run;
use crate::cli::run::extremes::Extremes;
use crate::cli::tell;
use bellcrank_model::file::diagnostic::escaped;
use bellcrank_model::file::suggest;
use bellcrank_model::system::System;
use bellcrank_solve::check::{Check, Severity};
use bellcrank_solve::choices::Options;
use bellcrank_solve::run::{Names, Simulation, Status, Summary};
use bellcrank_solve::verdict::{Bounds, Verdict};
use bellcrank_solve::verify::{self, Verification};
use std::path::Path;

/// Words that may hold the user's names, in one line.
pub fn line(line: String) {
    tell(&escaped(&line));
}

/// The model, what is redundant in it, what `check` found, and how it was assembled.
pub fn start(system: &System, simulation: &Simulation, found: &Check, from: Option<&str>, verbose: bool) {
    const LINES_SHOWN: usize = 8;
    let model = &system.model;
    let a = simulation.assembly();
    let redundant = match a.redundant {
        0 => String::new(),
        n => format!(", {}", plural(n, "redundant equation", "redundant equations")),
    };
    line(format!(
        "{}: {}, {}, {}; {}{redundant}",
        model.name,
        plural(model.bodies.iter().filter(|b| b.is_shown()).count(), "body", "bodies"),
        plural(model.joints.len(), "joint", "joints"),
        plural(model.forces.len(), "force", "forces"),
        plural(a.degrees_of_freedom, "degree of freedom", "degrees of freedom"),
    ));
    for r in found.redundancies.iter().take(LINES_SHOWN) {
        line(format!("  redundant: {} of {}", r.directions.join(", "), r.of));
    }
    if found.redundancies.is_empty() {
        for (joint, rows) in a.redundant_joints.iter().take(LINES_SHOWN) {
            line(format!("  redundant: {} of {joint}", plural(*rows, "equation", "equations")));
        }
    }
    if verbose {
        simulation.plan().notes().for_each(|note| line(note.to_string()));
    }
    let (shown, more) = found.shown();
    for f in shown.into_iter().filter(|f| f.severity != Severity::Note || f.kind == "unconnected") {
        line(format!("{}: {}", f.severity.word(), f.message));
    }
    more.into_iter().for_each(line);
    if !a.moved.is_empty() {
        let iterations = plural(a.iterations, "iteration", "iterations");
        line(match from {
            Some(from) => format!("begins from {from}, against the drawing:"),
            None => format!("assembled in {iterations} (joints were open by {:.3e} m):", a.residual.0),
        });
        for m in a.moved.iter().take(LINES_SHOWN) {
            // a turn of 1e-17 is none
            let [distance, angle] =
                [m.distance, m.angle].map(|x| if x < 1e-14 { "0".into() } else { format!("{x:.3e}") });
            line(format!("  {} moved by {distance} m and {angle} rad", m.name));
        }
        if a.moved.len() > LINES_SHOWN {
            line(format!("  and {} more", a.moved.len() - LINES_SHOWN));
        }
    }
    if verbose && !a.followed.is_empty() {
        let names: Vec<&str> = a.followed.iter().take(LINES_SHOWN).map(|f| f.name.as_str()).collect();
        let more = a.followed.len().saturating_sub(LINES_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        line(format!("set by closed loops at the start: {}{more}", names.join(", ")));
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

/// What is doubtful about the result, also with `--quiet`.
pub fn doubts(summary: &Summary) {
    summary.doubts.iter().for_each(|doubt| line(format!("warning: {doubt}")));
}

/// What the run was, how far to trust it, and its largest values; `verbose` adds counts, the solver and the last values.
pub fn end(summary: &Summary, options: &Options, extremes: &Extremes, verbose: bool) {
    summary.plan.revision_notes().for_each(|note| line(note.to_string()));
    method(summary, options);
    if verbose {
        counts(summary);
        particulars(summary);
    }
    verdicts(summary, options, verbose);
    outputs(summary, options);
    largest(extremes, if verbose { 5 } else { 1 });
    events(summary, if verbose { 50 } else { 5 });
    if verbose {
        last_values(summary, options);
    }
}

/// Where the results are and what to do next.
pub fn next(args: &Run, summary: &Summary, place: Option<&Path>, system: &System) {
    let word = |text: &str| {
        let plain = |c: char| c.is_alphanumeric() || "-_./".contains(c);
        if text.chars().all(plain) { text.to_string() } else { format!("'{}'", text.replace('\'', "'\\''")) }
    };
    let Some(place) = place else {
        if summary.status == Status::Finished {
            let model = word(&args.model);
            line(format!("next: bellcrank run {model} --out results   to keep the results"));
            if !args.verify {
                line(format!("      bellcrank run {model} --verify        to measure the error"));
            }
        }
        return;
    };
    if let Some(out) = args.out.as_deref().filter(|out| *out != place) {
        line(format!("the earlier results in {} are better, and stay", word(&out.display().to_string())));
    }
    let out = word(&place.display().to_string());
    line(format!("results: {out}"));
    line(format!("next: bellcrank view {out}"));
    let joints = system.model.joints.iter().filter_map(|j| {
        let motions = j.joint.motions(system.model.space);
        bellcrank_model::joints::names(&motions).into_iter().next().map(|[value, _]| format!("{}.{value}", j.name))
    });
    let bodies = system.model.bodies.iter().map(|b| format!("{}.x", b.name));
    if let Some(channel) = joints.chain(bodies).next() {
        line(format!("      bellcrank plot {out} {}", word(&channel)));
    }
}

/// The method in use at the end, and how far it came.
fn method(summary: &Summary, options: &Options) {
    let Names { method, formulation, .. } = summary.names;
    let by = match (options.step, method) {
        (_, "kinematics") => String::new(),
        (Some(step), _) => format!(", step {step} s"),
        (None, _) => format!(", rtol {:e}", options.rtol),
    };
    let upto = match summary.status {
        Status::Finished => format!("{} s", summary.t),
        _ => format!("{} of {} s", summary.t, options.until),
    };
    let on = if method == "kinematics" { String::new() } else { format!(" on {formulation}") };
    let steps = plural(summary.statistics.steps, "step", "steps");
    line(format!("method: {method}{on}{by}; {upto} in {steps}, computed in {:.3} s", summary.wall_seconds));
}

/// Whether the joints held and energy is balanced, in words and numbers.
fn verdicts(summary: &Summary, options: &Options, verbose: bool) {
    let bounds = Bounds::of(options);
    let word = |verdict: Verdict| match verdict {
        Verdict::Good | Verdict::None => "good",
        Verdict::Doubtful => "worth a look",
        Verdict::Bad => "bad",
    };
    if summary.drift.position.max(summary.drift.velocity) > 0.0 {
        let [position, velocity] = summary.drift.judged(bounds);
        let worst = word(position.verdict.max(velocity.verdict));
        line(format!("joints: {worst}, closed to {:.1e} m and {:.1e} m/s", position.size, velocity.size));
    }
    let energy = summary.energy.judged(bounds);
    let (size, part) = (energy.size, energy.relative());
    line(format!("energy: {}, balanced to {size:.1e} J ({part:.0e} of the energy in motion)", word(energy.verdict)));
    if verbose {
        let (initial, last) = (figure(summary.energy.initial), figure(summary.energy.last));
        line(format!("  {initial} J at the start, {last} J at the end"));
    }
    if let Some(error) = summary.error {
        let rtol = options.rtol;
        line(format!(
            "error: about {error:.1e} of the machine's size at the end (angles: rad), for rtol {rtol:e}; estimated during the run"
        ));
    }
    if let Some(why) = &summary.no_estimate {
        line(format!("error: no estimate: {why}"));
    }
}

fn largest(extremes: &Extremes, of_each: usize) {
    let lines = extremes.lines(of_each);
    if lines.is_empty() {
        return;
    }
    let width = |k: usize| lines.iter().map(|line| line[k].chars().count()).max().unwrap_or(0);
    let (name, value) = (width(0), width(1));
    line("largest values at the samples:".into());
    for [what, size, t] in &lines {
        line(format!("  {what:name$}  {size:<value$}  at t = {t} s"));
    }
}

fn events(summary: &Summary, most: usize) {
    if summary.events.is_empty() {
        return;
    }
    line("events:".into());
    summary.events.iter().take(most).for_each(|event| line(format!("  {event}")));
    if summary.events.len() > most {
        line(format!("  and {} more", summary.events.len() - most));
    }
}

/// What the run took.
fn counts(summary: &Summary) {
    let s = &summary.statistics;
    line(format!(
        "  iteration {}, {} rejected, {} evaluations, {} factorizations",
        summary.names.iteration,
        s.error_test_failures + s.convergence_failures,
        s.residual_evaluations,
        s.factorizations,
    ));
    if let Some(solver) = &summary.solver {
        line(format!("  solver: {solver}"));
    }
}

/// What only some runs have: split coordinates, a solver of loops.
fn particulars(summary: &Summary) {
    if let Some(split) = &summary.split {
        line(format!(
            "  split: {} independent and {} dependent coordinates, largest |Q| {:.2} (1 is ideal), chosen again {}{}",
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
                "  {}: {equations}, ε = {epsilon:.3e} s (stable from {limit:.3e} s), drift of loops by iterate {}",
                loops.solver,
                loops.drift.iter().map(|(d, _)| format!("{d:.2e} m")).collect::<Vec<_>>().join(", ")
            ),
            None => format!(
                "  {}: {equations}, {:.1} iterations each time, preconditioner made {}",
                loops.solver,
                loops.iterations as f64 / loops.solves.max(1) as f64,
                plural(loops.renewals, "time", "times")
            ),
        });
    }
}

/// Extremes and means of the outputs.
fn outputs(summary: &Summary, options: &Options) {
    for o in &summary.outputs {
        let figure = |x: f64| supported(x, o.min.abs().max(o.max.abs()), options);
        let unit = if o.unit.is_empty() { String::new() } else { format!(" {}", escaped(o.unit)) };
        line(format!(
            "{}: from {}{unit} at {:.6} s to {}{unit} at {:.6} s, mean {}, rms {}, at the end {}",
            escaped(&o.name),
            figure(o.min),
            o.min_at,
            figure(o.max),
            o.max_at,
            figure(o.mean),
            figure(o.rms),
            figure(o.last)
        ));
    }
}

/// The last values of the first channels.
fn last_values(summary: &Summary, options: &Options) {
    const VALUES_SHOWN: usize = 24;
    line(format!("t = {} s:", summary.t));
    let name = |name: &str| escaped(suggest::quoted(name).trim_matches('`'));
    let shown: Vec<(String, f64)> = summary.last.iter().take(VALUES_SHOWN).map(|(n, x)| (name(n), *x)).collect();
    let width = shown.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in shown {
        line(format!("  {name:width$}  {:>17}", supported(value, 0.0, options)));
    }
    if summary.last.len() > VALUES_SHOWN {
        let more = plural(summary.last.len() - VALUES_SHOWN, "more channel", "more channels");
        line(format!("  and {more} (--json prints them all)"));
    }
}
