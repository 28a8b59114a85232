//! The truth report: what a run is worth, in numbers that the run itself made.

use crate::digest::sha256;
use bellcrank_model::Dynamics;
use bellcrank_model::system::System;
use bellcrank_results::PROGRAM;
use bellcrank_solve::options::Options;
use bellcrank_solve::record::Memory;
use bellcrank_solve::simulation::{Status, Summary};
use bellcrank_solve::verify::{Deviation, Verification, nominal_order};
use bellcrank_view::{Diagram, Fact, Frames, Report, Section, Verdict, report_of};
use serde_json::Value;

/// Everything a truth report is made of.
pub struct Evidence<'a> {
    /// The compiled model.
    pub system: &'a System,
    /// The choices of the run.
    pub options: &'a Options,
    /// How it went.
    pub summary: &'a Summary,
    /// Its frames, perhaps thinned out.
    pub frames: &'a Memory,
    /// How accurate it was; or why that is not known.
    pub verification: Result<&'a Verification, &'a str>,
    /// The name and the text of the model file.
    pub model: (&'a str, &'a str),
    /// What was overridden on the command line.
    pub set: &'a [String],
}

/// The report as the text of an HTML file; `plots` are names of channels.
pub fn html(e: &Evidence, summary: &Value, plots: Vec<Vec<String>>) -> std::io::Result<String> {
    let channels = &e.frames.header.channels;
    let column = |c: usize| {
        Ok(match c {
            0 => e.frames.times.clone(),
            c => (0..e.frames.times.len()).map(|i| e.frames.row(i)[c - 1]).collect(),
        })
    };
    let frames = Frames {
        summary,
        scene: &bellcrank_model::scene::scene(&e.system.model),
        names: std::iter::once("time").chain(channels.iter().map(|c| c.name.as_str())).collect(),
        units: std::iter::once("s").chain(channels.iter().map(|c| c.unit)).collect(),
        rows: e.frames.times.len(),
        column: &column,
    };
    report_of(&frames, &Report { plots, sections: sections(e), ..Report::default() })
}

/// Three digits, as people write them.
pub fn figure(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        a if !a.is_finite() => format!("{x}"),
        1e-3..1e6 => {
            let digits = (2 - x.abs().log10().floor() as i32).max(0) as usize;
            format!("{x:.digits$}")
        }
        _ => {
            let text = format!("{x:.1e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{mantissa} × 10{}", superscript(exponent))
        }
    }
}

fn superscript(digits: &str) -> String {
    let up = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32('⁰' as u32 + (c as u32 - '0' as u32)).unwrap_or(c),
    };
    digits.chars().map(up).collect()
}

fn with(x: f64, unit: &str) -> String {
    if unit.is_empty() { figure(x) } else { format!("{} {unit}", figure(x)) }
}

fn fact(name: &str, value: String, verdict: Verdict, note: impl Into<String>) -> Fact {
    Fact { name: name.into(), value, verdict, note: note.into() }
}

/// Good up to the first bound, doubtful up to the second, bad beyond.
fn judge(x: f64, good: f64, doubtful: f64) -> Verdict {
    match x {
        x if x <= good => Verdict::Good,
        x if x <= doubtful => Verdict::Doubtful,
        _ => Verdict::Bad,
    }
}

/// All sections; the first is the verdict in a few lines.
pub fn sections(e: &Evidence) -> Vec<Section> {
    let mut all = vec![accuracy(e), energy(e), momentum(e), constraints(e), reactions(e), steps(e), time(e), model(e)];
    let names = ["Accuracy", "Energy", "Momentum", "Constraints", "Reactions", "Steps"];
    let facts = all.iter().zip(names).filter_map(|(s, name)| {
        let worst = s.facts.iter().filter(|f| f.verdict != Verdict::None).max_by_key(|f| f.verdict)?;
        // the first fact of a section is what it is about
        let shown = if worst.verdict == Verdict::Good { s.facts.first().unwrap_or(worst) } else { worst };
        Some(Fact { name: name.into(), value: shown.value.clone(), verdict: worst.verdict, note: shown.name.clone() })
    });
    let verdict = Section { title: "In short".into(), text: short(e), facts: facts.collect(), ..Section::default() };
    all.insert(0, verdict);
    all
}

