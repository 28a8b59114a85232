//! Gluing: two parts with models and solvers of their own, joined at a pin, beside the same machine in one piece.
//!
//! `cargo run --release --example glued`

use bellcrank::glue::run_cut;
use bellcrank::{Body, GROUND, Model, Options, Rod, joints::Revolute};
use std::sync::Arc;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut m = Model::planar("double-pendulum").gravity([0.0, -9.81]);
    let upper = m.body("upper", Body::new().rod(Rod::new([0.0, 0.0], [1.0, 0.0]).mass(1.0)));
    let lower = m.body("lower", Body::new().rod(Rod::new([1.0, 0.0], [2.0, 0.0]).mass(0.5)));
    m.joint("shoulder", Revolute::new((GROUND, &upper)).at([0.0, 0.0]));
    m.joint("elbow", Revolute::new((&upper, &lower)).at([1.0, 0.0]));

    // each part keeps its own equations; they exchange motions and loads at the pin
    let system = Arc::new(m.read()?.model.into_system());
    let options = Options { step: Some(1e-3), until: 0.5, ..Options::default() };
    let run = run_cut(&system, options, &["elbow"])?;
    let worst = run.differences.iter().find(|d| d.unit == "m").ok_or("nothing was compared")?;
    println!("whole and glued differ by {:.1e} m, in {} at t = {} s", worst.size, worst.channel, worst.t);
    assert!(worst.size < 1e-9);
    Ok(())
}
