//! The loop a reader should meet first: step, look, record, repeat.

use crate::choices::{
    ChoiceError, Coordinates, ErrorBudget, FormulationKind, MethodName, Options, Solver, Suggestion, Tested,
};
use crate::engines::explicit::Explicit;
use crate::engines::implicit::{Control, Implicit, Projection, Solving};
use crate::engines::kinematic::Kinematic;
use crate::engines::srm::{Regularization, Srm};
use crate::engines::{Engine, LoopReport, SplitReport, Statistics, StepError};
use crate::events::{Event, Found, Watch};
use crate::history::{Culprit, History, Taken};
use crate::initial::{self, Assembly, AssemblyError};
use crate::kkt::{By, Kkt, RowScales, SharedKkt, add_position_residual, add_velocity_residual};
use crate::loop_cg::LoopCg;
use crate::methods::alpha::GeneralizedAlpha;
use crate::methods::bdf::{Bdf, BdfOptions, first_step};
use crate::newton::Iteration;
use crate::proof::Proof;
use crate::record::{Ended, Header, Recorder, Report};
use crate::tolerances::Tolerances;
use bellcrank_math::team::Team;
use bellcrank_model::bodies::Body;
use bellcrank_model::dynamics::{BY_VALUE, Energy, Impact};
use bellcrank_model::{Dynamics, Point, State, System, Workspace};
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Matrices in relative coordinates have up to so many blocks, of about half a kilobyte each with their factors.
const MOST_BLOCKS: usize = 4_000_000;

/// Drift and energy of so many bodies cost as much as a step: they are looked at in every so many steps.
const LARGE: usize = 64;
const TURN: usize = 16;

/// Dense LU is for no more unknowns than this: it takes seconds for a factorization.
const DENSE: usize = 1500;

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
    /// How linear systems were solved and why.
    pub solver: Option<String>,
    /// Blocks of coordinates: bodies, or joints of a tree.
    pub bodies: usize,
    /// The joints that are not in the tree of relative coordinates, and stay equations.
    pub cut: Vec<String>,
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
    pub last: Last,
    /// What the assembly found.
    pub assembly: Assembly,
    /// The joints whose reactions are not unique: those of least size are reported.
    pub not_unique: Vec<String>,
    /// The split of the coordinates, where the run has one.
    pub split: Option<SplitReport>,
    /// How closed loops were dealt with, where the run knows.
    pub loops: Option<LoopReport>,
    /// What happened on the way: events of forces and stops, changes of the number of redundant equations,
    /// and singular positions passed by.
    pub events: Vec<Event>,
    /// The steps it took.
    pub history: History,
    /// Whom its refused steps are blamed on, the worst first.
    pub refused: Vec<(String, Culprit)>,
    /// The evidence, where it was asked for.
    pub proof: Option<Box<Proof>>,
}

/// The values of all channels at a time, with their names: those of a large model are made when somebody asks for them.
#[derive(Clone, Default)]
pub struct Last {
    of: Option<Arc<dyn Dynamics>>,
    values: Vec<f64>,
    named: OnceLock<Vec<(String, f64)>>,
}

impl Deref for Last {
    type Target = [(String, f64)];
    fn deref(&self) -> &[(String, f64)] {
        self.named.get_or_init(|| {
            let channels = self.of.iter().flat_map(|dynamics| dynamics.channels());
            channels.map(|channel| channel.name).zip(self.values.iter().copied()).collect()
        })
    }
}

impl PartialEq for Last {
    fn eq(&self, other: &Last) -> bool {
        **self == **other
    }
}

impl<'a> IntoIterator for &'a Last {
    type Item = &'a (String, f64);
    type IntoIter = std::slice::Iter<'a, (String, f64)>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(name, value)| (name, value))).finish()
    }
}

impl Report for Summary {
    fn ended(&self) -> Ended {
        match &self.status {
            Status::Finished => Ended::Finished,
            Status::Interrupted => Ended::Interrupted,
            Status::Failed(e) => Ended::Failed(e.to_string()),
        }
    }
}

