//! Loads that follow multipliers: friction of hard contacts that slide, and of joints by their reactions.

use super::kkt::Kkt;
use bellcrank_math::linear::range_space::Of;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_model::dynamics::Follower;
use bellcrank_model::{Point, Workspace};

/// Most steps of Newton's method for loads that follow multipliers, and the part of them that counts as none.
const FOLLOWING: usize = 50;
const FOLLOWED: f64 = 1e-13;

impl Kkt {
    /// Adds what loads do that follow multipliers. With the answers x_j of v̇ and λ to their units, λ = λ₀ + Σ δ_j x_j and
    /// δ_j = s_j(λ) − s_j(0), by Newton's method: one step where s is linear.
    pub(super) fn follow(&mut self, given: &[Follower], at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        let answers = self.answers_to(given)?;
        let (k, n) = (given.len(), self.n);
        let start = at.lambda.clone();
        let mut delta = vec![0.0; k];
        let mut settled = false;
        for _ in 0..FOLLOWING {
            at.lambda.clone_from(&start);
            for (answer, d) in answers.iter().zip(&delta) {
                at.lambda.iter_mut().zip(&answer[n..]).for_each(|(x, r)| *x += d * r);
            }
            if settled {
                break;
            }
            let now = self.dynamics.followers(at, w);
            let mut residual: Vec<f64> = (0..k).map(|i| now[i].size - given[i].size - delta[i]).collect();
            solve_following(&following_matrix(&now, &answers, n), &mut residual)
                .map_err(|i| LinearError::Singular { row: n + given[i].slopes.first().map_or(0, |s| s.0) })?;
            let size = now.iter().zip(&delta).fold(0.0f64, |m, (f, d)| m.max(f.size.abs()).max(d.abs()));
            let change = residual.iter().fold(0.0f64, |m, d| m.max(d.abs()));
            delta.iter_mut().zip(&residual).for_each(|(d, r)| *d += r);
            settled = change <= FOLLOWED * size;
        }
        if !settled {
            return Err(LinearError::Singular { row: n + given[0].slopes.first().map_or(0, |s| s.0) });
        }
        for (answer, d) in answers.iter().zip(&delta) {
            at.vdot.iter_mut().zip(&answer[..n]).for_each(|(x, r)| *x += d * r);
        }
        Ok(())
    }

    /// By how much each load that follows multipliers grows with a unit of each, by rows, at a realized point: friction that presses the
    /// joint which makes it.
    pub fn feedback(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(Vec<Follower>, Vec<f64>), LinearError> {
        self.factor(at, w)?;
        at.lambda.fill(0.0);
        let given = self.dynamics.followers(at, w);
        let (answers, n, k) = (self.answers_to(&given)?, self.n, given.len());
        let mut gains = vec![0.0; k * k];
        for (j, answer) in answers.iter().enumerate() {
            at.lambda.copy_from_slice(&answer[n..]);
            let now = self.dynamics.followers(at, w);
            (0..k).for_each(|i| gains[i * k + j] = (now[i].size - given[i].size).abs());
        }
        Ok((given, gains))
    }

    /// v̇ and λ by the units of loads that follow multipliers; with the present factors.
    fn answers_to(&mut self, followers: &[Follower]) -> Result<Vec<Vec<f64>>, LinearError> {
        let mut answers = Vec::with_capacity(followers.len());
        for follower in followers {
            self.rhs.fill(0.0);
            self.rhs[..self.n].copy_from_slice(&follower.load);
            self.solve(Of::All)?;
            answers.push(self.rhs.clone());
        }
        Ok(answers)
    }

    /// v̇ and λ by some loads, where other loads follow λ with the slopes they have; with the present factors.
    pub fn respond_following(
        &mut self,
        loads: &[Vec<f64>],
        followers: &[Follower],
    ) -> Result<Vec<(Vec<f64>, Vec<f64>)>, LinearError> {
        let answers = self.answers_to(followers)?;
        let matrix = following_matrix(followers, &answers, self.n);
        let mut out = Vec::with_capacity(loads.len());
        for load in loads {
            self.rhs.fill(0.0);
            self.rhs[..self.n].copy_from_slice(load);
            self.solve(Of::All)?;
            let (mut vdot, mut lambda) = (self.rhs[..self.n].to_vec(), self.rhs[self.n..].to_vec());
            let mut delta: Vec<f64> =
                followers.iter().map(|f| f.slopes.iter().map(|(row, s)| s * lambda[*row]).sum()).collect();
            solve_following(&matrix, &mut delta)
                .map_err(|i| LinearError::Singular { row: self.n + followers[i].slopes.first().map_or(0, |s| s.0) })?;
            for (answer, d) in answers.iter().zip(&delta) {
                vdot.iter_mut().zip(&answer[..self.n]).for_each(|(x, r)| *x += d * r);
                lambda.iter_mut().zip(&answer[self.n..]).for_each(|(x, r)| *x += d * r);
            }
            out.push((vdot, lambda));
        }
        Ok(out)
    }
}

/// I − ∂s/∂λ · x of loads that follow multipliers, by rows, with the answers x to their units.
fn following_matrix(followers: &[Follower], answers: &[Vec<f64>], n: usize) -> Vec<f64> {
    let entry = |i: usize, j: usize| {
        let own = if i == j { 1.0 } else { 0.0 };
        own - followers[i].slopes.iter().map(|(row, slope)| slope * answers[j][n + row]).sum::<f64>()
    };
    let k = followers.len();
    (0..k * k).map(|ij| entry(ij / k, ij % k)).collect()
}

/// Solves A x = b with pivoting; the row without a pivot where there is one.
fn solve_following(a: &[f64], b: &mut [f64]) -> Result<(), usize> {
    let k = b.len();
    let (mut a, mut order) = (a.to_vec(), (0..k).collect::<Vec<_>>());
    for i in 0..k {
        let best = (i..k).max_by(|x, y| a[x * k + i].abs().total_cmp(&a[y * k + i].abs())).unwrap_or(i);
        (0..k).for_each(|j| a.swap(i * k + j, best * k + j));
        b.swap(i, best);
        order.swap(i, best);
        let pivot = a[i * k + i];
        if pivot.is_nan() || pivot.abs() <= 1e-12 {
            return Err(order[i]);
        }
        for other in (0..k).filter(|other| *other != i) {
            let c = a[other * k + i] / pivot;
            (i..k).for_each(|j| a[other * k + j] -= c * a[i * k + j]);
            b[other] -= c * b[i];
        }
    }
    (0..k).for_each(|i| b[i] /= a[i * k + i]);
    Ok(())
}
