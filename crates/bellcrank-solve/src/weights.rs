//! Weighted norms: what one unit of error means for every unknown.

use bellcrank_math::threads::team;

/// Reciprocal tolerances of the tested unknowns; zero for those that do not decide.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Weights {
    /// For the coordinates.
    pub q: Vec<f64>,
    /// For the velocities.
    pub v: Vec<f64>,
    /// For the first-order states.
    pub z: Vec<f64>,
    /// For the multipliers λ, where they are tested.
    pub lambda: Vec<f64>,
    /// For the multipliers μ, where they are tested.
    pub mu: Vec<f64>,
}

bellcrank_model::clone_by_fields!(Weights { q, v, z, lambda, mu });

impl Weights {
    /// √(Σ (wᵢ xᵢ)² / count) over the tested q, v, z, the count being of non-zero weights.
    pub fn norm(&self, q: &[f64], v: &[f64], z: &[f64]) -> f64 {
        let parts = [(&self.q, q), (&self.v, v), (&self.z, z)];
        root_mean_square(&parts)
    }
}

impl Weights {
    /// Multiplies all weights.
    pub fn scale(&mut self, c: f64) {
        if c != 1.0 {
            let all = [&mut self.q, &mut self.v, &mut self.z, &mut self.lambda, &mut self.mu];
            all.into_iter().flatten().for_each(|w| *w *= c);
        }
    }

    /// Leaves dependent coordinates and their velocities out.
    pub fn restrict(&mut self, independent: &[bool]) {
        for w in [&mut self.q, &mut self.v] {
            w.iter_mut().zip(independent).filter(|(_, x)| !**x).for_each(|(w, _)| *w = 0.0);
        }
    }
}

/// Partial sums of a long array, so that no addition waits for the one before it.
const LANES: usize = 4;

fn one_unless_zero(x: f64) -> f64 {
    if x != 0.0 { 1.0 } else { 0.0 }
}

fn padded(x: &[f64]) -> [f64; LANES] {
    let mut lanes = [0.0; LANES];
    lanes[..x.len()].copy_from_slice(x);
    lanes
}

/// The same for q and z with velocities that follow the coordinates, v = slope · q + …
pub fn root_mean_square_with_rates(q: &[f64], v: &[f64], slope: f64, dq: &[f64], z: &[f64], dz: &[f64]) -> f64 {
    let n = dq.len().min(q.len()).min(v.len());
    let of_q = |i: std::ops::Range<usize>| {
        let (mut sum, mut count) = ([0.0; LANES], [0.0; LANES]);
        let mut add = |q: &[f64; LANES], v: &[f64; LANES], d: &[f64; LANES]| {
            for k in 0..LANES {
                let (a, b) = (q[k] * d[k], v[k] * slope * d[k]);
                sum[k] += a * a + b * b;
                count[k] += one_unless_zero(q[k]) + one_unless_zero(v[k]);
            }
        };
        let [(q, q_rest), (v, v_rest), (d, d_rest)] = [q, v, dq].map(|x| x[i.clone()].as_chunks::<LANES>());
        q.iter().zip(v).zip(d).for_each(|((q, v), d)| add(q, v, d));
        add(&padded(q_rest), &padded(v_rest), &padded(d_rest));
        (sum.iter().sum::<f64>(), count.iter().sum::<f64>())
    };
    let (mut sum, mut count) = team::reduced(n, of_q, |a, b| (a.0 + b.0, a.1 + b.1));
    for (w, d) in z.iter().zip(dz) {
        sum += (w * d) * (w * d);
        count += one_unless_zero(*w);
    }
    (sum / count.max(1.0)).sqrt()
}

/// √(Σ (wᵢ xᵢ)² / number of non-zero weights); zero where nothing is tested.
pub fn root_mean_square(parts: &[(&Vec<f64>, &[f64])]) -> f64 {
    let mut sum = 0.0;
    let mut count = 0usize;
    for (w, x) in parts {
        let n = w.len().min(x.len());
        w[..n].iter().zip(&x[..n]).for_each(|(w, x)| sum += (w * x) * (w * x));
        // by itself, since the sum is in order and this need not be
        count += w[..n].iter().filter(|w| **w != 0.0).count();
    }
    (sum / count.max(1) as f64).sqrt()
}
