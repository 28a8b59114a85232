//! Instructions per step of machines of few bodies, counted by callgrind:
//! `cargo bench -p bellcrank-solve --bench small -- [--against PROGRAM] [ROW …]`.
//!
//! Each row is run twice, to a shorter and to a longer end; start and summary cancel in the difference. `--starts` counts what another
//! start of a compiled model takes instead. `--against` takes this bench as it was built from another commit. `small run ROW END` does
//! one run alone, for a profile, `small start ROW TIMES` some starts.

use bellcrank_model::read::read_text;
use bellcrank_solve::FormulationKind::{self, Index3, Si2};
use bellcrank_solve::choices::{Coordinates, ErrorBudget, MethodName, Options, Tested};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status};
use std::process::Command;
use std::sync::Arc;

const BUSHING: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
parameter = { k = 1e6, r = "0.01*k", c = "0.02*sqrt(k)", d = "0.02*sqrt(r/12)" }
[body]
first = { mass = 1, inertia = "1/12", at = [0.5, 0] }
second = { mass = 1, inertia = "1/12", at = [1.5, 0] }
[joint]
pin = { type = "revolute", between = ["ground", "first"], at = [0, 0] }
[force]
bushing = { type = "bushing", between = ["first", "second"], at = [1, 0], stiffness = ["k", "k", "r"], damping = ["c", "c", "d"] }
"#;
const SLIDER_CRANK: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/slider-crank/model.toml"));
const SEVEN_BODY: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/problems/seven-body/model.toml"));
const ROBOT_ARM: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/models/robot-arm.toml"));
const SUSPENSION: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/models/suspension.toml"));

/// A machine and a method.
struct Row {
    name: &'static str,
    model: &'static str,
    method: MethodName,
    formulation: Option<FormulationKind>,
    /// The step size, or none for error control.
    step: Option<f64>,
    rtol: f64,
    coordinates: Coordinates,
    /// The shorter end; the longer one is twice as far.
    end: f64,
}

/// The rows of the table in `book/src/large-models.md`.
fn rows() -> Vec<Row> {
    use MethodName::{Bdf, Dop853, Dopri5, GeneralizedAlpha};
    let row = |name, model, method, formulation, step, rtol, end| Row {
        name,
        model,
        method,
        formulation,
        step,
        rtol,
        coordinates: Coordinates::Cartesian,
        end,
    };
    let relative = Row {
        coordinates: Coordinates::Relative,
        ..row("robot arm, dopri5, relative", ROBOT_ARM, Dopri5, None, None, 1e-6, 0.7)
    };
    vec![
        row("bushing, gen-alpha", BUSHING, GeneralizedAlpha, Some(Index3), Some(5e-3), 1e-6, 0.5),
        row("bushing, bdf", BUSHING, Bdf, None, None, 1e-4, 0.5),
        row("slider-crank, gen-alpha", SLIDER_CRANK, GeneralizedAlpha, Some(Si2), Some(1e-3), 1e-6, 0.1),
        row("slider-crank, dop853", SLIDER_CRANK, Dop853, None, None, 1e-8, 1.0),
        row("slider-crank, bdf", SLIDER_CRANK, Bdf, None, None, 1e-6, 0.5),
        row("seven-body, dop853", SEVEN_BODY, Dop853, None, None, 1e-8, 0.01),
        row("seven-body, dopri5", SEVEN_BODY, Dopri5, None, None, 1e-8, 0.01),
        row("seven-body, bdf", SEVEN_BODY, Bdf, None, None, 1e-6, 0.01),
        row("seven-body, gen-alpha si2", SEVEN_BODY, GeneralizedAlpha, Some(Si2), Some(2e-5), 1e-6, 2e-3),
        row("seven-body, gen-alpha index3", SEVEN_BODY, GeneralizedAlpha, Some(Index3), Some(2e-5), 1e-6, 2e-3),
        row("robot arm, dopri5", ROBOT_ARM, Dopri5, None, None, 1e-6, 0.7),
        relative,
        row("suspension, bdf", SUSPENSION, Bdf, None, None, 1e-5, 0.4),
        row("suspension, gen-alpha", SUSPENSION, GeneralizedAlpha, Some(Si2), Some(1e-3), 1e-6, 0.1),
    ]
}

/// The options of a run.
fn options(row: &Row, until: f64) -> Options {
    let Row { method, formulation, step, rtol, coordinates, .. } = *row;
    let base = Options { method, formulation, step, rtol, coordinates, until, ..Options::default() };
    Options { sample: Some(until), ..base }.with(|o| {
        o.resources.threads = Some(1);
        o.testing.budget = ErrorBudget::Step;
        if row.name == "bushing, bdf" {
            (o.testing.test, o.parameters.max_order) = (Some(Tested::Q), 2);
        }
    })
}

