//! From a model file to a [`Model`]: the meaning of every section.

use crate::bodies::{Body, Coordinates, Orientation, Planar, PointMass, Rigid, Rod, each};
use crate::file::*;
use crate::forces::{self, Along};
use crate::frames::{Attachment, Frame};
use crate::joints::{self, Axes, Motion, Place};
use crate::mesh::{self, Mesh};
use crate::model::*;
use crate::settings::Settings;
use bellcrank_math::{Mat3, Quat, Vec3};
use std::collections::HashMap;
use std::sync::Arc;

mod flexible;
pub use flexible::{BEAM, MODAL};

/// Sections of a model file: what overrides may add to.
pub const LAYOUT: Layout =
    Layout { settings: &["model", "solve", "start"], named: &["parameter", "body", "joint", "force", "probe"] };

/// Keys of `[model]`.
pub const MODEL: &[Field] = &[
    Field::optional("name", FieldKind::Text, "", "the file's name", "name of the model"),
    Field::optional(
        "plane",
        FieldKind::Word(&["xy"]),
        "",
        "in space",
        "makes the model planar: 3 coordinates per body",
    ),
    Field::optional("gravity", FieldKind::Vector, "m/s²", "none", "acceleration of gravity"),
];

/// Keys of `[body.NAME]`.
pub const BODY: &[Field] = &[
    Field::optional("mass", FieldKind::NonNegative, "kg", "from the shape", "mass; zero where joints hold the body"),
    Field::optional(
        "inertia",
        FieldKind::Square { plane: 1, space: 3 },
        "kg m²",
        "from the shape; without a shape the body is a point mass",
        "moments of inertia about the centre of mass, in the body's frame",
    ),
    Field::optional(
        "at",
        FieldKind::Point,
        "m",
        "from the shape, else the origin",
        "centre of mass (of a flexible body: origin of its frame) at the start, in the world",
    ),
    Field::optional("angle", FieldKind::Number, "rad", "0", "angle at the start (plane)"),
    Field::optional(
        "orientation",
        FieldKind::Any,
        "",
        "along the world's axes",
        "rotation at the start (space): quaternion [w, x, y, z], { axis, angle } or 3×3 matrix, body to world",
    ),
    Field::optional("velocity", FieldKind::Vector, "m/s", "at rest", "velocity of the same point at the start"),
    Field::optional(
        "angular_velocity",
        FieldKind::Axial,
        "rad/s",
        "at rest",
        "angular velocity at the start, in the world",
    ),
    Field::optional("fixed", FieldKind::Flag, "", "false", "keep this body's start when the model is assembled"),
    Field::optional("coordinates", FieldKind::Word(&["natural"]), "", "rigid", "`natural` for thin rods"),
    Field::optional("rod", FieldKind::Table(ROD), "", "", "a rod from point to point; the body's x axis runs along it"),
    Field::optional("box", FieldKind::Table(BOX), "", "", "a box with edges along the body's axes"),
    Field::optional("sphere", FieldKind::Table(SPHERE), "", "", "a solid sphere"),
    Field::optional("cylinder", FieldKind::Table(CYLINDER), "", "", "a solid cylinder along the body's z axis"),
    Field::optional("mesh", FieldKind::Table(MESH), "", "", "what the body looks like: an STL or glTF file"),
    Field::optional(
        "beam",
        FieldKind::Table(BEAM),
        "",
        "",
        "a flexible beam from point to point, its frame at the first",
    ),
    Field::optional("modal", FieldKind::Table(MODAL), "", "", "a flexible body from the modes in a file"),
];

const SHAPE_MASS: Field = Field::optional("mass", FieldKind::Positive, "kg", "the body's", "mass");
const ROD: &[Field] = &[
    Field::required("from", FieldKind::Point, "m", "one end at the start, in the world"),
    Field::required("to", FieldKind::Point, "m", "the other end"),
    SHAPE_MASS,
    Field::optional("radius", FieldKind::Positive, "m", "thin", "radius"),
];
const BOX: &[Field] =
    &[Field::required("size", FieldKind::Vector, "m", "lengths of the edges along x, y (and z)"), SHAPE_MASS];
const SPHERE: &[Field] = &[Field::required("radius", FieldKind::Positive, "m", "radius"), SHAPE_MASS];
const CYLINDER: &[Field] = &[
    Field::required("radius", FieldKind::Positive, "m", "radius"),
    Field::optional("length", FieldKind::Positive, "m", "the radius", "length along z"),
    SHAPE_MASS,
];
const MESH: &[Field] = &[
    Field::required("file", FieldKind::Text, "", "a file in the model's folder: .stl, .gltf or .glb"),
    Field::optional("scale", FieldKind::Positive, "m", "1", "length of a unit of the file: 0.001 for millimetres"),
    Field::optional("at", FieldKind::Vector, "m", "the centre of mass", "origin of the file, in the body's frame"),
];
const SHAPES: [&str; 4] = ["rod", "box", "sphere", "cylinder"];

const TYPE: Field = Field::required("type", FieldKind::Any, "", "the kind");
const BETWEEN: Field = Field::required("between", FieldKind::Names(2, 2), "", "two bodies, or `ground` and a body");

/// Keys of every `[joint.NAME]`.
pub const JOINT: &[Field] = &[
    TYPE,
    BETWEEN,
    Field::optional(
        "at",
        FieldKind::Points(1, 2),
        "m",
        "",
        "the joint's point in the world at the start (two for a distance or a rolling disk)",
    ),
    Field::optional(
        "on",
        FieldKind::Points(2, 2),
        "m",
        "",
        "instead of `at`: the point on each body, in its own frame",
    ),
    Field::optional(
        "axis",
        FieldKind::Directions(1, 2),
        "",
        "z, in the plane x",
        "axis in the world at the start; with `on`, on each body",
    ),
    Field::optional(
        "axis2",
        FieldKind::Directions(1, 2),
        "",
        "any",
        "second axis, where a joint has two; else where its angle is zero",
    ),
    Field::optional(
        "tree",
        FieldKind::Flag,
        "",
        "chosen",
        "relative coordinates: `true` for a joint of the tree, `false` where a loop is to be cut",
    ),
];

/// Keys of joints that hold a point of one body.
pub const JOINT_ON_ONE: &[Field] = &[
    TYPE,
    Field::required("body", FieldKind::Name, "", "the body whose point it holds"),
    Field::optional("at", FieldKind::Point, "m", "the centre of mass", "the point in the world at the start"),
    Field::optional("on", FieldKind::Point, "m", "", "instead of `at`: the point in the body's frame"),
];

/// Keys of joints that act on the motion of another.
pub const JOINT_ON_JOINT: &[Field] = &[TYPE, Field::required("joint", FieldKind::Name, "", "the joint it acts on")];

/// Keys of joints that tie the motions of two others.
pub const JOINT_ON_JOINTS: &[Field] =
    &[TYPE, Field::required("joints", FieldKind::Names(2, 2), "", "the two joints whose motions it ties")];

