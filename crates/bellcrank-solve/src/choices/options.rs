//! All choices of a run as one value.

use super::formulation::FormulationKind;
use super::method::{Family, MethodName};
use super::presets::Preset;
use super::words::{Coordinates, ErrorBudget, ErrorScope, Solver, SrmStart, SrmTree, StepControl, Tested};
use crate::methods::alpha::AlphaParameters;
use crate::newton::Iteration;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A run that begins in an equilibrium, as a value of [`Options::from`].
pub const EQUILIBRIUM: &str = "equilibrium";

/// All choices of a run. Its fourteen fields are choices of their own.
///
/// ```
/// use bellcrank_solve::{MethodName, Options};
/// let options = Options { method: MethodName::Bdf, rtol: 1e-8, until: 2.0, ..Options::default() };
/// assert!(options.check().is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The method.
    pub method: MethodName,
    /// The formulation; `None` lets the method choose.
    pub formulation: Option<FormulationKind>,
    /// The iteration; `None` lets the method choose.
    pub iteration: Option<Iteration>,
    /// The coordinates of a model; hand-written equations have their own.
    pub coordinates: Coordinates,
    /// What solves for accelerations and reactions.
    pub solver: Solver,
    /// Fixed step size in s; `None`: error control.
    pub step: Option<f64>,
    /// Relative tolerance.
    pub rtol: f64,
    /// End of the run in s.
    pub until: f64,
    /// Distance of recorded frames in s; `None`: they follow the motion. Every step is one, thinned to some 2000 with the extremes
    /// of each channel among them.
    pub sample: Option<f64>,
    /// Patterns of the names that are recorded; none: what is recorded by default.
    pub record: Vec<String>,
    /// Where the run begins: `None` as drawn, else [`EQUILIBRIUM`] or a folder of results; see `analyses::begin`.
    pub from: Option<String>,
    /// Parameters of single methods and solvers.
    pub parameters: MethodParameters,
    /// What error and convergence tests look at.
    pub testing: Testing,
    /// What the run has of the machine it runs on.
    pub resources: Resources,
}

/// Parameters of single methods, formulations and solvers; each of its thirteen fields is read by its own alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MethodParameters {
    /// Highest order of BDF.
    pub max_order: usize,
    /// ρ∞ of generalized-α.
    pub rho: f64,
    /// α of HHT.
    pub alpha: f64,
    /// β of Newmark's method; `None`: (γ + ½)²/4, which damps most for its γ.
    pub beta: Option<f64>,
    /// γ of Newmark's method.
    pub gamma: f64,
    /// b of the additive formulation.
    pub b: f64,
    /// Iterates of sequential regularization and of the augmented Lagrangian.
    pub iterates: usize,
    /// ε of sequential regularization in s, `None`: twice the limit of stability; and of Park's multipliers, `None`: 1 ms.
    pub epsilon: Option<f64>,
    /// What keeps the tree of sequential regularization on its constraints.
    pub srm_tree: SrmTree,
    /// The multipliers that its iterates begin with.
    pub srm_start: SrmStart,
    /// α of Baumgarte's stabilization in 1/s.
    pub baumgarte_alpha: f64,
    /// β of Baumgarte's stabilization in 1/s; `None`: α, so that nothing oscillates.
    pub baumgarte_beta: Option<f64>,
    /// The penalty of the augmented Lagrangian, as a multiple of the inertia that each constraint moves.
    pub penalty: f64,
}

/// What error and convergence tests look at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Testing {
    /// Absolute tolerance in SI units; `None`: 0 for models, `rtol` for hand-written equations.
    pub atol: Option<f64>,
    /// The unknowns that decide; `None` lets the formulation choose.
    pub test: Option<Tested>,
    /// The coordinates whose errors are tested.
    pub scope: ErrorScope,
    /// What the tolerance is for.
    pub budget: ErrorBudget,
    /// How BDF controls its steps.
    pub control: StepControl,
    /// Most Newton iterations per attempt; `None` lets the method choose.
    pub max_iterations: Option<usize>,
    /// The longest step of error control in s.
    pub max_step: Option<f64>,
    /// How many times as often values are exchanged with FMUs; 0 stands for as the model says.
    pub exchanges: u32,
}

/// What a run has of the machine it runs on.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Threads that work together; `None`: chosen by model size. Results do not depend on it.
    pub threads: Option<usize>,
    /// Steps after which a run is given up; `None`: those that it takes.
    pub max_steps: Option<usize>,
    /// Seconds on the clock after which a run is given up; `None`: those that it takes.
    pub max_seconds: Option<f64>,
    /// Set from outside to end the run cleanly.
    pub interrupt: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            method: MethodName::Auto,
            formulation: None,
            iteration: None,
            coordinates: Coordinates::Cartesian,
            solver: Solver::Auto,
            step: None,
            rtol: 1e-6,
            until: 1.0,
            sample: None,
            record: Vec::new(),
            from: None,
            parameters: MethodParameters::default(),
            testing: Testing::default(),
            resources: Resources::default(),
        }
    }
}

impl Default for MethodParameters {
    fn default() -> MethodParameters {
        MethodParameters {
            max_order: 5,
            rho: 0.8,
            alpha: -0.3,
            beta: None,
            gamma: 0.6,
            b: 0.0,
            iterates: 2,
            epsilon: None,
            srm_tree: SrmTree::Projected,
            srm_start: SrmStart::Zero,
            baumgarte_alpha: 10.0,
            baumgarte_beta: None,
            penalty: 1e6,
        }
    }
}

impl MethodParameters {
    /// α and β of Baumgarte's stabilization.
    pub fn closing(&self) -> (f64, f64) {
        (self.baumgarte_alpha, self.baumgarte_beta.unwrap_or(self.baumgarte_alpha))
    }

    /// The coefficients of Newmark's method.
    pub fn newmark(&self) -> AlphaParameters {
        AlphaParameters::newmark(self.beta.unwrap_or(0.25 * (self.gamma + 0.5).powi(2)), self.gamma)
    }
}

impl Options {
    /// The options of a method or a preset by its name.
    pub fn named(name: &str) -> Option<Options> {
        let mut options = Options::default();
        match (Preset::by_name(name), MethodName::by_name(name)) {
            (Some(preset), _) => preset.apply(&mut options),
            (None, Some(method)) => options.method = method,
            (None, None) => return None,
        }
        Some(options)
    }

    /// The same with a change: `Options::default().with(|o| o.parameters.rho = 0.9)`.
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> Options {
        change(&mut self);
        self
    }

    /// The formulation that a method runs on: the chosen one, or the method's own.
    pub fn formulation_of(&self, method: MethodName) -> FormulationKind {
        self.formulation.unwrap_or(method.default_formulation())
    }

    /// Coefficients of a method of the generalized-α family.
    pub fn alpha_parameters(&self, method: MethodName) -> Option<AlphaParameters> {
        match method.row().family {
            Family::Alpha(_, coefficients) => Some(coefficients(&self.parameters)),
            _ => None,
        }
    }

    /// The distance of frames in s, where they are recorded at equal intervals.
    pub fn sample_distance(&self) -> f64 {
        self.sample.unwrap_or(self.until / 200.0)
    }
}
