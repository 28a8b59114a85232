//! Theorems 3 and 4 of the convergence paper, measured: the rate of CS and CM against the distance δ of the matrix from the
//! solution, the stiffness 1/ε and the step h; and the longest step for which CS converges.
//!
//! One step of backward Euler for a point mass on the unit circle, P(q̇ − v) = 0, P(v̇ − f) = 0, g = 0, G v = 0, dense. The matrix
//! J₀ is formed at a distance δ off the circle and kept: the iteration contracts by the spectral radius of I − J₀⁻¹J.

use super::problems::PointMass;
use super::strings;
use crate::claim::{Against, around, at_most};
use crate::report::{Missing, Report, Table};
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_model::hand_written::Equations;
use bellcrank_view::plot::{Axis, Curve, Figure};

/// A linear stiff force across the circle at the angle −0.3, as theorem 4 has it: −n nᵀ(q − q_e)/ε with n constant, and gravity.
struct Across {
    epsilon: f64,
}

/// The point of the circle at the angle −0.3.
fn place() -> [f64; 2] {
    [(-0.3f64).cos(), (-0.3f64).sin()]
}

impl Equations for Across {
    fn coordinates(&self) -> usize {
        2
    }
    fn constraints(&self) -> usize {
        1
    }
    fn mass(&self, _: &[f64], m: &mut [f64]) {
        (m[0], m[3]) = (1.0, 1.0);
    }
    fn force(&self, _: f64, q: &[f64], _: &[f64], f: &mut [f64]) {
        let n = place();
        let pull = (n[0] * (q[0] - n[0]) + n[1] * (q[1] - n[1])) / self.epsilon;
        f.copy_from_slice(&[-pull * n[0], -pull * n[1] - 1.0]);
    }
    fn force_q(&self, _: f64, _: &[f64], _: &[f64], out: &mut [f64]) {
        let n = place();
        (0..4).for_each(|i| out[i] = -n[i / 2] * n[i % 2] / self.epsilon);
    }
    fn constraint(&self, _: f64, q: &[f64], g: &mut [f64]) {
        g[0] = 0.5 * (q[0] * q[0] + q[1] * q[1] - 1.0);
    }
    fn jacobian(&self, _: f64, q: &[f64], out: &mut [f64]) {
        out.copy_from_slice(q);
    }
    fn jacobian_derivative(&self, _: f64, _: &[f64], u: &[f64], out: &mut [f64]) {
        out.copy_from_slice(u);
    }
    fn multiplier_derivative(&self, _: f64, _: &[f64], lambda: &[f64], out: &mut [f64]) {
        (out[0], out[3]) = (lambda[0], lambda[0]);
    }
}

/// One step of backward Euler from q, v.
struct EulerStep {
    of: Box<dyn Equations>,
    h: f64,
    q: [f64; 2],
    v: [f64; 2],
}

/// The unknowns q and v of a step.
type Trial = [f64; 4];

impl EulerStep {
    /// S1a from its equilibrium at rest.
    fn towards(epsilon: f64, h: f64) -> EulerStep {
        EulerStep { of: Box::new(PointMass::s1a(epsilon)), h, q: place(), v: [0.0; 2] }
    }

    /// A linear force across the circle, from rest.
    fn across(epsilon: f64, h: f64) -> EulerStep {
        EulerStep { of: Box::new(Across { epsilon }), h, q: place(), v: [0.0; 2] }
    }

    /// S1c from the angle −0.3 with unit speed.
    fn radial(epsilon: f64, h: f64) -> EulerStep {
        let (sin, cos) = (-0.3f64).sin_cos();
        EulerStep { of: Box::new(PointMass::s1c(epsilon)), h, q: [cos, sin], v: [-sin, cos] }
    }

