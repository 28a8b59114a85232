//! One window by the algorithm of [Tseng & Hulbert 2001], section 3: the trial is corrected level by level until all residuals of
//! eq. 28 are small.
//!
//! ```text
//!     λ = (Φ_q⁺)ᵀ(Q − M a)                           (7)
//!     GL-DYN    parts: K̄ Δâ = −P∥(M a − Q) = −(M a − Q + Φ_qᵀλ)
//!     GL-ACC    Δa = Δâ − M⁻¹Φ_qᵀ S⁺ Φ̈(a + Δâ)        S = Φ_q M⁻¹Φ_qᵀ   (32)
//!               Δa = Δâ − Φ_qᵀ E⁺ Φ̈(a + Δâ)           E = Φ_q Φ_qᵀ      (27), naive
//!     GL-POS    q ← q − Φ_qᵀ E⁺ Φ,   v ← v − Φ_qᵀ E⁺ Φ̇   at q + Δq, v + Δv
//! ```
//!
//! P∥ of Δq and Δv is in the last line: Φ(q + Δq) = Φ + Φ_qΔq + … What crosses between parts and coordinator are six numbers for each
//! port and matrices of that size; M, Φ_q and K̄ stay in the parts. A window costs one exchange for its prediction, and two or three
//! in every iteration: the last is left out where positions and velocities hold already.

use super::least::Equations;
use super::start::STILL;
use super::window::{Crossed, PREDICTED, Unknowns};
use super::{Coordinator, largest, minus};
use crate::gauss_part::{BETA, GAMMA};
use crate::options::{Coupling, GlueError, Levels};
use crate::port::{PortMotion, WIDTH, difference};
use crate::subdomain::{Admittance, Corrected, Correction, PartError, PartResponse, Upcoming, Window};
use bellcrank_math::linear::matrix::Matrix;

/// From this iteration on, a residual that grows is divergence.
const DIVERGES_FROM: usize = 6;

/// The trial as the parts told it.
struct Told {
    motions: Vec<PortMotion>,
    /// w, in the coordinates of the interface, and what the loads of no port can bring into balance.
    imbalance: Vec<f64>,
    left: f64,
    y: Admittance,
}

/// The residuals of a trial, and what corrects them.
struct Balance {
    lambda: Vec<f64>,
    /// F − Γᵀλ.
    load: Vec<f64>,
    /// Γᵀ.
    pull: Matrix,
    /// Γ E Γᵀ, and what projects accelerations: Γ S Γᵀ, or the same without the masses.
    by_shift: Equations,
    by_load: Option<Equations>,
    levels: Levels,
    /// All residuals, and that of the dynamics, in tolerances.
    worst: f64,
    dynamics: f64,
}

impl Coordinator {
    /// Lets all parts correct their trials.
    fn correct_parts(
        &mut self,
        window: &Window,
        step: Correction,
        loads: &[f64],
        shifts: &[f64],
    ) -> Result<Vec<Corrected>, GlueError> {
        let (loads, shifts) = (self.by_part(&self.in_world(loads)), self.by_part(&self.in_world(shifts)));
        for (part, (load, shift)) in self.parts.iter_mut().zip(loads.iter().zip(&shifts)) {
            part.announce(&Upcoming::Correct(window, step, load, shift));
        }
        let mut answers = Vec::new();
        for (k, (load, shift)) in loads.iter().zip(&shifts).enumerate() {
            answers.push(self.timed(k, |p| p.correct(window, step, load, shift))?);
        }
        self.report.exchanges += 1;
        Ok(answers)
    }

