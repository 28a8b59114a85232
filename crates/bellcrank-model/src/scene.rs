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
//! A body with a `mesh` has its corners, nine single-precision numbers for a triangle, as base64.
//! `axis` is there where the element has one, `load` (at time zero) where a force acts on one body.
//!
//! A flexible body (kind `flexible`) has the places of its nodes, and how each modal coordinate moves them: the node is at
//! `nodes[k]` + Σ (value of `modes[i].channel`) · `modes[i].shape[k]` in the body's frame, which `rod.x …` moves. With
//! `line`, the nodes in their order are the centre line of a beam, `radius` its thickness to draw. What stands on such a body
//! has, for each end, `bend`: `null`, or for each mode the displacement of its point by one unit of the coordinate.
//!
//! ```json
//! {"name": "rod", "kind": "flexible", …, "flexible": {"line": true, "radius": 0.006, "nodes": [[0, 0, 0], …],
//!   "modes": [{"channel": "rod.mode1", "shape": [[0, 0, 0], …]}]}}
//! {"name": "B", "kind": "revolute", "between": [null, 0], "on": [[…], […]], "bend": [null, [[0, 0, 0]]]}
//! ```

use crate::bodies::{Body, Coordinates, Field as Modes, Flexible, each};
use crate::channels::mode_name;
use crate::dynamics::BY_VALUE;
use crate::forces;
use crate::forces::Seen;
use crate::frames::{Covector, Frame, RIGIDLY};
use crate::joints::{self, Axes, Place};
use crate::model::{BodyEntry, End, ForceEntry, JointEntry, Model, Probe, Shape, Space};
use bellcrank_math::{Mat3, Vec3};
use serde_json::{Value, json};
use std::io::{self, Write};

/// The version of the format; a viewer refuses a later one.
pub const VERSION: u32 = 1;

/// Everything the viewer needs to draw the model.
pub fn scene(model: &Model) -> Value {
    let mut out = head(model);
    out["bodies"] = model.bodies.iter().map(body).collect();
    out["joints"] = model.joints.iter().map(|j| joint(j, model)).collect();
    out["forces"] = model.forces.iter().map(|f| force(f, model)).collect();
    out["probes"] = model.probes.iter().map(|p| probe(p, model)).collect();
    out
}

/// The same as text, element after element: as values, a body and its joints would take 9 kB.
pub fn write(model: &Model, out: &mut dyn Write) -> io::Result<()> {
    let head = head(model).to_string();
    out.write_all(head.strip_suffix('}').unwrap_or_default().as_bytes())?;
    list(out, "bodies", model.bodies.iter().map(body))?;
    list(out, "joints", model.joints.iter().map(|j| joint(j, model)))?;
    list(out, "forces", model.forces.iter().map(|f| force(f, model)))?;
    list(out, "probes", model.probes.iter().map(|p| probe(p, model)))?;
    out.write_all(b"}")
}

fn list(out: &mut dyn Write, name: &str, elements: impl Iterator<Item = Value>) -> io::Result<()> {
    write!(out, ",\"{name}\":[")?;
    for (k, element) in elements.enumerate() {
        write!(out, "{}{element}", if k > 0 { "," } else { "" })?;
    }
    out.write_all(b"]")
}

fn head(model: &Model) -> Value {
    json!({
        "format": "bellcrank-scene",
        "version": VERSION,
        "model": model.name,
        "space": if model.space == Space::Plane { "plane" } else { "space" },
        "gravity": model.gravity.0,
    })
}

fn body(b: &BodyEntry) -> Value {
    let mut out = json!({
        "name": b.name,
        "kind": match b.body {
            Body::Rigid(_) => "rigid",
            Body::Planar(_) => "planar",
            Body::Point(_) => "point",
            Body::Rod(_) => "rod",
            Body::Flexible(_) => "flexible",
        },
        "mass": each!(&b.body, b => b.mass()),
        "at": b.at.0,
        "rotation": b.rotation.0,
        "shape": shape(&b.shape),
    });
    if let Some(mesh) = &b.mesh {
        let bytes: Vec<u8> = mesh.corners.iter().flat_map(|x| x.to_le_bytes()).collect();
        out["mesh"] = json!({ "triangles": crate::mesh::base64(&bytes) });
    }
    if let Body::Flexible(body) = &b.body {
        out["flexible"] = flexible(&b.name, body);
    }
    out
}

/// The places of a flexible body, and how its modal coordinates move them.
fn flexible(name: &str, body: &Flexible) -> Value {
    let of = body.structure();
    let nodes = of.outline();
    let shapes: Vec<Vec<(Vec3, Vec3)>> = nodes.iter().map(|p| of.shapes(*p).1).collect();
    let mode = |i: usize| {
        let shape: Vec<[f64; 3]> = shapes.iter().map(|at| at[i].0.0).collect();
        json!({"channel": mode_name(name, i), "shape": shape})
    };
    json!({
        "line": matches!(of.field, Modes::Beam { .. }),
        "radius": of.thickness,
        "nodes": nodes.iter().map(|p| p.0).collect::<Vec<_>>(),
        "modes": (0..of.count()).map(mode).collect::<Vec<_>>(),
    })
}

