//! Work and precision of methods on one model, against a much tighter run.
//!
//! The error of a run is the largest over 100 samples and all bodies of |Δp|/L and of the angle between the
//! rotations; L is the radius of the space that the bodies move in.

use crate::choices::{FormulationKind, MethodName, Options};
use crate::engines::StepError;
use crate::newton::Iteration;
use crate::record::{Memory, Recorder, Silent};
use crate::run::{Names, StartError, Status, Summary};
use bellcrank_model::System;
use std::fmt;
use std::sync::Arc;

/// Samples over a run that errors are taken at.
const SAMPLES: f64 = 100.0;
/// Short runs are timed again until this much time went by, at most `TIMED` times; the fastest counts.
const TIMING: f64 = 0.1;
const TIMED: usize = 5;

/// Choices to be compared; what is left out is the method's own.
#[derive(Clone, Copy, Debug)]
pub struct Combination {
    /// The method.
    pub method: MethodName,
    /// The formulation.
    pub formulation: Option<FormulationKind>,
    /// Newton's iteration.
    pub iteration: Option<Iteration>,
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [
            Some(self.method.name()),
            self.formulation.map(FormulationKind::name),
            self.iteration.map(Iteration::name),
        ];
        write!(f, "{}", words.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

/// How precise a run is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precision {
    /// A relative tolerance, for methods with error control.
    Tolerance(f64),
    /// A step size in s, for methods without.
    Step(f64),
}

/// What a run achieved.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was run.
    pub combination: Combination,
    /// How precise it was to be.
    pub precision: Precision,
    /// How it went.
    pub summary: Summary,
    /// Seconds on the clock, the best of several runs.
    pub seconds: f64,
    /// Its error; not a number where it did not reach the end.
    pub error: f64,
}

impl Outcome {
    /// Method, formulation and iteration as they were in use; `auto` keeps its name.
    pub fn names(&self) -> [&'static str; 3] {
        let Names { method, formulation, iteration } = self.summary.names;
        match self.combination.method {
            MethodName::Auto => ["auto", formulation, iteration],
            _ => [method, formulation, iteration],
        }
    }
}

/// Why there is no reference to compare with.
#[derive(Clone, Debug, PartialEq)]
pub enum ReferenceError {
    /// The run could not start.
    Start(StartError),
    /// It failed on the way.
    Failed(StepError),
    /// The motion follows from the drives alone.
    NoFreedom,
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReferenceError::Start(e) => write!(f, "{e}"),
            ReferenceError::Failed(e) => write!(f, "the reference run failed: {e}"),
            ReferenceError::NoFreedom => write!(f, "the model has no degree of freedom to compare methods on"),
        }
    }
}

impl std::error::Error for ReferenceError {}

/// A model with a much tighter run of it.
pub struct Reference {
    /// The model's name.
    pub name: String,
    /// The choices that all runs share.
    pub base: Options,
    /// What the reference was computed with.
    pub method: &'static str,
    /// Its relative tolerance.
    pub rtol: f64,
    /// The error of a run ten times as loose against it; not a number where that failed.
    pub doubt: f64,
    /// L, in m.
    pub size: f64,
    system: Arc<System>,
    frames: Memory,
    bodies: Vec<BodyColumns>,
}

/// Where the channels of a body stand in a row.
struct BodyColumns {
    position: Vec<usize>,
    angle: Option<usize>,
    quaternion: Vec<usize>,
}

