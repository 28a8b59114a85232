//! What a user chooses: method, formulation, iteration, test, steps and tolerances.

use crate::formulation;
use crate::methods::alpha::AlphaParameters;
use crate::newton::{self, Iteration};
use bellcrank_math::threads::team;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A method by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MethodName {
    /// Explicit until the problem proves stiff, then BDF.
    Auto,
    /// Variable-order BDF.
    Bdf,
    /// Generalized-α.
    GeneralizedAlpha,
    /// Hilber–Hughes–Taylor.
    Hht,
    /// Newmark.
    Newmark,
    /// The explicit Euler method, fixed steps.
    Euler,
    /// The explicit midpoint rule, fixed steps.
    Rk2,
    /// The classical Runge–Kutta method, fixed steps.
    Rk4,
    /// Dormand–Prince 5(4).
    Dopri5,
    /// Dormand–Prince 8(5,3).
    Dop853,
}

/// The names of all methods, with one sentence each.
pub const METHODS: &[(MethodName, &str, &str)] = &[
    (MethodName::Auto, "auto", "explicit until the problem proves stiff, then bdf"),
    (MethodName::Bdf, "bdf", "error-controlled BDF of order 1 to 5"),
    (MethodName::GeneralizedAlpha, "gen-alpha", "generalized-α of order 2, damping by --rho"),
    (MethodName::Hht, "hht", "Hilber–Hughes–Taylor of order 2, damping by --alpha"),
    (MethodName::Newmark, "newmark", "Newmark, of order 1 but for --gamma 0.5"),
    (MethodName::Euler, "euler", "explicit Euler of order 1, fixed steps"),
    (MethodName::Rk2, "rk2", "explicit midpoint rule of order 2, fixed steps"),
    (MethodName::Rk4, "rk4", "classical Runge–Kutta of order 4, fixed steps"),
    (MethodName::Dopri5, "dopri5", "Dormand–Prince 5(4)"),
    (MethodName::Dop853, "dop853", "Dormand–Prince 8(5,3)"),
];

/// A method on a formulation under a name of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// The method.
    pub method: MethodName,
    /// The formulation.
    pub formulation: &'static str,
    /// The highest order of BDF.
    pub max_order: usize,
}

const fn preset(name: &'static str, method: MethodName, formulation: &'static str, max_order: usize) -> Preset {
    Preset { name, method, formulation, max_order }
}

/// The integrators of [Negrut, Jay & Khude 2009] by their names.
pub const PRESETS: &[Preset] = &[
    preset("nstiff", MethodName::Bdf, "index3", 2),
    preset("newmark", MethodName::Newmark, "index3", 2),
    preset("hht-i3", MethodName::Hht, "index3", 2),
    preset("nstiff-si2", MethodName::Bdf, "si2", 2),
    preset("hht-add", MethodName::Hht, "add", 2),
    preset("hht-si2", MethodName::Hht, "si2", 2),
];

/// The names of all methods and presets.
pub fn method_names() -> Vec<&'static str> {
    let presets = PRESETS.iter().map(|p| p.name).filter(|name| MethodName::by_name(name).is_none());
    METHODS.iter().map(|(_, name, _)| *name).chain(presets).collect()
}

/// Which unknowns decide in error and convergence tests. Multipliers never do, but for `All`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tested {
    /// The coordinates.
    Q,
    /// Coordinates and velocities.
    QV,
    /// Also the multipliers, as in classical GGL codes (in the convergence test).
    All,
}

/// The names of all tests.
pub const TESTS: &[(Tested, &str)] = &[(Tested::Q, "q"), (Tested::QV, "q+v"), (Tested::All, "all")];

/// Which coordinates the error test looks at. The convergence test always looks at all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum On {
    /// All of them.
    #[default]
    All,
    /// Those that the split finds independent; the root of the mean square is over them alone, so the
    /// test is √(n/p) stricter than one over all n.
    Independent,
}

/// The names of all choices of coordinates.
pub const COORDINATES: &[(On, &str)] = &[(On::All, "all"), (On::Independent, "independent")];

