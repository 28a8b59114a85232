//! The painter's canvas: flat pieces in layers, sorted by depth, and the shadow they throw.

use crate::colours::colours;
use crate::drawing::{Colour, Drawing, Style};
use bellcrank_math::{Mat3, Vec3};
use std::collections::HashSet;

pub const WHITE: Colour = Colour::hex(0xffffff);

/// The colour of edges, and of what lies in the dark.
pub fn ink() -> Colour {
    colours().outline
}

/// Up to this many triangles of a body are drawn as they are.
const DRAWN_AS_THEY_ARE: usize = 1500;
/// Corners of a finer mesh are one if they are this part of the picture apart, at most.
const CELLS: f64 = 60.0;

/// What is painted, in metres as the viewer sees it: to the right, up, towards the viewer.
pub enum Piece {
    Area { points: Vec<Vec3>, style: Style },
    Line { points: Vec<Vec3>, style: Style },
    Disc { centre: Vec3, radius: f64, style: Style },
}

/// What was put down so far.
pub struct Canvas {
    pub planar: bool,
    /// Rows: right, up, towards the viewer.
    pub camera: Mat3,
    /// The radius of all that is there.
    pub size: f64,
    /// How far everything is mixed with white.
    pub pale: f64,
    /// Pieces with their layer and depth.
    pub pieces: Vec<(u8, f64, Piece)>,
}

impl Canvas {
    /// A point of the world as the viewer sees it.
    pub fn seen(&self, p: Vec3) -> Vec3 {
        self.camera * p
    }

    pub fn put(&mut self, layer: u8, mut piece: Piece) {
        let (Piece::Area { style, .. } | Piece::Line { style, .. } | Piece::Disc { style, .. }) = &mut piece;
        let pale = |c: Option<Colour>| c.map(|c| c.towards(WHITE, self.pale));
        (style.fill, style.stroke) = (pale(style.fill), pale(style.stroke));
        let depth = match &piece {
            _ if self.planar => 0.0, // what comes later lies above
            Piece::Area { points, .. } | Piece::Line { points, .. } => {
                points.iter().map(|p| p[2]).sum::<f64>() / points.len().max(1) as f64
            }
            Piece::Disc { centre, radius, .. } => centre[2] + 0.3 * radius,
        };
        self.pieces.push((layer, depth, piece));
    }

    pub fn line(&mut self, layer: u8, points: &[Vec3], colour: Colour, width: f64) {
        let points = points.iter().map(|p| self.seen(*p)).collect();
        self.put(layer, Piece::Line { points, style: Style::line(colour, width) });
    }

    pub fn disc(&mut self, layer: u8, at: Vec3, radius: f64, style: Style) {
        let centre = self.seen(at);
        self.put(layer, Piece::Disc { centre, radius, style });
    }

    /// A flat piece with its normal; what looks away is not seen.
    pub fn face(&mut self, layer: u8, points: Vec<Vec3>, normal: Vec3, colour: Colour) {
        let n = self.seen(normal);
        if n[2] <= 0.0 {
            return;
        }
        let light = Vec3::new(-0.35, 0.75, 0.56).dot(n).max(0.0);
        let shade =
            if self.planar { colour } else { colour.towards(ink(), 0.45 - 0.45 * light).towards(WHITE, 0.22 * light) };
        let points = points.into_iter().map(|p| self.seen(p)).collect();
        self.put(layer, Piece::Area { points, style: Style::outlined(shade, shade, 0.5) });
    }

    /// Triangles of a body at a pose, those that look here; corners that are close together are one, so that a fine mesh
    /// does not make a large file.
    pub fn mesh(&mut self, layer: u8, (p, r): (Vec3, Mat3), corners: &[[Vec3; 3]], colour: Colour) {
        let cell = self.size / CELLS;
        let snap = |x: Vec3| Vec3(x.0.map(|x| (x / cell).round() * cell));
        let coarse = corners.len() > DRAWN_AS_THEY_ARE;
        let mut seen = HashSet::new();
        for triangle in corners {
            let [a, b, c] = if coarse { triangle.map(snap) } else { *triangle };
            let Some(normal) = (b - a).cross(c - a).normalized() else { continue };
            let key = [a, b, c].map(|x| x.0.map(|x| (x / cell).round() as i64));
            if coarse && !seen.insert(key) {
                continue;
            }
            self.face(layer, [a, b, c].map(|x| p + r * x).to_vec(), r * normal, colour);
        }
    }

