//! The channels of a model: tables of what bodies, joints, forces and probes tell, and the names made from them.
//!
//! Names are made on demand: a large model has a million of them. What is recorded unless something else is asked for
//! comes first, in the order of [`groups`]; then come the channels that are there for the asking.

use crate::bodies::{Body, Coordinates, Orientation, each};
use crate::channel::{Channel, Group, LoadAxes, ProbePart, Quantity, Selection};
use crate::forces;
use crate::joints;
use crate::model::Model;
use crate::space::Space;
use std::fmt::Write;

macro_rules! table {
    ($($(#[$only:ident])? $name:literal [$unit:literal] $doc:literal),* $(,)?) => {
        &[$(Quantity::new($name, $unit, $doc)$(.$only())?),*]
    };
}

const POSE: &[Quantity] = table!(
    "x" ["m"] "position of the centre of mass (of a flexible body: of its frame's origin), in the world",
    "y" ["m"] "the same along y",
    #[in_space] "z" ["m"] "the same along z",
    #[in_plane] "angle" ["rad"] "angle of the body's x axis against the world's, counted over full turns",
    #[in_space] "qw" [""] "rotation as a unit quaternion, body to world: its real part",
    #[in_space] "qx" [""] "its x part",
    #[in_space] "qy" [""] "its y part",
    #[in_space] "qz" [""] "its z part",
    "vx" ["m/s"] "velocity of the same point, in the world",
    "vy" ["m/s"] "the same along y",
    #[in_space] "vz" ["m/s"] "the same along z",
    #[in_space] "wx" ["rad/s"] "angular velocity, in the world",
    #[in_space] "wy" ["rad/s"] "the same about y",
    "wz" ["rad/s"] "angular velocity about z, in the world",
);

const ACCELERATION: &[Quantity] = table!(
    "ax" ["m/s²"] "acceleration of the same point, in the world",
    "ay" ["m/s²"] "the same along y",
    #[in_space] "az" ["m/s²"] "the same along z",
    #[in_space] "alphax" ["rad/s²"] "angular acceleration, in the world",
    #[in_space] "alphay" ["rad/s²"] "the same about y",
    "alphaz" ["rad/s²"] "angular acceleration about z, in the world",
);

const CARDAN: &[Quantity] = table!(
    #[in_space] "roll" ["rad"] "Cardan angle about the body's x axis, the last of three turns: R = Rz(yaw) Ry(pitch) Rx(roll), \
        body to world; from −π to π",
    #[in_space] "pitch" ["rad"] "Cardan angle about y after the turn about z; from −π/2 to π/2, where the other two are not unique",
    #[in_space] "yaw" ["rad"] "Cardan angle about the world's z axis, the first of the three turns; from −π to π",
);

const COORDINATE: &[Quantity] = &[
    Quantity::new(
        "angle",
        "rad",
        "of a joint that turns: angle of the second body against the first about the joint's axis, zero as drawn unless \
         the model says otherwise, counted over full turns; a second one is `angle2`",
    ),
    Quantity::new("rate", "rad/s", "its rate; `rate2` of a second one").turning("rad/s"),
    Quantity::new(
        "position",
        "m",
        "of a joint that slides: position of the second body against the first along the joint's axis; `position2`",
    ),
    Quantity::new("speed", "m/s", "its rate, where the joint also turns; `rate` where it does not"),
    Quantity::new("acceleration", "m/s²", "second derivative of the coordinate whose rate is `rate`; `acceleration2`")
        .turning("rad/s²"),
    Quantity::new("sliding_acceleration", "m/s²", "second derivative of the coordinate whose rate is `speed`"),
];

const LOAD: &[Quantity] = table!(
    "fx" ["N"] "force along x",
    "fy" ["N"] "the same along y",
    #[in_space] "fz" ["N"] "the same along z",
    #[in_space] "mx" ["N m"] "torque about x",
    #[in_space] "my" ["N m"] "the same about y",
    "mz" ["N m"] "torque about z",
);

const POWER: Quantity =
    Quantity::new("power", "W", "power that it does on all bodies it acts on: what it stores or loses counts negative");

const PROBE: &[Quantity] = table!(
    "x" ["m"] "position of the point, in the world, or seen from the body of `relative_to` in that body's axes",
    "y" ["m"] "the same along y",
    #[in_space] "z" ["m"] "the same along z",
    "vx" ["m/s"] "velocity of the point, in the world, or as seen from that body",
    "vy" ["m/s"] "the same along y",
    #[in_space] "vz" ["m/s"] "the same along z",
    "ax" ["m/s²"] "acceleration of the point, in the world, or as seen from that body; gravity is not in it",
    "ay" ["m/s²"] "the same along y",
    #[in_space] "az" ["m/s²"] "the same along z",
    #[in_space] "wx" ["rad/s"] "angular velocity, in the world, or against that body",
    #[in_space] "wy" ["rad/s"] "the same about y",
    "wz" ["rad/s"] "the same about z",
);

const PROBE_TURN: &[Quantity] = table!(
    #[in_plane] "angle" ["rad"] "angle of its own x axis against that of the world or of `relative_to`, from −π to π",
    #[in_space] "roll" ["rad"] "Cardan angles of its own axes against those of the world or of `relative_to`, as of bodies",
    #[in_space] "pitch" ["rad"] "the second of them",
    #[in_space] "yaw" ["rad"] "the third",
    #[in_space] "alphax" ["rad/s²"] "angular acceleration, in the world, or as seen from that body",
    #[in_space] "alphay" ["rad/s²"] "the same about y",
    "alphaz" ["rad/s²"] "the same about z",
);

const PROBE_OWN: &[Quantity] = table!(
    "own.vx" ["m/s"] "the same velocity in the probe's own axes, as a sensor on the body has them",
    "own.vy" ["m/s"] "the same along y",
    #[in_space] "own.vz" ["m/s"] "the same along z",
    "own.ax" ["m/s²"] "the same acceleration in the probe's own axes",
    "own.ay" ["m/s²"] "the same along y",
    #[in_space] "own.az" ["m/s²"] "the same along z",
    #[in_space] "own.wx" ["rad/s"] "the same angular velocity in the probe's own axes",
    #[in_space] "own.wy" ["rad/s"] "the same about y",
    "own.wz" ["rad/s"] "the same about z",
);

const ENERGY: &[Quantity] = table!(
    "energy.kinetic" ["J"] "kinetic energy of all bodies",
    "energy.stored" ["J"] "energy stored in gravity (zero at the origin), springs and deformed bodies",
    "energy.total" ["J"] "their sum",
);

/// What precedes the name of a load, and whose axes it is in.
const FRAMES: [(LoadAxes, &str, &str); 3] = [
    (LoadAxes::World, "", "the world"),
    (LoadAxes::First, "first.", "the first body"),
    (LoadAxes::Second, "second.", "the second body, or the only one"),
];

/// The channel of a modal coordinate.
pub fn mode_name(body: &str, mode: usize) -> String {
    format!("{body}.mode{}", mode + 1)
}

/// Whether a body has a rotation worth recording.
fn turns(body: &Body) -> bool {
    each!(body, b => b.orientation()) != Orientation::None
}

/// The bodies of the user: rotors of armatures are parts of joints.
fn shown(model: &Model) -> impl Iterator<Item = usize> + '_ {
    (0..model.bodies.len()).filter(|b| model.bodies[*b].is_shown())
}

/// The groups that are recorded unless others are asked for, in their order.
pub fn groups(model: &Model) -> impl Iterator<Item = Group> + '_ {
    let deformable = |b: &usize| each!(&model.bodies[*b].body, b => b.deformable()).is_some();
    let bodies = shown(model)
        .flat_map(move |b| [Some(Group::Motion(b)), deformable(&b).then_some(Group::Deformation(b))])
        .flatten();
    let one_ended = |f: &usize| model.forces[*f].ends.len() == 1;
    let forces = (0..model.forces.len())
        .flat_map(move |f| [Some(Group::Force(f)), one_ended(&f).then_some(Group::Load(f, LoadAxes::World))])
        .flatten();
    bodies
        .chain(coordinates(model).map(|(k, joint, motion)| Group::Coordinate(k, joint, motion)))
        .chain((0..model.joints.len()).map(|j| Group::Reaction(j, LoadAxes::World)))
        .chain(forces)
        .chain((0..model.probes.len()).map(|p| Group::Probe(p, ProbePart::Motion)))
        .chain(std::iter::once(Group::Energy))
        .chain((0..model.inputs.len()).map(Group::Input))
        .chain((0..model.states.len()).map(Group::State))
        .chain((0..model.fmus.len()).filter(|f| model.fmus[*f].resident.is_some()).map(Group::Guest))
}