    /// The same, and puts the interface where the ports are then.
    fn told(&mut self, window: &Window, step: Correction, loads: &[f64], shifts: &[f64]) -> Result<Told, GlueError> {
        let answers = self.correct_parts(window, step, loads, shifts)?;
        let (mut responses, mut imbalances): (Vec<PartResponse>, Vec<Vec<f64>>) =
            answers.into_iter().map(|a| (a.response, a.imbalance)).unzip();
        let motions = self.site_motions(&responses)?;
        let unloaded = vec![0.0; self.interface.rows().0];
        self.interface.place(window.to, &motions, &unloaded);
        let left = responses.iter().map(|r| r.error).fold(0.0, f64::max);
        let mut of_parts = Vec::new();
        for (part, (response, imbalance)) in self.parts.iter().zip(responses.iter_mut().zip(&mut imbalances)) {
            let d = part.description();
            let n = WIDTH * d.ports.len();
            let fits = |y: &Admittance| {
                [&y.place, &y.velocity, &y.place_by_shift].iter().all(|m| m.rows == n && m.columns == n)
            };
            match response.admittance.take().filter(fits) {
                Some(y) if imbalance.len() == n && imbalance.iter().all(|x| x.is_finite()) => of_parts.push(y),
                _ => {
                    let why = "did not tell what is out of balance, and how its ports follow".into();
                    return Err(PartError { part: d.name.clone(), why }.into());
                }
            }
        }
        self.report.admittances += 1;
        let world: Vec<f64> = self
            .interface
            .sites
            .iter()
            .flat_map(|&(part, port)| imbalances[part][WIDTH * port..WIDTH * (port + 1)].to_vec())
            .collect();
        let (imbalance, y) = (self.interface.to_own().apply(&world), self.gather(&of_parts));
        Ok(Told { motions, imbalance, left, y })
    }

    /// λ by eq. 7, and the residuals of eq. 28, in tolerances.
    fn balance(&mut self, window: &Window, at: &Told) -> Result<Balance, GlueError> {
        let (pull, force) = (self.interface.pull(), self.interface.force());
        let felt = pull.transpose().times(&at.y.place_by_shift);
        let equations = Equations::new(&felt.times(&pull));
        let by_shift = equations.ok_or_else(|| self.uncorrected(window, f64::NAN))?;
        let lambda = by_shift.least_change(&felt.apply(&minus(&force, &at.imbalance)));
        let load = minus(&force, &pull.apply(&lambda));
        let off = largest(&at.y.place.apply(&minus(&at.imbalance, &load))).max(at.left);
        let (h, length) = (window.length(), self.interface.system_length());
        let by_load = match self.options.coupling {
            Coupling::Naive => None,
            _ => {
                let equations = Equations::new(&pull.transpose().times(&at.y.place).times(&pull));
                Some(equations.ok_or_else(|| self.uncorrected(window, f64::NAN))?)
            }
        };
        let opening = self.interface.acceleration();
        // redundant rows, which no load can change, do not count
        let closing = pull.apply(&by_load.as_ref().unwrap_or(&by_shift).least_change(&opening));
        let closing = largest(&if by_load.is_some() { &at.y.place } else { &at.y.place_by_shift }.apply(&closing));
        let (gap, rate) = (largest(&self.interface.position()), largest(&self.interface.velocity()));
        let of = |m: &PortMotion| m.acceleration.norm() + length * m.spin_rate.norm();
        let fastest = at.motions.iter().map(of).fold(0.0, f64::max);
        let scale = largest(&at.y.place.apply(&load)).max(fastest).max(STILL * length);
        let allowed = &self.options.tolerances;
        let fast = |x: f64| {
            (x / (allowed.acceleration * scale)).min(x * h * h / (2.0 * PREDICTED * allowed.dynamics * length))
        };
        let (gaps, rates) = (gap / (allowed.position * length), rate * h / (allowed.velocity * length));
        let all = [fast(off), fast(closing), gaps, rates];
        let worst = all.into_iter().fold(0.0f64, |m, x| if x.is_nan() { f64::NAN } else { m.max(x) });
        let levels =
            Levels { position: gap, velocity: rate, acceleration: largest(&opening), dynamics: BETA * h * h * off };
        Ok(Balance { lambda, load, pull, by_shift, by_load, levels, worst, dynamics: fast(off) })
    }

    fn uncorrected(&self, window: &Window, factor: f64) -> GlueError {
        let naive = self.options.coupling == Coupling::Naive;
        GlueError::Uncorrected { t: window.from, length: window.length(), factor, naive }
    }

