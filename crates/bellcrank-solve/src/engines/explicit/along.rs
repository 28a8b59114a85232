//! Steps past singular positions.
//!
//! There the errors of stages make large accelerations across the constraints, with a pivot ϑ² about 1/ϑ times as large, and shorter
//! steps bring their stages closer still. So a step that fails there is tried again with its stages put onto the constraints, where
//! accelerations are a smooth function of time but for rounding. What rounding makes of them is across the constraints too; the
//! projection of the step takes it out, and what that leaves is the error. This holds while it is linear: a part ε across bends into
//! ε²/ϑ along.
//!
//! Of 60 runs of four-bars in a row (5, 10 and 40 of them, dop853 and dopri5, both coordinates, rtol 1e-7 to 1e-11, flat three times) all
//! pass. Without stages on the constraints 11 do not, and without errors along them 10; in joint coordinates none at 1e-11 does without [`Fading`].

use super::{AccelerationSolver, Explicit, RightHandSide, counted, norm};
use crate::linear::kkt::Kkt;
use crate::linear::rank;
use crate::redundancy;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::tape::Tape;
use bellcrank_model::Dynamics;
use bellcrank_model::dynamics::LeftOut;

/// Where some pivot of a step is below this part of what it was summed from, its error is that along the constraints.
const CLOSE: f64 = 1e-2;

/// What bends into the constraints may be this part of the tolerance.
const BENT: f64 = 0.1;

/// The rounding of constraints and their rates, in sizes of the machine.
const ROUNDING: f64 = 1e-15;

/// A row that was never larger than this part of the largest holds nothing.
const NEVER: f64 = 1e-24;

/// Rows of G that may vanish on the way.
pub(super) struct Fading {
    /// What the squares of a row's entries count.
    weights: Vec<f64>,
    /// The largest size of every row so far.
    largest: Vec<f64>,
    sizes: Vec<f64>,
    /// What was left in the present step of the row that faded most.
    least: f64,
}

impl Fading {
    /// For equations whose rows may vanish.
    pub fn new(dynamics: &dyn Dynamics) -> Option<Fading> {
        let weights = || rank::weights(dynamics).into_iter().map(|w| 1.0 / (w * w)).collect();
        let largest = vec![0.0; dynamics.layout().m()];
        (dynamics.rows_fade() && !largest.is_empty()).then(|| Fading {
            weights: weights(),
            largest,
            sizes: Vec::new(),
            least: 1.0,
        })
    }

    /// Tells a tape what one evaluation leaves to the next.
    pub fn keep(&mut self, tape: &mut Tape) {
        tape.plain(&mut self.largest);
    }

    /// What is left of the row that has faded most, of those that are kept in the matrix at hand: like a pivot, a square.
    fn measure(&mut self, kkt: &Kkt, left_out: &LeftOut) -> f64 {
        kkt.row_sizes(&self.weights, &mut self.sizes);
        self.largest.iter_mut().zip(&self.sizes).for_each(|(most, size)| *most = most.max(*size));
        let never = NEVER * self.largest.iter().fold(0.0f64, |m, size| m.max(*size));
        let rows = self.sizes.iter().zip(&self.largest).enumerate();
        let kept = rows.filter(|(row, (_, most))| **most > never && left_out.rows.binary_search(row).is_err());
        let fade = kept.fold(1.0, |least: f64, (_, (size, most))| least.min(size / most));
        self.least = self.least.min(fade);
        fade
    }
}

impl RightHandSide {
    /// The smallest pivot of the matrix at hand, relative to what its row was where it was largest.
    pub(super) fn pivot_at_hand(&mut self) -> f64 {
        match &mut self.linear {
            AccelerationSolver::Whole { kkt, .. } => {
                let (kkt, left_out) = (kkt.lock(), &self.point.charts.left_out);
                let fade = self.fading.as_mut().map_or(1.0, |fading| fading.measure(&kkt, left_out));
                kkt.smallest_pivot() * fade
            }
            AccelerationSolver::Loops(loops) => loops.nearness(&self.point, &mut self.w),
            AccelerationSolver::Form { .. } => f64::INFINITY,
        }
    }

    /// Begins a step.
    pub(super) fn forget_pivots(&mut self) {
        self.pivots.clear();
        self.closest = None;
        self.fading.iter_mut().for_each(|fading| fading.least = 1.0);
    }

    /// Whether a row has all but vanished in the present step: a singular position, whatever is left out.
    fn faded(&self) -> bool {
        self.fading.as_ref().is_some_and(|fading| fading.least < CLOSE)
    }

