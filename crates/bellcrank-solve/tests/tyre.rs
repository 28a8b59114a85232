//! Tyres: closed forms of coasting, braking and cornering, rolling without slip as a limit, energy on bumps.

mod common;

use bellcrank_solve::choices::Coordinates;
use bellcrank_solve::record::Memory;
use bellcrank_solve::run::Status;
use bellcrank_solve::{MethodName, Options, Simulation, Summary};
use common::{last, system};

fn run(text: &str, options: Options) -> (Memory, Summary) {
    let mut memory = Memory::default();
    let mut simulation = Simulation::new(system(text), options).unwrap_or_else(|e| panic!("{e}"));
    let summary = simulation.run(&mut memory);
    assert_eq!(summary.status, Status::Finished, "{:?}", summary.status);
    (memory, summary)
}

fn until(until: f64) -> Options {
    Options { until, rtol: 1e-8, sample: Some(until / 50.0), ..Options::default() }
}

fn close(a: f64, b: f64, most: f64, what: &str) {
    assert!((a - b).abs() <= most * b.abs().max(1e-300), "{what}: {a} against {b}");
}

const G: f64 = 9.81;

/// A wheel of 20 kg in the plane, at rest on its tyre, that rolls forward at `v`.
fn wheel(v: f64, tyre: &str) -> String {
    let (m, k, r) = (20.0, 2e5, 0.3);
    let loaded = r - m * G / k;
    format!(
        "model = {{ plane = \"xy\", gravity = [0, -{G}] }}\n\
         [body.wheel]\ncylinder = {{ radius = {r}, length = 0.2, mass = {m} }}\nat = [0, {loaded:?}]\n\
         velocity = [{v:?}, 0]\nangular_velocity = {:?}\n\
         [force.tyre]\ntype = \"tyre\"\nbetween = [\"ground\", \"wheel\"]\nstiffness = {k}\n{tyre}\n",
        -v / loaded
    )
}

#[test]
fn coasting_down_follows_the_closed_form() {
    // m′ v̇ = −f m g − c v², m′ = m + J/r²: v = √(A/c) tan(φ₀ − √(A c) t/m′) with A = f m g
    let (m, f, c) = (20.0, 0.015, 0.4);
    let loaded = 0.3 - m * G / 2e5;
    let effective = m + 0.5 * m * 0.09 / (loaded * loaded);
    let tyre = format!("friction = 1\nslip_stiffness = 1e6\nrolling_resistance = {f}\nvelocity = 1e-3");
    let drag = format!("[force.air]\ntype = \"drag\"\nbody = \"wheel\"\ncoefficient = {c}\n");
    let (memory, _) = run(&format!("{}{drag}", wheel(30.0, &tyre)), until(20.0));
    let a = f * m * G;
    let speed = |t: f64| {
        let phase = (30.0 * (c / a).sqrt()).atan();
        (a / c).sqrt() * (phase - (a * c).sqrt() / effective * t).tan()
    };
    let found = memory.column("wheel.vx").unwrap();
    for (k, v) in found.iter().enumerate().step_by(10) {
        close(*v, speed(20.0 * k as f64 / 50.0), 1e-4, "coasting");
    }
}

#[test]
fn a_locked_wheel_stops_with_the_coefficient_of_friction() {
    let tyre = "friction = 0.8\nslip_stiffness = 5e4";
    // a slide that the wheel's axle is held on: the wheel does not turn
    let text = wheel(20.0, tyre).replace("angular_velocity", "# ");
    let held = "[force.brake]\ntype = \"torque\"\nbody = \"wheel\"\ntorque = \"-1e5*wheel.wz - 1e6*wheel.angle\"\n";
    let (memory, _) = run(&format!("{text}{held}"), until(2.0));
    let (v, x) = (memory.column("wheel.vx").unwrap(), memory.column("wheel.x").unwrap());
    for k in [10usize, 30, 50] {
        let t = 2.0 * k as f64 / 50.0;
        close(v[k], 20.0 - 0.8 * G * t, 1e-3, "speed of the locked wheel");
        close(x[k], 20.0 * t - 0.4 * G * t * t, 1e-3, "way of the locked wheel");
    }
    close(*memory.column("tyre.longitudinal").unwrap().last().unwrap(), -0.8 * 20.0 * G, 1e-4, "friction");
    close(*memory.column("tyre.slip").unwrap().last().unwrap(), -1.0, 1e-3, "slip");
}

