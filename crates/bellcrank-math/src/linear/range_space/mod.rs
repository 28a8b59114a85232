//! [M Gᵀ; G 0] of small machines with constant masses, by a list of small products that is written once.
//!
//! S = G M⁻¹Gᵀ is summed body by body and eliminated by blocks in a fixed order, S = L D Lᵀ; then λ = S⁻¹(G M⁻¹f − γ) and
//! a = M⁻¹(f − Gᵀλ). Common sizes are compile-time constants, so that little but arithmetic is left. Where a pivot is poor, or a
//! mass vanishes, a solver that pivots has to do it.

mod products;
#[cfg(test)]
mod tests;

use crate::tape::Tape;
use products::{Apply, MOST, Multiply, Product, Scale, Take, Update, Within, each, fit, mark_runs};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A pivot below this fraction of what it was summed from is left to a solver that pivots.
const POOR: f64 = 1e-3;

/// After a poor pivot this many matrices are left to it at once.
const PATIENCE: usize = 50;

/// A pivot block: its size, its places in S and D⁻¹, its first row, and what it eliminates.
struct Pivot {
    size: usize,
    s: u32,
    inverse: u32,
    row: u32,
    lower: Range<u32>,
    updates: Range<u32>,
}

/// The factors, and the lists of products that make them. Its many fields are these lists, one for each.
#[derive(Default)]
pub struct RangeSpace {
    /// The number of unknowns a, and of the values of G.
    n: usize,
    gradients: usize,
    /// M⁻¹ by blocks, and whether all of them are diagonal; with their sizes and first rows.
    inverse_mass: Vec<f64>,
    diagonal: bool,
    masses: Vec<Product>,
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
    /// G by blocks.
    touches: Vec<Product>,
    /// W by blocks, and L by blocks in the order of elimination.
    pulls: Vec<Product>,
    spread: Vec<Product>,
    /// The same backwards.
    gather: Vec<Product>,
    /// D⁻¹ by blocks.
    divide: Vec<Product>,
    f: Vec<f64>,
    y: Vec<f64>,
    smallest_pivot: f64,
    patience: usize,
    holds: bool,
}

