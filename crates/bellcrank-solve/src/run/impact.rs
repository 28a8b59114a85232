//! What happens to a state at an event: velocities jump, modes hold other motions, and it goes back onto the constraints.
//!
//! Everything that may hold a motion at an instant (gaps, dry friction) decides together, in two problems of complementarity:
//!
//! 1. *Impulses*. Gaps that close at a rate are struck, with Newton's restitution and Coulomb's friction, all that approach at once;
//!    those that approach then are struck next, until none does [Smith et al. 2012]. Each round keeps or takes energy.
//! 2. *Accelerations*. Of what is at rest then, loads decide what stays closed, what sticks, what slips and what opens
//!    (`resting.rs`).

use super::complementarity::{LoadLaw, Problem, Rub};
use super::observer::Observer;
use super::resting::Instant;
use crate::engines::StepError;
use crate::linear::projection::Projection;
use crate::machine::StartError;
use crate::start::{self, Assembly, AssemblyError};
use bellcrank_model::dynamics::{BY_VALUE, Candidate, Follower, HoldingLaw, Mode};
use bellcrank_model::{Dynamics, Point, Subject};
use std::sync::Arc;

/// What all that may hold did at an instant.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    /// What happened, each with what it happened to.
    pub events: Vec<(Subject, &'static str)>,
    /// The change of the kinetic energy.
    pub work: f64,
}

/// A start beyond a hard contact by more than this part of the model's length is not rounding.
const BEYOND: f64 = 1e-8;

/// A gap below this part of the model's length is closed.
const TOUCHES: f64 = 1e-10;

/// The part of `rest_speed`, and of the terms it is summed from, below which the rate of a gap is none.
pub(super) const OF_REST: f64 = 1e-6;
pub(super) const OF_SUM: f64 = 1e-10;

/// A rate of sliding that counts as none.
pub(super) const AT_REST: f64 = 1e-9;

/// Most rounds of impacts at an instant. After them all that approaches comes to rest.
const ROUNDS: usize = 1000;

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn add(c: f64, x: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(x).for_each(|(o, x)| *o += c * x);
}

/// Rows on v, and the velocities that unit impulses along them cause.
#[derive(Default)]
pub(super) struct Rows {
    pub rows: Vec<Vec<f64>>,
    pub responses: Vec<Vec<f64>>,
    /// The multipliers that they change.
    pub reactions: Vec<Vec<f64>>,
}

impl Rows {
    /// W = N M̂⁻¹ Nᵀ of some of them, by rows.
    fn mobilities(&self, chosen: &[usize]) -> Vec<f64> {
        chosen.iter().flat_map(|i| chosen.iter().map(|j| dot(&self.rows[*i], &self.responses[*j]))).collect()
    }
}

/// A gap in the first problem.
struct Struck {
    /// Its first row; those across follow.
    row: usize,
    tangents: usize,
    restitution: f64,
    rest: f64,
    friction: f64,
    /// A rate that is none.
    none: f64,
    impulse: f64,
}

impl Struck {
    /// The restitution at a rate.
    fn at_rate(&self, rate: f64) -> f64 {
        if -self.restitution * rate > self.rest { self.restitution } else { 0.0 }
    }

    fn rows(&self) -> std::ops::Range<usize> {
        self.row..self.row + 1 + self.tangents
    }
}

impl Observer {
    /// Gives a start its modes, unless it has them, and the equations that hold what they hold. A start beyond a hard contact or
    /// stop is moved out where that is asked for, and refused elsewhere.
    pub(super) fn lock(&mut self, start: &Point, report: &mut Assembly) -> Result<Point, StartError> {
        start.store(&mut self.state);
        self.push_out(report)?;
        self.place();
        let modes = self.dynamics.modes(&self.point, &mut self.w);
        let kept = &mut self.state.charts.modes;
        if kept.len() != modes.len() || kept.contains(&BY_VALUE) {
            *kept = modes;
        }
        self.hold();
        Ok(self.consistent()?)
    }

