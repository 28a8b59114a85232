//! Reactions of least norm where redundant constraints leave them undetermined, and the joints this concerns.

use super::kkt::Kkt;
use super::scales::RowScales;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_math::random::Xorshift;
use bellcrank_model::{Point, Workspace};

/// Most iterations for multipliers of least norm: loops are local, and take about ten.
const LEAST_ITERATIONS: usize = 60;

/// ε of the proximal iteration for the least multipliers.
const PROXIMAL: f64 = 1e-6;

impl Kkt {
    /// The multipliers of least size that pull like λ: the least Σ (dₖ λ'ₖ)² with Gᵀλ' = Gᵀλ, at a realized
    /// point; with λ' = λ where no row is redundant. A proximal iteration on
    ///
    /// ```text
    ///     [ ε W  Gᵀ  ] [ y  ]   [ Gᵀ(λ − λ') ]
    ///     [ G   −d²  ] [ Δλ'] = [     0      ]
    /// ```
    ///
    /// whose error falls by ε/(ε + σ²) each time, σ the singular values of d⁻¹G W^(−1/2); of a [`Self::proximal`] system.
    pub fn least_multipliers(
        &mut self,
        scales: &RowScales,
        at: &Point,
        w: &mut Workspace,
        lambda: &mut [f64],
    ) -> Result<(), LinearError> {
        // all rows share what they pull
        self.leave_out(None);
        self.fill_constraints(at, w);
        let bodies = self.dynamics.layout().bodies.len();
        let (mut column, mut row) = (0, 0);
        for k in 0..self.matrix.pattern().blocks() {
            let size = self.matrix.pattern().size(k);
            let first = self.matrix.pattern().range(k).start;
            let block = self.matrix.block_mut(k, k).ok_or(LinearError::Singular { row: first })?;
            for i in 0..size {
                block[i * size + i] = match k < bodies {
                    true => PROXIMAL * scales.columns[column + i],
                    false => -scales.rows[row + i].powi(2),
                };
            }
            if k < bodies { column += size } else { row += size }
        }
        self.factorizations += 1;
        self.linear.factor(&self.matrix)?;
        let mut wanted = vec![0.0; self.n];
        self.add_pull(1.0, lambda, &mut wanted);
        let size = wanted.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        lambda.fill(0.0);
        for _ in 0..12 {
            self.rhs.fill(0.0);
            self.rhs[..self.n].copy_from_slice(&wanted);
            let mut rest = std::mem::take(&mut self.rhs);
            self.add_pull(-1.0, lambda, &mut rest[..self.n]);
            let left = rest[..self.n].iter().fold(0.0f64, |m, x| m.max(x.abs()));
            self.rhs = rest;
            if left <= 1e-13 * size {
                break;
            }
            self.linear.solve(&mut self.rhs)?;
            lambda.iter_mut().zip(&self.rhs[self.n..]).for_each(|(l, d)| *l += d);
        }
        Ok(())
    }

    /// The constraint blocks whose multipliers can change without any effect at a realized point: random
    /// ones lose that part of themselves when they are made least; of a [`Self::proximal`] system.
    pub fn not_unique(&mut self, scales: &RowScales, at: &Point, w: &mut Workspace) -> Result<Vec<usize>, LinearError> {
        let mut random = Xorshift(11);
        let any: Vec<f64> = (0..self.dynamics.layout().m()).map(|_| random.number()).collect();
        let mut least = any.clone();
        self.least_multipliers(scales, at, w, &mut least)?;
        let blocks = self.dynamics.layout().constraints.iter().enumerate();
        let free = |r: &std::ops::Range<usize>| r.clone().any(|i| (any[i] - least[i]).abs() > 1e-4);
        Ok(blocks.filter(|(_, r)| free(r)).map(|(k, _)| k).collect())
    }

