//! Numbers with derivatives by several variables: a law is written once, and differentiates itself exactly.

use crate::frames::{Frame, LIN, Stiffness};
use bellcrank_math::{Mat3, Vec3};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number with its derivatives by N variables; with N = 0 a plain number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<const N: usize> {
    /// The number.
    pub x: f64,
    /// Its derivatives.
    pub d: [f64; N],
}

impl<const N: usize> Dual<N> {
    /// A number that depends on nothing.
    #[inline]
    pub fn constant(x: f64) -> Dual<N> {
        Dual { x, d: [0.0; N] }
    }

    /// Variable `k`, if there are so many.
    #[inline]
    pub fn variable(x: f64, k: usize) -> Dual<N> {
        let mut out = Dual::constant(x);
        if let Some(d) = out.d.get_mut(k) {
            *d = 1.0;
        }
        out
    }

    /// f(x) from f and f′.
    #[inline]
    pub fn chain(self, f: f64, slope: f64) -> Dual<N> {
        Dual { x: f, d: self.d.map(|d| slope * d) }
    }

    /// f(x, y) from f and its slopes.
    #[inline]
    pub fn chain2(self, y: Dual<N>, f: f64, slopes: [f64; 2]) -> Dual<N> {
        Dual { x: f, d: std::array::from_fn(|k| slopes[0] * self.d[k] + slopes[1] * y.d[k]) }
    }

    /// √x; at zero with the slope zero, for lengths that appear times themselves.
    pub fn sqrt(self) -> Dual<N> {
        let root = self.x.sqrt();
        self.chain(root, if root > 0.0 { 0.5 / root } else { 0.0 })
    }
    /// |x|.
    pub fn abs(self) -> Dual<N> {
        if self.x < 0.0 { -self } else { self }
    }
    /// sin x.
    pub fn sin(self) -> Dual<N> {
        self.chain(self.x.sin(), self.x.cos())
    }
    /// cos x.
    pub fn cos(self) -> Dual<N> {
        self.chain(self.x.cos(), -self.x.sin())
    }
    /// atan x.
    pub fn atan(self) -> Dual<N> {
        self.chain(self.x.atan(), 1.0 / (1.0 + self.x * self.x))
    }
    /// eˣ.
    pub fn exp(self) -> Dual<N> {
        let f = self.x.exp();
        self.chain(f, f)
    }
    /// √(x² + y²).
    pub fn hypot(self, y: Dual<N>) -> Dual<N> {
        let r = self.x.hypot(y.x);
        let over = if r > 0.0 { 1.0 / r } else { 0.0 };
        self.chain2(y, r, [self.x * over, y.x * over])
    }
}

impl<const N: usize> Add for Dual<N> {
    type Output = Dual<N>;
    #[inline]
    fn add(self, y: Dual<N>) -> Dual<N> {
        self.chain2(y, self.x + y.x, [1.0, 1.0])
    }
}

impl<const N: usize> Sub for Dual<N> {
    type Output = Dual<N>;
    #[inline]
    fn sub(self, y: Dual<N>) -> Dual<N> {
        self.chain2(y, self.x - y.x, [1.0, -1.0])
    }
}

impl<const N: usize> Mul for Dual<N> {
    type Output = Dual<N>;
    #[inline]
    fn mul(self, y: Dual<N>) -> Dual<N> {
        self.chain2(y, self.x * y.x, [y.x, self.x])
    }
}

impl<const N: usize> Div for Dual<N> {
    type Output = Dual<N>;
    #[inline]
    fn div(self, y: Dual<N>) -> Dual<N> {
        let f = self.x / y.x;
        self.chain2(y, f, [1.0 / y.x, -f / y.x])
    }
}

impl<const N: usize> Neg for Dual<N> {
    type Output = Dual<N>;
    #[inline]
    fn neg(self) -> Dual<N> {
        self.chain(-self.x, -1.0)
    }
}

