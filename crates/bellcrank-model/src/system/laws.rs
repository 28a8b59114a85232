//! The functions of the state that may have narrow features: of forces, of signals, and the curves that joints follow.

use super::signals::PlacedSignal;
use super::*;
use crate::model::Place;
use crate::profile::Profile;

impl System {
    fn narrow_signals(&self) -> impl Iterator<Item = &PlacedSignal> {
        self.signals.list.iter().filter(|s| !s.value().is_plain())
    }

    /// The curves of joints, with where each is followed; contacts tell theirs themselves, in all modes.
    fn followed(&self) -> impl Iterator<Item = (&Constraint, &Arc<Profile>, &dyn Equation)> {
        let of = |c: &Constraint| c.equations.iter().position(|e| e.follows().is_some());
        let joints = self.constraints.iter().filter(|c| c.joint.is_some());
        joints.filter_map(move |c| {
            let equation = &*c.equations[of(c)?];
            Some((c, equation.follows()?, equation))
        })
    }

    /// All of them, in the order of their arguments.
    pub(super) fn narrow_laws(&self) -> Vec<PlacedLaw> {
        let of_force = |(number, f): (usize, &PlacedForce)| {
            let subject = self.model.subject(Place::Force(number));
            f.force.laws().into_iter().map(move |(law, arguments)| PlacedLaw {
                law,
                arguments,
                subject: subject.clone(),
            })
        };
        let inputs = self.model.inputs.len();
        let of_signal = |s: &PlacedSignal| {
            let (arguments, subject) = (s.variables(inputs), self.model.subject(s.of));
            PlacedLaw { law: Arc::new(s.value().clone()), arguments, subject }
        };
        let of_joint = |(c, curve, _): (&Constraint, &Arc<Profile>, _)| {
            let subject = c.joint.map(|joint| self.model.subject(Place::Joint(joint))).unwrap_or_default();
            PlacedLaw { law: curve.clone(), arguments: 1, subject }
        };
        let forces = self.forces.iter().enumerate().flat_map(of_force);
        forces.chain(self.narrow_signals().map(of_signal)).chain(self.followed().map(of_joint)).collect()
    }

    /// Their arguments at a realized point.
    pub(super) fn arguments_of_laws(&self, at: &Point, w: &Realized, out: &mut [f64]) {
        let mut rest = out;
        for f in self.forces.iter().filter(|f| f.arguments > 0) {
            let (own, others) = rest.split_at_mut(f.arguments as usize);
            let frames = self.frames(&f.ends, w, Some(&at.v));
            f.force.law_arguments(&self.seen(f, at, &frames, w), own);
            rest = others;
        }
        let of_signals = self.narrow_signals().flat_map(|s| self.signal_variables(s, at, w));
        let of_joints = self.followed().map(|(c, _, equation)| {
            let frames = self.frames(&c.ends, w, None);
            equation.parameter(&Frames { t: at.t, ends: &frames[..c.ends.len()], near: &[] })
        });
        rest.iter_mut().zip(of_signals.chain(of_joints)).for_each(|(out, x)| *out = x);
    }
}
