//! `bellcrank compare MODEL`: work and precision of methods, formulations and iterations.
//!
//! The error of a run is the largest over 100 samples and all bodies of |Δp|/L and of the angle between the
//! rotations, against a much tighter run; L is the radius of the space that the bodies move in.

use crate::run::{self, Run, choice};
use crate::{Failure, output, plot, print};
use bellcrank_model::read::Read;
use bellcrank_model::{State, System};
use bellcrank_solve::choices::{FormulationKind, MethodName, Options, Voice};
use bellcrank_solve::newton::{self, Iteration};
use bellcrank_solve::record::{Memory, Recorder, Silent};
use bellcrank_solve::simulation::{Simulation, StartError, Status, Summary};
use bellcrank_view::plot::{Axis, Curve, Figure};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// Options of `compare`.
#[derive(Args)]
pub struct Compare {
    /// The model file.
    model: String,
    /// Methods, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "bdf,dopri5,dop853")]
    method: Vec<String>,
    /// Formulations, separated by commas; the method's own if left out.
    #[arg(long, value_delimiter = ',')]
    formulation: Vec<String>,
    /// Newton's iterations, separated by commas; the method's own if left out.
    #[arg(long, value_delimiter = ',')]
    iteration: Vec<String>,
    /// Relative tolerances of methods with error control: a list, or 1e-3..1e-8 (the default) for every power of ten.
    #[arg(long, value_name = "LIST")]
    rtol: Option<String>,
    /// Step sizes in s of methods without error control: a list, or 1e-2..1e-4 for every half of the one before.
    #[arg(long, value_name = "LIST")]
    step: Option<String>,
    /// End of the runs in s.
    #[arg(long, value_name = "T")]
    until: Option<f64>,
    /// Overrides a value of the file; may be repeated.
    #[arg(long = "set", value_name = "K=V")]
    set: Vec<String>,
    /// Writes the diagram to this file, FILE.svg or FILE.png; may be repeated.
    #[arg(long, value_name = "FILE")]
    save: Vec<PathBuf>,
    /// Prints one JSON object instead of a table and a diagram.
    #[arg(long)]
    json: bool,
}

/// A choice to be compared.
#[derive(Clone, Copy)]
struct Combination {
    method: MethodName,
    formulation: Option<FormulationKind>,
    iteration: Option<Iteration>,
}

/// How a run went.
struct Outcome {
    combination: Combination,
    /// The tolerance, or else the step size.
    rtol: Option<f64>,
    step: Option<f64>,
    summary: Summary,
    seconds: f64,
    error: f64,
}

/// Compares what was asked for.
pub fn compare(args: Compare) -> Result<(), Failure> {
    args.save.iter().try_for_each(|path| plot::Format::of(path).map(|_| ()))?;
    let read = output::read(&args.model, &args.set)?;
    let common = Run::of(&args.model).up_to(args.until);
    let base = run::options(&common, &read).map_err(|report| Failure::BadInput(report.to_string()))?;
    let (combinations, mut skipped) = combinations(&args, &read)?;
    let rtol = args.rtol.as_deref().map(|text| list("--rtol", text, 0.1)).transpose()?;
    let steps = args.step.as_deref().map(|text| list("--step", text, 0.5)).transpose()?;
    let tolerances = rtol.unwrap_or_else(|| (3..=8).map(|k| 10f64.powi(-k)).collect());
    let tightest = tolerances.iter().copied().fold(1e-8, f64::min);
    let bench = Bench::new(&args.model, &read, base, tightest)?;
    let mut outcomes = Vec::new();
    for c in combinations {
        let controlled = c.method.adaptive();
        let values = if controlled { tolerances.as_slice() } else { steps.as_deref().unwrap_or(&[]) };
        if values.is_empty() {
            let reason = format!("{} has no error control: give --step 1e-2..1e-4", c.method.name());
            skipped.push((c.words(), reason));
        }
        for value in values {
            let (rtol, step) = if controlled { (Some(*value), None) } else { (None, Some(*value)) };
            match bench.run(c, rtol, step) {
                Ok(outcome) => outcomes.push(outcome),
                Err(reason) => {
                    skipped.push((c.words(), reason));
                    break;
                }
            }
        }
    }
    let figures = diagram(&bench, &outcomes);
    if args.json {
        print(&bench.json(&outcomes, &skipped).to_string())?;
    } else {
        print(&table(&outcomes))?;
        for (what, reason) in &skipped {
            print(&format!("skipped: {what}: {reason}"))?;
        }
        print(&format!(
            "Errors are those against {} at rtol {:e}, which is good to about {:.0e}.",
            bench.method, bench.rtol, bench.doubt
        ))?;
        if args.save.is_empty() {
            print(&format!("\n{}", plot::in_terminal(&figures[..1])))?;
        }
    }
    if !args.save.is_empty() {
        plot::show(&figures, &args.save)?;
    }
    match outcomes.iter().any(|o| o.summary.status == Status::Finished) {
        true => Ok(()),
        false => Err(Failure::Failed("no run reached its end\nhelp: the table tells why; try --method auto".into())),
    }
}