impl<const N: usize> Add<f64> for Dual<N> {
    type Output = Dual<N>;
    #[inline]
    fn add(self, y: f64) -> Dual<N> {
        Dual { x: self.x + y, d: self.d }
    }
}

impl<const N: usize> Sub<f64> for Dual<N> {
    type Output = Dual<N>;
    #[inline]
    fn sub(self, y: f64) -> Dual<N> {
        Dual { x: self.x - y, d: self.d }
    }
}

impl<const N: usize> Mul<f64> for Dual<N> {
    type Output = Dual<N>;
    #[inline]
    fn mul(self, y: f64) -> Dual<N> {
        self.chain(self.x * y, y)
    }
}

/// A vector of such numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualVec<const N: usize>(pub [Dual<N>; 3]);

impl<const N: usize> DualVec<N> {
    /// A vector that depends on nothing.
    pub fn constant(v: Vec3) -> DualVec<N> {
        DualVec(v.0.map(Dual::constant))
    }
    /// The vector whose components are the variables from `first` on.
    pub fn variables(v: Vec3, first: usize) -> DualVec<N> {
        DualVec(std::array::from_fn(|i| Dual::variable(v[i], first + i)))
    }
    /// A vector that is fixed to a frame whose rotation is the variables from `first` on: δa = δ × a.
    pub fn turned(a: Vec3, first: usize) -> DualVec<N> {
        let mut out = DualVec::constant(a);
        for j in 0..3 {
            let mut e = Vec3::ZERO;
            e[j] = 1.0;
            let moved = e.cross(a);
            for (i, component) in out.0.iter_mut().enumerate() {
                if let Some(d) = component.d.get_mut(first + j) {
                    *d = moved[i];
                }
            }
        }
        out
    }
    /// Its numbers.
    pub fn value(&self) -> Vec3 {
        Vec3(self.0.map(|x| x.x))
    }
    /// a·b.
    pub fn dot(self, b: DualVec<N>) -> Dual<N> {
        self.0[0] * b.0[0] + self.0[1] * b.0[1] + self.0[2] * b.0[2]
    }
    /// a×b.
    pub fn cross(self, b: DualVec<N>) -> DualVec<N> {
        let (a, b) = (self.0, b.0);
        DualVec([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
    }
    /// |a|.
    pub fn norm(self) -> Dual<N> {
        self.dot(self).sqrt()
    }
    /// The vectors `axes` with these components.
    pub fn along(self, axes: [DualVec<N>; 3]) -> DualVec<N> {
        axes[0] * self.0[0] + axes[1] * self.0[1] + axes[2] * self.0[2]
    }
    /// How fast it changes where the variables do at these rates.
    pub fn rate(&self, of: &[f64; N]) -> Vec3 {
        Vec3(self.0.map(|x| x.d.iter().zip(of).map(|(d, rate)| d * rate).sum()))
    }
    /// Its derivatives by the three variables from `first` on, by columns.
    fn by(&self, first: usize) -> Mat3 {
        let row = |i: usize| std::array::from_fn(|j| self.0[i].d.get(first + j).copied().unwrap_or(0.0));
        Mat3([row(0), row(1), row(2)])
    }
}

impl<const N: usize> Add for DualVec<N> {
    type Output = DualVec<N>;
    fn add(self, b: DualVec<N>) -> DualVec<N> {
        DualVec(std::array::from_fn(|i| self.0[i] + b.0[i]))
    }
}

impl<const N: usize> Sub for DualVec<N> {
    type Output = DualVec<N>;
    fn sub(self, b: DualVec<N>) -> DualVec<N> {
        DualVec(std::array::from_fn(|i| self.0[i] - b.0[i]))
    }
}

impl<const N: usize> Neg for DualVec<N> {
    type Output = DualVec<N>;
    fn neg(self) -> DualVec<N> {
        DualVec(self.0.map(|x| -x))
    }
}

impl<const N: usize> Mul<Dual<N>> for DualVec<N> {
    type Output = DualVec<N>;
    fn mul(self, s: Dual<N>) -> DualVec<N> {
        DualVec(self.0.map(|x| x * s))
    }
}

impl<const N: usize> Mul<f64> for DualVec<N> {
    type Output = DualVec<N>;
    fn mul(self, s: f64) -> DualVec<N> {
        DualVec(self.0.map(|x| x * s))
    }
}

/// A frame of an element as a function of its displacement and its twist.
///
/// The variables of two ends: for each the displacement and the rotation, then for each the velocity and the angular velocity.
pub struct DualFrame<const N: usize> {
    /// Its origin.
    pub p: DualVec<N>,
    /// Its axes.
    pub axes: [DualVec<N>; 3],
    /// Velocity of its origin.
    pub v: DualVec<N>,
    /// Angular velocity.
    pub w: DualVec<N>,
}

/// Variables of the displacements of two ends, and as many of their twists.
pub const DISPLACEMENTS: usize = 12;
/// All variables of two ends.
pub const OF_TWO: usize = 2 * DISPLACEMENTS;

impl<const N: usize> DualFrame<N> {
    /// Frame `end` of two.
    pub fn of(frame: &Frame, end: usize) -> DualFrame<N> {
        let (move_, twist) = (6 * end, DISPLACEMENTS + 6 * end);
        DualFrame {
            p: DualVec::variables(frame.p, move_),
            axes: [0, 1, 2].map(|i| DualVec::turned(frame.axis(i), move_ + 3)),
            v: DualVec::variables(frame.v, twist),
            w: DualVec::variables(frame.w, twist + 3),
        }
    }
}

/// Adds the derivatives of the loads on two ends (force and torque of each) by displacements to `k`, by twists to `d`.
pub fn add_stiffness<const N: usize>(loads: &[[DualVec<N>; 2]; 2], k: &mut Stiffness, d: &mut Stiffness) {
    for (i, load) in loads.iter().enumerate() {
        for (l, part) in load.iter().enumerate() {
            for j in 0..2 {
                for motion in 0..2 {
                    let first = 6 * j + if motion == LIN { 0 } else { 3 };
                    k.add(i, l, j, motion, part.by(first));
                    d.add(i, l, j, motion, part.by(DISPLACEMENTS + first));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_differences() {
        let f = |x: f64, y: f64, seeds: bool| -> Dual<2> {
            let (x, y) = if seeds {
                (Dual::variable(x, 0), Dual::variable(y, 1))
            } else {
                (Dual::constant(x), Dual::constant(y))
            };
            let a = (x * y).sin() / (y + 2.0) - x.hypot(y) * 0.3;
            (a.atan().exp() + (x * x + 1.0).sqrt()).cos() * (x - y).abs()
        };
        let h = 1e-6;
        for (x, y) in [(0.3, 0.7), (-1.2, 0.4), (0.9, -0.8)] {
            let at = f(x, y, true);
            let by_x = (f(x + h, y, false).x - f(x - h, y, false).x) / (2.0 * h);
            let by_y = (f(x, y + h, false).x - f(x, y - h, false).x) / (2.0 * h);
            assert!((at.d[0] - by_x).abs() < 1e-8 && (at.d[1] - by_y).abs() < 1e-8, "{x} {y}: {at:?} {by_x} {by_y}");
        }
        let a: DualVec<3> = DualVec::turned(Vec3::new(1.0, 2.0, 3.0), 0);
        let b: DualVec<3> = DualVec::turned(Vec3::new(-0.4, 0.3, 2.0), 0);
        // products of what turns together: the dot product stays, the cross product turns along
        assert!(a.dot(b).d.iter().all(|d| d.abs() < 1e-14));
        assert_eq!(a.cross(b).by(0), DualVec::<3>::turned(a.value().cross(b.value()), 0).by(0));
    }
}
