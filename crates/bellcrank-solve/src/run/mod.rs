//! The loop a reader should meet first: step, look for events, record, look at drift and energy, repeat.
//!
//! [`Simulation::new`] assembles the start, decides on a [`Plan`] and builds its engine; [`Simulation::run`] goes to the
//! end. What watches a run stands in `monitors`, what happens at an event in `passing` and `impact`, and decisions that
//! fall on the way in `handover`.

mod breaks;
mod checkpoint;
mod companion;
mod complementarity;
pub mod doubts;
mod forecast;
mod foreign;
mod guests;
mod handover;
mod hidden;
mod impact;
mod inputs;
mod monitors;
mod observer;
mod passing;
mod patience;
mod queries;
mod recording;
mod redundant;
mod residents;
mod resting;
mod sampler;
mod stepping;
mod summary;

pub use crate::machine::{Machine, Start, StartError};
pub use crate::plan::engine;
pub use breaks::{Timetable, accelerations_differ};
pub use foreign::EquationSizes;
pub use inputs::InputId;
pub use queries::{DenseMatrix, SparseMatrix};
pub use stepping::{ChannelId, SavedState, StepTaken};
pub use summary::{Drift, Energy, Excess, FinalValues, Names, OutputSummary, Status, Summary};

use crate::choices::{ErrorBudget, Options, Solver};
use crate::engines::{Engine, Statistics, StepError};
use crate::events::EventRoot;
use crate::history::{AcceptedStep, History};
use crate::plan::{self, Decided, Plan, Posed, Revision};
use crate::record::{Header, Recorder};
use crate::start::Assembly;
use bellcrank_math::threads::team::Team;
use bellcrank_model::{Point, State};
use companion::Companion;
use forecast::Seen;
use guests::Guests;
use hidden::Hidden;
use monitors::{EnergyMonitor, MomentumMonitor, Monitors, OutputMonitor, Phase, RunClock, StepView};
use observer::Observer;
use passing::Passing;
use patience::Patience;
use recording::Recording;
use redundant::LeftOutWatch;
use residents::Tenant;
use sampler::Sampler;
use std::sync::atomic::Ordering;

/// A machine on its way through time. Its eighteen fields are the clauses of a run.
pub struct Simulation {
    about: MachineNames,
    options: Options,
    plan: Plan,
    engine: Box<dyn Engine>,
    observer: Observer,
    passing: Passing,
    timetable: Timetable,
    monitors: Monitors,
    left_out: LeftOutWatch,
    recording: Recording,
    /// FMUs that run beside it.
    guests: Guests,
    /// Counts of engines that were left.
    earlier: Statistics,
    assembly: Assembly,
    /// The threads that help, while somebody steps.
    team: Option<Team>,
    /// Whether the observer's values are those of the present state.
    observed: bool,
    /// Where the engine began, if that was on the way.
    born: Option<Box<Point>>,
    /// How long it may take.
    patience: Patience,
    /// When frames are due, in a run that goes on from a checkpoint.
    resumed: Option<Option<Sampler>>,
}

/// Names of a machine.
struct MachineNames {
    model: String,
    /// The inputs, in the order of their values.
    inputs: Vec<String>,
    /// The joints that are not in the tree of relative coordinates.
    cut: Vec<String>,
}

/// What a step took.
#[derive(Clone, Copy)]
struct Effort {
    order: usize,
    iterations: usize,
}

/// A step, and what it met first.
struct Stepped {
    effort: Effort,
    /// The time that it could not pass.
    stop: f64,
    root: Option<EventRoot>,
    hidden: Option<Hidden>,
    /// Where it ends.
    to: f64,
}

/// A step as monitors see it.
macro_rules! view {
    ($simulation:expr, $from:expr, $to:expr) => {
        StepView {
            from: $from,
            to: $to,
            engine: &mut *$simulation.engine,
            observer: &mut $simulation.observer,
            events: &mut $simulation.passing.events,
        }
    };
}

impl Simulation {
    /// Makes the start consistent, decides what to do and gets the method ready.
    pub fn new(machine: impl Into<Machine>, options: Options) -> Result<Simulation, StartError> {
        let machine = machine.into();
        options.check()?;
        plan::refuse_elsewhere(&options)?;
        plan::refuse_sliding(&*machine.dynamics(), &options)?;
        let start = machine.assemble()?;
        Simulation::begin(&machine, start, options)
    }

