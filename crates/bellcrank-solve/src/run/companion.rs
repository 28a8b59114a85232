//! The error of a run, told while it goes on, and steps that are as strict as it asks for.
//!
//! A companion takes the same method along beside the run, with a local tolerance that is ρ times as large. The errors of
//! both have grown in the same motion and are proportional to their tolerances, y₁ = y + e and y₂ = y + ρ e, so that
//!
//! ```text
//!     e = (y₂ − y₁)/(ρ − 1)
//! ```
//!
//! tells the accumulated error of the run, whatever became of local errors since they were made [Shampine & Watts 1976;
//! Skeel 1986]. Local errors of an undamped motion add up to a phase that grows like t, or like t² where the frequency
//! depends on the energy. With x = t/T and local errors of ℓ(x) times their share, e(x) = K ∫ ℓ d(x²) tells K; until the end
//! what was made grows to e/x, and what is to come adds K ℓ (1 − x²). The leeway ℓ of the steps to come is what makes both
//! together the tolerance.

use crate::choices::{ErrorBudget, Options};
use crate::engines::{Engine, Statistics};
use crate::plan::{EnginePlan, Plan};
use crate::tolerances::units;
use bellcrank_model::{Dynamics, Point, State};
use std::sync::Arc;

/// How often a run is compared with its companion.
const LOOKS: f64 = 128.0;

/// Errors grow like t to this power: those of frequencies that depend on the energy do.
const GROWTH: f64 = 2.0;

/// Before this part of a run its errors say little of what they will become.
const EARLY: f64 = 0.03;

/// What a run is to end with, in tolerances: the middle between a tenth and ten of them, and a little for what is not foreseen.
const TARGET: f64 = 2.0;

/// Steps are not refined further once what is to come is this part of what was made already, and cannot be undone.
const IDLE: f64 = 0.2;

/// The leeway of the first steps, of which little is known.
const FIRST: f64 = 0.25;

/// The leeway stays between these.
const LEEWAY: (f64, f64) = (1e-4, 100.0);

/// It changes by no more than this factor from look to look.
const HASTE: f64 = 1.3;

/// A companion much coarser than this says little of how errors grow.
const COARSE: f64 = 1e-3;

/// The companion's tolerance over that of the run: steps of high order hardly get longer with it.
fn ratio(rtol: f64, order: usize) -> f64 {
    let most = if order > 2 { 200.0 } else { 20.0 };
    (COARSE / rtol).clamp(8.0, most)
}

/// What is known of the error of a run.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Account {
    /// The beginning of the run, and its length.
    from: f64,
    span: f64,
    /// The error when the motion last began anew, and the largest since then, in sizes of the machine.
    before: f64,
    since: f64,
    /// How many times its tolerance a step may err, and the sum of that over the run, each part by what it grows to.
    leeway: f64,
    dose: f64,
    /// When the run was last compared.
    looked: f64,
    /// Whether all of the run was compared.
    complete: bool,
}

/// A coarser run of the same method, and what the comparison with it tells.
pub(crate) struct Companion {
    engine: Option<Box<dyn Engine>>,
    ratio: f64,
    rtol: f64,
    account: Account,
    /// Counts of companions that were left.
    earlier: Statistics,
    dynamics: Arc<dyn Dynamics>,
    /// One over the size of the machine, or over a radian, for every coordinate.
    units: Vec<f64>,
    at: State,
    difference: Vec<f64>,
}

impl Companion {
    /// For a run that begins at a point.
    pub fn new(plan: &Plan, dynamics: &Arc<dyn Dynamics>, options: &Options, start: &Point) -> Companion {
        let mut companion = Companion {
            engine: None,
            ratio: 1.0,
            rtol: options.rtol,
            account: Account {
                from: start.t,
                span: options.until - start.t,
                before: 0.0,
                since: 0.0,
                leeway: FIRST,
                dose: 0.0,
                looked: start.t,
                complete: true,
            },
            earlier: Statistics::default(),
            dynamics: dynamics.clone(),
            units: units(&**dynamics),
            at: State::default(),
            difference: vec![0.0; dynamics.layout().n()],
        };
        companion.renew(plan, dynamics, options, start);
        companion
    }

    /// The run goes on with another engine: with a companion of the same kind.
    pub fn renew(&mut self, plan: &Plan, dynamics: &Arc<dyn Dynamics>, options: &Options, start: &Point) {
        self.close();
        if let Some(engine) = self.engine.take() {
            self.earlier += engine.statistics();
        }
        self.dynamics = dynamics.clone();
        if !watches(&plan.engine, options) {
            return;
        }
        self.ratio = ratio(options.rtol, plan.order());
        let coarse = options.clone().with(|o| o.rtol *= self.ratio);
        self.engine = plan.beside(dynamics, &coarse, start);
        self.account.complete &= self.engine.is_some();
        self.lead(None);
    }

