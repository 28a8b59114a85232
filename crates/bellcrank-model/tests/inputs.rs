//! Inputs: numbers of a model that may be set while a run goes on.

use bellcrank_model::dynamics::Dynamics;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::model::Place;
use bellcrank_model::read::read_text;
use bellcrank_model::testing::{Random, derivative, values};
use bellcrank_model::{Piece, Point, Slopes, State, System, Unknown};

const BODIES: &str = "model = { plane = 'xy', gravity = [0, -9.81] }
[parameter]
k = 2.0
[body]
a = { mass = 2, inertia = 0.3, at = [0.1, 0.2] }
b = { mass = 1, inertia = 0.2, at = [0.9, -0.3] }
[joint]
pin = { type = 'revolute', between = ['ground', 'a'], at = [0, 0] }
hinge = { type = 'revolute', between = ['a', 'b'], at = [0.5, 0.1] }
slide = { type = 'drive', joint = 'hinge', rate = '0.3*t + RATE' }
[force]
turn = { type = 'torque', body = 'a', torque = 'k*TORQUE + sin(t)' }
push = { type = 'force', body = 'b', force = ['TORQUE', 't*TORQUE'], frame = 'body' }
air = { type = 'drag', body = 'b', coefficient = 1.2, wind = ['RATE', 0.1] }
lift = { type = 'joint-actuator', joint = 'pin', effort = '3*TORQUE', lag = 0.1 }
hold = { type = 'pid', joint = 'hinge', reference = 'RATE + t', kp = 8, kd = 2, ki = 1 }
";

fn system(text: &str) -> System {
    match read_text("machine.toml", text, &[]) {
        Ok(read) => read.model.compile(),
        Err(report) => panic!("{report}"),
    }
}

/// The machine with two inputs, and the same with their values written out.
fn both() -> [System; 2] {
    let inputs = "[input]\ntorque = { start = 1.25, unit = 'N m' }\nrate = { start = '-k/3' }\n";
    let named = BODIES.replace("TORQUE", "torque").replace("RATE", "rate");
    let written = BODIES.replace("TORQUE", "1.25").replace("RATE", "(-k/3)");
    [system(&format!("{named}{inputs}")), system(&written)]
}

fn shaken(s: &dyn Dynamics, p: &mut Point) {
    let mut random = Random::new(5);
    for x in [&mut p.q, &mut p.qdot, &mut p.v, &mut p.vdot, &mut p.z, &mut p.zdot, &mut p.lambda, &mut p.mu] {
        x.iter_mut().for_each(|x| *x += 0.3 * random.number());
    }
    p.t = 0.7;
    assert_eq!(p.v.len(), s.layout().n());
}

const PIECES: [Piece; 7] = {
    use Piece::*;
    [MassAccel, Force, GtLambda, Position, Velocity, Acceleration, Flow]
};