/// How the point of an end moves with each modal coordinate of its body: its own displacement and that of its arm.
fn bend(end: &End, model: &Model) -> Value {
    let body = end.body.and_then(|b| model.bodies.get(b)).map(|b| &b.body);
    let Some(Body::Flexible(body)) = body.filter(|_| end.on.node != RIGIDLY) else { return Value::Null };
    let (base, shapes) = body.structure().shapes(end.on.point);
    let arm = end.on.point - base;
    json!(shapes.iter().map(|(phi, psi)| (*phi + psi.cross(arm)).0).collect::<Vec<_>>())
}

fn probe(p: &Probe, model: &Model) -> Value {
    let mut out = json!({"name": p.name, "body": p.end.body, "on": p.end.on.point.0});
    let bend = bend(&p.end, model);
    if !bend.is_null() {
        out["bend"] = json!([bend]);
    }
    out
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

fn element(name: &str, kind: &str, ends: &[End], model: &Model) -> Value {
    let mut out = json!({
        "name": name,
        "kind": kind,
        "between": ends.iter().map(|e| e.body).collect::<Vec<_>>(),
        "on": ends.iter().map(|e| e.on.point.0).collect::<Vec<_>>(),
    });
    let bends: Vec<Value> = ends.iter().map(|e| bend(e, model)).collect();
    if bends.iter().any(|b| !b.is_null()) {
        out["bend"] = bends.into();
    }
    out
}

/// Axis `i` of the frame of every end.
fn axes(ends: &[End], i: usize) -> Value {
    json!(ends.iter().map(|e| e.on.axes.column(i).0).collect::<Vec<_>>())
}

fn joint(j: &JointEntry, model: &Model) -> Value {
    let space = model.space;
    let mut out = element(&j.name, j.kind, &j.ends, model);
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
    let mut out = element(&f.name, f.kind, &f.ends, model);
    let at: Vec<Frame> = f.ends.iter().map(|e| start(e, model)).collect();
    match forces::CATALOG.iter().find(|k| k.name == f.kind).map(|k| k.ends) {
        Some(forces::Ends::One) => {
            let mut load = vec![Covector::default(); f.ends.len()];
            let (z, inputs) = (f.force.initial(), starts(model));
            f.force.load(&seen(&at, &z, &inputs), &mut load);
            out["load"] = json!({"force": load[0].lin.0, "torque": load[0].ang.0});
        }
        ends => {
            if ends == Some(forces::Ends::Turning) {
                out["axis"] = axes(&f.ends, joints::Z);
            }
            out["spring"] = springs(f, at, &starts(model)).into();
            out["damper"] = f.force.damped().into();
        }
    }
    out
}

/// The inputs at the start.
fn starts(model: &Model) -> Vec<f64> {
    model.inputs.iter().map(|input| input.start).collect()
}

/// What a force sees at time zero.
fn seen<'a>(ends: &'a [Frame], z: &'a [f64], inputs: &'a [f64]) -> Seen<'a> {
    Seen { t: 0.0, inputs, ends, near: &[0.0], z, mode: BY_VALUE, lambda: 0.0 }
}

/// Whether energy is stored anywhere: a spring may be at rest in one of two places, but not in both.
fn springs(f: &ForceEntry, at: Vec<Frame>, inputs: &[f64]) -> bool {
    [Vec3::new(0.3, 0.5, 0.7), Vec3::new(-1.1, 0.9, -1.3)].into_iter().any(|d| {
        let mut moved = at.clone();
        if let Some(last) = moved.last_mut() {
            last.p += d;
            last.r = bellcrank_math::rotation::exp(d) * last.r;
        }
        f.force.stored(&seen(&moved, &f.force.initial(), inputs)) != 0.0
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
        let model = read_text("m.toml", text, &[]).unwrap_or_else(|e| panic!("{e}")).model;
        let (mut text, scene) = (Vec::new(), scene(&model));
        write(&model, &mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), scene.to_string());
        scene
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

    #[test]
    fn flexible_bodies_tell_how_their_modes_move_them() {
        let v = of(r#"
            model = { plane = "xy" }
            [body.rod.beam]
            from = [1, 0]
            to = [3, 0]
            mass = 1
            youngs_modulus = 1e9
            section = { radius = 0.01 }
            axial = 1
            bending = 1
            [joint.pin]
            type = "revolute"
            between = ["ground", "rod"]
            at = [2, 0]
            [probe.tip]
            body = "rod"
            at = [3, 0.5]
        "#);
        let rod = &v["bodies"][0];
        assert_eq!((&rod["kind"], &rod["flexible"]["line"]), (&json!("flexible"), &json!(true)));
        let nodes = rod["flexible"]["nodes"].as_array().unwrap();
        let last = nodes.len() - 1;
        assert_eq!(nodes[last], json!([2.0, 0.0, 0.0]));
        let modes = &rod["flexible"]["modes"];
        assert_eq!((&modes[0]["channel"], &modes[1]["channel"]), (&json!("rod.mode1"), &json!("rod.mode2")));
        assert_eq!(modes[0]["shape"][last], json!([1.0, 0.0, 0.0]));
        assert!((modes[1]["shape"][last / 2][1].as_f64().unwrap() - 1.0).abs() < 1e-12);
        let bend = &v["joints"][0]["bend"];
        assert_eq!(bend[0], Value::Null);
        assert!((bend[1][1][1].as_f64().unwrap() - 1.0).abs() < 1e-12, "{bend}");
        // half a metre beside the end, which turns by −π/L: the arm moves forward
        let arm = &v["probes"][0]["bend"][0][1];
        assert!((arm[0].as_f64().unwrap() - 0.25 * std::f64::consts::PI).abs() < 1e-12, "{arm}");
    }
}
