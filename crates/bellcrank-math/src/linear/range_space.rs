//! [M Gᵀ; G 0] of small machines with constant masses, by a list of small products that is written once.
//!
//! S = G M⁻¹Gᵀ is summed body by body and eliminated by blocks in a fixed order, S = L D Lᵀ; then λ = S⁻¹(G M⁻¹f − γ) and
//! a = M⁻¹(f − Gᵀλ). Common sizes are compile-time constants, so that little but arithmetic is left. Where a pivot is poor, or a
//! mass vanishes, a solver that pivots has to do it.

use crate::tape::Tape;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A pivot below this fraction of what it was summed from is left to a solver that pivots.
const POOR: f64 = 1e-3;

/// After a poor pivot this many matrices are left to it at once.
const PATIENCE: usize = 50;

/// The most rows of a block, and the most coordinates of a body.
const MOST: usize = 6;

/// C ±= A Bᵀ, by offsets: A has `rows`×`inner`, B `columns`×`inner` and C `rows`×`columns` numbers.
#[derive(Clone, Copy)]
struct Product {
    rows: u8,
    columns: u8,
    inner: u8,
    /// Whether C is set rather than added to.
    first: bool,
    a: u32,
    b: u32,
    c: u32,
}

/// y ±= A x, by offsets: A has `rows`×`columns` numbers.
#[derive(Clone, Copy)]
struct Applied {
    rows: u8,
    columns: u8,
    a: u32,
    x: u32,
    y: u32,
}

/// A pivot block: its size, its places in S and D⁻¹, its first row, and what it eliminates.
struct Pivot {
    size: usize,
    s: u32,
    inverse: u32,
    row: u32,
    lower: Range<u32>,
    updates: Range<u32>,
}

/// The factors, and the lists of products that make them: one field for each list of numbers or products.
#[derive(Default)]
pub struct RangeSpace {
    /// The number of unknowns a, and of the values of G.
    n: usize,
    gradients: usize,
    /// M⁻¹ by blocks, and whether all of them are diagonal; with their sizes and first rows.
    inverse_mass: Vec<f64>,
    diagonal: bool,
    masses: Vec<Applied>,
    /// W = G M⁻¹, S, L and D⁻¹ by blocks.
    weighed: Vec<f64>,
    s: Vec<f64>,
    lower: Vec<f64>,
    inverse: Vec<f64>,
    /// The diagonal of S as it was summed.
    magnitudes: Vec<f64>,
    weigh: Vec<Product>,
    gram: Vec<Product>,
    pivots: Vec<Pivot>,
    lowers: Vec<Product>,
    updates: Vec<Product>,
    /// W by blocks, and L by blocks in the order of elimination.
    pulls: Vec<Applied>,
    spread: Vec<Applied>,
    f: Vec<f64>,
    y: Vec<f64>,
    smallest_pivot: f64,
    patience: usize,
    holds: bool,
}

/// Calls a kernel with its sizes as constants where they are common.
macro_rules! sized {
    ($sizes:expr, $call:ident($arguments:expr), $(($R:literal, $C:literal, $K:literal))*) => {
        match $sizes {
            $([$R, $C, $K] => $call::<$R, $C, $K>([$R, $C, $K], $arguments),)*
            sizes => $call::<0, 0, 0>(sizes.map(usize::from), $arguments),
        }
    };
}

#[inline(always)]
fn multiply<const R: usize, const C: usize, const K: usize>(
    sizes: [usize; 3],
    ((sign, first), a, b, out): ((f64, bool), &[f64], &[f64], &mut [f64]),
) {
    let [r, c, k] = if R > 0 { [R, C, K] } else { sizes };
    let (a, b, out) = (&a[..r * k], &b[..c * k], &mut out[..r * c]);
    for i in 0..r {
        for j in 0..c {
            let mut sum = 0.0;
            for l in 0..k {
                sum += a[i * k + l] * b[j * k + l];
            }
            let before = if first { 0.0 } else { out[i * c + j] };
            out[i * c + j] = before + sign * sum;
        }
    }
}

