//! A controller in the loop: a pole on a cart is held upright by a force that is computed every millisecond.
//!
//! `cargo run --release --example controller`

use bellcrank::{Body, GROUND, Model, Options, Rod, Simulation, Start, forces, joints};

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut m = Model::planar("cart-pole").gravity([0.0, -9.81]);
    let push = m.input("push", 0.0);
    let cart = m.body("cart", Body::new().mass(1.0).inertia(0.1));
    let pole = m.body("pole", Body::new().rod(Rod::new([0.0, 0.0], [0.0, 1.0]).mass(0.2)));
    m.joint("rail", joints::Prismatic::new((GROUND, &cart)).at([0.0, 0.0]).axis([1.0, 0.0]));
    let pin = m.joint("pin", joints::Revolute::new((&cart, &pole)).at([0.0, 0.0]));
    m.force("motor", forces::JointActuator::new("rail", push));
    m.start(&pin, Start::new().angle(0.1));

    let mut run = Simulation::new(m.read()?, Options { until: 12.0, rtol: 1e-8, ..Options::default() })?;
    let channels = ["rail.position", "rail.rate", "pin.angle", "pin.rate"].map(|name| run.channel(name));
    let push = run.input("push").ok_or("no such input")?;
    let gains = [-1.0, -2.4, -32.0, -8.5];
    for k in 0..12_000 {
        let mut effort = 0.0;
        for (channel, gain) in channels.iter().zip(gains) {
            effort -= gain * run.value(channel.ok_or("no such channel")?)?;
        }
        run.set_input(push, effort)?;
        run.advance_to(1e-3 * f64::from(k + 1))?;
    }
    let angle = run.value(channels[2].ok_or("no such channel")?)?;
    println!("after {} s the pole leans by {angle:.2e} rad", run.t());
    assert!(angle.abs() < 1e-3);
    Ok(())
}
