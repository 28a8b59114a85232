//! Beams: assumed modes along an axis, and the integrals a flexible body needs of them.
//!
//! A slender beam, of Euler and Bernoulli: it stretches, bends in one plane or two, and twists; shear and the rotary
//! inertia of bending are left out. Its frame is at the end A, x along the undeformed axis, ξ = x/L.
//!
//! | `ends`    | stretch, twist     | bending                                                                          |
//! |-----------|--------------------|----------------------------------------------------------------------------------|
//! | `pinned`  | sin((k − ½)πξ)     | sin(kπξ): both ends stay on the x axis, which is the chord                       |
//! | `clamped` | sin((k − ½)πξ)     | ½ (cosh βξ − cos βξ − σ (sinh βξ − sin βξ)), cos β cosh β = −1: end A keeps its direction |
//!
//! Integrals are taken by Gauß–Legendre quadrature with points enough to be exact to rounding.

use super::modal;
use super::{ElasticMode, Flexible, ModeField, Structure};
use bellcrank_math::{Mat3, Vec3};
use std::f64::consts::PI;

/// What a mode does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeamModeKind {
    /// Stretches along x.
    Axial,
    /// Bends towards y.
    BendY,
    /// Bends towards z.
    BendZ,
    /// Twists about x.
    Torsion,
}

/// A shape over ξ ∈ [0, 1].
#[derive(Clone, Copy, Debug)]
enum BeamShape {
    /// sin(a ξ).
    Sine(f64),
    /// A mode of a cantilever with this β, of height 1 at the end.
    Cantilever(f64),
    /// A polynomial, its coefficients from the constant on: the deflection under a load at an end.
    Cubic([f64; 4]),
}

impl BeamShape {
    /// Value, slope and curvature.
    fn at(&self, x: f64) -> [f64; 3] {
        match *self {
            BeamShape::Sine(a) => {
                let (sin, cos) = (a * x).sin_cos();
                [sin, a * cos, -a * a * sin]
            }
            BeamShape::Cantilever(beta) => {
                // cosh − σ sinh = e^(−βξ) + (1 − σ) sinh: without the cancellation of large βξ
                let rest = (beta.sin() - beta.cos() - (-beta).exp()) / (beta.sin() + beta.sinh());
                let sigma = 1.0 - rest;
                let (sin, cos) = (beta * x).sin_cos();
                let (decay, sinh, cosh) = ((-beta * x).exp(), (beta * x).sinh(), (beta * x).cosh());
                [
                    0.5 * (decay + rest * sinh - cos + sigma * sin),
                    0.5 * beta * (-decay + rest * cosh + sin + sigma * cos),
                    0.5 * beta * beta * (decay + rest * sinh + cos - sigma * sin),
                ]
            }
            BeamShape::Cubic([a, b, c, d]) => {
                [a + x * (b + x * (c + x * d)), b + x * (2.0 * c + 3.0 * d * x), 2.0 * c + 6.0 * d * x]
            }
        }
    }
}

/// A mode of a beam.
#[derive(Clone, Debug)]
pub struct BeamMode {
    /// What it does.
    pub kind: BeamModeKind,
    /// A sum of shapes.
    terms: Vec<(f64, BeamShape)>,
}

impl BeamMode {
    /// Value, slope and curvature over ξ.
    fn shape(&self, x: f64) -> [f64; 3] {
        self.terms.iter().fold([0.0; 3], |sum, (c, shape)| {
            let at = shape.at(x);
            [0, 1, 2].map(|k| sum[k] + c * at[k])
        })
    }

    /// Takes out what is a sum of other modes of the kind, and gives the rest the height 1 at its highest point.
    ///
    /// A static deflection is all but a sum of the lowest modes: with them as it is, it would make M nearly singular.
    fn set_apart(&mut self, others: &[BeamMode], points: &[(f64, f64)]) {
        let product = |a: &BeamMode, b: &BeamMode| -> f64 {
            points.iter().map(|(x, w)| w * a.shape(*x)[0] * b.shape(*x)[0]).sum()
        };
        for _ in 0..2 {
            for other in others.iter().filter(|m| m.kind == self.kind) {
                let share = product(self, other) / product(other, other);
                self.terms.extend(other.terms.iter().map(|(c, shape)| (-share * c, *shape)));
            }
        }
        let height = (0..=100).map(|i| self.shape(i as f64 / 100.0)[0].abs()).fold(0.0, f64::max);
        self.terms.iter_mut().for_each(|(c, _)| *c /= height);
    }

