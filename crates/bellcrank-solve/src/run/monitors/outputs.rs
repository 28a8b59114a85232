//! Outputs: quantities that are computed from channels, filtered, with their extremes over the run.
//!
//! In every step a signal is the cubic through its values at the beginning, at both thirds and at the end of the step, on the
//! dense output: an error of fourth order in the step, and no step is left out. Integrals, derivatives and lags of
//! cubics are exact; steps end at events, so that nothing is smoothed over a jump. A step is divided into parts where the value in its
//! middle shows that one cubic is not enough, or where bounds of the expression leave room for a pulse between the places looked at.

use super::StepView;
use crate::engines::{Engine, StepError};
use crate::outputs::channels_of;
use crate::run::observer::Observer;
use crate::run::summary::{OutputSummary, Summary};
use bellcrank_model::Dynamics;
use bellcrank_model::channel::{Channel, Selection};
use bellcrank_model::dynamics::StateLaw;
use bellcrank_model::model::{Filter, Output};

/// Where cubics go through signals in a part of a step.
const NODES: [f64; 4] = [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0];

/// Where it is looked: there, and in the middle. Halves of a part have three of these five places in common with it.
const PLACES: [f64; 5] = [0.0, 1.0 / 3.0, 0.5, 2.0 / 3.0, 1.0];

/// The most parts that a step is divided into because a cubic does not follow, and because of what may be hidden.
const PARTS: usize = 4096;
const HIDDEN_PARTS: usize = 256;

/// What a signal may be wrong by in the middle of a part, in tolerances, where that is a whole step: half of it is the error of an integral.
const SHARE: f64 = 0.3;

/// Searches in vain make the next ones shorter, but not shorter than this.
const SHORTEST_SEARCH: usize = 4;

/// Variables are known to some units of the last place.
const LAST_BITS: f64 = 4.0 * f64::EPSILON;

/// Bounds of library functions are a little wider than their values.
const ROUNDING: f64 = 1e-9;

/// Gauss's points and weights on [0, 1] for polynomials up to degree 7: the square of a cubic has 6.
const GAUSS: [(f64, f64); 4] = [
    (0.069_431_844_202_973_71, 0.173_927_422_568_726_93),
    (0.330_009_478_207_571_9, 0.326_072_577_431_273_07),
    (0.669_990_521_792_428_1, 0.326_072_577_431_273_07),
    (0.930_568_155_797_026_3, 0.173_927_422_568_726_93),
];

/// c₀ + c₁x + c₂x² + c₃x³ over a step, x from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Cubic([f64; 4]);

impl Cubic {
    /// Through the values at [`NODES`].
    fn through([a, b, c, d]: [f64; 4]) -> Cubic {
        let c1 = (-11.0 * a + 18.0 * b - 9.0 * c + 2.0 * d) / 2.0;
        let c2 = (18.0 * a - 45.0 * b + 36.0 * c - 9.0 * d) / 2.0;
        let c3 = (-9.0 * a + 27.0 * b - 27.0 * c + 9.0 * d) / 2.0;
        Cubic([a, c1, c2, c3])
    }

    fn value(&self, x: f64) -> f64 {
        let [a, b, c, d] = self.0;
        a + x * (b + x * (c + x * d))
    }

    fn slope(&self, x: f64) -> f64 {
        let [_, b, c, d] = self.0;
        b + x * (2.0 * c + x * 3.0 * d)
    }

    fn integral(&self, x: f64) -> f64 {
        let [a, b, c, d] = self.0;
        x * (a + x * (b / 2.0 + x * (c / 3.0 + x * d / 4.0)))
    }

    /// Where it is level inside of the step.
    fn level(&self) -> impl Iterator<Item = f64> {
        let [_, b, c, d] = self.0;
        // 3d x² + 2c x + b = 0, without cancellation; what is no number is none
        let root = (c * c - 3.0 * d * b).sqrt();
        let q = -(c + root.copysign(c));
        [q / (3.0 * d), b / q].into_iter().filter(|x| *x > 0.0 && *x < 1.0)
    }

    /// The lag of it: y at x from y₀ at 0, where one step is z times the time constant.
    fn lagged(&self, y0: f64, z: f64, x: f64) -> f64 {
        let z = z * x;
        let mut power = 1.0;
        let mut y = y0 * (-z).exp();
        for (k, c) in self.0.into_iter().enumerate() {
            y += c * power * response(k, z);
            power *= x;
        }
        y
    }
}

