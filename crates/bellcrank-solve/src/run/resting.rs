//! What is at rest at an instant: which gaps stay closed, which open, what sticks and what slips.

use super::complementarity::{LoadLaw, Problem, Rub};
use super::impact::{AT_REST, OF_REST, OF_SUM, add, dot};
use super::observer::Observer;
use crate::engines::StepError;
use bellcrank_model::dynamics::{Candidate, Follower, HoldingLaw};
use bellcrank_model::{Dynamics, Piece, Point, Workspace};
use std::sync::Arc;

/// The part of the largest acceleration below which one is none, and how close to its limit friction slips.
const NO_ACCELERATION: f64 = 1e-9;
const AT_LIMIT: f64 = 1e-9;

/// Most looks at the levels of friction that follows reactions, and the part of a level that its change may be.
const LEVELS: usize = 100;
const SAME_LEVEL: f64 = 1e-12;

/// An instant at which all that is at rest decides.
pub(super) struct Instant {
    pub trigger: Option<usize>,
    /// The places of the gaps that are closed or closing, and of friction at rest.
    pub active: Vec<usize>,
    /// Whether velocities jumped.
    pub jumped: bool,
    /// The rates before that.
    pub rates: Vec<f64>,
    /// What may hold, before velocities jumped, and now.
    pub was: Vec<Candidate>,
    pub now: Vec<Candidate>,
}

impl Instant {
    /// Whether candidate `k` is at rest now.
    fn at_rest(&self, k: usize, v: &[f64]) -> bool {
        let c = &self.now[k];
        let rate = dot(&c.rows[0], v);
        let sum: f64 = c.rows[0].iter().zip(v).map(|(r, v)| (r * v).abs()).sum();
        // what a method lets held rates drift
        let drift = 2.0 * self.rates[k].abs();
        match c.law {
            HoldingLaw::Gap { rest, modes, .. } => {
                if !self.active.contains(&c.slot) {
                    return false;
                }
                let held = self.was[k].mode != modes.open;
                let none = (OF_REST * rest).max(OF_SUM * sum).max(if held { drift } else { 0.0 });
                rate.abs() <= none || held && !self.jumped
            }
            HoldingLaw::Dry { modes, .. } => {
                let held = [modes.sticks, modes.carried].contains(&self.was[k].mode);
                let stops = held || self.trigger == Some(c.slot);
                rate.abs() <= AT_REST.max(OF_SUM * sum).max(if held { drift } else { 0.0 }) || stops && !self.jumped
            }
        }
    }
}

/// Something at rest in the second problem.
struct Resting {
    /// Its number among the candidates.
    k: usize,
    /// Its first row in the problem, and how many it has.
    row: usize,
    rows: usize,
    /// Whether it may stick across.
    sticks: bool,
}

