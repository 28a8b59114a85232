//! Two wires in space that touch: the points where their middle lines are nearest.
//!
//! Of c(s) on a first frame and e(u) on a second, A = p₁ + R₁c and B = p₂ + R₂e with
//!
//! ```text
//!     (B − A)·A′ = 0,   (B − A)·B′ = 0
//! ```
//!
//! are where the distance of both is least. With radii r₁ and r₂ the gap is g = |B − A| − r₁ − r₂, along n = (B − A)/|B − A|. Lines without thickness cross
//! where B − A = 0: there g = (B − A)·n with n = A′×B′/|A′×B′|, which is smooth through zero, has no free side, and no direction where they are parallel.
//! Of all points the nearest ones count, and n is perpendicular to both curves.

use super::Meeting;
use crate::dual::{Dual, DualFrame, DualVec};
use crate::file::{Diagnostics, Values};
use crate::frames::Frame;
use crate::profile::{Local, Profile, Sight};
use bellcrank_math::Vec3;
use std::sync::Arc;

/// Samples of a curve that lie in one ball.
const BLOCK: usize = 16;

/// Corrections of a pair, how far one may go, in samples, and how often it is halved.
const CORRECTIONS: usize = 60;
const FARTHEST: f64 = 4.0;
const HALVINGS: usize = 8;

/// Wires that are less slanted than this, in rad, are parallel.
const PARALLEL: f64 = 1e-3;

/// A part of a determinant that is rounding.
const SINGULAR: f64 = 1e-12;

/// A ball around samples.
#[derive(Clone, Debug)]
struct Ball {
    middle: Vec3,
    radius: f64,
}

/// A curve with balls around its samples.
#[derive(Clone, Debug)]
struct Wire {
    curve: Arc<Profile>,
    balls: Vec<Ball>,
    /// The distance of samples in the parameter.
    width: f64,
}

/// Two curves on two frames.
#[derive(Clone, Debug)]
pub struct Wires {
    wires: [Wire; 2],
    radii: [f64; 2],
}

impl Wire {
    fn new(curve: Profile) -> Wire {
        let ball = |samples: &[(f64, Vec3)]| {
            let middle = samples.iter().fold(Vec3::ZERO, |sum, (_, p)| sum + *p) * (1.0 / samples.len() as f64);
            Ball { middle, radius: samples.iter().map(|(_, p)| (*p - middle).norm()).fold(0.0, f64::max) }
        };
        let samples = curve.samples();
        let width = (curve.range()[1] - curve.range()[0]) / (samples.len() - 1) as f64;
        let balls = samples.chunks(BLOCK).map(ball).collect();
        Wire { balls, width, curve: Arc::new(curve) }
    }

    fn block(&self, k: usize) -> &[(f64, Vec3)] {
        let samples = self.curve.samples();
        &samples[BLOCK * k..samples.len().min(BLOCK * (k + 1))]
    }
}

/// ½ |B − A|² by s and u: slopes and second derivatives.
struct Bowl {
    slopes: [f64; 2],
    /// ∂²/∂s², ∂²/∂s∂u, ∂²/∂u².
    bends: [f64; 3],
}

impl Bowl {
    fn of(a: &Local, b: &Local) -> Bowl {
        let off = b.at - a.at;
        let bends =
            [a.slope.dot(a.slope) - off.dot(a.bend), -a.slope.dot(b.slope), b.slope.dot(b.slope) + off.dot(b.bend)];
        Bowl { slopes: [-off.dot(a.slope), off.dot(b.slope)], bends }
    }

    /// The determinant of the second derivatives as a part of the product of the squares of both slopes: sin² of the angle between straight wires.
    fn depth(&self, a: &Local, b: &Local) -> f64 {
        let [ss, su, uu] = self.bends;
        (ss * uu - su * su) / (a.slope.dot(a.slope) * b.slope.dot(b.slope))
    }