    /// Displacement and rotation of the section at x.
    pub fn at(&self, x: f64, length: f64) -> (Vec3, Vec3) {
        let [f, slope, _] = self.shape(x / length);
        let turn = slope / length;
        match self.kind {
            BeamModeKind::Axial => (Vec3::X * f, Vec3::ZERO),
            BeamModeKind::BendY => (Vec3::Y * f, Vec3::Z * turn),
            BeamModeKind::BendZ => (Vec3::Z * f, Vec3::Y * -turn),
            BeamModeKind::Torsion => (Vec3::ZERO, Vec3::X * f),
        }
    }
}

/// A beam: its measures and how many modes it has.
#[derive(Clone, Debug)]
pub struct Beam {
    /// Two or three.
    pub dimension: usize,
    /// Length in m.
    pub length: f64,
    /// Mass in kg.
    pub mass: f64,
    /// E A in N.
    pub axial_stiffness: f64,
    /// E I against bending towards y and towards z, in N m².
    pub bending_stiffness: [f64; 2],
    /// G J in N m².
    pub torsional_stiffness: f64,
    /// Moment of inertia about the axis in kg m².
    pub rotary: f64,
    /// Whether end A keeps its direction.
    pub clamped: bool,
    /// Modes that stretch it.
    pub axial: usize,
    /// Modes that bend it towards y and towards z.
    pub bending: [usize; 2],
    /// Modes that twist it.
    pub torsion: usize,
    /// Whether the deflections under loads at the ends are modes too.
    pub statics: bool,
}

impl Beam {
    /// Its modes, those that stretch first; static deflections after the waves of their kind.
    fn modes(&self, points: &[(f64, f64)]) -> Vec<BeamMode> {
        let waves = |k: usize| BeamShape::Sine((k as f64 - 0.5) * PI);
        let bends = |k: usize| match self.clamped {
            true => BeamShape::Cantilever(cantilever(k)),
            false => BeamShape::Sine(k as f64 * PI),
        };
        let line = [BeamShape::Cubic([0.0, 1.0, 0.0, 0.0])];
        let ends = match self.clamped {
            // a force and a moment at the end B
            true => [BeamShape::Cubic([0.0, 0.0, 1.5, -0.5]), BeamShape::Cubic([0.0, 0.0, 1.0, 0.0])],
            // a moment at each end
            false => [BeamShape::Cubic([0.0, 2.0, -3.0, 1.0]), BeamShape::Cubic([0.0, 1.0, 0.0, -1.0])],
        };
        type Wave<'a> = &'a dyn Fn(usize) -> BeamShape;
        let all: [(BeamModeKind, usize, Wave, &[BeamShape]); 4] = [
            (BeamModeKind::Axial, self.axial, &waves, &line),
            (BeamModeKind::BendY, self.bending[0], &bends, &ends),
            (BeamModeKind::BendZ, self.bending[1], &bends, &ends),
            (BeamModeKind::Torsion, self.torsion, &waves, &line),
        ];
        let mut modes: Vec<BeamMode> = Vec::new();
        for (kind, count, wave, statics) in all.into_iter().take(if self.dimension == 3 { 4 } else { 2 }) {
            modes.extend((1..=count).map(|k| BeamMode { kind, terms: vec![(1.0, wave(k))] }));
            for shape in statics.iter().filter(|_| self.statics && count > 0) {
                let mut mode = BeamMode { kind, terms: vec![(1.0, *shape)] };
                mode.set_apart(&modes, points);
                modes.push(mode);
            }
        }
        modes
    }

