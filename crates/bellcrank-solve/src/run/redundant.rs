//! Looks after every step whether the equations that were left out hold by themselves.

use super::Simulation;
use super::observer::Observer;
use crate::engines::StepError;
use crate::redundancy::{self, Gauge, Opening};
use crate::start::{AssemblyError, contradicting};
use bellcrank_math::tape::Tape;
use bellcrank_model::{Point, Subject};

/// Rows that were left out are looked at closely once they are open by more than this, in lengths of the model (or rad), and
/// by this part of the largest speed.
const NOTICED: f64 = 1e-9;

/// Equations contradict each other if they stay open by more than this.
const CONTRADICTS: f64 = 1e-6;

/// After a close look that found nothing wrong, the next one is due when they are open this many times as far.
const LOOK_AGAIN_BEYOND: f64 = 10.0;

/// Other rows are left out where the smallest pivot of those that are kept has fallen to this part.
const WORN: f64 = 0.05;

/// What is known of the rows that were left out.
#[derive(Default)]
pub(super) struct LeftOutWatch {
    gauge: Gauge,
    /// What was open when they were looked at closely.
    harmless: Opening,
    /// The largest of the smallest pivots since they were chosen.
    pivot: f64,
    /// The largest speed so far, in lengths of the model per second.
    speed: f64,
}

impl LeftOutWatch {
    /// The equations are others.
    pub fn forget(&mut self) {
        *self = LeftOutWatch { speed: self.speed, ..LeftOutWatch::default() };
    }

    /// Tells a tape what one look leaves to the next.
    pub fn keep(&mut self, tape: &mut Tape) {
        for number in [&mut self.harmless.position, &mut self.harmless.velocity, &mut self.pivot, &mut self.speed] {
            tape.number(number);
        }
    }
}

impl Observer {
    /// A start without its redundant rows, of which a factorization found so many.
    pub(super) fn without_redundant(&mut self, start: &Point, redundant: usize) -> Result<Point, StepError> {
        if redundant == 0 {
            let mut start = start.clone();
            start.charts.left_out.of = self.dynamics.layout().m();
            return Ok(start);
        }
        start.store(&mut self.state);
        self.complete(&self.state.clone())
    }

    /// Chooses the rows to leave out at `self.state`, where that has not been done for these equations; whether there are any.
    /// The system has been factored there.
    pub(super) fn leave_out(&mut self) -> bool {
        let m = self.dynamics.layout().m();
        if self.state.charts.left_out.of == m {
            return false;
        }
        let mut kkt = self.kkt.lock();
        let dropped = kkt.dropped_rows();
        if self.sweeps && !dropped.is_empty() {
            self.of_tree = redundancy::rows_of_tree(&self.dynamics, &self.point);
        }
        let chosen = redundancy::choose(&*self.dynamics, &mut kkt, &self.point, &mut self.w, &dropped, &self.of_tree);
        self.state.charts.left_out = chosen;
        !self.state.charts.left_out.rows.is_empty()
    }
}

impl Simulation {
    /// Measures the rows that were left out at the accepted point. Where they open although the others are closed, other rows are
    /// left out; if that does not help, the equations contradict each other.
    pub(super) fn watch_left_out(&mut self) -> Result<(), StepError> {
        let observer = &mut self.observer;
        let at = self.engine.point();
        let (watch, m) = (&mut self.left_out, observer.dynamics.layout().m());
        if at.charts.left_out.among(m).is_empty() {
            return Ok(());
        }
        observer.realize(at);
        let open = watch.gauge.measure(&at.charts.left_out, &*observer.dynamics, at, &mut observer.w);
        let length = observer.dynamics.length();
        watch.speed = at.v.iter().fold(watch.speed, |m, v| m.max(v.abs() / length.max(1.0)));
        let bound = |part: f64| Opening { position: part, velocity: part * watch.speed.max(1e-3) };
        let noticed = Opening {
            position: bound(NOTICED).position.max(LOOK_AGAIN_BEYOND * watch.harmless.position),
            velocity: bound(NOTICED).velocity.max(LOOK_AGAIN_BEYOND * watch.harmless.velocity),
        };
        if open.is_within(noticed) {
            return self.watch_kept();
        }
        let bound = bound(CONTRADICTS);
        self.look_closely(open, bound)
    }

