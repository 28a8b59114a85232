//! The loop a reader should meet first: step, look, record, repeat.

use crate::engines::explicit::Explicit;
use crate::engines::implicit::{Control, Implicit};
use crate::engines::kinematic::Kinematic;
use crate::engines::{Engine, SplitReport, Statistics, StepError};
use crate::formulation;
use crate::initial::{self, Assembly, AssemblyError};
use crate::kkt::{Kkt, RowScales, add_position_residual, add_velocity_residual};
use crate::methods::alpha::GeneralizedAlpha;
use crate::methods::bdf::{Bdf, BdfOptions, first_step};
use crate::methods::tableau::{DORMAND_PRINCE_5, DORMAND_PRINCE_8, RK4};
use crate::newton::Iteration;
use crate::options::{MethodName, OptionError, Options, Tested};
use crate::record::{Header, Recorder};
use crate::tolerances::Tolerances;
use bellcrank_model::dynamics::Energy;
use bellcrank_model::{Dynamics, Point, State, Workspace};
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Below this relative tolerance `auto` starts with the pair of order 8.
const HIGH_ORDER: f64 = 1e-7;

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

/// What a run was and what it took.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The model's name.
    pub model: String,
    /// Method, formulation and iteration that were in use at the end.
    pub names: (&'static str, &'static str, &'static str),
    /// What `auto` decided, and when.
    pub choices: Vec<String>,
    /// How it ended.
    pub status: Status,
    /// Counts of work.
    pub statistics: Statistics,
    /// Seconds on the clock.
    pub wall_seconds: f64,
    /// Largest position and velocity residual of the constraints over all accepted steps.
    pub drift: (f64, f64),
    /// Energy at the start and at the end, and the largest error of the balance.
    pub energy: (f64, f64, f64),
    /// The last time.
    pub t: f64,
    /// All channels at the end.
    pub last: Vec<(String, f64)>,
    /// What the assembly found.
    pub assembly: Assembly,
    /// The joints whose reactions are not unique: those of least size are reported.
    pub not_unique: Vec<String>,
    /// The split of the coordinates, where the run has one.
    pub split: Option<SplitReport>,
    /// What changed on the way: the number of redundant equations.
    pub events: Vec<String>,
}

impl Summary {
    /// The object that `--json` prints.
    pub fn to_json(&self) -> Value {
        let s = &self.statistics;
        let mut last = Map::new();
        last.insert("t".into(), json!(self.t));
        for (name, value) in &self.last {
            last.insert(name.clone(), json!(value));
        }
        let (status, message) = match &self.status {
            Status::Finished => ("finished", None),
            Status::Interrupted => ("interrupted", None),
            Status::Failed(e) => ("failed", Some(e.to_string())),
        };
        let mut object = json!({
            "model": self.model,
            "status": status,
            "method": self.names.0,
            "formulation": self.names.1,
            "iteration": self.names.2,
            "steps": s.steps,
            "rejected": s.error_test_failures + s.convergence_failures,
            "error_test_failures": s.error_test_failures,
            "convergence_failures": s.convergence_failures,
            "residual_evaluations": s.residual_evaluations,
            "jacobian_evaluations": s.jacobian_evaluations,
            "factorizations": s.factorizations,
            "iterations": s.iterations,
            "wall_seconds": self.wall_seconds,
            "degrees_of_freedom": self.assembly.degrees_of_freedom,
            "redundant_equations": self.assembly.redundant,
            "reactions_unique": self.not_unique.is_empty(),
            "reactions_not_unique": self.not_unique,
            "events": self.events,
            "drift": { "position": self.drift.0, "velocity": self.drift.1 },
            "energy": { "initial": self.energy.0, "final": self.energy.1, "max_error": self.energy.2 },
            "choices": self.choices,
            "final": last,
        });
        if let (Some(split), Some(map)) = (&self.split, object.as_object_mut()) {
            let numbers = json!({
                "independent": split.independent,
                "dependent": split.dependent,
                "largest": split.largest,
                "worst": split.worst,
                "changes": split.changes,
                "redundant": split.redundant,
            });
            map.insert("split".into(), numbers);
        }
        if let (Some(message), Some(map)) = (message, object.as_object_mut()) {
            map.insert("error".into(), json!(message));
        }
        object
    }
}

