//! Where the time of a run goes.

use super::{Monitor, StepView};
use crate::engines::Engine;
use crate::run::summary::Summary;
use std::time::Instant;

/// A phase of a run, beside the parts of a step that engines measure themselves.
#[derive(Clone, Copy)]
pub(crate) enum Phase {
    Steps,
    Checks,
    Samples,
    Recording,
}

/// Measures phases where evidence is asked for; else it reads the clock twice in a run.
pub(crate) struct RunClock {
    began: Instant,
    /// Seconds of the assembly, before the clock began.
    assembly: f64,
    /// Seconds until the run was ready to go, the assembly included.
    start: f64,
    phases: [f64; 4],
    /// The parts of steps of engines that were left.
    engines: Vec<(&'static str, f64)>,
    measures: bool,
}

impl RunClock {
    /// A clock that begins now, after an assembly that took some seconds.
    pub fn new(assembly: f64) -> RunClock {
        let began = Instant::now();
        RunClock { began, assembly, start: 0.0, phases: [0.0; 4], engines: Vec::new(), measures: false }
    }

    /// The run is ready to go.
    pub fn started(self) -> RunClock {
        RunClock { start: self.seconds(), ..self }
    }

    fn seconds(&self) -> f64 {
        self.assembly + self.began.elapsed().as_secs_f64()
    }

    /// Measures phases from now on.
    pub fn measure(&mut self) {
        self.measures = true;
    }

    /// Whether phases are measured.
    pub fn measures(&self) -> bool {
        self.measures
    }

    /// The time, where phases are measured.
    pub fn now(&self) -> Option<Instant> {
        self.measures.then(Instant::now)
    }

    /// Adds the time since then to a phase.
    pub fn add(&mut self, phase: Phase, since: Option<Instant>) {
        if let Some(since) = since {
            self.phases[phase as usize] += since.elapsed().as_secs_f64();
        }
    }

    /// Keeps the seconds of an engine that is left.
    pub fn leave(&mut self, engine: &dyn Engine) {
        add_parts(&mut self.engines, engine);
    }

    /// The phases of the run with their seconds; the parts of steps first.
    fn phases(&mut self, engine: &dyn Engine) -> Vec<(&'static str, f64)> {
        let mut all = vec![("assembly of the start", self.start)];
        all.append(&mut self.engines);
        add_parts(&mut all, engine);
        let parts: f64 = all[1..].iter().map(|(_, seconds)| seconds).sum();
        let [steps, checks, samples, recording] = self.phases;
        all.push(("rest of the steps", (steps - parts).max(0.0)));
        all.extend([("drift, energy, momentum", checks), ("samples", samples), ("recording", recording)]);
        all
    }
}

fn add_parts(all: &mut Vec<(&'static str, f64)>, engine: &dyn Engine) {
    for (name, seconds) in engine.seconds() {
        match all.iter_mut().find(|(n, _)| *n == name) {
            Some((_, sum)) => *sum += seconds,
            None => all.push((name, seconds)),
        }
    }
}

impl Monitor for RunClock {
    fn end(&mut self, view: &mut StepView<'_>, into: &mut Summary) {
        into.wall_seconds = self.seconds();
        if let Some(proof) = &mut into.proof {
            proof.seconds = self.phases(view.engine);
        }
    }
}
