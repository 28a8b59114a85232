//! Gathers the evidence of [`Proof`]: momentum, reactions, accelerations.

use super::{GAUSS, Monitor, StepView};
use crate::engines::StepError;
use crate::proof::Proof;
use crate::run::summary::Summary;
use bellcrank_math::tape::Tape;

/// Balances momentum over every step.
#[derive(Default)]
pub(crate) struct MomentumMonitor {
    proof: Box<Proof>,
}

impl MomentumMonitor {
    /// Tells a tape the proof so far.
    pub fn keep(&mut self, tape: &mut Tape) {
        tape.plain(&mut *self.proof);
    }
}

impl Monitor for MomentumMonitor {
    fn step(&mut self, view: &mut StepView<'_>) -> Result<(), StepError> {
        let StepView { from, to, engine, observer, .. } = view;
        let h = *to - *from;
        for (place, weight) in GAUSS.into_iter().filter(|_| h > 0.0) {
            observer.go_to(*from + place * h, *engine)?;
            observer.accelerate()?;
            self.proof.push(h * weight, &*observer.dynamics, &observer.point, &mut observer.w);
        }
        observer.go_to(*to, *engine)?;
        observer.accelerate()?;
        self.proof.look(&*observer.dynamics, &observer.point, &mut observer.w);
        Ok(())
    }

    /// After an impact momentum has jumped: its balance goes on from where it is.
    fn jump(&mut self, view: &mut StepView<'_>) -> Result<(), StepError> {
        let observer = &mut *view.observer;
        observer.state.clone_from(view.engine.state());
        observer.accelerate()?;
        self.proof.jump(&*observer.dynamics, &observer.point, &mut observer.w);
        Ok(())
    }

    fn end(&mut self, _: &mut StepView<'_>, into: &mut Summary) {
        into.proof = Some(std::mem::take(&mut self.proof));
    }
}