/// Why a simulation cannot start.
#[derive(Clone, Debug, PartialEq)]
pub enum StartError {
    /// A choice makes no sense.
    Option(ChoiceError),
    /// The start cannot be made consistent.
    Assembly(AssemblyError),
    /// The first evaluation failed.
    Step(StepError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Option(e) => write!(f, "{e}"),
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
    /// The method in use; none where nothing is free to move.
    method: Option<MethodName>,
    /// Whether `auto` cannot become implicit, for the matrix would be too large.
    stays_explicit: bool,
    /// Switch functions, where there are any.
    watch: Watch,
    /// How many events there were at the present time.
    repeated: usize,
    before: Statistics,
    choices: Vec<String>,
    /// The joints that are not in the tree of relative coordinates.
    cut: Vec<String>,
    assembly: Assembly,
    observer: Observer,
    budget: Budget,
    drift: (f64, f64),
    /// Steps since drift and energy were looked at.
    unseen: usize,
    started: Instant,
    history: History,
    proof: Option<Box<Proof>>,
    seconds: Seconds,
}

/// Where the time of a run goes, beside the parts of a step that its engine knows.
#[derive(Default)]
struct Seconds {
    start: f64,
    steps: f64,
    checks: f64,
    samples: f64,
    recording: f64,
    /// The parts of steps of engines that were left.
    engines: Vec<(&'static str, f64)>,
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
        if options.formulation == Some(FormulationKind::Additive) {
            let sticks = dynamics.may_stick();
            if sticks.is_some() || dynamics.layout().m() != dynamics.layout().m_rates() {
                let by = sticks.map_or(String::new(), |force| format!(", and {force} is one while it sticks"));
                let reason = format!("the additive formulation has no place for nonholonomic constraints{by}");
                let error = ChoiceError::new("formulation", reason).try_with("method", "hht-si2");
                return Err(StartError::Option(error));
            }
        }
        let (start, assembly) = initial::assemble(&dynamics, state).map_err(StartError::Assembly)?;
        let mut choices = Vec::new();
        let mut observer = Observer::new(dynamics.clone(), &start, assembly.redundant);
        if options.solver == Solver::Dense {
            let layout = dynamics.layout();
            let unknowns = layout.n() + layout.m();
            if unknowns > DENSE {
                let reason = format!("the dense matrix of {unknowns} unknowns would be large, and slow to factor");
                let blocks = Suggestion::without("solver").note(": elimination by blocks does it");
                return Err(StartError::Option(ChoiceError::new("solver", reason).instead(blocks)));
            }
            observer.kkt = SharedKkt::by(dynamics.clone(), By::Dense);
        }
        if options.solver == Solver::Direct {
            observer.kkt = SharedKkt::by(dynamics.clone(), By::Elimination);
        }
        let method = choose_method(&options, &assembly, &mut choices);
        // what is moved by drives alone goes by the present values
        let switches = if method.is_some() { dynamics.switches() } else { 0 };
        let start = if switches > 0 { observer.lock(&start).map_err(StartError::Step)? } else { start };
        let dynamics = observer.dynamics.clone();
        let engine = build_engine(&dynamics, &options, method, &start, &observer.kkt).map_err(StartError::Step)?;
        if options.solver == Solver::Auto && engine.loop_report().is_some() {
            choices.push("many loops: loop-cg".into());
        }
        let energy = observer.energy(&start);
        let budget = Budget::new(&*dynamics, energy);
        Ok(Simulation {
            name: name.to_string(),
            dynamics,
            options,
            engine,
            method,
            stays_explicit: false,
            watch: Watch::new(switches),
            repeated: 0,
            before: Statistics::default(),
            choices,
            cut: Vec::new(),
            assembly,
            observer,
            budget,
            drift: (0.0, 0.0),
            unseen: 0,
            history: History::default(),
            proof: None,
            seconds: Seconds { start: started.elapsed().as_secs_f64(), ..Seconds::default() },
            started,
        })
    }

    /// Gathers evidence on the way: momentum, reactions, accelerations, seconds of every phase.
    pub fn prove(&mut self) {
        self.proof = Some(Box::default());
        self.engine.measure();
    }

    /// The time, where phases are measured.
    fn clock(&self) -> Option<Instant> {
        self.proof.is_some().then(Instant::now)
    }

    /// A model in the coordinates that the options ask for: assembled in Cartesian ones in any case, so that both start
    /// alike.
    pub fn of(system: Arc<System>, options: Options) -> Result<Simulation, StartError> {
        let (name, state) = (system.model.name.clone(), system.initial_state());
        let recursion = options.solver == Solver::Recursion;
        if options.coordinates == Coordinates::Cartesian && !recursion {
            return Simulation::new(&name, system, &state, options);
        }
        options.check().map_err(StartError::Option)?;
        if let Some(body) = system.model.bodies.iter().find(|b| matches!(b.body, Body::Flexible(_))) {
            let reason = format!("relative coordinates are for rigid bodies, and `{}` bends", body.name);
            let (key, reason) = match options.coordinates {
                Coordinates::Relative => ("coordinates", reason),
                Coordinates::Cartesian => ("solver", format!("recursion runs in relative coordinates; {reason}")),
            };
            return Err(StartError::Option(ChoiceError::new(key, reason).try_without(key)));
        }
        let whole: Arc<dyn Dynamics> = system.clone();
        let (start, assembly) = initial::assemble(&whole, &state).map_err(StartError::Assembly)?;
        let relative = Arc::new(system.relative(&start));
        if recursion && !relative.recursive() {
            let reason = "recursion alone is for open trees, and there are loops, or joints that a tree cannot have";
            let error = ChoiceError::new("solver", reason).try_without("solver").try_with("solver", "loop-cg");
            return Err(StartError::Option(error));
        }
        let blocks = relative.matrix_blocks();
        let vast = blocks > MOST_BLOCKS;
        let method = choose_method(&options, &assembly, &mut Vec::new());
        let asked = matches!(options.solver, Solver::Direct | Solver::Dense);
        let recurs = relative.recursive() && !asked && method.is_none_or(MethodName::explicit);
        if vast && !recurs {
            let explicit = || Suggestion::to("method", "dopri5").note(", which is explicit");
            let (why, else_try) = match relative.recursive() {
                true if asked => (options.solver.name(), Some(Suggestion::without("solver"))),
                true => (method.unwrap_or(options.method).name(), Some(explicit())),
                false => ("loops or impacts", None),
            };
            let reason = format!(
                "in relative coordinates {why} would need a matrix that is full along every branch of the tree: {blocks} \
                 blocks, of {MOST_BLOCKS} at most"
            );
            let error = ChoiceError::new("coordinates", reason).try_with("coordinates", "cartesian");
            return Err(StartError::Option(else_try.into_iter().fold(error, ChoiceError::instead)));
        }
        let (n, m) = relative.size();
        let stays_explicit = vast && options.method == MethodName::Auto;
        let mut simulation = Simulation::new(&name, relative.clone(), &relative.initial_state(), options)?;
        if stays_explicit {
            simulation.stays_explicit = true;
            simulation.choices.push(format!("explicit to the end: the matrix of bdf would have {blocks} blocks"));
        }
        let joints = relative.cartesian().model.joints.iter().zip(&relative.tree.has_joint);
        simulation.cut = joints.filter(|(_, inside)| !**inside).map(|(joint, _)| joint.name.clone()).collect();
        let equations = if m == 1 { "equation of loops" } else { "equations of loops" };
        let cut = cut_told(&simulation.cut);
        simulation.choices.insert(0, format!("relative coordinates: {n} of joints, {m} {equations}{cut}"));
        let Assembly { iterations, residual, velocity_residual, moved, gaps, .. } = assembly;
        simulation.assembly =
            Assembly { iterations, residual, velocity_residual, moved, gaps, ..simulation.assembly.clone() };
        Ok(simulation)
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
        // names of a million channels are not made for nobody
        let begun = if out.is_silent() { Ok(()) } else { out.begin(&self.header()).map_err(record) };
        let team = Team::of(self.options.threads_for(self.dynamics.layout().bodies.len()));
        let ended = team.lead(|| begun.and_then(|()| self.advance(out, watch)));
        let mut summary = self.summary(ended);
        if let Err(e) = out.end(&summary).map_err(record)
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
        self.sample(t0, &mut sampler, wanted, out)?;
        self.look();
        self.prove_step(t0, t0)?;
        while self.engine.state().t < until {
            if self.options.resources.interrupt.load(Ordering::Relaxed) {
                return Ok(Status::Interrupted);
            }
            let from = self.engine.state().t;
            let iterations = self.step(until)?;
            let clock = self.clock();
            let found = self.find(from)?;
            let to = found.map_or(self.engine.state().t, |f| f.t);
            self.tell(from, to, iterations, out);
            if self.budget.powered {
                self.budget.add_work(from, to, &mut *self.engine, &mut self.observer)?;
            }
            self.prove_step(from, to)?;
            self.observer.search(from, to, &mut *self.engine)?;
            self.seconds.checks += clock.map_or(0.0, |from| from.elapsed().as_secs_f64());
            self.sample(to, &mut sampler, wanted, out)?;
            if let Some(found) = found {
                self.pass(found, from, out)?;
                self.prove_jump()?;
            }
            self.look_in_turn(until);
            self.engine.settle();
            watch(self.engine.state().t, self.engine.step_size());
            if self.engine.stiff() && self.options.method == MethodName::Auto && !self.stays_explicit {
                self.become_implicit()?;
            }
        }
        Ok(Status::Finished)
    }

