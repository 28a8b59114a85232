//! A model: what is meant, before it is compiled.

use crate::appearance::{Appearance, VisualSolid};
use crate::bodies::{Body, Coordinates, each};
use crate::dynamics::BY_VALUE;
use crate::file::Expression;
use crate::file::expression::Bends;
use crate::fmu::Resident;
use crate::fmu::wire::Setting;
use crate::fmu::{Archive, Description};
use crate::forces::{Followed, Force};
use crate::frames::Attachment;
use crate::joints::{Joint, Motion};
pub use crate::space::Space;
pub use crate::subject::{Place, Subject};
use bellcrank_math::{Mat3, Quat, Vec3};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bodies, joints and forces, with the user's names. Its fourteen fields are the sections of a model file.
#[derive(Clone, Default)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Plane or space.
    pub space: Space,
    /// The acceleration of gravity, in m/s².
    pub gravity: Vec3,
    /// The bodies; the ground is none of them.
    pub bodies: Vec<BodyEntry>,
    /// What is drawn of the ground, in the world.
    pub ground: Vec<VisualSolid>,
    /// The joints.
    pub joints: Vec<JointEntry>,
    /// The forces.
    pub forces: Vec<ForceEntry>,
    /// Points whose motion is recorded.
    pub probes: Vec<Probe>,
    /// Joint coordinates and rates that are given at the start.
    pub start: Vec<Start>,
    /// Numbers that forces and drives use and that may be set while a run goes on.
    pub inputs: Vec<Input>,
    /// What is computed from channels and recorded beside them.
    pub outputs: Vec<Output>,
    /// First-order states of the user.
    pub states: Vec<StateEntry>,
    /// What forces and states compute from the state; expressions know them as further inputs.
    pub signals: Vec<Signal>,
    /// FMUs of other tools; their outputs are the last of the inputs.
    pub fmus: Vec<FmuEntry>,
}

impl Model {
    /// The inputs that are set from outside: not the outputs of FMUs, which come last.
    pub fn own_inputs(&self) -> &[Input] {
        let given: usize = self.fmus.iter().map(|fmu| fmu.outputs.len()).sum();
        &self.inputs[..self.inputs.len().saturating_sub(given)]
    }

    /// FMUs whose equations are part of the model, those first whose outputs others are given; or a loop of them.
    pub fn order_of_residents(&self) -> Result<Vec<usize>, Vec<usize>> {
        let residents = || (0..self.fmus.len()).filter_map(|k| Some((k, self.fmus[k].resident.as_ref()?)));
        let direct = |[fmu, value]: [usize; 2]| {
            let resident = self.fmus[fmu].resident.as_ref();
            resident.is_some_and(|r| r.is_direct(value)).then_some(fmu)
        };
        let needs = |r: &Resident| -> Vec<usize> {
            let given = r.given.iter().filter_map(|(_, signal)| self.signals.get(*signal));
            given.flat_map(|signal| &signal.guests).filter_map(|guest| direct(*guest)).collect()
        };
        let mut order = Vec::new();
        let mut rest: Vec<usize> = residents().map(|(k, _)| k).collect();
        while !rest.is_empty() {
            let free = |k: &usize| {
                let needed = self.fmus[*k].resident.as_ref().map(needs).unwrap_or_default();
                needed.iter().all(|n| order.contains(n))
            };
            let Some(next) = rest.iter().position(free) else { return Err(rest) };
            order.push(rest.remove(next));
        }
        Ok(order)
    }

    /// The number of the input of a name.
    pub fn input(&self, name: &str) -> Option<usize> {
        self.inputs.iter().position(|i| i.name == name)
    }

    /// Whether a drive leads a motion between two places.
    pub fn drives(&self, ends: &[End], motion: Motion) -> bool {
        self.joints.iter().any(|j| j.joint.drives() == Some(motion) && j.ends.get(..2) == ends.get(..2))
    }

    /// The joints whose reactions forces follow: in relative coordinates they close loops, as joints of a tree have no multipliers.
    pub fn followed_joints(&self) -> Vec<usize> {
        let followed = |f: &ForceEntry| match f.force.follows(BY_VALUE) {
            Some(Followed::Joint(joint)) => Some(joint),
            _ => None,
        };
        self.forces.iter().filter_map(followed).collect()
    }

    /// The user's name of what stands at a place.
    pub fn name_of(&self, place: Place) -> Option<&str> {
        match place {
            Place::Body(i) => self.bodies.get(i).map(|b| b.name.as_str()),
            Place::Joint(i) | Place::Start(i) => self.joints.get(i).map(|j| j.name.as_str()),
            Place::Force(i) => self.forces.get(i).map(|f| f.name.as_str()),
            Place::Probe(i) => self.probes.get(i).map(|p| p.name.as_str()),
            Place::Input(i) => self.inputs.get(i).map(|i| i.name.as_str()),
            Place::State(i) => self.states.get(i).map(|s| s.name.as_str()),
            Place::Fmu(i) => self.fmus.get(i).map(|f| f.name.as_str()),
        }
    }

