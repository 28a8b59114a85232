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
    begun: Option<StepWork>,
}

/// The power at a time.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Power {
    t: f64,
    power: f64,
}

/// The work of a step, but for the power at its end times a weight.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct StepWork {
    work: f64,
    weight: f64,
}

/// A rule of integration on [0, 1]: the weight of both ends, and places inside with one weight.
struct WithEnds {
    end: f64,
    inside: &'static [f64],
    weight: f64,
}

/// Simpson's rule, of order 4.
const SIMPSON: WithEnds = WithEnds { end: 1.0 / 6.0, inside: &[0.5], weight: 4.0 / 6.0 };
/// Lobatto's rule, of order 6 as Gauss's, with one point less to look at.
const LOBATTO: WithEnds =
    WithEnds { end: 1.0 / 12.0, inside: &[0.276_393_202_250_021_05, 0.723_606_797_749_978_95], weight: 5.0 / 12.0 };

impl EnergyMonitor {
    /// The part of the energy in motion that is wrong, and that energy, in J.
    pub fn in_motion(&self) -> (f64, f64) {
        let Energy { largest_error, moves, .. } = self.energy;
        (if moves > 0.0 { largest_error / moves } else { 0.0 }, moves)
    }

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
        EnergyMonitor { energy, work: 0.0, powered: observer.dynamics.has_power(), stored, known: None, begun: None }
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
    /// Adds the work of the step: as the method has integrated it, or on the dense output: by Simpson's or Lobatto's rule where the
    /// power at both ends is known, else by Gauss's.
    fn step(&mut self, view: &mut StepView<'_>) -> Result<(), StepError> {
        if !self.powered {
            return Ok(());
        }
        let StepView { from, to, engine, observer, .. } = view;
        if let Some(work) = engine.work().filter(|_| *to == engine.state().t) {
            self.work += work;
            return Ok(());
        }
        let reacts = observer.dynamics.driven() || observer.dynamics.reactive();
        let (ends, order) = (*to == engine.state().t, engine.order());
        let mut power = |place: f64, observer: &mut Observer| -> Result<f64, StepError> {
            engine.interpolate(place, &mut observer.state)?;
            if reacts {
                observer.accelerate()?;
            } else {
                observer.pose();
            }
            Ok(observer.dynamics.power(&observer.point, &mut observer.w))
        };
        if let Some(StepWork { work, weight }) = self.begun.take() {
            // nobody has looked at the end of that step
            self.work += work + weight * power(*from, observer)?;
        }
        let h = *to - *from;
        let known = self.known.take().filter(|known| known.t == *from && ends);
        if let Some(known) = known.filter(|_| !reacts) {
            let rule = if order <= 2 { SIMPSON } else { LOBATTO };
            let mut work = h * rule.end * known.power;
            for place in rule.inside {
                work += h * rule.weight * power(*from + place * h, observer)?;
            }
            self.begun = Some(StepWork { work, weight: h * rule.end });
            return Ok(());
        }
        for (place, weight) in GAUSS {
            self.work += h * weight * power(*from + place * h, observer)?;
        }
        Ok(())
    }

    fn measure(&mut self, view: &mut StepView<'_>) {
        let now = view.observer.dynamics.energy(view.engine.point(), &mut view.observer.w);
        self.known = Some(Power { t: view.engine.state().t, power: now.power });
        if let Some(StepWork { work, weight }) = self.begun.take() {
            self.work += work + weight * now.power;
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
