//! The equations of the interface: their residuals, and one Newton step.

use super::least::Equations;
use super::window::Unknowns;
use super::{Coordinator, largest, minus};
use crate::options::{Coupling, Levels};
use crate::subdomain::{Admittance, Window};
use bellcrank_math::linear::matrix::Matrix;

/// The residuals of the interface at the present motion.
pub(super) struct Residuals {
    /// ℓ − F + Γᵀλ.
    pub load: Vec<f64>,
    /// σ + Γᵀμ.
    pub shift: Vec<f64>,
    /// Φ.
    pub gaps: Vec<f64>,
    /// Φ̇.
    pub rates: Vec<f64>,
    /// The constraint rows that Newton solves.
    pub rows: Vec<f64>,
    /// Γᵀ as it stands in the law of the loads.
    pub effective: Matrix,
}

impl Residuals {
    /// The size of each residual; the imbalance of loads as the displacement it causes.
    pub fn levels(&self, y: &Admittance) -> Levels {
        let dynamics = largest(&y.place.apply(&self.load)).max(largest(&y.place_by_shift.apply(&self.shift)));
        Levels { position: largest(&self.gaps), velocity: largest(&self.rates), acceleration: 0.0, dynamics }
    }
}

/// The interface linearized in (ℓ, σ): the law of loads D, and the constraint rows.
struct Linearized {
    d: Matrix,
    rows: Matrix,
    /// Γᵀ without nonholonomic columns; nothing where there are no shifts.
    pull_mu: Matrix,
}

impl Coordinator {
    /// The residuals of the interface at the present motion.
    pub(super) fn residuals(&mut self, window: &Window, x: &Unknowns) -> Residuals {
        let pull = self.interface.pull();
        let (mut force, mut effective) = (self.interface.force(), pull.clone());
        let to_own = self.interface.to_own();
        if self.options.coupling == Coupling::Windows {
            // the mean over the window, in the world: the ports turn
            let start = to_own.apply(&self.history.law.force);
            force = force.iter().zip(&start).map(|(a, b)| 0.5 * (a + b)).collect();
            effective = halved(&pull, &to_own.times(&self.history.law.pull));
        }
        let law = minus(&force, &effective.apply(&x.lambda));
        let shift = match self.options.coupling {
            Coupling::Stabilized => {
                let by_mu = self.rate_columns(&pull).apply(&x.mu);
                to_own.apply(&x.shift).iter().zip(by_mu).map(|(s, p)| s + p).collect()
            }
            _ => vec![0.0; self.interface.width()],
        };
        let (gaps, rates) = (self.interface.position(), self.interface.velocity());
        let rows = match self.options.coupling {
            Coupling::Stabilized => gaps.iter().chain(&rates).copied().collect(),
            Coupling::Windows => self.mixed(&gaps, &rates, 2.0 / window.length()),
            _ => gaps.clone(),
        };
        Residuals { load: minus(&to_own.apply(&x.load), &law), shift, gaps, rates, rows, effective }
    }

    /// Γᵀ without the columns of nonholonomic rows, which have no μ.
    pub(super) fn rate_columns(&self, pull: &Matrix) -> Matrix {
        let layout = self.interface.system().layout();
        let kept: Vec<usize> = layout
            .constraints
            .iter()
            .zip(&layout.rates)
            .filter(|(_, r)| !r.is_empty())
            .flat_map(|(c, _)| c.clone())
            .collect();
        Matrix::from_fn(pull.rows, kept.len(), |i, j| pull.at(i, kept[j]))
    }

    /// Φ̇ + c Φ, or the velocity row itself where it is nonholonomic.
    fn mixed(&self, positions: &[f64], velocities: &[f64], c: f64) -> Vec<f64> {
        let layout = self.interface.system().layout();
        let mut out = positions.to_vec();
        for (rows, rates) in layout.constraints.iter().zip(&layout.rates).filter(|(_, r)| !r.is_empty()) {
            rows.clone().zip(rates.clone()).for_each(|(i, k)| out[i] = velocities[k] + c * positions[i]);
        }
        out
    }

