//! What one unit of each coordinate and of each reaction weighs.

use super::derivatives::each_block;
use bellcrank_model::dynamics::Scale;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, Unknown, Workspace};

/// What one unit of each coordinate and of each multiplier weighs.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct RowScales {
    /// The length of a [`turn`].
    pub(super) turn: f64,
    /// L² for an angle, 1 for a length.
    pub(super) columns: Vec<f64>,
    /// 1/L for a torque, 1 for a force: a torque counts like the force that makes it with the length of the model.
    pub(crate) rows: Vec<f64>,
}

impl RowScales {
    /// The scales of some equations at a realized point.
    pub fn new(dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) -> RowScales {
        let (length, scales) = (dynamics.length(), dynamics.scales());
        let angle = |i: usize| scales[i] == Scale::Angle;
        let turn = turn(dynamics, at, w);
        let columns = (0..scales.len()).map(|i| if angle(i) { length * length } else { 1.0 }).collect();
        let mut shifts = vec![false; dynamics.layout().m()];
        let layout = dynamics.layout();
        each_block(dynamics, Piece::GtLambda, Unknown::Lambda, Slopes::default(), at, w, |b, k, block| {
            let (rows, columns) = (layout.bodies[b].clone(), layout.constraints[k].clone());
            for (_, values) in rows.zip(block.chunks_exact(columns.len())).filter(|(i, _)| !angle(*i)) {
                columns.clone().zip(values).for_each(|(k, g)| shifts[k] |= g.abs() > 1e-9);
            }
        });
        RowScales { turn, columns, rows: shifts.into_iter().map(|s| if s { 1.0 } else { 1.0 / length }).collect() }
    }
}

/// Above this many coordinates the length of a model says nothing about its parts.
pub const MANY: usize = 3000;

/// The length that a turn by one radian counts like, at a realized point: that of the model, and above [`MANY`]
/// coordinates the arms of what holds its bodies, √(Σ|∂g/∂φ|² / Σ|∂g/∂x|²) over the rows that hold shifts.
///
/// With the length L of the model a loop of bars of length l has pivots of (l/L)², and in a model of 10⁵ bars they
/// look redundant.
pub fn turn(dynamics: &dyn Dynamics, at: &Point, w: &mut Workspace) -> f64 {
    let (length, layout) = (dynamics.length(), dynamics.layout());
    if layout.n() <= MANY {
        return length;
    }
    let (scales, mut turns, mut shifts) = (dynamics.scales(), 0.0, 0.0);
    each_block(dynamics, Piece::GtLambda, Unknown::Lambda, Slopes::default(), at, w, |b, k, block| {
        let m = layout.constraints[k].len();
        for j in 0..m {
            let (mut by_turn, mut by_shift) = (0.0, 0.0);
            for (g, i) in block.iter().skip(j).step_by(m).zip(layout.bodies[b].clone()) {
                *if scales[i] == Scale::Angle { &mut by_turn } else { &mut by_shift } += g * g;
            }
            if by_shift > 0.0 {
                (turns, shifts) = (turns + by_turn, shifts + by_shift);
            }
        }
    });
    match f64::sqrt(turns / shifts) {
        arm if arm > 0.0 => arm.min(length),
        _ => length,
    }
}