/// The keys of a kind of joint, in groups: those of its place and its own.
pub fn joint_fields(kind: &joints::Kind) -> [&'static [Field]; 2] {
    let place = match kind.place {
        Place::Shared(_) | Place::Points(_) => JOINT,
        Place::Body => JOINT_ON_ONE,
        Place::Joint => JOINT_ON_JOINT,
        Place::Joints => JOINT_ON_JOINTS,
    };
    [place, kind.fields]
}

/// Keys of forces between two bodies.
pub const FORCE_BETWEEN: &[Field] = &[
    TYPE,
    BETWEEN,
    Field::optional("at", FieldKind::Points(1, 2), "m", "", "points in the world at the start"),
    Field::optional(
        "on",
        FieldKind::Points(2, 2),
        "m",
        "",
        "instead of `at`: the point on each body, in its own frame",
    ),
    Field::optional(
        "axis",
        FieldKind::Directions(1, 2),
        "",
        "z",
        "axis in the world at the start; with `on`, on each body",
    ),
    Field::optional("axis2", FieldKind::Directions(1, 2), "", "any", "second axis"),
];

/// Keys of contacts.
pub const FORCE_SURFACES: &[Field] = &[
    TYPE,
    BETWEEN,
    Field::optional("at", FieldKind::Points(1, 2), "m", "the centres of mass", "points in the world at the start"),
    Field::optional(
        "on",
        FieldKind::Points(2, 2),
        "m",
        "",
        "instead of `at`: the point on each body, in its own frame",
    ),
];

/// Keys of forces on a joint coordinate.
pub const FORCE_ON_JOINT: &[Field] = &[TYPE, ON_JOINT, COORDINATE];

/// Keys of controllers.
pub const FORCE_CONTROL: &[Field] = &[
    TYPE,
    ON_JOINT,
    COORDINATE,
    Field::optional(
        "measure",
        FieldKind::Name,
        "",
        "the coordinate it acts on",
        "what is controlled, by its name in the results: `pin.angle`, `slide.rate`, `tip.x` of a probe, `cart.vx` of a body",
    ),
];

const ON_JOINT: Field = Field::required("joint", FieldKind::Name, "", "the joint it acts on");
const COORDINATE: Field = Field::optional(
    "coordinate",
    FieldKind::Name,
    "",
    "its only one",
    "which of the joint's coordinates: `angle` or `position`, then `angle2`, `position2`, …",
);
/// Keys of forces on one body.
pub const FORCE_ON_ONE: &[Field] = &[
    TYPE,
    Field::required("body", FieldKind::Name, "", "the body it acts on"),
    Field::optional("at", FieldKind::Point, "m", "the centre of mass", "the point in the world at the start"),
    Field::optional("on", FieldKind::Point, "m", "", "instead of `at`: the point in the body's frame"),
];

/// The keys of a kind of force, in groups: those of its ends and its own.
pub fn force_fields(kind: &forces::Kind) -> [&'static [Field]; 2] {
    use forces::Ends::*;
    let ends = match kind.ends {
        Points | Centres | Frames | Turning => FORCE_BETWEEN,
        Surfaces => FORCE_SURFACES,
        One => FORCE_ON_ONE,
        Joint => FORCE_ON_JOINT,
        Control => FORCE_CONTROL,
    };
    [ends, kind.fields]
}

/// Keys of `[probe.NAME]`.
pub const PROBE: &[Field] = &[
    Field::required("body", FieldKind::Name, "", "the body it sits on"),
    Field::optional("at", FieldKind::Point, "m", "the centre of mass", "the point in the world at the start"),
    Field::optional("on", FieldKind::Point, "m", "", "instead of `at`: the point in the body's frame"),
];

/// Keys of `[start]` entries: the names of a joint's coordinates and rates, see [`joints::names`].
pub const START: &[Field] = &[
    Field::optional("angle", FieldKind::Number, "rad", "as drawn", "angle of a joint that turns"),
    Field::optional("position", FieldKind::Number, "m", "as drawn", "position of a joint that slides"),
    Field::optional("rate", FieldKind::Number, "rad/s, m/s", "0", "rate of the angle, or of the position of a slide"),
    Field::optional("speed", FieldKind::Number, "m/s", "0", "rate of the position of a joint that also turns"),
    Field::optional("angle2", FieldKind::Number, "rad", "as drawn", "second angle of a joint that has two"),
    Field::optional("position2", FieldKind::Number, "m", "as drawn", "second position of a joint that has two"),
    Field::optional("rate2", FieldKind::Number, "rad/s, m/s", "0", "rate of the second angle or position"),
    Field::optional("speed2", FieldKind::Number, "m/s", "0", "rate of the second position of a joint that also turns"),
];

/// A model file that was read.
pub struct Read {
    /// The model.
    pub model: Model,
    /// Its `[solve]` section, as it stands.
    pub settings: Settings,
    /// The texts and places, for messages that point into them.
    pub document: Outline,
}

/// Reads a model file with overrides `path.to.key=value`.
pub fn read_model(path: &str, overrides: &[String]) -> Result<Read, Report> {
    interpret(Document::open(path, overrides, &LAYOUT)?, path)
}

/// Reads a model from a text under the name the user knows it by.
pub fn read_text(name: &str, text: &str, overrides: &[String]) -> Result<Read, Report> {
    interpret(Document::parse(name, text.to_string(), overrides, &LAYOUT)?, name)
}

fn interpret(document: Document, path: &str) -> Result<Read, Report> {
    let folder = std::path::Path::new(path).parent();
    match Reader::new(&document.root, folder).and_then(|mut r| r.read(path)) {
        Ok((model, settings)) => Ok(Read { model, settings, document: document.outline() }),
        Err(problems) => Err(document.report(problems)),
    }
}

struct Reader<'a> {
    root: &'a Node,
    folder: Option<&'a std::path::Path>,
    parameters: Parameters,
    plane: bool,
    model: Model,
    body_names: HashMap<String, usize>,
    problems: Diagnostics,
}

