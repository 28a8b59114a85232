//! Accelerations and multipliers at a committed time: Φ̈ = 0.

use super::equations::halved;
use super::history::{HeldLoad, InterfaceLaw};
use super::least::Equations;
use super::window::PREDICTED;
use super::{Coordinator, largest, minus};
use crate::foresee::{Foresight, Past};
use crate::options::{Coupling, GlueError, Levels};
use crate::port::{PortMotion, difference};
use crate::subdomain::{Admittance, PartResponse, Upcoming};
use bellcrank_math::linear::matrix::Matrix;

/// Gaps below this fraction of a length (or of the speed) are closed.
const CLOSED: f64 = 1e-6;

/// Accelerations below this many lengths per s² are those of a machine at rest.
pub(super) const STILL: f64 = 1e-6;

/// Rounds in which accelerations are recovered: the equations are linear, the second is for rounding.
const ROUNDS: usize = 3;

impl Coordinator {
    /// Asks all parts for their motion at the committed time under some loads.
    fn begin_parts(&mut self, own: &[f64]) -> Result<(Vec<PortMotion>, Vec<PartResponse>), GlueError> {
        let loads = self.by_part(&self.in_world(own));
        self.parts.iter_mut().zip(&loads).for_each(|(part, load)| part.announce(&Upcoming::Begin(load)));
        let mut answers = Vec::new();
        for (k, load) in loads.iter().enumerate() {
            answers.push(self.timed(k, |p| p.begin(load))?);
        }
        Ok((self.site_motions(&answers)?, answers))
    }

    /// Refuses parts that do not meet, and finds the loads at the start.
    pub(super) fn begin(&mut self) -> Result<(), GlueError> {
        let n = self.interface.width();
        let (motions, _) = self.begin_parts(&vec![0.0; n])?;
        self.interface.place(self.history.t, &motions, &self.history.lambda.clone());
        self.check_closed(&motions)?;
        self.begin_anew()
    }

    /// The loads at a committed time from which the parts go on without a past: the start, or what is behind a breakpoint.
    pub(super) fn begin_anew(&mut self) -> Result<(), GlueError> {
        let n = self.interface.width();
        let s = self.accelerate()?;
        if self.options.coupling == Coupling::Explicit && self.parts.iter().all(|p| p.accelerates()) {
            self.report.lag.by_load = Some(s.clone());
        }
        if self.options.coupling == Coupling::Windows {
            // a held load acts through a window as on a free body, until something better is known
            let place = halved(&s, &Matrix::zeros(n, n));
            let y = &mut self.history.admittance;
            y.matrix = Some(Admittance { velocity: s, ..Admittance::of_accelerations(place) });
            y.length = 1.0;
            y.stale = false;
        }
        self.record_law();
        let (t, h) = (self.history.t, &mut self.history);
        h.foresight = Foresight::default();
        let now = Past { when: t, at: t, lambda: h.lambda.clone(), mu: Vec::new(), force: h.law.force.clone() };
        h.foresight.push(now);
        // the first window is measured by the load at its start
        h.held = Some(HeldLoad { middle: t, load: minus(&h.law.force, &h.law.pull.apply(&h.lambda)) });
        h.before.motions.clone_from(&h.motions);
        Ok(())
    }

    fn check_closed(&mut self, motions: &[PortMotion]) -> Result<(), GlueError> {
        let length = self.interface.system_length();
        let speed = motions.iter().map(|m| m.velocity.norm() + length * m.spin.norm()).fold(0.0, f64::max);
        for (residual, scale, rate) in
            [(self.interface.position(), length, false), (self.interface.velocity(), speed, true)]
        {
            if let Some(row) = (0..residual.len()).max_by(|a, b| residual[*a].abs().total_cmp(&residual[*b].abs()))
                && residual[row].abs() > CLOSED * scale.max(f64::MIN_POSITIVE)
            {
                return Err(GlueError::Open { joint: self.interface.owner(row), gap: residual[row].abs(), rate });
            }
        }
        Ok(())
    }