    /// One step of the method; gives the order it had and the iterations it took.
    fn step(&mut self, until: f64) -> Result<(usize, usize), StepError> {
        let (from, clock) = (self.engine.state().t, self.clock());
        let (order, iterations) = (self.engine.order(), self.engine.statistics().iterations);
        let stepped = self.engine.step(until);
        self.seconds.steps += clock.map_or(0.0, |from| from.elapsed().as_secs_f64());
        if let Err(e) = stepped {
            self.history.blame(from, self.engine.refusals());
            return Err(e);
        }
        Ok((order, self.engine.statistics().iterations - iterations))
    }

    /// Tells of a step, as far as it is kept.
    fn tell(&mut self, from: f64, to: f64, (order, iterations): (usize, usize), out: &mut dyn Recorder) {
        let (refusals, events) = (self.engine.refusals(), &self.observer.events);
        if to > from {
            let taken = Taken { t: to, h: to - from, order, iterations, refusals, events };
            self.history.add(&taken);
            out.step(&taken);
        } else {
            self.history.blame(from, refusals);
        }
    }

    /// Adds what the last step did to the evidence, where it is gathered.
    fn prove_step(&mut self, from: f64, to: f64) -> Result<(), StepError> {
        let Some(proof) = &mut self.proof else { return Ok(()) };
        let observer = &mut self.observer;
        let h = to - from;
        for (place, weight) in GAUSS.into_iter().filter(|_| h > 0.0) {
            observer.go_to(from + place * h, &mut *self.engine)?;
            observer.accelerate()?;
            proof.push(h * weight, &*observer.dynamics, &observer.point, &mut observer.w);
        }
        observer.go_to(to, &mut *self.engine)?;
        observer.accelerate()?;
        proof.look(&*observer.dynamics, &observer.point, &mut observer.w);
        Ok(())
    }

    /// After an event momentum may have jumped: its balance goes on from where it is.
    fn prove_jump(&mut self) -> Result<(), StepError> {
        let Some(proof) = &mut self.proof else { return Ok(()) };
        let observer = &mut self.observer;
        observer.state.clone_from(self.engine.state());
        observer.accelerate()?;
        proof.jump(&*observer.dynamics, &observer.point, &mut observer.w);
        Ok(())
    }

    /// Goes on with another engine.
    fn change_engine(&mut self, engine: Box<dyn Engine>) {
        self.before += self.engine.statistics();
        for (name, seconds) in self.engine.seconds() {
            match self.seconds.engines.iter_mut().find(|(n, _)| *n == name) {
                Some((_, sum)) => *sum += seconds,
                None => self.seconds.engines.push((name, seconds)),
            }
        }
        self.engine = engine;
        if self.proof.is_some() {
            self.engine.measure();
        }
    }

