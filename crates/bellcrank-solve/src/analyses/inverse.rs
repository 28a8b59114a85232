//! Inverse dynamics: the forces and torques that a prescribed motion takes.
//!
//! A model whose drives leave no freedom moves as they say; what they must give follows from the balance
//! of forces. A drive that holds a motion to f(t) acts along it with the effort −λ and the power −λ ḟ.

use super::statics::{StaticsError, refuse_fmus};
use crate::engines::kinematic::Kinematic;
use crate::engines::{Engine, StepError};
use crate::linearization::{Linearization, linearize};
use crate::record::{BUCKETS, Channel, Ended, Header, Recorder, RunReport, Thinning};
use crate::run::{Timetable, accelerations_differ};
use crate::start::{self, Assembly, AssemblyError};
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::joints::names;
use bellcrank_model::model::ForceEntry;
use bellcrank_model::{Dynamics, Point, System};
use std::fmt;
use std::sync::Arc;

/// Where the efforts of a drive stand among the multipliers.
#[derive(Clone, Debug)]
pub struct DriveRows {
    /// The joint's name.
    pub name: String,
    /// Channels of its efforts, each with its unit and the row of λ.
    pub efforts: Vec<(String, &'static str, usize)>,
}

/// What a drive has to give over the motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The channel: `motor.torque`, `slide.force`, `hand.fx`.
    pub name: String,
    /// N m or N.
    pub unit: &'static str,
    /// The largest |effort| with its sign and time.
    pub peak: (f64, f64),
    /// The root of the mean square over time.
    pub rms: f64,
    /// The largest power into the model, and its time.
    pub peak_power: (f64, f64),
    /// The largest power out of the model (braking), negative, and its time.
    pub peak_braking: (f64, f64),
    /// The work over the whole motion, in J.
    pub work: f64,
}

/// A prescribed motion and what it takes.
#[derive(Clone, Debug)]
pub struct Inverse {
    /// The model's name.
    pub model: String,
    /// Whether the motion was followed to its end.
    pub ended: Ended,
    /// What each drive has to give.
    pub demands: Vec<Demand>,
    /// Number of samples.
    pub samples: usize,
    /// Beginning and end.
    pub span: (f64, f64),
    /// What the assembly found; redundant equations make efforts not unique.
    pub assembly: Assembly,
    /// Controllers and actuators that did not act, by name: the drives take their place.
    pub left_out: Vec<String>,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum InverseError {
    /// The start cannot be made consistent.
    Assembly(AssemblyError),
    /// The drives leave freedoms.
    Free {
        /// How many.
        freedoms: usize,
        /// Joint coordinates that could be driven, as `joint.angle`.
        candidates: Vec<String>,
        /// Bodies that move in them.
        bodies: Vec<String>,
    },
    /// The model has no drive at all.
    NoDrive,
    /// The motion cannot be followed.
    Step(StepError),
}

impl fmt::Display for InverseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InverseError::Assembly(e) => write!(f, "{e}"),
            InverseError::Step(e) => write!(f, "{e}"),
            InverseError::NoDrive => write!(
                f,
                "nothing drives the model\nhelp: add a joint of type `drive` (or `drive-point`), or \
                 --drive joint.angle='0.5*sin(t)'"
            ),
            InverseError::Free { freedoms, candidates, bodies } => {
                let plural = if *freedoms == 1 { "degree of freedom is" } else { "degrees of freedom are" };
                write!(f, "the motion is not fully prescribed: {freedoms} {plural} free")?;
                if !bodies.is_empty() {
                    write!(f, "; {} can still move", bodies.join(", "))?;
                }
                match candidates.first() {
                    Some(first) => write!(
                        f,
                        "\nhelp: drive {}, as in --drive {first}='0.5*sin(t)'; or use `bellcrank run`, which lets \
                         it move freely",
                        candidates.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(" or ")
                    ),
                    None => write!(f, "\nhelp: lead a point of the body by a `drive-point`, or use `bellcrank run`"),
                }
            }
        }
    }
}

