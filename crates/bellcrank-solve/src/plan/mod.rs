//! What a run decides, once and before it begins: coordinates, method, formulation, iteration, linear solver, threads.
//!
//! Options say what the user wants; the plan says what will be done, with the reason for each decision and whether it was
//! asked for or chosen. Engines are built from it and decide nothing about themselves. What is decided while a run goes on
//! is a [`Revision`] of its plan.

mod coordinates;
mod engine;
mod forms;
mod linear;
mod matrix;
mod method;
mod revisions;
pub mod scale;

pub use crate::linear::plan::{LinearPlan, MatrixPlan};
pub use coordinates::Posed;
pub use linear::{accelerations, refuse_additive, refuse_alternatives, refuse_elsewhere, refuse_sliding};
pub use method::{budget, formulation};
pub use revisions::Revision;

use crate::choices::{Coordinates, ErrorScope, FormulationKind, MethodName, Options, Solver, Tested};
use crate::engines::{self, Engine, StepError};
use crate::linear::loop_cg::LoopCg;
use crate::linear::shared::SharedKkt;
use crate::methods::bdf::HIGHEST_ORDER;
use crate::newton::Iteration;
use bellcrank_math::tape::Tape;
use bellcrank_model::fmu::Resident;
use bellcrank_model::model::FmuEntry;
use bellcrank_model::{Dynamics, Point};
use std::fmt;
use std::sync::Arc;

/// Where a decision comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// The user asked for it.
    Asked,
    /// It was chosen for this model, for the reason given.
    Chosen,
    /// It follows from the other decisions, or nothing was said.
    Default,
}

impl DecidedBy {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            DecidedBy::Asked => "asked",
            DecidedBy::Chosen => "auto",
            DecidedBy::Default => "default",
        }
    }
}

/// One decision of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// What was decided: the key of the option, such as `method`.
    pub what: &'static str,
    /// What it is.
    pub value: String,
    /// Where it comes from.
    pub origin: DecidedBy,
    /// Why, in one line; empty where there is nothing to say.
    pub why: String,
}

impl Reason {
    fn new(what: &'static str, value: impl Into<String>, origin: DecidedBy) -> Reason {
        Reason { what, value: value.into(), origin, why: String::new() }
    }

    fn because(self, why: impl Into<String>) -> Reason {
        Reason { why: why.into(), ..self }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<13} {} ({})", self.what, self.value, self.origin.name())?;
        if self.why.is_empty() { Ok(()) } else { write!(f, ": {}", self.why) }
    }
}

/// A line about a decision that a user should see.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Whether the user asked for it.
    pub origin: DecidedBy,
    /// The line.
    pub line: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin.name(), self.line)
    }
}

/// What takes the steps, with all that it is built from.
#[derive(Clone, Debug, PartialEq)]
pub enum EnginePlan {
    /// Nothing is free to move: positions follow from the drives.
    Kinematic {
        /// The distance of the positions.
        step: f64,
    },
    /// A Runge–Kutta method on index 1, or on another form of the accelerations.
    Explicit {
        /// The method.
        method: MethodName,
        /// The formulation.
        formulation: FormulationKind,
        /// The fixed step; none with error control.
        step: Option<f64>,
        /// Whether accelerations come from loop-CG.
        loop_cg: bool,
        /// Which unknowns decide in the error test.
        tested: Tested,
    },
    /// Sequential regularization of constraints.
    Regularized {
        /// The method.
        method: MethodName,
        /// The fixed step.
        step: f64,
        /// Whether all constraints are regularized, not only those that close loops.
        all: bool,
    },
    /// An implicit method on a formulation.
    Implicit(ImplicitPlan),
}

/// How an implicit method takes its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct ImplicitPlan {
    /// The method.
    pub method: MethodName,
    /// The formulation.
    pub formulation: FormulationKind,
    /// Newton's iteration.
    pub iteration: Iteration,
    /// Most iterations per attempt.
    pub max_iterations: usize,
    /// The fixed step; none with error control.
    pub step: Option<f64>,
    /// Which unknowns decide.
    pub tested: Tested,
    /// Which coordinates the error test looks at.
    pub scope: ErrorScope,
    /// What solves the matrices of the steps.
    pub linear: LinearPlan,
    /// What these matrices are.
    pub matrix: MatrixPlan,
}

/// What a run will do.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// In which coordinates the model moves.
    pub coordinates: Coordinates,
    /// What takes the steps.
    pub engine: EnginePlan,
    /// Threads that work together.
    pub threads: usize,
    /// Steps between two looks at drift and energy.
    pub check_every: usize,
    /// Every decision, with its reason.
    pub reasons: Vec<Reason>,
    /// What was decided anew on the way.
    pub revisions: Vec<Revision>,
    /// The method in force; none where nothing is free to move.
    method: Option<MethodName>,
    /// The solver in force: as asked, or as revised.
    solver: Solver,
    stays_explicit: bool,
}

