//! Narrow features of functions of the state: no step passes over one unseen.
//!
//! A method knows the forces at the times at which it evaluates them. What a spring's curve or an expression does between two of these
//! places, over a short interval of its argument, it never learns. So the arguments x(t) of every such function F are looked at on the
//! dense output of an accepted step, and bounds of F over what they swept are compared with what the step could see:
//!
//! ```text
//! min(F_a, F_b) − S ≤ F ≤ max(F_a, F_b) + S        S = ½ h max(|Ḟ_a|, |Ḟ_b|)
//! ```
//!
//! A smooth bulge keeps within S by its own slopes at the ends. Where bounds leave that open, the part of the step is halved, until a look
//! proves it or shows a value beyond. If the accelerations there are others than the step took them for, by more than its tolerance
//! allows, the step ends at the last look before it and the run goes on from there with a step that ends at the feature.
//! Bounds that stay infinite in ever shorter parts, around values that grow, are a pole, which the run refuses.

use super::Simulation;
use super::observer::Observer;
use super::passing::NO_TIME;
use crate::engines::{Engine, StepError};
use bellcrank_math::tape::Tape;
use bellcrank_model::Point;
use bellcrank_model::dynamics::{PlacedLaw, Scale};
use std::collections::VecDeque;

/// Looks that one function may take in a step, beyond those at its ends and its middle.
const LOOKS: usize = 32;

/// The part of the step over which slopes at its ends are taken.
const SLOPE: f64 = 1e-4;

/// The part of the step over which the accelerations that it took are measured.
const BESIDE: f64 = 1e-3;

/// Arguments bend by up to this many times what three looks at them show.
const MARGIN: f64 = 2.0;

/// Below this part of the values at hand a difference is rounding.
const ROUNDING: f64 = 1e-9;

/// How often a part of a step with infinite bounds is halved, and how many times larger the values near its ends must be there.
const HALVINGS: usize = 48;
const GROWTH: f64 = 1e3;

/// A feature that a step passed over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hidden {
    /// Up to here nothing was hidden.
    pub seen: f64,
    /// The feature.
    pub at: f64,
}

/// The functions of the state of a machine, and the arguments at the last look at the end of a step.
#[derive(Default)]
pub(super) struct NarrowFeatures {
    laws: Vec<PlacedLaw>,
    arguments: usize,
    last: Option<(f64, Vec<f64>)>,
}

/// Looks at the arguments of all laws in a step.
struct StepLooks<'a> {
    observer: &'a mut Observer,
    engine: &'a mut dyn Engine,
    rows: Vec<(f64, Vec<f64>)>,
}

impl StepLooks<'_> {
    /// One more look; its number.
    fn look(&mut self, t: f64, arguments: usize) -> Result<usize, StepError> {
        self.observer.go_to(t, self.engine)?;
        self.observer.place();
        let mut x = vec![0.0; arguments];
        self.observer.dynamics.law_arguments(&self.observer.point, &mut self.observer.w, &mut x);
        self.rows.push((t, x));
        Ok(self.rows.len() - 1)
    }

    /// Whether an event has happened there: a curve that rose into a body that flies over it.
    fn switches(&mut self, there: &Point) -> bool {
        let Observer { dynamics, w, .. } = &mut *self.observer;
        let mut values = vec![f64::INFINITY; dynamics.switches()];
        dynamics.switch_values(there, w, &mut values);
        values.iter().any(|value| *value < 0.0)
    }

    /// Whether velocities or states would be others, by more than the tolerance of the step, with the accelerations at a time.
    fn matters(&mut self, t: f64, rtol: f64) -> Result<bool, StepError> {
        let (from, to) = (self.rows[0].0, self.rows[2].0);
        self.observer.go_to(t, self.engine)?;
        let state = self.observer.state.clone();
        let there = self.observer.complete(&state)?;
        if self.switches(&there) {
            return Ok(true);
        }
        let beside = BESIDE * (to - from);
        let mut around = [(); 2].map(|()| (Vec::new(), Vec::new()));
        for (t, (v, z)) in [(t - beside).max(from), (t + beside).min(to)].into_iter().zip(&mut around) {
            self.observer.go_to(t, self.engine)?;
            v.clone_from(&self.observer.state.v);
            z.clone_from(&self.observer.state.z);
        }
        let span = (t - from).min(to - t);
        let scales = self.observer.dynamics.scales();
        let largest = |scale: Option<Scale>| {
            let alike = |k: &usize| scale.is_none_or(|scale| scales.get(*k) == Some(&scale));
            (0..state.v.len()).filter(alike).map(|k| state.v[k].abs()).fold(0.0, f64::max)
        };
        let differs = |is: f64, [a, b]: [f64; 2], size: f64| {
            let taken = (b - a) / (2.0 * beside);
            let off = (is - taken).abs();
            off * span > rtol * size && off > ROUNDING * is.abs().max(taken.abs())
        };
        let [(v0, z0), (v1, z1)] = &around;
        let velocities = (0..v0.len()).any(|k| differs(there.vdot[k], [v0[k], v1[k]], largest(scales.get(k).copied())));
        let states = (0..z0.len()).any(|k| differs(there.zdot[k], [z0[k], z1[k]], state.z[k].abs()));
        Ok(velocities || states)
    }
}