    /// Moves bodies out of hard contacts and stops, along with whatever joints hold.
    fn push_out(&mut self, report: &mut Assembly) -> Result<(), StartError> {
        let least = BEYOND * self.dynamics.length();
        let beyond = |observer: &mut Observer| {
            observer.place();
            let mut all = observer.dynamics.candidates(&observer.point, &mut observer.w);
            all.retain(|c| matches!(c.law, HoldingLaw::Gap { gap, .. } if gap < -least));
            all
        };
        let refused = |observer: &Observer, c: &Candidate| {
            let HoldingLaw::Gap { gap, .. } = c.law else { return Ok(()) };
            let culprit = observer.dynamics.subject_of_slot(c.slot);
            Err(StartError::Assembly(AssemblyError::Beyond { culprit, by: -gap }))
        };
        let inside = beyond(self);
        let asked = |c: &&Candidate| matches!(c.law, HoldingLaw::Gap { push_out: true, .. });
        if let Some(c) = inside.iter().find(|c| !asked(c)) {
            return refused(self, c);
        }
        if inside.is_empty() {
            return Ok(());
        }
        let kept = self.state.clone();
        let mut modes = self.dynamics.modes(&self.point, &mut self.w);
        for c in &inside {
            if let HoldingLaw::Gap { modes: own, .. } = c.law {
                modes[c.slot] = own.closed;
            }
        }
        self.move_onto(modes)?;
        if let Some(c) = beyond(self).first() {
            return refused(self, c);
        }
        start::moved(&*self.dynamics, &kept, &self.point, report);
        Ok(())
    }

    /// Moves `self.state` to where what some modes hold is closed; velocities and its own modes stay.
    fn move_onto(&mut self, modes: Vec<Mode>) -> Result<(), StepError> {
        let (t, kept) = (self.state.t, self.state.clone());
        let held: Arc<dyn Dynamics> = self.base.holding(&modes).unwrap_or_else(|| self.base.clone());
        let mut at = Point::at(&self.state, held.layout());
        at.charts.modes = modes;
        let projected = Projection::new(held.clone()).apply(&*held, &mut at, &mut held.workspace());
        projected.map_err(|_| Observer::singular(t))?;
        at.store(&mut self.state);
        (self.state.v, self.state.charts.modes) = (kept.v, kept.charts.modes);
        self.state.charts.left_out = kept.charts.left_out;
        Ok(())
    }

    /// Closes gaps that others hold so, or held until now. They have no row of their own, and friction holds rates alone: a method
    /// lets them drift, and what is beyond its slack, or opens from there, would be found closed at once again.
    fn close_carried(&mut self) -> Result<(), StepError> {
        self.place();
        let least = TOUCHES * self.dynamics.length();
        let mut modes = self.state.charts.modes.clone();
        let mut beyond = false;
        for c in self.dynamics.candidates(&self.point, &mut self.w) {
            match c.law {
                HoldingLaw::Gap { gap, modes: own, .. }
                    if [own.carried, own.open].contains(&c.mode) && gap < -least =>
                {
                    (modes[c.slot], beyond) = (own.closed, true);
                }
                HoldingLaw::Dry { modes: own, .. } if c.mode == own.sticks => modes[c.slot] = own.carried,
                _ => {}
            }
        }
        if beyond { self.move_onto(modes) } else { Ok(()) }
    }

    /// Changes to the equations that hold what the modes of `self.state` hold; whether they are others.
    pub(super) fn hold(&mut self) -> bool {
        let Some(dynamics) = self.dynamics.holding(&self.state.charts.modes) else { return false };
        self.take(dynamics);
        true
    }

    /// `self.state`, put onto the constraints, with its rates, accelerations and reactions.
    pub(super) fn consistent(&mut self) -> Result<Point, StepError> {
        self.place();
        let t = self.state.t;
        let projection = self.projection.get_or_insert_with(|| Projection::new(self.dynamics.clone()));
        let projected = projection.apply(&*self.dynamics, &mut self.point, &mut self.w);
        projected.map_err(|_| Observer::singular(t))?;
        self.point.store(&mut self.state);
        let state = self.state.clone();
        self.complete(&state)
    }

    /// Lets everything that may hold a motion at `self.state` decide: velocities jump, and its modes change. `trigger` is the place
    /// among the modes of what made the event.
    pub(super) fn resolve(&mut self, trigger: Option<usize>) -> Result<Resolved, StepError> {
        self.place();
        let before = self.dynamics.candidates(&self.point, &mut self.w);
        let length = self.dynamics.length();
        let active: Vec<usize> = before.iter().filter(|c| is_active(c, trigger, length)).map(|c| c.slot).collect();
        let rates: Vec<f64> = before.iter().map(|c| dot(&c.rows[0], &self.state.v)).collect();
        let (struck, work) = self.strike(&before, &active)?;
        self.place();
        let now = self.dynamics.candidates(&self.point, &mut self.w);
        let instant = Instant { trigger, active, jumped: !struck.is_empty(), rates, was: before, now };
        self.decide(&instant)?;
        self.close_carried()?;
        let mut events = Vec::new();
        for before in &instant.was {
            let after = self.state.charts.modes[before.slot];
            if let Some(what) = told(before, after, struck.contains(&before.slot)) {
                events.push((self.dynamics.subject_of_slot(before.slot), what));
            }
        }
        Ok(Resolved { events, work })
    }

