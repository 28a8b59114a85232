//! `bellcrank validate`: the reference problems, run as a user would run them, beside exact or published values.

use crate::cli::{Failure, print, tell};
use bellcrank_glue::write_whole;
use bellcrank_model::file::suggest;
use bellcrank_model::read::read_text;
use bellcrank_solve::choices::{CHOICES, Options, Said};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status, Summary};
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of `validate`.
#[derive(Args)]
pub struct Validate {
    /// Names of problems; without any, all of them.
    problems: Vec<String>,
    /// Writes the validation manual to this file (Markdown).
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Prints one JSON object instead of the tables.
    #[arg(long)]
    json: bool,
}

/// A reference problem: its name, where it comes from, the model and the values that are known of it.
struct Problem {
    name: &'static str,
    about: &'static str,
    model: &'static str,
    reference: &'static str,
}

const PROBLEMS: &[Problem] = include!(concat!(env!("OUT_DIR"), "/problems.rs"));

/// The parts of a unit quaternion: q and −q are the same rotation.
const PARTS: [&str; 4] = ["qw", "qx", "qy", "qz"];

/// A line of a `reference.csv`.
struct ReferenceLine<'a> {
    options: &'a str,
    t: f64,
    channel: &'a str,
    value: f64,
    allowed: f64,
}

/// What a run gave for a row.
struct Held<'a> {
    row: ReferenceLine<'a>,
    found: f64,
    error: f64,
}

/// The rows of one run.
struct Ran<'a> {
    held: Vec<Held<'a>>,
    method: &'static str,
    steps: u64,
    seconds: f64,
}

impl Held<'_> {
    /// NaN does not hold.
    fn holds(&self) -> bool {
        self.error <= self.row.allowed
    }

    /// Digits that agree, at most as many as a number has.
    fn digits(&self) -> f64 {
        let relative = self.error / self.row.value.abs().max(f64::MIN_POSITIVE);
        let scale = if self.row.value == 0.0 { self.error } else { relative };
        (-scale.log10()).clamp(0.0, 15.9)
    }
}

/// Runs the problems and compares.
pub fn run(args: Validate) -> Result<(), Failure> {
    if let Some(name) = args.problems.iter().find(|name| PROBLEMS.iter().all(|p| p.name != **name)) {
        let names = || PROBLEMS.iter().map(|p| p.name);
        let help = match suggest::nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", suggest::list(names())),
        };
        return Err(Failure::BadInput(format!(
            "there is no reference problem {}\nhelp: {help}",
            suggest::quoted(name)
        )));
    }
    let wanted = |p: &&Problem| args.problems.is_empty() || args.problems.iter().any(|name| name == p.name);
    let mut results = Vec::new();
    for problem in PROBLEMS.iter().filter(wanted) {
        let runs = solve(problem).map_err(|why| Failure::Failed(format!("{}: {why}", problem.name)))?;
        results.push((problem, runs));
    }
    match args.json {
        true => print(&serde_json::to_string_pretty(&as_json(&results)).unwrap_or_default())?,
        false => print(&as_text(&results))?,
    }
    if let Some(path) = &args.out {
        write_whole(path, as_manual(&results).as_bytes())
            .map_err(|e| Failure::Failed(format!("cannot write {}: {e}", path.display())))?;
        tell(&format!("the validation manual is in {}", path.display()));
    }
    let rows = || results.iter().flat_map(|(p, runs)| runs.iter().flat_map(|r| &r.held).map(|h| (p.name, h)));
    let short: Vec<String> =
        rows().filter(|(_, h)| !h.holds()).map(|(name, h)| format!("{} of {name}", h.row.channel)).collect();
    match short.is_empty() {
        true => Ok(()),
        false => Err(Failure::Failed(format!(
            "{} of {} values fall short: {}",
            short.len(),
            rows().count(),
            suggest::list(short.iter().map(String::as_str))
        ))),
    }
}

/// One run for each set of options and each time.
fn solve(problem: &Problem) -> Result<Vec<Ran<'_>>, String> {
    let mut rows = problem.reference.lines().skip(1).map(row).collect::<Result<Vec<ReferenceLine>, String>>()?;
    let mut runs = Vec::new();
    while !rows.is_empty() {
        let of = |r: &ReferenceLine| (r.options.to_string(), r.t);
        let first = of(&rows[0]);
        let rest = rows.iter().position(|r| of(r) != first).unwrap_or(rows.len());
        let later = rows.split_off(rest);
        runs.push(compare(rows, simulate(problem, &first.0, first.1)?));
        rows = later;
    }
    Ok(runs)
}