    /// What stands at a place, as messages name it.
    pub fn subject(&self, place: Place) -> Subject {
        let name = self.name_of(place).unwrap_or_default();
        let words = match place {
            Place::Start(_) => format!("the start of joint `{name}`"),
            Place::Fmu(_) => format!("FMU `{name}`"),
            _ => format!("{} `{name}`", place.section()),
        };
        Subject { words, place: Some(place) }
    }

    /// Gives every place on a flexible body its station.
    pub fn find_stations(&mut self) {
        let joints = self.joints.iter_mut().flat_map(|j| &mut j.ends);
        let forces = self.forces.iter_mut().flat_map(|f| &mut f.ends);
        let sensors = self.signals.iter_mut().flat_map(|s| &mut s.sensors).flat_map(|s| &mut s.ends);
        for end in joints.chain(forces).chain(self.probes.iter_mut().map(|p| &mut p.end)).chain(sensors) {
            if let Some(entry) = end.body.and_then(|b| self.bodies.get_mut(b))
                && end.on.node != crate::frames::RIGIDLY
                && let Some(station) = each!(&mut entry.body, b => Coordinates::station(b, end.on.point))
            {
                end.on.node = station;
            }
        }
    }
}

/// A body with its name, its start and its looks, thirteen fields in all.
#[derive(Clone)]
pub struct BodyEntry {
    /// The user's name.
    pub name: String,
    /// Its kind and constants.
    pub body: Body,
    /// The centre of mass at the start, in the world.
    pub at: Vec3,
    /// The rotation at the start, body to world.
    pub rotation: Quat,
    /// The angle at the start, in the plane (it may exceed a turn).
    pub angle: f64,
    /// Velocity of the centre of mass at the start, where it is given.
    pub velocity: Option<Vec3>,
    /// Angular velocity at the start, in the world, where it is given.
    pub angular_velocity: Option<Vec3>,
    /// Keep the body's start as it is when the mechanism is assembled.
    pub fixed: bool,
    /// What it looks like.
    pub shape: Shape,
    /// What is drawn instead, in the body's frame.
    pub solids: Vec<VisualSolid>,
    /// Its colour and opacity.
    pub appearance: Appearance,
    /// Whether it is not drawn.
    pub hidden: bool,
}

impl BodyEntry {
    /// The rotor of an armature, which goes by the name of that.
    pub(crate) fn rotor(name: &str, body: Body, at: Vec3) -> BodyEntry {
        BodyEntry {
            name: name.to_string(),
            body,
            at,
            rotation: Quat::IDENTITY,
            angle: 0.0,
            velocity: None,
            angular_velocity: None,
            fixed: false,
            shape: Shape::Unknown,
            solids: Vec::new(),
            appearance: Appearance::default(),
            hidden: false,
        }
    }

    /// Whether it is a body of the user, and not part of an armature.
    pub fn is_shown(&self) -> bool {
        self.body.as_rotor().is_none()
    }
}

/// What a body looks like, in its own frame.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Shape {
    /// A rod along x.
    Rod {
        /// Its length.
        length: f64,
        /// Its radius; zero for a thin one.
        radius: f64,
    },
    /// A cylinder along z.
    Cylinder {
        /// Its length.
        length: f64,
        /// Its radius.
        radius: f64,
    },
    /// A box with edges along the axes.
    Box {
        /// The lengths of its edges.
        #[serde(with = "edges")]
        size: Vec3,
    },
    /// A sphere.
    Sphere {
        /// Its radius.
        radius: f64,
    },
    /// Nothing was said.
    #[default]
    #[serde(other)]
    Unknown,
}

/// A vector as a list of three numbers.
mod edges {
    use bellcrank_math::Vec3;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(size: &Vec3, serializer: S) -> Result<S::Ok, S::Error> {
        size.0.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec3, D::Error> {
        <[f64; 3]>::deserialize(deserializer).map(Vec3)
    }
}

/// A place an element stands on: a body, or the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// The body's number; `None` is the ground.
    pub body: Option<usize>,
    /// The place on it; for the ground, in the world.
    pub on: Attachment,
}

/// A joint with its name and its places.
#[derive(Clone)]
pub struct JointEntry {
    /// The user's name.
    pub name: String,
    /// The kind's name in the catalog.
    pub kind: &'static str,
    /// The joint.
    pub joint: Arc<dyn Joint>,
    /// The places it joins.
    pub ends: Vec<End>,
    /// Whether it is to be a joint of the tree in relative coordinates, where the user said so.
    pub tree: Option<bool>,
}

/// A force with its name and its places.
#[derive(Clone)]
pub struct ForceEntry {
    /// The user's name.
    pub name: String,
    /// The kind's name in the catalog.
    pub kind: &'static str,
    /// The force.
    pub force: Arc<dyn Force>,
    /// The places it acts on.
    pub ends: Vec<End>,
}