/// Bits of every piece and of its derivatives.
fn bits(s: &dyn Dynamics, p: &Point) -> Vec<u64> {
    let mut out: Vec<f64> = Vec::new();
    for piece in PIECES {
        out.extend(values(s, piece, p));
        for unknown in [Unknown::Q, Unknown::V, Unknown::Z] {
            let slopes = Slopes { q: 1.0, v: 1.0, z: 1.0 };
            out.extend(derivative(s, piece, unknown, slopes, p).concat());
        }
    }
    out.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn an_input_that_stays_is_the_number_written_out_to_the_bit() {
    let [named, written] = both();
    let points = [&named, &written].map(|s| {
        let mut p = Point::at(&s.initial_state(), s.layout());
        shaken(s, &mut p);
        p
    });
    assert_eq!(points[0].charts.inputs, [1.25, -2.0 / 3.0]);
    assert_eq!(bits(&named, &points[0]), bits(&written, &points[1]));
    let relative = [named, written].map(|s| s.relative(&Point::at(&s.initial_state(), s.layout())));
    let [a, b] = [&relative[0], &relative[1]].map(|r| {
        let mut p = Point::at(&r.initial_state(), r.layout());
        shaken(r, &mut p);
        bits(r, &p)
    });
    assert_eq!(a, b);
}

#[test]
fn what_is_set_in_the_state_acts_and_is_recorded() {
    let [s, _] = both();
    let mut state = s.initial_state();
    let torque = s.model.input("torque").unwrap();
    let force = |state: &State| values(&s, Piece::Force, &Point::at(state, s.layout()));
    let before = force(&state)[2];
    state.charts.inputs[torque] += 0.5;
    assert!((force(&state)[2] - before - 2.0 * 0.5).abs() < 1e-12);
    // a drive of a rate: its velocity row moves by the change of the input
    let rate = s.model.input("rate").unwrap();
    let velocity = |state: &State| values(&s, Piece::Velocity, &Point::at(state, s.layout())).into_iter().sum::<f64>();
    let row = |state: &State| values(&s, Piece::Position, &Point::at(state, s.layout())).into_iter().sum::<f64>();
    let before = velocity(&state) + row(&state);
    state.charts.inputs[rate] += 0.25;
    assert!((velocity(&state) + row(&state) - before + 0.25).abs() < 1e-12);

    let p = Point::at(&state, s.layout());
    let (mut w, mut seen) = (s.workspace(), Vec::new());
    s.realize(&p, &mut w);
    s.observe(&p, &mut w, &mut seen);
    let channels = s.channels();
    assert_eq!(channels.len(), seen.len());
    let recorded: Vec<(&str, &str, f64)> =
        channels.iter().zip(&seen).rev().take(2).map(|(c, x)| (c.name.as_str(), c.unit, *x)).collect();
    assert_eq!(recorded, [("rate", "", 0.25 - 2.0 / 3.0), ("torque", "N m", 1.75)]);
}

#[test]
fn states_of_other_inputs_do_not_fit() {
    let [named, written] = both();
    let (a, b) = (named.initial_state(), written.initial_state());
    assert!(a.fits(&a.clone()) && !a.fits(&b));
}

#[test]
fn places_and_parameters_are_told() {
    let text = format!("{}[input.u]\ndoc = 'of the motor'\n", BODIES.replace("TORQUE", "u").replace("RATE", "u"));
    let mut read = read_text("machine.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let model = std::mem::take(&mut read.model);
    let shown = |place: Place| {
        let span = read.place(place).unwrap();
        (model.name_of(place).unwrap(), &text[span.start as usize..span.end as usize])
    };
    // the drive stands first in the file of the joints on joints, and last in the model
    assert_eq!(shown(Place::Joint(2)), ("slide", "slide"));
    assert_eq!(shown(Place::Body(1)), ("b", "b"));
    assert_eq!(shown(Place::Force(3)), ("lift", "lift"));
    assert_eq!(shown(Place::Input(0)), ("u", "u"));
    assert_eq!((read.place(Place::Probe(0)), model.name_of(Place::Body(9))), (None, None));
    assert_eq!((model.inputs[0].start, model.inputs[0].doc.as_str()), (0.0, "of the motor"));
    let parameters: Vec<(&str, f64)> = read.parameters.iter().collect();
    assert_eq!(parameters, [("k", 2.0)]);
}

#[test]
fn messages_about_inputs() {
    let machine = |more: &str| {
        format!(
            "model = {{ plane = 'xy' }}\n[parameter]\nk = 2.0\n[body]\na = {{ mass = 1, inertia = 1 }}\n\
             [joint]\npin = {{ type = 'revolute', between = ['ground', 'a'], at = [0, 0] }}\n{more}\n"
        )
    };
    let shown: String = [
        "[input.u]\nstart = 'u'",
        "[input.u]\nstart = 't'",
        "[input.u]\nunit = 3\nvalue = 1",
        "[input.u]\nunit = 'a unit that goes on and on'",
        "[input]\nu = 1",
        "[input.k]",
        "[input.t]",
        "[input.time]",
        "[input.'a b']",
        "[input.u]\n[force.f]\ntype = 'torque'\nbody = 'a'\ntorque = 'v + u'",
        "[input.u]\n[force.f]\ntype = 'torsional-spring-damper'\nbetween = ['ground', 'a']\nstiffness = '2*u'",
        "[input.u]\n[joint.d]\ntype = 'drive'\njoint = 'pin'\nangle = 'u + t'",
        "[input.u]\n[joint.d]\ntype = 'drive-point'\nbody = 'a'\nposition = ['t', 'u']",
        "[input.u]\n[probe.q]\nbody = 'a'\non = ['u', 0]",
        "[input.e]\n[probe.p]\nbody = 'a'\non = ['e', 0]",
    ]
    .into_iter()
    .map(|more| match read_text("m.toml", &machine(more), &[]) {
        Ok(_) => format!("fine: {more}\n\n"),
        Err(report) => format!("{report}\n"),
    })
    .collect();
    let parameter = "[parameter]\nk = { value = 'u', colour = 1 }\nm = { unit = 'N' }\n[input.u]\n[body.a]\nmass = 1\n";
    let wrong = read_text("m.toml", parameter, &[]).err().map(|r| r.to_string()).unwrap_or_default();
    insta::assert_snapshot!(format!("{shown}{wrong}"));
}
