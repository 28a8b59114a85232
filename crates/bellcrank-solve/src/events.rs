//! Events: where switch functions fall through zero, found on the dense output of a step.
//!
//! A step is looked at in a few parts. Where a function is a gap, its rate is known too, and every part of the step is halved
//! until a bound says that the gap stays open there, or it is closed at a look (`approach.rs`): nothing that has a size is passed
//! through. Of other functions the dips between looks are followed.
//!
//! No switch function is negative while the modes of the state are right. Modes are kept during a step, so
//! the motion and its dense output are smooth also beyond the event, and a root of a switch function there
//! is where the event is. The step ends at the first of them; the modes change, velocities may jump, and
//! the method starts anew.
//!
//! At an event the function that fell starts again from about zero, in a mode where it should rise. Whether
//! it does is looked for on ever longer parts of the first step: one that was positive may fall again in the
//! same step (a ball that bounces low), one that never is falls at once.

use crate::approach::{self, Sight};
use bellcrank_model::dynamics::Approach;
use std::fmt;

/// Gives the switch functions at any time in a step, and how they move.
pub type Look<'a, E> = dyn FnMut(f64, &mut [f64], &mut [Approach]) -> Result<(), E> + 'a;

/// Something that happened at a time.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Event {
    /// When.
    pub t: f64,
    /// The user's name of what it happened to.
    pub name: String,
    /// What it did.
    pub what: String,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t = {:.6} s: {} {}", self.t, self.name, self.what)
    }
}

/// A root that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventRoot {
    /// When.
    pub t: f64,
    /// The number of the switch function.
    pub switch: usize,
}

/// Equal parts of a step at whose ends switch functions are looked at, at least.
const PARTS: usize = 4;

/// The first step after an event is also looked at after these powers of ¼ of it.
const SHORTER: i32 = 11;

/// Below this part of its size in the step a switch function counts as zero after an event; and below this.
const NOISE: f64 = 1e-10;
const NOTHING: f64 = 1e-13;

/// Below this part of its size a switch function has not fallen through zero in a jump.
const JUMP: f64 = 1e-9;

/// Most refinements of a minimum between two samples, and the part of the lowest sample that the next one
/// must promise to fall below.
const REFINEMENTS: usize = 12;
const REACH: f64 = 0.9;

/// Most looks that are spent on proving that one function has no root in a part of a step.
const MOST_LOOKS: usize = 2000;

/// What is known where a stretch of time begins.
#[derive(Clone, Copy, PartialEq)]
enum Begin {
    /// An event, or the start: functions may rise from zero.
    Fresh,
    /// The values are those at the end of the step before.
    Known,
    /// It is looked at once more.
    Again,
}

/// Watches switch functions from step to step.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct EventFinder {
    n: usize,
    /// Whether the step starts at an event, or at the start.
    started: bool,
    /// The values before a jump of something that is given, behind which the next step begins.
    before_jump: Vec<f64>,
    times: Vec<f64>,
    /// The values at these times, one row for each; the last row is the first of the next step.
    values: Vec<f64>,
    /// How the functions move, alike.
    approaches: Vec<Approach>,
    buffer: (Vec<f64>, Vec<Approach>),
    /// The largest of each in the step that is looked at.
    #[serde(skip)]
    sizes: Vec<f64>,
}

impl EventFinder {
    /// A watch on `n` switch functions.
    pub fn new(n: usize) -> EventFinder {
        EventFinder { n, ..EventFinder::default() }
    }

    /// The number of switch functions.
    pub fn count(&self) -> usize {
        self.n
    }

    /// The next step starts anew: after an event, or with other equations.
    pub fn restart(&mut self) {
        self.started = false;
    }

    /// The next step starts anew behind a jump of a load or of a function of time, through which switch functions may fall.
    pub fn restart_behind_jump(&mut self) {
        let last = self.values.len().saturating_sub(self.n);
        self.before_jump = if self.started { self.values[last..].to_vec() } else { Vec::new() };
        self.started = false;
    }

    /// A function that was positive before a jump and is negative behind it: in the step it may have risen again.
    fn fallen(&mut self) -> Option<EventRoot> {
        let before = std::mem::take(&mut self.before_jump);
        let fell = |(k, was): (usize, &f64)| {
            let is = self.value(0, k);
            let noise = JUMP * was.abs().max(is.abs());
            (noise.is_finite() && *was > noise && is < -noise).then_some(k)
        };
        let switch = before.iter().take(self.n).enumerate().find_map(fell)?;
        Some(EventRoot { t: self.times[0], switch })
    }

