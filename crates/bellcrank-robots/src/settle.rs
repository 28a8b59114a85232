//! Springs and dampers that are given by how a joint settles: `springdamper` of MJCF.
//!
//! With the time constant τ, the damping ratio ζ and the inertia I that the joint moves alone, with all other joints free, at the zero
//! of all joint coordinates, 1/I = (M⁻¹)ᵢᵢ:
//!
//! ```text
//! k = I/(τ ζ)²        d = 2 I/τ
//! ```
//!
//! Source: MuJoCo's compiler, `mjCModel::AutoSpringDamper`.

use crate::merge::Bodies;
use crate::options::RobotOptions;
use crate::robot::Robot;
use crate::write;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::read::read_text;
use bellcrank_model::{Point, Relative, System};
use std::collections::HashMap;

/// Gives joints that are to settle the stiffness and damping that follow from the inertias of the whole robot.
pub fn settle(robot: &mut Robot, bodies: &Bodies, options: &RobotOptions) {
    let wanted: Vec<usize> =
        bodies.joints.iter().copied().filter(|k| robot.joints[*k].along.settles.is_some()).collect();
    if wanted.is_empty() {
        return;
    }
    let inertias = inertias(robot, bodies, options).unwrap_or_default();
    for k in wanted {
        let joint = &mut robot.joints[k];
        let found = inertias.get(&k).copied().filter(|inertia| inertia.is_finite() && *inertia > 0.0);
        match (found, joint.along.settles) {
            (Some(inertia), Some([time, ratio])) => {
                joint.along.stiffness = inertia / (time * ratio).powi(2);
                joint.along.damping = 2.0 * inertia / time;
            }
            _ => {
                let why = "the inertia that the joint moves could not be found";
                robot.told.leave("`springdamper`", why, joint.name.clone());
            }
        }
    }
}

/// The inertia that each joint of one coordinate moves alone, by the number of the joint.
fn inertias(robot: &Robot, bodies: &Bodies, options: &RobotOptions) -> Option<HashMap<usize, f64>> {
    // the model is only weighed here: what is told of it is told when it is written
    let written = write::write(&mut robot.clone(), bodies, options);
    let mut read = read_text("robot.toml", &written.model.to_toml(), &[]).ok()?;
    let system: System = std::mem::take(&mut read.model).into_system();
    let start = system.initial_state();
    let relative = system.relative(&Point::at(&start, system.layout()));
    let state = relative.initial_state();
    let at = Point::at(&state, relative.layout());
    let mut w = relative.workspace();
    relative.realize(&at, &mut w);
    let mut found = HashMap::new();
    for (number, name) in &written.joints {
        let Some(joint) = system.model.joints.iter().position(|j| j.name == *name) else { continue };
        let Some(column) = column(&relative, joint) else { continue };
        let mut unit = vec![0.0; relative.layout().n()];
        unit[column] = 1.0;
        if relative.mass_solve(&at, &mut w, &mut unit).is_ok() {
            found.insert(*number, 1.0 / unit[column]);
        }
    }
    Some(found)
}

/// The velocity of a joint of one coordinate in the tree.
fn column(relative: &Relative, joint: usize) -> Option<usize> {
    let tree = &relative.tree;
    let number = tree.node_of_joint.get(joint).copied().filter(|n| *n != u32::MAX)?;
    let node = tree.nodes.get(number as usize)?;
    let stands = node.joint.is_some_and(|(j, _)| j == joint) && tree.has_joint[joint] && !node.is_cartesian;
    (stands && node.columns.len() == 1).then_some(node.columns.start)
}