impl std::error::Error for InverseError {}

/// The drives of a model, with the rows of their efforts.
pub fn drives(system: &System) -> Vec<DriveRows> {
    let dimension = system.model.space.dimension();
    let mut out = Vec::new();
    for (number, joint) in system.model.joints.iter().enumerate() {
        let rows = system.blocks(number).flat_map(|b| system.layout().constraints[b].clone());
        let mut efforts = Vec::new();
        match joint.kind {
            "drive" => {
                // a row that presses on a point is a force; one that only turns is a torque
                for row in rows {
                    let turns = system.only_turns(number);
                    let (part, unit) = if turns { ("torque", "N m") } else { ("force", "N") };
                    efforts.push((format!("{}.{part}", joint.name), unit, row));
                }
            }
            "drive-point" => {
                for (row, axis) in rows.zip(["x", "y", "z"]).take(dimension) {
                    efforts.push((format!("{}.f{axis}", joint.name), "N", row));
                }
            }
            _ => continue,
        }
        out.push(DriveRows { name: joint.name.clone(), efforts });
    }
    out
}

/// The joint coordinates that still change in the free directions, and the bodies that move.
fn free(system: &System, at: &Point, linear: &Linearization) -> (Vec<String>, Vec<String>) {
    let mut w = system.workspace();
    system.realize(at, &mut w);
    let s = &linear.directions;
    let moves = |gradient: &[(usize, Vec<f64>)]| {
        let mut largest = 0.0f64;
        for k in 0..s.columns {
            let rate: f64 = gradient
                .iter()
                .flat_map(|(b, row)| system.layout().bodies[*b].clone().zip(row))
                .map(|(i, g)| g * s.at(i, k))
                .sum();
            largest = largest.max(rate.abs());
        }
        largest
    };
    let mut candidates = Vec::new();
    let mut before = (usize::MAX, 0);
    for c in system.coordinates() {
        before = if before.0 == c.joint { (c.joint, before.1 + 1) } else { (c.joint, 0) };
        let joint = &system.model.joints[c.joint];
        let motions = joint.joint.motions(system.model.space);
        if moves(&system.coordinate_gradient(c, at, &w)) > 1e-6
            && let Some([name, _]) = names(&motions).get(before.1)
        {
            candidates.push(format!("{}.{name}", joint.name));
        }
    }
    let mut bodies = Vec::new();
    for (b, range) in system.layout().bodies.iter().enumerate() {
        if range.clone().any(|i| s.row(i).iter().any(|x| x.abs() > 1e-6)) {
            bodies.push(format!("body `{}`", system.model.bodies[b].name));
        }
    }
    (candidates.into_iter().take(4).collect(), bodies.into_iter().take(4).collect())
}

/// The model without the efforts that its drives take the place of: controllers, and actuators that lag or that act along a
/// driven coordinate. Their names.
///
/// A controller has no say in a motion that is prescribed, and its states are not integrated; its effort would falsify
/// what the drives have to give. Actuators without a lag on other coordinates are loads that are known, and stay.
fn without_control(system: &Arc<System>) -> (Arc<System>, Vec<String>) {
    let model = &system.model;
    let left = |f: &ForceEntry| match f.force.along() {
        Some(_) if f.kind == "pid" => true,
        Some(motion) if f.kind == "joint-actuator" => !f.force.initial().is_empty() || model.drives(&f.ends, motion),
        _ => false,
    };
    let names: Vec<String> = model.forces.iter().filter(|f| left(f)).map(|f| f.name.clone()).collect();
    if names.is_empty() {
        return (system.clone(), names);
    }
    let mut rest = model.clone();
    rest.forces.retain(|f| !left(f));
    (Arc::new(rest.into_system()), names)
}

