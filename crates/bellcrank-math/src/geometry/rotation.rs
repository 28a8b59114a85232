//! Rotations: unit quaternions, and the chart of rotation vectors the integrators work in.
//!
//! A pose is held as R = R_c exp(φ̃) with a centre R_c and three chart coordinates φ. With the
//! angular velocity ω in the body frame, ω = T(φ) φ̇ and φ̇ = N(φ) ω, N = T⁻¹
//! [Simo & Vu-Quoc 1988; Brüls, Cardona & Arnold 2012].

use crate::{Mat3, Vec3};

/// A unit quaternion (w, x, y, z), body to world.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Quat(pub [f64; 4]);

impl Default for Quat {
    fn default() -> Quat {
        Quat::IDENTITY
    }
}

impl Quat {
    /// No rotation.
    pub const IDENTITY: Quat = Quat([1.0, 0.0, 0.0, 0.0]);

    /// The rotation by the vector φ: |φ| radians about φ.
    #[inline]
    pub fn exp(phi: Vec3) -> Quat {
        let half = 0.5 * phi.norm();
        let v = phi * (0.5 * sinc(half));
        Quat([half.cos(), v[0], v[1], v[2]])
    }

    /// The rotation vector of least angle, |φ| ≤ π.
    #[inline]
    pub fn log(self) -> Vec3 {
        let [w, x, y, z] = if self.0[0] < 0.0 { self.0.map(|c| -c) } else { self.0 };
        let v = Vec3([x, y, z]);
        let s = v.norm();
        // atan2(s, w)/s → 1/w as s → 0
        let half_over_s = if s < 1e-8 { 1.0 / w } else { s.atan2(w) / s };
        v * (2.0 * half_over_s)
    }

    /// The rotation `self` after `b`: x ↦ self(b(x)).
    #[inline]
    pub fn then(self, b: Quat) -> Quat {
        let ([aw, ax, ay, az], [bw, bx, by, bz]) = (self.0, b.0);
        Quat([
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ])
        .normalized()
    }

    /// The inverse rotation.
    #[inline]
    pub fn conjugate(self) -> Quat {
        let [w, x, y, z] = self.0;
        Quat([w, -x, -y, -z])
    }

    /// The same rotation with |q| = 1.
    #[inline]
    pub fn normalized(self) -> Quat {
        let n = self.0.iter().map(|c| c * c).sum::<f64>().sqrt();
        Quat(self.0.map(|c| c / n))
    }

    /// The rotation matrix.
    #[inline]
    pub fn matrix(self) -> Mat3 {
        let [w, x, y, z] = self.0;
        Mat3([
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ])
    }

    /// The quaternion of a rotation matrix (by its largest component, hence without cancellation).
    #[inline]
    pub fn from_matrix(r: &Mat3) -> Quat {
        let m = &r.0;
        let t = r.trace();
        let squares = [t, m[0][0], m[1][1], m[2][2]];
        let largest = (0..4).max_by(|&i, &j| squares[i].total_cmp(&squares[j])).unwrap_or(0);
        let q = match largest {
            0 => [1.0 + t, m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]],
            1 => [m[2][1] - m[1][2], 1.0 + 2.0 * m[0][0] - t, m[0][1] + m[1][0], m[0][2] + m[2][0]],
            2 => [m[0][2] - m[2][0], m[0][1] + m[1][0], 1.0 + 2.0 * m[1][1] - t, m[1][2] + m[2][1]],
            _ => [m[1][0] - m[0][1], m[0][2] + m[2][0], m[1][2] + m[2][1], 1.0 + 2.0 * m[2][2] - t],
        };
        Quat(q).normalized()
    }
}

/// φ̃².
#[inline]
fn tilde_squared(phi: Vec3) -> Mat3 {
    let [x, y, z] = phi.0;
    Mat3([[-z * z - y * y, x * y, x * z], [x * y, -z * z - x * x, y * z], [x * z, y * z, -y * y - x * x]])
}

/// The rotation matrix exp(φ̃), by the formula of Rodrigues.
#[inline]
pub fn exp(phi: Vec3) -> Mat3 {
    let c = Coefficients::at(phi);
    Mat3::IDENTITY + phi.tilde() * c.sinc + tilde_squared(phi) * c.a
}

/// T(φ) with ω = T(φ) φ̇ in the body frame: T = I − a φ̃ + b φ̃².
#[inline]
pub fn tangent(phi: Vec3) -> Mat3 {
    let Coefficients { a, b, .. } = Coefficients::at(phi);
    Mat3::IDENTITY - phi.tilde() * a + tilde_squared(phi) * b
}

/// N(φ) = T(φ)⁻¹ with φ̇ = N(φ) ω: N = I + φ̃/2 + c φ̃², c = (1 − (θ/2) cot(θ/2))/θ².
#[inline]
pub fn inverse_tangent(phi: Vec3) -> Mat3 {
    let (c, _) = cotangent(phi.dot(phi));
    Mat3::IDENTITY + phi.tilde() * 0.5 + tilde_squared(phi) * c
}

