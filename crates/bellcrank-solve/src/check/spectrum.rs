//! How fast the model moves about its start, and the method that suits.

use super::{Check, DENSE};
use crate::analyses::modes::grows;
use crate::choices::{MethodName, Options};
use crate::linear::derivatives::{Blocks, dense};
use crate::linear::kkt::Kkt;
use crate::linear::rank::{rank, reduce, weights};
use crate::linearization::{DAMPED, linearize};
use bellcrank_math::linear::dense::symmetric_eigenvalues;
use bellcrank_math::random::Xorshift;
use bellcrank_model::{Dynamics, Piece, Point, Slopes, System, Unknown, Workspace};
use std::sync::Arc;

/// Rates of the motion about the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spectrum {
    /// Natural frequencies in Hz, ascending; zero for motions without stiffness.
    pub frequencies: Vec<f64>,
    /// Directions in which the start is unstable: it falls away with this rate in 1/s, the fastest of them.
    pub falling: Option<f64>,
    /// The fastest decay by dampers, in 1/s.
    pub decay: f64,
    /// Whether only the fastest of each was looked for, by iteration, as the model is large.
    pub only_fastest: bool,
}

impl Spectrum {
    /// The fastest rate in 1/s.
    pub fn fastest(&self) -> f64 {
        let highest = self.frequencies.last().map_or(0.0, |f| f * std::f64::consts::TAU);
        highest.max(self.decay).max(self.falling.unwrap_or(0.0))
    }

    /// The slowest rate in 1/s that is not zero.
    pub fn slowest(&self) -> f64 {
        let moving = self.frequencies.iter().find(|f| **f > 1e-6 * self.fastest());
        moving.map_or(self.fastest(), |f| f * std::f64::consts::TAU)
    }
}

/// Looks at the rates about a point.
pub(super) fn look(c: &mut Check, system: &Arc<System>, at: &Point, w: &mut Workspace) {
    c.spectrum = match c.large {
        true => fastest(system, at, w),
        // what moves, has states or is pushed by loads that follow it is judged by its motion, as `modes` does
        false => of_motion(system, at).unwrap_or_else(|| spectrum(system, at, w)),
    };
    match &c.spectrum {
        None => c.leave_out("natural frequencies", "the masses do not determine them at the start"),
        Some(s) if s.only_fastest => {
            let why = format!("more than {DENSE} coordinates or equations; `bellcrank modes` computes them");
            c.leave_out("all natural frequencies but the highest", &why);
        }
        _ => {}
    }
}

/// The largest rates about a point, by iteration with the factors of [M Gᵀ; G 0].
fn fastest(system: &Arc<System>, at: &Point, w: &mut Workspace) -> Option<Spectrum> {
    w.invalidate();
    system.realize(at, w);
    let mut kkt = Kkt::new(system.clone());
    kkt.factor(at, w).ok()?;
    let none = Slopes::default();
    let mut blocks = |piece, wrt, slopes| Blocks::new(&**system, piece, wrt, slopes, at, w);
    let mass = blocks(Piece::MassAccel, Unknown::V, Slopes { v: 1.0, ..none });
    let bends = blocks(Piece::GtLambda, Unknown::Q, none);
    let stiffness = blocks(Piece::Force, Unknown::Q, none);
    let damping = blocks(Piece::Force, Unknown::V, none);
    let square = largest(&mut kkt, &mass, system.layout().n(), |x, y| {
        bends.add_times(1.0, x, y);
        stiffness.add_times(-1.0, x, y);
    })?;
    let decay = largest(&mut kkt, &mass, system.layout().n(), |x, y| damping.add_times(-1.0, x, y))?;
    let rate = square.abs().sqrt();
    let frequencies = if square >= 0.0 { vec![rate / std::f64::consts::TAU] } else { Vec::new() };
    let falling = (square < 0.0).then_some(rate);
    Some(Spectrum { frequencies, falling, decay: if decay > 1e-12 { decay } else { 0.0 }, only_fastest: true })
}

/// The eigenvalue of A x = μ M x on the free motions that is largest in size, to a few percent: Rayleigh's
/// quotient in a power iteration.
fn largest(kkt: &mut Kkt, mass: &Blocks, n: usize, times: impl Fn(&[f64], &mut [f64])) -> Option<f64> {
    const ITERATIONS: usize = 60;
    const SETTLED: f64 = 1e-10;
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut random = Xorshift(5);
    let load: Vec<f64> = (0..n).map(|_| random.number()).collect();
    let (mut x, mut y, mut found) = (vec![0.0; n], vec![0.0; n], 0.0);
    x.copy_from_slice(kkt.respond(&load).ok()?);
    for _ in 0..ITERATIONS {
        y.fill(0.0);
        mass.add_times(1.0, &x, &mut y);
        let size = dot(&x, &y).sqrt();
        if !(size > 0.0 && size.is_finite()) {
            break;
        }
        x.iter_mut().for_each(|x| *x /= size);
        y.fill(0.0);
        times(&x, &mut y);
        let before = std::mem::replace(&mut found, dot(&x, &y));
        if (found - before).abs() <= SETTLED * found.abs() {
            break;
        }
        x.copy_from_slice(kkt.respond(&y).ok()?);
    }
    found.is_finite().then_some(found)
}

