//! Two curves that touch in the plane: the points where they are nearest, with a common normal.
//!
//! Of c(s) on a first frame and e(u) on a second, in the plane of both, A = p₁ + R₁c and B = p₂ + R₂e with
//!
//! ```text
//!     A′ × B′ = 0,   (B − A)·A′ = 0,   g = (B − A)·n
//! ```
//!
//! n is the normal of the first curve to its free side. The first body may have hollows, the second is convex and more curved than any of them:
//! then there is one such pair near every place where they can touch, and its Jacobian is regular. The pair with the least distance is taken.

use super::Meeting;
use crate::dual::{Dual, DualFrame, DualVec};
use crate::file::{Diagnostics, Values};
use crate::frames::Frame;
use crate::profile::{Local, Profile, Sight};
use bellcrank_math::Vec3;
use std::f64::consts::TAU;
use std::sync::Arc;

/// Axes of a frame in the plane: along x, and to the reader.
const X: usize = 0;
const Z: usize = 2;

/// Directions for which the second curve knows its point.
const DIRECTIONS: usize = 1024;

/// Corrections of a pair, and how far one may go, in samples.
const CORRECTIONS: usize = 50;
const FARTHEST: f64 = 4.0;

/// A place on the first curve at which a search may begin.
#[derive(Clone, Copy, Debug)]
struct Sample {
    s: f64,
    at: Vec3,
    /// The angle of the normal to the free side.
    normal: f64,
}

/// Two curves on two frames.
#[derive(Clone, Debug)]
pub struct Outlines {
    first: Arc<Profile>,
    second: Arc<Profile>,
    /// The free side of the first: 1 to its left, −1 to its right.
    side: f64,
    samples: Vec<Sample>,
    /// For angles of its outward normal, the parameter and the point of the second.
    points: Vec<(f64, Vec3)>,
    /// Steps of a search.
    widths: [f64; 2],
}

impl Outlines {
    /// The circles around both curves, where both are closed and the second body is outside of the first.
    pub fn circles_around(&self) -> Option<[(Vec3, f64); 2]> {
        let outside = self.side == self.first.outside();
        Some([self.first.circle_around()?, self.second.circle_around()?]).filter(|_| outside)
    }

    /// From the keys of both curves; refuses what touches at several places.
    pub fn read(values: &Values) -> Result<Outlines, Diagnostics> {
        let what = values.what();
        let [first, second] = Profile::read_both(values, Sight::AlongZ)?;
        let inside = values.flag("inside");
        if inside && !first.is_closed() {
            let message = format!("{what} has `inside`, and its first curve is not closed");
            return Err(values.error_at("inside", message).help("the free side of an open curve is its left").into());
        }
        let free = |curve: &Profile| if curve.is_closed() { curve.outside() } else { 1.0 };
        let side = if inside { -free(&first) } else { free(&first) };
        let (hollow, at) = first.sharpest(side);
        let (flattest, flat_at) = second.sharpest(free(&second));
        if flattest >= 0.0 {
            let message = format!("the second curve of {what} is not convex: see s = {flat_at:.6}");
            let help = "name the convex body second in `between`; the material of an open curve is on its right";
            return Err(values.error(message).help(help).into());
        }
        if hollow + flattest >= 0.0 {
            let message = format!(
                "the second curve of {what} does not fit into the first: at s = {at:.6} the hollow has a radius of {:.6} m, and the \
                 flattest place of the second, at s = {flat_at:.6}, one of {:.6} m",
                1.0 / hollow,
                -1.0 / flattest
            );
            return Err(values
                .error(message)
                .help("they would touch at several places: make one of them rounder")
                .into());
        }
        Ok(Outlines::new(Arc::new(first), Arc::new(second), side, free))
    }

    fn new(first: Arc<Profile>, second: Arc<Profile>, side: f64, free: impl Fn(&Profile) -> f64) -> Outlines {
        let angle = |v: Vec3| v[1].atan2(v[0]);
        let sample = |s: f64| {
            let local = first.at(s);
            Sample { s, at: local.at, normal: angle(local.directions()[1] * side) }
        };
        let samples: Vec<Sample> = first.parameters().map(sample).collect();
        let outward = free(&second);
        let normals: Vec<(f64, Vec3, f64)> = second
            .parameters()
            .map(|u| {
                let local = second.at(u);
                (u, local.at, angle(local.directions()[1] * outward))
            })
            .collect();
        let nearest = |k: usize| {
            let wanted = TAU * k as f64 / DIRECTIONS as f64;
            let off = |a: f64| (a - wanted - TAU * ((a - wanted) / TAU).round()).abs();
            let best = normals.iter().min_by(|a, b| off(a.2).total_cmp(&off(b.2)));
            best.map_or((0.0, Vec3::ZERO), |(u, at, _)| (*u, *at))
        };
        let points = (0..DIRECTIONS).map(nearest).collect();
        let width = |curve: &Profile| (curve.range()[1] - curve.range()[0]) / samples.len() as f64;
        let widths = [width(&first), width(&second)];
        Outlines { side, samples, points, widths, first, second }
    }

