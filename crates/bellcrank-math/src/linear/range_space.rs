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

/// C ±= A Bᵀ, by offsets: A has rows × inner, B columns × inner and C rows × columns numbers. Without an inner size B and C are vectors,
/// with c ±= A b or b ±= Aᵀc.
#[derive(Clone, Copy)]
struct Product {
    /// Rows, columns, inner.
    sizes: [u8; 3],
    /// The number of these sizes among the common ones.
    kernel: u8,
    /// Whether C is set rather than added to.
    first: bool,
    a: u32,
    b: u32,
    c: u32,
}

impl Product {
    fn new(sizes: [u8; 3], first: bool, [a, b, c]: [u32; 3]) -> Product {
        Product { sizes, kernel: kernel(sizes), first, a, b, c }
    }

    /// A matrix on a vector.
    fn applied(rows: u8, columns: u8, places: [u32; 3]) -> Product {
        Product::new([rows, columns, 0], false, places)
    }

    /// Its sizes: constants, or those of its own.
    #[inline(always)]
    fn sizes<const R: usize, const C: usize, const K: usize>(&self) -> [usize; 3] {
        if R > 0 { [R, C, K] } else { self.sizes.map(usize::from) }
    }
}

/// What is done with a product.
trait Work {
    fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product);
}

/// Common sizes, which are compile-time constants.
macro_rules! kernels {
    ($($n:literal: $R:literal $C:literal $K:literal;)*) => {
        fn kernel(sizes: [u8; 3]) -> u8 {
            match sizes {
                $([$R, $C, $K] => $n,)*
                _ => u8::MAX,
            }
        }

        /// Works through a list, neighbours of one size in one loop.
        #[inline(always)]
        fn each(list: &[Product], mut work: impl Work) {
            for same in list.chunk_by(|p, q| p.kernel == q.kernel) {
                match same[0].kernel {
                    // loops, because closures would not be compiled for wide registers
                    $($n => for p in same {
                        work.run::<$R, $C, $K>(p)
                    },)*
                    _ => for p in same {
                        work.run::<0, 0, 0>(p)
                    },
                }
            }
        }
    };
}

kernels! {
    0: 1 1 1; 1: 1 1 2; 2: 1 2 1; 3: 2 1 1; 4: 2 2 1; 5: 2 1 2; 6: 1 2 2; 7: 2 2 2;
    8: 1 1 3; 9: 1 2 3; 10: 2 1 3; 11: 2 2 3; 12: 3 3 3; 13: 1 3 3; 14: 3 1 3; 15: 3 3 1;
    16: 3 3 6; 17: 1 3 6; 18: 3 1 6; 19: 1 1 6; 20: 5 5 6; 21: 6 6 6; 22: 5 6 6; 23: 6 5 6; 24: 3 6 6; 25: 1 6 6; 46: 2 3 3;
    26: 5 5 5; 27: 6 5 5; 28: 6 6 5; 29: 6 3 3; 30: 6 6 3; 31: 3 6 3;
    32: 1 1 0; 33: 1 2 0; 34: 2 1 0; 35: 2 2 0; 36: 1 3 0; 37: 2 3 0; 38: 3 3 0;
    39: 1 6 0; 40: 3 6 0; 41: 5 6 0; 42: 6 6 0; 43: 5 5 0; 44: 6 5 0; 45: 6 3 0;
}

/// A block that begins at a place.
#[inline(always)]
fn block(values: &[f64], at: u32, size: usize) -> &[f64] {
    &values[at as usize..at as usize + size]
}

#[inline(always)]
fn block_mut(values: &mut [f64], at: u32, size: usize) -> &mut [f64] {
    &mut values[at as usize..at as usize + size]
}

#[inline(always)]
fn multiply<const R: usize, const C: usize, const K: usize>(
    p: &Product,
    sign: f64,
    a: &[f64],
    b: &[f64],
    out: &mut [f64],
) {
    let [r, c, k] = p.sizes::<R, C, K>();
    let (a, b, out) = (&a[..r * k], &b[..c * k], &mut out[..r * c]);
    for i in 0..r {
        for j in 0..c {
            let mut sum = 0.0;
            for l in 0..k {
                sum += a[i * k + l] * b[j * k + l];
            }
            let before = if p.first { 0.0 } else { out[i * c + j] };
            out[i * c + j] = before + sign * sum;
        }
    }
}

/// C += A Bᵀ.
struct Multiply<'a> {
    a: &'a [f64],
    b: &'a [f64],
    c: &'a mut [f64],
}

impl Work for Multiply<'_> {
    #[inline(always)]
    fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product) {
        let [r, c, k] = p.sizes::<R, C, K>();
        let (a, b) = (block(self.a, p.a, r * k), block(self.b, p.b, c * k));
        multiply::<R, C, K>(p, 1.0, a, b, block_mut(self.c, p.c, r * c));
    }
}

/// W = G M⁻¹ with a diagonal M.
struct Scale<'a> {
    g: &'a [f64],
    mass: &'a [f64],
    out: &'a mut [f64],
}

