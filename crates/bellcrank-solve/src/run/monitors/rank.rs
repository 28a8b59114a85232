//! Watches the rank of the constraints: its changes, and singular positions passed by.

use super::{Monitor, StepView};
use crate::engines::{Engine, StepError};
use crate::events::Event;
use crate::redundancy;
use crate::run::observer::Observer;
use crate::run::summary::Summary;
use bellcrank_model::dynamics::LeftOut;
use bellcrank_model::{Dynamics, Point, Workspace};

/// Constraints with a pivot below this fraction of what it was summed from are close to singular.
const CLOSE: f64 = 1e-4;

/// Below this an evaluation inside a step calls for a search.
const SUSPICIOUS: f64 = 1e-2;

/// Points of a search by golden section.
const SEARCHES: usize = 24;
const GOLDEN: f64 = 0.618_033_988_749_894_8;

/// A root of a pivot that needs more than so many steps to vanish does not do so within one.
const FAR: f64 = 4.0;

/// A small pivot that was cleared is looked into again when it has fallen to this part.
const LOOK_AGAIN: f64 = 0.1;

/// A pivot that was left out counts as this.
const DROPPED: f64 = 1e-9;

/// Most changes of the rank that are reported.
const MOST_CHANGES: usize = 50;

/// A passage by a singular position, at its closest.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Passage {
    t: f64,
    pivot: f64,
    /// By how much the rank falls there.
    fall: usize,
}

/// The smallest relative pivot at a time.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Pivot {
    t: f64,
    value: f64,
}

/// How singular a position is: less the number of redundant rows, then the smallest pivot of the others. The least of
/// both is at the tip.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Nearness {
    less_dropped: isize,
    pivot: f64,
}

/// Takes notice of the rank at accepted steps, and inside steps where it looks suspicious.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct RankMonitor {
    redundant: usize,
    passage: Option<Passage>,
    changes: usize,
    /// Pivots of the evaluations of a step.
    seen: Vec<Pivot>,
    /// The last pivot of the step before.
    edge: Option<Pivot>,
    /// The smallest pivot that was looked into and told of no singular position.
    cleared: f64,
    /// What the search of the last step found at its end.
    searched: Option<Searched>,
}

/// The root of the smallest pivot at a time, and how fast it fell in the step before.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Searched {
    t: f64,
    root: f64,
    falls: f64,
}

impl RankMonitor {
    pub fn new(redundant: usize) -> RankMonitor {
        RankMonitor {
            redundant,
            passage: None,
            changes: 0,
            seen: Vec::with_capacity(32),
            edge: None,
            cleared: f64::INFINITY,
            searched: None,
        }
    }

    /// Takes notice of the rank at a sample, where accepted steps know nothing of it.
    pub fn sample(&mut self, t: f64, view: &mut StepView<'_>) {
        if view.engine.rank().is_none() && view.engine.pivots().is_empty() {
            let kkt = view.observer.kkt.lock();
            let (redundant, pivot) = (kkt.dropped(), kkt.smallest_pivot());
            drop(kkt);
            let observer = &mut *view.observer;
            let pivot = self.proved(pivot, redundant, &*observer.dynamics, &observer.point, &mut observer.w);
            self.notice(t, redundant, pivot, view.events);
        }
    }

    /// Takes notice of the rank at a time: of its changes, and of singular positions passed by.
    fn notice(&mut self, t: f64, redundant: usize, pivot: f64, events: &mut Vec<Event>) {
        if redundant != self.redundant {
            let before = self.redundant;
            let what =
                format!("has {redundant} redundant equations instead of {before}: the position is singular, or was");
            self.report(t, what, events);
            self.redundant = redundant;
        }
        match self.passage {
            // where rows are redundant, those that are kept need not be the best
            _ if pivot < CLOSE && redundant == 0 => {
                let closest = self.passage.filter(|passage| passage.pivot <= pivot);
                self.passage = closest.or(Some(Passage { t, pivot, fall: 0 }));
            }
            // infinite: not known
            Some(Passage { t, pivot: least, fall }) if pivot.is_finite() => {
                self.passage = None;
                let rank = if fall > 0 { format!(": the rank falls by {fall} there") } else { String::new() };
                self.report(t, format!("passed by a singular position (smallest pivot {least:.1e}){rank}"), events);
            }
            _ => {}
        }
    }