fn row(line: &str) -> Result<ReferenceLine<'_>, String> {
    let wrong = || format!("its line of references cannot be read: {line}");
    let cells: Vec<&str> = line.split(',').collect();
    let [options, t, channel, value, allowed] = cells[..] else { return Err(wrong()) };
    let number = |x: &str| x.trim().parse::<f64>().map_err(|_| wrong());
    Ok(ReferenceLine { options, t: number(t)?, channel, value: number(value)?, allowed: number(allowed)? })
}

/// A run with options as they are typed: `--set K=V` and `--KEY VALUE`.
fn simulate(problem: &Problem, options: &str, until: f64) -> Result<Summary, String> {
    let (mut set, mut said) = (Vec::new(), vec![Said::argument("until", until)]);
    let words: Vec<&str> = options.split_whitespace().collect();
    for pair in words.chunks(2) {
        match (pair[0].strip_prefix("--"), pair.get(1)) {
            (Some("set"), Some(value)) => set.push(value.to_string()),
            (Some(flag), Some(value)) => {
                let key = flag.replace('-', "_");
                let choice = CHOICES.iter().find(|c| c.key == key);
                said.push(Said::argument(choice.ok_or(format!("there is no option {flag}"))?.key, *value));
            }
            _ => return Err(format!("its options cannot be read: {options}")),
        }
    }
    let name = format!("{}.toml", problem.name);
    let read = read_text(&name, problem.model, &set).map_err(|report| report.to_string())?;
    let options = Options::from_arguments(&read.settings, &said).map_err(|e| e.to_string())?;
    let system = Arc::new(read.model.compile());
    let summary = Simulation::new(system, options).map_err(|e| e.to_string())?.run(&mut Silent);
    match &summary.status {
        Status::Finished => Ok(summary),
        Status::Interrupted => Err("its run was interrupted".into()),
        Status::Failed(e) => Err(format!("its run failed: {e}")),
    }
}

