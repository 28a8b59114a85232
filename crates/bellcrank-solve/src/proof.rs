//! Evidence that a run is right, beyond energy and drift: the balance of momentum over the whole run, forces
//! against accelerations at every step, and where the time went.
//!
//! It costs four solves for accelerations per step, so it is gathered on demand: [`crate::Simulation::prove`].

use bellcrank_model::dynamics::Balance;
use bellcrank_model::{Dynamics, Piece, Point, Workspace};

/// The sizes of a linear and an angular quantity: momentum and angular momentum, or force and moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sizes {
    /// In kg m/s, or N.
    pub linear: f64,
    /// In kg m²/s, or N m.
    pub angular: f64,
}

impl Sizes {
    fn grow(&mut self, linear: f64, angular: f64) {
        self.linear = self.linear.max(linear);
        self.angular = self.angular.max(angular);
    }
}

/// What was found.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Proof {
    /// Whether the equations know of momentum at all (hand-written ones do not).
    pub known: bool,
    /// Momentum at the start and at the end: P in kg m/s, then L about the origin in kg m²/s.
    pub momentum: ([f64; 6], [f64; 6]),
    /// The largest |P| and |L|.
    pub largest_momentum: Sizes,
    /// The largest error of P(t) = P(0) + ∫ ΣF dt, and of the same for L.
    pub impulse_error: Sizes,
    /// Components that no load changes, with the largest change seen: x, y, z of P, then of L.
    pub conserved: [Option<f64>; 6],
    /// The largest difference of the loads on a body and the rate of its momentum: force, moment.
    pub reaction_error: Sizes,
    /// The body where the forces differ most, by its number.
    pub worst_body: usize,
    /// The largest force and moment that acted.
    pub largest_load: Sizes,
    /// The largest residual of the constraints on accelerations.
    pub acceleration: f64,
    /// Points that were looked at.
    pub points: usize,
    /// Phases of the run with their seconds.
    #[serde(skip)]
    pub seconds: Vec<(&'static str, f64)>,
    account: Sums,
}

/// What is summed up on the way.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Sums {
    impulse: [f64; 6],
    /// The smallest and the largest momentum.
    extremes: ([f64; 6], [f64; 6]),
    /// The largest load of each component.
    loads: [f64; 6],
    rows: Vec<f64>,
    #[serde(skip)]
    balance: Balance,
}

/// A component of the total load below this part of the largest load is rounding.
const NOTHING: f64 = 1e-11;

fn size(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

impl Proof {
    /// Adds the impulse of the loads over a share of a step, at a realized point with its v̇ and λ.
    pub fn push(&mut self, seconds: f64, dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) {
        let Sums { impulse, balance, .. } = &mut self.account;
        if dynamics.balance(at, w, balance) {
            for (sum, load) in impulse.iter_mut().zip(balance.load) {
                *sum += seconds * load;
            }
        }
    }

    /// Looks at an accepted point, realized, with its v̇ and λ.
    pub fn look(&mut self, dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) {
        let Sums { impulse, extremes, loads, rows, balance: b } = &mut self.account;
        rows.clear();
        rows.resize(dynamics.layout().m(), 0.0);
        dynamics.add(1.0, Piece::Acceleration, at, w, rows);
        self.acceleration = rows.iter().fold(self.acceleration, |m, r| m.max(r.abs()));
        self.known = dynamics.balance(at, w, b);
        if !self.known {
            return;
        }
        let now = b.momentum;
        if self.points == 0 {
            self.momentum.0 = now;
            *extremes = (now, now);
        }
        self.points += 1;
        self.momentum.1 = now;
        self.largest_momentum.grow(size(&now[..3]), size(&now[3..]));
        let mut error = [0.0; 6];
        for k in 0..6 {
            error[k] = now[k] - self.momentum.0[k] - impulse[k];
            extremes.0[k] = extremes.0[k].min(now[k]);
            extremes.1[k] = extremes.1[k].max(now[k]);
            loads[k] = loads[k].max(b.load[k].abs());
        }
        self.impulse_error.grow(size(&error[..3]), size(&error[3..]));
        let (body, force, moment) = b.worst;
        if force > self.reaction_error.linear {
            self.worst_body = body;
        }
        self.reaction_error.grow(force, moment);
        self.largest_load.grow(b.largest.0, b.largest.1);
        for k in 0..6 {
            let scale = if k < 3 { self.largest_load.linear } else { self.largest_load.angular };
            let free = loads[k] <= NOTHING * scale;
            self.conserved[k] = free.then(|| extremes.1[k] - extremes.0[k]);
        }
    }

    /// The momentum jumps, as in an impact: the balance starts anew from here.
    pub fn jump(&mut self, dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) {
        let Sums { impulse, loads, balance, .. } = &mut self.account;
        if dynamics.balance(at, w, balance) {
            for k in 0..6 {
                impulse[k] = balance.momentum[k] - self.momentum.0[k];
                loads[k] = f64::INFINITY; // a blow is a load
            }
        }
    }
}
