//! Breakpoints: the times at which an expression changes from one branch to another.
//!
//! A stretch of time is free of breakpoints if every function in use stays on its branch, which bounds of its arguments
//! tell ([`Interval`]). The search goes from left to right in windows that grow where the branches are decided and are halved
//! where they are not, down to two numbers next to each other. So a breakpoint is found to the last bit, at the very number
//! at which the program begins to give other values, and none is passed over, however short what lies between two of them.
//! Breakpoints are made one at a time: a square wave has as many as the run is long, and none is stored.
//!
//! In an expression that also depends on the state, the functions that pick their branches by time and inputs alone have breakpoints; of
//! the others nothing is known ahead, and their branches are events (`bends.rs`).

use super::interval::Interval;
use super::{Expression, Instruction, STACK};
use crate::dynamics::{Ahead, Break, Course, StateLaw};

/// Windows of one search. A search that takes more ends where it has got to.
const WINDOWS: usize = 4000;

/// After this many windows, windows that stay undecided need no longer be narrower than this part of the time to be searched,
/// and than twice that after so many more.
const UNDECIDED_WINDOWS: f64 = 1000.0;
const CREEP: f64 = 1e-12;
const GIVING_WAY: f64 = 100.0;

/// Numbers next to a breakpoint in which rounding may blur it: it is passed as a whole.
const BLUR: usize = 16;

/// Relative jumps of a value or a rate below this are rounding.
const ROUNDING: f64 = 1e-9;

/// Windows in which a hidden pulse is looked for.
const LOOKS: usize = 200;

/// How often a step is halved until it hides no pulse.
const HALVINGS: usize = 40;

/// What a stretch of time tells of a part of an expression.
#[derive(Clone, Copy)]
struct RangeInTime {
    bounds: Interval,
    /// A number for the branches taken, as far as they count.
    branches: u64,
    decided: bool,
    /// Whether it depends on more than time and inputs.
    of_state: bool,
    /// Whether a part of it that depends on time and inputs alone may be infinite.
    wild: bool,
}

impl RangeInTime {
    fn smooth(bounds: Interval) -> RangeInTime {
        RangeInTime { bounds, branches: 0, decided: true, of_state: false, wild: false }
    }

    /// A number that is only known during the run.
    fn of_state() -> RangeInTime {
        RangeInTime { of_state: true, ..RangeInTime::smooth(Interval::ALL) }
    }

    /// What is made of some parts, all of which count.
    fn of(parts: &[RangeInTime], bounds: Interval) -> RangeInTime {
        let of_state = parts.iter().any(|part| part.of_state);
        let bent = parts.iter().filter(|part| part.branches != 0);
        RangeInTime {
            bounds,
            branches: bent.fold(0, |all, part| mixed(all, part.branches)),
            decided: parts.iter().all(|part| part.decided),
            of_state,
            wild: parts.iter().any(|part| part.wild) || (!of_state && !bounds.is_finite()),
        }
    }
}