/// ψ_k(z) = z ∫₀¹ e^{−z(1−r)} rᵏ dr: what a lag makes of rᵏ.
fn response(k: usize, z: f64) -> f64 {
    if z > 1.0 {
        let mut value = -(-z).exp_m1();
        (1..=k).for_each(|j| value = 1.0 - j as f64 * value / z);
        return value;
    }
    // z Σ (−z)ʲ k!/(k + j + 1)!
    let (mut term, mut sum) = (1.0 / (k as f64 + 1.0), 0.0);
    for j in 0..24 {
        sum += term;
        term *= -z / (k + j + 2) as f64;
    }
    z * sum
}

/// What is known of an output so far.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Tracked {
    /// The signal in the parts of the last step, before its filter, and the value of the filter where each began.
    signals: Vec<(Cubic, f64)>,
    /// The largest value of the signal.
    size: f64,
    /// How many parts of the next step may be made in search of what is hidden in it.
    patience: usize,
    /// When it first changed faster than the parts of a step can follow.
    lost_at: Option<f64>,
    /// The filter's value at the end of the last step.
    after: f64,
    least: (f64, f64),
    greatest: (f64, f64),
    sum: f64,
    squares: f64,
    last: f64,
}

/// The step that signals are known in: the ends of its parts.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct StepSpan {
    ends: Vec<f64>,
    begun: f64,
}

impl StepSpan {
    /// The part that a time lies in, its length, and where in it the time is.
    fn place(&self, t: f64) -> (usize, f64, f64) {
        let k = self.ends[1..].partition_point(|end| *end < t).min(self.ends.len().saturating_sub(2));
        let (from, to) = (self.ends[k], self.ends[k + 1]);
        (k, to - from, ((t - from) / (to - from)).clamp(0.0, 1.0))
    }
}

/// All outputs at one time: the signals, and the time and the channels that they are computed from.
#[derive(Default)]
struct OutputLook {
    signals: Vec<f64>,
    variables: Vec<f64>,
}

/// A part of a step, and which of the looks stand at [`PLACES`] in it.
#[derive(Clone, Copy)]
struct StepPart {
    from: f64,
    to: f64,
    looks: [usize; 5],
}

/// The looks of a step. Their memory is kept for the next one.
#[derive(Default)]
struct OutputLooks {
    all: Vec<OutputLook>,
    used: usize,
}

impl OutputLooks {
    /// The values of a signal at [`NODES`] of a part.
    fn nodes(&self, k: usize, part: &StepPart) -> [f64; 4] {
        let [a, b, _, c, d] = part.looks;
        [a, b, c, d].map(|look| self.all[look].signals[k])
    }

    /// In its middle.
    fn middle(&self, part: &StepPart) -> &OutputLook {
        &self.all[part.looks[2]]
    }
}

/// What the monitor needs to go on from an earlier state.
pub(crate) type SavedOutputs = (Vec<Tracked>, StepSpan);

/// Watches the outputs of a model in every step.
pub(crate) struct OutputMonitor {
    outputs: Vec<Output>,
    /// The channels that they need.
    needed: Selection,
    /// Where the variables of each output stand among these.
    places: Vec<Vec<usize>>,
    tracked: Vec<Tracked>,
    span: StepSpan,
    values: Vec<f64>,
    variables: Vec<f64>,
    looks: OutputLooks,
    /// What integrals may be wrong by, relative to the largest value of the signal.
    accuracy: f64,
    /// Whether the observer's last look was at the end of the step, with accelerations and reactions.
    stands_at_end: bool,
    /// Whether it does not look any more.
    resting: bool,
}

impl OutputMonitor {
    /// For the outputs of a model; `None` if it has none.
    pub fn new(outputs: &[Output], dynamics: &dyn Dynamics, accuracy: f64) -> Option<OutputMonitor> {
        if outputs.is_empty() {
            return None;
        }
        let (needed, places) = channels_of(outputs, dynamics);
        let (tracked, span) = (Vec::new(), StepSpan::default());
        Some(OutputMonitor {
            outputs: outputs.to_vec(),
            needed,
            places,
            tracked,
            span,
            values: Vec::new(),
            variables: Vec::new(),
            looks: OutputLooks::default(),
            accuracy: SHARE * accuracy,
            stands_at_end: false,
            resting: false,
        })
    }

