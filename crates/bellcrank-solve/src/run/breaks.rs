//! Breakpoints in time: runs land on them, and start anew where something jumps there.
//!
//! Functions of time tell where they bend ([`Course`]). A step ends at the last number before a breakpoint, so that no
//! stage of it sees what is behind. There the two sides are compared:
//!
//! | what jumps | what happens |
//! |---|---|
//! | a prescribed position | the run ends with the time: nothing moves in no time |
//! | a prescribed rate | velocities jump by the impulses of the joints, and the drive's is an event |
//! | a load, an acceleration, or the rate of a function | the method starts anew |
//! | higher derivatives | nothing: it is enough that no step passes over it |

use super::Simulation;
use super::observer::Observer;
use super::sampler::Sampler;
use crate::constraints::{add_position_residual, add_velocity_residual};
use crate::engines::StepError;
use crate::events::Event;
use crate::record::Recorder;
use bellcrank_math::tape::Tape;
use bellcrank_model::dynamics::{Ahead, Break, Course, Scale};
use bellcrank_model::file::Expression;
use bellcrank_model::model::Output;
use bellcrank_model::{Dynamics, Point, State, Unknown};
use std::ops::Range;

/// Relative jumps below this are rounding.
const ROUNDING: f64 = 1e-9;

/// A search that ended early goes on when a run comes this close, in steps.
const NEAR: f64 = 4.0;

/// The part of the range of a function that a step must not pass over: it would be hidden between the ends of the step.
const HIDDEN: f64 = 0.25;

/// The breakpoints ahead of a run: for each function of time the next one.
pub struct Timetable {
    courses: Vec<WatchedCourse>,
    /// Up to here they are passed.
    passed: f64,
    /// The last one at which the run started anew.
    gap: Option<Break>,
}

/// A function of time, and what is known of it.
struct WatchedCourse {
    course: Box<dyn Course>,
    ahead: Option<Ahead>,
    /// The range of its values up to the end of the run.
    range: Option<f64>,
}

impl Timetable {
    /// The breakpoints of some functions.
    pub fn new(courses: Vec<Box<dyn Course>>) -> Timetable {
        let courses = courses.into_iter().map(|course| WatchedCourse { course, ahead: None, range: None }).collect();
        Timetable { courses, passed: f64::NEG_INFINITY, gap: None }
    }

    /// The breakpoints of a machine and of its outputs, whose integrals and extremes must not step over them either.
    pub fn of(dynamics: &dyn Dynamics, outputs: &[Output]) -> Timetable {
        let bend = outputs.iter().filter(|output| output.value.bends());
        let of_outputs = bend.map(|output| Box::new(OfOutput(output.value.clone())) as Box<dyn Course>);
        Timetable::new(dynamics.courses().into_iter().chain(of_outputs).collect())
    }

    /// Whether there are no functions of time at all.
    pub fn is_empty(&self) -> bool {
        self.courses.is_empty()
    }

    /// The last one at which the run started anew.
    pub(super) fn gap(&self) -> Option<Break> {
        self.gap
    }

    /// What is ahead at a time, up to another one.
    pub fn ahead(&mut self, at: &State, until: f64) -> Ahead {
        self.next(at, until, 0.0)
    }

    /// Tells a tape what is known of the time ahead.
    pub(super) fn keep(&mut self, tape: &mut Tape) {
        for WatchedCourse { ahead, range, .. } in &mut self.courses {
            tape.plain(ahead);
            tape.plain(range);
        }
        tape.number(&mut self.passed);
        tape.plain(&mut self.gap);
    }

    /// A time in a step at which a function is infinite. Bounds that are infinite over ever shorter parts of the step lead there;
    /// functions whose bounds are not known at all have been told apart at the start.
    pub(super) fn pole(&mut self, at: &State, from: f64, to: f64, until: f64) -> Option<f64> {
        let inputs = &at.charts.inputs;
        for WatchedCourse { course, range, .. } in &mut self.courses {
            let wild = |a: f64, b: f64| !course.range(inputs, a, b).is_finite();
            let range = *range.get_or_insert_with(|| course.range(inputs, from, until));
            if range.is_finite() || !wild(from, to) {
                continue;
            }
            let (mut a, mut b) = (from, to);
            while b - a > 4.0 * f64::EPSILON * a.abs().max(b.abs()) {
                let middle = 0.5 * (a + b);
                (a, b) = match (wild(a, middle), wild(middle, b)) {
                    (true, true) if wild(middle, middle) => return Some(middle),
                    // bounds that are nowhere known, unless they are those of a few numbers next to each other
                    (true, true) if b - a < 1e-6 * (to - from) => {
                        return (b - a <= 1e4 * f64::EPSILON * b.abs()).then_some(middle);
                    }
                    (true, _) => (a, middle),
                    (false, true) => (middle, b),
                    (false, false) => break,
                };
            }
            if wild(a, b) {
                let mut t = a;
                while t < b && !wild(t, t) {
                    t = t.next_up();
                }
                return Some(t);
            }
        }
        None
    }

