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
//! A body with `solids` is drawn as these: corners, nine single-precision numbers for a triangle, as base64, and where they differ from the
//! body a `colour` and an `opacity`. Those of `ground` stand in the world. A body that is `hidden` is drawn when the reader asks for it.
//! `axis` is there where the element has one, `path` (points of a curve on the first body) where it follows one, `radii` where something round is about its ends, `load` (at time zero) where a force acts on one body.
//!
//! A flexible body (kind `flexible`) has the positions of its nodes, and how each modal coordinate moves them: node k is at
//! `nodes[k]` + Σ (value of `modes[i].channel`) · `modes[i].shape[k]` in the body's frame, which `rod.x …` moves. With
//! `line`, the nodes in their order are the centre line of a beam, `radius` its thickness to draw. What stands on such a body
//! has, for each end, `bend`: `null`, or for each mode the displacement of its point by one unit of the coordinate.
//!
//! ```json
//! {"name": "rod", "kind": "flexible", …, "flexible": {"line": true, "radius": 0.006, "nodes": [[0, 0, 0], …],
//!   "modes": [{"channel": "rod.mode1", "shape": [[0, 0, 0], …]}]}}
//! {"name": "B", "kind": "revolute", "between": [null, 0], "on": [[…], […]], "bend": [null, [[0, 0, 0]]]}
//! ```

use crate::appearance::{Appearance, VisualSolid};
use crate::bodies::{Coordinates, ModeField as Modes, Structure, each};
use crate::catalog::mode_name;
use crate::dynamics::BY_VALUE;
use crate::forces::{self, Seen};
use crate::frames::{Covector, Frame, RIGIDLY};
use crate::joints::{self, Axes, Mount};
use crate::model::{BodyEntry, End, ForceEntry, JointEntry, Model, Probe, Shape, Space};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bellcrank_math::{Mat3, Vec3};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::io::{self, Write};

/// The format of the file.
pub const FORMAT: &str = "bellcrank-scene";

/// The version of the format; a viewer refuses a later one.
pub const VERSION: u32 = 1;

/// Three numbers; one that is not finite is `null` in the file and NaN when it is read back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Triple(pub Vec3);

