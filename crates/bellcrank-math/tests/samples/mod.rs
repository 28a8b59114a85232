//! Matrices of constrained systems, for tests and benches.

#![allow(dead_code)]

use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::random::Random;
use std::sync::Arc;

/// Joint `rows` between bodies, with its Jacobian per body, by rows.
#[derive(Clone)]
pub struct Joint {
    pub rows: usize,
    pub on: Vec<(usize, Vec<f64>)>,
}

/// Bodies, joints between them, and springs that couple two bodies.
#[derive(Clone, Default)]
pub struct Sample {
    pub bodies: Vec<usize>,
    pub joints: Vec<Joint>,
    pub springs: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    /// Unknowns q, λ: [S Gᵀ; G 0].
    Index3,
    /// Unknowns v, q, λ, μ.
    Ggl,
}

impl Sample {
    pub fn random_joint(&mut self, rng: &mut Random, rows: usize, on: &[usize]) {
        let on = on.iter().map(|&b| (b, (0..rows * self.bodies[b]).map(|_| rng.number()).collect())).collect();
        self.joints.push(Joint { rows, on });
    }

    /// A tree of bodies, each joined to an earlier one, no further than `reach` back.
    pub fn tree(rng: &mut Random, sizes: &[usize], n: usize, reach: usize) -> Sample {
        let bodies: Vec<usize> = (0..n).map(|_| sizes[rng.below(sizes.len())]).collect();
        let mut s = Sample { bodies, ..Sample::default() };
        for b in 1..n {
            let a = b - 1 - rng.below(reach.min(b));
            let rows = 1 + rng.below(s.bodies[b].saturating_sub(1).max(1));
            s.random_joint(rng, rows, &[a, b]);
        }
        s
    }

    /// The planar ladder of m squares: 3m + 1 rods, 4m + 1 pins.
    pub fn ladder(m: usize) -> Sample {
        let mut s = Sample { bodies: vec![3; 3 * m + 1], ..Sample::default() };
        let mut rng = Random::new(7);
        // rung 3i, upper rail 3i + 1 and lower rail 3i + 2 of square i, last rung 3m
        let angles: Vec<f64> =
            (0..3 * m + 1).map(|b| rng.number() * 0.2 + if b % 3 == 0 { -1.5 } else { 0.0 }).collect();
        let mut pin = |ends: &[(usize, f64)]| {
            let on = ends.iter().enumerate().map(|(k, &(b, end))| {
                let (sin, cos) = angles[b].sin_cos();
                let sign = if k == 0 { 1.0 } else { -1.0 };
                let (x, y) = (end * 0.5 * cos, end * 0.5 * sin);
                (b, vec![sign, 0.0, -sign * y, 0.0, sign, sign * x])
            });
            s.joints.push(Joint { rows: 2, on: on.collect() });
        };
        pin(&[(0, -1.0)]);
        for i in 0..=m {
            for side in 0..2 {
                let rung = (3 * i, if side == 0 { -1.0 } else { 1.0 });
                if i > 0 {
                    pin(&[(3 * (i - 1) + 1 + side, 1.0), rung]);
                }
                if i < m {
                    pin(&[rung, (3 * i + 1 + side, -1.0)]);
                }
            }
        }
        s
    }

    /// A net of n × n point masses in space with links to their neighbours, two corners held.
    pub fn net(n: usize) -> Sample {
        let mut s = Sample { bodies: vec![3; n * n], ..Sample::default() };
        let mut rng = Random::new(3);
        let mut link = |a: usize, b: usize, along: usize| {
            let mut g: Vec<f64> = (0..3).map(|_| rng.number() * 0.1).collect();
            g[along] += 1.0;
            let minus = g.iter().map(|x| -x).collect();
            s.joints.push(Joint { rows: 1, on: vec![(a, g), (b, minus)] });
        };
        for i in 0..n {
            for j in 0..n {
                if j + 1 < n {
                    link(i * n + j, i * n + j + 1, 0);
                }
                if i + 1 < n {
                    link(i * n + j, (i + 1) * n + j, 1);
                }
            }
        }
        let eye = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        for corner in [0, n * n - 1] {
            s.joints.push(Joint { rows: 3, on: vec![(corner, eye.clone())] });
        }
        s
    }

