//! Curves by a parameter: slots, wires and cams, with the point that is nearest to another and where a line touches.

use crate::curve::{Beyond, Curve};
use crate::dynamics::{Course, StateLaw};
use crate::file::{Diagnostics, Expression, Field, FieldKind, Values};
use bellcrank_math::Vec3;

/// A curve c(s) in its own frame without cusps; where it is [seen](Sight) along z its projection onto x and y does not cross itself.
#[derive(Clone, Debug)]
pub struct Profile {
    course: ProfileCurve,
    range: [f64; 2],
    closed: bool,
    /// Parameters and points along it, which searches begin from.
    samples: Vec<(f64, Vec3)>,
}

#[derive(Clone, Debug)]
enum ProfileCurve {
    Expressions([Expression; 3]),
    Splines([Curve; 2]),
}

/// A point of a curve with its derivatives by the parameter.
#[derive(Clone, Copy, Debug)]
pub struct Local {
    /// c.
    pub at: Vec3,
    /// c′.
    pub slope: Vec3,
    /// c″.
    pub bend: Vec3,
}

/// Samples along a curve.
const SAMPLES: usize = 512;

/// Points before and after those of a closed spline, beyond which a change decays to nothing: (2 − √3)³².
const WRAPPED: usize = 32;

/// A tangent so much shorter than the longest is a cusp.
const CUSP: f64 = 1e-6;
/// Points closer than this part of the size of a curve are one.
const TOUCH: f64 = 1e-9;

/// Between two samples a curve may leave what both show by this part of its size.
const UNRESOLVED: f64 = 1e-4;

/// Corrections of a point that is sought.
const CORRECTIONS: usize = 50;

/// The keys of a curve.
pub const FIELDS: [Field; 4] = [
    Field::optional(
        "curve",
        FieldKind::FunctionsOf(&["s"]),
        "m",
        "through `points`",
        "the curve in the first frame: x, y (and z) as expressions of a parameter `s`, parameters and tables",
    ),
    Field::optional("range", FieldKind::Numbers(2, 2), "any", "", "with `curve`: the first and the last `s`"),
    Field::optional(
        "points",
        FieldKind::Pairs,
        "m",
        "by a `curve`",
        "points [x, y] of the curve, through which a cubic spline runs",
    ),
    Field::optional(
        "closed",
        FieldKind::Flag,
        "",
        "false",
        "the curve ends where it begins; of points the first follows the last",
    ),
];

/// The same keys of the curve of a second body.
pub const FIELDS_2: [Field; 4] = [
    Field::optional(
        "curve2",
        FieldKind::FunctionsOf(&["s"]),
        "m",
        "through `points2`",
        "the curve in the second frame: x, y (and z) as expressions of a parameter `s`, parameters and tables",
    ),
    Field::optional("range2", FieldKind::Numbers(2, 2), "any", "", "with `curve2`: the first and the last `s`"),
    Field::optional(
        "points2",
        FieldKind::Pairs,
        "m",
        "by a `curve2`",
        "points [x, y] of the second curve, through which a cubic spline runs",
    ),
    Field::optional(
        "closed2",
        FieldKind::Flag,
        "",
        "false",
        "the second curve ends where it begins; of points the first follows the last",
    ),
];

/// How a curve is looked at, where it must have a tangent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Along z of its frame: what shows is its projection, which must not cross itself.
    AlongZ,
    /// In space, as a wire.
    InSpace,
}

impl Sight {
    /// What shows of a direction.
    fn shows(self, v: Vec3) -> Vec3 {
        if self == Sight::AlongZ { across(v) } else { v }
    }
}

impl Profile {
    /// From `curve` and `range`, or from `points`; seen along z.
    pub fn read(values: &Values) -> Result<Profile, Diagnostics> {
        Profile::read_keys(values, &FIELDS, Sight::AlongZ)
    }