    /// A tube from end to end.
    pub fn tube(&mut self, layer: u8, from: Vec3, to: Vec3, radius: f64, colour: Colour) {
        let Some(axis) = (to - from).normalized() else { return };
        let x = axis.any_perpendicular();
        let y = axis.cross(x);
        if self.planar {
            return self.bar(layer, from, to, radius, colour);
        }
        let sides = if radius > 0.08 * self.size { 60 } else { 20 };
        let around = |k: f64| {
            let (s, c) = (k / sides as f64 * std::f64::consts::TAU).sin_cos();
            x * c + y * s
        };
        for k in 0..sides {
            let (a, b) = (around(k as f64) * radius, around(k as f64 + 1.0) * radius);
            self.face(layer, vec![from + a, from + b, to + b, to + a], around(k as f64 + 0.5), colour);
        }
        let ring = |centre: Vec3| (0..sides).map(|k| centre + around(k as f64) * radius).collect::<Vec<_>>();
        self.face(layer, ring(from), -axis, colour);
        self.face(layer, ring(to), axis, colour);
    }

    /// A bar with round ends, in the plane.
    pub fn bar(&mut self, layer: u8, from: Vec3, to: Vec3, radius: f64, colour: Colour) {
        let d = (to - from).normalized().unwrap_or(Vec3::X);
        let n = Vec3::Z.cross(d);
        let half = |centre: Vec3, sign: f64| {
            (0..=12).map(move |k| {
                let (s, c) = (f64::from(k) / 12.0 * std::f64::consts::PI).sin_cos();
                centre + n * (sign * c * radius) + d * (sign * s * radius)
            })
        };
        let points = half(to, 1.0).chain(half(from, -1.0)).collect();
        let style = Style::outlined(colour.towards(WHITE, 0.25), colour.towards(ink(), 0.25), 1.2);
        self.put(layer, Piece::Area { points, style });
    }

    pub fn ball(&mut self, layer: u8, at: Vec3, radius: f64, colour: Colour) {
        self.disc(layer, at, radius, Style::outlined(colour, colour.towards(ink(), 0.25), 1.0));
        let centre = self.seen(at) + Vec3::new(-0.3, 0.33, 0.4) * radius;
        self.put(layer, Piece::Disc { centre, radius: 0.4 * radius, style: Style::fill(colour.towards(WHITE, 0.35)) });
    }

    /// What the last pose throws on the floor, and the floor.
    pub fn shadow(&mut self, gravity: Vec3) {
        let (false, Some(down)) = (self.planar, gravity.normalized()) else { return };
        let shapes: Vec<Vec<Vec3>> = self
            .pieces
            .iter()
            .filter(|(layer, ..)| *layer >= 10)
            .map(|(_, _, piece)| match piece {
                Piece::Area { points, .. } | Piece::Line { points, .. } => points.clone(),
                Piece::Disc { centre, radius, .. } => (0..12)
                    .map(|k| {
                        let (s, c) = (f64::from(k) * std::f64::consts::FRAC_PI_6).sin_cos();
                        *centre + Vec3::new(c, s, 0.0) * *radius
                    })
                    .collect(),
            })
            .collect();
        let world = self.camera.transpose();
        let all = || {
            self.pieces.iter().flat_map(|(_, _, piece)| match piece {
                Piece::Area { points, .. } | Piece::Line { points, .. } => points.clone(),
                Piece::Disc { centre, radius, .. } => vec![*centre - self.seen(-down) * *radius],
            })
        };
        let depth = all().map(|p| (world * p).dot(down)).fold(f64::NEG_INFINITY, f64::max) + 0.01 * self.size;
        let drop = |p: Vec3| {
            let q = world * p;
            q + down * (depth - q.dot(down))
        };
        let mut out = Vec::new();
        for shape in shapes {
            let points = hull(&shape.iter().map(|p| self.seen(drop(*p))).collect::<Vec<_>>());
            let grey = Colour::hex(0xe3e6ea);
            out.push((0, 0.0, Piece::Area { points, style: Style::outlined(grey, grey, 1.0) }));
        }
        // a grid of round distances under everything
        let x = (Vec3::X - down * Vec3::X.dot(down)).normalized().unwrap_or(Vec3::Y);
        let y = down.cross(x);
        let unit = 10f64.powf((0.3 * self.size).log10().floor());
        let step = [5.0, 2.0, 1.0].map(|k| k * unit).into_iter().find(|s| *s <= 0.3 * self.size).unwrap_or(unit);
        let span = |axis: Vec3| {
            let (a, b) = all()
                .map(|p| drop(p).dot(axis))
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
            (((a - 0.1 * self.size) / step).floor() as i64, ((b + 0.1 * self.size) / step).ceil() as i64)
        };
        let ((x0, x1), (y0, y1)) = (span(x), span(y));
        let at = |i: i64, j: i64| self.seen(x * (i as f64 * step) + y * (j as f64 * step) + down * depth);
        let lines = (x0..=x1).map(|i| vec![at(i, y0), at(i, y1)]).chain((y0..=y1).map(|j| vec![at(x0, j), at(x1, j)]));
        for points in lines.take(200) {
            out.push((0, -1.0, Piece::Line { points, style: Style::line(Colour::hex(0xeceef1), 1.0) }));
        }
        self.pieces.extend(out);
    }

