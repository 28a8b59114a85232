//! What the equations say at the present state: accelerations, mass matrix, Jacobian of the constraints, reactions.

use super::Simulation;
use crate::engines::StepError;
use bellcrank_math::linear::blocks::{BlockMatrix, BlockPattern, Class};
use bellcrank_model::dynamics::Targets;
use bellcrank_model::{Piece, Slopes, Unknown};
use std::sync::Arc;

/// A dense matrix, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DenseMatrix {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Entry (i, j) is `values[i * columns + j]`.
    pub values: Vec<f64>,
}

impl DenseMatrix {
    fn zeros(rows: usize, columns: usize) -> DenseMatrix {
        DenseMatrix { rows, columns, values: vec![0.0; rows * columns] }
    }

    /// An entry; zero outside.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let inside = i < self.rows && j < self.columns;
        if inside { self.values[i * self.columns + j] } else { 0.0 }
    }
}

/// A sparse matrix by its entries, each place at most once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseMatrix {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// (row, column, value), by rows.
    pub entries: Vec<(usize, usize, f64)>,
}

impl SparseMatrix {
    /// The same with all its zeros.
    pub fn to_dense(&self) -> DenseMatrix {
        let mut dense = DenseMatrix::zeros(self.rows, self.columns);
        self.entries.iter().for_each(|&(i, j, x)| dense.values[i * self.columns + j] = x);
        dense
    }
}

impl Simulation {
    /// The accelerations v̇ at the present state, from M v̇ + Gᵀλ = f, G v̇ = γ.
    pub fn accelerations(&mut self) -> Result<Vec<f64>, StepError> {
        self.look()?;
        Ok(self.observer.point.vdot.clone())
    }

    /// The reactions λ at the present state, one for each row of [`Simulation::constraint_jacobian`]; of least size where
    /// they are not unique. A positive λ pulls along −Gᵀ.
    pub fn reactions(&mut self) -> Result<Vec<f64>, StepError> {
        self.look()?;
        Ok(self.observer.point.lambda.clone())
    }

    /// The mass matrix M(q) at the present state, symmetric, in the order of the velocities v. It is block diagonal in
    /// Cartesian coordinates and full along the branches of the tree in relative ones.
    pub fn mass_matrix(&mut self) -> SparseMatrix {
        self.derivative(Piece::MassAccel, Unknown::V, Slopes { q: 0.0, v: 1.0, z: 0.0 })
    }

    /// The Jacobian G of the constraints with respect to displacements along v: G v + g_t = 0.
    pub fn constraint_jacobian(&mut self) -> SparseMatrix {
        let transposed = self.derivative(Piece::GtLambda, Unknown::Lambda, Slopes::default());
        let mut entries: Vec<_> = transposed.entries.into_iter().map(|(i, j, x)| (j, i, x)).collect();
        entries.sort_unstable_by_key(|&(i, j, _)| (i, j));
        SparseMatrix { rows: transposed.columns, columns: transposed.rows, entries }
    }

    /// Inverse dynamics: the loads M(q) v̇ − f along the velocities v that given accelerations take at the present state,
    /// beyond all forces of the model. Those of the accelerations themselves are the reactions: −Gᵀλ.
    pub fn required_forces(&mut self, accelerations: &[f64]) -> Result<Vec<f64>, StepError> {
        let n = self.observer.dynamics.layout().n();
        if accelerations.len() != n {
            let why = format!("there are {} accelerations for {n} coordinates", accelerations.len());
            return Err(StepError::Refused { t: self.t(), why });
        }
        self.observed = false;
        self.observer.state.clone_from(self.engine.state());
        self.observer.place();
        let observer = &mut self.observer;
        let mut out = vec![0.0; n];
        observer.dynamics.add(-1.0, Piece::Force, &observer.point, &mut observer.w, &mut out);
        observer.point.vdot.copy_from_slice(accelerations);
        observer.dynamics.add(1.0, Piece::MassAccel, &observer.point, &mut observer.w, &mut out);
        Ok(out)
    }

    fn look(&mut self) -> Result<(), StepError> {
        self.observed = false;
        self.observer.state.clone_from(self.engine.state());
        self.observer.react()
    }

    /// The derivative of a piece of the equations of motion with respect to velocities or multipliers.
    fn derivative(&mut self, piece: Piece, unknown: Unknown, slopes: Slopes) -> SparseMatrix {
        self.observed = false;
        self.observer.state.clone_from(self.engine.state());
        self.observer.place();
        let observer = &mut self.observer;
        let layout = observer.dynamics.layout();
        let bodies = &layout.bodies;
        let columns = if unknown == Unknown::Lambda { &layout.constraints } else { bodies };
        let pairs = observer.dynamics.pattern(piece, unknown);
        // one matrix over all unknowns, whose blocks are those that the piece fills
        let shift = if unknown == Unknown::Lambda { bodies.len() as u32 } else { 0 };
        let sizes: Vec<usize> = bodies.iter().chain(&layout.constraints).map(|range| range.len()).collect();
        let classes = vec![Class::Body; sizes.len()];
        let entries: Vec<(u32, u32)> = pairs.iter().map(|&(b, k)| (b, k + shift)).collect();
        let pattern = Arc::new(BlockPattern::new(sizes, classes, entries.clone()));
        let offsets: Vec<u32> = entries.iter().filter_map(|&(r, c)| pattern.offset(r as usize, c as usize)).collect();
        let mut matrix = BlockMatrix::new(pattern);
        matrix.clear();
        let mut out = Targets::new(&mut matrix.values, &offsets);
        observer.dynamics.add_derivative(1.0, piece, unknown, slopes, &observer.point, &mut observer.w, &mut out);
        let mut places: Vec<((u32, u32), u32)> = pairs.into_iter().zip(offsets).collect();
        // a pair may occur more than once: its block is one
        places.sort_unstable();
        places.dedup();
        let mut found = Vec::new();
        for ((b, k), at) in places {
            let (rows, columns) = (&bodies[b as usize], &columns[k as usize]);
            for (i, row) in rows.clone().enumerate() {
                for (j, column) in columns.clone().enumerate() {
                    let value = matrix.values[at as usize + i * columns.len() + j];
                    found.push((row, column, value));
                }
            }
        }
        found.retain(|entry| entry.2 != 0.0);
        found.sort_unstable_by_key(|&(i, j, _)| (i, j));
        let width = if unknown == Unknown::Lambda { layout.m() } else { layout.n() };
        SparseMatrix { rows: layout.n(), columns: width, entries: found }
    }
}