    /// The curves of two bodies.
    pub fn read_both(values: &Values, sight: Sight) -> Result<[Profile; 2], Diagnostics> {
        Ok([Profile::read_keys(values, &FIELDS, sight)?, Profile::read_keys(values, &FIELDS_2, sight)?])
    }

    fn read_keys(values: &Values, fields: &[Field; 4], sight: Sight) -> Result<Profile, Diagnostics> {
        let what = values.what();
        let [curve, range, many, closed] = [0, 1, 2, 3].map(|k: usize| fields[k].name);
        values.at_most_one(&[curve, many])?;
        let closed = values.flag(closed);
        if let Some(points) = values.optional_pairs(many) {
            if values.has(range) {
                let message = format!("`{range}` of {what} is for a `{curve}` by expressions");
                return Err(values.error_at(range, message).help("leave it out").into());
            }
            return Profile::through(points, closed)
                .and_then(|curve| curve.checked(sight))
                .map_err(|fault| values.error_at(many, format!("the curve of {what} {fault}")).into());
        }
        let Some(functions) = values.optional_functions(curve) else {
            let help = format!(
                "add `{curve} = [\"…\", \"…\"]` with expressions of `s` and its `{range}`, or `{many} = [[…, …], …]`"
            );
            return Err(values.error(format!("{what} needs `{curve}` or `{many}`")).help(help).into());
        };
        let Some(&[first, last]) = values.optional_numbers(range).and_then(|r| r.first_chunk::<2>()) else {
            let help = format!("add `{range} = […, …]`, the first and the last value of `s`");
            return Err(values.error_at(curve, format!("`{curve}` of {what} needs `{range}`")).help(help).into());
        };
        if first >= last {
            let message = format!("`{range}` of {what} goes from {first} to {last}");
            return Err(values.error_at(range, message).help("the second number must be larger").into());
        }
        let course = ProfileCurve::Expressions(std::array::from_fn(|i| functions[i].clone()));
        let profile = Profile { course, range: [first, last], closed, samples: Vec::new() };
        profile.checked(sight).map_err(|fault| values.error_at(curve, format!("the curve of {what} {fault}")).into())
    }

    /// The spline over the length of the chords.
    fn through(points: &[[f64; 2]], closed: bool) -> Result<Profile, String> {
        let least = if closed { 4 } else { 3 };
        if points.len() < least {
            return Err(format!("has {} points but needs {least} or more", points.len()));
        }
        let n = points.len();
        let many = if closed { n + 2 * WRAPPED + 1 } else { n };
        let before = if closed { WRAPPED } else { 0 };
        let point = |k: usize| points[(k + n * (before / n + 1) - before) % n];
        let mut columns = [Vec::new(), Vec::new()];
        let mut s = 0.0;
        let mut range = [0.0; 2];
        for k in 0..many {
            let here = point(k);
            if k > 0 {
                let last = point(k - 1);
                let chord = (here[0] - last[0]).hypot(here[1] - last[1]);
                if chord.is_nan() || chord <= 0.0 {
                    let place = (k + n * (before / n + 1) - before) % n;
                    return Err(format!("has the same point twice, at number {}", place + 1));
                }
                s += chord;
            }
            if k == before {
                range[0] = s;
            }
            if k == before + if closed { n } else { n - 1 } {
                range[1] = s;
            }
            (0..2).for_each(|i| columns[i].push([s, here[i]]));
        }
        let [x, y] = columns;
        let course = ProfileCurve::Splines([Curve::spline(&x, Beyond::Line)?, Curve::spline(&y, Beyond::Line)?]);
        Ok(Profile { course, range, closed, samples: Vec::new() })
    }