/// The parts of the largest value below which an accuracy is good, and doubtful.
fn bounds(options: &Options) -> (f64, f64) {
    match options.step {
        Some(_) => (1e-3, 1e-2),
        None => ((100.0 * options.rtol).clamp(1e-10, 1e-2), 1e-2),
    }
}

fn short(e: &Evidence) -> String {
    let s = e.summary;
    let ended = match &s.status {
        Status::Finished => format!("The run reached its end, t = {} s", s.t),
        Status::Interrupted => format!("The run was interrupted at t = {} s", s.t),
        Status::Failed(why) => {
            let why = why.to_string();
            format!("The run failed at t = {} s: {}", s.t, why.lines().next().unwrap_or(""))
        }
    };
    let (method, formulation, iteration) = s.names;
    let iteration = if iteration == "none" { String::new() } else { format!(" with {iteration} iteration") };
    let mut text = format!("{ended}. It used {method} on {formulation}{iteration}. ");
    text += &match e.verification {
        Ok(v) if !v.converges => "Runs with more and more precision do not agree: see below up to when.".into(),
        Ok(v) => match v.worst() {
            Some(w) => format!(
                "Its error is at most {} in {} ({} of the largest {}), found by comparison with {}.",
                with(w.error, w.unit),
                w.name,
                figure(w.relative()),
                if w.unit.is_empty() { "value" } else { w.unit },
                v.against
            ),
            None => "There were no channels to compare.".into(),
        },
        Err(why) => format!("Its accuracy is not known: {why}."),
    };
    text
}

fn accuracy(e: &Evidence) -> Section {
    let mut s = Section { title: "Accuracy".into(), ..Section::default() };
    let v = match e.verification {
        Ok(v) => v,
        Err(why) => {
            s.text = format!("Not known: {why}.");
            s.facts.push(fact("Largest error", "not known".into(), Verdict::Doubtful, why));
            return s;
        }
    };
    s.text = "The model was run again with more precision, and every channel of every recorded frame was compared. \
              Errors are in the units of the channels; relative ones are parts of the largest value of all channels of \
              that unit (for places and angles: of the largest change)."
        .into();
    let (good, doubtful) = bounds(e.options);
    if let Some(w) = v.worst() {
        let verdict = match (v.converges, v.agrees_until) {
            (true, _) => judge(w.relative(), good, doubtful),
            (false, None) => Verdict::Doubtful,
            (false, Some(_)) => Verdict::Bad,
        };
        let note = format!("{} of the largest, at t = {} s", figure(w.relative()), figure(w.t));
        s.facts.push(fact("Largest error", format!("{} in {}", with(w.error, w.unit), w.name), verdict, note));
    }
    s.facts.push(fact("Compared with", v.against.clone(), Verdict::None, {
        let n: Vec<String> = v.steps.iter().map(usize::to_string).collect();
        format!("steps: {}", n.join(", then "))
    }));
    if !v.converges {
        let (verdict, note) = match v.agrees_until {
            None => (Verdict::Doubtful, "but all runs agree: the error may be a few times what is told"),
            Some(_) => (
                Verdict::Bad,
                "the motion is chaotic, or has jumps whose times differ: single values mean little after that",
            ),
        };
        s.facts.push(fact("Convergence", "finer runs do not come closer to each other".into(), verdict, note));
    }
    if let Some(t) = v.agrees_until {
        s.facts.push(fact(
            "All runs agree to 1 % until",
            with(t, "s"),
            Verdict::Doubtful,
            "where they first differ by more",
        ));
    }
    let half = if v.fixed { "half the step" } else { "a tenth of the tolerance" };
    if let Some(f) = v.factor {
        s.facts.push(fact(
            "Error with more precision",
            format!("{} times smaller", figure(f)),
            Verdict::None,
            format!("with {half}"),
        ));
    }
    let nominal = nominal_order(e.summary.names.0);
    match (v.order, nominal) {
        (Some(p), Some(n)) => {
            let verdict = if p > n as f64 - 0.5 { Verdict::Good } else { Verdict::Doubtful };
            let note = format!("{} should show {n}", e.summary.names.0);
            s.facts.push(fact(
                "Observed order",
                format!("{p:.2}"),
                if v.fixed { verdict } else { Verdict::None },
                note,
            ));
        }
        (Some(p), None) => {
            s.facts.push(fact("Observed order", format!("{p:.2}"), Verdict::None, "error against steps"))
        }
        (None, _) => {
            let why = match (v.converges, v.steps.len()) {
                (false, _) => "the runs do not converge",
                (_, 2) => "two finer runs would be needed",
                _ => "the differences are rounding, or the number of steps hardly changes",
            };
            s.facts.push(fact("Observed order", "cannot be seen".into(), Verdict::None, why));
        }
    }
    s.table =
        vec![["unit", "worst channel", "error", "root mean square", "relative", "at t in s"].map(String::from).into()];
    let row = |d: &&Deviation| {
        let unit = if d.unit.is_empty() { "1" } else { d.unit };
        vec![unit.into(), d.name.clone(), figure(d.error), figure(d.mean), figure(d.relative()), figure(d.t)]
    };
    s.table.extend(v.by_unit().iter().map(row));
    s
}