    /// From now on it gives values, and knows nothing of extremes and integrals.
    pub fn rest(&mut self) {
        self.resting = true;
    }

    /// Names and units.
    pub fn channels(&self) -> impl Iterator<Item = Channel> + '_ {
        self.outputs.iter().map(|o| Channel { name: o.name.clone(), unit: o.unit })
    }

    /// Whether they are computed from accelerations or reactions.
    pub fn is_reactive(&self) -> bool {
        self.needed.reactive
    }

    /// What it needs to go on from here later.
    pub fn save(&self) -> SavedOutputs {
        (self.tracked.clone(), self.span.clone())
    }

    /// Goes back to what it knew then.
    pub fn restore(&mut self, saved: &SavedOutputs) {
        (self.tracked, self.span) = saved.clone();
    }

    /// The unfiltered signals at the observer's point, which has been realized, with accelerations if they are needed.
    fn signals(&mut self, observer: &mut Observer, mut see: impl FnMut(usize, f64)) {
        observer.dynamics.observe_some(&self.needed, &observer.point, &mut observer.w, &mut self.values);
        for (k, (output, places)) in self.outputs.iter().zip(&self.places).enumerate() {
            self.variables.clear();
            self.variables.push(observer.point.t);
            self.variables.extend(places.iter().map(|p| self.values.get(*p).copied().unwrap_or(f64::NAN)));
            see(k, output.value.value_of(&self.variables));
        }
    }

    /// The same at the observer's state.
    pub fn look(&mut self, observer: &mut Observer, see: impl FnMut(usize, f64)) -> Result<(), StepError> {
        if self.needed.reactive {
            observer.react()?;
        } else {
            observer.place();
        }
        self.signals(observer, see);
        Ok(())
    }

    /// Looks at the start, once.
    pub fn begin(&mut self, observer: &mut Observer, engine: &dyn Engine) -> Result<(), StepError> {
        if !self.tracked.is_empty() {
            return Ok(());
        }
        let t = engine.state().t;
        self.span = StepSpan { ends: vec![t], begun: t };
        observer.state.clone_from(engine.state());
        let mut found = vec![0.0; self.outputs.len()];
        self.look(observer, |k, u| found[k] = u)?;
        let mut slopes = vec![0.0; self.outputs.len()];
        if self.outputs.iter().any(|o| o.filter == Filter::Derivative) {
            slopes = self.slopes_at_start(observer, engine)?;
        }
        let start = |((output, u), slope): ((&Output, f64), f64)| {
            let y = match output.filter {
                Filter::None | Filter::Lag(_) => u,
                Filter::Derivative => slope,
                Filter::Integral => 0.0,
            };
            let (signals, size, lost_at) = (Vec::new(), u.abs(), None);
            let (least, greatest) = ((y, t), (y, t));
            let patience = HIDDEN_PARTS;
            Tracked { signals, size, patience, lost_at, after: y, least, greatest, sum: 0.0, squares: 0.0, last: y }
        };
        self.tracked = self.outputs.iter().zip(found).zip(slopes).map(start).collect();
        Ok(())
    }

    /// u̇ at the start by central differences along the motion: q, v and z a moment later and a moment before.
    fn slopes_at_start(&mut self, observer: &mut Observer, engine: &dyn Engine) -> Result<Vec<f64>, StepError> {
        const MOMENT: f64 = 1e-6;
        let state = engine.state().clone();
        let point = observer.complete(&state)?;
        let mut sides = [vec![0.0; self.outputs.len()], vec![0.0; self.outputs.len()]];
        for (side, h) in sides.iter_mut().zip([-MOMENT, MOMENT]) {
            observer.state.clone_from(&state);
            observer.state.t += h;
            let step: Vec<f64> = point.v.iter().zip(&point.vdot).map(|(v, a)| v + 0.5 * h * a).collect();
            observer.dynamics.retract(h, &mut observer.state.q, &step);
            observer.state.v.iter_mut().zip(&point.vdot).for_each(|(v, a)| *v += h * a);
            observer.state.z.iter_mut().zip(&point.zdot).for_each(|(z, rate)| *z += h * rate);
            self.look(observer, |k, u| side[k] = u)?;
        }
        observer.state.clone_from(&state);
        Ok(sides[0].iter().zip(&sides[1]).map(|(a, b)| (b - a) / (2.0 * MOMENT)).collect())
    }

    /// Takes a step into account, up to its end or to the event in it.
    pub fn step(&mut self, view: &mut StepView<'_>) -> Result<(), StepError> {
        let (from, to) = (view.from, view.to);
        if to <= from || self.resting {
            return Ok(());
        }
        self.span.ends.clear();
        self.span.ends.push(from);
        self.tracked.iter_mut().for_each(|of| of.signals.clear());
        self.looks.used = 0;
        let mut whole = StepPart { from, to, looks: [0; 5] };
        for (look, x) in whole.looks.iter_mut().zip(PLACES) {
            *look = self.look_at(if x == 1.0 { to } else { from + x * (to - from) }, view)?;
        }
        // it stays there unless something else is looked at
        self.stands_at_end = self.needed.reactive;
        let mut parts = PARTS;
        let mut searches: Vec<usize> = self.tracked.iter().map(|of| of.patience).collect();
        let mut open = vec![whole];
        while let Some(part) = open.pop() {
            let middle = 0.5 * (part.from + part.to);
            let may_divide = part.from < middle && middle < part.to;
            let coarse = (0..self.outputs.len()).any(|k| self.is_coarse(k, &part, to - from));
            if coarse && parts == 0 {
                let lost = (0..self.outputs.len()).filter(|k| self.is_coarse(*k, &part, to - from));
                lost.collect::<Vec<_>>().into_iter().for_each(|k| _ = self.tracked[k].lost_at.get_or_insert(part.from));
            }
            let coarse = coarse && parts > 0;
            let hiding = |k: &usize| searches[*k] > 0 && self.may_hide(*k, &part, to - from);
            let hiding = if coarse || !may_divide { None } else { (0..self.outputs.len()).find(hiding) };
            if may_divide && (coarse || hiding.is_some()) {
                *hiding.map_or(&mut parts, |k| &mut searches[k]) -= 1;
                let [left, right] = self.halves(&part, middle, view)?;
                open.extend([right, left]);
                continue;
            }
            self.span.ends.push(part.to);
            for k in 0..self.outputs.len() {
                let before = self.tracked[k].after;
                self.tracked[k].signals.push((Cubic::through(self.looks.nodes(k, &part)), before));
                self.account(k, &part, view)?;
            }
        }
        for (of, _) in self.tracked.iter_mut().zip(&searches).filter(|(_, left)| **left == 0) {
            of.patience = (of.patience / 2).max(SHORTEST_SEARCH);
        }
        Ok(())
    }

    /// Looks at all outputs at a time of the step; which look it is.
    fn look_at(&mut self, t: f64, view: &mut StepView<'_>) -> Result<usize, StepError> {
        view.observer.go_to(t, &mut *view.engine)?;
        let place = self.looks.used;
        if place == self.looks.all.len() {
            self.looks.all.push(OutputLook::default());
        }
        let OutputLook { mut signals, mut variables } = std::mem::take(&mut self.looks.all[place]);
        signals.clear();
        self.look(view.observer, |_, u| signals.push(u))?;
        variables.clear();
        variables.push(t);
        variables.extend_from_slice(&self.values);
        for (of, u) in self.tracked.iter_mut().zip(&signals) {
            of.size = of.size.max(u.abs());
        }
        self.looks.all[place] = OutputLook { signals, variables };
        self.looks.used += 1;
        self.stands_at_end = false;
        Ok(place)
    }

    /// The halves of a part: two looks for each.
    fn halves(&mut self, part: &StepPart, middle: f64, view: &mut StepView<'_>) -> Result<[StepPart; 2], StepError> {
        let StepPart { from, to, looks: [a, b, c, d, e] } = *part;
        let mut at = |x: f64| self.look_at(from + x * (to - from), view);
        let (sixth, quarter, three_quarters, five_sixths) = (at(1.0 / 6.0)?, at(0.25)?, at(0.75)?, at(5.0 / 6.0)?);
        let left = StepPart { from, to: middle, looks: [a, sixth, quarter, b, c] };
        let right = StepPart { from: middle, to, looks: [c, d, three_quarters, five_sixths, e] };
        Ok([left, right])
    }

    /// Whether the value in the middle of a part shows that a cubic does not follow a signal, as far as that matters in a step.
    fn is_coarse(&self, k: usize, part: &StepPart, step: f64) -> bool {
        let off = (Cubic::through(self.looks.nodes(k, part)).value(0.5) - self.looks.middle(part).signals[k]).abs();
        let matters = |off: f64| off * (part.to - part.from) > self.accuracy * self.tracked[k].size * step;
        matters(off) && matters(off - self.rounding(k, part))
    }

    /// What rounding of its variables may do to a signal in the middle of a part: terms that cancel leave nothing else.
    fn rounding(&self, k: usize, part: &StepPart) -> f64 {
        let x = &self.looks.middle(part).variables;
        if self.places[k].iter().any(|p| *p >= self.values.len()) {
            return 0.0;
        }
        let near = |i: usize| [x[i] - LAST_BITS * x[i].abs(), x[i] + LAST_BITS * x[i].abs()];
        let ranges: Vec<[f64; 2]> = std::iter::once(0).chain(self.places[k].iter().map(|p| p + 1)).map(near).collect();
        let [low, high] = self.outputs[k].value.bounds(&ranges);
        if (high - low).is_finite() { high - low } else { 0.0 }
    }

    /// Whether an expression may have values in a part that its ends and slopes do not show, as far as that matters in a step.
    fn may_hide(&self, k: usize, part: &StepPart, step: f64) -> bool {
        let (value, places) = (&self.outputs[k].value, &self.places[k]);
        if value.is_plain() || places.iter().any(|p| *p >= self.values.len()) {
            return false;
        }
        let [a, m, b] = [0, 2, 4].map(|place| &self.looks.all[part.looks[place]].variables);
        // the chord, and as much beside it as the middle is twice
        let range = |i: usize| {
            let sag = (a[i] - 2.0 * m[i] + b[i]).abs();
            [a[i].min(b[i]) - sag, a[i].max(b[i]) + sag]
        };
        let ranges: Vec<[f64; 2]> = std::iter::once(0).chain(places.iter().map(|p| p + 1)).map(range).collect();
        let [low, high] = value.bounds(&ranges);
        let nodes = self.looks.nodes(k, part);
        let signal = Cubic::through(nodes);
        let slope = signal.slope(0.0).abs().max(signal.slope(1.0).abs());
        let [least, most] = nodes.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |s, u| [s[0].min(*u), s[1].max(*u)]);
        let beyond = (least - low).max(high - most) - 0.5 * slope - ROUNDING * self.tracked[k].size;
        let size = self.tracked[k].size.max(low.abs()).max(high.abs());
        beyond.is_finite() && beyond * (part.to - part.from) > self.accuracy * size * step
    }

    /// Adds the last part of a step to the extremes and means of an output.
    fn account(&mut self, k: usize, part: &StepPart, view: &mut StepView<'_>) -> Result<(), StepError> {
        let (from, h, filter) = (part.from, part.to - part.from, self.outputs[k].filter);
        let last = self.tracked[k].signals.len() - 1;
        let filtered = match filter {
            Filter::None => self.looks.nodes(k, part),
            _ => NODES.map(|x| self.filtered(k, last, h, x)),
        };
        let course = Cubic::through(filtered);
        let of = &mut self.tracked[k];
        if matches!(filter, Filter::Lag(_) | Filter::Integral) {
            of.after = filtered[3];
        }
        of.last = filtered[3];
        of.sum += h * course.integral(1.0);
        of.squares += h * GAUSS.iter().map(|(x, weight)| weight * course.value(*x).powi(2)).sum::<f64>();
        for (x, y) in NODES.into_iter().zip(filtered) {
            of.meet(from + x * h, y);
        }
        for x in course.level() {
            let (t, mut y) = (from + x * h, course.value(x));
            let of = &self.tracked[k];
            if y <= of.greatest.0 && y >= of.least.0 {
                continue;
            }
            if filter == Filter::None {
                // the cubic tells where to look
                self.stands_at_end = false;
                view.observer.go_to(t, &mut *view.engine)?;
                self.look(view.observer, |i, u| y = if i == k { u } else { y })?;
            }
            self.tracked[k].meet(t, y);
        }
        Ok(())
    }

    /// The filter's output at a place in a part of the last step.
    fn filtered(&self, k: usize, part: usize, h: f64, x: f64) -> f64 {
        let (signal, before) = &self.tracked[k].signals[part];
        match self.outputs[k].filter {
            Filter::None => signal.value(x),
            Filter::Lag(tau) => signal.lagged(*before, h / tau, x),
            Filter::Derivative if h > 0.0 => signal.slope(x) / h,
            Filter::Derivative => self.tracked[k].last,
            Filter::Integral => before + h * signal.integral(x),
        }
    }

    /// The values of all outputs at the observer's point, which has been observed; those with a filter from the last step.
    pub fn observe(&mut self, observer: &mut Observer, out: &mut Vec<f64>) {
        let t = observer.point.t;
        let first = out.len();
        self.signals(observer, |_, u| out.push(u));
        for (k, out) in out[first..].iter_mut().enumerate() {
            if self.outputs[k].filter != Filter::None && !self.tracked.is_empty() {
                *out = match self.tracked[k].signals.is_empty() {
                    true => self.tracked[k].last,
                    false => {
                        let (part, h, x) = self.span.place(t);
                        self.filtered(k, part, h, x)
                    }
                };
            }
        }
    }

    /// Whether the observer still stands at the end of the last step, as the monitor has left it there. To be asked once, before
    /// anyone else looks.
    pub fn leaves_at_end(&mut self) -> bool {
        std::mem::take(&mut self.stands_at_end)
    }

    /// ∫ u dt and ∫ u² dt of every output so far.
    pub fn integrals(&self) -> impl Iterator<Item = [f64; 2]> + '_ {
        self.tracked.iter().map(|of| [of.sum, of.squares])
    }

    /// The values of all outputs at the end of the last step.
    pub fn last(&self) -> impl Iterator<Item = f64> + '_ {
        self.tracked.iter().map(|of| of.last)
    }

    /// What was found goes into the summary.
    pub fn end(&self, into: &mut Summary) {
        let span = self.span.ends.last().map_or(0.0, |to| to - self.span.begun);
        let summary = |(output, of): (&Output, &Tracked)| OutputSummary {
            name: output.name.clone(),
            unit: output.unit,
            min: of.least.0,
            min_at: of.least.1,
            max: of.greatest.0,
            max_at: of.greatest.1,
            mean: if span > 0.0 { of.sum / span } else { of.last },
            rms: if span > 0.0 { (of.squares / span).sqrt() } else { of.last.abs() },
            last: of.last,
            lost_at: of.lost_at,
        };
        into.outputs = self.outputs.iter().zip(&self.tracked).map(summary).collect();
    }
}