/// Why a simulation cannot start.
#[derive(Clone, Debug, PartialEq)]
pub enum StartError {
    /// A choice makes no sense.
    Option(OptionError),
    /// The start cannot be made consistent.
    Assembly(AssemblyError),
    /// The first evaluation failed.
    Step(StepError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Option(e) => write!(f, "{}: {}\nhelp: {}", e.option, e.message, e.help),
            StartError::Assembly(e) => write!(f, "{e}"),
            StartError::Step(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for StartError {}

/// A model on its way through time.
pub struct Simulation {
    name: String,
    dynamics: Arc<dyn Dynamics>,
    options: Options,
    engine: Box<dyn Engine>,
    before: Statistics,
    choices: Vec<String>,
    assembly: Assembly,
    observer: Observer,
    budget: Budget,
    drift: (f64, f64),
    started: Instant,
}

impl Simulation {
    /// Makes the start consistent and gets the method ready.
    pub fn new(
        name: &str,
        dynamics: Arc<dyn Dynamics>,
        state: &State,
        options: Options,
    ) -> Result<Simulation, StartError> {
        let started = Instant::now();
        options.check().map_err(StartError::Option)?;
        let (start, assembly) = initial::assemble(&dynamics, state).map_err(StartError::Assembly)?;
        let mut choices = Vec::new();
        let engine = first_engine(&dynamics, &options, &start, &assembly, &mut choices).map_err(StartError::Step)?;
        let mut observer = Observer::new(dynamics.clone(), &start, assembly.redundant);
        let energy = observer.energy(&start);
        let budget = Budget::new(&*dynamics, energy);
        Ok(Simulation {
            name: name.to_string(),
            dynamics,
            options,
            engine,
            before: Statistics::default(),
            choices,
            assembly,
            observer,
            budget,
            drift: (0.0, 0.0),
            started,
        })
    }

    /// What the assembly of the start found.
    pub fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    /// The present state.
    pub fn state(&self) -> &State {
        self.engine.state()
    }

    /// The last accepted point, with the multipliers the method has for it.
    pub fn point(&self) -> &Point {
        self.engine.point()
    }

    /// What is recorded.
    pub fn header(&self) -> Header {
        Header { model: self.name.clone(), channels: self.dynamics.channels() }
    }

    /// Counts of work so far.
    pub fn statistics(&self) -> Statistics {
        let mut s = self.before;
        s += self.engine.statistics();
        s
    }

    /// Runs to the end; `watch` sees the time and step size after every step. What was computed is
    /// recorded and marked also after a failure.
    pub fn run(&mut self, out: &mut dyn Recorder, watch: &mut dyn FnMut(f64, f64)) -> Summary {
        let record = |e: std::io::Error| StepError::Record(e.to_string());
        let begun = out.begin(&self.header()).map_err(record);
        let ended = begun.and_then(|()| self.advance(out, watch));
        let mut summary = self.summary(ended);
        if let Err(e) = out.end(&summary.to_json()).map_err(record)
            && summary.status == Status::Finished
        {
            summary.status = Status::Failed(e);
        }
        summary
    }

    fn advance(&mut self, out: &mut dyn Recorder, watch: &mut dyn FnMut(f64, f64)) -> Result<Status, StepError> {
        let (until, distance) = (self.options.until, self.options.sample_distance());
        let wanted = out.wants_frames();
        let t0 = self.engine.state().t;
        let mut sampler = Sampler { t0, distance, next: 0, until, last: f64::NEG_INFINITY };
        self.sample(&mut sampler, wanted, out)?;
        self.look();
        while self.engine.state().t < until {
            if self.options.interrupt.load(Ordering::Relaxed) {
                return Ok(Status::Interrupted);
            }
            self.step(until)?;
            self.sample(&mut sampler, wanted, out)?;
            self.engine.settle();
            watch(self.engine.state().t, self.engine.step_size());
            if self.engine.stiff() && self.options.method == MethodName::Auto {
                self.become_implicit()?;
            }
        }
        Ok(Status::Finished)
    }

    /// One step, with the budget of energy and drift.
    fn step(&mut self, until: f64) -> Result<(), StepError> {
        let from = self.engine.state().t;
        self.engine.step(until)?;
        if self.budget.powered {
            self.budget.add_work(from, &mut *self.engine, &mut self.observer)?;
        }
        self.look();
        Ok(())
    }

    /// Takes notice of drift and energy at the accepted point.
    fn look(&mut self) {
        let (position, velocity) = self.observer.drift(self.engine.point());
        self.drift = (self.drift.0.max(position), self.drift.1.max(velocity));
        let energy = self.observer.energy(self.engine.point());
        self.budget.balance(energy);
    }

    fn sample(&mut self, s: &mut Sampler, wanted: bool, out: &mut dyn Recorder) -> Result<(), StepError> {
        let now = self.engine.state().t;
        if !wanted {
            return Ok(());
        }
        while let Some(t) = s.due(now) {
            let mut state = std::mem::take(&mut self.observer.state);
            if t == now {
                state.clone_from(self.engine.state());
            } else {
                self.engine.interpolate(t, &mut state)?;
            }
            self.observer.state = state;
            self.observer.observe()?;
            out.frame(t, &self.observer.values).map_err(|e| StepError::Record(e.to_string()))?;
        }
        Ok(())
    }

    /// Hands the state over from the explicit method to BDF.
    fn become_implicit(&mut self) -> Result<(), StepError> {
        self.before += self.engine.statistics();
        let state = self.engine.state().clone();
        let start = self.observer.complete(&state)?;
        self.choices.push(format!("stiff at t = {:.6} s: went on with bdf on ggl", state.t));
        let name = self.options.formulation.unwrap_or("ggl");
        self.engine = implicit_engine(&self.dynamics, &self.options, MethodName::Bdf, name, &start);
        Ok(())
    }

    fn summary(&mut self, ended: Result<Status, StepError>) -> Summary {
        let status = ended.unwrap_or_else(Status::Failed);
        self.observer.state.clone_from(self.engine.state());
        let observed = self.observer.observe();
        let channels = self.dynamics.channels();
        let last = match observed {
            Ok(()) => channels.into_iter().map(|c| c.name).zip(self.observer.values.iter().copied()).collect(),
            Err(_) => Vec::new(),
        };
        Summary {
            model: self.name.clone(),
            names: self.engine.names(),
            choices: self.choices.clone(),
            status,
            statistics: self.statistics(),
            wall_seconds: self.started.elapsed().as_secs_f64(),
            drift: self.drift,
            energy: self.budget.report(),
            t: self.engine.state().t,
            last,
            assembly: self.assembly.clone(),
            not_unique: self.observer.not_unique.clone(),
            split: self.engine.split_report(),
            events: self.observer.events.clone(),
        }
    }
}

fn first_engine(
    dynamics: &Arc<dyn Dynamics>,
    options: &Options,
    start: &Point,
    assembly: &Assembly,
    choices: &mut Vec<String>,
) -> Result<Box<dyn Engine>, StepError> {
    if assembly.degrees_of_freedom == 0 {
        choices.push("no degree of freedom: kinematics, with reactions from inverse dynamics".into());
        let h = options.step.unwrap_or(options.sample_distance());
        return Ok(Box::new(Kinematic::new(dynamics.clone(), start, h)));
    }
    let mut method = options.method;
    if method == MethodName::Auto {
        (method, _) = match (options.step, options.formulation) {
            (Some(_), Some("index1")) => (MethodName::Rk4, choices.push("fixed step on index1: rk4".into())),
            (Some(_), _) => (MethodName::GeneralizedAlpha, choices.push("fixed step: gen-alpha on si2".into())),
            (None, Some("ggl" | "si2")) => (MethodName::Bdf, choices.push("an implicit formulation: bdf".into())),
            (None, _) if options.rtol < HIGH_ORDER => {
                (MethodName::Dop853, choices.push("started with dop853 (tight tolerance)".into()))
            }
            _ => (MethodName::Dopri5, choices.push("started with dopri5".into())),
        };
    }
    let tableau = match method {
        MethodName::Rk4 => &RK4,
        MethodName::Dopri5 => &DORMAND_PRINCE_5,
        MethodName::Dop853 => &DORMAND_PRINCE_8,
        _ => {
            let name = options.formulation.unwrap_or(method.default_formulation());
            return Ok(implicit_engine(dynamics, options, method, name, start));
        }
    };
    let tolerances = Tolerances::new(&**dynamics, options, options.test.unwrap_or(Tested::QV));
    Ok(Box::new(Explicit::new(dynamics.clone(), tableau, options.step, tolerances, start)?))
}

fn implicit_engine(
    dynamics: &Arc<dyn Dynamics>,
    options: &Options,
    method: MethodName,
    formulation: &str,
    start: &Point,
) -> Box<dyn Engine> {
    let form = formulation::by_name(formulation).unwrap_or_else(formulation::ggl);
    // velocities of index-3 steps oscillate with the step size: they cannot decide
    let tested = options.test.unwrap_or(if form.index == 3 { Tested::Q } else { Tested::QV });
    let mut tolerances = Tolerances::new(&**dynamics, options, tested);
    tolerances.velocities_converge = form.index != 3;
    let fixed = options.step.is_some();
    let control = Control {
        iteration: options.iteration.unwrap_or(if fixed { Iteration::Full } else { Iteration::Auto }),
        max_iterations: options.max_iterations.unwrap_or(if fixed { 20 } else { 4 }),
        on: options.on,
        fixed,
        as_dassl: false,
    };
    let boxed: Box<dyn crate::methods::Method> = match method.alpha(options.rho) {
        Some(parameters) => Box::new(GeneralizedAlpha::new(parameters)),
        None => Box::new(Bdf::new(BdfOptions {
            max_order: options.max_order,
            fixed_step: options.step,
            averaged: tested == Tested::Q,
            ..BdfOptions::default()
        })),
    };
    let span = options.until - start.t;
    let first = |w: &crate::weights::Weights| options.step.unwrap_or_else(|| first_step(start, w, span));
    let names = (method.name(), form.name);
    Box::new(Implicit::new(dynamics.clone(), boxed, names, form, control, tolerances, start, first))
}

/// The times of samples: t₀ + k·distance, and the end.
struct Sampler {
    t0: f64,
    distance: f64,
    next: u64,
    until: f64,
    last: f64,
}

impl Sampler {
    /// The next sample up to the time `now`, if one is due.
    fn due(&mut self, now: f64) -> Option<f64> {
        if self.last >= self.until {
            return None;
        }
        let t = self.t0 + self.next as f64 * self.distance;
        // a sample a rounding error before the end is the end
        let t = if t > self.until - 1e-9 * self.distance { self.until } else { t };
        if t > now {
            return None;
        }
        self.next += 1;
        self.last = t;
        Some(t)
    }
}

/// Looks at states: accelerations, reactions, channels, drift and energy.
struct Observer {
    dynamics: Arc<dyn Dynamics>,
    kkt: Kkt,
    point: Point,
    w: Workspace,
    state: State,
    values: Vec<f64>,
    rows: Vec<f64>,
    /// For reactions of least size, where equations are redundant.
    least: Option<(Kkt, RowScales)>,
    redundant: usize,
    not_unique: Vec<String>,
    events: Vec<String>,
}

/// So many events are told.
const EVENTS: usize = 50;

impl Observer {
    fn new(dynamics: Arc<dyn Dynamics>, start: &Point, redundant: usize) -> Observer {
        let mut state = State::default();
        start.store(&mut state);
        let mut observer = Observer {
            kkt: Kkt::new(dynamics.clone()),
            point: start.clone(),
            w: dynamics.workspace(),
            state,
            values: Vec::new(),
            rows: vec![0.0; dynamics.layout().m()],
            least: None,
            redundant,
            not_unique: Vec::new(),
            events: Vec::new(),
            dynamics,
        };
        if redundant > 0 {
            observer.find_not_unique();
        }
        observer
    }

    /// The joints with multipliers that can be changed without any effect: random ones lose that part of
    /// themselves when they are made least.
    fn find_not_unique(&mut self) {
        let mut random = initial::Random(11);
        self.w.invalidate();
        self.dynamics.realize(&self.point, &mut self.w);
        let any: Vec<f64> = self.rows.iter().map(|_| random.next()).collect();
        let mut least = any.clone();
        let (kkt, scales) = self.least.get_or_insert_with(|| {
            (Kkt::new(self.dynamics.clone()), RowScales::new(&*self.dynamics, &self.point, &mut self.w))
        });
        if kkt.least_multipliers(scales, &self.point, &mut self.w, &mut least).is_err() {
            return;
        }
        self.not_unique.clear();
        for (k, range) in self.dynamics.layout().constraints.iter().enumerate() {
            let name = self.dynamics.name(bellcrank_model::Unknown::Lambda, k);
            if range.clone().any(|i| (any[i] - least[i]).abs() > 1e-4) && self.not_unique.last() != Some(&name) {
                self.not_unique.push(name);
            }
        }
    }

    /// Takes notice of a change of the rank.
    fn notice(&mut self) {
        let now = self.kkt.dropped();
        if now == self.redundant {
            return;
        }
        let t = self.state.t;
        match self.events.len() {
            n if n < EVENTS => self.events.push(format!(
                "t = {t:.6} s: {now} redundant equations instead of {}: the position is singular, or was",
                self.redundant
            )),
            EVENTS => self.events.push("and more".into()),
            _ => {}
        }
        self.redundant = now;
    }

    /// λ of least size among those that pull alike.
    fn least(&mut self) -> Result<(), StepError> {
        if self.kkt.dropped() == 0 {
            return Ok(());
        }
        let (kkt, scales) = self.least.get_or_insert_with(|| {
            (Kkt::new(self.dynamics.clone()), RowScales::new(&*self.dynamics, &self.point, &mut self.w))
        });
        let mut lambda = std::mem::take(&mut self.point.lambda);
        let found = kkt.least_multipliers(scales, &self.point, &mut self.w, &mut lambda);
        self.point.lambda = lambda;
        found.map_err(|_| StepError::Singular { t: self.state.t, culprit: "the model".into() })
    }

    /// Poses at `self.state`.
    fn place(&mut self) {
        self.point.set(&self.state);
        self.w.invalidate();
        self.dynamics.realize(&self.point, &mut self.w);
    }

    /// v̇ and λ at `self.state`.
    fn accelerate(&mut self) -> Result<(), StepError> {
        self.place();
        let t = self.state.t;
        self.kkt
            .accelerate(&mut self.point, &mut self.w)
            .map_err(|_| StepError::Singular { t, culprit: "the model".into() })
    }

    /// Fills `values` with all channels at `self.state`.
    fn observe(&mut self) -> Result<(), StepError> {
        self.accelerate()?;
        self.notice();
        self.least()?;
        self.dynamics.observe(&self.point, &mut self.w, &mut self.values);
        Ok(())
    }

    /// A state with its rates, accelerations and reactions.
    fn complete(&mut self, state: &State) -> Result<Point, StepError> {
        self.state.clone_from(state);
        self.accelerate()?;
        self.dynamics.rates(&self.point.q, &self.point.v, &mut self.point.qdot);
        let mut zdot = std::mem::take(&mut self.point.zdot);
        zdot.fill(0.0);
        self.dynamics.add(1.0, bellcrank_model::Piece::Flow, &self.point, &mut self.w, &mut zdot);
        self.point.zdot = zdot;
        Ok(self.point.clone())
    }

    fn energy(&mut self, at: &Point) -> Energy {
        self.w.invalidate();
        self.dynamics.realize(at, &mut self.w);
        self.dynamics.energy(at, &mut self.w)
    }

    fn drift(&mut self, at: &Point) -> (f64, f64) {
        self.w.invalidate();
        self.dynamics.realize(at, &mut self.w);
        let largest = |rows: &[f64]| rows.iter().fold(0.0f64, |m, r| m.max(r.abs()));
        self.rows.fill(0.0);
        add_position_residual(&*self.dynamics, 1.0, at, &mut self.w, &mut self.rows);
        let position = largest(&self.rows);
        self.rows.fill(0.0);
        add_velocity_residual(&*self.dynamics, 1.0, at, &mut self.w, &mut self.rows);
        (position, largest(&self.rows))
    }
}

/// The balance of energy: what is there against what came in.
struct Budget {
    initial: f64,
    now: f64,
    work: f64,
    largest_error: f64,
    powered: bool,
}

/// Gauss points and weights on [0, 1], order 6.
const GAUSS: [(f64, f64); 3] =
    [(0.112_701_665_379_258_31, 5.0 / 18.0), (0.5, 8.0 / 18.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];

impl Budget {
    fn new(dynamics: &dyn Dynamics, start: Energy) -> Budget {
        let initial = start.kinetic + start.stored;
        Budget { initial, now: initial, work: 0.0, largest_error: 0.0, powered: dynamics.has_power() }
    }

    /// Adds the work done in the last step, by Gauss's rule on the dense output.
    fn add_work(&mut self, from: f64, engine: &mut dyn Engine, observer: &mut Observer) -> Result<(), StepError> {
        let h = engine.state().t - from;
        for (place, weight) in GAUSS {
            let mut state = std::mem::take(&mut observer.state);
            engine.interpolate(from + place * h, &mut state)?;
            observer.state = state;
            if observer.dynamics.driven() {
                observer.accelerate()?;
            } else {
                observer.place();
            }
            let power = observer.dynamics.energy(&observer.point, &mut observer.w).power;
            self.work += h * weight * power;
        }
        Ok(())
    }

    fn balance(&mut self, energy: Energy) {
        self.now = energy.kinetic + energy.stored;
        let error = (self.now - self.initial - self.work).abs();
        self.largest_error = self.largest_error.max(error);
    }

    fn report(&self) -> (f64, f64, f64) {
        (self.initial, self.now, self.largest_error)
    }
}
