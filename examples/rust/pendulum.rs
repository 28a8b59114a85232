//! A pendulum from types: build it, run it, and compare its period with the closed form.
//!
//! `cargo run --release --example pendulum`

use bellcrank::{Body, GROUND, Memory, Model, Options, Simulation, joints};
use std::f64::consts::PI;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut m = Model::planar("pendulum").gravity([0.0, -9.81]);
    let length = 0.8;
    let bob = m.body("bob", Body::new().mass(1.5).at([length, 0.0])); // horizontal, at rest
    m.joint("rod", joints::Distance::new([GROUND, bob]).at([[0.0, 0.0], [length, 0.0]]));

    let mut simulation = Simulation::new(m.read()?, Options { until: 3.0, rtol: 1e-10, ..Options::default() })?;
    let x = simulation.channel("bob.x").ok_or("no such channel")?;

    // it passes the vertical after a quarter of a period
    let mut last = (0.0, length);
    let quarter = loop {
        let Some(step) = simulation.step()? else { return Err("it never came down".into()) };
        let now = (step.t, simulation.value(x)?);
        if now.1 <= 0.0 {
            // close in on the zero by shorter steps from there
            let (mut low, mut high) = (last.0, now.0);
            let mut again = Simulation::new(m.read()?, Options { until: high, rtol: 1e-10, ..Options::default() })?;
            again.advance_to(low)?;
            let start = again.save()?;
            while high - low > 1e-9 {
                let middle = 0.5 * (low + high);
                again.restore(&start)?;
                again.advance_to(middle)?;
                if again.value(x)? > 0.0 { low = middle } else { high = middle }
            }
            break 0.5 * (low + high);
        }
        last = now;
    };
    // a release from the horizontal: T = 4 K(sin 45°) √(l/g), by the arithmetic-geometric mean
    let (mut a, mut b) = (1.0f64, (PI / 4.0).cos());
    for _ in 0..6 {
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    let exact = 2.0 * PI / a * (length / 9.81).sqrt();
    println!("period {:.9} s, in closed form {exact:.9} s", 4.0 * quarter);
    assert!((4.0 * quarter - exact).abs() < 1e-7);

    // the same as a recorded run
    let mut memory = Memory::default();
    let mut simulation = Simulation::new(m.read()?, Options { until: 3.0, ..Options::default() })?;
    let summary = simulation.run(&mut memory);
    println!("{} steps, energy kept to {:.1e} J", summary.statistics.steps, summary.energy.largest_error);
    Ok(())
}