/// What the tolerance is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Errors {
    /// Every step may err by it.
    #[default]
    Step,
    /// The errors of all steps of the run share ten times it, for long motions that nothing damps.
    Run,
}

/// The names of both.
pub const ERRORS: &[(Errors, &str)] = &[(Errors::Step, "step"), (Errors::Run, "run")];

/// In which coordinates a model moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coordinates {
    /// Those of every body, with equations for all joints.
    #[default]
    Cartesian,
    /// Those of the joints of a tree, with equations where loops close.
    Relative,
}

/// The names of all coordinates.
pub const SYSTEMS: &[(Coordinates, &str)] =
    &[(Coordinates::Cartesian, "cartesian"), (Coordinates::Relative, "relative")];

impl Coordinates {
    /// The coordinates of a name.
    pub fn by_name(name: &str) -> Option<Coordinates> {
        SYSTEMS.iter().find(|(_, n)| *n == name).map(|(c, _)| *c)
    }
}

/// What solves for accelerations and reactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// What is cheapest by count.
    #[default]
    Auto,
    /// Elimination of the whole system, at every evaluation.
    Direct,
    /// Dense LU of the whole matrix, with pivoting.
    Dense,
    /// Relative coordinates, and a recursion over their tree, where nothing closes a loop.
    Recursion,
    /// A recursion over a tree of joints, and conjugate gradients on the equations that close its loops.
    LoopCg,
    /// Sequential regularization of the equations that close loops [Ascher & Lin 2000].
    Srm,
    /// The same of all constraints.
    SrmAll,
}

/// The names of all solvers, with one sentence each.
pub const SOLVERS: &[(Solver, &str, &str)] = &[
    (Solver::Auto, "auto", "what is cheapest by count"),
    (Solver::Direct, "direct", "elimination of the whole system, block by block"),
    (Solver::Dense, "dense", "LU of the whole matrix with pivoting, for small models"),
    (
        Solver::Recursion,
        "recursion",
        "relative coordinates and a recursion over their tree, without loops; explicit methods",
    ),
    (
        Solver::LoopCg,
        "loop-cg",
        "recursion over a tree, conjugate gradients on what closes loops; explicit methods, and fixed steps on index3",
    ),
    (Solver::Srm, "srm", "sequential regularization of what closes loops; euler, rk2, rk4 with a fixed step"),
    (Solver::SrmAll, "srm-all", "sequential regularization of all constraints; euler, rk2, rk4 with a fixed step"),
];

impl Solver {
    /// The solver of a name.
    pub fn by_name(name: &str) -> Option<Solver> {
        SOLVERS.iter().find(|(_, n, _)| *n == name).map(|(s, _, _)| *s)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        SOLVERS.iter().find(|(s, _, _)| *s == self).map_or("", |(_, n, _)| n)
    }

    /// Whether it is sequential regularization.
    pub fn regularizes(self) -> bool {
        matches!(self, Solver::Srm | Solver::SrmAll)
    }
}

/// From so many bodies on several threads work on a run, unless told otherwise, and no more than this.
const WORTH_THREADS: usize = 800;
const MOST_THREADS: usize = 4;

/// Sequential regularization takes at most so many iterates: more do not help, and can make it worse.
pub const MAX_ITERATES: usize = 8;

/// A method of the papers on coordinate splitting, as choices [Yen & Petzold 1998].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Splitting {
    /// Its name on the command line.
    pub name: &'static str,
    /// The formulation.
    pub formulation: &'static str,
    /// The iteration.
    pub iteration: Iteration,
    /// What is tested.
    pub test: Tested,
    /// On which coordinates.
    pub on: On,
}

/// All of them; each runs BDF.
pub const SPLITTINGS: &[Splitting] = &[
    splitting("cs", Iteration::CoordinateSplit, Tested::QV, On::Independent),
    splitting("cm", Iteration::CoordinateModified, Tested::QV, On::Independent),
    splitting("ggl", Iteration::Simplified, Tested::All, On::All),
    splitting("ggl-star", Iteration::Simplified, Tested::QV, On::All),
];

