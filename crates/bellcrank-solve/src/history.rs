//! What a run looked like from inside: step sizes, orders, iterations, what was refused and whom to blame.
//!
//! All of it is bounded: of many steps neighbours are joined, so that a run of any length has at most
//! a fixed number of entries and a warm step allocates nothing.

use crate::engines::Refusal;
use crate::events::Event;
use bellcrank_model::{Dynamics, Unknown};

/// So many stretches are kept.
const STRETCHES: usize = 2048;
/// So many culprits are told apart.
const CULPRITS: usize = 256;

/// A step as it was taken.
#[derive(Clone, Copy, Debug)]
pub struct AcceptedStep<'a> {
    /// Its end.
    pub t: f64,
    /// Its size.
    pub h: f64,
    /// The order that was in use.
    pub order: usize,
    /// Newton iterations, of refused attempts too.
    pub iterations: usize,
    /// What was refused before.
    pub refusals: &'a [Refusal],
    /// All events so far.
    pub events: &'a [Event],
}

/// Some steps in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stretch {
    /// Where it ends.
    pub t: f64,
    /// Number of steps.
    pub steps: usize,
    /// The smallest and the largest step.
    pub h: (f64, f64),
    /// The lowest and the highest order.
    pub order: (usize, usize),
    /// Newton iterations.
    pub iterations: usize,
    /// Steps that were refused.
    pub refused: usize,
}

impl Stretch {
    /// A single step.
    pub fn of(s: &AcceptedStep) -> Stretch {
        Stretch {
            t: s.t,
            steps: 1,
            h: (s.h, s.h),
            order: (s.order, s.order),
            iterations: s.iterations,
            refused: s.refusals.len(),
        }
    }

    /// With the steps that follow.
    pub fn join(&self, next: &Stretch) -> Stretch {
        Stretch {
            t: next.t,
            steps: self.steps + next.steps,
            h: (self.h.0.min(next.h.0), self.h.1.max(next.h.1)),
            order: (self.order.0.min(next.order.0), self.order.1.max(next.order.1)),
            iterations: self.iterations + next.iterations,
            refused: self.refused + next.refused,
        }
    }
}

/// Who was to blame for refused steps, and when.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Culprit {
    /// The block of unknowns; `None` for all that came after the table was full.
    pub owner: Option<(Unknown, usize)>,
    /// Steps with too large an error.
    pub errors: usize,
    /// Steps in which Newton's iteration did not converge.
    pub convergence: usize,
    /// The first and the last time.
    pub times: (f64, f64),
    /// The smallest step that was refused.
    pub least: f64,
}

/// The history of a run.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct History {
    /// The steps, in order.
    pub stretches: Vec<Stretch>,
    /// The steps in each stretch, but for the last.
    every: usize,
    /// Whom refused steps are blamed on, in order of appearance.
    pub culprits: Vec<Culprit>,
}

impl Default for History {
    fn default() -> History {
        History { stretches: Vec::with_capacity(STRETCHES), every: 1, culprits: Vec::with_capacity(CULPRITS + 1) }
    }
}

impl History {
    /// Adds a step.
    pub fn add(&mut self, s: &AcceptedStep) {
        self.blame(s.t - s.h, s.refusals);
        let one = Stretch::of(s);
        match self.stretches.last_mut() {
            Some(last) if last.steps < self.every => *last = last.join(&one),
            _ => {
                if self.stretches.len() == STRETCHES {
                    for k in 0..STRETCHES / 2 {
                        self.stretches[k] = self.stretches[2 * k].join(&self.stretches[2 * k + 1]);
                    }
                    self.stretches.truncate(STRETCHES / 2);
                    self.every *= 2;
                }
                self.stretches.push(one);
            }
        }
    }

    /// Adds attempts that were refused at a time.
    pub fn blame(&mut self, t: f64, refusals: &[Refusal]) {
        for r in refusals {
            let full = self.culprits.len() >= CULPRITS;
            let found = self.culprits.iter().position(|c| c.owner == Some(r.owner));
            let k = found.or_else(|| full.then(|| self.culprits.iter().position(|c| c.owner.is_none())).flatten());
            let c = match k {
                Some(k) => &mut self.culprits[k],
                None => {
                    let owner = (!full).then_some(r.owner);
                    self.culprits.push(Culprit { owner, errors: 0, convergence: 0, times: (t, t), least: r.h });
                    let last = self.culprits.len() - 1;
                    &mut self.culprits[last]
                }
            };
            c.errors += usize::from(!r.convergence);
            c.convergence += usize::from(r.convergence);
            c.times.1 = t;
            c.least = c.least.min(r.h);
        }
    }

    /// The culprits under the user's names, the worst first: name, counts, times.
    pub fn named(&self, dynamics: &dyn Dynamics) -> Vec<(String, Culprit)> {
        let name = |c: &Culprit| c.owner.map_or_else(|| "others".to_string(), |(u, k)| dynamics.name(u, k));
        let mut all: Vec<(String, Culprit)> = Vec::new();
        for c in &self.culprits {
            let name = name(c);
            // positions and velocities of a body are one body
            match all.iter_mut().find(|(n, _)| *n == name) {
                Some((_, known)) => {
                    known.errors += c.errors;
                    known.convergence += c.convergence;
                    known.times = (known.times.0.min(c.times.0), known.times.1.max(c.times.1));
                    known.least = known.least.min(c.least);
                }
                None => all.push((name, *c)),
            }
        }
        all.sort_by_key(|(_, c)| std::cmp::Reverse(c.errors + c.convergence));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(k: usize, refusals: &[Refusal]) -> AcceptedStep<'_> {
        AcceptedStep {
            t: (k + 1) as f64,
            h: 1.0 + (k % 7) as f64,
            order: 1 + k % 5,
            iterations: 2,
            refusals,
            events: &[],
        }
    }

    #[test]
    fn a_long_run_is_kept_in_bounds_and_loses_no_step() {
        let mut h = History::default();
        let (room, n) = (h.stretches.capacity(), 100_001);
        let refusal = [Refusal { h: 0.5, convergence: false, owner: (Unknown::Q, 3) }];
        (0..n).for_each(|k| h.add(&step(k, if k % 10 == 0 { &refusal } else { &[] })));
        assert!(h.stretches.len() <= STRETCHES && h.stretches.capacity() == room);
        let sum = |f: fn(&Stretch) -> usize| h.stretches.iter().map(f).sum::<usize>();
        assert_eq!([sum(|s| s.steps), sum(|s| s.iterations), sum(|s| s.refused)], [n, 2 * n, n.div_ceil(10)]);
        assert!(h.stretches.is_sorted_by(|a, b| a.t < b.t));
        assert_eq!(h.stretches.last().map(|s| s.t), Some(n as f64));
        let h_range = h.stretches.iter().fold((9.0, 0.0f64), |m: (f64, f64), s| (m.0.min(s.h.0), m.1.max(s.h.1)));
        assert_eq!(h_range, (1.0, 7.0));
        assert_eq!((h.culprits.len(), h.culprits[0].errors), (1, n.div_ceil(10)));
    }

    #[test]
    fn more_culprits_than_fit_are_told_together() {
        let mut h = History::default();
        for k in 0..CULPRITS + 50 {
            h.blame(k as f64, &[Refusal { h: 1e-3, convergence: k % 2 == 0, owner: (Unknown::V, k) }]);
        }
        assert_eq!(h.culprits.len(), CULPRITS + 1);
        let rest = h.culprits[CULPRITS];
        assert_eq!((rest.owner, rest.errors + rest.convergence), (None, 50));
    }
}
