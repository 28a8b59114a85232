//! One Newton loop for everything: steps, statics, interfaces.
//!
//! The loop is here; when to stop is in `convergence`, when to form a matrix in `refresh`, the linear solver to fall
//! back on in `fallback`, and what the loop is made of in `work`.

mod accounts;
mod convergence;
mod fallback;
mod iteration;
mod refresh;
mod residual;
#[cfg(test)]
mod tests;
mod work;

pub use accounts::{Counts, PhaseClock, PhaseSeconds};
pub use bellcrank_math::linear::solver::Wants;
pub(crate) use convergence::amplified;
pub use convergence::{Converged, IterationError};
pub use iteration::{Iteration, NAMES};
pub use refresh::Economy;
pub use residual::{MatrixLoan, Residual, SetParts};

use bellcrank_math::linear::blocks::BlockMatrix;
use bellcrank_math::linear::solver::LinearSolver;
use convergence::{Convergence, Judgement};
use fallback::CheapFirst;
use refresh::Refresh;

/// Newton's iteration with its matrix, its factors and what it remembers of their quality.
pub struct Newton {
    /// How matrices are formed and kept.
    pub iteration: Iteration,
    /// Most iterations of a solve.
    pub max_iterations: usize,
    /// What a solve takes for granted about earlier ones.
    pub economy: Economy,
    /// The work so far.
    pub counts: Counts,
    /// What the last solve that converged took.
    pub last: Converged,
    /// The smallest relative pivot of a multiplier in the last factors that tell it.
    pub pivot: f64,
    /// The time spent in each phase.
    pub clock: PhaseClock,
    linear: CheapFirst,
    matrix: BlockMatrix,
    residual: Vec<f64>,
    refresh: Refresh,
    convergence: Convergence,
}

impl Newton {
    /// Solves r(x) = 0 from the present x. A failure with an old matrix is tried once more from the same start with a fresh
    /// one, and with the robust linear solver if it was not in use; `restart` puts the start back.
    pub fn solve<R: Residual + ?Sized>(
        &mut self,
        of: &mut R,
        mut restart: impl FnMut(&mut R),
    ) -> Result<Converged, IterationError> {
        let slope = of.slope();
        let full = self.iteration == Iteration::Full && !self.keeps();
        self.refresh.drop_stale(slope, self.economy, full);
        if self.linear.was_slow() {
            self.fall_back();
        }
        let fresh = self.refresh.begin();
        match self.iterate(of, slope, fresh) {
            Err(IterationError::Diverged | IterationError::NotFinite) if !fresh => {
                self.forget_matrix();
                restart(of);
                let again = self.iterate(of, slope, true);
                if again.is_err() && self.fall_back() {
                    restart(of);
                    return self.iterate(of, slope, true);
                }
                again
            }
            Err(_) if self.fall_back() => {
                restart(of);
                self.iterate(of, slope, true)
            }
            result => {
                let iterations = result.map_or(0, |c| c.iterations);
                // corrections with factors of others tell nothing of the solver
                let slow = if self.economy == Economy::Exact { self.refresh.made() } else { iterations };
                self.linear.note(slow);
                self.refresh.note(iterations);
                result
            }
        }
    }

    fn iterate<R: Residual + ?Sized>(
        &mut self,
        of: &mut R,
        slope: f64,
        fresh: bool,
    ) -> Result<Converged, IterationError> {
        self.convergence.begin(slope, self.economy);
        for iteration in 0..self.max_iterations {
            self.evaluate(of);
            let formed = !self.refresh.has_factors() || self.is_worn(iteration);
            if formed {
                // which rows are redundant is decided once in a solve
                self.form_and_solve(of, slope, iteration == 0)?;
            } else {
                self.solve_again()?;
            }
            self.counts.flops += self.linear.flops().solve;
            if let Some(c) = self.refresh.overshoot(slope) {
                self.residual.iter_mut().for_each(|x| *x *= c);
            }
            let size = of.size(&self.residual);
            if !size.is_finite() {
                return Err(IterationError::NotFinite);
            }
            let fraction = of.step_fraction(&self.residual, size);
            if fraction < 1.0 {
                self.residual.iter_mut().for_each(|x| *x *= fraction);
            }
            of.correct(&self.residual);
            self.counts.iterations += 1;
            if fraction < 1.0 {
                self.convergence.cut_short(iteration);
                continue;
            }
            let limits = self.limits(of, fresh, formed);
            match self.convergence.judge(size, iteration, limits) {
                Judgement::Continue => {}
                Judgement::Diverged => return Err(IterationError::Diverged),
                Judgement::Converged { took, worn } => {
                    if self.economy == Economy::Exact && !self.convergence.closes(of.open_rates(), formed) {
                        continue;
                    }
                    if worn {
                        self.refresh.forget();
                    }
                    return self.done(took);
                }
            }
        }
        if fresh && of.rounding() > 0.0 && self.convergence.last_size() <= self.stagnation(of) {
            return self.done(Converged { iterations: self.max_iterations, rate: 0.0, contraction: 1.0 });
        }
        Err(IterationError::Diverged)
    }

    fn done(&mut self, took: Converged) -> Result<Converged, IterationError> {
        self.last = took;
        Ok(took)
    }
}