    /// The same with second derivatives that lead downhill, whatever the place.
    fn downhill(self, a: &Local, b: &Local) -> Bowl {
        if self.bends[0] > 0.0 && self.bends[2] > 0.0 && self.depth(a, b) > SINGULAR {
            return self;
        }
        // of straight wires, made regular where these are parallel
        let stiffer = 1.0 + 1e-3;
        let bends = [a.slope.dot(a.slope) * stiffer, -a.slope.dot(b.slope), b.slope.dot(b.slope) * stiffer];
        Bowl { bends, ..self }
    }

    /// The inverse of the second derivatives, as they are stored.
    fn inverse(&self) -> [f64; 3] {
        let [ss, su, uu] = self.bends;
        let over = 1.0 / (ss * uu - su * su);
        [uu * over, -su * over, ss * over]
    }
}

impl Wires {
    /// From the keys of both curves, with their frames at the start; refuses curves that are parallel there.
    pub fn read(values: &Values, frames: &[Frame]) -> Result<Wires, Diagnostics> {
        let wires = Profile::read_both(values, Sight::InSpace)?.map(Wire::new);
        let radii = ["radius", "radius2"].map(|key| values.optional_number(key).unwrap_or(0.0));
        let pair = Wires { wires, radii };
        let at = pair.nearest(frames);
        if pair.likeness(frames, at) > 1.0 {
            let [s, u] = at;
            let message = format!(
                "the curves of {} are parallel where they are nearest, at s = {s:.6} and s = {u:.6}: they touch at no single place",
                values.what()
            );
            return Err(values
                .error(message)
                .help("turn one of the bodies, or one of the curves, so that they cross")
                .into());
        }
        Ok(pair)
    }

    /// Both curves.
    pub fn curves(&self) -> [&Profile; 2] {
        [&self.wires[0].curve, &self.wires[1].curve]
    }

    /// r₁ + r₂.
    pub fn thickness(&self) -> f64 {
        self.radii[0] + self.radii[1]
    }

    /// Both points as the first frame sees them.
    fn locals(&self, ends: &[Frame], [s, u]: [f64; 2]) -> [Local; 2] {
        let (a, b) = (self.wires[0].curve.at(s), self.wires[1].curve.at(u));
        let turn = |v: Vec3| ends[0].r.transpose_times(ends[1].r * v);
        let d = ends[0].r.transpose_times(ends[1].p - ends[0].p);
        [a, Local { at: d + turn(b.at), slope: turn(b.slope), bend: turn(b.bend) }]
    }

    /// How much the curves are alike at a pair of points: more than 1 where they do not tell which points are the nearest, or which way they cross.
    pub fn likeness(&self, ends: &[Frame], at: [f64; 2]) -> f64 {
        let [a, b] = self.locals(ends, at);
        let slant = match self.thickness() > 0.0 {
            true => Bowl::of(&a, &b).depth(&a, &b).max(0.0).sqrt(),
            false => a.slope.cross(b.slope).norm() / (a.slope.norm() * b.slope.norm()),
        };
        PARALLEL / slant
    }

    /// The nearest samples.
    fn nearest_samples(&self, ends: &[Frame]) -> [f64; 2] {
        let [first, second] = &self.wires;
        let d = ends[0].r.transpose_times(ends[1].p - ends[0].p);
        let r = ends[0].r.transpose() * ends[1].r;
        let middles: Vec<Vec3> = second.balls.iter().map(|ball| d + r * ball.middle).collect();
        let (mut best, mut least) = ([0.0; 2], f64::INFINITY);
        let mut look = |i: usize, j: usize, least: &mut f64| {
            for (u, e) in second.block(j) {
                let e = d + r * *e;
                for (s, c) in first.block(i) {
                    let off = e - *c;
                    let distance = off.dot(off);
                    if distance < *least {
                        (best, *least) = ([*s, *u], distance);
                    }
                }
            }
        };
        // balls that are close come first: they rule out most of the others
        let far = |i: usize, j: usize| (middles[j] - first.balls[i].middle).norm();
        let count = [first.balls.len(), second.balls.len()];
        let pairs = || (0..count[0]).flat_map(|i| (0..count[1]).map(move |j| (i, j)));
        let closest = pairs().min_by(|a, b| far(a.0, a.1).total_cmp(&far(b.0, b.1))).unwrap_or((0, 0));
        look(closest.0, closest.1, &mut least);
        for (i, j) in pairs().filter(|pair| *pair != closest) {
            let inside = first.balls[i].radius + second.balls[j].radius;
            let reach = far(i, j) - inside;
            if reach <= 0.0 || reach * reach < least {
                look(i, j, &mut least);
            }
        }
        best
    }

