//! Residuals of the constraints over all of their rows.

use bellcrank_model::{Dynamics, Piece, Point, Workspace};

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
