//! Models, runs and what is measured on them.

use crate::problems::{DOUBLE_PENDULUM, FLEXIBLE, TOP};
use bellcrank_model::read::read_text;
use bellcrank_solve::FormulationKind;
use bellcrank_solve::choices::{ErrorBudget, MethodName, Options, Preset};
use bellcrank_solve::record::{Memory, Recorder, Silent};
use bellcrank_solve::run::{Simulation, Status, Summary};
use std::sync::Arc;

/// The flexible slider-crank from its quasi-static start F2.
pub fn quasi_static(until: f64) -> Run {
    let start = [
        "q1=-2.7784886e-7",
        "q2=-3.95296215e-6",
        "q3=-2.4871e-9",
        "v1=2.7368115e-6",
        "v2=-2.34245118e-6",
        "v3=1.02025e-9",
    ];
    Run { set: start.iter().map(|s| format!("parameter.{s}")).collect(), ..Run::new(FLEXIBLE, until) }
}

/// The stiff double pendulum from its original start, which no smooth motion passes through.
pub fn stiff_pendulum() -> String {
    let moved = DOUBLE_PENDULUM
        .replace("3*pi/2 + 0.3", "3*pi/2")
        .replace("3*pi/2 + 0.6", "23*pi/12")
        .replace("angle = 0.3", "angle = 0");
    format!("{moved}\n[start]\ntop = {{ rate = 0 }}\nmiddle = {{ rate = 10 }}\n")
}

/// A model and how long it runs.
#[derive(Clone, Debug)]
pub struct Run {
    /// The model file.
    pub text: String,
    /// Overrides.
    pub set: Vec<String>,
    /// The end.
    pub until: f64,
}

impl Run {
    /// A model as it stands.
    pub fn new(text: &str, until: f64) -> Run {
        Run { text: text.into(), set: Vec::new(), until }
    }

    fn start(&self, options: Options) -> Option<Simulation> {
        let read = read_text("model.toml", &self.text, &self.set).ok()?;
        let system = Arc::new(read.model.compile());
        // papers test every step
        let options = Options { until: self.until, ..options }.with(|o| o.testing.budget = ErrorBudget::Step);
        Simulation::new(system, options).ok()
    }

    fn record(&self, options: Options, out: &mut dyn Recorder) -> Option<Summary> {
        let summary = self.start(options)?.run(out);
        (summary.status == Status::Finished).then_some(summary)
    }
}

/// A preset in fixed steps.
pub fn fixed(preset: &Preset, h: f64) -> Options {
    Options { step: Some(h), ..Options::named(preset.name).unwrap_or_default() }
}

/// Runs to the end; nothing if that was not reached.
pub fn go(model: &Run, options: Options) -> Option<Summary> {
    model.record(options, &mut Silent)
}

/// The slope of log y over log x by least squares.
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let (mx, my) = logs.iter().fold((0.0, 0.0), |m, p| (m.0 + p.0 / n, m.1 + p.1 / n));
    let (top, bottom) =
        logs.iter().fold((0.0, 0.0), |s, (x, y)| (s.0 + (x - mx) * (y - my), s.1 + (x - mx) * (x - mx)));
    top / bottom
}

/// How far a channel ends from a value.
pub fn apart(summary: &Summary, channel: &str, exact: f64) -> f64 {
    let found = summary.last.iter().find(|(name, _)| name == channel);
    found.map_or(f64::NAN, |(_, x)| (x - exact).abs())
}

/// Dormand–Prince 8(5,3), as tight as it gets.
pub fn tight_options() -> Options {
    Options { method: MethodName::Dop853, rtol: 1e-12, ..Options::default() }
}

/// The last values of a tight run.
pub fn tight(model: &Run) -> Option<Vec<(String, f64)>> {
    go(model, tight_options()).map(|s| s.last.to_vec())
}

/// Some channels at fifty times.
pub fn course(model: &Run, options: Options, channels: &[&str]) -> Option<(Vec<f64>, Summary)> {
    let mut memory = Memory::default();
    let summary = model.record(Options { sample: Some(model.until / 50.0), ..options }, &mut memory)?;
    let mut values = Vec::new();
    for channel in channels {
        values.extend(memory.column(channel)?);
    }
    Some((values, summary))
}