/// A plan with what was made while it was decided, so that it need not be made twice.
pub(crate) struct Decided {
    pub plan: Plan,
    loops: Option<LoopCg>,
}

impl Plan {
    /// The plan for a machine at its start. Modes of forces must be those of the start.
    pub fn of(posed: &Posed, options: &Options) -> Result<Plan, StepError> {
        Decided::new(posed, &posed.dynamics, &posed.start.point, options).map(|decided| decided.plan)
    }

    /// The method in use; none where nothing is free to move.
    pub fn method(&self) -> Option<MethodName> {
        self.method
    }

    /// The order of its method; that of most of its steps where it varies.
    pub(crate) fn order(&self) -> usize {
        self.method.and_then(MethodName::order).unwrap_or(HIGHEST_ORDER)
    }

    /// An engine as the plan has it, with options of its own; none where it cannot be made.
    pub(crate) fn beside(
        &self,
        dynamics: &Arc<dyn Dynamics>,
        options: &Options,
        start: &Point,
    ) -> Option<Box<dyn Engine>> {
        let loops = match self.engine {
            EnginePlan::Explicit { loop_cg: true, .. } => LoopCg::new(dynamics.clone(), start),
            _ => None,
        };
        self.engine.build(dynamics, options, start, &SharedKkt::new(dynamics.clone()), loops).ok()
    }

    /// Whether a run goes on with BDF where its explicit method finds the problem stiff.
    pub fn watches_stiffness(&self, options: &Options) -> bool {
        options.method == MethodName::Auto && !self.stays_explicit
    }

    /// The lines that a user should see: what was chosen for a reason, what was asked for and has something to tell, and
    /// what was decided on the way.
    pub fn notes(&self) -> impl Iterator<Item = Note> + '_ {
        let reasons = self.reasons.iter().filter(|r| !r.why.is_empty());
        let reasons = reasons.map(|r| Note { origin: r.origin, line: r.why.clone() });
        reasons.chain(self.revision_notes())
    }

    /// The lines of what was decided on the way.
    pub fn revision_notes(&self) -> impl Iterator<Item = Note> + '_ {
        let choices = self.revisions.iter().filter(|r| r.is_choice());
        choices.map(|r| Note { origin: DecidedBy::Chosen, line: r.to_string() })
    }

    /// Puts what an engine found out about itself when it was built into the plan.
    pub(crate) fn note_loops(&mut self, engine: &dyn Engine) {
        if self.solver == Solver::Auto && engine.loop_report().is_some() {
            self.reasons.retain(|r| r.what != "solver");
            let reason = Reason::new("solver", "loop-cg", DecidedBy::Chosen).because("many loops: loop-cg");
            let at = self.reasons.iter().position(|r| r.what == "stiffness").unwrap_or(self.reasons.len());
            self.reasons.insert(at, reason);
        }
    }

    /// Takes down how often values are exchanged with an FMU, which limits the accuracy.
    pub(crate) fn note_exchange(&mut self, name: &str, step: f64) {
        let why = format!(
            "FMU `{name}` exchanges values every {step} s and holds them in between: first order, beside the tolerance"
        );
        self.note_fmu("fmu", format!("{name} every {step} s"), why);
    }

    /// Takes down that the equations of an FMU are part of the machine.
    pub(crate) fn note_resident(&mut self, fmu: &FmuEntry, resident: &Resident) {
        let name = &fmu.name;
        let facts = fmu.description.exchange.as_ref();
        let slopes = match facts.is_some_and(|facts| facts.directional) {
            true => "derivatives as it tells them",
            false => "derivatives by differences",
        };
        let (states, indicators) = (resident.states.len(), resident.indicators);
        let why = format!(
            "the equations of FMU `{name}` are part of the model: {states} states, {indicators} event indicators, {slopes}"
        );
        self.note_fmu("fmu states", name.clone(), why);
    }

    fn note_fmu(&mut self, what: &'static str, value: String, why: String) {
        match self.reasons.iter_mut().find(|r| r.what == what) {
            Some(reason) => {
                reason.value += &format!(", {value}");
                reason.why += &format!("; {why}");
            }
            None => self.reasons.push(Reason::new(what, value, DecidedBy::Asked).because(why)),
        }
    }

    /// Takes down what an engine decided anew about itself.
    pub(crate) fn note_revisions(&mut self, found: Vec<engines::EngineRevision>) {
        self.revisions.extend(found.into_iter().map(|revision| match revision {
            engines::EngineRevision::WholeMatrix { t } => Revision::WholeMatrix { t },
            engines::EngineRevision::SoftStart { t } => Revision::SoftStart { t },
        }));
    }

    /// The solver in force: as asked, or as revised.
    pub(crate) fn solver(&self) -> Solver {
        self.solver
    }

    /// Goes back to the method and the solver of an earlier time. The engine is decided on by [`Plan::again`].
    pub(crate) fn resume(&mut self, method: Option<MethodName>, solver: Solver) {
        if self.method() != method {
            self.revisions.retain(|r| !r.is_choice() || matches!(r, Revision::EvenRows { .. }));
        }
        self.method = method;
        self.solver = solver;
    }

    /// Tells a tape what was decided on the way.
    pub(crate) fn keep(&mut self, tape: &mut Tape) {
        tape.plain(&mut self.method);
        tape.plain(&mut self.solver);
        tape.plain(&mut self.revisions);
    }

    /// The same plan for a new beginning, of equations that may be others.
    pub(crate) fn again(
        &self,
        dynamics: &Arc<dyn Dynamics>,
        start: &Point,
        options: &Options,
    ) -> Result<Decided, StepError> {
        let mut plan = self.clone();
        let loops;
        (plan.engine, loops) = engine::decide(plan.method, plan.solver, dynamics, start, options)?;
        Ok(Decided { plan, loops })
    }

    /// The plan after a revision, for equations and a point from where it goes on.
    pub(crate) fn revised(
        &self,
        revision: Revision,
        dynamics: &Arc<dyn Dynamics>,
        start: &Point,
        options: &Options,
    ) -> Result<Decided, StepError> {
        let mut plan = self.clone();
        if let Revision::Stiff { t, .. } = revision {
            plan.method = Some(MethodName::Bdf);
            plan.revisions.push(revision);
            if plan.solver == Solver::LoopCg {
                plan.revisions.push(Revision::NoLoopCg { t });
                plan.solver = Solver::Direct;
            }
        } else {
            // modes change as often as a machine sticks and slips: the list of events has them all
            plan.revisions.retain(|r| r.name() != revision.name());
            plan.revisions.push(revision);
        }
        plan.again(dynamics, start, options)
    }
}