#[test]
fn a_stiff_tyre_rolls_without_slip_in_the_limit() {
    // down a slope of 0.1 rad: v̇ = g sin θ/(1 + J/(m r²))
    let slope = |stiffness: f64| {
        let text = wheel(5.0, &format!("friction = 1\nslip_stiffness = {stiffness:?}\nvelocity = 1e-3"))
            .replace(&format!("[0, -{G}]"), &format!("[{:?}, {:?}]", G * 0.1f64.sin(), -G * 0.1f64.cos()));
        let (_, summary) = run(&text, until(1.0));
        let r = 0.3 - 20.0 * G * 0.1f64.cos() / 2e5;
        last(&summary, "wheel.vx") - (5.0 + G * 0.1f64.sin() / (1.0 + 0.5 * 0.09 / (r * r)))
    };
    let errors = [1e4, 1e5, 1e6].map(slope);
    for pair in errors.windows(2) {
        let ratio = pair[0] / pair[1];
        assert!((7.0..13.0).contains(&ratio), "{errors:?}: the slip falls with 1/stiffness");
    }
    assert!(errors[2].abs() < 1e-4, "{errors:?}");
}

/// A wheel in space that is carried along x at `v`, turned to the left by `steer`, leaned by `lean`; it spins freely.
fn carried(v: f64, steer: f64, lean: f64, tyre: &str) -> String {
    let (s, c) = (steer.sin(), steer.cos());
    let axis = format!("[{:?}, {:?}, {:?}]", -s * lean.cos(), c * lean.cos(), lean.sin());
    let height = 0.28;
    format!(
        "[body.sled]\nmass = 100\ninertia = [1, 1, 1]\nat = [0, 0, {height}]\nvelocity = [{v:?}, 0, 0]\n\
         [body.wheel]\nmass = 10\ninertia = [0.2, 0.2, 0.2]\nat = [0, 0, {height}]\nvelocity = [{v:?}, 0, 0]\n\
         [joint.rail]\ntype = \"prismatic\"\nbetween = [\"ground\", \"sled\"]\nat = [0, 0, {height}]\naxis = [1, 0, 0]\n\
         [joint.go]\ntype = \"drive\"\njoint = \"rail\"\nposition = \"{v:?}*t\"\n\
         [joint.axle]\ntype = \"revolute\"\nbetween = [\"sled\", \"wheel\"]\nat = [0, 0, {height}]\naxis = {axis}\n\
         [start]\naxle = {{ rate = {:?} }}\n\
         [force.tyre]\ntype = \"tyre\"\nbetween = [\"ground\", \"wheel\"]\naxis = {axis}\nradius = 0.3\nstiffness = 2e5\n{tyre}\n",
        v * steer.cos() / (height / lean.cos())
    )
}

#[test]
fn a_carried_wheel_has_the_side_force_and_the_trail_of_the_brush_model() {
    let (mu, c, trail) = (0.9, 4e4, 0.03);
    let tyre = format!("friction = {mu}\nslip_stiffness = {c}\ntrail = {trail}\nvelocity = 1e-3");
    for steer in [0.02, 0.1, 0.25, -0.1, 0.5f64] {
        let (_, summary) = run(&carried(15.0, steer, 0.0, &tyre), until(1.0));
        let load = 2e5 * 0.02;
        // steered to the left the wheel moves to its right, and the force is to its left
        let slip = -steer.tan();
        let x = (c * slip.abs() / (3.0 * mu * load)).min(1.0);
        let force = mu * load * (1.0 - (1.0 - x).powi(3)) * steer.signum();
        let moment = -force * trail * (1.0 - x).powi(3) / (1.0 - x + x * x / 3.0);
        let at = |channel: &str| last(&summary, channel);
        close(at("tyre.load"), load, 1e-9, "load");
        close(at("tyre.slip_angle"), -steer, 1e-6, "slip angle");
        close(at("tyre.lateral"), force, 1e-6, "side force");
        assert!((at("tyre.aligning") - moment).abs() < 1e-5 * load, "{} {moment}", at("tyre.aligning"));
        assert!(at("tyre.longitudinal").abs() < 1e-4 * load, "{}", at("tyre.longitudinal"));
    }
}

#[test]
fn a_relaxation_length_is_the_way_of_the_side_force() {
    let (v, sigma, steer, c) = (10.0, 0.5, 0.02f64, 4e4);
    let tyre = format!("friction = 1000\nslip_stiffness = {c}\nrelaxation = [0.2, {sigma}]\nvelocity = 1e-3");
    let (memory, _) = run(&carried(v, steer, 0.0, &tyre), until(0.2));
    let force = memory.column("tyre.lateral").unwrap();
    for k in [5usize, 20, 50] {
        let way = v * steer.cos() * 0.2 * k as f64 / 50.0;
        let slip = steer.tan() * (1.0 - (-way / sigma).exp());
        close(force[k], c * slip, 1e-4, "relaxed side force");
    }
}

