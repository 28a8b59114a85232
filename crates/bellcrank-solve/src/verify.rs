//! How accurate a run was: it is computed again, twice, more finely, and all channels are compared.
//!
//! With y₁ the run, y₂ one with a finer step (or a tenth of the tolerance) and y₃ one with a still finer one (a
//! hundredth), and errors that fall by the factor ρ from each to the next,
//!
//! ```text
//! |y₁ − y₃| = e (1 − ρ⁻²)      |y₂ − y₃| = e (ρ⁻¹ − ρ⁻²)      ρ = |y₁ − y₃| / |y₂ − y₃| − 1
//! ```
//!
//! gives the error e of the run and ρ: with steps 2.1 times finer ρ = 2.1ᵖ, with p the order [Richardson 1911]. Nothing is
//! assumed of the method; where the three runs do not come closer to each other, that is what is told.
//!
//! No two runs look at the same times: fixed steps are not halved but divided by 2.1, and those of error control may be no
//! longer than a part of the run that is another one for each. So what one run has stepped over is seen by the others. With
//! FMUs, values are exchanged twice and four times as often.

use crate::choices::{MethodName, Options};
use crate::record::{ColumnMemory, Header, Memory, Recorder, RunReport};
use crate::run::{Machine, Simulation, StartError, Status, Summary};
use bellcrank_model::{Dynamics, State};
use std::io;
use std::sync::Arc;

/// Most values that are kept of a run for comparison; of longer ones every second, third … frame.
const VALUES: usize = 1 << 25;
/// How much finer the steps of the next run are. No whole number: its steps end elsewhere.
const FINER: f64 = 2.1;
/// The fewest steps of a finer run with error control, and how many times more the next one has.
const FEWEST: f64 = 256.0;
const MORE: f64 = 1.618;
/// The least relative tolerance there is.
const LEAST: f64 = 1e-13;
/// Relative differences below this are rounding: no order can be seen in them.
const ROUNDING: f64 = 1e-11;
/// Runs that differ by more than this part of the largest value do not agree any more.
const AGREEMENT: f64 = 0.01;

/// Keeps frames for comparison, thinned out to a bound.
#[derive(Default)]
pub struct ThinnedFrames {
    /// The frames.
    pub memory: Memory,
    every: usize,
    seen: usize,
}

impl ThinnedFrames {
    /// For a run with these options and this number of channels.
    pub fn new(options: &Options, channels: usize) -> ThinnedFrames {
        let rows = options.until / options.sample_distance();
        let every = (rows * (channels + 1) as f64 / VALUES as f64).ceil().max(1.0) as usize;
        ThinnedFrames { memory: Memory::default(), every, seen: 0 }
    }

    /// The frames of a run that is over.
    pub fn of(frames: &ColumnMemory, options: &Options) -> ThinnedFrames {
        let mut kept = ThinnedFrames::new(options, frames.header().channels.len());
        kept.memory.header = frames.header().clone();
        // memory takes any frame of the right width
        let _ = frames.replay(&mut |t, values| kept.frame(t, values));
        kept.memory.ended = frames.ended().cloned();
        kept
    }
}

impl Recorder for ThinnedFrames {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        self.seen = 0;
        self.memory.begin(header)
    }
    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        let wanted = self.seen.is_multiple_of(self.every.max(1));
        self.seen += 1;
        if wanted { self.memory.frame(t, values) } else { Ok(()) }
    }
    fn end(&mut self, report: &dyn RunReport) -> io::Result<()> {
        self.memory.end(report)
    }
}

/// How far a channel is from the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Deviation {
    /// The channel.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// The largest error, in that unit.
    pub error: f64,
    /// When.
    pub t: f64,
    /// The root of the mean square of the error.
    pub mean: f64,
    /// The largest value (for places and angles: the largest change) of all channels of that unit.
    pub scale: f64,
}

