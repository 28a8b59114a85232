//! A bushing: six springs and dampers between two frames, coupled by full matrices.

use super::characteristic::curve;
use super::{Along, Ends, Force, Kind, Made, Placement, Seen};
use crate::channel::Quantity;
use crate::curve::Curve;
use crate::dynamics::{Limit, StateLaw};
use crate::file::{Diagnostics, Field, FieldKind, Values};
use crate::frames::{ANG, Covector, LIN, Stiffness};
use crate::joints::{Motion, Z};
use crate::space::Space;
use bellcrank_math::linear::dense::symmetric_eigenvalues;
use bellcrank_math::{Mat3, Quat, Vec3, rotation};
use std::sync::Arc;

/// With x = (d, θ) − x₀, d = R₁ᵀ(p₂ − p₁) and θ the rotation vector of R₁ᵀR₂, the energy is
/// ½ xᵀK x + Σ∫Fᵢ(xᵢ) − xᵀp with curves F and a preload p, and the generalized force
/// e = K x + F(x) − p + C ẋ; the loads are those of virtual power, eᵀẋ.
struct Bushing {
    stiffness: Blocks,
    damping: Blocks,
    /// Whether displacements make torques, or rotations forces.
    coupled: bool,
    /// Curves with their places among (x, y, z, θx, θy, θz).
    curves: Vec<(usize, Arc<Curve>)>,
    offset: [Vec3; 2],
    preload: [Vec3; 2],
    space: Space,
}

/// The angle in the plane.
const TURN: Along = Along { motion: Motion::Rotate(Z), first: 0 };

/// A 6×6 matrix as 3×3 parts over (d, θ).
#[derive(Clone, Copy, Default)]
struct Blocks([[Mat3; 2]; 2]);

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "bushing",
    doc: "Springs and dampers in all directions between two frames, by the displacement (x, y, z) of the second \
          frame seen from the first and the rotation vector (rx, ry, rz) between them; in the plane (x, y, angle). \
          The load on the second body is −stiffness · s − curve(s) + preload − damping · ds/dt with s the \
          displacement less `offset`. In the plane turns are counted from the start; in space rotations must stay \
          below half a turn, and a run that goes further reports it.",
    fields: &[
        Field::optional(
            "stiffness",
            FieldKind::Square { plane: 3, space: 6 },
            "N/m, N m/rad",
            "none",
            "diagonal or full symmetric matrix",
        ),
        Field::optional(
            "damping",
            FieldKind::Square { plane: 3, space: 6 },
            "N s/m, N m s/rad",
            "none",
            "diagonal or full symmetric matrix",
        ),
        Field::optional(
            "curve",
            FieldKind::Table(CURVES),
            "",
            "none",
            "nonlinear springs by direction, in addition to `stiffness`",
        ),
        Field::optional(
            "offset",
            FieldKind::Numbers(3, 6),
            "m, rad",
            "none",
            "displacement and rotation vector at which the springs are at rest",
        ),
        Field::optional(
            "preload",
            FieldKind::Numbers(3, 6),
            "N, N m",
            "none",
            "constant force and torque on the second body, in the directions of the first frame",
        ),
    ],
    ends: Ends::Frames,
    channels: CHANNELS,
    make,
};

const CHANNELS: &[Quantity] = &[
    Quantity::new("x", "m", "displacement of the second frame against the first, in the axes of the first"),
    Quantity::new("y", "m", "the same along y"),
    Quantity::new("z", "m", "the same along z").in_space(),
    Quantity::new("rx", "rad", "rotation vector between the frames").in_space(),
    Quantity::new("ry", "rad", "the same about y").in_space(),
    Quantity::new("rz", "rad", "the same about z").in_space(),
    Quantity::new("angle", "rad", "angle of the second frame against the first").in_plane(),
    Quantity::new("x_rate", "m/s", "rates of these"),
    Quantity::new("y_rate", "m/s", "the same along y"),
    Quantity::new("z_rate", "m/s", "the same along z").in_space(),
    Quantity::new("rx_rate", "rad/s", "the same of the rotation vector").in_space(),
    Quantity::new("ry_rate", "rad/s", "the same about y").in_space(),
    Quantity::new("rz_rate", "rad/s", "the same about z").in_space(),
    Quantity::new("angle_rate", "rad/s", "the same of the angle").in_plane(),
    Quantity::new(
        "force_x",
        "N",
        "force on the second body in the axes of the first frame, springs, dampers and preload together: negative where \
         a spring holds a positive displacement back",
    ),
    Quantity::new("force_y", "N", "the same along y"),
    Quantity::new("force_z", "N", "the same along z").in_space(),
    Quantity::new("torque_x", "N m", "the torque on the second body that goes with `rx`: its power is torque · rate")
        .in_space(),
    Quantity::new("torque_y", "N m", "the same of `ry`").in_space(),
    Quantity::new("torque_z", "N m", "the same of `rz`").in_space(),
    Quantity::new("torque", "N m", "torque on the second body").in_plane(),
];

