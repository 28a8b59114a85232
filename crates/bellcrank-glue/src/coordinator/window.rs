//! One window: predict the loads, let the parts try them, correct until the joints hold, commit.

use super::equations::{Residuals, halved};
use super::history::{HeldLoad, LastWindow};
use super::least::not_unique;
use super::{Coordinator, largest, minus};
use crate::foresee::Past;
use crate::options::{Coupling, GlueError, Levels, Relaxed};
use crate::port::{PortMotion, displacement, twist};
use crate::subdomain::{Admittance, Upcoming, Window};

/// A contraction of the residual worse than this asks for a new admittance: it comes with the next answer of parts that
/// can tell it, but costs several exchanges where differences must find it.
const SLOW: f64 = 0.02;
const SLOW_BY_DIFFERENCES: f64 = 0.3;

/// From this attempt on, a residual that grows is divergence.
const DIVERGES_FROM: usize = 6;

/// A window is accepted as predicted only if its loads balance to this fraction of the tolerance: the imbalance of a prediction
/// is systematic and moves the machine a little more in every window, while gaps do not add up.
pub(super) const PREDICTED: f64 = 1e-4;

/// The loads of a window agree if their imbalance is below this many tolerances of balance, as a fraction of themselves.
const AGREE: f64 = 10.0;

/// A first guess that displaces ports by more than this many lengths beyond what the springs between them ask for is given up.
const FAR: f64 = 0.05;

/// Local errors add up: a window may take this fraction of the tolerance.
const LOCAL: f64 = 0.1;

/// The unknowns of a window.
#[derive(Clone)]
pub(super) struct Unknowns {
    pub lambda: Vec<f64>,
    pub mu: Vec<f64>,
    /// In the world.
    pub load: Vec<f64>,
    pub shift: Vec<f64>,
}

/// The answers of all parts to an attempt.
pub(super) struct Answer {
    pub motions: Vec<PortMotion>,
    admittances: Option<Vec<Admittance>>,
    error: f64,
    rough: bool,
}

/// How a window ended.
pub(super) enum Crossed {
    Committed,
    /// Its error is too large.
    Rejected,
    /// It is the first, and something fast died out within it.
    Rough,
}

/// The search for the loads of a window.
struct Search {
    window: Window,
    /// One prediction for every order.
    predicted: Vec<Unknowns>,
    x: Unknowns,
    /// From 1.
    attempt: usize,
    /// The residual of the attempt before, in tolerances, and by what the last one multiplied it.
    before: f64,
    contraction: f64,
    /// Load and motions of the attempt before.
    tried: Option<(Vec<f64>, Vec<PortMotion>)>,
    /// The residuals of the first two attempts.
    first: f64,
    second: Option<f64>,
}

/// One attempt: the motions under the loads of a search.
struct Trial {
    motions: Vec<PortMotion>,
    error: f64,
    rough: bool,
    /// Whether the parts were asked for their admittances.
    asked: bool,
    /// Whether differences have left the parts under other loads.
    elsewhere: bool,
}

impl Coordinator {
    /// Lets all parts try a window.
    pub(super) fn attempt_parts(
        &mut self,
        window: &Window,
        load: &[f64],
        shift: &[f64],
        admittance: bool,
    ) -> Result<Answer, GlueError> {
        let (loads, shifts) = (self.by_part(load), self.by_part(shift));
        for (part, (load, shift)) in self.parts.iter_mut().zip(loads.iter().zip(&shifts)) {
            part.announce(&Upcoming::Attempt(window, load, shift, admittance));
        }
        let mut answers = Vec::new();
        for (k, (load, shift)) in loads.iter().zip(&shifts).enumerate() {
            answers.push(self.timed(k, |p| p.attempt(window, load, shift, admittance))?);
        }
        self.report.exchanges += 1;
        let motions = self.site_motions(&answers)?;
        let error = answers.iter().map(|a| a.error).fold(0.0, f64::max);
        let rough = answers.iter().any(|a| a.rough);
        Ok(Answer { motions, admittances: answers.into_iter().map(|a| a.admittance).collect(), error, rough })
    }

