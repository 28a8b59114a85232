//! Vectors and 3×3 matrices, the leaves of every computation.

use std::ops::{Add, AddAssign, Index, IndexMut, Mul, Neg, Sub, SubAssign};

/// A vector of three numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Vec3(pub [f64; 3]);

/// A 3×3 matrix, by rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mat3(pub [[f64; 3]; 3]);

impl Vec3 {
    /// The zero vector.
    pub const ZERO: Vec3 = Vec3([0.0; 3]);
    /// The first basis vector.
    pub const X: Vec3 = Vec3([1.0, 0.0, 0.0]);
    /// The second basis vector.
    pub const Y: Vec3 = Vec3([0.0, 1.0, 0.0]);
    /// The third basis vector.
    pub const Z: Vec3 = Vec3([0.0, 0.0, 1.0]);

    /// The vector (x, y, z).
    #[inline]
    pub const fn new(x: f64, y: f64, z: f64) -> Vec3 {
        Vec3([x, y, z])
    }

    /// The basis vector `i`.
    #[inline]
    pub fn unit(i: usize) -> Vec3 {
        let mut e = Vec3::ZERO;
        e.0[i] = 1.0;
        e
    }

    /// The first components of a slice of at most three; the rest are zero.
    #[inline]
    pub fn from_slice(s: &[f64]) -> Vec3 {
        let mut a = Vec3::ZERO;
        a.0[..s.len()].copy_from_slice(s);
        a
    }

    /// a · b.
    #[inline]
    pub fn dot(self, b: Vec3) -> f64 {
        self.0[0] * b.0[0] + self.0[1] * b.0[1] + self.0[2] * b.0[2]
    }