impl Decided {
    /// Decides everything about a run: for a machine in its coordinates, and the equations and the point that the modes
    /// of its forces make of them.
    pub fn new(
        posed: &Posed,
        dynamics: &Arc<dyn Dynamics>,
        start: &Point,
        options: &Options,
    ) -> Result<Decided, StepError> {
        let (method, chosen) = method::choose(options, posed.start.assembly.degrees_of_freedom);
        let (engine, loops) = engine::decide(method, options.solver, dynamics, start, options)?;
        let bodies = dynamics.layout().bodies.len();
        let threads = scale::threads_for(options, bodies);
        let check_every = scale::check_every(bodies);
        let mut reasons: Vec<Reason> = posed.reasons.iter().filter(|r| r.what == "coordinates").cloned().collect();
        reasons.push(chosen);
        reasons.extend(engine.reasons(options, &**dynamics));
        reasons.extend(posed.reasons.iter().filter(|r| r.what != "coordinates").cloned());
        let asked = |given: bool| if given { DecidedBy::Asked } else { DecidedBy::Default };
        reasons.push(Reason::new("threads", threads.to_string(), asked(options.resources.threads.is_some())));
        reasons.push(Reason::new("check_every", check_every.to_string(), DecidedBy::Default));
        let plan = Plan {
            coordinates: posed.coordinates,
            engine,
            threads,
            check_every,
            reasons,
            revisions: Vec::new(),
            method,
            solver: options.solver,
            stays_explicit: posed.stays_explicit,
        };
        Ok(Decided { plan, loops })
    }

    /// Builds what takes the steps.
    pub fn build(
        self,
        dynamics: &Arc<dyn Dynamics>,
        options: &Options,
        start: &Point,
        kkt: &SharedKkt,
    ) -> Result<(Plan, Box<dyn Engine>), StepError> {
        let engine = self.plan.engine.build(dynamics, options, start, kkt, self.loops)?;
        Ok((self.plan, engine))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reasons.iter().try_for_each(|reason| writeln!(f, "{reason}"))?;
        self.revisions.iter().try_for_each(|revision| writeln!(f, "{:<13} {revision}", "revised"))
    }
}

/// The engine that options choose for equations that are free to move, from a consistent point with its rates.
pub fn engine(dynamics: &Arc<dyn Dynamics>, options: &Options, start: &Point) -> Result<Box<dyn Engine>, StepError> {
    let (method, _) = method::choose(options, 1);
    let (plan, loops) = engine::decide(method, options.solver, dynamics, start, options)?;
    plan.build(dynamics, options, start, &SharedKkt::new(dynamics.clone()), loops)
}
