//! The accuracy report: what a run is worth, in numbers that the run itself made.
//!
//! Numbers and verdicts come from [`bellcrank_solve::evidence`]; here they are put into words.

use crate::report::{Diagram, Fact, Report, ReportData, Section, report_of};
use bellcrank_results::PROGRAM;
use bellcrank_solve::evidence::{Evidence, Judged, Verdict};
use bellcrank_solve::history::Stretch;
use bellcrank_solve::run::{Names, Status};
use bellcrank_solve::verify::{Agreement, Deviation, Verification, nominal_order};
use serde_json::Value;

/// Events and culprits of rejected steps that are listed.
const EVENTS: usize = 20;
const CULPRITS: usize = 25;

/// The model file that a run was made from.
pub struct ModelText<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its whole text.
    pub text: &'a str,
    /// The SHA-256 of the text, in hexadecimal digits.
    pub sha256: String,
    /// Values that were overridden on the command line.
    pub overridden: &'a [String],
}

/// The report as the text of an HTML file; `plots` are names of channels, `summary` is the object of `summary.json`.
pub fn truth_report(
    e: &Evidence,
    source: &ModelText,
    summary: &Value,
    plots: Vec<Vec<String>>,
) -> std::io::Result<String> {
    let channels = &e.frames.header.channels;
    let column = |c: usize| {
        Ok(match c {
            0 => e.frames.times.clone(),
            c => (0..e.frames.times.len()).map(|i| e.frames.row(i)[c - 1]).collect(),
        })
    };
    let frames = ReportData {
        summary,
        scene: &bellcrank_model::scene::scene(&e.system.model),
        names: std::iter::once("time").chain(channels.iter().map(|c| c.name.as_str())).collect(),
        units: std::iter::once("s").chain(channels.iter().map(|c| c.unit)).collect(),
        rows: e.frames.times.len(),
        column: &column,
    };
    report_of(&frames, &Report { plots, sections: sections(e, source), ..Report::default() })
}

/// Three digits, as people write them.
fn figure(x: f64) -> String {
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

fn fact(name: &str, value: impl Into<String>, verdict: Verdict, note: impl Into<String>) -> Fact {
    Fact { name: name.into(), value: value.into(), verdict, note: note.into() }
}

/// A fact without a verdict.
fn told(name: &str, value: impl Into<String>, note: impl Into<String>) -> Fact {
    fact(name, value, Verdict::None, note)
}

/// An error in its unit, with its share `of` what it is compared with.
fn judged(name: &str, error: Judged, unit: &str, of: &str) -> Fact {
    fact(name, with(error.size, unit), error.verdict, format!("{} of {of}", figure(error.relative())))
}

fn headed(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|c| c.to_string()).collect()
}

/// All sections; the first is the verdict in a few lines.
fn sections(e: &Evidence, source: &ModelText) -> Vec<Section> {
    let judged = [doubts(e), accuracy(e), energy(e), momentum(e), constraints(e), reactions(e), steps(e)];
    let facts = judged.iter().filter_map(|s| {
        let worst = s.facts.iter().filter(|f| f.verdict != Verdict::None).max_by_key(|f| f.verdict)?;
        // the first fact of a section is what it is about
        let shown = if worst.verdict == Verdict::Good { s.facts.first().unwrap_or(worst) } else { worst };
        Some(fact(&s.title, &shown.value, worst.verdict, &shown.name))
    });
    let short = Section { title: "In short".into(), text: short(e), facts: facts.collect(), ..Section::default() };
    std::iter::once(short).chain(judged).chain([time(e), model(e, source)]).collect()
}