    /// The first event in the last step.
    fn find(&mut self, from: f64) -> Result<Option<Found>, StepError> {
        let (engine, observer) = (&mut *self.engine, &mut self.observer);
        let to = engine.state().t;
        self.watch.find(from, to, &mut |t, values| {
            observer.go_to(t, engine)?;
            if observer.dynamics.reactive() {
                observer.accelerate()?
            } else {
                observer.place()
            }
            observer.dynamics.switch_values(&observer.point, &mut observer.w, values);
            Ok(())
        })
    }

    /// Goes to an event and starts anew from there: with another mode, with velocities that jumped where
    /// there was an impact, on other equations where the modes hold other motions, and on the constraints.
    fn pass(&mut self, found: Found, from: f64, out: &mut dyn Recorder) -> Result<(), StepError> {
        self.observer.go_to(found.t, &mut *self.engine)?;
        self.observer.accelerate()?;
        let Observer { point, w, .. } = &mut self.observer;
        let Some(crossing) = self.dynamics.cross(found.switch, point, w) else { return Ok(()) };
        let event = Event { t: found.t, name: crossing.name, what: crossing.what.to_string() };
        out.event(&event).map_err(|e| StepError::Record(e.to_string()))?;
        let passed = found.t - from > NO_TIME * self.options.until;
        self.repeated = if passed { 0 } else { self.repeated + 1 };
        if self.repeated > REPEATED + self.dynamics.switches() {
            return Err(StepError::Chatter { t: found.t, culprit: event.name });
        }
        self.observer.events.push(event);
        if let Some(mode) = self.observer.state.charts.modes.get_mut(crossing.slot) {
            *mode = crossing.mode;
        }
        if let Some(impact) = crossing.impact {
            self.budget.work += self.observer.strike(&impact)?;
        }
        let holds = self.observer.hold();
        let start = self.observer.consistent()?;
        if holds {
            self.dynamics = self.observer.dynamics.clone();
            self.change_engine(build_engine(&self.dynamics, &self.options, self.method, &start, &self.observer.kkt)?);
        } else {
            self.engine.restart(&start)?;
        }
        self.watch.restart();
        Ok(())
    }

    /// Takes notice of drift and energy: of large models in every [`TURN`]th step, and at the end.
    fn look_in_turn(&mut self, until: f64) {
        self.unseen += 1;
        let turn = if self.dynamics.layout().bodies.len() < LARGE { 1 } else { TURN };
        if self.unseen >= turn || self.engine.state().t >= until {
            self.unseen = 0;
            self.look();
        }
    }

    /// Takes notice of drift and energy at the accepted point.
    fn look(&mut self) {
        let (position, velocity) = self.observer.drift(self.engine.point());
        self.drift = (self.drift.0.max(position), self.drift.1.max(velocity));
        let Observer { dynamics, w, .. } = &mut self.observer;
        let energy = dynamics.energy(self.engine.point(), w);
        self.budget.balance(energy);
        match self.engine.rank() {
            Some((redundant, pivot)) => self.observer.notice(self.engine.state().t, redundant, pivot),
            None => self.observer.leave_found(self.engine.state().t),
        }
    }

    /// Records the samples that are due up to a time in the last step.
    fn sample(&mut self, now: f64, s: &mut Sampler, wanted: bool, out: &mut dyn Recorder) -> Result<(), StepError> {
        if !wanted {
            return Ok(());
        }
        while let Some(t) = s.due(now) {
            let clock = self.clock();
            self.observer.go_to(t, &mut *self.engine)?;
            self.observer.observe()?;
            if self.engine.rank().is_none() && self.engine.pivots().is_empty() {
                let kkt = self.observer.kkt.lock();
                let (redundant, pivot) = (kkt.dropped(), kkt.smallest_pivot());
                drop(kkt);
                self.observer.notice(t, redundant, pivot);
            }
            let observed = clock.map(|from| from.elapsed().as_secs_f64());
            out.frame(t, &self.observer.values).map_err(|e| StepError::Record(e.to_string()))?;
            if let (Some(clock), Some(observed)) = (clock, observed) {
                self.seconds.samples += observed;
                self.seconds.recording += clock.elapsed().as_secs_f64() - observed;
            }
        }
        Ok(())
    }

    /// Hands the state over from the explicit method to BDF.
    fn become_implicit(&mut self) -> Result<(), StepError> {
        let state = self.engine.state().clone();
        let start = self.observer.complete(&state)?;
        self.choices.push(format!("stiff at t = {:.6} s: went on with bdf on ggl", state.t));
        if self.options.solver == Solver::LoopCg {
            self.choices.push("bdf has no use for loop-cg: its matrices are eliminated".into());
            self.options.solver = Solver::Direct;
        }
        self.method = Some(MethodName::Bdf);
        self.change_engine(build_engine(&self.dynamics, &self.options, self.method, &start, &self.observer.kkt)?);
        Ok(())
    }

    /// The phases of the run with their seconds; the parts of steps first.
    fn phases(&mut self) -> Vec<(&'static str, f64)> {
        let s = &mut self.seconds;
        let mut all = vec![("assembly of the start", s.start)];
        all.append(&mut s.engines);
        for (name, seconds) in self.engine.seconds() {
            match all.iter_mut().find(|(n, _)| *n == name) {
                Some((_, sum)) => *sum += seconds,
                None => all.push((name, seconds)),
            }
        }
        let parts: f64 = all[1..].iter().map(|(_, seconds)| seconds).sum();
        all.push(("rest of the steps", (s.steps - parts).max(0.0)));
        all.extend([("drift, energy, momentum", s.checks), ("samples", s.samples), ("recording", s.recording)]);
        all
    }