    /// Crosses one window, correction by correction.
    pub(super) fn cross_by_corrections(&mut self, window: &Window) -> Result<Crossed, GlueError> {
        let before_window = self.report.exchanges;
        let still = vec![0.0; self.interface.width()];
        let mut at = self.told(window, Correction::Predict, &still, &still)?;
        let (mut before, mut factor) = (f64::INFINITY, f64::NAN);
        for iteration in 0..=self.options.max_attempts {
            let now = self.balance(window, &at)?;
            factor = now.worst / before;
            if now.worst <= 1.0 {
                self.report.most = self.report.most.max(self.report.exchanges - before_window);
                self.report.residuals.raise_to(&now.levels);
                self.history.admittance.moving = now.by_shift.moving();
                self.record_not_unique();
                let load = self.in_world(&now.load);
                let (mu, shift) = (vec![0.0; self.interface.rows().1], vec![0.0; load.len()]);
                self.commit(window, Unknowns { lambda: now.lambda, mu, load, shift }, at.motions)?;
                return Ok(Crossed::Committed);
            }
            if !now.worst.is_finite() || (iteration > DIVERGES_FROM && now.worst > before) {
                break;
            }
            before = now.worst;
            at = match self.iterate(window, &at, &now) {
                // accelerations that grow from iterate to iterate are more than a part can take
                Err(GlueError::Part(_)) if iteration > 0 => break,
                next => next?,
            };
        }
        Err(self.uncorrected(window, factor))
    }

    /// One iteration: GL-DYN, GL-ACC, and GL-POS with GL-VEL where they are needed.
    fn iterate(&mut self, window: &Window, at: &Told, now: &Balance) -> Result<Told, GlueError> {
        let (rows, pull) = (now.pull.transpose(), &now.pull);
        let mut opening = self.interface.acceleration();
        let mut stiff = vec![0.0; self.interface.width()];
        if now.dynamics > 1.0 {
            let answers = self.correct_parts(window, Correction::Dynamics, &now.load, &stiff)?;
            let responses: Vec<PartResponse> = answers.into_iter().map(|a| a.response).collect();
            let motions = self.site_motions(&responses)?;
            let change = difference(&motions, &at.motions, |m| (m.acceleration, m.spin_rate));
            stiff = self.of_springs(window, at, &self.interface.to_own().apply(&change))?;
            let unloaded = vec![0.0; self.interface.rows().0];
            self.interface.place(window.to, &motions, &unloaded);
            opening = self.interface.acceleration();
            let by_springs = rows.apply(&at.y.velocity.apply(&stiff));
            opening.iter_mut().zip(by_springs).for_each(|(o, s)| *o += s);
        }
        let change = now.by_load.as_ref().unwrap_or(&now.by_shift).least_change(&opening);
        let load: Vec<f64> = pull.apply(&change).iter().map(|x| -x).collect();
        let moved = self.told(window, Correction::Acceleration, &load, &stiff)?;
        let next = self.balance(window, &moved)?;
        let (gaps, rates) = (self.interface.position(), self.interface.velocity());
        let (length, allowed) = (self.interface.system_length(), &self.options.tolerances);
        let closed = largest(&gaps) <= allowed.position * length
            && largest(&rates) * window.length() <= allowed.velocity * length;
        if closed {
            return Ok(moved);
        }
        let back = |rest: &[f64]| -> Vec<f64> {
            next.pull.apply(&next.by_shift.least_change(rest)).iter().map(|x| -x).collect()
        };
        self.told(window, Correction::Position, &back(&rates), &back(&gaps))
    }

    /// What springs and dampers between the parts add to K̄: their loads s on the way of Δâ, s = (h²β ∂F/∂δ + hγ ∂F/∂τ)(BΔâ + Y s).
    fn of_springs(&mut self, window: &Window, at: &Told, change: &[f64]) -> Result<Vec<f64>, GlueError> {
        let n = self.interface.width();
        if self.interface.system().model.forces.is_empty() {
            return Ok(vec![0.0; n]);
        }
        let (h, linear) = (window.length(), self.interface.linearize());
        let by = Matrix::zeros(n, n).plus(h * h * BETA, &linear.stiffness).plus(h * GAMMA, &linear.damping);
        let left = Matrix::from_fn(n, n, |i, j| (i == j) as u8 as f64).plus(-1.0, &by.times(&at.y.velocity));
        let side = Matrix { rows: n, columns: 1, values: by.apply(change) };
        Ok(left.solve(&side).map_err(|_| self.uncorrected(window, f64::NAN))?.values)
    }
}