    /// Strikes all gaps that close, until none does. Gives the places of those that were struck, and the change of the energy.
    fn strike(&mut self, candidates: &[Candidate], active: &[usize]) -> Result<(Vec<usize>, f64), StepError> {
        let mut gaps: Vec<(usize, Struck)> = Vec::new();
        let mut n = 0;
        for c in candidates.iter().filter(|c| active.contains(&c.slot)) {
            let HoldingLaw::Gap { restitution, rest, friction, .. } = c.law else { continue };
            let sum: f64 = c.rows[0].iter().zip(&self.state.v).map(|(r, v)| (r * v).abs()).sum();
            let none = (OF_REST * rest).max(OF_SUM * sum);
            let tangents = c.rows.len() - 1;
            gaps.push((c.slot, Struck { row: n, tangents, restitution, rest, friction, none, impulse: 0.0 }));
            n += c.rows.len();
        }
        let closing = |gaps: &[(usize, Struck)], rows: &[&Vec<f64>], v: &[f64]| -> Vec<usize> {
            let closes = |k: &usize| dot(rows[gaps[*k].1.row], v) < -gaps[*k].1.none;
            (0..gaps.len()).filter(closes).collect()
        };
        let rows: Vec<&Vec<f64>> =
            candidates.iter().filter(|c| gaps.iter().any(|(slot, _)| *slot == c.slot)).flat_map(|c| &c.rows).collect();
        if closing(&gaps, &rows, &self.state.v).is_empty() {
            return Ok((Vec::new(), 0.0));
        }
        let before = self.kinetic();
        let all = self.respond(rows.iter().map(|row| (*row).clone()).collect())?;
        for round in 0.. {
            let approaching = closing(&gaps, &rows, &self.state.v);
            if approaching.is_empty() {
                break;
            }
            let bounces = |k: &usize| {
                let gap = &gaps[*k].1;
                gap.at_rate(dot(rows[gap.row], &self.state.v)) > 0.0
            };
            // what would leave next to nothing comes to rest with all that it touches
            let last = round == ROUNDS || !approaching.iter().any(bounces);
            let chosen = if last { (0..gaps.len()).collect() } else { approaching };
            self.strike_once(&mut gaps, &chosen, &all, last);
            if last {
                break;
            }
        }
        let struck = gaps.iter().filter(|(_, gap)| gap.impulse > 0.0).map(|(slot, _)| *slot).collect();
        Ok((struck, self.kinetic() - before))
    }

    /// Strikes some gaps at once, to rest if they are the last.
    fn strike_once(&mut self, gaps: &mut [(usize, Struck)], chosen: &[usize], all: &Rows, last: bool) {
        let index: Vec<usize> = chosen.iter().flat_map(|k| gaps[*k].1.rows()).collect();
        let before: Vec<f64> = index.iter().map(|i| dot(&all.rows[*i], &self.state.v)).collect();
        let w = all.mobilities(&index);
        let laws: Vec<LoadLaw> = chosen.iter().map(|k| gaps[*k].1.law()).collect();
        let mut firsts = Vec::new();
        chosen.iter().fold(0, |at, k| {
            firsts.push(at);
            at + 1 + gaps[*k].1.tangents
        });
        // Newton's law, with this part of every restitution
        let solve = |part: f64| {
            let mut free = before.clone();
            for (k, first) in chosen.iter().zip(&firsts).filter(|_| !last) {
                free[*first] *= 1.0 + part * gaps[*k].1.at_rate(before[*first]);
            }
            let problem = Problem::new(&laws, w.clone(), free);
            let p = problem.solve();
            let n = before.len();
            let jump = |i: usize| dot(&w[i * n..(i + 1) * n], &p);
            let gained: f64 = (0..n).map(|i| p[i] * (before[i] + 0.5 * jump(i))).sum();
            (p, gained)
        };
        let (mut p, mut gained) = solve(1.0);
        // friction and several gaps can make Newton's law win energy: then restitution is less
        let size: f64 = p.iter().zip(&before).map(|(p, u)| (p * u).abs()).sum();
        if gained > 1e-12 * size {
            let (mut least, mut most) = (0.0, 1.0);
            (p, gained) = solve(0.0);
            for _ in 0..30 {
                let middle = 0.5 * (least + most);
                let (with, gains) = solve(middle);
                if gains <= 0.0 {
                    (p, gained, least) = (with, gains, middle);
                } else {
                    most = middle;
                }
            }
        }
        debug_assert!(gained <= 1e-9 * size, "an impact made energy: {gained}");
        for (i, p) in index.iter().zip(&p) {
            add(*p, &all.responses[*i], &mut self.state.v);
        }
        for (k, first) in chosen.iter().zip(&firsts) {
            gaps[*k].1.impulse += p[*first];
        }
    }