impl Product {
    #[inline(always)]
    fn run(&self, sign: f64, a: &[f64], b: &[f64], out: &mut [f64]) {
        let (a, b, out) = (&a[self.a as usize..], &b[self.b as usize..], &mut out[self.c as usize..]);
        sized!(
            [self.rows, self.columns, self.inner],
            multiply(((sign, self.first), a, b, out)),
            (1, 1, 1)(1, 1, 2)(1, 2, 1)(2, 1, 1)(2, 2, 1)(2, 1, 2)(1, 2, 2)(2, 2, 2)(1, 1, 3)(1, 2, 3)(2, 1, 3)(
                2, 2, 3
            )(3, 3, 3)(1, 3, 3)(3, 1, 3)(3, 3, 1)(2, 3, 3)(3, 2, 3)(3, 3, 6)(1, 3, 6)(3, 1, 6)(1, 1, 6)(
                5, 5, 6
            )(6, 6, 6)(5, 6, 6)(6, 5, 6)(3, 6, 6)(6, 3, 6)(1, 6, 6)(5, 5, 5)(6, 5, 5)(6, 6, 5)(6, 3, 3)(
                6, 6, 3
            )(3, 6, 3)(5, 5, 3)(3, 5, 3)(5, 3, 3)
        )
    }
}

#[inline(always)]
fn apply<const R: usize, const C: usize, const K: usize>(
    sizes: [usize; 3],
    (sign, a, x, y): (f64, &[f64], &[f64], &mut [f64]),
) {
    let [r, c, _] = if R > 0 { [R, C, K] } else { sizes };
    let (a, x, y) = (&a[..r * c], &x[..c], &mut y[..r]);
    for i in 0..r {
        let mut sum = 0.0;
        for j in 0..c {
            sum += a[i * c + j] * x[j];
        }
        y[i] += sign * sum;
    }
}

#[inline(always)]
fn apply_transposed<const R: usize, const C: usize, const K: usize>(
    sizes: [usize; 3],
    (a, x, y): (&[f64], &[f64], &mut [f64]),
) {
    let [r, c, _] = if R > 0 { [R, C, K] } else { sizes };
    let (a, x, y) = (&a[..r * c], &x[..r], &mut y[..c]);
    for i in 0..r {
        for j in 0..c {
            y[j] -= a[i * c + j] * x[i];
        }
    }
}

impl Applied {
    /// y += sign A x.
    #[inline(always)]
    fn add(&self, sign: f64, a: &[f64], x: &[f64], y: &mut [f64]) {
        let (a, x, y) = (&a[self.a as usize..], &x[self.x as usize..], &mut y[self.y as usize..]);
        sized!(
            [self.rows, self.columns, 0],
            apply((sign, a, x, y)),
            (1, 1, 0)(1, 2, 0)(2, 1, 0)(2, 2, 0)(1, 3, 0)(2, 3, 0)(3, 3, 0)(1, 6, 0)(3, 6, 0)(5, 6, 0)(6, 6, 0)(
                5, 5, 0
            )(6, 5, 0)(6, 3, 0)
        )
    }

    /// x −= Aᵀy.
    #[inline(always)]
    fn take(&self, a: &[f64], y: &[f64], x: &mut [f64]) {
        let (a, y, x) = (&a[self.a as usize..], &y[self.y as usize..], &mut x[self.x as usize..]);
        sized!(
            [self.rows, self.columns, 0],
            apply_transposed((a, y, x)),
            (1, 1, 0)(1, 2, 0)(2, 1, 0)(2, 2, 0)(1, 3, 0)(2, 3, 0)(3, 3, 0)(1, 6, 0)(3, 6, 0)(5, 6, 0)(6, 6, 0)(
                5, 5, 0
            )(6, 5, 0)(6, 3, 0)
        )
    }
}

