//! What if: parameters, saved states, and the numbers behind the motion at any state.
//!
//! `cargo run --release --example what_if`

use bellcrank::{Options, Simulation, read_text};

const LIFT: &str = r#"
[model]
gravity = [0, 0, -9.81]
[parameter]
mass = 2
[body.arm]
rod = { from = [0, 0, 0], to = [1, 0, 0], radius = 0.02 }
mass = "mass"
[joint.pin]
type = "revolute"
between = ["ground", "arm"]
at = [0, 0, 0]
axis = [0, 1, 0]
"#;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options { until: 1.0, rtol: 1e-9, ..Options::default() };
    let mut run = Simulation::new(read_text("lift.toml", LIFT, &[])?, options.clone())?;
    let angle = run.channel("pin.angle").ok_or("no such channel")?;

    // the first instant, by hand: m g/2 = (m/3) α
    let alpha = 1.5 * 9.81;
    let measured = run.accelerations()?;
    println!("mass matrix {:?}", run.mass_matrix().to_dense());
    println!("reactions {:?}", run.reactions()?);
    let turning = measured.iter().map(|a| a.abs()).fold(0.0f64, f64::max);
    assert!((turning - alpha).abs() < 0.02 * alpha, "{turning}");

    // save, go on, and go back: the same bits again
    run.advance_to(0.2)?;
    let saved = run.save()?;
    run.advance_to(0.5)?;
    let first = run.value(angle)?;
    run.restore(&saved)?;
    run.advance_to(0.5)?;
    assert_eq!(first.to_bits(), run.value(angle)?.to_bits());

    // another mass: a uniform rod falls as fast
    let heavy = read_text("lift.toml", LIFT, &["parameter.mass=20".to_string()])?;
    let mut heavy = Simulation::new(heavy, options)?;
    heavy.advance_to(0.5)?;
    println!("at .5 s: {first:.9} rad with 2 kg, {:.9} rad with 20 kg", heavy.value(angle)?);
    assert!((first - heavy.value(angle)?).abs() < 1e-7);
    Ok(())
}
