//! Joints and forces in pictures: pins, slides, belts, curves, springs, ropes and tyres.

use super::canvas::{Piece, WHITE, ink};
use super::{MovingScene, vector};
use crate::colours::colours;
use crate::drawing::{Colour, Style};
use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::model::Shape;
use bellcrank_model::scene::{SceneElement, Triple};

/// A place of an element in the world, the body it is on, and the body's axes.
pub(super) type PlacedEnd = (Vec3, Option<usize>, Mat3);

/// A tyre is this wide, in its radius.
const TYRE_WIDTH: f64 = 0.35;

impl MovingScene<'_> {
    pub(super) fn joint(&mut self, j: &SceneElement, row: usize, layer: u8) {
        let ends = self.ends(j, row);
        let [(a, ground, ra), (b, body, _), ..] = ends[..] else { return };
        let grounded = ground.is_none() || body.is_none();
        let axis = j.axis.as_ref().and_then(|axis| (ra * vector(axis.first()?)).normalized());
        let s = self.canvas.size;
        let ink = ink();
        self.path(j, row, layer);
        if let (Some(radius), true) = (j.radii.get(1).filter(|r| **r > 0.0), self.canvas.planar) {
            let centre = colours().steel;
            self.canvas.disc(layer, b, *radius, Style::outlined(WHITE.towards(centre, 0.2), centre, 1.4));
        }
        match &*j.kind {
            "distance" => self.canvas.line(layer, &[a, b], ink, 1.8),
            "belt" if self.canvas.planar => self.belt(ground, body, row, layer, ink),
            "revolute" | "spherical" if self.canvas.planar => {
                if grounded && self.canvas.pale == 0.0 {
                    let (w, h) = (0.032 * s, 0.048 * s);
                    let centre = self.canvas.seen(a);
                    let foot = |x: f64, y: f64| centre + Vec3::new(x, y, 0.0);
                    let points = vec![foot(0.0, 0.0), foot(-w, -h), foot(w, -h)];
                    self.canvas
                        .put(layer - 2, Piece::Area { points, style: Style::outlined(WHITE, colours().steel, 1.2) });
                    let base = vec![foot(-1.6 * w, -h), foot(1.6 * w, -h)];
                    self.canvas.put(layer - 2, Piece::Line { points: base, style: Style::line(colours().steel, 1.6) });
                    for k in 0..5 {
                        let x = (-1.2 + 0.65 * f64::from(k)) * w;
                        let points = vec![foot(x, -h), foot(x - 0.45 * w, -1.4 * h)];
                        self.canvas.put(layer - 2, Piece::Line { points, style: Style::line(colours().steel, 1.0) });
                    }
                }
                self.canvas.disc(layer, b, 0.011 * s, Style::outlined(WHITE, ink, 1.4));
            }
            "prismatic" | "cylindrical" | "point-on-line" if ground.is_none() && self.canvas.pale == 0.0 => {
                let Some(axis) = axis else { return };
                let Some(moving) = body.and_then(|k| self.bodies.get(k)) else { return };
                let on = j.on.get(1).map_or(Vec3::ZERO, vector);
                let along = moving.pose.iter().map(|(p, r)| (*p + *r * on - a).dot(axis));
                let (low, high) = along.fold((0.0f64, 0.0f64), |(l, h), x| (l.min(x), h.max(x)));
                let rail = [a + axis * (low - 0.1 * s), a + axis * (high + 0.1 * s)];
                self.canvas.line(if self.canvas.planar { 1 } else { layer }, &rail, colours().steel, 2.0);
            }
            "revolute" | "screw" | "universal" => {
                let half = axis.unwrap_or(Vec3::Z) * (0.028 * s);
                self.canvas.tube(layer, b - half, b + half, 0.016 * s, colours().steel);
            }
            "spherical" | "constant-velocity" => self.canvas.ball(layer, b, 0.02 * s, colours().steel),
            _ => {}
        }
    }

    /// The outer tangents of two round bodies.
    fn belt(&mut self, first: Option<usize>, second: Option<usize>, row: usize, layer: u8, colour: Colour) {
        let round = |k: Option<usize>| {
            let b = self.bodies.get(k?)?;
            match b.shape {
                Shape::Cylinder { radius: r, .. } => Some((b.pose.get(row)?.0, r)),
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
            self.canvas.line(layer, &[p + n * a, q + n * b], colour, 2.2);
        }
    }

    /// The curve that an element follows.
    fn path(&mut self, of: &SceneElement, row: usize, layer: u8) {
        let Some(points) = &of.path else { return };
        let pose = of.between.first().copied().flatten().and_then(|k| self.bodies.get(k)?.pose.get(row).copied());
        let place = |p: &Triple| pose.map_or(p.0, |(at, r)| at + r * p.0);
        let points: Vec<Vec3> = points.iter().map(place).collect();
        self.canvas.line(layer, &points, colours().steel, 2.2);
    }

    pub(super) fn force(&mut self, f: &SceneElement, row: usize, layer: u8) {
        let ends = self.ends(f, row);
        self.path(f, row, layer);
        if f.kind == "rope" {
            return self.rope(f, &ends, layer);
        }
        let [(a, ..), (b, ..)] = ends[..] else { return };
        let colour = colours().steel;
        let many = self.scene.forces.len() > 12;
        match &*f.kind {
            "spring-damper" if many => self.canvas.line(layer, &[a, b], colour, 1.2),
            "spring-damper" if f.spring == Some(true) => {
                let (from, to) = (self.canvas.seen(a), self.canvas.seen(b));
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
                    from + (to - from) * part + across * (side * 0.028 * self.canvas.size)
                };
                let points = (0..=18).map(turn).collect();
                self.canvas.put(layer, Piece::Line { points, style: Style::line(colour, 1.6) });
            }
            "spring-damper" => self.canvas.line(layer, &[a, b], colour, 2.2),
            "tyre" => self.tyre(f, &ends, layer),
            "bushing" => {
                let rubber = colours().rubber;
                self.canvas.disc(layer, b, 0.036 * self.canvas.size, Style::outlined(rubber, rubber, 1.0));
                let centre = self.canvas.seen(b) + Vec3::Z * (0.05 * self.canvas.size);
                self.canvas.put(
                    layer,
                    Piece::Disc {
                        centre,
                        radius: 0.014 * self.canvas.size,
                        style: Style::fill(WHITE.towards(colours().steel, 0.3)),
                    },
                );
            }
            _ => {}
        }
    }

    /// A rope along its straight parts and around its pulleys, and those of its pulleys that no body shows.
    fn rope(&mut self, f: &SceneElement, ends: &[PlacedEnd], layer: u8) {
        let points: Vec<Vec3> = ends.iter().map(|end| end.0).collect();
        for (k, radius) in f.radii.iter().enumerate().filter(|(_, r)| **r != 0.0) {
            let Some((at, body, _)) = ends.get(k) else { continue };
            let round = |b: usize| {
                matches!(self.bodies.get(b).map(|b| b.shape), Some(Shape::Cylinder { .. } | Shape::Sphere { .. }))
            };
            if !body.is_some_and(round) {
                let steel = colours().steel;
                self.canvas.disc(layer, *at, radius.abs(), Style::outlined(WHITE.towards(steel, 0.25), steel, 1.2));
            }
        }
        self.canvas.line(layer + 1, &rope_course(&points, &f.radii), ink(), 1.6);
    }

    /// A tyre about its wheel: a ring in the plane, a tread in space.
    fn tyre(&mut self, f: &SceneElement, ends: &[PlacedEnd], layer: u8) {
        let (Some(&(at, body, r)), Some(&radius)) = (ends.get(1), f.radii.get(1)) else { return };
        let wheel = body.and_then(|b| self.bodies.get(b)).map(|b| b.shape);
        if matches!(wheel, Some(Shape::Cylinder { radius: own, .. }) if own > 0.8 * radius) {
            return; // the wheel is drawn as a whole
        }
        let rubber = colours().rubber;
        if self.canvas.planar {
            return self.canvas.disc(layer, at, radius, Style::line(rubber, 3.0));
        }
        let own = f.axis.as_ref().and_then(|axis| axis.get(1)).map_or(Vec3::Y, |axis| axis.0);
        let half = (r * own).normalized().unwrap_or(Vec3::Y) * (0.5 * TYRE_WIDTH * radius);
        self.canvas.tube(layer, at - half, at + half, radius, rubber);
        for side in [-1.0, 1.0] {
            let hub = at + half * (1.04 * side);
            self.canvas.tube(layer, hub - half * 0.03, hub + half * 0.03, 0.55 * radius, colours().steel);
        }
    }
}

