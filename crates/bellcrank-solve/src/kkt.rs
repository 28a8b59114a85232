//! The one linear system behind accelerations, reactions and projections:
//!
//! ```text
//!     [ M  Gᵀ ] [ a ]   [ f ]
//!     [ G  0  ] [ λ ] = [ γ ]
//! ```

use bellcrank_math::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_math::solver::{self, LinearError, LinearSolver};
use bellcrank_model::dynamics::Targets;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Unknown, Workspace};
use std::sync::Arc;

/// M, G and their factors at a point.
pub struct Kkt {
    dynamics: Arc<dyn Dynamics>,
    matrix: BlockMatrix,
    linear: Box<dyn LinearSolver>,
    mass: Vec<u32>,
    /// Where Gᵀ goes, and where its transpose.
    columns: Vec<u32>,
    rows: Vec<(u32, u32, u32, u32)>,
    rhs: Vec<f64>,
    n: usize,
    /// Factorizations so far.
    pub factorizations: usize,
}

impl Kkt {
    /// The system of some equations of motion.
    pub fn new(dynamics: Arc<dyn Dynamics>) -> Kkt {
        let layout = dynamics.layout();
        let bodies = layout.bodies.len() as u32;
        let sizes: Vec<usize> = layout.bodies.iter().chain(&layout.constraints).map(|r| r.len()).collect();
        let classes = (0..sizes.len()).map(|i| if i < bodies as usize { Class::Body } else { Class::Multiplier });
        let mass_pairs = dynamics.pattern(Piece::MassAccel, Unknown::V);
        let column_pairs: Vec<(u32, u32)> =
            dynamics.pattern(Piece::GtLambda, Unknown::Lambda).into_iter().map(|(b, k)| (b, bodies + k)).collect();
        let diagonal = (0..sizes.len() as u32).map(|i| (i, i));
        let transposed = column_pairs.iter().map(|&(b, k)| (k, b));
        let entries = mass_pairs.iter().copied().chain(column_pairs.iter().copied()).chain(transposed).chain(diagonal);
        let pattern = Arc::new(BlockPattern::new(sizes, classes.collect(), entries.collect()));
        let offset = |&(r, c): &(u32, u32)| pattern.offset(r as usize, c as usize);
        let mass = mass_pairs.iter().filter_map(offset).collect();
        let columns: Vec<u32> = column_pairs.iter().filter_map(offset).collect();
        let rows = column_pairs
            .iter()
            .zip(&columns)
            .filter_map(|(&(b, k), &from)| {
                let to = pattern.offset(k as usize, b as usize)?;
                Some((from, to, pattern.size(b as usize) as u32, pattern.size(k as usize) as u32))
            })
            .collect();
        let linear = solver::choose(&pattern);
        let rhs = vec![0.0; pattern.dimension()];
        let n = layout.n();
        Kkt { matrix: BlockMatrix::new(pattern), linear, mass, columns, rows, rhs, n, factorizations: 0, dynamics }
    }

    /// Forms and factors the matrix at a realized point.
    pub fn factor(&mut self, at: &Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.matrix.clear();
        let slopes = Slopes { q: 0.0, v: 1.0, z: 0.0 };
        let mut add = |piece, wrt, offsets: &[u32]| {
            let mut out = Targets::new(&mut self.matrix.values, offsets);
            self.dynamics.add_derivative(1.0, piece, wrt, slopes, at, w, &mut out);
        };
        add(Piece::MassAccel, Unknown::V, &self.mass);
        add(Piece::GtLambda, Unknown::Lambda, &self.columns);
        // a pair may occur more than once, so the transposes are set, not added
        for &(from, to, n, m) in &self.rows {
            for i in 0..n as usize {
                for j in 0..m as usize {
                    self.matrix.values[to as usize + j * n as usize + i] =
                        self.matrix.values[from as usize + i * m as usize + j];
                }
            }
        }
        self.factorizations += 1;
        self.linear.factor(&self.matrix)
    }

    /// v̇ and λ at a realized point: forms and factors the matrix too.
    pub fn accelerate(&mut self, at: &mut Point, w: &mut Workspace) -> Result<(), LinearError> {
        self.factor(at, w)?;
        at.vdot.fill(0.0);
        self.rhs.fill(0.0);
        let (top, bottom) = self.rhs.split_at_mut(self.n);
        self.dynamics.add(1.0, Piece::Force, at, w, top);
        self.dynamics.add(-1.0, Piece::Acceleration, at, w, bottom);
        self.linear.solve(&mut self.rhs)?;
        at.vdot.copy_from_slice(&self.rhs[..self.n]);
        at.lambda.copy_from_slice(&self.rhs[self.n..]);
        Ok(())
    }

    /// The least change δ of the velocities (in the norm of the mass) with G δ = −r, r given over all
    /// constraint rows; with the factors at hand.
    pub fn project(&mut self, fill: impl FnOnce(&mut [f64])) -> Result<&[f64], LinearError> {
        self.rhs.fill(0.0);
        fill(&mut self.rhs[self.n..]);
        self.linear.solve(&mut self.rhs)?;
        Ok(&self.rhs[..self.n])
    }

    /// How many constraint rows the last factorization found redundant.
    pub fn dropped(&self) -> usize {
        self.linear.dropped().len()
    }

    /// The constraint rows that the last factorization found redundant.
    pub fn dropped_rows(&self) -> Vec<usize> {
        self.linear.dropped().iter().map(|r| r - self.n).collect()
    }

    /// The smallest relative pivot that was kept.
    pub fn smallest_pivot(&self) -> f64 {
        self.linear.smallest_kept_pivot()
    }

    /// The user's name of the block a scalar row of the matrix belongs to.
    pub fn owner_of_row(&self, row: usize) -> String {
        let block = self.matrix.pattern().block_of(row);
        let bodies = self.dynamics.layout().bodies.len();
        match block < bodies {
            true => self.dynamics.name(Unknown::Q, block),
            false => self.dynamics.name(Unknown::Lambda, block - bodies),
        }
    }
}

/// Adds c times the velocity residual of every constraint row, nonholonomic ones included.
pub fn add_velocity_residual(dynamics: &dyn Dynamics, c: f64, at: &Point, w: &mut Workspace, out: &mut [f64]) {
    let layout = dynamics.layout();
    if layout.m() == layout.m_rates() {
        return dynamics.add(c, Piece::Velocity, at, w, out);
    }
    let (mut position, mut velocity) = (vec![0.0; layout.m()], vec![0.0; layout.m_rates()]);
    dynamics.add(c, Piece::Position, at, w, &mut position);
    dynamics.add(c, Piece::Velocity, at, w, &mut velocity);
    for (rows, rates) in layout.constraints.iter().zip(&layout.rates) {
        let source = if rates.is_empty() { &position[rows.clone()] } else { &velocity[rates.clone()] };
        out[rows.clone()].iter_mut().zip(source).for_each(|(o, s)| *o += s);
    }
}

/// Adds c times the position residual; rows without a position (nonholonomic) stay as they are.
pub fn add_position_residual(dynamics: &dyn Dynamics, c: f64, at: &Point, w: &mut Workspace, out: &mut [f64]) {
    dynamics.add(c, Piece::Position, at, w, out);
    let layout = dynamics.layout();
    for (rows, _) in layout.constraints.iter().zip(&layout.rates).filter(|(_, r)| r.is_empty()) {
        out[rows.clone()].fill(0.0);
    }
}
