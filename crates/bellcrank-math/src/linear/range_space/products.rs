//! Products of small blocks, whose common sizes are compile-time constants.

/// The most rows of a block, and the most coordinates of a body.
pub(super) const MOST: usize = 6;

/// C ±= A Bᵀ, by offsets: A has rows × inner, B columns × inner and C rows × columns numbers. Without an inner size B and C are vectors,
/// with c ±= A b or b ±= Aᵀc.
#[derive(Clone, Copy)]
pub(super) struct Product {
    /// Rows, columns, inner.
    sizes: [u8; 3],
    /// The number of these sizes among the common ones.
    kernel: u8,
    /// Whether C is set rather than added to.
    first: bool,
    /// How many products from this one on have its sizes.
    run: u16,
    pub(super) a: u32,
    b: u32,
    c: u32,
}

impl Product {
    pub(super) fn new(sizes: [u8; 3], first: bool, [a, b, c]: [u32; 3]) -> Product {
        Product { sizes, kernel: kernel(sizes), first, run: 1, a, b, c }
    }

    /// A matrix on a vector.
    pub(super) fn applied(rows: u8, columns: u8, places: [u32; 3]) -> Product {
        Product::new([rows, columns, 0], false, places)
    }

    /// Its sizes: constants, or those of its own.
    #[inline(always)]
    fn sizes<const R: usize, const C: usize, const K: usize>(&self) -> [usize; 3] {
        if R > 0 { [R, C, K] } else { self.sizes.map(usize::from) }
    }
}

/// Marks neighbours of one size in a list, which are worked through in one loop.
pub(super) fn mark_runs(list: &mut [Product]) {
    for k in (1..list.len()).rev() {
        let (before, after) = (list[k - 1].kernel, list[k]);
        list[k - 1].run = if before == after.kernel { after.run.saturating_add(1) } else { 1 };
    }
}

/// Whether all products of a list lie inside arrays of these sizes.
pub(super) fn fit(list: &[Product], [a, b, c]: [usize; 3]) -> bool {
    let inside = |at: u32, size: usize, length: usize| at as usize + size <= length;
    list.iter().all(|p| {
        let [rows, columns, inner] = p.sizes.map(usize::from);
        let (of_a, of_b, of_c) = match inner {
            0 => (rows * columns, columns, rows),
            _ => (rows * inner, columns * inner, rows * columns),
        };
        let small = p.sizes.iter().all(|n| *n as usize <= MOST);
        small && inside(p.a, of_a, a) && inside(p.b, of_b, b) && inside(p.c, of_c, c)
    })
}

/// What is done with a product.
pub(super) trait Work {
    /// # Safety
    /// The product lies inside the arrays.
    unsafe fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product);
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
        ///
        /// # Safety
        /// Its products lie inside the arrays of the work: they [fit](fit).
        #[inline(always)]
        pub(super) unsafe fn each(mut list: &[Product], mut work: impl Work) {
            while let Some(first) = list.first() {
                let (same, rest) = list.split_at(first.run as usize);
                list = rest;
                match first.kernel {
                    // loops, because closures would not be compiled for wide registers
                    $($n => for p in same {
                        // SAFETY: by the contract.
                        unsafe { work.run::<$R, $C, $K>(p) }
                    },)*
                    _ => for p in same {
                        // SAFETY: by the contract.
                        unsafe { work.run::<0, 0, 0>(p) }
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
    47: 6 3 6; 48: 6 1 6; 49: 6 1 1; 50: 6 6 1; 51: 6 3 1; 52: 3 1 0; 53: 6 1 0;
    39: 1 6 0; 40: 3 6 0; 41: 5 6 0; 42: 6 6 0; 43: 5 5 0; 44: 6 5 0; 45: 6 3 0;
}

/// A block that begins at a place.
///
/// # Safety
/// It lies inside the values.
#[inline(always)]
unsafe fn block(values: &[f64], at: u32, size: usize) -> &[f64] {
    debug_assert!(at as usize + size <= values.len());
    // SAFETY: by the contract.
    unsafe { values.get_unchecked(at as usize..at as usize + size) }
}

/// The same, to write to.
///
/// # Safety
/// As for [`block`].
#[inline(always)]
unsafe fn block_mut(values: &mut [f64], at: u32, size: usize) -> &mut [f64] {
    debug_assert!(at as usize + size <= values.len());
    // SAFETY: by the contract.
    unsafe { values.get_unchecked_mut(at as usize..at as usize + size) }
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
            let mut sum = a[i * k] * b[j * k];
            for l in 1..k {
                sum += a[i * k + l] * b[j * k + l];
            }
            let before = if p.first { 0.0 } else { out[i * c + j] };
            out[i * c + j] = before + sign * sum;
        }
    }
}

/// C += A Bᵀ.
pub(super) struct Multiply<'a> {
    pub(super) a: &'a [f64],
    pub(super) b: &'a [f64],
    pub(super) c: &'a mut [f64],
}