    /// s and u of the nearest points.
    fn nearest(&self, ends: &[Frame]) -> [f64; 2] {
        let mut at = self.nearest_samples(ends);
        let squared = |at: [f64; 2]| {
            let [a, b] = self.locals(ends, at);
            (b.at - a.at).dot(b.at - a.at)
        };
        for _ in 0..CORRECTIONS {
            let [a, b] = self.locals(ends, at);
            let bowl = Bowl::of(&a, &b).downhill(&a, &b);
            let ([ss, su, uu], [gs, gu]) = (bowl.inverse(), bowl.slopes);
            let mut step = [-(ss * gs + su * gu), -(su * gs + uu * gu)];
            let size =
                |step: [f64; 2]| (step[0] / self.wires[0].width).abs().max((step[1] / self.wires[1].width).abs());
            if size(step).is_nan() {
                break;
            }
            if size(step) > FARTHEST {
                step = step.map(|x| x * (FARTHEST / size(step)));
            }
            let moved = |step: [f64; 2]| [at[0] + step[0], at[1] + step[1]];
            let now = (b.at - a.at).dot(b.at - a.at);
            // close to the nearest points rounding decides
            for _ in 0..HALVINGS {
                if size(step) <= 1e-3 || squared(moved(step)) <= now {
                    break;
                }
                step = step.map(|x| 0.5 * x);
            }
            let last = size(step) <= 1e-13;
            at = moved(step);
            if last {
                break;
            }
        }
        at
    }

    /// The nearest points, with derivatives by the motions of the frames.
    pub fn meet<const N: usize>(&self, ends: &[Frame]) -> Meeting<N> {
        let at = self.nearest(ends);
        let (a, b) = (self.wires[0].curve.at(at[0]), self.wires[1].curve.at(at[1]));
        let frames = [0, 1].map(|k| DualFrame::<N>::of(&ends[k], k));
        let on = |k: usize, v: Vec3| DualVec::constant(v).along(frames[k].axes);
        let d = frames[1].p - frames[0].p;
        let slopes = [on(0, a.slope), on(1, b.slope)];
        // one more correction, of numbers with derivatives
        let off = d + on(1, b.at) - on(0, a.at);
        let [near, far] = self.locals(ends, at);
        let [ss, su, uu] = Bowl::of(&near, &far).downhill(&near, &far).inverse();
        let (gs, gu) = (-off.dot(slopes[0]), off.dot(slopes[1]));
        let (ds, du) = (-(gs * ss + gu * su), -(gs * su + gu * uu));
        let second = on(1, b.at) + slopes[1] * du;
        let off = d + second - on(0, a.at) - slopes[0] * ds;
        let (normal, gap) = match self.thickness() > 0.0 {
            true => {
                let distance = off.norm();
                (off * (Dual::constant(1.0) / distance), distance - self.thickness())
            }
            false => {
                let (t, w) = (slopes[0] + on(0, a.bend) * ds, slopes[1] + on(1, b.bend) * du);
                let across = t.cross(w);
                let normal = across * (Dual::constant(1.0) / across.norm());
                (normal, off.dot(normal))
            }
        };
        let second = second - normal * self.radii[1];
        Meeting { arms: [d + second, second], normal, gap, at }
    }
}