/// A point whose motion is recorded.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The user's name.
    pub name: String,
    /// The place.
    pub end: End,
    /// Its own axes, in the body's frame.
    pub axes: Mat3,
    /// The body that its motion is seen from; the world if there is none.
    pub relative_to: Option<usize>,
}

/// A number that forces, drives and controllers may use in their expressions, constant between the times at which
/// it is set.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The user's name, in expressions and in the results.
    pub name: String,
    /// Its value at the start.
    pub start: f64,
    /// Its unit, for the results; may be empty.
    pub unit: &'static str,
    /// What it means; may be empty.
    pub doc: String,
}

/// A first-order state of the user: ż = φ(t, u, x, ẋ, z).
#[derive(Clone, Debug, PartialEq)]
pub struct StateEntry {
    /// The user's name, in expressions and in the results.
    pub name: String,
    /// The number of the signal that is its rate.
    pub rate: usize,
    /// Its value at the start.
    pub start: f64,
    /// Its unit, for the results; may be empty.
    pub unit: &'static str,
    /// What it means; may be empty.
    pub doc: String,
}

/// A number that is computed from the state in every evaluation of the equations: s = f(t, u, x, ẋ, z).
#[derive(Clone, Debug)]
pub struct Signal {
    /// What uses it.
    pub of: Place,
    /// f; its variables are `t`, the inputs, the sensors, the states and the values of FMUs.
    pub value: Expression,
    /// Where it bends.
    pub bends: Bends,
    /// What it measures.
    pub sensors: Vec<Sensor>,
    /// The numbers of the user's states in it.
    pub states: Vec<usize>,
    /// Values of FMUs whose equations are part of the model: the FMU, and which of its values.
    pub guests: Vec<[usize; 2]>,
}

impl Signal {
    /// A signal of time and inputs alone.
    pub fn of_inputs(of: Place, value: Expression, bends: Bends) -> Signal {
        Signal { of, value, bends, sensors: Vec::new(), states: Vec::new(), guests: Vec::new() }
    }

    /// A value of an FMU whose equations are part of the model, as a signal; there are so many inputs.
    pub fn of_fmu(fmu: usize, value: usize, inputs: usize) -> Signal {
        let variable = Expression::variable(1 + inputs, "an FMU");
        Signal { guests: vec![[fmu, value]], ..Signal::of_inputs(Place::Fmu(fmu), variable, Bends::default()) }
    }
}

/// A position or a velocity that a signal measures between two places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensor {
    /// What is measured.
    pub sense: Sense,
    /// Whether its rate is meant.
    pub rate: bool,
    /// The places.
    pub ends: [End; 2],
}

/// What a sensor measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sense {
    /// A coordinate of a joint: the joint, and which of its motions.
    Joint(usize, usize),
    /// The distance of the second place along an axis of the first.
    Along(usize),
    /// The angle of the second place's body in the plane, turns counted.
    Angle,
    /// The angular velocity of the second place about an axis of the world.
    Spin(usize),
}

/// A quantity that is computed from channels, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The user's name, in the results.
    pub name: String,
    /// Its value; the variables are `t` and then the channels.
    pub value: Expression,
    /// The channels it is computed from, in the order of the variables after `t`.
    pub channels: Vec<String>,
    /// What it passes through.
    pub filter: Filter,
    /// Its unit, for the results; may be empty.
    pub unit: &'static str,
    /// What it means; may be empty.
    pub doc: String,
}

/// An FMU as an element of a model: it is given values of expressions and gives values of inputs, at equal distances in time.
#[derive(Clone)]
pub struct FmuEntry {
    /// The user's name.
    pub name: String,
    /// Its file.
    pub archive: Arc<Archive>,
    /// What the file says of it.
    pub description: Arc<Description>,
    /// The communication step, in s.
    pub step: f64,
    /// What it is given, by the numbers of its variables.
    pub inputs: Vec<(usize, Output)>,
    /// What it gives: the number of its variable, and that of the input of the model that has its value.
    pub outputs: Vec<(usize, usize)>,
    /// In place of both, if its equations are part of the model.
    pub resident: Option<Resident>,
    /// Values that are set before it starts, by the numbers of its variables.
    pub set: Vec<(usize, Setting)>,
    /// How long an answer may take, in s.
    pub patience: f64,
    /// How much memory it may take beyond that of its process, in bytes.
    pub memory: u64,
}

/// What a signal u(t) passes through before it is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Filter {
    /// Nothing.
    #[default]
    None,
    /// A first-order lag: τ ẏ + y = u, y = u at the start.
    Lag(f64),
    /// y = u̇.
    Derivative,
    /// y = ∫u dt from the start.
    Integral,
}

/// A joint coordinate that is given at the start.
#[derive(Clone, Debug)]
pub struct Start {
    /// The joint's number.
    pub joint: usize,
    /// Which of its motions.
    pub motion: usize,
    /// The coordinate, if given.
    pub value: Option<f64>,
    /// Its rate, if given.
    pub rate: Option<f64>,
}