const fn splitting(name: &'static str, iteration: Iteration, test: Tested, on: On) -> Splitting {
    Splitting { name, formulation: "ggl", iteration, test, on }
}

/// All choices of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The method.
    pub method: MethodName,
    /// The formulation; `None` lets the method choose.
    pub formulation: Option<&'static str>,
    /// The iteration; `None` lets the method choose.
    pub iteration: Option<Iteration>,
    /// The test; `None` lets the formulation choose.
    pub test: Option<Tested>,
    /// Which coordinates are tested.
    pub on: On,
    /// What the tolerance is for.
    pub errors: Errors,
    /// The coordinates of a model; hand-written equations have their own.
    pub coordinates: Coordinates,
    /// Fixed step size.
    pub step: Option<f64>,
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerance, in SI units; `None`: 0 for models, `rtol` for hand-written equations.
    pub atol: Option<f64>,
    /// End of the run.
    pub until: f64,
    /// Distance of samples; `None`: a 200th of the run.
    pub sample: Option<f64>,
    /// Highest order of BDF.
    pub max_order: usize,
    /// Most Newton iterations per attempt.
    pub max_iterations: Option<usize>,
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
    /// What solves for accelerations and reactions.
    pub solver: Solver,
    /// Iterates of sequential regularization.
    pub iterates: usize,
    /// ε of sequential regularization, in s; `None`: twice the limit of stability.
    pub epsilon: Option<f64>,
    /// Threads that work together; `None`: as many as pay. Results do not depend on it.
    pub threads: Option<usize>,
    /// Set from outside to end the run cleanly.
    pub interrupt: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            method: MethodName::Auto,
            formulation: None,
            iteration: None,
            test: None,
            on: On::All,
            errors: Errors::Step,
            coordinates: Coordinates::Cartesian,
            step: None,
            rtol: 1e-6,
            atol: None,
            until: 1.0,
            sample: None,
            max_order: 5,
            max_iterations: None,
            rho: 0.8,
            alpha: -0.3,
            beta: None,
            gamma: 0.6,
            b: 0.0,
            solver: Solver::Auto,
            iterates: 2,
            epsilon: None,
            threads: None,
            interrupt: Arc::new(AtomicBool::new(false)),
        }
    }
}

impl MethodName {
    /// The method of a name.
    pub fn by_name(name: &str) -> Option<MethodName> {
        METHODS.iter().find(|(_, n, _)| *n == name).map(|(m, _, _)| *m)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        METHODS.iter().find(|(m, _, _)| *m == self).map_or("", |(_, n, _)| n)
    }

    /// Whether it is an explicit Runge–Kutta method.
    pub fn explicit(self) -> bool {
        !self.adaptive() || matches!(self, MethodName::Dopri5 | MethodName::Dop853)
    }

    /// Whether it has an error estimate.
    pub fn adaptive(self) -> bool {
        !matches!(self, MethodName::Euler | MethodName::Rk2 | MethodName::Rk4)
    }

    /// The formulation it runs on unless another is asked for.
    pub fn default_formulation(self) -> &'static str {
        match self {
            m if m.explicit() => "index1",
            MethodName::Bdf => "ggl",
            MethodName::Newmark => "index3",
            _ => "si2",
        }
    }
}

impl Tested {
    /// The test of a name.
    pub fn by_name(name: &str) -> Option<Tested> {
        TESTS.iter().find(|(_, n)| *n == name).map(|(t, _)| *t)
    }
}

impl Errors {
    /// The choice of a name.
    pub fn by_name(name: &str) -> Option<Errors> {
        ERRORS.iter().find(|(_, n)| *n == name).map(|(e, _)| *e)
    }
}

impl On {
    /// The choice of a name.
    pub fn by_name(name: &str) -> Option<On> {
        COORDINATES.iter().find(|(_, n)| *n == name).map(|(t, _)| *t)
    }
}