    /// The first event in the step between two times; `look` gives the switch functions at any time in it.
    pub fn find<E>(&mut self, from: f64, to: f64, look: &mut Look<E>) -> Result<Option<EventRoot>, E> {
        let n = self.n;
        if n == 0 {
            return Ok(None);
        }
        let fresh = !std::mem::replace(&mut self.started, true);
        let begin = if fresh { Begin::Fresh } else { Begin::Known };
        if self.sample(from, to, begin, look)? {
            return Ok(None);
        }
        if let Some(fallen) = self.fallen() {
            return Ok(Some(fallen));
        }
        let Some(mut first) = self.first(fresh, None, look)? else { return Ok(None) };
        // functions that fall and rise again before it, in a time that is short beside the step and not beside the event
        if n > 1 && first.t > from && !self.sample(from, first.t, Begin::Again, look)? {
            first = self.first(fresh, Some(first), look)?.unwrap_or(first);
        }
        Ok(Some(first))
    }

    /// The first event among the samples: before another one, of another function.
    fn first<E>(&mut self, fresh: bool, before: Option<EventRoot>, look: &mut Look<E>) -> Result<Option<EventRoot>, E> {
        let mut first = before;
        for k in (0..self.n).filter(|k| before.is_none_or(|f| f.switch != *k)) {
            let Some((a, b)) = self.bracket(k, fresh, before.is_some(), look)? else { continue };
            // what falls from the start was found at the first look
            if first.is_some_and(|f| f.t <= a) || (before.is_some() && a == b) {
                continue;
            }
            let t = if a == b { a } else { self.root(k, a, b, look)? };
            if first.is_none_or(|f| t < f.t) {
                first = Some(EventRoot { t, switch: k });
            }
        }
        Ok(first)
    }

    /// Looks at both ends of a step and, unless everything is far away, at times between. Tells whether everything is.
    fn sample<E>(&mut self, from: f64, to: f64, begin: Begin, look: &mut Look<E>) -> Result<bool, E> {
        let (n, h) = (self.n, to - from);
        self.times.clear();
        if begin != Begin::Known {
            self.values.clear();
            self.approaches.clear();
            self.look(from, look)?;
        } else {
            let last = self.values.len() - n;
            self.values.copy_within(last.., 0);
            self.approaches.copy_within(last.., 0);
            self.values.truncate(n);
            self.approaches.truncate(n);
            self.times.push(from);
        }
        self.look(to, look)?;
        if begin != Begin::Fresh && (0..n).all(|k| approach::far(&self.sight(0, k), &self.sight(1, k))) {
            return Ok(true);
        }
        let parts = approach::parts(h, [&self.approaches[..n], &self.approaches[n..]], PARTS);
        let shorter = (2..=SHORTER).rev().map(|i| 0.25f64.powi(i));
        let shorter = shorter.filter(|part| begin == Begin::Fresh && part * (parts as f64) < 1.0);
        for part in shorter.chain((1..parts).map(|i| i as f64 / parts as f64)) {
            self.look(from + h * part, look)?;
        }
        // the end was looked at second
        self.times[1..].rotate_left(1);
        self.values[n..].rotate_left(n);
        self.approaches[n..].rotate_left(n);
        Ok(false)
    }

    /// One more row of values.
    fn look<E>(&mut self, t: f64, look: &mut Look<E>) -> Result<(), E> {
        let at = self.values.len();
        self.times.push(t);
        self.values.resize(at + self.n, 0.0);
        self.approaches.resize(at + self.n, Approach::default());
        self.approaches[at..].fill(Approach::default());
        look(t, &mut self.values[at..], &mut self.approaches[at..])
    }

    fn value(&self, j: usize, k: usize) -> f64 {
        self.values[j * self.n + k]
    }

    fn sight(&self, j: usize, k: usize) -> Sight {
        Sight { t: self.times[j], value: self.value(j, k), approach: self.approaches[j * self.n + k] }
    }