    /// With its samples; refuses gaps, corners, cusps and crossings.
    fn checked(mut self, sight: Sight) -> Result<Profile, String> {
        let [first, last] = self.range;
        let place = |k: usize| first + (last - first) * k as f64 / SAMPLES as f64;
        let all: Vec<(f64, Local)> = (0..=SAMPLES).map(|k| (place(k), self.evaluate(place(k)))).collect();
        let finite = |l: &Local| [l.at, l.slope, l.bend].iter().all(|v| v.0.iter().all(|x| x.is_finite()));
        if let Some((s, _)) = all.iter().find(|(_, l)| !finite(l)) {
            return Err(format!("is not a finite number, or has no finite curvature, at s = {s:.6}"));
        }
        let speed = |l: &Local| sight.shows(l.slope).norm();
        let fastest = all.iter().map(|(_, l)| speed(l)).fold(0.0, f64::max);
        let cusp = all.iter().find(|(_, l)| speed(l) <= CUSP * fastest);
        // between samples a cusp turns the tangent round
        let turned = all.windows(2).find(|w| sight.shows(w[0].1.slope).dot(sight.shows(w[1].1.slope)) < 0.0);
        if let Some((s, _)) = cusp.or(turned.map(|w| &w[1])) {
            let seen = if sight == Sight::AlongZ { "seen along z " } else { "" };
            return Err(format!("has a cusp near s = {s:.6}: {seen}it has no tangent there"));
        }
        if self.closed {
            let (a, b) = (&all[0].1, &all[SAMPLES].1);
            let size = all.iter().map(|(_, l)| (l.at - a.at).norm()).fold(0.0, f64::max);
            if (b.at - a.at).norm() > 1e-6 * size {
                return Err(format!("is not closed: its ends are {:.3e} m apart", (b.at - a.at).norm()));
            }
            if (b.slope - a.slope).norm() > 1e-6 * fastest {
                return Err("has a corner where it closes".into());
            }
        }
        if let Some(s) = self.unresolved(&all) {
            return Err(format!(
                "has a feature near s = {s:.6} that is narrower than a {SAMPLES}th of its range: give it a shorter one"
            ));
        }
        if let Some([s, t]) = crossing(&all, self.closed).filter(|_| sight == Sight::AlongZ) {
            return Err(format!("crosses itself, seen along z, near s = {s:.6} and s = {t:.6}"));
        }
        self.samples = all.into_iter().map(|(s, l)| (s, l.at)).collect();
        Ok(self)
    }

    /// A sample behind which something happens that neither it nor the next one shows; expressions have bounds that tell.
    fn unresolved(&self, all: &[(f64, Local)]) -> Option<f64> {
        let ProfileCurve::Expressions(functions) = &self.course else { return None };
        let size = all.iter().map(|(_, l)| (l.at - all[0].1.at).norm()).fold(0.0, f64::max);
        let hides = |w: &&[(f64, Local)]| {
            let ((a, l), (b, r)) = (&w[0], &w[1]);
            functions.iter().enumerate().any(|(i, f)| {
                let steep = l.slope[i].abs().max(r.slope[i].abs()) * (b - a);
                Course::unhidden(f, &[], *a, *b, 0.5 * steep + UNRESOLVED * size) < *b
            })
        };
        all.windows(2).find(hides).map(|w| w[0].0)
    }

    /// c, c′ and c″ at s, over any number of turns; an open curve runs on along its tangent.
    pub fn at(&self, s: f64) -> Local {
        let [first, last] = self.range;
        if self.closed {
            return self.evaluate(first + (s - first).rem_euclid(last - first));
        }
        let inside = s.clamp(first, last);
        let local = self.evaluate(inside);
        match inside == s {
            true => local,
            false => Local { at: local.at + local.slope * (s - inside), bend: Vec3::ZERO, ..local },
        }
    }

    /// c, c′ and c″ within the range.
    fn evaluate(&self, s: f64) -> Local {
        let jets = match &self.course {
            ProfileCurve::Expressions(f) => [0, 1, 2].map(|i| f[i].jet(s)),
            ProfileCurve::Splines([x, y]) => [x.jet(s), y.jet(s), Default::default()],
        };
        let [at, slope, bend] = [jets.map(|j| j.value), jets.map(|j| j.rate), jets.map(|j| j.second)].map(Vec3);
        Local { at, slope, bend }
    }