impl Serialize for Triple {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Triple {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Triple, D::Error> {
        let numbers = <[Option<f64>; 3]>::deserialize(deserializer)?;
        Ok(Triple(Vec3(numbers.map(|x| x.unwrap_or(f64::NAN)))))
    }
}

impl From<Vec3> for Triple {
    fn from(v: Vec3) -> Triple {
        Triple(v)
    }
}

/// Everything the viewer needs to draw a model. What is missing in a file is read as its default.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, Deserialize)]
#[serde(default)]
pub struct Scene {
    /// [`FORMAT`].
    pub format: Cow<'static, str>,
    /// [`VERSION`].
    pub version: u32,
    /// The model's name.
    pub model: String,
    /// Plane or space.
    pub space: Space,
    /// The acceleration of gravity, in m/s².
    pub gravity: Triple,
    /// The bodies.
    pub bodies: Vec<SceneBody>,
    /// What is drawn of the ground.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ground: Vec<SceneSolid>,
    /// The joints.
    pub joints: Vec<SceneElement>,
    /// The forces.
    pub forces: Vec<SceneElement>,
    /// The probes.
    pub probes: Vec<SceneProbe>,
}

/// A body as it is drawn.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, Deserialize)]
#[serde(default)]
pub struct SceneBody {
    /// The user's name; the channels that move the body begin with it.
    pub name: String,
    /// What it is: `rigid`, `planar`, `point`, `rod` or `flexible`.
    pub kind: Cow<'static, str>,
    /// Its mass, in kg.
    pub mass: f64,
    /// Its centre of mass at the start, in the world.
    pub at: Triple,
    /// Its rotation at the start, body to world.
    #[serde(default = "upright")]
    pub rotation: [f64; 4],
    /// Its shape.
    pub shape: Shape,
    /// Its colour and opacity.
    #[serde(flatten)]
    pub appearance: Appearance,
    /// Whether it is not drawn at first.
    #[serde(skip_serializing_if = "is_false")]
    pub hidden: bool,
    /// What is drawn in the place of the shape.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub solids: Vec<SceneSolid>,
    /// How it deforms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flexible: Option<SceneFlexible>,
}

fn upright() -> [f64; 4] {
    bellcrank_math::Quat::IDENTITY.0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Triangles in the body's frame.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, Deserialize)]
#[serde(default)]
pub struct SceneSolid {
    /// Nine single-precision numbers for each, as base64.
    pub triangles: String,
    /// Colour and opacity, where they are not those of the body.
    #[serde(flatten)]
    pub appearance: Appearance,
}

impl SceneSolid {
    /// The triangles of a solid: x, y and z of their corners, one after the other.
    pub fn of(solid: &VisualSolid) -> SceneSolid {
        let bytes: Vec<u8> = solid.mesh.corners.iter().flat_map(|x| x.to_le_bytes()).collect();
        SceneSolid { triangles: STANDARD.encode(bytes), appearance: solid.appearance }
    }

    /// The corners of the triangles; those that are no numbers are at the origin, and a text that is none has no triangles.
    pub fn corners(&self) -> Vec<[Vec3; 3]> {
        let bytes = STANDARD.decode(&self.triangles).unwrap_or_default();
        let number = |b: &[u8]| f32::from_le_bytes(b.try_into().unwrap_or_default());
        let numbers: Vec<f64> = bytes.chunks_exact(4).map(|b| f64::from(number(b))).collect();
        let plain = |x: &f64| if x.is_finite() { *x } else { 0.0 };
        let corner = |c: &[f64]| Vec3([plain(&c[0]), plain(&c[1]), plain(&c[2])]);
        numbers.chunks_exact(9).map(|t| [corner(&t[..3]), corner(&t[3..6]), corner(&t[6..])]).collect()
    }
}

/// How a flexible body deforms: node k is at nodes\[k\] + Σᵢ qᵢ modes\[i\].shape\[k\] in the body's frame.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, Deserialize)]
#[serde(default)]
pub struct SceneFlexible {
    /// Whether the nodes in their order are the centre line of a beam.
    pub line: bool,
    /// The thickness to draw the beam with, in m.
    pub radius: f64,
    /// The nodes.
    pub nodes: Vec<Triple>,
    /// The modes.
    pub modes: Vec<SceneMode>,
}

/// A mode of a flexible body.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, Deserialize)]
#[serde(default)]
pub struct SceneMode {
    /// The channel of its coordinate.
    pub channel: String,
    /// The displacement of each node by one unit of the coordinate.
    pub shape: Vec<Triple>,
}

/// The displacement of a point by one unit of each modal coordinate of its body; `null` where the body does not deform.
pub type Bend = Option<Vec<Triple>>;

/// A joint or a force as it is drawn.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, Deserialize)]
#[serde(default)]
pub struct SceneElement {
    /// The user's name.
    pub name: String,
    /// Its kind in the catalog.
    pub kind: Cow<'static, str>,
    /// The bodies of its ends by number; `null` is the ground.
    pub between: Vec<Option<usize>>,
    /// The points of its ends, each in the frame of its body.
    pub on: Vec<Triple>,
    /// How these points move with the modes of their bodies, where any of them deforms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bend: Option<Vec<Bend>>,
    /// Its axis in the frame of each end, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub axis: Option<Vec<Triple>>,
    /// Points of the curve that it follows, in the frame of the first body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<Triple>>,
    /// The radii of what is round about its ends, zero where nothing is: a tyre, a roller; of a rope also negative ones, pulleys that lie to
    /// its right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub radii: Vec<f64>,
    /// The coordinates of a joint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub motions: Option<Vec<Cow<'static, str>>>,
    /// The load of a force on one body at time zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<SceneLoad>,
    /// Whether a force between bodies stores energy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spring: Option<bool>,
    /// Whether it depends on velocities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damper: Option<bool>,
}

/// A force and a torque, in the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, Deserialize)]
#[serde(default)]
pub struct SceneLoad {
    /// The force, in N.
    pub force: Triple,
    /// The torque, in N m.
    pub torque: Triple,
}

/// A probe as it is drawn.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, Deserialize)]
#[serde(default)]
pub struct SceneProbe {
    /// The user's name.
    pub name: String,
    /// The number of its body; `null` is the ground.
    pub body: Option<usize>,
    /// Its point in the frame of the body.
    pub on: Triple,
    /// How the point moves with the modes of the body, where it deforms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bend: Option<Vec<Bend>>,
}

impl Scene {
    /// The scene of a model.
    pub fn of(model: &Model) -> Scene {
        Scene {
            format: FORMAT.into(),
            version: VERSION,
            model: model.name.clone(),
            space: model.space,
            gravity: model.gravity.into(),
            bodies: model.bodies.iter().filter(|b| b.is_shown()).map(body).collect(),
            ground: model.ground.iter().map(SceneSolid::of).collect(),
            joints: model.joints.iter().filter(|j| is_drawn(j)).map(|j| joint(j, model)).collect(),
            forces: model.forces.iter().map(|f| force(f, model)).collect(),
            probes: model.probes.iter().map(|p| probe(p, model)).collect(),
        }
    }
}

/// The scene of a model as a JSON value, to be put into another.
pub fn scene(model: &Model) -> serde_json::Value {
    serde_json::to_value(Streamed(model)).unwrap_or_default()
}

/// Writes the scene of a model, element after element: at once, a body and its joints would take 9 kB.
pub fn write(model: &Model, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(out, &Streamed(model)).map_err(io::Error::from)
}

/// A model that is written as its [`Scene`], without one in memory.
struct Streamed<'a>(&'a Model);

impl Serialize for Streamed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let model = self.0;
        let mut out = serializer.serialize_struct("Scene", 10)?;
        out.serialize_field("format", FORMAT)?;
        out.serialize_field("version", &VERSION)?;
        out.serialize_field("model", &model.name)?;
        out.serialize_field("space", &model.space)?;
        out.serialize_field("gravity", &Triple(model.gravity))?;
        out.serialize_field("bodies", &Each(|| model.bodies.iter().filter(|b| b.is_shown()).map(body)))?;
        if !model.ground.is_empty() {
            out.serialize_field("ground", &Each(|| model.ground.iter().map(SceneSolid::of)))?;
        }
        out.serialize_field("joints", &Each(|| model.joints.iter().filter(|j| is_drawn(j)).map(|j| joint(j, model))))?;
        out.serialize_field("forces", &Each(|| model.forces.iter().map(|f| force(f, model))))?;
        out.serialize_field("probes", &Each(|| model.probes.iter().map(|p| probe(p, model))))?;
        out.end()
    }
}