    /// Predicts the unknowns of a window: λ, μ and F by polynomials of every order there are values for, the geometry
    /// from velocities and accelerations.
    fn predict(&mut self, window: &Window) -> Vec<Unknowns> {
        let held = self.options.coupling == Coupling::Windows;
        let when = if held { 0.5 * (window.from + window.to) } else { window.to };
        let LastWindow { length: passed, motions: before } = &self.history.before;
        let there = self.history.motions.iter().zip(before).map(|(m, b)| m.after(window.length(), b, *passed));
        let there: Vec<PortMotion> = there.collect();
        self.interface.place(window.to, &there, &self.history.lambda);
        let own = self.interface.pull();
        let to_world = self.interface.to_own().transpose();
        let pull_mu = to_world.times(&self.rate_columns(&own));
        let mut pull = to_world.times(&own);
        if held {
            pull = halved(&pull, &self.history.law.pull);
        }
        let of_order = |order: usize| {
            let (mut lambda, mut mu, force) = self.history.foresight.values(order, when, window.to);
            mu.resize(self.history.mu.len(), 0.0);
            self.make_least(&mut lambda, &mut mu);
            let mut load = force;
            if held {
                load.iter_mut().zip(&self.history.law.force).for_each(|(a, b)| *a = 0.5 * (*a + b));
            }
            let load = minus(&load, &pull.apply(&lambda));
            let shift = match self.options.coupling {
                Coupling::Stabilized => pull_mu.apply(&mu).iter().map(|x| -x).collect(),
                _ => vec![0.0; load.len()],
            };
            Unknowns { lambda, mu, shift, load }
        };
        (0..self.history.foresight.orders()).map(of_order).collect()
    }

    /// Takes from multipliers what moves nothing, by the last correction.
    fn make_least(&self, lambda: &mut [f64], mu: &mut [f64]) {
        let Some(moving) = &self.history.admittance.moving else { return };
        let all: Vec<f64> = lambda.iter().chain(&*mu).take(moving.columns).copied().collect();
        lambda.iter_mut().chain(mu).zip(moving.apply(&all)).for_each(|(x, least)| *x = least);
    }

    /// Crosses one window; false if its error is too large and nothing was committed.
    ///
    /// A first window in which something fast dies out is taken back and passed with damping, as a run of the whole does;
    /// error control finds a shorter one instead.
    pub fn window(&mut self, length: f64) -> Result<bool, GlueError> {
        self.window_to(self.history.t + length)
    }

    /// The same up to a time.
    pub(super) fn window_to(&mut self, to: f64) -> Result<bool, GlueError> {
        let fresh = self.history.foresight.orders() == 1 && self.options.rtol.is_none();
        if fresh && self.history.number == 0 && self.options.soft == Some(true) {
            self.parts.iter_mut().try_for_each(|p| p.soften())?;
        }
        let mut crossed = self.cross(to);
        if fresh && matches!(crossed, Ok(Crossed::Rough) | Err(GlueError::Diverged { .. } | GlueError::Part(_))) {
            self.parts.iter_mut().try_for_each(|p| p.soften())?;
            self.history.admittance.stale = true;
            crossed = self.cross(to);
        }
        Ok(matches!(crossed?, Crossed::Committed))
    }