    /// The run begins anew at a point, after an event.
    pub fn restart(&mut self, start: &Point) {
        self.close();
        if let Some(engine) = &mut self.engine
            && engine.restart(start).is_err()
        {
            self.lose();
        }
    }

    /// Errors so far stay; those of what follows are counted from here.
    fn close(&mut self) {
        self.account.before += std::mem::take(&mut self.account.since);
    }

    /// Without a companion nothing more is known.
    fn lose(&mut self) {
        if let Some(engine) = self.engine.take() {
            self.earlier += engine.statistics();
        }
        self.account.complete = false;
    }

    /// Follows a run to the end of its last step, before its charts settle, and tells it how strict to be.
    pub fn follow(&mut self, run: &mut dyn Engine, stop: f64) {
        let t = run.state().t;
        let due = t - self.account.looked >= self.account.span / LOOKS || t >= self.account.from + self.account.span;
        if self.engine.is_none() || !due {
            return;
        }
        if self.catch_up(t, stop).is_none() {
            return self.lose();
        }
        self.dynamics.differ(run.state(), &self.at, &mut self.difference);
        let apart = self.difference.iter().zip(&self.units).fold(0.0f64, |m, (d, unit)| m.max((d * unit).abs()));
        let error = apart / (self.ratio - 1.0);
        if !error.is_finite() {
            return self.lose();
        }
        self.account.since = self.account.since.max(error);
        self.judge(t);
        self.lead(Some(run));
    }

    /// Takes the companion to a time, and its state there.
    fn catch_up(&mut self, t: f64, stop: f64) -> Option<()> {
        let engine = self.engine.as_mut()?;
        while engine.state().t < t {
            engine.settle();
            let from = engine.state().t;
            engine.step(stop).ok()?;
            if engine.state().t <= from {
                return None;
            }
        }
        engine.interpolate(t, &mut self.at).ok()
    }

    /// Foresees the error at the end, and changes the leeway to what it leaves of the tolerance.
    fn judge(&mut self, t: f64) {
        let a = &mut self.account;
        let [before, now] = [a.looked, t].map(|t| ((t - a.from) / a.span).clamp(0.0, 1.0));
        a.dose += a.leeway * (now.powf(GROWTH) - before.powf(GROWTH));
        a.looked = t;
        let error = (a.before + a.since) / self.rtol;
        if now <= EARLY || now >= 1.0 || error <= 0.0 {
            return;
        }
        // what was made until now goes on growing; what is to come, per leeway
        let (made, to_come) = (a.dose * now.powf(1.0 - GROWTH), 1.0 - now.powf(GROWTH));
        let left = TARGET * a.dose / error - made;
        let wish = left.max(IDLE * made) / to_come;
        a.leeway = wish.clamp(a.leeway / HASTE, a.leeway * HASTE).clamp(LEEWAY.0, LEEWAY.1);
    }

    fn lead(&mut self, run: Option<&mut dyn Engine>) {
        let leeway = self.account.leeway;
        if let Some(engine) = &mut self.engine {
            engine.set_leeway(leeway);
        }
        if let Some(run) = run {
            run.set_leeway(leeway);
        }
    }

    /// Tells a new engine of the run how strict to be.
    pub fn instruct(&self, run: &mut dyn Engine) {
        run.set_leeway(self.account.leeway);
    }

    /// The largest accumulated error so far, in sizes of the machine; none where all of it is not known.
    pub fn error(&self) -> Option<f64> {
        let a = &self.account;
        (a.complete && a.looked > a.from).then_some(a.before + a.since)
    }

    /// What the companions took.
    pub fn statistics(&self) -> Statistics {
        let mut all = self.earlier;
        if let Some(engine) = &self.engine {
            all += engine.statistics();
        }
        all
    }

    /// What is needed to go on from here later.
    pub fn save(&self) -> Account {
        self.account
    }

    /// Goes back to what was known then; the engines begin anew after it.
    pub fn restore(&mut self, saved: Account) {
        self.account = saved;
    }
}

/// Whether a run has steps that follow an error, and shares it among them.
fn watches(plan: &EnginePlan, options: &Options) -> bool {
    let controlled = match plan {
        EnginePlan::Explicit { step, .. } => step.is_none(),
        EnginePlan::Implicit(plan) => plan.step.is_none(),
        EnginePlan::Kinematic { .. } | EnginePlan::Regularized { .. } => false,
    };
    controlled && options.testing.budget == ErrorBudget::Run
}
