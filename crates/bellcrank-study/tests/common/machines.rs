//! The machines of the bench.

use super::{Machine, machine};

/// A ball on a stiff floor of its own making, which is left by a wind that ends at a time.
pub const WIND: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
parameter = { T = 0.4, F = 3.0 }
body.ball = { mass = 0.5, at = [0, 0] }
[force.wind]
type = "force"
body = "ball"
force = ["if(t < T, F, -0.5*F)", 0]
"#;

/// A ball that bounces off a floor, in space.
pub const BOUNCE: &str = r#"
model = { gravity = [0, 0, -9.81] }
parameter = { e = 0.8, h = 1.0 }
body.ball = { mass = 0.5, sphere = { radius = 0.1 }, at = [0, 0, "h"], velocity = [0.3, 0, 0] }
force.floor = { type = "contact", between = ["ground", "ball"], normal = [0, 0, 1], restitution = "e" }
"#;

/// A pendulum that swings against a stop.
pub const STOP: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
parameter = { k = 400.0, L = 0.5 }
body.bar = { rod = { from = [0, 0], to = ["L", 0], mass = 1.2 } }
joint.pin = { type = "revolute", between = ["ground", "bar"], at = [0, 0] }
force.stop = { type = "stop", joint = "pin", lower = -1.2, upper = 1.2, stiffness = "k", damping = 3 }
"#;

/// A block that comes back to where it started, and there just touches a stop.
pub const GRAZE: &str = r#"
model = { plane = "xy" }
parameter = { A = 0.1 }
body.block = { box = { size = [0.1, 0.1], mass = 1 } }
joint.slide = { type = "prismatic", between = ["ground", "block"], at = [0, 0] }
force.spring = { type = "joint-spring", joint = "slide", stiffness = 100 }
force.stop = { type = "stop", joint = "slide", upper = 0.09999999, stiffness = 1e4 }
start.slide = { position = "-A" }
"#;

/// All of them: plane, space, flexible, loops, redundant, stiff, driven, events.
pub const ALL: &[Machine] = &[
    // plane, loops
    machine("pendulum.toml", &["bar.x", "bar.y.min", "pin.rate.rms"], &["length"], 2.0),
    machine("slider-crank.toml", &["slider.x", "B.vx", "slider.x.mean"], &["k", "L1", "body.slider.mass"], 1.0),
    machine("slider-crank.toml", &["slider.x", "link.angle"], &["k", "L2"], 1.0).solved(&["method=bdf", "rtol=1e-10"]),
    machine("four-bar.toml", &["P.x", "P.y", "D.angle"], &["a", "b", "start.A.rate"], 1.0),
    machine("peaucellier.toml", &["P.x", "P.y"], &["r"], 1.0).solved(&["rtol=1e-10"]),
    machine("seven-body.toml", &["K1.angle"], &["force.spring.stiffness"], 0.02),
    // space
    machine("gyroscope.toml", &["end.x", "end.z", "end.z.min"], &["spin", "body.wheel.cylinder.mass"], 0.7)
        .solved(&["rtol=1e-10"])
        .differenced(1e-5),
    machine("spatial-slider-crank.toml", &["slider.x"], &["model.gravity.2"], 0.8),
    machine("cardan-shaft.toml", &["out.angle"], &["bend"], 1.0),
    machine("dzhanibekov.toml", &["top.x", "nut.wz"], &["body.nut.angular_velocity.2", "body.nut.box.size.1"], 2.0),
    machine("robot-arm.toml", &["hand.x", "hand.z"], &["body.load.sphere.mass", "force.elbow_motor.kp"], 1.2)
        .solved(&["coordinates=relative"]),
    machine("rolling-disk.toml", &["disk.x", "disk.y"], &["r", "lean"], 1.0),
    // flexible
    machine(
        "flexible-rod.toml",
        &["tip.x", "middle.y"],
        &["body.ruler.beam.density", "body.ruler.beam.section.height"],
        0.5,
    ),
    machine("flexible-rod.toml", &["tip.y"], &["body.ruler.beam.section.height"], 0.5)
        .solved(&["coordinates=relative"]),
    // redundant
    machine("bennett.toml", &["far.x", "far.z"], &["body.bar2.rod.mass", "start.j0.rate"], 1.5),
    machine("windows.toml", &["corner.x"], &["model.gravity.1", "body.h2.rod.mass"], 1.0),
    // stiff
    machine("stiff-bushing.toml", &["block.x"], &["k"], 0.5).solved(&["method=bdf", "rtol=1e-10"]),
    machine("suspension.toml", &["contact.z", "wheel.z.max"], &["force.strut.damping", "force.strut.stiffness"], 0.5)
        .solved(&["method=bdf", "rtol=1e-10"]),
    // driven
    machine("flyball-governor.toml", &["angle", "left.x"], &["speed", "rest"], 2.0),
    machine("quick-return.toml", &["ram.x"], &["a"], 1.0),
    machine("quarter-car.toml", &["body.y.max", "body.y"], &["height", "speed"], 1.0),
    machine("cart-pole.toml", &["cart.x"], &["lean"], 1.5),
    // events
    machine(WIND, &["ball.x", "ball.vx", "ball.x.mean"], &["T", "F"], 1.0),
    machine(BOUNCE, &["ball.z", "ball.vz", "ball.z.mean"], &["e", "h"], 1.1),
    machine(STOP, &["pin.angle", "pin.angle.rms"], &["k", "L"], 1.0),
    machine("stick-slip.toml", &["mass.x", "slide.position"], &["k", "v"], 2.5),
];