    fn summary(&mut self, ended: Result<Status, StepError>) -> Summary {
        let status = ended.unwrap_or_else(Status::Failed);
        // a passage that was not over
        self.observer.notice(self.engine.state().t, self.observer.redundant, 1.0);
        self.observer.state.clone_from(self.engine.state());
        let solver = self.engine.explain_solver();
        self.engine.release();
        let observed = self.observer.observe();
        let last = match observed {
            Ok(()) => {
                let values = std::mem::take(&mut self.observer.values);
                Last { of: Some(self.dynamics.clone()), values, named: OnceLock::new() }
            }
            Err(_) => Last::default(),
        };
        let seconds = self.phases();
        let mut proof = self.proof.take();
        if let Some(proof) = &mut proof {
            proof.seconds = seconds;
        }
        Summary {
            refused: self.history.named(&*self.dynamics),
            history: std::mem::take(&mut self.history),
            proof,
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
            loops: self.engine.loop_report(),
            solver,
            bodies: self.dynamics.layout().bodies.len(),
            cut: self.cut.clone(),
            events: self.observer.events.clone(),
        }
    }
}

/// So many joints that are not in the tree are named.
const CUTS_TOLD: usize = 5;

/// The joints that are not in the tree of relative coordinates, for people: the first of them, and how many there are.
fn cut_told(cut: &[String]) -> String {
    let named: Vec<String> = cut.iter().take(CUTS_TOLD).map(|name| format!("`{name}`")).collect();
    match cut.len() {
        0 => String::new(),
        n if n > CUTS_TOLD => {
            format!("; {n} joints are not in the tree: {} and {} more", named.join(", "), n - CUTS_TOLD)
        }
        1 => format!("; not in the tree: joint {}", named[0]),
        _ => format!("; not in the tree: joints {}", named.join(", ")),
    }
}

/// So many events in a row, and one more for each switch function, may happen without time passing.
const REPEATED: usize = 100;

/// No more than this part of a run is no time.
const NO_TIME: f64 = 1e-13;

/// The engine that options choose, from a consistent point with its rates.
pub fn engine(dynamics: &Arc<dyn Dynamics>, options: &Options, start: &Point) -> Result<Box<dyn Engine>, StepError> {
    let free = Assembly { degrees_of_freedom: 1, ..Assembly::default() };
    let method = choose_method(options, &free, &mut Vec::new());
    build_engine(dynamics, options, method, start, &SharedKkt::new(dynamics.clone()))
}

/// The method that is meant; none where nothing is free to move.
fn choose_method(options: &Options, assembly: &Assembly, choices: &mut Vec<String>) -> Option<MethodName> {
    if assembly.degrees_of_freedom == 0 {
        choices.push("no degree of freedom: kinematics, with reactions from inverse dynamics".into());
        return None;
    }
    let mut method = options.method;
    if method == MethodName::Auto {
        (method, _) = match (options.step, options.formulation) {
            (Some(_), _) if options.solver.regularizes() => (MethodName::Rk2, choices.push("srm: rk2".into())),
            (Some(_), None | Some(FormulationKind::Index1))
                if matches!(options.solver, Solver::LoopCg | Solver::Recursion) =>
            {
                (MethodName::Rk4, choices.push(format!("{}: rk4", options.solver.name())))
            }
            (Some(_), Some(FormulationKind::Index1)) => {
                (MethodName::Rk4, choices.push("fixed step on index1: rk4".into()))
            }
            (Some(_), _) => (MethodName::GeneralizedAlpha, choices.push("fixed step: gen-alpha on si2".into())),
            (None, Some(FormulationKind::Ggl | FormulationKind::Si2)) => {
                (MethodName::Bdf, choices.push("an implicit formulation: bdf".into()))
            }
            (None, _) if options.rtol < HIGH_ORDER => {
                (MethodName::Dop853, choices.push("started with dop853 (tight tolerance)".into()))
            }
            _ => (MethodName::Dopri5, choices.push("started with dopri5".into())),
        };
    }
    Some(method)
}

/// A method at a consistent start.
fn build_engine(
    dynamics: &Arc<dyn Dynamics>,
    options: &Options,
    method: Option<MethodName>,
    start: &Point,
    kkt: &SharedKkt,
) -> Result<Box<dyn Engine>, StepError> {
    let Some(method) = method else {
        let h = options.step.unwrap_or(options.sample_distance());
        return Ok(Box::new(Kinematic::new(dynamics.clone(), start, h)));
    };
    let Some(tableau) = method.tableau() else {
        let engine = implicit_engine(dynamics, options, method, options.formulation_of(method), start);
        return match options.solver == Solver::LoopCg && engine.loop_report().is_none() {
            true => Err(StepError::Open {
                t: start.t,
                why: "loop-cg has no use for the matrices of these steps: it needs a tree of bodies with masses of their \
                      own, and no force between two bodies or variable of its own beside their motion\nhelp: leave \
                      --solver out"
                    .into(),
            }),
            false => Ok(engine),
        };
    };
    let no_tree = || StepError::Open {
        t: start.t,
        why: "these equations have no tree of bodies with masses of their own\nhelp: use --solver direct".into(),
    };
    if options.solver.regularizes() {
        let (all, p) = (options.solver == Solver::SrmAll, &options.parameters);
        let how = Regularization { iterates: p.iterates, epsilon: p.epsilon, all, stabilized: true };
        let h = options.step.unwrap_or(options.sample_distance());
        return Ok(Box::new(Srm::new(dynamics.clone(), tableau, h, how, start).ok_or_else(no_tree)??));
    }
    let loops = match options.solver {
        Solver::LoopCg => Some(LoopCg::new(dynamics.clone(), start).ok_or_else(no_tree)?),
        Solver::Auto => LoopCg::if_cheaper(dynamics.clone(), start),
        _ => None,
    };
    let tolerances = Tolerances::new(&**dynamics, options, options.testing.test.unwrap_or(Tested::QV));
    Ok(Box::new(Explicit::new(dynamics.clone(), tableau, options.step, tolerances, start, loops, kkt)?))
}

fn implicit_engine(
    dynamics: &Arc<dyn Dynamics>,
    options: &Options,
    method: MethodName,
    formulation: FormulationKind,
    start: &Point,
) -> Box<dyn Engine> {
    let alpha = options.alpha_parameters(method);
    let form = formulation.table(alpha, options.parameters.b);
    // velocities of index-3 steps oscillate with the step size: they cannot decide, but where the method is of
    // first order in them
    let first_order = alpha.is_some_and(|p| p.order() == 1);
    let tested = options.testing.test.unwrap_or(if form.index == 3 && !first_order { Tested::Q } else { Tested::QV });
    let mut tolerances = Tolerances::new(&**dynamics, options, tested);
    tolerances.velocities_converge = form.index != 3;
    let fixed = options.step.is_some();
    let economic = if form.additive.is_some() { Iteration::Simplified } else { Iteration::Auto };
    let control = Control {
        iteration: options.iteration.unwrap_or(if fixed { Iteration::Full } else { economic }),
        max_iterations: options.testing.max_iterations.unwrap_or(if fixed { 20 } else { 4 }),
        on: options.testing.scope,
        fixed,
        as_dassl: false,
        solving: match options.solver {
            Solver::LoopCg => Solving::Loops,
            Solver::Dense => Solving::Dense,
            Solver::Auto => Solving::Cheaper,
            _ => Solving::Elimination,
        },
    };
    let boxed: Box<dyn crate::methods::Method> = match alpha {
        Some(parameters) => {
            let method = match fixed {
                true => GeneralizedAlpha::new(parameters),
                false => GeneralizedAlpha::controlled(parameters, options.rtol),
            };
            Box::new(if form.additive.is_some() { method.additive() } else { method })
        }
        None => Box::new(Bdf::new(BdfOptions {
            max_order: options.parameters.max_order,
            fixed_step: options.step,
            averaged: tested == Tested::Q,
            horizon: (options.testing.budget == ErrorBudget::Run).then_some(options.until - start.t),
            ..BdfOptions::default()
        })),
    };
    let span = options.until - start.t;
    let first = |w: &crate::weights::Weights| match (options.step, alpha) {
        (Some(h), _) => h,
        (None, Some(parameters)) => GeneralizedAlpha::first_step(parameters, start, w, span),
        (None, None) => first_step(start, w, span),
    };
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
    /// Lent to explicit engines, which are done with it between steps.
    kkt: SharedKkt,
    point: Point,
    w: Workspace,
    state: State,
    values: Vec<f64>,
    rows: Vec<f64>,
    /// For reactions of least size, where equations are redundant; large models need no system for them.
    least: Option<(Option<Kkt>, RowScales)>,
    redundant: usize,
    /// Where a passage by a singular position came closest: time, pivot, and by how much the rank falls there.
    passage: Option<(f64, f64, usize)>,
    not_unique: Vec<String>,
    events: Vec<Event>,
    rank_changes: usize,
    /// Pivots of the evaluations of a step, and of the end of the one before.
    seen: Vec<(f64, f64)>,
    edge: (f64, f64),
    projection: Option<Projection>,
}

/// Constraints with a pivot below this part of what it was summed from are close to singular.
const CLOSE: f64 = 1e-4;

/// Below this an evaluation inside a step calls for a search, golden section takes so many points for it, and a pivot that is
/// left out counts as this.
const WATCH: f64 = 1e-2;
const SEARCHES: usize = 24;
const GOLDEN: f64 = 0.618_033_988_749_894_8;
const DROPPED: f64 = 1e-9;

/// What least reactions need.
fn least(dynamics: &Arc<dyn Dynamics>, kkt: &SharedKkt, at: &Point, w: &mut Workspace) -> (Option<Kkt>, RowScales) {
    let own = dynamics.layout().bodies.len() < LARGE || kkt.is_dense();
    (own.then(|| Kkt::proximal(dynamics.clone())), RowScales::new(&**dynamics, at, w))
}

/// So many changes of the rank are told.
const RANK_CHANGES: usize = 50;

impl Observer {
    fn new(dynamics: Arc<dyn Dynamics>, start: &Point, redundant: usize) -> Observer {
        let mut state = State::default();
        start.store(&mut state);
        let mut observer = Observer {
            kkt: SharedKkt::new(dynamics.clone()),
            point: start.clone(),
            w: dynamics.workspace(),
            state,
            values: Vec::new(),
            rows: vec![0.0; dynamics.layout().m()],
            least: None,
            redundant,
            passage: None,
            not_unique: Vec::new(),
            events: Vec::new(),
            rank_changes: 0,
            seen: Vec::with_capacity(32),
            edge: (f64::NAN, f64::NAN),
            projection: None,
            dynamics,
        };
        if redundant > 0 {
            observer.find_not_unique();
        }
        observer
    }