/// The groups that are there for the asking.
pub fn on_demand(model: &Model) -> impl Iterator<Item = Group> + '_ {
    let bodies = shown(model).flat_map(|b| [Group::Acceleration(b), Group::Cardan(b)]);
    let reactions = |j: usize| [LoadAxes::First, LoadAxes::Second].map(|axes| Group::Reaction(j, axes));
    let loads = |f: usize| {
        let n = model.forces[f].ends.len();
        let world = (n > 1).then_some(Group::Load(f, LoadAxes::World));
        let first = (n > 1).then_some(Group::Load(f, LoadAxes::First));
        [world, first, Some(Group::Load(f, LoadAxes::Second))].into_iter().flatten()
    };
    bodies
        .chain(coordinates(model).map(|(k, joint, motion)| Group::Second(k, joint, motion)))
        .chain((0..model.joints.len()).flat_map(reactions))
        .chain((0..model.forces.len()).flat_map(loads))
        .chain(
            (0..model.probes.len()).flat_map(|p| [ProbePart::Turn, ProbePart::Own].map(|part| Group::Probe(p, part))),
        )
}

/// All joint coordinates: the number among all, the joint, which of the joint's.
fn coordinates(model: &Model) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
    let of_joint = |j: usize| (0..model.joints[j].joint.motions(model.space).len()).map(move |m| (j, m));
    (0..model.joints.len()).flat_map(of_joint).enumerate().map(|(k, (j, m))| (k, j, m))
}