/// The largest kinetic energy and the range of the stored one.
fn energies(frames: &Memory) -> f64 {
    let kinetic = frames.column("energy.kinetic").unwrap_or_default();
    let stored = frames.column("energy.stored").unwrap_or_default();
    let largest = kinetic.iter().fold(0.0f64, |m, e| m.max(*e));
    let (low, high) = stored.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |b, e| (b.0.min(*e), b.1.max(*e)));
    largest.max(if high > low { high - low } else { 0.0 })
}

fn energy(e: &Evidence) -> Section {
    let (initial, last, error) = e.summary.energy;
    let scale = energies(e.frames).max(f64::MIN_POSITIVE);
    let (good, doubtful) = bounds(e.options);
    let relative = error / scale;
    Section {
        title: "Energy".into(),
        text: "What is there must be what was there at the start and what forces, drives and dampers brought or took. \
               Their work is integrated along the run, apart from the method."
            .into(),
        facts: vec![
            fact(
                "Largest error of the balance",
                with(error, "J"),
                judge(relative, good, doubtful),
                format!("{} of the energy that moves", figure(relative)),
            ),
            fact("At the start", with(initial, "J"), Verdict::None, ""),
            fact("At the end", with(last, "J"), Verdict::None, ""),
        ],
        ..Section::default()
    }
}

