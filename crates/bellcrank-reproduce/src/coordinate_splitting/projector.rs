//! CS and CM as the papers write them, with an explicit dense projector: what the sparse table is held to.

use super::partition::solve;
use bellcrank_math::linear::blocks::BlockMatrix;
use bellcrank_math::linear::dense::DenseLu;
use bellcrank_math::linear::solver::LinearSolver;
use bellcrank_model::dynamics::{Dynamics, Point, Slopes};
use bellcrank_model::hand_written::{Equations, HandWritten};
use bellcrank_solve::formulation;
use bellcrank_solve::linear::partition::Partition;
use bellcrank_solve::newton::{Iteration, Residual};
use bellcrank_solve::stencil::Stencil;
use bellcrank_solve::step::Step;
use std::sync::Arc;

/// One problem with M = I at one point, dense.
struct Projected<'a> {
    e: &'a dyn Equations,
    y: Vec<usize>,
    x: Vec<usize>,
}

impl Projected<'_> {
    fn matrix(&self, rows: usize, fill: impl FnOnce(&mut [f64])) -> Vec<Vec<f64>> {
        let n = self.e.coordinates();
        let mut flat = vec![0.0; rows * n];
        fill(&mut flat);
        flat.chunks(n).map(|r| r.to_vec()).collect()
    }

    fn jacobian(&self, p: &Point) -> Vec<Vec<f64>> {
        self.matrix(self.e.constraints(), |out| self.e.jacobian(p.t, &p.q, out))
    }

    /// s = (GY)⁻ᵀYᵀr.
    fn multipliers(&self, g: &[Vec<f64>], r: &[f64]) -> Vec<f64> {
        let transposed = self.y.iter().map(|&i| g.iter().map(|row| row[i]).collect()).collect();
        solve(transposed, self.y.iter().map(|&i| r[i]).collect())
    }

    /// P r = Xᵀ(r − Gᵀs).
    fn project(&self, g: &[Vec<f64>], r: &[f64]) -> Vec<f64> {
        let s = self.multipliers(g, r);
        self.x.iter().map(|&i| r[i] - g.iter().zip(&s).map(|(row, s)| row[i] * s).sum::<f64>()).collect()
    }

    /// q̇ − v and v̇ − f.
    fn rests(&self, p: &Point) -> [Vec<f64>; 2] {
        let mut f = vec![0.0; p.q.len()];
        self.e.force(p.t, &p.q, &p.v, &mut f);
        [p.qdot.iter().zip(&p.v).map(|(a, b)| a - b).collect(), p.vdot.iter().zip(&f).map(|(a, b)| a - b).collect()]
    }

    fn residual(&self, p: &Point) -> Vec<f64> {
        let g = self.jacobian(p);
        let [r1, r2] = self.rests(p);
        let mut out = [self.project(&g, &r1), self.project(&g, &r2)].concat();
        let mut position = vec![0.0; g.len()];
        self.e.constraint(p.t, &p.q, &mut position);
        out.extend(position);
        out.extend(g.iter().map(|row| row.iter().zip(&p.v).map(|(g, v)| g * v).sum::<f64>()));
        out
    }

    /// P(r_q − (Gᵀs)_q), with the second term for CS.
    fn derivative(&self, p: &Point, slope: f64, keep: bool) -> Vec<Vec<f64>> {
        let (n, g) = (p.q.len(), self.jacobian(p));
        let [r1, r2] = self.rests(p);
        let bend = |r: &[f64]| {
            let s = self.multipliers(&g, r);
            let mut b = self.matrix(n, |out| self.e.multiplier_derivative(p.t, &p.q, &s, out));
            b.iter_mut().flatten().for_each(|x| *x *= keep as u8 as f64);
            b
        };
        let (bend_1, bend_2) = (bend(&r1), bend(&r2));
        let f_q = self.matrix(n, |out| self.e.force_q(p.t, &p.q, &p.v, out));
        let f_v = self.matrix(n, |out| self.e.force_v(p.t, &p.q, &p.v, out));
        let turning = self.matrix(g.len(), |out| self.e.jacobian_derivative(p.t, &p.q, &p.v, out));
        let unit = |i: usize, j: usize| (i == j) as u8 as f64;
        // column by column: P acts on columns
        let columns: Vec<Vec<f64>> = (0..2 * n)
            .map(|k| {
                let (j, of_q) = (k % n, k < n);
                let rows = |f: &dyn Fn(usize) -> f64| (0..n).map(f).collect::<Vec<f64>>();
                let (top, middle) = if of_q {
                    (rows(&|i| slope * unit(i, j) - bend_1[i][j]), rows(&|i| -f_q[i][j] - bend_2[i][j]))
                } else {
                    (rows(&|i| -unit(i, j)), rows(&|i| slope * unit(i, j) - f_v[i][j]))
                };
                let mut column = [self.project(&g, &top), self.project(&g, &middle)].concat();
                column.extend(g.iter().map(|row| if of_q { row[j] } else { 0.0 }));
                column.extend((0..g.len()).map(|i| if of_q { turning[i][j] } else { g[i][j] }));
                column
            })
            .collect();
        (0..2 * n).map(|i| columns.iter().map(|c| c[i]).collect()).collect()
    }
}

