//! The keys of every section of a model file, as tables that read, check and document them.

use super::visual::{COLOUR, HIDDEN, OPACITY};
use super::{BEAM, MODAL};
use crate::file::{Field, FieldKind, FileLayout};
use crate::forces;
use crate::frames::MAX_ENDS;
use crate::joints::{self, Mount};

/// Sections of a model file: what overrides may add to.
pub const LAYOUT: FileLayout = FileLayout {
    settings: &["model", "solve", "start"],
    named: &[
        "parameter",
        "input",
        "include",
        "body",
        "joint",
        "force",
        "probe",
        "state",
        "output",
        "fmu",
        "visual",
        "table",
        "marker",
    ],
};

/// The key of everything that may be repeated.
pub const REPEAT: &[Field] = &[Field::optional(
    crate::file::repeat::KEY,
    FieldKind::Numbers(1, 3),
    "",
    "once",
    "how many copies; `{i}` in its name and in its texts is the index, `{i}` and `{j}` with two numbers",
)];

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

/// Keys of a parameter that is given as a table.
pub const PARAMETER: &[Field] = &[
    Field::required("value", FieldKind::Number, "any", "the number, or an expression of other parameters"),
    Field::optional("unit", FieldKind::Text, "", "none", "its unit, for the reader"),
    Field::optional("doc", FieldKind::Text, "", "none", "what it means"),
];

/// Keys of `[input.NAME]`.
pub const INPUT: &[Field] = &[
    Field::optional("start", FieldKind::Number, "any", "0", "its value until it is set"),
    Field::optional("unit", FieldKind::Text, "", "none", "its unit, in the results"),
    Field::optional("doc", FieldKind::Text, "", "none", "what it means"),
];

/// Keys of `[include.NAME]`.
pub const INCLUDE: &[Field] = &[
    Field::required("file", FieldKind::Text, "", "a model file in the model's folder, from the folder of this file"),
    Field::optional("at", FieldKind::Point, "m", "the origin", "where the origin of the part is"),
    Field::optional("angle", FieldKind::Number, "rad", "0", "angle of the part's x axis (plane)"),
    Field::optional(
        "orientation",
        FieldKind::Any,
        "",
        "along the axes of this file",
        "rotation of the part (space): quaternion [w, x, y, z], { axis, angle }, { order, angles } or 3×3 matrix",
    ),
    Field::optional(
        "mirror",
        FieldKind::Word(&["xy", "xz", "yz", "x", "y"]),
        "",
        "none",
        "a plane of the part's own coordinates (in the plane an axis) that it is mirrored at, before it is placed",
    ),
    Field::optional(
        "set",
        FieldKind::Any,
        "",
        "none",
        "values of the part's parameters, `{ k = 2e4 }`; of others by their path, `{ \"body.hub.mass\" = 12 }`",
    ),
    Field::optional(
        "ports",
        FieldKind::Any,
        "",
        "none",
        "bodies of the part that are bodies of this file, `{ ground = \"chassis\" }`: the part's own are left out",
    ),
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
        "rotation at the start (space): quaternion [w, x, y, z], { axis, angle }, { order, angles } or 3×3 matrix, body to world",
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
    Field::optional(
        "coordinates",
        FieldKind::Word(&["natural"]),
        "",
        "rigid; of a thin rod in space natural",
        "`natural` for thin rods",
    ),
    Field::optional("rod", FieldKind::Table(ROD), "", "", "a rod from point to point; the body's x axis runs along it"),
    Field::optional("box", FieldKind::Table(BOX), "", "", "a box with edges along the body's axes"),
    Field::optional("sphere", FieldKind::Table(SPHERE), "", "", "a solid sphere"),
    Field::optional("cylinder", FieldKind::Table(CYLINDER), "", "", "a solid cylinder along the body's z axis"),
    Field::optional(
        "capsule",
        FieldKind::Table(CAPSULE),
        "",
        "",
        "a solid cylinder along the body's z axis with half spheres beyond its ends (space)",
    ),
    Field::optional(
        "cone",
        FieldKind::Table(CONE),
        "",
        "",
        "a solid cone along the body's z axis, its tip up; the body's frame is in its centre of mass (space)",
    ),
    Field::optional(
        "mesh",
        FieldKind::Table(MESH),
        "",
        "",
        "what the body looks like: an STL, OBJ, COLLADA or glTF file; with a `density` also its mass and inertia; `[visual.NAME]` for more",
    ),
    Field::optional(
        "beam",
        FieldKind::Table(BEAM),
        "",
        "",
        "a flexible beam from point to point, its frame at the first",
    ),
    Field::optional("modal", FieldKind::Table(MODAL), "", "", "a flexible body from the modes in a file"),
    COLOUR,
    OPACITY,
    HIDDEN,
];