impl Deviation {
    /// The error as a part of the largest value.
    pub fn relative(&self) -> f64 {
        if self.error == 0.0 { 0.0 } else { self.error / self.scale }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Verification {
    /// What the run was compared with, in words.
    pub against: String,
    /// Steps of the run, and of the finer ones.
    pub steps: Vec<usize>,
    /// All channels, in order.
    pub channels: Vec<Deviation>,
    /// ρ: by what factor the next finer run is better.
    pub factor: Option<f64>,
    /// The observed order: of fixed steps ln ρ / ln 2.1; else the exponent of error against number of steps.
    pub order: Option<f64>,
    /// Whether the runs come closer to each other, so that the errors mean something.
    pub converges: bool,
    /// Up to this time all channels of all runs agree to a hundredth; `None`: to the end.
    pub agrees_until: Option<f64>,
    /// Whether the step was fixed.
    pub fixed: bool,
}

/// Whether runs with more and more precision agree. Texts, reports and JSON all take it from here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Agreement {
    /// They come closer to each other: the errors mean something.
    Converge,
    /// They do not, but all of them agree to a hundredth to the end.
    Agree,
    /// They do not, and differ by more than a hundredth after this time, in s.
    Until(f64),
}

impl Agreement {
    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Agreement::Converge => "converge",
            Agreement::Agree => "agree",
            Agreement::Until(_) => "differ",
        }
    }

    /// What is to be doubted, for people.
    pub fn doubt(self) -> Option<&'static str> {
        match self {
            Agreement::Converge => None,
            Agreement::Agree => Some(
                "the order of convergence could not be confirmed, though all runs agree to 1 %; the true error may be a few times larger",
            ),
            Agreement::Until(_) => {
                Some("finer runs do not converge: the motion is chaotic, or its events happen at other times")
            }
        }
    }
}

impl Verification {
    /// Whether the runs agree.
    pub fn agreement(&self) -> Agreement {
        match (self.converges, self.agrees_until) {
            (true, _) => Agreement::Converge,
            (false, None) => Agreement::Agree,
            (false, Some(t)) => Agreement::Until(t),
        }
    }
}

/// The run with 2.1ᵏ times as many steps, or a 10ᵏ-th of the tolerance and steps that are not long; nothing where there is no
/// such.
pub fn finer(options: &Options, k: i32) -> Option<Options> {
    let mut o = options.clone();
    // the error of the exchange with FMUs is part of that of the run
    o.testing.exchanges = 1 << k;
    match &mut o.step {
        Some(h) => *h = tidy(*h / FINER.powi(k)),
        None => {
            let longest = tidy(o.until / (FEWEST * MORE.powi(k)));
            o.testing.max_step = Some(o.testing.max_step.map_or(longest, |h| h.min(longest)));
            o.rtol = tenth(o.rtol, k);
            o.testing.atol = o.testing.atol.map(|a| tenth(a, k));
            if o.rtol < LEAST * 0.999 {
                return None;
            }
        }
    }
    o.sample = Some(options.sample_distance());
    o.check().is_ok().then_some(o)
}

/// x / 10ᵏ as a person would write it: 1e-9, not 9.999999999999999e-10.
fn tenth(x: f64, k: i32) -> f64 {
    tidy(x / 10.0f64.powi(k))
}

fn tidy(x: f64) -> f64 {
    format!("{x:.12e}").parse().unwrap_or(x)
}

/// Runs the model again, more finely, and compares.
///
/// Where `auto` chose an explicit method, the finer runs use it too: between methods there is no order.
pub fn verify(
    dynamics: &Arc<dyn Dynamics>,
    start: &State,
    options: &Options,
    kept: &ThinnedFrames,
    run: &Summary,
) -> Result<Verification, String> {
    verify_with(&|o| Simulation::new(Machine::equations(&run.model, dynamics.clone(), start), o), options, kept, run)
}

/// How a run with other options is made.
pub type Make<'a> = &'a (dyn Fn(Options) -> Result<Simulation, StartError> + Sync);