impl Work for Scale<'_> {
    #[inline(always)]
    fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product) {
        let [r, n, _] = p.sizes::<R, C, K>();
        let (g, mass) = (block(self.g, p.a, r * n), block(self.mass, p.b, n * n));
        let out = block_mut(self.out, p.c, r * n);
        for i in 0..r {
            for j in 0..n {
                out[i * n + j] = g[i * n + j] * mass[j * n + j];
            }
        }
    }
}

/// C −= A Bᵀ, where B and C are blocks of one matrix.
struct Update<'a> {
    a: &'a [f64],
    s: &'a mut [f64],
}

impl Work for Update<'_> {
    #[inline(always)]
    fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product) {
        let [r, c, k] = p.sizes::<R, C, K>();
        let mut b = [0.0; MOST * MOST];
        let of = block(self.s, p.b, c * k);
        for i in 0..c * k {
            b[i] = of[i];
        }
        multiply::<R, C, K>(p, -1.0, block(self.a, p.a, r * k), &b, block_mut(self.s, p.c, r * c));
    }
}

#[inline(always)]
fn apply(a: &[f64], sign: f64, x: &[f64], y: &mut [f64]) {
    for (y, row) in y.iter_mut().zip(a.chunks_exact(x.len())) {
        let mut sum = 0.0;
        for (a, x) in row.iter().zip(x) {
            sum += a * x;
        }
        *y += sign * sum;
    }
}

#[inline(always)]
fn take(a: &[f64], y: &[f64], x: &mut [f64]) {
    for (y, row) in y.iter().zip(a.chunks_exact(x.len())) {
        for (x, a) in x.iter_mut().zip(row) {
            *x -= a * y;
        }
    }
}

/// y += A x.
struct Apply<'a> {
    a: &'a [f64],
    x: &'a [f64],
    y: &'a mut [f64],
}

impl Work for Apply<'_> {
    #[inline(always)]
    fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product) {
        let [r, c, _] = p.sizes::<R, C, K>();
        apply(block(self.a, p.a, r * c), 1.0, block(self.x, p.b, c), block_mut(self.y, p.c, r));
    }
}

/// x −= Aᵀy.
struct Take<'a> {
    a: &'a [f64],
    y: &'a [f64],
    x: &'a mut [f64],
}

impl Work for Take<'_> {
    #[inline(always)]
    fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product) {
        let [r, c, _] = p.sizes::<R, C, K>();
        take(block(self.a, p.a, r * c), block(self.y, p.c, r), block_mut(self.x, p.b, c));
    }
}

/// y −= A x, or x −= Aᵀy backwards, where both are parts of one vector.
struct Within<'a> {
    a: &'a [f64],
    v: &'a mut [f64],
    back: bool,
}

impl Work for Within<'_> {
    #[inline(always)]
    fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product) {
        let [r, c, _] = p.sizes::<R, C, K>();
        let a = block(self.a, p.a, r * c);
        let (from, size) = if self.back { (p.c, r) } else { (p.b, c) };
        let mut x = [0.0; MOST];
        let of = block(self.v, from, size);
        for i in 0..size {
            x[i] = of[i];
        }
        match self.back {
            false => apply(a, -1.0, &x[..c], block_mut(self.v, p.c, r)),
            true => take(a, &x[..r], block_mut(self.v, p.b, c)),
        }
    }
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
        // what is no number is no pivot
        smallest = if pivot >= smallest * magnitudes[k] { smallest } else { pivot / magnitudes[k] };
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
                self.weigh.push(Product::new([size(k), inner, inner], true, [a, mass, c]));
                let (x, y) = (bodies[b].start as u32, constraints[k].start as u32);
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

    #[inline(always)]
    fn factor_near(&mut self, g: &[f64]) {
        if self.diagonal {
            each(&self.weigh, Scale { g, mass: &self.inverse_mass, out: &mut self.weighed });
        } else {
            each(&self.weigh, Multiply { a: g, b: &self.inverse_mass, c: &mut self.weighed });
        }
        each(&self.gram, Multiply { a: g, b: &self.weighed, c: &mut self.s });
        for p in &self.pivots {
            for i in 0..p.size {
                self.magnitudes[p.row as usize + i] = self.s[p.s as usize + i * (p.size + 1)];
            }
        }
        self.smallest_pivot = f64::INFINITY;
        for p in &self.pivots {
            let size = p.size * p.size;
            let inverse = block_mut(&mut self.inverse, p.inverse, size);
            inverse.copy_from_slice(block(&self.s, p.s, size));
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
            let lowers = &self.lowers[p.lower.start as usize..p.lower.end as usize];
            each(lowers, Multiply { a: &self.s, b: &self.inverse, c: &mut self.lower });
            let updates = &self.updates[p.updates.start as usize..p.updates.end as usize];
            each(updates, Update { a: &self.lower, s: &mut self.s });
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
        lambda.iter_mut().for_each(|l| *l = -*l);
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
            space.solve(&mut x, Of::All);
            let mut multipliers = rhs.clone();
            space.solve(&mut multipliers, Of::Multipliers);
            assert_eq!(multipliers[12..], x[12..]);
            let (mut of_rows, mut all) = (rhs.clone(), rhs.clone());
            all[..12].fill(0.0);
            of_rows[..12].fill(0.0);
            space.solve(&mut all, Of::All);
            space.solve(&mut of_rows, Of::Rows);
            assert_eq!(all, of_rows);
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