/// Follows the prescribed motion to `until`, in samples of `distance`; if none is given, as it goes: in at least two hundred, in more
/// where accelerations and reactions bend, and on both sides of the times at which they jump. Efforts, works and powers are those of all
/// that is visited; what is recorded of it is thinned like the rows of a run. Records all channels with the efforts and powers of the
/// drives behind them.
pub fn inverse(
    system: &Arc<System>,
    until: f64,
    distance: Option<f64>,
    out: &mut dyn Recorder,
) -> Result<Inverse, InverseError> {
    let refused = |e: StaticsError| InverseError::Step(StepError::Refused { t: 0.0, why: e.to_string() });
    refuse_fmus(system).map_err(refused)?;
    let (system, left_out) = without_control(system);
    let system = &system;
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let (start, assembly) = start::assemble(&dynamics, &system.initial_state()).map_err(InverseError::Assembly)?;
    let drives = drives(system);
    if assembly.degrees_of_freedom > 0 {
        let (candidates, bodies) = match linearize(&*dynamics, &start) {
            Ok(linear) => free(system, &start, &linear),
            Err(_) => Default::default(),
        };
        return Err(InverseError::Free { freedoms: assembly.degrees_of_freedom, candidates, bodies });
    }
    let rows: Vec<(String, &'static str, usize)> = drives.iter().flat_map(|d| d.efforts.clone()).collect();
    if rows.is_empty() {
        return Err(InverseError::NoDrive);
    }
    let record = |e: std::io::Error| InverseError::Step(StepError::Record(e.to_string()));
    let mut channels = dynamics.channels();
    for (name, unit, _) in &rows {
        let (owner, part) = name.rsplit_once('.').unwrap_or(("", name));
        // the force that leads a point is already there as the reaction
        if axis_of(part).is_none() {
            channels.push(Channel { name: name.clone(), unit });
        }
        let axis = axis_of(part).map_or_else(String::new, |axis| format!("_{axis}"));
        channels.push(Channel { name: format!("{owner}.power{axis}"), unit: "W" });
    }
    // too many channels to follow the motion are recorded at equal intervals
    let thinning = distance.is_none().then(|| Thinning::new(start.t, until, channels.len())).flatten();
    let distance = distance.or(thinning.is_none().then_some((until - start.t) / BUCKETS));
    out.begin(&Header { model: system.model.name.clone(), channels }).map_err(record)?;
    let mut watch = EffortLog::new(system.clone(), rows);
    let ended = visit_all(&dynamics, &start, until, distance, thinning, &mut watch, out);
    let result = Inverse {
        model: system.model.name.clone(),
        ended: ended.as_ref().map_or_else(|e| Ended::Failed(e.to_string()), |()| Ended::Finished),
        demands: watch.demands(),
        samples: watch.times.len(),
        span: (start.t, until),
        assembly,
        left_out,
    };
    out.end(&result).map_err(record)?;
    ended.map_err(InverseError::Step)?;
    Ok(result)
}

/// The axis in `fx`, `fy`, `fz`.
fn axis_of(part: &str) -> Option<&str> {
    part.strip_prefix('f').filter(|axis| axis.len() == 1)
}

/// The relative tolerance of what only its rate drives.
const PRECISION: f64 = 1e-9;

/// Between two samples, each acceleration and reaction is a straight line up to this part of its largest value so far.
const BEND: f64 = 1e-3;

/// What is smaller than this part of the largest of all counts as this.
const SMALL: f64 = 1e-6;

/// A step is halved so often at most.
const HALVINGS: usize = 7;

/// Whether accelerations or reactions at two points are others than rounding makes them.
fn differ(a: &Point, b: &Point) -> bool {
    let size = a.lambda.iter().chain(&b.lambda).fold(0.0f64, |m, x| m.max(x.abs()));
    accelerations_differ(a, b) || a.lambda.iter().zip(&b.lambda).any(|(a, b)| (a - b).abs() > PRECISION * size)
}

/// Visits a motion to its end, however that comes; what was visited is recorded, thinned or not.
fn visit_all(
    dynamics: &Arc<dyn Dynamics>,
    start: &Point,
    until: f64,
    distance: Option<f64>,
    mut thinning: Option<Thinning>,
    watch: &mut EffortLog,
    out: &mut dyn Recorder,
) -> Result<(), StepError> {
    let failed = |e: std::io::Error| StepError::Record(e.to_string());
    let ended = follow(dynamics, start, until, distance, &mut |at| {
        let values = watch.see(at);
        let recorded = match &mut thinning {
            None => out.frame(at.t, values),
            Some(thinning) => thinning.add(at.t, values, false, &mut |t, values| out.frame(t, values)),
        };
        recorded.map_err(failed)
    });
    let rest = thinning.map_or(Ok(()), |mut rows| rows.finish(&mut |t, values| out.frame(t, values)));
    ended.and(rest.map_err(failed))
}

/// Takes the points of a motion.
type Visit<'a> = &'a mut dyn FnMut(&Point) -> Result<(), StepError>;

/// The largest size of each acceleration and reaction so far.
#[derive(Default)]
struct Largest {
    vdot: Vec<f64>,
    lambda: Vec<f64>,
}

impl Largest {
    fn see(&mut self, at: &Point) {
        for (largest, values) in [(&mut self.vdot, &at.vdot), (&mut self.lambda, &at.lambda)] {
            largest.resize(values.len(), 0.0);
            largest.iter_mut().zip(values).for_each(|(m, x)| *m = m.max(x.abs()));
        }
    }

    /// Whether a value in the middle is beside the line through both ends by more than is allowed.
    fn bends(&self, [from, middle, to]: [&Point; 3]) -> bool {
        let beside = |largest: &[f64], [a, m, b]: [&[f64]; 3]| {
            let least = SMALL * largest.iter().fold(0.0f64, |m, x| m.max(*x));
            let beside = |i: usize| (m[i] - 0.5 * (a[i] + b[i])).abs() > BEND * largest[i].max(least);
            (0..largest.len()).any(beside)
        };
        beside(&self.vdot, [&from.vdot, &middle.vdot, &to.vdot])
            || beside(&self.lambda, [&from.lambda, &middle.lambda, &to.lambda])
    }
}

/// Visits the middle of a step and, where something bends there, its halves in the same way.
fn visit_within(
    engine: &mut Kinematic,
    [from, to]: [&Point; 2],
    halvings: usize,
    largest: &mut Largest,
    visit: Visit,
) -> Result<(), StepError> {
    let t = 0.5 * (from.t + to.t);
    if halvings == 0 || t <= from.t || t >= to.t {
        return Ok(());
    }
    let middle = engine.within(from, t)?;
    largest.see(&middle);
    if !largest.bends([from, &middle, to]) {
        return visit(&middle);
    }
    visit_within(engine, [from, &middle], halvings - 1, largest, visit)?;
    visit(&middle)?;
    visit_within(engine, [&middle, to], halvings - 1, largest, visit)
}

/// Visits the samples of a motion without freedom; without a given distance, every step with what bends in it, and both sides of
/// where something jumps.
fn follow(
    dynamics: &Arc<dyn Dynamics>,
    start: &Point,
    until: f64,
    distance: Option<f64>,
    visit: Visit,
) -> Result<(), StepError> {
    let longest = (until - start.t) / BUCKETS;
    let mut engine = Kinematic::new(dynamics.clone(), start, longest, PRECISION);
    let (everything, distance) = (distance.is_none(), distance.unwrap_or(longest));
    let mut timetable = Timetable::new(dynamics.courses());
    let mut largest = Largest::default();
    largest.see(start);
    visit(start)?;
    let mut last = start.t;
    let mut once = |at: &Point| {
        if at.t <= last {
            return Ok(());
        }
        last = at.t;
        visit(at)
    };
    let mut next = 1u64;
    loop {
        let t = start.t + next as f64 * distance;
        let t = if t > until - 1e-9 * distance { until } else { t };
        while engine.state().t < t {
            let from = engine.point().clone();
            let stop = timetable.stop(engine.state(), t, engine.step_size(), false);
            engine.step(stop)?;
            if everything {
                let to = engine.point().clone();
                largest.see(&to);
                visit_within(&mut engine, [&from, &to], HALVINGS, &mut largest, &mut once)?;
                once(&to)?;
            }
            if engine.state().t < t {
                engine.settle();
            }
            while let Some(b) = timetable.due(engine.state(), t) {
                let before = engine.point().clone();
                if engine.cross(b.after)? {
                    let why = "the rate of a drive jumps, and its effort is an impulse: `bellcrank run` reports it";
                    return Err(StepError::Refused { t: b.after, why: why.into() });
                }
                if everything && differ(&before, engine.point()) {
                    [&before, engine.point()].into_iter().try_for_each(&mut once)?;
                }
            }
        }
        once(engine.point())?;
        engine.settle();
        if t >= until {
            return Ok(());
        }
        next += 1;
    }
}

/// Collects efforts and powers over time.
struct EffortLog {
    system: Arc<System>,
    rows: Vec<(String, &'static str, usize)>,
    w: bellcrank_model::Workspace,
    values: Vec<f64>,
    times: Vec<f64>,
    /// By sample and row: effort and power.
    seen: Vec<(f64, f64)>,
}

impl EffortLog {
    fn new(system: Arc<System>, rows: Vec<(String, &'static str, usize)>) -> EffortLog {
        let w = system.workspace();
        EffortLog { system, rows, w, values: Vec::new(), times: Vec::new(), seen: Vec::new() }
    }

    fn see(&mut self, at: &Point) -> &[f64] {
        self.w.invalidate();
        self.system.realize(at, &mut self.w);
        self.system.observe(at, &mut self.w, &mut self.values);
        let rates = self.system.drive_rates(at);
        for (name, _, row) in &self.rows {
            let effort = -at.lambda[*row];
            let power = -effort * rates[*row];
            self.seen.push((effort, power));
            if name.rsplit_once('.').and_then(|(_, part)| axis_of(part)).is_none() {
                self.values.push(effort);
            }
            self.values.push(power);
        }
        self.times.push(at.t);
        &self.values
    }

    fn demands(&self) -> Vec<Demand> {
        let count = self.rows.len();
        let demand = |k: usize| {
            let (name, unit, _) = &self.rows[k];
            let series: Vec<(f64, f64, f64)> = self
                .times
                .iter()
                .enumerate()
                .map(|(i, t)| (*t, self.seen[i * count + k].0, self.seen[i * count + k].1))
                .collect();
            let mut d = Demand {
                name: name.clone(),
                unit,
                peak: (0.0, 0.0),
                rms: 0.0,
                peak_power: (0.0, 0.0),
                peak_braking: (0.0, 0.0),
                work: 0.0,
            };
            for (t, effort, power) in &series {
                if effort.abs() > d.peak.0.abs() {
                    d.peak = (*effort, *t);
                }
                if *power > d.peak_power.0 {
                    d.peak_power = (*power, *t);
                }
                if *power < d.peak_braking.0 {
                    d.peak_braking = (*power, *t);
                }
            }
            for pair in series.windows(2) {
                let h = pair[1].0 - pair[0].0;
                d.work += 0.5 * h * (pair[0].2 + pair[1].2);
                d.rms += h / 3.0 * (pair[0].1.powi(2) + pair[0].1 * pair[1].1 + pair[1].1.powi(2));
            }
            let span = series.last().map_or(0.0, |l| l.0) - series.first().map_or(0.0, |f| f.0);
            d.rms = if span > 0.0 { (d.rms / span).sqrt() } else { d.peak.0.abs() };
            d
        };
        (0..count).map(demand).collect()
    }
}

impl RunReport for Inverse {
    fn ended(&self) -> Ended {
        self.ended.clone()
    }
}
