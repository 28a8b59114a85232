//! Loads that are given functions of time: a force at a point, a torque on a body.

use super::{Ends, Force, Kind, Placement};
use crate::file::{Diagnostics, Expression, Field, FieldKind, Values};
use crate::frames::{Covector, Frames, Stiffness};
use bellcrank_math::Vec3;

/// A force and a torque on one body, fixed in the world.
struct Load {
    force: [Expression; 3],
    torque: [Expression; 3],
}

/// The catalog entry of the point force.
pub const FORCE: Kind = Kind {
    name: "force",
    doc: "A force at a point of a body, in the world's directions, as a function of time.",
    fields: &[Field::required("force", FieldKind::VectorFunction, "N", "the force, each component a function of t")],
    ends: Ends::One,
    make: |values, _| Ok(Box::new(Load { force: three(values, "force"), torque: none() })),
};

/// The catalog entry of the torque.
pub const TORQUE: Kind = Kind {
    name: "torque",
    doc: "A torque on a body as a function of time: a number in the plane, three in space (the world's directions).",
    fields: &[Field::required("torque", FieldKind::AxialFunction, "N m", "the torque, a function of t")],
    ends: Ends::One,
    make: make_torque,
};

fn none() -> [Expression; 3] {
    [0.0; 3].map(Expression::constant)
}

fn three(values: &Values, name: &str) -> [Expression; 3] {
    let f = values.functions(name);
    std::array::from_fn(|i| f[i].clone())
}

fn make_torque(values: &Values, _place: &Placement) -> Result<Box<dyn Force>, Diagnostics> {
    Ok(Box::new(Load { force: none(), torque: three(values, "torque") }))
}

impl Load {
    fn at(&self, t: f64) -> Covector {
        let vector = |f: &[Expression; 3]| Vec3(std::array::from_fn(|i| f[i].value(t)));
        Covector::new(vector(&self.force), vector(&self.torque))
    }
}

impl Force for Load {
    fn load(&self, at: &Frames, out: &mut [Covector]) {
        let load = self.at(at.t);
        out[0].lin += load.lin;
        out[0].ang += load.ang;
    }
    fn stiffness(&self, _at: &Frames, _k: &mut Stiffness, _d: &mut Stiffness) {}
    fn power(&self, at: &Frames) -> f64 {
        self.at(at.t).on(&at.ends[0])
    }
    fn has_power(&self) -> bool {
        true
    }
}
