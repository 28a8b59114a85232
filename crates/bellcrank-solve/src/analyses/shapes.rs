//! Modes as motions that can be looked at: the machine swings through each of its shapes, one after the other.
//!
//! A mode with the shape a + ib is drawn at phase φ with the tangent displacement A (a sin φ + b cos φ) from the state it is a
//! mode about: one period, at constant amplitude, whatever its damping. A is chosen so that nothing moves by more than a tenth
//! of the model's length, nor turns by more than `TURN`. The displaced machine is then closed again, as a start is: a shape
//! is a tangent, and along tangents joints open.

use super::modes::{Mode, Modes, motions};
use crate::record::{Channel, Header, Recorder};
use crate::start;
use bellcrank_model::dynamics::Scale;
use bellcrank_model::{Dynamics, Point, Workspace};
use std::f64::consts::TAU;
use std::io;
use std::sync::Arc;

/// The largest displacement that is drawn, in lengths of the model.
const REACH: f64 = 0.1;
/// The largest turn that is drawn, in rad.
const TURN: f64 = 0.35;
/// A period lasts this long, in s, and is drawn in this many steps.
pub const PERIOD: f64 = 2.0;
const STEPS: usize = 48;
/// One mode begins this long after the one before, in s.
const APART: f64 = 2.5;

/// The motion of a mode in the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Swing {
    /// Number of the mode, from zero.
    pub mode: usize,
    /// When it begins and ends, in s.
    pub span: (f64, f64),
    /// A, by which the shape is multiplied: its largest displacement, in m.
    pub amplitude: f64,
    /// Whether joints are closed in all of it; if not, the tangent displacement is drawn.
    pub closed: bool,
}

/// Records how the first `count` modes about a point move. The recorder is begun, but not ended.
pub fn swing(
    dynamics: &Arc<dyn Dynamics>,
    model: &str,
    at: &Point,
    modes: &Modes,
    count: usize,
    out: &mut dyn Recorder,
) -> io::Result<Vec<Swing>> {
    let motions = motions(&**dynamics);
    let kept: Vec<usize> = (0..motions.channels.len()).filter(|k| is_place(motions.channels[*k].unit)).collect();
    let channels: Vec<Channel> = kept.iter().map(|k| motions.channels[*k].clone()).collect();
    out.begin(&Header { model: model.to_string(), channels })?;
    let mut w = dynamics.workspace();
    let (mut all, mut values) = (Vec::new(), Vec::new());
    let mut swings = Vec::new();
    for (mode, shape) in modes.modes.iter().enumerate().take(count) {
        let amplitude = amplitude(&**dynamics, shape);
        let begin = mode as f64 * APART;
        let mut closed = true;
        for step in 0..=STEPS {
            let share = step as f64 / STEPS as f64;
            let (point, whole) = displaced(dynamics, at, shape, amplitude, share, &mut w);
            closed &= whole;
            w.invalidate();
            dynamics.realize(&point, &mut w);
            dynamics.observe_some(&motions, &point, &mut w, &mut all);
            values.clear();
            values.extend(kept.iter().map(|k| all[*k]));
            out.frame(begin + share * PERIOD, &values)?;
        }
        swings.push(Swing { mode, span: (begin, begin + PERIOD), amplitude, closed });
    }
    Ok(swings)
}

/// Whether a channel with this unit tells where something is.
fn is_place(unit: &str) -> bool {
    matches!(unit, "m" | "rad" | "")
}

/// By how much a shape is multiplied.
fn amplitude(dynamics: &dyn Dynamics, mode: &Mode) -> f64 {
    let (scales, length) = (dynamics.scales(), dynamics.length());
    let sizes = mode.re.iter().zip(&mode.im).map(|(re, im)| re.hypot(*im));
    let (mut moved, mut turned) = (0.0f64, 0.0f64);
    for (size, scale) in sizes.zip(&scales) {
        match scale {
            Scale::Angle => turned = turned.max(size),
            _ => moved = moved.max(size),
        }
    }
    // an angle counts as what a point at one length from it moves
    moved = moved.max(length * turned);
    let most = dynamics.largest_turn(&mode.re).unwrap_or(0.0).max(dynamics.largest_turn(&mode.im).unwrap_or(0.0));
    let reach = REACH * length / moved.max(f64::MIN_POSITIVE);
    let turn = TURN / turned.max(most).max(f64::MIN_POSITIVE);
    if moved == 0.0 { 0.0 } else { reach.min(turn) }
}

/// The machine at a share of a mode's period, and whether its joints are closed.
fn displaced(
    dynamics: &Arc<dyn Dynamics>,
    at: &Point,
    mode: &Mode,
    amplitude: f64,
    share: f64,
    w: &mut Workspace,
) -> (Point, bool) {
    let (sin, cos) = (TAU * share).sin_cos();
    let delta: Vec<f64> = mode.re.iter().zip(&mode.im).map(|(a, b)| a * sin + b * cos).collect();
    let mut point = at.clone();
    dynamics.retract(amplitude, &mut point.q, &delta);
    point.v.fill(0.0);
    let drawn = point.clone();
    match start::close(dynamics, &mut point, w) {
        Ok(()) => (point, true),
        Err(_) => (drawn, false),
    }
}
