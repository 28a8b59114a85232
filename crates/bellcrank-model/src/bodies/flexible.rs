//! A flexible body: a floating frame, and deformations that are sums of given modes.
//!
//! A point with the place s₀ in the undeformed body is at p + R s, s = s₀ + Σ ηᵢ φᵢ(s₀). Coordinates are the pose
//! of the frame (as of a rigid body) and the modal coordinates η; velocities (ṗ in the world, ω in the body, η̇).
//! With dm integrated over the body once,
//!
//! ```text
//!     S  = ∫ s dm      = S₀ + Σ ηᵢ Cᵢ          Cᵢ  = ∫ φᵢ dm
//!     Pᵢ = ∫ φᵢ sᵀ dm  = Pᵢ⁰ + Σ ηⱼ Pᵢⱼ        Pᵢⱼ = ∫ φᵢ φⱼᵀ dm
//!     J  = tr Q − Q,   Q = ∫ s sᵀ dm           Aᵢ  = ∫ s × φᵢ dm, the axial vector of Pᵢ
//! ```
//!
//! the mass matrix and all velocity terms are exact to second order in η: nothing of the coupling between large
//! rotation and deformation is left out [Shabana 2013, ch. 5; Schwertassek & Wallrapp 1999]. Strains are linear
//! in η (so there is no geometric stiffening), and sections keep their rotary inertia in the frame's axes.
//!
//! Elements attach to stations. The section there turns by θ = Σ ηᵢ ψᵢ: its axes are R exp(θ̃), and what is off
//! the station by d moves with them, at s + exp(θ̃) d.

use super::structure::quadratic;
use super::{BodyFrame, Coordinates, Structure, planar};
use crate::dynamics::Scale;
use crate::frames::{Attachment, Covector, MAX_WIDTH, RIGIDLY};
use bellcrank_math::{Mat3, Quat, Vec3, rotation};
use std::sync::Arc;

/// The most modes of one body: the rest of a block is its six rigid coordinates.
pub const MAX_MODES: usize = MAX_WIDTH - 6;

/// A place where elements attach.
#[derive(Clone, Debug)]
struct Station {
    /// The point they asked for.
    point: Vec3,
    /// The point of the undeformed body that moves with the modes.
    base: Vec3,
    /// φᵢ and ψᵢ there.
    shapes: Vec<(Vec3, Vec3)>,
}

/// A flexible body in the plane or in space.
#[derive(Clone, Debug)]
pub struct Flexible {
    of: Arc<Structure>,
    stations: Vec<Station>,
}

/// What depends on the deformation: computed once for a point.
#[derive(Clone, Debug, Default)]
pub struct Deformed {
    /// η.
    modal: Vec<f64>,
    /// S.
    first: Vec3,
    /// J, with the rotary inertia of the sections.
    inertia: Mat3,
    /// Pᵢ.
    products: Vec<Mat3>,
    /// Aᵢ, with the sections that turn.
    angular: Vec<Vec3>,
    /// Cholesky's factor of M in the frame's own axes, by rows.
    factor: Vec<f64>,
    /// The stations.
    stations: Vec<Bent>,
}

/// A station of the deformed body.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bent {
    /// Where it is, arm included.
    pub s: Vec3,
    /// exp(θ̃) d.
    pub arm: Vec3,
    pub theta: Vec3,
    /// exp(θ̃).
    pub turn: Mat3,
    /// With which θ̇ becomes the angular velocity against the frame.
    pub tangent: Mat3,
}

/// The axial vector of P = ∫ φ sᵀ dm: ∫ s × φ dm.
fn axial(p: &Mat3) -> Vec3 {
    let m = &p.0;
    Vec3::new(m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1])
}

/// tr P − P: with P = ∫ φ sᵀ dm, ∫ s × (ω × φ) dm = (tr P − P) ω.
fn swung(p: &Mat3) -> Mat3 {
    Mat3::IDENTITY * p.trace() - *p
}