/// The same with a way to make runs. Runs are compared at equal intervals: one that was recorded otherwise is run once more.
pub fn verify_with(make: Make, options: &Options, kept: &ThinnedFrames, run: &Summary) -> Result<Verification, String> {
    let mut options = options.clone();
    let again =
        options.sample.is_none().then(|| Options { sample: Some(options.sample_distance()), ..options.clone() });
    if let (MethodName::Auto, Some(used)) = (options.method, MethodName::by_name(run.names.method))
        && used.explicit()
    {
        options.method = used;
    }
    let options = &options;
    let steps = run.statistics.steps;
    let finer: Vec<Options> = [1, 2].iter().filter_map(|k| finer(options, *k)).collect();
    if finer.is_empty() {
        return Err(format!("a tolerance finer than {:e} is below double precision", options.rtol));
    }
    let one = |o: &Options| -> Result<(ThinnedFrames, usize), String> {
        let mut kept = ThinnedFrames { memory: Memory::default(), every: kept.every, seen: 0 };
        let mut s = make(o.clone()).map_err(|e| e.to_string())?;
        let summary = s.run(&mut kept);
        match summary.status {
            Status::Finished => Ok((kept, summary.statistics.steps)),
            Status::Interrupted => Err("it was interrupted".into()),
            Status::Failed(e) => Err(format!("the finer run failed: {e}")),
        }
    };
    let mut runs: Vec<Result<(ThinnedFrames, usize), String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = again.iter().chain(&finer).map(|o| scope.spawn(move || one(o))).collect();
        let lost = || Err("the finer run was lost".to_string());
        threads.into_iter().map(|t| t.join().unwrap_or_else(|_| lost())).collect()
    });
    let again = if again.is_some() { Some(runs.remove(0)?.0) } else { None };
    let kept = again.as_ref().unwrap_or(kept);
    let mut fine = Vec::new();
    for run in runs {
        match run {
            Ok(run) => fine.push(run),
            Err(e) if fine.is_empty() => return Err(e),
            Err(_) => break, // the second, finest one is a luxury
        }
    }
    let last = &finer[fine.len() - 1];
    let against = match last.step {
        Some(h) => {
            let finer = ["2.1", "4.4"][fine.len() - 1];
            format!("a run with a step of {h:.4e} s, {finer} times finer than this one's")
        }
        None => {
            format!("a run with rtol {:e}, {} of this one's", last.rtol, ["a tenth", "a hundredth"][fine.len() - 1])
        }
    };
    let exchanges = run.plan.reasons.iter().any(|r| r.what == "fmu");
    let against = match exchanges {
        true => format!("{against}, that exchanges values with FMUs {} times as often", last.testing.exchanges),
        false => against,
    };
    let mut all = vec![(&kept.memory, steps)];
    all.extend(fine.iter().map(|(k, n)| (&k.memory, *n)));
    let mut found = compare(&all)?;
    (found.against, found.fixed) = (against, options.step.is_some());
    if let Some(factor) = found.factor {
        found.order = match found.fixed {
            true => Some(factor.ln() / FINER.ln()),
            false => {
                let n = &found.steps;
                let more = (n[2] as f64 / n[0] as f64).ln() / 2.0;
                // with hardly more steps the exponent says nothing
                (more > 0.02).then(|| factor.ln() / more)
            }
        };
    }
    Ok(found)
}

/// Compares a run with finer ones, each with its number of steps.
pub fn compare(runs: &[(&Memory, usize)]) -> Result<Verification, String> {
    let [(run, _), .., (truth, _)] = runs else { return Err("there is nothing to compare with".into()) };
    let rows = run.times.len();
    if runs.iter().any(|(r, _)| r.times != run.times || r.header.channels.len() != run.header.channels.len()) {
        return Err("the runs recorded different frames".into());
    }
    let channels = &run.header.channels;
    let scales = scales(run);
    let flips = Flips::new(run);
    let mut deviations: Vec<Deviation> = channels
        .iter()
        .zip(&scales)
        .map(|(c, s)| Deviation { name: c.name.clone(), unit: c.unit, error: 0.0, t: 0.0, mean: 0.0, scale: *s })
        .collect();
    let mut agrees_until = None;
    let mut apart = [0.0f64; 2]; // |y₁ − y₃| and |y₂ − y₃|, relative
    for i in 0..rows {
        let (a, b) = (run.row(i), truth.row(i));
        let mut worst = 0.0f64;
        for (j, d) in deviations.iter_mut().enumerate() {
            let e = (a[j] - flips.sign(j, a, b) * b[j]).abs();
            let e = if e.is_nan() && a[j].is_nan() == b[j].is_nan() { 0.0 } else { e };
            if e > d.error || e.is_nan() {
                (d.error, d.t) = (e, run.times[i]);
            }
            d.mean += e * e;
            worst = worst.max(if e == 0.0 { 0.0 } else { e / d.scale });
        }
        apart[0] = apart[0].max(worst);
        if let [_, (middle, _), _] = runs {
            let m = middle.row(i);
            let relative = |j: usize| (m[j] - flips.sign(j, m, b) * b[j]).abs() / scales[j].max(f64::MIN_POSITIVE);
            apart[1] = (0..m.len()).map(relative).filter(|r| !r.is_nan()).fold(apart[1], f64::max);
        }
        if agrees_until.is_none() && worst > AGREEMENT {
            agrees_until = Some(if i == 0 { run.times[0] } else { run.times[i - 1] });
        }
    }
    let three = runs.len() == 3;
    let small = apart[0] <= ROUNDING;
    let factor = (three && !small && apart[1] > 0.0).then(|| apart[0] / apart[1] - 1.0).filter(|f| *f > 1.0);
    // a finer run may sit within rounding of the finest one
    let converges = small || !three || factor.is_some_and(|f| f > 1.3) || apart[1] == 0.0;
    for d in &mut deviations {
        d.mean = (d.mean / rows.max(1) as f64).sqrt();
        if let Some(f) = factor {
            let share = 1.0 - f.max(2.0).powi(-2);
            d.error /= share;
            d.mean /= share;
        }
    }
    Ok(Verification {
        against: String::new(),
        steps: runs.iter().map(|(_, n)| *n).collect(),
        channels: deviations,
        factor,
        order: None,
        converges,
        agrees_until,
        fixed: false,
    })
}