    /// Time or inputs are others: all are looked for anew.
    pub fn forget(&mut self) {
        self.courses.iter_mut().for_each(|e| (e.ahead, e.range) = (None, None));
        (self.passed, self.gap) = (f64::NEG_INFINITY, None);
    }

    /// What is ahead at a time up to the end of the run, for steps of size h.
    fn next(&mut self, at: &State, until: f64, h: f64) -> Ahead {
        let from = at.t.max(self.passed);
        let (mut first, mut clear): (Option<Break>, f64) = (None, until);
        for WatchedCourse { course, ahead, .. } in &mut self.courses {
            let start = match *ahead {
                Some(Ahead::Break(b)) if b.before >= from && b.after <= until => None,
                Some(Ahead::Clear(to)) if to >= until || to > from + NEAR * h => None,
                Some(Ahead::Clear(to)) => Some(from.max(to)),
                _ => Some(from),
            };
            if let Some(start) = start {
                *ahead = Some(course.next_break(&at.charts.inputs, start, until));
            }
            match *ahead {
                Some(Ahead::Clear(to)) => clear = clear.min(to),
                Some(Ahead::Break(b)) => first = Some(first.map_or(b, |f| earlier(f, b))),
                None => {}
            }
        }
        first.filter(|b| b.before <= clear).map_or(Ahead::Clear(clear), Ahead::Break)
    }

    /// The time that the next step of size h must not pass. Fixed steps are cut at breakpoints only.
    pub fn stop(&mut self, at: &State, until: f64, h: f64, fixed: bool) -> f64 {
        if self.courses.is_empty() {
            return until;
        }
        let stop = match self.next(at, until, h) {
            Ahead::Clear(to) => to.min(until),
            Ahead::Break(b) => b.before,
        };
        if fixed {
            return stop;
        }
        let left = stop - at.t;
        // two equal steps in place of a long one and a short one, after which a method would have to grow again
        let stop = if stop < until && left > h * 1.001 && left < 2.0 * h { at.t + 0.5 * left } else { stop };
        let end = stop.min(at.t + h);
        let seen = self.unhidden(at, until, end);
        if seen < end { seen } else { stop }
    }

    /// The end of a step that hides no pulse of any function.
    fn unhidden(&mut self, at: &State, until: f64, mut end: f64) -> f64 {
        for WatchedCourse { course, range, .. } in &mut self.courses {
            let inputs = &at.charts.inputs;
            let range = *range.get_or_insert_with(|| course.range(inputs, at.t, until));
            if range > 0.0 && range.is_finite() {
                end = course.unhidden(inputs, at.t, end, HIDDEN * range);
            }
        }
        end
    }

    /// The breakpoint that a state has come to, if it has.
    pub fn due(&mut self, at: &State, until: f64) -> Option<Break> {
        if self.courses.is_empty() {
            return None;
        }
        match self.next(at, until, 0.0) {
            Ahead::Break(b) if b.before <= at.t + 8.0 * f64::EPSILON * at.t.abs() => {
                self.passed = b.after;
                Some(b)
            }
            _ => None,
        }
    }

    /// The run started anew at a time: it stands for those from another one on.
    pub(super) fn start_anew(&mut self, before: f64, after: f64) {
        self.gap = Some(Break { before, after, bends: false });
    }

    /// Whether a time lies in the last breakpoint, so that what is behind it stands for it.
    fn is_within(&self, t: f64, at: &State) -> bool {
        self.gap.is_some_and(|gap| at.t == gap.after && t >= gap.before && t <= gap.after)
    }
}

/// The expression of an output: its variables are time and channels, of which nothing is known ahead.
struct OfOutput(Expression);

impl Course for OfOutput {
    fn next_break(&self, _inputs: &[f64], from: f64, to: f64) -> Ahead {
        self.0.next_break(&[], from, to)
    }

    /// Nothing moves by it: it may be infinite, and smooth pulses of it hide as they do in channels.
    fn range(&self, _inputs: &[f64], _from: f64, _to: f64) -> f64 {
        0.0
    }
}

/// The earlier of two breakpoints, or one for both where they overlap.
fn earlier(a: Break, b: Break) -> Break {
    if b.before >= a.after {
        a
    } else if a.before >= b.after {
        b
    } else {
        Break { before: a.before.min(b.before), after: a.after.max(b.after), bends: a.bends || b.bends }
    }
}

