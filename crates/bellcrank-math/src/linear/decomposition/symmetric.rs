//! Eigenvalues of symmetric matrices: tridiagonal by reflections, then QL with implicit shifts
//! [Golub & Van Loan 2013, 8.3; Martin & Wilkinson 1968].

use super::NotConverged;
use super::householder::{Reflections, reflect};
use super::{add, dot, transposed, turn, two_rows, unit};

/// More QL steps than this for one eigenvalue are not needed: two are the rule.
const MOST_STEPS: usize = 60;

/// A tridiagonal matrix Qᵀ A Q.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Beside the diagonal; one entry fewer.
    beside: Vec<f64>,
    q: Reflections,
}

/// Aᵢⱼ = Aⱼᵢ, of which only the lower half is read.
fn tridiagonal(a: &[f64], n: usize) -> Tridiagonal {
    let mut a: Vec<f64> = (0..n * n).map(|k| a[(k / n).max(k % n) * n + (k / n).min(k % n)]).collect();
    let mut q = Reflections::new(n, 1);
    let mut beside = vec![0.0; n.saturating_sub(1)];
    for k in 0..n.saturating_sub(1) {
        let mut w = a[k * n + k + 1..(k + 1) * n].to_vec();
        let of = reflect(&mut w);
        beside[k] = of.beta;
        if of.tau != 0.0 {
            // A − w pᵀ − p wᵀ, p = τ A w − ½ τ² (wᵀA w) w
            let rest = &mut a[(k + 1) * n..];
            let mut p: Vec<f64> = rest.chunks_exact(n).map(|row| of.tau * dot(&row[k + 1..], &w)).collect();
            let half = 0.5 * of.tau * dot(&p, &w);
            add(&mut p, -half, &w);
            for (i, row) in rest.chunks_exact_mut(n).enumerate() {
                add(&mut row[k + 1..], -w[i], &p);
                add(&mut row[k + 1..], -p[i], &w);
            }
        }
        q.push(of, &w);
    }
    Tridiagonal { diagonal: (0..n).map(|k| a[k * n + k]).collect(), beside, q }
}

/// QL steps until nothing is left beside the diagonal; the rows of z, n of them with any number of columns, are turned along.
fn diagonalize(d: &mut [f64], e: &mut Vec<f64>, z: &mut [f64]) -> Result<(), NotConverged> {
    let n = d.len();
    let columns = z.len() / n.max(1);
    e.push(0.0);
    for l in 0..n {
        for step in 0.. {
            let small = |k: &usize| e[*k].abs() <= f64::EPSILON * (d[*k].abs() + d[*k + 1].abs());
            let m = (l..n - 1).find(small).unwrap_or(n - 1);
            if m == l {
                break;
            }
            if step == MOST_STEPS {
                return Err(NotConverged);
            }
            // Wilkinson's shift
            let g = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let mut g = d[m] - d[l] + e[l] / (g + g.hypot(1.0).copysign(g));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut split = false;
            for i in (l..m).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                let r = f64::hypot(f, g);
                e[i + 1] = r;
                if r == 0.0 {
                    d[i + 1] -= p;
                    e[m] = 0.0;
                    split = true;
                    break;
                }
                (s, c) = (f / r, g / r);
                g = d[i + 1] - p;
                let r = (d[i] - g) * s + 2.0 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
                let (x, y) = two_rows(z, columns, i, i + 1);
                turn(x, y, c, s);
            }
            if !split {
                d[l] -= p;
                e[l] = g;
                e[m] = 0.0;
            }
        }
    }
    Ok(())
}

/// The eigenvalues of a symmetric matrix, ascending; only its lower half is read.
pub(in super::super) fn symmetric_eigenvalues(a: &[f64], n: usize) -> Result<Vec<f64>, NotConverged> {
    let Tridiagonal { mut diagonal, mut beside, .. } = tridiagonal(a, n);
    diagonalize(&mut diagonal, &mut beside, &mut [])?;
    diagonal.sort_by(f64::total_cmp);
    Ok(diagonal)
}

/// The eigenvalues of a symmetric matrix, ascending, and its eigenvectors by columns; only its lower half is read.
pub(in super::super) fn symmetric_eigen(a: &[f64], n: usize) -> Result<(Vec<f64>, Vec<f64>), NotConverged> {
    let Tridiagonal { mut diagonal, mut beside, q } = tridiagonal(a, n);
    let mut z = if n > 1 { q.columns() } else { unit(n) };
    diagonalize(&mut diagonal, &mut beside, &mut z)?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| diagonal[*i].total_cmp(&diagonal[*j]));
    let values = order.iter().map(|&k| diagonal[k]).collect();
    let vectors: Vec<f64> = order.iter().flat_map(|&k| z[k * n..(k + 1) * n].iter().copied()).collect();
    Ok((values, transposed(&vectors, n, n)))
}