    fn cross(&mut self, to: f64) -> Result<Crossed, GlueError> {
        let window = Window { number: self.history.number, from: self.history.t, to };
        if self.options.coupling.corrects() {
            return self.cross_by_corrections(&window);
        }
        let length = window.length();
        let predicted = self.predict(&window);
        let x = predicted[self.history.foresight.best()].clone();
        if self.options.coupling == Coupling::Explicit {
            return self.cross_explicitly(&window, x);
        }
        self.stretch_admittance(length);
        let before = f64::INFINITY;
        let mut search = Search {
            window,
            predicted,
            x,
            attempt: 0,
            before,
            contraction: 0.0,
            tried: None,
            first: 0.0,
            second: None,
        };
        for attempt in 1..=self.options.max_attempts {
            search.attempt = attempt;
            let trial = match self.attempt(&search) {
                // loads that grow from iterate to iterate are more than a part can take
                Err(GlueError::Part(_)) if attempt > 1 && self.options.coupling == Coupling::Relaxation => break,
                trial => trial?,
            };
            let Some(mut y) = self.history.admittance.matrix.take() else { break };
            self.learn_from(&mut search, &trial, &mut y);
            let rest = self.residuals(&window, &search.x);
            let left = rest.levels(&y);
            let worst = self.worst(&left, &rest, length, attempt);
            match attempt {
                // an admittance costs a part in step next to nothing, and one with its own solver several windows
                1 if self.options.coupling == Coupling::Windows => {
                    search.first = self.worst(&left, &rest, length, 2);
                }
                1 => search.first = worst,
                2 => search.second = Some(worst),
                _ => {}
            }
            let agree = self.loads_agree(&rest, &search.x);
            if worst <= 1.0 && self.is_sure(attempt, agree) {
                return self.accept(search, trial, y, &left);
            }
            // measured by an old admittance, an imbalance may look harmless that is none
            self.history.admittance.stale |= worst <= 1.0 && self.parts_tell();
            self.correct(&mut search, trial.motions, y, &rest, left.dynamics, worst)?;
        }
        let gaps = self.interface.position();
        let failed = self.diverged(length, &gaps);
        Err(self.relaxed(failed, search.contraction))
    }

    /// A failure with what relaxation has to say about it.
    fn relaxed(&self, failed: GlueError, factor: f64) -> GlueError {
        let across = if self.interface.rows().0 > 0 { Relaxed::Joints } else { Relaxed::Forces };
        match failed {
            GlueError::Diverged { t, length, joint, gap, .. } if self.options.coupling == Coupling::Relaxation => {
                GlueError::Diverged { t, length, joint, gap, relaxed: Some((across, factor)) }
            }
            other => other,
        }
    }

    /// Takes the springs' loads from the start of the window.
    fn cross_explicitly(&mut self, window: &Window, mut x: Unknowns) -> Result<Crossed, GlueError> {
        x.load.clone_from(&self.history.law.force);
        let held = x.load.clone();
        let motions = self.attempt_parts(window, &x.load, &x.shift, false)?.motions;
        self.report.most = self.report.most.max(1);
        self.commit(window, x, motions)?;
        let change = self.interface.to_own().apply(&minus(&self.history.law.force, &held));
        if self.report.lag.by_load.is_some() {
            let at = self.interface.linearize();
            self.report.lag.add(window.length(), &change, &at.stiffness, &at.damping);
        }
        Ok(Crossed::Committed)
    }

    /// Lets the parts try the loads of a search, and finds a new admittance where the old one is not trusted.
    fn attempt(&mut self, search: &Search) -> Result<Trial, GlueError> {
        let (window, x) = (&search.window, &search.x);
        let in_step = self.options.coupling != Coupling::Windows;
        let known = &self.history.admittance;
        let need = known.stale || known.matrix.is_none();
        let asked = need || (!in_step && known.told.is_none());
        let answer = self.attempt_parts(window, &x.load, &x.shift, asked)?;
        let motions = answer.motions;
        self.interface.place(window.to, &motions, &x.lambda);
        let mut elsewhere = false;
        let told = answer.admittances.filter(|_| asked);
        if asked && !in_step {
            self.history.admittance.told = Some(told.is_some());
        }
        if need || told.is_some() {
            self.report.admittances += 1;
            let y = match told {
                Some(told) => self.gather(&told),
                None => {
                    elsewhere = true;
                    let y = self.by_differences(window, &x.load, &motions)?;
                    self.interface.place(window.to, &motions, &x.lambda);
                    y
                }
            };
            let known = &mut self.history.admittance;
            known.matrix = Some(y);
            known.stale = false;
            known.age = 0;
        }
        Ok(Trial { motions, error: answer.error, rough: answer.rough, asked, elsewhere })
    }

    /// Improves the admittance by the last correction, for parts with their own solvers.
    fn learn_from(&self, search: &mut Search, trial: &Trial, y: &mut Admittance) {
        let in_step = self.options.coupling != Coupling::Windows;
        if let Some((load, at)) = search.tried.take().filter(|_| !in_step && !trial.asked) {
            let to_own = self.interface.to_own();
            let moved = to_own.apply(&displacement(&trial.motions, &at));
            let twist = to_own.apply(&twist(&trial.motions, &at));
            self.learn(y, &to_own.apply(&minus(&search.x.load, &load)), &moved, &twist);
        }
    }

