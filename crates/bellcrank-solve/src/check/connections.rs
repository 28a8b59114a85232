//! What stands on nothing.

use super::text::list;
use super::{Check, Severity};
use bellcrank_model::model::{JointEntry, Model, Place, Subject};
use bellcrank_model::relative::tree::may_carry;

/// Joints that are wanted in the tree of relative coordinates and cannot be in it.
pub(super) fn wanted_in_vain(c: &mut Check, model: &Model) {
    for (k, _) in model.joints.iter().enumerate().filter(|(_, j)| j.tree == Some(true)) {
        if !may_carry(model, k) {
            let name = model.subject(Place::Joint(k));
            let message = format!("{name} cannot be in the tree of relative coordinates, though it has `tree = true`");
            let help = "it stays an equation there: leave `tree` out, or give it to another joint";
            c.push(Severity::Warning, "tree", vec![name], message, help);
        }
    }
}

/// Bodies that nothing stands on, and groups that stand on nothing.
pub(super) fn unconnected(c: &mut Check, model: &Model) {
    let n = model.bodies.len();
    let mut group: Vec<usize> = (0..=n).collect(); // the ground is the last
    fn root(group: &mut [usize], mut i: usize) -> usize {
        while group[i] != i {
            group[i] = group[group[i]];
            i = group[i];
        }
        i
    }
    let mut touched = vec![false; n];
    // the rotor of an armature stands on the ground, but its joint does not
    let of_joint = |j: &JointEntry| match j.joint.turns_rotor() {
        Some(_) => j.ends.iter().filter(|e| e.body.is_some()).copied().collect(),
        None => j.ends.clone(),
    };
    let elements = model.joints.iter().map(of_joint).chain(model.forces.iter().map(|f| f.ends.clone()));
    for ends in elements {
        let bodies: Vec<usize> = ends.iter().map(|e| e.body.unwrap_or(n)).collect();
        for &b in &bodies {
            if b < n {
                touched[b] = true;
            }
            let (a, b) = (root(&mut group, bodies[0]), root(&mut group, b));
            group[a] = b;
        }
    }
    let name = |b: usize| model.subject(Place::Body(b));
    let alone: Vec<Subject> = (0..n).filter(|&b| !touched[b]).map(name).collect();
    if !alone.is_empty() {
        let message = format!(
            "{} connected to nothing: no joint, no force",
            match alone.len() {
                1 => format!("{} is", alone[0]),
                _ => format!("{} are", list(&alone)),
            }
        );
        c.push(Severity::Note, "unconnected", alone, message, "it moves freely; add a joint if it should not");
    }
    let ground = root(&mut group, n);
    let mut members: Vec<(usize, usize)> = (0..n).filter(|&b| touched[b]).map(|b| (root(&mut group, b), b)).collect();
    members.sort_unstable();
    for members in members.chunk_by(|a, b| a.0 == b.0).filter(|m| m[0].0 != ground) {
        let members: Vec<Subject> = members.iter().map(|(_, b)| name(*b)).collect();
        let message = format!(
            "{} not connected to the ground",
            match members.len() {
                1 => format!("{} is", members[0]),
                _ => format!("{} are", list(&members)),
            }
        );
        c.push(
            Severity::Note,
            "unconnected",
            members,
            message,
            "together they move freely; add a joint to the ground if they should not",
        );
    }
}