/// A list whose elements are made one by one as they are written.
struct Each<F>(F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Whether a joint has places to draw: armatures are part of others.
fn is_drawn(joint: &JointEntry) -> bool {
    joint.joint.turns_rotor().is_none()
}

fn triples(points: impl IntoIterator<Item = Vec3>) -> Vec<Triple> {
    points.into_iter().map(Triple).collect()
}

fn body(b: &BodyEntry) -> SceneBody {
    let flexible = b.body.coordinates().deformable().map(|of| flexible(&b.name, of));
    SceneBody {
        name: b.name.clone(),
        kind: b.body.coordinates().kind().into(),
        mass: each!(&b.body, b => b.mass()),
        at: b.at.into(),
        rotation: b.rotation.0,
        shape: b.shape,
        appearance: b.appearance,
        hidden: b.hidden,
        solids: b.solids.iter().map(SceneSolid::of).collect(),
        flexible,
    }
}

/// The nodes of a flexible body, and how its modal coordinates move them.
fn flexible(name: &str, of: &Structure) -> SceneFlexible {
    let nodes = of.outline();
    let shapes: Vec<Vec<(Vec3, Vec3)>> = nodes.iter().map(|p| of.shapes(*p).1).collect();
    let mode = |i: usize| SceneMode { channel: mode_name(name, i), shape: triples(shapes.iter().map(|at| at[i].0)) };
    SceneFlexible {
        line: matches!(of.field, Modes::Beam { .. }),
        radius: of.thickness,
        modes: (0..of.count()).map(mode).collect(),
        nodes: triples(nodes),
    }
}

/// How the point of an end moves with each modal coordinate of its body: its own displacement and that of its arm.
fn bend(end: &End, model: &Model) -> Bend {
    let body = end.body.and_then(|b| model.bodies.get(b)).map(|b| &b.body);
    let of = body.filter(|_| end.on.node != RIGIDLY).and_then(|b| b.coordinates().deformable())?;
    let (base, shapes) = of.shapes(end.on.point);
    let arm = end.on.point - base;
    Some(triples(shapes.iter().map(|(phi, psi)| *phi + psi.cross(arm))))
}

fn bends(ends: &[End], model: &Model) -> Option<Vec<Bend>> {
    let bends: Vec<Bend> = ends.iter().map(|e| bend(e, model)).collect();
    bends.iter().any(Option::is_some).then_some(bends)
}

fn probe(p: &Probe, model: &Model) -> SceneProbe {
    let bend = bends(std::slice::from_ref(&p.end), model);
    SceneProbe { name: p.name.clone(), body: p.end.body, on: p.end.on.point.into(), bend }
}

fn element(name: &str, kind: &'static str, ends: &[End], model: &Model) -> SceneElement {
    SceneElement {
        name: name.to_string(),
        kind: kind.into(),
        between: ends.iter().map(|e| e.body).collect(),
        on: triples(ends.iter().map(|e| e.on.point)),
        bend: bends(ends, model),
        ..SceneElement::default()
    }
}

/// A curve of the first frame, in the frame of its body.
fn path(ends: &[End], curve: Vec<Vec3>) -> Option<Vec<Triple>> {
    let first = ends.first().filter(|_| !curve.is_empty())?;
    Some(triples(curve.into_iter().map(|p| first.on.point + first.on.axes * p)))
}

/// Axis `i` of the frame of every end.
fn axes(ends: &[End], i: usize) -> Option<Vec<Triple>> {
    Some(triples(ends.iter().map(|e| e.on.axes.column(i))))
}

fn joint(j: &JointEntry, model: &Model) -> SceneElement {
    let space = model.space;
    let mut out = element(&j.name, j.kind, &j.ends, model);
    let place = joints::CATALOG.iter().find(|k| k.name == j.kind).map(|k| k.mount);
    if let Some(Mount::Shared(kind) | Mount::Points(kind)) = place {
        match kind {
            Axes::Sliding if space == Space::Plane => out.axis = axes(&j.ends, joints::X),
            Axes::None => {}
            _ => out.axis = axes(&j.ends, joints::Z),
        }
    }
    out.path = path(&j.ends, j.joint.outline());
    out.radii = j.joint.radii();
    let motions = joints::names(&j.joint.motions(space));
    out.motions = Some(motions.iter().map(|[coordinate, _]| (*coordinate).into()).collect());
    out
}

fn force(f: &ForceEntry, model: &Model) -> SceneElement {
    let mut out = element(&f.name, f.kind, &f.ends, model);
    let at: Vec<Frame> = f.ends.iter().map(|e| start(e, model)).collect();
    let inputs: Vec<f64> = model.inputs.iter().map(|input| input.start).collect();
    match forces::CATALOG.iter().find(|k| k.name == f.kind).map(|k| k.ends) {
        Some(forces::Ends::One) => {
            let mut load = vec![Covector::default(); f.ends.len()];
            f.force.load(&seen(&at, &f.force.initial(), &inputs), &mut load);
            out.load = Some(SceneLoad { force: load[0].lin.into(), torque: load[0].ang.into() });
        }
        ends => {
            out.path = path(&f.ends, f.force.outline());
            out.radii = f.force.radii();
            if matches!(ends, Some(forces::Ends::Frames | forces::Ends::Turning | forces::Ends::Wheel)) {
                out.axis = axes(&f.ends, joints::Z);
            }
            out.spring = Some(springs(f, at, &inputs));
            out.damper = Some(f.force.damped());
        }
    }
    out
}

/// What a force sees at time zero.
fn seen<'a>(ends: &'a [Frame], z: &'a [f64], inputs: &'a [f64]) -> Seen<'a> {
    Seen { t: 0.0, inputs, ends, near: &[0.0], z, mode: BY_VALUE, lambda: 0.0, across: [0.0; 2], reaction: &[] }
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
mod tests;