    /// The joints hold: judges the error of the window, and commits it.
    fn accept(&mut self, search: Search, trial: Trial, y: Admittance, left: &Levels) -> Result<Crossed, GlueError> {
        let Search { window, predicted, x, attempt, first, second, .. } = search;
        if trial.elsewhere {
            self.attempt_parts(&window, &x.load, &x.shift, false)?;
            self.interface.place(window.to, &trial.motions, &x.lambda);
        }
        self.report.most = self.report.most.max(attempt);
        self.error = match self.options.rtol {
            Some(rtol) if self.options.coupling != Coupling::Windows => trial.error / rtol,
            _ => self.estimate(&window, &x, &y),
        };
        if self.error > 1.0 {
            self.history.admittance.matrix = Some(y);
            // stiff parts answer otherwise in a window of another length
            self.history.admittance.stale |= self.parts_tell();
            self.report.rejected += 1;
            return Ok(Crossed::Rejected);
        }
        // what the whole found at its start says nothing of what is behind a breakpoint
        let parts_judge = self.options.soft.is_none() || self.history.number > 0;
        if trial.rough && self.options.rtol.is_none() && parts_judge {
            return Ok(Crossed::Rough);
        }
        self.report.residuals.raise_to(left);
        self.record_not_unique();
        self.score(&predicted, &x, &y);
        self.history.admittance.matrix = Some(y);
        self.age_admittance(first, second);
        self.commit(&window, x, trial.motions)?;
        Ok(Crossed::Committed)
    }

    /// Corrects the loads of a search for its next attempt.
    fn correct(
        &mut self,
        search: &mut Search,
        motions: Vec<PortMotion>,
        y: Admittance,
        rest: &Residuals,
        imbalance: f64,
        worst: f64,
    ) -> Result<(), GlueError> {
        let (attempt, length) = (search.attempt, search.window.length());
        if attempt == 1 && imbalance > FAR * self.interface.system_length() {
            // springs teach nothing at a place where their own load has thrown them
            let pull = self.interface.to_own().transpose().times(&rest.effective);
            search.x.load = pull.apply(&search.x.lambda).iter().map(|x| -x).collect();
            self.history.admittance.matrix = Some(y);
            return Ok(());
        }
        // an old admittance that contracts badly is asked for again; at the floor of rounding it may stay
        let slow = if self.parts_tell() { SLOW } else { SLOW_BY_DIFFERENCES };
        self.history.admittance.stale |= attempt > 1 && worst > slow * search.before;
        search.contraction = worst / search.before;
        if !worst.is_finite() || (attempt > DIVERGES_FROM && worst > search.before) {
            let failed = self.diverged(length, &rest.rows);
            return Err(self.relaxed(failed, search.contraction));
        }
        search.before = worst;
        search.tried = Some((search.x.load.clone(), motions));
        let solved = self.solve(&search.window, &y, rest, &mut search.x);
        self.history.admittance.matrix = Some(y);
        if solved { Ok(()) } else { Err(self.diverged(length, &rest.rows)) }
    }

    /// Whether the loads that were tried are those that the interface gives, as a fraction of themselves; torques count as
    /// forces on an arm of one length. An imbalance that moves next to nothing in one window adds up over many.
    ///
    /// Joints alone need no such test: what their loads miss shows as a gap.
    fn loads_agree(&self, rest: &Residuals, x: &Unknowns) -> bool {
        if self.interface.system().model.forces.is_empty() {
            return true;
        }
        let size = |own: &[f64]| largest(&self.interface.as_forces(own));
        size(&rest.load) <= AGREE * self.options.tolerances.dynamics * size(&self.interface.to_own().apply(&x.load))
    }

