//! Forces: what pushes and pulls between frames, with energy and exact derivatives.
//!
//! A new force is one file here and its line in [`CATALOG`]; parser, schema, documentation and the
//! laws of `tests/catalog.rs` walk the catalog.

mod actuator;
mod along;
mod attraction;
mod bearing;
mod bushing;
mod characteristic;
mod closing;
mod contact;
mod curve_contact;
mod drag;
mod friction;
mod gear_mesh;
mod joint_spring;
mod line;
mod load;
mod own;
mod pid;
mod rope;
mod spring_damper;
mod stop;
mod torsional;
mod touching;
mod tyre;

pub use along::Along;
pub use own::{Law, Own};

use crate::channel::Quantity;
use crate::dynamics::{HoldingLaw, Limit, Mode, StateLaw, Track};
use crate::file::{Diagnostics, Expression, Field, Values};
use crate::frames::{Covector, Frame, Frames, MAX_ROWS, Row, Stiffness};
use crate::joints::equations::Measure;
use crate::joints::{Equation, Joint, Motion};
use crate::space::Space;
use bellcrank_math::{Mat3, Vec3};
use std::sync::Arc;

/// The most first-order states a force may have.
pub const MAX_STATES: usize = 2;

/// The most rows in the table of quantities of a force.
pub const MAX_QUANTITIES: usize = 24;

/// The most switch functions a force may have.
pub const MAX_SWITCHES: usize = 2;

/// What a force sees at one time: the frames it stands on, and its states.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Time.
    pub t: f64,
    /// The values of the model's inputs.
    pub inputs: &'a [f64],
    /// One frame for each end.
    pub ends: &'a [Frame],
    /// What the angle that it [`measures`](Force::measures) is near to, which tells full turns apart.
    pub near: &'a [f64],
    /// Its first-order states.
    pub z: &'a [f64],
    /// Its mode; [`BY_VALUE`](crate::dynamics::BY_VALUE) where none is kept.
    pub mode: Mode,
    /// The multiplier of what it [`holds`](Force::holds) in this mode: the motion feels −λ along itself.
    pub lambda: f64,
    /// The multipliers of what it holds across.
    pub across: [f64; 2],
    /// The multipliers of the joint whose reaction it [`follows`](Force::follows).
    pub reaction: &'a [f64],
}

impl<'a> Seen<'a> {
    /// The end `first` and the next one, as the motions of joints see them.
    pub fn pair(&self, first: usize) -> Frames<'a> {
        Frames { t: self.t, ends: &self.ends[first..first + 2], near: self.near }
    }
}