fn momentum(e: &Evidence) -> Section {
    let mut s = Section { title: "Momentum".into(), ..Section::default() };
    let Some(p) = e.summary.proof.as_ref().filter(|p| p.known) else {
        s.text = "It was not looked at.".into();
        return s;
    };
    s.text = "Momentum must change by the impulse of all forces and reactions, angular momentum (about the origin) by \
              that of their moments; the impulses are integrated along the run, apart from the method."
        .into();
    let (good, doubtful) = bounds(e.options);
    let span = e.summary.t.max(f64::MIN_POSITIVE);
    // what the loads could have brought in the time, where nothing moves much; of what only turns (or never does) the sum
    // is rounding errors, which are compared with a small part of the other momentum
    let length = e.system.length();
    let scale =
        |largest: f64, load: f64, other: f64| largest.max(1e-3 * load * span).max(1e-6 * other).max(f64::MIN_POSITIVE);
    let (push, turn) = (p.largest_momentum.0.max(p.largest_load.0 * span), p.largest_momentum.1);
    let sizes = (
        scale(p.largest_momentum.0, p.largest_load.0, turn.max(p.largest_load.1 * span) / length),
        scale(turn, p.largest_load.1, 1e3 * push * length),
    );
    let (linear, angular) = (p.impulse_error.0 / sizes.0, p.impulse_error.1 / sizes.1);
    let of = |x: f64| format!("{} of the largest", figure(x));
    s.facts = vec![
        fact("Error of the balance", with(p.impulse_error.0, "kg m/s"), judge(linear, good, doubtful), of(linear)),
        fact(
            "Error of the angular balance",
            with(p.impulse_error.1, "kg m²/s"),
            judge(angular, good, doubtful),
            of(angular),
        ),
    ];
    let plane = e.system.model.space == bellcrank_model::model::Space::Plane;
    let names = ["x", "y", "z", "angular, about x", "angular, about y", "angular, about z"];
    for (k, name) in names.iter().enumerate() {
        let exists = !plane || matches!(k, 0 | 1 | 5);
        if let (Some(change), true) = (p.conserved[k], exists) {
            let (unit, size) = if k < 3 { ("kg m/s", sizes.0) } else { ("kg m²/s", sizes.1) };
            let verdict = judge(change / size, good, doubtful);
            s.facts.push(fact(
                &format!("Conserved: {name}"),
                with(change, unit),
                verdict,
                "largest change; no load acts there",
            ));
        }
    }
    s
}

fn constraints(e: &Evidence) -> Section {
    let length = e.system.length();
    let (good, doubtful) = bounds(e.options);
    let (position, velocity) = e.summary.drift;
    let speed = {
        // of wheels that turn in their places the rims move
        let size = |unit: &str| match unit {
            "m/s" => Some(1.0),
            "rad/s" => Some(0.1 * length),
            _ => None,
        };
        let channels = e.frames.header.channels.iter().enumerate().filter_map(|(j, c)| Some((j, size(c.unit)?)));
        let columns: Vec<(usize, f64)> = channels.collect();
        let rows = (0..e.frames.times.len()).map(|i| e.frames.row(i));
        rows.flat_map(|r| columns.iter().map(|(j, size)| size * r[*j].abs())).fold(0.0, f64::max).max(1e-300)
    };
    let mut facts = vec![
        fact(
            "Position",
            with(position, "m"),
            judge(position / length, good, doubtful),
            format!("{} of the model's size", figure(position / length)),
        ),
        fact(
            "Velocity",
            with(velocity, "m/s"),
            judge(velocity / speed, good, doubtful),
            format!("{} of the largest speed", figure(velocity / speed)),
        ),
    ];
    if let Some(p) = &e.summary.proof {
        facts.push(fact(
            "Acceleration",
            with(p.acceleration, "m/s²"),
            Verdict::None,
            "of the accelerations that reactions belong to",
        ));
    }
    Section {
        title: "Constraints".into(),
        text: "How far joints came apart, at worst, over all steps: in their equations, and in the first and second \
               derivatives of those (rows that are angles are in rad)."
            .into(),
        facts,
        ..Section::default()
    }
}