/// The scale of each channel: the largest of its unit, for angles and their rates at least 1e-6, for moments at least 1e-9
/// of the largest force times the largest length. Places and angles are measured by how far they go, so that the origin
/// does not matter.
fn scales(run: &Memory) -> Vec<f64> {
    let channels = &run.header.channels;
    let mut by_unit: Vec<(&str, f64, f64)> = Vec::new(); // unit, largest range, largest value
    let n = channels.len();
    let mut bounds = vec![(f64::INFINITY, f64::NEG_INFINITY); n];
    for i in 0..run.times.len() {
        for (b, x) in bounds.iter_mut().zip(run.row(i)) {
            *b = (b.0.min(*x), b.1.max(*x));
        }
    }
    for (c, (low, high)) in channels.iter().zip(&bounds) {
        let k = by_unit.iter().position(|(u, ..)| *u == c.unit).unwrap_or_else(|| {
            by_unit.push((c.unit, 0.0, 0.0));
            by_unit.len() - 1
        });
        let u = &mut by_unit[k];
        (u.1, u.2) = (u.1.max(high - low), u.2.max(low.abs()).max(high.abs()));
    }
    let scale = |unit: &str| {
        let found = by_unit.iter().find(|(u, ..)| *u == unit);
        let (range, value) = found.map_or((0.0, 0.0), |(_, r, v)| (*r, *v));
        let size = if matches!(unit, "m" | "rad") && range > 1e-9 * value { range } else { value };
        // a body that never turns has angles and moments of rounding errors, which are no chaos
        let of =
            |unit: &str| by_unit.iter().find(|(u, ..)| *u == unit).map_or(0.0, |(_, range, value)| range.max(*value));
        let least = match unit {
            "rad" | "rad/s" | "rad/s²" => 1e-6,
            "N m" => 1e-9 * of("N") * of("m"),
            _ => 0.0,
        };
        if size > 0.0 { size.max(least) } else { 1.0 }
    };
    channels.iter().map(|c| scale(c.unit)).collect()
}

/// Quaternions q and −q are one rotation: for each channel the first of its quaternion, if it is part of one.
struct Flips(Vec<Option<usize>>);

impl Flips {
    fn new(run: &Memory) -> Flips {
        let names: Vec<&str> = run.header.channels.iter().map(|c| c.name.as_str()).collect();
        let mut first = vec![None; names.len()];
        for (k, four) in names.windows(4).enumerate() {
            let stem = four[0].strip_suffix(".qw");
            let parts = [".qx", ".qy", ".qz"];
            if stem.is_some() && four[1..].iter().zip(parts).all(|(n, p)| n.strip_suffix(p) == stem) {
                first[k..k + 4].fill(Some(k));
            }
        }
        Flips(first)
    }

    fn sign(&self, j: usize, a: &[f64], b: &[f64]) -> f64 {
        let Some(k) = self.0[j] else { return 1.0 };
        let cosine: f64 = (k..k + 4).map(|i| a[i] * b[i]).sum();
        if cosine < 0.0 { -1.0 } else { 1.0 }
    }
}

impl Verification {
    /// The channel with the largest error, as a part of the largest value of its unit.
    pub fn worst(&self) -> Option<&Deviation> {
        self.channels.iter().max_by(|a, b| a.relative().total_cmp(&b.relative()))
    }

    /// The worst channel of each unit, in order of appearance.
    pub fn by_unit(&self) -> Vec<&Deviation> {
        let mut out: Vec<&Deviation> = Vec::new();
        for d in &self.channels {
            match out.iter_mut().find(|o| o.unit == d.unit) {
                Some(o) if d.error > o.error || d.error.is_nan() => *o = d,
                Some(_) => {}
                None => out.push(d),
            }
        }
        out
    }
}