    pub fn paint(mut self, width: f64, height: f64) -> Drawing {
        const MARGIN: f64 = 22.0;
        let mut out = Drawing::new(width, height);
        self.pieces.sort_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).unwrap_or(std::cmp::Ordering::Equal));
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for (layer, _, piece) in &self.pieces {
            let (points, reach): (&[Vec3], f64) = match piece {
                _ if *layer == 0 => (&[], 0.0), // the floor may run out of the picture
                Piece::Area { points, .. } | Piece::Line { points, .. } => (points, 0.0),
                Piece::Disc { centre, radius, .. } => (std::slice::from_ref(centre), *radius),
            };
            for p in points.iter().filter(|p| p.0.iter().all(|x| x.is_finite())) {
                for i in 0..2 {
                    low[i] = low[i].min(p[i] - reach);
                    high[i] = high[i].max(p[i] + reach);
                }
            }
        }
        let span = [0, 1].map(|i| (high[i] - low[i]).max(1e-12));
        let scale = ((width - 2.0 * MARGIN) / span[0]).min((height - 2.0 * MARGIN) / span[1]);
        let place = |p: &Vec3| {
            let of = |i: usize| (p[i] - 0.5 * (low[i] + high[i])) * scale;
            [width / 2.0 + of(0), height / 2.0 - of(1)]
        };
        for (_, _, piece) in &self.pieces {
            match piece {
                Piece::Area { points, style } => out.path(points.iter().map(place).collect(), true, *style),
                Piece::Line { points, style } => out.path(points.iter().map(place).collect(), false, *style),
                Piece::Disc { centre, radius, style } => out.circle(place(centre), radius * scale, *style),
            }
        }
        out
    }
}

/// Rows to the right, up and towards a viewer in front of the machine and a little above it.
pub fn camera(gravity: Vec3) -> Mat3 {
    let up = (-gravity).normalized().unwrap_or(Vec3::Z);
    let x = (Vec3::X - up * Vec3::X.dot(up)).normalized().unwrap_or(Vec3::Y);
    let y = up.cross(x);
    let (azimuth, height) = (-62f64.to_radians(), 24f64.to_radians());
    let towards = (x * azimuth.cos() + y * azimuth.sin()) * height.cos() + up * height.sin();
    let right = up.cross(towards).normalized().unwrap_or(x);
    Mat3::from_columns(right, towards.cross(right), towards).transpose()
}

/// The convex hull of points in the picture's plane [Andrew 1979].
pub fn hull(points: &[Vec3]) -> Vec<Vec3> {
    let mut sorted: Vec<Vec3> = points.to_vec();
    sorted.sort_by(|a, b| (a[0], a[1]).partial_cmp(&(b[0], b[1])).unwrap_or(std::cmp::Ordering::Equal));
    let turn = |a: Vec3, b: Vec3, c: Vec3| (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    let half = |points: &mut dyn Iterator<Item = Vec3>| {
        let mut out: Vec<Vec3> = Vec::new();
        for p in points {
            while out.len() > 1 && turn(out[out.len() - 2], out[out.len() - 1], p) <= 0.0 {
                out.pop();
            }
            out.push(p);
        }
        out.pop();
        out
    };
    let mut out = half(&mut sorted.iter().copied());
    out.extend(half(&mut sorted.iter().rev().copied()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hulls_hold_all_points_and_turn_left() {
        let points: Vec<Vec3> = (0..40)
            .map(|k| {
                let a = f64::from(k) * 2.4;
                Vec3::new(a.cos() * f64::from(k % 7), a.sin() * f64::from(k % 5), 0.0)
            })
            .collect();
        let h = hull(&points);
        assert!(h.len() > 4);
        for k in 0..h.len() {
            let (a, b) = (h[k], h[(k + 1) % h.len()]);
            assert!(points.iter().all(|c| (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > -1e-12));
        }
    }

    #[test]
    fn the_camera_stands_upright_and_keeps_lengths() {
        for g in [Vec3::ZERO, Vec3::new(0.0, -9.81, 0.0), Vec3::new(0.0, 0.0, -9.81), Vec3::new(3.0, 0.0, 0.0)] {
            let c = camera(g);
            let identity = c * c.transpose();
            assert!((0..3).all(|i| (0..3).all(|j| (identity.0[i][j] - f64::from(u8::from(i == j))).abs() < 1e-14)));
            assert!((c.determinant() - 1.0).abs() < 1e-14);
            let up = c * (-g).normalized().unwrap_or(Vec3::Z);
            assert!(up[0].abs() < 1e-14 && up[1] > 0.9);
        }
    }
}