impl Observer {
    /// Chooses the modes of all that may hold, by the accelerations they would have.
    pub(super) fn decide(&mut self, instant: &Instant) -> Result<(), StepError> {
        let n = instant.now.len();
        let mut resting: Vec<usize> = (0..n).filter(|&k| instant.at_rest(k, &self.state.v)).collect();
        // what moves is open, or slips as it moves
        for k in (0..n).filter(|k| !resting.contains(k)) {
            let c = &instant.now[k];
            self.state.charts.modes[c.slot] = match c.law {
                HoldingLaw::Gap { modes, .. } => modes.open,
                HoldingLaw::Dry { rate, modes, .. } if rate > 0.0 => modes.forward,
                HoldingLaw::Dry { modes, .. } => modes.backward,
            };
        }
        let mut slides: Vec<usize> = Vec::new();
        // whatever slips does so with less friction than before: the others decide again
        while !resting.is_empty() {
            let slipping = self.decide_once(instant, &resting, &slides)?;
            if slipping.is_empty() {
                break;
            }
            for (k, direction) in slipping {
                let c = &instant.now[k];
                match c.law {
                    HoldingLaw::Dry { modes, .. } => {
                        resting.retain(|other| *other != k);
                        let mode = if direction[0] > 0.0 { modes.forward } else { modes.backward };
                        self.state.charts.modes[c.slot] = mode;
                    }
                    HoldingLaw::Gap { modes, .. } => {
                        slides.push(k);
                        self.nudge(&c.rows[1..], direction, modes.slow)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives sliding a direction: the least speed that counts as sliding.
    fn nudge(&mut self, rows: &[Vec<f64>], direction: [f64; 2], speed: f64) -> Result<(), StepError> {
        let answers = self.respond(rows.to_vec())?;
        for (k, row) in answers.rows.iter().enumerate() {
            let mobility = dot(row, &answers.responses[k]);
            if mobility > 0.0 {
                let change = (1.001 * speed * direction[k] - dot(row, &self.state.v)) / mobility;
                add(change, &answers.responses[k], &mut self.state.v);
            }
        }
        Ok(())
    }

    /// One look at all that is at rest: sets the modes, and gives what slips, with its direction.
    fn decide_once(
        &mut self,
        instant: &Instant,
        resting: &[usize],
        slides: &[usize],
    ) -> Result<Vec<(usize, [f64; 2])>, StepError> {
        // nothing held: the accelerations there would be
        let mut clamped = self.state.charts.modes.clone();
        for k in resting {
            let c = &instant.now[*k];
            (self.state.charts.modes[c.slot], clamped[c.slot]) = match c.law {
                HoldingLaw::Gap { modes, .. } => {
                    let across: f64 = c.rows[1..].iter().map(|row| dot(row, &self.state.v).powi(2)).sum();
                    let sticks = !slides.contains(k) && across.sqrt() <= modes.slow * (1.0 + 1e-6);
                    (modes.carried, modes.stuck.filter(|_| sticks).unwrap_or(modes.closed))
                }
                HoldingLaw::Dry { modes, .. } => (modes.carried, modes.sticks),
            };
        }
        let free = self.accelerate_freely()?;
        // everything held: its rows and their accelerations
        let held: Arc<dyn Dynamics> = self.base.holding(&clamped).unwrap_or_else(|| self.base.clone());
        let mut at = Point::at(&self.state, held.layout());
        at.charts.modes.clone_from(&clamped);
        at.vdot.clone_from(&free.vdot);
        let mut w = held.workspace();
        held.realize(&at, &mut w);
        let mut accelerations = vec![0.0; held.layout().m()];
        held.add(1.0, Piece::Acceleration, &at, &mut w, &mut accelerations);
        let slides_along = held.followers(&at, &mut w);
        let (mut rows, mut loads, mut rates, mut laws, mut all) = (vec![], vec![], vec![], vec![], vec![]);
        for k in resting {
            let c = &instant.now[*k];
            let numbers = held.held_rows(c.slot);
            let (sign, law) = match c.law {
                HoldingLaw::Gap { sign, friction, .. } => {
                    let tangents = numbers.len().saturating_sub(1);
                    let rubs = if tangents > 0 { Rub::Sticks(friction) } else { Rub::Not };
                    (sign, LoadLaw::Gap { tangents, rubs })
                }
                HoldingLaw::Dry { sticks, .. } => (1.0, LoadLaw::Dry { level: sticks }),
            };
            all.push(Resting { k: *k, row: rows.len(), rows: numbers.len(), sticks: numbers.len() > 1 });
            laws.push(law);
            for (i, number) in numbers.into_iter().enumerate() {
                let sign = if i == 0 { sign } else { 1.0 };
                let mut row = vec![0.0; held.layout().n()];
                at.lambda.fill(0.0);
                at.lambda[number] = sign;
                held.add(1.0, Piece::GtLambda, &at, &mut w, &mut row);
                let mut load = row.clone();
                // friction of what slides pushes with it; the multiplier is minus the push
                for follower in &slides_along {
                    let slope: f64 = follower.slopes.iter().filter(|(row, _)| *row == number).map(|(_, s)| s).sum();
                    add(-slope, &follower.load, &mut load);
                }
                rates.push(sign * accelerations[number]);
                rows.push(row);
                loads.push(load);
            }
        }
        let n = rows.len();
        let followers = self.followers_when_free(&free);
        let plain = self.respond_following(rows, &followers)?;
        let loaded = self.respond_following(loads, &followers)?;
        let by = |a: &[Vec<f64>], b: &[Vec<f64>]| -> Vec<f64> {
            (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| dot(&a[i], &b[j])).collect()
        };
        let symmetric = Problem::new(&laws, by(&plain.rows, &plain.responses), rates.clone());
        let mut problem = Problem::new(&laws, by(&plain.rows, &loaded.responses), rates);
        if !self.base.followed_blocks().is_empty() {
            let places: Vec<usize> = all.iter().map(|r| instant.now[r.k].slot).collect();
            settle_levels(&*held, &mut problem, &places, (&free.lambda, &loaded.reactions), (&mut at, &mut w));
        }
        // an acceleration is none against what it is the difference of
        let sizes: Vec<f64> = (0..n)
            .map(|i| plain.rows[i].iter().zip(&free.vdot).fold(problem.free[i].abs(), |m, (r, a)| m.max((r * a).abs())))
            .collect();
        Ok(self.choose(instant, &all, &problem, &symmetric, &sizes))
    }

    /// The loads that follow multipliers with nothing held: friction of joints that slip changes with their reactions.
    fn followers_when_free(&self, at: &Point) -> Vec<Follower> {
        let mut w = self.base.workspace();
        self.base.realize(at, &mut w);
        self.base.followers(at, &mut w)
    }

    /// Sets the modes by the loads that hold, and gives what slips, with its direction.
    fn choose(
        &mut self,
        instant: &Instant,
        all: &[Resting],
        problem: &Problem,
        symmetric: &Problem,
        sizes: &[f64],
    ) -> Vec<(usize, [f64; 2])> {
        let mut p = problem.solve();
        let a = problem.rates(&p);
        let pushes = |row: usize, p: &[f64]| p[row] * symmetric.own(row) > NO_ACCELERATION * sizes[row];
        // loads that are not unique are not at their limit: gaps take what friction need not
        let is_gap = |r: &&Resting| matches!(instant.now[r.k].law, HoldingLaw::Gap { .. });
        let holds = |r: &&Resting| !is_gap(r) || pushes(r.row, &p);
        let held: Vec<usize> = all.iter().filter(holds).map(|r| r.row).collect();
        let kept = symmetric.reduce(&held, &mut p);
        let mut slipping = Vec::new();
        for r in all {
            match instant.now[r.k].law {
                HoldingLaw::Dry { .. } if p[r.row].abs() >= problem.level(r.row) * (1.0 - AT_LIMIT) => {
                    slipping.push((r.k, [-p[r.row], 0.0]));
                }
                HoldingLaw::Gap { friction, .. } if r.sticks && pushes(r.row, &p) => {
                    let across = [p[r.row + 1], if r.rows > 2 { p[r.row + 2] } else { 0.0 }];
                    let rubs = across[0].hypot(across[1]);
                    if rubs >= friction * p[r.row] * (1.0 - AT_LIMIT) && rubs > 0.0 {
                        slipping.push((r.k, across.map(|x| -x / rubs)));
                    }
                }
                _ => {}
            }
        }
        if !slipping.is_empty() {
            return slipping;
        }
        for r in all {
            let c = &instant.now[r.k];
            let keeps = kept.contains(&r.row);
            self.state.charts.modes[c.slot] = match c.law {
                HoldingLaw::Dry { modes, .. } => {
                    if keeps {
                        modes.sticks
                    } else {
                        modes.carried
                    }
                }
                HoldingLaw::Gap { modes, .. } if keeps => modes.stuck.filter(|_| r.sticks).unwrap_or(modes.closed),
                HoldingLaw::Gap { modes, .. } => {
                    let opens = a[r.row] > NO_ACCELERATION * sizes[r.row] || !symmetric.depends(r.row, &kept);
                    if opens { modes.open } else { modes.carried }
                }
            };
        }
        slipping
    }
}

/// Levels of friction that follow reactions, and those the loads that hold: of all that is at rest, with its places among the modes,
/// given the multipliers without those loads and by their units.
fn settle_levels(
    held: &dyn Dynamics,
    problem: &mut Problem,
    places: &[usize],
    (free, by_load): (&[f64], &[Vec<f64>]),
    (at, w): (&mut Point, &mut Workspace),
) {
    for _ in 0..LEVELS {
        at.lambda.fill(0.0);
        at.lambda[..free.len()].copy_from_slice(free);
        for (p, reaction) in problem.solve().iter().zip(by_load) {
            add(*p, reaction, &mut at.lambda);
        }
        let levels = held.candidates(at, w);
        let mut changed = 0.0f64;
        for (number, slot) in places.iter().enumerate() {
            let now = levels.iter().find(|c| c.slot == *slot).map(|c| c.law);
            if let Some(HoldingLaw::Dry { sticks, .. }) = now {
                changed = changed.max(problem.set_level(number, sticks) / sticks.max(f64::MIN_POSITIVE));
            }
        }
        if changed <= SAME_LEVEL {
            break;
        }
    }
}
