//! The few equations that joints are made of, each written once with its derivatives.
//!
//! An equation gives g, its gradient on the twists of the frames, and the second derivative
//! (Gᵀλ)_q; the drift (G w)_q of the velocity row and the bias of the acceleration row follow from
//! it, because both contract the same second derivative, with twists in place of loads.

mod curves;
mod motion;
mod points;
mod rolling;

pub use curves::{Beside, FaceOnCurve, OnCurve, SignedDistance, add_bend, face_on_curve, on_curve, roll_on_curve};
pub use motion::{Couple, Follow, Measure, couple, follow, follow_rate, hold};
pub use points::{
    Coincide, Distance, Homokinetic, Perpendicular, Trace, coincide, distance, homokinetic, perpendicular, trace,
};
pub use rolling::{NoSlipAlong, Roll, no_slip_along, no_slip_on_plane, roll, touch};

use crate::dynamics::Limit;
use crate::file::Expression;
use crate::frames::{Covector, Frame, Frames, Row, Stiffness};
use crate::profile::Profile;
use bellcrank_math::Vec3;
use std::sync::Arc;

/// An equation between two frames that is plain data: large models are made of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plain {
    /// p₂ − p₁ = 0, in this number of dimensions.
    Coincide(usize),
    /// (|p₂ − p₁|² − l²)/(2l) = 0.
    Distance(f64),
    /// a₁ · b₂ = 0, of two axes.
    Perpendicular(usize, usize),
    /// a₁ · (p₂ − p₁) − x = 0, of an axis and a constant.
    Along(usize, f64),
}

impl Plain {
    /// What the multipliers λ of its rows put on the second of its ends: the load −Gᵀλ there. Points that coincide need no frames.
    pub fn load_on_second<'a>(&self, ends: impl FnOnce() -> &'a [Frame; 2], lambda: &[f64]) -> Covector {
        let force = |f: Vec3| Covector::new(-f, Vec3::ZERO);
        if let Plain::Coincide(d) = *self {
            return force(Vec3([0, 1, 2].map(|i| if i < d { lambda[i] } else { 0.0 })));
        }
        let [first, second] = ends();
        match *self {
            Plain::Coincide(_) => Covector::default(),
            Plain::Distance(length) => force((second.p - first.p) * (lambda[0] / length)),
            Plain::Perpendicular(a, b) => Covector::new(Vec3::ZERO, first.axis(a).cross(second.axis(b)) * lambda[0]),
            Plain::Along(axis, _) => force(first.axis(axis) * lambda[0]),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Plain::Coincide(d) => *d,
            _ => 1,
        }
    }
}

/// Equations between frames.
pub trait Equation: Send + Sync {
    /// The equation as data, if it is one of the plain ones.
    fn plain(&self) -> Option<Plain> {
        None
    }
    /// Number of rows.
    fn rows(&self) -> usize;
    /// Whether there is a g; if not, `jacobian` is a velocity row that stands in for it: G v + g_t = 0.
    fn holonomic(&self) -> bool {
        true
    }
    /// Whether its velocity rows are rates of functions of the frames, though it may have no g.
    fn integrable(&self) -> bool {
        self.holonomic()
    }
    /// g.
    fn value(&self, at: &Frames, g: &mut [f64]);
    /// G, a form on the twist of every end; `rows` come zeroed.
    fn jacobian(&self, at: &Frames, rows: &mut [Row]);
    /// Adds (Gᵀλ)_q: the change of the loads Gᵀλ with the displacements of the frames.
    fn stiffness(&self, at: &Frames, lambda: &[f64], k: &mut Stiffness);
    /// Whether (Gᵀλ)_q vanishes at the level of frames.
    fn straight(&self) -> bool {
        false
    }
    /// ∂g/∂t and ∂²g/∂t² of rheonomic equations, given the time and the inputs of the model.
    fn time(&self, _t: f64, _inputs: &[f64], _g_t: &mut [f64], _g_tt: &mut [f64]) {}
    /// Whether `time` can give other than zero: then the equation does work.
    fn rheonomic(&self) -> bool {
        false
    }
    /// The functions of time in it.
    fn courses(&self) -> &[Expression] {
        &[]
    }
    /// Whether the rotation of an end matters (or only its origin).
    fn rotational(&self, _end: usize) -> bool {
        true
    }
    /// Whether it has a [limit](Equation::limit): it follows a curve that has ends, or wires that may become parallel.
    fn is_limited(&self) -> bool {
        false
    }
    /// How far it is beyond the range in which it is right, if it has one.
    fn limit(&self, _at: &Frames) -> Option<(Limit, f64)> {
        None
    }
    /// The curve that it follows, if it does.
    fn follows(&self) -> Option<&Arc<Profile>> {
        None
    }
    /// The parameter of the point of that curve at which it is.
    fn parameter(&self, _at: &Frames) -> f64 {
        0.0
    }
    /// The angles whose full turns it needs, in the order of [`Frames::near`]; at most one equation of
    /// a joint may need any.
    fn angles(&self) -> Vec<Measure> {
        Vec::new()
    }
}
