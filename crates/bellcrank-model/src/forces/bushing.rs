//! A bushing: six springs and dampers between two frames, coupled by full matrices.

use super::{Ends, Force, Kind, Placement};
use crate::file::{Diagnostics, Field, FieldKind, Values};
use crate::frames::{ANG, Covector, Frames, LIN, Stiffness};
use crate::model::Space;
use bellcrank_math::{Mat3, Quat, Vec3, rotation};

/// With x = (d, θ), d = R₁ᵀ(p₂ − p₁) and θ the rotation vector of R₁ᵀR₂, the energy is ½ xᵀK x and
/// the generalized force e = K x + C ẋ; the loads are those of virtual power, eᵀẋ.
struct Bushing {
    stiffness: Blocks,
    damping: Blocks,
}

/// A 6×6 matrix as 3×3 parts over (d, θ).
#[derive(Clone, Copy, Default)]
struct Blocks([[Mat3; 2]; 2]);

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "bushing",
    doc: "Springs and dampers in all directions between two frames, linear in the displacement (x, y, z) of the second \
          frame seen from the first and in the rotation vector between them; in the plane (x, y, θ).",
    fields: &[
        Field::required(
            "stiffness",
            FieldKind::Square { plane: 3, space: 6 },
            "N/m, N m/rad",
            "diagonal or full symmetric matrix",
        ),
        Field::optional(
            "damping",
            FieldKind::Square { plane: 3, space: 6 },
            "N s/m, N m s/rad",
            "none",
            "diagonal or full symmetric matrix",
        ),
    ],
    ends: Ends::Frames,
    make,
};

fn make(values: &Values, place: &Placement) -> Result<Box<dyn Force>, Diagnostics> {
    let blocks = |name| -> Result<Blocks, Diagnostics> {
        let Some(matrix) = values.optional_numbers(name) else { return Ok(Blocks::default()) };
        // (x, y, θ) of the plane are the places 0, 1, 5 of (x, y, z, θx, θy, θz)
        let place: &[usize] = if place.space == Space::Plane { &[0, 1, 5] } else { &[0, 1, 2, 3, 4, 5] };
        let n = place.len();
        let scale = matrix.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let mut blocks = Blocks::default();
        for (i, &pi) in place.iter().enumerate() {
            for (j, &pj) in place.iter().enumerate() {
                if (matrix[i * n + j] - matrix[j * n + i]).abs() > 1e-9 * scale {
                    let text = format!("the matrix `{name}` is not symmetric: row {}, column {}", i + 1, j + 1);
                    return Err(values.error_at(name, text).help("a spring has a symmetric matrix").into());
                }
                blocks.0[pi / 3][pj / 3].0[pi % 3][pj % 3] = matrix[i * n + j];
            }
        }
        Ok(blocks)
    };
    Ok(Box::new(Bushing { stiffness: blocks("stiffness")?, damping: blocks("damping")? }))
}

impl Blocks {
    fn times(&self, x: [Vec3; 2]) -> [Vec3; 2] {
        self.0.map(|row| row[0] * x[0] + row[1] * x[1])
    }
    fn is_zero(&self) -> bool {
        self.0.iter().flatten().all(|m| *m == Mat3::ZERO)
    }
}

/// The displacement x = (d, θ), its rate, and the matrices that relate twists to ẋ.
struct Offset {
    x: [Vec3; 2],
    rate: [Vec3; 2],
    /// p₂ − p₁ and v₂ − v₁ − ω₁ × (p₂ − p₁), in the world.
    reach: Vec3,
    slip: Vec3,
    /// ω₂ − ω₁ in the second frame.
    turn: Vec3,
    n: Mat3,
}

impl Offset {
    fn of(at: &Frames) -> Offset {
        let [f1, f2] = [&at.ends[0], &at.ends[1]];
        let reach = f2.p - f1.p;
        let slip = f2.v - f1.v - f1.w.cross(reach);
        let theta = Quat::from_matrix(&(f1.r.transpose() * f2.r)).log();
        let n = rotation::inverse_tangent(theta);
        let turn = f2.r.transpose_times(f2.w - f1.w);
        let x = [f1.r.transpose_times(reach), theta];
        Offset { x, rate: [f1.r.transpose_times(slip), n * turn], reach, slip, turn, n }
    }
}

impl Bushing {
    fn effort(&self, o: &Offset) -> [Vec3; 2] {
        let (k, c) = (self.stiffness.times(o.x), self.damping.times(o.rate));
        [k[0] + c[0], k[1] + c[1]]
    }
}

/// ∂x/∂displacement (which is ∂ẋ/∂twist): per end, rows (d, θ), columns (translation, rotation).
fn gradient(at: &Frames, o: &Offset) -> [[[Mat3; 2]; 2]; 2] {
    let (to1, to2) = (at.ends[0].r.transpose(), at.ends[1].r.transpose());
    let turning = o.n * to2;
    [[[-to1, to1 * o.reach.tilde()], [Mat3::ZERO, -turning]], [[to1, Mat3::ZERO], [Mat3::ZERO, turning]]]
}