/// The rates of the motion itself, where those of masses, springs and dampers apart do not tell them.
fn of_motion(system: &Arc<System>, at: &Point) -> Option<Option<Spectrum>> {
    let linear = linearize(&**system, at).ok()?;
    if linear.by_stiffness() {
        return None;
    }
    let Ok(pairs) = linear.eigen() else { return Some(None) };
    let mut found = Spectrum::default();
    for (re, im) in pairs.into_iter().map(|p| p.value) {
        let size = re.hypot(im);
        if grows((re, im)) {
            found.falling = Some(found.falling.unwrap_or(0.0).max(re));
        }
        if size == 0.0 || im > 0.0 {
            found.frequencies.push(size / std::f64::consts::TAU);
        }
        found.decay = found.decay.max(-re);
    }
    found.decay = if found.decay > 1e-12 { found.decay } else { 0.0 };
    found.frequencies.sort_by(f64::total_cmp);
    Some(Some(found))
}

/// Frequencies about a point: S²ᵀM S ẍ + SᵀC S ẋ + SᵀK S x = 0 on the free motions S.
fn spectrum(system: &Arc<System>, at: &Point, w: &mut Workspace) -> Option<Spectrum> {
    let here = rank(&**system, at, w)?;
    let d = here.free.len();
    let weights = weights(&**system);
    let mut part = |piece, wrt, slopes| reduce(&dense(&**system, piece, wrt, slopes, at, w), &here.free, &weights);
    let none = Slopes::default();
    let mass = part(Piece::MassAccel, Unknown::V, Slopes { v: 1.0, ..none });
    let mut stiffness = part(Piece::GtLambda, Unknown::Q, none);
    let by_force = part(Piece::Force, Unknown::Q, none);
    stiffness.iter_mut().zip(&by_force).for_each(|(k, f)| *k -= f);
    let mut damping = part(Piece::Force, Unknown::V, none);
    damping.iter_mut().for_each(|c| *c = -*c);
    let squares = pencil(&stiffness, &mass, d)?;
    let decays = pencil(&damping, &mass, d)?;
    let largest = squares.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let small = 1e-12 * largest;
    let frequency = |x: &f64| if *x > small { x.sqrt() / std::f64::consts::TAU } else { 0.0 };
    let falling = squares.first().filter(|x| **x < -small).map(|x| (-x).sqrt());
    let mut frequencies: Vec<f64> = squares.iter().filter(|x| **x >= -small).map(frequency).collect();
    frequencies.sort_by(f64::total_cmp);
    let decay = decays.last().copied().filter(|x| *x > 1e-12).unwrap_or(0.0);
    Some(Spectrum { frequencies, falling, decay, only_fastest: false })
}

/// The eigenvalues of the symmetric part of A relative to a positive definite B, ascending.
fn pencil(a: &[f64], b: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let sum = b[i * n + j] - (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum::<f64>();
            if i == j {
                if sum.is_nan() || sum <= 0.0 {
                    return None;
                }
                l[i * n + i] = sum.sqrt();
            } else {
                l[i * n + j] = sum / l[j * n + j];
            }
        }
    }
    let mut x: Vec<f64> = (0..n * n).map(|k| 0.5 * (a[k] + a[(k % n) * n + k / n])).collect();
    // L⁻¹ A L⁻ᵀ: first the columns, then the rows
    for _ in 0..2 {
        for c in 0..n {
            for i in 0..n {
                let sum = x[i * n + c] - (0..i).map(|k| l[i * n + k] * x[k * n + c]).sum::<f64>();
                x[i * n + c] = sum / l[i * n + i];
            }
        }
        x = (0..n * n).map(|k| x[(k % n) * n + k / n]).collect();
    }
    symmetric_eigenvalues(&x, n).ok()
}

/// An explicit method that needs fewer steps than this for its stability takes them for accuracy.
const STEPS_FOR_ACCURACY: f64 = 500.0;

/// More steps than this are too many for what has died out.
const MANY: f64 = 2e4;

/// The method that suits, with the reason.
pub(super) fn method(c: &Check, options: &Options) -> String {
    if options.method != MethodName::Auto {
        return format!("{} (chosen)", options.method.name());
    }
    if c.degrees_of_freedom == Some(0) {
        return "kinematics: there is no degree of freedom".into();
    }
    if options.step.is_some() {
        return "gen-alpha on si2, with the fixed step".into();
    }
    let explicit = if options.rtol < 1e-7 { "dop853" } else { "dopri5" };
    let later = format!("{explicit} on index1, and bdf on ggl once it proves stiff");
    let Some(s) = &c.spectrum else { return later };
    // an explicit method takes about one step in three units of the fastest rate
    let steps = s.fastest() * options.until / 3.0;
    match s.decay < DAMPED * s.fastest() {
        _ if steps < STEPS_FOR_ACCURACY => format!("{explicit} on index1: not stiff about the start"),
        true if steps < MANY => format!("{explicit} on index1: not stiff, its fastest oscillation is weakly damped"),
        true => format!(
            "{explicit} on index1: about {steps:.0e} steps to resolve a weakly damped oscillation; bdf on ggl if it is not excited"
        ),
        false if steps < MANY => later,
        false => format!("bdf on ggl: stiff, an explicit method would need about {steps:.0e} steps"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pencil_has_the_eigenvalues_of_the_string() {
        // springs in a row, masses 2: ω² = (2 − 2 cos(kπ/4))/2
        let k = [2.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, 2.0];
        let m = [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0];
        for (k, x) in pencil(&k, &m, 3).unwrap().iter().enumerate() {
            let exact = 1.0 - (std::f64::consts::PI * (k + 1) as f64 / 4.0).cos();
            assert!((x - exact).abs() < 1e-14);
        }
        assert_eq!(pencil(&[1.0], &[0.0], 1), None);
    }
}
