//! Loads that act on one side only: which of them act at an instant, and how much.
//!
//! With the rows N of everything that may hold, W = N M̂⁻¹ Nᵀ and the rates (or accelerations) b they would have alone, find loads p with
//!
//! ```text
//!     a = b + W p      gaps: 0 ≤ pₙ ⊥ aₙ ≥ 0, |pₜ| ≤ μ pₙ against aₜ      dry friction: |p| ≤ F against a
//! ```
//!
//! by projected Gauss–Seidel sweeps [Jourdan, Alart & Jean 1998]. The problems are small; where rows depend on each other the loads
//! are not unique, and [`Problem::reduce`] goes over to as few of them as do the same.

/// The law of some loads in a row of [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LoadLaw {
    /// A gap pushes, and `tangents` rows after it rub.
    Gap {
        /// The number of rows across.
        tangents: usize,
        /// How they rub.
        rubs: Rub,
    },
    /// Friction of a given level in one row.
    Dry {
        /// F.
        level: f64,
    },
}

/// Friction of a gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rub {
    /// None.
    Not,
    /// It may stick: |pₜ| ≤ μ pₙ.
    Sticks(f64),
}

impl LoadLaw {
    fn rows(&self) -> usize {
        match self {
            LoadLaw::Gap { tangents, .. } => 1 + tangents,
            LoadLaw::Dry { .. } => 1,
        }
    }
}

/// The loads of one instant.
#[derive(Clone, Debug, Default)]
pub(super) struct Problem {
    /// The laws, each with its first row.
    laws: Vec<(usize, LoadLaw)>,
    n: usize,
    /// W by rows.
    w: Vec<f64>,
    /// b.
    pub free: Vec<f64>,
}

/// Most sweeps, and the change of a rate in one of them that counts as none.
const SWEEPS: usize = 20_000;
const SETTLED: f64 = 1e-14;

/// A row depends on others if less than this part of its mobility is its own.
const DEPENDENT: f64 = 1e-9;

impl Problem {
    /// A problem with mobilities W by rows, and rates b.
    pub fn new(laws: &[LoadLaw], w: Vec<f64>, free: Vec<f64>) -> Problem {
        let mut first = 0;
        let place = |law: &LoadLaw| {
            first += law.rows();
            (first - law.rows(), *law)
        };
        Problem { laws: laws.iter().map(place).collect(), n: free.len(), w, free }
    }

    fn mobility(&self, i: usize, j: usize) -> f64 {
        self.w[i * self.n + j]
    }

    /// The mobility of a row.
    pub fn own(&self, i: usize) -> f64 {
        self.mobility(i, i)
    }

    /// Whether a row moves only with others.
    pub fn depends(&self, i: usize, others: &[usize]) -> bool {
        let rows: Vec<usize> = others.iter().copied().chain([i]).collect();
        self.dependence(&rows).is_some()
    }

    /// Gives the law of this number, friction, another level; how much it changed.
    pub fn set_level(&mut self, number: usize, to: f64) -> f64 {
        match self.laws.get_mut(number) {
            Some((_, LoadLaw::Dry { level })) => (std::mem::replace(level, to) - to).abs(),
            _ => 0.0,
        }
    }

    /// The level of friction in a row.
    pub fn level(&self, row: usize) -> f64 {
        let of_row = |(first, law): &(usize, LoadLaw)| match law {
            LoadLaw::Dry { level } if *first == row => Some(*level),
            _ => None,
        };
        self.laws.iter().find_map(of_row).unwrap_or(0.0)
    }

    /// a in one row.
    fn rate(&self, i: usize, p: &[f64]) -> f64 {
        self.free[i] + self.w[i * self.n..(i + 1) * self.n].iter().zip(p).map(|(w, p)| w * p).sum::<f64>()
    }

    /// a.
    pub fn rates(&self, p: &[f64]) -> Vec<f64> {
        (0..self.n).map(|i| self.rate(i, p)).collect()
    }

