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
//! depends on the energy; g = 3/2 is within a small factor of both. With x = t/T and local errors of ℓ(x) times their share,
//!
//! ```text
//!     e(x) = K ∫ ℓ d(x^g)
//! ```
//!
//! tells K. Until the end what was made grows to e(x) x^{1−g}, and what is to come adds K ℓ (1 − x^g). The leeway ℓ of the steps
//! to come is what makes both together the tolerance.
//!
//! A run that is told its error alone is not changed by it: its companion serves a [`Forecast`]. In a run whose tolerance limits the
//! accumulated error, the companion is a pilot: it goes along for the first part of a run, and for that part of what is left after every event. Then K is
//! known, and e(x) follows from the leeways alone. That costs a sixth to a third more evaluations, where a companion to the end
//! costs two to three times that, and tells little more of a motion that repeats itself. (A power g that was fitted to the pilot told up
//! to a hundred times too much: errors of a phase come and go with the motion.)

use super::forecast::{Forecast, GROWTH, Seen, Unknown};
use crate::choices::{ErrorBudget, Options};
use crate::engines::{Engine, Statistics};
use crate::plan::{EnginePlan, Plan};
use crate::tolerances::units;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Dynamics, Point, State};
use std::sync::Arc;

/// How often a run is compared with its companion, if that goes along to the end.
const LOOKS: f64 = 128.0;

/// The part of a run, or of what is left of it after an event, in which the companion goes along.
const PILOT: f64 = 0.4;

/// A companion that is farther away than this, in sizes of the machine or rad, is on a way of its own.
const LOST: f64 = 0.1;

/// Before this part of a run its errors say little of what they will become.
const EARLY: f64 = 0.03;

/// What a run is to end with, in tolerances: motions that do not repeat themselves end with more than was foreseen, up to ten times
/// (a slider-crank with bdf at 1e-6: 34 tolerances with a target of 2, and 4 with this).
const TARGET: f64 = 1.2;

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

/// The least and the largest tolerance of a companion over that of the run.
const RATIOS: (f64, f64) = (8.0, 200.0);

/// Where errors last or the order is low, a companion that is closer to the run foresees more than one that goes on longer for the same
/// evaluations.
const CLOSE: f64 = 20.0;

/// A companion that only tells of errors may be coarser than one that limits them.
const COARSEST: f64 = 1e-2;

/// A companion to a model of more bodies takes too much memory.
const MOST_BODIES: usize = 1000;

/// The tolerance of a companion over that of the run, where it is no coarser than another tolerance: steps of high order hardly get
/// longer with it.
fn ratio(rtol: f64, coarsest: f64, is_close: bool) -> f64 {
    let (least, most) = RATIOS;
    (coarsest / rtol).clamp(least, if is_close { CLOSE } else { most })
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
    /// The time up to which the companion goes along.
    pilot_until: f64,
    /// What it found.
    found: Option<PilotResult>,
    /// Whether all of the run was compared.
    complete: bool,
}

/// What a pilot found at its end: the error, the dose that made it, and the part of the run.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct PilotResult {
    error: f64,
    dose: f64,
    at: f64,
}

impl PilotResult {
    /// The error at a part of the run, with the dose until then.
    fn error(&self, at: f64, dose: f64) -> f64 {
        self.error * ((at / self.at).powf(GROWTH - 1.0) + dose / self.dose - 1.0)
    }
}

