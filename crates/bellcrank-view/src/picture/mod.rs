//! Pictures of a machine: its scene at the last time, pale at some times before, with the paths of its probes.
//!
//! Planar machines are seen face-on, others from above the front, without perspective. All surfaces are flat
//! pieces, painted from the back to the front.

mod elements;
mod floor;

use crate::drawing::{Colour, Drawing, Style};
use bellcrank_math::rotation::Quat;
use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::model::{Shape, Space};
use bellcrank_model::scene::{Scene, SceneFlexible, Triple};
use bellcrank_results::Columns;
use floor::hull;
use std::io;

const BODIES: [Colour; 8] = [
    Colour::hex(0x4c78a8),
    Colour::hex(0xe8863a),
    Colour::hex(0x54a24b),
    Colour::hex(0xd65f5f),
    Colour::hex(0x5fb3b3),
    Colour::hex(0xa77bb5),
    Colour::hex(0xd9b23a),
    Colour::hex(0x9a7660),
];
const WHITE: Colour = Colour::hex(0xffffff);
const INK: Colour = Colour::hex(0x2b2f36);
const STEEL: Colour = Colour::hex(0x7c8591);
const TRACE: Colour = Colour::hex(0xc2185b);
/// How much paler the poses before the last one are.
const PALE: f64 = 0.8;

struct Body {
    shape: Shape,
    /// Whether it is a point mass, which has no shape.
    point: bool,
    pose: Vec<(Vec3, Mat3)>,
    colour: Colour,
    /// The points where something is attached, in its own frame.
    points: Vec<Vec3>,
    bending: Option<Bending>,
}

/// How a flexible body deforms.
struct Bending {
    /// Whether the nodes are the centre line of a beam, so thick.
    line: Option<f64>,
    nodes: Vec<Vec3>,
    /// Of every mode its coordinate over time and how one unit of it moves the nodes.
    modes: Vec<(Vec<f64>, Vec<Vec3>)>,
}

impl Bending {
    fn new(of: &SceneFlexible, columns: &Columns) -> io::Result<Bending> {
        let mut modes = Vec::new();
        for mode in &of.modes {
            let at = columns.names.iter().position(|n| *n == mode.channel);
            let values = columns.read(&at.into_iter().collect::<Vec<_>>())?.pop().unwrap_or_default();
            modes.push((values, vectors(&mode.shape)));
        }
        Ok(Bending { line: of.line.then_some(of.radius), nodes: vectors(&of.nodes), modes })
    }

    /// The nodes at a time, in the body's frame.
    pub(super) fn bent(&self, row: usize) -> Vec<Vec3> {
        let mut out = self.nodes.clone();
        for (values, shape) in &self.modes {
            let c = values.get(row).copied().unwrap_or(0.0);
            out.iter_mut().zip(shape).for_each(|(p, d)| *p += *d * c);
        }
        out
    }
}

/// What is painted, in metres as the viewer sees it: to the right, up, towards them.
enum Piece {
    Area { points: Vec<Vec3>, style: Style },
    Line { points: Vec<Vec3>, style: Style },
    Disc { centre: Vec3, radius: f64, style: Style },
}

/// A machine in motion.
struct Machine<'a> {
    scene: &'a Scene,
    planar: bool,
    bodies: Vec<Body>,
    /// Rows to the viewer: right, up, towards them.
    camera: Mat3,
    /// The radius of all that is there.
    size: f64,
    /// How far everything is mixed with white.
    pale: f64,
    pieces: Vec<(u8, f64, Piece)>,
}

/// Draws the scene of a result as wide and high as asked.
pub fn picture(scene: &Scene, columns: &Columns, width: f64, height: f64) -> io::Result<Drawing> {
    let mut machine = Machine::new(scene, columns)?;
    let rows = machine.bodies.first().map_or(0, |b| b.pose.len());
    machine.traces(columns)?;
    for (k, row) in machine.moments(rows).into_iter().enumerate() {
        machine.frame(row, 2 + k as u8, PALE);
    }
    if rows > 0 {
        machine.frame(rows - 1, 10, 0.0);
        machine.shadow();
    }
    Ok(machine.paint(width, height))
}