    /// The loads. Rows that nothing can move have none. A load need not push along its own row only: W may be unsymmetric.
    pub fn solve(&self) -> Vec<f64> {
        let mut p = vec![0.0; self.n];
        let size = self.free.iter().fold(0.0f64, |m, b| m.max(b.abs()));
        for _ in 0..SWEEPS {
            let mut changed = 0.0f64;
            for (first, law) in &self.laws {
                changed = changed.max(self.relax(*first, law, &mut p));
            }
            if changed <= SETTLED * size {
                break;
            }
        }
        p
    }

    /// Makes one law hold with the other loads as they are; tells the largest change of a rate.
    fn relax(&self, i: usize, law: &LoadLaw, p: &mut [f64]) -> f64 {
        let own = self.mobility(i, i);
        if own <= 0.0 {
            return 0.0;
        }
        let before = p[i];
        match *law {
            LoadLaw::Dry { level } => p[i] = (p[i] - self.rate(i, p) / own).clamp(-level, level),
            LoadLaw::Gap { tangents, rubs } => {
                p[i] = (p[i] - self.rate(i, p) / own).max(0.0);
                let change = self.rub(i, tangents, rubs, p);
                return change.max(own * (p[i] - before).abs());
            }
        }
        own * (p[i] - before).abs()
    }

    /// The loads across a gap.
    fn rub(&self, i: usize, tangents: usize, rubs: Rub, p: &mut [f64]) -> f64 {
        let mut now = [0.0; 2];
        let stiffest = (1..=tangents).map(|k| self.mobility(i + k, i + k)).fold(0.0, f64::max);
        match rubs {
            Rub::Not => return 0.0,
            Rub::Sticks(_) if stiffest <= 0.0 => return 0.0,
            Rub::Sticks(friction) => {
                let cross = if tangents == 2 { self.mobility(i + 1, i + 2).abs() } else { 0.0 };
                (0..tangents).for_each(|k| now[k] = p[i + 1 + k] - self.rate(i + 1 + k, p) / (stiffest + cross));
                let (size, most) = (now[0].hypot(now[1]), friction * p[i]);
                if size > most {
                    now = now.map(|x| x * most / size);
                }
            }
        }
        let mut changed = 0.0f64;
        for k in 0..tangents {
            changed = changed.max((now[k] - p[i + 1 + k]).abs() * stiffest);
            p[i + 1 + k] = now[k];
        }
        changed
    }

    /// Of the rows given, which hold, those that do the same as all of them, with the loads that then act: a row that
    /// depends on others is left out. Rows of friction go first, and no gap begins to pull.
    pub fn reduce(&self, held: &[usize], p: &mut [f64]) -> Vec<usize> {
        let is_gap = |i: usize| self.laws.iter().any(|(first, law)| *first == i && matches!(law, LoadLaw::Gap { .. }));
        // a dependent row is found as the last of its set
        let mut rows: Vec<usize> = held.to_vec();
        rows.sort_by_key(|i| !is_gap(*i));
        while let Some(z) = self.dependence(&rows) {
            let last = rows.iter().zip(&z).rposition(|(_, z)| *z != 0.0).unwrap_or(0);
            // along z nothing moves: go until a row is without load, the last one if no gap loses its own before
            let reach = |k: usize| -p[rows[k]] / z[k];
            let mut to = (last, reach(last));
            for k in (0..rows.len()).filter(|&k| is_gap(rows[k]) && z[k] != 0.0) {
                let s = reach(k);
                if s * to.1 > 0.0 && s.abs() < to.1.abs() {
                    to = (k, s);
                }
            }
            rows.iter().zip(&z).for_each(|(i, z)| p[*i] += to.1 * z);
            p[rows[to.0]] = 0.0;
            rows.remove(to.0);
        }
        rows.sort_unstable();
        rows
    }

