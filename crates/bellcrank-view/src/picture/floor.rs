//! The floor of a picture, and what stands above it as a shadow.

use super::{Machine, Piece, vector};
use crate::drawing::{Colour, Style};
use bellcrank_math::Vec3;

impl Machine<'_> {
    /// What the last pose throws on the floor, and the floor.
    pub(super) fn shadow(&mut self) {
        let g = vector(&self.scene.gravity);
        let (false, Some(down)) = (self.planar, g.normalized()) else { return };
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
}

/// The convex hull of points in the picture's plane [Andrew 1979].
pub(super) fn hull(points: &[Vec3]) -> Vec<Vec3> {
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
