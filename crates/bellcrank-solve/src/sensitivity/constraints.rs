//! Tangents of states that fulfil the constraints.

use super::neighbours::{Pair, SIGNS, Side};
use super::tangent::{Tangent, add};
use crate::constraints::{add_position_residual, add_velocity_residual};
use crate::linear::kkt::Kkt;
use bellcrank_math::linear::solver::LinearError;
use bellcrank_model::{Dynamics, State};

/// Puts tangents onto the linearized constraints at a state, G s_q = −dg/dp and the same of velocities, with the least change in the norm of
/// the mass; with the factors of a system at this state.
pub(super) fn project(
    kkt: &mut Kkt,
    dynamics: &dyn Dynamics,
    at: &State,
    pairs: &mut [Pair<'_>],
    tangents: &mut [Tangent],
) -> Result<(), LinearError> {
    let m = dynamics.layout().m();
    if m == 0 {
        return Ok(());
    }
    let mut open = [vec![0.0; m], vec![0.0; m]];
    for (pair, tangent) in pairs.iter_mut().zip(tangents) {
        open.iter_mut().for_each(|rows| rows.fill(0.0));
        let (sides, delta) = pair.beside(at, (&tangent.q, &tangent.v, &tangent.z));
        for (side, sign) in sides.iter_mut().zip(SIGNS) {
            side.place(&tangent.moved(dynamics, sign * delta, at));
            let Side { dynamics, w, point, .. } = side;
            let weight = -sign / (2.0 * delta);
            add_position_residual(&**dynamics, weight, point, w, &mut open[0]);
            add_velocity_residual(&**dynamics, weight, point, w, &mut open[1]);
        }
        for (rows, s) in open.iter().zip([&mut tangent.q, &mut tangent.v]) {
            add(1.0, kkt.project(|out| out.copy_from_slice(rows))?, s);
        }
    }
    Ok(())
}
