//! Multipliers that are eliminated before a residual is formed, and the way onto the manifold g = 0.

use super::Step;
use crate::constraints::{add_position_residual, add_velocity_residual};
use crate::formulation::EquationRow;
use crate::linear::kkt::Kkt;
use crate::linear::partition::Partition;
use crate::newton::Iteration;
use crate::weights::root_mean_square;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::numbers::largest;
use bellcrank_math::tape::Tape;
use bellcrank_model::{Piece, Point, Unknown};

/// The system that gives the multipliers for given rates: [XXᵀ Gᵀ; G 0] of a partition, or [M Gᵀ; G 0].
pub(super) struct Elimination {
    kkt: Kkt,
    /// Whether matrices are formed on the manifold; else the system is that of a partition.
    pub(super) on_manifold: bool,
    /// Whether loads may follow reactions.
    follows: bool,
    pub(super) factored: bool,
    /// The trial point, while the step's own stands on the manifold.
    pub(super) aside: Point,
    /// What λ, and μ, were to balance at last: f − M v̇, and v − T q̇.
    loads: [Vec<f64>; 2],
    rest: Vec<f64>,
    change: Vec<f64>,
}

/// The prediction is on the manifold when its projection moves it by less than this fraction of the tolerance.
const ON_MANIFOLD: f64 = 0.1;

/// A constraint is closed when its residual is below this fraction of the coordinates.
const CLOSED: f64 = 1e-13;

/// Attempts at that before the factors are renewed.
const CLOSINGS: usize = 4;

/// Repetitions of a projection with factors of another point.
const PROJECTIONS: usize = 2;

/// Most corrections of the multipliers (S1c at ε = 1e-10, TOL 1e-3: 31 evaluations with
/// two corrections, 25 with four, as many as with new factors).
const REPETITIONS: usize = 4;

/// They are balanced when they change by less than this fraction of themselves.
const BALANCED: f64 = 1e-6;

/// The rows that λ, and μ, balance.
const BALANCED_ROWS: [[(f64, Piece); 3]; 2] = [
    [(1.0, Piece::MassAccel), (-1.0, Piece::Force), (1.0, Piece::GtLambda)],
    [(1.0, Piece::Rate), (-1.0, Piece::Speed), (1.0, Piece::GtMu)],
];

impl Elimination {
    /// Tells a tape what one step leaves to the next.
    pub(super) fn keep(&mut self, tape: &mut Tape) {
        tape.flag(&mut self.factored);
        self.kkt.keep(tape, self.factored);
    }
}

impl Step {
    /// Prepares for an iteration: what eliminates the multipliers.
    pub fn prepare(&mut self, iteration: Iteration) {
        let (dynamics, layout) = (&self.dynamics, self.dynamics.layout());
        let on_manifold = iteration == Iteration::Auto;
        self.elimination = (layout.m() > 0 && (on_manifold || iteration.splits())).then(|| {
            Box::new(Elimination {
                kkt: if on_manifold { Kkt::new(dynamics.clone()) } else { Kkt::partitioned(dynamics.clone()) },
                on_manifold,
                follows: dynamics.may_follow().is_some(),
                factored: false,
                aside: self.point.clone(),
                loads: [vec![0.0; layout.n()], vec![0.0; layout.n()]],
                rest: vec![0.0; layout.n()],
                change: vec![0.0; layout.m()],
            })
        });
    }

    /// Changes the partition that eliminates the multipliers, if one does; the matrix is another then.
    pub fn set_partition(&mut self, partition: &Partition) -> bool {
        match &mut self.elimination {
            Some(e) if !e.on_manifold => e.kkt.set_partition(partition),
            _ => return false,
        }
        true
    }

    /// Factorizations of the small system beside the step's own.
    pub fn factorizations(&self) -> usize {
        self.elimination.as_ref().map_or(0, |e| e.kkt.factorizations)
    }

    /// Changes λ and μ so that they balance M v̇ − f and T q̇ − v as well as the system can:
    /// at once with factors of this point, by repetition with older ones. Tells how many of both it has changed.
    fn balance(&mut self, e: &mut Elimination, fresh: bool) -> Result<usize, LinearError> {
        let (dynamics, w, point) = (&*self.dynamics, &mut self.w, &mut self.point);
        let layout = dynamics.layout();
        let stabilized = self.formulation.rows.iter().any(|r| r.terms.iter().any(|t| t.1 == Piece::GtMu));
        // a nonholonomic row has no μ, and the system has none without it
        let both = stabilized && layout.m() == layout.m_rates();
        let balanced = 1 + both as usize;
        let follows = e.follows;
        for (of, load) in [Unknown::Lambda, Unknown::Mu].into_iter().zip(&mut e.loads).take(balanced) {
            let (given, taken, reaction) = match of {
                Unknown::Lambda => (Piece::Force, Piece::MassAccel, Piece::GtLambda),
                _ => (Piece::Speed, Piece::Rate, Piece::GtMu),
            };
            let repetitions = if follows || e.on_manifold && !fresh { REPETITIONS } else { 1 };
            for repetition in 0..repetitions {
                if repetition == 0 || follows && of == Unknown::Lambda {
                    load.fill(0.0);
                    dynamics.add(1.0, given, point, w, load);
                    dynamics.add(-1.0, taken, point, w, load);
                }
                e.rest.copy_from_slice(load);
                e.kkt.take_reactions(reaction, point, w, &mut e.rest);
                e.kkt.multipliers(&e.rest, &mut e.change)?;
                let multipliers = if of == Unknown::Lambda { &mut point.lambda } else { &mut point.mu };
                multipliers.iter_mut().zip(&e.change).for_each(|(l, d)| *l += d);
                if largest(&e.change) <= BALANCED * largest(&*multipliers) {
                    break;
                }
            }
        }
        // loads that follow reactions have changed with the last of them
        Ok(if follows { 0 } else { balanced })
    }