    /// The same from a start that is assembled already, as [`Machine::assemble`] gives it.
    pub fn assembled(machine: &Machine, start: Start, options: Options) -> Result<Simulation, StartError> {
        options.check()?;
        plan::refuse_sliding(&*machine.dynamics(), &options)?;
        Simulation::begin(machine, start, options)
    }

    fn begin(machine: &Machine, start: Start, options: Options) -> Result<Simulation, StartError> {
        let (machine, start, tenants) = residents::move_in(machine, start, &options)?;
        let (machine, t) = (&machine, start.point.t);
        let guests = Guests::of(tenants.clone());
        Simulation::begin_with(machine, start, options, tenants).map_err(|e| match e {
            StartError::Step(e) => guests.explain(t, e).into(),
            e => e,
        })
    }

    fn begin_with(
        machine: &Machine,
        start: Start,
        options: Options,
        tenants: Vec<Tenant>,
    ) -> Result<Simulation, StartError> {
        plan::refuse_additive(&*machine.dynamics(), &start.point, &options)?;
        plan::refuse_alternatives(&*machine.dynamics(), &start.point, &options)?;
        let clock = RunClock::new(start.seconds);
        let posed = Posed::new(machine, start, &options)?;
        let budget = plan::budget(&options, &*posed.dynamics);
        let options = options.with(|o| o.testing.budget = budget);
        let Start { point, assembly, .. } = &posed.start;
        let kkt = plan::accelerations(&posed.dynamics, &options)?;
        let sweeps = options.solver == Solver::LoopCg;
        let mut observer = Observer::new(posed.dynamics.clone(), kkt, point, assembly.redundant, sweeps);
        observer.refuse_ambiguous()?;
        // a machine that drives move alone goes by present values: it has no modes to keep
        let free = assembly.degrees_of_freedom > 0 || !tenants.is_empty();
        let switches = if free { posed.dynamics.switches() } else { 0 };
        let laws = if assembly.degrees_of_freedom > 0 { posed.dynamics.laws() } else { Vec::new() };
        let mut found = assembly.clone();
        let point = &if switches > 0 {
            observer.lock(point, &mut found)?
        } else {
            observer.without_redundant(point, assembly.redundant)?
        };
        point.store(&mut observer.state);
        observer.place();
        observer.refuse_wedged()?;
        let decided = Decided::new(&posed, &observer.dynamics, point, &options)?;
        let (mut plan, engine) = decided.build(&observer.dynamics, &options, point, &observer.kkt)?;
        plan.note_loops(&*engine);
        let timetable = Timetable::of(&*observer.dynamics, machine.outputs());
        let companion = Companion::new(&plan, &observer.dynamics, &options, point);
        let energy = EnergyMonitor::new(&mut observer, point);
        let mut monitors = Monitors::new(energy, companion, assembly.redundant, clock.started());
        monitors.outputs = OutputMonitor::new(machine.outputs(), &*posed.dynamics, options.rtol).map(Box::new);
        let names: Vec<String> = machine.outputs().iter().map(|output| output.name.clone()).collect();
        let recording = Recording::new(&options.record, &*posed.dynamics, &names)?;
        let mut simulation = Simulation {
            about: MachineNames { model: machine.name().to_string(), inputs: machine.inputs(), cut: posed.cut },
            options,
            plan,
            engine,
            observer,
            passing: Passing::new(switches, laws),
            timetable,
            monitors,
            left_out: LeftOutWatch::default(),
            recording,
            guests: Guests::of(tenants),
            earlier: Statistics::default(),
            assembly: found,
            team: None,
            observed: false,
            born: None,
            patience: Patience::default(),
            resumed: None,
        };
        simulation.invite(machine.fmus())?;
        Ok(simulation)
    }

    /// Gathers evidence on the way: momentum, reactions, accelerations, seconds of every phase.
    pub fn prove(&mut self) {
        self.monitors.momentum = Some(Box::<MomentumMonitor>::default());
        self.monitors.clock.measure();
        self.engine.measure();
    }

    /// Asks for an estimate of the error at the end, where steps follow their error and `errors` is `told`. It takes some 8 % more evaluations,
    /// which are counted apart ([`Summary::beside`]), and changes neither steps nor results. To be called before the first step.
    pub fn tell_error(&mut self) {
        let guests = !self.guests.is_empty();
        self.monitors.companion.ask(&self.plan, &self.options, self.engine.point(), guests);
    }