impl Force for Bushing {
    fn load(&self, at: &Frames, out: &mut [Covector]) {
        let o = Offset::of(at);
        let [f, t] = self.effort(&o);
        let force = at.ends[0].r * f;
        let torque = at.ends[1].r * o.n.transpose_times(t);
        out[1].lin -= force;
        out[1].ang -= torque;
        out[0].lin += force;
        out[0].ang += o.reach.cross(force) + torque;
    }

    fn stiffness(&self, at: &Frames, k: &mut Stiffness, d: &mut Stiffness) {
        let o = Offset::of(at);
        let (r1, r2) = (at.ends[0].r, at.ends[1].r);
        let grad = gradient(at, &o);
        // ∂ẋ/∂displacement at fixed twists
        let to1 = r1.transpose();
        let n_turn = rotation::inverse_tangent_derivative(o.x[1], o.turn); // ∂(N turn)/∂θ
        let mut rate_grad = [[[Mat3::ZERO; 2]; 2]; 2];
        for end in 0..2 {
            let sign = if end == 0 { -1.0 } else { 1.0 };
            // d: R₁ᵀ(slip), slip changes by −ω₁ × δp and R₁ᵀ by the rotation of the first frame
            rate_grad[end][0][LIN] = to1 * at.ends[0].w.tilde() * -sign;
            if end == 0 {
                rate_grad[end][0][ANG] = to1 * o.slip.tilde();
            }
            // θ: N(θ) R₂ᵀ(ω₂ − ω₁)
            rate_grad[end][1][ANG] = n_turn * grad[end][1][ANG];
            if end == 1 {
                rate_grad[end][1][ANG] += o.n * r2.transpose() * (at.ends[1].w - at.ends[0].w).tilde();
            }
        }
        let e = self.effort(&o);
        let force = r1 * e[0];
        let (torque_1, n_torque) = (o.n.transpose_times(e[1]), rotation::inverse_tangent_derivative(-o.x[1], e[1]));
        let torque = r2 * torque_1;
        let (kk, cc) = (&self.stiffness.0, &self.damping.0);
        for j in 0..2 {
            for motion in [LIN, ANG] {
                // ∂e = K ∂x + C ∂ẋ, and by twists C ∂x
                let change: [Mat3; 2] = std::array::from_fn(|a| {
                    (0..2).fold(Mat3::ZERO, |sum, b| {
                        sum + kk[a][b] * grad[j][b][motion] + cc[a][b] * rate_grad[j][b][motion]
                    })
                });
                let damping: [Mat3; 2] =
                    std::array::from_fn(|a| (0..2).fold(Mat3::ZERO, |sum, b| sum + cc[a][b] * grad[j][b][motion]));
                // ∂(R₁ f) and ∂(R₂ Nᵀ t); Nᵀ(θ) = N(−θ)
                let mut d_force = r1 * change[0];
                let mut d_torque = r2 * (o.n.transpose() * change[1] - n_torque * grad[j][1][motion]);
                if motion == ANG && j == 0 {
                    d_force += -force.tilde();
                }
                if motion == ANG && j == 1 {
                    d_torque += -torque.tilde();
                }
                let mut d_reach = Mat3::ZERO;
                if motion == LIN {
                    d_reach = force.tilde() * if j == 0 { 1.0 } else { -1.0 }; // ∂(reach × force)
                }
                k.add(1, LIN, j, motion, -d_force);
                k.add(0, LIN, j, motion, d_force);
                k.add(1, ANG, j, motion, -d_torque);
                k.add(0, ANG, j, motion, d_torque + d_reach + o.reach.tilde() * d_force);
                let (v_force, v_torque) = (r1 * damping[0], r2 * o.n.transpose() * damping[1]);
                d.add(1, LIN, j, motion, -v_force);
                d.add(0, LIN, j, motion, v_force);
                d.add(1, ANG, j, motion, -v_torque);
                d.add(0, ANG, j, motion, v_torque + o.reach.tilde() * v_force);
            }
        }
    }

    fn stored(&self, at: &Frames) -> f64 {
        let o = Offset::of(at);
        let e = self.stiffness.times(o.x);
        0.5 * (e[0].dot(o.x[0]) + e[1].dot(o.x[1]))
    }
    fn power(&self, at: &Frames) -> f64 {
        let o = Offset::of(at);
        let e = self.damping.times(o.rate);
        -(e[0].dot(o.rate[0]) + e[1].dot(o.rate[1]))
    }
    fn has_power(&self) -> bool {
        !self.damping.is_zero()
    }
    fn damped(&self) -> bool {
        !self.damping.is_zero()
    }
}