    /// Whether small residuals can be believed. What was predicted stands if its loads agree. What was corrected may also be
    /// measured by the displacement that its imbalance causes, if the admittance is of this window: at a dead centre an old one
    /// is zero in the very direction of the load.
    fn is_sure(&self, attempt: usize, agree: bool) -> bool {
        let learned = self.options.coupling == Coupling::Windows;
        agree || (attempt > 1 && (learned || self.history.admittance.age == 0))
    }

    /// The largest residual, in tolerances.
    fn worst(&self, left: &Levels, rest: &Residuals, length: f64, attempt: usize) -> f64 {
        let (allowed, size) = (&self.options.tolerances, self.interface.system_length());
        let position = match self.options.coupling {
            Coupling::Windows => 0.0,
            _ => left.position / (allowed.position * size),
        };
        let velocity = match self.options.coupling {
            Coupling::Position | Coupling::Relaxation => 0.0,
            Coupling::Windows => largest(&rest.rows) * length / (allowed.velocity.min(allowed.position) * size),
            _ => left.velocity * length / (allowed.velocity * size),
        };
        let fraction = if attempt == 1 { PREDICTED } else { 1.0 };
        let dynamics = left.dynamics / (fraction * allowed.dynamics * size);
        [position, velocity, dynamics].into_iter().fold(0.0f64, |m, x| if x.is_nan() { f64::NAN } else { m.max(x) })
    }

    /// Remembers the joints whose multipliers are not unique.
    pub(super) fn record_not_unique(&mut self) {
        let Some(moving) = &self.history.admittance.moving else { return };
        let m = self.interface.rows().0;
        let names: Vec<String> =
            not_unique(moving).filter(|row| *row < m).map(|row| self.interface.owner(row)).collect();
        for name in names {
            if !self.report.not_unique.contains(&name) {
                self.report.not_unique.push(name);
            }
        }
    }

    /// Scores every order of prediction by the displacement its loads would have been off.
    fn score(&mut self, predicted: &[Unknowns], found: &Unknowns, y: &Admittance) {
        let to_own = self.interface.to_own();
        let off = |guess: &Unknowns| {
            let load = y.place.apply(&to_own.apply(&minus(&guess.load, &found.load)));
            let shift = y.place_by_shift.apply(&to_own.apply(&minus(&guess.shift, &found.shift)));
            largest(&load).max(largest(&shift))
        };
        let off: Vec<f64> = predicted.iter().map(off).collect();
        self.history.foresight.score(off.into_iter());
    }

    /// The error of a window whose load was held, in tolerances: a load that changes at the rate ℓ̇ displaces by
    /// H³/12 · M⁻¹ℓ̇ more than its mean does, and H²/2 · M⁻¹ is the admittance.
    fn estimate(&self, window: &Window, x: &Unknowns, y: &Admittance) -> f64 {
        let (Some(rtol), Some(held)) = (self.options.rtol, &self.history.held) else { return 0.0 };
        let passed = 0.5 * (window.from + window.to) - held.middle;
        let change = minus(&x.load, &held.load);
        let moved = largest(&y.place.apply(&self.interface.to_own().apply(&change))) * window.length() / (6.0 * passed);
        moved / (LOCAL * rtol * self.interface.system_length())
    }

    pub(super) fn commit(&mut self, window: &Window, x: Unknowns, motions: Vec<PortMotion>) -> Result<(), GlueError> {
        for k in 0..self.parts.len() {
            self.timed(k, |p| p.commit())?;
        }
        self.interface.place(window.to, &motions, &x.lambda);
        self.interface.settle();
        self.interface.place(window.to, &motions, &x.lambda);
        self.record_law();
        let middle = 0.5 * (window.from + window.to);
        let when = if self.options.coupling == Coupling::Windows { middle } else { window.to };
        let h = &mut self.history;
        h.lambda = x.lambda;
        h.mu = x.mu;
        h.before = LastWindow { length: window.length(), motions: std::mem::replace(&mut h.motions, motions) };
        let (lambda, mu, force) = (h.lambda.clone(), h.mu.clone(), h.law.force.clone());
        h.foresight.push(Past { when, at: window.to, lambda, mu, force });
        h.held = Some(HeldLoad { middle, load: x.load });
        h.t = window.to;
        h.number += 1;
        h.accelerated = false;
        self.report.windows += 1;
        Ok(())
    }
}
