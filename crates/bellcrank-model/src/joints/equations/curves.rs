//! Points, rollers and flat faces on curves.

use super::Equation;
use crate::dynamics::Limit;
use crate::frames::{ANG, Covector, Frames, LIN, Row, Stiffness};
use crate::profile::Profile;
use bellcrank_math::{Mat3, Vec3};
use std::sync::Arc;

/// A function of the second point as the first frame sees it, y = R₁ᵀ(p₂ − p₁), in the world: its value, gradient and second
/// derivative.
pub struct SignedDistance {
    /// The value.
    pub value: f64,
    /// ∂/∂y.
    pub slope: Vec3,
    /// ∂²/∂y².
    pub bend: Mat3,
}

impl SignedDistance {
    /// The row of G: slope·(δp₂ − δp₁ − θ₁×d).
    fn row(&self, d: Vec3) -> Row {
        let mut row = Row::default();
        row[0] = Covector::new(-self.slope, self.slope.cross(d));
        row[1] = Covector::new(self.slope, Vec3::ZERO);
        row
    }

    /// How the slope changes with d = p₂ − p₁ and with rotations of the first frame.
    pub fn slope_by(&self, d: Vec3) -> [Mat3; 2] {
        [self.bend, self.bend * d.tilde() - self.slope.tilde()]
    }
}

/// Adds the change of the loads λ n on the second point and its opposite on the first frame, given how n changes.
pub fn add_bend(d: Vec3, n: Vec3, n_by: [Mat3; 2], lambda: f64, k: &mut Stiffness) {
    let n_by = n_by.map(|m| m * lambda);
    let (d, n) = (d.tilde(), n.tilde() * lambda);
    for (end, load, m) in [(0, LIN, n_by.map(|m| -m)), (0, ANG, [n - d * n_by[0], -(d * n_by[1])]), (1, LIN, n_by)] {
        k.add(end, load, 0, LIN, -m[0]);
        k.add(end, load, 1, LIN, m[0]);
        k.add(end, load, 0, ANG, m[1]);
    }
}

/// The distance of a point from a curve, seen along z of the curve's frame, counted to one side.
///
/// With the foot c(s), its unit tangent t and normal n to the side: g = n·(y − c), ∂g/∂y = n and ∂²g/∂y² = −κ/(1 − κ g) t tᵀ
/// with the curvature κ towards that side.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The curve, in the first frame.
    pub curve: Arc<Profile>,
    /// 1 to the left of the curve, −1 to its right.
    pub side: f64,
}

impl Beside {
    /// The distance in the world, and the parameter of the foot.
    pub fn distance(&self, at: &[crate::frames::Frame]) -> (SignedDistance, f64) {
        let r = at[0].r;
        let y = r.transpose_times(at[1].p - at[0].p);
        let s = self.curve.foot(y);
        let local = self.curve.at(s);
        let [t, n] = local.directions();
        let n = n * self.side;
        let value = n.dot(y - local.at);
        let bent = self.side * local.curvature();
        let t = r * t;
        (SignedDistance { value, slope: r * n, bend: t.outer(t) * (-bent / (1.0 - bent * value)) }, s)
    }

    /// The height over the curve, y_z − c_z(s) at the foot s, in the world.
    fn height(&self, at: &Frames) -> SignedDistance {
        let r = at.ends[0].r;
        let y = r.transpose_times(at.ends[1].p - at.ends[0].p);
        let s = self.curve.foot(y);
        let l = self.curve.at(s);
        let flat = |v: Vec3| Vec3::new(v[0], v[1], 0.0);
        let (c1, c2, off) = (flat(l.slope), flat(l.bend), flat(y - l.at));
        // c′·(y − c) = 0: ∂s/∂y = c′/D with D = c′² − c″·(y − c)
        let d = c1.dot(c1) - c2.dot(off);
        let by = c1 * (1.0 / d);
        let d_by = by * (3.0 * c1.dot(c2) - flat(self.curve.third(s)).dot(off)) - c2;
        let second = c2.outer(by) * (1.0 / d) - c1.outer(d_by) * (1.0 / (d * d));
        let bend = by.outer(by) * -l.bend[2] - second * l.slope[2];
        SignedDistance { value: y[2] - l.at[2], slope: r * (Vec3::Z - by * l.slope[2]), bend: r * bend * r.transpose() }
    }
}

/// A point, or the middle of a roller, follows a curve: its distance is a radius, and in space its height is the curve's.
pub struct OnCurve {
    beside: Beside,
    radius: f64,
    with_height: bool,
}

/// A point stays on a curve.
pub fn on_curve(curve: Arc<Profile>, with_height: bool) -> Box<dyn Equation> {
    Box::new(OnCurve { beside: Beside { curve, side: 1.0 }, radius: 0.0, with_height })
}