/// The names among those of positions, velocities, energies and states that are wanted: they depend on no input.
pub fn of_the_state(model: &Model, wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    let of_state = |group: &Group| {
        matches!(
            group,
            Group::Motion(_) | Group::Deformation(_) | Group::Coordinate(..) | Group::Energy | Group::State(_)
        )
    };
    for group in groups(model).filter(of_state) {
        name(model, group, &mut |name, _| found.extend(Some(name.to_string()).filter(|name| wanted(name))));
    }
    found
}

/// Names the channels of a group, in their order.
pub fn name(model: &Model, group: Group, see: &mut dyn FnMut(std::fmt::Arguments<'_>, &'static str)) {
    let space = model.space;
    let mut table = |owner: &str, list: &[Quantity], motion_turns: bool| {
        list.iter()
            .filter(|q| q.is_in(space))
            .for_each(|q| see(format_args!("{owner}.{}", q.name), q.unit_of(motion_turns)));
    };
    match group {
        Group::Plain(_) => {}
        Group::Motion(b) => {
            let entry = &model.bodies[b];
            let turning = turns(&entry.body);
            let rotation = |q: &&Quantity| matches!(q.name.as_bytes()[0], b'q' | b'w') || q.name == "angle";
            for q in POSE.iter().filter(|q| q.is_in(space) && (turning || !rotation(q))) {
                table(&entry.name, std::slice::from_ref(q), false);
            }
        }
        Group::Deformation(b) => {
            let entry = &model.bodies[b];
            let Some(of) = each!(&entry.body, b => b.deformable()) else { return };
            for (i, mode) in of.modes.iter().enumerate() {
                let units = if mode.angle { ["rad", "rad/s"] } else { ["m", "m/s"] };
                see(format_args!("{}.mode{}", entry.name, i + 1), units[0]);
                see(format_args!("{}.mode{}_rate", entry.name, i + 1), units[1]);
            }
            see(format_args!("{}.strain", entry.name), "J");
        }
        Group::Coordinate(_, joint, motion) | Group::Second(_, joint, motion) => {
            let entry = &model.joints[joint];
            let motions = entry.joint.motions(space);
            let [value, rate] = joints::names(&motions)[motion];
            let units = if motions[motion].turns() { ["rad", "rad/s", "rad/s²"] } else { ["m", "m/s", "m/s²"] };
            if matches!(group, Group::Coordinate(..)) {
                see(format_args!("{}.{value}", entry.name), units[0]);
                see(format_args!("{}.{rate}", entry.name), units[1]);
            } else {
                let kind = if rate.starts_with("rate") { "acceleration" } else { "sliding_acceleration" };
                let number = if rate.ends_with('2') { "2" } else { "" };
                see(format_args!("{}.{kind}{number}", entry.name), units[2]);
            }
        }
        Group::Reaction(j, axes) => load_names(&model.joints[j].name, axes, space, see),
        Group::Force(f) => {
            let entry = &model.forces[f];
            table(&entry.name, entry.force.quantities(), entry.force.turns());
        }
        Group::Load(f, axes) => {
            load_names(&model.forces[f].name, axes, space, see);
            if axes == LoadAxes::World {
                see(format_args!("{}.{}", model.forces[f].name, POWER.name), POWER.unit);
            }
        }
        Group::Probe(p, part) => table(&model.probes[p].name, probe_table(part), false),
        Group::Energy => ENERGY.iter().for_each(|q| see(format_args!("{}", q.name), q.unit)),
        Group::State(i) => see(format_args!("{}", model.states[i].name), model.states[i].unit),
        Group::Guest(f) => {
            let outputs = model.fmus[f].resident.iter().flat_map(|resident| &resident.outputs);
            outputs.for_each(|output| see(format_args!("{}", output.name), output.unit));
        }
        Group::Input(i) => see(format_args!("{}", model.inputs[i].name), model.inputs[i].unit),
        Group::Acceleration(b) => {
            let entry = &model.bodies[b];
            let shown = |q: &&Quantity| turns(&entry.body) || !q.name.starts_with("alpha");
            ACCELERATION.iter().filter(shown).for_each(|q| table(&entry.name, std::slice::from_ref(q), false));
        }
        Group::Cardan(b) if turns(&model.bodies[b].body) => table(&model.bodies[b].name, CARDAN, false),
        Group::Cardan(_) => {}
    }
}

