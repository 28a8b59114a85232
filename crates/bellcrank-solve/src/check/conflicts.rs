//! Equations that contradict each other, as few as it takes.

use super::text::{distinct, list, size};
use super::{Check, Severity};
use crate::start::{self, AssemblyError};
use bellcrank_model::joints::equations::Equation;
use bellcrank_model::joints::{Joint, Motion};
use bellcrank_model::model::{Model, Place, Space, Subject};
use bellcrank_model::{Dynamics, System};
use std::sync::Arc;

/// Up to so many joints, a smallest contradiction is looked for.
const JOINTS_SEARCHED: usize = 300;

/// The joints and start values that contradict each other, as few as it takes [Junker 2004].
pub(super) fn conflicting(c: &mut Check, system: &Arc<System>, error: &AssemblyError, thorough: bool) {
    let model = &system.model;
    let mut by = error.clone();
    let mut set = Vec::new();
    let open = !matches!(error, AssemblyError::Rates { .. });
    if open && thorough && model.joints.len() <= JOINTS_SEARCHED {
        let items: Vec<Suspect> =
            (0..model.joints.len()).map(Suspect::Joint).chain((0..model.start.len()).map(Suspect::Start)).collect();
        set = start::smallest(&[], false, &items, &|set| contradiction(model, set).is_some());
        if let Some(found) = contradiction(model, &set) {
            by = found;
        }
    }
    if open && thorough && model.joints.len() > JOINTS_SEARCHED {
        c.leave_out(
            "the smallest set of joints that contradict each other",
            &format!("more than {JOINTS_SEARCHED} joints"),
        );
    }
    let mut involved: Vec<Subject> = distinct(set.iter().map(|item| item.subject(model)));
    if let AssemblyError::Rates { sides, .. } = error {
        (involved, by) = (sides.clone(), error.clone());
    }
    let (worst, amount, unit, also) = match &by {
        AssemblyError::Open { worst, by, others, .. } => (worst, by, "m", others.as_slice()),
        AssemblyError::Rates { worst, by, .. } => (worst, by, "m/s", &[][..]),
        AssemblyError::Beyond { culprit, by } => (culprit, by, "m", &[][..]),
        AssemblyError::NotUnique { culprit, .. }
        | AssemblyError::NoNumber { culprit, .. }
        | AssemblyError::Singular { culprit } => (culprit, &0.0, "m", &[][..]),
        AssemblyError::Wedged(wedge) => (&wedge.culprit, &0.0, "m", wedge.joint.as_slice()),
    };
    if involved.is_empty() {
        involved = std::iter::once(worst).chain(also).cloned().collect();
    }
    let fixed = model.bodies.iter().enumerate().filter(|(_, b)| b.fixed);
    let held: Vec<Subject> = fixed.map(|(b, _)| model.subject(Place::Body(b))).collect();
    let mut message = match involved.len() {
        1 => format!("{} cannot be closed: it stays open by {} {unit}", involved[0], size(*amount)),
        _ => format!(
            "{} contradict each other: together they stay open by {} {unit} at {worst}",
            list(&involved),
            size(*amount)
        ),
    };
    if !held.is_empty() {
        message += &format!(
            "; {} not to move",
            if held.len() == 1 { format!("{} is", held[0]) } else { format!("{} are", list(&held)) }
        );
    }
    let help = match unit {
        "m/s" => "these rates contradict each other: leave one out or change it",
        _ => {
            "change a point, a length or a given start value of one of these, or leave one out; without any one of them the others close"
        }
    };
    c.push(Severity::Error, "conflicting", involved, message, help);
}

/// What may contradict: a joint, or a value given at the start.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Suspect {
    Joint(usize),
    Start(usize),
}

impl Suspect {
    fn subject(&self, model: &Model) -> Subject {
        match self {
            Suspect::Joint(j) => model.subject(Place::Joint(*j)),
            Suspect::Start(s) => model.subject(Place::Start(model.start[*s].joint)),
        }
    }
}

/// Why the model with only these joints and start values cannot be assembled, if so.
fn contradiction(model: &Model, items: &[Suspect]) -> Option<AssemblyError> {
    let mut part = model.clone();
    let kept: Vec<usize> = (0..model.joints.len()).filter(|j| items.contains(&Suspect::Joint(*j))).collect();
    part.joints = kept.iter().map(|j| model.joints[*j].clone()).collect();
    part.start = Vec::new();
    for (_, start) in model.start.iter().enumerate().filter(|(s, _)| items.contains(&Suspect::Start(*s))) {
        // a start value means nothing without its joint's coordinate, so the joint comes back weightless
        let joint = kept.iter().position(|j| *j == start.joint).unwrap_or_else(|| {
            let mut entry = model.joints[start.joint].clone();
            entry.joint = Arc::new(MeasuredJoint(entry.joint.clone()));
            part.joints.push(entry);
            part.joints.len() - 1
        });
        part.start.push(bellcrank_model::model::Start { joint, ..start.clone() });
    }
    let system = Arc::new(part.compile());
    let start = system.initial_state();
    let dynamics: Arc<dyn Dynamics> = system;
    match start::assemble(&dynamics, &start) {
        Err(e @ (AssemblyError::Open { .. } | AssemblyError::Rates { .. })) => Some(e),
        _ => None,
    }
}

/// A joint whose coordinates are measured and which holds nothing.
struct MeasuredJoint(Arc<dyn Joint>);

impl Joint for MeasuredJoint {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        Vec::new()
    }
    fn motions(&self, space: Space) -> Vec<Motion> {
        self.0.motions(space)
    }
}