/// A roller stays on a curve.
pub fn roll_on_curve(beside: Beside, radius: f64) -> Box<dyn Equation> {
    Box::new(OnCurve { beside, radius, with_height: false })
}

impl OnCurve {
    fn fields(&self, at: &Frames) -> impl Iterator<Item = SignedDistance> {
        let first = self.beside.distance(at.ends).0;
        let second = self.with_height.then(|| self.beside.height(at));
        std::iter::once(first).chain(second)
    }
}

impl Equation for OnCurve {
    fn rows(&self) -> usize {
        1 + usize::from(self.with_height)
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        g.iter_mut().zip(self.fields(at)).for_each(|(g, field)| *g = field.value);
        g[0] -= self.radius;
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        let d = at.ends[1].p - at.ends[0].p;
        rows.iter_mut().zip(self.fields(at)).for_each(|(row, field)| *row = field.row(d));
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        let d = at.ends[1].p - at.ends[0].p;
        for (field, lambda) in self.fields(at).zip(lambda) {
            add_bend(d, field.slope, field.slope_by(d), *lambda, k);
        }
    }
    fn rotational(&self, end: usize) -> bool {
        end == 0
    }
    fn is_limited(&self) -> bool {
        !self.beside.curve.is_closed()
    }
    fn follows(&self) -> Option<&Arc<Profile>> {
        Some(&self.beside.curve)
    }
    fn parameter(&self, at: &Frames) -> f64 {
        self.beside.distance(at.ends).1
    }
    fn limit(&self, at: &Frames) -> Option<(Limit, f64)> {
        self.is_limited().then(|| (Limit::Range, self.beside.curve.beyond(self.parameter(at))))
    }
}

/// A flat face of the second body on a curve of the first, in the plane: m·(p₂ − p₁) = max over s of m·R₁ c(s).
pub struct FaceOnCurve {
    curve: Arc<Profile>,
    /// The normal of the face, away from the curve, in the second frame.
    normal: Vec3,
}

/// A flat face stays on a curve.
pub fn face_on_curve(curve: Arc<Profile>, normal: Vec3) -> Box<dyn Equation> {
    Box::new(FaceOnCurve { curve, normal })
}

/// Where a face touches: its normal m, d = p₂ − p₁, the contact C from p₁, its tangent and c″ there, and the parameter.
struct FaceTouch {
    m: Vec3,
    d: Vec3,
    c: Vec3,
    tangent: Vec3,
    bend: Vec3,
    s: f64,
}

impl FaceOnCurve {
    fn touch(&self, at: &Frames) -> FaceTouch {
        let (r, m) = (at.ends[0].r, at.ends[1].r * self.normal);
        let s = self.curve.farthest(r.transpose_times(m));
        let local = self.curve.at(s);
        let (c, tangent, bend) = (r * local.at, r * local.slope, r * local.bend);
        FaceTouch { m, d: at.ends[1].p - at.ends[0].p, c, tangent, bend, s }
    }
}

impl Equation for FaceOnCurve {
    fn rows(&self) -> usize {
        1
    }
    fn value(&self, at: &Frames, g: &mut [f64]) {
        let t = self.touch(at);
        g[0] = t.m.dot(t.d - t.c);
    }
    fn jacobian(&self, at: &Frames, rows: &mut [Row]) {
        let t = self.touch(at);
        rows[0][0] = Covector::new(-t.m, t.m.cross(t.c));
        rows[0][1] = Covector::new(t.m, t.m.cross(t.d - t.c));
    }
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness) {
        let t = self.touch(at);
        let (m, off, c) = (t.m.tilde() * lambda[0], (t.d - t.c).tilde(), t.c.tilde());
        // m·R₁c′ = 0 shifts the contact by −(m×c′)·(θ₂ − θ₁)/(m·c″) along the curve
        let shift = t.tangent.outer(t.m.cross(t.tangent)) * (1.0 / t.m.dot(t.bend));
        let c_by = [shift - c, -shift];
        k.add(1, LIN, 1, ANG, -m);
        k.add(0, LIN, 1, ANG, m);
        k.add(1, ANG, 1, ANG, off * m);
        k.add(0, ANG, 1, ANG, c * m);
        k.add(1, ANG, 1, LIN, m);
        k.add(1, ANG, 0, LIN, -m);
        for (j, by) in c_by.into_iter().enumerate() {
            k.add(1, ANG, j, ANG, -(m * by));
            k.add(0, ANG, j, ANG, m * by);
        }
    }
    fn is_limited(&self) -> bool {
        !self.curve.is_closed()
    }
    fn follows(&self) -> Option<&Arc<Profile>> {
        Some(&self.curve)
    }
    fn parameter(&self, at: &Frames) -> f64 {
        self.touch(at).s
    }
    fn limit(&self, at: &Frames) -> Option<(Limit, f64)> {
        self.is_limited().then(|| (Limit::Range, self.curve.beyond(self.parameter(at))))
    }
}