    fn report(&mut self, t: f64, what: String, events: &mut Vec<Event>) {
        self.changes += 1;
        if self.changes <= MOST_CHANGES {
            events.push(Event { t, name: "the model".into(), what });
        }
    }

    /// A pivot at a realized point that tells of a singular position; 1 if it does not, whatever its size.
    fn proved(&mut self, pivot: f64, redundant: usize, of: &dyn Dynamics, at: &Point, w: &mut Workspace) -> f64 {
        if pivot >= CLOSE || redundant > 0 {
            self.cleared = f64::INFINITY;
            return pivot;
        }
        if pivot > LOOK_AGAIN * self.cleared {
            return 1.0;
        }
        if redundancy::is_singular(of, at, w) {
            return pivot;
        }
        self.cleared = pivot;
        1.0
    }

    fn found_inside(&self) -> bool {
        self.passage.is_some_and(|passage| passage.fall > 0)
    }

    /// Searches where a step knows one pivot alone. The root of a pivot is linear in time on both sides of a singular
    /// position, so three of them tell whether it is inside; both ends do, where it falls too slowly to vanish within some steps.
    fn search_between(&mut self, pivot: f64, view: &mut StepView<'_>) -> Result<(), StepError> {
        let known = self.searched.take().filter(|known| known.t == view.from);
        if pivot >= SUSPICIOUS {
            return Ok(());
        }
        let (from, to) = (view.from, view.to);
        let mut root = |t: f64| -> Result<f64, StepError> {
            let near = nearness(t, view.engine, view.observer)?;
            Ok(if near.less_dropped < 0 { 0.0 } else { near.pivot.sqrt() })
        };
        let a = known.map_or_else(|| root(from), |known| Ok(known.root))?;
        let b = root(to)?;
        self.searched = Some(Searched { t: to, root: b, falls: (a - b) / (to - from) });
        let (least, most) = (a.min(b), a.max(b));
        let falls = known.map_or(f64::INFINITY, |known| (known.falls * (to - from)).max(most - least));
        if FAR * falls < least {
            return Ok(());
        }
        let middle = root(0.5 * (from + to))?;
        // halfway between what a tip inside makes of the middle and what one outside does; or it is next to an end
        if middle < 0.5 * most || least < 0.02 * most {
            self.refine(from, to, view)?;
        }
        Ok(())
    }

    /// Finds the smallest pivot between two times of the last step by golden section, which finds the tip of a V.
    fn refine(&mut self, mut a: f64, mut b: f64, view: &mut StepView<'_>) -> Result<(), StepError> {
        let (mut c, mut d) = (b - GOLDEN * (b - a), a + GOLDEN * (b - a));
        let mut at_c = nearness(c, view.engine, view.observer)?;
        let mut at_d = nearness(d, view.engine, view.observer)?;
        let mut best = if at_c < at_d { (c, at_c) } else { (d, at_d) };
        for _ in 0..SEARCHES {
            if at_c <= at_d {
                (b, d, at_d) = (d, c, at_c);
                c = b - GOLDEN * (b - a);
                at_c = nearness(c, view.engine, view.observer)?;
            } else {
                (a, c, at_c) = (c, d, at_d);
                d = a + GOLDEN * (b - a);
                at_d = nearness(d, view.engine, view.observer)?;
            }
            for found in [(c, at_c), (d, at_d)] {
                best = if found.1 < best.1 { found } else { best };
            }
        }
        let (t, near) = best;
        let fall = near.less_dropped.min(0).unsigned_abs();
        let pivot = if fall > 0 { DROPPED } else { near.pivot };
        if pivot >= CLOSE {
            return Ok(());
        }
        if fall == 0 {
            let observer = &mut *view.observer;
            observer.go_to(t, view.engine)?;
            observer.place();
            if !redundancy::is_singular(&*observer.dynamics, &observer.point, &mut observer.w) {
                return Ok(());
            }
        }
        match self.passage {
            // one that was found is over when the next one is
            Some(before) if before.fall > 0 && fall > 0 => {
                self.notice(t, 0, 1.0, view.events);
                self.passage = Some(Passage { t, pivot, fall });
            }
            Some(before) if before.pivot <= pivot => {}
            _ => self.passage = Some(Passage { t, pivot, fall }),
        }
        Ok(())
    }
}