    /// c‴, by differences of c″: it counts only beside the curve.
    pub fn third(&self, s: f64) -> Vec3 {
        let h = 1e-4 * (self.range[1] - self.range[0]);
        (self.at(s + h).bend - self.at(s - h).bend) * (0.5 / h)
    }

    /// The parameter of the point that is nearest to y, seen along z.
    pub fn foot(&self, y: Vec3) -> f64 {
        let far = |(_, p): &(f64, Vec3)| across(*p - y).dot(across(*p - y));
        self.sought(
            |a| -far(a),
            |l| (across(l.slope).dot(y - l.at), across(l.bend).dot(y - l.at) - across(l.slope).dot(l.slope)),
        )
    }

    /// The parameter of the point that is farthest along n, which lies in the plane of x and y.
    pub fn farthest(&self, n: Vec3) -> f64 {
        self.sought(|(_, p)| p.dot(n), |l| (l.slope.dot(n), l.bend.dot(n)))
    }

    /// Where a function of the points is largest: from the best sample by Newton's method for its slope, between its neighbours.
    fn sought(&self, best: impl Fn(&(f64, Vec3)) -> f64, slope: impl Fn(&Local) -> (f64, f64)) -> f64 {
        let (mut k, mut top) = (0, f64::NEG_INFINITY);
        for (i, sample) in self.samples.iter().enumerate() {
            let value = best(sample);
            if value > top {
                (k, top) = (i, value);
            }
        }
        let width = (self.range[1] - self.range[0]) / SAMPLES as f64;
        let mut s = self.samples[k].0;
        let (mut low, mut high) = (s - 1.5 * width, s + 1.5 * width);
        if !self.closed {
            // beyond an end the curve is a line
            low = if k == 0 { f64::NEG_INFINITY } else { low };
            high = if k == SAMPLES { f64::INFINITY } else { high };
        }
        for _ in 0..CORRECTIONS {
            let (f, by) = slope(&self.at(s));
            if f == 0.0 {
                break;
            }
            if f > 0.0 {
                low = s
            } else {
                high = s
            }
            let mut next = s - f / by;
            let inside = next > low && next < high;
            if !inside || by >= 0.0 {
                next = if low.is_finite() && high.is_finite() { 0.5 * (low + high) } else { s + f.signum() * width };
            }
            let step = (next - s).abs();
            s = next;
            if step <= 1e-15 * (1.0 + s.abs()) {
                break;
            }
        }
        s
    }

    /// How far a parameter is beyond the range of an open curve, in ranges.
    pub fn beyond(&self, s: f64) -> f64 {
        let [first, last] = self.range;
        if self.closed { 0.0 } else { (first - s).max(s - last).max(0.0) / (last - first) }
    }

    /// The first and the last parameter.
    pub fn range(&self) -> [f64; 2] {
        self.range
    }

