//! What a kind of body has to tell: its pose, its inertia, and how frames on it move.

use super::{BodyFrame, Structure};
use crate::dynamics::Scale;
use crate::frames::{Attachment, Covector, MAX_WIDTH};
use bellcrank_math::{Mat3, Quat, Vec3};

/// What every kind of body offers. Displacements are tangent: δ moves the pose like the velocity δ.
pub trait Coordinates {
    /// The name of the kind, as scenes call it.
    fn kind(&self) -> &'static str;
    /// Number of coordinates, and of velocities.
    fn width(&self) -> usize;
    /// The mass in kg.
    fn mass(&self) -> f64;
    /// Where the centre of mass is, for gravity.
    fn centre(&self) -> Attachment {
        Attachment::CENTRE
    }
    /// Index of the three coordinates of the rotation chart, if there is one.
    fn chart(&self) -> Option<usize> {
        None
    }
    /// What each coordinate measures.
    fn scale(&self, i: usize) -> Scale;
    /// Coordinates of a pose (the rotation goes to the chart centre where there is one).
    fn coordinates(&self, p: Vec3, r: Quat, q: &mut [f64]);
    /// Velocities that belong to a velocity of the centre of mass and an angular velocity, in the world.
    fn velocities(&self, frame: &BodyFrame, v: Vec3, w: Vec3, out: &mut [f64]);
    /// The pose.
    fn locate(&self, q: &[f64], centre: Quat, frame: &mut BodyFrame);
    /// The axes of a frame on the body, in the world.
    fn rotation(&self, frame: &BodyFrame, on: &Attachment) -> Mat3 {
        frame.r * on.axes
    }
    /// The centre of mass, in the world.
    fn centre_of_mass(&self, frame: &BodyFrame) -> Vec3 {
        self.point(frame, &self.centre())
    }
    /// How the pose is stored, for the fast paths of plain constraints.
    fn pose_kind(&self) -> PoseKind {
        PoseKind::Other
    }
    /// Index of the angle of a body in the plane, which counts turns by itself.
    fn plane_angle(&self) -> Option<usize> {
        None
    }
    /// Whether its coordinates are an end and a link, as those of a thin rod: neither its velocity nor its angular velocity is
    /// one of theirs.
    fn is_link(&self) -> bool {
        false
    }
    /// The point that moves with the velocity coordinates, in the world.
    fn origin(&self, frame: &BodyFrame) -> Vec3 {
        self.point(frame, &self.centre())
    }
    /// The number of coordinates that move the body without deforming it.
    fn rigid_width(&self) -> usize {
        self.width()
    }
    /// What its deformation is made of, if it bends.
    fn deformable(&self) -> Option<&Structure> {
        None
    }
    /// The station of a point on a body that bends; a new one if there is none yet.
    fn station(&mut self, _point: Vec3) -> Option<u32> {
        None
    }
    /// Whether a coordinate measures deformation, which assembly keeps if it can.
    fn elastic(&self, _i: usize) -> bool {
        false
    }
    /// The origin of a frame on the body.
    fn point(&self, frame: &BodyFrame, on: &Attachment) -> Vec3;
    /// The twist (velocity, angular velocity) of a frame under the velocities `w`: B w.
    fn twist(&self, frame: &BodyFrame, on: &Attachment, w: &[f64]) -> (Vec3, Vec3);
    /// out += c Bᵀ(lin, ang).
    fn pull(&self, frame: &BodyFrame, on: &Attachment, load: Covector, c: f64, out: &mut [f64]);
    /// out += c (lin, ang) · ∂(B w)/∂q, a row.
    fn twist_stiffness(&self, frame: &BodyFrame, on: &Attachment, w: &[f64], load: Covector, c: f64, out: &mut [f64]);
    /// out += c ∂(Bᵀ load)/∂q for a load fixed in the world; a square block by rows.
    fn load_stiffness(&self, frame: &BodyFrame, on: &Attachment, load: Covector, c: f64, out: &mut [f64]);
    /// out ← c ∂p/∂q of a point of the body, its first coordinates in the world by rows.
    #[inline]
    fn point_rows(&self, frame: &BodyFrame, on: &Attachment, c: f64, out: &mut [f64]) {
        out.fill(0.0);
        for (i, row) in out.chunks_exact_mut(self.width()).enumerate() {
            let mut unit = Vec3::ZERO;
            unit[i] = 1.0;
            self.pull(frame, on, Covector::new(unit, Vec3::ZERO), c, row);
        }
    }
    /// ∂(ṗ)/∂q v of a point: what its acceleration has beside ∂p/∂q v̇.
    #[inline]
    fn point_bias(&self, frame: &BodyFrame, on: &Attachment, v: &[f64]) -> Vec3 {
        bias(self, frame, on, v, |unit| Covector::new(unit, Vec3::ZERO))
    }
    /// ∂ω/∂q v of a frame: what its angular acceleration has beside that of v̇.
    #[inline]
    fn turn_bias(&self, frame: &BodyFrame, on: &Attachment, v: &[f64]) -> Vec3 {
        bias(self, frame, on, v, |unit| Covector::new(Vec3::ZERO, unit))
    }
    /// out += c M, a square block by rows.
    fn add_mass(&self, frame: &BodyFrame, c: f64, out: &mut [f64]) {
        let n = self.width();
        let (mut unit, mut column) = ([0.0; MAX_WIDTH], [0.0; MAX_WIDTH]);
        for j in 0..n {
            unit[j] = 1.0;
            column[..n].fill(0.0);
            self.add_mass_times(frame, c, &unit[..n], &mut column[..n]);
            unit[j] = 0.0;
            (0..n).for_each(|i| out[i * n + j] += column[i]);
        }
    }
    /// out ← c M.
    #[inline]
    fn set_mass(&self, frame: &BodyFrame, c: f64, out: &mut [f64]) {
        out.fill(0.0);
        self.add_mass(frame, c, out);
    }
    /// An upper bound of the rate at which frames on the body turn, in rad/s.
    fn spin(&self, _v: &[f64]) -> f64 {
        f64::INFINITY
    }
    /// out += c M x.
    fn add_mass_times(&self, frame: &BodyFrame, c: f64, x: &[f64], out: &mut [f64]);
    /// x ← M⁻¹ x. Without mass x stays as it is: projections may be weighed by any positive matrix.
    fn divide_by_mass(&self, frame: &BodyFrame, x: &mut [f64]);
    /// Whether M depends on the coordinates.
    fn varies(&self) -> bool {
        false
    }
    /// out += c ∂(M x)/∂q for a given x; a square block by rows.
    fn mass_stiffness(&self, _frame: &BodyFrame, _x: &[f64], _c: f64, _out: &mut [f64]) {}
    /// Whether there are inner forces.
    fn has_inner(&self) -> bool {
        false
    }
    /// Inner forces, gyroscopic, elastic and damping: out += c f(q, v).
    fn add_inner(&self, _frame: &BodyFrame, _c: f64, _v: &[f64], _out: &mut [f64]) {}
    /// out += c ∂f/∂v of the inner forces; a square block by rows.
    fn add_inner_damping(&self, _frame: &BodyFrame, _c: f64, _v: &[f64], _out: &mut [f64]) {}
    /// out += c ∂f/∂q of the inner forces of a body that [varies](Coordinates::varies); a square block by rows.
    fn add_inner_stiffness(&self, _frame: &BodyFrame, _c: f64, _v: &[f64], _out: &mut [f64]) {}
    /// Its weight in a field of gravity: out += c f.
    fn add_weight(&self, frame: &BodyFrame, gravity: Vec3, c: f64, out: &mut [f64]) {
        self.pull(frame, &self.centre(), Covector::new(gravity * self.mass(), Vec3::ZERO), c, out);
    }
    /// out += c ∂f/∂q of the weight of a body that varies; a square block by rows.
    fn weight_stiffness(&self, _frame: &BodyFrame, _gravity: Vec3, _c: f64, _out: &mut [f64]) {}
    /// ½ vᵀM v.
    #[inline]
    fn kinetic(&self, frame: &BodyFrame, v: &[f64]) -> f64 {
        let mut momentum = [0.0; MAX_WIDTH];
        self.add_mass_times(frame, 1.0, v, &mut momentum[..v.len()]);
        half_product(&momentum, v)
    }
    /// The rows of a load (three of the force, three of the torque) that act on its coordinates.
    #[inline]
    fn loads(&self) -> &'static [usize] {
        &[0, 1, 2, 3, 4, 5]
    }
    /// Energy stored in its deformation.
    fn stored(&self, _frame: &BodyFrame) -> f64 {
        0.0
    }
    /// The power that inner damping dissipates.
    fn dissipated(&self, _v: &[f64]) -> f64 {
        0.0
    }
    /// Whether inner damping dissipates any.
    fn dissipates(&self) -> bool {
        false
    }
    /// Number of constraint rows between the coordinates of the body itself: none, or one.
    fn internal_rows(&self) -> usize {
        0
    }
    /// The value g of the internal constraint.
    fn internal_value(&self, _q: &[f64]) -> f64 {
        0.0
    }
    /// The gradient of the internal constraint: out += c G.
    fn internal_gradient(&self, _q: &[f64], _c: f64, _out: &mut [f64]) {}
    /// out += c ∂(Gᵀλ)/∂q of the internal constraint for λ = 1; a square block by rows.
    fn internal_stiffness(&self, _c: f64, _out: &mut [f64]) {}
    /// Whether frames on the body have a full rotation (a point has none, a thin rod in space no spin).
    fn orientation(&self) -> Orientation {
        Orientation::Full
    }
}