fn probe_table(part: ProbePart) -> &'static [Quantity] {
    match part {
        ProbePart::Motion => PROBE,
        ProbePart::Turn => PROBE_TURN,
        ProbePart::Own => PROBE_OWN,
    }
}

fn load_names(owner: &str, axes: LoadAxes, space: Space, see: &mut dyn FnMut(std::fmt::Arguments<'_>, &'static str)) {
    let prefix = FRAMES.iter().find(|(of, ..)| *of == axes).map_or("", |(_, prefix, _)| prefix);
    LOAD.iter().filter(|q| q.is_in(space)).for_each(|q| see(format_args!("{owner}.{prefix}{}", q.name), q.unit));
}

/// The channels of groups, in their order.
fn channels(model: &Model, of: impl Iterator<Item = Group>) -> Vec<Channel> {
    let mut out = Vec::new();
    of.for_each(|group| name(model, group, &mut |name, unit| out.push(Channel { name: name.to_string(), unit })));
    out
}

/// What is recorded unless something else is asked for.
pub fn list(model: &Model) -> Vec<Channel> {
    channels(model, groups(model))
}

/// All that can be recorded: first what is recorded unless something else is asked for.
pub fn all(model: &Model) -> Vec<Channel> {
    channels(model, groups(model).chain(on_demand(model)))
}

/// The channels that a function wants, by their names; `true` comes with those that are recorded by default.
pub fn select(model: &Model, wanted: &mut dyn FnMut(&str, bool) -> bool) -> Selection {
    let mut selection = Selection::default();
    let mut text = String::new();
    let groups = groups(model).map(|g| (g, true)).chain(on_demand(model).map(|g| (g, false)));
    for (group, default) in groups {
        let mut k = 0;
        name(model, group, &mut |name, unit| {
            text.clear();
            let _ = write!(text, "{name}");
            if wanted(&text, default) {
                selection.add(group, k, Channel { name: text.clone(), unit });
            }
            k += 1;
        });
        if selection.items.last().is_some_and(|(last, _)| *last == group) {
            selection.reactive |= reactive(model, group);
        }
    }
    selection
}