/// Iterates of the table and of the explicit projector from the same start, with a matrix that is formed
/// in every iteration or kept; the largest difference relative to the first correction.
fn compare<E: Equations + Clone + 'static>(e: E, p: &Point, h: f64, iteration: Iteration, fresh: bool) -> f64 {
    let dynamics: Arc<dyn Dynamics> = Arc::new(HandWritten::new(e.clone()));
    let n = p.q.len();
    let slope = 1.0 / h;
    let stencil = Stencil {
        t: h,
        h,
        slopes: Slopes { q: slope, v: slope, z: slope },
        eta_q: p.q.iter().map(|q| -slope * q).collect(),
        eta_v: p.v.iter().map(|v| -slope * v).collect(),
        ..Stencil::default()
    };
    // a predictor that is off the manifold
    let mut start = p.clone();
    (0..n).for_each(|i| start.q[i] += h * p.v[i] + 0.01 * ((i + 1) as f64).sin());
    (0..n).for_each(|i| start.v[i] += 0.1 * ((i + 2) as f64).cos());
    stencil.rates(&mut start);

    let mut step = Step::new(dynamics.clone(), formulation::ggl(), start.clone());
    step.stencil = stencil.clone();
    step.prepare(iteration);
    let mut flat = vec![0.0; n * e.constraints()];
    e.jacobian(0.0, &p.q, &mut flat);
    let rows: Vec<_> = flat.chunks(n).map(|r| r.iter().copied().enumerate().filter(|x| x.1 != 0.0).collect()).collect();
    let partition = Partition::choose(&rows, n);
    step.set_partition(&partition);
    let y: Vec<usize> = partition.dependent.iter().flatten().copied().collect();
    let x = (0..n).filter(|i| partition.independent[*i]).collect();
    let explicit = Projected { e: &e, y, x };
    let keep = iteration == Iteration::CoordinateSplit;

    let mut point = start;
    let mut matrix = BlockMatrix::new(step.pattern().clone());
    let mut linear = DenseLu::new();
    linear.analyze(step.pattern()).unwrap();
    let mut dense = Vec::new();
    let (mut worst, mut first) = (0.0f64, 0.0f64);
    for k in 0..5 {
        let mut dx = vec![0.0; step.pattern().dimension()];
        step.residual(&mut dx);
        if k == 0 || fresh {
            step.form_matrix(iteration, &mut matrix);
            linear.factor(&matrix).unwrap();
            dense = explicit.derivative(&point, slope, keep);
        }
        linear.solve(&mut dx).unwrap();
        step.correct(&dx);
        let change = solve(dense.clone(), explicit.residual(&point));
        (0..n).for_each(|i| {
            point.q[i] -= change[i];
            point.v[i] -= change[n + i];
        });
        stencil.rates(&mut point);
        if k == 0 {
            first = change.iter().fold(0.0, |m, c| m.max(c.abs()));
        }
        let pairs = point.q.iter().chain(&point.v).zip(step.point.q.iter().chain(&step.point.v));
        worst = pairs.fold(worst, |m, (a, b)| m.max((a - b).abs()));
    }
    worst / first
}

#[test]
fn the_table_iterates_like_the_explicit_projector() {
    use super::problems::{Bushing, PointMass, TwoBody};
    let at = |q: &[f64], v: &[f64]| Point {
        q: q.to_vec(),
        v: v.to_vec(),
        qdot: v.to_vec(),
        vdot: vec![0.0; q.len()],
        ..Point::default()
    };
    for iteration in [Iteration::CoordinateSplit, Iteration::CoordinateModified] {
        for fresh in [true, false] {
            let sized = |mut p: Point, m: usize| {
                (p.lambda, p.mu) = (vec![0.3; m], vec![-0.2; m]);
                p
            };
            let (q, v) = TwoBody::start();
            let two = compare(TwoBody::with_stiffness(1e3), &sized(at(&q, &v), 5), 0.01, iteration, fresh);
            let mass = compare(PointMass::s1b(1e-3), &sized(at(&[0.8, -0.6], &[0.3, 0.4]), 1), 0.01, iteration, fresh);
            let bushing = compare(
                Bushing::simplified(),
                &sized(at(&[0.9, -0.435889894, 0.0], &[0.1, 0.2, 0.0]), 2),
                1e-3,
                iteration,
                fresh,
            );
            for d in [two, mass, bushing] {
                assert!(d < 1e-11, "{iteration:?}, fresh {fresh}: {two:.1e} {mass:.1e} {bushing:.1e}");
            }
        }
    }
}