    /// The joints with multipliers that can be changed without any effect.
    fn find_not_unique(&mut self) {
        self.w.invalidate();
        self.dynamics.realize(&self.point, &mut self.w);
        let least = self.least.get_or_insert_with(|| least(&self.dynamics, &self.kkt, &self.point, &mut self.w));
        let blocks = match least {
            (Some(kkt), scales) => kkt.not_unique(scales, &self.point, &mut self.w),
            (None, scales) => {
                let mut kkt = self.kkt.lock();
                kkt.factor(&self.point, &mut self.w).and_then(|()| kkt.taking_part(scales))
            }
        };
        let blocks = blocks.unwrap_or_default();
        self.not_unique = blocks.iter().map(|k| self.dynamics.name(bellcrank_model::Unknown::Lambda, *k)).collect();
        self.not_unique.dedup();
    }

    /// Takes notice of the rank at an accepted step: of its changes, and of singular positions passed by.
    fn notice(&mut self, t: f64, redundant: usize, pivot: f64) {
        if redundant != self.redundant {
            let before = self.redundant;
            let what =
                format!("has {redundant} redundant equations instead of {before}: the position is singular, or was");
            self.tell(t, what);
            self.redundant = redundant;
        }
        match self.passage {
            // where rows are redundant, those that are kept need not be the best
            _ if pivot < CLOSE && redundant == 0 => {
                let closest = self.passage.filter(|(_, least, _)| *least <= pivot);
                self.passage = closest.or(Some((t, pivot, 0)));
            }
            // infinite: not known
            Some((t, least, fall)) if pivot.is_finite() => {
                self.passage = None;
                let rank = if fall > 0 { format!(": the rank falls by {fall} there") } else { String::new() };
                self.tell(t, format!("passed by a singular position (smallest pivot {least:.1e}){rank}"));
            }
            _ => {}
        }
    }