    /// The residual and its matrix: with P(Gᵀs)_q as CS has it, or without as CM.
    fn at(&self, x: &Trial, bent: bool) -> ([f64; 4], Matrix) {
        let (q, v, h) = ([x[0], x[1]], [x[2], x[3]], self.h);
        let (mut f, mut f_q) = ([0.0; 2], [0.0; 4]);
        self.of.force(0.0, &q, &v, &mut f);
        self.of.force_q(0.0, &q, &v, &mut f_q);
        let kinematic = [0, 1].map(|i| (q[i] - self.q[i]) / h - v[i]);
        let dynamic = [0, 1].map(|i| (v[i] - self.v[i]) / h - f[i]);
        // the larger coordinate depends on the other; G = qᵀ, so that (Gᵀs)_q = s I
        let y = (q[0].abs() < q[1].abs()) as usize;
        let mut p = [1.0; 2];
        p[y] = -q[1 - y] / q[y];
        let dot = |a: &[f64; 2], b: &[f64; 2]| a[0] * b[0] + a[1] * b[1];
        let residual = [dot(&p, &kinematic), dot(&p, &dynamic), 0.5 * (dot(&q, &q) - 1.0), dot(&q, &v)];
        let s = |r: &[f64; 2]| if bent { r[y] / q[y] } else { 0.0 };
        let (s_kinematic, s_dynamic) = (s(&kinematic), s(&dynamic));
        let matrix = Matrix::from_fn(4, 4, |i, j| match (i, j < 2, j % 2) {
            (0, true, j) => p[j] * (1.0 / h - s_kinematic),
            (0, false, j) => -p[j],
            (1, true, j) => -(p[0] * f_q[j] + p[1] * f_q[2 + j]) - p[j] * s_dynamic,
            (1, false, j) => p[j] / h,
            (2, true, j) => q[j],
            (2, false, _) => 0.0,
            (_, true, j) => v[j],
            (_, false, j) => q[j],
        });
        (residual, matrix)
    }

    /// Newton's iteration of CS from a trial, as far as it converges.
    fn solve(&self, mut x: Trial) -> Option<Trial> {
        for _ in 0..MOST {
            let (residual, matrix) = self.at(&x, true);
            let step = matrix.solve(&Matrix { rows: 4, columns: 1, values: residual.to_vec() }).ok()?.values;
            x.iter_mut().zip(&step).for_each(|(x, d)| *x -= d);
            let size = step.iter().fold(0.0f64, |m, d| if d.is_nan() { f64::NAN } else { m.max(d.abs()) });
            if size < 1e-11 {
                return Some(x);
            }
            if size.is_nan() || size >= 1e6 {
                return None;
            }
        }
        None
    }

    /// The rate with a matrix formed δ off the circle, of CS or of CM.
    fn rate(&self, delta: f64, bent: bool) -> f64 {
        let start = [self.q[0], self.q[1], self.v[0], self.v[1]];
        let Some(x) = self.solve(start) else { return f64::NAN };
        let exact = self.at(&x, true).1;
        let off = [x[0] * (1.0 + delta), x[1] * (1.0 + delta), x[2], x[3]];
        let Ok(solved) = self.at(&off, bent).1.solve(&exact) else { return f64::NAN };
        radius(Matrix::from_fn(4, 4, |i, j| (i == j) as u8 as f64 - solved.at(i, j)))
    }
}

/// Most iterations to the solution of a step.
const MOST: usize = 60;

/// The spectral radius, by squaring six times.
fn radius(mut of: Matrix) -> f64 {
    let mut log = 0.0;
    for _ in 0..6 {
        let size = of.largest();
        if size == 0.0 {
            return 0.0;
        }
        of.values.iter_mut().for_each(|x| *x /= size);
        log = 2.0 * (log + size.ln());
        of = of.times(&of);
    }
    ((log + of.largest().ln()) / 64.0).exp()
}

const DELTAS: [f64; 3] = [1e-6, 1e-5, 1e-4];
const EPSILONS: [f64; 4] = [1e-2, 1e-4, 1e-6, 1e-8];
const STEPS: [f64; 5] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1];