    /// Eliminates λ and μ before a residual is formed; leaves them as they are where that fails. A partition
    /// does it exactly; on the manifold the factors of the last matrix do it by repetition. Tells how many of both it has
    /// eliminated.
    pub(super) fn eliminate(&mut self) -> usize {
        let Some(mut e) = self.elimination.take() else { return 0 };
        let fresh = !(e.on_manifold && e.factored);
        if fresh {
            e.factored = e.kkt.prepare(&self.point, &mut self.w).is_ok();
        }
        let balanced = if e.factored { self.balance(&mut e, fresh).unwrap_or(0) } else { 0 };
        self.elimination = Some(e);
        balanced
    }

    /// Sets a row that the elimination of multipliers has computed but for its reactions; false if it is none of these.
    pub(super) fn set_balanced(&mut self, row: &EquationRow, eliminated: usize, out: &mut [f64]) -> bool {
        let which = BALANCED_ROWS.iter().take(eliminated).position(|terms| row.terms == terms[..]);
        let (Some(which), Some(e)) = (which, &mut self.elimination) else { return false };
        out.copy_from_slice(&e.loads[which]);
        e.kkt.take_reactions(BALANCED_ROWS[which][2].1, &self.point, &mut self.w, out);
        out.iter_mut().for_each(|o| *o = -*o);
        true
    }

    /// Moves the trial point onto the manifold, where the iteration forms its matrices there, and keeps it aside; else false.
    pub(super) fn visit_manifold(&mut self, e: &mut Elimination) -> bool {
        let visits = e.on_manifold && e.factored;
        if visits {
            e.aside.clone_from(&self.point);
            if self.go_to_manifold(e).is_err() {
                self.point.clone_from(&e.aside);
                self.w.invalidate();
                self.dynamics.realize(&self.point, &mut self.w);
            }
        }
        visits
    }

    /// Moves the point onto g = 0 with the factors of the last matrix, keeping the law for the rates, and
    /// takes the least-squares multipliers there.
    fn go_to_manifold(&mut self, e: &mut Elimination) -> Result<(), LinearError> {
        for _ in 0..PROJECTIONS {
            let (dynamics, point, w) = (&*self.dynamics, &mut self.point, &mut self.w);
            let delta = e.kkt.project(|rows| add_position_residual(dynamics, -1.0, point, w, rows))?;
            let moved = root_mean_square(&[(&self.weights.q, delta)]);
            dynamics.retract(1.0, &mut point.q, delta);
            self.stencil.rates(point);
            w.invalidate();
            dynamics.realize(point, w);
            if moved <= ON_MANIFOLD {
                break;
            }
        }
        e.factored = false;
        e.kkt.prepare(&self.point, &mut self.w)?;
        e.factored = true;
        self.balance(e, true).map(|_| ())
    }

    /// Puts q and v onto the constraints to rounding, with the least change and the factors of the last
    /// matrix, where the iteration has them. Newton's iteration stops at a third of the tolerance; with
    /// this a run of an hour keeps |g| below 1e-10 at any tolerance.
    pub fn polish(&mut self) {
        let Some(mut e) = self.elimination.take() else { return };
        let velocities = self.formulation.rows.iter().any(|r| r.pairs == Unknown::Mu);
        if e.on_manifold && e.factored && self.formulation.index > 1 {
            for velocity in [false, true].into_iter().take(1 + velocities as usize) {
                let _ = self.close(&mut e, velocity);
            }
            self.stencil.rates(&mut self.point);
            self.w.invalidate();
        }
        self.elimination = Some(e);
    }

    /// Closes the constraints, or their rates, to rounding.
    fn close(&mut self, e: &mut Elimination, velocity: bool) -> Result<(), LinearError> {
        let (dynamics, w, point) = (&*self.dynamics, &mut self.w, &mut self.point);
        let scale = if velocity { largest(&point.v) } else { largest(&point.q) } + dynamics.length();
        for repetition in 0..2 * CLOSINGS {
            dynamics.realize(point, w);
            if repetition == CLOSINGS {
                // the factors are too old
                e.kkt.prepare(point, w)?;
            }
            let rows = &mut e.change;
            rows.fill(0.0);
            match velocity {
                true => add_velocity_residual(dynamics, -1.0, point, w, rows),
                false => add_position_residual(dynamics, -1.0, point, w, rows),
            }
            if largest(&*rows) <= CLOSED * scale {
                break;
            }
            let delta = e.kkt.project(|open| open.copy_from_slice(rows))?;
            if velocity {
                point.v.iter_mut().zip(delta).for_each(|(v, d)| *v += d);
            } else {
                dynamics.retract(1.0, &mut point.q, delta);
                w.invalidate();
            }
        }
        Ok(())
    }
}