    /// Points of the quadrature, enough for products of the shortest waves.
    fn points(&self) -> Vec<(f64, f64)> {
        let most = [self.axial, self.bending[0], self.bending[1], self.torsion].into_iter().max().unwrap_or(0);
        gauss_legendre(24 + 4 * most)
    }

    /// How many modes it has.
    pub fn count(&self) -> usize {
        let ends = |n: usize, statics: usize| n + if self.statics && n > 0 { statics } else { 0 };
        let plane = ends(self.axial, 1) + ends(self.bending[0], 2);
        plane + if self.dimension == 3 { ends(self.bending[1], 2) + ends(self.torsion, 1) } else { 0 }
    }

    /// The structure, without damping and undeformed.
    pub fn structure(&self) -> Structure {
        let points = self.points();
        let modes = self.modes(&points);
        let (n, l) = (modes.len(), self.length);
        let integral = |f: &dyn Fn(f64) -> f64| points.iter().map(|(x, w)| w * f(*x)).sum::<f64>();
        let direction = |kind: BeamModeKind| match kind {
            BeamModeKind::Axial => Vec3::X,
            BeamModeKind::BendY => Vec3::Y,
            BeamModeKind::BendZ => Vec3::Z,
            BeamModeKind::Torsion => Vec3::ZERO,
        };
        let mut of = Structure {
            dimension: self.dimension,
            mass: self.mass,
            first: Vec3::X * (0.5 * self.mass * l),
            second: Vec3::X.outer(Vec3::X) * (self.mass * l * l / 3.0),
            rotary: Vec3::X.outer(Vec3::X) * self.rotary,
            modes: Vec::new(),
            products: vec![Mat3::ZERO; n * n],
            modal_mass: vec![0.0; n * n],
            stiffness: vec![0.0; n * n],
            damping: vec![0.0; n * n],
            field: ModeField::Beam { length: l, modes: Vec::new() },
            start: vec![0.0; n],
            start_rates: vec![0.0; n],
            quasi_static: false,
            thickness: 0.0,
        };
        for (i, a) in modes.iter().enumerate() {
            let mean = integral(&|x| a.shape(x)[0]);
            let moment = integral(&|x| x * a.shape(x)[0]);
            let twists = a.kind == BeamModeKind::Torsion;
            of.modes.push(ElasticMode {
                first: direction(a.kind) * (self.mass * mean),
                with_place: direction(a.kind).outer(Vec3::X) * (self.mass * l * moment),
                rotary: if twists { Vec3::X * (self.rotary * mean) } else { Vec3::ZERO },
                angle: twists,
            });
            for (j, b) in modes.iter().enumerate() {
                let product = |k: usize| integral(&|x| a.shape(x)[k] * b.shape(x)[k]);
                let overlap = product(0);
                of.products[i * n + j] = direction(a.kind).outer(direction(b.kind)) * (self.mass * overlap);
                if a.kind != b.kind {
                    continue;
                }
                of.modal_mass[i * n + j] = if twists { self.rotary } else { self.mass } * overlap;
                of.stiffness[i * n + j] = match a.kind {
                    BeamModeKind::Axial => self.axial_stiffness / l * product(1),
                    BeamModeKind::BendY => self.bending_stiffness[0] / l.powi(3) * product(2),
                    BeamModeKind::BendZ => self.bending_stiffness[1] / l.powi(3) * product(2),
                    BeamModeKind::Torsion => self.torsional_stiffness / l * product(1),
                };
            }
        }
        for a in [&mut of.modal_mass, &mut of.stiffness] {
            clean(a, n);
        }
        of.field = ModeField::Beam { length: l, modes };
        of
    }

    /// The body, without damping and undeformed; `None` where its modes depend on each other.
    pub fn build(&self) -> Option<Flexible> {
        Flexible::new(self.structure())
    }
}

/// Orthogonal modes have no products: what rounding left of them is dropped.
fn clean(a: &mut [f64], n: usize) {
    let diagonal: Vec<f64> = (0..n).map(|i| a[i * n + i]).collect();
    for (k, x) in a.iter_mut().enumerate() {
        if x.abs() < 1e-12 * (diagonal[k / n] * diagonal[k % n]).sqrt() {
            *x = 0.0;
        }
    }
}