    /// Tells of a singular position that was found inside a step, where accepted steps know nothing of the rank.
    fn leave_found(&mut self, t: f64) {
        if self.passage.is_some_and(|(_, _, fall)| fall > 0) {
            self.notice(t, self.redundant, 1.0);
        }
    }

    /// Looks for singular positions inside the last step, where its evaluations came close to one: each least pivot by golden
    /// section, which finds the tip of a V.
    fn search(&mut self, from: f64, to: f64, engine: &mut dyn Engine) -> Result<(), StepError> {
        let mut seen = std::mem::take(&mut self.seen);
        seen.clear();
        seen.extend(engine.pivots().iter().filter(|(t, _)| (from..=to).contains(t)));
        seen.extend(Some(self.edge).filter(|e| e.0 == from));
        // a time that was evaluated twice counts once, with its smaller pivot
        seen.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        seen.dedup_by(|b, a| a.0 == b.0);
        let last = seen.last().copied();
        for i in 0..seen.len() {
            let (t, pivot) = seen[i];
            let before = if i > 0 { seen[i - 1] } else { (from, f64::INFINITY) };
            let after = seen.get(i + 1).copied().unwrap_or((to, f64::INFINITY));
            let inside = t > from && t < to;
            let least = pivot <= before.1 && pivot < after.1;
            if self.redundant == 0 && least && pivot < WATCH && (inside || pivot < CLOSE) {
                self.refine(before.0, after.0, engine)?;
            }
        }
        self.seen = seen;
        let found = self.passage.is_some_and(|(_, _, fall)| fall > 0);
        self.edge = last.filter(|_| !found).unwrap_or((f64::NAN, f64::NAN));
        if let Some(pivot) = engine.pivot_of_step().filter(|_| self.redundant == 0) {
            self.search_between(from, to, pivot, engine)?;
        }
        Ok(())
    }

    /// The same where a step knows one pivot alone: the root of a pivot is linear in time on both sides of a singular position, so
    /// three of them tell whether it is inside.
    fn search_between(&mut self, from: f64, to: f64, pivot: f64, engine: &mut dyn Engine) -> Result<(), StepError> {
        if pivot >= WATCH {
            return Ok(());
        }
        let [mut a, mut m, mut b] = [0.0; 3];
        for (s, t) in [(&mut a, from), (&mut m, 0.5 * (from + to)), (&mut b, to)] {
            let (dropped, pivot) = self.pivot(t, engine)?;
            *s = if dropped < 0 { 0.0 } else { pivot.sqrt() };
        }
        let (least, most) = (a.min(b), a.max(b));
        // halfway between what a tip inside makes of the middle and what one outside does; or it is next to an end
        if m < 0.5 * most || least < 0.02 * most {
            self.refine(from, to, engine)?;
        }
        Ok(())
    }

    /// Finds the smallest pivot between two times of the last step.
    fn refine(&mut self, mut a: f64, mut b: f64, engine: &mut dyn Engine) -> Result<(), StepError> {
        let (mut c, mut d) = (b - GOLDEN * (b - a), a + GOLDEN * (b - a));
        let (mut at_c, mut at_d) = (self.pivot(c, engine)?, self.pivot(d, engine)?);
        let mut best = if at_c < at_d { (c, at_c) } else { (d, at_d) };
        for _ in 0..SEARCHES {
            if at_c <= at_d {
                (b, d, at_d) = (d, c, at_c);
                c = b - GOLDEN * (b - a);
                at_c = self.pivot(c, engine)?;
            } else {
                (a, c, at_c) = (c, d, at_d);
                d = a + GOLDEN * (b - a);
                at_d = self.pivot(d, engine)?;
            }
            for found in [(c, at_c), (d, at_d)] {
                best = if found.1 < best.1 { found } else { best };
            }
        }
        let (t, (dropped, pivot)) = best;
        let (fall, pivot) = if dropped < 0 { (dropped.unsigned_abs(), DROPPED) } else { (0, pivot) };
        if pivot >= CLOSE {
            return Ok(());
        }
        match self.passage {
            // one that was found is over when the next one is
            Some((_, _, before)) if before > 0 && fall > 0 => {
                self.notice(t, 0, 1.0);
                self.passage = Some((t, pivot, fall));
            }
            Some((_, least, _)) if least <= pivot => {}
            _ => self.passage = Some((t, pivot, fall)),
        }
        Ok(())
    }

