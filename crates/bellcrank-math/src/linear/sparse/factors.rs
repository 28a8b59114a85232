//! Left-looking sparse LU with partial pivoting [Gilbert & Peierls 1988].

/// Where the diagonal entry is at least this part of the largest one it is the pivot: the order of the columns is meant for it.
const DIAGONAL: f64 = 0.1;

/// Not yet a pivot.
const OPEN: u32 = u32::MAX;

/// Columns of entries (row, value), one after the other.
#[derive(Default)]
struct Columns {
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl Columns {
    fn clear(&mut self) {
        self.starts.clear();
        self.starts.push(0);
        self.entries.clear();
    }

    fn close(&mut self) {
        self.starts.push(self.entries.len());
    }

    fn of(&self, k: usize) -> &[(u32, f64)] {
        &self.entries[self.starts[k]..self.starts[k + 1]]
    }
}

/// A sparse matrix of fixed pattern and its factors: L U = A with rows and columns in the order of the pivots.
#[derive(Default)]
pub(super) struct Factors {
    /// Where each column of the pattern starts, and the rows of its entries.
    starts: Vec<usize>,
    rows: Vec<u32>,
    /// The columns in the order of elimination.
    order: Vec<u32>,
    /// The step in which a row was the pivot.
    step: Vec<u32>,
    /// L without its diagonal of ones: the rows of A, and after the last step their steps.
    lower: Columns,
    /// U without its diagonal, by steps.
    upper: Columns,
    diagonal: Vec<f64>,
    factored: bool,
}

/// What one column needs: the entries it has so far, and the rows that it reaches through L.
struct FactorWork {
    x: Vec<f64>,
    seen: Vec<bool>,
    /// Rows reached, each after all those that it depends on in reverse.
    reached: Vec<u32>,
    /// Rows on the way, with how many of their successors were looked at.
    path: Vec<(u32, usize)>,
}

impl Factors {
    /// A square pattern by columns: where each column starts, and the rows of all entries.
    pub(super) fn new(starts: Vec<usize>, rows: Vec<u32>, order: Vec<u32>) -> Factors {
        Factors { starts, rows, order, ..Factors::default() }
    }

    /// Whether there are factors to solve with.
    pub(super) fn is_factored(&self) -> bool {
        self.factored
    }

    /// Factors the matrix with these entries, in the order of the pattern; false if it is singular.
    pub(super) fn factor(&mut self, values: &[f64]) -> bool {
        let n = self.order.len();
        self.factored = false;
        self.lower.clear();
        self.upper.clear();
        self.diagonal.clear();
        self.step.clear();
        self.step.resize(n, OPEN);
        let mut w = FactorWork { x: vec![0.0; n], seen: vec![false; n], reached: Vec::new(), path: Vec::new() };
        for k in 0..n {
            let column = self.order[k] as usize;
            let entries = self.starts[column]..self.starts[column + 1];
            self.rows[entries.clone()].iter().for_each(|&row| w.reach(row, &self.step, &self.lower));
            entries.for_each(|e| w.x[self.rows[e] as usize] = values[e]);
            if !self.eliminate(k, &mut w) {
                return false;
            }
        }
        self.lower.entries.iter_mut().for_each(|(row, _)| *row = self.step[*row as usize]);
        self.factored = true;
        true
    }

    /// Solves L y = x for a column, chooses its pivot, and stores both.
    fn eliminate(&mut self, k: usize, w: &mut FactorWork) -> bool {
        let preferred = self.order[k];
        let (mut pivot, mut largest) = (OPEN, 0.0);
        for &row in w.reached.iter().rev() {
            let x = w.x[row as usize];
            match self.step[row as usize] {
                OPEN if x.abs() > largest => (pivot, largest) = (row, x.abs()),
                OPEN => {}
                step => {
                    self.upper.entries.push((step, x));
                    self.lower.of(step as usize).iter().for_each(|&(i, l)| w.x[i as usize] -= l * x);
                }
            }
        }
        self.upper.close();
        if pivot == OPEN || !largest.is_finite() {
            return false;
        }
        if self.step[preferred as usize] == OPEN && w.x[preferred as usize].abs() >= DIAGONAL * largest {
            pivot = preferred;
        }
        let d = w.x[pivot as usize];
        self.step[pivot as usize] = k as u32;
        self.diagonal.push(d);
        for row in w.reached.drain(..) {
            let x = std::mem::take(&mut w.x[row as usize]);
            w.seen[row as usize] = false;
            if self.step[row as usize] == OPEN && x != 0.0 {
                self.lower.entries.push((row, x / d));
            }
        }
        self.lower.close();
        true
    }

    /// Solves with the last factors, in place; without factors nothing happens.
    pub(super) fn solve(&self, b: &mut [f64]) {
        if !self.factored {
            return;
        }
        let mut x = vec![0.0; b.len()];
        self.step.iter().zip(&*b).for_each(|(&step, b)| x[step as usize] = *b);
        for k in 0..x.len() {
            let known = x[k];
            self.lower.of(k).iter().for_each(|&(i, l)| x[i as usize] -= l * known);
        }
        for k in (0..x.len()).rev() {
            x[k] /= self.diagonal[k];
            let known = x[k];
            self.upper.of(k).iter().for_each(|&(i, u)| x[i as usize] -= u * known);
        }
        self.order.iter().zip(&x).for_each(|(&column, x)| b[column as usize] = *x);
    }
}

impl FactorWork {
    /// Adds a row and all that it reaches through L to `reached`, what depends on a row before it.
    fn reach(&mut self, row: u32, step: &[u32], lower: &Columns) {
        if std::mem::replace(&mut self.seen[row as usize], true) {
            return;
        }
        self.path.push((row, 0));
        while let Some((row, looked)) = self.path.last_mut() {
            let successors = match step[*row as usize] {
                OPEN => &[],
                step => lower.of(step as usize),
            };
            match successors.get(*looked) {
                Some(&(next, _)) => {
                    *looked += 1;
                    if !std::mem::replace(&mut self.seen[next as usize], true) {
                        self.path.push((next, 0));
                    }
                }
                None => {
                    self.reached.push(*row);
                    self.path.pop();
                }
            }
        }
    }
}