    /// Parameters along it, at equal distances, from which searches begin.
    pub fn parameters(&self) -> impl Iterator<Item = f64> + '_ {
        self.samples.iter().map(|(s, _)| *s)
    }

    /// The side, 1 to the left and −1 to the right, on which a closed curve has its outside.
    pub fn outside(&self) -> f64 {
        let area: f64 = self.samples.windows(2).map(|w| w[0].1[0] * w[1].1[1] - w[1].1[0] * w[0].1[1]).sum();
        if area > 0.0 { -1.0 } else { 1.0 }
    }

    /// A circle around a closed curve in its plane: its centre in the curve's frame, and its radius.
    pub fn circle_around(&self) -> Option<(Vec3, f64)> {
        let points = self.samples.iter().map(|(_, p)| *p);
        let bounds = |axis: usize| {
            points.clone().fold((f64::INFINITY, f64::NEG_INFINITY), |b, p| (b.0.min(p[axis]), b.1.max(p[axis])))
        };
        let middle = |(low, high): (f64, f64)| 0.5 * (low + high);
        let centre = Vec3::new(middle(bounds(0)), middle(bounds(1)), 0.0);
        let radius = points.clone().map(|p| (p - centre).norm()).fold(0.0, f64::max);
        // between two samples it goes on by no more than their distance
        let gap = self.samples.windows(2).map(|w| (w[1].1 - w[0].1).norm()).fold(0.0, f64::max);
        self.closed.then_some((centre, radius + gap))
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// The largest curvature towards the left (or with −1 to the right), and where it is.
    pub fn sharpest(&self, side: f64) -> (f64, f64) {
        let bent = |(s, _): &(f64, Vec3)| (side * self.at(*s).curvature(), *s);
        self.samples.iter().map(bent).fold((f64::NEG_INFINITY, 0.0), |a, b| if b.0 > a.0 { b } else { a })
    }

    /// Parameters and points along it, at equal distances of the parameter.
    pub fn samples(&self) -> &[(f64, Vec3)] {
        &self.samples
    }

    /// Points along it, to be drawn.
    pub fn outline(&self) -> impl Iterator<Item = Vec3> + '_ {
        self.samples.iter().step_by(4).map(|(_, p)| *p)
    }
}

/// The curvature over the parameter: that is where narrow features of a curve show.
impl StateLaw for Profile {
    fn value(&self, s: &[f64]) -> f64 {
        self.at(s[0]).curvature()
    }

    /// By the samples, which resolve the curve, and both ends.
    fn bounds(&self, s: &[[f64; 2]]) -> [f64; 2] {
        let ([first, last], [from, to]) = (self.range, s[0]);
        // a point that is at the other end of a closed curve has passed its beginning
        let across = self.closed && to - from > 0.5 * (last - first);
        let on_the_way = |s: f64| if across { s < from || s > to } else { s > from && s < to };
        let between = self.samples.iter().map(|(s, _)| *s).filter(|s| on_the_way(*s));
        let mut bounds = [f64::INFINITY, f64::NEG_INFINITY];
        for s in between.chain([from, to]) {
            let bent = self.at(s).curvature();
            bounds = [bounds[0].min(bent), bounds[1].max(bent)];
        }
        bounds
    }
}

impl Local {
    /// The curvature of the projection, positive where the curve turns to its left.
    pub fn curvature(&self) -> f64 {
        let (c, b) = (across(self.slope), self.bend);
        (c[0] * b[1] - c[1] * b[0]) / c.norm().powi(3)
    }

    /// The unit tangent of the projection, and the normal to its left.
    pub fn directions(&self) -> [Vec3; 2] {
        let t = across(self.slope) * (1.0 / across(self.slope).norm());
        [t, Vec3::new(-t[1], t[0], 0.0)]
    }
}

/// Without its part along z.
fn across(v: Vec3) -> Vec3 {
    Vec3::new(v[0], v[1], 0.0)
}