    /// The kinetic energy of `self.state`.
    pub(super) fn kinetic(&mut self) -> f64 {
        self.place();
        self.dynamics.energy(&self.point, &mut self.w).kinetic
    }

    /// How the machine answers to unit impulses along rows, with nothing held. Impulses do not rub.
    pub(super) fn respond(&mut self, rows: Vec<Vec<f64>>) -> Result<Rows, StepError> {
        self.respond_following(rows, &[])
    }

    /// How the machine answers to unit loads along rows, with nothing held, where other loads follow multipliers.
    pub(super) fn respond_following(&mut self, rows: Vec<Vec<f64>>, followers: &[Follower]) -> Result<Rows, StepError> {
        let t = self.state.t;
        let (kkt, mut w) = self.free.take().unwrap_or_else(|| (self.kkt.of(self.base.clone()), self.base.workspace()));
        let at = Point::at(&self.state, self.base.layout());
        w.invalidate();
        self.base.realize(&at, &mut w);
        let mut out = Rows::default();
        {
            let mut kkt = kkt.lock();
            kkt.factor(&at, &mut w).map_err(|_| Observer::singular(t))?;
            let answers = kkt.respond_following(&rows, followers).map_err(|_| Observer::singular(t))?;
            (out.responses, out.reactions) = answers.into_iter().unzip();
        }
        out.rows = rows;
        self.free = Some((kkt, w));
        Ok(out)
    }

    /// v̇ at `self.state` with nothing held.
    pub(super) fn accelerate_freely(&mut self) -> Result<Point, StepError> {
        let t = self.state.t;
        let (kkt, mut w) = self.free.take().unwrap_or_else(|| (self.kkt.of(self.base.clone()), self.base.workspace()));
        let mut at = Point::at(&self.state, self.base.layout());
        w.invalidate();
        self.base.realize(&at, &mut w);
        let done = kkt.lock().accelerate(&mut at, &mut w);
        self.free = Some((kkt, w));
        done.map_err(|_| Observer::singular(t))?;
        Ok(at)
    }
}

impl Struck {
    fn law(&self) -> LoadLaw {
        let rubs = if self.tangents > 0 { Rub::Sticks(self.friction) } else { Rub::Not };
        LoadLaw::Gap { tangents: self.tangents, rubs }
    }
}

/// Whether something may hold at this instant.
fn is_active(c: &Candidate, trigger: Option<usize>, length: f64) -> bool {
    match c.law {
        HoldingLaw::Gap { gap, modes, .. } => {
            trigger == Some(c.slot) || c.mode != modes.open || gap <= TOUCHES * length
        }
        HoldingLaw::Dry { rate, modes, .. } => {
            trigger == Some(c.slot) || [modes.sticks, modes.carried].contains(&c.mode) || rate.abs() <= AT_REST
        }
    }
}

/// What to tell of something that was as it was, and is in another mode now.
fn told(before: &Candidate, after: Mode, struck: bool) -> Option<&'static str> {
    match before.law {
        HoldingLaw::Gap { modes, .. } => {
            let (was_open, is_open) = (before.mode == modes.open, after == modes.open);
            let (was_stuck, is_stuck) = (Some(before.mode) == modes.stuck, Some(after) == modes.stuck);
            match (struck, was_open, is_open) {
                (true, _, true) => Some("bounces"),
                (_, true, false) => Some("rests"),
                (_, false, true) => Some("leaves"),
                _ if is_stuck && !was_stuck => Some("sticks"),
                _ if was_stuck && after == modes.closed => Some("slides"),
                _ => None,
            }
        }
        HoldingLaw::Dry { modes, .. } => match after {
            _ if after == before.mode => None,
            after if after == modes.forward => Some("slips forward"),
            after if after == modes.backward => Some("slips backward"),
            _ if [modes.sticks, modes.carried].contains(&before.mode) => None,
            _ => Some("sticks"),
        },
    }
}