    /// How singular the position at a time of the last step is: less the number of redundant rows, and the smallest pivot of
    /// the others. The least of both is at the tip.
    fn pivot(&mut self, t: f64, engine: &mut dyn Engine) -> Result<(isize, f64), StepError> {
        self.go_to(t, engine)?;
        self.place();
        let mut kkt = self.kkt.lock();
        let factored = kkt.factor(&self.point, &mut self.w);
        factored.map_err(|_| StepError::Singular { t, culprit: "the model".into() })?;
        Ok((-(kkt.dropped() as isize), kkt.smallest_pivot()))
    }

    fn tell(&mut self, t: f64, what: String) {
        self.rank_changes += 1;
        if self.rank_changes <= RANK_CHANGES {
            self.events.push(Event { t, name: "the model".into(), what });
        }
    }

    /// Goes to a time in the last step of an engine.
    fn go_to(&mut self, t: f64, engine: &mut dyn Engine) -> Result<(), StepError> {
        if t == engine.state().t {
            self.state.clone_from(engine.state());
            return Ok(());
        }
        engine.interpolate(t, &mut self.state)
    }

    /// Gives a start its modes, unless it has them, and the equations that hold what they hold.
    fn lock(&mut self, start: &Point) -> Result<Point, StepError> {
        start.store(&mut self.state);
        self.place();
        let modes = self.dynamics.modes(&self.point, &mut self.w);
        let kept = &mut self.state.charts.modes;
        if kept.len() != modes.len() || kept.contains(&BY_VALUE) {
            *kept = modes;
        }
        self.hold();
        self.consistent()
    }

    /// Changes to the equations that hold what the modes of `self.state` hold; whether they are others.
    fn hold(&mut self) -> bool {
        let Some(dynamics) = self.dynamics.holding(&self.state.charts.modes) else { return false };
        self.kkt = self.kkt.of(dynamics.clone());
        self.point = Point::at(&self.state, dynamics.layout());
        self.w = dynamics.workspace();
        self.rows = vec![0.0; dynamics.layout().m()];
        (self.least, self.projection) = (None, None);
        self.dynamics = dynamics;
        true
    }

    /// `self.state`, put onto the constraints, with its rates, accelerations and reactions.
    fn consistent(&mut self) -> Result<Point, StepError> {
        self.place();
        let t = self.state.t;
        let projection = self.projection.get_or_insert_with(|| Projection::new(self.dynamics.clone()));
        projection
            .apply(&*self.dynamics, &mut self.point, &mut self.w)
            .map_err(|_| StepError::Singular { t, culprit: "the model".into() })?;
        self.point.store(&mut self.state);
        let state = self.state.clone();
        self.complete(&state)
    }

    /// Lets the velocities of `self.state` jump, with the factors of its accelerations at hand; the change
    /// of the energy, P (ġ⁺ + ġ⁻)/2 with the impulse P.
    fn strike(&mut self, impact: &Impact) -> Result<f64, StepError> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let t = self.state.t;
        let mut kkt = self.kkt.lock();
        let response = kkt.respond(&impact.row);
        let response = response.map_err(|_| StepError::Singular { t, culprit: "the model".into() })?;
        let before = dot(&impact.row, &self.state.v);
        let mobility = dot(&impact.row, response);
        if mobility <= 0.0 {
            return Ok(0.0); // joints or drives hold it
        }
        let impulse = (impact.after - before) / mobility;
        self.state.v.iter_mut().zip(response).for_each(|(v, r)| *v += impulse * r);
        Ok(0.5 * impulse * (impact.after + before))
    }

    /// λ of least size among those that pull alike.
    fn least(&mut self) -> Result<(), StepError> {
        let mut at_hand = self.kkt.lock();
        if at_hand.dropped() == 0 {
            return Ok(());
        }
        let least = self.least.get_or_insert_with(|| least(&self.dynamics, &self.kkt, &self.point, &mut self.w));
        let mut lambda = std::mem::take(&mut self.point.lambda);
        let found = match least {
            (Some(kkt), scales) => kkt.least_multipliers(scales, &self.point, &mut self.w, &mut lambda),
            (None, scales) => at_hand.least_at_hand(scales, &mut lambda),
        };
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
            .lock()
            .accelerate(&mut self.point, &mut self.w)
            .map_err(|_| StepError::Singular { t, culprit: "the model".into() })
    }

    /// Fills `values` with all channels at `self.state`.
    fn observe(&mut self) -> Result<(), StepError> {
        self.accelerate()?;
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

    /// Adds the work done in the last step up to a time: as the method has integrated it, or by Gauss's rule on the dense output.
    fn add_work(
        &mut self,
        from: f64,
        to: f64,
        engine: &mut dyn Engine,
        observer: &mut Observer,
    ) -> Result<(), StepError> {
        if let Some(work) = engine.work().filter(|_| to == engine.state().t) {
            self.work += work;
            return Ok(());
        }
        let h = to - from;
        for (place, weight) in GAUSS {
            engine.interpolate(from + place * h, &mut observer.state)?;
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
