//! Every preset of a method with error control on every example at five tolerances: which runs do not finish, and why.
//!
//! `cargo bench -p bellcrank-solve --bench presets [-- SECONDS] [PRESET] [EXAMPLE]`; a run that takes longer than SECONDS (20) is interrupted, and
//! told as such. Runs that finish in doubt and those that refuse more than a twentieth of their steps are counted.

use bellcrank_model::System;
use bellcrank_model::read::read_model;
use bellcrank_solve::Options;
use bellcrank_solve::choices::{PRESETS, Preset};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status, Summary};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The tolerances.
const TOLERANCES: [f64; 5] = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// Refused steps above this part of all are counted.
const REFUSED: f64 = 0.05;

/// The examples, with the length of their runs.
fn examples() -> Vec<(String, Arc<System>, f64)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let files = std::fs::read_dir(folder).expect("the folder of examples").filter_map(|f| Some(f.ok()?.path()));
    let mut files: Vec<PathBuf> = files.filter(|f| f.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    let read = |path: PathBuf| {
        let read = read_model(&path.to_string_lossy(), &[]).ok()?;
        let until = read.settings.number("until").unwrap_or(1.0);
        let name = path.file_stem()?.to_string_lossy().into_owned();
        Some((name, read.model.compile(), until))
    };
    files.into_iter().filter_map(read).map(|(name, system, until)| (name, Arc::new(system), until)).collect()
}

/// One run, or the reason why it does not begin.
fn run(system: &Arc<System>, preset: &Preset, rtol: f64, until: f64, seconds: u64) -> Result<Summary, String> {
    let mut options = Options { until, ..Options::default() };
    preset.apply(&mut options);
    options.rtol = rtol;
    let interrupt = options.resources.interrupt.clone();
    let mut simulation = Simulation::new(system.clone(), options).map_err(|e| e.to_string())?;
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if waits
            .recv_timeout(Duration::from_secs(seconds))
            .is_err_and(|e| e == std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            interrupt.store(true, Ordering::Relaxed);
        }
    });
    let summary = simulation.run(&mut Silent);
    drop(done);
    watch.join().map_err(|_| "the watch".to_string())?;
    Ok(summary)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let seconds = words.iter().find_map(|w| w.parse().ok()).unwrap_or(20);
    let asked = |name: &str, all: &dyn Fn(&str) -> bool| {
        let chosen: Vec<&String> = words.iter().filter(|w| all(w)).collect();
        chosen.is_empty() || chosen.iter().any(|w| *w == name)
    };
    let examples = examples();
    let is_example = |w: &str| examples.iter().any(|(name, ..)| name == w);
    let is_preset = |w: &str| Preset::by_name(w).is_some();
    println!(
        "{:14} {:>5} {:>9} {:>8} {:>9} {:>9} {:>13}",
        "preset", "runs", "finished", "refused", "too long", "doubtful", "> 5 % refused"
    );
    for preset in PRESETS.iter().filter(|p| asked(p.name, &is_preset)) {
        let (mut runs, mut finished, mut refused, mut long, mut doubtful, mut wasteful) = (0, 0, 0, 0, 0, 0);
        let mut words = Vec::new();
        for (name, system, until) in examples.iter().filter(|(name, ..)| asked(name, &is_example)) {
            for rtol in TOLERANCES {
                runs += 1;
                let why = match run(system, preset, rtol, *until, seconds) {
                    Err(e) => {
                        refused += 1;
                        e
                    }
                    Ok(Summary { status: Status::Interrupted, t, statistics, .. }) => {
                        long += 1;
                        format!("t = {t:.4} of {until} s after {} steps in {seconds} s", statistics.steps)
                    }
                    Ok(Summary { status: Status::Failed(e), .. }) => e.to_string(),
                    Ok(summary) => {
                        finished += 1;
                        doubtful +=
                            usize::from(summary.doubts.iter().any(|d| d.kind != "reactions" && d.kind != "start"));
                        let n = summary.statistics;
                        let again = n.error_test_failures + n.convergence_failures;
                        wasteful += usize::from(again as f64 > REFUSED * (n.steps + 40) as f64);
                        continue;
                    }
                };
                words.push(format!("  {name} at {rtol:e}: {}", why.lines().next().unwrap_or_default()));
            }
        }
        println!("{:14} {runs:5} {finished:9} {refused:8} {long:9} {doubtful:9} {wasteful:13}", preset.name);
        words.iter().for_each(|line| println!("{line}"));
    }
}