/// Replaces a definite matrix by its inverse, by Gauss and Jordan in place; gives the smallest pivot relative to the magnitudes.
#[inline(always)]
fn invert<const R: usize>(r: usize, a: &mut [f64], magnitudes: &[f64]) -> f64 {
    let r = if R > 0 { R } else { r };
    let (a, magnitudes) = (&mut a[..r * r], &magnitudes[..r]);
    let mut smallest = f64::INFINITY;
    for k in 0..r {
        let pivot = a[k * r + k];
        // what is no number is no pivot
        smallest = if pivot >= smallest * magnitudes[k] { smallest } else { pivot / magnitudes[k] };
        let inverse = 1.0 / pivot;
        for i in (0..r).filter(|&i| i != k) {
            let factor = a[i * r + k] * inverse;
            for j in 0..r {
                a[i * r + j] -= factor * a[k * r + j];
            }
            a[i * r + k] = -factor;
        }
        for j in 0..r {
            a[k * r + j] *= inverse;
        }
        a[k * r + k] = inverse;
    }
    smallest
}

/// The inverse of a mass; none where it is not definite.
fn inverse_mass(mass: &[f64], n: usize) -> Option<Vec<f64>> {
    let (mut inverse, magnitudes) = (mass.to_vec(), (0..n).map(|i| mass[i * (n + 1)]).collect::<Vec<_>>());
    let definite = magnitudes.iter().all(|m| *m > 0.0) && invert::<0>(n, &mut inverse, &magnitudes) > 1e-9;
    (definite && inverse.iter().all(|x| x.is_finite())).then_some(inverse)
}

/// Blocks of fewest neighbours first.
fn order(blocks: usize, touching: &[Vec<(usize, u32)>]) -> Vec<usize> {
    let mut near = vec![BTreeSet::new(); blocks];
    for of_body in touching {
        for &(i, _) in of_body {
            near[i].extend(of_body.iter().map(|t| t.0).filter(|&j| j != i));
        }
    }
    let mut left: Vec<usize> = (0..blocks).collect();
    let mut order = Vec::with_capacity(blocks);
    while let Some(p) = (0..left.len()).min_by_key(|&p| near[left[p]].len()) {
        let k = left.remove(p);
        let around: Vec<usize> = near[k].iter().copied().collect();
        for &i in &around {
            near[i].remove(&k);
            near[i].extend(around.iter().copied().filter(|&j| j != i));
        }
        order.push(k);
    }
    order
}

/// Makes room at the end of some numbers.
fn room(values: &mut Vec<f64>, numbers: usize) -> u32 {
    let at = values.len();
    values.resize(at + numbers, 0.0);
    at as u32
}

impl RangeSpace {
    /// Writes the lists for bodies with these coordinates and masses, and constraints with these rows. The blocks of G (constraint,
    /// body) follow each other, each by rows. None where a mass vanishes or a block is large.
    pub fn new(
        bodies: &[Range<usize>],
        masses: &[Vec<f64>],
        constraints: &[Range<usize>],
        gradients: &[(u32, u32)],
    ) -> Option<RangeSpace> {
        if bodies.iter().chain(constraints).any(|range| range.len() > MOST) {
            return None;
        }
        let mut own = RangeSpace { diagonal: true, ..RangeSpace::default() };
        (own.n, own.smallest_pivot) = (bodies.last().map_or(0, |r| r.end), f64::INFINITY);
        let m = constraints.last().map_or(0, |r| r.end);
        (own.f, own.y, own.magnitudes) = (vec![0.0; own.n], vec![0.0; m], vec![0.0; m]);
        for (range, mass) in bodies.iter().zip(masses) {
            let n = range.len();
            let a = own.inverse_mass.len() as u32;
            own.inverse_mass.extend(inverse_mass(mass, n)?);
            own.diagonal &= (0..n * n).all(|i| i % (n + 1) == 0 || mass[i] == 0.0);
            let (size, at) = (n as u8, range.start as u32);
            own.masses.push(Applied { rows: size, columns: size, a, x: at, y: at });
        }
        let mut touching = vec![Vec::new(); bodies.len()];
        let mut from = 0;
        for &(k, b) in gradients {
            let (k, b) = (k as usize, b as usize);
            if touching[b].iter().any(|(other, _)| *other == k) {
                return None;
            }
            touching[b].push((k, from as u32));
            from += constraints[k].len() * bodies[b].len();
        }
        own.gradients = from;
        let order = order(constraints.len(), &touching);
        own.sum(bodies, constraints, &touching, &order);
        Some(own)
    }

