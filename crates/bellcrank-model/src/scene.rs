//! What a model looks like: the `scene.json` that lies beside the results, for the viewer.
//!
//! Bodies are referred to by their number, `null` is the ground. Points and axes are in the frame of the
//! body they are on; poses are those of the start, and the channels of the results move them.
//!
//! ```json
//! {
//!   "format": "bellcrank-scene", "version": 1, "model": "four-bar", "space": "plane", "gravity": [0, -9.81, 0],
//!   "bodies": [{"name": "crank", "kind": "planar", "mass": 1, "at": [0.1, 0, 0], "rotation": [1, 0, 0, 0],
//!               "shape": {"type": "rod", "length": 0.2, "radius": 0}}],
//!   "joints": [{"name": "A", "kind": "revolute", "between": [null, 0], "on": [[0, 0, 0], [-0.1, 0, 0]],
//!               "axis": [[0, 0, 1], [0, 0, 1]], "motions": ["angle"]}],
//!   "forces": [{"name": "s", "kind": "spring-damper", "between": [null, 0], "on": [[…], […]], "spring": true, "damper": false},
//!              {"name": "f", "kind": "force", "between": [0], "on": [[…]], "load": {"force": [0, 1, 0], "torque": [0, 0, 0]}}],
//!   "probes": [{"name": "B", "body": 0, "on": [0.1, 0, 0]}]
//! }
//! ```
//!
//! `axis` is there where the element has one, `load` (at time zero) where a force acts on one body.

use crate::bodies::{Body, Coordinates, each};
use crate::dynamics::BY_VALUE;
use crate::forces;
use crate::forces::Seen;
use crate::frames::{Covector, Frame};
use crate::joints::{self, Axes, Place};
use crate::model::{End, ForceEntry, JointEntry, Model, Shape, Space};
use bellcrank_math::{Mat3, Vec3};
use serde_json::{Value, json};

/// The version of the format; a viewer refuses a later one.
pub const VERSION: u32 = 1;

/// Everything the viewer needs to draw the model.
pub fn scene(model: &Model) -> Value {
    let bodies: Vec<Value> = model
        .bodies
        .iter()
        .map(|b| {
            json!({
                "name": b.name,
                "kind": match b.body {
                    Body::Rigid(_) => "rigid",
                    Body::Planar(_) => "planar",
                    Body::Point(_) => "point",
                    Body::Rod(_) => "rod",
                },
                "mass": each!(&b.body, b => b.mass()),
                "at": b.at.0,
                "rotation": b.rotation.0,
                "shape": shape(&b.shape),
            })
        })
        .collect();
    json!({
        "format": "bellcrank-scene",
        "version": VERSION,
        "model": model.name,
        "space": if model.space == Space::Plane { "plane" } else { "space" },
        "gravity": model.gravity.0,
        "bodies": bodies,
        "joints": model.joints.iter().map(|j| joint(j, model.space)).collect::<Vec<_>>(),
        "forces": model.forces.iter().map(|f| force(f, model)).collect::<Vec<_>>(),
        "probes": model.probes.iter().map(|p| json!({"name": p.name, "body": p.end.body, "on": p.end.on.point.0})).collect::<Vec<_>>(),
    })
}

fn shape(shape: &Shape) -> Value {
    match *shape {
        Shape::Unknown => json!({"type": "unknown"}),
        Shape::Rod { length, radius } => json!({"type": "rod", "length": length, "radius": radius}),
        Shape::Cylinder { length, radius } => json!({"type": "cylinder", "length": length, "radius": radius}),
        Shape::Box { size } => json!({"type": "box", "size": size.0}),
        Shape::Sphere { radius } => json!({"type": "sphere", "radius": radius}),
    }
}

fn element(name: &str, kind: &str, ends: &[End]) -> Value {
    json!({
        "name": name,
        "kind": kind,
        "between": ends.iter().map(|e| e.body).collect::<Vec<_>>(),
        "on": ends.iter().map(|e| e.on.point.0).collect::<Vec<_>>(),
    })
}

/// Axis `i` of the frame of every end.
fn axes(ends: &[End], i: usize) -> Value {
    json!(ends.iter().map(|e| e.on.axes.column(i).0).collect::<Vec<_>>())
}

fn joint(j: &JointEntry, space: Space) -> Value {
    let mut out = element(&j.name, j.kind, &j.ends);
    let place = joints::CATALOG.iter().find(|k| k.name == j.kind).map(|k| k.place);
    if let Some(Place::Shared(kind) | Place::Points(kind)) = place {
        match kind {
            Axes::Sliding if space == Space::Plane => out["axis"] = axes(&j.ends, joints::X),
            Axes::None => {}
            _ => out["axis"] = axes(&j.ends, joints::Z),
        }
    }
    let motions = joints::names(&j.joint.motions(space));
    out["motions"] = motions.iter().map(|[coordinate, _]| *coordinate).collect();
    out
}