type RateProblem = (&'static str, fn(f64, f64) -> EulerStep);
const PROBLEMS: [RateProblem; 3] = [
    ("a linear force across the circle", EulerStep::across),
    ("S1a, a linear force in both directions", EulerStep::towards),
    ("S1c, a radial spring", EulerStep::radial),
];

/// How a rate grows between two settings, as a power.
fn power(a: f64, b: f64, by: f64) -> f64 {
    (b / a).ln() / by.ln()
}

/// Theorem 4: rates over δ, ε and h.
pub(super) fn rates(report: &mut Report, _: bool) {
    for (name, make) in PROBLEMS {
        let mut table = Table {
            title: format!("Theorem 4, {name}: rate of convergence, CS / CM"),
            note: "Spectral radius of I − J₀⁻¹J, the matrix J₀ kept from a distance δ off the circle. The paper has (δ/ε) O(h) + O(h) for CS \
                   and O(h) for CM. Above 1 the iteration diverges."
                .into(),
            header: strings(&["ε", "h", "δ = 1e-6", "1e-5", "1e-4"]),
            rows: Vec::new(),
        };
        for epsilon in EPSILONS {
            for h in STEPS {
                let step = make(epsilon, h);
                let cell = |delta: &f64| format!("{:.1e} / {:.1e}", step.rate(*delta, true), step.rate(*delta, false));
                table.rows.push(
                    [format!("{epsilon:e}"), format!("{h:e}")].into_iter().chain(DELTAS.iter().map(cell)).collect(),
                );
            }
        }
        report.tables.push(table);
    }
    claim_rates(report);
    draw(report);
    longest(report);
}

fn claim_rates(report: &mut Report) {
    let at = |epsilon, h, delta| EulerStep::across(epsilon, h).rate(delta, true);
    let (h, mid) = (1e-3, 1e-3 * 10f64.sqrt());
    let mut law = |what: &str, ours: f64, wanted: f64, paper: &str| {
        let claim = report.claim("rates", Against::Theory, format!("linear force across, rate of CS: {what}"));
        claim.asks("power", ours, around(wanted, 0.1)).paper(paper);
    };
    law("power of δ", power(at(1e-8, mid, 1e-6), at(1e-8, mid, 1e-5), 10.0), 1.0, "δ");
    law("power of ε", power(at(1e-8, mid, 1e-6), at(1e-7, mid, 1e-6), 10.0), -1.0, "1/ε");
    law("power of h", power(at(1e-8, h, 1e-6), at(1e-8, mid, 1e-6), 10f64.sqrt()), 2.0, "h");
    let of_cm = |make: fn(f64, f64) -> EulerStep| {
        let all = EPSILONS.iter().flat_map(|e| STEPS.map(|h| make(*e, h).rate(1e-4, false) / h.max(1e-4)));
        all.fold(0.0f64, |m, x| if x.is_nan() { x } else { m.max(x) })
    };
    for (name, make) in &PROBLEMS[..2] {
        let claim = report.claim("rates", Against::Paper, format!("{name}: rate of CM at δ = 1e-4, for every ε"));
        claim.asks("rate by the larger of h and δ", of_cm(*make), at_most(6.0)).paper("O(h)");
    }
    for (name, make) in &PROBLEMS[1..] {
        let all = EPSILONS.iter().flat_map(|e| STEPS.map(|h| make(*e, h).rate(1e-4, true) / 1e-4));
        let worst = all.fold(0.0f64, |m, x| if x.is_nan() { x } else { m.max(x) });
        let claim =
            report.claim("rates", Against::Theory, format!("{name}: rate of CS at δ = 1e-4, for every ε and h"));
        claim.asks("rate/δ", worst, around(1.0, 0.1)).paper("(δ/ε) O(h)");
    }
    let slow = EulerStep::radial(1e-8, 1e-2).rate(1e-4, false);
    let what = "S1c, ε = 1e-8, h = 1e-2: CM leaves out what balances the turning spring, and hardly converges";
    report.claim("rates", Against::Theory, what).asks("rate", slow, around(0.54, 0.1)).paper("O(h)");
    report.missing.push(Missing {
        table: "theorem 4",
        paper: "a rate of (δ/ε) O(h) for CS and O(h) for CM on oscillatory forces",
        ours: "δ h²/ε for CS and O(h) + O(δ) for CM where a force of constant direction acts across the manifold alone; δ for CS where it acts along it \
               too; and CM stalls where the direction follows the motion, as a radial spring's does"
            .into(),
        why: "The theorem takes the direction of the force for constant. The term that CS keeps is (δ/ε)(I − …) along the manifold, beside 1/h² and the force's own \
              1/ε there. Where the force turns with the body its own derivative has the same term with the other sign: CS keeps both, \
              CM only one.",
    });
}

fn draw(report: &mut Report) {
    let delta = 1e-5;
    let mut curves = Vec::new();
    for epsilon in [1e-4, 1e-6, 1e-8] {
        for (name, bent) in [("CS", true), ("CM", false)] {
            let point = |k: i32| {
                let h = 10f64.powf(0.25 * k as f64);
                (h, EulerStep::across(epsilon, h).rate(delta, bent))
            };
            let points = (-20..=-4).map(point).filter(|p| p.1 > 0.0 && p.1 < 2.0).collect();
            curves.push(Curve { name: format!("{name}, ε = {epsilon:e}"), points, marked: false });
        }
    }
    let (abscissa, ordinate) = (Axis::logarithmic("h"), Axis::logarithmic("rate"));
    let title = "Theorem 4: linear force across the circle, rate with a matrix from δ = 1e-5 off it".into();
    report.figures.push(("rates", Figure { title, abscissa, ordinate, curves }));
}

/// The longest step up to which CS converges with its matrix kept from a distance, to 1 %.
fn limit(epsilon: f64, delta: f64) -> f64 {
    let mut h = 1e-6f64;
    while h < 1.0 && EulerStep::across(epsilon, h).rate(delta, true) < 1.0 {
        h *= 1.01;
    }
    h
}

/// Theorem 3: CS converges if h² < c ε.
fn longest(report: &mut Report) {
    let delta = 1e-2;
    let limits = [1e-6, 1e-7, 1e-8].map(|epsilon| (epsilon, limit(epsilon, delta)));
    let row = |(epsilon, h): &(f64, f64)| {
        vec![format!("{epsilon:e}"), format!("{h:.2e}"), format!("{:.2}", h * h * delta / epsilon)]
    };
    report.tables.push(Table {
        title: format!("Theorem 3: the longest step with which CS converges, its matrix from δ = {delta} off the circle"),
        note: "Linear force across the circle, to 1 %. With a new matrix in every iteration CS converges for any step up to 1 s.".into(),
        header: strings(&["ε", "h", "h² δ/ε"]),
        rows: limits.iter().map(row).collect(),
    });
    let half = power(limits[2].1, limits[0].1, 100.0);
    let what = "theorem 3: the longest step of CS with a kept matrix goes with ε to the power";
    report.claim("rates", Against::Paper, what).asks("power", half, around(0.5, 0.05)).paper("h² < c ε");
    let (_, h) = limits[1];
    let what = "theorem 3: at the longest step the term that CS keeps is half of the matrix, δ h²/ε = ½";
    report.claim("rates", Against::Theory, what).asks("δ h²/ε", h * h * delta / limits[1].0, around(0.5, 0.05));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_of_cs_is_the_derivative_of_its_residual_on_the_circle() {
        for step in PROBLEMS.map(|(_, make)| make(1e-3, 1e-2)) {
            let x = [0.93, -0.35, 0.2, 0.5];
            let (_, matrix) = step.at(&x, true);
            for j in 0..4 {
                let moved = |d: f64| {
                    let mut y = x;
                    y[j] += d;
                    step.at(&y, true).0
                };
                let (a, b) = (moved(1e-6), moved(-1e-6));
                for i in 0..4 {
                    let (by, given) = ((a[i] - b[i]) / 2e-6, matrix.at(i, j));
                    assert!((by - given).abs() < 1e-5 * (1.0 + given.abs()), "{i} {j}: {by} {given}");
                }
            }
        }
    }

    #[test]
    fn the_spectral_radius_is_that_of_the_largest_eigenvalue() {
        let of = Matrix { rows: 2, columns: 2, values: vec![0.5, 1.0, 0.0, 0.25] };
        assert!((radius(of) - 0.5).abs() < 0.02);
        assert_eq!(radius(Matrix::zeros(2, 2)), 0.0);
    }
}
