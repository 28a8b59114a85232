//! Short rows of numbers: plain arrays, or AVX2 registers where the processor has them. Left to itself, the compiler works
//! number by number wherever the length of a row is no multiple of four.

use super::unchecked::{at, at_mut};

/// A row of N numbers, at most eight.
pub trait Lanes<const N: usize>: Copy {
    /// A row of zeros.
    fn zero() -> Self;

    /// N numbers of `v` from `i` on.
    ///
    /// # Safety
    /// `i + N <= v.len()`.
    unsafe fn load(v: &[f64], i: usize) -> Self;

    /// Writes the row to `v` from `i` on.
    ///
    /// # Safety
    /// `i + N <= v.len()`.
    unsafe fn store(self, v: &mut [f64], i: usize);

    /// self + factor row.
    fn plus(self, factor: f64, row: Self) -> Self;

    /// self − factor row.
    fn minus(self, factor: f64, row: Self) -> Self;

    /// self + |a b|, number by number.
    fn plus_magnitudes(self, a: Self, b: Self) -> Self;

    /// self + a, number by number.
    fn plus_row(self, a: Self) -> Self;
}

/// The instructions that kernels are compiled for.
pub trait Instructions {
    /// Whether its code has to be compiled for AVX2 and FMA.
    const AVX2: bool;

    /// Its rows of N numbers.
    type Lanes<const N: usize>: Lanes<N>;

    /// a b + c, rounded once where the processor does that fast.
    fn fma(a: f64, b: f64, c: f64) -> f64;

    /// The transpose: C rows of R numbers from R rows of C.
    fn transposed<const R: usize, const C: usize>(rows: &[Self::Lanes<C>; R]) -> [Self::Lanes<R>; C];
}

/// Any processor; FUSED if it multiplies and adds with one rounding.
pub struct Plain<const FUSED: bool>;

/// A row in an array.
#[derive(Clone, Copy)]
pub struct PlainRow<const FUSED: bool, const N: usize>([f64; N]);

// Where AVX2 is the rule, these serve old processors alone: as calls they take half a minute less to compile.
impl<const FUSED: bool, const N: usize> Lanes<N> for PlainRow<FUSED, N> {
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    fn zero() -> Self {
        PlainRow([0.0; N])
    }

    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    unsafe fn load(v: &[f64], i: usize) -> Self {
        // SAFETY: by the contract of the trait.
        PlainRow(*unsafe { at(v, i) })
    }

    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    unsafe fn store(self, v: &mut [f64], i: usize) {
        // SAFETY: by the contract of the trait.
        *unsafe { at_mut(v, i) } = self.0;
    }

    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    fn plus(mut self, factor: f64, row: Self) -> Self {
        for k in 0..N {
            self.0[k] = Plain::<FUSED>::fma(factor, row.0[k], self.0[k]);
        }
        self
    }

    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    fn minus(self, factor: f64, row: Self) -> Self {
        self.plus(-factor, row)
    }

    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    fn plus_magnitudes(mut self, a: Self, b: Self) -> Self {
        for k in 0..N {
            self.0[k] += (a.0[k] * b.0[k]).abs();
        }
        self
    }

    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    #[cfg_attr(target_arch = "x86_64", inline(never))]
    fn plus_row(mut self, a: Self) -> Self {
        for k in 0..N {
            self.0[k] += a.0[k];
        }
        self
    }
}