    /// What was decided, with reasons, and with the revisions so far.
    pub fn plan(&self) -> &Plan {
        &self.plan
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
        Header { model: self.about.model.clone(), channels: self.recorded_channels() }
    }

    /// Counts of work so far.
    pub fn statistics(&self) -> Statistics {
        let mut s = self.earlier;
        s += self.engine.statistics();
        if self.options.testing.budget == ErrorBudget::Run {
            // the work of both, the steps of the run
            s += Statistics {
                steps: 0,
                error_test_failures: 0,
                convergence_failures: 0,
                iterations: 0,
                ..self.monitors.companion.statistics()
            };
        }
        s
    }

    /// Runs to the end. What was computed is recorded and marked also after a failure.
    pub fn run(&mut self, out: &mut dyn Recorder) -> Summary {
        self.observed = false;
        let record = |e: std::io::Error| StepError::Record(e.to_string());
        // a million channels are not named for a recorder that wants no names
        let begun = if out.is_silent() { Ok(()) } else { out.begin(&self.header()).map_err(record) };
        let team = Team::of(self.plan.threads);
        let ended = team.lead(|| begun.and_then(|()| self.advance(out)));
        let mut summary = self.summary(ended);
        if let Err(e) = out.end(&summary).map_err(record)
            && summary.status == Status::Finished
        {
            summary.status = Status::Failed(e);
        }
        summary
    }

    /// Goes to the end. Rows that wait are recorded however it ends.
    fn advance(&mut self, out: &mut dyn Recorder) -> Result<Status, StepError> {
        let mut sampler = match self.resumed.take() {
            Some(sampler) => sampler,
            None => {
                let t0 = self.engine.state().t;
                let mut sampler = out.wants_frames().then(|| self.sampler(t0));
                if self.options.sample.is_none() && sampler.as_ref().is_some_and(|s| !s.follows()) {
                    let channels = self.recorded_channels().len();
                    self.plan.revisions.push(Revision::EvenRows { t: t0, channels });
                }
                self.cross_breaks(self.options.until, &mut None, out)?;
                self.begin_monitors()?;
                self.sample(t0, &mut sampler, out)?;
                sampler
            }
        };
        let ended = self.advance_sampled(&mut sampler, out);
        let finished = sampler.map_or(Ok(()), |mut sampler| sampler.finish(&mut |t, values| out.frame(t, values)));
        let status = ended?;
        finished.map_err(|e| StepError::Record(e.to_string()))?;
        Ok(status)
    }

    fn sampler(&self, t0: f64) -> Sampler {
        // a million channels are not named only to count them
        let channels = if self.options.sample.is_some() { 0 } else { self.recorded_channels().len() };
        Sampler::new(t0, &self.options, channels)
    }

    fn advance_sampled(&mut self, sampler: &mut Option<Sampler>, out: &mut dyn Recorder) -> Result<Status, StepError> {
        let until = self.options.until;
        while self.engine.state().t < until {
            if self.options.resources.interrupt.load(Ordering::Relaxed) {
                self.checkpoint(true, sampler, out)?;
                return Ok(Status::Interrupted);
            }
            self.advance_once(until, sampler, out)?;
            self.lose_patience(until)?;
            self.checkpoint(false, sampler, out)?;
        }
        Ok(Status::Finished)
    }

    /// Shows the start to the monitors, once.
    fn begin_monitors(&mut self) -> Result<(), StepError> {
        let t = self.engine.state().t;
        self.monitors.begin(&mut view!(self, t, t))
    }

    /// One step, or the part of it up to the first event.
    fn advance_once(
        &mut self,
        until: f64,
        sampler: &mut Option<Sampler>,
        out: &mut dyn Recorder,
    ) -> Result<(), StepError> {
        self.advance_by_a_step(until, sampler, out).map_err(|e| self.guests.explain(self.engine.state().t, e))
    }

