//! Each decomposition against its own equation, on random matrices, graded ones and ones that are hard for the method.

use super::*;
use crate::random::Random;

fn random(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    Random::new(seed).vector(rows * columns)
}

/// A B of row-wise matrices.
fn product(a: &[f64], b: &[f64], rows: usize, inner: usize, columns: usize) -> Vec<f64> {
    let entry = |k: usize| (0..inner).map(|j| a[(k / columns) * inner + j] * b[j * columns + k % columns]).sum();
    (0..rows * columns).map(entry).collect()
}

fn difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
}

/// Vectors, one after the other, are orthonormal.
fn assert_orthonormal(q: &[f64], n: usize) {
    let count = q.len() / n;
    let squares = product(q, &transposed(q, count, n), count, n, count);
    assert!(difference(&squares, &unit(count)) < 1e-13 * (n as f64).sqrt());
}

#[test]
fn singular_vectors_are_orthonormal_and_rebuild_any_matrix() {
    for (rows, columns, rank) in
        [(1, 1, 1), (1, 5, 1), (6, 6, 6), (9, 4, 4), (4, 9, 4), (8, 8, 3), (7, 12, 5), (30, 41, 30)]
    {
        let a = product(&random(rows, rank, 1), &random(rank, columns, 2), rows, rank, columns);
        let f = svd(&a, rows, columns).unwrap();
        assert_eq!((f.left.len(), f.right.len()), (rows * rows, columns * columns));
        assert_orthonormal(&f.left, rows);
        assert_orthonormal(&f.right, columns);
        assert!(f.values.is_sorted_by(|a, b| a >= b));
        assert_eq!(f.values.iter().filter(|s| **s > 1e-12 * f.values[0]).count(), rank);
        let count = rows.min(columns);
        let scaled: Vec<f64> = (0..count * columns).map(|k| f.values[k / columns] * f.right[k]).collect();
        let again = product(&transposed(&f.left[..count * rows], count, rows), &scaled, rows, count, columns);
        assert!(difference(&a, &again) < 1e-14 * f.values[0] * (rows + columns) as f64);
    }
    let nothing = svd(&[0.0; 12], 3, 4).unwrap();
    assert_eq!(nothing.values, [0.0; 3]);
    assert_orthonormal(&nothing.left, 3);
    assert_orthonormal(&nothing.right, 4);
    assert_eq!(svd(&[], 0, 2).unwrap().right, unit(2));
}

/// A D with orthogonal A: the singular values are those of D, down to the smallest and up to the largest numbers.
#[test]
fn tiny_singular_values_have_all_their_digits() {
    let n = 6;
    let q = transposed_pivoted_qr(&random(n, n, 5), n, n).0;
    let exact = [1e50, 3.0, 1e-3, 7e-11, 1e-20, 2e-40];
    let a: Vec<f64> = (0..n * n).map(|k| q[k] * exact[k % n]).collect();
    for (found, exact) in svd(&a, n, n).unwrap().values.iter().zip(exact) {
        assert!((found / exact - 1.0).abs() < 1e-13, "{found} for {exact}");
    }
}

#[test]
fn pivoted_rows_come_by_falling_size() {
    let (rows, columns) = (5, 8);
    let a = random(rows, columns, 3);
    let (q, r) = transposed_pivoted_qr(&a, rows, columns);
    assert_orthonormal(&q, columns);
    assert!(r.is_sorted_by(|a, b| a.abs() >= b.abs()));
    // the last columns of Q are orthogonal to every row
    let by = product(&a, &q, rows, columns, columns);
    assert!((0..rows).all(|i| (rows..columns).all(|j| by[i * columns + j].abs() < 1e-15 * 8.0)));
}

