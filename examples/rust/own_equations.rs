//! Equations of one's own: a bead on a parabola, with M, f, g and their derivatives, through every method.
//!
//! `cargo run --release --example own_equations`

use bellcrank::{Equations, HandWritten, Machine, MethodName, Options, Silent, Simulation, State};
use std::sync::Arc;

/// A bead of 1 kg slides on y = x²/2 without friction: g = y − x²/2 = 0.
struct Bead;

const GRAVITY: f64 = 9.81;

impl Equations for Bead {
    fn coordinates(&self) -> usize {
        2
    }
    fn constraints(&self) -> usize {
        1
    }
    fn mass(&self, _q: &[f64], m: &mut [f64]) {
        (m[0], m[3]) = (1.0, 1.0);
    }
    fn force(&self, _t: f64, _q: &[f64], _v: &[f64], f: &mut [f64]) {
        f[1] = -GRAVITY;
    }
    fn force_q(&self, _t: f64, _q: &[f64], _v: &[f64], _out: &mut [f64]) {}
    fn constraint(&self, _t: f64, q: &[f64], g: &mut [f64]) {
        g[0] = q[1] - 0.5 * q[0] * q[0];
    }
    fn jacobian(&self, _t: f64, q: &[f64], out: &mut [f64]) {
        (out[0], out[1]) = (-q[0], 1.0);
    }
    fn jacobian_derivative(&self, _t: f64, _q: &[f64], u: &[f64], out: &mut [f64]) {
        out[0] = -u[0];
    }
    fn multiplier_derivative(&self, _t: f64, _q: &[f64], lambda: &[f64], out: &mut [f64]) {
        out[0] = -lambda[0];
    }
    fn potential(&self, _t: f64, q: &[f64]) -> Option<f64> {
        Some(GRAVITY * q[1])
    }
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = State { q: vec![1.0, 0.5], v: vec![0.0, 0.0], ..State::default() };
    let mut ends = Vec::new();
    for method in [MethodName::Dop853, MethodName::Bdf, MethodName::GeneralizedAlpha] {
        let machine = Machine::equations("bead", Arc::new(HandWritten::new(Bead)), &start);
        let options = Options { method, until: 2.0, rtol: 1e-8, ..Options::default() };
        let summary = Simulation::new(machine, options)?.run(&mut Silent);
        let x = summary.last.get("q1").ok_or("no such channel")?;
        println!("{:>9}: x = {x:.7} m, energy kept to {:.1e} J", summary.names.method, summary.energy.largest_error);
        ends.push(x);
    }
    assert!(ends.iter().all(|x| (x - ends[0]).abs() < 1e-4), "{ends:?}");
    Ok(())
}