/// A drive whose rate jumped.
struct Jolt {
    name: String,
    /// How much, and the impulse that it took, with their units.
    rate: f64,
    impulse: f64,
    units: [&'static str; 2],
}

impl Observer {
    /// Goes over from a state to one with the same positions at another time, or with other inputs. Velocities jump where drives
    /// want others: M Δv + Gᵀ Λ = 0, G (v + Δv) + g_t = 0. Gives the drives that jump, with their impulses −Λ. What moves less than
    /// rounding in the time of the run does not jump.
    fn leap(&mut self, before: &State, after: &State, span: f64) -> Result<Vec<Jolt>, StepError> {
        let m = self.dynamics.layout().m();
        if m == 0 || !self.dynamics.driven() {
            self.state.clone_from(after);
            return Ok(Vec::new());
        }
        let [old, new] = [before, after].map(|state| {
            self.state.clone_from(state);
            self.place();
            let (mut g, mut rate) = (vec![0.0; m], vec![0.0; m]);
            add_position_residual(&*self.dynamics, 1.0, &self.point, &mut self.w, &mut g);
            add_velocity_residual(&*self.dynamics, 1.0, &self.point, &mut self.w, &mut rate);
            [g, rate]
        });
        let largest = |x: &[f64]| x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let length = self.dynamics.length();
        let jumps = |level: usize, row: usize, bound: f64| (new[level][row] - old[level][row]).abs() > bound;
        let bound = ROUNDING * length.min(1.0) + 1e-12 * largest(&after.q);
        if let Some(row) = (0..m).find(|row| jumps(0, *row, bound)) {
            let (block, _) = self.block_of(row);
            let [unit, _] = self.units_of(row);
            let by = (new[0][row] - old[0][row]).abs();
            let culprit = self.dynamics.subject(Unknown::Lambda, block);
            return Err(StepError::Jump {
                t: after.t,
                culprit,
                by: format!("{by:.6} {}", unit.trim_end_matches("/s")),
            });
        }
        let bound = ROUNDING * largest(&after.v).max(length.min(1.0) / span);
        let rows: Vec<usize> = (0..m).filter(|row| jumps(1, *row, bound)).collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let t = self.state.t;
        let (change, impulses) = {
            let mut kkt = self.kkt.lock();
            kkt.factor(&self.point, &mut self.w).map_err(|_| Observer::singular(t))?;
            let fill = |rows: &mut [f64]| rows.iter_mut().zip(&new[1]).for_each(|(r, x)| *r = -x);
            let impulses = kkt.close(fill).map_err(|_| Observer::singular(t))?.to_vec();
            (kkt.project(fill).map_err(|_| Observer::singular(t))?.to_vec(), impulses)
        };
        self.state.v.iter_mut().zip(change).for_each(|(v, d)| *v += d);
        let mut jolts: Vec<(usize, Jolt)> = Vec::new();
        let norm = |x: &[f64], range: &Range<usize>| x[range.clone()].iter().map(|x| x * x).sum::<f64>().sqrt();
        for row in rows {
            let (block, range) = self.block_of(row);
            if jolts.last().is_some_and(|(last, _)| *last == block) {
                continue;
            }
            let difference: Vec<f64> = new[1].iter().zip(&old[1]).map(|(a, b)| a - b).collect();
            let one = range.len() == 1;
            let rate = if one { -difference[row] } else { norm(&difference, &range) };
            let impulse = if one { -impulses[row] } else { norm(&impulses, &range) };
            let name = self.dynamics.name(Unknown::Lambda, block);
            jolts.push((block, Jolt { name, rate, impulse, units: self.units_of(row) }));
        }
        Ok(jolts.into_iter().map(|(_, jolt)| jolt).collect())
    }

    /// The constraint block of a row, and its rows.
    fn block_of(&self, row: usize) -> (usize, Range<usize>) {
        let blocks = &self.dynamics.layout().constraints;
        let block = blocks.partition_point(|r| r.end <= row);
        (block, blocks[block].clone())
    }

