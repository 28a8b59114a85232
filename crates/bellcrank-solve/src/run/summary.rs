//! What a run was and what it took, as plain data.

use super::doubts::Doubt;
use crate::engines::{LoopReport, SplitReport, Statistics, StepError};
use crate::events::Event;
use crate::history::{Culprit, History};
use crate::plan::Plan;
use crate::proof::Proof;
use crate::record::{Ended, RunReport};
use crate::start::Assembly;
use crate::verdict::{Bounds, Judged};
use bellcrank_model::dynamics::Limit;
use bellcrank_model::{Dynamics, State};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// It reached the end.
    Finished,
    /// It was interrupted from outside.
    Interrupted,
    /// It could not go on.
    Failed(StepError),
}

/// The largest residuals of the constraints over all steps that were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Drift {
    /// Largest |g|, in m or rad.
    pub position: f64,
    /// Largest |G v + g_t|, in m/s or rad/s.
    pub velocity: f64,
    /// The size of the machine, in m.
    pub length: f64,
    /// The largest speed of a body, in m/s: of its centre, or of a tenth of the machine's size that turns with it.
    pub speed: f64,
}

impl Drift {
    /// The drift of positions against the size of the machine, and of velocities against the largest speed. Machines at rest
    /// have a speed that is rounding.
    pub fn judged(&self, bounds: Bounds) -> [Judged; 2] {
        let length = self.length.max(f64::MIN_POSITIVE);
        [bounds.judged(self.position, length), bounds.judged(self.velocity, self.speed.max(1e-9 * length))]
    }
}

/// The balance of energy, in J.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Energy {
    /// Kinetic and stored energy at the start.
    pub initial: f64,
    /// The same at the end.
    pub last: f64,
    /// Largest |E(t) − E(0) − W(t)|, with W the work of what is not stored.
    pub largest_error: f64,
    /// The energy that moves: the largest kinetic energy, or the range of the stored one.
    pub moves: f64,
    /// What the largest force at the start could do along the machine's size.
    pub within_reach: f64,
}

impl Energy {
    /// The error of the balance against the energy that moves. Where next to none does, the motion lies within the tolerance
    /// or is rounding, and the error is compared with a small fraction of what forces could do.
    pub fn judged(&self, bounds: Bounds) -> Judged {
        let least = (1e-3 * bounds.good).max(1e-9) * self.within_reach;
        bounds.judged(self.largest_error, self.moves.max(least).max(f64::MIN_POSITIVE))
    }
}

/// Something that went beyond the range in which its equations are right.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Excess {
    /// The user's name of it.
    pub name: String,
    /// What went too far.
    pub limit: Limit,
    /// How far at worst, in the units of the limit.
    pub worst: f64,
    /// When it began, in s.
    pub since: f64,
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} (since t = {:.6} s)", self.name, self.limit.words(self.worst), self.since)
    }
}

/// The extremes, means and last value of an output over a run.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSummary {
    /// The user's name.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// The smallest value.
    pub min: f64,
    /// When it was, in s.
    pub min_at: f64,
    /// The largest value.
    pub max: f64,
    /// When it was, in s.
    pub max_at: f64,
    /// The mean over time.
    pub mean: f64,
    /// The root of the mean square over time.
    pub rms: f64,
    /// The value at the end.
    pub last: f64,
    /// When it first changed faster than steps and their parts follow.
    pub lost_at: Option<f64>,
}

impl OutputSummary {
    /// What can be asked of an output, by name.
    pub const MEASURES: [&'static str; 6] = ["max", "min", "absmax", "mean", "rms", "final"];

    /// One of these.
    pub fn measure(&self, name: &str) -> Option<f64> {
        Some(match name {
            "max" => self.max,
            "min" => self.min,
            "absmax" => self.max.abs().max(self.min.abs()),
            "mean" => self.mean,
            "rms" => self.rms,
            "final" => self.last,
            _ => return None,
        })
    }
}

/// The names of what took the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The method.
    pub method: &'static str,
    /// The formulation it ran on.
    pub formulation: &'static str,
    /// Newton's iteration.
    pub iteration: &'static str,
}

