//! Modes: eigenvalues, frequencies, damping and shapes of the linearized motion.

use crate::linearization::{Linearization, LinearizationError, linearize, units};
use bellcrank_model::channel::{Group, Selection};
use bellcrank_model::{Dynamics, Point};
use std::f64::consts::TAU;

/// One mode: a single real eigenvalue, or a pair of conjugate ones.
#[derive(Clone, Debug)]
pub struct Mode {
    /// λ = σ ± iω, in 1/s; ω is not negative.
    pub eigenvalue: (f64, f64),
    /// The shape: real parts of the tangent displacements of all coordinates.
    pub re: Vec<f64>,
    /// Imaginary parts: where the motion lags a quarter of a period.
    pub im: Vec<f64>,
    /// Whether nothing drives it back: a motion of rigid bodies.
    pub rigid: bool,
}

impl Mode {
    /// Whether it oscillates.
    pub fn oscillates(&self) -> bool {
        self.eigenvalue.1 > 0.0 && !self.rigid
    }

    /// The frequency ω/2π of the motion, in Hz.
    pub fn frequency(&self) -> f64 {
        if self.rigid { 0.0 } else { self.eigenvalue.1 / TAU }
    }

    /// The frequency |λ|/2π it would have undamped, in Hz.
    pub fn undamped_frequency(&self) -> f64 {
        if self.rigid { 0.0 } else { self.eigenvalue.0.hypot(self.eigenvalue.1) / TAU }
    }

    /// The damping ratio −σ/|λ|: 1 and more do not oscillate, negative ones grow.
    pub fn damping(&self) -> f64 {
        let size = self.eigenvalue.0.hypot(self.eigenvalue.1);
        if self.rigid || size == 0.0 { 0.0 } else { (0.0 - self.eigenvalue.0) / size }
    }

    /// Whether it grows: σ clearly above what rounding leaves of zero.
    pub fn grows(&self) -> bool {
        !self.rigid && grows(self.eigenvalue)
    }
}

/// Whether a motion with this eigenvalue grows.
pub fn grows((re, im): (f64, f64)) -> bool {
    re > 1e-7 * re.hypot(im)
}

