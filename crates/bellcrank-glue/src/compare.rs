//! A model run whole and cut into parts, and how far the two are apart.

use crate::coordinator::Coordinator;
use crate::cut::{CutError, cut};
use crate::options::GluedRunError;
use crate::options::{Coupling, GlueError, GlueOptions, INSIDE, Levels};
use crate::run::GluedSimulation;
use crate::sampling::{Even, Sampling};
use crate::subdomain::PartError;
use crate::summary::{GluedStatus, GluedSummary};
use bellcrank_model::{Dynamics, Point, System};
use bellcrank_solve::choices::{Coordinates, MethodName};
use bellcrank_solve::plan::Revision;
use bellcrank_solve::record::{Header, Memory, Recorder, RunReport};
use bellcrank_solve::run::{Simulation, StartError, Status};
use bellcrank_solve::start;
use bellcrank_solve::{FormulationKind, Options};
use std::sync::Arc;
use std::{fmt, io};

/// A model that ran whole and in parts.
pub struct CutRun {
    /// The run in parts.
    pub summary: GluedSummary,
    /// Its frames: at equal intervals if those were asked for, else all windows, thinned.
    pub glued: Memory,
    /// The frames of the whole, at equal intervals.
    pub whole: Memory,
    /// The coordinates of the whole; parts always have Cartesian ones.
    pub coordinates: Coordinates,
    /// The largest difference for each unit.
    pub differences: Vec<Difference>,
}

/// The largest difference between two runs, among all channels of one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The unit.
    pub unit: &'static str,
    /// The difference.
    pub size: f64,
    /// The channel, and the time.
    pub channel: String,
    /// In s.
    pub t: f64,
    /// The largest value of the whole in this unit.
    pub scale: f64,
}

/// Why a model cannot be run whole and in parts.
#[derive(Clone, Debug, PartialEq)]
pub enum CutRunError {
    /// The whole model cannot start.
    Start(StartError),
    /// It cannot be cut.
    Cut(CutError),
    /// A part cannot start.
    Part(PartError),
    /// The parts cannot be joined, or their run failed.
    Glue(GluedRunError),
    /// The run of the whole failed, in the words of the solver.
    Whole(String),
}

impl fmt::Display for CutRunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CutRunError::Start(why) => write!(f, "{why}"),
            CutRunError::Cut(e) => write!(f, "{e}"),
            CutRunError::Part(e) => write!(f, "{e}"),
            CutRunError::Glue(e) => write!(f, "{e}"),
            CutRunError::Whole(why) => write!(f, "the whole model: {why}"),
        }
    }
}

impl std::error::Error for CutRunError {}

/// The coupling that corresponds to the options of a run of the whole, and the method and formulation of the whole that
/// correspond to it.
fn corresponding(options: Options) -> (Coupling, Options) {
    let alpha = options.method == MethodName::GeneralizedAlpha;
    let coupling = match (options.step, options.formulation) {
        (None, _) if !alpha => Coupling::Windows,
        (_, Some(FormulationKind::Index3)) => Coupling::Position,
        _ => Coupling::Stabilized,
    };
    let (method, formulation) = match coupling {
        Coupling::Position => (MethodName::GeneralizedAlpha, Some(FormulationKind::Index3)),
        Coupling::Stabilized => (MethodName::GeneralizedAlpha, Some(FormulationKind::Si2)),
        _ => (options.method, options.formulation),
    };
    (coupling, Options { method, formulation, ..options })
}

/// Runs a model whole, and cut at joints and forces, with corresponding methods. The whole runs in the coordinates that the
/// options ask for.
pub fn run_cut(system: &Arc<System>, options: Options, names: &[&str]) -> Result<CutRun, CutRunError> {
    run_cut_within(system, options, names, None)
}