    /// W and S body by body, then the elimination of S.
    fn sum(
        &mut self,
        bodies: &[Range<usize>],
        constraints: &[Range<usize>],
        touching: &[Vec<(usize, u32)>],
        order: &[usize],
    ) {
        let mut rank = vec![0; order.len()];
        order.iter().enumerate().for_each(|(p, &k)| rank[k] = p);
        let size = |k: usize| constraints[k].len() as u8;
        // the places of S by (later, earlier)
        let mut places: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for (b, on) in touching.iter().enumerate() {
            let (inner, mass) = (bodies[b].len() as u8, self.masses[b].a);
            let first = self.pulls.len();
            for &(k, a) in on {
                let c = room(&mut self.weighed, (inner * size(k)) as usize);
                self.weigh.push(Product { rows: size(k), columns: inner, inner, first: true, a, b: mass, c });
                let (x, y) = (bodies[b].start as u32, constraints[k].start as u32);
                self.pulls.push(Applied { rows: size(k), columns: inner, a: c, x, y });
            }
            for &(k, a) in on {
                for (at, &(l, _)) in on.iter().enumerate().filter(|(_, (l, _))| rank[*l] <= rank[k]) {
                    let known = places.get(&(rank[k], rank[l])).copied();
                    let c = known.unwrap_or_else(|| room(&mut self.s, (size(k) * size(l)) as usize));
                    places.insert((rank[k], rank[l]), c);
                    let b = self.pulls[first + at].a;
                    self.gram.push(Product { rows: size(k), columns: size(l), inner, first: known.is_none(), a, b, c });
                }
            }
        }
        for (p, &k) in order.iter().enumerate() {
            let (inner, row) = (size(k), constraints[k].start as u32);
            let below: Vec<usize> = places.keys().filter(|(i, j)| *j == p && *i > p).map(|(i, _)| *i).collect();
            let inverse = room(&mut self.inverse, (inner * inner) as usize);
            let (from, updated) = (self.lowers.len() as u32, self.updates.len() as u32);
            let lower: Vec<u32> =
                below.iter().map(|&i| room(&mut self.lower, (size(order[i]) * inner) as usize)).collect();
            for (&i, &c) in below.iter().zip(&lower) {
                let rows = size(order[i]);
                let a = places[&(i, p)];
                self.lowers.push(Product { rows, columns: inner, inner, first: true, a, b: inverse, c });
                let y = constraints[order[i]].start as u32;
                self.spread.push(Applied { rows, columns: inner, a: c, x: row, y });
            }
            for (&i, &a) in below.iter().zip(&lower) {
                for &j in below.iter().filter(|&&j| j <= i) {
                    let (rows, columns) = (size(order[i]), size(order[j]));
                    let known = places.get(&(i, j)).copied();
                    let c = known.unwrap_or_else(|| room(&mut self.s, (rows * columns) as usize));
                    places.insert((i, j), c);
                    let b = places[&(j, p)];
                    self.updates.push(Product { rows, columns, inner, first: known.is_none(), a, b, c });
                }
            }
            let (lower, updates) = (from..self.lowers.len() as u32, updated..self.updates.len() as u32);
            // a constraint that touches no body has no block
            let s = places.get(&(p, p)).copied().unwrap_or_else(|| room(&mut self.s, (inner * inner) as usize));
            self.pivots.push(Pivot { size: inner as usize, s, inverse, row, lower, updates });
        }
    }

    /// Tells a tape what it remembers; with `factors`, those too.
    pub fn keep(&mut self, tape: &mut Tape, factors: bool) {
        tape.flag(&mut self.holds);
        tape.count(&mut self.patience);
        tape.number(&mut self.smallest_pivot);
        if self.holds && factors {
            tape.fixed(&mut self.weighed);
            tape.fixed(&mut self.lower);
            tape.fixed(&mut self.inverse);
        }
    }

    /// Whether it has the factors of the last matrix.
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// The factors are given up.
    pub fn forget(&mut self) {
        self.holds = false;
    }

    /// The smallest pivot of the last factors, relative to what it was summed from.
    pub fn smallest_pivot(&self) -> f64 {
        self.smallest_pivot
    }