    /// Takes notice of the position with the smallest pivot of the present step, where that is small.
    pub(super) fn note_pivot(&mut self, t: f64, pivot: f64) {
        if pivot < CLOSE && pivot < self.smallest_pivot() && !self.point.charts.left_out.rows.is_empty() {
            self.closest = Some((t, self.point.q.clone()));
        }
        self.pivots.push((t, pivot));
    }

    /// The smallest pivot of the present step.
    fn smallest_pivot(&self) -> f64 {
        self.pivots.iter().fold(f64::INFINITY, |m, (_, pivot)| m.min(*pivot))
    }

    /// Gets ready to take out of errors at a trial state what its projection will: the smallest pivot there; none where that is not known.
    fn ready_for_errors(&mut self, t: f64, y: &[f64]) -> Option<f64> {
        let AccelerationSolver::Whole { kkt, factored } = &mut self.linear else { return None };
        let (n, p) = (self.dynamics.layout().n(), &mut self.point);
        p.t = t;
        p.q.copy_from_slice(&y[..n]);
        self.w.invalidate();
        self.dynamics.realize(p, &mut self.w);
        let w = &mut self.w;
        counted(kkt, factored, |kkt| kkt.factor(p, w).ok())?;
        Some(self.pivot_at_hand())
    }

    /// Takes the part across the constraints out of errors of coordinates and velocities.
    fn along_constraints(&mut self, e: &mut [f64]) -> Result<(), LinearError> {
        let AccelerationSolver::Whole { kkt, .. } = &mut self.linear else { return Ok(()) };
        let (n, q, mut kkt) = (self.point.q.len(), &self.point.q, kkt.lock());
        let (of_q, rest) = e.split_at_mut(n);
        let mut turn = vec![0.0; n];
        self.dynamics.velocities(q, of_q, &mut turn);
        kkt.take_out_across(&mut turn)?;
        self.dynamics.rates(q, &turn, of_q);
        kkt.take_out_across(&mut rest[..n])
    }
}

impl Explicit {
    /// Whether a projection of the accepted step would make rounding, divided by a pivot, larger than what the step may err by. What it
    /// would take out is no more than that: it is left to the next step, which is projected whatever its pivots.
    pub(super) fn noisy(&mut self) -> bool {
        let here = self.form.pivots.last().filter(|(t, _)| *t == self.state.t);
        let small = here.is_some_and(|(_, pivot)| pivot * self.tolerances.relative() < ROUNDING);
        self.last.unprojected =
            small && self.rk.controls() && !self.last.unprojected && (!self.leaves_out() || self.form.faded());
        self.last.unprojected
    }

    /// Whether the present step came by a singular position; small pivots prove it where nothing is left out.
    fn met_singular(&mut self) -> bool {
        if !self.leaves_out() {
            return true;
        }
        let form = &mut self.form;
        if form.faded() {
            return true;
        }
        let Some((t, q)) = &form.closest else { return false };
        form.point.t = *t;
        form.point.q.copy_from_slice(q);
        redundancy::is_singular(&*form.dynamics, &form.point, &mut form.w)
    }

    /// Whether redundant rows are left out: then small pivots may be those of a poor choice among them, and tell of no singular
    /// position (Bennett's linkage: errors of 33 tolerances instead of 0.5).
    fn leaves_out(&self) -> bool {
        !self.form.point.charts.left_out.rows.is_empty()
    }

    /// Whether an attempt that failed close to a singular position is to be made again with stages on the constraints. Off them, by
    /// the errors of stages, accelerations are no smooth function of time there; on them they are, but for rounding.
    #[cold]
    pub(super) fn takes_care(&mut self) -> bool {
        let care = !self.form.careful && self.form.smallest_pivot() < CLOSE && self.met_singular();
        self.form.careful |= care;
        care
    }

    /// The error of an attempt that failed, measured anew where it came close to a singular position.
    #[cold]
    pub(super) fn error_along(&mut self, error: f64) -> f64 {
        if !error.is_finite() || self.form.smallest_pivot() > CLOSE || !self.met_singular() {
            return error;
        }
        let (form, (t, y)) = (&mut self.form, self.rk.tried());
        let Some(pivot) = form.ready_for_errors(t, y) else { return error };
        if error > (BENT * pivot.min(1.0).sqrt() / self.tolerances.relative()).sqrt() {
            return error;
        }
        let (weights, n) = (&self.weights, self.state.q.len());
        self.rk.estimate(&mut |e| match form.along_constraints(e) {
            Ok(()) => norm(weights, n, e),
            Err(_) => error,
        })
    }
}