impl Tracked {
    fn meet(&mut self, t: f64, y: f64) {
        if y < self.least.0 {
            self.least = (y, t);
        }
        if y > self.greatest.0 {
            self.greatest = (y, t);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubics_are_interpolated_integrated_and_levelled_exactly() {
        let p = Cubic([0.3, -2.0, 1.5, 0.7]);
        let found = Cubic::through(NODES.map(|x| p.value(x)));
        (0..4).for_each(|k| assert!((found.0[k] - p.0[k]).abs() < 1e-13, "{found:?}"));
        assert!((p.integral(1.0) - (0.3 - 1.0 + 0.5 + 0.175)).abs() < 1e-15);
        let levels: Vec<f64> = p.level().collect();
        assert_eq!(levels.len(), 1);
        assert!(p.slope(levels[0]).abs() < 1e-14);
        assert_eq!(Cubic([1.0, 0.0, 0.0, 0.0]).level().count(), 0);
        let parabola: Vec<f64> = Cubic([0.0, -1.0, 1.0, 0.0]).level().collect();
        assert!(parabola.len() == 1 && (parabola[0] - 0.5).abs() < 1e-15, "{parabola:?}");
    }

    #[test]
    fn a_lag_of_a_cubic_solves_its_equation_for_slow_and_for_quick_steps() {
        let u = Cubic([0.4, 1.0, -3.0, 2.0]);
        for z in [1e-9, 1e-3, 0.5, 0.999, 1.001, 7.0, 400.0] {
            // y′ = z (u − y), by many small steps of the classical Runge–Kutta method
            let (n, mut y) = (20_000, -0.7);
            let h = 1.0 / n as f64;
            for i in 0..n {
                let x = i as f64 * h;
                let f = |x: f64, y: f64| z * (u.value(x) - y);
                let k1 = f(x, y);
                let k2 = f(x + 0.5 * h, y + 0.5 * h * k1);
                let k3 = f(x + 0.5 * h, y + 0.5 * h * k2);
                let k4 = f(x + h, y + h * k3);
                y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
            }
            let found = u.lagged(-0.7, z, 1.0);
            assert!((found - y).abs() < 1e-10, "z = {z}: {found} {y}");
        }
    }
}
