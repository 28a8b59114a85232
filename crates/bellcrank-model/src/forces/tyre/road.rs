//! The road under a wheel, and where a disk touches it.

use crate::dual::{Dual, DualVec};
use crate::file::{Expression, Jet};
use bellcrank_math::Vec3;

/// The height z = f(x, y) of a road in its own frame; flat where there is none.
pub struct Road {
    /// f.
    pub height: Option<Expression>,
    /// Whether it is f(x, −y).
    pub mirrored: bool,
}

/// f with its first and second derivatives.
#[derive(Clone, Copy, Default)]
struct Height {
    f: f64,
    slope: [f64; 2],
    /// f_xx, f_xy and f_yy.
    second: [f64; 3],
}

/// Corrections of the point of contact: two or three do on a smooth road.
const CORRECTIONS: usize = 30;

/// A correction that is none, in m.
const CLOSE: f64 = 1e-13;

/// Where a disk is nearest to the road, in the road's frame.
pub struct Foot<const N: usize> {
    /// From the disk's centre to the road.
    pub arm: DualVec<N>,
    /// The unit normal of the road.
    pub normal: DualVec<N>,
}

impl Road {
    /// The sign of y in f.
    pub fn side(&self) -> f64 {
        if self.mirrored { -1.0 } else { 1.0 }
    }

    fn height(&self, x: f64, y: f64) -> Height {
        let Some(f) = &self.height else { return Height::default() };
        let side = self.side();
        let y = side * y;
        // derivatives along x, along y and along both
        let along = |a: f64, b: f64| {
            f.jet_of(&[Jet { value: x, rate: a, second: 0.0 }, Jet { value: y, rate: b, second: 0.0 }])
        };
        let (by_x, by_y, both) = (along(1.0, 0.0), along(0.0, 1.0), along(1.0, 1.0));
        let mixed = 0.5 * (both.second - by_x.second - by_y.second);
        Height { f: by_x.value, slope: [by_x.rate, side * by_y.rate], second: [by_x.second, side * mixed, by_y.second] }
    }

    /// The point X of the road that lies in the plane of a disk about p with the axis a, nearest to p:
    /// a·(X − p) = 0 and (X − p)·(a×n) = 0.
    ///
    /// Newton's method finds it from below the centre, at once on a flat road; one more correction of numbers with
    /// derivatives gives the derivatives of X.
    pub fn foot<const N: usize>(&self, p: DualVec<N>, a: DualVec<N>) -> Foot<N> {
        let (mut x, mut y) = (p.0[0].x, p.0[1].x);
        let (p0, a0) = (DualVec::<0>::constant(p.value()), DualVec::<0>::constant(a.value()));
        for _ in 0..CORRECTIONS {
            let at = self.height(x, y);
            let [dx, dy] = correction(&at, [x, y], p0, a0).map(|d| d.x);
            (x, y) = (x + dx, y + dy);
            let step = dx.abs() + dy.abs();
            if self.height.is_none() || step.is_nan() || step <= CLOSE * (1.0 + x.abs() + y.abs()) {
                break; // a flat road needs one correction
            }
        }
        let at = self.height(x, y);
        let [dx, dy] = correction(&at, [x, y], p, a);
        let (h, g) = (at.second, at.slope);
        let along = |value: f64, by_x: f64, by_y: f64| dx * by_x + dy * by_y + value;
        let point = DualVec([dx + x, dy + y, along(at.f, g[0], g[1])]);
        let (fx, fy) = (along(g[0], h[0], h[1]), along(g[1], h[1], h[2]));
        let normal = DualVec([-fx, -fy, Dual::constant(1.0)]);
        Foot { arm: point - p, normal: normal * (Dual::constant(1.0) / normal.norm()) }
    }
}

/// The correction of a point of the road towards the foot.
fn correction<const N: usize>(at: &Height, [x, y]: [f64; 2], p: DualVec<N>, a: DualVec<N>) -> [Dual<N>; 2] {
    let normal = Vec3::new(-at.slope[0], -at.slope[1], 1.0);
    let arm = DualVec::constant(Vec3::new(x, y, at.f)) - p;
    let in_plane = a.dot(arm);
    let nearest = arm.dot(a.cross(DualVec::constant(normal)));
    // the matrix of the two conditions, by x and by y
    let (a, arm) = (a.value(), arm.value());
    let tangent = a.cross(normal);
    let column = |along: Vec3, turn: Vec3| [a.dot(along), along.dot(tangent) + arm.dot(a.cross(turn))];
    let [m00, m10] = column(Vec3::new(1.0, 0.0, at.slope[0]), Vec3::new(-at.second[0], -at.second[1], 0.0));
    let [m01, m11] = column(Vec3::new(0.0, 1.0, at.slope[1]), Vec3::new(-at.second[1], -at.second[2], 0.0));
    let over = -1.0 / (m00 * m11 - m01 * m10);
    [(in_plane * m11 - nearest * m01) * over, (nearest * m00 - in_plane * m10) * over]
}