    /// Two times between which function `k` falls through zero for the first time; twice the start where it
    /// falls from there.
    fn bracket<E>(&mut self, k: usize, fresh: bool, again: bool, look: &mut Look<E>) -> Result<Option<(f64, f64)>, E> {
        let count = self.times.len();
        let size = (0..count).fold(0.0f64, |m, j| m.max(self.value(j, k).abs()));
        // rounding is what it is beside the values in the whole step
        self.sizes.resize(self.n, 0.0);
        let size = if again { size.max(self.sizes[k]) } else { size };
        self.sizes[k] = size;
        if !size.is_finite() {
            return Ok(None);
        }
        let noise = NOTHING.max(NOISE * size);
        let pairs = (1..count).filter_map(|j| approach::acceleration(&self.sight(j - 1, k), &self.sight(j, k)));
        let most = pairs.fold(None, |most: Option<f64>, one| Some(most.map_or(one, |most| most.max(one))));
        let mut armed = !fresh || self.value(0, k) > noise;
        for j in 1..count {
            let x = self.value(j, k);
            if !armed {
                armed = x > noise;
                continue;
            }
            if x < 0.0 {
                return Ok(Some((self.times[j - 1], self.times[j])));
            }
            let (a, b) = (self.sight(j - 1, k), self.sight(j, k));
            if let Some(most) = most.filter(|_| !approach::unknown(&a, &b)) {
                if !approach::proven(&a, &b, most)
                    && let Some(bracket) = self.search(k, a, b, most, look)?
                {
                    return Ok(Some(bracket));
                }
                continue;
            }
            // a dip between samples, or beside the first and the last of them
            let rises_before = j > 1 && self.value(j - 1, k) <= x;
            let falls_behind = j + 2 < count && self.value(j + 1, k) < x;
            if j + 1 < count && !rises_before && !falls_behind {
                let triple = [j - 1, j, j + 1].map(|j| (self.times[j], self.value(j, k)));
                if let Some(low) = self.dip(k, triple, look)? {
                    return Ok(Some((self.times[j - 1], low)));
                }
            }
        }
        let (start, end) = (self.value(0, k), self.value(count - 1, k));
        // a gap that opens from a little beyond zero does not fall
        let falls = !armed && end < -noise && (most.is_none() || end < start);
        Ok(falls.then_some((self.times[0], self.times[0])))
    }

    /// Two times between which gap `k` closes in a part of the step at whose ends it is open, if it ever does there; with
    /// |ẍ| ≤ `most`.
    fn search<E>(
        &mut self,
        k: usize,
        a: Sight,
        b: Sight,
        most: f64,
        look: &mut Look<E>,
    ) -> Result<Option<(f64, f64)>, E> {
        let (mut values, mut approaches) = self.buffer();
        // the parts that are still open, the earliest on top
        let (mut open, mut looks, mut found) = (vec![(a, b)], 0, None);
        while let Some((a, b)) = open.pop() {
            let t = approach::next_look(&a, &b);
            if approach::proven(&a, &b, most) || t <= a.t || t >= b.t || looks == MOST_LOOKS {
                continue;
            }
            looks += 1;
            approaches.fill(Approach::default());
            look(t, &mut values, &mut approaches)?;
            let middle = Sight { t, value: values[k], approach: approaches[k] };
            if middle.value < 0.0 {
                found = Some((a.t, t));
                break;
            }
            open.extend([(middle, b), (a, middle)]);
        }
        self.buffer = (values, approaches);
        Ok(found)
    }

    /// A time at which function `k` is negative near the lowest of three samples, if it ever is: the lowest
    /// points of parabolas are followed while they go on falling.
    fn dip<E>(&mut self, k: usize, mut samples: [(f64, f64); 3], look: &mut Look<E>) -> Result<Option<f64>, E> {
        let (mut values, mut approaches) = self.buffer();
        let mut low = None;
        for _ in 0..REFINEMENTS {
            let [(a, fa), (b, fb), (c, fc)] = samples;
            let (left, right) = ((fb - fa) / (b - a), (fc - fb) / (c - b));
            let bend = (right - left) / (c - a);
            let t = 0.5 * (a + b - left / bend);
            let lowest = fb + (t - b) * (left + bend * (t - a));
            // all false where the three lie on a line and t is none
            let promising = bend > 0.0 && lowest < REACH * fa.min(fb).min(fc) && t > a && t < c && t != b;
            if !promising {
                break;
            }
            look(t, &mut values, &mut approaches)?;
            let f = values[k];
            if f < 0.0 {
                low = Some(t);
                break;
            }
            // beside the first or the last sample the lowest of the three is at an end
            samples = match (t < b, f < fb || if t < b { fa < fb } else { fc < fb }) {
                (true, true) => [samples[0], (t, f), samples[1]],
                (true, false) => [(t, f), samples[1], samples[2]],
                (false, true) => [samples[1], (t, f), samples[2]],
                (false, false) => [samples[0], samples[1], (t, f)],
            };
        }
        self.buffer = (values, approaches);
        Ok(low)
    }