/// ∂(tangent a)/∂θ of the angular velocity in the frame that belongs to θ̇ = a.
pub(super) fn tangent_slope(theta: Vec3, a: Vec3) -> Mat3 {
    -rotation::tangent_derivative(-theta, a)
}

/// The half of the rigid coordinates a vector belongs to.
#[derive(Clone, Copy)]
enum RigidHalf {
    Lin,
    Ang,
}
use RigidHalf::{Ang, Lin};

impl Flexible {
    /// A body of this structure; `None` where its mass matrix is not positive definite.
    pub fn new(of: Structure) -> Option<Flexible> {
        let body = Flexible { of: Arc::new(of), stations: Vec::new() };
        let mut frame = BodyFrame::default();
        body.locate(&vec![0.0; body.width()], Quat::IDENTITY, &mut frame);
        let sound = |d: &Deformed| d.factor.iter().all(|x| x.is_finite());
        frame.deformed.as_deref().is_some_and(sound).then_some(body)
    }

    /// Its constants.
    pub fn structure(&self) -> &Structure {
        &self.of
    }

    /// The number of the station for a point; a new one where there was none.
    pub fn station(&mut self, point: Vec3) -> u32 {
        if let Some(k) = self.stations.iter().position(|s| s.point == point) {
            return k as u32;
        }
        let (base, shapes) = self.of.shapes(point);
        self.stations.push(Station { point, base, shapes });
        self.stations.len() as u32 - 1
    }

    /// Coordinates of the frame, before the modal ones.
    pub fn rigid(&self) -> usize {
        if self.of.dimension == 2 { 3 } else { 6 }
    }