/// ∂(N(φ) w)/∂φ with w held fixed.
#[inline]
pub fn inverse_tangent_derivative(phi: Vec3, w: Vec3) -> Mat3 {
    let (c, dc) = cotangent(phi.dot(phi));
    let along = phi.dot(w);
    let square = phi * along - w * phi.dot(phi); // φ̃² w
    (Mat3::IDENTITY * along + phi.outer(w) - w.outer(phi) * 2.0) * c + (square * dc).outer(phi) - w.tilde() * 0.5
}

/// c = (1 − (θ/2) cot(θ/2))/θ² and c′/θ, from θ².
#[inline]
fn cotangent(s: f64) -> (f64, f64) {
    if s < 0.09 {
        // Bernoulli numbers: c = Σ |B₂ₖ| θ^(2k−2)/(2k)!, k ≥ 1
        let c = [
            1.0 / 12.0,
            1.0 / 720.0,
            1.0 / 30240.0,
            1.0 / 1209600.0,
            1.0 / 47900160.0,
            691.0 / 1307674368000.0,
            1.0 / 74724249600.0,
        ];
        let value = c.iter().rev().fold(0.0, |sum, c| sum * s + c);
        let slope = (1..7).rev().fold(0.0, |sum, k| sum * s + 2.0 * k as f64 * c[k]);
        return (value, slope);
    }
    let half = 0.5 * s.sqrt();
    let (sin, cos) = half.sin_cos();
    let value = (1.0 - half * cos / sin) / s;
    let cot_slope = 0.25 * (1.0 / (sin * sin) - cos / (half * sin)); // of −(θ/2) cot(θ/2), over θ
    (value, (cot_slope - 2.0 * value) / s)
}

/// ∂(T(φ) w)/∂φ with w held fixed.
#[inline]
pub fn tangent_derivative(phi: Vec3, w: Vec3) -> Mat3 {
    let Coefficients { a, b, da, db, .. } = Coefficients::at(phi);
    let along = phi.dot(w);
    let cross = phi.cross(w);
    let square = phi * along - w * phi.dot(phi); // φ̃² w
    w.tilde() * a - (cross * da).outer(phi)
        + (Mat3::IDENTITY * along + phi.outer(w) - w.outer(phi) * 2.0) * b
        + (square * db).outer(phi)
}

/// The second derivative of T(φ) w along x and y, with w held fixed.
pub fn tangent_second_derivative(phi: Vec3, w: Vec3, x: Vec3, y: Vec3) -> Vec3 {
    let Coefficients { b, da, db, .. } = Coefficients::at(phi);
    let (dda, ddb) = second_coefficients(phi);
    let (along_x, along_y, xy) = (phi.dot(x), phi.dot(y), x.dot(y));
    let cross = phi.cross(w);
    let twice = |u: Vec3| u.cross(cross) + phi.cross(u.cross(w));
    cross * -(dda * along_x * along_y + da * xy) - (y.cross(w) * along_x + x.cross(w) * along_y) * da
        + phi.cross(cross) * (ddb * along_x * along_y + db * xy)
        + (twice(y) * along_x + twice(x) * along_y) * db
        + (x.cross(y.cross(w)) + y.cross(x.cross(w))) * b
}

/// (a′/θ)′/θ and (b′/θ)′/θ of the [`Coefficients`], at θ = |φ|.
fn second_coefficients(phi: Vec3) -> (f64, f64) {
    let s = phi.dot(phi);
    if s < 0.09 {
        let series = |c: [f64; 6]| c.iter().rev().fold(0.0, |sum, c| sum * s + c);
        let a = [1.0 / 90.0, -1.0 / 1680.0, 1.0 / 75600.0, -1.0 / 5987520.0, 1.0 / 726485760.0, -1.0 / 124540416000.0];
        let b = [
            1.0 / 630.0,
            -1.0 / 15120.0,
            1.0 / 831600.0,
            -1.0 / 77837760.0,
            1.0 / 10897286400.0,
            -1.0 / 2117187072000.0,
        ];
        return (series(a), series(b));
    }
    let Coefficients { sinc, da, db, .. } = Coefficients::at(phi);
    (((s.sqrt().cos() - sinc) / s - 4.0 * da) / s, (da - 5.0 * db) / s)
}

/// sin(x)/x.
#[inline]
fn sinc(x: f64) -> f64 {
    if x.abs() < 1e-4 { 1.0 - x * x / 6.0 } else { x.sin() / x }
}

/// a = (1 − cos θ)/θ², b = (θ − sin θ)/θ³, and their derivatives a′/θ, b′/θ, at θ = |φ|.
struct Coefficients {
    sinc: f64,
    a: f64,
    b: f64,
    da: f64,
    db: f64,
}