    /// Room for one row of values.
    fn buffer(&mut self) -> (Vec<f64>, Vec<Approach>) {
        let (mut values, mut approaches) = std::mem::take(&mut self.buffer);
        values.resize(self.n, 0.0);
        approaches.resize(self.n, Approach::default());
        (values, approaches)
    }

    /// The root of function `k` in a bracket to the last digits of the time, on its negative side, by
    /// interpolation, truncation and projection: never slower than bisection [Oliveira & Takahashi 2021].
    fn root<E>(&mut self, k: usize, mut a: f64, mut b: f64, look: &mut Look<E>) -> Result<f64, E> {
        let (mut values, mut approaches) = self.buffer();
        let mut f = |t: f64| look(t, &mut values, &mut approaches).map(|()| values[k]);
        let (mut fa, mut fb) = (f(a)?, f(b)?);
        let half = f64::EPSILON * a.abs().max(b.abs());
        let slack = 0.2 / (b - a);
        let most = ((b - a) / (2.0 * half)).log2().ceil().clamp(0.0, 1100.0) as i32 + 1;
        for j in 0..=most {
            if fa <= 0.0 {
                b = a;
            }
            if b - a <= 2.0 * half {
                break;
            }
            let middle = 0.5 * (a + b);
            let radius = half * 2f64.powi(most - j) - 0.5 * (b - a);
            let chord = (fb * a - fa * b) / (fb - fa);
            let towards = (middle - chord).signum();
            let truncated = slack * (b - a).powi(2);
            let near = if truncated <= (middle - chord).abs() { chord + towards * truncated } else { middle };
            let t = if (near - middle).abs() <= radius { near } else { middle - towards * radius };
            // rounding must not leave the bracket
            let t = if t > a && t < b { t } else { middle };
            let x = f(t)?;
            if x > 0.0 {
                (a, fa) = (t, x)
            } else {
                (b, fb) = (t, x)
            }
            if x == 0.0 {
                break;
            }
        }
        self.buffer = (values, approaches);
        Ok(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellcrank_math::Vec3;
    use bellcrank_model::dynamics::Track;
    use std::convert::Infallible;

    /// The first event of functions of time in a step, and how often they were looked at.
    fn first(watch: &mut EventFinder, from: f64, to: f64, f: &dyn Fn(f64) -> Vec<f64>) -> (Option<EventRoot>, usize) {
        let mut count = 0;
        let found = watch.find::<Infallible>(from, to, &mut |t, out, _| {
            count += 1;
            out.copy_from_slice(&f(t));
            Ok(())
        });
        (found.unwrap_or_else(|e| match e {}), count)
    }

    #[test]
    fn the_first_of_several_roots_is_found_to_rounding() {
        let f = |t: f64| vec![(t - 0.7) * (t - 2.0), 0.3 - t * t * t, 1.0 + t, f64::INFINITY];
        let (found, count) = first(&mut EventFinder::new(4), 0.0, 1.0, &f);
        let exact = 0.3f64.cbrt();
        let found = found.expect("a root");
        assert!(found.switch == 1 && (found.t - exact).abs() < 4e-16, "{found:?}");
        assert!(count < 50, "{count}");
        // a step that ends before it sees none; the next one starts where it ended
        let mut watch = EventFinder::new(4);
        assert!(first(&mut watch, 0.0, 0.6, &f).0.is_none());
        let (found, count) = first(&mut watch, 0.6, 0.9, &f);
        assert!(found.is_some_and(|f| (f.t - exact).abs() < 4e-16) && count < 40, "{found:?} {count}");
    }

    #[test]
    fn a_short_dip_is_seen_and_a_near_miss_is_none() {
        for (depth, seen) in [(1e-3, true), (1e-9, true), (-1e-9, false), (-0.1, false)] {
            let f = |t: f64| vec![(t - 0.41).powi(2) * (1.3 - t) - depth];
            let mut watch = EventFinder::new(1);
            let (found, _) = first(&mut watch, 0.0, 1.0, &f);
            assert_eq!(found.is_some(), seen, "{depth}");
            if let Some(found) = found {
                assert!(f(found.t)[0].abs() < 1e-15 && found.t < 0.41, "{depth}: {found:?}");
            }
        }
    }

    #[test]
    fn a_dip_beside_an_end_of_a_step_is_seen() {
        for at in [0.02, 0.07, 0.9, 0.93] {
            let f = |t: f64| vec![(t - at).powi(2) * (2.0 + t) - 1e-5];
            let (found, count) = first(&mut EventFinder::new(1), 0.0, 1.0, &f);
            assert!(found.is_some_and(|x| f(x.t)[0].abs() < 1e-15 && x.t < at), "{at}: {found:?}");
            assert!(count < 60, "{count}");
        }
    }

    #[test]
    fn what_falls_and_rises_again_just_before_another_event_is_found() {
        // the first dips from 0.095 to 0.1, where the second falls
        let f = |t: f64| vec![(t - 0.095) * (t - 0.1), 0.1 - t];
        let mut watch = EventFinder::new(2);
        let (found, count) = first(&mut watch, -0.1, 1.0, &f);
        assert!(found.is_some_and(|x| x.switch == 0 && (x.t - 0.095).abs() < 1e-15), "{found:?}");
        assert!(count < 80, "{count}");
    }

    #[test]
    fn a_function_that_starts_at_zero_is_found_when_it_falls_again() {
        // a low bounce within a long step, with the rounding of the start
        for flight in [0.3, 1e-2, 1e-3, 1e-4] {
            for off in [0.0, -1e-17, 1e-17] {
                let f = |t: f64| vec![t * (flight - t) + off];
                let (found, _) = first(&mut EventFinder::new(1), 0.0, 1.0, &f);
                assert!(found.is_some_and(|f| (f.t - flight).abs() < 1e-12), "{flight} {off}: {found:?}");
            }
        }
        // one that falls from the start does so at once; one that rests at zero never does
        let falls = first(&mut EventFinder::new(1), 2.0, 3.0, &|t| vec![2.0 - t]).0;
        assert_eq!(falls, Some(EventRoot { t: 2.0, switch: 0 }));
        assert_eq!(first(&mut EventFinder::new(1), 2.0, 3.0, &|_| vec![-1e-16]).0, None);
        assert_eq!(first(&mut EventFinder::new(1), 2.0, 3.0, &|t| vec![(t - 2.0).powi(2)]).0, None);
    }

    #[test]
    fn gaps_far_away_take_one_look_and_those_that_pass_through_are_found() {
        // two balls of radius ½ that come from ±100 at 10 each, in steps of any length
        let sight = |t: f64, out: &mut [f64], approaches: &mut [Approach]| {
            let d = Vec3::new(20.0 * t - 200.0, 0.1, 0.0);
            out[0] = d.norm() - 1.0;
            let rate = Vec3::new(20.0, 0.0, 0.0);
            approaches[0].track = Track::Sphere { d, rate, radius: 1.0, outside: true };
        };
        let exact = 10.0 - 0.99f64.sqrt() / 20.0;
        for h in [0.7, 3.0, 14.0, 20.0] {
            let (mut watch, mut t, mut far) = (EventFinder::new(1), 0.0, 0);
            loop {
                let mut count = 0;
                let found = watch.find::<Infallible>(t, t + h, &mut |t, out, approaches| {
                    count += 1;
                    sight(t, out, approaches);
                    Ok(())
                });
                far += (count == 1) as usize;
                if let Some(found) = found.unwrap_or_else(|e| match e {}) {
                    assert!((found.t - exact).abs() < 1e-13 && count < 60, "{h}: {found:?} {count}");
                    break;
                }
                t += h;
                assert!(t < 11.0, "{h}: passed through");
            }
            assert!(far >= if h < 1.0 { 8 } else { 0 }, "{h}: {far}");
        }
    }

    #[test]
    fn no_event_is_found_twice() {
        let f = |t: f64| vec![(3.0 * t).sin() + 0.1];
        let (mut watch, mut t, mut found) = (EventFinder::new(1), 0.0, Vec::new());
        let mut sign = 1.0;
        while t < 10.0 {
            let g = |t: f64| vec![sign * f(t)[0]];
            match first(&mut watch, t, t + 0.37, &g).0 {
                Some(event) => {
                    found.push(event.t);
                    (t, sign) = (event.t, -sign);
                    watch.restart();
                }
                None => t += 0.37,
            }
        }
        let exact = |k: f64| (std::f64::consts::PI * k - (-1f64).powf(k) * 0.1f64.asin()) / 3.0;
        assert_eq!(found.len(), 9);
        found.iter().zip(1..).for_each(|(t, k)| assert!((t - exact(k as f64)).abs() < 1e-14, "{k}: {t}"));
    }
}
