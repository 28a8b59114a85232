//! Work against precision: four problems, all formulations and iterations of BDF, beside IDA of SUNDIALS.
//!
//!     cargo bench -p bellcrank-reproduce --bench work_precision [PROBLEM]
//!
//! IDA runs from `benches/peers/ida.c`, which needs a C compiler and SUNDIALS (Debian: libsundials-dev).

#[path = "../../bellcrank-solve/tests/own_problems/mod.rs"]
mod own_problems;

use bellcrank_model::hand_written::HandWritten;
use bellcrank_model::read::{read_model, read_text};
use bellcrank_model::{Dynamics, State};
use bellcrank_reproduce::coordinate_splitting::bushings::{STIFF, STIFF_END, last};
use bellcrank_solve::FormulationKind;
use bellcrank_solve::choices::{MethodName, Options, Tested};
use bellcrank_solve::newton::{self, Iteration};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Machine, Simulation, Status, Summary};
use own_problems::{CarAxis, SliderCrank};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// A problem with what is known of its end: names and values of channels.
struct Problem {
    name: String,
    dynamics: Arc<dyn Dynamics>,
    start: State,
    until: f64,
    end: Vec<(&'static str, f64)>,
    /// What the error test looks at.
    tests: &'static [(Tested, &'static str, usize)],
}

const USUAL: &[(Tested, &str, usize)] = &[(Tested::QV, "q+v", 5)];
const BOTH: &[(Tested, &str, usize)] = &[(Tested::Q, "q", 2), (Tested::QV, "q+v", 5)];

fn problems() -> Vec<Problem> {
    let mut all = Vec::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/problems/seven-body/model.toml");
    if let Ok(read) = read_model(path, &[]) {
        let system = Arc::new(read.model.compile());
        let start = system.initial_state();
        let end = vec![("K1.angle", 15.8107711951537)];
        all.push(Problem { name: "seven-body".into(), dynamics: system, start, until: 0.03, end, tests: USUAL });
    }
    all.push(Problem {
        name: "car-axis".into(),
        dynamics: Arc::new(HandWritten::new(CarAxis)),
        start: CarAxis::start(),
        until: 3.0,
        end: ["q1", "q2", "q3", "q4"].into_iter().zip(CarAxis::END).collect(),
        tests: USUAL,
    });
    all.push(Problem {
        name: "slider-crank".into(),
        dynamics: Arc::new(HandWritten::new(SliderCrank)),
        start: SliderCrank::start(),
        until: 10.0,
        end: ["q1", "q2", "q3"].into_iter().zip(SliderCrank::END).collect(),
        tests: USUAL,
    });
    for (k, x, y) in STIFF_END {
        let Ok(read) = read_text("stiff.toml", STIFF, &[format!("parameter.k={k:e}")]) else { continue };
        let system = Arc::new(read.model.compile());
        let start = system.initial_state();
        let end = vec![("second.x", x), ("second.y", y)];
        all.push(Problem { name: format!("bushing {k:e}"), dynamics: system, start, until: 1.0, end, tests: BOTH });
    }
    all
}

fn run(problem: &Problem, options: &Options) -> Option<(Summary, f64)> {
    let mut simulation =
        Simulation::new(Machine::equations("bench", problem.dynamics.clone(), &problem.start), options.clone()).ok()?;
    let begin = Instant::now();
    let summary = simulation.run(&mut Silent);
    (summary.status == Status::Finished).then(|| (summary, 1e3 * begin.elapsed().as_secs_f64()))
}

fn ours(problem: &Problem) {
    for &(test, shown, max_order) in problem.tests {
        for (form, ..) in FormulationKind::ALL {
            for iteration in newton::NAMES {
                for rtol in [1e-4, 1e-6, 1e-8] {
                    let options = Options {
                        method: MethodName::Bdf,
                        formulation: Some(*form),
                        iteration: Iteration::by_name(iteration),
                        rtol,
                        until: problem.until,
                        ..Options::default()
                    }
                    .with(|o| {
                        // velocities of index-3 steps cannot be tested
                        o.testing.test = Some(if *form == FormulationKind::Index3 { Tested::Q } else { test });
                        o.parameters.max_order = max_order;
                    });
                    if options.check().is_err() {
                        continue;
                    }
                    let what = format!("{form} {iteration}, {shown}, order ≤ {max_order}");
                    match run(problem, &options) {
                        Some((s, ms)) => {
                            let errors = problem.end.iter().map(|(name, x)| (last(&s, name) - x).abs());
                            let error = errors.fold(0.0, f64::max);
                            let c = &s.statistics;
                            line(
                                &problem.name,
                                &what,
                                rtol,
                                &[
                                    c.steps.to_string(),
                                    c.residual_evaluations.to_string(),
                                    c.jacobian_evaluations.to_string(),
                                    c.error_test_failures.to_string(),
                                    c.convergence_failures.to_string(),
                                    format!("{error:.2e}"),
                                    format!("{ms:.3}"),
                                ],
                            );
                        }
                        None => line(&problem.name, &what, rtol, &["failed".to_string()]),
                    }
                }
            }
        }
    }
}

fn line(problem: &str, what: &str, rtol: f64, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|c| format!("{c:>9}")).collect();
    println!("{problem:14} {what:34} {rtol:<7e} {}", cells.join(" "));
}

/// Compiles and runs IDA's program; says so where that cannot be.
fn ida(wanted: &dyn Fn(&str) -> bool) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/ida.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ida");
    let compiled = Command::new("cc")
        .args(["-O2", source, "-o"])
        .arg(&program)
        .args(["-lsundials_ida", "-lsundials_nvecserial", "-lm"])
        .output();
    let found = compiled.is_ok_and(|c| c.status.success()).then(|| Command::new(&program).output());
    let Some(Ok(output)) = found else {
        println!("\nSUNDIALS was not found, so IDA is left out. On Debian: apt-get install libsundials-dev");
        return;
    };
    for text in String::from_utf8_lossy(&output.stdout).lines() {
        let cells: Vec<&str> = text.split(',').collect();
        if let [problem, form, rtol, rest @ ..] = &cells[..]
            && wanted(problem)
        {
            let cells: Vec<String> = rest.iter().map(|c| c.to_string()).collect();
            line(problem, &format!("IDA {form}, hand-coded"), rtol.parse().unwrap_or(f64::NAN), &cells);
        }
    }
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|a| name.contains(a.as_str()));
    line("problem", "form", f64::NAN, &["steps", "f", "J", "etf", "ctf", "error", "ms"].map(String::from));
    problems().iter().filter(|p| wanted(&p.name)).for_each(ours);
    ida(&wanted);
}
