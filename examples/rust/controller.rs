//! A controller in the loop: a pole on a cart is held upright by a force that is computed every millisecond.
//!
//! `cargo run --release --example controller`

use bellcrank::{Body, GROUND, Model, Options, Rod, Simulation, Start, forces, joints};
use std::f64::consts::FRAC_PI_2;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut m = Model::planar("cart-pole").gravity([0.0, -9.81]);
    let push = m.input("push", 0.0);
    let cart = m.body("cart", Body::new().mass(1.0).inertia(0.1));
    let pole = m.body("pole", Body::new().rod(Rod::new([0.0, 0.0], [0.0, 1.0]).mass(0.2)));
    let rail = m.joint("rail", joints::Prismatic::new((GROUND, &cart)).at([0.0, 0.0]).axis([1.0, 0.0]));
    let pin = m.joint("pin", joints::Revolute::new((&cart, &pole)).at([0.0, 0.0]));
    m.force("motor", forces::JointActuator::new(&rail, push));
    // a rod's x axis runs along it: upright is a quarter turn
    m.start(&pin, Start::new().angle(FRAC_PI_2 + 0.1));

    let mut run = Simulation::new(m.read()?, Options { until: 12.0, rtol: 1e-8, ..Options::default() })?;
    let channel = |name: &str| run.channel(name).ok_or_else(|| format!("there is no channel {name}"));
    let (position, speed) = (channel("rail.position")?, channel("rail.rate")?);
    let (angle, rate) = (channel("pin.angle")?, channel("pin.rate")?);
    let push = run.input("push").ok_or("there is no such input")?;
    for k in 0..12_000 {
        // leaning left is a positive angle: the cart goes there, and comes home slowly
        let lean = run.value(angle)? - FRAC_PI_2;
        let effort = run.value(position)? + 2.4 * run.value(speed)? - 32.0 * lean - 8.5 * run.value(rate)?;
        run.set_input(push, effort)?;
        run.advance_to(1e-3 * f64::from(k + 1))?;
    }
    let lean = run.value(angle)? - FRAC_PI_2;
    println!("after {} s and {} steps the pole leans by {lean:.2e} rad", run.t(), run.statistics().steps);
    assert!(lean.abs() < 1e-3);
    Ok(())
}