/// Replaces a definite matrix by its inverse, by Gauss and Jordan in place; gives the smallest pivot relative to the magnitudes.
#[inline(always)]
fn invert<const R: usize>(r: usize, a: &mut [f64], magnitudes: &[f64]) -> f64 {
    let r = if R > 0 { R } else { r };
    let (a, magnitudes) = (&mut a[..r * r], &magnitudes[..r]);
    let mut smallest = f64::INFINITY;
    for k in 0..r {
        let pivot = a[k * r + k];
        // what is no number is no pivot, whatever comes behind it
        let stays = smallest.is_nan() || pivot >= smallest * magnitudes[k];
        smallest = if stays { smallest } else { pivot / magnitudes[k] };
        let inverse = 1.0 / pivot;
        for i in 0..r {
            if i == k {
                continue;
            }
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
        if bodies.iter().chain(constraints).any(|range| !(1..=MOST).contains(&range.len())) {
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
            own.masses.push(Product::applied(size, size, [a, at, at]));
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
        own.mark();
        own.fits().then_some(own)
    }

    /// Marks the runs of products of one size in all lists.
    fn mark(&mut self) {
        for p in &self.pivots {
            mark_runs(&mut self.lowers[p.lower.start as usize..p.lower.end as usize]);
            mark_runs(&mut self.updates[p.updates.start as usize..p.updates.end as usize]);
        }
        let RangeSpace { masses, weigh, gram, touches, pulls, spread, gather, divide, .. } = self;
        [masses, weigh, gram, touches, pulls, spread, gather, divide].into_iter().for_each(|list| mark_runs(list));
    }

    /// Whether all products lie inside their arrays, as their accesses without bounds checks rely on.
    fn fits(&self) -> bool {
        let (mass, weighed, s) = (self.inverse_mass.len(), self.weighed.len(), self.s.len());
        let (lower, inverse, n, m) = (self.lower.len(), self.inverse.len(), self.f.len(), self.y.len());
        let lists = [
            (&self.masses, [mass, n, n]),
            (&self.weigh, [self.gradients, mass, weighed]),
            (&self.gram, [self.gradients, weighed, s]),
            (&self.lowers, [s, inverse, lower]),
            (&self.updates, [lower, s, s]),
            (&self.touches, [self.gradients, n, m]),
            (&self.pulls, [weighed, n, m]),
            (&self.spread, [lower, m, m]),
            (&self.gather, [lower, m, m]),
            (&self.divide, [inverse, m, m]),
        ];
        lists.iter().all(|(list, lengths)| fit(list, *lengths))
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
                self.weigh.push(Product::new([size(k), inner, inner], true, [a, mass, c]));
                let (x, y) = (bodies[b].start as u32, constraints[k].start as u32);
                self.touches.push(Product::applied(size(k), inner, [a, x, y]));
                self.pulls.push(Product::applied(size(k), inner, [c, x, y]));
            }
            for &(k, a) in on {
                for (at, &(l, _)) in on.iter().enumerate().filter(|(_, (l, _))| rank[*l] <= rank[k]) {
                    let known = places.get(&(rank[k], rank[l])).copied();
                    let c = known.unwrap_or_else(|| room(&mut self.s, (size(k) * size(l)) as usize));
                    places.insert((rank[k], rank[l]), c);
                    let b = self.pulls[first + at].a;
                    self.gram.push(Product::new([size(k), size(l), inner], known.is_none(), [a, b, c]));
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
                self.lowers.push(Product::new([rows, inner, inner], true, [a, inverse, c]));
                self.spread.push(Product::applied(rows, inner, [c, row, constraints[order[i]].start as u32]));
            }
            for (&i, &a) in below.iter().zip(&lower) {
                for &j in below.iter().filter(|&&j| j <= i) {
                    let (rows, columns) = (size(order[i]), size(order[j]));
                    let known = places.get(&(i, j)).copied();
                    let c = known.unwrap_or_else(|| room(&mut self.s, (rows * columns) as usize));
                    places.insert((i, j), c);
                    let b = places[&(j, p)];
                    self.updates.push(Product::new([rows, columns, inner], known.is_none(), [a, b, c]));
                }
            }
            let (lower, updates) = (from..self.lowers.len() as u32, updated..self.updates.len() as u32);
            // a constraint that touches no body has no block
            let s = places.get(&(p, p)).copied().unwrap_or_else(|| room(&mut self.s, (inner * inner) as usize));
            self.pivots.push(Pivot { size: inner as usize, s, inverse, row, lower, updates });
            self.divide.push(Product::applied(inner, inner, [inverse, row, row]));
        }
        self.gather = self.spread.iter().rev().copied().collect();
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

    /// For a G of the right size.
    #[inline(always)]
    fn factor_near(&mut self, g: &[f64]) {
        // SAFETY: the lists fit their arrays, which never change their sizes, and G has the size they were checked for.
        unsafe {
            if self.diagonal {
                each(&self.weigh, Scale { g, mass: &self.inverse_mass, out: &mut self.weighed });
            } else {
                each(&self.weigh, Multiply { a: g, b: &self.inverse_mass, c: &mut self.weighed });
            }
            each(&self.gram, Multiply { a: g, b: &self.weighed, c: &mut self.s });
        }
        for p in &self.pivots {
            for i in 0..p.size {
                self.magnitudes[p.row as usize + i] = self.s[p.s as usize + i * (p.size + 1)];
            }
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
            let stays = self.smallest_pivot.is_nan() || pivot >= self.smallest_pivot;
            self.smallest_pivot = if stays { self.smallest_pivot } else { pivot };
            let lowers = &self.lowers[p.lower.start as usize..p.lower.end as usize];
            let updates = &self.updates[p.updates.start as usize..p.updates.end as usize];
            // SAFETY: as above.
            unsafe {
                each(lowers, Multiply { a: &self.s, b: &self.inverse, c: &mut self.lower });
                each(updates, Update { a: &self.lower, s: &mut self.s });
            }
        }
    }

    /// (f, γ) becomes (a, λ), or λ alone, with the factors at hand.
    pub fn solve(&mut self, rhs: &mut [f64], of: Of) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { self.solve_wide(rhs, of) };
        }
        self.solve_near(rhs, of);
    }

    /// As [`Self::factor_wide`].
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn solve_wide(&mut self, rhs: &mut [f64], of: Of) {
        self.solve_near(rhs, of);
    }

    #[inline(always)]
    fn solve_near(&mut self, rhs: &mut [f64], of: Of) {
        let (x, lambda) = rhs.split_at_mut(self.n);
        assert!(
            x.len() == self.f.len() && lambda.len() == self.y.len(),
            "a right-hand side has a number for each unknown"
        );
        lambda.iter_mut().for_each(|l| *l = -*l);
        // SAFETY: the lists fit arrays of these sizes.
        unsafe {
            if of != Of::Rows {
                each(&self.pulls, Apply { a: &self.weighed, x, y: lambda });
            }
            each(&self.spread, Within { a: &self.lower, v: lambda, back: false });
            self.y.iter_mut().zip(&mut *lambda).for_each(|(y, l)| *y = std::mem::take(l));
            each(&self.divide, Apply { a: &self.inverse, x: &self.y, y: lambda });
            each(&self.gather, Within { a: &self.lower, v: lambda, back: true });
            if of == Of::Multipliers {
                return;
            }
            if of != Of::Rows {
                self.f.iter_mut().zip(&mut *x).for_each(|(f, x)| *f = std::mem::take(x));
                each(&self.masses, Apply { a: &self.inverse_mass, x: &self.f, y: x });
            }
            each(&self.pulls, Take { a: &self.weighed, y: lambda, x });
        }
    }
}

impl RangeSpace {
    /// x −= Gᵀλ for a G, body by body in the order of the constraints; false if they are not of these sizes.
    pub fn take_pull(&self, g: &[f64], lambda: &[f64], x: &mut [f64]) -> bool {
        if (g.len(), lambda.len(), x.len()) != (self.gradients, self.y.len(), self.f.len()) {
            return false;
        }
        // SAFETY: the list fits arrays of these sizes.
        unsafe { each(&self.touches, Take { a: g, y: lambda, x }) };
        true
    }
}

/// What is known of a right-hand side (f, γ), and wanted of its solution (a, λ).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Everything.
    All,
    /// f is zero.
    Rows,
    /// λ alone is wanted.
    Multipliers,
}