impl Work for Multiply<'_> {
    #[inline(always)]
    unsafe fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product) {
        let [r, c, k] = p.sizes::<R, C, K>();
        // SAFETY: by the contract.
        let (a, b, out) =
            unsafe { (block(self.a, p.a, r * k), block(self.b, p.b, c * k), block_mut(self.c, p.c, r * c)) };
        multiply::<R, C, K>(p, 1.0, a, b, out);
    }
}

/// W = G M⁻¹ with a diagonal M.
pub(super) struct Scale<'a> {
    pub(super) g: &'a [f64],
    pub(super) mass: &'a [f64],
    pub(super) out: &'a mut [f64],
}

impl Work for Scale<'_> {
    #[inline(always)]
    unsafe fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product) {
        let [r, n, _] = p.sizes::<R, C, K>();
        // SAFETY: by the contract.
        let (g, mass, out) =
            unsafe { (block(self.g, p.a, r * n), block(self.mass, p.b, n * n), block_mut(self.out, p.c, r * n)) };
        for i in 0..r {
            for j in 0..n {
                out[i * n + j] = g[i * n + j] * mass[j * n + j];
            }
        }
    }
}

/// C −= A Bᵀ, where B and C are blocks of one matrix.
pub(super) struct Update<'a> {
    pub(super) a: &'a [f64],
    pub(super) s: &'a mut [f64],
}

impl Work for Update<'_> {
    #[inline(always)]
    unsafe fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product) {
        let [r, c, k] = p.sizes::<R, C, K>();
        let mut b = [0.0; MOST * MOST];
        // SAFETY: by the contract.
        let of = unsafe { block(self.s, p.b, c * k) };
        // sizes are known when this is compiled: a loop is unrolled, a copy would be a call
        #[allow(clippy::manual_memcpy)]
        for i in 0..c * k {
            b[i] = of[i];
        }
        // SAFETY: by the contract.
        let (a, out) = unsafe { (block(self.a, p.a, r * k), block_mut(self.s, p.c, r * c)) };
        multiply::<R, C, K>(p, -1.0, a, &b, out);
    }
}

#[inline(always)]
fn apply<const R: usize, const C: usize>(p: &Product, a: &[f64], sign: f64, x: &[f64], y: &mut [f64]) {
    let [r, c, _] = p.sizes::<R, C, 0>();
    let (a, x, y) = (&a[..r * c], &x[..c], &mut y[..r]);
    for i in 0..r {
        let mut sum = a[i * c] * x[0];
        for j in 1..c {
            sum += a[i * c + j] * x[j];
        }
        y[i] += sign * sum;
    }
}

#[inline(always)]
fn take<const R: usize, const C: usize>(p: &Product, a: &[f64], y: &[f64], x: &mut [f64]) {
    let [r, c, _] = p.sizes::<R, C, 0>();
    let (a, y, x) = (&a[..r * c], &y[..r], &mut x[..c]);
    for i in 0..r {
        for j in 0..c {
            x[j] -= a[i * c + j] * y[i];
        }
    }
}

/// y += A x.
pub(super) struct Apply<'a> {
    pub(super) a: &'a [f64],
    pub(super) x: &'a [f64],
    pub(super) y: &'a mut [f64],
}

impl Work for Apply<'_> {
    #[inline(always)]
    unsafe fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product) {
        let [r, c, _] = p.sizes::<R, C, K>();
        // SAFETY: by the contract.
        let (a, x, y) = unsafe { (block(self.a, p.a, r * c), block(self.x, p.b, c), block_mut(self.y, p.c, r)) };
        apply::<R, C>(p, a, 1.0, x, y);
    }
}

/// x −= Aᵀy.
pub(super) struct Take<'a> {
    pub(super) a: &'a [f64],
    pub(super) y: &'a [f64],
    pub(super) x: &'a mut [f64],
}

impl Work for Take<'_> {
    #[inline(always)]
    unsafe fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product) {
        let [r, c, _] = p.sizes::<R, C, K>();
        // SAFETY: by the contract.
        let (a, y, x) = unsafe { (block(self.a, p.a, r * c), block(self.y, p.c, r), block_mut(self.x, p.b, c)) };
        take::<R, C>(p, a, y, x);
    }
}

/// y −= A x, or x −= Aᵀy backwards, where both are parts of one vector.
pub(super) struct Within<'a> {
    pub(super) a: &'a [f64],
    pub(super) v: &'a mut [f64],
    pub(super) back: bool,
}

impl Work for Within<'_> {
    #[inline(always)]
    unsafe fn run<const R: usize, const C: usize, const K: usize>(&mut self, p: &Product) {
        let [r, c, _] = p.sizes::<R, C, K>();
        let (from, size) = if self.back { (p.c, r) } else { (p.b, c) };
        let mut x = [0.0; MOST];
        // SAFETY: by the contract.
        let (a, of) = unsafe { (block(self.a, p.a, r * c), block(self.v, from, size)) };
        #[allow(clippy::manual_memcpy)] // as above
        for i in 0..size {
            x[i] = of[i];
        }
        // SAFETY: by the contract.
        unsafe {
            match self.back {
                false => apply::<R, C>(p, a, -1.0, &x, block_mut(self.v, p.c, r)),
                true => take::<R, C>(p, a, &x, block_mut(self.v, p.b, c)),
            }
        }
    }
}