/// All modes of a model about a state.
#[derive(Clone, Debug)]
pub struct Modes {
    /// By the size of the eigenvalue, ascending.
    pub modes: Vec<Mode>,
    /// The linearization they belong to.
    pub linearization: Linearization,
    /// Names and units of the components of a shape.
    pub components: Vec<(String, &'static str)>,
    /// The shapes by these components, real and imaginary parts.
    pub shapes: Vec<Vec<(f64, f64)>>,
}

/// The modes about a point with its v̇ and λ.
pub fn modes(dynamics: &dyn Dynamics, at: &Point) -> Result<Modes, LinearizationError> {
    let linearization = linearize(dynamics, at)?;
    let mut pairs = linearization.eigen()?;
    let size = |v: (f64, f64)| v.0.hypot(v.1);
    pairs.sort_by(|a, b| size(a.value).total_cmp(&size(b.value)).then(b.value.0.total_cmp(&a.value.0)));
    let d = linearization.counts.0;
    let units = units(dynamics);
    let mut modes: Vec<Mode> = Vec::with_capacity(pairs.len());
    for p in &pairs {
        let (mut re, mut im) = (linearization.directions.apply(&p.re[..d]), linearization.directions.apply(&p.im[..d]));
        normalize(&mut re, &mut im, &units);
        modes.push(Mode { eigenvalue: p.value, re, im, rigid: size(p.value) == 0.0 });
    }
    let components = components(dynamics);
    let shapes = modes.iter().map(|m| shape(dynamics, at, m, components.is_empty())).collect();
    let components =
        if components.is_empty() { (1..=units.len()).map(|i| (format!("q{i}"), "")).collect() } else { components };
    Ok(Modes { modes, linearization, components, shapes })
}

/// Makes the largest displacement real and one: 1 m, or as many radians as move a point by 1 m.
fn normalize(re: &mut [f64], im: &mut [f64], units: &[f64]) {
    let weighed = |i: usize, re: &[f64], im: &[f64]| re[i].hypot(im[i]) / units[i];
    let Some(top) = (0..units.len()).max_by(|a, b| weighed(*a, re, im).total_cmp(&weighed(*b, re, im))) else {
        return;
    };
    let size = weighed(top, re, im);
    if size == 0.0 {
        return;
    }
    // divided by the complex number of the largest one
    let (c, s) = (re[top] / units[top] / size, im[top] / units[top] / size);
    for (x, y) in re.iter_mut().zip(im.iter_mut()) {
        (*x, *y) = ((*x * c + *y * s) / size, (*y * c - *x * s) / size);
    }
}

/// What some displacements move most, in the user's terms and each once: `hub.angle`.
pub fn moved_most(dynamics: &dyn Dynamics, at: &Point, displacements: &[Vec<f64>]) -> Vec<String> {
    let (components, length) = (components(dynamics), dynamics.length());
    let mut names: Vec<String> = Vec::new();
    for re in displacements {
        let mode = Mode { eigenvalue: (0.0, 0.0), re: re.clone(), im: vec![0.0; re.len()], rigid: true };
        let shape = shape(dynamics, at, &mode, components.is_empty());
        let size = |i: usize| match components.get(i) {
            Some((_, "rad")) => length * shape[i].0.abs(),
            _ => shape[i].0.abs(),
        };
        let largest = (0..shape.len()).fold(0.0f64, |m, i| m.max(size(i)));
        // joints come after bodies, and say it better
        let most = (0..shape.len()).rev().find(|i| size(*i) >= 0.99 * largest);
        let name = most.map(|i| components.get(i).map_or_else(|| format!("q{}", i + 1), |c| c.0.clone()));
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names
}

fn is_rate(unit: &str) -> bool {
    matches!(unit, "m/s" | "rad/s")
}

/// The channels of motions: what forces tell of themselves is none.
pub(super) fn motions(dynamics: &dyn Dynamics) -> Selection {
    let all = dynamics.select(&mut |_, default| default);
    let (mut channels, mut out) = (all.channels.into_iter(), Selection::default());
    for (group, bits) in all.items {
        let own = channels.by_ref().take(bits.count_ones() as usize);
        match group {
            Group::Motion(_) | Group::Deformation(_) | Group::Coordinate(..) | Group::Probe(..) | Group::Plain(_) => {
                out.channels.extend(own);
                out.items.push((group, bits));
            }
            _ => own.for_each(drop),
        }
    }
    out
}

/// What a shape is told in: the channels whose rates are recorded.
fn components(dynamics: &dyn Dynamics) -> Vec<(String, &'static str)> {
    let channels = motions(dynamics).channels;
    let mut out = Vec::new();
    for (i, c) in channels.iter().enumerate().filter(|(_, c)| is_rate(c.unit)) {
        let (owner, part) = c.name.rsplit_once('.').unwrap_or(("", &c.name));
        let name = match part {
            "vx" | "vy" | "vz" => format!("{owner}.{}", &part[1..]),
            // in the plane a body has one angle
            "wz" if channels.iter().any(|c| c.name == format!("{owner}.angle")) => format!("{owner}.angle"),
            "wx" | "wy" | "wz" => format!("{owner}.r{}", &part[1..]),
            // a joint's rate follows its coordinate
            _ => channels[i.saturating_sub(1)].name.clone(),
        };
        out.push((name, if c.unit == "m/s" { "m" } else { "rad" }));
    }
    out
}

/// A shape in the user's terms: displacements are velocities that are recorded as rates.
fn shape(dynamics: &dyn Dynamics, at: &Point, mode: &Mode, raw: bool) -> Vec<(f64, f64)> {
    if raw {
        return mode.re.iter().copied().zip(mode.im.iter().copied()).collect();
    }
    let mut w = dynamics.workspace();
    let motions = motions(dynamics);
    let rates: Vec<bool> = motions.channels.iter().map(|c| is_rate(c.unit)).collect();
    let mut p = at.clone();
    let mut part = |v: &[f64]| {
        p.v.copy_from_slice(v);
        dynamics.realize(&p, &mut w);
        let mut values = Vec::new();
        dynamics.observe_some(&motions, &p, &mut w, &mut values);
        values.into_iter().zip(&rates).filter(|(_, r)| **r).map(|(x, _)| x).collect::<Vec<f64>>()
    };
    let (re, im) = (part(&mode.re), part(&mode.im));
    re.into_iter().zip(im).collect()
}