    #[cold]
    fn look_closely(&mut self, open: Opening, bound: Opening) -> Result<(), StepError> {
        let observer = &mut self.observer;
        let mut closed = self.engine.point().clone();
        let t = closed.t;
        let singular = |_| Observer::singular(t);
        let gauge = &mut self.left_out.gauge;
        let mut kkt = observer.kkt.lock();
        let left =
            gauge.measure_closed(&*observer.dynamics, &mut kkt, &mut closed, &mut observer.w).map_err(singular)?;
        if left.is_within(bound) {
            self.left_out.harmless = Opening {
                position: open.position.max(self.left_out.harmless.position),
                velocity: open.velocity.max(self.left_out.harmless.velocity),
            };
            return Ok(());
        }
        let mut other = self.engine.point().clone();
        let of_tree = &observer.of_tree;
        if let Some(rows) = redundancy::another(&*observer.dynamics, &mut kkt, &other, &mut observer.w, of_tree) {
            other.charts.left_out = rows;
            let left = gauge.measure_closed(&*observer.dynamics, &mut kkt, &mut other, &mut observer.w);
            if left.is_ok_and(|left| left.is_within(bound)) {
                drop(kkt);
                return self.leave_out_others(&other);
            }
        }
        drop(kkt);
        let rates = left.position <= bound.position;
        Err(self.contradiction(&closed, if rates { left.velocity } else { left.position }, rates))
    }

    /// Leaves out other rows where those that are kept have come close to dependent.
    fn watch_kept(&mut self) -> Result<(), StepError> {
        let Some((_, pivot)) = self.engine.rank() else { return Ok(()) };
        let watch = &mut self.left_out;
        watch.pivot = watch.pivot.max(pivot.min(1.0));
        if pivot > WORN * watch.pivot {
            return Ok(());
        }
        watch.pivot = pivot;
        let mut at = self.engine.point().clone();
        let Observer { dynamics, kkt, w, of_tree, .. } = &mut self.observer;
        let chosen = redundancy::another(&**dynamics, &mut kkt.lock(), &at, w, of_tree);
        let Some(rows) = chosen else { return Ok(()) };
        at.charts.left_out = rows;
        self.leave_out_others(&at)
    }

    /// Goes on from a point without the rows that it leaves out.
    fn leave_out_others(&mut self, at: &Point) -> Result<(), StepError> {
        at.store(&mut self.observer.state);
        let start = self.observer.consistent()?;
        self.left_out.forget();
        self.engine.restart(&start)?;
        self.monitors.energy.forget_power();
        self.monitors.companion.turn_back(&start);
        Ok(())
    }

    /// What contradicts itself at a point, as few as it takes.
    fn contradiction(&mut self, at: &Point, by: f64, rates: bool) -> StepError {
        let observer = &mut self.observer;
        let dynamics = observer.dynamics.clone();
        observer.realize(at);
        let mut sides: Vec<Subject> = contradicting(&*dynamics, at, &mut observer.w, rates);
        if sides.is_empty() {
            sides = redundancy::owners(&*dynamics, at);
        }
        StepError::Contradiction { t: at.t, sides, by: by * dynamics.length(), rates }
    }

    /// A mechanism without freedom that could not be closed: what contradicts itself.
    pub(super) fn explain_open(&mut self, e: StepError) -> StepError {
        let StepError::Open { t, why } = &e else { return e };
        let mut at = self.engine.point().clone();
        at.t = *t;
        let (by, rates) = match &**why {
            AssemblyError::Open { by, .. } => (*by, false),
            AssemblyError::Rates { by, .. } => (*by, true),
            _ => return e,
        };
        self.observer.realize(&at);
        let dynamics = self.observer.dynamics.clone();
        let sides = contradicting(&*dynamics, &at, &mut self.observer.w, rates);
        match sides.len() {
            0 | 1 => e,
            _ => StepError::Contradiction { t: *t, sides, by, rates },
        }
    }
}