    /// The units of the rate and the impulse of a row at the present point.
    fn units_of(&mut self, row: usize) -> [&'static str; 2] {
        let scales = self.dynamics.scales();
        let rows = self.kkt.lock().constraint_rows(&self.point, &mut self.w);
        let shifts = rows[row].iter().any(|(column, g)| scales[*column] != Scale::Angle && g.abs() > 1e-9);
        if shifts { ["m/s", "N s"] } else { ["rad/s", "N m s"] }
    }
}

/// Whether accelerations or rates of states at two points are others than rounding makes them.
pub fn accelerations_differ(a: &Point, b: &Point) -> bool {
    let differs = |a: &[f64], b: &[f64]| {
        let size = a.iter().chain(b).fold(0.0f64, |m, x| m.max(x.abs()));
        a.iter().zip(b).any(|(a, b)| (a - b).abs() > ROUNDING * size)
    };
    differs(&a.vdot, &b.vdot) || differs(&a.zdot, &b.zdot)
}

impl Simulation {
    /// The time that the next step must not pass: the end of the run, the next breakpoint or the next exchange with an FMU.
    pub(super) fn stop(&mut self, until: f64) -> f64 {
        let until = until.min(self.guests.next());
        let (state, h) = (self.engine.state(), self.engine.step_size());
        self.timetable.stop(state, until, h, self.options.step.is_some())
    }

    /// Crosses the breakpoints that the run has come to.
    pub(super) fn cross_breaks(
        &mut self,
        until: f64,
        sampler: &mut Option<Sampler>,
        out: &mut dyn Recorder,
    ) -> Result<(), StepError> {
        while let Some(mut b) = self.timetable.due(self.engine.state(), until) {
            // a method does not step over what its clock cannot resolve: at the end of a run it is put there
            let ends = until - b.before <= 64.0 * f64::EPSILON * until.abs();
            if ends {
                b.after = until;
            }
            let from = self.engine.state().clone();
            let mut to = from.clone();
            to.t = b.after;
            let left = if b.bends || ends { None } else { Some(self.observer.complete(&from)?) };
            if !self.change_over(&from, &to, left.as_ref(), out)? {
                continue;
            }
            self.timetable.gap = Some(b);
            self.sample(b.after, sampler, out)?;
        }
        Ok(())
    }

    /// Crosses the breakpoints that a state has come to whose integrator is somewhere else; velocities follow drives whose
    /// rates jump. Whether there were any: the state is behind them then.
    pub fn cross_breaks_at(&mut self, state: &mut State, until: f64) -> Result<bool, StepError> {
        let mut crossed = false;
        while let Some(b) = self.timetable.due(state, until) {
            let mut to = state.clone();
            to.t = b.after;
            let jolts = self.observer.leap(state, &to, until)?;
            if !jolts.is_empty() {
                self.observer.consistent()?;
                to.clone_from(&self.observer.state);
            }
            *state = to;
            crossed = true;
        }
        self.observed = false;
        Ok(crossed)
    }

    /// Records at the time of a breakpoint see what is behind it.
    pub(super) fn look_at(&mut self, t: f64) -> Result<(), StepError> {
        if self.timetable.is_within(t, self.engine.state()) {
            self.observer.state.clone_from(self.engine.state());
            return Ok(());
        }
        self.observer.go_to(t, &mut *self.engine)
    }

    /// Goes on from a state behind a jump of something that is given from outside; velocities follow drives whose rates jump.
    /// With the point before it, only where accelerations jump too. Whether the method started anew.
    pub(super) fn change_over(
        &mut self,
        from: &State,
        to: &State,
        left: Option<&Point>,
        out: &mut dyn Recorder,
    ) -> Result<bool, StepError> {
        let visited = if self.guests.tenants.is_empty() { None } else { Some(self.visited(to)?) };
        let left = left.filter(|_| !visited.as_ref().is_some_and(|(_, changed)| *changed));
        let to = visited.as_ref().map_or(to, |(state, _)| state);
        let observer = &mut self.observer;
        let jolts = observer.leap(from, to, self.options.until)?;
        if !jolts.is_empty() {
            let behind = observer.state.clone();
            observer.state.clone_from(to);
            let before = observer.kinetic();
            observer.state = behind;
            self.monitors.energy.work += observer.kinetic() - before;
        }
        let start = if jolts.is_empty() { observer.complete(to)? } else { observer.consistent()? };
        if jolts.is_empty() && left.is_some_and(|left| !accelerations_differ(left, &start)) {
            return Ok(false);
        }
        // at the start of a run there is nothing before that could be hit
        for jolt in jolts.iter().filter(|_| self.engine.statistics().steps + self.earlier.steps > 0) {
            let [rate, impulse] = jolt.units;
            let what =
                format!("jolts: its rate jumps by {:.6} {rate}, impulse {:.6} {impulse}", jolt.rate, jolt.impulse);
            let event = Event { t: to.t, name: jolt.name.clone(), what };
            out.event(&event).map_err(|e| StepError::Record(e.to_string()))?;
            self.passing.events.push(event);
        }
        self.observed = false;
        self.engine.restart(&start)?;
        self.monitors.companion.restart(&start);
        self.passing.restart_behind_jump();
        self.monitors.energy.forget_power();
        if !jolts.is_empty() {
            self.jumped(to.t)?;
        }
        Ok(true)
    }
}