const CURVES: &[Field] = &[
    Field::optional("x", FieldKind::Pairs, "m, N", "", "pairs [displacement, force]"),
    Field::optional("y", FieldKind::Pairs, "m, N", "", "pairs [displacement, force]"),
    Field::optional("z", FieldKind::Pairs, "m, N", "", "pairs [displacement, force] (space)"),
    Field::optional("rx", FieldKind::Pairs, "rad, N m", "", "pairs [angle, torque] (space)"),
    Field::optional("ry", FieldKind::Pairs, "rad, N m", "", "pairs [angle, torque] (space)"),
    Field::optional("rz", FieldKind::Pairs, "rad, N m", "", "pairs [angle, torque] (space)"),
    Field::optional("angle", FieldKind::Pairs, "rad, N m", "", "pairs [angle, torque] (plane)"),
];

/// Names of the directions, with their places among (x, y, z, θx, θy, θz).
const PLANE: &[(&str, usize)] = &[("x", 0), ("y", 1), ("angle", 5)];
const SPACE: &[(&str, usize)] = &[("x", 0), ("y", 1), ("z", 2), ("rx", 3), ("ry", 4), ("rz", 5)];

fn make(values: &Values, place: &Placement) -> Made {
    let directions = if place.space == Space::Plane { PLANE } else { SPACE };
    let n = directions.len();
    let what = values.what();
    if ["stiffness", "damping", "curve", "preload"].iter().all(|key| !values.has(key)) {
        let help = format!("add `stiffness = [{}]`", vec!["…"; n].join(", "));
        return Err(values.error(format!("{what} needs `stiffness`, `curve` or `damping`")).help(help).into());
    }
    let blocks = |name| -> Result<Blocks, Diagnostics> {
        let Some(matrix) = values.optional_numbers(name) else { return Ok(Blocks::default()) };
        let scale = matrix.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let mut blocks = Blocks::default();
        for (i, &(_, pi)) in directions.iter().enumerate() {
            for (j, &(_, pj)) in directions.iter().enumerate() {
                if (matrix[i * n + j] - matrix[j * n + i]).abs() > 1e-9 * scale {
                    let text = format!("the matrix `{name}` is not symmetric: row {}, column {}", i + 1, j + 1);
                    return Err(values.error_at(name, text).help("springs and dampers have symmetric matrices").into());
                }
                blocks.0[pi / 3][pj / 3].0[pi % 3][pj % 3] = matrix[i * n + j];
            }
        }
        Ok(blocks)
    };
    let vectors = |name| -> Result<[Vec3; 2], Diagnostics> {
        let mut out = [Vec3::ZERO; 2];
        let Some(numbers) = values.optional_numbers(name) else { return Ok(out) };
        if numbers.len() != n {
            let names: Vec<&str> = directions.iter().map(|d| d.0).collect();
            let message = format!("`{name}` of {what} must have {n} numbers, found {}", numbers.len());
            return Err(values.error_at(name, message).help(format!("in this order: [{}]", names.join(", "))).into());
        }
        for (x, &(_, p)) in numbers.iter().zip(directions) {
            out[p / 3][p % 3] = *x;
        }
        Ok(out)
    };
    let mut curves = Vec::new();
    if let Some(table) = values.optional_table("curve") {
        for field in CURVES {
            let Some(curve) = curve(table, field.name)? else { continue };
            let Some(&(_, p)) = directions.iter().find(|d| d.0 == field.name) else {
                let names: Vec<&str> = directions.iter().map(|d| d.0).collect();
                let model = if n == 3 { "planar" } else { "in space" };
                let message = format!("{what} has no direction `{}`: the model is {model}", field.name);
                return Err(table.error_at(field.name, message).help(format!("it has {}", names.join(", "))).into());
            };
            curves.push((p, Arc::new(curve)));
        }
    }
    let (stiffness, damping) = (blocks("stiffness")?, blocks("damping")?);
    Ok(Box::new(Bushing {
        coupled: stiffness.is_coupled() || damping.is_coupled(),
        stiffness,
        damping,
        curves,
        offset: vectors("offset")?,
        preload: vectors("preload")?,
        space: place.space,
    }))
}