/// What the run cannot vouch for: the warnings of the program, and `doubts` of its JSON.
fn doubts(e: &Evidence) -> Section {
    let doubts = &e.summary.doubts;
    let text = match doubts.len() {
        0 => {
            "The run found no reason to doubt its result: drift, energy, start, range of the theory and reactions are as they should be."
        }
        _ => "The run reached these results, but cannot vouch for them. With --strict its exit status is 3.",
    };
    Section {
        title: "Doubts".into(),
        text: text.into(),
        facts: doubts.iter().map(|d| fact(d.kind, &d.message, d.verdict, d.help)).collect(),
        ..Section::default()
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
    let Names { method, formulation, iteration } = s.names;
    let iteration = if iteration == "none" { String::new() } else { format!(" with {iteration} iteration") };
    let accuracy = e.verification.map_or_else(|why| format!("Its accuracy is not known: {why}."), in_short);
    format!("{ended}. It used {method} on {formulation}{iteration}. {accuracy}")
}

/// The accuracy in a sentence.
fn in_short(v: &Verification) -> String {
    let Some(w) = v.worst() else { return "There were no channels to compare.".into() };
    let error = format!(
        "{} in {} ({} of the largest {}), found by comparison with {}",
        with(w.error, w.unit),
        w.name,
        figure(w.relative()),
        if w.unit.is_empty() { "value" } else { w.unit },
        v.against
    );
    let until = |t: f64| format!("Runs with increasing precision agree to 1 % until t = {} s only", figure(t));
    match (v.agreement(), v.agreement().doubt()) {
        (Agreement::Until(t), Some(doubt)) => format!("{}: {doubt}.", until(t)),
        (_, Some(doubt)) => format!("Its error is about {error}; {doubt}."),
        (_, None) => format!("Its error is at most {error}."),
    }
}

fn accuracy(e: &Evidence) -> Section {
    let mut s = Section { title: "Accuracy".into(), ..Section::default() };
    let verdicts = e.accuracy();
    let estimated = e
        .summary
        .error
        .map(|error| {
            let rtol = figure(e.options.rtol);
            let note = format!("of the machine's size at the end, or rad, for rtol {rtol}: estimated while it ran");
            told("Estimated error", figure(error), note)
        })
        .or_else(|| e.summary.no_estimate.as_ref().map(|why| told("Estimated error", "none", why)));
    let v = match e.verification {
        Ok(v) => v,
        Err(why) => {
            s.text = format!("Not known: {why}.");
            s.facts.push(fact("Largest error", "not known", verdicts.error, why));
            s.facts.extend(estimated);
            return s;
        }
    };
    s.text = "The model was run again with more precision, and every channel of every recorded frame was compared. \
              Errors are in the units of the channels; relative errors are fractions of the largest value of all channels \
              of that unit (for positions and angles: of the largest change)."
        .into();
    if let Some(w) = v.worst() {
        let note = format!("{} of the largest, at t = {} s", figure(w.relative()), figure(w.t));
        s.facts.push(fact("Largest error", format!("{} in {}", with(w.error, w.unit), w.name), verdicts.error, note));
    }
    s.facts.extend(estimated);
    let steps: Vec<String> = v.steps.iter().map(usize::to_string).collect();
    s.facts.push(told("Compared with", &v.against, format!("steps: {}", steps.join(", then "))));
    if let Some(doubt) = v.agreement().doubt() {
        s.facts.push(fact("Convergence", v.agreement().word(), verdicts.convergence, doubt));
    }
    if let Some(t) = v.agrees_until {
        let note = "where they first differ by more";
        s.facts.push(fact("All runs agree to 1 % until", with(t, "s"), Verdict::Doubtful, note));
    }
    if let Some(f) = v.factor {
        let finer = if v.fixed { "a step 2.1 times finer" } else { "a tenth of the tolerance, with shorter steps" };
        s.facts.push(told(
            "Error with more precision",
            format!("{} times smaller", figure(f)),
            format!("with {finer}"),
        ));
    }
    s.facts.push(order(v, e.summary.names.method, verdicts.order));
    s.table = vec![headed(&["unit", "worst channel", "error", "root mean square", "relative", "at t in s"])];
    let row = |d: &&Deviation| {
        let unit = if d.unit.is_empty() { "1" } else { d.unit };
        vec![unit.into(), d.name.clone(), figure(d.error), figure(d.mean), figure(d.relative()), figure(d.t)]
    };
    s.table.extend(v.by_unit().iter().map(row));
    s
}

fn order(v: &Verification, method: &str, verdict: Verdict) -> Fact {
    let Some(p) = v.order else {
        let why = match (v.converges, v.steps.len()) {
            (false, _) => "the runs do not converge",
            (_, 2) => "two finer runs would be needed",
            _ => "the differences are rounding, or the number of steps hardly changes",
        };
        return told("Observed order", "not observable", why);
    };
    let note = nominal_order(method).map_or("error against steps".into(), |n| format!("{method} should show {n}"));
    fact("Observed order", format!("{p:.2}"), verdict, note)
}

fn energy(e: &Evidence) -> Section {
    let energy = &e.summary.energy;
    Section {
        title: "Energy".into(),
        text:
            "Energy must equal its initial value plus the work of forces, drives and dampers. That work is integrated \
               along the run, independently of the method."
                .into(),
        facts: vec![
            judged("Largest error of the balance", e.energy(), "J", "the energy in motion"),
            told("At the start", with(energy.initial, "J"), ""),
            told("At the end", with(energy.last, "J"), ""),
        ],
        ..Section::default()
    }
}

fn momentum(e: &Evidence) -> Section {
    let mut s = Section { title: "Momentum".into(), ..Section::default() };
    let Some(found) = e.momentum() else {
        s.text = "Not checked in this run.".into();
        return s;
    };
    s.text = "Momentum must change by the impulse of all forces and reactions, angular momentum (about the origin) by \
              that of their moments; the impulses are integrated along the run, independently of the method."
        .into();
    s.facts = vec![
        judged("Error of the balance", found.linear, "kg m/s", "the largest"),
        judged("Error of the angular balance", found.angular, "kg m²/s", "the largest"),
    ];
    const NAMES: [&str; 6] = ["x", "y", "z", "angular, about x", "angular, about y", "angular, about z"];
    s.facts.extend(found.conserved.iter().map(|(k, change)| {
        let unit = if *k < 3 { "kg m/s" } else { "kg m²/s" };
        let note = "largest change; no load acts there";
        fact(&format!("Conserved: {}", NAMES[*k]), with(change.size, unit), change.verdict, note)
    }));
    s
}

fn constraints(e: &Evidence) -> Section {
    let found = e.constraints();
    let mut facts = vec![
        judged("Position", found.position, "m", "the model's size"),
        judged("Velocity", found.velocity, "m/s", "the largest speed"),
    ];
    facts.extend(
        e.summary.proof.as_ref().map(|p| {
            told("Acceleration", with(p.acceleration, "m/s²"), "of the accelerations that reactions belong to")
        }),
    );
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
    if let Some(found) = e.reactions() {
        s.text = "For every body at every step: the sum of the reactions, forces and weight on it against the rate of \
                  its momentum, by two routes: loads at their points in the world, and virtual power."
            .into();
        let body = e.system.model.bodies.get(found.worst_body).map_or("", |b| b.name.as_str());
        let of = format!("the largest force, {}; at body {body}", with(found.force.scale, "N"));
        s.facts.push(judged("Σ forces − rate of momentum", found.force, "N", &of));
        let of = format!("the largest moment, {}", with(found.moment.scale, "N m"));
        s.facts.push(judged("Σ moments − rate of angular momentum", found.moment, "N m", &of));
    }
    if !e.summary.not_unique.is_empty() {
        let note = "equations are redundant there: the smallest of all possible reactions are reported";
        s.facts.push(fact("Not unique", e.summary.not_unique.join(", "), Verdict::Doubtful, note));
    }
    if s.facts.is_empty() {
        s.text = "Not checked in this run.".into();
    }
    s
}

fn steps(e: &Evidence) -> Section {
    let (s, stretches) = (&e.summary.statistics, &e.summary.history.stretches);
    let sizes = stretches.iter().fold((f64::INFINITY, 0.0f64), |m, x| (m.0.min(x.h.0), m.1.max(x.h.1)));
    let rejected = e.rejected();
    let by = format!("{} by the error test, {} by Newton's iteration", s.error_test_failures, s.convergence_failures);
    let matrices = (s.jacobian_evaluations, s.factorizations, s.iterations);
    let mut facts = vec![
        told("Steps", s.steps.to_string(), format!("of {} s to {} s", figure(sizes.0), figure(sizes.1))),
        fact("Rejected", rejected.size.to_string(), rejected.verdict, by),
        told(
            "Evaluations",
            s.residual_evaluations.to_string(),
            format!("{} matrices, {} factorizations, {} iterations", matrices.0, matrices.1, matrices.2),
        ),
    ];
    for excess in &e.summary.beyond {
        let value = format!("{} {}", excess.name, excess.limit.words(excess.worst));
        facts.push(fact("Beyond its theory", value, e.beyond(), format!("since t = {} s", figure(excess.since))));
    }
    facts.extend(e.summary.choices.iter().map(|c| told("Chosen", c, "")));
    facts.extend(e.summary.solver.iter().map(|s| told("Linear systems", s, "")));
    facts.extend(e.summary.events.iter().take(EVENTS).map(|c| told("Event", c.to_string(), "")));
    Section {
        title: "Steps".into(),
        facts,
        table: rejections(e),
        diagrams: step_diagrams(stretches, s.iterations > 0),
        ..Section::default()
    }
}

/// What rejected steps are blamed on.
fn rejections(e: &Evidence) -> Vec<Vec<String>> {
    if e.summary.refused.is_empty() {
        return vec![];
    }
    let head =
        ["caused rejections", "error too large", "no convergence", "from t in s", "to t in s", "smallest step in s"];
    let rows = e.summary.refused.iter().take(CULPRITS).map(|(name, c)| {
        let counts = [c.errors, c.convergence].map(|n| n.to_string());
        let times = [c.times.0, c.times.1, c.least].map(figure);
        std::iter::once(name.clone()).chain(counts).chain(times).collect()
    });
    std::iter::once(headed(&head)).chain(rows).collect()
}

fn step_diagrams(stretches: &[Stretch], iterated: bool) -> Vec<Diagram> {
    let points = |range: &dyn Fn(&Stretch) -> [f64; 2]| -> Vec<[f64; 3]> {
        let point = |x: &Stretch| {
            let [low, high] = range(x);
            [x.t, low, high]
        };
        stretches.iter().map(point).collect()
    };
    let mut diagrams = vec![Diagram {
        title: "Step size".into(),
        unit: "s".into(),
        logarithmic: true,
        points: points(&|x| [x.h.0, x.h.1]),
        marks: stretches.iter().filter(|x| x.refused > 0).map(|x| x.t).collect(),
        marked: "rejected steps".into(),
    }];
    if stretches.iter().any(|x| x.order != stretches[0].order) {
        diagrams.push(Diagram {
            title: "Order".into(),
            points: points(&|x| [x.order.0 as f64, x.order.1 as f64]),
            ..Diagram::default()
        });
    }
    if iterated {
        diagrams.push(Diagram {
            title: "Newton iterations per step".into(),
            points: points(&|x| [x.iterations as f64 / x.steps.max(1) as f64; 2]),
            ..Diagram::default()
        });
    }
    diagrams
}

fn time(e: &Evidence) -> Section {
    let s = e.summary;
    let per_step = match s.statistics.steps {
        0 => String::new(),
        n => format!("{} s per step", figure(s.wall_seconds / n as f64)),
    };
    let mut facts = vec![told("Whole run", with(s.wall_seconds, "s"), per_step)];
    for (name, seconds) in s.proof.iter().flat_map(|p| &p.seconds).filter(|(_, x)| *x > 0.0) {
        let share = 100.0 * seconds / s.wall_seconds.max(f64::MIN_POSITIVE);
        let (first, rest) = name.split_at(1);
        let name = format!("{}{rest}", first.to_uppercase());
        facts.push(told(&name, with(*seconds, "s"), format!("{share:.0} %")));
    }
    Section {
        title: "Time".into(),
        text: "Wall-clock time; gathering this evidence is part of it.".into(),
        facts,
        ..Section::default()
    }
}

fn model(e: &Evidence, source: &ModelText) -> Section {
    let (o, a) = (e.options, &e.summary.assembly);
    let Names { method, formulation, iteration } = e.summary.names;
    let mut facts = vec![
        told("Model file", source.name, ""),
        told("SHA-256", &source.sha256, "of the text below, which is the whole file"),
    ];
    facts.extend(source.overridden.iter().map(|s| told("Overridden", s, "--set on the command line")));
    facts.push(told("Program", PROGRAM, format!("{}, {}", std::env::consts::ARCH, std::env::consts::OS)));
    let iteration = if iteration == "none" { String::new() } else { format!("iteration {iteration}") };
    facts.push(told("Method", format!("{method} on {formulation}"), iteration));
    facts.push(match o.step {
        Some(h) => told("Step", format!("{h} s, fixed"), ""),
        None => {
            let atol = o.testing.atol.map_or(String::new(), |a| format!("atol {a:e}"));
            told("Tolerance", format!("rtol {:e}", o.rtol), atol)
        }
    });
    let recorded = o.sample.map_or("recorded at every step, thinned".into(), |dt| format!("recorded every {dt} s"));
    facts.push(told("Span", format!("{} s", o.until), recorded));
    let redundant = match a.redundant {
        0 => String::new(),
        1 => "1 redundant equation".into(),
        n => format!("{n} redundant equations"),
    };
    facts.push(told("Degrees of freedom", a.degrees_of_freedom.to_string(), redundant));
    Section { title: "Model and program".into(), facts, code: source.text.to_string(), ..Section::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_report_says_what_its_table_says() {
        let deviation = Deviation { name: "a.x".into(), unit: "m", error: 1e-3, mean: 1e-4, scale: 1.0, t: 0.5 };
        let mut v = Verification {
            against: "a finer run".into(),
            steps: vec![10, 20, 40],
            channels: vec![deviation],
            factor: None,
            order: None,
            converges: false,
            agrees_until: None,
            fixed: true,
        };
        let head = in_short(&v);
        assert!(
            head.contains("all runs agree to 1 %") && head.contains(v.agreement().doubt().unwrap_or("?")),
            "{head}"
        );
        v.agrees_until = Some(2.0);
        let head = in_short(&v);
        assert!(head.contains("until t = 2.00 s") && head.contains("chaotic"), "{head}");
        v.converges = true;
        assert!(in_short(&v).starts_with("Its error is at most") && v.agreement().doubt().is_none());
    }

    /// The examples but for large ones.
    fn examples() -> Vec<(String, std::sync::Arc<bellcrank_model::System>)> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
        let files = std::fs::read_dir(folder).expect("examples").map(|f| f.expect("a file").path());
        let models = files.filter(|f| f.extension().is_some_and(|e| e == "toml"));
        let read = |f: std::path::PathBuf| {
            let model =
                bellcrank_model::read::read_model(&f.to_string_lossy(), &[]).expect("an example can be read").model;
            (f.display().to_string(), std::sync::Arc::new(model.compile()))
        };
        models.map(read).filter(|(_, s)| s.model.bodies.len() < 40).collect()
    }

    #[test]
    fn report_text_and_json_have_the_same_doubts_on_all_examples() {
        let (mut told, mut silent) = (0, 0);
        for (name, system) in examples() {
            let options = bellcrank_solve::Options { until: 0.05, ..Default::default() };
            let mut frames = bellcrank_solve::record::Memory::default();
            let mut run = bellcrank_solve::Simulation::new(system.clone(), options.clone()).expect("an example starts");
            let summary = run.run(&mut frames);
            let (options, frames) = (&options, &frames);
            let e =
                Evidence { system: &system, options, summary: &summary, frames, verification: Err("not asked for") };
            let section = doubts(&e);
            let of_report: Vec<(&str, &str)> = section.facts.iter().map(|f| (&*f.name, &*f.value)).collect();
            let of_run: Vec<(&str, &str)> = summary.doubts.iter().map(|d| (d.kind, &*d.message)).collect();
            assert_eq!(of_report, of_run, "{name}");
            let json = bellcrank_results::json::whole(&summary);
            let texts = json["doubts"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|d| (d["kind"].as_str().expect("a word"), d["message"].as_str().expect("a sentence")));
            assert_eq!(texts.collect::<Vec<_>>(), of_run, "{name}");
            // the head has a line for the worst of them, and other sections do not contradict it
            let source = ModelText { name: "", text: "", sha256: String::new(), overridden: &[] };
            let head = sections(&e, &source).swap_remove(0);
            let worst = summary.doubts.iter().map(|d| d.verdict).max();
            assert_eq!(head.facts.iter().find(|f| f.name == "Doubts").map(|f| f.verdict), worst, "{name}");
            let unique = reactions(&e).facts.iter().all(|f| f.name != "Not unique");
            assert_eq!(unique, summary.doubts.iter().all(|d| d.kind != "reactions"), "{name}");
            let check = bellcrank_solve::check::check(&system, options);
            assert_eq!(
                check.redundant() > 0,
                summary.assembly.redundant > 0,
                "{name}: check and run count redundant equations"
            );
            if summary.doubts.is_empty() { silent += 1 } else { told += 1 }
        }
        assert!(told > 0 && silent > told, "{told} examples with doubts, {silent} without");
    }

    #[test]
    fn figures_are_short_and_true() {
        let cases = [(0.0, "0"), (1.0, "1.00"), (-12.345, "-12.3"), (123456.0, "123456"), (0.00123, "0.00123")];
        cases.iter().for_each(|(x, text)| assert_eq!(figure(*x), *text));
        assert_eq!(figure(1.234e-7), "1.2 × 10⁻⁷");
        assert_eq!(figure(-6.02e23), "-6.0 × 10²³");
        assert_eq!((figure(f64::NAN), figure(f64::INFINITY)), ("NaN".into(), "inf".into()));
    }
}
