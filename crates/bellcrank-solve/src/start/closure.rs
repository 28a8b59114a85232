//! Least-change solves that close the constraints and the given start values.

use crate::constraints::{add_position_residual, add_velocity_residual};
use crate::linear::scales;
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::linear::deferred;
use bellcrank_math::linear::solver::LinearSolver;
use bellcrank_model::dynamics::{Scale, StartRow, Targets};
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Subject, Unknown, Workspace};
use std::sync::Arc;

/// Least-change solves with the constraints and the given start values as rows.
///
/// Its fields are one linear system: pattern, matrix, solver, weights and right-hand side.
pub(super) struct Closure {
    dynamics: Arc<dyn Dynamics>,
    start: Vec<StartRow>,
    matrix: BlockMatrix,
    pub(super) linear: Box<dyn LinearSolver>,
    columns: Vec<u32>,
    /// Bodies and constraints that meet, each pair once.
    pairs: Vec<(u32, u32)>,
    pub(super) metric: Vec<f64>,
    pub(super) rhs: Vec<f64>,
    /// One over the length of each row of G.
    row_scale: Vec<f64>,
    /// Coordinates that do not move at all.
    pub(super) frozen: Vec<bool>,
    /// Constraints whose coordinates stay where they are, whatever they ask for.
    pub(super) silent: Vec<usize>,
    pub(super) n: usize,
    pub(super) m: usize,
}

impl Closure {
    pub(super) fn new(dynamics: Arc<dyn Dynamics>, start: Vec<StartRow>, at: &Point, w: &mut Workspace) -> Closure {
        // what one radian weighs
        let turn = scales::turn(&*dynamics, at, w).powi(2);
        let layout = dynamics.layout();
        let (bodies, constraints) = (layout.bodies.len(), layout.constraints.len());
        let mut sizes: Vec<usize> = layout.bodies.iter().chain(&layout.constraints).map(|r| r.len()).collect();
        sizes.extend(start.iter().map(|_| 1));
        let classes = (0..sizes.len()).map(|i| if i < bodies { Class::Body } else { Class::Multiplier }).collect();
        let pairs = dynamics.pattern(Piece::GtLambda, Unknown::Lambda);
        let mut entries: Vec<(u32, u32)> = (0..sizes.len() as u32).map(|i| (i, i)).collect();
        for &(b, k) in &pairs {
            entries.extend([(b, bodies as u32 + k), (bodies as u32 + k, b)]);
        }
        for (s, row) in start.iter().enumerate() {
            let k = (bodies + constraints + s) as u32;
            for (b, _) in dynamics.start_row(row, at, w).2 {
                entries.extend([(b as u32, k), (k, b as u32)]);
            }
        }
        let pattern = Arc::new(BlockPattern::new(sizes, classes, entries));
        let columns =
            pairs.iter().filter_map(|&(b, k)| pattern.offset(b as usize, bodies + k as usize)).collect::<Vec<_>>();
        let mut pairs = pairs;
        pairs.sort_unstable();
        pairs.dedup();
        let scales = dynamics.scales();
        let metric = (0..layout.n())
            .map(|i| match scales[i] {
                Scale::Angle => turn,
                _ => 1.0,
            })
            .collect::<Vec<f64>>();
        let (n, m) = (layout.n(), layout.m());
        // a start that is consistent needs no factors
        let linear = deferred::choose(&pattern);
        let rhs = vec![0.0; pattern.dimension()];
        let row_scale = vec![1.0; rhs.len() - n];
        let frozen = vec![false; n];
        let matrix = BlockMatrix::new(pattern);
        Closure {
            matrix,
            linear,
            columns,
            pairs,
            metric,
            rhs,
            row_scale,
            frozen,
            silent: Vec::new(),
            n,
            m,
            start,
            dynamics,
        }
    }

    pub(super) fn factor(&mut self, at: &Point, w: &mut Workspace) -> Result<(), usize> {
        self.factor_damped(at, w, 0.0)
    }