    /// a × b.
    #[inline]
    pub fn cross(self, b: Vec3) -> Vec3 {
        let (a, b) = (self.0, b.0);
        Vec3([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
    }

    /// |a|.
    #[inline]
    pub fn norm(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// a / |a|, or `None` for a vector too short to have a direction.
    #[inline]
    pub fn normalized(self) -> Option<Vec3> {
        let n = self.norm();
        (n > 1e-300 && n.is_finite()).then(|| self * (1.0 / n))
    }

    /// A unit vector perpendicular to this one.
    #[inline]
    pub fn any_perpendicular(self) -> Vec3 {
        let smallest = (0..3).min_by(|&i, &j| self.0[i].abs().total_cmp(&self.0[j].abs())).unwrap_or(0);
        self.cross(Vec3::unit(smallest)).normalized().unwrap_or(Vec3::X)
    }

    /// The matrix ã with ã b = a × b.
    #[inline]
    pub fn tilde(self) -> Mat3 {
        let [x, y, z] = self.0;
        Mat3([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    }

    /// The matrix a bᵀ.
    #[inline]
    pub fn outer(self, b: Vec3) -> Mat3 {
        let [x, y, z] = self.0;
        Mat3([(b * x).0, (b * y).0, (b * z).0])
    }
}

impl Mat3 {
    /// The zero matrix.
    pub const ZERO: Mat3 = Mat3([[0.0; 3]; 3]);
    /// The identity.
    pub const IDENTITY: Mat3 = Mat3([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);

    /// The matrix with the given columns.
    #[inline]
    pub fn from_columns(x: Vec3, y: Vec3, z: Vec3) -> Mat3 {
        Mat3([[x[0], y[0], z[0]], [x[1], y[1], z[1]], [x[2], y[2], z[2]]])
    }

    /// The diagonal matrix diag(d).
    #[inline]
    pub fn diagonal(d: Vec3) -> Mat3 {
        Mat3([[d[0], 0.0, 0.0], [0.0, d[1], 0.0], [0.0, 0.0, d[2]]])
    }

    /// The column `j`.
    #[inline]
    pub fn column(&self, j: usize) -> Vec3 {
        Vec3([self.0[0][j], self.0[1][j], self.0[2][j]])
    }

    /// The row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> Vec3 {
        Vec3(self.0[i])
    }

    /// Aᵀ.
    #[inline]
    pub fn transpose(&self) -> Mat3 {
        Mat3::from_columns(self.row(0), self.row(1), self.row(2))
    }

    /// Aᵀ b.
    #[inline]
    pub fn transpose_times(&self, b: Vec3) -> Vec3 {
        self.row(0) * b[0] + self.row(1) * b[1] + self.row(2) * b[2]
    }

    /// det A.
    #[inline]
    pub fn determinant(&self) -> f64 {
        self.row(0).dot(self.row(1).cross(self.row(2)))
    }

    /// A⁻¹, or `None` where the determinant vanishes.
    #[inline]
    pub fn inverse(&self) -> Option<Mat3> {
        let (a, b, c) = (self.row(0), self.row(1), self.row(2));
        let det = self.determinant();
        (det != 0.0 && det.is_finite()).then(|| Mat3::from_columns(b.cross(c), c.cross(a), a.cross(b)) * (1.0 / det))
    }

    /// The sum of the diagonal.
    #[inline]
    pub fn trace(&self) -> f64 {
        self.0[0][0] + self.0[1][1] + self.0[2][2]
    }
}

impl Index<usize> for Vec3 {
    type Output = f64;
    #[inline]
    fn index(&self, i: usize) -> &f64 {
        &self.0[i]
    }
}
impl IndexMut<usize> for Vec3 {
    #[inline]
    fn index_mut(&mut self, i: usize) -> &mut f64 {
        &mut self.0[i]
    }
}
impl Add for Vec3 {
    type Output = Vec3;
    #[inline]
    fn add(self, b: Vec3) -> Vec3 {
        Vec3([self[0] + b[0], self[1] + b[1], self[2] + b[2]])
    }
}
impl Sub for Vec3 {
    type Output = Vec3;
    #[inline]
    fn sub(self, b: Vec3) -> Vec3 {
        Vec3([self[0] - b[0], self[1] - b[1], self[2] - b[2]])
    }
}
impl Neg for Vec3 {
    type Output = Vec3;
    #[inline]
    fn neg(self) -> Vec3 {
        Vec3([-self[0], -self[1], -self[2]])
    }
}
impl Mul<f64> for Vec3 {
    type Output = Vec3;
    #[inline]
    fn mul(self, s: f64) -> Vec3 {
        Vec3([self[0] * s, self[1] * s, self[2] * s])
    }
}
impl AddAssign for Vec3 {
    #[inline]
    fn add_assign(&mut self, b: Vec3) {
        *self = *self + b;
    }
}
impl SubAssign for Vec3 {
    #[inline]
    fn sub_assign(&mut self, b: Vec3) {
        *self = *self - b;
    }
}
impl Add for Mat3 {
    type Output = Mat3;
    #[inline]
    fn add(self, b: Mat3) -> Mat3 {
        Mat3([(self.row(0) + b.row(0)).0, (self.row(1) + b.row(1)).0, (self.row(2) + b.row(2)).0])
    }
}
impl Sub for Mat3 {
    type Output = Mat3;
    #[inline]
    fn sub(self, b: Mat3) -> Mat3 {
        Mat3([(self.row(0) - b.row(0)).0, (self.row(1) - b.row(1)).0, (self.row(2) - b.row(2)).0])
    }
}
impl Neg for Mat3 {
    type Output = Mat3;
    #[inline]
    fn neg(self) -> Mat3 {
        self * -1.0
    }
}
impl AddAssign for Mat3 {
    #[inline]
    fn add_assign(&mut self, b: Mat3) {
        *self = *self + b;
    }
}
impl Mul<f64> for Mat3 {
    type Output = Mat3;
    #[inline]
    fn mul(self, s: f64) -> Mat3 {
        Mat3([(self.row(0) * s).0, (self.row(1) * s).0, (self.row(2) * s).0])
    }
}
impl Mul<Vec3> for Mat3 {
    type Output = Vec3;
    #[inline]
    fn mul(self, b: Vec3) -> Vec3 {
        Vec3([self.row(0).dot(b), self.row(1).dot(b), self.row(2).dot(b)])
    }
}
impl Mul for Mat3 {
    type Output = Mat3;
    #[inline]
    fn mul(self, b: Mat3) -> Mat3 {
        let row = |a: [f64; 3]| (b.row(0) * a[0] + b.row(1) * a[1] + b.row(2) * a[2]).0;
        Mat3([row(self.0[0]), row(self.0[1]), row(self.0[2])])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_agree_with_their_definitions() {
        let (a, b) = (Vec3::new(1.0, -2.0, 0.5), Vec3::new(0.3, 4.0, -1.0));
        assert_eq!(a.tilde() * b, a.cross(b));
        assert_eq!(a.outer(b) * b, a * b.dot(b));
        let m = Mat3([[2.0, 1.0, 0.0], [0.5, -1.0, 3.0], [1.0, 0.0, 1.0]]);
        let unit = m * m.inverse().unwrap();
        for i in 0..3 {
            assert!((unit.row(i) - Vec3::unit(i)).norm() < 1e-15);
        }
        assert_eq!(m.transpose_times(a), m.transpose() * a);
        assert!(a.any_perpendicular().dot(a).abs() < 1e-15);
        assert_eq!(Mat3([[1.0; 3]; 3]).inverse(), None);
    }
}