/// A force between frames, with states z of its own where it needs them: ż = φ(t, frames, z).
pub trait Force: Send + Sync {
    /// Adds the load on each end: force and torque, in the world.
    fn load(&self, at: &Seen, out: &mut [Covector]);
    /// Adds ∂load/∂displacement to `k` and ∂load/∂twist to `d`.
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness);
    /// The energy stored.
    fn stored(&self, _at: &Seen) -> f64 {
        0.0
    }
    /// The power that does not come out of what is stored: negative for a damper.
    fn power(&self, _at: &Seen) -> f64 {
        0.0
    }
    /// Both, where both are wanted.
    fn stored_and_power(&self, at: &Seen) -> (f64, f64) {
        (self.stored(at), self.power(at))
    }
    /// What in it feeds energy in, or pushes away from rest: a sentence's end after its name; nothing in most.
    fn unstable(&self) -> Option<String> {
        None
    }
    /// The functions of time in it.
    fn courses(&self) -> Vec<&Expression> {
        Vec::new()
    }
    /// The functions of motions between its ends that may have narrow features, each with the number of its arguments.
    fn laws(&self) -> Vec<(Arc<dyn StateLaw>, usize)> {
        Vec::new()
    }
    /// The arguments of these, one law after the other.
    fn law_arguments(&self, _at: &Seen, _out: &mut [f64]) {}
    /// Why its functions cannot depend on the state; nothing if they can.
    fn refuses_signals(&self) -> Option<&'static str> {
        Some("depends on time and inputs alone")
    }
    /// ∂load/∂variable of its functions: variable 1 is the first input. At fixed motions and states.
    fn load_by_input(&self, _at: &Seen, _variable: usize) -> Row {
        Row::default()
    }
    /// ∂φ/∂variable, likewise.
    fn flow_by_input(&self, _at: &Seen, _variable: usize) -> [f64; MAX_STATES] {
        [0.0; MAX_STATES]
    }
    /// The joint coordinate that it acts along, if it does.
    fn along(&self) -> Option<Motion> {
        None
    }
    /// Whether what it tells of itself is about a turn.
    fn turns(&self) -> bool {
        self.along().is_some_and(|motion| motion.turns())
    }
    /// The effort along that coordinate, in N or N m.
    fn effort(&self, _at: &Seen) -> f64 {
        0.0
    }
    /// What it tells of itself: the table of its kind.
    fn quantities(&self) -> &'static [Quantity] {
        &[]
    }
    /// The values of that table, one for each of its rows, also for those of the other space.
    fn observe(&self, _at: &Seen, _out: &mut [f64]) {}
    /// The curve that it acts on, in its first frame, to be drawn.
    fn outline(&self) -> Vec<Vec3> {
        Vec::new()
    }
    /// The radii of what is round about its ends, to be drawn; a pulley to the right of a rope has a negative one.
    fn radii(&self) -> Vec<f64> {
        Vec::new()
    }
    /// Whether `stored` can be other than zero.
    fn stores(&self) -> bool {
        true
    }
    /// Whether `power` can be other than zero.
    fn has_power(&self) -> bool {
        false
    }
    /// Whether the load depends on velocities.
    fn damped(&self) -> bool {
        false
    }
    /// Whether the rotation of an end matters (or only its origin).
    fn rotational(&self, _end: usize) -> bool {
        false
    }
    /// What its law is right up to, and where it is, in the units of that limit.
    fn limit(&self, _at: &Seen) -> Option<(Limit, f64)> {
        None
    }
    /// Whether it has such a limit.
    fn is_limited(&self) -> bool {
        false
    }
    /// Whether the turns of what it measures are counted from the start, and not from where the angles of the bodies say.
    fn counts_from_start(&self) -> bool {
        false
    }
    /// The motion between the first two ends that the force measures, so that its turns are counted.
    fn measures(&self) -> Option<Motion> {
        None
    }
    /// The angles whose full turns it needs, in the order of [`Seen::near`].
    fn angles(&self) -> Vec<Measure> {
        self.measures().into_iter().filter(Motion::turns).map(Motion::between).collect()
    }
    /// The states at the start; their number is that of the states, at most [`MAX_STATES`].
    fn initial(&self) -> Vec<f64> {
        Vec::new()
    }
    /// φ: the rates of the states.
    fn flow(&self, _at: &Seen, _out: &mut [f64]) {}
    /// The derivatives that come with states; `out` comes zeroed.
    fn state_slopes(&self, _at: &Seen, _out: &mut StateSlopes) {}
    /// How many switch functions it has, at most [`MAX_SWITCHES`]. A force that has any keeps to the mode it
    /// is told, smoothly also beyond the place where that ends: so steps are smooth, and events are found
    /// where they are.
    fn switches(&self) -> usize {
        0
    }
    /// Whether an event may let velocities jump, or hold a motion.
    fn jumps(&self) -> bool {
        self.switches() > 0
    }
    /// The mode that fits the present values.
    fn mode(&self, at: &Seen) -> Mode {
        at.mode
    }
    /// The switch functions of the mode, positive while it is right; `out` comes infinite.
    fn switch_values(&self, _at: &Seen, _out: &mut [f64]) {}
    /// How the switch functions of the mode move, where that is known; `out` comes with nothing known.
    fn tracks(&self, _at: &Seen, _out: &mut [Track]) {}
    /// What happens when switch function `k` falls through zero, unless that is up to everything that
    /// [may hold](Force::candidate) together.
    fn cross(&self, _k: usize, _at: &Seen) -> Option<Switch> {
        None
    }
    /// What it may hold, with the rates it may hold as forms on the twists: along a gap first, then across.
    fn candidate(&self, _at: &Seen) -> Option<(HoldingLaw, Vec<Row>)> {
        None
    }
    /// The equations that hold in a mode, between the ends of the force: along a gap first, then across.
    fn holds(&self, _mode: Mode) -> Vec<Box<dyn Equation>> {
        Vec::new()
    }
    /// The multipliers that a load of it follows in a mode.
    fn follows(&self, _mode: Mode) -> Option<Followed> {
        None
    }
    /// That load, where it follows any.
    fn following(&self, _at: &Seen) -> Following {
        Following::default()
    }
}

/// Multipliers that a load follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// That of the gap which the force holds.
    Held,
    /// Those of the joint of this number: its reaction.
    Joint(usize),
}

/// A load that follows multipliers: s(λ) of its unit.
#[derive(Clone, Debug, Default)]
pub struct Following {
    /// The load of its unit.
    pub load: Row,
    /// s.
    pub size: f64,
    /// ∂s/∂λ.
    pub slopes: [f64; MAX_ROWS],
    /// The coefficient of friction in it.
    pub coefficient: f64,
}

/// What a force does at an event.
#[derive(Clone, Debug)]
pub struct Switch {
    /// Its mode from now on.
    pub mode: Mode,
    /// In a word, for the list of events.
    pub what: &'static str,
}