    /// Factors [W Gᵀ; G −μ D⁻²] with D the scale of the rows.
    pub(super) fn factor_damped(&mut self, at: &Point, w: &mut Workspace, damping: f64) -> Result<(), usize> {
        self.matrix.clear();
        let dynamics = self.dynamics.clone();
        let layout = dynamics.layout();
        let mut out = Targets::new(&mut self.matrix.values, &self.columns);
        let slopes = Slopes::default();
        self.dynamics.add_derivative(1.0, Piece::GtLambda, Unknown::Lambda, slopes, at, w, &mut out);
        let bodies = layout.bodies.len();
        let mut lengths = vec![0.0; self.row_scale.len()];
        for i in 0..self.pairs.len() {
            let (b, k) = (self.pairs[i].0 as usize, self.pairs[i].1 as usize);
            self.finish_block(b, bodies + k, layout.constraints[k].clone(), &mut lengths);
        }
        for s in 0..self.start.len() {
            let k = bodies + layout.constraints.len() + s;
            let (_, _, gradient) = self.dynamics.start_row(&self.start[s], at, w);
            for (b, form) in gradient {
                if let Some(block) = self.matrix.block_mut(b, k) {
                    block.copy_from_slice(&form);
                }
                self.finish_block(b, k, self.m + s..self.m + s + 1, &mut lengths);
            }
        }
        // a row that is all but flat must not outweigh the others
        let flat = 1e-6 / (1.0 + self.dynamics.length().powi(2));
        for (scale, length) in self.row_scale.iter_mut().zip(&lengths) {
            *scale = 1.0 / (length + flat).sqrt();
        }
        if damping > 0.0 {
            let mut row = 0;
            for k in bodies..self.matrix.pattern().blocks() {
                let size = self.matrix.pattern().size(k);
                if let Some(block) = self.matrix.block_mut(k, k) {
                    (0..size).for_each(|i| block[i * size + i] = -damping / self.row_scale[row + i].powi(2));
                }
                row += size;
            }
        }
        for (b, range) in layout.bodies.iter().enumerate() {
            let n = range.len();
            if let Some(block) = self.matrix.block_mut(b, b) {
                range.clone().enumerate().for_each(|(i, k)| block[i * n + i] = self.metric[k]);
            }
        }
        self.linear.factor(&self.matrix).map_err(|_| 0)
    }

    /// Takes frozen coordinates out of a block of Gᵀ, adds to the squared lengths of its rows, and transposes it.
    fn finish_block(&mut self, b: usize, k: usize, rows: std::ops::Range<usize>, lengths: &mut [f64]) {
        let first = self.dynamics.layout().bodies[b].start;
        let Some(block) = self.matrix.block_mut(b, k) else { return };
        for (i, column) in block.chunks_exact_mut(rows.len().max(1)).enumerate() {
            if self.frozen[first + i] {
                column.fill(0.0);
            }
            for (sum, g) in lengths[rows.clone()].iter_mut().zip(&*column) {
                *sum += g * g / self.metric[first + i];
            }
        }
        transpose(&mut self.matrix, b, k);
    }

    /// The length of all residuals, each in units of the motion that would close it.
    pub(super) fn gap(&self) -> f64 {
        self.rhs[self.n..].iter().zip(&self.row_scale).map(|(r, s)| (r * s) * (r * s)).sum::<f64>().sqrt()
    }

    /// Residuals of all rows, constraints first, with their opposite as right-hand side.
    pub(super) fn residual(&mut self, at: &Point, w: &mut Workspace, velocity: bool) -> f64 {
        self.rhs.fill(0.0);
        let rows = &mut self.rhs[self.n..];
        if velocity {
            add_velocity_residual(&*self.dynamics, -1.0, at, w, &mut rows[..self.m]);
        } else {
            add_position_residual(&*self.dynamics, -1.0, at, w, &mut rows[..self.m]);
        }
        for &k in &self.silent {
            rows[self.dynamics.layout().constraints[k].clone()].fill(0.0);
        }
        for (s, row) in self.start.iter().enumerate() {
            let (position, rate, _) = self.dynamics.start_row(row, at, w);
            rows[self.m + s] = if velocity { -rate } else { -position };
        }
        rows.iter().fold(0.0, |worst, r| if r.is_nan() { f64::INFINITY } else { r.abs().max(worst) })
    }

    /// What is open by more than the tolerance, the worst first.
    pub(super) fn open(&self, tolerance: f64) -> Vec<(f64, Subject)> {
        let layout = self.dynamics.layout();
        let size = |x: f64| if x.is_nan() { f64::INFINITY } else { x.abs() };
        let worst = |r: &[f64]| r.iter().fold(0.0f64, |m, x| m.max(size(*x)));
        let rows = &self.rhs[self.n..];
        let mut list: Vec<(f64, Subject)> = layout
            .constraints
            .iter()
            .enumerate()
            .map(|(k, range)| (worst(&rows[range.clone()]), self.dynamics.subject(Unknown::Lambda, k)))
            .chain(self.start.iter().enumerate().map(|(s, row)| (size(rows[self.m + s]), row.subject.clone())))
            .filter(|(r, _)| *r > tolerance || tolerance.is_nan())
            .collect();
        list.sort_by(|a, b| b.0.total_cmp(&a.0));
        list
    }
}

fn transpose(matrix: &mut BlockMatrix, b: usize, k: usize) {
    let (n, m) = (matrix.pattern().size(b), matrix.pattern().size(k));
    let (Some(from), Some(to)) = (matrix.pattern().offset(b, k), matrix.pattern().offset(k, b)) else { return };
    for i in 0..n {
        for j in 0..m {
            matrix.values[to as usize + j * n + i] = matrix.values[from as usize + i * m + j];
        }
    }
}