/// The same with tolerances of the residuals between the parts.
pub fn run_cut_within(
    system: &Arc<System>,
    options: Options,
    names: &[&str],
    tolerances: Option<Levels>,
) -> Result<CutRun, CutRunError> {
    let (coupling, options) = corresponding(options);
    let (until, window) = (options.until, options.step.unwrap_or(options.until / 1000.0));
    // whole and parts are compared at equal intervals, whatever is recorded of the parts
    let sample = (options.sample_distance() / window).round().max(1.0) * window;
    let recorded = options.sample.map(|_| sample);
    let options = Options { sample: Some(sample), ..options };
    let mut simulation = Simulation::new(system.clone(), options.clone()).map_err(CutRunError::Start)?;
    let cut = cut(system, &start(system)?, names).map_err(CutRunError::Cut)?;
    let mut parts = Vec::new();
    for part in cut.parts {
        let part = match coupling {
            Coupling::Windows => part.with_own_solver(Options { rtol: INSIDE * options.rtol, ..options.clone() }),
            _ => part.in_step(coupling, options.parameters.rho),
        };
        parts.push(part.map_err(CutRunError::Part)?);
    }
    let mut whole = Memory::default();
    let of_whole = simulation.run(&mut whole);
    if let Status::Failed(e) = of_whole.status {
        return Err(CutRunError::Whole(e.to_string()));
    }
    let rtol = options.step.is_none().then_some(options.rtol);
    let tolerances = tolerances.unwrap_or_else(|| rtol.map_or(Levels::all(1e-10), Levels::within));
    let mut glue = GlueOptions { coupling, window, rtol, tolerances, grid: Some(sample), ..GlueOptions::default() };
    // parts and whole are to start alike
    let softened = of_whole.plan.revisions.iter().any(|r| matches!(r, Revision::SoftStart { .. }));
    glue.soft = (coupling != Coupling::Windows).then_some(softened);
    let failed = |e: GlueError| CutRunError::Glue(e.into());
    let coordinator = Coordinator::new(parts, cut.interface, 0.0, glue).map_err(failed)?;
    let mut run = GluedSimulation::all(&system.model.name, coordinator, until).with_plain_names();
    let sampling = Sampling::new(until, recorded, run.header().channels.len());
    let even = Even::new(until, sample);
    let mut frames = TwoSamplings { sampling, recorded: Memory::default(), even, compared: Memory::default() };
    let mut summary = run.run(&mut frames, &mut ());
    frames.finish();
    let TwoSamplings { recorded: glued, compared, .. } = frames;
    if let GluedStatus::Failed(e) = summary.status {
        return Err(CutRunError::Glue(e));
    }
    // what is redundant inside a part the whole knows
    let of_parts = std::mem::replace(&mut summary.reactions_not_unique, of_whole.not_unique);
    let more: Vec<String> = of_parts.into_iter().filter(|n| !summary.reactions_not_unique.contains(n)).collect();
    summary.reactions_not_unique.extend(more);
    let differences = differences(&whole, &compared, &summary.reactions_not_unique);
    Ok(CutRun { summary, glued, whole, coordinates: options.coordinates, differences })
}

/// The windows of a run: those that are recorded, and those that are compared.
struct TwoSamplings {
    sampling: Sampling,
    recorded: Memory,
    even: Even,
    compared: Memory,
}

impl TwoSamplings {
    fn take(&mut self, add: impl FnOnce(&mut Sampling, &mut Vec<f64>)) {
        let (mut rows, width) = (Vec::new(), 1 + self.recorded.header.channels.len());
        add(&mut self.sampling, &mut rows);
        for row in rows.chunks_exact(width) {
            // memory takes every row
            let _ = self.recorded.frame(row[0], &row[1..]);
        }
    }

    fn finish(&mut self) {
        self.take(|sampling, rows| sampling.finish(rows));
    }
}

