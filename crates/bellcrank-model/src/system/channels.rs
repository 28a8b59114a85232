//! Channels: what is recorded of a compiled model, under the user's names.
//!
//! | channel | unit | meaning |
//! |---|---|---|
//! | `crank.x crank.y (crank.z)` | m | centre of mass |
//! | `crank.angle` | rad | angle, in the plane |
//! | `crank.qw crank.qx crank.qy crank.qz` | | rotation as unit quaternion, body to world, in space |
//! | `crank.vx …` | m/s | velocity of the centre of mass |
//! | `crank.wz`, in space also `crank.wx crank.wy` | rad/s | angular velocity, in the world |
//! | `rod.mode1 rod.mode1_rate …` | m, m/s; rad, rad/s | modal coordinates of a flexible body, whose `x …` is the origin of its frame |
//! | `rod.strain` | J | energy of its deformation |
//! | `pin.angle pin.rate`, `slide.position slide.rate` | rad, rad/s; m, m/s | joint coordinates, continuous over many turns |
//! | `sleeve.angle sleeve.rate sleeve.position sleeve.speed` | | those of a joint that turns and slides; a second turn or slide has `angle2` … |
//! | `pin.fx … pin.mz` | N, N m | reaction on the second body, at the joint, in the world |
//! | `motor.effort` | N or N m | effort of an actuator, a controller or friction along its joint coordinate |
//! | `B.x B.vx B.ax …` | m, m/s, m/s² | motion of a probe |
//! | `energy.kinetic energy.stored energy.total` | J | energies |
//! | `torque` | as given | an input, by its own name |

use super::*;
use crate::bodies::Orientation;
use crate::joints;
use crate::model::End;
use bellcrank_math::{Mat3, Vec3};

const AXES: [&str; 3] = ["x", "y", "z"];

/// Whether a body has a rotation worth recording.
fn turns(body: &Body) -> bool {
    each!(body, b => b.orientation()) != Orientation::None
}

/// The channel of a modal coordinate.
pub fn mode_name(body: &str, mode: usize) -> String {
    format!("{body}.mode{}", mode + 1)
}

/// All channels, in the order of [`observe`].
pub fn list(system: &System) -> Vec<Channel> {
    let model = &system.model;
    let dimension = model.space.dimension();
    let plane = model.space == Space::Plane;
    let mut out = Vec::new();
    let mut push = |name: String, unit: &'static str| out.push(Channel { name, unit });
    for b in &model.bodies {
        AXES[..dimension].iter().for_each(|a| push(format!("{}.{a}", b.name), "m"));
        let turning = turns(&b.body);
        match plane {
            true if turning => push(format!("{}.angle", b.name), "rad"),
            false if turning => ["qw", "qx", "qy", "qz"].iter().for_each(|a| push(format!("{}.{a}", b.name), "")),
            _ => {}
        }
        AXES[..dimension].iter().for_each(|a| push(format!("{}.v{a}", b.name), "m/s"));
        match plane {
            true if turning => push(format!("{}.wz", b.name), "rad/s"),
            false if turning => AXES.iter().for_each(|a| push(format!("{}.w{a}", b.name), "rad/s")),
            _ => {}
        }
        if let Some(of) = each!(&b.body, b => b.deformable()) {
            for (i, mode) in of.modes.iter().enumerate() {
                let units = if mode.angle { ["rad", "rad/s"] } else { ["m", "m/s"] };
                push(mode_name(&b.name, i), units[0]);
                push(format!("{}_rate", mode_name(&b.name, i)), units[1]);
            }
            push(format!("{}.strain", b.name), "J");
        }
    }
    for j in &model.joints {
        let motions = j.joint.motions(model.space);
        for (motion, [value, rate]) in motions.iter().zip(joints::names(&motions)) {
            let units = if motion.turns() { ["rad", "rad/s"] } else { ["m", "m/s"] };
            push(format!("{}.{value}", j.name), units[0]);
            push(format!("{}.{rate}", j.name), units[1]);
        }
    }
    for j in &model.joints {
        AXES[..dimension].iter().for_each(|a| push(format!("{}.f{a}", j.name), "N"));
        match plane {
            true => push(format!("{}.mz", j.name), "N m"),
            false => AXES.iter().for_each(|a| push(format!("{}.m{a}", j.name), "N m")),
        }
    }
    for f in &model.forces {
        if let Some(motion) = f.force.along() {
            push(format!("{}.effort", f.name), if motion.turns() { "N m" } else { "N" });
        }
    }
    for p in &model.probes {
        for (prefix, unit) in [("", "m"), ("v", "m/s"), ("a", "m/s²")] {
            AXES[..dimension].iter().for_each(|a| push(format!("{}.{prefix}{a}", p.name), unit));
        }
    }
    for part in ["kinetic", "stored", "total"] {
        push(format!("energy.{part}"), "J");
    }
    model.inputs.iter().for_each(|input| push(input.name.clone(), input.unit));
    out
}

/// The values of all channels at a realized point with its v̇ and λ; `reaction` tells the load that a joint puts on
/// its second body.
pub fn observe(
    system: &System,
    at: &Point,
    w: &mut Workspace,
    reaction: impl Fn(usize, &Workspace) -> Covector,
    out: &mut Vec<f64>,
) {
    out.clear();
    let model = &system.model;
    let dimension = model.space.dimension();
    let plane = model.space == Space::Plane;
    fn vector(out: &mut Vec<f64>, v: Vec3, dimension: usize) {
        out.extend_from_slice(&v.0[..dimension]);
    }
    for (number, b) in model.bodies.iter().enumerate() {
        let (p, r) = system.pose(number, at);
        vector(out, p, dimension);
        let turning = turns(&b.body);
        if turning {
            match system.plane_angle(number) {
                Some(k) => out.push(at.q[k]),
                None if plane => out.push(2.0 * r.0[3].atan2(r.0[0])),
                None => out.extend_from_slice(&r.0),
            }
        }
        let centre = each!(&b.body, b => b.centre());
        let frame =
            system.look(&End { body: Some(number), on: Attachment { axes: Mat3::IDENTITY, ..centre } }, w, &at.v);
        vector(out, frame.v, dimension);
        match plane {
            _ if !turning => {}
            true => out.push(frame.w[2]),
            false => vector(out, frame.w, 3),
        }
        if let Some(of) = each!(&b.body, b => b.deformable()) {
            let range = system.layout.bodies[number].clone();
            let modal = range.end - of.count()..range.end;
            modal.clone().for_each(|i| out.extend_from_slice(&[at.q[i], at.v[i]]));
            out.push(of.strain(&at.q[modal]));
        }
    }
    for c in system.coordinates() {
        let (value, rate) = system.coordinate(c, at, w);
        out.extend_from_slice(&[value, rate]);
    }
    for j in 0..model.joints.len() {
        let load = reaction(j, w);
        vector(out, load.lin, dimension);
        match plane {
            true => out.push(load.ang[2]),
            false => vector(out, load.ang, 3),
        }
    }
    out.extend((0..model.forces.len()).filter_map(|f| system.effort(f, at, w)));
    for p in &model.probes {
        let frame = system.look(&p.end, w, &at.v);
        vector(out, frame.p, dimension);
        vector(out, frame.v, dimension);
        vector(out, system.acceleration(&p.end, at, w), dimension);
    }
    let e = system.energy(at, w);
    out.extend_from_slice(&[e.kinetic, e.stored, e.kinetic + e.stored]);
    out.extend_from_slice(&at.charts.inputs);
}
