//! What the three formats have in common: links at their places, joints between them, and what acts along the joints.
//!
//! Everything stands in the world at the zero of all joint coordinates, so that a joint that closes a loop is a joint like
//! any other.

use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::appearance::{Appearance, Rgb};
use bellcrank_model::file::Span;
use bellcrank_model::mesh::Mesh;
use std::path::PathBuf;

/// A place and a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// The origin.
    pub p: Vec3,
    /// The axes, as columns.
    pub r: Mat3,
}

impl Pose {
    /// That of the world.
    pub const IDENTITY: Pose = Pose { p: Vec3::ZERO, r: Mat3::IDENTITY };

    /// A pose given in this one, seen from where this one is given.
    pub fn then(&self, other: &Pose) -> Pose {
        Pose { p: self.p + self.r * other.p, r: self.r * other.r }
    }

    /// Where this pose is, seen from another.
    pub fn seen_from(&self, other: &Pose) -> Pose {
        Pose { p: other.r.transpose_times(self.p - other.p), r: other.r.transpose() * self.r }
    }

    /// x, y, z and roll, pitch, yaw: turns about the fixed x, y and z.
    pub fn rpy(xyz: [f64; 3], [roll, pitch, yaw]: [f64; 3]) -> Pose {
        let turn = |axis: Vec3, angle: f64| bellcrank_math::rotation::exp(axis * angle);
        Pose { p: Vec3(xyz), r: turn(Vec3::Z, yaw) * turn(Vec3::Y, pitch) * turn(Vec3::X, roll) }
    }
}

/// Mass, centre and inertia about the centre; in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inertial {
    /// In kg.
    pub mass: f64,
    /// In m.
    pub centre: Vec3,
    /// In kg m².
    pub inertia: Mat3,
}

impl Inertial {
    /// Nothing.
    pub const NONE: Inertial = Inertial { mass: 0.0, centre: Vec3::ZERO, inertia: Mat3::ZERO };

    /// In the frame of a pose, seen from the world.
    pub fn at(self, pose: &Pose) -> Inertial {
        Inertial { centre: pose.p + pose.r * self.centre, inertia: pose.r * self.inertia * pose.r.transpose(), ..self }
    }

    /// Both as one body.
    pub fn and(self, other: Inertial) -> Inertial {
        let mass = self.mass + other.mass;
        if mass == 0.0 {
            let centre = if self.inertia == Mat3::ZERO { other.centre } else { self.centre };
            return Inertial { mass, centre, inertia: self.inertia + other.inertia };
        }
        let centre = (self.centre * self.mass + other.centre * other.mass) * (1.0 / mass);
        Inertial { mass, centre, inertia: self.about(centre) + other.about(centre) }
    }

    /// The inertia about a point.
    pub fn about(&self, point: Vec3) -> Mat3 {
        let d = (self.centre - point).tilde();
        self.inertia - d * d * self.mass
    }
}

/// Colour and opacity from red, green, blue and alpha of 0 to 1; nothing from what is none.
pub fn rgba(numbers: &[f64]) -> Appearance {
    let colour = |c: &[f64]| Some(Rgb::of([c[0], c[1], c[2]]));
    match numbers {
        [_, _, _] => Appearance { colour: colour(numbers), opacity: None },
        [_, _, _, a] => Appearance { colour: colour(numbers), opacity: (*a < 1.0).then_some(a.max(0.0)) },
        _ => Appearance::default(),
    }
}

/// What a link looks like, in the world.
#[derive(Clone, Debug)]
pub struct Visual {
    /// Where.
    pub pose: Pose,
    /// What.
    pub look: Look,
    /// Its colour and opacity, where the file has them.
    pub appearance: Appearance,
    /// Where the file says so.
    pub span: Span,
}

/// A solid or a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Look {
    /// Its edges.
    Box(Vec3),
    /// Its radii.
    Ellipsoid(Vec3),
    /// Radius, length along z.
    Cylinder(f64, f64),
    /// Radius, length along z without the ends.
    Capsule(f64, f64),
    /// As the file names it, and the scale of each axis.
    File(String, Vec3),
}

impl Look {
    /// The triangles of a solid.
    pub fn solid(&self) -> Option<Mesh> {
        Some(match self {
            Look::Box(size) => Mesh::cuboid(*size),
            Look::Ellipsoid(radii) => Mesh::ellipsoid(*radii),
            Look::Cylinder(radius, length) => Mesh::cylinder(*radius, *length),
            Look::Capsule(radius, length) => Mesh::capsule(*radius, *length),
            Look::File(..) => return None,
        })
    }
}

/// A link, or a body of MJCF.
#[derive(Clone, Debug)]
pub struct Link {
    /// As the file names it.
    pub name: String,
    /// Where it is in the file.
    pub span: Span,
    /// Its frame.
    pub pose: Pose,
    /// Its mass and inertia.
    pub inertial: Inertial,
    /// What it looks like.
    pub visuals: Vec<Visual>,
    /// Whether it is part of the world.
    pub fixed: bool,
}

/// The kinds of joints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// None moves.
    Fixed,
    /// A turn about `axis`.
    Revolute,
    /// A slide along `axis`.
    Prismatic,
    /// A turn about `axis` and a slide along it.
    Cylindrical,
    /// A turn about `axis` that slides along it, by so many m per rad: `pitch` of the joint.
    Screw,
    /// Turns about `axis` and `axis2`.
    Universal,
    /// Any turn.
    Ball,
    /// In the plane across `axis`.
    Planar,
    /// All.
    Free,
}