/// Derivatives of the flow φ of a force, and of its loads with respect to its states.
#[derive(Clone, Debug, Default)]
pub struct StateSlopes {
    /// ∂φ/∂displacement: for each state a form on the motion of every end.
    pub flow_by_displacement: [Row; MAX_STATES],
    /// ∂φ/∂twist.
    pub flow_by_twist: [Row; MAX_STATES],
    /// ∂φ/∂z, by rows.
    pub flow_by_state: [[f64; MAX_STATES]; MAX_STATES],
    /// ∂load/∂z: for each state a load on every end.
    pub load_by_state: [Row; MAX_STATES],
}

/// Where a force acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Two points, one on each of two bodies: `between`, `at` or `on` with two points.
    Points,
    /// Like `Points`, but without `at` and `on` they are the centres of mass.
    Centres,
    /// A frame on each of two bodies at one place: `between`, `at`, `axis`.
    Frames,
    /// Like `Frames`, but in the plane the angle is that between the bodies.
    Turning,
    /// A point on each of two bodies, the first with a direction: `between`, `at` or `on`, `normal`.
    Surfaces,
    /// A road on the first body and the centre of a wheel on the second: `between`, `at` or `on`, `normal`, `axis`.
    Wheel,
    /// A point on each of several bodies: `bodies`, `at` or `on` with as many points.
    Several,
    /// A point of one body: `body`, `at` or `on`; its axes are those of the body.
    One,
    /// A coordinate of a joint: `joint`, `coordinate`.
    Joint,
    /// A coordinate of a joint, and something that is measured: `joint`, `coordinate`, `measure`.
    Control,
    /// A coordinate of each of two joints: `joints`, `coordinates`. The ends are those of the first joint, then those of the second.
    Joints,
}

/// What a force needs to know of the start.
pub struct Placement {
    /// The points of the ends, in the world, at the start.
    pub points: Vec<Vec3>,
    /// The frames of the ends, in the world, at the start.
    pub frames: Vec<Frame>,
    /// The angles of the ends at the start, in the plane; they may exceed a turn.
    pub angles: Vec<f64>,
    /// The masses of the bodies of the ends; `None` for the ground.
    pub masses: Vec<Option<f64>>,
    /// The radii of the bodies of the ends that are spheres (or, in the plane and on wheels, disks).
    pub radii: Vec<Option<f64>>,
    /// Plane or space.
    pub space: Space,
    /// The axes that directions in its fields are given in, in the world.
    pub axes: Mat3,
    /// The joint coordinate it acts on, of `Joint` and `Control`.
    pub acts_on: Option<Along>,
    /// The joint of that coordinate.
    pub carrier: Option<Carrier>,
    /// The joint coordinates it acts on, of `Joints`.
    pub acts_on_both: Option<[Motion; 2]>,
    /// What it measures, of `Control`: a motion between the first two ends, and whether its rate is meant.
    pub measures: Option<(Along, bool)>,
}

/// A joint that a force acts on.
#[derive(Clone)]
pub struct Carrier {
    /// Its number in the model.
    pub number: usize,
    /// The joint.
    pub joint: Arc<dyn Joint>,
    /// How many places it has.
    pub ends: usize,
    /// Its name.
    pub name: String,
}

impl Placement {
    /// The joint coordinate that a force of `Joint` or `Control` acts on.
    fn joint(&self) -> Along {
        self.acts_on.expect("the reader places forces on joints on a joint")
    }
}

/// A kind of force: its name in the file, its fields and how it is made from them.
pub struct Kind {
    /// The value of `type`.
    pub name: &'static str,
    /// One sentence for the documentation.
    pub doc: &'static str,
    /// Fields beside those that [`Ends`] brings.
    pub fields: &'static [Field],
    /// Where it acts.
    pub ends: Ends,
    /// What it tells of itself, as [`Force::quantities`]; its loads come besides.
    pub channels: &'static [Quantity],
    /// Makes the force.
    pub make: fn(&Values, &Placement) -> Made,
}

/// A force, or what is wrong with its fields.
pub type Made = Result<Box<dyn Force>, Diagnostics>;

/// Every kind of force; gravity is a key of `[model]`.
pub const CATALOG: &[&Kind] = &[
    &spring_damper::KIND,
    &torsional::KIND,
    &joint_spring::KIND,
    &bushing::KIND,
    &load::FORCE,
    &load::TORQUE,
    &drag::KIND,
    &attraction::KIND,
    &friction::KIND,
    &stop::KIND,
    &gear_mesh::KIND,
    &contact::KIND,
    &curve_contact::KIND,
    &tyre::KIND,
    &rope::KIND,
    &actuator::KIND,
    &pid::KIND,
];

/// a x.
fn scaled(a: f64, x: &Row) -> Row {
    x.map(|form| Covector::new(form.lin * a, form.ang * a))
}

/// a x + b y.
fn combined(a: f64, x: &Row, b: f64, y: &Row) -> Row {
    let mut out = scaled(a, x);
    for (out, y) in out.iter_mut().zip(y) {
        out.lin += y.lin * b;
        out.ang += y.ang * b;
    }
    out
}