    /// The components of a vector that are coordinates, with their numbers.
    fn components(&self, part: RigidHalf) -> &'static [(usize, usize)] {
        match (self.of.dimension, part) {
            (2, Lin) => &[(0, 0), (1, 1)],
            (2, Ang) => &[(2, 2)],
            (_, Lin) => &[(0, 0), (1, 1), (2, 2)],
            (_, Ang) => &[(0, 3), (1, 4), (2, 5)],
        }
    }

    /// Velocity in the world, angular velocity in the frame, modal rates.
    fn split<'a>(&self, x: &'a [f64]) -> (Vec3, Vec3, &'a [f64]) {
        match self.of.dimension {
            2 => (Vec3::new(x[0], x[1], 0.0), Vec3::Z * x[2], &x[3..]),
            _ => (Vec3::from_slice(&x[..3]), Vec3::from_slice(&x[3..6]), &x[6..]),
        }
    }

    fn add_vector(&self, part: RigidHalf, c: f64, v: Vec3, out: &mut [f64]) {
        self.components(part).iter().for_each(|&(i, k)| out[k] += c * v[i]);
    }

    fn add_block(&self, rows: RigidHalf, columns: RigidHalf, c: f64, m: Mat3, out: &mut [f64]) {
        let n = self.width();
        for &(i, row) in self.components(rows) {
            self.components(columns).iter().for_each(|&(j, column)| out[row * n + column] += c * m.0[i][j]);
        }
    }

    /// Adds to the column of modal coordinate `k`.
    fn add_column(&self, rows: RigidHalf, k: usize, c: f64, v: Vec3, out: &mut [f64]) {
        let n = self.width();
        self.components(rows).iter().for_each(|&(i, row)| out[row * n + self.rigid() + k] += c * v[i]);
    }

    /// Adds to the row of modal coordinate `i`.
    fn add_row(&self, i: usize, columns: RigidHalf, c: f64, v: Vec3, out: &mut [f64]) {
        let n = self.width();
        self.components(columns).iter().for_each(|&(j, column)| out[(self.rigid() + i) * n + column] += c * v[j]);
    }

    fn add_entry(&self, i: usize, k: usize, x: f64, out: &mut [f64]) {
        out[(self.rigid() + i) * self.width() + self.rigid() + k] += x;
    }

    /// What the frame knows of the deformation.
    fn deformed<'a>(&self, frame: &'a BodyFrame) -> &'a Deformed {
        frame.deformed.as_deref().expect("a flexible body was located")
    }

    /// The station of an attachment, with its shapes; what is fixed to the frame itself has none.
    fn at<'a>(&'a self, frame: &'a BodyFrame, on: &Attachment) -> (Bent, &'a [(Vec3, Vec3)]) {
        self.bent_at(self.deformed(frame), on)
    }

    /// The same of a deformation.
    pub(super) fn bent_at(&self, d: &Deformed, on: &Attachment) -> (Bent, &[(Vec3, Vec3)]) {
        if on.node == RIGIDLY {
            let still = Bent { s: on.point, turn: Mat3::IDENTITY, tangent: Mat3::IDENTITY, ..Bent::default() };
            return (still, &[]);
        }
        (d.stations[on.node as usize], &self.stations[on.node as usize].shapes)
    }

    /// The deformation with these modal coordinates, as a tree needs it: without the factor of M.
    pub fn deform(&self, modal: &[f64], d: &mut Deformed) {
        if d.modal != modal || d.stations.len() != self.stations.len() {
            d.modal.clear();
            d.modal.extend_from_slice(modal);
            d.factor.clear();
            self.bend(d);
        }
    }

    /// S and J of the deformed body: its inertia as one rigid body, about the origin of its frame and in its axes.
    pub fn frozen_inertia(&self, d: &Deformed) -> (Vec3, Mat3) {
        (d.first, d.inertia)
    }

    /// Cₖ and Aₖ: the force and the torque at the frame, in its axes, that a unit acceleration of mode `k` takes.
    pub fn coupling(&self, d: &Deformed, k: usize) -> (Vec3, Vec3) {
        (self.of.modes[k].first, d.angular[k])
    }

    /// M (b, α, ξ) with all vectors in the frame's axes: (force, torque), and the modal forces added to `out`.
    fn times(&self, d: &Deformed, c: f64, b: Vec3, alpha: Vec3, xi: &[f64], out: &mut [f64]) -> (Vec3, Vec3) {
        let n = xi.len();
        let mut force = b * self.of.mass + alpha.cross(d.first);
        let mut torque = d.first.cross(b) + d.inertia * alpha;
        for (i, mode) in self.of.modes.iter().enumerate() {
            force += mode.first * xi[i];
            torque += d.angular[i] * xi[i];
            let row = &self.of.modal_mass[i * n..(i + 1) * n];
            let own: f64 = row.iter().zip(xi).map(|(e, x)| e * x).sum();
            out[i] += c * (mode.first.dot(b) + d.angular[i].dot(alpha) + own);
        }
        (force, torque)
    }

    fn bend(&self, d: &mut Deformed) {
        let (of, n) = (&*self.of, self.of.modes.len());
        d.first = of.first;
        let mut second = of.second;
        d.products.clear();
        d.angular.clear();
        for (i, mode) in of.modes.iter().enumerate() {
            let eta = d.modal[i];
            d.first += mode.first * eta;
            let mut p = mode.with_place;
            (0..n).for_each(|j| p += *of.product(i, j) * d.modal[j]);
            // Q = Q₀ + Σ ηᵢ (Pᵢ⁰)ᵀ + Σ ηᵢ Pᵢ
            second += (mode.with_place.transpose() + p) * eta;
            d.angular.push(axial(&p) + mode.rotary);
            d.products.push(p);
        }
        d.inertia = swung(&second) + of.rotary;
        d.stations.resize(self.stations.len(), Bent::default());
        for (bent, station) in d.stations.iter_mut().zip(&self.stations) {
            let (mut s, mut theta) = (station.base, Vec3::ZERO);
            for (eta, (phi, psi)) in d.modal.iter().zip(&station.shapes) {
                s += *phi * *eta;
                theta += *psi * *eta;
            }
            let turn = rotation::exp(theta);
            let arm = turn * (station.point - station.base);
            *bent = Bent { s: s + arm, arm, theta, turn, tangent: rotation::tangent(-theta) };
        }
    }

    /// Cholesky's factor of M in the frame's axes; not finite where M is not positive definite.
    fn factor(&self, d: &mut Deformed) {
        let n = self.width();
        let mut m = std::mem::take(&mut d.factor);
        m.clear();
        m.resize(n * n, 0.0);
        for j in 0..n {
            let mut unit = [0.0; MAX_WIDTH];
            unit[j] = 1.0;
            let (b, alpha, xi) = self.split(&unit[..n]);
            let mut column = [0.0; MAX_WIDTH];
            let (force, torque) = self.times(d, 1.0, b, alpha, xi, &mut column[self.rigid()..n]);
            self.add_vector(Lin, 1.0, force, &mut column);
            self.add_vector(Ang, 1.0, torque, &mut column);
            (0..n).for_each(|i| m[i * n + j] = column[i]);
        }
        for i in 0..n {
            for j in 0..=i {
                let sum: f64 = (0..j).map(|k| m[i * n + k] * m[j * n + k]).sum();
                let rest = m[i * n + j] - sum;
                m[i * n + j] = if i == j { rest.sqrt() } else { rest / m[j * n + j] };
            }
        }
        d.factor = m;
    }

    /// The accelerations of all points alike.
    fn uniform(&self, a: Vec3) -> [f64; MAX_WIDTH] {
        let mut x = [0.0; MAX_WIDTH];
        self.add_vector(Lin, 1.0, a, &mut x);
        x
    }
}