impl Coefficients {
    #[inline]
    fn at(phi: Vec3) -> Coefficients {
        let s = phi.dot(phi);
        // below 0.3 rad the closed forms cancel; six terms of the series are exact to 1e-17
        if s < 0.09 {
            let series = |c: [f64; 6]| c.iter().rev().fold(0.0, |sum, c| sum * s + c);
            return Coefficients {
                sinc: series([1.0, -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362880.0, -1.0 / 39916800.0]),
                a: series([0.5, -1.0 / 24.0, 1.0 / 720.0, -1.0 / 40320.0, 1.0 / 3628800.0, -1.0 / 479001600.0]),
                b: series([
                    1.0 / 6.0,
                    -1.0 / 120.0,
                    1.0 / 5040.0,
                    -1.0 / 362880.0,
                    1.0 / 39916800.0,
                    -1.0 / 6227020800.0,
                ]),
                da: series([
                    -1.0 / 12.0,
                    1.0 / 180.0,
                    -1.0 / 6720.0,
                    1.0 / 453600.0,
                    -1.0 / 47900160.0,
                    1.0 / 7264857600.0,
                ]),
                db: series([
                    -1.0 / 60.0,
                    1.0 / 1260.0,
                    -1.0 / 60480.0,
                    1.0 / 4989600.0,
                    -1.0 / 622702080.0,
                    1.0 / 108972864000.0,
                ]),
            };
        }
        let theta = s.sqrt();
        let (sin, cos) = theta.sin_cos();
        let a = (1.0 - cos) / s;
        let b = (theta - sin) / (s * theta);
        Coefficients { sinc: sin / theta, a, b, da: (sin / theta - 2.0 * a) / s, db: (a - 3.0 * b) / s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Vec3> {
        let mut out = vec![Vec3::ZERO];
        for scale in [1e-6, 1e-3, 0.1, 0.299, 0.301, 1.0, 2.5] {
            out.push(Vec3::new(0.6, -0.48, 0.64) * scale);
        }
        out
    }

    fn distance(a: Mat3, b: Mat3) -> f64 {
        (0..3).map(|i| (a.row(i) - b.row(i)).norm()).fold(0.0, f64::max)
    }

    #[test]
    fn exponential_quaternion_and_logarithm_agree() {
        for phi in samples() {
            let q = Quat::exp(phi);
            assert!(distance(q.matrix(), exp(phi)) < 1e-14);
            assert!((q.log() - phi).norm() < 1e-14);
            let again = Quat::from_matrix(&exp(phi));
            assert!((again.log() - phi).norm() < 1e-13);
        }
        let turned = Quat::exp(Vec3::new(3.0, 0.1, -0.2));
        assert!(distance(Quat::from_matrix(&turned.matrix()).matrix(), turned.matrix()) < 1e-14);
        let product = Quat::exp(Vec3::X).then(Quat::exp(Vec3::Y));
        assert!(distance(product.matrix(), exp(Vec3::X) * exp(Vec3::Y)) < 1e-15);
        assert!(distance(product.then(product.conjugate()).matrix(), Mat3::IDENTITY) < 1e-15);
    }

    #[test]
    fn tangent_is_the_body_rate_of_the_exponential() {
        let rate = Vec3::new(0.3, 0.7, -0.4);
        for phi in samples() {
            let h = 1e-5;
            let rotation_rate = (exp(phi + rate * h) - exp(phi - rate * h)) * (0.5 / h);
            let omega = exp(phi).transpose() * rotation_rate;
            let expected = tangent(phi) * rate;
            assert!((Vec3::new(omega.0[2][1], omega.0[0][2], omega.0[1][0]) - expected).norm() < 1e-9);
            assert!(distance(tangent(phi) * inverse_tangent(phi), Mat3::IDENTITY) < 1e-14);
        }
    }

    #[test]
    fn tangent_derivative_agrees_with_differences() {
        let w = Vec3::new(-0.2, 0.9, 0.5);
        for phi in samples() {
            let exact = tangent_derivative(phi, w);
            for j in 0..3 {
                let e = Vec3::unit(j) * 1e-5;
                let difference = (tangent(phi + e) * w - tangent(phi - e) * w) * 0.5e5;
                assert!((exact.column(j) - difference).norm() < 1e-9, "φ = {phi:?}");
                let difference = (inverse_tangent(phi + e) * w - inverse_tangent(phi - e) * w) * 0.5e5;
                assert!((inverse_tangent_derivative(phi, w).column(j) - difference).norm() < 1e-9, "φ = {phi:?}");
                let x = Vec3::new(0.4, -0.3, 0.8);
                let difference = (tangent_derivative(phi + e, w) * x - tangent_derivative(phi - e, w) * x) * 0.5e5;
                let exact = tangent_second_derivative(phi, w, x, Vec3::unit(j));
                assert!((exact - difference).norm() < 1e-9, "φ = {phi:?}");
            }
        }
    }
}
