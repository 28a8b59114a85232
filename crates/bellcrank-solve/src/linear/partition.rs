//! The partition of the coordinates into independent and dependent ones, q = X x + Y y.
//!
//! With G = [GX GY] the dependent velocities follow the independent ones by ẏ = −Q ẋ, Q = (GY)⁻¹GX,
//! and P = Xᵀ − QᵀYᵀ annihilates the reactions, P Gᵀ = 0 [Yen & Petzold 1998]. The entries of Q say
//! how good a partition is: none is larger than one where GY has the largest volume.

/// A row of G: its columns and values.
pub type SparseRow = Vec<(usize, f64)>;

/// What is left of a row below this part of its largest entry is noise: the row is redundant.
const NEGLIGIBLE: f64 = 1e-9;

/// A partition is kept while no entry of Q exceeds this: a better one costs a new matrix.
const WORST: f64 = 3.0;

/// And a new one is improved until none exceeds this; above one, so that rounding cannot make it cycle.
const GOOD: f64 = 1.05;

/// Q is formed up to this many entries of G; above, the pivots of an elimination stand for it.
const SMALL: usize = 40_000;

/// Which coordinates are independent.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Partition {
    /// For every coordinate whether it is independent.
    pub independent: Vec<bool>,
    /// The dependent coordinate that each row of G determines; `None` for a redundant row.
    pub dependent: Vec<Option<usize>>,
    /// The largest |Q| when last measured; for large models the largest multiplier of the elimination.
    pub largest: f64,
}

impl Partition {
    /// Chooses the dependent coordinates of G, given by rows over n coordinates: row by row the largest
    /// entry that elimination has left, then exchanged until |Q| ≤ 1.05 (small models).
    pub fn choose(rows: &[SparseRow], n: usize) -> Partition {
        let mut partition = Partition { independent: vec![true; n], dependent: Vec::new(), largest: 0.0 };
        partition.largest = partition.eliminate(rows, true);
        if rows.len() * n <= SMALL {
            // each exchange enlarges |det GY| by |Q| > 1.05, so this ends; the bound is for NaN
            for _ in 0..10 * n.max(1) {
                let (q, free, largest, at) = partition.projector(rows);
                partition.largest = largest;
                if largest <= GOOD || largest.is_nan() || q.is_empty() {
                    break;
                }
                let (row, column) = (at / free.len(), at % free.len());
                let kept: Vec<usize> = (0..rows.len()).filter(|r| partition.dependent[*r].is_some()).collect();
                if let Some(old) = partition.dependent[kept[row]].replace(free[column]) {
                    partition.independent[old] = true;
                }
                partition.independent[free[column]] = false;
            }
        }
        partition
    }