/// E − E₀ of the slider-crank after every step.
pub fn energies(model: &Run, options: Options, h: f64) -> Option<Vec<(f64, f64)>> {
    let mut memory = Memory::default();
    model.record(Options { sample: Some(h), ..options }, &mut memory)?;
    let column = |name: &str| memory.column(name);
    let mut total = vec![0.0; memory.times.len()];
    for (body, mass, length) in [("crank", 3.0, 0.3), ("rod", 0.9, 0.6)] {
        let of = |c: &str| column(&format!("{body}.{c}"));
        let (y, vx, vy, w) = (of("y")?, of("vx")?, of("vy")?, of("wz")?);
        for (i, e) in total.iter_mut().enumerate() {
            let turning = length * length / 12.0 * w[i] * w[i];
            *e += mass * (0.5 * (vx[i] * vx[i] + vy[i] * vy[i] + turning) + 9.81 * y[i]);
        }
    }
    let (x, angle) = (column("rod.x")?, column("rod.angle")?);
    for (i, e) in total.iter_mut().enumerate() {
        *e += 50.0 * (x[i] + 0.3 * angle[i].cos() - 0.9).powi(2);
    }
    let start = *total.first()?;
    Some(memory.times.iter().copied().zip(total.into_iter().map(|e| e - start)).collect())
}

/// E − E₀ after every step, as recorded.
pub fn total_energies(model: &Run, options: Options, h: f64) -> Option<Vec<(f64, f64)>> {
    let mut memory = Memory::default();
    model.record(Options { sample: Some(h), ..options }, &mut memory)?;
    let total = memory.column("energy.total")?;
    let start = *total.first()?;
    Some(memory.times.iter().copied().zip(total.into_iter().map(|e| e - start)).collect())
}

/// The mean of a function of what runs over time.
pub fn mean(course: &[(f64, f64)], f: impl Fn(f64) -> f64) -> f64 {
    let span = course.last().map_or(0.0, |p| p.0) - course.first().map_or(0.0, |p| p.0);
    course.windows(2).map(|w| 0.5 * (f(w[0].1) + f(w[1].1)) * (w[1].0 - w[0].0)).sum::<f64>() / span
}

/// What the crank's pin moves with, though it should rest.
pub struct Residuals {
    /// Along x and y, after every step.
    pub points: Vec<(f64, f64)>,
    /// The largest speed of a centre of mass.
    pub speed: f64,
}

/// The velocity residual of the crank's pin after every step.
pub fn pin_residuals(model: &Run, options: Options, h: f64) -> Option<Residuals> {
    let mut memory = Memory::default();
    model.record(Options { sample: Some(h), ..options }, &mut memory)?;
    let of = |name: &str| memory.column(name);
    let (vx, vy, w, angle) = (of("crank.vx")?, of("crank.vy")?, of("crank.wz")?, of("crank.angle")?);
    let point = |i: usize| (vx[i] + 0.15 * w[i] * angle[i].sin(), vy[i] - 0.15 * w[i] * angle[i].cos());
    let speed = ["crank.vx", "crank.vy", "rod.vx", "rod.vy"].into_iter().filter_map(of).flatten();
    Some(Residuals { points: (0..vx.len()).map(point).collect(), speed: speed.fold(0.0, |m: f64, v| m.max(v.abs())) })
}

/// The error of the top's reaction at t = .01 in the multipliers of the method.
pub fn top_reaction(formulation: FormulationKind, h: f64, reference: &[(String, f64)]) -> Option<f64> {
    let (method, formulation) = (MethodName::GeneralizedAlpha, Some(formulation));
    let options = Options { method, formulation, step: Some(h), ..Options::default() }.with(|o| o.parameters.rho = 0.9);
    let mut simulation = Run::new(TOP, 0.01).start(options)?;
    let summary = simulation.run(&mut Silent);
    let exact = |c: &str| reference.iter().find(|(name, _)| name == c).map(|(_, x)| *x);
    let force = [exact("foot.fx")?, exact("foot.fy")?, exact("foot.fz")?];
    let lambda = &simulation.point().lambda;
    // λ pulls the ground, the channel is the force on the top
    let error = lambda.iter().zip(force).fold(0.0f64, |m, (l, f)| m.max((l + f).abs()));
    (summary.status == Status::Finished).then_some(error)
}
