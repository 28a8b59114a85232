//! Bodies, joints and forces of a picture.

use super::{INK, Machine, Piece, STEEL, WHITE, hull, vector};
use crate::drawing::{Colour, Style};
use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::model::Shape;
use bellcrank_model::scene::{Bend, Element, Triple};

impl Machine<'_> {
    pub(super) fn body(&mut self, number: usize, row: usize, layer: u8) {
        let b = &self.bodies[number];
        let Some(&(p, r)) = b.pose.get(row) else { return };
        let colour = b.colour;
        let edge = colour.towards(INK, 0.25);
        let thin = 0.014 * self.size;
        if let Some(bending) = &b.bending {
            let nodes: Vec<Vec3> = bending.bent(row).into_iter().map(|x| p + r * x).collect();
            let radius = bending.line.map(|radius| radius.max(0.5 * thin));
            return self.bent(&nodes, radius, thin, layer, colour);
        }
        match b.shape {
            Shape::Rod { length, radius } => {
                let half = r.column(0) * (length / 2.0);
                self.tube(layer, p - half, p + half, if radius > 0.0 { radius.max(0.5 * thin) } else { thin }, colour);
            }
            Shape::Cylinder { radius, .. } if self.planar => {
                self.disc(layer, p, radius, Style::outlined(colour.towards(WHITE, 0.35), edge, 1.4));
                self.line(layer, &[p, p + r.column(0) * (0.92 * radius)], edge, 2.0);
            }
            Shape::Cylinder { length, radius } => {
                let half = r.column(2) * (length / 2.0);
                self.tube(layer, p - half, p + half, radius, colour);
                for side in [-1.0, 1.0] {
                    let out = self.seen(r.column(2) * side)[2];
                    if out > 0.0 && radius > length {
                        let centre = p + half * (side * 1.05);
                        let mark = |k: f64| centre + r.column(0) * (k * radius);
                        self.line(layer, &[mark(0.15), mark(0.9)], edge.towards(INK, 0.4), 2.0);
                    }
                }
            }
            Shape::Box { size: s } if self.planar => {
                let corner = |x: f64, y: f64| self.seen(p + r * Vec3::new(x * s[0] / 2.0, y * s[1] / 2.0, 0.0));
                let points = vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
                self.put(layer, Piece::Area { points, style: Style::outlined(colour.towards(WHITE, 0.35), edge, 1.4) });
            }
            Shape::Box { size: s } => {
                for (i, side) in (0..3).flat_map(|i| [(i, -1.0), (i, 1.0)]) {
                    let (n, u, v) = (r.column(i), r.column((i + 1) % 3), r.column((i + 2) % 3));
                    let (u, v) = (u * (s[(i + 1) % 3] / 2.0), v * (s[(i + 2) % 3] / 2.0));
                    let c = p + n * (side * s[i] / 2.0);
                    self.face(layer, vec![c - u - v, c + u - v, c + u + v, c - u + v], n * side, colour);
                }
            }
            Shape::Sphere { radius } => self.ball(layer, p, radius, colour),
            Shape::Unknown if b.point => {
                let part = if self.bodies.len() > 20 { 0.011 } else { 0.025 };
                self.ball(layer, p, part * self.size, colour);
            }
            Shape::Unknown => {
                let points: Vec<Vec3> = b.points.iter().map(|x| p + r * *x).collect();
                if self.planar && points.len() > 2 {
                    let outline: Vec<Vec3> = hull(&points);
                    let style = Style::outlined(colour.towards(WHITE, 0.45), colour, 5.0);
                    self.put(layer, Piece::Area { points: outline, style });
                } else if let (true, [a, b]) = (self.planar, &points[..]) {
                    self.tube(layer, *a, *b, 0.8 * thin, colour);
                } else {
                    points.iter().for_each(|q| self.tube(layer, p, *q, 0.7 * thin, colour));
                    self.ball(layer, p, 1.4 * thin, colour);
                }
            }
        }
    }

    /// A beam along its nodes, or the nodes of what has no line.
    pub(super) fn bent(&mut self, nodes: &[Vec3], radius: Option<f64>, thin: f64, layer: u8, colour: Colour) {
        match radius {
            None => nodes.iter().for_each(|p| self.ball(layer, *p, 0.6 * thin, colour)),
            Some(radius) if !self.planar => nodes.windows(2).for_each(|p| self.tube(layer, p[0], p[1], radius, colour)),
            Some(radius) => {
                let last = nodes.len().saturating_sub(1);
                let side = |k: usize, sign: f64| {
                    let along = nodes[(k + 1).min(last)] - nodes[k.saturating_sub(1)];
                    nodes[k] + Vec3::Z.cross(along).normalized().unwrap_or(Vec3::Y) * (sign * radius)
                };
                let points =
                    (0..nodes.len()).map(|k| side(k, 1.0)).chain((0..nodes.len()).rev().map(|k| side(k, -1.0)));
                let style = Style::outlined(colour.towards(WHITE, 0.25), colour.towards(INK, 0.25), 1.2);
                self.put(layer, Piece::Area { points: points.collect(), style });
            }
        }
    }

    pub(super) fn ball(&mut self, layer: u8, at: Vec3, radius: f64, colour: Colour) {
        self.disc(layer, at, radius, Style::outlined(colour, colour.towards(INK, 0.25), 1.0));
        let centre = self.seen(at) + Vec3::new(-0.3, 0.33, 0.4) * radius;
        self.put(layer, Piece::Disc { centre, radius: 0.4 * radius, style: Style::fill(colour.towards(WHITE, 0.35)) });
    }

    /// The points of an element in the world, and whether each is on the ground.
    pub(super) fn ends(&self, e: &Element, row: usize) -> Vec<(Vec3, Option<usize>, Mat3)> {
        let bends: &[Bend] = e.bend.as_deref().unwrap_or_default();
        let end = |(k, (number, on)): (usize, (&Option<usize>, &Triple))| {
            let body = number.and_then(|k| self.bodies.get(k));
            let (p, r) = body.and_then(|b| b.pose.get(row).copied()).unwrap_or((Vec3::ZERO, Mat3::IDENTITY));
            let mut on = vector(on);
            // on a flexible body the point moves with the modes
            let modes = body.and_then(|b| b.bending.as_ref()).map_or(&[][..], |b| &b.modes);
            let bend = bends.get(k).and_then(|b| b.as_deref()).unwrap_or_default();
            for ((values, _), d) in modes.iter().zip(bend) {
                on += vector(d) * values.get(row).copied().unwrap_or(0.0);
            }
            (p + r * on, *number, r)
        };
        e.between.iter().zip(&e.on).enumerate().map(end).collect()
    }

    pub(super) fn joint(&mut self, j: &Element, row: usize, layer: u8) {
        let ends = self.ends(j, row);
        let [(a, ground, ra), (b, body, _), ..] = ends[..] else { return };
        let grounded = ground.is_none() || body.is_none();
        let axis = j.axis.as_ref().and_then(|axis| (ra * vector(axis.first()?)).normalized());
        let s = self.size;
        let ink = INK;
        match &*j.kind {
            "distance" => self.line(layer, &[a, b], ink, 1.8),
            "belt" if self.planar => self.belt(ground, body, row, layer, ink),
            "revolute" | "spherical" if self.planar => {
                if grounded && self.pale == 0.0 {
                    let (w, h) = (0.032 * s, 0.048 * s);
                    let centre = self.seen(a);
                    let foot = |x: f64, y: f64| centre + Vec3::new(x, y, 0.0);
                    let points = vec![foot(0.0, 0.0), foot(-w, -h), foot(w, -h)];
                    self.put(layer - 2, Piece::Area { points, style: Style::outlined(WHITE, STEEL, 1.2) });
                    let base = vec![foot(-1.6 * w, -h), foot(1.6 * w, -h)];
                    self.put(layer - 2, Piece::Line { points: base, style: Style::line(STEEL, 1.6) });
                    for k in 0..5 {
                        let x = (-1.2 + 0.65 * f64::from(k)) * w;
                        let points = vec![foot(x, -h), foot(x - 0.45 * w, -1.4 * h)];
                        self.put(layer - 2, Piece::Line { points, style: Style::line(STEEL, 1.0) });
                    }
                }
                self.disc(layer, b, 0.011 * s, Style::outlined(WHITE, ink, 1.4));
            }
            "prismatic" | "cylindrical" | "point-on-line" if ground.is_none() && self.pale == 0.0 => {
                let Some(axis) = axis else { return };
                let Some(moving) = body.and_then(|k| self.bodies.get(k)) else { return };
                let on = j.on.get(1).map_or(Vec3::ZERO, vector);
                let along = moving.pose.iter().map(|(p, r)| (*p + *r * on - a).dot(axis));
                let (low, high) = along.fold((0.0f64, 0.0f64), |(l, h), x| (l.min(x), h.max(x)));
                let rail = [a + axis * (low - 0.1 * s), a + axis * (high + 0.1 * s)];
                self.line(if self.planar { 1 } else { layer }, &rail, STEEL, 2.0);
            }
            "revolute" | "screw" | "universal" => {
                let half = axis.unwrap_or(Vec3::Z) * (0.028 * s);
                self.tube(layer, b - half, b + half, 0.016 * s, STEEL);
            }
            "spherical" | "constant-velocity" => self.ball(layer, b, 0.02 * s, STEEL),
            _ => {}
        }
    }

    /// The outer tangents of two round bodies.
    pub(super) fn belt(&mut self, first: Option<usize>, second: Option<usize>, row: usize, layer: u8, colour: Colour) {
        let round = |k: Option<usize>| {
            let b = self.bodies.get(k?)?;
            match b.shape {
                Shape::Cylinder { radius, .. } => Some((b.pose.get(row)?.0, radius)),
                _ => None,
            }
        };
        let (Some((p, a)), Some((q, b))) = (round(first), round(second)) else { return };
        let d = q - p;
        let lean = ((a - b) / d.norm()).clamp(-1.0, 1.0).acos();
        let heading = d[1].atan2(d[0]);
        for side in [-1.0, 1.0] {
            let (s, c) = (heading + side * lean).sin_cos();
            let n = Vec3::new(c, s, 0.0);
            self.line(layer, &[p + n * a, q + n * b], colour, 2.2);
        }
    }

    pub(super) fn force(&mut self, f: &Element, row: usize, layer: u8) {
        let ends = self.ends(f, row);
        let [(a, ..), (b, ..)] = ends[..] else { return };
        let colour = STEEL;
        let many = self.scene.forces.len() > 12;
        match &*f.kind {
            "spring-damper" if many => self.line(layer, &[a, b], colour, 1.2),
            "spring-damper" if f.spring == Some(true) => {
                let (from, to) = (self.seen(a), self.seen(b));
                let across = Vec3::new(from[1] - to[1], to[0] - from[0], 0.0).normalized().unwrap_or(Vec3::ZERO);
                let turn = |k: usize| {
                    let side = match k {
                        0 | 1 | 17 | 18 => 0.0,
                        k if k % 2 == 0 => 1.0,
                        _ => -1.0,
                    };
                    let part = match k {
                        0 => 0.0,
                        18 => 1.0,
                        k => 0.12 + 0.76 * (k - 1) as f64 / 16.0,
                    };
                    from + (to - from) * part + across * (side * 0.028 * self.size)
                };
                let points = (0..=18).map(turn).collect();
                self.put(layer, Piece::Line { points, style: Style::line(colour, 1.6) });
            }
            "spring-damper" => self.line(layer, &[a, b], colour, 2.2),
            "bushing" => {
                let rubber = Colour::hex(0x3d3d46);
                self.disc(layer, b, 0.036 * self.size, Style::outlined(rubber, rubber, 1.0));
                let centre = self.seen(b) + Vec3::Z * (0.05 * self.size);
                self.put(
                    layer,
                    Piece::Disc { centre, radius: 0.014 * self.size, style: Style::fill(WHITE.towards(STEEL, 0.3)) },
                );
            }
            _ => {}
        }
    }
}