/// What a run was and what it took. It has more than twelve fields because it is read, not computed with: each is a
/// named answer to one question about the run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The model's name.
    pub model: String,
    /// Method, formulation and iteration in use at the end.
    pub names: Names,
    /// What was decided before the run and during it, with reasons.
    pub plan: Plan,
    /// The lines of the plan that a user should see.
    pub choices: Vec<String>,
    /// How linear systems were solved and why.
    pub solver: Option<String>,
    /// Blocks of coordinates: bodies, or joints of a tree.
    pub bodies: usize,
    /// The joints that are not in the tree of relative coordinates, and stay equations.
    pub cut: Vec<String>,
    /// How it ended.
    pub status: Status,
    /// The largest accumulated error of a coordinate, estimated while it ran: in sizes of the machine, or in rad. None
    /// where nothing was estimated.
    pub error: Option<f64>,
    /// Why nothing was, where a run was asked for it.
    pub no_estimate: Option<String>,
    /// Counts of work.
    pub statistics: Statistics,
    /// What the estimate of the error took of it.
    pub beside: Statistics,
    /// Seconds on the clock.
    pub wall_seconds: f64,
    /// How far the constraints drifted.
    pub drift: Drift,
    /// The balance of energy.
    pub energy: Energy,
    /// The last time.
    pub t: f64,
    /// The state there.
    pub state: State,
    /// All channels at the end.
    pub last: FinalValues,
    /// Extremes and means of the outputs.
    pub outputs: Vec<OutputSummary>,
    /// What the assembly found.
    pub assembly: Assembly,
    /// The joints whose reactions are not unique: those of least size are reported.
    pub not_unique: Vec<String>,
    /// What went beyond the range in which its equations are right.
    pub beyond: Vec<Excess>,
    /// The split of the coordinates, where the run has one.
    pub split: Option<SplitReport>,
    /// How closed loops were dealt with, where the run knows.
    pub loops: Option<LoopReport>,
    /// What happened on the way: events of forces and stops, changes of the number of redundant equations,
    /// and singular positions passed by.
    pub events: Vec<Event>,
    /// The steps it took.
    pub history: History,
    /// What its refused steps are blamed on, the worst first.
    pub refused: Vec<(String, Culprit)>,
    /// The evidence, where it was asked for.
    pub proof: Option<Box<Proof>>,
    /// Why the run cannot vouch for its result; empty where it can.
    pub doubts: Vec<Doubt>,
}

impl Summary {
    /// A number of the run by its name: `camber.max` of an output (see [`OutputSummary::MEASURES`]), or the last value of a
    /// channel.
    pub fn measure(&self, name: &str) -> Option<f64> {
        let of_output = || {
            let (output, measure) = name.rsplit_once('.')?;
            self.outputs.iter().find(|o| o.name == output)?.measure(measure)
        };
        of_output().or_else(|| self.last.get(name))
    }
}

impl RunReport for Summary {
    fn ended(&self) -> Ended {
        match &self.status {
            Status::Finished => Ended::Finished,
            Status::Interrupted => Ended::Interrupted,
            Status::Failed(e) => Ended::Failed(e.to_string()),
        }
    }
}

/// The values of all channels at a time. Names are made on first use: a large model has a million of them.
#[derive(Clone, Default)]
pub struct FinalValues {
    of: Option<Arc<dyn Dynamics>>,
    /// Names of outputs, behind the channels.
    outputs: Vec<String>,
    values: Vec<f64>,
    named: OnceLock<Vec<(String, f64)>>,
}

impl FinalValues {
    pub(super) fn new(of: Arc<dyn Dynamics>, outputs: Vec<String>, values: Vec<f64>) -> FinalValues {
        FinalValues { of: Some(of), outputs, values, named: OnceLock::new() }
    }

    /// The value of a channel by its name.
    pub fn get(&self, channel: &str) -> Option<f64> {
        self.iter().find(|(name, _)| name == channel).map(|(_, value)| *value)
    }
}

impl Deref for FinalValues {
    type Target = [(String, f64)];
    fn deref(&self) -> &[(String, f64)] {
        self.named.get_or_init(|| {
            let channels = self.of.iter().flat_map(|dynamics| dynamics.channels());
            let names = channels.map(|channel| channel.name).chain(self.outputs.iter().cloned());
            names.zip(self.values.iter().copied()).collect()
        })
    }
}

impl PartialEq for FinalValues {
    fn eq(&self, other: &FinalValues) -> bool {
        **self == **other
    }
}

impl<'a> IntoIterator for &'a FinalValues {
    type Item = &'a (String, f64);
    type IntoIter = std::slice::Iter<'a, (String, f64)>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for FinalValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(name, value)| (name, value))).finish()
    }
}
