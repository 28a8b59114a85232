//! Bodies as links of a spanning tree: how joint coordinates move them.
//!
//! Motions are twists (v, ω) of the centre of mass in the world. Only bodies whose frames move as those of a rigid body
//! carry others; the rest keep their Cartesian coordinates and are leaves.

use super::{Body, Flexible, Planar, PointMass, Rigid, Rod};
use bellcrank_math::{Mat3, Quat, Vec3};

/// The inertia of a body about its centre of mass, in the body frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CentralInertia {
    /// None that is constant and of its own: a point mass, a thin rod, a body that bends.
    None,
    /// About z, in kg m².
    Plane(f64),
    /// In space, in kg m².
    Space(Mat3),
}

/// A body as a link of a tree. The defaults are those of a point mass.
pub trait InTree {
    /// The body itself, if it bends: a link whose frame moves like that of a rigid body, with modal coordinates of its own.
    fn flexible(&self) -> Option<&Flexible> {
        None
    }
    /// Whether frames on the body move as those of a rigid body, so that others may hang on it.
    fn carries(&self) -> bool {
        false
    }
    /// The body that takes its place in a tree, if another kind suits joint coordinates better.
    fn replacement(&self) -> Option<Body> {
        None
    }
    /// Whether its angle in the plane is known up to full turns only.
    fn angle_wraps(&self) -> bool {
        false
    }
    /// The inertia about the centre of mass.
    fn central_inertia(&self) -> CentralInertia {
        CentralInertia::None
    }
    /// Coordinates at a pose; a rotation goes to the chart's centre.
    fn place(&self, p: Vec3, _r: &Mat3, _angle: f64, q: &mut [f64], _centre: Option<&mut Quat>) {
        q.copy_from_slice(&p.0[..q.len()]);
    }
    /// Velocities that belong to a twist, for a body with the rotation `r`.
    #[inline]
    fn twist_velocities(&self, _r: &Mat3, v: Vec3, _w: Vec3, out: &mut [f64]) {
        out.copy_from_slice(&v.0[..out.len()]);
    }
    /// The force and torque at the centre that belong to a force on the velocities: the transpose of
    /// [`twist_velocities`](InTree::twist_velocities).
    #[inline]
    fn velocity_load(&self, _r: &Mat3, y: &[f64]) -> (Vec3, Vec3) {
        (Vec3::from_slice(y), Vec3::ZERO)
    }
}

impl InTree for Rigid {
    fn carries(&self) -> bool {
        true
    }
    fn central_inertia(&self) -> CentralInertia {
        CentralInertia::Space(*self.inertia())
    }
    fn place(&self, p: Vec3, r: &Mat3, _angle: f64, q: &mut [f64], centre: Option<&mut Quat>) {
        place_in_space(p, r, q, centre);
    }
    #[inline]
    fn twist_velocities(&self, r: &Mat3, v: Vec3, w: Vec3, out: &mut [f64]) {
        out[..3].copy_from_slice(&v.0);
        out[3..6].copy_from_slice(&r.transpose_times(w).0);
    }
    #[inline]
    fn velocity_load(&self, r: &Mat3, y: &[f64]) -> (Vec3, Vec3) {
        (Vec3::from_slice(&y[..3]), *r * Vec3::from_slice(&y[3..6]))
    }
}

impl InTree for Planar {
    fn carries(&self) -> bool {
        true
    }
    fn central_inertia(&self) -> CentralInertia {
        CentralInertia::Plane(self.inertia())
    }
    fn place(&self, p: Vec3, _r: &Mat3, angle: f64, q: &mut [f64], _centre: Option<&mut Quat>) {
        q.copy_from_slice(&[p[0], p[1], angle]);
    }
    #[inline]
    fn twist_velocities(&self, _r: &Mat3, v: Vec3, w: Vec3, out: &mut [f64]) {
        out.copy_from_slice(&[v[0], v[1], w[2]]);
    }
    #[inline]
    fn velocity_load(&self, _r: &Mat3, y: &[f64]) -> (Vec3, Vec3) {
        (Vec3::new(y[0], y[1], 0.0), Vec3::Z * y[2])
    }
}

impl InTree for PointMass {}

impl InTree for Rod {
    fn carries(&self) -> bool {
        self.dimension() == 2
    }
    fn replacement(&self) -> Option<Body> {
        (self.dimension() == 2).then(|| Body::Planar(self.rigid()))
    }
    fn angle_wraps(&self) -> bool {
        true
    }
}

impl InTree for Flexible {
    fn flexible(&self) -> Option<&Flexible> {
        Some(self)
    }
    fn carries(&self) -> bool {
        true
    }
    fn place(&self, p: Vec3, r: &Mat3, angle: f64, q: &mut [f64], centre: Option<&mut Quat>) {
        match self.structure().dimension {
            2 => q[..3].copy_from_slice(&[p[0], p[1], angle]),
            _ => place_in_space(p, r, q, centre),
        }
    }
    fn twist_velocities(&self, r: &Mat3, v: Vec3, w: Vec3, out: &mut [f64]) {
        match self.structure().dimension {
            2 => out[..3].copy_from_slice(&[v[0], v[1], w[2]]),
            _ => {
                out[..3].copy_from_slice(&v.0);
                out[3..6].copy_from_slice(&r.transpose_times(w).0);
            }
        }
    }
    fn velocity_load(&self, r: &Mat3, y: &[f64]) -> (Vec3, Vec3) {
        match self.structure().dimension {
            2 => (Vec3::new(y[0], y[1], 0.0), Vec3::Z * y[2]),
            _ => (Vec3::from_slice(&y[..3]), *r * Vec3::from_slice(&y[3..6])),
        }
    }
}

/// A position and the rotation in the chart's centre.
fn place_in_space(p: Vec3, r: &Mat3, q: &mut [f64], centre: Option<&mut Quat>) {
    q[..3].copy_from_slice(&p.0);
    q[3..6].fill(0.0);
    if let Some(c) = centre {
        // of the two quaternions the one that is nearer to the last
        let new = Quat::from_matrix(r);
        let along: f64 = new.0.iter().zip(c.0).map(|(a, b)| a * b).sum();
        *c = if along < 0.0 { Quat(new.0.map(|x| -x)) } else { new };
    }
}