fn force(f: &ForceEntry, model: &Model) -> Value {
    let mut out = element(&f.name, f.kind, &f.ends);
    let at: Vec<Frame> = f.ends.iter().map(|e| start(e, model)).collect();
    match forces::CATALOG.iter().find(|k| k.name == f.kind).map(|k| k.ends) {
        Some(forces::Ends::One) => {
            let mut load = vec![Covector::default(); f.ends.len()];
            let z = f.force.initial();
            f.force.load(&Seen { t: 0.0, ends: &at, near: &[0.0], z: &z, mode: BY_VALUE, lambda: 0.0 }, &mut load);
            out["load"] = json!({"force": load[0].lin.0, "torque": load[0].ang.0});
        }
        ends => {
            if ends == Some(forces::Ends::Turning) {
                out["axis"] = axes(&f.ends, joints::Z);
            }
            out["spring"] = springs(f, at).into();
            out["damper"] = f.force.damped().into();
        }
    }
    out
}

/// Whether energy is stored anywhere: a spring may be at rest in one of two places, but not in both.
fn springs(f: &ForceEntry, at: Vec<Frame>) -> bool {
    [Vec3::new(0.3, 0.5, 0.7), Vec3::new(-1.1, 0.9, -1.3)].into_iter().any(|d| {
        let mut moved = at.clone();
        if let Some(last) = moved.last_mut() {
            last.p += d;
            last.r = bellcrank_math::rotation::exp(d) * last.r;
        }
        f.force.stored(&Seen { t: 0.0, ends: &moved, near: &[0.0], z: &f.force.initial(), mode: BY_VALUE, lambda: 0.0 })
            != 0.0
    })
}

/// The place of an end at the start, at rest.
fn start(end: &End, model: &Model) -> Frame {
    let (p, r) = end
        .body
        .and_then(|b| model.bodies.get(b))
        .map_or((Vec3::ZERO, Mat3::IDENTITY), |b| (b.at, b.rotation.matrix()));
    Frame { p: p + r * end.on.point, r: r * end.on.axes, v: Vec3::ZERO, w: Vec3::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::read_text;

    fn of(text: &str) -> Value {
        scene(&read_text("m.toml", text, &[]).unwrap_or_else(|e| panic!("{e}")).model)
    }

    #[test]
    fn a_planar_model_keeps_names_places_and_axes() {
        let v = of(r#"
            [model]
            name = "<b>\u202e"
            plane = "xy"
            gravity = [0, -9.81]
            [body.crank]
            rod = { from = [0, 0], to = [0, 2], mass = 1 }
            [body.block]
            mass = 1
            inertia = 1
            at = [3, 0]
            [joint.pin]
            type = "revolute"
            between = ["ground", "crank"]
            at = [0, 0]
            [joint.slide]
            type = "prismatic"
            between = ["ground", "block"]
            at = [3, 0]
            axis = [0, 1]
            [force.spring]
            type = "spring-damper"
            between = ["crank", "block"]
            at = [[0, 2], [3, 0]]
            stiffness = 0
            damping = 2
            [force.push]
            type = "force"
            body = "block"
            force = ["2 + t", "t"]
            [probe.tip]
            body = "crank"
            at = [0, 2]
        "#);
        assert_eq!((&v["version"], &v["model"], &v["space"]), (&json!(1), &json!("<b>\u{202e}"), &json!("plane")));
        assert_eq!(v["bodies"][0]["shape"], json!({"type": "rod", "length": 2.0, "radius": 0.0}));
        assert_eq!(v["bodies"][1]["shape"]["type"], "unknown");
        let near = |a: &Value, b: [f64; 3]| (0..3).all(|i| (a[i].as_f64().unwrap() - b[i]).abs() < 1e-15);
        let pin = &v["joints"][0];
        assert_eq!((&pin["between"], &pin["motions"]), (&json!([null, 0]), &json!(["angle"])));
        assert!(near(&pin["on"][1], [-1.0, 0.0, 0.0]), "{pin}"); // along x of the rod, from its middle
        assert!(near(&v["joints"][1]["axis"][0], [0.0, 1.0, 0.0]), "{v}");
        let (damper, push) = (&v["forces"][0], &v["forces"][1]);
        assert_eq!((&damper["spring"], &damper["damper"]), (&json!(false), &json!(true)));
        assert_eq!(push["load"]["force"], json!([2.0, 0.0, 0.0]));
        assert_eq!((&v["probes"][0]["name"], &v["probes"][0]["body"]), (&json!("tip"), &json!(0)));
        assert!(near(&v["probes"][0]["on"], [1.0, 0.0, 0.0]));
    }

    #[test]
    fn springs_are_told_from_dampers_in_space() {
        let v = of(r#"
            [body.a]
            mass = 1
            sphere = { radius = 0.5 }
            [force.line]
            type = "spring-damper"
            between = ["ground", "a"]
            at = [[0, 0, 1], [0, 0, 0]]
            stiffness = 3
            [force.twist]
            type = "torsional-spring-damper"
            between = ["ground", "a"]
            axis = [1, 0, 0]
            stiffness = 3
        "#);
        for f in v["forces"].as_array().unwrap() {
            assert_eq!((&f["spring"], &f["damper"]), (&json!(true), &json!(false)), "{f}");
        }
        assert_eq!(v["forces"][1]["axis"][0], json!([1.0, 0.0, 0.0]));
        assert_eq!((&v["space"], &v["bodies"][0]["kind"]), (&json!("space"), &json!("rigid")));
    }
}