/// Keys of an `orientation` by one turn.
pub const TURN: &[Field] = &[
    Field::required("axis", FieldKind::Direction, "", "axis of the turn"),
    Field::required("angle", FieldKind::Number, "rad", "angle of the turn"),
];

/// Keys of an `orientation` by three turns: Cardan angles have three different axes, Euler angles the first one again.
pub const ANGLES: &[Field] = &[
    Field::required(
        "order",
        FieldKind::Word(&["xyz", "xzy", "yxz", "yzx", "zxy", "zyx", "xyx", "xzx", "yxy", "yzy", "zxz", "zyz"]),
        "",
        "the axes of the three turns, each an axis of the body where the turns before have left it",
    ),
    Field::required("angles", FieldKind::Numbers(3, 3), "rad", "the angles, in the same order"),
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
const CAPSULE: &[Field] = &[
    Field::required("radius", FieldKind::Positive, "m", "radius"),
    Field::required("length", FieldKind::Positive, "m", "length along z, without the half spheres"),
    SHAPE_MASS,
];
const CONE: &[Field] = &[
    Field::required("radius", FieldKind::Positive, "m", "radius of its base"),
    Field::required("length", FieldKind::Positive, "m", "its height along z"),
    SHAPE_MASS,
];
const MESH: &[Field] = &[
    MESH_FILE,
    MESH_SCALE,
    Field::optional(
        "at",
        FieldKind::Vector,
        "m",
        "the centre of mass; with a `density`, so that the solid is where its centre of mass is",
        "origin of the file, in the body's frame",
    ),
    Field::optional(
        "orientation",
        FieldKind::Any,
        "",
        "the body's",
        "rotation of the file in the body's frame: quaternion [w, x, y, z], { axis, angle }, { order, angles } or 3×3 matrix",
    ),
    Field::optional(
        "density",
        FieldKind::Positive,
        "kg/m³",
        "for looks only",
        "mass and inertia are those of the closed mesh; without `at` of the body, its centre of mass is where the file has it",
    ),
];
pub(super) const MESH_FILE: Field =
    Field::required("file", FieldKind::Text, "", "a file in the model's folder: .stl, .obj, .dae, .gltf or .glb");
pub(super) const MESH_SCALE: Field = Field::optional(
    "scale",
    FieldKind::Numbers(1, 3),
    "m",
    "1",
    "length of a unit of the file (0.001 for millimetres), or one for each of its axes; a negative one mirrors",
);

const TYPE: Field = Field::required("type", FieldKind::Any, "", "the kind");
const BETWEEN: Field = Field::required(
    "between",
    FieldKind::Names(2, 2),
    "",
    "two bodies, or `ground` and a body; a marker stands for its body with its point and axes",
);

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
    &[TYPE, Field::required("joints", FieldKind::Names(2, 2), "", "the two joints whose motions it couples")];

/// Keys of armatures: the joint, its coordinate and the inertia along it.
pub const JOINT_ROTOR: &[Field] = &[
    TYPE,
    Field::required("joint", FieldKind::Name, "", "the joint it acts on"),
    COORDINATE,
    Field::required("inertia", FieldKind::Positive, "kg m², kg", "inertia along the coordinate, as the joint feels it"),
];

/// The keys of a kind of joint, in groups: those of its place and its own.
pub fn joint_fields(kind: &joints::Kind) -> [&'static [Field]; 2] {
    let place = match kind.mount {
        Mount::Shared(_) | Mount::Points(_) => JOINT,
        Mount::Body => JOINT_ON_ONE,
        Mount::Joint => JOINT_ON_JOINT,
        Mount::Joints => JOINT_ON_JOINTS,
        Mount::Rotor => JOINT_ROTOR,
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

/// Keys of forces between points of several bodies.
pub const FORCE_SEVERAL: &[Field] = &[
    TYPE,
    Field::required("bodies", FieldKind::Names(2, MAX_ENDS), "", "the bodies in order; `ground` may be among them"),
    Field::optional("at", FieldKind::Points(2, MAX_ENDS), "m", "", "a point for each body, in the world at the start"),
    Field::optional(
        "on",
        FieldKind::Points(2, MAX_ENDS),
        "m",
        "",
        "instead of `at`: the points in the bodies' own frames",
    ),
];

/// Keys of forces on a joint coordinate.
pub const FORCE_ON_JOINT: &[Field] = &[TYPE, ON_JOINT, COORDINATE];

/// Keys of forces between coordinates of two joints.
pub const FORCE_ON_JOINTS: &[Field] =
    &[TYPE, Field::required("joints", FieldKind::Names(2, 2), "", "the two joints it acts between")];

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
        Surfaces | Wheel => FORCE_SURFACES,
        Several => FORCE_SEVERAL,
        One => FORCE_ON_ONE,
        Joint => FORCE_ON_JOINT,
        Control => FORCE_CONTROL,
        Joints => FORCE_ON_JOINTS,
    };
    [ends, kind.fields]
}

/// Keys of `[probe.NAME]`.
pub const PROBE: &[Field] = &[
    Field::required("body", FieldKind::Name, "", "the body it sits on"),
    Field::optional("at", FieldKind::Point, "m", "the centre of mass", "the point in the world at the start"),
    Field::optional("on", FieldKind::Point, "m", "", "instead of `at`: the point in the body's frame"),
    Field::optional(
        "relative_to",
        FieldKind::Name,
        "",
        "the world",
        "the body that its motion is seen from, in that body's axes",
    ),
    Field::optional("angle", FieldKind::Number, "rad", "0", "angle of its own axes against the body's (plane)"),
    Field::optional(
        "orientation",
        FieldKind::Any,
        "",
        "along the body's axes",
        "rotation of its own axes against the body's (space): quaternion [w, x, y, z], { axis, angle }, { order, angles } or 3×3 matrix",
    ),
];

/// Keys of `[marker.NAME]`.
pub const MARKER: &[Field] = &[
    Field::required("body", FieldKind::Name, "", "the body it is on"),
    Field::optional("at", FieldKind::Point, "m", "the centre of mass", "its point in the world at the start"),
    Field::optional("on", FieldKind::Point, "m", "", "instead of `at`: its point in the body's frame"),
    Field::optional(
        "angle",
        FieldKind::Number,
        "rad",
        "0",
        "angle of its x axis (plane), in the world at the start; with `on`, against the body's",
    ),
    Field::optional(
        "orientation",
        FieldKind::Any,
        "",
        "along the world's axes; with `on`, along the body's",
        "rotation of its axes (space), in the world at the start; with `on`, against the body's: as that of a body",
    ),
];

/// Keys of `[table.NAME]`.
pub const TABLE: &[Field] = &[
    Field::required("x", FieldKind::Numbers(2, 10_000), "any", "values of the first argument, increasing"),
    Field::optional(
        "y",
        FieldKind::Numbers(2, 10_000),
        "any",
        "one argument",
        "values of the second argument, increasing",
    ),
    Field::required("values", FieldKind::Any, "any", "for each `x` a number; with `y` a row of them for each `y`"),
];

/// Keys of `[state.NAME]`.
pub const STATE: &[Field] = &[
    Field::optional(
        "rate",
        FieldKind::Function,
        "any",
        "a transfer function",
        "its rate: an expression of `t`, inputs, states, unfiltered outputs, and positions and velocities of joints, bodies and probes",
    ),
    Field::optional(
        "input",
        FieldKind::Any,
        "",
        "a `rate`",
        "of a transfer function: what goes into it, an expression like a rate",
    ),
    Field::optional(
        "numerator",
        FieldKind::Numbers(1, 20),
        "any",
        "1",
        "coefficients of a transfer function, the highest power of s first",
    ),
    Field::optional(
        "denominator",
        FieldKind::Numbers(2, 21),
        "any",
        "a `rate`",
        "of a higher degree than the numerator; at the start all is zero",
    ),
    Field::optional("start", FieldKind::Number, "any", "0", "with `rate`: its value at the start"),
    Field::optional("unit", FieldKind::Text, "", "none", "its unit, in the results"),
    Field::optional("doc", FieldKind::Text, "", "none", "what it means"),
];

/// Keys of `[output.NAME]`.
pub const OUTPUT: &[Field] = &[
    Field::required(
        "value",
        FieldKind::Any,
        "",
        "an expression of channels, parameters, inputs and `t`; put channels with other characters in their names in \
            backquotes",
    ),
    Field::optional("unit", FieldKind::Text, "", "none", "its unit, in the results"),
    Field::optional("doc", FieldKind::Text, "", "none", "what it means"),
    Field::optional("lag", FieldKind::Positive, "s", "none", "time constant of a first-order low-pass filter"),
    Field::optional("derivative", FieldKind::Flag, "", "false", "records the derivative in time instead"),
    Field::optional("integral", FieldKind::Flag, "", "false", "records the integral over time from the start instead"),
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