/// A coarser run of the same method, and what the comparison with it tells.
pub(crate) struct Companion {
    engine: Option<Box<dyn Engine>>,
    ratio: f64,
    rtol: f64,
    /// Whether it limits the error of the run; else it only tells it.
    limits: bool,
    account: Account,
    forecast: Forecast,
    /// Whether the motion has become another one than its pilot knew.
    outgrown: bool,
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
            limits: options.testing.budget == ErrorBudget::Run,
            account: Account {
                from: start.t,
                span: options.until - start.t,
                before: 0.0,
                since: 0.0,
                leeway: FIRST,
                dose: 0.0,
                looked: start.t,
                pilot_until: 0.0,
                found: None,
                complete: true,
            },
            forecast: Forecast::unasked(start.t, options.until),
            outgrown: false,
            earlier: Statistics::default(),
            dynamics: dynamics.clone(),
            units: units(&**dynamics),
            at: State::default(),
            difference: vec![0.0; dynamics.layout().n()],
        };
        if companion.limits {
            companion.renew(plan, dynamics, options, start);
        }
        companion
    }

    /// From now on the error of the run is to be told, if that is the choice and steps follow their error.
    pub fn ask(&mut self, plan: &Plan, options: &Options, start: &Point, guests: bool) {
        if !tells(&plan.engine, options) {
            return;
        }
        let unknown = match () {
            () if guests => Some(Unknown::Fmus),
            () if self.dynamics.layout().bodies.len() > MOST_BODIES => Some(Unknown::Large),
            () => None,
        };
        self.forecast = self.forecast.asked(!self.dynamics.has_power(), unknown);
        self.leave();
        self.tell_from(plan, options, start);
    }

    /// The run goes on with another engine: with a companion of the same kind.
    pub fn renew(&mut self, plan: &Plan, dynamics: &Arc<dyn Dynamics>, options: &Options, start: &Point) {
        self.close(start.t);
        self.leave();
        self.dynamics = dynamics.clone();
        if self.limits && is_controlled(&plan.engine) {
            self.ratio = ratio(options.rtol, COARSE, plan.order() <= 2);
            self.engine = self.coarser(plan, options, start);
            self.account.complete &= self.engine.is_some();
            self.lead(None);
        } else if tells(&plan.engine, options) {
            self.tell_from(plan, options, start);
            // as strict as the run is told to be by `instruct`
            self.lead(None);
        }
    }

    /// An engine like that of the run, with a larger tolerance.
    fn coarser(&self, plan: &Plan, options: &Options, start: &Point) -> Option<Box<dyn Engine>> {
        let coarse = options.clone().with(|o| o.rtol *= self.ratio);
        plan.beside(&self.dynamics, &coarse, start)
    }

    /// A stretch of a run that is told its error begins, with an engine of its own if it can be afforded.
    fn tell_from(&mut self, plan: &Plan, options: &Options, start: &Point) {
        self.forecast.begin(start.t);
        if !self.forecast.goes_on() || !self.affords_pilot(start.t) {
            return self.forecast.end_pilot();
        }
        self.ratio = ratio(options.rtol, COARSEST, self.forecast.is_lasting() || plan.order() <= 2);
        self.engine = self.coarser(plan, options, start);
        if self.engine.is_none() {
            self.forecast.give_up(Unknown::Stuck(start.t));
        }
    }

    /// A companion is made at the next change of engines whatever it costs: it takes over the memory of one that was there.
    pub fn allow_all(&mut self) {
        self.forecast.afford_all();
    }

    /// Whether companions may take the evaluations of another pilot.
    fn affords_pilot(&self, t: f64) -> bool {
        self.forecast.affords_pilot(self.statistics().residual_evaluations, t)
    }

    /// The run begins anew at a point, after an event.
    pub fn restart(&mut self, start: &Point) {
        self.close(start.t);
        if !self.limits {
            self.forecast.begin(start.t);
            if self.engine.is_none() || !self.affords_pilot(start.t) {
                return self.forecast.end_pilot();
            }
        }
        if let Some(engine) = &mut self.engine
            && engine.restart(start).is_err()
        {
            self.lose(Unknown::Stuck(start.t));
        }
    }

    /// The last step of the run was cut, and it begins anew at a point of the same motion.
    pub fn turn_back(&mut self, start: &Point) {
        if self.limits {
            self.restart(start);
        }
    }

    /// Whether a new pilot is to begin: the motion has outgrown the last one.
    pub fn wants_pilot(&mut self) -> bool {
        std::mem::take(&mut self.outgrown)
    }

    /// Errors so far stay; those of what follows are counted from here, with a pilot of its own.
    fn close(&mut self, t: f64) {
        let a = &mut self.account;
        a.before += std::mem::take(&mut a.since);
        a.pilot_until = t + PILOT * (a.from + a.span - t).max(0.0);
        a.found = None;
    }

    /// Without a companion nothing more is known.
    fn lose(&mut self, why: Unknown) {
        self.leave();
        self.forecast.give_up(why);
        self.account.complete = false;
        if self.limits {
            self.account.leeway = 1.0;
        }
    }

    fn leave(&mut self) {
        if let Some(engine) = self.engine.take() {
            self.earlier += engine.statistics();
        }
    }

    /// Follows a run to the end of its last step, before its charts settle, and tells it how strict to be.
    pub fn follow(&mut self, run: &mut dyn Engine, stop: f64, seen: Seen) {
        let t = run.state().t;
        if !self.limits {
            return self.tell(run, t, stop, seen);
        }
        if self.engine.is_none() {
            return;
        }
        let a = &self.account;
        if t - a.looked < a.span / LOOKS && t < a.from + a.span {
            return;
        }
        if a.found.is_none() {
            match self.compare(run, t, stop) {
                Ok(error) => self.account.since = self.account.since.max(error),
                Err(why) => {
                    self.lose(why);
                    return self.lead(Some(run));
                }
            }
        }
        self.judge(t);
        self.lead(Some(run));
    }

    /// Compares a run that is told its error with the companion, in its pilots.
    fn tell(&mut self, run: &dyn Engine, t: f64, stop: f64, seen: Seen) {
        if !self.forecast.goes_on() {
            return;
        }
        let speed = run.state().v.iter().zip(&self.units).fold(0.0f64, |m, (v, unit)| m.max((v * unit).abs()));
        self.outgrown = self.forecast.watch(t, speed, &seen) && self.engine.is_some();
        if self.engine.is_none() || !self.forecast.due(t) {
            return;
        }
        match self.compare(run, t, stop) {
            Ok(error) => self.forecast.see(t, error),
            Err(why) => return self.lose(why),
        }
        if self.forecast.is_spent(self.statistics().residual_evaluations, t) {
            self.forecast.end_pilot();
        }
    }

    /// The error of the run at a time, by its difference from the companion.
    fn compare(&mut self, run: &dyn Engine, t: f64, stop: f64) -> Result<f64, Unknown> {
        self.catch_up(t, stop).ok_or(Unknown::Stuck(t))?;
        self.dynamics.differ(run.state(), &self.at, &mut self.difference);
        let apart = self.difference.iter().zip(&self.units).map(|(d, unit)| (d * unit).abs());
        // a difference that is no number is not small
        let apart = apart.fold(0.0f64, |m, d| if d > m || d.is_nan() { d } else { m });
        if apart < LOST { Ok(apart / (self.ratio - 1.0)) } else { Err(Unknown::Lost(t)) }
    }

    /// Takes the companion to a time, and its state there.
    fn catch_up(&mut self, t: f64, stop: f64) -> Option<()> {
        let most = if self.limits { usize::MAX } else { self.forecast.most() };
        let engine = self.engine.as_mut()?;
        while engine.state().t < t {
            if engine.statistics().residual_evaluations > most {
                return None;
            }
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
        match a.found {
            Some(found) => a.since = a.since.max(found.error(now, a.dose) - a.before),
            None if t >= a.pilot_until && now < 1.0 && a.dose > 0.0 => {
                a.found = Some(PilotResult { error: a.before + a.since, dose: a.dose, at: now });
            }
            None => {}
        }
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

    /// The largest accumulated error up to a time, in sizes of the machine, or why it is not known.
    pub fn error(&self, t: f64) -> Result<f64, Option<String>> {
        if !self.limits {
            return self.forecast.error(t).map_err(Unknown::words);
        }
        let a = &self.account;
        let foreseen = t <= a.from + a.span * (1.0 + 1e-9);
        let known = a.complete && foreseen && a.looked > a.from;
        if known { Ok(a.before + a.since) } else { Err(None) }
    }

    /// What the companions took.
    pub fn statistics(&self) -> Statistics {
        let mut all = self.earlier;
        if let Some(engine) = &self.engine {
            all += engine.statistics();
        }
        all
    }

    /// Tells a tape all that it remembers.
    pub fn keep(&mut self, tape: &mut Tape) {
        tape.plain(&mut self.account);
        tape.plain(&mut self.forecast);
        tape.plain(&mut self.earlier);
        tape.number(&mut self.ratio);
        tape.plain(&mut self.at);
        tape.option(&mut self.engine, || None);
        if let Some(engine) = &mut self.engine {
            engine.keep(tape);
        }
    }

    /// What is needed to go on from here later.
    pub fn save(&self) -> (Account, Forecast) {
        (self.account, self.forecast)
    }

    /// Goes back to what was known then; the engines begin anew after it.
    pub fn restore(&mut self, (account, forecast): (Account, Forecast)) {
        self.account = account;
        self.forecast = forecast;
    }
}

/// Whether a run has steps that follow an error.
fn is_controlled(plan: &EnginePlan) -> bool {
    match plan {
        EnginePlan::Explicit { step, .. } => step.is_none(),
        EnginePlan::Implicit(plan) => plan.step.is_none(),
        EnginePlan::Kinematic { .. } | EnginePlan::Regularized { .. } => false,
    }
}

/// Whether it can be told what its error is.
fn tells(plan: &EnginePlan, options: &Options) -> bool {
    is_controlled(plan) && options.testing.budget == ErrorBudget::Told
}