fn reactions(e: &Evidence) -> Section {
    let mut s = Section { title: "Reactions".into(), ..Section::default() };
    if let Some(p) = e.summary.proof.as_ref().filter(|p| p.known) {
        s.text =
            "For every body at every step: the sum of the reactions, forces and weight on it against the rate of its \
                  momentum, by two routes: loads at their points in the world, and virtual power."
                .into();
        let relative = p.reaction_error.0 / p.largest_load.0.max(f64::MIN_POSITIVE);
        // where no moment acts (one body on one pin), a small part of what its forces could have: else rounding errors are
        // compared with themselves
        let span = e.summary.t.max(f64::MIN_POSITIVE);
        let moment = p.largest_load.1.max(1e-3 * p.largest_load.0 * e.system.length());
        let moment = moment.max(1e-3 * p.largest_momentum.1 / span); // a free body that turns
        let turned = p.reaction_error.1 / moment.max(f64::MIN_POSITIVE);
        let body = e.system.model.bodies.get(p.worst_body).map_or("", |b| b.name.as_str());
        let note =
            format!("{} of the largest force, {}; at body {body}", figure(relative), with(p.largest_load.0, "N"));
        s.facts.push(fact(
            "Σ forces − rate of momentum",
            with(p.reaction_error.0, "N"),
            judge(relative, 1e-8, 1e-5),
            note,
        ));
        let note = format!("{} of the largest moment, {}", figure(turned), with(moment, "N m"));
        s.facts.push(fact(
            "Σ moments − rate of angular momentum",
            with(p.reaction_error.1, "N m"),
            judge(turned, 1e-8, 1e-5),
            note,
        ));
    }
    if !e.summary.not_unique.is_empty() {
        let names = e.summary.not_unique.join(", ");
        let note = "equations are redundant there: the least of all possible reactions are told";
        s.facts.push(fact("Not unique", names, Verdict::Doubtful, note));
    }
    if s.facts.is_empty() {
        s.text = "They were not looked at.".into();
    }
    s
}

fn steps(e: &Evidence) -> Section {
    let (s, history) = (&e.summary.statistics, &e.summary.history);
    let rejected = s.error_test_failures + s.convergence_failures;
    let share = rejected as f64 / (s.steps + rejected).max(1) as f64;
    let sizes = history.stretches.iter().fold((f64::INFINITY, 0.0f64), |m, x| (m.0.min(x.h.0), m.1.max(x.h.1)));
    let mut facts = vec![
        fact("Steps", s.steps.to_string(), Verdict::None, format!("of {} s to {} s", figure(sizes.0), figure(sizes.1))),
        fact(
            "Rejected",
            rejected.to_string(),
            judge(share, 0.25, 0.6),
            format!("{} by the error test, {} by Newton's iteration", s.error_test_failures, s.convergence_failures),
        ),
        fact(
            "Evaluations",
            s.residual_evaluations.to_string(),
            Verdict::None,
            format!(
                "{} matrices, {} factorizations, {} iterations",
                s.jacobian_evaluations, s.factorizations, s.iterations
            ),
        ),
    ];
    facts.extend(e.summary.choices.iter().map(|c| fact("Chosen", c.clone(), Verdict::None, "")));
    facts.extend(e.summary.solver.iter().map(|s| fact("Linear systems", s.clone(), Verdict::None, "")));
    facts.extend(e.summary.events.iter().take(20).map(|c| fact("Event", c.to_string(), Verdict::None, "")));
    let mut table = Vec::new();
    if !e.summary.refused.is_empty() {
        table.push(
            [
                "caused rejections",
                "error too large",
                "no convergence",
                "from t in s",
                "to t in s",
                "smallest step in s",
            ]
            .map(String::from)
            .into(),
        );
        table.extend(e.summary.refused.iter().take(25).map(|(name, c)| {
            vec![
                name.clone(),
                c.errors.to_string(),
                c.convergence.to_string(),
                figure(c.times.0),
                figure(c.times.1),
                figure(c.least),
            ]
        }));
    }
    let points = |f: &dyn Fn(&bellcrank_solve::history::Stretch) -> [f64; 2]| -> Vec<[f64; 3]> {
        history
            .stretches
            .iter()
            .map(|x| {
                let [low, high] = f(x);
                [x.t, low, high]
            })
            .collect()
    };
    let marks: Vec<f64> = history.stretches.iter().filter(|x| x.refused > 0).map(|x| x.t).collect();
    let mut diagrams = vec![Diagram {
        title: "Step size".into(),
        unit: "s".into(),
        logarithmic: true,
        points: points(&|x| [x.h.0, x.h.1]),
        marks,
        marked: "rejected steps".into(),
    }];
    if history.stretches.iter().any(|x| x.order != history.stretches[0].order) {
        diagrams.push(Diagram {
            title: "Order".into(),
            points: points(&|x| [x.order.0 as f64, x.order.1 as f64]),
            ..Diagram::default()
        });
    }
    if s.iterations > 0 {
        let per = |x: &bellcrank_solve::history::Stretch| x.iterations as f64 / x.steps.max(1) as f64;
        diagrams.push(Diagram {
            title: "Newton iterations per step".into(),
            points: points(&|x| [per(x), per(x)]),
            ..Diagram::default()
        });
    }
    Section { title: "Steps".into(), facts, table, diagrams, ..Section::default() }
}