impl Recorder for TwoSamplings {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        self.recorded.begin(header)?;
        self.compared.begin(header)
    }

    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        let is_start = self.compared.times.is_empty();
        if is_start || self.sampling.is_due(t) {
            self.take(|sampling, rows| sampling.add(t, values, rows));
        }
        if is_start || self.even.is_due(t) { self.compared.frame(t, values) } else { Ok(()) }
    }

    fn end(&mut self, report: &dyn RunReport) -> io::Result<()> {
        self.recorded.end(report)?;
        self.compared.end(report)
    }
}

/// The assembled start of a model.
fn start(system: &Arc<System>) -> Result<Point, CutRunError> {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let assembled = start::assemble(&dynamics, &system.initial_state());
    Ok(assembled.map_err(|e| CutRunError::Start(e.into()))?.0)
}

/// The largest difference for each unit, over the times that both have, without reactions that are not unique.
fn differences(whole: &Memory, glued: &Memory, not_unique: &[String]) -> Vec<Difference> {
    let is_unique = |channel: &str| {
        let joint = channel.rsplit_once('.').map_or(channel, |(joint, _)| joint);
        !not_unique.iter().any(|name| name.split('`').nth(1) == Some(joint))
    };
    let common = common_times(&whole.times, &glued.times);
    let mut out: Vec<Difference> = Vec::new();
    for (j, channel) in whole.header.channels.iter().enumerate() {
        let Some(k) = glued.header.channels.iter().position(|c| c.name == channel.name) else { continue };
        if matches!(channel.unit, "N" | "N m") && !is_unique(&channel.name) {
            continue;
        }
        for &(row, i) in &common {
            let (a, b, t) = (whole.row(row)[j], glued.row(i)[k], whole.times[row]);
            let at = out.iter().position(|d| d.unit == channel.unit).unwrap_or_else(|| {
                out.push(Difference { unit: channel.unit, size: 0.0, channel: String::new(), t, scale: 0.0 });
                out.len() - 1
            });
            let entry = &mut out[at];
            entry.scale = entry.scale.max(a.abs());
            if (a - b).abs() >= entry.size {
                entry.size = (a - b).abs();
                entry.channel.clone_from(&channel.name);
                entry.t = t;
            }
        }
    }
    out
}

/// The rows of two runs at the same times, up to rounding.
fn common_times(a: &[f64], b: &[f64]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut i = 0;
    for (row, t) in a.iter().enumerate() {
        let rounding = 1e-9 * (1.0 + t.abs());
        while i < b.len() && b[i] < t - rounding {
            i += 1;
        }
        if i < b.len() && (b[i] - t).abs() <= rounding {
            out.push((row, i));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::FormulationKind::{Ggl, Index3, Si2};
    use super::*;

    #[test]
    fn rows_are_paired_by_their_times() {
        let pairs = common_times(&[0.0, 0.1, 0.2, 0.3], &[0.0, 0.05, 0.1 + 1e-12, 0.25, 0.3]);
        assert_eq!(pairs, [(0, 0), (1, 2), (3, 4)]);
    }

    #[test]
    fn the_coupling_follows_the_method() {
        let with = |step, formulation, method| {
            let (coupling, o) = corresponding(Options { step, formulation, method, ..Options::default() });
            (coupling, o.method, o.formulation)
        };
        let alpha = MethodName::GeneralizedAlpha;
        assert_eq!(with(None, None, MethodName::Bdf), (Coupling::Windows, MethodName::Bdf, None));
        assert_eq!(with(Some(1e-3), None, MethodName::Bdf), (Coupling::Stabilized, alpha, Some(Si2)));
        assert_eq!(with(Some(1e-3), Some(Index3), MethodName::Bdf), (Coupling::Position, alpha, Some(Index3)));
        assert_eq!(with(None, Some(Index3), alpha), (Coupling::Position, alpha, Some(Index3)));
        assert_eq!(with(None, Some(Ggl), alpha), (Coupling::Stabilized, alpha, Some(Si2)));
    }
}
