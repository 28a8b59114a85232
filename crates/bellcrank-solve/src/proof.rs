//! Evidence that a run is right, beyond energy and drift: the balance of momentum over the whole run, forces
//! against accelerations at every step, and where the time went.
//!
//! It costs four solves for accelerations per step, so it is gathered on demand: [`crate::Simulation::prove`].

use bellcrank_model::dynamics::Balance;
use bellcrank_model::{Dynamics, Piece, Point, Workspace};

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// Whether the equations know of momentum at all (hand-written ones do not).
    pub known: bool,
    /// Momentum at the start and at the end: P in kg m/s, then L about the origin in kg m²/s.
    pub momentum: ([f64; 6], [f64; 6]),
    /// The largest |P| and |L|.
    pub largest_momentum: (f64, f64),
    /// The largest error of P(t) = P(0) + ∫ ΣF dt, and of the same for L.
    pub impulse_error: (f64, f64),
    /// Components that no load changes, with the largest change seen: x, y, z of P, then of L.
    pub conserved: [Option<f64>; 6],
    /// The largest difference of the loads on a body and the rate of its momentum: force, moment.
    pub reaction_error: (f64, f64),
    /// The body where the forces differ most, by its number.
    pub worst_body: usize,
    /// The largest force and moment that acted.
    pub largest_load: (f64, f64),
    /// The largest residual of the constraints on accelerations.
    pub acceleration: f64,
    /// Points that were looked at.
    pub points: usize,
    /// Phases of the run with their seconds.
    pub seconds: Vec<(&'static str, f64)>,
    impulse: [f64; 6],
    extremes: ([f64; 6], [f64; 6]),
    loads: [f64; 6],
    rows: Vec<f64>,
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
        if dynamics.balance(at, w, &mut self.balance) {
            for (sum, load) in self.impulse.iter_mut().zip(self.balance.load) {
                *sum += seconds * load;
            }
        }
    }

    /// Looks at an accepted point, realized, with its v̇ and λ.
    pub fn look(&mut self, dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) {
        self.rows.clear();
        self.rows.resize(dynamics.layout().m(), 0.0);
        dynamics.add(1.0, Piece::Acceleration, at, w, &mut self.rows);
        self.acceleration = self.rows.iter().fold(self.acceleration, |m, r| m.max(r.abs()));
        self.known = dynamics.balance(at, w, &mut self.balance);
        if !self.known {
            return;
        }
        let b = &self.balance;
        let now = b.momentum;
        if self.points == 0 {
            self.momentum.0 = now;
            self.extremes = (now, now);
        }
        self.points += 1;
        self.momentum.1 = now;
        self.largest_momentum =
            (self.largest_momentum.0.max(size(&now[..3])), self.largest_momentum.1.max(size(&now[3..])));
        let mut error = [0.0; 6];
        for k in 0..6 {
            error[k] = now[k] - self.momentum.0[k] - self.impulse[k];
            self.extremes.0[k] = self.extremes.0[k].min(now[k]);
            self.extremes.1[k] = self.extremes.1[k].max(now[k]);
            self.loads[k] = self.loads[k].max(b.load[k].abs());
        }
        self.impulse_error = (self.impulse_error.0.max(size(&error[..3])), self.impulse_error.1.max(size(&error[3..])));
        if b.worst.1 > self.reaction_error.0 {
            self.worst_body = b.worst.0;
        }
        self.reaction_error = (self.reaction_error.0.max(b.worst.1), self.reaction_error.1.max(b.worst.2));
        self.largest_load = (self.largest_load.0.max(b.largest.0), self.largest_load.1.max(b.largest.1));
        for k in 0..6 {
            let scale = if k < 3 { self.largest_load.0 } else { self.largest_load.1 };
            let free = self.loads[k] <= NOTHING * scale;
            self.conserved[k] = free.then(|| self.extremes.1[k] - self.extremes.0[k]);
        }
    }

    /// The momentum jumps, as in an impact: the balance starts anew from here.
    pub fn jump(&mut self, dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) {
        if dynamics.balance(at, w, &mut self.balance) {
            for k in 0..6 {
                self.impulse[k] = self.balance.momentum[k] - self.momentum.0[k];
                self.loads[k] = f64::INFINITY; // a blow is a load
            }
        }
    }
}