/// A choice that cannot be run, and what to try.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionError {
    /// The option it is about, such as `--step`.
    pub option: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to try.
    pub help: String,
}

fn wrong<T>(option: &'static str, message: impl Into<String>, help: impl Into<String>) -> Result<T, OptionError> {
    Err(OptionError { option, message: message.into(), help: help.into() })
}

impl Preset {
    /// The preset of a name.
    pub fn by_name(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|p| p.name == name)
    }
}

impl Options {
    /// The options of a method or a preset by its name.
    pub fn named(name: &str) -> Option<Options> {
        if let Some(p) = Preset::by_name(name) {
            let (method, formulation, max_order) = (p.method, Some(p.formulation), p.max_order);
            return Some(Options { method, formulation, max_order, ..Options::default() });
        }
        MethodName::by_name(name).map(|method| Options { method, ..Options::default() })
    }

    /// Parameters of a method of the generalized-α family.
    pub fn alpha_parameters(&self, method: MethodName) -> Option<AlphaParameters> {
        match method {
            MethodName::GeneralizedAlpha => Some(AlphaParameters::from_rho(self.rho)),
            MethodName::Hht => Some(AlphaParameters::hht(self.alpha)),
            MethodName::Newmark => {
                let beta = self.beta.unwrap_or(0.25 * (self.gamma + 0.5).powi(2));
                Some(AlphaParameters::newmark(beta, self.gamma))
            }
            _ => None,
        }
    }

    /// Refuses parameters for which a method is unstable or does not exist.
    fn check_parameters(&self) -> Result<(), OptionError> {
        let formulation = self.formulation.unwrap_or(self.method.default_formulation());
        let index3 = formulation == "index3";
        if !(0.0..=1.0).contains(&self.rho) {
            return wrong("--rho", format!("ρ∞ must lie between 0 and 1, found {}", self.rho), "0.8 is a good choice");
        }
        if !(-1.0 / 3.0 - 1e-12..=0.0).contains(&self.alpha) {
            let message = format!("α of HHT must lie between −1/3 and 0, found {}", self.alpha);
            return wrong("--alpha", message, "-0.3 damps most, -0.05 little");
        }
        let newmark = self.alpha_parameters(MethodName::Newmark).unwrap_or_default();
        if !(0.5..=1.5).contains(&self.gamma) {
            let message = format!("γ of Newmark's method must lie between 1/2 and 3/2, found {}", self.gamma);
            return wrong("--gamma", message, "0.6 is a good choice; below 1/2 the method is unstable");
        }
        if !(newmark.beta >= 0.5 * self.gamma && newmark.beta.is_finite()) {
            let message = format!("β of Newmark's method must not be less than γ/2 = {}", 0.5 * self.gamma);
            return wrong("--beta", message, "leave --beta out for (γ + 1/2)²/4; below γ/2 stiff parts are unstable");
        }
        let undamped = "has no damping, and on index3 its accelerations and reactions grow without bound";
        let help = |option: &str| format!("use {option}, or a formulation that holds velocities too: si2");
        match self.method {
            MethodName::GeneralizedAlpha if index3 && self.rho == 1.0 => {
                return wrong("--rho", format!("ρ∞ = 1 {undamped}"), help("--rho 0.9 or less"));
            }
            MethodName::Hht if index3 && self.alpha == 0.0 => {
                return wrong("--alpha", format!("α = 0 {undamped}"), help("--alpha -0.01 or less"));
            }
            MethodName::Newmark if index3 && newmark.gamma == 0.5 => {
                return wrong("--gamma", format!("γ = 1/2 {undamped}"), help("--gamma 0.51 or more"));
            }
            _ => {}
        }
        if formulation == "add" {
            if !matches!(self.method, MethodName::Hht | MethodName::Newmark) {
                let message =
                    format!("the additive formulation is made for hht and newmark, not for {}", self.method.name());
                return wrong("--formulation", message, "use --method hht-add, or --formulation si2");
            }
            if !self.b.is_finite() || (self.b - 0.5).abs() < 1e-3 {
                let message = "b = 1/2 gives positions and velocities the same mean of old and new reactions, \
                               and they cannot hold both constraints";
                return wrong("--b", message, "b = 0 is a good choice");
            }
            if (self.b - 1.0).abs() < 1e-3 {
                let message = "b = 1 leaves the old reactions no part in the positions, from which they are found";
                return wrong("--b", message, "b = 0 is a good choice");
            }
            if self.iteration.is_some_and(|i| !matches!(i, Iteration::Full | Iteration::Simplified)) {
                let message = "the additive formulation has reactions of two times, which no split eliminates";
                return wrong("--iteration", message, "use full or simplified");
            }
        }
        Ok(())
    }