impl Combination {
    fn words(self) -> String {
        let iteration = self.iteration.map(Iteration::name);
        let words = [Some(self.method.name()), self.formulation.map(FormulationKind::name), iteration];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// Every pairing of what was named; what cannot go together comes back with the reason.
fn combinations(args: &Compare, read: &Read) -> Result<(Vec<Combination>, Vec<(String, String)>), Failure> {
    fn each<T: Copy>(
        read: &Read,
        option: &str,
        words: &[String],
        names: &[&str],
        find: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<Option<T>>, Failure> {
        let one = |word: &String| choice(read, option, Some((word.trim(), None)), names, &find);
        let found = words.iter().map(one).collect::<Result<Vec<_>, _>>();
        let found = found.map_err(|report| Failure::BadInput(report.to_string()))?;
        Ok(if found.is_empty() { vec![None] } else { found })
    }
    let methods = MethodName::names();
    let formulations = FormulationKind::NAMES;
    let mut out = Vec::new();
    let mut skipped: Vec<(String, String)> = Vec::new();
    for method in each(read, "method", &args.method, &methods, MethodName::by_name)?.into_iter().flatten() {
        for formulation in each(read, "formulation", &args.formulation, formulations, FormulationKind::by_name)? {
            for (k, iteration) in
                each(read, "iteration", &args.iteration, newton::NAMES, Iteration::by_name)?.into_iter().enumerate()
            {
                let mut c = Combination { method, formulation, iteration };
                if method.explicit() && iteration.is_some() {
                    if k == 0 {
                        let reason = format!("{} is explicit and does not iterate: run once, without", method.name());
                        skipped.push((format!("{} with --iteration", method.name()), reason));
                    } else {
                        continue;
                    }
                    c.iteration = None;
                }
                let step = if method.adaptive() { None } else { Some(1e-3) };
                // `auto` chooses the formulation as it goes, all others have one of their own
                let own = (method != MethodName::Auto).then(|| method.default_formulation());
                let formulation = formulation.or(own);
                let options = Options { method, formulation, iteration: c.iteration, step, ..Options::default() };
                match options.check() {
                    Ok(()) => out.push(c),
                    Err(e) => skipped.push((c.words(), e.line(Voice::CommandLine))),
                }
            }
        }
    }
    skipped.dedup();
    Ok((out, skipped))
}

/// `1e-3,1e-5` or `1e-3..1e-8`, where each value is `factor` times the one before.
fn list(option: &str, text: &str, factor: f64) -> Result<Vec<f64>, Failure> {
    let wrong = |what: &str| {
        let help = format!("for example {option} 1e-3..1e-6 or {option} 1e-3,1e-5");
        Failure::BadInput(format!("{option}: {what} in `{text}`\nhelp: {help}"))
    };
    let number = |word: &str| match word.trim().parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err(wrong(&format!("expected a positive number, found `{}`", word.trim()))),
    };
    let mut out = Vec::new();
    for part in text.split(',') {
        let Some((a, b)) = part.split_once("..") else {
            out.push(number(part)?);
            continue;
        };
        let (a, b) = (number(a)?, number(b)?);
        let (high, low) = (a.max(b), a.min(b));
        let n = ((low / high).ln() / factor.ln() + 1e-9).floor();
        if n > 60.0 {
            return Err(wrong("there are too many values"));
        }
        // powers of ten are exact, as if they had been written out
        let tenth = |k: i32| format!("{:e}", high * factor.powi(k)).parse::<f64>().unwrap_or(high);
        let rounded = |k: i32| format!("{:.6e}", tenth(k)).parse().unwrap_or(high);
        let values: Vec<f64> = (0..=n as i32).map(rounded).collect();
        out.extend(if a >= b { values } else { values.into_iter().rev().collect() });
    }
    Ok(out)
}

/// A model with its reference.
struct Bench {
    name: String,
    system: Arc<System>,
    start: State,
    base: Options,
    reference: Memory,
    /// What the reference was computed with.
    method: &'static str,
    rtol: f64,
    /// The error of a reference ten times as loose against it.
    doubt: f64,
    bodies: Vec<Places>,
    size: f64,
}

/// Where the channels of a body stand in a row.
struct Places {
    position: Vec<usize>,
    angle: Option<usize>,
    quaternion: Vec<usize>,
}

impl Bench {
    fn new(path: &str, read: &Read, base: Options, tightest: f64) -> Result<Bench, Failure> {
        let system = Arc::new(read.model.compile());
        let start = system.initial_state();
        let base = Options { sample: Some(base.until / 100.0), formulation: None, iteration: None, step: None, ..base };
        let mut bench = Bench {
            name: system.model.name.clone(),
            system,
            start,
            base,
            reference: Memory::default(),
            method: "auto",
            rtol: 0.0,
            doubt: 0.0,
            bodies: vec![],
            size: 1.0,
        };
        let mut rtol = (tightest / 100.0).clamp(1e-12, 1e-10);
        let failed = |what: String| Failure::Failed(format!("{path}: the reference run failed: {what}"));
        let summary = loop {
            let options = Options { method: MethodName::Auto, rtol, ..bench.base.clone() };
            let mut memory = Memory::default();
            let summary = bench.simulate(options, &mut memory).map_err(|e| match e {
                StartError::Step(e) => failed(e.to_string()),
                e => Failure::BadInput(format!("{path}: {e}")),
            })?;
            match &summary.status {
                Status::Finished => {
                    bench.reference = memory;
                    break summary;
                }
                Status::Failed(e) if rtol > tightest => return Err(failed(e.to_string())),
                _ => rtol *= 10.0,
            }
        };
        if summary.assembly.degrees_of_freedom == 0 {
            let help = "its motion follows from its drives alone: free one of them";
            return Err(Failure::BadInput(format!(
                "{path}: the model has no degree of freedom to compare methods on\nhelp: {help}"
            )));
        }
        bench.rtol = rtol;
        bench.method = if summary.names.0 == "bdf" { "auto (bdf)" } else { summary.names.0 };
        bench.places();
        let looser = Options { method: MethodName::Auto, rtol: 10.0 * rtol, ..bench.base.clone() };
        let mut memory = Memory::default();
        bench.doubt = match bench.simulate(looser, &mut memory) {
            Ok(s) if s.status == Status::Finished => bench.error(&memory),
            _ => f64::NAN,
        };
        Ok(bench)
    }

    fn places(&mut self) {
        let channels = &self.reference.header.channels;
        let find = |name: &str, part: &str| channels.iter().position(|c| c.name == format!("{name}.{part}"));
        let list = |name: &str, parts: &[&str]| parts.iter().filter_map(|p| find(name, p)).collect::<Vec<_>>();
        let bodies = self.system.model.bodies.iter().map(|b| Places {
            position: list(&b.name, &["x", "y", "z"]),
            angle: find(&b.name, "angle"),
            quaternion: list(&b.name, &["qw", "qx", "qy", "qz"]),
        });
        self.bodies = bodies.collect();
        let mut span = [(f64::INFINITY, f64::NEG_INFINITY); 3];
        for row in (0..self.reference.times.len()).map(|i| self.reference.row(i)) {
            for b in &self.bodies {
                for (s, k) in span.iter_mut().zip(&b.position) {
                    *s = (s.0.min(row[*k]), s.1.max(row[*k]));
                }
            }
        }
        let radius = span.iter().filter(|s| s.0 <= s.1).map(|s| (0.5 * (s.1 - s.0)).powi(2)).sum::<f64>().sqrt();
        self.size = if radius > 0.0 { radius } else { 1.0 };
    }

    fn simulate(&self, options: Options, out: &mut dyn Recorder) -> Result<Summary, StartError> {
        let mut simulation = Simulation::new(&self.name, self.system.clone(), &self.start, options)?;
        Ok(simulation.run(out, &mut |_, _| {}))
    }

    /// One run for its error, and some for its time.
    fn run(&self, c: Combination, rtol: Option<f64>, step: Option<f64>) -> Result<Outcome, String> {
        let options = Options {
            method: c.method,
            formulation: c.formulation,
            iteration: c.iteration,
            step,
            rtol: rtol.unwrap_or(self.base.rtol),
            ..self.base.clone()
        };
        let plain = |e: StartError| match e {
            StartError::Option(e) => e.line(Voice::CommandLine),
            e => e.to_string(),
        };
        let mut memory = Memory::default();
        let summary = self.simulate(options.clone(), &mut memory).map_err(plain)?;
        let error = if summary.status == Status::Finished { self.error(&memory) } else { f64::NAN };
        let (mut seconds, mut spent) = (f64::INFINITY, 0.0);
        for _ in 0..5 {
            let again = self.simulate(options.clone(), &mut Silent).map_err(plain)?;
            seconds = again.wall_seconds.min(seconds);
            spent += again.wall_seconds;
            if spent > 0.1 {
                break;
            }
        }
        Ok(Outcome { combination: c, rtol, step, summary, seconds, error })
    }

    fn error(&self, run: &Memory) -> f64 {
        if run.times.len() != self.reference.times.len() {
            return f64::NAN;
        }
        let mut largest = 0.0f64;
        for i in 0..run.times.len() {
            let (a, b) = (run.row(i), self.reference.row(i));
            for body in &self.bodies {
                let far: f64 = body.position.iter().map(|k| (a[*k] - b[*k]).powi(2)).sum::<f64>().sqrt();
                let turned = match (body.angle, &body.quaternion[..]) {
                    (Some(k), _) => (a[k] - b[k]).abs(),
                    (None, []) => 0.0,
                    // 2 |q − (q·p) p| for unit quaternions that are the same up to their sign
                    (None, q) => {
                        let dot: f64 = q.iter().map(|k| a[*k] * b[*k]).sum();
                        2.0 * q.iter().map(|k| (a[*k] - dot * b[*k]).powi(2)).sum::<f64>().sqrt()
                    }
                };
                largest = largest.max(far / self.size).max(turned);
            }
        }
        largest
    }

    fn json(&self, outcomes: &[Outcome], skipped: &[(String, String)]) -> Value {
        let run = |o: &Outcome| {
            let s = bellcrank_results::json::run(&o.summary);
            let mut out = json!({
                "method": o.combination.method.name(),
                "formulation": s["formulation"],
                "iteration": s["iteration"],
                "rtol": o.rtol,
                "step": o.step,
                "seconds": o.seconds,
                "error": if o.error.is_finite() { json!(o.error) } else { Value::Null },
            });
            let keys =
                ["status", "steps", "rejected", "residual_evaluations", "jacobian_evaluations", "factorizations"];
            keys.iter().for_each(|k| out[*k] = s[*k].clone());
            if let Status::Failed(e) = &o.summary.status {
                out["message"] = json!(e.to_string());
            }
            out
        };
        let left_out = |(what, reason): &(String, String)| json!({"what": what, "reason": reason});
        json!({
            "model": self.name,
            "until": self.base.until,
            "size": self.size,
            "reference": {"method": self.method, "rtol": self.rtol, "doubt": if self.doubt.is_finite() { json!(self.doubt) } else { Value::Null }},
            "runs": outcomes.iter().map(run).collect::<Vec<_>>(),
            "skipped": skipped.iter().map(left_out).collect::<Vec<_>>(),
        })
    }
}

impl Outcome {
    fn names(&self) -> [&'static str; 3] {
        let (method, formulation, iteration) = self.summary.names;
        match self.combination.method {
            MethodName::Auto => ["auto", formulation, iteration],
            _ => [method, formulation, iteration],
        }
    }
}

fn table(outcomes: &[Outcome]) -> String {
    let header = [
        "method",
        "formulation",
        "iteration",
        "control",
        "steps",
        "rejected",
        "evaluations",
        "factorizations",
        "time [s]",
        "error",
    ];
    let mut rows = vec![header.map(String::from)];
    let mut notes = Vec::new();
    for o in outcomes {
        let s = &o.summary.statistics;
        let [method, formulation, iteration] = o.names().map(String::from);
        let control = match (o.rtol, o.step) {
            (Some(r), _) => format!("rtol {r:e}"),
            (_, h) => format!("h {:e}", h.unwrap_or(f64::NAN)),
        };
        let error = match &o.summary.status {
            Status::Finished => format!("{:.1e}", o.error),
            _ => "failed".into(),
        };
        if let Status::Failed(e) = &o.summary.status {
            let e = e.to_string();
            notes.push(format!(
                "failed: {method} {formulation} {iteration} {control}: {}",
                e.lines().next().unwrap_or("")
            ));
        }
        let rejected = s.error_test_failures + s.convergence_failures;
        let counts = [s.steps, rejected, s.residual_evaluations, s.factorizations].map(|n| n.to_string());
        let [steps, rejected, evaluations, factorizations] = counts;
        let time = format!("{:.4}", o.seconds);
        rows.push([method, formulation, iteration, control, steps, rejected, evaluations, factorizations, time, error]);
    }
    let width = |k: usize| rows.iter().map(|r| r[k].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |row: &[String; 10]| {
        let cell = |(k, text): (usize, &String)| {
            let w = widths[k];
            if k < 4 { format!("{text:w$}") } else { format!("{text:>w$}") }
        };
        row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    rows.iter().map(line).chain(notes).collect::<Vec<_>>().join("\n")
}

/// Evaluations and time over the error that was achieved.
fn diagram(bench: &Bench, outcomes: &[Outcome]) -> [Figure; 2] {
    // names tell only what differs
    let differ = |k: usize| outcomes.iter().any(|o| o.names()[k] != outcomes[0].names()[k]);
    let parts: Vec<usize> = (0..3).filter(|k| *k == 0 || differ(*k)).collect();
    let name = |o: &Outcome| parts.iter().map(|k| o.names()[*k]).filter(|n| *n != "none").collect::<Vec<_>>().join(" ");
    let figure = |label: &str, work: &dyn Fn(&Outcome) -> f64| {
        let mut curves: Vec<Curve> = Vec::new();
        for o in outcomes {
            let (name, point) = (name(o), (o.error, work(o)));
            match curves.iter_mut().find(|c| c.name == name) {
                Some(c) => c.points.push(point),
                None => curves.push(Curve { name, points: vec![point], marked: true }),
            }
        }
        let abscissa = Axis::logarithmic("achieved error");
        Figure { title: String::new(), abscissa, ordinate: Axis::logarithmic(label), curves }
    };
    let mut first = figure("evaluations", &|o| o.summary.statistics.residual_evaluations as f64);
    first.title = format!("Work and precision: {}, 0 … {} s", bench.name, bench.base.until);
    [first, figure("time [s]", &|o| o.seconds)]
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn ranges_and_lists_of_numbers() {
        let of = |text, factor| list("--rtol", text, factor).ok().unwrap();
        assert_eq!(of("1e-3..1e-6", 0.1), [1e-3, 1e-4, 1e-5, 1e-6]);
        assert_eq!(of("1e-6..1e-4", 0.1), [1e-6, 1e-5, 1e-4]);
        assert_eq!(of("0.01..0.002, 1e-5", 0.5), [0.01, 0.005, 0.0025, 1e-5]);
        for bad in ["", "x", "-1", "1e-3..", "0", "1..1e-300", "1,,2"] {
            assert!(list("--rtol", bad, 0.5).is_err(), "{bad}");
        }
    }
}
