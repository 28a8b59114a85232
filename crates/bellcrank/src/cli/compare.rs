//! `bellcrank compare MODEL`: work and precision of methods, formulations and iterations.

use crate::cli::flags::{End, Flags};
use crate::cli::places::{refused, spoken};
use crate::cli::{Failure, differences, output, plot, print, print_drawn};
use bellcrank_model::read::Read;
use bellcrank_results::json::comparison;
use bellcrank_solve::choices::{Family, METHODS, MethodName, Options, Said, Voice, understood};
use bellcrank_solve::evidence::compare::{Combination, Outcome, Precision, Reference, ReferenceError};
use bellcrank_solve::run::{StartError, Status};
use bellcrank_view::plot::{Axis, Curve, Figure};
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of `compare`.
#[derive(Args)]
pub struct Compare {
    /// The model file, or a result folder to compare with another.
    model: String,
    /// The other result folder: prints the largest difference of every channel.
    other: Option<PathBuf>,
    /// Methods, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "bdf,dopri5,dop853")]
    method: Vec<String>,
    /// Formulations, separated by commas (default: that of the method).
    #[arg(long, value_delimiter = ',')]
    formulation: Vec<String>,
    /// Newton iterations, separated by commas (default: that of the method).
    #[arg(long, value_delimiter = ',')]
    iteration: Vec<String>,
    /// Tolerances of methods with error control: a list, or a range in powers of ten (default: 1e-3..1e-8).
    #[arg(long, value_name = "LIST")]
    rtol: Option<String>,
    /// Fixed step sizes in s for gen-alpha, hht and newmark (besides their tolerances) and for euler, rk2 and rk4: a list,
    /// or 1e-2..1e-4 to halve repeatedly.
    #[arg(long, value_name = "LIST")]
    step: Option<String>,
    #[command(flatten)]
    end: Flags<End>,
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

/// Compares what was asked for.
pub fn compare(args: Compare) -> Result<(), Failure> {
    if let Some(other) = &args.other {
        return differences::tell(Path::new(&args.model), other, args.json);
    }
    args.save.iter().try_for_each(|path| plot::Format::of(path).map(|_| ()))?;
    let read = output::read(&args.model, &args.set)?;
    let base = output::options(&read, &args.end.0)?;
    let (combinations, mut skipped) = combinations(&args, &read)?;
    check_steps(&args, &combinations)?;
    let rtol = args.rtol.as_deref().map(|text| list("--rtol", text, 0.1)).transpose()?;
    let steps = args.step.as_deref().map(|text| list("--step", text, 0.5)).transpose()?.unwrap_or_default();
    let tolerances = rtol.unwrap_or_else(|| (3..=8).map(|k| 10f64.powi(-k)).collect());
    let tightest = tolerances.iter().copied().fold(1e-8, f64::min);
    let reference =
        Reference::new(Arc::new(read.model.compile()), base, tightest).map_err(|e| no_reference(&args.model, e))?;
    if !steps.is_empty() {
        skipped.extend(without_steps(&combinations));
    }
    let mut outcomes = Vec::new();
    for c in combinations {
        if steps.is_empty() && !c.method.adaptive() {
            let reason = format!("{} has no error control: give --step 1e-2..1e-4", c.method.name());
            skipped.push((c.to_string(), reason));
        }
        for precisions in precisions(c.method, &tolerances, &steps) {
            for precision in precisions {
                match reference.run(c, precision) {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(e) => {
                        let reason = match e {
                            StartError::Option(e) => e.line(Voice::CommandLine),
                            e => e.to_string(),
                        };
                        skipped.push((c.to_string(), reason));
                        break;
                    }
                }
            }
        }
    }
    let figures = diagram(&reference, &outcomes);
    if args.json {
        print(&comparison(&reference, &outcomes, &skipped).to_string())?;
    } else {
        print(&table(&outcomes))?;
        for (what, reason) in &skipped {
            print(&format!("skipped: {what}: {reason}"))?;
        }
        print(&format!(
            "Errors are those against {} at rtol {:e}, which is good to about {:.0e}.",
            reference.method, reference.rtol, reference.doubt
        ))?;
        if args.save.is_empty() {
            print_drawn(&format!("\n{}", plot::in_terminal(&figures[..1])))?;
        }
    }
    if !args.save.is_empty() {
        plot::show(&figures, &args.save)?;
    }
    match outcomes.iter().any(|o| o.summary.status == Status::Finished) {
        true => Ok(()),
        false => {
            Err(Failure::Failed("no run reached its end\nhelp: the table has the reasons; try --method auto".into()))
        }
    }
}

/// The tolerances and the fixed steps that a method is run with.
fn precisions(method: MethodName, tolerances: &[f64], steps: &[f64]) -> [Vec<Precision>; 2] {
    let given = |list: &[f64], takes: bool, as_precision: fn(f64) -> Precision| match takes {
        true => list.iter().copied().map(as_precision).collect(),
        false => Vec::new(),
    };
    [given(tolerances, method.adaptive(), Precision::Tolerance), given(steps, takes_steps(method), Precision::Step)]
}

/// Whether `--step` is for a method: bdf and the explicit ones with an error estimate live on its control.
fn takes_steps(method: MethodName) -> bool {
    matches!(method.row().family, Family::Alpha(..)) || !method.adaptive()
}

/// The methods that run at their tolerances alone although steps were given, each with the reason.
fn without_steps(combinations: &[Combination]) -> Vec<(String, String)> {
    let methods = combinations.iter().map(|c| c.method).filter(|method| !takes_steps(*method));
    let told = |method: MethodName| {
        let name = method.name();
        (format!("{name} with --step"), format!("{name} chooses its steps by the error: run at its tolerances alone"))
    };
    let mut out: Vec<(String, String)> = methods.map(told).collect();
    out.dedup();
    out
}

/// Refuses steps that no method would take.
fn check_steps(args: &Compare, combinations: &[Combination]) -> Result<(), Failure> {
    if args.step.is_none() || combinations.is_empty() || combinations.iter().any(|c| takes_steps(c.method)) {
        return Ok(());
    }
    let names: Vec<&str> = METHODS.iter().filter(|row| takes_steps(row.method)).map(|row| row.name).collect();
    let help = format!("add one of them to --method, or leave --step out; fixed steps are for {}", names.join(", "));
    Err(Failure::BadInput(format!("--step: all of these methods choose their steps by the error\nhelp: {help}")))
}

/// Why there is nothing to compare with.
fn no_reference(path: &str, e: ReferenceError) -> Failure {
    let text = format!("{path}: {e}");
    match e {
        ReferenceError::Start(StartError::Step(e)) => Failure::Failed(format!("{path}: the reference run failed: {e}")),
        ReferenceError::Failed(_) => Failure::Failed(text),
        ReferenceError::Start(e) => Failure::BadInput(format!("{path}: {}", spoken(e))),
        ReferenceError::NoFreedom => {
            Failure::BadInput(format!("{text}\nhelp: its motion follows from its drives alone: free one of them"))
        }
    }
}

/// Every pairing of what was named; what cannot go together comes back with the reason.
fn combinations(args: &Compare, read: &Read) -> Result<(Vec<Combination>, Vec<(String, String)>), Failure> {
    // each word as if it stood alone on the command line
    let each = |key: &'static str, words: &[String]| -> Result<Vec<Option<Options>>, Failure> {
        let one = |word: &String| understood(&[Said::argument(key, word.trim())]).map(Some);
        let found = words.iter().map(one).collect::<Result<Vec<_>, _>>();
        let found = found.map_err(|e| Failure::BadInput(refused(read, &[], e).to_string()))?;
        Ok(if found.is_empty() { vec![None] } else { found })
    };
    let iterations: Vec<_> = each("iteration", &args.iteration)?.iter().map(|o| o.as_ref()?.iteration).collect();
    let formulations: Vec<_> =
        each("formulation", &args.formulation)?.iter().map(|o| o.as_ref()?.formulation).collect();
    let mut out = Vec::new();
    let mut skipped: Vec<(String, String)> = Vec::new();
    for named in each("method", &args.method)?.into_iter().flatten() {
        let method = named.method;
        for formulation in formulations.iter().map(|f| f.or(named.formulation)) {
            for (k, iteration) in iterations.iter().copied().enumerate() {
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
                    Err(e) => skipped.push((c.to_string(), e.line(Voice::CommandLine))),
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
        let control = match o.precision {
            Precision::Tolerance(rtol) => format!("rtol {rtol:e}"),
            Precision::Step(h) => format!("h {h:e}"),
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
fn diagram(reference: &Reference, outcomes: &[Outcome]) -> [Figure; 2] {
    // names say only what differs
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
    first.title = format!("Work and precision: {}, 0 … {} s", reference.name, reference.base.until);
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
