//! Elements that leave the range in which their equations are right.

use super::{Monitor, StepView};
use crate::engines::StepError;
use crate::events::Event;
use crate::run::summary::{Excess, Summary};
use bellcrank_model::Dynamics;
use bellcrank_model::dynamics::BeyondLimit;

/// Keeps what went beyond its limits, since when and how far.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct LimitMonitor {
    /// Whether anything can; asked at the first step.
    watches: Option<bool>,
    found: Vec<Excess>,
}

impl LimitMonitor {
    fn watches(&mut self, dynamics: &dyn Dynamics) -> bool {
        *self.watches.get_or_insert_with(|| dynamics.limited())
    }

    /// Looks at the middle of a step of fixed length, or of one that an event ends: bodies that went through each other have parted again at
    /// its end.
    pub fn between(&mut self, view: &mut StepView<'_>) -> Result<(), StepError> {
        if view.to <= view.from || !self.watches(&*view.observer.dynamics) {
            return Ok(());
        }
        let t = 0.5 * (view.from + view.to);
        view.observer.go_to(t, &mut *view.engine)?;
        view.observer.place();
        let found = view.observer.dynamics.beyond(&view.observer.point, &mut view.observer.w);
        self.meet(found, t, view.events);
        Ok(())
    }

    /// Keeps what is beyond its limits at a time.
    fn meet(&mut self, all: Vec<BeyondLimit>, t: f64, events: &mut Vec<Event>) {
        for beyond in all {
            let known = |e: &&mut Excess| e.name == beyond.name && e.limit == beyond.limit;
            match self.found.iter_mut().find(known) {
                Some(excess) => excess.worst = excess.worst.max(beyond.ratio),
                None => {
                    let what = beyond.limit.words(beyond.ratio);
                    events.push(Event { t, name: beyond.name.clone(), what });
                    let (name, limit, worst) = (beyond.name, beyond.limit, beyond.ratio);
                    self.found.push(Excess { name, limit, worst, since: t });
                }
            }
        }
    }
}

impl Monitor for LimitMonitor {
    fn measure(&mut self, view: &mut StepView<'_>) {
        if self.watches(&*view.observer.dynamics) {
            let at = view.engine.point();
            let found = view.observer.dynamics.beyond(at, &mut view.observer.w);
            self.meet(found, at.t, view.events);
        }
    }

    fn end(&mut self, _: &mut StepView<'_>, into: &mut Summary) {
        into.beyond.clone_from(&self.found);
    }
}