/// A number that is not finite counts as zero.
fn vector(v: &Triple) -> Vec3 {
    Vec3(v.0.0.map(|x| if x.is_finite() { x } else { 0.0 }))
}

fn vectors(list: &[Triple]) -> Vec<Vec3> {
    list.iter().map(vector).collect()
}

impl Machine<'_> {
    fn new<'a>(scene: &'a Scene, columns: &Columns) -> io::Result<Machine<'a>> {
        let planar = scene.space == Space::Plane;
        let mut bodies = Vec::new();
        for (number, b) in scene.bodies.iter().enumerate() {
            let name = &b.name;
            let at = |part: &str| columns.names.iter().position(|n| *n == format!("{name}.{part}"));
            let parts = ["x", "y", "z", "angle", "qw", "qx", "qy", "qz"].map(at);
            let wanted: Vec<usize> = parts.iter().flatten().copied().collect();
            let read = columns.read(&wanted)?;
            let column = |k: usize| parts[k].and_then(|c| wanted.iter().position(|w| *w == c)).map(|i| &read[i]);
            let rows = read.first().map_or(0, Vec::len);
            let start = (vector(&b.at), Quat(b.rotation));
            let pose = |i: usize| {
                let value = |k: usize, or: f64| column(k).map_or(or, |c| c[i]);
                let p = Vec3([0, 1, 2].map(|k| value(k, start.0[k])));
                let q = match (column(3), column(4)) {
                    (Some(angle), _) => Quat::exp(Vec3::Z * angle[i]),
                    (None, Some(_)) => Quat([4, 5, 6, 7].map(|k| value(k, 0.0))).normalized(),
                    (None, None) => start.1,
                };
                (p, q.matrix())
            };
            let point = b.kind == "point" && b.shape == Shape::Unknown;
            let colour = if point { BODIES[0] } else { BODIES[number % BODIES.len()] };
            let bending = b.flexible.as_ref().map(|f| Bending::new(f, columns)).transpose()?;
            let points = bending.as_ref().map_or(vec![], |b| b.nodes.clone());
            bodies.push(Body { shape: b.shape, point, pose: (0..rows).map(pose).collect(), colour, points, bending });
        }
        for e in scene.joints.iter().chain(&scene.forces) {
            for (body, on) in e.between.iter().zip(&e.on) {
                if let Some(b) = body.and_then(|k| bodies.get_mut(k)) {
                    b.points.push(vector(on));
                }
            }
        }
        let camera = if planar { Mat3::IDENTITY } else { camera(vector(&scene.gravity)) };
        let mut machine = Machine { scene, planar, bodies, camera, size: 1.0, pale: 0.0, pieces: vec![] };
        machine.size = machine.radius();
        Ok(machine)
    }

    /// The radius of the space in which bodies and their points move.
    fn radius(&self) -> f64 {
        let mut span = (Vec3([f64::INFINITY; 3]), Vec3([f64::NEG_INFINITY; 3]));
        for b in &self.bodies {
            let reach = match b.shape {
                Shape::Rod { length, .. } => length / 2.0,
                Shape::Cylinder { length, radius } => radius.max(length / 2.0),
                Shape::Box { size } => size.norm() / 2.0,
                Shape::Sphere { radius } => radius,
                Shape::Unknown => 0.0,
            };
            for (p, r) in b.pose.iter().step_by((b.pose.len() / 50).max(1)) {
                for q in b.points.iter().map(|x| *p + *r * *x).chain([*p]) {
                    for i in 0..3 {
                        span.0[i] = span.0[i].min(q[i] - reach);
                        span.1[i] = span.1[i].max(q[i] + reach);
                    }
                }
            }
        }
        let size = 0.5 * (span.1 - span.0).norm();
        if size.is_finite() && size > 0.0 { size } else { 1.0 }
    }

    /// A few moments before the last at which the machine looks most different, in their order.
    fn moments(&self, rows: usize) -> Vec<usize> {
        let count = if self.bodies.len() > 30 { 2 } else { 3 };
        let candidates: Vec<usize> = (0..rows).step_by((rows / 60).max(1)).collect();
        let far = |a: usize, b: usize| {
            let apart = |(p, r): (Vec3, Mat3), (q, s): (Vec3, Mat3)| {
                let turned = (0..3).map(|i| (r.column(i) - s.column(i)).norm()).sum::<f64>();
                (p - q).norm() + 0.1 * self.size * turned
            };
            self.bodies.iter().map(|x| apart(x.pose[a], x.pose[b])).sum::<f64>()
        };
        let mut chosen = vec![rows.saturating_sub(1)];
        while chosen.len() <= count && rows > count {
            let nearest = |k: usize| chosen.iter().map(|c| far(k, *c)).fold(f64::INFINITY, f64::min);
            let best = candidates.iter().max_by(|a, b| nearest(**a).total_cmp(&nearest(**b)));
            chosen.extend(best);
        }
        chosen.remove(0);
        chosen.sort_unstable();
        chosen
    }

    /// A point of the world as the viewer sees it.
    fn seen(&self, p: Vec3) -> Vec3 {
        self.camera * p
    }

    fn put(&mut self, layer: u8, mut piece: Piece) {
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

    fn line(&mut self, layer: u8, points: &[Vec3], colour: Colour, width: f64) {
        let points = points.iter().map(|p| self.seen(*p)).collect();
        self.put(layer, Piece::Line { points, style: Style::line(colour, width) });
    }

    fn disc(&mut self, layer: u8, at: Vec3, radius: f64, style: Style) {
        let centre = self.seen(at);
        self.put(layer, Piece::Disc { centre, radius, style });
    }

    /// A flat piece with its normal; what looks away is not seen.
    fn face(&mut self, layer: u8, points: Vec<Vec3>, normal: Vec3, colour: Colour) {
        let n = self.seen(normal);
        if n[2] <= 0.0 {
            return;
        }
        let light = Vec3::new(-0.35, 0.75, 0.56).dot(n).max(0.0);
        let shade =
            if self.planar { colour } else { colour.towards(INK, 0.45 - 0.45 * light).towards(WHITE, 0.22 * light) };
        let points = points.into_iter().map(|p| self.seen(p)).collect();
        self.put(layer, Piece::Area { points, style: Style::outlined(shade, shade, 0.5) });
    }

    /// A tube from end to end.
    fn tube(&mut self, layer: u8, from: Vec3, to: Vec3, radius: f64, colour: Colour) {
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
    fn bar(&mut self, layer: u8, from: Vec3, to: Vec3, radius: f64, colour: Colour) {
        let d = (to - from).normalized().unwrap_or(Vec3::X);
        let n = Vec3::Z.cross(d);
        let half = |centre: Vec3, sign: f64| {
            (0..=12).map(move |k| {
                let (s, c) = (f64::from(k) / 12.0 * std::f64::consts::PI).sin_cos();
                centre + n * (sign * c * radius) + d * (sign * s * radius)
            })
        };
        let points = half(to, 1.0).chain(half(from, -1.0)).collect();
        let style = Style::outlined(colour.towards(WHITE, 0.25), colour.towards(INK, 0.25), 1.2);
        self.put(layer, Piece::Area { points, style });
    }

    fn frame(&mut self, row: usize, layer: u8, pale: f64) {
        let full = pale == 0.0;
        self.pale = pale;
        // in the plane forces lie below bodies and pins above them, in space depth decides
        let (below, above) = if self.planar && full { (layer - 1, layer + 1) } else { (layer, layer) };
        for number in 0..self.bodies.len() {
            self.body(number, row, layer);
        }
        let scene = self.scene;
        scene.forces.iter().for_each(|f| self.force(f, row, below));
        scene.joints.iter().for_each(|j| self.joint(j, row, above));
        self.pale = 0.0;
    }

    /// The paths of the probes.
    fn traces(&mut self, columns: &Columns) -> io::Result<()> {
        for p in &self.scene.probes {
            let name = &p.name;
            let at = |axis: &&str| columns.names.iter().position(|n| *n == format!("{name}.{axis}"));
            let places: Vec<usize> = ["x", "y", "z"].iter().filter_map(at).collect();
            let read = columns.read(&places)?;
            let rows = read.first().map_or(0, Vec::len);
            let mut points: Vec<Vec3> = Vec::new();
            for i in 0..rows {
                let mut q = Vec3::ZERO;
                read.iter().enumerate().for_each(|(k, c)| q[k] = c[i]);
                let q = self.seen(q);
                if i + 1 == rows || points.last().is_none_or(|last| (q - *last).norm() > 0.004 * self.size) {
                    points.push(q);
                }
            }
            self.put(1, Piece::Line { points, style: Style::line(TRACE.with_opacity(0.75), 1.5) });
        }
        Ok(())
    }

    fn paint(mut self, width: f64, height: f64) -> Drawing {
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

/// Rows to the right, up and towards a viewer who stands before the front and a little above.
fn camera(gravity: Vec3) -> Mat3 {
    let up = (-gravity).normalized().unwrap_or(Vec3::Z);
    let x = (Vec3::X - up * Vec3::X.dot(up)).normalized().unwrap_or(Vec3::Y);
    let y = up.cross(x);
    let (azimuth, height) = (-62f64.to_radians(), 24f64.to_radians());
    let towards = (x * azimuth.cos() + y * azimuth.sin()) * height.cos() + up * height.sin();
    let right = up.cross(towards).normalized().unwrap_or(x);
    Mat3::from_columns(right, towards.cross(right), towards).transpose()
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

    #[test]
    fn flexible_bodies_are_drawn_bent_and_carry_their_joints() {
        let dir = std::env::temp_dir().join(format!("bellcrank-picture-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let csv = dir.join("results.csv");
        let quarter = std::f64::consts::FRAC_PI_2;
        std::fs::write(&csv, format!("time [s],b.x,b.y,b.angle,b.mode1\n0,0,0,0,0\n1,5,0,{quarter},0.5\n")).unwrap();
        let columns = Columns::open(&csv).unwrap();
        let scene: Scene = serde_json::from_value(serde_json::json!({
            "space": "plane",
            "bodies": [{"name": "b", "kind": "flexible", "at": [0, 0, 0], "rotation": [1, 0, 0, 0], "shape": {"type": "unknown"},
                "flexible": {"line": true, "radius": 0.1, "nodes": [[0, 0, 0], [1, 0, 0], [2, 0, 0]],
                    "modes": [{"channel": "b.mode1", "shape": [[0, 0, 0], [0, 1, 0], [0, 2, 0]]}]}}],
            "joints": [{"name": "j", "kind": "revolute", "between": [null, 0], "on": [[0, 0, 0], [2, 0, 0]], "bend": [null, [[0, 2, 0]]]}],
        }))
        .unwrap();
        let machine = Machine::new(&scene, &columns).unwrap();
        let near = |a: Vec3, b: [f64; 3]| (a - Vec3(b)).norm() < 1e-12;
        let bent = machine.bodies[0].bending.as_ref().unwrap().bent(1);
        assert!(near(bent[1], [1.0, 0.5, 0.0]) && near(bent[2], [2.0, 1.0, 0.0]), "{bent:?}");
        // turned by a right angle about the origin of the frame at (5, 0)
        assert!(near(machine.ends(&scene.joints[0], 1)[1].0, [4.0, 2.0, 0.0]));
        let svg = picture(&scene, &columns, 300.0, 200.0).unwrap().to_svg();
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(svg.contains("<polygon") && svg.contains("<circle") && !svg.contains("NaN"), "{svg}");
    }
}
