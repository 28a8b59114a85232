//! The brush model of a tyre: elastic bristles that adhere to the road and slide where friction ends.

use super::Slip;
use crate::dual::Dual;

/// The brush model with a parabolic pressure [Pacejka 2012, ch. 3].
///
/// With the slips κ and tan α of the tyre, the stiffnesses C and the largest force μN, the theoretical slip gives
/// γ = (C_κ κ, −C_α tan α − C_γ sin γ)/|1 + κ|, and the force is γ (1 − x + x²/3) with x = |γ|/(3 μN), up to full sliding
/// at x = 1: then it is μN along γ. The pneumatic trail falls from its first value with (1 − x)³/(1 − x + x²/3).
#[derive(Clone, Copy, Debug)]
pub struct Brush {
    /// C_κ and C_α.
    pub stiffness: [f64; 2],
    /// C_γ.
    pub camber: f64,
    /// μ.
    pub friction: f64,
    /// The pneumatic trail at small slip.
    pub trail: f64,
}

impl Brush {
    /// F_x, F_y and M_z.
    pub fn forces<const N: usize>(&self, s: &Slip<N>) -> [Dual<N>; 3] {
        let most = s.load * self.friction;
        let along = s.kappa * self.stiffness[0];
        let across = -(s.tan_alpha * self.stiffness[1] + s.sin_camber * self.camber);
        let size = along.hypot(across);
        // the theoretical slip is larger by 1/|1 + κ|: multiplied through, so that a locked wheel is no exception
        let rolls = (s.kappa + 1.0).abs();
        let limit = most * rolls * 3.0;
        if limit.x <= 0.0 || size.x >= limit.x {
            let zero = Dual::constant(0.0);
            let over = if size.x > 0.0 { most / size } else { zero };
            return [along * over, across * over, zero];
        }
        let x = size / limit;
        let share = x * x * (1.0 / 3.0) - x + 1.0;
        let over = share / rolls;
        let (fx, fy) = (along * over, across * over);
        let adheres = -x + 1.0;
        let trail = adheres * adheres * adheres / share * self.trail * s.forward;
        [fx, fy, -(trail * fy)]
    }
}
