//! Errors close to singular positions: those along the constraints count.
//!
//! There rounding and the errors of stages make large accelerations across the constraints, with a pivot ϑ² about 1/ϑ times as large, and
//! shorter steps bring their stages closer still. The projection of the step takes all of that out; what it leaves is the error. That
//! holds while it is linear: a part ε across bends into ε²/ϑ along.

use super::{AccelerationSolver, Explicit, Form, counted, norm};
use crate::redundancy;
use bellcrank_math::linear::solver::LinearError;

/// Where some pivot of a step is below this part of what it was summed from, its error is that along the constraints.
const CLOSE: f64 = 1e-2;

/// What bends into the constraints may be this part of the tolerance.
const BENT: f64 = 0.1;

/// The rounding of constraints and their rates, in sizes of the machine.
const ROUNDING: f64 = 1e-15;

impl Form {
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
        counted(kkt, factored, |kkt| kkt.factor(p, w).ok().map(|()| kkt.smallest_pivot()))
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
        self.last.unprojected = small && self.rk.controls() && !self.last.unprojected && !self.leaves_out();
        self.last.unprojected
    }

    /// Whether the present step came by a singular position; small pivots prove it where nothing is left out.
    fn met_singular(&mut self) -> bool {
        if !self.leaves_out() {
            return true;
        }
        let form = &mut self.form;
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
