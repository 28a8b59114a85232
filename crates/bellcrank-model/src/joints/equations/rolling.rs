//! Contact without slip: knife edges and rolling disks.

use super::Equation;
use crate::frames::{ANG, Covector, Frames, LIN, Row, Stiffness};
use crate::joints::{X, Y, Z};
use crate::space::Space;
use bellcrank_math::{Mat3, Vec3};

/// Where the second body touches the first: the velocity there of one against the other,
/// u = v₂ + ω₂×ρ − v₁ − ω₁×(d + ρ).
struct RollingContact {
    /// p₂ − p₁.
    d: Vec3,
    /// From p₂ to the contact.
    rho: Vec3,
    /// ∂ρ/∂δ for rotations δ of both frames.
    rho_by: [Mat3; 2],
}

impl RollingContact {
    /// The row τ·u.
    fn row(&self, tau: Vec3) -> Row {
        let mut row = Row::default();
        row[0] = Covector::new(-tau, tau.cross(self.d + self.rho));
        row[1] = Covector::new(tau, self.rho.cross(tau));
        row
    }

    /// Adds the change of the loads of a force `f` at the contact, which itself changes by `f_by` with
    /// rotations of both frames.
    fn stiffness(&self, f: Vec3, f_by: [Mat3; 2], k: &mut Stiffness) {
        let (f, rho, arm) = (f.tilde(), self.rho.tilde(), (self.d + self.rho).tilde());
        k.add(0, ANG, 1, LIN, f);
        k.add(0, ANG, 0, LIN, -f);
        for (j, (f_by, rho_by)) in f_by.into_iter().zip(self.rho_by).enumerate() {
            k.add(1, LIN, j, ANG, f_by);
            k.add(0, LIN, j, ANG, -f_by);
            k.add(1, ANG, j, ANG, rho * f_by - f * rho_by);
            k.add(0, ANG, j, ANG, f * rho_by - arm * f_by);
        }
    }
}

/// a₂·u = 0: no velocity of the second point, seen from the first body, along axis a of the second.
pub struct NoSlipAlong {
    axis: usize,
}

/// The second point does not move along axis `axis` of its own frame, as seen from the first body.
pub fn no_slip_along(axis: usize) -> Box<dyn Equation> {
    Box::new(NoSlipAlong { axis })
}

impl NoSlipAlong {
    fn contact(at: &Frames) -> RollingContact {
        RollingContact { d: at.ends[1].p - at.ends[0].p, rho: Vec3::ZERO, rho_by: [Mat3::ZERO; 2] }
    }
}

impl Equation for NoSlipAlong {
    fn rows(&self) -> usize {
        1
    }
    fn holonomic(&self) -> bool {
        false
    }
    fn value(&self, _at: &Frames, _g: &mut [f64]) {}
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        rows[0] = NoSlipAlong::contact(at).row(at.ends[1].axis(self.axis));
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        let f = at.ends[1].axis(self.axis) * lambda[0];
        NoSlipAlong::contact(at).stiffness(f, [Mat3::ZERO, -f.tilde()], k);
    }
}

/// A disk of radius r about z of the second frame on the plane normal to z of the first.
///
/// With n = z₁, a = z₂ and w = n − (n·a) a the lowest point of the rim is at ρ = −r w/|w| from the
/// centre. It touches where n·(p₂ − p₁) − r|w| = 0, and it rolls where its velocity u has no part along
/// x₁, y₁; the part along n is the rate of the former.
pub struct Roll {
    radius: f64,
    slip: bool,
}

/// A disk touches a plane: one row, whose λ is the force of contact.
pub fn touch(radius: f64) -> Box<dyn Equation> {
    Box::new(Roll { radius, slip: false })
}

/// A disk that touches a plane does not slip on it: two velocity rows.
pub fn roll(radius: f64) -> Box<dyn Equation> {
    Box::new(Roll { radius, slip: true })
}

impl Roll {
    /// The axes of the first frame along which there is no motion.
    fn axes(&self) -> &'static [usize] {
        if self.slip { &[X, Y] } else { &[Z] }
    }

    fn contact(&self, at: &Frames) -> RollingContact {
        let (n, a) = (at.ends[0].axis(Z), at.ends[1].axis(Z));
        let lean = n.dot(a);
        let w = n - a * lean;
        let s = w.norm().max(FLAT);
        let e = w * (1.0 / s);
        let across = (Mat3::IDENTITY - e.outer(e)) * (-self.radius / s);
        let by_plane = (a.outer(a) - Mat3::IDENTITY) * n.tilde();
        let by_disk = (a.outer(n) + Mat3::IDENTITY * lean) * a.tilde();
        RollingContact {
            d: at.ends[1].p - at.ends[0].p,
            rho: e * -self.radius,
            rho_by: [across * by_plane, across * by_disk],
        }
    }
}

/// A sphere about the second point that does not slip on the plane through the first, normal to z (in the plane: y) of its frame.
struct SphereRolls {
    radius: f64,
    space: Space,
}

/// A sphere does not slip on a plane of the first body: two velocity rows, in the plane one.
pub fn no_slip_on_plane(radius: f64, space: Space) -> Box<dyn Equation> {
    Box::new(SphereRolls { radius, space })
}

impl SphereRolls {
    fn axes(&self) -> &'static [usize] {
        if self.space == Space::Plane { &[X] } else { &[X, Y] }
    }

    fn contact(&self, at: &Frames) -> RollingContact {
        let n = at.ends[0].axis(if self.space == Space::Plane { Y } else { Z });
        let rho_by = [n.tilde() * self.radius, Mat3::ZERO];
        RollingContact { d: at.ends[1].p - at.ends[0].p, rho: n * -self.radius, rho_by }
    }
}

impl Equation for SphereRolls {
    fn rows(&self) -> usize {
        self.axes().len()
    }
    fn holonomic(&self) -> bool {
        false
    }
    fn value(&self, _at: &Frames, _g: &mut [f64]) {}
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        let contact = self.contact(at);
        for (row, axis) in rows.iter_mut().zip(self.axes()) {
            *row = contact.row(at.ends[0].axis(*axis));
        }
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        let mut f = Vec3::ZERO;
        for (axis, l) in self.axes().iter().zip(lambda) {
            f += at.ends[0].axis(*axis) * *l;
        }
        self.contact(at).stiffness(f, [-f.tilde(), Mat3::ZERO], k);
    }
}

/// The sine of the lean below which a disk lies flat and touches everywhere.
const FLAT: f64 = 1e-12;

impl Equation for Roll {
    fn rows(&self) -> usize {
        self.axes().len()
    }
    fn holonomic(&self) -> bool {
        !self.slip
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        if !self.slip {
            let c = self.contact(at);
            g[0] = at.ends[0].axis(Z).dot(c.d + c.rho);
        }
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        let contact = self.contact(at);
        for (row, axis) in rows.iter_mut().zip(self.axes()) {
            *row = contact.row(at.ends[0].axis(*axis));
        }
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        let mut f = Vec3::ZERO;
        for (axis, l) in self.axes().iter().zip(lambda) {
            f += at.ends[0].axis(*axis) * *l;
        }
        self.contact(at).stiffness(f, [-f.tilde(), Mat3::ZERO], k);
    }
}