    /// How many threads work on a model of so many bodies. On small ones they cost more than they give.
    pub fn threads_for(&self, bodies: usize) -> usize {
        let offered = || std::thread::available_parallelism().map_or(1, |n| n.get()).min(MOST_THREADS);
        self.threads.unwrap_or_else(|| if bodies < WORTH_THREADS { 1 } else { offered() })
    }

    /// Refuses solvers of loops with methods that have no use for them.
    fn check_solver(&self) -> Result<(), OptionError> {
        if let Some(n) = self.threads.filter(|n| !(1..=team::MOST).contains(n)) {
            let message = format!("between 1 and {} threads work together, found {n}", team::MOST);
            return wrong("--threads", message, "leave it out for as many as pay");
        }
        let (solver, method) = (self.solver, self.method);
        if !(1..=MAX_ITERATES).contains(&self.iterates) {
            let message = format!("between 1 and {MAX_ITERATES} iterates make sense, found {}", self.iterates);
            return wrong("--iterates", message, "2 is a good choice: the second makes rk2 of order 2");
        }
        if let Some(e) = self.epsilon.filter(|e| !(*e > 0.0 && e.is_finite())) {
            let help = "leave it out for twice the limit of stability";
            return wrong("--epsilon", format!("ε must be a positive number, found {e}"), help);
        }
        if self.coordinates == Coordinates::Relative && (solver == Solver::LoopCg || solver.regularizes()) {
            let message = format!("{} works in Cartesian coordinates, on a tree of its own", solver.name());
            return wrong("--solver", message, "leave --coordinates relative out, or --solver");
        }
        if solver.regularizes() && method != MethodName::Auto && method.adaptive() {
            let message =
                format!("{} runs with fixed steps of euler, rk2 or rk4, not with {}", solver.name(), method.name());
            return wrong("--solver", message, "use --method rk2 --step H, or --solver loop-cg");
        }
        if solver.regularizes() && self.step.is_none() {
            let message = format!("{} needs a step size: its ε is made from it", solver.name());
            return wrong("--step", message, "give --step H, or use --solver loop-cg");
        }
        let explicit =
            method.explicit() || (method == MethodName::Auto && self.formulation.is_none_or(|f| f == "index1"));
        let formulation = self.formulation.unwrap_or(match method {
            MethodName::Auto => "si2",
            _ => method.default_formulation(),
        });
        let full = self.iteration.is_none_or(|i| i == crate::newton::Iteration::Full);
        if solver == Solver::Recursion && !explicit {
            let message = format!("recursion gives accelerations, and {} needs matrices", method.name());
            return wrong("--solver", message, "use --method dopri5, or leave --solver out");
        }
        if solver == Solver::LoopCg && !explicit && !(self.step.is_some() && formulation == "index3" && full) {
            let how = match self.step {
                Some(_) if full => format!("on {formulation}"),
                Some(_) => "with a matrix that is kept".into(),
                None => "with error control".into(),
            };
            let message = format!(
                "loop-cg is for explicit methods and for fixed steps of implicit ones on index3, not for {} {how}: elimination \
                 is faster there",
                method.name()
            );
            let help = "leave --solver out, or use --method dopri5, or --formulation index3 --step H";
            return wrong("--solver", message, help);
        }
        Ok(())
    }