/// The order that a method should show, where it has one.
pub fn nominal_order(method: &str) -> Option<usize> {
    MethodName::by_name(method).and_then(MethodName::order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Channel;

    fn memory(channels: &[(&str, &'static str)], f: impl Fn(f64) -> Vec<f64>) -> Memory {
        let channels = channels.iter().map(|(n, unit)| Channel { name: n.to_string(), unit }).collect();
        let mut m = Memory::default();
        m.begin(&Header { model: "m".into(), channels }).unwrap();
        (0..101).for_each(|i| m.frame(f64::from(i) * 0.01, &f(f64::from(i) * 0.01)).unwrap());
        m
    }

    #[test]
    fn error_and_order_come_back_exactly_from_errors_that_fall_as_they_should() {
        for p in [1, 2, 4, 8] {
            let of = |h: f64| {
                memory(&[("a.x", "m"), ("a.vx", "m/s")], |t| vec![t + 1e-3 * h.powi(p) * t, 7.0 + 2e-3 * h.powi(p)])
            };
            let (a, b, c) = (of(1.0), of(0.5), of(0.25));
            let v = compare(&[(&a, 10), (&b, 20), (&c, 40)]).unwrap();
            assert!(v.converges && v.agrees_until.is_none());
            assert!((v.factor.unwrap().log2() - f64::from(p)).abs() < 1e-8, "{:?}", v.factor);
            assert!((v.channels[0].error - 1e-3).abs() < 1e-12 && v.channels[0].t == 1.0);
            assert!((v.channels[1].error - 2e-3).abs() < 1e-12);
            assert_eq!((v.channels[0].scale, v.channels[1].scale), (1.0 + 1e-3, 7.0 + 2e-3));
            assert_eq!(v.worst().unwrap().name, "a.x");
        }
    }

    #[test]
    fn runs_that_part_are_told_with_the_time_up_to_which_they_agree() {
        let of = |k: f64| memory(&[("x", "m")], move |t| vec![t + 1e-6 * k * (20.0 * t).exp()]);
        let (a, b, c) = (of(1.0), of(-1.3), of(0.1));
        let v = compare(&[(&a, 1), (&b, 1), (&c, 1)]).unwrap();
        assert!(!v.converges, "{v:?}");
        let until = v.agrees_until.unwrap();
        let difference = 0.9e-6 * (20.0 * until).exp();
        assert!(difference < AGREEMENT * 500.0 && difference > 0.5 * AGREEMENT, "{until}");
    }

    #[test]
    fn angles_of_rounding_errors_are_no_chaos() {
        let of = |h: f64, noise: f64| {
            let names = [("a.x", "m"), ("a.angle", "rad"), ("a.wz", "rad/s"), ("j.fx", "N"), ("j.mz", "N m")];
            memory(&names, move |t| vec![t + h * t, noise * t, noise, 5.0, 10.0 * noise])
        };
        let v = compare(&[(&of(1e-3, 1e-16), 1), (&of(1e-4, -3e-15), 1), (&of(1e-5, 2e-15), 1)]).unwrap();
        assert!(v.converges && v.agrees_until.is_none(), "{v:?}");
        assert_eq!(v.worst().unwrap().name, "a.x");
        assert_eq!((tenth(1e-7, 2), tenth(3e-6, 1)), (1e-9, 3e-7));
    }

    #[test]
    fn a_rotation_has_two_quaternions() {
        let names = [("b.qw", ""), ("b.qx", ""), ("b.qy", ""), ("b.qz", "")];
        let of = |s: f64| memory(&names, move |t| vec![s * t.cos(), s * t.sin(), 0.0, 0.0]);
        let v = compare(&[(&of(1.0), 1), (&of(-1.0), 1)]).unwrap();
        assert!(v.channels.iter().all(|d| d.error == 0.0), "{v:?}");
    }

    #[test]
    fn tolerances_end_where_doubles_do() {
        let o = |rtol| Options { rtol, ..Options::default() };
        assert_eq!(finer(&o(1e-6), 2).unwrap().rtol, 1e-8);
        assert!(finer(&o(1e-12), 1).is_some() && finer(&o(1e-12), 2).is_none());
        let fixed = Options { step: Some(0.1), ..Options::default() };
        assert_eq!(finer(&fixed, 2).unwrap().step, Some(tidy(0.1 / 4.41)));
        let longest = |k| finer(&o(1e-6), k).unwrap().testing.max_step.unwrap();
        assert!(longest(1) < 1.0 / 400.0 && longest(2) < longest(1));
    }
}