    fn advance_by_a_step(
        &mut self,
        until: f64,
        sampler: &mut Option<Sampler>,
        out: &mut dyn Recorder,
    ) -> Result<(), StepError> {
        self.cross_breaks(until, sampler, out)?;
        let from = self.engine.state().t;
        if from >= until {
            return Ok(());
        }
        if self.arrives(until.min(self.guests.next()))? {
            self.sample(self.guests.before(self.engine.state().t), sampler, out)?;
            self.cross_breaks(until, sampler, out)?;
            return self.exchange_due(true, sampler, out);
        }
        let Stepped { effort, stop, root, hidden, to } = self.step_and_find(from, until)?;
        let accepted = root.is_none() && hidden.is_none();
        if accepted {
            self.passing.longest = f64::INFINITY;
            self.follow(stop);
        }
        if root.is_some() {
            self.monitors.energy.forget_power();
        }
        self.report_step(from, to, effort, out);
        let since = self.monitors.clock.now();
        self.monitors.step(&mut view!(self, from, to))?;
        self.monitors.clock.add(Phase::Checks, since);
        self.sample(self.guests.before(to), sampler, out)?;
        if root.is_some() || hidden.is_some() || self.options.step.is_some() {
            self.monitors.limits.between(&mut view!(self, from, to))?;
        }
        if let Some(hidden) = hidden {
            self.turn_back(hidden)?;
        }
        if let Some(root) = root {
            self.pass(root, from, out)?;
            self.monitors.jump(&mut view!(self, from, to))?;
            self.sample_behind(to, sampler, out)?;
        }
        self.watch_left_out()?;
        self.monitors.measure_in_turn(self.plan.check_every, until, &mut view!(self, from, to));
        self.engine.settle();
        self.begin_pilot();
        if let Some(how) = self.engine.stiff()
            && self.plan.watches_stiffness(&self.options)
        {
            self.meet_stiffness(how)?;
        }
        self.cross_breaks(until, sampler, out)?;
        self.exchange_due(accepted, sampler, out)
    }

    /// Shows a step that was accepted to the companion.
    fn follow(&mut self, stop: f64) {
        let (wrong, moves) = self.monitors.energy.in_motion();
        let evaluations = self.earlier.residual_evaluations + self.engine.statistics().residual_evaluations;
        self.monitors.companion.follow(&mut *self.engine, stop, Seen { evaluations, wrong, moves });
    }

    /// Begins a pilot of the companion where the motion has become another one.
    fn begin_pilot(&mut self) {
        if self.monitors.companion.wants_pilot() {
            let state = self.engine.state().clone();
            if let Ok(start) = self.observer.complete(&state) {
                self.monitors.companion.restart(&start);
            }
        }
    }

    /// A step, and where it has to end: at the first event, or before a feature that it passed over. One that passed over
    /// something at once is taken anew.
    fn step_and_find(&mut self, from: f64, until: f64) -> Result<Stepped, StepError> {
        loop {
            let stop = self.stop(until).min(from + self.passing.longest);
            let effort = self.take_step(stop)?;
            self.refuse_poles(from)?;
            let since = self.monitors.clock.now();
            let root = self.find(from)?;
            let to = root.map_or(self.engine.state().t, |root| root.t);
            let hidden = self.passed_over(from, to)?;
            self.monitors.clock.add(Phase::Checks, since);
            match hidden {
                None => return Ok(Stepped { effort, stop, root, hidden: None, to }),
                Some(hidden) if hidden.seen > from => {
                    return Ok(Stepped { effort, stop, root: None, hidden: Some(hidden), to: hidden.seen });
                }
                Some(hidden) => self.turn_back(hidden)?,
            }
        }
    }

    /// Shows the monitors that velocities jumped.
    fn jumped(&mut self, t: f64) -> Result<(), StepError> {
        self.monitors.jump(&mut view!(self, t, t))
    }

    /// One step of the method.
    fn take_step(&mut self, until: f64) -> Result<Effort, StepError> {
        let (from, since) = (self.engine.state().t, self.monitors.clock.now());
        let (order, iterations) = (self.engine.order(), self.engine.statistics().iterations);
        let stepped = self.engine.step(until);
        self.monitors.clock.add(Phase::Steps, since);
        if let Err(e) = stepped {
            self.monitors.history.blame(from, self.engine.refusals());
            let e = self.explain_open(e);
            return Err(self.explain_failure(from, e));
        }
        if self.engine.state().t <= from {
            // accepted, but below the resolution of time: the run would never end
            let (h, fixed) = (self.engine.step_size(), self.options.step.is_some());
            let culprit = "the model".into();
            return Err(StepError::Collapse { t: from, h, culprit, convergence: false, fixed });
        }
        Ok(Effort { order, iterations: self.engine.statistics().iterations - iterations })
    }