    /// Both curves.
    pub fn curves(&self) -> [&Profile; 2] {
        [&self.first, &self.second]
    }

    /// s and u of the nearest pair.
    fn nearest(&self, ends: &[Frame]) -> [f64; 2] {
        // the second frame as the first one sees it
        let d = ends[0].r.transpose_times(ends[1].p - ends[0].p);
        let x = ends[0].r.transpose_times(ends[1].axis(X));
        let y = Vec3::new(-x[1], x[0], 0.0);
        let turned = x[1].atan2(x[0]);
        let (mut best, mut least) = ([0.0; 2], f64::INFINITY);
        for sample in &self.samples {
            let wanted = (sample.normal + 0.5 * TAU - turned).rem_euclid(TAU) * (DIRECTIONS as f64 / TAU);
            let (u, e) = self.points[wanted.round() as usize % DIRECTIONS];
            let off = d + x * e[0] + y * e[1] - sample.at;
            let distance = off[0] * off[0] + off[1] * off[1];
            if distance < least {
                (best, least) = ([sample.s, u], distance);
            }
        }
        let turn = |v: Vec3| x * v[0] + y * v[1];
        for _ in 0..CORRECTIONS {
            let (a, b) = (self.first.at(best[0]), self.second.at(best[1]));
            let off = d + turn(b.at) - a.at;
            let [ds, du] = correction(&a, &Local { at: turn(b.at), slope: turn(b.slope), bend: turn(b.bend) }, off);
            let step = [ds, du].into_iter().zip(self.widths).map(|(d, w)| d.abs() / w).fold(0.0, f64::max);
            if step.is_nan() {
                break;
            }
            let part = if step > FARTHEST { FARTHEST / step } else { 1.0 };
            best = [best[0] + part * ds, best[1] + part * du];
            if step <= 1e-13 {
                break;
            }
        }
        best
    }

    /// The nearest pair, with derivatives by the motions of the frames.
    pub fn meet<const N: usize>(&self, ends: &[Frame]) -> Meeting<N> {
        let at = self.nearest(ends);
        let (a, b) = (self.first.at(at[0]), self.second.at(at[1]));
        let frames = [0, 1].map(|k| DualFrame::<N>::of(&ends[k], k));
        let on = |k: usize, v: Vec3| DualVec::constant(v).along(frames[k].axes);
        let d = frames[1].p - frames[0].p;
        // one more correction, of numbers with derivatives
        let (slopes, bends) = ([on(0, a.slope), on(1, b.slope)], [on(0, a.bend), on(1, b.bend)]);
        let z = frames[0].axes[Z];
        let off = d + on(1, b.at) - on(0, a.at);
        let (parallel, across) = (z.dot(slopes[0].cross(slopes[1])), off.dot(slopes[0]));
        let local = |at: Vec3, k: usize| Local { at, slope: slopes[k].value(), bend: bends[k].value() };
        let [[m00, m01], [m10, m11]] = jacobian(&local(a.at, 0), &local(b.at, 1), off.value(), z.value());
        let over = -1.0 / (m00 * m11 - m01 * m10);
        let ds = (parallel * m11 - across * m01) * over;
        let du = (across * m00 - parallel * m10) * over;
        let tangent = slopes[0] + bends[0] * ds;
        let normal = z.cross(tangent) * (Dual::constant(self.side) / tangent.norm());
        let second = on(1, b.at) + slopes[1] * du;
        let first = d + second;
        let gap = (first - on(0, a.at) - slopes[0] * ds).dot(normal);
        Meeting { arms: [first, second], normal, gap, at }
    }
}

/// How A′ × B′ and (B − A)·A′ change with s and u.
fn jacobian(a: &Local, b: &Local, off: Vec3, z: Vec3) -> [[f64; 2]; 2] {
    let turn = |v: Vec3, w: Vec3| z.dot(v.cross(w));
    [[turn(a.bend, b.slope), turn(a.slope, b.bend)], [off.dot(a.bend) - a.slope.dot(a.slope), b.slope.dot(a.slope)]]
}

/// The correction of s and u.
fn correction(a: &Local, b: &Local, off: Vec3) -> [f64; 2] {
    let flat = |v: Vec3| Vec3::new(v[0], v[1], 0.0);
    let a = Local { slope: flat(a.slope), bend: flat(a.bend), ..*a };
    let (parallel, across) = (Vec3::Z.dot(a.slope.cross(b.slope)), off.dot(a.slope));
    let [[m00, m01], [m10, m11]] = jacobian(&a, b, off, Vec3::Z);
    let over = -1.0 / (m00 * m11 - m01 * m10);
    [(parallel * m11 - across * m01) * over, (across * m00 - parallel * m10) * over]
}