    /// The rows of G that hold nothing that others do not hold already.
    pub fn redundant(&self) -> impl Iterator<Item = usize> + '_ {
        self.dependent.iter().enumerate().filter(|(_, y)| y.is_none()).map(|(row, _)| row)
    }

    /// Looks at the partition again at another G; `true` if it has become so poor that it was chosen anew.
    pub fn renew(&mut self, rows: &[SparseRow]) -> bool {
        let n = self.independent.len();
        self.largest = if rows.len() * n <= SMALL { self.projector(rows).2 } else { self.eliminate(rows, false) };
        if self.largest <= WORST {
            return false;
        }
        let better = Partition::choose(rows, n);
        let changed = better.independent != self.independent;
        *self = better;
        changed
    }

    /// Sparse elimination row by row; with `choose` the pivots are chosen, else kept. The largest ratio
    /// of a row's entries to its pivot.
    fn eliminate(&mut self, rows: &[SparseRow], choose: bool) -> f64 {
        let n = self.independent.len();
        if choose {
            self.dependent = vec![None; rows.len()];
            self.independent.fill(true);
        }
        let mut reduced: Vec<SparseRow> = Vec::with_capacity(rows.len());
        let mut owner = vec![usize::MAX; n];
        let mut dense = vec![0.0; n];
        let mut worst = 0.0f64;
        for (r, row) in rows.iter().enumerate() {
            let mut touched: Vec<usize> = Vec::new();
            let mut heap = std::collections::BTreeSet::new();
            let scale = row.iter().fold(0.0f64, |m, (_, v)| m.max(v.abs()));
            for &(c, v) in row {
                dense[c] = v;
                touched.push(c);
                if owner[c] != usize::MAX {
                    heap.insert(owner[c]);
                }
            }
            // earlier pivots in their order: each reduced row has no entries in the pivots before it
            while let Some(p) = heap.pop_first() {
                let Some(pivot) = self.dependent[p] else { continue };
                let (Some(&(_, at)), factor) = (reduced[p].iter().find(|(c, _)| *c == pivot), dense[pivot]) else {
                    continue;
                };
                for &(c, v) in &reduced[p] {
                    if dense[c] == 0.0 {
                        touched.push(c);
                    }
                    dense[c] -= factor / at * v;
                    if owner[c] != usize::MAX && owner[c] > p {
                        heap.insert(owner[c]);
                    }
                }
                dense[pivot] = 0.0;
            }
            touched.sort_unstable();
            touched.dedup();
            let left: SparseRow = touched.iter().filter(|c| dense[**c] != 0.0).map(|&c| (c, dense[c])).collect();
            touched.iter().for_each(|c| dense[*c] = 0.0);
            let best = left.iter().copied().reduce(|a, b| if b.1.abs() > a.1.abs() { b } else { a });
            if let Some((column, largest)) = best.filter(|b| b.1.abs() > NEGLIGIBLE * scale) {
                if choose {
                    self.dependent[r] = Some(column);
                    self.independent[column] = false;
                }
                if let Some(y) = self.dependent[r] {
                    let pivot = left.iter().find(|(c, _)| *c == y).map_or(0.0, |(_, v)| *v);
                    worst = worst.max(largest.abs() / pivot.abs());
                    owner[y] = r;
                }
            } else if self.dependent[r].is_some() {
                worst = f64::INFINITY;
            }
            reduced.push(left);
        }
        worst
    }

    /// Q by rows, its columns, its largest entry and where that is.
    fn projector(&self, rows: &[SparseRow]) -> (Vec<f64>, Vec<usize>, f64, usize) {
        let free: Vec<usize> = (0..self.independent.len()).filter(|i| self.independent[*i]).collect();
        let kept: Vec<(usize, usize)> =
            self.dependent.iter().enumerate().filter_map(|(r, y)| y.map(|y| (r, y))).collect();
        let (m, p) = (kept.len(), free.len());
        let mut place = vec![0; self.independent.len()];
        kept.iter().enumerate().for_each(|(k, &(_, y))| place[y] = k);
        free.iter().enumerate().for_each(|(k, &x)| place[x] = m + k);
        let width = m + p;
        let mut a = vec![0.0; m * width];
        for (i, &(r, _)) in kept.iter().enumerate() {
            rows[r].iter().for_each(|&(c, v)| a[i * width + place[c]] = v);
        }
        // Gauss–Jordan: [GY GX] becomes [I Q], rows sorted by their pivots
        for k in 0..m {
            let size = |i: &usize| a[i * width + k].abs();
            let pivot = (k..m).max_by(|i, j| size(i).total_cmp(&size(j))).unwrap_or(k);
            (0..width).for_each(|j| a.swap(k * width + j, pivot * width + j));
            let inverse = 1.0 / a[k * width + k];
            (k..width).for_each(|j| a[k * width + j] *= inverse);
            for i in (0..m).filter(|i| *i != k) {
                let factor = a[i * width + k];
                if factor != 0.0 {
                    (k..width).for_each(|j| a[i * width + j] -= factor * a[k * width + j]);
                }
            }
        }
        let q: Vec<f64> = (0..m).flat_map(|i| a[i * width + m..(i + 1) * width].to_vec()).collect();
        let (mut largest, mut at) = (0.0, 0);
        for (k, x) in q.iter().enumerate() {
            if x.abs() > largest || x.is_nan() {
                (largest, at) = (if x.is_nan() { f64::INFINITY } else { x.abs() }, k);
            }
        }
        (q, free, largest, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(rows: &[&[f64]]) -> Vec<SparseRow> {
        rows.iter().map(|r| r.iter().copied().enumerate().filter(|(_, v)| *v != 0.0).collect()).collect()
    }

    #[test]
    fn the_largest_entries_depend() {
        let partition = Partition::choose(&dense(&[&[0.9, -0.4, 0.0], &[0.0, 0.0, 1.0]]), 3);
        assert_eq!(partition.independent, [false, true, false]);
        assert!((partition.largest - 0.4 / 0.9).abs() < 1e-15);
    }

    #[test]
    fn no_entry_of_q_is_large_after_exchanges() {
        // a sequence for which row-wise pivots alone are poor: |Q| grows like 2^m
        let m = 6;
        let rows: Vec<Vec<f64>> = (0..m)
            .map(|i| {
                (0..=m)
                    .map(|j| {
                        if j == i {
                            1.0
                        } else if j > i {
                            -0.99
                        } else {
                            0.0
                        }
                    })
                    .collect()
            })
            .collect();
        let rows = dense(&rows.iter().map(|r| &r[..]).collect::<Vec<_>>());
        let mut plain = Partition { independent: vec![true; m + 1], ..Partition::default() };
        plain.eliminate(&rows, true);
        assert!(plain.projector(&rows).2 > 10.0, "{}", plain.projector(&rows).2);
        let partition = Partition::choose(&rows, m + 1);
        assert!(partition.largest <= GOOD, "{}", partition.largest);
    }

    #[test]
    fn redundant_rows_are_found() {
        let rows = dense(&[&[1.0, 2.0, 0.0, 1.0], &[0.0, 1.0, -1.0, 0.0], &[2.0, 5.0, -1.0, 2.0]]);
        let partition = Partition::choose(&rows, 4);
        assert_eq!(partition.redundant().collect::<Vec<_>>(), [2]);
        assert_eq!(partition.independent.iter().filter(|x| **x).count(), 2);
    }

    #[test]
    fn a_partition_is_kept_until_it_is_poor() {
        let circle = |angle: f64| dense(&[&[angle.cos(), angle.sin()]]);
        let mut partition = Partition::choose(&circle(0.0), 2);
        assert!(!partition.renew(&circle(1.2)) && (partition.largest - 1.2f64.tan()).abs() < 1e-12);
        assert_eq!(partition.independent, [false, true]);
        assert!(partition.renew(&circle(1.3)));
        assert_eq!(partition.independent, [true, false]);
        assert!(!partition.renew(&circle(0.5)) && partition.independent == [true, false]);
    }

    #[test]
    fn large_models_are_partition_by_elimination() {
        // a chain of pinned planar bodies: 2 rows per joint
        let bodies = 400;
        let mut rows = Vec::new();
        for b in 0..bodies {
            let angle = b as f64;
            for axis in 0..2 {
                let arm = if axis == 0 { -angle.sin() } else { angle.cos() };
                let mut row = vec![(3 * b + axis, 1.0), (3 * b + 2, -0.5 * arm)];
                if b > 0 {
                    row.extend([(3 * b - 3 + axis, -1.0), (3 * b - 1, -0.5 * arm)]);
                }
                rows.push(row);
            }
        }
        let mut partition = Partition::choose(&rows, 3 * bodies);
        assert_eq!(partition.redundant().count(), 0);
        assert_eq!(partition.independent.iter().filter(|x| **x).count(), bodies);
        assert!(!partition.renew(&rows) && partition.largest <= 1.0);
    }
}
