//! Machines, and runs of them whole and in parts.

#![allow(dead_code)] // each test file uses some of it

use bellcrank_glue::{Coordinator, Coupling, GlueOptions, PartModel, Subdomain, cut};
use bellcrank_model::read::read_text;
use bellcrank_model::{Dynamics, System};
use bellcrank_solve::FormulationKind;
use bellcrank_solve::choices::{MethodName, Options};
use bellcrank_solve::record::Silent;
use bellcrank_solve::run::{Simulation, Status};
use bellcrank_solve::start::assemble;
use std::sync::Arc;

pub type Values = Vec<(String, f64)>;

pub const FOUR_BAR: &str = r#"
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

pub const DOUBLE_FOUR_BAR: &str = r#"
model = { plane = "xy", gravity = [0, -9.81] }
[body]
one = { rod = { from = [0, 0], to = [0.3, 1.0], mass = 1 } }
two = { rod = { from = [1, 0], to = [1.3, 1.0], mass = 1 } }
three = { rod = { from = [2, 0], to = [2.3, 1.0], mass = 1 } }
left = { rod = { from = [0.3, 1.0], to = [1.3, 1.0], mass = 1 } }
right = { rod = { from = [1.3, 1.0], to = [2.3, 1.0], mass = 1 } }
[joint]
a = { type = "revolute", between = ["ground", "one"], at = [0, 0] }
b = { type = "revolute", between = ["ground", "two"], at = [1, 0] }
c = { type = "revolute", between = ["ground", "three"], at = [2, 0] }
d = { type = "revolute", between = ["one", "left"], at = [0.3, 1] }
e = { type = "revolute", between = ["left", "two"], at = [1.3, 1] }
f = { type = "revolute", between = ["two", "right"], at = [1.3, 1] }
g = { type = "revolute", between = ["right", "three"], at = [2.3, 1] }
[start]
a = { rate = 1.0 }
"#;

pub const SPATIAL: &str = r#"
model = { gravity = [0, 0, -9.81] }
[body]
arm = { rod = { from = [0, 0, 0], to = [1, 0, 0], mass = 2, radius = 0.05 } }
ball = { box = { size = [0.3, 0.2, 0.4], mass = 3 }, at = [1.2, 0.1, -0.3], angular_velocity = [1, 2, 3] }
[joint]
pin = { type = "revolute", between = ["ground", "arm"], at = [0, 0, 0], axis = [0, 1, 0.3] }
socket = { type = "spherical", between = ["arm", "ball"], at = [1, 0, 0] }
"#;

pub fn chain_of(bodies: usize) -> String {
    let mut chain = String::from("model = { plane = \"xy\", gravity = [0, -9.81] }\n");
    for k in 0..bodies {
        let before = if k == 0 { "ground".to_string() } else { format!("r{}", k - 1) };
        chain += &format!(
            "[body.r{k}]\nrod = {{ from = [{k}, 0], to = [{}, 0], mass = 1 }}\n\
             [joint.j{k}]\ntype = \"revolute\"\nbetween = [\"{before}\", \"r{k}\"]\nat = [{k}, 0]\n",
            k + 1
        );
    }
    chain
}

pub fn problem(name: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/problems/").to_string() + name + "/model.toml";
    std::fs::read_to_string(path).unwrap()
}

pub fn system(text: &str) -> Arc<System> {
    Arc::new(read_text("model.toml", text, &[]).unwrap_or_else(|e| panic!("{e}")).model.compile())
}

pub fn whole(system: &Arc<System>, options: Options) -> Values {
    let mut simulation = Simulation::new(system.clone(), options).unwrap();
    let summary = simulation.run(&mut Silent);
    assert_eq!(summary.status, Status::Finished);
    summary.last.to_vec()
}

pub fn join(system: &Arc<System>, at: &[&str], options: GlueOptions, own: &[Options]) -> Coordinator {
    let dynamics: Arc<dyn Dynamics> = system.clone();
    let (point, _) = assemble(&dynamics, &system.initial_state()).unwrap();
    let cut = cut(system, &point, at).unwrap();
    let make = |(k, part): (usize, PartModel)| -> Box<dyn Subdomain> {
        match options.coupling {
            Coupling::Windows | Coupling::Explicit => part.with_own_solver(own[k % own.len()].clone()).unwrap(),
            coupling => part.in_step(coupling, 0.8).unwrap(),
        }
    };
    let parts = cut.parts.into_iter().enumerate().map(make).collect();
    Coordinator::new(parts, cut.interface, 0.0, options).unwrap_or_else(|e| panic!("{e}"))
}

pub fn values(c: &mut Coordinator) -> Values {
    c.channels(false).into_iter().map(|c| c.name).zip(c.observe().unwrap()).collect()
}

pub fn glued(
    system: &Arc<System>,
    at: &[&str],
    options: GlueOptions,
    own: &[Options],
    until: f64,
) -> (Coordinator, Values) {
    let mut c = join(system, at, options, own);
    c.run(until, &mut |_| Ok(())).unwrap_or_else(|e| panic!("{e}"));
    let seen = values(&mut c);
    (c, seen)
}

/// The largest difference of positions and angles.
pub fn difference(whole: &Values, glued: &Values) -> f64 {
    let places = |name: &str| [".x", ".y", ".z", ".angle"].iter().any(|end| name.ends_with(end));
    let pairs = glued.iter().filter(|(name, _)| places(name)).filter_map(|(name, value)| {
        let (_, other) = whole.iter().find(|(n, _)| n == name)?;
        Some((value - other).abs())
    });
    let all: Vec<f64> = pairs.collect();
    assert!(all.len() >= 2, "{whole:?} {glued:?}");
    all.into_iter().fold(0.0, f64::max)
}

pub fn stepped(form: FormulationKind, h: f64, until: f64) -> Options {
    let method = MethodName::GeneralizedAlpha;
    Options { method, formulation: Some(form), step: Some(h), until, ..Options::default() }
}

pub fn own(method: MethodName) -> Options {
    Options { method, rtol: 1e-9, ..Options::default() }
}