    /// One Newton step of the interface; false if its matrix is singular beyond repair.
    pub(super) fn solve(&mut self, window: &Window, y: &Admittance, rest: &Residuals, x: &mut Unknowns) -> bool {
        let n = self.interface.width();
        let Linearized { d, rows, pull_mu } = self.linearized(window, y);
        let (columns, m, p) = (d.columns, rest.effective.columns, pull_mu.columns);
        // right-hand sides: −(imbalance), and the pulls of λ and μ
        let sides = Matrix::from_fn(columns, 1 + m + p, |i, j| match (j, i < n) {
            (0, true) => -rest.load[i],
            (0, false) => -rest.shift[i - n],
            (j, true) if j <= m => -rest.effective.at(i, j - 1),
            (j, false) if j > m => -pull_mu.at(i - n, j - 1 - m),
            _ => 0.0,
        });
        let Ok(answers) = d.solve(&sides) else { return false };
        let moved = rows.times(&answers);
        let k = Matrix::from_fn(rows.rows, m + p, |i, j| moved.at(i, 1 + j));
        let wanted: Vec<f64> = (0..rows.rows).map(|i| -rest.rows[i] - moved.at(i, 0)).collect();
        let Some(equations) = Equations::new(&k) else { return false };
        let mut delta = equations.least_change(&wanted);
        let moving = equations.moving();
        if let Some(moving) = &moving {
            let at: Vec<f64> = x.lambda.iter().chain(&x.mu).take(m + p).copied().collect();
            delta.iter_mut().zip(moving.apply(&at)).zip(&at).for_each(|((d, kept), at)| *d += kept - at);
        }
        self.history.admittance.moving = moving;
        let by_multipliers = Matrix::from_fn(columns, m + p, |i, j| answers.at(i, 1 + j)).times(&column(&delta));
        let change: Vec<f64> = (0..columns).map(|i| answers.at(i, 0) + by_multipliers.at(i, 0)).collect();
        x.load.iter_mut().zip(self.in_world(&change[..n])).for_each(|(x, c)| *x += c);
        if columns > n {
            x.shift.iter_mut().zip(self.in_world(&change[n..])).for_each(|(x, c)| *x += c);
        }
        x.lambda.iter_mut().zip(&delta).for_each(|(l, d)| *l += d);
        x.mu.iter_mut().zip(&delta[m..]).for_each(|(l, d)| *l += d);
        true
    }

    /// Rows of joints as the first part of each knows them: the others stay where they were.
    fn held(&self, rows: &Matrix) -> Matrix {
        let bodies = self.interface.system().layout().bodies.iter();
        let owners: Vec<usize> =
            self.interface.sites.iter().zip(bodies).flat_map(|(s, b)| vec![s.0; b.len()]).collect();
        let mut held = rows.clone();
        for i in 0..rows.rows {
            let first = (0..rows.columns).filter(|j| rows.at(i, *j) != 0.0).map(|j| owners[j]).min();
            (0..rows.columns).filter(|j| Some(owners[*j]) != first).for_each(|j| *held.at_mut(i, j) = 0.0);
        }
        held
    }

    fn linearized(&mut self, window: &Window, y: &Admittance) -> Linearized {
        let n = self.interface.width();
        let linear = self.interface.linearize();
        let stabilized = self.options.coupling == Coupling::Stabilized;
        let half = if self.options.coupling == Coupling::Windows { 0.5 } else { 1.0 };
        let columns = if stabilized { 2 * n } else { n };
        let beside = |a: &Matrix, b: &Matrix| {
            Matrix::from_fn(a.rows, columns, |i, j| if j < n { a.at(i, j) } else { b.at(i, j - n) })
        };
        // displacement and twist of the ports by (ℓ, σ)
        let place = beside(&y.place, &y.place_by_shift);
        let mut twist = beside(&y.velocity, &y.velocity_by_shift);
        self.interface.turn(&place, &mut twist);
        let law = linear.stiffness.times(&place).plus(1.0, &linear.damping.times(&twist));
        let relaxed = self.options.coupling == Coupling::Relaxation;
        let d = Matrix::from_fn(columns, columns, |i, j| {
            (i == j) as u8 as f64 - if i < n && !relaxed { half * law.at(i, j) } else { 0.0 }
        });
        let position = linear.position.times(&place).plus(1.0, &linear.position_by_twist.times(&twist));
        let velocity = linear.velocity.times(&place).plus(1.0, &linear.velocity_by_twist.times(&twist));
        let rows = match self.options.coupling {
            Coupling::Stabilized => Matrix::from_fn(position.rows + velocity.rows, columns, |i, j| {
                if i < position.rows { position.at(i, j) } else { velocity.at(i - position.rows, j) }
            }),
            Coupling::Windows => {
                let mut rows = Matrix::zeros(position.rows, columns);
                for j in 0..columns {
                    let mixed = self.mixed(&position.column(j), &velocity.column(j), 2.0 / window.length());
                    (0..position.rows).for_each(|i| *rows.at_mut(i, j) = mixed[i]);
                }
                rows
            }
            Coupling::Relaxation => {
                let (by_place, by_twist) = (self.held(&linear.position), self.held(&linear.position_by_twist));
                by_place.times(&place).plus(1.0, &by_twist.times(&twist))
            }
            _ => position,
        };
        let pull_mu = if stabilized { self.rate_columns(&linear.pull) } else { Matrix::zeros(n, 0) };
        Linearized { d, rows, pull_mu }
    }
}

fn column(x: &[f64]) -> Matrix {
    Matrix { rows: x.len(), columns: 1, values: x.to_vec() }
}

/// ½(A + B).
pub(super) fn halved(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::from_fn(a.rows, a.columns, |i, j| 0.5 * (a.at(i, j) + b.at(i, j)))
}