impl Reference {
    /// Runs the model a hundred times tighter than the tightest tolerance to be compared, as far as that goes.
    pub fn new(system: Arc<System>, base: Options, tightest: f64) -> Result<Reference, ReferenceError> {
        let base =
            Options { sample: Some(base.until / SAMPLES), formulation: None, iteration: None, step: None, ..base };
        let mut reference = Reference {
            name: system.model.name.clone(),
            base,
            method: "auto",
            rtol: (tightest / 100.0).clamp(1e-12, 1e-10),
            doubt: 0.0,
            size: 1.0,
            system,
            frames: Memory::default(),
            bodies: vec![],
        };
        let summary = loop {
            let mut memory = Memory::default();
            let summary = reference.auto(reference.rtol, &mut memory).map_err(ReferenceError::Start)?;
            match &summary.status {
                Status::Finished => {
                    reference.frames = memory;
                    break summary;
                }
                Status::Failed(e) if reference.rtol > tightest => return Err(ReferenceError::Failed(e.clone())),
                _ => reference.rtol *= 10.0,
            }
        };
        if summary.assembly.degrees_of_freedom == 0 {
            return Err(ReferenceError::NoFreedom);
        }
        let method = summary.names.method;
        reference.method = if method == "bdf" { "auto (bdf)" } else { method };
        reference.find_bodies();
        let mut memory = Memory::default();
        reference.doubt = match reference.auto(10.0 * reference.rtol, &mut memory) {
            Ok(s) if s.status == Status::Finished => reference.error(&memory),
            _ => f64::NAN,
        };
        Ok(reference)
    }

    fn auto(&self, rtol: f64, out: &mut dyn Recorder) -> Result<Summary, StartError> {
        self.simulate(Options { method: MethodName::Auto, rtol, ..self.base.clone() }, out)
    }

    fn simulate(&self, options: Options, out: &mut dyn Recorder) -> Result<Summary, StartError> {
        let mut simulation = crate::analyses::begin::simulation(&self.system, options)?;
        Ok(simulation.run(out))
    }

    fn find_bodies(&mut self) {
        let channels = &self.frames.header.channels;
        let find = |name: &str, part: &str| channels.iter().position(|c| c.name == format!("{name}.{part}"));
        let list = |name: &str, parts: &[&str]| parts.iter().filter_map(|p| find(name, p)).collect::<Vec<_>>();
        let bodies = self.system.model.bodies.iter().filter(|b| b.is_shown()).map(|b| BodyColumns {
            position: list(&b.name, &["x", "y", "z"]),
            angle: find(&b.name, "angle"),
            quaternion: list(&b.name, &["qw", "qx", "qy", "qz"]),
        });
        self.bodies = bodies.collect();
        let mut span = [(f64::INFINITY, f64::NEG_INFINITY); 3];
        for row in (0..self.frames.times.len()).map(|i| self.frames.row(i)) {
            for b in &self.bodies {
                for (s, k) in span.iter_mut().zip(&b.position) {
                    *s = (s.0.min(row[*k]), s.1.max(row[*k]));
                }
            }
        }
        let radius = span.iter().filter(|s| s.0 <= s.1).map(|s| (0.5 * (s.1 - s.0)).powi(2)).sum::<f64>().sqrt();
        self.size = if radius > 0.0 { radius } else { 1.0 };
    }

    /// One run for its error, and some more for its time.
    pub fn run(&self, combination: Combination, precision: Precision) -> Result<Outcome, StartError> {
        let (rtol, step) = match precision {
            Precision::Tolerance(rtol) => (rtol, None),
            Precision::Step(h) => (self.base.rtol, Some(h)),
        };
        let Combination { method, formulation, iteration } = combination;
        let options = Options { method, formulation, iteration, step, rtol, ..self.base.clone() };
        let mut memory = Memory::default();
        let summary = self.simulate(options.clone(), &mut memory)?;
        let error = if summary.status == Status::Finished { self.error(&memory) } else { f64::NAN };
        let (mut seconds, mut spent) = (f64::INFINITY, 0.0);
        for _ in 0..TIMED {
            let again = self.simulate(options.clone(), &mut Silent)?;
            seconds = again.wall_seconds.min(seconds);
            spent += again.wall_seconds;
            if spent > TIMING {
                break;
            }
        }
        Ok(Outcome { combination, precision, summary, seconds, error })
    }

    /// The error of a run against the reference.
    fn error(&self, run: &Memory) -> f64 {
        if run.times.len() != self.frames.times.len() {
            return f64::NAN;
        }
        let mut largest = 0.0f64;
        for i in 0..run.times.len() {
            let (a, b) = (run.row(i), self.frames.row(i));
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
}
