//! The steps of a run, and what its refused steps are blamed on.

use super::{Monitor, StepView};
use crate::history::History;
use crate::run::summary::Summary;

impl Monitor for History {
    fn end(&mut self, view: &mut StepView<'_>, into: &mut Summary) {
        into.refused = self.named(&*view.observer.dynamics);
        into.history = std::mem::take(self);
    }
}