/// Whether a group is computed from accelerations or reactions.
fn reactive(model: &Model, group: Group) -> bool {
    match group {
        Group::Motion(_)
        | Group::Deformation(_)
        | Group::Coordinate(..)
        | Group::Energy
        | Group::Input(_)
        | Group::State(_)
        | Group::Guest(_) => false,
        Group::Cardan(_) => false,
        // what holds a motion tells with what force
        Group::Force(f) | Group::Load(f, _) => model.forces[f].force.jumps(),
        Group::Plain(_) | Group::Reaction(..) | Group::Probe(..) | Group::Acceleration(_) | Group::Second(..) => true,
    }
}

/// In place of a pattern: what is recorded unless something else is asked for.
pub const DEFAULT: &str = "default";

/// The reference of all channels as Markdown.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Channels\n\nWhat can be recorded of a model, made from the tables that compute it. A channel is the element's name, a \
         dot and a name of these tables: `crank.vx`, `strut.force`. All is in SI units. What is marked with ● is recorded unless \
         `record` under `[solve]` or `--record` ask for something else; all of it can be asked for (`record = [\"pin.*\"]`), and \
         used in `[output.NAME]`. In the plane the parts along z, and about x and y, are left out.\n",
    );
    let mut section = |title: &str, text: &str, tables: &[(&[Quantity], bool)]| {
        out += &format!("\n## {title}\n\n{text}\n\n| channel | unit | meaning | |\n|---|---|---|---|\n");
        for (table, recorded) in tables {
            for q in *table {
                let only = match q.only {
                    Some(Space::Plane) => " (plane)",
                    Some(Space::Space) => " (space)",
                    None => "",
                };
                let mark = if *recorded { "●" } else { "" };
                out += &format!("| `{}` | {} | {}{only} | {mark} |\n", q.name, q.units(), q.doc);
            }
        }
    };
    section("Bodies", "In the world's axes.", &[(POSE, true), (ACCELERATION, false), (CARDAN, false)]);
    let deformation = table!(
        "mode1" [""] "modal coordinate of a flexible body, in m or rad as its shape is; `mode2` …",
        "mode1_rate" [""] "its rate",
        "strain" ["J"] "energy of the deformation",
    );
    section("Flexible bodies", "Besides those of a body.", &[(deformation, true)]);
    section("Joint coordinates", "", &[(&COORDINATE[..4], true), (&COORDINATE[4..], false)]);
    section(
        "Joint reactions",
        "The load that the joint puts on its **second** body (that on the first is the opposite force, at the same point), at the \
         joint's point on it. `pin.fx` is in the world's axes, `pin.first.fx` in those of the first body and `pin.second.fx` in \
         those of the second; the latter two are recorded when asked for. A drive's reaction is what it has to push with.",
        &[(LOAD, true)],
    );
    section(
        "Loads of forces",
        "Every force has the load that it puts on its **second** body, or on its only one, at its point on it: `strut.fx` in the \
         world's axes, `strut.first.fx` in those of the first body, `strut.second.fx` in those of the second. They are recorded \
         when asked for; those of forces on one body in the world's axes always.",
        &[(LOAD, false), (&[POWER], false)],
    );
    for kind in forces::CATALOG.iter().filter(|kind| !kind.channels.is_empty()) {
        section(&format!("Force `{}`", kind.name), "", &[(kind.channels, true)]);
    }
    section(
        "Probes",
        "With `relative_to` the motion is that which is seen from another body: positions from its centre of mass, in its axes.",
        &[(PROBE, true), (PROBE_TURN, false), (PROBE_OWN, false)],
    );
    section("Energies", "By these names, without an element.", &[(ENERGY, true)]);
    out += "\n## Inputs, states and outputs\n\nAn input, a state and an output are recorded under their own names, with the units given in the model.\n";
    out
}