/// What a step could see of one function: its arguments are a part of those of all.
struct OneLaw<'a> {
    law: &'a PlacedLaw,
    first: usize,
    /// Twice the change of the slopes of its arguments from one half of the step to the other, over the square of that half.
    bend: Vec<f64>,
    /// What it may be.
    allowed: [f64; 2],
    /// The largest value at both ends.
    size: f64,
}

impl<'a> OneLaw<'a> {
    /// From the looks at both ends and in the middle of a step.
    fn new(law: &'a PlacedLaw, first: usize, [a, m, b]: [&(f64, Vec<f64>); 3]) -> OneLaw<'a> {
        let h = b.0 - a.0;
        let range = first..first + law.arguments;
        let [x, y, z] = [a, m, b].map(|row| &row.1[range.clone()]);
        let bend = (0..law.arguments).map(|k| MARGIN * 4.0 * (x[k] - 2.0 * y[k] + z[k]).abs() / (h * h)).collect();
        let [fa, fb] = [x, z].map(|x| law.law.value(x));
        // values a little inside, on the parabolas through the three looks
        let inside = |from: &[f64], to: &[f64]| -> f64 {
            let near = |k: usize| from[k] + SLOPE * (4.0 * y[k] - 3.0 * from[k] - to[k]);
            law.law.value(&(0..law.arguments).map(near).collect::<Vec<_>>())
        };
        let slope = (inside(x, z) - fa).abs().max((inside(z, x) - fb).abs()) / SLOPE;
        let size = fa.abs().max(fb.abs());
        let mut one = OneLaw { law, first, bend, allowed: [fa.min(fb), fa.max(fb)], size };
        // bounds of library functions are a little wider than their values, also around zero
        let widest = one.bounds(a, b).into_iter().map(f64::abs).filter(|x| x.is_finite()).fold(size, f64::max);
        let slack = 0.5 * slope + ROUNDING * widest + f64::MIN_POSITIVE;
        one.allowed = [one.allowed[0] - slack, one.allowed[1] + slack];
        one
    }

    fn value(&self, row: &(f64, Vec<f64>)) -> f64 {
        self.law.law.value(&row.1[self.first..self.first + self.law.arguments])
    }

    /// Bounds between two looks, whose chords the arguments leave by no more than they bend.
    fn bounds(&self, a: &(f64, Vec<f64>), b: &(f64, Vec<f64>)) -> [f64; 2] {
        let h = b.0 - a.0;
        let over = |(k, bend): (usize, &f64)| {
            let (x, y, sag) = (a.1[self.first + k], b.1[self.first + k], bend * h * h / 8.0);
            [x.min(y) - sag, x.max(y) + sag]
        };
        self.law.law.bounds(&self.bend.iter().enumerate().map(over).collect::<Vec<_>>())
    }

    fn allows(&self, [low, high]: [f64; 2]) -> bool {
        low >= self.allowed[0] && high <= self.allowed[1]
    }
}

impl NarrowFeatures {
    pub fn new(laws: Vec<PlacedLaw>) -> NarrowFeatures {
        let arguments = laws.iter().map(|law| law.arguments).sum();
        NarrowFeatures { laws, arguments, last: None }
    }

    /// Whether there are no such functions.
    pub fn is_empty(&self) -> bool {
        self.laws.is_empty()
    }

    /// Tells a tape what was seen.
    pub fn keep(&mut self, tape: &mut Tape) {
        tape.plain(&mut self.last);
    }

    /// The state is another one.
    pub fn restart(&mut self) {
        self.last = None;
    }