/// How singular the position at a time of the last step is.
fn nearness(t: f64, engine: &mut dyn Engine, observer: &mut Observer) -> Result<Nearness, StepError> {
    observer.go_to(t, engine)?;
    observer.place();
    // pivots are to tell of the rank
    observer.point.charts.left_out = LeftOut::default();
    let mut kkt = observer.kkt.lock();
    kkt.prepare(&observer.point, &mut observer.w).map_err(|_| Observer::singular(t))?;
    Ok(Nearness { less_dropped: -(kkt.dropped() as isize), pivot: kkt.smallest_pivot() })
}

impl Monitor for RankMonitor {
    /// Looks for singular positions inside the step, where its evaluations came close to one.
    fn step(&mut self, view: &mut StepView<'_>) -> Result<(), StepError> {
        let (from, to) = (view.from, view.to);
        let mut seen = std::mem::take(&mut self.seen);
        seen.clear();
        let evaluated = view.engine.pivots().iter().map(|&(t, value)| Pivot { t, value });
        seen.extend(evaluated.filter(|p| (from..=to).contains(&p.t)));
        seen.extend(self.edge.filter(|e| e.t == from));
        // a time that was evaluated twice counts once, with its smaller pivot
        seen.sort_unstable_by(|a, b| a.t.total_cmp(&b.t).then(a.value.total_cmp(&b.value)));
        seen.dedup_by(|b, a| a.t == b.t);
        let last = seen.last().copied();
        for i in 0..seen.len() {
            let Pivot { t, value } = seen[i];
            let before = if i > 0 { seen[i - 1] } else { Pivot { t: from, value: f64::INFINITY } };
            let after = seen.get(i + 1).copied().unwrap_or(Pivot { t: to, value: f64::INFINITY });
            let inside = t > from && t < to;
            let least = value <= before.value && value < after.value;
            if self.redundant == 0 && least && value < SUSPICIOUS && (inside || value < CLOSE) {
                self.refine(before.t, after.t, view)?;
            }
        }
        self.seen = seen;
        self.edge = last.filter(|_| !self.found_inside());
        if let Some(pivot) = view.engine.pivot_of_step().filter(|_| self.redundant == 0) {
            self.search_between(pivot, view)?;
        }
        Ok(())
    }

    /// How fast pivots fall is another matter now.
    fn jump(&mut self, _: &mut StepView<'_>) -> Result<(), StepError> {
        self.searched = None;
        Ok(())
    }

    fn measure(&mut self, view: &mut StepView<'_>) {
        let t = view.engine.state().t;
        match view.engine.rank() {
            Some((redundant, pivot)) => {
                let (observer, at) = (&mut *view.observer, view.engine.point());
                let pivot = self.proved(pivot, redundant, &*observer.dynamics, at, &mut observer.w);
                self.notice(t, redundant, pivot, view.events)
            }
            // a singular position found inside a step, where accepted steps know nothing of the rank
            None if self.found_inside() => self.notice(t, self.redundant, 1.0, view.events),
            None => {}
        }
    }

    fn end(&mut self, view: &mut StepView<'_>, into: &mut Summary) {
        // a passage that was not over
        self.notice(view.engine.state().t, self.redundant, 1.0, view.events);
        into.events = view.events.clone();
    }
}