#[test]
fn a_leaning_wheel_has_camber_thrust_to_the_side_it_leans() {
    let (lean, camber) = (0.1f64, 3e3);
    let tyre = format!("friction = 1000\nslip_stiffness = 4e4\ncamber_stiffness = {camber}\nvelocity = 1e-3");
    let (_, summary) = run(&carried(10.0, 0.0, lean, &tyre), until(0.5));
    close(last(&summary, "tyre.camber"), lean, 1e-9, "camber");
    close(last(&summary, "tyre.lateral"), -camber * lean.sin(), 1e-4, "camber thrust");
    // the radial spring: its deflection is seen along the wheel, the load along the road
    close(last(&summary, "tyre.load"), 2e5 * (0.3 - 0.28 / lean.cos()) / lean.cos(), 1e-9, "load");
}

#[test]
fn a_slippery_wheel_keeps_its_energy_on_bumps_and_flies_off_them() {
    let bumps = "friction = 1e-12\nslip_stiffness = 1\nroad = \"0.05*sin(2*x) + 0.02*cos(5*x)\"";
    let text = wheel(6.0, bumps).replace("at = [0, 0.29", "at = [0, 0.31");
    let (memory, summary) = run(&text, until(4.0));
    let energy: Vec<f64> = memory.column("energy.total").unwrap().to_vec();
    let size = 0.5 * 20.0 * 36.0;
    for e in &energy {
        assert!((e - energy[0]).abs() < 1e-5 * size, "{e} against {}", energy[0]);
    }
    let load = memory.column("tyre.load").unwrap();
    assert!(load.iter().all(|n| *n >= 0.0) && load.contains(&0.0), "it leaves the road");
    assert!(summary.events.iter().any(|e| format!("{e:?}").contains("leaves")), "{:?}", summary.events);
}

/// A cart of two wheels on bumps, driven by the rear one.
fn cart() -> String {
    let wheels = ["rear", "front"].into_iter().zip([-0.8, 0.8]).map(|(name, x)| {
        format!(
            "[body.{name}]\ncylinder = {{ radius = 0.3, length = 0.2, mass = 20 }}\nat = [{x}, 0.295]\nvelocity = [8, 0]\n\
             angular_velocity = -27\n\
             [joint.{name}_axle]\ntype = \"revolute\"\nbetween = [\"cart\", \"{name}\"]\nat = [{x}, 0.295]\n\
             [force.{name}_tyre]\ntype = \"tyre\"\nbetween = [\"ground\", \"{name}\"]\nstiffness = 1e5\ndamping = 0.1\n\
             friction = 0.9\nslip_stiffness = 3e4\nrelaxation = 0.2\nrolling_resistance = 0.01\nroad = \"0.03*sin(3*x)\"\n"
        )
    });
    format!(
        "model = {{ plane = \"xy\", gravity = [0, -{G}] }}\n\
         [body.cart]\nbox = {{ size = [2, 0.3], mass = 200 }}\nat = [0, 0.6]\nvelocity = [8, 0]\n{}\
         [force.engine]\ntype = \"joint-actuator\"\njoint = \"rear_axle\"\neffort = \"-200*sin(4*t)\"\n",
        wheels.collect::<String>()
    )
}

#[test]
fn coordinates_and_methods_agree_on_a_driven_cart() {
    let options = |method, coordinates| Options { method, coordinates, rtol: 1e-8, until: 1.5, ..Options::default() };
    let (_, first) = run(&cart(), options(MethodName::Dop853, Coordinates::Cartesian));
    for (method, coordinates) in [
        (MethodName::Dop853, Coordinates::Relative),
        (MethodName::Bdf, Coordinates::Cartesian),
        (MethodName::Bdf, Coordinates::Relative),
    ] {
        let (_, other) = run(&cart(), options(method, coordinates));
        for channel in ["cart.x", "cart.y", "cart.angle", "cart.vx", "rear.wz", "front_tyre.load"] {
            let (a, b) = (last(&first, channel), last(&other, channel));
            assert!((a - b).abs() < 3e-5 * (1.0 + a.abs()), "{method:?} {coordinates:?}: {channel} {a} {b}");
        }
    }
}
