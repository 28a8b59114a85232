//! Frequency responses of a linear model: H(iω) = C (iω − A)⁻¹ B + D.

use super::state_space::StateSpace;
use bellcrank_math::linear::matrix::Matrix;

/// The response of one output to one input at one frequency: an input cos ωt makes |H| cos(ωt + arg H), when all that
/// decays has decayed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gain {
    /// The real part of H(iω).
    pub re: f64,
    /// The imaginary part.
    pub im: f64,
}

impl Gain {
    /// |H|.
    pub fn magnitude(&self) -> f64 {
        self.re.hypot(self.im)
    }

    /// arg H in rad, from −π to π.
    pub fn phase(&self) -> f64 {
        self.im.atan2(self.re)
    }
}

impl StateSpace {
    /// H(iω), row after row of outputs by inputs; `None` where iω is an eigenvalue.
    ///
    /// With x = a + ib: −A a − ω b = B and ω a − A b = 0, a real system of twice the size.
    pub fn response(&self, omega: f64) -> Option<Vec<Gain>> {
        let (n, m) = (self.a.rows, self.b.columns);
        let system = Matrix::from_fn(2 * n, 2 * n, |i, j| match (i < n, j < n) {
            (true, true) => -self.a.at(i, j),
            (false, false) => -self.a.at(i - n, j - n),
            (true, false) if i == j - n => -omega,
            (false, true) if i - n == j => omega,
            _ => 0.0,
        });
        let loads = Matrix::from_fn(2 * n, m, |i, j| if i < n { self.b.at(i, j) } else { 0.0 });
        let x = if n == 0 { loads } else { system.solve(&loads).ok()? };
        let gain = |i: usize, j: usize| {
            let sum = |first: usize| (0..n).map(|k| self.c.at(i, k) * x.at(first + k, j)).sum::<f64>();
            Gain { re: sum(0) + self.d.at(i, j), im: sum(n) }
        };
        let all: Vec<Gain> =
            (0..self.c.rows).flat_map(|i| (0..m).map(move |j| (i, j))).map(|(i, j)| gain(i, j)).collect();
        all.iter().all(|g| g.re.is_finite() && g.im.is_finite()).then_some(all)
    }
}

/// Phases without jumps by full turns, in rad.
pub fn unwrapped(phases: &[f64]) -> Vec<f64> {
    let mut last = phases.first().copied().unwrap_or(0.0);
    let nearest = |phase: &f64| {
        last = phase + std::f64::consts::TAU * ((last - phase) / std::f64::consts::TAU).round();
        last
    };
    phases.iter().map(nearest).collect()
}

/// A matrix as a list of its rows.
pub fn rows(matrix: &Matrix) -> Vec<Vec<f64>> {
    (0..matrix.rows).map(|i| (0..matrix.columns).map(|j| matrix.at(i, j)).collect()).collect()
}