    /// The multipliers of least size that pull like λ, with the factors at hand: λ − Z y with the least Σ (dₖ λ'ₖ)², by
    /// conjugate gradients [Hestenes & Stiefel 1952]. Z makes of any multipliers y of dropped rows some that pull nothing, with
    /// those of kept rows that take the pull of y back. What is unique does not change, however far the iteration comes:
    /// [`Self::least_multipliers`] errs by a hundredth in ladders of 200 bodies and by a half in those of 1000, as its iterations grow with their length.
    pub fn least_at_hand(&mut self, scales: &RowScales, lambda: &mut [f64]) -> Result<(), LinearError> {
        let dropped = self.dropped_rows();
        let d = &scales.rows;
        let dot = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        let mut rest: Vec<f64> = lambda.iter().zip(d).map(|(l, d)| d * l).collect();
        let (mut image, mut gradient) = (vec![0.0; lambda.len()], vec![0.0; dropped.len()]);
        self.add_to_dropped(d, &dropped, &rest, &mut gradient)?;
        let mut direction = gradient.clone();
        let first = dot(&gradient);
        let mut size = first;
        for _ in 0..LEAST_ITERATIONS {
            if size <= 1e-20 * first {
                break;
            }
            self.pull_nothing(d, &dropped, &direction, &mut image)?;
            let step = size / dot(&image);
            if !step.is_finite() {
                break;
            }
            rest.iter_mut().zip(&image).for_each(|(r, i)| *r -= step * i);
            gradient.fill(0.0);
            self.add_to_dropped(d, &dropped, &rest, &mut gradient)?;
            let before = std::mem::replace(&mut size, dot(&gradient));
            // what grows from here on is rounding
            if size >= before && size <= 1e-10 * first {
                break;
            }
            direction.iter_mut().zip(&gradient).for_each(|(p, g)| *p = g + size / before * *p);
        }
        lambda.iter_mut().zip(&rest).zip(d).for_each(|((l, r), d)| *l = r / d);
        Ok(())
    }

    /// out = D Z D⁻¹ y for a y over the dropped rows.
    fn pull_nothing(&mut self, d: &[f64], dropped: &[usize], y: &[f64], out: &mut [f64]) -> Result<(), LinearError> {
        out.fill(0.0);
        dropped.iter().zip(y).for_each(|(&r, y)| out[r] = y / d[r]);
        let mut pull = std::mem::take(&mut self.rhs);
        pull.fill(0.0);
        self.add_pull(1.0, out, &mut pull[..self.n]);
        let solved = self.linear.solve(&mut pull);
        out.iter_mut().zip(&pull[self.n..]).for_each(|(o, l)| *o -= l);
        dropped.iter().zip(y).for_each(|(&r, y)| out[r] = y / d[r]);
        out.iter_mut().zip(d).for_each(|(o, d)| *o *= d);
        self.rhs = pull;
        solved
    }

    /// out += D⁻¹ Zᵀ D u, over the dropped rows.
    fn add_to_dropped(&mut self, d: &[f64], dropped: &[usize], u: &[f64], out: &mut [f64]) -> Result<(), LinearError> {
        let mut change = std::mem::take(&mut self.rhs);
        change.fill(0.0);
        change[self.n..].iter_mut().zip(u).zip(d).for_each(|((c, u), d)| *c = d * u);
        dropped.iter().for_each(|&r| change[self.n + r] = 0.0);
        let solved = self.linear.solve(&mut change);
        let mut rates = vec![0.0; u.len()];
        self.add_rates(1.0, &change[..self.n], &mut rates);
        out.iter_mut().zip(dropped).for_each(|(o, &r)| *o += u[r] - rates[r] / d[r]);
        self.rhs = change;
        solved
    }

    /// The constraint blocks with redundant rows, and those that hold what these hold: with the factors at hand, the kept
    /// rows that pull like a random pull of the dropped ones. Also for long chains, where [`Self::not_unique`] needs more
    /// and more iterations.
    pub fn taking_part(&mut self, scales: &RowScales) -> Result<Vec<usize>, LinearError> {
        let mut random = Xorshift(11);
        let (m, dropped) = (self.dynamics.layout().m(), self.dropped_rows());
        let mut pull = vec![0.0; m];
        // what sums up along a chain is rounded least where a torque counts like a force on the arms that it has
        let d = |i: usize| if scales.rows[i] == 1.0 { 1.0 } else { 1.0 / scales.turn };
        dropped.iter().for_each(|&r| pull[r] = random.number() / d(r));
        let mut lambda = vec![0.0; m];
        let mut largest = 0.0;
        // what rounding left is solved for again
        for _ in 0..6 {
            let mut rest = std::mem::take(&mut self.rhs);
            rest.fill(0.0);
            self.add_pull(1.0, &pull, &mut rest[..self.n]);
            self.add_pull(-1.0, &lambda, &mut rest[..self.n]);
            let left = rest.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            self.rhs = rest;
            largest = left.max(largest);
            if left <= 1e-14 * largest {
                break;
            }
            self.linear.solve(&mut self.rhs)?;
            lambda.iter_mut().zip(&self.rhs[self.n..]).for_each(|(l, d)| *l += d);
        }
        dropped.iter().for_each(|&r| lambda[r] = pull[r]);
        let pulls = |r: &std::ops::Range<usize>| r.clone().any(|i| (lambda[i] * d(i)).abs() > 1e-4);
        let blocks = self.dynamics.layout().constraints.iter().enumerate();
        Ok(blocks.filter(|(_, r)| pulls(r)).map(|(k, _)| k).collect())
    }
}