/// Two parameters at which a chain of chords crosses itself.
fn crossing(all: &[(f64, Local)], closed: bool) -> Option<[f64; 2]> {
    let n = all.len() - 1;
    let p = |k: usize| all[k].1.at;
    let size = all.iter().map(|(_, l)| across(l.at - p(0)).norm()).fold(0.0, f64::max);
    // a crossing may lie exactly at samples: a corner on a chord, to rounding, is on neither side of it
    let side = |a: Vec3, b: Vec3, c: Vec3| {
        let turn = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        if turn.abs() <= TOUCH * size * across(b - a).norm() { 0.0 } else { turn.signum() }
    };
    let meet = |a: Vec3, b: Vec3, c: Vec3, d: Vec3| {
        (0..2)
            .all(|i| a[i].max(b[i]) + TOUCH * size >= c[i].min(d[i]) && c[i].max(d[i]) + TOUCH * size >= a[i].min(b[i]))
    };
    for i in 0..n {
        let (a, b) = (p(i), p(i + 1));
        for j in i + 2..n {
            if closed && i == 0 && j == n - 1 {
                continue;
            }
            let (c, d) = (p(j), p(j + 1));
            if meet(a, b, c, d) && side(a, b, c) * side(a, b, d) <= 0.0 && side(c, d, a) * side(c, d, b) <= 0.0 {
                return Some([all[i].0, all[j].0]);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::expression::Scope;
    use crate::file::parameters::Parameters;

    fn ring(n: usize) -> Profile {
        let point = |k: usize| std::f64::consts::TAU * k as f64 / n as f64;
        let points: Vec<[f64; 2]> = (0..n).map(|k| [2.0 * point(k).cos(), point(k).sin()]).collect();
        Profile::through(&points, true).and_then(|curve| curve.checked(Sight::AlongZ)).unwrap()
    }

    #[test]
    fn a_closed_spline_is_smooth_where_it_closes_and_finds_its_nearest_points() {
        let ring = ring(400);
        let [a, b] = ring.range.map(|s| (ring.at(s - 1e-9), ring.at(s + 1e-9)));
        for (x, y) in [(a.0, a.1), (b.0, b.1)] {
            assert!((x.at - y.at).norm() < 1e-7 && (x.slope - y.slope).norm() < 1e-7);
            assert!((x.bend - y.bend).norm() < 1e-6, "{x:?} {y:?}");
        }
        for k in 0..40 {
            let phase = 0.7 * k as f64;
            // an ellipse: beside it the nearest point is at the foot of the normal
            let (c, n) =
                (Vec3::new(2.0 * phase.cos(), phase.sin(), 0.0), Vec3::new(phase.cos(), 2.0 * phase.sin(), 0.0));
            let y = c + n * 0.1;
            let foot = ring.at(ring.foot(y));
            assert!((foot.at - c).norm() < 1e-4, "{:?} {c:?}", foot.at);
            assert!((y - foot.at).dot(foot.slope).abs() < 1e-12);
            let top = ring.at(ring.farthest(n * (1.0 / n.norm())));
            assert!((top.at - c).norm() < 1e-4, "{:?} {c:?}", top.at);
        }
        // a² /b and b²/a are the radii of curvature of an ellipse at its vertices
        assert!((ring.at(ring.foot(Vec3::new(2.0, 0.0, 0.0))).curvature() - 2.0).abs() < 1e-3);
        assert!((ring.sharpest(1.0).0 - 2.0).abs() < 1e-2);
    }

    #[test]
    fn what_is_no_curve_is_refused() {
        let refuse = |points: &[[f64; 2]], closed| {
            Profile::through(points, closed).and_then(|curve| curve.checked(Sight::AlongZ)).unwrap_err()
        };
        assert!(refuse(&[[0.0, 0.0], [1.0, 0.0]], false).contains("needs 3 or more"));
        assert!(refuse(&[[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]], false).contains("the same point twice, at number 3"));
        let eight: Vec<[f64; 2]> = (0..40).map(|k| 0.157 * k as f64).map(|s| [s.sin(), (2.0 * s).sin()]).collect();
        assert!(refuse(&eight, true).contains("crosses itself"));
        let by = |last: f64, closed| {
            let parse = |text: &str| {
                let scope = Scope { parameters: &Parameters::default(), variables: &["s"], inputs: &[] };
                Expression::parse(text, scope).unwrap()
            };
            let course = ProfileCurve::Expressions(["cos(s)", "sin(s)", "0"].map(parse));
            Profile { course, range: [0.0, last], closed, samples: Vec::new() }.checked(Sight::AlongZ)
        };
        assert_eq!(by(6.0, true).unwrap_err(), "is not closed: its ends are 2.822e-1 m apart");
        assert!(by(6.0, false).is_ok() && by(std::f64::consts::TAU, true).is_ok());
    }
}