impl Blocks {
    fn times(&self, x: [Vec3; 2]) -> [Vec3; 2] {
        self.0.map(|row| row[0] * x[0] + row[1] * x[1])
    }
    fn is_coupled(&self) -> bool {
        self.0[0][1] != Mat3::ZERO || self.0[1][0] != Mat3::ZERO
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
    /// In space θ is a rotation vector, below half a turn; in the plane an angle of any size, with N = 1.
    fn of(at: &Seen, space: Space) -> Offset {
        let [f1, f2] = [&at.ends[0], &at.ends[1]];
        let reach = f2.p - f1.p;
        let slip = f2.v - f1.v - f1.w.cross(reach);
        let (theta, n) = match space {
            Space::Plane => (Vec3::Z * TURN.value(at), Mat3::IDENTITY),
            Space::Space => {
                let theta = Quat::from_matrix(&(f1.r.transpose() * f2.r)).log();
                (theta, rotation::inverse_tangent(theta))
            }
        };
        let turn = f2.r.transpose_times(f2.w - f1.w);
        let x = [f1.r.transpose_times(reach), theta];
        Offset { x, rate: [f1.r.transpose_times(slip), n * turn], reach, slip, turn, n }
    }
}

impl Bushing {
    /// The displacement from rest.
    fn deformation(&self, o: &Offset) -> [Vec3; 2] {
        [o.x[0] - self.offset[0], o.x[1] - self.offset[1]]
    }

    fn effort(&self, o: &Offset) -> [Vec3; 2] {
        let x = self.deformation(o);
        let (k, c) = (self.stiffness.times(x), self.damping.times(o.rate));
        let mut e = [k[0] + c[0] - self.preload[0], k[1] + c[1] - self.preload[1]];
        for (p, curve) in &self.curves {
            e[p / 3][p % 3] += curve.value(x[p / 3][p % 3]);
        }
        e
    }

    fn energy(&self, o: &Offset) -> f64 {
        let x = self.deformation(o);
        let e = self.stiffness.times(x);
        let along = |half: usize| (e[half] * 0.5 - self.preload[half]).dot(x[half]);
        along(0) + along(1) + self.curves.iter().map(|(p, curve)| curve.integral(x[p / 3][p % 3])).sum::<f64>()
    }

    /// The power of the dampers.
    fn loss(&self, o: &Offset) -> f64 {
        let e = self.damping.times(o.rate);
        -(e[0].dot(o.rate[0]) + e[1].dot(o.rate[1]))
    }

    /// K + F′(x).
    fn tangent(&self, o: &Offset) -> Blocks {
        let x = self.deformation(o);
        let mut k = self.stiffness;
        for (p, curve) in &self.curves {
            k.0[p / 3][p / 3].0[p % 3][p % 3] += curve.jet(x[p / 3][p % 3]).rate;
        }
        k
    }
}

/// ∂x/∂displacement (which is ∂ẋ/∂twist): per end, rows (d, θ), columns (translation, rotation).
fn gradient(at: &Seen, o: &Offset) -> [[[Mat3; 2]; 2]; 2] {
    let (to1, to2) = (at.ends[0].r.transpose(), at.ends[1].r.transpose());
    let turning = o.n * to2;
    [[[-to1, to1 * o.reach.tilde()], [Mat3::ZERO, -turning]], [[to1, Mat3::ZERO], [Mat3::ZERO, turning]]]
}

impl Force for Bushing {
    fn unstable(&self) -> Option<String> {
        let least = |blocks: &Blocks| {
            let entry = |i: usize, j: usize| blocks.0[i / 3][j / 3].0[i % 3][j % 3];
            let matrix: Vec<f64> = (0..36).map(|k| entry(k / 6, k % 6)).collect();
            let values = symmetric_eigenvalues(&matrix, 6).ok()?;
            let largest = values.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            values.into_iter().find(|x| *x < -1e-9 * largest)
        };
        let told = |x: f64, key: &str, does: &str| format!("{does}: its `{key}` has the negative eigenvalue {x:.3e}");
        let damping = least(&self.damping).map(|x| told(x, "damping", "feeds energy in"));
        damping.or_else(|| least(&self.stiffness).map(|x| told(x, "stiffness", "pushes away from rest")))
    }
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        let o = Offset::of(at, self.space);
        let e = self.effort(&o);
        for (out, [lin, ang]) in out.chunks_exact_mut(7).zip([o.x, o.rate, [-e[0], -e[1]]]) {
            out[..3].copy_from_slice(&lin.0);
            out[3..6].copy_from_slice(&ang.0);
            out[6] = ang[2];
        }
    }