impl Coordinates for Flexible {
    fn kind(&self) -> &'static str {
        "flexible"
    }
    fn plane_angle(&self) -> Option<usize> {
        (self.of.dimension == 2).then_some(2)
    }
    fn origin(&self, frame: &BodyFrame) -> Vec3 {
        frame.p
    }
    fn rigid_width(&self) -> usize {
        self.rigid()
    }
    fn deformable(&self) -> Option<&Structure> {
        Some(&self.of)
    }
    fn station(&mut self, point: Vec3) -> Option<u32> {
        Some(Flexible::station(self, point))
    }
    fn width(&self) -> usize {
        self.rigid() + self.of.modes.len()
    }
    fn mass(&self) -> f64 {
        self.of.mass
    }
    fn chart(&self) -> Option<usize> {
        (self.of.dimension == 3).then_some(3)
    }
    fn scale(&self, i: usize) -> Scale {
        let angle = match i.checked_sub(self.rigid()) {
            Some(mode) => self.of.modes[mode].angle,
            None => i >= self.of.dimension,
        };
        if angle { Scale::Angle } else { Scale::Length }
    }
    fn elastic(&self, i: usize) -> bool {
        i >= self.rigid()
    }
    fn coordinates(&self, p: Vec3, r: Quat, q: &mut [f64]) {
        let d = self.of.dimension;
        q[..d].copy_from_slice(&p.0[..d]);
        match d {
            2 => q[2] = planar::angle_about_z(r),
            _ => q[3..6].fill(0.0),
        }
        q[self.rigid()..].copy_from_slice(&self.of.start);
    }
    fn velocities(&self, frame: &BodyFrame, v: Vec3, w: Vec3, out: &mut [f64]) {
        self.components(Lin).iter().for_each(|&(i, k)| out[k] = v[i]);
        let turn = frame.r.transpose_times(w);
        self.components(Ang).iter().for_each(|&(i, k)| out[k] = turn[i]);
        out[self.rigid()..].copy_from_slice(&self.of.start_rates);
    }
    fn locate(&self, q: &[f64], centre: Quat, frame: &mut BodyFrame) {
        let (p, phi, modal) = self.split(q);
        frame.p = p;
        frame.r = match self.of.dimension {
            2 => {
                let (sin, cos) = phi[2].sin_cos();
                planar::about_z(sin, cos)
            }
            _ => centre.matrix() * rotation::exp(phi),
        };
        let d = frame.deformed.get_or_insert_default();
        if d.modal != modal || d.factor.is_empty() || d.stations.len() != self.stations.len() {
            d.modal.clear();
            d.modal.extend_from_slice(modal);
            self.bend(d);
            self.factor(d);
        }
    }
    fn point(&self, frame: &BodyFrame, on: &Attachment) -> Vec3 {
        frame.p + frame.r * self.at(frame, on).0.s
    }
    fn rotation(&self, frame: &BodyFrame, on: &Attachment) -> Mat3 {
        frame.r * self.at(frame, on).0.turn * on.axes
    }
    fn centre_of_mass(&self, frame: &BodyFrame) -> Vec3 {
        frame.p + frame.r * self.deformed(frame).first * (1.0 / self.of.mass)
    }
    fn twist(&self, frame: &BodyFrame, on: &Attachment, w: &[f64]) -> (Vec3, Vec3) {
        let (v, omega, rates) = self.split(w);
        let (at, shapes) = self.at(frame, on);
        let (mut slide, mut turn) = (omega.cross(at.s), Vec3::ZERO);
        for (rate, (phi, psi)) in rates.iter().zip(shapes) {
            slide += *phi * *rate;
            turn += *psi * *rate;
        }
        let turn = at.tangent * turn;
        (v + frame.r * (slide + turn.cross(at.arm)), frame.r * (omega + turn))
    }
    fn pull(&self, frame: &BodyFrame, on: &Attachment, load: Covector, c: f64, out: &mut [f64]) {
        let (at, shapes) = self.at(frame, on);
        let (lin, ang) = (frame.r.transpose_times(load.lin), frame.r.transpose_times(load.ang));
        self.add_vector(Lin, c, load.lin, out);
        self.add_vector(Ang, c, ang + at.s.cross(lin), out);
        let torque = at.tangent.transpose_times(ang + at.arm.cross(lin));
        for (o, (phi, psi)) in out[self.rigid()..].iter_mut().zip(shapes) {
            *o += c * (phi.dot(lin) + psi.dot(torque));
        }
    }
    fn twist_stiffness(&self, frame: &BodyFrame, on: &Attachment, w: &[f64], load: Covector, c: f64, out: &mut [f64]) {
        let (_, omega, rates) = self.split(w);
        let (at, shapes) = self.at(frame, on);
        let (lin, ang) = (frame.r.transpose_times(load.lin), frame.r.transpose_times(load.ang));
        let (mut slide, mut theta_rate) = (omega.cross(at.s), Vec3::ZERO);
        for (rate, (phi, psi)) in rates.iter().zip(shapes) {
            slide += *phi * *rate;
            theta_rate += *psi * *rate;
        }
        let turn = at.tangent * theta_rate;
        slide += turn.cross(at.arm);
        self.add_vector(Ang, c, slide.cross(lin) + (omega + turn).cross(ang), out);
        // a station moves by δs and turns by δν; ν itself changes with θ
        let by_theta = tangent_slope(at.theta, theta_rate).transpose_times(ang + at.arm.cross(lin));
        for (o, (phi, psi)) in out[self.rigid()..].iter_mut().zip(shapes) {
            let arm = (at.tangent * *psi).cross(at.arm);
            *o += c * (lin.dot(omega.cross(*phi + arm) + turn.cross(arm)) + by_theta.dot(*psi));
        }
    }
    fn load_stiffness(&self, frame: &BodyFrame, on: &Attachment, load: Covector, c: f64, out: &mut [f64]) {
        let (at, shapes) = self.at(frame, on);
        let (lin, ang) = (frame.r.transpose_times(load.lin), frame.r.transpose_times(load.ang));
        self.add_block(Ang, Ang, c, ang.tilde() + at.s.tilde() * lin.tilde(), out);
        let torque = ang + at.arm.cross(lin);
        for (i, (phi, psi)) in shapes.iter().enumerate() {
            let turn = at.tangent * *psi;
            let moved = *phi + turn.cross(at.arm);
            self.add_column(Ang, i, c, moved.cross(lin), out);
            self.add_row(i, Ang, c, moved.cross(lin) + turn.cross(ang), out);
            let by_theta = tangent_slope(at.theta, *psi).transpose_times(torque);
            for (k, (_, psi)) in shapes.iter().enumerate() {
                let arm = (at.tangent * *psi).cross(at.arm);
                self.add_entry(i, k, c * (by_theta.dot(*psi) + turn.dot(arm.cross(lin))), out);
            }
        }
    }
    fn add_mass_times(&self, frame: &BodyFrame, c: f64, x: &[f64], out: &mut [f64]) {
        let (a, alpha, xi) = self.split(x);
        let b = frame.r.transpose_times(a);
        let (force, torque) = self.times(self.deformed(frame), c, b, alpha, xi, &mut out[self.rigid()..]);
        self.add_vector(Lin, c, frame.r * force, out);
        self.add_vector(Ang, c, torque, out);
    }
    fn divide_by_mass(&self, frame: &BodyFrame, x: &mut [f64]) {
        let (n, l) = (x.len(), &self.deformed(frame).factor);
        let (force, ..) = self.split(x);
        let force = frame.r.transpose_times(force);
        self.components(Lin).iter().for_each(|&(i, k)| x[k] = force[i]);
        for i in 0..n {
            let sum: f64 = (0..i).map(|k| l[i * n + k] * x[k]).sum();
            x[i] = (x[i] - sum) / l[i * n + i];
        }
        for i in (0..n).rev() {
            let sum: f64 = (i + 1..n).map(|k| l[k * n + i] * x[k]).sum();
            x[i] = (x[i] - sum) / l[i * n + i];
        }
        let (a, ..) = self.split(x);
        let a = frame.r * a;
        self.components(Lin).iter().for_each(|&(i, k)| x[k] = a[i]);
    }
    fn varies(&self) -> bool {
        true
    }
    fn mass_stiffness(&self, frame: &BodyFrame, x: &[f64], c: f64, out: &mut [f64]) {
        let d = self.deformed(frame);
        let (a, alpha, xi) = self.split(x);
        let b = frame.r.transpose_times(a);
        let mut relative = alpha.cross(d.first);
        self.of.modes.iter().zip(xi).for_each(|(m, x)| relative += m.first * *x);
        self.add_block(Lin, Ang, -c, frame.r * relative.tilde(), out);
        self.add_block(Ang, Ang, c, d.first.tilde() * b.tilde(), out);
        for (k, mode) in self.of.modes.iter().enumerate() {
            self.add_row(k, Ang, c, mode.first.cross(b), out);
            self.add_column(Lin, k, c, frame.r * alpha.cross(mode.first), out);
            let p = &d.products[k];
            let mut torque = mode.first.cross(b) + swung(&(*p + p.transpose())) * alpha;
            for (i, x) in xi.iter().enumerate() {
                let by = axial(self.of.product(i, k)); // ∂Aᵢ/∂ηₖ
                torque += by * *x;
                self.add_entry(i, k, c * by.dot(alpha), out);
            }
            self.add_column(Ang, k, c, torque, out);
        }
    }
    fn has_inner(&self) -> bool {
        true
    }
    fn add_inner(&self, frame: &BodyFrame, c: f64, v: &[f64], out: &mut [f64]) {
        let (of, d) = (&*self.of, self.deformed(frame));
        let (_, w, rates) = self.split(v);
        let n = rates.len();
        let (mut drift, mut swing, mut spin) = (Vec3::ZERO, Mat3::ZERO, Vec3::ZERO);
        for (i, mode) in of.modes.iter().enumerate() {
            drift += mode.first * rates[i];
            swing += d.products[i] * rates[i];
            spin += mode.rotary * rates[i];
            let p = &d.products[i];
            let mut f = (*p * w).dot(w) - p.trace() * w.dot(w);
            for j in 0..n {
                f += 2.0 * w.dot(axial(of.product(i, j))) * rates[j];
                f += of.stiffness[i * n + j] * d.modal[j] + of.damping[i * n + j] * rates[j];
            }
            out[self.rigid() + i] -= c * f;
        }
        let force = w.cross(w.cross(d.first)) + w.cross(drift) * 2.0;
        let torque = w.cross(d.inertia * w + spin) + swung(&swing) * w * 2.0;
        self.add_vector(Lin, -c, frame.r * force, out);
        self.add_vector(Ang, -c, torque, out);
    }
    fn add_inner_damping(&self, frame: &BodyFrame, c: f64, v: &[f64], out: &mut [f64]) {
        let (of, d) = (&*self.of, self.deformed(frame));
        let (_, w, rates) = self.split(v);
        let n = rates.len();
        let (mut drift, mut swing, mut spin) = (Vec3::ZERO, Mat3::ZERO, Vec3::ZERO);
        for (k, mode) in of.modes.iter().enumerate() {
            drift += mode.first * rates[k];
            swing += d.products[k] * rates[k];
            spin += mode.rotary * rates[k];
            let p = &d.products[k];
            self.add_column(Lin, k, -2.0 * c, frame.r * w.cross(mode.first), out);
            self.add_column(Ang, k, -c, swung(p) * w * 2.0 + w.cross(mode.rotary), out);
            let mut row = (*p + p.transpose()) * w - w * (2.0 * p.trace());
            for j in 0..n {
                let coriolis = axial(of.product(k, j));
                row += coriolis * (2.0 * rates[j]);
                self.add_entry(k, j, -c * (2.0 * w.dot(coriolis) + of.damping[k * n + j]), out);
            }
            self.add_row(k, Ang, -c, row, out);
        }
        let force = (w.cross(d.first) + drift * 2.0).tilde() + w.tilde() * d.first.tilde();
        self.add_block(Lin, Ang, c, frame.r * force, out);
        let torque = w.tilde() * d.inertia - (d.inertia * w + spin).tilde() + swung(&swing) * 2.0;
        self.add_block(Ang, Ang, -c, torque, out);
    }
    fn add_inner_stiffness(&self, frame: &BodyFrame, c: f64, v: &[f64], out: &mut [f64]) {
        let (of, d) = (&*self.of, self.deformed(frame));
        let (_, w, rates) = self.split(v);
        let n = rates.len();
        let mut drift = Vec3::ZERO;
        of.modes.iter().zip(rates).for_each(|(m, x)| drift += m.first * *x);
        let force = w.cross(w.cross(d.first)) + w.cross(drift) * 2.0;
        self.add_block(Lin, Ang, c, frame.r * force.tilde(), out);
        for (k, mode) in of.modes.iter().enumerate() {
            self.add_column(Lin, k, -c, frame.r * w.cross(w.cross(mode.first)), out);
            let p = &d.products[k];
            let mut torque = w.cross(swung(&(*p + p.transpose())) * w);
            for (i, rate) in rates.iter().enumerate() {
                let by = of.product(i, k);
                torque += swung(by) * w * (2.0 * rate);
                let centrifugal = (*by * w).dot(w) - by.trace() * w.dot(w);
                self.add_entry(i, k, -c * (centrifugal + of.stiffness[i * n + k]), out);
            }
            self.add_column(Ang, k, -c, torque, out);
        }
    }
    fn add_weight(&self, frame: &BodyFrame, gravity: Vec3, c: f64, out: &mut [f64]) {
        // what a uniform acceleration would take
        self.add_mass_times(frame, c, &self.uniform(gravity)[..self.width()], out);
    }
    fn weight_stiffness(&self, frame: &BodyFrame, gravity: Vec3, c: f64, out: &mut [f64]) {
        self.mass_stiffness(frame, &self.uniform(gravity)[..self.width()], c, out);
    }
    fn stored(&self, frame: &BodyFrame) -> f64 {
        self.of.strain(&self.deformed(frame).modal)
    }
    fn dissipated(&self, v: &[f64]) -> f64 {
        quadratic(&self.of.damping, self.split(v).2)
    }
    fn dissipates(&self) -> bool {
        self.of.damping.iter().any(|d| *d != 0.0)
    }
}