    /// The Newton matrix of an implicit step with dq/dt = α q.
    pub fn matrix(&self, form: Form, alpha: f64, rng: &mut Random) -> BlockMatrix {
        let nb = self.bodies.len();
        let ggl = form == Form::Ggl;
        let first_q = if ggl { nb } else { 0 };
        let (v, q) = (|b: usize| b, |b: usize| first_q + b);
        let lambda = |j: usize| if ggl { first_q + nb + 2 * j } else { nb + j };
        let mu = |j: usize| first_q + nb + 2 * j + 1;
        let mut sizes = self.bodies.clone();
        let mut classes = vec![if ggl { Class::Velocity } else { Class::Body }; nb];
        if ggl {
            sizes.extend(&self.bodies);
            classes.extend(vec![Class::Body; nb]);
        }
        for joint in &self.joints {
            for _ in 0..if ggl { 2 } else { 1 } {
                sizes.push(joint.rows);
                classes.push(Class::Multiplier);
            }
        }
        let mut blocks: Vec<(usize, usize, Vec<f64>)> = Vec::new();
        for (b, &n) in self.bodies.iter().enumerate() {
            let mut mass: Vec<f64> = (0..n * n).map(|_| rng.number() * 0.2).collect();
            (0..n).for_each(|i| mass[i * n + i] = 2.0 + rng.number());
            let stiffness: Vec<f64> = (0..n * n).map(|_| rng.number()).collect();
            if ggl {
                let eye = |c: f64| (0..n * n).map(|k| if k % (n + 1) == 0 { c } else { 0.0 }).collect::<Vec<f64>>();
                blocks.push((v(b), v(b), eye(-1.0)));
                blocks.push((v(b), q(b), eye(alpha)));
                blocks.push((q(b), v(b), mass.iter().map(|m| alpha * m).collect()));
                blocks.push((q(b), q(b), stiffness));
            } else {
                blocks.push((q(b), q(b), mass.iter().zip(&stiffness).map(|(m, k)| alpha * alpha * m + k).collect()));
            }
        }
        for &(a, b) in &self.springs {
            for (i, j) in [(a, b), (b, a)] {
                let k = (0..self.bodies[i] * self.bodies[j]).map(|_| rng.number()).collect();
                blocks.push((q(i), q(j), k));
            }
        }
        for (j, joint) in self.joints.iter().enumerate() {
            for (b, g) in &joint.on {
                let n = self.bodies[*b];
                let transposed: Vec<f64> =
                    (0..n * joint.rows).map(|k| g[k % joint.rows * n + k / joint.rows]).collect();
                blocks.push((q(*b), lambda(j), transposed.clone()));
                blocks.push((lambda(j), q(*b), g.clone()));
                if ggl {
                    blocks.push((v(*b), mu(j), transposed));
                    blocks.push((mu(j), v(*b), g.clone()));
                    // some drift (G v)_q, the same for joints with the same Jacobian
                    blocks.push((mu(j), q(*b), g.iter().map(|x| 0.3 * x).collect()));
                }
            }
        }
        let entries = blocks.iter().map(|(i, j, _)| (*i as u32, *j as u32)).collect();
        let mut a = BlockMatrix::new(Arc::new(BlockPattern::new(sizes, classes, entries)));
        for (i, j, block) in blocks {
            if let Some(place) = a.block_mut(i, j) {
                place.iter_mut().zip(&block).for_each(|(x, y)| *x += y);
            }
        }
        a
    }
}

pub trait Shuffled {
    /// The same matrix with its blocks renumbered at random.
    fn shuffled(&self, rng: &mut Random) -> Self;
}

impl Shuffled for BlockMatrix {
    fn shuffled(&self, rng: &mut Random) -> BlockMatrix {
        let old = self.pattern();
        let n = old.blocks();
        let mut from: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            from.swap(i, rng.below(i + 1));
        }
        let mut to = vec![0; n];
        from.iter().enumerate().for_each(|(new, &old)| to[old] = new);
        let entries = (0..n).flat_map(|i| old.row(i).map(move |(j, _)| (i, j)));
        let entries: Vec<(usize, usize)> = entries.collect();
        let mut shuffled = BlockMatrix::new(Arc::new(BlockPattern::new(
            from.iter().map(|&i| old.size(i)).collect(),
            from.iter().map(|&i| old.class(i)).collect(),
            entries.iter().map(|&(i, j)| (to[i] as u32, to[j] as u32)).collect(),
        )));
        for (i, j) in entries {
            if let (Some(to), Some(from)) = (shuffled.block_mut(to[i], to[j]), self.block(i, j)) {
                to.copy_from_slice(from);
            }
        }
        shuffled
    }
}