    fn laws(&self) -> Vec<(Arc<dyn StateLaw>, usize)> {
        self.curves.iter().map(|(_, curve)| (curve.clone() as Arc<dyn StateLaw>, 1)).collect()
    }
    fn law_arguments(&self, at: &Seen, out: &mut [f64]) {
        let x = self.deformation(&Offset::of(at, self.space));
        out.iter_mut().zip(&self.curves).for_each(|(out, (p, _))| *out = x[p / 3][p % 3]);
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        let o = Offset::of(at, self.space);
        let [f, t] = self.effort(&o);
        let force = at.ends[0].r * f;
        let torque = at.ends[1].r * o.n.transpose_times(t);
        out[1].lin -= force;
        out[1].ang -= torque;
        out[0].lin += force;
        out[0].ang += o.reach.cross(force) + torque;
    }

    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let o = Offset::of(at, self.space);
        let (r1, r2) = (at.ends[0].r, at.ends[1].r);
        let grad = gradient(at, &o);
        // ∂ẋ/∂displacement at fixed twists
        let to1 = r1.transpose();
        let slope = |theta: Vec3, x: Vec3| match self.space {
            Space::Plane => Mat3::ZERO,
            Space::Space => rotation::inverse_tangent_derivative(theta, x),
        };
        let n_turn = slope(o.x[1], o.turn); // ∂(N turn)/∂θ
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
        let (torque_1, n_torque) = (o.n.transpose_times(e[1]), slope(-o.x[1], e[1]));
        let torque = r2 * torque_1;
        let (kk, cc) = (self.tangent(&o).0, &self.damping.0);
        for j in 0..2 {
            for motion in [LIN, ANG] {
                // ∂e = K ∂x + C ∂ẋ, and by twists C ∂x; only rotations of the first end change both d and θ
                let moves = if motion == LIN { 0..1 } else { j..2 };
                let (mut change, mut damping) = ([Mat3::ZERO; 2], [Mat3::ZERO; 2]);
                for a in 0..2 {
                    for b in moves.clone().filter(|&b| a == b || self.coupled) {
                        change[a] += kk[a][b] * grad[j][b][motion] + cc[a][b] * rate_grad[j][b][motion];
                        damping[a] += cc[a][b] * grad[j][b][motion];
                    }
                }
                // ∂(R₁ f) and ∂(R₂ Nᵀ t); Nᵀ(θ) = N(−θ)
                let mut d_force = r1 * change[0];
                let turns = motion == ANG || self.coupled;
                let mut d_torque = match turns {
                    true => r2 * (o.n.transpose() * change[1] - n_torque * grad[j][1][motion]),
                    false => Mat3::ZERO,
                };
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
                let v_force = r1 * damping[0];
                let v_torque = if turns { r2 * o.n.transpose() * damping[1] } else { Mat3::ZERO };
                d.add(1, LIN, j, motion, -v_force);
                d.add(0, LIN, j, motion, v_force);
                d.add(1, ANG, j, motion, -v_torque);
                d.add(0, ANG, j, motion, v_torque + o.reach.tilde() * v_force);
            }
        }
    }

    fn stored(&self, at: &Seen) -> f64 {
        self.energy(&Offset::of(at, self.space))
    }
    fn power(&self, at: &Seen) -> f64 {
        self.loss(&Offset::of(at, self.space))
    }
    fn stored_and_power(&self, at: &Seen) -> (f64, f64) {
        let o = Offset::of(at, self.space);
        (self.energy(&o), self.loss(&o))
    }
    fn has_power(&self) -> bool {
        !self.damping.is_zero()
    }
    fn damped(&self) -> bool {
        !self.damping.is_zero()
    }
    /// Its directions turn with the first body; the second need not turn where nothing acts on its rotation.
    fn rotational(&self, end: usize) -> bool {
        let turns = |b: &Blocks| (0..2).any(|k| b.0[1][k] != Mat3::ZERO || b.0[k][1] != Mat3::ZERO);
        end == 0
            || turns(&self.stiffness)
            || turns(&self.damping)
            || self.curves.iter().any(|(p, _)| *p >= 3)
            || self.preload[1] != Vec3::ZERO
    }
    fn measures(&self) -> Option<Motion> {
        (self.space == Space::Plane).then_some(TURN.motion)
    }
    fn counts_from_start(&self) -> bool {
        true
    }
    fn is_limited(&self) -> bool {
        let turns = self.stiffness.0[1].iter().any(|m| *m != Mat3::ZERO) || self.curves.iter().any(|(p, _)| *p > 2);
        turns && self.space == Space::Space
    }
    fn limit(&self, at: &Seen) -> Option<(Limit, f64)> {
        // 1 + 2 cos θ = tr R₁ᵀR₂
        let trace =
            || at.ends[0].r.0.iter().flatten().zip(at.ends[1].r.0.iter().flatten()).map(|(a, b)| a * b).sum::<f64>();
        let turned = || (0.5 * (trace() - 1.0)).clamp(-1.0, 1.0).acos() / std::f64::consts::PI;
        self.is_limited().then(|| (Limit::Turn, turned()))
    }
}
