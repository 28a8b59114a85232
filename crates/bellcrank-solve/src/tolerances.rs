//! From tolerances to weights: what one unit of error is for every unknown.

use crate::choices::{Options, Tested};
use crate::weights::Weights;
use bellcrank_math::tape::Tape;
use bellcrank_model::Dynamics;
use bellcrank_model::dynamics::Scale;
use bellcrank_model::{Point, State};

/// Local errors add up: with the local tolerance a tenth of what the user asks for, the error at the
/// end came out between 0.3 and 60 times `rtol` on pendulum, top and seven-body mechanism; without, it
/// was up to 700 times. Hand-written equations keep the plain tolerance of the literature.
const LOCAL: f64 = 0.1;

/// Leeway makes no step err by more than the tolerance itself, nor by less than rounding.
const COARSEST: f64 = 10.0;
const FINEST: f64 = 1e-13;

/// Less than half of that where velocities are not tested: then nothing but the coordinates bounds them
/// (stiff bushing at rtol 1e-4: an error of 9e-4 m instead of 2e-3 m).
const COORDINATES_ALONE: f64 = 0.4;

/// One over the size of the machine for a length, 1 for an angle and for numbers of an unknown kind.
pub(crate) fn units(dynamics: &dyn Dynamics) -> Vec<f64> {
    let length = dynamics.length();
    dynamics.scales().iter().map(|scale| if *scale == Scale::Length { 1.0 / length } else { 1.0 }).collect()
}

/// Tolerances of a run. It keeps the largest speeds so far, so that velocities are weighed by what the machine does.
pub struct Tolerances {
    scales: Vec<Scale>,
    length: f64,
    rtol: f64,
    atol: Option<f64>,
    speed: f64,
    spin: f64,
    tested: Tested,
    /// How many times the usual tolerance is allowed.
    leeway: f64,
    absolute: bool,
    /// Whether velocities belong to the convergence test even where the error test leaves them out.
    pub velocities_converge: bool,
    /// Whether multipliers belong to the convergence test whatever is tested for its error.
    pub multipliers_converge: bool,
}

impl Tolerances {
    /// Tells a tape what was seen so far.
    pub(crate) fn keep(&mut self, tape: &mut Tape) {
        tape.number(&mut self.speed);
        tape.number(&mut self.spin);
        tape.number(&mut self.leeway);
        tape.flag(&mut self.absolute);
    }

    /// Tolerances of a run.
    pub fn new(dynamics: &dyn Dynamics, options: &Options, tested: Tested) -> Tolerances {
        let length = dynamics.length();
        Tolerances {
            scales: dynamics.scales(),
            length,
            rtol: options.rtol,
            atol: options.testing.atol,
            // a machine that rests is expected to cross itself, or turn by a radian, during the run
            speed: length / options.until,
            spin: 1.0 / options.until,
            tested,
            leeway: 1.0,
            absolute: !dynamics.scales().contains(&Scale::Magnitude) && dynamics.layout().nz() == 0,
            velocities_converge: false,
            multipliers_converge: false,
        }
    }

    /// Updates the largest speeds by those of an accepted state.
    pub fn see(&mut self, v: &[f64]) {
        for (v, scale) in v.iter().zip(&self.scales) {
            match scale {
                Scale::Length => self.speed = self.speed.max(v.abs()),
                Scale::Angle => self.spin = self.spin.max(v.abs()),
                Scale::Magnitude => {}
            }
        }
    }

    fn local(&self) -> f64 {
        let part = if self.tested == Tested::Q && self.velocities_converge { COORDINATES_ALONE } else { 1.0 };
        part * LOCAL * self.leeway
    }

    /// What one unit of error is, in sizes of the machine.
    pub fn relative(&self) -> f64 {
        LOCAL * self.leeway * self.rtol
    }

    fn q_tolerance(&self, i: usize, q: f64) -> f64 {
        match self.scales[i] {
            Scale::Length => self.local() * (self.rtol * self.length + self.atol.unwrap_or(0.0)),
            Scale::Angle => self.local() * (self.rtol + self.atol.unwrap_or(0.0)),
            Scale::Magnitude => self.own(q),
        }
    }