    /// Finds λ at the committed time such that Φ̈ = 0, by Gauss's principle [Tseng & Hulbert 2001, eq. 32], and leaves
    /// parts and interface with the accelerations. Returns B M̂⁻¹Bᵀ.
    fn accelerate(&mut self) -> Result<Matrix, GlueError> {
        let (t, force, pull) = (self.history.t, self.interface.force(), self.interface.pull());
        let mut lambda = self.history.lambda.clone();
        let mut s: Option<Matrix> = None;
        let mut left = 0.0;
        for _ in 0..ROUNDS {
            let load = minus(&force, &pull.apply(&lambda));
            let (motions, answers) = self.begin_parts(&load)?;
            let s = match &mut s {
                Some(s) => s,
                none => none.insert(self.accelerations_by_load(&load, &motions, answers)?),
            };
            self.interface.place(t, &motions, &lambda);
            let length = self.interface.system_length();
            let of = |m: &PortMotion| m.acceleration.norm() + length * m.spin_rate.norm();
            let fastest = motions.iter().map(of).fold(0.0, f64::max);
            self.history.motions = motions;
            let rest = self.interface.acceleration();
            let by_load = s.times(&pull);
            let equations = Equations::new(&pull.transpose().times(&by_load));
            let change = equations.ok_or_else(|| self.diverged(0.0, &rest))?.least_change(&rest);
            // redundant rows, which no load can change, do not count; what hardly moves is measured by its size
            let scale = largest(&s.apply(&load)).max(fastest).max(STILL * length);
            let rest_of_load = largest(&by_load.apply(&change));
            left = rest_of_load / scale;
            // ports may stand still while the rest of a part moves fast, and its rounding is all they show
            let harmless = 2.0 * PREDICTED * self.options.tolerances.position * length / self.options.window.powi(2);
            if left <= self.options.tolerances.acceleration || rest_of_load <= harmless {
                let found = Levels { acceleration: largest(&rest), ..Levels::default() };
                self.report.residuals.raise_to(&found);
                self.history.lambda = lambda;
                self.history.accelerated = true;
                return Ok(std::mem::take(s));
            }
            lambda.iter_mut().zip(&change).for_each(|(l, c)| *l += c);
        }
        Err(GlueError::Unfit(format!(
            "the accelerations at t = {t:.9} s were found only to {left:.1e} of the largest one\n\
             help: give accelerations a larger tolerance: the answers of the parts are less accurate than this one"
        )))
    }

    /// B M̂⁻¹Bᵀ, as the parts tell it with their motions, or by differences, which are exact: it is linear.
    fn accelerations_by_load(
        &mut self,
        load: &[f64],
        at: &[PortMotion],
        answers: Vec<PartResponse>,
    ) -> Result<Matrix, GlueError> {
        let told: Option<Vec<Admittance>> = answers.into_iter().map(|a| a.admittance).collect();
        if let Some(told) = told {
            return Ok(self.gather(&told).place);
        }
        let (n, size) = (self.interface.width(), 1.0 + largest(load));
        let mut s = Matrix::zeros(n, n);
        for columns in self.independent_columns() {
            let mut changed = load.to_vec();
            columns.iter().for_each(|k| changed[*k] += size);
            let (moved, _) = self.begin_parts(&changed)?;
            let change = difference(&moved, at, |m| (m.acceleration, m.spin_rate));
            self.scatter(&columns, &change, 1.0 / size, &mut s);
        }
        Ok(s)
    }

    /// Gives the parts the accelerations and the interface the multipliers of the committed time. Later windows are not
    /// affected.
    pub(super) fn recover_accelerations(&mut self) -> Result<(), GlueError> {
        if self.history.accelerated {
            return Ok(());
        }
        let (lambda, motions) = (self.history.lambda.clone(), self.history.motions.clone());
        self.interface.place(self.history.t, &motions, &lambda);
        self.accelerate()?;
        self.report.recoveries += 1;
        self.history.lambda = lambda;
        self.history.motions = motions;
        Ok(())
    }

    /// Remembers F and Γᵀ at the committed motion.
    pub(super) fn record_law(&mut self) {
        let to_world = self.interface.to_own().transpose();
        let force = to_world.apply(&self.interface.force());
        self.history.law = InterfaceLaw { force, pull: to_world.times(&self.interface.pull()) };
    }
}
