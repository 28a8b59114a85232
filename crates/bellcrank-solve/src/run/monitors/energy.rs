//! The balance of energy: what is there against what came in.

use super::{GAUSS, Monitor, StepView};
use crate::engines::StepError;
use crate::run::observer::Observer;
use crate::run::summary::{Energy, Summary};
use bellcrank_model::Point;

/// Compares the energy with what was there at the start and the work done since.
#[derive(Clone, Debug)]
pub(crate) struct EnergyMonitor {
    energy: Energy,
    /// Work that came in, of impacts too.
    pub work: f64,
    /// Whether any force or drive does work that is not stored.
    powered: bool,
}

impl EnergyMonitor {
    pub fn new(observer: &mut Observer, start: &Point) -> EnergyMonitor {
        observer.realize(start);
        let at_start = observer.dynamics.energy(start, &mut observer.w);
        let initial = at_start.kinetic + at_start.stored;
        let energy = Energy { initial, last: initial, largest_error: 0.0 };
        EnergyMonitor { energy, work: 0.0, powered: observer.dynamics.has_power() }
    }
}

impl Monitor for EnergyMonitor {
    /// Adds the work of the step: as the method has integrated it, or by Gauss's rule on the dense output.
    fn step(&mut self, view: &mut StepView<'_>) -> Result<(), StepError> {
        if !self.powered {
            return Ok(());
        }
        let StepView { from, to, engine, observer, .. } = view;
        if let Some(work) = engine.work().filter(|_| *to == engine.state().t) {
            self.work += work;
            return Ok(());
        }
        let h = *to - *from;
        for (place, weight) in GAUSS {
            engine.interpolate(*from + place * h, &mut observer.state)?;
            if observer.dynamics.driven() {
                observer.accelerate()?;
            } else {
                observer.place();
            }
            let power = observer.dynamics.energy(&observer.point, &mut observer.w).power;
            self.work += h * weight * power;
        }
        Ok(())
    }

    fn measure(&mut self, view: &mut StepView<'_>) {
        let now = view.observer.dynamics.energy(view.engine.point(), &mut view.observer.w);
        self.energy.last = now.kinetic + now.stored;
        let error = (self.energy.last - self.energy.initial - self.work).abs();
        self.energy.largest_error = self.energy.largest_error.max(error);
    }

    fn end(&mut self, _: &mut StepView<'_>, into: &mut Summary) {
        into.energy = self.energy;
    }
}