    /// Refuses choices that make no sense together.
    pub fn check(&self) -> Result<(), OptionError> {
        let method = self.method;
        let positive = |option, x: f64, what: &str| match x > 0.0 && x.is_finite() {
            true => Ok(()),
            false => wrong(
                option,
                format!("{what} must be a positive number, found {x}"),
                format!("for example {option} 1e-3"),
            ),
        };
        positive("--until", self.until, "the end of the run")?;
        positive("--rtol", self.rtol, "the relative tolerance")?;
        if self.rtol < 1e-13 {
            return wrong(
                "--rtol",
                format!("a relative tolerance of {:e} is below what doubles can hold", self.rtol),
                "use 1e-12 or more",
            );
        }
        if let Some(a) = self.atol
            && !(a >= 0.0 && a.is_finite())
        {
            return wrong(
                "--atol",
                format!("the absolute tolerance must not be negative, found {a}"),
                "for example --atol 1e-8",
            );
        }
        if let Some(s) = self.sample {
            positive("--sample", s, "the distance of samples")?;
            if self.until / s > 1e8 {
                return wrong(
                    "--sample",
                    format!("{:.0e} samples were asked for", self.until / s),
                    "use a larger distance of samples",
                );
            }
        }
        if let Some(h) = self.step {
            positive("--step", h, "the step size")?;
            if self.until / h > 1e12 {
                return wrong("--step", format!("{:.0e} steps were asked for", self.until / h), "use a larger step");
            }
        } else if !method.adaptive() {
            let help = "give --step H, or use a method with error control such as dopri5";
            return wrong("--step", format!("{} has no error control and needs a step size", method.name()), help);
        }
        if let Some(f) = self.formulation {
            if !formulation::NAMES.contains(&f) {
                return wrong(
                    "--formulation",
                    format!("unknown formulation `{f}`"),
                    format!("one of {}", formulation::NAMES.join(", ")),
                );
            }
            if method.explicit() && f != "index1" {
                let help = "use index1, or an implicit method: bdf or gen-alpha";
                return wrong("--formulation", format!("{} is explicit and runs on index1 only", method.name()), help);
            }
            if method == MethodName::Auto && !matches!(f, "ggl" | "si2" | "index1") {
                let help = "name a method, such as --method bdf";
                return wrong("--formulation", format!("`auto` chooses the formulation itself, not {f}"), help);
            }
        }
        if method.explicit() && self.iteration.is_some() {
            let help =
                format!("leave --iteration out, or use an implicit method (iterations: {})", newton::NAMES.join(", "));
            return wrong("--iteration", format!("{} is explicit and does not iterate", method.name()), help);
        }
        if self.iteration.is_some_and(|i| i.splits()) && self.formulation == Some("si2") {
            let help = "use --formulation ggl, or --iteration auto";
            return wrong("--iteration", "coordinate splitting needs the plain Gᵀμ, which si2 does not have", help);
        }
        if method.explicit() && self.on == On::Independent {
            let help = "leave --on out, or use an implicit method such as bdf";
            return wrong("--on", format!("{} has no split of the coordinates", method.name()), help);
        }
        if self.errors == Errors::Run && (method != MethodName::Bdf || self.step.is_some()) {
            let help = "use --method bdf without --step, or leave --errors out";
            return wrong("--errors", "only bdf with error control lets the steps of a run share their errors", help);
        }
        if self.max_iterations == Some(0) {
            return wrong("--max-iterations", "at least one iteration is needed", "4 is a good choice");
        }
        self.check_parameters()?;
        self.check_solver()?;
        if !(1..=5).contains(&self.max_order) {
            return wrong(
                "--max-order",
                format!("BDF has the orders 1 to 5, found {}", self.max_order),
                "use 5 or less",
            );
        }
        Ok(())
    }

    /// The distance of samples.
    pub fn sample_distance(&self) -> f64 {
        self.sample.unwrap_or(self.until / 200.0)
    }
}