    /// Reports a step to the history and the recorder, as far as it is kept.
    fn report_step(&mut self, from: f64, to: f64, Effort { order, iterations }: Effort, out: &mut dyn Recorder) {
        let (refusals, events) = (self.engine.refusals(), &self.passing.events);
        if to > from {
            let taken = AcceptedStep { t: to, h: to - from, order, iterations, refusals, events };
            self.monitors.history.add(&taken);
            out.step(&taken);
        } else {
            self.monitors.history.blame(from, refusals);
        }
    }

    /// Looks at the times that are due up to one in the last step.
    fn sample(&mut self, now: f64, sampler: &mut Option<Sampler>, out: &mut dyn Recorder) -> Result<(), StepError> {
        let Some(sampler) = sampler else { return Ok(()) };
        let mut left = self.monitors.outputs.as_mut().is_some_and(|outputs| outputs.leaves_at_end());
        while let Some(t) = sampler.due(now) {
            let since = self.monitors.clock.now();
            if std::mem::take(&mut left) && t == now {
                self.observe_left();
            } else {
                self.look_at(t)?;
                match self.observe_recorded() {
                    // reactions are not known here, but they are at the next look
                    Err(StepError::Singular { .. } | StepError::Wedged { .. }) if sampler.follows() => continue,
                    observed => observed?,
                }
            }
            self.monitors.rank.sample(t, &mut view!(self, now, now));
            self.monitors.clock.add(Phase::Samples, since);
            self.record(t, false, sampler, out)?;
        }
        Ok(())
    }

    /// Looks at what is behind the event at a time.
    fn sample_behind(
        &mut self,
        t: f64,
        sampler: &mut Option<Sampler>,
        out: &mut dyn Recorder,
    ) -> Result<(), StepError> {
        let Some(sampler) = sampler.as_mut().filter(|sampler| sampler.follows()) else { return Ok(()) };
        let since = self.monitors.clock.now();
        self.observer.state.clone_from(self.engine.state());
        self.observe_recorded()?;
        self.monitors.clock.add(Phase::Samples, since);
        self.record(t, true, sampler, out)
    }

    /// Records what was looked at.
    fn record(
        &mut self,
        t: f64,
        behind_event: bool,
        sampler: &mut Sampler,
        out: &mut dyn Recorder,
    ) -> Result<(), StepError> {
        let since = self.monitors.clock.now();
        let taken = sampler.take(t, &self.observer.values, behind_event, &mut |t, values| out.frame(t, values));
        self.monitors.clock.add(Phase::Recording, since);
        taken.map_err(|e| StepError::Record(e.to_string()))
    }

    fn summary(&mut self, ended: Result<Status, StepError>) -> Summary {
        self.plan.note_revisions(self.engine.revisions());
        let solver = self.engine.explain_solver();
        self.engine.release();
        self.observer.state.clone_from(self.engine.state());
        let last = match self.observe_all() {
            Ok(()) => {
                let values = std::mem::take(&mut self.observer.values);
                let outputs = self.monitors.outputs.iter().flat_map(|outputs| outputs.channels());
                FinalValues::new(self.observer.dynamics.clone(), outputs.map(|c| c.name).collect(), values)
            }
            Err(_) => FinalValues::default(),
        };
        let (method, formulation, iteration) = self.engine.names();
        let t = self.engine.state().t;
        let error = self.monitors.companion.error(t);
        let mut summary = Summary {
            model: self.about.model.clone(),
            names: Names { method, formulation, iteration },
            choices: self.plan.notes().map(|note| note.line).collect(),
            plan: self.plan.clone(),
            solver,
            bodies: self.observer.dynamics.layout().bodies.len(),
            cut: self.about.cut.clone(),
            status: ended.unwrap_or_else(Status::Failed),
            statistics: self.statistics(),
            wall_seconds: 0.0,
            drift: Drift::default(),
            energy: Energy::default(),
            error: error.as_ref().ok().copied(),
            no_estimate: error.err().flatten(),
            beside: self.monitors.companion.statistics(),
            t,
            state: self.engine.state().clone(),
            last,
            outputs: Vec::new(),
            assembly: self.assembly.clone(),
            not_unique: self.observer.not_unique.clone(),
            beyond: Vec::new(),
            split: self.engine.split_report(),
            loops: self.engine.loop_report(),
            events: Vec::new(),
            history: History::default(),
            refused: Vec::new(),
            proof: None,
            doubts: Vec::new(),
        };
        self.monitors.end(&mut view!(self, t, t), &mut summary);
        summary.doubts = doubts::of(&summary, &self.options);
        summary
    }
}