/// Mixes a number into another, so that different branches have different numbers.
fn mixed(a: u64, b: u64) -> u64 {
    (a.rotate_left(23) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Expression {
    /// Whether it may have breakpoints.
    pub fn bends(&self) -> bool {
        let picks = |i: &Instruction| match i {
            Instruction::Apply(f) => f.pick.is_some(),
            Instruction::Lookup(table, _) => self.tables[*table as usize].bends(),
            _ => false,
        };
        self.uses(0) && (self.curve().is_some() || self.program.iter().any(picks))
    }

    /// Whether it is somewhere between two times beyond its values at both by more than `height`. Windows whose bounds leave
    /// that open are halved until their middles show it.
    fn hides(&self, inputs: &[f64], from: f64, to: f64, height: f64) -> bool {
        let value = |t: f64| self.value_with(t, inputs);
        let (a, b) = (value(from), value(to));
        let (low, high) = (a.min(b) - height, a.max(b) + height);
        let mut windows = [(from, to); 64];
        let mut count = 1;
        for _ in 0..LOOKS {
            if count == 0 {
                break;
            }
            count -= 1;
            let (a, b) = windows[count];
            let bounds = self.over(inputs, Interval { lo: a, hi: b }).bounds;
            if bounds.lo >= low && bounds.hi <= high {
                continue;
            }
            let middle = 0.5 * (a + b);
            let x = value(middle);
            if x < low || x > high {
                return true;
            }
            if middle > a && middle < b && count + 2 <= windows.len() {
                windows[count] = (middle, b);
                windows[count + 1] = (a, middle);
                count += 2;
            }
        }
        false
    }

    /// Bounds and branches over a stretch of time.
    fn over(&self, inputs: &[f64], t: Interval) -> RangeInTime {
        self.over_all(|v| match v.checked_sub(1) {
            None => RangeInTime::smooth(t),
            Some(v) => {
                let input = inputs.get(v).map(|input| RangeInTime::smooth(Interval::point(*input)));
                input.unwrap_or_else(RangeInTime::of_state)
            }
        })
    }

    /// Bounds and branches over what is known of its variables.
    fn over_all(&self, variable: impl Fn(usize) -> RangeInTime) -> RangeInTime {
        let mut stack = [RangeInTime::of_state(); STACK];
        let mut top = 0;
        for instruction in &self.program {
            stack[top] = match *instruction {
                Instruction::Number(value) => RangeInTime::smooth(Interval::point(value)),
                Instruction::Variable(v) => variable(v as usize),
                Instruction::Lookup(table, arity) => {
                    top -= arity as usize;
                    let parts = &stack[top..top + arity as usize];
                    let surface = &self.tables[table as usize];
                    let [x, y] = [0, arity as usize - 1].map(|k| parts[k].bounds.as_point());
                    let bounds = match (x, y) {
                        (Some(x), Some(y)) => Interval::point(surface.at(x, if arity > 1 { y } else { 0.0 }).value),
                        _ => {
                            let [x, y] = [0, arity as usize - 1].map(|k| [parts[k].bounds.lo, parts[k].bounds.hi]);
                            let [lo, hi] = surface.bounds_over(x, y);
                            Interval::new(lo, hi)
                        }
                    };
                    let out = RangeInTime::of(parts, bounds);
                    match surface.stretch(parts[0].bounds.lo, parts[0].bounds.hi) {
                        _ if out.of_state => out,
                        Some(k) => RangeInTime { branches: mixed(out.branches, k as u64), ..out },
                        None => RangeInTime { decided: false, ..out },
                    }
                }
                Instruction::Apply(f) => {
                    top -= f.arity;
                    applied(f, &stack[top..top + f.arity])
                }
            };
            top += 1;
        }
        let RangeInTime { bounds, branches, .. } = stack[0];
        let Some(curve) = self.curve() else {
            // what is known of a function of its own is that it is smooth
            return if self.outer.is_some() { RangeInTime { bounds: Interval::ALL, ..stack[0] } } else { stack[0] };
        };
        match curve.stretch(bounds.lo, bounds.hi) {
            Some(k) => RangeInTime { bounds: Interval::ALL, branches: mixed(branches, k as u64 + 1), ..stack[0] },
            None => RangeInTime { bounds: Interval::ALL, decided: false, ..stack[0] },
        }
    }

    /// A number for all branches taken at a time.
    fn branches_at(&self, inputs: &[f64], t: f64) -> u64 {
        self.over(inputs, Interval::point(t)).branches
    }

    /// The two numbers next to each other between `a` and `b` where the branches of `a` end.
    fn end_of_branches(&self, inputs: &[f64], mut a: f64, mut b: f64) -> (f64, f64) {
        let branches = self.branches_at(inputs, a);
        while a.next_up() < b {
            let middle = 0.5 * a + 0.5 * b;
            let middle = if middle > a && middle < b { middle } else { a.next_up() };
            if self.branches_at(inputs, middle) == branches { a = middle } else { b = middle }
        }
        (a, b)
    }

    /// The breakpoint between two numbers next to each other, with the numbers behind it that rounding blurs; `None` if nothing
    /// jumps but rounding. The range of the values and the span of time tell what is large.
    fn break_at(&self, inputs: &[f64], between: (f64, f64), to: f64, (range, span): (f64, f64)) -> Option<Break> {
        let (before, mut after) = between;
        let mut t = after;
        for _ in 0..BLUR {
            let next = t.next_up().min(to);
            if self.branches_at(inputs, next) != self.branches_at(inputs, after) {
                after = next;
            }
            t = next;
        }
        if self.over(inputs, Interval::point(before)).of_state || self.over(inputs, Interval::point(after)).of_state {
            // how far it jumps is only known there
            return Some(Break { before, after, bends: true });
        }
        let (left, right) = (self.jet_with(before, inputs), self.jet_with(after, inputs));
        // negated, so that what is no number jumps
        let jumps = |a: f64, b: f64, slope: f64, noise: f64| {
            let rounding = ROUNDING * a.abs().max(b.abs()) + 4.0 * slope.abs() * (after - before);
            let still = (b - a).abs() <= rounding || (b - a).abs() <= noise;
            !still
        };
        let noise = if range.is_finite() { range } else { 0.0 };
        let bends = jumps(left.value, right.value, left.rate, 1e-14 * noise)
            || jumps(left.rate, right.rate, left.second, ROUNDING * noise / span);
        let curves = self.curve().is_some() || jumps(left.second, right.second, 0.0, ROUNDING * noise / (span * span));
        (bends || curves).then_some(Break { before, after, bends })
    }
}

/// A function over what its arguments are known to be.
fn applied(f: &super::function::Function, parts: &[RangeInTime]) -> RangeInTime {
    let mut bounds = [Interval::ALL; 8];
    let mut values = [0.0; 8];
    for ((part, bound), value) in parts.iter().zip(&mut bounds).zip(&mut values) {
        (*bound, *value) = (part.bounds, part.bounds.lo);
    }
    let (bounds, values) = (&bounds[..parts.len()], &values[..parts.len()]);
    let of_state = |i: usize| parts[i].of_state;
    let branch = match f.pick {
        Some(_) if (0..parts.len()).any(|i| f.picks_by & (1 << i) != 0 && of_state(i)) => {
            return RangeInTime::of(parts, (f.bounds)(bounds));
        }
        None => None,
        Some(pick) => match pick(bounds) {
            Some(branch) => Some(branch),
            None => return RangeInTime { decided: false, branches: 0, ..RangeInTime::of(parts, (f.bounds)(bounds)) },
        },
    };
    let counts = branch.map_or(u8::MAX, |b| b.counts);
    let constant = counts == 0 || bounds.iter().all(|x| x.as_point().is_some());
    let number = branch.map_or(0, |b| mixed(1, b.number as u64));
    let counting = parts.iter().enumerate().filter(|(i, _)| counts & (1 << i) != 0);
    let mut out = RangeInTime {
        branches: number,
        ..RangeInTime::smooth(if constant { point((f.value)(values)) } else { (f.bounds)(bounds) })
    };
    for (i, part) in counting {
        out.decided &= part.decided;
        out.of_state |= part.of_state;
        out.wild |= part.wild;
        if part.branches != 0 {
            out.branches = mixed(out.branches, mixed(part.branches, i as u64));
        }
    }
    out.wild |= !out.of_state && !out.bounds.is_finite();
    out
}

fn point(x: f64) -> Interval {
    if x.is_nan() { Interval::ALL } else { Interval::point(x) }
}

impl StateLaw for Expression {
    fn value(&self, x: &[f64]) -> f64 {
        self.value_of(x)
    }

    fn bounds(&self, x: &[[f64; 2]]) -> [f64; 2] {
        let over = |v: usize| x.get(v).map_or(Interval::ALL, |[lo, hi]| Interval::new(*lo, *hi));
        let Interval { lo, hi } = self.over_all(|v| RangeInTime::smooth(over(v))).bounds;
        [lo, hi]
    }
}

impl Course for Expression {
    fn range(&self, inputs: &[f64], from: f64, to: f64) -> f64 {
        match self.over(inputs, Interval { lo: from, hi: to.max(from) }) {
            RangeInTime { of_state: true, wild, .. } => {
                if wild {
                    f64::INFINITY
                } else {
                    0.0
                }
            }
            RangeInTime { bounds, .. } => bounds.hi - bounds.lo,
        }
    }

    fn unhidden(&self, inputs: &[f64], from: f64, mut to: f64, height: f64) -> f64 {
        for _ in 0..HALVINGS {
            if !self.hides(inputs, from, to, height) {
                break;
            }
            to = from + 0.5 * (to - from);
        }
        to
    }

    fn next_break(&self, inputs: &[f64], from: f64, to: f64) -> Ahead {
        if !self.bends() {
            return Ahead::Clear(to);
        }
        let (mut a, mut b) = (from, to);
        // windows that are narrower and stay undecided are judged by the branches at their ends
        let mut narrow = 0.0f64;
        let mut halved = false;
        for k in 0..WINDOWS {
            if a >= to {
                break;
            }
            // where bounds are wide and a function only touches, windows would become ever narrower
            let creep = CREEP * (to - from) * f64::exp2((k as f64 - UNDECIDED_WINDOWS) / GIVING_WAY);
            let narrow_now = if k as f64 > UNDECIDED_WINDOWS { narrow.max(creep) } else { narrow };
            let width = b - a;
            let next_to = b <= a.next_up();
            let decided = self.over(inputs, Interval { lo: a, hi: b }).decided;
            if !decided && !next_to && width > narrow_now {
                b = a + 0.5 * width;
                b = if b > a { b } else { a.next_up() };
                halved = true;
                continue;
            }
            if !decided {
                if self.branches_at(inputs, a) != self.branches_at(inputs, b) {
                    let between = self.end_of_branches(inputs, a, b);
                    let sizes = (self.range(inputs, from, to), to - from);
                    if let Some(found) = self.break_at(inputs, between, to, sizes) {
                        return Ahead::Break(found);
                    }
                }
                // it touches and does not cross, nothing jumps, or bounds cannot tell
                narrow = (2.0 * width).max(4.0 * (b.next_up() - b));
            } else if width > 64.0 * narrow {
                narrow = 0.0;
            }
            let wider = if std::mem::take(&mut halved) { width } else { 2.0 * width };
            (a, b) = (b, (b + wider.max(b.next_up() - b)).min(to));
        }
        Ahead::Clear(a.min(to))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scope;
    use super::*;
    use crate::curve::{Beyond, Curve};
    use crate::file::Parameters;

    fn parse(text: &str) -> Expression {
        let parameters = Parameters::default();
        Expression::parse(text, Scope { parameters: &parameters, variables: &["t", "u"], inputs: &["u"] }).unwrap()
    }

    /// All breakpoints up to a time.
    fn all(f: &Expression, inputs: &[f64], until: f64) -> Vec<Break> {
        let (mut out, mut t) = (Vec::new(), 0.0);
        for _ in 0..1_000_000 {
            match f.next_break(inputs, t, until) {
                Ahead::Break(b) => {
                    out.push(b);
                    t = b.after;
                }
                Ahead::Clear(to) if to >= until => return out,
                Ahead::Clear(to) => {
                    assert!(to > t, "no progress at {t}");
                    t = to;
                }
            }
        }
        panic!("too many")
    }

    fn times(text: &str, until: f64) -> Vec<f64> {
        all(&parse(text), &[], until).iter().map(|b| b.after).collect()
    }

    #[test]
    fn breakpoints_of_affine_arguments_are_exact() {
        assert_eq!(times("if(t < 1, 1, 0)", 10.0), [1.0]);
        assert_eq!(times("(t >= 0.3)*(t < 0.7)", 10.0), [0.3, 0.7]);
        assert_eq!(times("max(0, t - 1)", 10.0), [1f64.next_up()]);
        assert_eq!(times("abs(t - 4) + min(t, 2.5, 9)", 10.0), [2.5f64.next_up(), 4.0]);
        assert_eq!(times("step(t, 1, 0, 2, 5)", 10.0), [1f64.next_up(), 2.0]);
        assert_eq!(times("floor(t)", 3.5), [1.0, 2.0, 3.0]);
        assert_eq!(times("sin(t)^2 + exp(-t)*hypot(t, 1)", 1e6), [0.0; 0]);
        assert_eq!(times("if(1 > 0, t, floor(t))", 1e6), [0.0; 0]);
        let b = all(&parse("if(t < 1, 1, 0)"), &[], 10.0)[0];
        assert_eq!((b.before, b.after, b.bends), (1f64.next_down(), 1.0, true));
    }

    #[test]
    fn corners_that_roots_and_inverse_functions_make_are_breakpoints() {
        let close = |text: &str, until: f64, exact: &[f64]| {
            let found = times(text, until);
            let all =
                found.len() == exact.len() && found.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-14 * b.abs());
            assert!(all, "{text}: {found:?}");
        };
        let pi = std::f64::consts::PI;
        for text in ["sqrt((t - 1)^2)", "sqrt((t-1)*(t-1))", "hypot(t - 1, 0)", "sqrt(pow(t - 1, 2))"] {
            close(text, 3.0, &[1.0]);
            let f = parse(text);
            assert_eq!(
                (f.jet_with(0.5, &[]).rate, f.jet_with(1.5, &[]).rate, f.value_with(0.25, &[])),
                (-1.0, 1.0, 0.75),
                "{text}"
            );
        }
        assert_eq!(times("2*sqrt(t^2 + 1)*sqrt((t + 1)*(t + 2))", 3.0), [0.0; 0]);
        close("3*acos(cos(2*t))", 5.0, &[pi / 2.0, pi, 1.5 * pi]);
        close("asin(sin(t)) + 1", 5.0, &[0.5 * pi, 1.5 * pi]);
        close("atan(tan(t))", 5.0, &[0.5 * pi, 1.5 * pi]);
        for t in [0.3, 1.7, 3.3, 5.5, 20.1, -2.0, -4.0] {
            let [a, b, c] = ["acos(cos(t))", "asin(sin(t))", "atan(tan(t))"].map(|text| parse(text).value_with(t, &[]));
            let exact = [t.cos().acos(), t.sin().asin(), t.tan().atan()];
            assert!(
                (a - exact[0]).abs() < 1e-13 && (b - exact[1]).abs() < 1e-13 && (c - exact[2]).abs() < 1e-13,
                "{t}"
            );
            assert!((parse("acos(cos(t))").jet_with(t, &[]).rate - t.sin().signum()).abs() < 1e-15);
        }
        assert_eq!(parse("acos(cos(t))").jet_with(0.0, &[]).rate, 1.0);
    }

    #[test]
    fn breakpoints_of_nested_conditions_count_only_where_they_are_used() {
        assert_eq!(
            times("if(t < 2, if(t < 1, 3, 4), if(t < 1.5, 5, if(t > 7, 1, 0)))", 10.0),
            [1.0, 2.0, 7f64.next_up()]
        );
        assert_eq!(times("max(10, 3*(t > 5))", 100.0), [0.0; 0]);
        assert_eq!(times("if(floor(t/2) > 1, 1, 0)", 100.0), [4.0]);
    }

    #[test]
    fn periodic_breakpoints_go_on_for_ever_and_none_is_missed() {
        let wave = times("if(sin(2*pi*t) > 0.9, 1, 0)", 1000.0);
        assert_eq!(wave.len(), 2000);
        let width = (0.5 - 0.9f64.asin() / std::f64::consts::PI).abs();
        for (k, pair) in wave.chunks(2).enumerate() {
            let first = k as f64 + 0.9f64.asin() / std::f64::consts::TAU;
            assert!((pair[0] - first).abs() < 1e-10 && (pair[1] - pair[0] - width).abs() < 1e-10, "{pair:?}");
        }
        // a pulse of 1 µs in every hour
        let pulses = times("if(t - 3600*floor(t/3600) < 1e-6, 1, 0)", 36001.0);
        assert_eq!(pulses.len(), 20 + 1, "{pulses:?}");
        // the two crossings of a narrow window
        assert_eq!(times("if(abs(sin(t) - 0.5) < 1e-9, 1, 0)", 3.0).len(), 4);
    }

    #[test]
    fn what_touches_or_vanishes_everywhere_ends_in_time() {
        assert!(times("max(0.5, sin(t)*cos(t))", 20.0).len() < 200);
        assert!(times("abs(sin(t)^2 + cos(t)^2 - 1)", 20.0).is_empty());
        assert!(times("if(t < 1, 2*t, t + t)", 20.0).is_empty());
        assert!(times("max(0, (t - 1)^2)", 20.0).len() < 5);
        assert!(times("max(sin(t) - sin(t), 0)", 20.0).is_empty());
    }

    #[test]
    fn a_narrow_pulse_does_not_hide_between_the_ends_of_a_step() {
        let f = parse("3*exp(-((t - 5)/1e-5)^2)");
        let range = f.range(&[], 0.0, 10.0);
        assert!((range - 3.0).abs() < 1e-9);
        let end = f.unhidden(&[], 0.0, 7.3, 0.25 * range);
        assert!(end < 5.0 + 1e-4, "{end}");
        assert_eq!(f.unhidden(&[], 0.0, 4.9, 0.25 * range), 4.9);
        assert_eq!(f.unhidden(&[], 5.1, 10.0, 0.25 * range), 10.0);
        // what is seen at the ends is not hidden, and bounds that are too wide find nothing
        let wave = parse("sin(t)^2 + cos(t)^2");
        assert_eq!(wave.unhidden(&[], 0.0, 3.0, 0.25 * wave.range(&[], 0.0, 10.0)), 3.0);
        assert_eq!(parse("sin(t)").unhidden(&[], 0.0, 1.4, 0.5), 1.4);
    }

    #[test]
    fn what_depends_on_time_alone_breaks_also_beside_the_state() {
        // of two variables the first is an input, the second is of the state
        let scope = Scope { parameters: &Parameters::default(), variables: &["t", "u", "x"], inputs: &["u"] };
        let times = |text: &str| -> Vec<f64> {
            all(&Expression::parse(text, scope).unwrap(), &[3.0], 10.0).iter().map(|b| b.after).collect()
        };
        assert_eq!(times("x*if(t < 1, 2, 0) + floor(t/4)"), [1.0, 4.0, 8.0]);
        assert_eq!(times("if(t < u, x, abs(x))*max(x, t)"), [3.0]);
        assert_eq!(times("if(x > 0, if(t < 5, 1, 0), 2)"), [5.0]);
        assert_eq!(times("(t < x)*max(0, x)"), [0.0; 0]);
        let wave = times("if(sin(2*pi*t) > 0.9999, 100, 0) + 0*x");
        assert_eq!(wave.len(), 20);
        let pole = Expression::parse("x + 1/(t - 0.5)", scope).unwrap();
        assert!(pole.range(&[3.0], 0.0, 1.0).is_infinite() && pole.range(&[3.0], 0.6, 1.0) == 0.0);
    }

    #[test]
    fn inputs_move_breakpoints() {
        let f = parse("if(t < u, 1, 0)");
        assert_eq!(all(&f, &[3.0], 10.0)[0].after, 3.0);
        assert!(all(&f, &[30.0], 10.0).is_empty());
    }

    #[test]
    fn a_table_breaks_at_the_knots_that_matter() {
        let pulse = [[0.0, 0.0], [4.9, 0.0], [5.0, 1.0], [5.1, 0.0], [10.0, 0.0]];
        let f = Expression::tabulated(Curve::monotone(&pulse, Beyond::Hold).unwrap(), "a.csv");
        let found: Vec<f64> = all(&f, &[], 20.0).iter().map(|b| b.after).collect();
        assert_eq!(found, [4.9, 5.0, 5.1]);
        // a ramp that is held at its ends bends there
        let ramp = Expression::tabulated(Curve::monotone(&[[1.0, 0.0], [2.0, 4.0]], Beyond::Hold).unwrap(), "a.csv");
        let found = all(&ramp, &[], 20.0);
        assert!(found.len() == 2 && found.iter().all(|b| b.bends), "{found:?}");
        // many samples of a smooth signal are no events
        let fine: Vec<[f64; 2]> = (0..10_001).map(|k| k as f64 * 1e-3).map(|t| [t, (6.0 * t).sin()]).collect();
        let fine = Expression::tabulated(Curve::spline(&fine, Beyond::Hold).unwrap(), "a.csv");
        let found = all(&fine, &[], 10.0).len();
        assert!((30..300).contains(&found), "{found}");
    }
}