impl<const FUSED: bool> Instructions for Plain<FUSED> {
    const AVX2: bool = false;
    type Lanes<const N: usize> = PlainRow<FUSED, N>;

    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        if FUSED { a.mul_add(b, c) } else { a * b + c }
    }

    #[inline(always)]
    fn transposed<const R: usize, const C: usize>(rows: &[Self::Lanes<C>; R]) -> [Self::Lanes<R>; C] {
        let mut columns = [PlainRow([0.0; R]); C];
        for r in 0..R {
            for c in 0..C {
                columns[c].0[r] = rows[r].0[c];
            }
        }
        columns
    }
}

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Instructions, Lanes};
    use std::arch::x86_64::*;

    /// A processor with AVX2 and FMA. Kernels may be instantiated for it only inside functions marked
    /// `#[target_feature(enable = "avx2,fma")]`; all unsafe blocks below rely on that.
    pub struct Avx2;

    /// A row in two registers; the second is idle up to N = 4. Numbers beyond N are never written to memory.
    #[derive(Clone, Copy)]
    pub struct Pair<const N: usize>([__m256d; 2]);

    /// Computes each register of a row that is in use. (A closure would be compiled without the CPU features of its caller.)
    macro_rules! each {
        ($row:ident, $k:ident => $change:expr) => {{
            let mut row = $row;
            for $k in 0..if N > 4 { 2 } else { 1 } {
                row.0[$k] = $change;
            }
            row
        }};
    }

    /// The n ≤ 4 numbers from p on, then zeros.
    ///
    /// # Safety
    /// The processor has AVX2, and n numbers can be read.
    #[inline(always)]
    unsafe fn load(p: *const f64, n: usize) -> __m256d {
        // SAFETY: by the contract; masked numbers are not touched.
        unsafe {
            match n {
                0 => _mm256_setzero_pd(),
                1 => _mm256_zextpd128_pd256(_mm_load_sd(p)),
                2 => _mm256_zextpd128_pd256(_mm_loadu_pd(p)),
                3 => _mm256_maskload_pd(p, _mm256_setr_epi64x(-1, -1, -1, 0)),
                _ => _mm256_loadu_pd(p),
            }
        }
    }

    /// Writes n ≤ 4 numbers to p.
    ///
    /// # Safety
    /// The processor has AVX2, and n numbers can be written.
    #[inline(always)]
    unsafe fn store(x: __m256d, p: *mut f64, n: usize) {
        // SAFETY: by the contract.
        unsafe {
            match n {
                0 => {}
                1 => _mm_store_sd(p, _mm256_castpd256_pd128(x)),
                2 => _mm_storeu_pd(p, _mm256_castpd256_pd128(x)),
                3 => {
                    _mm_storeu_pd(p, _mm256_castpd256_pd128(x));
                    _mm_store_sd(p.add(2), _mm256_extractf128_pd::<1>(x));
                }
                _ => _mm256_storeu_pd(p, x),
            }
        }
    }

    impl<const N: usize> Lanes<N> for Pair<N> {
        #[inline(always)]
        fn zero() -> Self {
            // SAFETY: the processor has AVX2, see `Avx2`.
            unsafe { Pair([_mm256_setzero_pd(); 2]) }
        }

        #[inline(always)]
        unsafe fn load(v: &[f64], i: usize) -> Self {
            debug_assert!(N <= 8 && i + N <= v.len());
            // SAFETY: in bounds by the contract of the trait; the processor has AVX2, see `Avx2`.
            unsafe {
                let p = v.as_ptr().add(i);
                Pair([load(p, N.min(4)), load(p.wrapping_add(4), N.saturating_sub(4))])
            }
        }

        #[inline(always)]
        unsafe fn store(self, v: &mut [f64], i: usize) {
            debug_assert!(N <= 8 && i + N <= v.len());
            // SAFETY: in bounds by the contract of the trait; the processor has AVX2, see `Avx2`.
            unsafe {
                let p = v.as_mut_ptr().add(i);
                store(self.0[0], p, N.min(4));
                store(self.0[1], p.wrapping_add(4), N.saturating_sub(4));
            }
        }

        #[inline(always)]
        fn plus(self, factor: f64, row: Self) -> Self {
            // SAFETY: the processor has AVX2 and FMA, see `Avx2`.
            unsafe { each!(self, k => _mm256_fmadd_pd(_mm256_set1_pd(factor), row.0[k], self.0[k])) }
        }

        #[inline(always)]
        fn minus(self, factor: f64, row: Self) -> Self {
            // SAFETY: the processor has AVX2 and FMA, see `Avx2`.
            unsafe { each!(self, k => _mm256_fnmadd_pd(_mm256_set1_pd(factor), row.0[k], self.0[k])) }
        }

        #[inline(always)]
        fn plus_magnitudes(self, a: Self, b: Self) -> Self {
            // SAFETY: the processor has AVX2, see `Avx2`.
            unsafe {
                let sign = _mm256_set1_pd(-0.0);
                each!(self, k => _mm256_add_pd(self.0[k], _mm256_andnot_pd(sign, _mm256_mul_pd(a.0[k], b.0[k]))))
            }
        }

        #[inline(always)]
        fn plus_row(self, a: Self) -> Self {
            // SAFETY: the processor has AVX2, see `Avx2`.
            unsafe { each!(self, k => _mm256_add_pd(self.0[k], a.0[k])) }
        }
    }

    impl Instructions for Avx2 {
        const AVX2: bool = true;
        type Lanes<const N: usize> = Pair<N>;

        #[inline(always)]
        fn fma(a: f64, b: f64, c: f64) -> f64 {
            a.mul_add(b, c)
        }

        #[inline(always)]
        fn transposed<const R: usize, const C: usize>(rows: &[Self::Lanes<C>; R]) -> [Self::Lanes<R>; C] {
            // SAFETY: the processor has AVX2, see `Avx2`.
            let zero = unsafe { _mm256_setzero_pd() };
            let mut columns = [Pair([zero; 2]); C];
            for up in 0..R.div_ceil(4) {
                for left in 0..C.div_ceil(4) {
                    let mut square = [zero; 4];
                    for k in 0..4 {
                        if 4 * up + k < R {
                            square[k] = rows[4 * up + k].0[left];
                        }
                    }
                    // SAFETY: the processor has AVX2, see `Avx2`.
                    let square = unsafe { transposed(square) };
                    for k in 0..4 {
                        if 4 * left + k < C {
                            columns[4 * left + k].0[up] = square[k];
                        }
                    }
                }
            }
            columns
        }
    }

    /// The transpose of a 4 × 4 matrix.
    ///
    /// # Safety
    /// The processor has AVX2.
    #[inline(always)]
    unsafe fn transposed([a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
        // SAFETY: by the contract.
        unsafe {
            let (ab, cd) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
            let (ba, dc) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
            [
                _mm256_permute2f128_pd::<0x20>(ab, cd),
                _mm256_permute2f128_pd::<0x20>(ba, dc),
                _mm256_permute2f128_pd::<0x31>(ab, cd),
                _mm256_permute2f128_pd::<0x31>(ba, dc),
            ]
        }
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;

    const NUMBERS: [f64; 20] =
        [0.3, -1.7, 2.9, 1e-3, -4.1, 7.7, 0.9, -0.2, 3.3, 5.1, -6.7, 1.3, 0.7, -8.9, 4.4, 2.2, -3.8, 9.6, -0.1, 6.5];

    /// An array of nines into which the results of all operations on rows of N and M numbers were written.
    #[inline(always)]
    fn computed<K: Instructions, const N: usize, const M: usize>() -> [f64; 80] {
        let mut out = [9.0; 80];
        let mut rows = [K::Lanes::<N>::zero(); M];
        for m in 0..M {
            // SAFETY: m + 3 + N <= 7 + 3 + 8 < 20.
            let (a, b) = unsafe { (K::Lanes::<N>::load(&NUMBERS, m), K::Lanes::<N>::load(&NUMBERS, m + 3)) };
            rows[m] = rows[m].plus(0.3, a).minus(-1.1, b).plus_magnitudes(a, b).plus_row(b);
        }
        for (k, row) in K::transposed(&rows).into_iter().enumerate() {
            // SAFETY: M numbers at 1 + k (M + 1), k < N <= 8: they end at 72 at most.
            unsafe { row.store(&mut out, 1 + k * (M + 1)) };
        }
        out[79] = K::fma(0.1, 10.0, -1.0);
        out
    }

    #[target_feature(enable = "avx2,fma")]
    fn wide<const N: usize, const M: usize>() -> [f64; 80] {
        computed::<Avx2, N, M>()
    }

    /// The same number by number, with the fused multiplication of the standard library.
    fn one_by_one<const N: usize, const M: usize>() -> [f64; 80] {
        computed::<Plain<true>, N, M>()
    }

    /// Rows in registers equal rows in arrays to the last bit, and nothing is written beside them.
    #[test]
    fn registers_hold_what_arrays_hold() {
        macro_rules! all {
            ($($n:literal)*) => { $(all!($n; 1 2 3 4 5 6 7 8);)* };
            ($n:literal; $($m:literal)*) => { $(
                let expected = one_by_one::<$n, $m>();
                assert_eq!(expected.iter().filter(|x| **x == 9.0).count(), 79 - $n * $m);
                if !cfg!(miri) && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the processor has what the function is compiled for.
                    assert_eq!(unsafe { wide::<$n, $m>() }, expected, "{} x {}", $n, $m);
                }
            )* };
        }
        all!(1 2 3 4 5 6 7 8);
        assert_eq!(Plain::<false>::fma(0.1, 10.0, -1.0), 0.0);
        assert!(Plain::<true>::fma(0.1, 10.0, -1.0) > 0.0, "one rounding");
    }
}