    /// The first feature between two times of the last step that it passed over, or a pole.
    fn find(
        &mut self,
        [from, to]: [f64; 2],
        observer: &mut Observer,
        engine: &mut dyn Engine,
        rtol: f64,
    ) -> Result<Option<Hidden>, StepError> {
        let n = self.arguments;
        let mut looks = StepLooks { observer, engine, rows: Vec::new() };
        match self.last.take() {
            Some(last) if last.0 == from => looks.rows.push(last),
            _ => {
                looks.look(from, n)?;
            }
        }
        looks.look(from + 0.5 * (to - from), n)?;
        looks.look(to, n)?;
        let (mut hidden, mut first): (Option<Hidden>, usize) = (None, 0);
        for law in &self.laws {
            let one = OneLaw::new(law, first, [0, 1, 2].map(|k| &looks.rows[k]));
            first += law.arguments;
            search(&one, &mut looks, n, rtol, &mut hidden)?;
            if hidden.is_none() {
                refuse_pole(&one, &mut looks, n)?;
            }
        }
        self.last = hidden.is_none().then(|| looks.rows.swap_remove(2));
        Ok(hidden)
    }
}

/// Looks for what one function hides in a step, before what is known to be hidden.
fn search(
    one: &OneLaw,
    looks: &mut StepLooks,
    n: usize,
    rtol: f64,
    hidden: &mut Option<Hidden>,
) -> Result<(), StepError> {
    // the widest parts first
    let mut open = VecDeque::from([(0, 2)]);
    let mut left = LOOKS;
    while let Some((a, b)) = open.pop_front() {
        let [from, to] = [a, b].map(|k| looks.rows[k].0);
        let t = 0.5 * (from + to);
        let behind = hidden.is_some_and(|hidden| from >= hidden.seen);
        if behind || left == 0 || t <= from || t >= to || one.allows(one.bounds(&looks.rows[a], &looks.rows[b])) {
            continue;
        }
        left -= 1;
        let middle = if (a, b) == (0, 2) { 1 } else { looks.look(t, n)? };
        let x = one.value(&looks.rows[middle]);
        if !one.allows([x, x]) && looks.matters(t, rtol)? {
            *hidden = Some(Hidden { seen: from, at: t });
        }
        open.extend([(a, middle), (middle, b)]);
    }
    Ok(())
}

/// Refuses a step over a place where a function is infinite.
fn refuse_pole(one: &OneLaw, looks: &mut StepLooks, n: usize) -> Result<(), StepError> {
    let (mut a, mut b) = (0, 2);
    let is_wild = |looks: &StepLooks, a: usize, b: usize| {
        let bounds = one.bounds(&looks.rows[a], &looks.rows[b]);
        bounds.iter().any(|x| !x.is_finite())
    };
    if !is_wild(looks, a, b) {
        return Ok(());
    }
    for _ in 0..HALVINGS {
        let t = 0.5 * (looks.rows[a].0 + looks.rows[b].0);
        if t <= looks.rows[a].0 || t >= looks.rows[b].0 {
            break;
        }
        let middle = looks.look(t, n)?;
        match [is_wild(looks, a, middle), is_wild(looks, middle, b)] {
            [true, _] => b = middle,
            [false, true] => a = middle,
            [false, false] => return Ok(()),
        }
    }
    let near = [a, b].map(|k| one.value(&looks.rows[k]).abs());
    if near.iter().all(|x| *x <= GROWTH * one.size) {
        return Ok(());
    }
    let what = format!("grows beyond all bounds: {:.1e} there", near[0].max(near[1]));
    Err(StepError::NoNumber { t: looks.rows[a].0, culprit: one.law.subject.clone(), what })
}

impl Simulation {
    /// Where the last step has to end because it passed over a narrow feature of a function of the state before `to`.
    pub(super) fn passed_over(&mut self, from: f64, to: f64) -> Result<Option<Hidden>, StepError> {
        let features = &mut self.passing.features;
        if features.is_empty() || to - from <= NO_TIME * self.options.until {
            return Ok(None);
        }
        features.find([from, to], &mut self.observer, &mut *self.engine, self.options.rtol)
    }

    /// Goes back to where nothing was passed over, and on from there to the feature.
    pub(super) fn turn_back(&mut self, hidden: Hidden) -> Result<(), StepError> {
        let observer = &mut self.observer;
        observer.go_to(hidden.seen, &mut *self.engine)?;
        observer.dynamics.settle_past(f64::INFINITY, &mut observer.state, &mut observer.w);
        let start = observer.consistent()?;
        self.engine.restart(&start)?;
        self.monitors.companion.turn_back(&start);
        self.passing.restart();
        self.passing.longest = hidden.at - hidden.seen;
        self.monitors.energy.forget_power();
        self.observed = false;
        Ok(())
    }
}