impl<'a> Reader<'a> {
    fn new(root: &'a Node, folder: Option<&'a std::path::Path>) -> Result<Reader<'a>, Diagnostics> {
        let parameters = Parameters::read(root.get("parameter"))?;
        let plane = root.get("model").and_then(|m| m.get("plane")).is_some();
        Ok(Reader {
            root,
            folder,
            parameters,
            plane,
            model: Model::default(),
            body_names: HashMap::new(),
            problems: Diagnostics::new(),
        })
    }

    fn context(&self) -> Context<'_> {
        Context { parameters: &self.parameters, plane: self.plane, variables: &["t"], folder: self.folder }
    }

    fn fields(&self, node: &'a Node, what: &str, fields: &[&'static [Field]]) -> Result<Values<'a>, Diagnostics> {
        read(node, what, fields, &self.context())
    }

    fn read(&mut self, path: &str) -> Result<(Model, Settings), Diagnostics> {
        self.check_sections();
        self.check_names();
        self.model.space = if self.plane { Space::Plane } else { Space::Space };
        let stem = std::path::Path::new(path).file_stem().map(|s| s.to_string_lossy().into_owned());
        self.model.name = stem.unwrap_or_default();
        let mut settings = Settings::default();
        if let Some(node) = self.root.get("model") {
            let values = self.fields(node, "[model]", &[MODEL]);
            if let Some(values) = self.problems.take(values) {
                if let Some(name) = values.optional_name("name") {
                    self.model.name = name.name.to_string();
                }
                self.model.gravity = values.optional_vector("gravity").unwrap_or_default();
            }
        }
        let length = |section: &str| self.root.get(section).and_then(Node::as_table).map_or(0, |t| t.entries.len());
        let (bodies, joints) = (length("body"), length("joint"));
        self.model.bodies.reserve_exact(bodies);
        self.model.joints.reserve_exact(joints);
        self.each("body", Reader::read_body);
        // places on bodies need all bodies: with one of them unread, messages about the rest would mislead
        std::mem::take(&mut self.problems).or(())?;
        self.each("joint", Reader::read_joint);
        if self.problems.is_empty() {
            self.each("joint", Reader::read_coupler); // they refer to joints by name, in any order
        }
        self.each("probe", Reader::read_probe);
        self.each("force", Reader::read_force);
        std::mem::take(&mut self.problems).or(())?;
        self.each("start", Reader::read_start);
        if let Some(node) = self.root.get("solve") {
            let read = Settings::read(node, &self.context());
            settings = self.problems.take(read).unwrap_or_default();
        }
        std::mem::take(&mut self.problems).or(())?;
        if self.model.bodies.is_empty() {
            let hint = "add one: a table [body.NAME] with at least its `mass`";
            return Err(Diagnostic::error("the model has no bodies").at(self.root.span).help(hint).into());
        }
        Ok((std::mem::take(&mut self.model), settings))
    }

    /// Bodies, joints and probes must not share names: `pin.x` is one channel.
    fn check_names(&mut self) {
        let mut seen: HashMap<&str, (&str, Span)> = HashMap::new();
        for section in ["body", "joint", "probe"] {
            let entries = self.root.get(section).and_then(Node::as_table).map_or(&[][..], |t| &t.entries);
            for entry in entries {
                if let Some((first, span)) = seen.insert(&entry.name, (section, entry.span)) {
                    let message =
                        format!("{} is the name of a {first} and of a {section}", suggest::quoted(&entry.name));
                    self.problems.push(
                        Diagnostic::error(message)
                            .at(entry.span)
                            .label(format!("a {section}"))
                            .also(span, format!("a {first}"))
                            .help("give one of them another name: what is recorded of them goes by it"),
                    );
                }
            }
        }
    }

    fn check_sections(&mut self) {
        let known: Vec<&str> = LAYOUT.settings.iter().chain(LAYOUT.named).copied().collect();
        let Some(table) = self.root.as_table() else { return };
        // editors look for `$schema`
        for entry in table.entries.iter().filter(|e| !known.contains(&e.name.as_str()) && e.name != "$schema") {
            let near = suggest::nearest(&entry.name, known.iter().copied());
            let label = near.map_or("not a known section".into(), |n| format!("did you mean `{n}`?"));
            let help = format!("sections are {}", known.join(", "));
            let message = format!("unknown section {}", suggest::quoted(&entry.name));
            self.problems.push(Diagnostic::error(message).at(entry.span).label(label).help(help));
        }
    }

    /// Reads every entry of a section, collecting what is wrong with each.
    fn each(&mut self, section: &str, one: fn(&mut Self, &'a str, &'a Node, Span) -> Result<(), Diagnostics>) {
        let Some(node) = self.root.get(section) else { return };
        let Some(table) = node.as_table() else {
            let message = format!("[{section}] must be a table of named entries");
            let help = format!("write [{section}.NAME] above the keys of each");
            self.problems.push(Diagnostic::error(message).at(node.span).help(help));
            return;
        };
        for entry in &table.entries {
            if entry.name.trim().is_empty() {
                let message = format!("a name in [{section}] is empty");
                let help = format!("write [{section}.NAME] above the keys of each");
                self.problems.push(Diagnostic::error(message).at(entry.span).help(help));
                continue;
            }
            let result = one(self, &entry.name, &entry.node, entry.span);
            self.problems.take(result);
        }
    }

    fn read_body(&mut self, name: &'a str, node: &'a Node, span: Span) -> Result<(), Diagnostics> {
        let what = format!("body {}", suggest::quoted(name));
        if name == "ground" {
            let help = "choose another name: joints and forces refer to the fixed world as `ground`";
            return Err(Diagnostic::error("`ground` is the fixed world and no body").at(span).help(help).into());
        }
        let values = self.fields(node, &what, &[BODY])?;
        values.at_most_one(&["rod", "box", "sphere", "cylinder", "beam", "modal"])?;
        let dimension = self.model.space.dimension();
        let shape = self.shape(&values)?;
        let mut entry = BodyEntry {
            name: name.to_string(),
            body: Body::Point(PointMass::new(1.0, dimension)),
            at: shape.at.unwrap_or_default(),
            rotation: Quat::IDENTITY,
            angle: 0.0,
            velocity: values.optional_vector("velocity"),
            angular_velocity: values.optional_vector("angular_velocity"),
            fixed: values.flag("fixed"),
            shape: shape.shape,
            mesh: self.mesh(&values)?,
        };
        if let Some(body) = self.flexible(&values, &mut entry)? {
            entry.body = body;
            self.push_body(entry);
            return Ok(());
        }
        if let Some(at) = values.optional_vector("at") {
            if shape.at.is_some() {
                let help = "the ends of the rod tell where it is: leave `at` out";
                return Err(values.error_at("at", format!("{what} has both `rod` and `at`")).help(help).into());
            }
            entry.at = at;
        }
        self.place_body(&values, &what, &shape, &mut entry)?;
        let mass = values.optional_number("mass").or(shape.mass);
        let Some(mass) = mass else {
            let help = "add `mass = …` [kg], or a shape with a mass";
            return Err(values.error(format!("{what} needs `mass`")).help(help).into());
        };
        let natural = values.has("coordinates");
        let inertia = match values.optional_numbers("inertia") {
            Some(m) if self.plane => Some(Mat3::IDENTITY * m[0]),
            Some(m) => Some(Mat3([[m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]])),
            None => shape.inertia.map(|i| i * mass),
        };
        entry.body = match (natural, inertia) {
            (true, _) => {
                let Shape::Rod { length, .. } = shape.shape else {
                    let help = "natural coordinates are an end point and the link vector: give a `rod`";
                    let message = format!("{what} has natural coordinates but is no rod");
                    return Err(values.error_at("coordinates", message).help(help).into());
                };
                if values.has("inertia") || shape.thick {
                    let help = "leave `inertia` and `radius` out, or leave `coordinates` out";
                    let message = format!("{what}: a rod in natural coordinates is thin");
                    return Err(values.error_at("coordinates", message).help(help).into());
                }
                Body::Rod(Rod::new(mass, length, dimension))
            }
            (false, None) => Body::Point(PointMass::new(mass, dimension)),
            (false, Some(inertia)) if self.plane => {
                let j = inertia.0[2][2];
                if j < 0.0 || (j == 0.0 && mass > 0.0 && values.has("inertia")) {
                    let message = format!("{what}: the moment of inertia must be positive, found {j}");
                    return Err(values.error_at("inertia", message).help("in kg m², about the centre of mass").into());
                }
                Body::Planar(Planar::new(mass, j))
            }
            (false, Some(inertia)) => {
                if matches!(shape.shape, Shape::Rod { .. }) && !shape.thick && !values.has("inertia") {
                    let help = "add `coordinates = \"natural\"`, or give the rod a `radius`, or the body an `inertia`";
                    let message = format!("{what}: a thin rod in space has no inertia along itself");
                    return Err(values.error_at("rod", message).help(help).into());
                }
                check_inertia(&values, &what, &inertia)?;
                Body::Rigid(Rigid::new(mass, inertia))
            }
        };
        self.push_body(entry);
        Ok(())
    }

    fn push_body(&mut self, entry: BodyEntry) {
        self.body_names.insert(entry.name.clone(), self.model.bodies.len());
        self.model.bodies.push(entry);
    }

    /// Sets the rotation of a body at the start.
    fn place_body(&self, v: &Values, what: &str, shape: &ShapeData, entry: &mut BodyEntry) -> Result<(), Diagnostics> {
        if let Some(along) = shape.along {
            for key in ["angle", "orientation"] {
                if v.has(key) {
                    let help = "the ends of the rod tell its direction";
                    return Err(v.error_at(key, format!("{what} has both `rod` and `{key}`")).help(help).into());
                }
            }
            if self.plane {
                entry.angle = along[1].atan2(along[0]);
                entry.rotation = Quat::exp(Vec3::Z * entry.angle);
            } else {
                let y = along.any_perpendicular();
                entry.rotation = Quat::from_matrix(&Mat3::from_columns(along, y, along.cross(y)));
            }
            return Ok(());
        }
        if self.plane {
            if v.has("orientation") {
                let help = "a planar body has an `angle`";
                return Err(v
                    .error_at("orientation", format!("{what} is in the plane and has no `orientation`"))
                    .help(help)
                    .into());
            }
            entry.angle = v.number("angle");
            entry.rotation = Quat::exp(Vec3::Z * entry.angle);
            return Ok(());
        }
        if v.has("angle") {
            let help = "in space write `orientation = { axis = [0, 0, 1], angle = … }`";
            return Err(v.error_at("angle", format!("{what} is in space and has no `angle`")).help(help).into());
        }
        if let Some(node) = v.node("orientation") {
            entry.rotation = self.orientation(node, what)?;
        }
        Ok(())
    }

    fn orientation(&self, node: &'a Node, what: &str) -> Result<Quat, Diagnostics> {
        const TURN: &[Field] = &[
            Field::required("axis", FieldKind::Direction, "", "axis of the turn"),
            Field::required("angle", FieldKind::Number, "rad", "angle of the turn"),
        ];
        let context = self.context();
        let key = format!("`orientation` of {what}");
        let wrong = |text: String| {
            let help = "a quaternion [w, x, y, z] (body to world), { axis = […], angle = … }, or a 3×3 rotation matrix";
            Diagnostic::error(format!("{key} {text}")).at(node.span).help(help)
        };
        if node.as_table().is_some() {
            let turn = self.fields(node, &key, &[TURN])?;
            return Ok(Quat::exp(turn.vector("axis") * turn.number("angle")));
        }
        let Value::Array(items) = &node.value else { return Err(wrong("must be a rotation".into()).into()) };
        match items.len() {
            4 => {
                let q = context.numbers(node, &key, 4, 4)?;
                let norm = q.iter().map(|c| c * c).sum::<f64>().sqrt();
                if (norm - 1.0).abs() > 1e-3 {
                    return Err(wrong(format!("has length {norm:.4}, but a rotation has 1")).into());
                }
                Ok(Quat([q[0], q[1], q[2], q[3]]).normalized())
            }
            3 => {
                let m = context.square(node, &key, 3)?;
                let r = Mat3([[m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]]);
                let product = r * r.transpose() - Mat3::IDENTITY;
                let off = (0..3).map(|i| product.row(i).norm()).fold(0.0, f64::max);
                if off > 1e-3 || r.determinant() < 0.0 {
                    return Err(
                        wrong("is no rotation matrix (rows must be orthonormal and right-handed)".into()).into()
                    );
                }
                Ok(Quat::from_matrix(&r))
            }
            n => Err(wrong(format!("has {n} entries")).into()),
        }
    }

    /// The triangles of a mesh, in the body's frame.
    fn mesh(&self, values: &Values<'a>) -> Result<Option<Arc<Mesh>>, Diagnostics> {
        let Some(table) = values.optional_table("mesh") else { return Ok(None) };
        let Some(folder) = self.folder else {
            let help = "save the model as a file: meshes lie in its folder";
            return Err(table.error_at("file", "a model that is no file has no meshes").help(help).into());
        };
        let file = table.node("file").and_then(Node::as_str).unwrap_or_default();
        let (scale, at) =
            (table.optional_number("scale").unwrap_or(1.0), table.optional_vector("at").unwrap_or_default());
        let mut mesh = mesh::open(folder, file).map_err(|(message, help)| {
            table.error_at("file", format!("the mesh of {}: {message}", values.what())).help(help)
        })?;
        for (i, x) in mesh.corners.iter_mut().enumerate() {
            *x = (f64::from(*x) * scale + at[i % 3]) as f32;
        }
        Ok(Some(Arc::new(mesh)))
    }

    fn shape(&self, values: &Values<'a>) -> Result<ShapeData, Diagnostics> {
        let found = SHAPES.iter().find_map(|kind| values.optional_table(kind).map(|table| (*kind, table)));
        let Some((kind, table)) = found else { return Ok(ShapeData::default()) };
        let mut data = ShapeData { mass: table.optional_number("mass"), thick: true, ..ShapeData::default() };
        if data.mass.is_some() && values.has("mass") {
            let message = format!("{} has `mass` twice", values.what());
            return Err(values.error_at("mass", message).help("give it in the shape or beside it").into());
        }
        match kind {
            "rod" => {
                let (from, to) = (table.vector("from"), table.vector("to"));
                let Some(along) = (to - from).normalized() else {
                    let message =
                        format!("the rod of {} has no length: `from` and `to` are the same point", values.what());
                    return Err(table.error(message).help("give two different points").into());
                };
                let (l, r) = ((to - from).norm(), table.optional_number("radius").unwrap_or(0.0));
                let across = (3.0 * r * r + l * l) / 12.0;
                data.inertia = Some(Mat3::diagonal(Vec3::new(0.5 * r * r, across, across)));
                data.shape = Shape::Rod { length: l, radius: r };
                (data.at, data.along, data.thick) = (Some((from + to) * 0.5), Some(along), r > 0.0);
            }
            "box" => {
                let size = table.vector("size");
                let last = if self.plane { 1 } else { 2 };
                if (0..=last).any(|i| size[i] <= 0.0) {
                    return Err(table.error_at("size", "the edges of a box must be positive").into());
                }
                let [x, y, z] = size.0.map(|e| e * e / 12.0);
                data.inertia = Some(Mat3::diagonal(Vec3::new(y + z, x + z, x + y)));
                data.shape = Shape::Box { size };
            }
            "sphere" => {
                let r = table.number("radius");
                data.inertia = Some(Mat3::IDENTITY * (0.4 * r * r));
                data.shape = Shape::Sphere { radius: r };
            }
            _ => {
                let r = table.number("radius");
                let l = table.optional_number("length").unwrap_or(r);
                let across = (3.0 * r * r + l * l) / 12.0;
                data.inertia = Some(Mat3::diagonal(Vec3::new(across, across, 0.5 * r * r)));
                data.shape = Shape::Cylinder { length: l, radius: r };
            }
        }
        Ok(data)
    }

    fn body(&self, named: Named, of: &str) -> Result<Option<usize>, Diagnostic> {
        if named.name == "ground" {
            return Ok(None);
        }
        let names = || self.model.bodies.iter().map(|b| b.name.as_str());
        let known = self.body_names.get(named.name).copied().map(Some);
        known.ok_or_else(|| named.unknown("body", of, names().chain(["ground"]).collect::<Vec<_>>()))
    }

    /// A place in the world at the start, seen from a body.
    fn attach(&self, body: Option<usize>, point: Vec3, axes: Mat3) -> End {
        let on = match body {
            None => Attachment::new(point, axes),
            Some(b) => {
                let (p, r) = self.pose(b);
                Attachment::new(r.transpose_times(point - p), r.transpose() * axes)
            }
        };
        End { body, on }
    }

    fn pose(&self, b: usize) -> (Vec3, Mat3) {
        let entry = &self.model.bodies[b];
        (entry.at, entry.rotation.matrix())
    }

    /// A place on a body, seen from the world at the start.
    fn world(&self, end: &End) -> Vec3 {
        match end.body {
            None => end.on.point,
            Some(b) => {
                let (p, r) = self.pose(b);
                p + r * end.on.point
            }
        }
    }

    /// The two places of a joint or of a force between bodies.
    fn ends(
        &self,
        v: &Values,
        bodies: [Option<usize>; 2],
        axes: Axes,
        two_points: bool,
    ) -> Result<[End; 2], Diagnostics> {
        v.at_most_one(&["at", "on"])?;
        let what = v.what();
        let axis = |key: &str, k: usize| v.optional_points(key).map(|a| a[k.min(a.len() - 1)]);
        let frame = |k: usize| -> Result<Mat3, Diagnostics> {
            match axes {
                Axes::Shafts => self.shaft(v, bodies, k),
                Axes::Facing => Ok(self.facing(v.optional_vector("normal"))),
                Axes::Rolling if k == 0 || self.plane => Ok(self.facing(v.optional_vector("normal"))),
                Axes::Rolling => Ok(self.facing(axis("axis", 1))),
                Axes::Turning if self.plane => Ok(Mat3::IDENTITY),
                Axes::Sliding if self.plane => {
                    let x = axis("axis", k).unwrap_or(Vec3::X);
                    Ok(Mat3::from_columns(x, Vec3::Z.cross(x), Vec3::Z))
                }
                Axes::None if !v.has("axis") => Ok(Mat3::IDENTITY),
                _ => {
                    let z = axis("axis", k).unwrap_or(Vec3::Z);
                    let x = match axis("axis2", k) {
                        None => z.any_perpendicular(),
                        Some(x) => (x - z * x.dot(z)).normalized().ok_or_else(|| {
                            v.error_at("axis2", format!("`axis` and `axis2` of {what} are parallel"))
                                .help("`axis2` must point another way")
                        })?,
                    };
                    Ok(Mat3::from_columns(x, z.cross(x), z))
                }
            }
        };
        if let Some(on) = v.optional_points("on") {
            return Ok([
                End { body: bodies[0], on: Attachment::new(on[0], frame(0)?) },
                End { body: bodies[1], on: Attachment::new(on[1], frame(1)?) },
            ]);
        }
        let points = match v.optional_points("at") {
            Some(at) => at,
            None => {
                let at =
                    if two_points { "`at = [[…], […]]`, a point on each body" } else { "`at = […]`, a point" };
                let help =
                    format!("add {at} in the world at the start, or `on = [[…], […]]`, a point in each body's frame");
                return Err(v.error(format!("{what} needs `at` or `on`")).help(help).into());
            }
        };
        if points.len() != if two_points { 2 } else { 1 } {
            let message = if two_points {
                format!("`at` of {what} needs two points, one on each body")
            } else {
                format!("`at` of {what} needs one point")
            };
            let help = "`at = [[…], […]]` holds two points; to give a point on each body in its own frame use `on`";
            return Err(v.error_at("at", message).help(help).into());
        }
        let place = |k: usize| -> Result<End, Diagnostics> {
            let mut end = self.attach(bodies[k], points[k.min(points.len() - 1)], frame(k)?);
            if self.plane && axes == Axes::Turning {
                end.on.axes = Mat3::IDENTITY; // the angle of the joint is that between the bodies
            }
            Ok(end)
        };
        Ok([place(0)?, place(1)?])
    }

    /// Axes of which y, or in space z, points along a direction.
    fn facing(&self, direction: Option<Vec3>) -> Mat3 {
        if self.plane {
            let y = direction.unwrap_or(Vec3::Y);
            return Mat3::from_columns(y.cross(Vec3::Z), y, Vec3::Z);
        }
        let z = direction.unwrap_or(Vec3::Z);
        let x = z.any_perpendicular();
        Mat3::from_columns(x, z.cross(x), z)
    }

    /// The frame of one of two shafts that meet: in the world, or with `on` in the body's frame.
    fn shaft(&self, v: &Values, bodies: [Option<usize>; 2], k: usize) -> Result<Mat3, Diagnostics> {
        let place = |k: usize| match bodies[k] {
            Some(b) if v.has("on") => self.pose(b).1,
            _ => Mat3::IDENTITY,
        };
        let given = |key: &str, k: usize| v.optional_points(key).map(|a| a[k.min(a.len() - 1)]);
        let first = place(0) * given("axis", 0).unwrap_or(Vec3::Z);
        let second = match given("axis2", 1) {
            Some(z) => place(1) * z,
            None => place(1) * given("axis", 1).unwrap_or(Vec3::Z),
        };
        let (axis, cosine) = (first.cross(second), first.dot(second));
        let angle = axis.norm().atan2(cosine);
        if angle > std::f64::consts::FRAC_PI_2 {
            let message = format!("the shafts of {} are bent by {:.0}°", v.what(), angle.to_degrees());
            let help = "`axis` points along the first shaft towards the joint, `axis2` along the second away from it";
            return Err(v.error_at("axis2", message).help(help).into());
        }
        let x = first.any_perpendicular();
        let straight = Mat3::from_columns(x, first.cross(x), first);
        let bend = axis.normalized().map_or(Mat3::IDENTITY, |n| Quat::exp(n * angle).matrix());
        Ok(place(k).transpose() * if k == 0 { straight } else { bend * straight })
    }

    fn two_bodies(&self, v: &Values) -> Result<[Option<usize>; 2], Diagnostics> {
        let names = v.names("between");
        let mut problems = Diagnostics::new();
        let found: Vec<_> = names.iter().map(|n| problems.take(self.body(*n, v.what()))).collect();
        problems.or(())?;
        if names[0].name == names[1].name {
            let message = format!("{} joins `{}` with itself", v.what(), names[0].name);
            return Err(v.error_at("between", message).help("name two different bodies").into());
        }
        Ok([found[0].flatten(), found[1].flatten()])
    }

    /// Refuses places that a body does not have.
    fn check_place(&self, v: &Values, end: &End, rotational: bool) -> Result<(), Diagnostics> {
        let Some(b) = end.body else { return Ok(()) };
        let entry = &self.model.bodies[b];
        let (what, name) = (v.what(), &entry.name);
        let key = if v.has("on") { "on" } else { "at" };
        if let Body::Flexible(body) = &entry.body
            && end.on.node != crate::frames::RIGIDLY
        {
            return self.check_station(v, end, body, name, rotational);
        }
        let orientation = each!(&entry.body, b => b.orientation());
        let scale = 1e-9 * (1.0 + entry.at.norm() + end.on.point.norm());
        // a force has no weaker kind to offer
        let other = if what.starts_with("joint") { ", or use a spherical joint" } else { "" };
        match orientation {
            Orientation::Full => Ok(()),
            Orientation::None if rotational => {
                let message = format!("{what} needs the rotation of `{name}`, which is a point mass");
                let help = format!("give `{name}` an `inertia` or a shape{other}");
                Err(v.error_at("type", message).help(help).into())
            }
            Orientation::None if end.on.point.norm() > scale => {
                let message =
                    format!("{what} is {:.3} m away from `{name}`, which is a point mass", end.on.point.norm());
                let help = format!("put it at the place of `{name}`, or give `{name}` an `inertia` or a shape");
                Err(v.error_at(key, message).help(help).into())
            }
            Orientation::Direction if rotational => {
                let message =
                    format!("{what} needs the spin of `{name}`, a thin rod in natural coordinates, which has none");
                let help =
                    format!("give the rod `{name}` a `radius` or an `inertia` instead of natural coordinates{other}");
                Err(v.error_at("type", message).help(help).into())
            }
            Orientation::Direction if end.on.point[1].hypot(end.on.point[2]) > scale => {
                let message = format!("{what} is not on the line of the thin rod `{name}`");
                Err(v.error_at(key, message).help(format!("put it on the rod, or give `{name}` a `radius`")).into())
            }
            _ => Ok(()),
        }
    }

    fn joint_kind(&self, what: &str, node: &Node) -> Result<&'static joints::Kind, Diagnostics> {
        let words: Vec<&str> = joints::CATALOG.iter().map(|k| k.name).collect();
        let name = choose(node, what, "type", &words)?;
        let kind = joints::CATALOG.iter().find(|k| k.name == name).expect("chosen from the catalog");
        match kind.in_plane {
            Some(instead) if self.plane => {
                let message = format!("{what}: a {name} joint needs space, and the model is planar");
                let span = node.get("type").map_or(node.span, |n| n.span);
                Err(Diagnostic::error(message).at(span).help(format!("in the plane use {instead}")).into())
            }
            _ => Ok(kind),
        }
    }

    /// Reads a joint between bodies; those that stand on other joints are left for [`Self::read_coupler`].
    fn read_joint(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let what = format!("joint {}", suggest::quoted(name));
        let kind = self.joint_kind(&what, node)?;
        let two_points = matches!(kind.place, Place::Points(_));
        let (values, ends) = match kind.place {
            Place::Joint | Place::Joints => return Ok(()),
            Place::Shared(axes) | Place::Points(axes) => {
                let values = self.fields(node, &what, &joint_fields(kind))?;
                let bodies = self.two_bodies(&values)?;
                let ends = self.ends(&values, bodies, axes, two_points)?;
                (values, ends)
            }
            Place::Body => {
                let values = self.fields(node, &what, &joint_fields(kind))?;
                let end = self.one_end(&values)?;
                (values, [End { body: None, on: Attachment::CENTRE }, end])
            }
        };
        self.add_joint(name, kind, &values, ends.to_vec(), Vec::new())
    }

    /// Reads a joint that stands on other joints.
    fn read_coupler(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let what = format!("joint {}", suggest::quoted(name));
        let kind = self.joint_kind(&what, node)?;
        let key = match kind.place {
            Place::Joint => "joint",
            Place::Joints => "joints",
            _ => return Ok(()),
        };
        let values = self.fields(node, &what, &joint_fields(kind))?;
        let named = if key == "joint" { vec![values.name(key)] } else { values.names(key).to_vec() };
        let mut problems = Diagnostics::new();
        let found: Vec<usize> = named.iter().filter_map(|n| problems.take(self.joint(*n, &what))).collect();
        problems.or(())?;
        let entries = || found.iter().map(|j| &self.model.joints[*j]);
        let ends: Vec<End> = match kind.place {
            Place::Joint => entries().flat_map(|j| j.ends.clone()).collect(),
            _ => entries().map(|j| j.ends[1]).chain(entries().map(|j| j.ends[0])).collect(),
        };
        if found.len() == 2 && found[0] == found[1] {
            let message = format!("{what} ties joint `{}` to itself", named[0].name);
            return Err(values.error_at(key, message).help("name two different joints").into());
        }
        let base = |j: &JointEntry| joints::Base {
            name: j.name.clone(),
            kind: j.kind,
            motions: j.joint.motions(self.model.space),
        };
        let bases = entries().map(base).collect();
        self.add_joint(name, kind, &values, ends, bases)
    }

    /// The number of a joint between bodies.
    fn joint(&self, named: Named, of: &str) -> Result<usize, Diagnostic> {
        let names = || self.model.joints.iter().map(|j| j.name.as_str());
        names().position(|n| n == named.name).ok_or_else(|| named.unknown("joint", of, names().collect::<Vec<_>>()))
    }

    fn add_joint(
        &mut self,
        name: &str,
        kind: &'static joints::Kind,
        values: &Values,
        ends: Vec<End>,
        bases: Vec<joints::Base>,
    ) -> Result<(), Diagnostics> {
        let space = self.model.space;
        let frame = |end: &End| {
            let r = end.body.map_or(Mat3::IDENTITY, |b| self.pose(b).1);
            Frame { p: self.world(end), r: r * end.on.axes, ..Frame::default() }
        };
        let angle = |end: &End| end.body.map_or(0.0, |b| self.model.bodies[b].angle);
        let placement = joints::Placement {
            frames: ends.iter().map(frame).collect(),
            angles: ends.iter().map(angle).collect(),
            space,
            joints: bases,
        };
        let joint = (kind.make)(values, &placement)?;
        let equations = joint.equations(space);
        for (k, end) in ends.iter().enumerate() {
            self.check_place(values, end, equations.iter().any(|e| e.rotational(k)))?;
        }
        let tree = if values.has("tree") { values.optional_flag("tree") } else { None };
        let joint = Arc::from(joint);
        self.model.joints.push(JointEntry { name: name.to_string(), kind: kind.name, joint, ends, tree });
        Ok(())
    }

    fn read_force(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        use forces::Ends;
        let what = format!("force {}", suggest::quoted(name));
        let words: Vec<&str> = forces::CATALOG.iter().map(|k| k.name).collect();
        let kind_name = choose(node, &what, "type", &words)?;
        let kind = forces::CATALOG.iter().find(|k| k.name == kind_name).expect("chosen from the catalog");
        let values = self.fields(node, &what, &force_fields(kind))?;
        let (mut acts_on, mut measures) = (None, None);
        let free = !values.has("at") && !values.has("on");
        let ends = match kind.ends {
            Ends::One => vec![self.acted_end(&values)?],
            Ends::Joint => {
                let (motion, ends) = self.joint_coordinate(&values)?;
                acts_on = Some(Along { motion, first: 0 });
                ends.to_vec()
            }
            Ends::Control => {
                let (motion, acted) = self.joint_coordinate(&values)?;
                let (measured, mut ends, rate) = match values.optional_name("measure") {
                    Some(channel) => self.measure(channel, &values)?,
                    None => (motion, acted.to_vec(), false),
                };
                // a joint that measures itself has its two ends once
                let first = if ends == acted { 0 } else { 2 };
                ends.extend(&acted[..first]);
                measures = Some((Along { motion: measured, first: 0 }, rate));
                acts_on = Some(Along { motion, first });
                ends
            }
            // a torque has no point: the place may be left out
            Ends::Turning if free => self.turning_ends(&values, self.two_bodies(&values)?).to_vec(),
            Ends::Centres if free => self.two_bodies(&values)?.map(|body| End { body, on: self.middle(body) }).to_vec(),
            Ends::Surfaces if free => {
                let (bodies, axes) = (self.two_bodies(&values)?, self.facing(values.optional_vector("normal")));
                let place = |body: Option<usize>| self.world(&End { body, on: self.middle(body) });
                bodies.map(|body| self.attach(body, place(body), axes)).to_vec()
            }
            _ => {
                let axes = match kind.ends {
                    Ends::Turning => Axes::Turning,
                    Ends::Surfaces => Axes::Facing,
                    _ => Axes::None,
                };
                let two_points = matches!(kind.ends, Ends::Points | Ends::Centres | Ends::Surfaces);
                self.ends(&values, self.two_bodies(&values)?, axes, two_points)?.to_vec()
            }
        };
        let points = ends.iter().map(|e| self.world(e)).collect();
        let mass = |b: usize| each!(&self.model.bodies[b].body, b => b.mass());
        let masses = ends.iter().map(|e| e.body.map(mass)).collect();
        let radius = |b: usize| match self.model.bodies[b].shape {
            Shape::Sphere { radius } => Some(radius),
            Shape::Cylinder { radius, .. } if self.plane => Some(radius),
            _ => None,
        };
        let radii = ends.iter().map(|e| e.body.and_then(radius)).collect();
        let placement = forces::Placement { points, masses, radii, space: self.model.space, acts_on, measures };
        let force = (kind.make)(&values, &placement)?;
        for (k, end) in ends.iter().enumerate() {
            self.check_place(&values, end, force.rotational(k))?;
        }
        let entry = ForceEntry { name: name.to_string(), kind: kind.name, force: Arc::from(force), ends };
        self.model.forces.push(entry);
        Ok(())
    }

    /// The place of a force on one body, with the body's own axes.
    fn acted_end(&self, v: &Values) -> Result<End, Diagnostics> {
        let mut end = self.one_end(v)?;
        if end.body.is_none() {
            let message = format!("{} acts on the ground, which does not move", v.what());
            return Err(v.error_at("body", message).help("name a body").into());
        }
        end.on.axes = Mat3::IDENTITY;
        Ok(end)
    }

    /// The coordinate of a joint that `joint` and `coordinate` name, and the joint's ends.
    fn joint_coordinate(&self, v: &Values) -> Result<(Motion, [End; 2]), Diagnostics> {
        let named = v.name("joint");
        let Some(entry) = self.model.joints.iter().find(|j| j.name == named.name) else {
            // a joint with errors has been told of already
            let wrong = self.root.get("joint").is_some_and(|section| section.get(named.name).is_some());
            let names: Vec<&str> = self.model.joints.iter().map(|j| j.name.as_str()).collect();
            let unknown = || named.unknown("joint", v.what(), names).into();
            return Err(if wrong { Diagnostics::new() } else { unknown() });
        };
        let motions = entry.joint.motions(self.model.space);
        let (what, joint) = (v.what(), suggest::quoted(&entry.name));
        let names: Vec<&str> = joints::names(&motions).into_iter().map(|[name, _]| name).collect();
        let found = match v.optional_name("coordinate") {
            Some(wanted) => names.iter().position(|n| *n == wanted.name),
            None if motions.len() == 1 => Some(0),
            None => None,
        };
        if let (Some(k), [first, second, ..]) = (found, entry.ends.as_slice()) {
            return Ok((motions[k], [*first, *second]));
        }
        let (key, help) = match names.len() {
            0 => ("joint", "choose a joint that has one, such as a revolute or a prismatic one".to_string()),
            1 => ("coordinate", format!("leave `coordinate` out, or write \"{}\"", names[0])),
            _ => ("coordinate", format!("add `coordinate = \"…\"`, one of {}", names.join(", "))),
        };
        let message = match (names.len(), v.optional_name("coordinate")) {
            (0, _) => format!("{what} needs a coordinate, but joint {joint} is {} and has none", entry.kind),
            (_, Some(wanted)) => format!("joint {joint} has no coordinate {} for {what}", suggest::quoted(wanted.name)),
            (n, None) => format!("{what} does not tell which of the {n} coordinates of joint {joint} it means"),
        };
        Err(v.error_at(key, message).help(help).into())
    }

    /// What a controller measures: a motion between two ends, and whether its rate is meant.
    fn measure(&self, channel: Named, v: &Values) -> Result<(Motion, Vec<End>, bool), Diagnostics> {
        let (owner, quantity) = channel.name.rsplit_once('.').unwrap_or((channel.name, ""));
        let mut choices: Vec<(String, Motion, Vec<End>, bool)> = Vec::new();
        if let Some(entry) = self.model.joints.iter().find(|j| j.name == owner) {
            let motions = entry.joint.motions(self.model.space);
            for (names, motion) in joints::names(&motions).into_iter().zip(motions) {
                for (name, rate) in names.into_iter().zip([false, true]) {
                    choices.push((name.to_string(), motion, entry.ends.iter().take(2).copied().collect(), rate));
                }
            }
        }
        let body = self.body_names.get(owner).copied();
        let probe = self.model.probes.iter().find(|p| p.name == owner).map(|p| p.end);
        if let Some(end) = probe.or(body.map(|b| End { body: Some(b), on: Attachment::CENTRE })) {
            // along the world's axes, seen from a frame at the origin
            let ends = vec![End { body: None, on: Attachment::CENTRE }, end];
            for (i, axis) in ["x", "y", "z"].into_iter().enumerate().take(self.model.space.dimension()) {
                choices.push((axis.to_string(), Motion::Translate(i), ends.clone(), false));
                choices.push((format!("v{axis}"), Motion::Translate(i), ends.clone(), true));
            }
            let turns = |b: usize| each!(&self.model.bodies[b].body, b => b.orientation()) == Orientation::Full;
            if probe.is_none() && self.plane && body.is_some_and(turns) {
                choices.push(("angle".to_string(), Motion::Rotate(2), ends.clone(), false));
                choices.push(("wz".to_string(), Motion::Rotate(2), ends, true));
            }
        }
        if let Some((_, motion, ends, rate)) = choices.iter().find(|c| c.0 == quantity) {
            return Ok((*motion, ends.clone(), *rate));
        }
        let full: Vec<String> = choices.iter().map(|c| format!("{owner}.{}", c.0)).collect();
        let mut names: Vec<&str> = full.iter().map(String::as_str).collect();
        if names.is_empty() {
            let joints = self.model.joints.iter().map(|j| j.name.as_str());
            names = joints.chain(self.model.bodies.iter().map(|b| b.name.as_str())).collect();
            names.extend(self.model.probes.iter().map(|p| p.name.as_str()));
            if ["joint", "probe"].iter().any(|section| self.root.get(section).is_some_and(|s| s.get(owner).is_some()))
                && !names.contains(&owner)
            {
                return Err(Diagnostics::new()); // its own errors are told already
            }
            let absent = if names.contains(&owner) { "which has no coordinate" } else { "which is not in the model" };
            let message = format!("{} measures {}, {absent}", v.what(), suggest::quoted(channel.name));
            let near = suggest::nearest(owner, names.iter().copied());
            let label = near.map_or(String::new(), |n| format!("did you mean {}?", suggest::quoted(n)));
            let help = format!(
                "give a joint, body or probe and what of it, as in \"pin.angle\"; there are {}",
                suggest::list(names)
            );
            return Err(v.error_at("measure", message).label(label).help(help).into());
        }
        let message = format!("{} cannot control {}", v.what(), suggest::quoted(channel.name));
        let near = suggest::nearest(channel.name, names.iter().copied());
        let label = near.map_or(String::new(), |n| format!("did you mean {}?", suggest::quoted(n)));
        Err(v
            .error_at("measure", message)
            .label(label)
            .help(format!("it can be one of {}", suggest::list(names)))
            .into())
    }

    fn turning_ends(&self, v: &Values, bodies: [Option<usize>; 2]) -> [End; 2] {
        bodies.map(|body| {
            if self.plane {
                return End { body, on: self.middle(body) };
            }
            let z = v.optional_points("axis").map_or(Vec3::Z, |a| a[0]);
            let x = z.any_perpendicular();
            let place = self.world(&End { body, on: self.middle(body) });
            self.attach(body, place, Mat3::from_columns(x, z.cross(x), z))
        })
    }

    /// The place of a force on one body, or of a probe.
    fn one_end(&self, v: &Values) -> Result<End, Diagnostics> {
        v.at_most_one(&["at", "on"])?;
        let body = self.body(v.name("body"), v.what())?;
        if let Some(point) = v.optional_vector("on") {
            return Ok(End { body, on: Attachment::new(point, Mat3::IDENTITY) });
        }
        match (v.optional_vector("at"), body) {
            (Some(point), _) => Ok(self.attach(body, point, Mat3::IDENTITY)),
            (None, _) => Ok(End { body, on: self.middle(body) }),
        }
    }

    fn read_probe(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let values = self.fields(node, &format!("probe {}", suggest::quoted(name)), &[PROBE])?;
        let end = self.one_end(&values)?;
        self.check_place(&values, &end, false)?;
        self.model.probes.push(Probe { name: name.to_string(), end });
        Ok(())
    }

    fn read_start(&mut self, name: &'a str, node: &'a Node, span: Span) -> Result<(), Diagnostics> {
        let what = format!("start of joint {}", suggest::quoted(name));
        let Some(joint) = self.model.joints.iter().position(|j| j.name == name) else {
            let names: Vec<&str> = self.model.joints.iter().map(|j| j.name.as_str()).collect();
            return Err(Named { name, span }.unknown("joint", "[start]", names).into());
        };
        let values = self.fields(node, &what, &[START])?;
        let motions = self.model.joints[joint].joint.motions(self.model.space);
        let names = joints::names(&motions);
        for key in START.iter().map(|f| f.name).filter(|k| values.has(k)) {
            let Some(motion) = names.iter().position(|n| n.contains(&key)) else {
                let kind = self.model.joints[joint].kind;
                let message = format!("a {kind} joint has no `{key}` to start with");
                let help = match names.len() {
                    0 => "give the bodies' own `velocity`, `angular_velocity`, `at` or orientation instead".into(),
                    _ => format!("it has `{}`", names.concat().join("`, `")),
                };
                return Err(values.error_at(key, message).help(help).into());
            };
            let x = values.optional_number(key);
            let (value, rate) = if key == names[motion][1] { (None, x) } else { (x, None) };
            self.model.start.push(Start { joint, motion, value, rate });
        }
        Ok(())
    }
}