fn compare(rows: Vec<ReferenceLine<'_>>, summary: Summary) -> Ran<'_> {
    let value = |channel: &str| summary.last.get(channel).unwrap_or(f64::NAN);
    let turns: Vec<Option<f64>> = rows
        .iter()
        .map(|row| {
            let (body, part) = row.channel.rsplit_once('.')?;
            PARTS.contains(&part).then(|| {
                let channels = PARTS.map(|p| format!("{body}.{p}"));
                let known = |c: &String| rows.iter().find(|r| r.channel == *c).map_or(f64::NAN, |r| r.value);
                turn(channels.each_ref().map(|c| value(c)), channels.each_ref().map(known))
            })
        })
        .collect();
    let held = rows.into_iter().zip(turns).map(|(row, turn)| {
        let found = value(row.channel);
        let error = turn.unwrap_or((found - row.value).abs());
        Held { found, error, row }
    });
    Ran {
        held: held.collect(),
        method: summary.names.method,
        steps: summary.statistics.steps as u64,
        seconds: summary.wall_seconds,
    }
}

/// The turn between two rotations given by unit quaternions: 2 |q − (q·p) p| in the limit of small turns.
fn turn(q: [f64; 4], p: [f64; 4]) -> f64 {
    let dot: f64 = q.iter().zip(&p).map(|(a, b)| a * b).sum();
    let sine: f64 = q.iter().zip(&p).map(|(a, b)| (a - dot * b).powi(2)).sum();
    2.0 * sine.sqrt().atan2(dot.abs())
}

type Results<'a> = [(&'a Problem, Vec<Ran<'a>>)];

/// Values, and those that hold.
fn counts(results: &Results) -> (usize, usize) {
    let all = || results.iter().flat_map(|(_, runs)| runs).flat_map(|r| &r.held);
    (all().count(), all().filter(|h| h.holds()).count())
}

fn title(problem: &Problem) -> &str {
    problem.about.lines().next().map_or(problem.name, |line| line.trim_start_matches(['#', ' ']))
}

fn as_text(results: &Results) -> String {
    let mut out = String::new();
    for (problem, runs) in results {
        let _ = writeln!(out, "{} ({})", title(problem), problem.name);
        for ran in runs {
            let Some(first) = ran.held.first() else { continue };
            let options = if first.row.options.is_empty() { "default options" } else { first.row.options };
            let _ = writeln!(
                out,
                "  {options}, t = {} s: {}, {} steps, {:.1} ms",
                first.row.t,
                ran.method,
                ran.steps,
                1e3 * ran.seconds
            );
            for h in &ran.held {
                let verdict = if h.holds() { "" } else { "  FALLS SHORT" };
                let _ = writeln!(
                    out,
                    "    {:<16} {:>20.13e}  reference {:>20.13e}  {:>4.1} digits  error {:.1e} of {:.0e} allowed{verdict}",
                    h.row.channel,
                    h.found,
                    h.row.value,
                    h.digits(),
                    h.error,
                    h.row.allowed
                );
            }
        }
        out.push('\n');
    }
    let (all, good) = counts(results);
    let problems = suggest::count(results.len(), "problem");
    let _ = write!(out, "{problems}, {good} of {all} values within their bounds");
    out
}

fn as_json(results: &Results) -> Value {
    let held = |h: &Held| {
        json!({ "channel": h.row.channel, "value": h.found, "reference": h.row.value, "error": h.error,
                "allowed": h.row.allowed, "digits": h.digits(), "holds": h.holds() })
    };
    let ran = |r: &Ran| {
        json!({ "options": r.held.first().map(|h| h.row.options), "t": r.held.first().map(|h| h.row.t), "method": r.method,
                "steps": r.steps, "seconds": r.seconds, "values": r.held.iter().map(held).collect::<Vec<_>>() })
    };
    let problem = |(p, runs): &(&Problem, Vec<Ran>)| json!({ "name": p.name, "title": title(p), "runs": runs.iter().map(ran).collect::<Vec<_>>() });
    let (all, good) = counts(results);
    json!({ "problems": results.iter().map(problem).collect::<Vec<_>>(), "values": all, "holding": good })
}

/// The validation manual: every problem with its source and a table.
fn as_manual(results: &Results) -> String {
    let (all, good) = counts(results);
    let mut out = format!(
        "# Validation\n\nWritten by `bellcrank validate --out FILE` of version {}: {} problems whose solution is known exactly or has \
         been published, run with the options shown. {good} of {all} values lie within their bounds. *Digits* are those that agree \
         with the reference.\n",
        env!("CARGO_PKG_VERSION"),
        results.len()
    );
    for (problem, runs) in results {
        let source: Vec<&str> = problem.about.lines().skip(1).filter(|l| !l.is_empty()).collect();
        let _ = write!(out, "\n## {}\n\n{}\n\n", title(problem), source.join("\n"));
        out.push_str("| options | t [s] | channel | value | reference | digits | allowed error | steps |\n");
        out.push_str("|---|--:|---|--:|--:|--:|--:|--:|\n");
        for (ran, h) in runs.iter().flat_map(|r| r.held.iter().map(move |h| (r, h))) {
            let options = if h.row.options.is_empty() { "(none)".into() } else { format!("`{}`", h.row.options) };
            let digits = if h.holds() { format!("{:.0}", h.digits().floor()) } else { "falls short".into() };
            let _ = writeln!(
                out,
                "| {options} | {} | `{}` | {:.10} | {:.10} | {digits} | {:.0e} | {} |",
                h.row.t, h.row.channel, h.found, h.row.value, h.row.allowed, ran.steps
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quaternions_are_compared_up_to_their_sign() {
        let (c, s) = (0.6f64, 0.8f64);
        assert!(turn([c, s, 0.0, 0.0], [-c, -s, 0.0, 0.0]) < 1e-15);
        let small = 1e-9f64;
        let turned = [(small / 2.0).cos(), 0.0, (small / 2.0).sin(), 0.0];
        assert!((turn(turned, [1.0, 0.0, 0.0, 0.0]) - small).abs() < 1e-16);
    }

    /// A wrong reference is noticed, and so is a channel that is not there.
    #[test]
    fn what_falls_short_is_told() {
        let pendulum = PROBLEMS.iter().find(|p| p.name == "pendulum").unwrap();
        let reference = "options,t,channel,value,tolerance\n--rtol 1e-8,1,m.x,0.5,1e-9\n--rtol 1e-8,1,m.none,0.5,1e9";
        let wrong = Problem { reference, ..*pendulum };
        let runs = solve(&wrong).unwrap();
        assert_eq!(runs.len(), 1);
        assert!(runs[0].held.iter().all(|h| !h.holds()));
    }
}