/// Points along a rope through `points`: around pulleys of these radii, negative where a pulley is to the right of the rope.
///
/// With the angle θ of the line between two centres, r = r₂ − r₁ and D their distance, the left normal of the straight part has the
/// angle θ + acos(r/D), and the part touches each pulley at its centre less radius times normal.
fn rope_course(points: &[Vec3], radii: &[f64]) -> Vec<Vec3> {
    let radius = |k: usize| radii.get(k).copied().unwrap_or(0.0);
    if (0..points.len()).all(|k| radius(k) == 0.0) {
        return points.to_vec();
    }
    let normal = |k: usize| {
        let d = points[k + 1] - points[k];
        d[1].atan2(d[0]) + ((radius(k + 1) - radius(k)) / d.norm()).clamp(-1.0, 1.0).acos()
    };
    let mut out = Vec::new();
    for (k, centre) in points.iter().enumerate() {
        let (r, last) = (radius(k), points.len() - 1);
        if r == 0.0 || k == 0 || k == last {
            out.push(*centre);
            continue;
        }
        let (from, to) = (normal(k - 1), normal(k));
        // around the pulley in the direction of the bend
        let sweep = (r.signum() * (to - from)).rem_euclid(std::f64::consts::TAU) * r.signum();
        let foot = |part: f64| {
            let (s, c) = (from + sweep * part).sin_cos();
            *centre - Vec3::new(c, s, 0.0) * r
        };
        out.extend((0..=24).map(|i| foot(f64::from(i) / 24.0)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up, over a pulley and down again: two straight parts of 2 m and half a turn.
    #[test]
    fn a_rope_runs_around_its_pulleys_on_the_side_of_its_bend() {
        let course = |points: &[[f64; 2]], radii: &[f64]| {
            let points: Vec<Vec3> = points.iter().map(|p| Vec3::new(p[0], p[1], 0.0)).collect();
            rope_course(&points, radii)
        };
        let length = |c: &[Vec3]| c.windows(2).map(|p| (p[1] - p[0]).norm()).sum::<f64>();
        let over = course(&[[-0.5, 0.0], [0.0, 2.0], [0.5, 0.0]], &[0.0, -0.5, 0.0]);
        let exact = 4.0 + 0.5 * std::f64::consts::PI;
        assert!((length(&over) - exact).abs() < 2e-3, "{} {exact}", length(&over));
        assert!(over.iter().all(|p| p[1] <= 2.5 + 1e-12) && over.iter().any(|p| p[1] > 2.49));
        let under = course(&[[-0.5, 0.0], [0.0, -2.0], [0.5, 0.0]], &[0.0, 0.5, 0.0]);
        assert!((length(&under) - exact).abs() < 2e-3 && under.iter().any(|p| p[1] < -2.49));
        // crossed between two pulleys: the straight part is √(D² − (r₁ + r₂)²)
        let crossed = course(&[[-1.0, 3.0], [0.0, 0.0], [3.0, 0.0], [4.0, -3.0]], &[0.0, 0.5, -0.5, 0.0]);
        let longest = crossed.windows(2).map(|p| (p[1] - p[0]).norm()).fold(0.0, f64::max);
        let straight = |d: f64| (d * d - 0.25f64).sqrt();
        assert!((longest - straight(10f64.sqrt())).abs() < 1e-9, "{longest}");
        assert!(crossed.windows(2).any(|p| ((p[1] - p[0]).norm() - 8f64.sqrt()).abs() < 1e-9));
        assert_eq!(course(&[[0.0, 0.0], [1.0, 0.0]], &[]).len(), 2);
    }
}
