//! Bodies that can move without inertia: there the equations of motion do not determine the accelerations.

use crate::linear::derivatives::{dense, each_block};
use crate::linear::kkt::Kkt;
use crate::linear::rank::{DENSE, rank, reduce, weights};
use bellcrank_math::linear::dense::svd;
use bellcrank_math::random::Xorshift;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Subject, Unknown, Workspace};
use std::collections::HashSet;
use std::sync::Arc;

/// Whether Cholesky's pivots are all above rounding.
fn positive(block: &[f64], n: usize) -> bool {
    let mut l = block.to_vec();
    for k in 0..n {
        let pivot = l[k * n + k];
        if pivot.is_nan() || pivot <= 1e-14 * block[k * n + k].abs() {
            return false;
        }
        for i in k + 1..n {
            let factor = l[i * n + k] / pivot;
            for j in k + 1..n {
                l[i * n + j] -= factor * l[k * n + j];
            }
        }
    }
    true
}

/// The bodies without a mass or an inertia of their own.
pub fn without_mass(dynamics: &dyn Dynamics, at: &Point) -> Vec<String> {
    if dynamics.recursive() {
        return Vec::new();
    }
    let mut w = dynamics.workspace();
    dynamics.realize(at, &mut w);
    let mut found = Vec::new();
    let slopes = Slopes { v: 1.0, ..Slopes::default() };
    each_block(dynamics, Piece::MassAccel, Unknown::V, slopes, at, &mut w, |b, c, block| {
        if b == c && !positive(block, dynamics.layout().bodies[b].len()) {
            found.push(dynamics.name(Unknown::Q, b));
        }
    });
    found
}

/// The bodies that move without inertia in some free motion at a point.
pub fn free_without_mass(all: &Arc<dyn Dynamics>, at: &Point, w: &mut Workspace) -> Vec<Subject> {
    let dynamics = &**all;
    let n = dynamics.layout().n();
    let slopes = Slopes { v: 1.0, ..Slopes::default() };
    w.invalidate();
    dynamics.realize(at, w);
    if dynamics.recursive() {
        return Vec::new(); // the recursion finds it by itself
    }
    let mut suspect = false;
    each_block(dynamics, Piece::MassAccel, Unknown::V, slopes, at, w, |b, c, block| {
        suspect |= b == c && !positive(block, dynamics.layout().bodies[b].len());
    });
    if !suspect {
        return Vec::new();
    }
    if n > DENSE {
        return moved_by_little(all, at, w).unwrap_or_default();
    }
    let Some(here) = rank(dynamics, at, w) else { return Vec::new() };
    let mass = dense(dynamics, Piece::MassAccel, Unknown::V, slopes, at, w);
    let (d, weights) = (here.free.len(), weights(dynamics));
    let reduced = reduce(&mass, &here.free, &weights);
    let Ok(found) = svd(&reduced, d, d) else { return Vec::new() };
    let largest = found.values.first().copied().unwrap_or(0.0);
    let directions = (0..d).filter(|&k| found.values[k] <= 1e-13 * largest);
    distinct(directions.flat_map(|k| {
        let mut motion = vec![0.0; n];
        for (part, free) in found.right(k).iter().zip(&here.free) {
            motion.iter_mut().zip(free).for_each(|(m, f)| *m += part * f);
        }
        let size = |r: &std::ops::Range<usize>| motion[r.clone()].iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let bodies = &dynamics.layout().bodies;
        let most = bodies.iter().map(size).fold(0.0, f64::max);
        let moving = |r: &std::ops::Range<usize>| size(r) > 0.3 * most;
        bodies
            .iter()
            .enumerate()
            .filter(|(_, r)| moving(r))
            .map(|(b, _)| dynamics.subject(Unknown::Q, b))
            .collect::<Vec<_>>()
    }))
}

/// What gives way to a load by far more than it should: with a billionth of the largest mass added
/// everywhere, that mass is all that what has none of its own can bring up.
fn moved_by_little(dynamics: &Arc<dyn Dynamics>, at: &Point, w: &mut Workspace) -> Option<Vec<Subject>> {
    const LITTLE: f64 = 1e-9;
    let bodies = &dynamics.layout().bodies;
    let weights = weights(&**dynamics);
    let mut heaviest = 0.0f64;
    let slopes = Slopes { v: 1.0, ..Slopes::default() };
    each_block(&**dynamics, Piece::MassAccel, Unknown::V, slopes, at, w, |b, c, block| {
        let n = bodies[b].len();
        let own = bodies[b].clone().enumerate().filter(|_| b == c);
        own.for_each(|(i, k)| heaviest = heaviest.max(block[i * n + i].abs() / weights[k].powi(2)));
    });
    let added: Vec<f64> = weights.iter().map(|w| LITTLE * heaviest * w * w).collect();
    let mut kkt = Kkt::new(dynamics.clone());
    kkt.factor_heavier(&added, at, w).ok()?;
    let mut random = Xorshift(3);
    let load: Vec<f64> = weights.iter().map(|w| random.number() * w).collect();
    let mut moved = vec![0.0; load.len()];
    moved.copy_from_slice(kkt.respond(&load).ok()?);
    let size = |r: &std::ops::Range<usize>| {
        moved[r.clone()].iter().zip(&weights[r.clone()]).fold(0.0f64, |m, (x, w)| m.max((x * w).abs()))
    };
    let most = bodies.iter().map(size).fold(0.0, f64::max);
    let far = most * heaviest * LITTLE > 0.01;
    let moving = bodies.iter().enumerate().filter(|(_, r)| far && size(r) > 0.01 * most);
    Some(moving.map(|(b, _)| dynamics.subject(Unknown::Q, b)).collect())
}

fn distinct(all: impl Iterator<Item = Subject>) -> Vec<Subject> {
    let mut seen = HashSet::new();
    all.filter(|subject| seen.insert(subject.words.clone())).collect()
}