impl JointKind {
    /// The kind in the catalog of joints.
    pub fn word(self) -> &'static str {
        match self {
            JointKind::Fixed => "fixed",
            JointKind::Revolute => "revolute",
            JointKind::Prismatic => "prismatic",
            JointKind::Cylindrical => "cylindrical",
            JointKind::Screw => "screw",
            JointKind::Universal => "universal",
            JointKind::Ball => "spherical",
            JointKind::Planar => "planar",
            JointKind::Free => "free",
        }
    }

    /// Whether it has one coordinate.
    pub fn is_single(self) -> bool {
        matches!(self, JointKind::Revolute | JointKind::Prismatic)
    }
}

/// A joint.
#[derive(Clone, Debug)]
pub struct Joint {
    /// As the file names it.
    pub name: String,
    /// Where it is in the file.
    pub span: Span,
    /// Its kind.
    pub kind: JointKind,
    /// The links; `None` is the world.
    pub between: [Option<usize>; 2],
    /// Its point, in the world.
    pub at: Vec3,
    /// Its axes, in the world.
    pub axes: [Vec3; 2],
    /// m per turn, of a screw.
    pub pitch: f64,
    /// Whether it closes a loop of joints that stand without it.
    pub closes: bool,
    /// What acts along its coordinate.
    pub along: Along,
}

/// What acts along the coordinate of a joint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Along {
    /// Lower and upper limit.
    pub limits: Option<[f64; 2]>,
    /// Viscous friction.
    pub damping: f64,
    /// Dry friction.
    pub friction: f64,
    /// Of a spring.
    pub stiffness: f64,
    /// Where the spring is at rest.
    pub rest: f64,
    /// Inertia along the coordinate.
    pub armature: f64,
    /// Time constant in s and damping ratio that stiffness and damping are to follow from.
    pub settles: Option<[f64; 2]>,
}

/// x₂ = offset + ratio · x₁; without a first joint x₂ = offset.
#[derive(Clone, Debug)]
pub struct Tie {
    /// As the file names it, or made.
    pub name: String,
    /// Where it is in the file.
    pub span: Span,
    /// The joints, by number.
    pub joints: [Option<usize>; 2],
    /// See above.
    pub ratio: f64,
    /// See above.
    pub offset: f64,
}

/// An actuator: effort = gain · u + bias − stiffness · x − damping · ẋ along a joint coordinate, within limits.
#[derive(Clone, Debug)]
pub struct Actuator {
    /// As the file names it, or made.
    pub name: String,
    /// The joint, by number.
    pub joint: usize,
    /// Of its input u.
    pub gain: f64,
    /// Constant.
    pub bias: f64,
    /// By position.
    pub stiffness: f64,
    /// By rate.
    pub damping: f64,
    /// Least and greatest effort.
    pub limits: Option<[f64; 2]>,
}

/// Coulomb's coefficient where a file tells none: that of MuJoCo and of SDF.
pub const FRICTION: f64 = 1.0;

/// A shape that touches others, in the world.
#[derive(Clone, Debug)]
pub struct Touch {
    /// The link that it belongs to.
    pub link: usize,
    /// As the file names it, or made from the link's.
    pub name: String,
    /// Its shape, if it is one that is known.
    pub look: Option<Look>,
    /// Where.
    pub pose: Pose,
    /// Coulomb's coefficient, where the file tells it.
    pub friction: Option<f64>,
    /// What it touches, and what touches it: bits that two shapes must share.
    pub bits: [u32; 2],
}

/// A plane of the world.
#[derive(Clone, Debug)]
pub struct FloorPlane {
    /// A point of it, and its normal as the axis z.
    pub pose: Pose,
    /// See [`Touch`].
    pub friction: Option<f64>,
    /// See [`Touch`].
    pub bits: [u32; 2],
}

/// A robot, as a file describes it.
#[derive(Clone, Debug, Default)]
pub struct Robot {
    /// Its name.
    pub name: String,
    /// The acceleration of gravity, in m/s².
    pub gravity: Vec3,
    /// Its links.
    pub links: Vec<Link>,
    /// Its joints.
    pub joints: Vec<Joint>,
    /// Coordinates that go together.
    pub ties: Vec<Tie>,
    /// Its actuators.
    pub actuators: Vec<Actuator>,
    /// Shapes that touch others.
    pub touches: Vec<Touch>,
    /// Planes of the world.
    pub planes: Vec<FloorPlane>,
    /// Whether the file tells which links are held by the world; URDF does not.
    pub tells_base: bool,
    /// Folders in which meshes are looked for, by their first part: `package://NAME/…`, or those of the file.
    pub folders: Vec<PathBuf>,
    /// What was left out, and what else the user should know.
    pub told: Told,
}

/// What reading a robot file has to tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// What the file says and the model does not: the element, and why.
    pub left_out: Vec<LeftOut>,
    /// Decisions and repairs, one sentence each.
    pub notes: Vec<String>,
}

/// Something that the file says and the model does not.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The sort of thing: "limits", "tendon".
    pub what: String,
    /// Why, or what to do about it.
    pub why: String,
    /// The names of those that are concerned.
    pub names: Vec<String>,
}

impl Told {
    /// Something was left out.
    pub fn leave(&mut self, what: &str, why: &str, name: impl Into<String>) {
        match self.left_out.iter_mut().find(|l| l.what == what && l.why == why) {
            Some(known) => known.names.push(name.into()),
            None => self.left_out.push(LeftOut { what: what.into(), why: why.into(), names: vec![name.into()] }),
        }
    }

    /// Something else is worth knowing.
    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// A line for each, names after `most` of them counted.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let left = self.left_out.iter().map(|l| {
            let shown = l.names.iter().take(most).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            let more = if l.names.len() > most { format!(" and {} more", l.names.len() - most) } else { String::new() };
            format!("left out: {} of {shown}{more}: {}", l.what, l.why)
        });
        self.notes.iter().map(|n| format!("note: {n}")).chain(left).collect()
    }
}