    /// A combination of loads in these rows that moves nothing, if there is one; zero beyond the first dependent row.
    fn dependence(&self, rows: &[usize]) -> Option<Vec<f64>> {
        let n = rows.len();
        let mut l = vec![0.0; n * n];
        for k in 0..n {
            for j in 0..k {
                let sum: f64 = (0..j).map(|i| l[k * n + i] * l[j * n + i]).sum();
                l[k * n + j] = (self.mobility(rows[k], rows[j]) - sum) / l[j * n + j];
            }
            let own = self.mobility(rows[k], rows[k]);
            let left = own - (0..k).map(|i| l[k * n + i].powi(2)).sum::<f64>();
            if left <= DEPENDENT * own {
                let mut z = vec![0.0; n];
                z[k] = 1.0;
                for j in (0..k).rev() {
                    let sum: f64 = (j + 1..k).map(|i| l[i * n + j] * z[i]).sum();
                    z[j] = (-l[k * n + j] - sum) / l[j * n + j];
                }
                return Some(z);
            }
            l[k * n + k] = left.sqrt();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: LoadLaw = LoadLaw::Gap { tangents: 0, rubs: Rub::Not };

    #[test]
    fn gaps_push_or_open() {
        // two coupled gaps: closing both takes a pull at the second, so it opens
        let p = Problem::new(&[GAP, GAP], vec![2.0, 1.0, 1.0, 2.0], vec![-2.0, 0.5]);
        let x = p.solve();
        assert!((x[0] - 1.0).abs() < 1e-12 && x[1] == 0.0, "{x:?}");
        let a = p.rates(&x);
        assert!(a[0].abs() < 1e-12 && (a[1] - 1.5).abs() < 1e-12);
    }

    #[test]
    fn friction_sticks_up_to_its_cone_and_slides_beyond() {
        for (across, sticks) in [(0.5, true), (3.0, false)] {
            let law = LoadLaw::Gap { tangents: 2, rubs: Rub::Sticks(0.4) };
            let w = vec![1.0, 0.0, 0.0, 0.0, 3.5, 0.0, 0.0, 0.0, 3.5];
            let problem = Problem::new(&[law], w, vec![-1.0, across * 0.6, across * 0.8]);
            let p = problem.solve();
            let (a, size) = (problem.rates(&p), p[1].hypot(p[2]));
            assert!((p[0] - 1.0).abs() < 1e-12 && size <= 0.4 + 1e-12);
            assert_eq!(a[1].hypot(a[2]) < 1e-12, sticks);
            assert!((p[1] * 0.8 - p[2] * 0.6).abs() < 1e-12 && p[1] < 0.0);
        }
        let dry = Problem::new(&[LoadLaw::Dry { level: 2.0 }], vec![0.5], vec![-3.0]);
        assert_eq!(dry.solve(), [2.0]);
    }

    #[test]
    fn rows_that_depend_on_each_other_are_left_out_and_no_gap_pulls() {
        // a stop and the friction of one joint: the stop takes it all
        let w = vec![1.0; 4];
        let problem = Problem::new(&[GAP, LoadLaw::Dry { level: 1.2 }], w, vec![-10.0, -10.0]);
        let mut p = problem.solve();
        assert!((p[0] + p[1] - 10.0).abs() < 1e-9);
        assert_eq!(problem.reduce(&[0, 1], &mut p), [0]);
        assert!((p[0] - 10.0).abs() < 1e-9 && p[1] == 0.0);
        // a table on four legs with its load near the first: three of them carry it
        let legs: [[f64; 3]; 4] = [[1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, -1.0, -1.0], [1.0, 1.0, -1.0]];
        let w: Vec<f64> = legs.iter().flat_map(|a| legs.map(|b| a.iter().zip(b).map(|(a, b)| a * b).sum())).collect();
        let load = [1.0, 0.4, 0.5];
        let free = legs.map(|a| -a.iter().zip(load).map(|(a, b)| a * b).sum::<f64>()).to_vec();
        let problem = Problem::new(&[GAP; 4], w, free);
        let mut p = problem.solve();
        let rows = problem.reduce(&[0, 1, 2, 3], &mut p);
        assert_eq!(rows.len(), 3);
        assert!(p.iter().all(|p| *p >= 0.0) && problem.rates(&p).iter().all(|a| a.abs() < 1e-9), "{p:?}");
    }
}