fn time(e: &Evidence) -> Section {
    let s = e.summary;
    let mut facts = vec![fact(
        "Whole run",
        with(s.wall_seconds, "s"),
        Verdict::None,
        match s.statistics.steps {
            0 => String::new(),
            n => format!("{} s per step", figure(s.wall_seconds / n as f64)),
        },
    )];
    if let Some(p) = &s.proof {
        for (name, seconds) in p.seconds.iter().filter(|(_, x)| *x > 0.0) {
            let share = 100.0 * seconds / s.wall_seconds.max(f64::MIN_POSITIVE);
            let (first, rest) = name.split_at(1);
            facts.push(fact(
                &format!("{}{rest}", first.to_uppercase()),
                with(*seconds, "s"),
                Verdict::None,
                format!("{share:.0} %"),
            ));
        }
    }
    Section {
        title: "Time".into(),
        text: "By the clock on the wall; gathering this evidence is part of it.".into(),
        facts,
        ..Section::default()
    }
}

fn model(e: &Evidence) -> Section {
    let (name, text) = e.model;
    let o = e.options;
    let mut facts = vec![
        fact("Model file", name.to_string(), Verdict::None, ""),
        fact("SHA-256", sha256(text.as_bytes()), Verdict::None, "of the text below, which is the whole file"),
    ];
    facts.extend(e.set.iter().map(|s| fact("Overridden", s.clone(), Verdict::None, "--set on the command line")));
    facts.push(fact(
        "Program",
        PROGRAM.to_string(),
        Verdict::None,
        format!("{}, {}", std::env::consts::ARCH, std::env::consts::OS),
    ));
    let (method, formulation, iteration) = e.summary.names;
    facts.push(fact(
        "Method",
        format!("{method} on {formulation}"),
        Verdict::None,
        match iteration {
            "none" => String::new(),
            other => format!("iteration {other}"),
        },
    ));
    facts.push(match o.step {
        Some(h) => fact("Step", format!("{h} s, fixed"), Verdict::None, ""),
        None => fact(
            "Tolerance",
            format!("rtol {:e}", o.rtol),
            Verdict::None,
            o.testing.atol.map_or(String::new(), |a| format!("atol {a:e}")),
        ),
    });
    facts.push(fact(
        "Span",
        format!("{} s", o.until),
        Verdict::None,
        format!("recorded every {} s", o.sample_distance()),
    ));
    let a = &e.summary.assembly;
    facts.push(fact(
        "Freedom",
        a.degrees_of_freedom.to_string(),
        Verdict::None,
        match a.redundant {
            0 => String::new(),
            1 => "1 redundant equation".into(),
            n => format!("{n} redundant equations"),
        },
    ));
    Section { title: "Model and program".into(), facts, code: text.to_string(), ..Section::default() }
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_are_short_and_true() {
        let cases = [(0.0, "0"), (1.0, "1.00"), (-12.345, "-12.3"), (123456.0, "123456"), (0.00123, "0.00123")];
        cases.iter().for_each(|(x, text)| assert_eq!(figure(*x), *text));
        assert_eq!(figure(1.234e-7), "1.2 × 10⁻⁷");
        assert_eq!(figure(-6.02e23), "-6.0 × 10²³");
        assert_eq!((figure(f64::NAN), figure(f64::INFINITY)), ("NaN".into(), "inf".into()));
    }
}