/// ½ p·v.
#[inline]
pub(super) fn half_product(p: &[f64], v: &[f64]) -> f64 {
    0.5 * p.iter().zip(v).map(|(p, v)| p * v).sum::<f64>()
}

/// A mass to divide by: one in place of zero.
pub(super) fn or_one(mass: f64) -> f64 {
    if mass > 0.0 { mass } else { 1.0 }
}

/// How much of a rotation the frames on a body have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Orientation {
    /// None: a point.
    None,
    /// A direction, but no spin about it: a thin rod in space.
    Direction,
    /// All of it.
    Full,
}

/// How a body stores its pose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoseKind {
    /// (x, y, θ).
    Planar,
    /// A position in space and a rotation chart.
    Spatial,
    /// A position in space.
    SpatialPoint,
    /// In a way of its own.
    Other,
}

/// ∂(B v)/∂q v along three unit forms.
fn bias<B: Coordinates + ?Sized>(
    body: &B,
    frame: &BodyFrame,
    on: &Attachment,
    v: &[f64],
    form: impl Fn(Vec3) -> Covector,
) -> Vec3 {
    Vec3([0, 1, 2].map(|i| {
        let mut row = [0.0; MAX_WIDTH];
        body.twist_stiffness(frame, on, v, form(Vec3::unit(i)), 1.0, &mut row[..v.len()]);
        row.iter().zip(v).map(|(r, v)| r * v).sum()
    }))
}
