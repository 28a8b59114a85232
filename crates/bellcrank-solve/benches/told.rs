//! What the estimate of a run's error is worth: `cargo bench -p bellcrank-solve --bench told [-- MACHINES…] [METHODS…]`.
//!
//! Every machine that nothing damps (`undamped:`), all examples and reference problems, against dop853 at 1e-12. For each run: the estimate
//! and the largest error in tolerances, estimate over error, and the evaluations of the companion over those of the run. Errors
//! below rounding are left out of the table at the end.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/undamped.rs"]
mod undamped;

use bellcrank_model::read::read_model;
use bellcrank_model::{State, System};
use bellcrank_solve::choices::{ErrorBudget, MethodName, Options};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::Simulation;
use common::*;
use std::path::Path;
use std::sync::Arc;

const METHODS: [&str; 4] = ["auto", "dopri5", "bdf", "gen-alpha"];
const TOLERANCES: [f64; 3] = [1e-4, 1e-6, 1e-8];

/// Methods of second order take millions of steps below this.
const COARSE: f64 = 1e-6;

/// Runs are compared so often.
const LOOKS: usize = 40;

/// Larger models take too long here.
const MOST_BODIES: usize = 80;

/// A reference that takes longer than this, in s, is given up.
const PATIENCE: f64 = 30.0;

/// Smaller errors are rounding, also of the reference.
const ROUNDING: f64 = 1e-11;

struct Machine {
    name: String,
    system: Arc<System>,
    until: f64,
}

/// The models of a folder, also as `model.toml` in its folders.
fn folder(path: &str, out: &mut Vec<Machine>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let mut files: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|f| f.path()).collect();
    files.sort();
    for file in files {
        let (model, of) = if file.is_dir() { (file.join("model.toml"), &file) } else { (file.clone(), &file) };
        let Some(name) = of.file_stem().map(|name| name.to_string_lossy().to_string()) else { continue };
        if model.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let Ok(read) = read_model(&model.to_string_lossy(), &[]) else { continue };
        if read.model.bodies.len() <= MOST_BODIES {
            let until = read.settings.number("until").unwrap_or(1.0);
            out.push(Machine { name, system: Arc::new(read.model.compile()), until });
        }
    }
}

/// What came of a run.
struct Found {
    told: Result<f64, String>,
    error: f64,
    part: f64,
    events: usize,
}

fn attempt(m: &Machine, options: Options) -> Option<Found> {
    let mut run = Simulation::new(m.system.clone(), options).ok()?;
    run.tell_error();
    let mut states: Vec<State> = Vec::new();
    while let Some(step) = run.step().ok()? {
        if step.t * LOOKS as f64 >= m.until * (states.len() + 1) as f64 || step.t >= m.until {
            states.push(run.state().clone());
        }
    }
    let summary = run.run(&mut Silent);
    let tight = Options { method: MethodName::Dop853, rtol: 1e-12, until: m.until, ..Options::default() };
    let tight = tight.with(|o| (o.testing.budget, o.resources.max_seconds) = (ErrorBudget::Step, Some(PATIENCE)));
    let mut reference = Simulation::new(m.system.clone(), tight).ok()?;
    let (mut error, begun) = (0.0f64, std::time::Instant::now());
    for state in &states {
        reference.advance_to(state.t).ok().filter(|_| begun.elapsed().as_secs_f64() < PATIENCE)?;
        error = error.max(undamped::distance(&m.system, reference.state(), state));
    }
    let told = summary.error.ok_or(summary.no_estimate.unwrap_or_default());
    let part = summary.beside.residual_evaluations as f64 / summary.statistics.residual_evaluations as f64;
    Some(Found { told, error, part, events: summary.events.len() })
}

/// Estimate over error and the part of evaluations, of all runs of a kind.
#[derive(Default)]
struct Tally {
    ratios: Vec<f64>,
    parts: Vec<f64>,
}

impl Tally {
    fn tell(mut self, kind: &str) {
        self.ratios.sort_by(f64::total_cmp);
        let n = self.ratios.len();
        let within = self.ratios.iter().filter(|r| (0.1..=10.0).contains(*r)).count();
        let low = self.ratios.iter().filter(|r| **r < 1.0 / 30.0).count();
        let mean = self.parts.iter().sum::<f64>() / self.parts.len().max(1) as f64;
        let at = |k: usize| self.ratios.get(k).copied().unwrap_or(f64::NAN);
        println!(
            "{kind:22} {within:3} of {n:3} estimates within 0.1 to 10 times the error, {low} below 1/30; least {:.3}, median {:.2}, most {:.1}; {:.1} % more evaluations",
            at(0),
            at(n / 2),
            at(n.saturating_sub(1)),
            100.0 * mean
        );
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let asked = |name: &str| words.iter().any(|w| w == name);
    let mut machines: Vec<Machine> = undamped::machines()
        .into_iter()
        .map(|m| Machine { name: format!("undamped:{}", m.name), system: system(&m.text), until: m.until })
        .collect();
    folder("examples", &mut machines);
    folder("tests/problems", &mut machines);
    let any = !machines.iter().any(|m| asked(&m.name));
    let every = !METHODS.iter().any(|m| asked(m));
    let mut tallies: Vec<(String, Tally)> = Vec::new();
    for m in machines.iter().filter(|m| any || asked(&m.name)) {
        for method in METHODS.into_iter().filter(|m| every || asked(m)) {
            for rtol in TOLERANCES.into_iter().filter(|rtol| *rtol >= COARSE || method != "gen-alpha") {
                let options = Options { rtol, until: m.until, ..Options::named(method).unwrap_or_default() };
                let Some(found) = attempt(m, options) else {
                    println!("{:24} {method:9} {rtol:.0e}   no reference, or failed", m.name);
                    continue;
                };
                let Found { told, error, part, events } = found;
                let ratio = told.as_ref().map_or(f64::NAN, |told| told / error);
                let words = told.as_ref().map_or_else(|why| why.clone(), |told| format!("{:9.2}", told / rtol));
                println!(
                    "{:24} {method:9} {rtol:.0e} told {words} error {:9.2} ratio {ratio:8.3} part {part:.3} events {events}",
                    m.name,
                    error / rtol
                );
                let undamped = if m.name.starts_with("undamped") { "undamped" } else { "others" };
                for kind in
                    [undamped.to_string(), format!("{undamped} {method}"), format!("{undamped} {method} {rtol:.0e}")]
                {
                    if !tallies.iter().any(|(name, _)| *name == kind) {
                        tallies.push((kind.clone(), Tally::default()));
                    }
                    if let Some((_, tally)) = tallies.iter_mut().find(|(name, _)| *name == kind) {
                        tally.parts.push(part);
                        tally.ratios.extend(Some(ratio).filter(|_| told.is_ok() && error > ROUNDING));
                    }
                }
            }
        }
    }
    tallies.sort_by(|a, b| a.0.cmp(&b.0));
    tallies.into_iter().for_each(|(kind, tally)| tally.tell(&kind));
}