#[derive(Default)]
struct ShapeData {
    shape: Shape,
    mass: Option<f64>,
    /// Inertia of one kilogram.
    inertia: Option<Mat3>,
    at: Option<Vec3>,
    along: Option<Vec3>,
    thick: bool,
}

/// Refuses an inertia that no body has: not symmetric, or not positive definite.
fn check_inertia(v: &Values, what: &str, inertia: &Mat3) -> Result<(), Diagnostics> {
    let m = &inertia.0;
    let scale = m.iter().flatten().fold(0.0f64, |s, x| s.max(x.abs()));
    let wrong = |text: &str| {
        let help = "in kg m², about the centre of mass, in the body's frame: [ixx, iyy, izz] or a symmetric 3×3 matrix";
        v.error_at("inertia", format!("{what}: {text}")).help(help)
    };
    for i in 0..3 {
        for j in 0..i {
            if (m[i][j] - m[j][i]).abs() > 1e-9 * scale {
                return Err(wrong("the inertia matrix is not symmetric").into());
            }
        }
    }
    if scale == 0.0 {
        return Ok(()); // a body that its joints hold needs none
    }
    let second = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    if m[0][0] <= 0.0 || second <= 0.0 || inertia.determinant() <= 0.0 {
        return Err(wrong("the inertia matrix is not positive definite").into());
    }
    Ok(())
}
