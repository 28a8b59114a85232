//! Loads that are given functions of time: a force at a point, a torque on a body.

use super::{Ends, Force, Kind, Seen};
use crate::file::{Expression, Field, FieldKind, Values};
use crate::frames::{ANG, Covector, LIN, Row, Stiffness};
use bellcrank_math::{Mat3, Vec3};

/// A force and a torque on one body, in the world's directions or following the body.
struct Load {
    force: [Expression; 3],
    torque: [Expression; 3],
    follows: bool,
    /// The axes of its components, where it does not follow the body.
    axes: Mat3,
    /// Force and torque, where both are numbers.
    constant: Option<(Vec3, Vec3)>,
}

const FRAME: Field = Field::optional(
    "frame",
    FieldKind::Word(&["world", "body"]),
    "",
    "world",
    "the axes of its components; with `body` it turns with the body (a follower load)",
);

/// The catalog entry of the point force.
pub const FORCE: Kind = Kind {
    name: "force",
    doc: "A force at a point of a body as a function of time and of the state, in the world's directions or in those of the body.",
    fields: &[
        Field::required(
            "force",
            FieldKind::VectorFunction,
            "N",
            "the force, each component a function of t and the state",
        ),
        FRAME,
    ],
    ends: Ends::One,
    channels: &[],
    make: |values, place| {
        let (follows, axes) = (follows(values), place.axes);
        Ok(Box::new(Load::new(three(values, "force"), none(), follows, axes)))
    },
};

/// The catalog entry of the torque.
pub const TORQUE: Kind = Kind {
    name: "torque",
    doc: "A torque on a body as a function of time and of the state: a number in the plane, three in space, in the world's directions \
          or in those of the body.",
    fields: &[
        Field::required("torque", FieldKind::AxialFunction, "N m", "the torque, a function of t and the state"),
        FRAME,
    ],
    ends: Ends::One,
    channels: &[],
    make: |values, place| {
        let (follows, axes) = (follows(values), place.axes);
        Ok(Box::new(Load::new(none(), three(values, "torque"), follows, axes)))
    },
};

fn none() -> [Expression; 3] {
    [0.0; 3].map(Expression::constant)
}

fn three(values: &Values, name: &str) -> [Expression; 3] {
    let f = values.functions(name);
    std::array::from_fn(|i| f[i].clone())
}

fn follows(values: &Values) -> bool {
    values.word("frame") == "body"
}

impl Load {
    fn new(force: [Expression; 3], torque: [Expression; 3], follows: bool, axes: Mat3) -> Load {
        let numbers = |f: &[Expression; 3]| Some(Vec3([f[0].as_constant()?, f[1].as_constant()?, f[2].as_constant()?]));
        let constant = numbers(&force).zip(numbers(&torque));
        Load { force, torque, follows, axes, constant }
    }

    fn at(&self, at: &Seen) -> Covector {
        match self.constant {
            Some(parts) => self.turned(at, parts),
            None => self.of_each(at, |f| f.value_with(at.t, at.inputs)),
        }
    }

    fn of_each(&self, at: &Seen, value: impl Fn(&Expression) -> f64) -> Covector {
        let vector = |f: &[Expression; 3]| Vec3(std::array::from_fn(|i| value(&f[i])));
        self.turned(at, (vector(&self.force), vector(&self.torque)))
    }

    fn turned(&self, at: &Seen, (force, torque): (Vec3, Vec3)) -> Covector {
        let axes = if self.follows { at.ends[0].r } else { self.axes };
        Covector::new(axes * force, axes * torque)
    }
}

impl Force for Load {
    fn courses(&self) -> Vec<&Expression> {
        self.force.iter().chain(&self.torque).collect()
    }
    fn refuses_signals(&self) -> Option<&'static str> {
        None
    }
    fn load_by_input(&self, at: &Seen, variable: usize) -> Row {
        let mut row = Row::default();
        row[0] = self.of_each(at, |f| f.slope_with(variable, at.t, at.inputs));
        row
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        let load = self.at(at);
        out[0].lin += load.lin;
        out[0].ang += load.ang;
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, _d: &mut Stiffness) {
        if self.follows {
            let load = self.at(at);
            k.add(0, LIN, 0, ANG, -load.lin.tilde());
            k.add(0, ANG, 0, ANG, -load.ang.tilde());
        }
    }
    fn power(&self, at: &Seen) -> f64 {
        self.at(at).on(&at.ends[0])
    }
    fn stores(&self) -> bool {
        false
    }
    fn has_power(&self) -> bool {
        true
    }
    fn rotational(&self, _end: usize) -> bool {
        self.follows || self.torque.iter().any(|f| f.as_constant() != Some(0.0))
    }
}
