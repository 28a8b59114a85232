//! The balance of energy: what is there against what came in.

use super::{GAUSS, Monitor, StepView};
use crate::engines::StepError;
use crate::run::observer::Observer;
use crate::run::summary::{Energy, Summary};
use bellcrank_model::dynamics::Scale;
use bellcrank_model::{Piece, Point};

/// Compares the energy with what was there at the start and the work done since.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct EnergyMonitor {
    energy: Energy,
    /// Work that came in, of impacts too.
    pub work: f64,
    /// Whether any force or drive does work that is not stored.
    powered: bool,
    /// The least and the most energy that was stored.
    stored: (f64, f64),
    /// The power where the last step ended, if nothing has jumped since, and what is known of the present step.
    known: Option<Power>,
    middle: Option<Middle>,
}

/// The power at a time.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Power {
    t: f64,
    power: f64,
}

/// A step size, with the power at its beginning and in its middle.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Middle {
    h: f64,
    first: f64,
    middle: f64,
}

impl EnergyMonitor {
    /// Something jumps: the power at the end of a step is not that at the beginning of the next.
    pub fn forget_power(&mut self) {
        self.known = None;
    }

    pub fn new(observer: &mut Observer, start: &Point) -> EnergyMonitor {
        observer.realize(start);
        let at_start = observer.dynamics.energy(start, &mut observer.w);
        let initial = at_start.kinetic + at_start.stored;
        let within_reach = within_reach(observer, start);
        let energy = Energy { initial, last: initial, within_reach, ..Energy::default() };
        let stored = (at_start.stored, at_start.stored);
        EnergyMonitor { energy, work: 0.0, powered: observer.dynamics.has_power(), stored, known: None, middle: None }
    }
}

/// The work that the largest force could do along the machine's size, or the largest torque in a turn by one radian.
fn within_reach(observer: &mut Observer, start: &Point) -> f64 {
    let (dynamics, w) = (&*observer.dynamics, &mut observer.w);
    let mut force = vec![0.0; start.v.len()];
    dynamics.add(1.0, Piece::Force, start, w, &mut force);
    let (length, scales) = (dynamics.length(), dynamics.scales());
    let work = |(f, scale): (&f64, &Scale)| if *scale == Scale::Length { f.abs() * length } else { f.abs() };
    force.iter().zip(&scales).map(work).fold(0.0, f64::max)
}

impl Monitor for EnergyMonitor {
    /// Adds the work of the step: as the method has integrated it, by Simpson's rule where that is of second order, or by Gauss's
    /// rule on the dense output.
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
        let reacts = observer.dynamics.driven() || observer.dynamics.reactive();
        let known = self.known.take().filter(|known| known.t == *from && *to == engine.state().t);
        if let Some(known) = known.filter(|_| engine.order() <= 2 && !reacts) {
            engine.interpolate(*from + 0.5 * h, &mut observer.state)?;
            observer.place();
            let middle = observer.dynamics.power(&observer.point, &mut observer.w);
            self.middle = Some(Middle { h, first: known.power, middle });
            return Ok(());
        }
        for (place, weight) in GAUSS {
            engine.interpolate(*from + place * h, &mut observer.state)?;
            if reacts {
                observer.accelerate()?;
            } else {
                observer.place();
            }
            let power = observer.dynamics.power(&observer.point, &mut observer.w);
            self.work += h * weight * power;
        }
        Ok(())
    }

    fn measure(&mut self, view: &mut StepView<'_>) {
        let now = view.observer.dynamics.energy(view.engine.point(), &mut view.observer.w);
        self.known = Some(Power { t: view.engine.state().t, power: now.power });
        if let Some(Middle { h, first, middle }) = self.middle.take() {
            self.work += h / 6.0 * (first + 4.0 * middle + now.power);
        }
        self.energy.last = now.kinetic + now.stored;
        let error = (self.energy.last - self.energy.initial - self.work).abs();
        self.energy.largest_error = self.energy.largest_error.max(error);
        self.stored = (self.stored.0.min(now.stored), self.stored.1.max(now.stored));
        self.energy.moves = self.energy.moves.max(now.kinetic).max(self.stored.1 - self.stored.0);
    }

    fn end(&mut self, _: &mut StepView<'_>, into: &mut Summary) {
        into.energy = self.energy;
    }
}