    fn v_tolerance(&self, i: usize, v: f64) -> f64 {
        match self.scales[i] {
            Scale::Length => LOCAL * self.leeway * (self.rtol * self.speed + self.atol.unwrap_or(0.0)),
            Scale::Angle => LOCAL * self.leeway * (self.rtol * self.spin + self.atol.unwrap_or(0.0)),
            Scale::Magnitude => self.own(v),
        }
    }

    /// DASSL's componentwise tolerance.
    fn own(&self, x: f64) -> f64 {
        self.leeway * (self.rtol * x.abs() + self.atol.unwrap_or(self.rtol))
    }

    /// The weights of the error test: those of the convergence test, without the velocities where they
    /// are not tested. A step whose velocities have not converged spoils the next ones, tested or not
    /// (stiff bushing at k = 1e7, coordinates tested alone: an error of 5e-3 m instead of 3e-4 m).
    pub fn restrict(&self, convergence: &Weights, out: &mut Weights) {
        out.clone_from(convergence);
        if self.tested == Tested::Q {
            out.v.fill(0.0);
        }
    }

    /// The weights of the convergence test at an accepted state, multipliers tested where asked for.
    /// Allocates nothing once warm.
    pub fn weigh(&self, state: &State, point: &Point, out: &mut Weights) {
        let fill = |out: &mut Vec<f64>, n: usize, f: &dyn Fn(usize) -> f64| {
            out.clear();
            out.extend((0..n).map(f));
        };
        fill(&mut out.q, state.q.len(), &|i| 1.0 / self.q_tolerance(i, state.q[i]));
        let v_decides = self.tested != Tested::Q || self.velocities_converge;
        fill(&mut out.v, state.v.len(), &|i| if v_decides { 1.0 / self.v_tolerance(i, state.v[i]) } else { 0.0 });
        fill(&mut out.z, state.z.len(), &|i| 1.0 / self.own(state.z[i]));
        let all = self.tested == Tested::All || self.multipliers_converge;
        let multiplier = |x: f64| if all { 1.0 / self.own(x) } else { 0.0 };
        fill(&mut out.lambda, point.lambda.len(), &|i| multiplier(point.lambda[i]));
        fill(&mut out.mu, point.mu.len(), &|i| multiplier(point.mu[i]));
    }

    /// What rounding makes of a coordinate: that of a length as far out as the machine is, and of an angle as large.
    pub(crate) fn rounding<'a>(&'a self, state: &'a State) -> impl Fn(usize) -> f64 + 'a {
        let lengths = state.q.iter().zip(&self.scales).filter(|(_, scale)| **scale == Scale::Length);
        let far = lengths.fold(self.length, |m, (q, _)| m.max(q.abs()));
        move |i| {
            f64::EPSILON
                * match self.scales[i] {
                    Scale::Length => far,
                    Scale::Angle => far / self.length,
                    Scale::Magnitude => state.q[i].abs(),
                }
        }
    }

    /// Errors may be this many times as large from now on, within what makes sense for a step.
    pub(crate) fn set_leeway(&mut self, leeway: f64) {
        self.leeway = leeway.clamp((FINEST / self.rtol).min(1.0), COARSEST);
    }

    /// Whether weights of fixed steps depend on no state.
    pub fn absolute(&self) -> bool {
        self.absolute
    }

    /// Weights for Newton in steps of a fixed size: positions to `precision` lengths, velocities in
    /// position units (times h), because a tolerance on rates is out of reach for small steps.
    pub fn weigh_fixed(&self, state: &State, h: f64, precision: f64, out: &mut Weights) {
        let unit = |i: usize, x: f64| match self.scales[i] {
            Scale::Length => self.length,
            Scale::Angle => 1.0,
            Scale::Magnitude => 1.0 + x.abs(),
        };
        out.q.clear();
        out.q.extend((0..state.q.len()).map(|i| 1.0 / (precision * unit(i, state.q[i]))));
        out.v.clear();
        out.v.extend((0..state.v.len()).map(|i| h / (precision * unit(i, state.q[i]))));
        out.z.clear();
        out.z.extend(state.z.iter().map(|z| 1.0 / (precision * (1.0 + z.abs()))));
        out.lambda.clear();
        out.mu.clear();
    }
}
