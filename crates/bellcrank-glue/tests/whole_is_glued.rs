//! One model run whole and run in parts gives the same motion.

use bellcrank_glue::{Coordinator, Coupling, GlueOptions, InStep, OwnSolver, Subdomain, cut};
use bellcrank_model::read::read_text;
use bellcrank_model::{Dynamics, System};
use bellcrank_solve::formulation;
use bellcrank_solve::initial::assemble;
use bellcrank_solve::methods::alpha::AlphaParameters;
use bellcrank_solve::options::{MethodName, Options};
use bellcrank_solve::record::Silent;
use bellcrank_solve::simulation::{Simulation, Status};
use std::sync::Arc;

const FOUR_BAR: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
crank = { rod = { from = [0, 0], to = [0.5, 0.8], mass = 2 } }
coupler = { rod = { from = [0.5, 0.8], to = [2.1, 1.2], mass = 3 } }
rocker = { rod = { from = [2.0, 0], to = [2.1, 1.2], mass = 2 } }
[joint]
a = { type = "revolute", between = ["ground", "crank"], at = [0, 0] }
b = { type = "revolute", between = ["crank", "coupler"], at = [0.5, 0.8] }
c = { type = "revolute", between = ["coupler", "rocker"], at = [2.1, 1.2] }
d = { type = "revolute", between = ["rocker", "ground"], at = [2, 0] }
[start]
a = { rate = 1.5 }
"#;

fn system(text: &str) -> Arc<System> {
    Arc::new(read_text("model.toml", text, &[]).unwrap_or_else(|e| panic!("{e}")).model.compile())
}

fn whole(system: &Arc<System>, options: Options) -> Vec<(String, f64)> {
    let mut simulation = Simulation::new("whole", system.clone(), &system.initial_state(), options).unwrap();
    let summary = simulation.run(&mut Silent, &mut |_, _| {});
    assert_eq!(summary.status, Status::Finished);
    summary.last
}

fn glued(system: &Arc<System>, at: &[&str], options: GlueOptions, until: f64) -> (Coordinator, Vec<(String, f64)>) {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let (point, _) = assemble(&dynamics, &system.initial_state()).unwrap();
    let cut = cut(system, &point, at).unwrap();
    let parts = cut.parts.into_iter().map(|(name, model, ports, state)| -> Box<dyn Subdomain> {
        match options.coupling {
            Coupling::Windows => {
                let own = Options { method: MethodName::Dopri5, rtol: 1e-8, ..Options::default() };
                Box::new(OwnSolver::new(&name, model, &ports, Some(&state), own).unwrap())
            }
            Coupling::Position => {
                let (form, alpha) = (formulation::index3(), AlphaParameters::from_rho(0.8));
                Box::new(InStep::new(&name, model, &ports, Some(&state), form, alpha).unwrap())
            }
            _ => {
                let (form, alpha) = (formulation::si2(), AlphaParameters::from_rho(0.8));
                Box::new(InStep::new(&name, model, &ports, Some(&state), form, alpha).unwrap())
            }
        }
    });
    let mut c = Coordinator::new(parts.collect(), cut.interface, 0.0, options).unwrap_or_else(|e| panic!("{e}"));
    c.run(until, &mut |_| Ok(())).unwrap_or_else(|e| panic!("{e}"));
    let seen = c.channels(false).into_iter().map(|c| c.name).zip(c.observe()).collect();
    (c, seen)
}

fn difference(whole: &[(String, f64)], glued: &[(String, f64)], of: impl Fn(&str) -> bool) -> (f64, String) {
    let mut worst = (0.0, String::new());
    let mut compared = 0;
    for (name, value) in glued.iter().filter(|(name, _)| of(name)) {
        if let Some((_, other)) = whole.iter().find(|(n, _)| n == name) {
            compared += 1;
            let d = (value - other).abs();
            if d > worst.0 || d.is_nan() {
                worst = (d, name.clone());
            }
        }
    }
    assert!(compared > 0);
    worst
}

fn moves(name: &str) -> bool {
    [".x", ".y", ".z", ".angle", ".vx", ".vy", ".vz", ".wz"].iter().any(|end| name.ends_with(end))
}

#[test]
fn a_four_bar_cut_at_each_joint_takes_the_steps_of_the_whole() {
    let system = system(FOUR_BAR);
    for (coupling, form) in [(Coupling::Position, "index3"), (Coupling::Stabilized, "si2")] {
        let options = Options {
            method: MethodName::GeneralizedAlpha,
            formulation: Some(form),
            step: Some(5e-3),
            until: 0.5,
            ..Options::default()
        };
        let reference = whole(&system, options);
        for at in [&["a"][..], &["b"], &["c"], &["d"], &["a", "c"], &["a", "b", "c", "d"]] {
            let options = GlueOptions { coupling, window: 5e-3, ..GlueOptions::default() };
            let (c, seen) = glued(&system, at, options, 0.5);
            let (d, name) = difference(&reference, &seen, moves);
            let r = c.report();
            println!("{form} {at:?}: {d:.1e} {name} windows {} exchanges {} most {} Y {} {:?}", r.windows, r.exchanges, r.most, r.admittances, r.residuals);
        }
    }
}

#[test]
fn windows() {
    let system = system(FOUR_BAR);
    let reference = whole(&system, Options { method: MethodName::Dop853, rtol: 1e-10, until: 0.5, ..Options::default() });
    for h in [2e-2, 1e-2, 5e-3] {
        for at in [&["b"][..], &["a", "c"]] {
            let options = GlueOptions { coupling: Coupling::Windows, window: h, tolerance: 1e-8, ..GlueOptions::default() };
            let (c, seen) = glued(&system, at, options, 0.5);
            let (d, name) = difference(&reference, &seen, moves);
            let r = c.report();
            println!("windows {h} {at:?}: {d:.1e} {name} windows {} exchanges {} most {} Y {} {:?}", r.windows, r.exchanges, r.most, r.admittances, r.residuals);
        }
    }
}