/// Starts a compiled model some times.
fn start(row: &Row, times: usize) {
    let Ok(read) = read_text("model.toml", row.model, &[]) else { return println!("cannot be read") };
    let system = Arc::new(read.model.compile());
    let started = (0..times).filter(|_| Simulation::new(system.clone(), options(row, 1.0)).is_ok()).count();
    // as many numbers as of a run
    println!("{started} 0 0 0 0 0 0");
}

/// One run; tells its steps, its evaluations, and where it ended.
fn run(row: &Row, until: f64) {
    let Ok(read) = read_text("model.toml", row.model, &[]) else { return println!("cannot be read") };
    let Ok(mut simulation) = Simulation::new(Arc::new(read.model.compile()), options(row, until)) else {
        return println!("does not start");
    };
    let summary = simulation.run(&mut Silent);
    if summary.status != Status::Finished {
        return println!("{:?}", summary.status);
    }
    let s = summary.statistics;
    println!(
        "{} {} {} {} {:.15e} {:.1e} {:.1e}",
        s.steps,
        s.residual_evaluations,
        s.jacobian_evaluations,
        s.factorizations,
        summary.state.q[0],
        summary.drift.position,
        summary.energy.largest_error
    );
}

/// Instructions and what the run told.
fn counted(program: &str, verb: &str, row: usize, until: f64) -> Option<(f64, Vec<f64>)> {
    let until = until.to_string();
    let arguments = ["--tool=callgrind", "--callgrind-out-file=/dev/null", program, verb, &row.to_string(), &until];
    let out = Command::new("valgrind").args(arguments).output().ok()?;
    let told = String::from_utf8_lossy(&out.stderr);
    let instructions = told.lines().find_map(|line| line.split("Collected : ").nth(1))?.trim().parse().ok()?;
    let numbers: Option<Vec<f64>> =
        String::from_utf8_lossy(&out.stdout).split_whitespace().map(|x| x.parse().ok()).collect();
    Some((instructions, numbers.filter(|n| n.len() == 7)?))
}

/// Instructions per step (or start), the steps, and the numbers of the longer run.
fn per_step(program: &str, row: usize, starts: bool, end: f64) -> Option<(f64, Vec<f64>)> {
    let (verb, ends) = if starts { ("start", [1.0, 11.0]) } else { ("run", [end, 2.0 * end]) };
    let (short, long) = (counted(program, verb, row, ends[0])?, counted(program, verb, row, ends[1])?);
    Some(((long.0 - short.0) / (long.1[0] - short.1[0]), long.1))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let rows = rows();
    if let [verb, row, end] = &arguments[..]
        && let Some(row) = row.parse().ok().and_then(|row: usize| rows.get(row))
    {
        match verb.as_str() {
            "run" => return run(row, end.parse().unwrap_or(1.0)),
            "start" => return start(row, end.parse().unwrap_or(1)),
            _ => {}
        }
    }
    let starts = arguments.iter().any(|a| a == "--starts");
    let arguments: Vec<String> = arguments.into_iter().filter(|a| a != "--starts").collect();
    let (against, wanted) = match &arguments[..] {
        [flag, program, wanted @ ..] if flag == "--against" => (Some(program), wanted),
        wanted => (None, wanted),
    };
    let own = std::env::current_exe().map_or(String::new(), |p| p.display().to_string());
    println!(
        "{:<30} {:>9} {:>9} {:>6}  {:>6} {:>5} {:>5} {:>5} {:>8} {:>8}",
        "instructions per step", "before", "now", "ratio", "steps", "f", "J", "LU", "drift", "energy"
    );
    for (k, row) in rows.iter().enumerate() {
        if !wanted.is_empty() && !wanted.iter().any(|w| row.name.contains(w.as_str())) {
            continue;
        }
        let Some((now, told)) = per_step(&own, k, starts, row.end) else {
            println!("{:<30} failed", row.name);
            continue;
        };
        let before = against.and_then(|program| per_step(program, k, starts, row.end));
        let (was, ratio) = before.as_ref().map_or((f64::NAN, f64::NAN), |b| (b.0, now / b.0));
        println!(
            "{:<30} {was:>9.0} {now:>9.0} {ratio:>6.3}  {:>6} {:>5.1} {:>5.2} {:>5.2} {:>8.1e} {:>8.1e}",
            row.name,
            told[0],
            told[1] / told[0],
            told[2] / told[0],
            told[3] / told[0],
            told[5],
            told[6]
        );
    }
}