/// The k-th root of cos β cosh β = −1, k ≥ 1.
pub fn cantilever(k: usize) -> f64 {
    let mut beta = if k == 1 { 1.8751 } else { (k as f64 - 0.5) * PI };
    for _ in 0..20 {
        // cos β + 1/cosh β, whose slope does not vanish at the root
        let f = beta.cos() + 1.0 / beta.cosh();
        beta -= f / (-beta.sin() - beta.tanh() / beta.cosh());
    }
    beta
}

/// Points and weights on [0, 1], exact for polynomials up to degree 2n − 1.
fn gauss_legendre(n: usize) -> Vec<(f64, f64)> {
    (0..n)
        .map(|i| {
            let mut x = (PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..10 {
                let (mut before, mut p) = (1.0, x);
                for k in 2..=n {
                    (before, p) = (p, ((2 * k - 1) as f64 * x * p - (k - 1) as f64 * before) / k as f64);
                }
                slope = n as f64 * (x * p - before) / (x * x - 1.0);
                x -= p / slope;
            }
            (0.5 * (1.0 - x), 1.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

impl Structure {
    /// Damping with the same ratio for every mode of the body with its frame held.
    pub fn set_damping_ratio(&mut self, ratio: f64) {
        if ratio > 0.0 {
            self.damping = modal::damping_of_ratio(&self.modal_mass, &self.stiffness, self.modes.len(), ratio);
        }
    }

    /// Damping α M + β K.
    pub fn set_rayleigh(&mut self, alpha: f64, beta: f64) {
        let pairs = self.modal_mass.iter().zip(&self.stiffness);
        self.damping = pairs.map(|(m, k)| alpha * m + beta * k).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadrature_is_exact_for_polynomials() {
        for n in [1, 2, 5, 24, 40] {
            for k in 0..2 * n as i32 {
                let sum: f64 = gauss_legendre(n).iter().map(|(x, w)| w * x.powi(k)).sum();
                assert!((sum - 1.0 / (k + 1) as f64).abs() < 1e-14, "{n} {k} {sum}");
            }
        }
    }

    #[test]
    fn cantilever_modes_meet_their_ends_and_are_orthogonal() {
        let points = gauss_legendre(100);
        let known = [1.875104068711961, 4.694091132974175, 7.854757438237613, 10.995540734875467];
        for (k, beta) in known.into_iter().enumerate() {
            assert!((cantilever(k + 1) - beta).abs() < 1e-14);
        }
        for k in 1..=15 {
            let shape = BeamShape::Cantilever(cantilever(k));
            let [f, slope, _] = shape.at(0.0);
            assert!(f.abs() < 1e-14 && slope.abs() < 1e-12, "{k}");
            let [f, _, bend] = shape.at(1.0);
            assert!((f.abs() - 1.0).abs() < 1e-12 && bend.abs() < 1e-9, "{k}: {f} {bend}");
            for j in 1..=k {
                let other = BeamShape::Cantilever(cantilever(j));
                let sum: f64 = points.iter().map(|(x, w)| w * shape.at(*x)[0] * other.at(*x)[0]).sum();
                assert!((sum - if j == k { 0.25 } else { 0.0 }).abs() < 1e-13, "{k} {j} {sum}");
            }
        }
    }

    #[test]
    fn slopes_agree_with_differences() {
        for shape in
            [BeamShape::Sine(2.0), BeamShape::Cantilever(cantilever(3)), BeamShape::Cubic([0.1, 2.0, -3.0, 1.0])]
        {
            let (x, h) = (0.37, 1e-6);
            let (plus, minus, at) = (shape.at(x + h), shape.at(x - h), shape.at(x));
            for k in 0..2 {
                let difference = (plus[k] - minus[k]) / (2.0 * h);
                assert!((at[k + 1] - difference).abs() < 1e-7 * (1.0 + difference.abs()), "{shape:?}");
            }
        }
    }
}
