//! Elements that leave the range in which their equations are right.

use super::{Monitor, StepView};
use crate::events::Event;
use crate::run::summary::{Excess, Summary};

/// Keeps what went beyond its limits, since when and how far.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct LimitMonitor {
    /// Whether anything can; asked at the first step.
    watches: Option<bool>,
    found: Vec<Excess>,
}

impl Monitor for LimitMonitor {
    fn measure(&mut self, view: &mut StepView<'_>) {
        let (dynamics, w) = (&*view.observer.dynamics, &mut view.observer.w);
        if !*self.watches.get_or_insert_with(|| dynamics.limited()) {
            return;
        }
        let at = view.engine.point();
        for beyond in dynamics.beyond(at, w) {
            let known = |e: &&mut Excess| e.name == beyond.name && e.limit == beyond.limit;
            match self.found.iter_mut().find(known) {
                Some(excess) => excess.worst = excess.worst.max(beyond.ratio),
                None => {
                    let what = beyond.limit.words(beyond.ratio);
                    view.events.push(Event { t: at.t, name: beyond.name.clone(), what });
                    let (name, limit, worst) = (beyond.name, beyond.limit, beyond.ratio);
                    self.found.push(Excess { name, limit, worst, since: at.t });
                }
            }
        }
    }

    fn end(&mut self, _: &mut StepView<'_>, into: &mut Summary) {
        into.beyond.clone_from(&self.found);
    }
}