    /// Factors for a G; false where another solver has to do it.
    pub fn factor(&mut self, g: &[f64]) -> bool {
        self.holds = false;
        if self.patience > 0 {
            self.patience -= 1;
            return false;
        }
        if g.len() != self.gradients {
            return false;
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            unsafe { self.factor_wide(g) };
            return self.judge();
        }
        self.factor_near(g);
        self.judge()
    }

    /// Whether the last pivots are good.
    fn judge(&mut self) -> bool {
        self.holds = self.smallest_pivot > POOR;
        if !self.holds {
            self.patience = PATIENCE;
        }
        self.holds
    }

    /// Compiled for AVX2, but without FMA: results must not depend on the processor.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn factor_wide(&mut self, g: &[f64]) {
        self.factor_near(g);
    }

    #[inline(always)]
    fn factor_near(&mut self, g: &[f64]) {
        if self.diagonal {
            for w in &self.weigh {
                let n = w.inner as usize;
                let (rows, mass) = (w.rows as usize * n, &self.inverse_mass[w.b as usize..]);
                let (g, out) = (&g[w.a as usize..][..rows], &mut self.weighed[w.c as usize..][..rows]);
                for (g, out) in g.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
                    (0..n).for_each(|i| out[i] = g[i] * mass[i * (n + 1)]);
                }
            }
        } else {
            self.weigh.iter().for_each(|w| w.run(1.0, g, &self.inverse_mass, &mut self.weighed));
        }
        self.gram.iter().for_each(|p| p.run(1.0, g, &self.weighed, &mut self.s));
        for p in &self.pivots {
            (0..p.size).for_each(|i| self.magnitudes[p.row as usize + i] = self.s[p.s as usize + i * (p.size + 1)]);
        }
        self.smallest_pivot = f64::INFINITY;
        for p in &self.pivots {
            let size = p.size * p.size;
            let inverse = &mut self.inverse[p.inverse as usize..][..size];
            inverse.copy_from_slice(&self.s[p.s as usize..][..size]);
            let magnitudes = &self.magnitudes[p.row as usize..];
            let pivot = match p.size {
                1 => invert::<1>(1, inverse, magnitudes),
                2 => invert::<2>(2, inverse, magnitudes),
                3 => invert::<3>(3, inverse, magnitudes),
                5 => invert::<5>(5, inverse, magnitudes),
                6 => invert::<6>(6, inverse, magnitudes),
                r => invert::<0>(r, inverse, magnitudes),
            };
            // what is no number stays
            self.smallest_pivot = if pivot >= self.smallest_pivot { self.smallest_pivot } else { pivot };
            for l in &self.lowers[p.lower.start as usize..p.lower.end as usize] {
                l.run(1.0, &self.s, &self.inverse, &mut self.lower);
            }
            for u in &self.updates[p.updates.start as usize..p.updates.end as usize] {
                let mut b = [0.0; MOST * MOST];
                let size = u.columns as usize * u.inner as usize;
                b[..size].copy_from_slice(&self.s[u.b as usize..][..size]);
                Product { b: 0, ..*u }.run(-1.0, &self.lower, &b, &mut self.s);
            }
        }
    }

    /// (f, γ) becomes (a, λ), with the factors at hand.
    pub fn solve(&mut self, rhs: &mut [f64]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { self.solve_wide(rhs) };
        }
        self.solve_near(rhs);
    }

    /// As [`Self::factor_wide`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn solve_wide(&mut self, rhs: &mut [f64]) {
        self.solve_near(rhs);
    }

    #[inline(always)]
    fn solve_near(&mut self, rhs: &mut [f64]) {
        let (x, lambda) = rhs.split_at_mut(self.n);
        lambda.iter_mut().for_each(|l| *l = -*l);
        self.pulls.iter().for_each(|w| w.add(1.0, &self.weighed, x, lambda));
        // L y = λ, from the first pivot to the last; the block of a pivot lies before those it is spread to
        for l in &self.spread {
            let mut from = [0.0; MOST];
            let columns = l.columns as usize;
            from[..columns].copy_from_slice(&lambda[l.x as usize..][..columns]);
            Applied { x: 0, ..*l }.add(-1.0, &self.lower, &from, lambda);
        }
        for p in &self.pivots {
            let rows = p.row as usize..p.row as usize + p.size;
            let size = p.size as u8;
            self.y[rows.clone()].copy_from_slice(&lambda[rows.clone()]);
            lambda[rows].fill(0.0);
            Applied { rows: size, columns: size, a: p.inverse, x: p.row, y: p.row }.add(
                1.0,
                &self.inverse,
                &self.y,
                lambda,
            );
        }
        for l in self.spread.iter().rev() {
            let mut from = [0.0; MOST];
            let rows = l.rows as usize;
            from[..rows].copy_from_slice(&lambda[l.y as usize..][..rows]);
            Applied { y: 0, ..*l }.take(&self.lower, &from, lambda);
        }
        self.f.copy_from_slice(x);
        x.fill(0.0);
        self.masses.iter().for_each(|m| m.add(1.0, &self.inverse_mass, &self.f, x));
        self.pulls.iter().for_each(|w| w.take(&self.weighed, lambda, x));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of bodies with three coordinates, held in two places, and its G and masses.
    fn ring(full: bool) -> (RangeSpace, Vec<f64>, Vec<Vec<f64>>, Vec<(u32, u32)>) {
        let bodies: Vec<Range<usize>> = (0..4).map(|b| 3 * b..3 * b + 3).collect();
        let constraints = vec![0..2, 2..4, 4..5, 5..8];
        let gradients = vec![(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 0), (3, 3)];
        let masses: Vec<Vec<f64>> = (0..4)
            .map(|b| {
                let off = if full { 0.2 } else { 0.0 };
                (0..9).map(|i| if i % 4 == 0 { 1.0 + b as f64 + 0.1 * i as f64 } else { off }).collect()
            })
            .collect();
        let size: usize = gradients.iter().map(|&(k, _): &(u32, u32)| constraints[k as usize].len() * 3).sum();
        let g = (0..size).map(|i| ((7 * i * i + 3 * i) % 11) as f64 / 5.0 - 1.0).collect();
        let space = RangeSpace::new(&bodies, &masses, &constraints, &gradients);
        (space.unwrap_or_default(), g, masses, gradients)
    }

    #[test]
    fn solutions_fulfil_the_equations() {
        for full in [false, true] {
            let (mut space, g, masses, gradients) = ring(full);
            assert!(space.factor(&g), "smallest pivot {}", space.smallest_pivot());
            let rhs: Vec<f64> = (0..20).map(|i| (i as f64 * 0.7).sin()).collect();
            let mut x = rhs.clone();
            space.solve(&mut x);
            let mut left = rhs;
            for (b, mass) in masses.iter().enumerate() {
                (0..9).for_each(|i| left[3 * b + i / 3] -= mass[i] * x[3 * b + i % 3]);
            }
            let rows = [0..2usize, 2..4, 4..5, 5..8];
            let mut at = 0;
            for (k, b) in gradients {
                for r in rows[k as usize].clone() {
                    for c in 0..3 {
                        left[3 * b as usize + c] -= g[at] * x[12 + r];
                        left[12 + r] -= g[at] * x[3 * b as usize + c];
                        at += 1;
                    }
                }
            }
            let open = left.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            assert!(open < 1e-12, "{open}");
        }
    }

    #[test]
    fn redundant_rows_and_vanishing_masses_are_left_to_others() {
        let (mut space, mut g, ..) = ring(false);
        // both rows of the first constraint alike
        for block in 0..2 {
            (0..3).for_each(|i| g[6 * block + 3 + i] = g[6 * block + i]);
        }
        assert!(!space.factor(&g) && !space.holds());
        assert!((0..PATIENCE).all(|_| !space.factor(&g)));
        g[3] += 1.0;
        assert!(space.factor(&g));
        g[0] = f64::NAN;
        assert!(!space.factor(&g));
        let (body, constraint) = (vec![0..1], vec![0..1]);
        assert!(RangeSpace::new(&body, &[vec![0.0]], &constraint, &[(0, 0)]).is_none());
        assert!(RangeSpace::new(&body, &[vec![2.0]], &constraint, &[(0, 0)]).is_some());
    }
}