#[test]
fn symmetric_eigenvectors_fulfil_their_equation() {
    for n in [1, 2, 3, 12, 40] {
        let b = random(n, n, n as u64);
        let a: Vec<f64> = (0..n * n).map(|k| b[k] + b[(k % n) * n + k / n]).collect();
        let lower: Vec<f64> = (0..n * n).map(|k| if k % n <= k / n { a[k] } else { f64::NAN }).collect();
        let (values, vectors) = symmetric_eigen(&lower, n).unwrap();
        assert!(values.is_sorted());
        assert_orthonormal(&transposed(&vectors, n, n), n);
        let scaled: Vec<f64> = (0..n * n).map(|k| vectors[k] * values[k % n]).collect();
        assert!(difference(&product(&a, &vectors, n, n, n), &scaled) < 1e-14 * n as f64);
        assert!(difference(&symmetric_eigenvalues(&lower, n).unwrap(), &values) < 1e-14 * n as f64);
    }
    assert_eq!(symmetric_eigen(&[0.0; 9], 3).unwrap().0, [0.0; 3]);
}

fn assert_eigenpairs(a: &[f64], n: usize, within: f64) -> Vec<Eigenpair> {
    let pairs = eigen(a, n).unwrap();
    assert_eq!(pairs.iter().map(|p| if p.value.1 > 0.0 { 2 } else { 1 }).sum::<usize>(), n);
    let trace: f64 = (0..n).map(|k| a[k * n + k]).sum();
    let sum: f64 = pairs.iter().map(|p| p.value.0 * if p.value.1 > 0.0 { 2.0 } else { 1.0 }).sum();
    assert!((trace - sum).abs() < within * n as f64);
    for Eigenpair { value: (x, y), re, im } in &pairs {
        assert!((dot(re, re) + dot(im, im) - 1.0).abs() < 1e-13);
        let (are, aim) = (product(a, re, n, n, 1), product(a, im, n, n, 1));
        for k in 0..n {
            assert!((are[k] - x * re[k] + y * im[k]).abs() < within, "{n}: {x} ± {y}i");
            assert!((aim[k] - x * im[k] - y * re[k]).abs() < within, "{n}: {x} ± {y}i");
        }
    }
    pairs
}

#[test]
fn eigenvectors_of_any_matrix_fulfil_their_equation() {
    for n in [1, 2, 3, 4, 5, 17, 60, 120] {
        for seed in 0..4 {
            assert_eigenpairs(&random(n, n, 10 * n as u64 + seed), n, 1e-13 * n as f64);
        }
    }
}

#[test]
fn matrices_that_lead_a_shifted_iteration_in_circles_have_eigenvalues_too() {
    // cyclic: the n-th roots of one
    for n in [3, 4, 7, 32] {
        let a: Vec<f64> = (0..n * n).map(|k| ((k / n + 1) % n == k % n) as u8 as f64).collect();
        for p in assert_eigenpairs(&a, n, 1e-13) {
            assert!((p.value.0.hypot(p.value.1) - 1.0).abs() < 1e-13);
        }
    }
    // a Jordan block, zeros, a multiple of one, a triangle with equal entries
    let jordan = |k: usize| {
        if k.is_multiple_of(6) {
            2.0
        } else if k % 6 == 1 {
            1.0
        } else {
            0.0
        }
    };
    assert_eigenpairs(&(0..25).map(jordan).collect::<Vec<f64>>(), 5, 1e-12);
    assert_eigenpairs(&[0.0; 16], 4, 1e-300);
    assert_eigenpairs(&unit(4), 4, 1e-15);
    assert_eigenpairs(&[1.0, 2.0, 3.0, 0.0, 1.0, 4.0, 0.0, 0.0, 1.0], 3, 1e-13);
}

/// Two damped oscillators whose frequencies differ by nine orders.
#[test]
fn a_slow_and_a_fast_oscillation_are_told_apart() {
    let (slow, fast) = (1e-3, 1e6);
    let a = [
        [0.0, 1.0, 0.0, 0.0],
        [-slow * slow, -2.0 * 0.1 * slow, 0.0, 0.0],
        [0.0, 0.0, 0.0, fast],
        [0.0, 0.0, -fast, -2.0 * 0.01 * fast],
    ];
    let found = eigen(&a.concat(), 4).unwrap();
    let sizes: Vec<f64> = found.iter().map(|p| p.value.0.hypot(p.value.1)).collect();
    assert!(sizes.iter().any(|s| (s / fast - 1.0).abs() < 1e-13), "{sizes:?}");
    assert!(sizes.iter().any(|s| (s / slow - 1.0).abs() < 1e-9), "{sizes:?}");
}
