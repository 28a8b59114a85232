//! How an explicit method notices that a problem is stiff.

use crate::methods::recent::{KEPT, Recent};

/// Whether accuracy still asks for steps as short as they are. Springs and dampers that have come to rest hold the steps of
/// an explicit method down by its stability, and its error estimate goes along; the motion itself is then so smooth that
/// a cubic through the last four steps foretells the next one to a small part of the tolerance.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Smoothness {
    past: Recent,
    known: usize,
    foretold: Vec<f64>,
    /// Steps in a row that were smooth, and yet held down by the error test.
    held: usize,
    /// How far the last steps were from what was foretold, in tolerances.
    pub surprise: f64,
}

impl Smoothness {
    /// BDF, whose predictor errs like h⁴ too, could take steps six times as long.
    const SMOOTH: f64 = 1e-3;
    /// Steps in a row after which the problem is stiff.
    const STEPS: usize = 60;
    /// Errors below this hold no step down.
    const HELD: f64 = 0.05;
    /// A fast motion of more tolerances than this is there; a smaller one is what the edge of stability makes of rounding.
    pub const EXCITED: f64 = 10.0;

    /// The motion is continued from here.
    pub fn start(&mut self, t: f64, y: &[f64]) {
        self.past.start(t, y);
        (self.known, self.held) = (1, 0);
    }

    /// Takes a step to (t, y) down, which passed the test with this error.
    pub fn note(&mut self, t: f64, y: &[f64], error: f64, norm: impl Fn(&[f64]) -> f64) {
        if self.known == 0 {
            return self.start(t, y);
        }
        if self.known >= KEPT && error > Self::HELD {
            self.foretold.resize(y.len(), 0.0);
            self.past.extrapolate(t, KEPT, &mut self.foretold);
            self.foretold.iter_mut().zip(y).for_each(|(x, y)| *x -= y);
            let off = norm(&self.foretold);
            self.surprise = 0.5 * (self.surprise + off);
            self.held = if off < Self::SMOOTH { self.held + 1 } else { 0 };
        }
        self.past.push(t, y, KEPT);
        self.known += 1;
    }

    pub fn stiff(&self) -> bool {
        self.held >= Self::STEPS
    }
}
