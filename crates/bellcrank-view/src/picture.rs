//! Pictures of a machine: the shapes of `scene.json` at the last time, pale at some times before, with the paths
//! of its probes.
//!
//! Planar machines are seen face-on, others from above the front, without perspective. All surfaces are flat
//! pieces, painted from the back to the front.

mod canvas;
mod elements;

use self::canvas::{Canvas, Piece, WHITE, camera, hull, ink};
use self::elements::PlacedEnd;
use crate::colours::colours;
use crate::drawing::{Colour, Drawing, Style};
use bellcrank_math::Quat;
use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::appearance::{Appearance, Rgb};
use bellcrank_model::model::{Shape, Space};
use bellcrank_model::scene::{Bend, Scene, SceneElement, SceneFlexible, SceneSolid, Triple};
use bellcrank_results::Columns;
use std::io;

/// How much paler the poses before the last one are.
const PALE: f64 = 0.8;

struct DrawnBody {
    shape: Shape,
    /// Whether it is a point mass, which has no shape.
    point: bool,
    pose: Vec<(Vec3, Mat3)>,
    colour: Colour,
    /// The points where something is attached, in its own frame.
    points: Vec<Vec3>,
    bending: Option<Bending>,
    /// What is drawn in the place of the shape, in its own frame.
    solids: Vec<ColouredTriangles>,
    hidden: bool,
}

/// Triangles of one colour.
type ColouredTriangles = (Vec<[Vec3; 3]>, Colour);

/// The triangles of a solid in its own colour, or in the one of its body.
fn triangles(solid: &SceneSolid, colour: Colour) -> ColouredTriangles {
    (solid.corners(), looking(solid.appearance, colour))
}

/// The colour of something that may have its own.
fn looking(of: Appearance, or: Colour) -> Colour {
    let colour = of.colour.map_or(or, |Rgb([r, g, b])| Colour(r, g, b, or.3));
    of.opacity.map_or(colour, |opacity| colour.with_opacity(opacity))
}

/// How a flexible body deforms.
struct Bending {
    /// The radius of a beam whose centre line the nodes are; nothing for other bodies.
    line: Option<f64>,
    nodes: Vec<Vec3>,
    /// For every mode its coordinate over time, and how far one unit of it moves each node.
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
    fn bent(&self, row: usize) -> Vec<Vec3> {
        let mut out = self.nodes.clone();
        for (values, shape) in &self.modes {
            let c = values.get(row).copied().unwrap_or(0.0);
            out.iter_mut().zip(shape).for_each(|(p, d)| *p += *d * c);
        }
        out
    }
}

/// A machine in motion.
struct MovingScene<'a> {
    scene: &'a Scene,
    bodies: Vec<DrawnBody>,
    canvas: Canvas,
}

/// Draws the scene of a result, `width` by `height` pixels.
pub fn picture(scene: &Scene, columns: &Columns, width: f64, height: f64) -> io::Result<Drawing> {
    let mut machine = MovingScene::new(scene, columns)?;
    let rows = machine.bodies.first().map_or(0, |b| b.pose.len());
    machine.traces(columns)?;
    for (k, row) in machine.moments(rows).into_iter().enumerate() {
        machine.frame(row, 2 + k as u8, PALE);
    }
    if rows > 0 {
        machine.frame(rows - 1, 10, 0.0);
        machine.canvas.shadow(vector(&scene.gravity));
    }
    Ok(machine.canvas.paint(width, height))
}

/// The corners of the box around some triangles.
fn bounds<'a>(triangles: impl Iterator<Item = &'a [Vec3; 3]>) -> Vec<Vec3> {
    let mut corners = triangles.flatten().peekable();
    let Some(&&first) = corners.peek() else { return vec![] };
    let (mut low, mut high) = (first, first);
    for p in corners {
        for i in 0..3 {
            (low[i], high[i]) = (low[i].min(p[i]), high[i].max(p[i]));
        }
    }
    let pick = |bit: usize, k: usize| if k >> bit & 1 == 0 { low[bit] } else { high[bit] };
    (0..8).map(|k| Vec3::new(pick(0, k), pick(1, k), pick(2, k))).collect()
}

/// A vector; a number that is not finite counts as zero.
fn vector(v: &Triple) -> Vec3 {
    Vec3(v.0.0.map(|x| if x.is_finite() { x } else { 0.0 }))
}

fn vectors(list: &[Triple]) -> Vec<Vec3> {
    list.iter().map(vector).collect()
}

impl MovingScene<'_> {
    fn new<'a>(scene: &'a Scene, columns: &Columns) -> io::Result<MovingScene<'a>> {
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
            let colour = looking(b.appearance, colours().body(if point { 0 } else { number }));
            let bending = b.flexible.as_ref().map(|f| Bending::new(f, columns)).transpose()?;
            let mut points = bending.as_ref().map_or(vec![], |b| b.nodes.clone());
            let solids: Vec<ColouredTriangles> = b.solids.iter().map(|solid| triangles(solid, colour)).collect();
            points.extend(bounds(solids.iter().flat_map(|s| &s.0)));
            let pose = (0..rows).map(pose).collect();
            bodies.push(DrawnBody { shape: b.shape, point, pose, colour, points, bending, solids, hidden: b.hidden });
        }
        for e in scene.joints.iter().chain(&scene.forces) {
            for (body, on) in e.between.iter().zip(&e.on) {
                if let Some(b) = body.and_then(|k| bodies.get_mut(k)) {
                    b.points.push(vector(on));
                }
            }
        }
        let camera = if planar { Mat3::IDENTITY } else { camera(vector(&scene.gravity)) };
        let canvas = Canvas { planar, camera, size: 1.0, pale: 0.0, pieces: vec![] };
        let mut machine = MovingScene { scene, bodies, canvas };
        machine.canvas.size = machine.radius();
        Ok(machine)
    }

    /// The radius of the space in which bodies and their points move.
    fn radius(&self) -> f64 {
        let mut span = (Vec3([f64::INFINITY; 3]), Vec3([f64::NEG_INFINITY; 3]));
        for b in self.bodies.iter().filter(|b| !b.hidden) {
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
                (p - q).norm() + 0.1 * self.canvas.size * turned
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

    fn frame(&mut self, row: usize, layer: u8, pale: f64) {
        let full = pale == 0.0;
        self.canvas.pale = pale;
        // in the plane forces lie below bodies and pins above them, in space depth decides
        let (below, above) = if self.canvas.planar && full { (layer - 1, layer + 1) } else { (layer, layer) };
        for number in 0..self.bodies.len() {
            if !self.bodies[number].hidden {
                self.body(number, row, layer);
            }
        }
        if full {
            let ground = self.scene.ground.iter().map(|solid| triangles(solid, colours().ground));
            for (mesh, colour) in ground.collect::<Vec<_>>() {
                self.canvas.mesh(
                    if self.canvas.planar { 1 } else { layer },
                    (Vec3::ZERO, Mat3::IDENTITY),
                    &mesh,
                    colour,
                );
            }
        }
        let scene = self.scene;
        scene.forces.iter().for_each(|f| self.force(f, row, below));
        scene.joints.iter().for_each(|j| self.joint(j, row, above));
        self.canvas.pale = 0.0;
    }

    fn body(&mut self, number: usize, row: usize, layer: u8) {
        let b = &self.bodies[number];
        let Some(&(p, r)) = b.pose.get(row) else { return };
        let colour = b.colour;
        let edge = colour.towards(ink(), 0.25);
        let thin = 0.014 * self.canvas.size;
        if let Some(bending) = &b.bending {
            let nodes: Vec<Vec3> = bending.bent(row).into_iter().map(|x| p + r * x).collect();
            let radius = bending.line.map(|radius| radius.max(0.5 * thin));
            return self.bent(&nodes, radius, thin, layer, colour);
        }
        if !b.solids.is_empty() {
            return b.solids.iter().for_each(|(mesh, colour)| self.canvas.mesh(layer, (p, r), mesh, *colour));
        }
        match b.shape {
            Shape::Rod { length, radius } => {
                let half = r.column(0) * (length / 2.0);
                self.canvas.tube(
                    layer,
                    p - half,
                    p + half,
                    if radius > 0.0 { radius.max(0.5 * thin) } else { thin },
                    colour,
                );
            }
            Shape::Cylinder { radius, .. } if self.canvas.planar => {
                self.canvas.disc(layer, p, radius, Style::outlined(colour.towards(WHITE, 0.35), edge, 1.4));
                self.canvas.line(layer, &[p, p + r.column(0) * (0.92 * radius)], edge, 2.0);
            }
            Shape::Cylinder { length, radius } => {
                let half = r.column(2) * (length / 2.0);
                self.canvas.tube(layer, p - half, p + half, radius, colour);
                for side in [-1.0, 1.0] {
                    let out = self.canvas.seen(r.column(2) * side)[2];
                    if out > 0.0 && radius > length {
                        let centre = p + half * (side * 1.05);
                        let mark = |k: f64| centre + r.column(0) * (k * radius);
                        self.canvas.line(layer, &[mark(0.15), mark(0.9)], edge.towards(ink(), 0.4), 2.0);
                    }
                }
            }
            Shape::Box { size: s } if self.canvas.planar => {
                let corner = |x: f64, y: f64| self.canvas.seen(p + r * Vec3::new(x * s[0] / 2.0, y * s[1] / 2.0, 0.0));
                let points = vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
                self.canvas
                    .put(layer, Piece::Area { points, style: Style::outlined(colour.towards(WHITE, 0.35), edge, 1.4) });
            }
            Shape::Box { size: s } => {
                for (i, side) in (0..3).flat_map(|i| [(i, -1.0), (i, 1.0)]) {
                    let (n, u, v) = (r.column(i), r.column((i + 1) % 3), r.column((i + 2) % 3));
                    let (u, v) = (u * (s[(i + 1) % 3] / 2.0), v * (s[(i + 2) % 3] / 2.0));
                    let c = p + n * (side * s[i] / 2.0);
                    self.canvas.face(layer, vec![c - u - v, c + u - v, c + u + v, c - u + v], n * side, colour);
                }
            }
            Shape::Sphere { radius } => self.canvas.ball(layer, p, radius, colour),
            Shape::Unknown if b.point => {
                let part = if self.bodies.len() > 20 { 0.011 } else { 0.025 };
                self.canvas.ball(layer, p, part * self.canvas.size, colour);
            }
            Shape::Unknown => {
                let points: Vec<Vec3> = b.points.iter().map(|x| p + r * *x).collect();
                if self.canvas.planar && points.len() > 2 {
                    let outline: Vec<Vec3> = hull(&points);
                    let style = Style::outlined(colour.towards(WHITE, 0.45), colour, 5.0);
                    self.canvas.put(layer, Piece::Area { points: outline, style });
                } else if let (true, [a, b]) = (self.canvas.planar, &points[..]) {
                    self.canvas.tube(layer, *a, *b, 0.8 * thin, colour);
                } else {
                    points.iter().for_each(|q| self.canvas.tube(layer, p, *q, 0.7 * thin, colour));
                    self.canvas.ball(layer, p, 1.4 * thin, colour);
                }
            }
        }
    }

    /// A beam along its nodes, or the nodes of what has no line.
    fn bent(&mut self, nodes: &[Vec3], radius: Option<f64>, thin: f64, layer: u8, colour: Colour) {
        match radius {
            None => nodes.iter().for_each(|p| self.canvas.ball(layer, *p, 0.6 * thin, colour)),
            Some(radius) if !self.canvas.planar => {
                nodes.windows(2).for_each(|p| self.canvas.tube(layer, p[0], p[1], radius, colour))
            }
            Some(radius) => {
                let last = nodes.len().saturating_sub(1);
                let side = |k: usize, sign: f64| {
                    let along = nodes[(k + 1).min(last)] - nodes[k.saturating_sub(1)];
                    nodes[k] + Vec3::Z.cross(along).normalized().unwrap_or(Vec3::Y) * (sign * radius)
                };
                let points =
                    (0..nodes.len()).map(|k| side(k, 1.0)).chain((0..nodes.len()).rev().map(|k| side(k, -1.0)));
                let style = Style::outlined(colour.towards(WHITE, 0.25), colour.towards(ink(), 0.25), 1.2);
                self.canvas.put(layer, Piece::Area { points: points.collect(), style });
            }
        }
    }

    /// The points of an element in the world, and whether each is on the ground.
    fn ends(&self, e: &SceneElement, row: usize) -> Vec<PlacedEnd> {
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
                let q = self.canvas.seen(q);
                if i + 1 == rows || points.last().is_none_or(|last| (q - *last).norm() > 0.004 * self.canvas.size) {
                    points.push(q);
                }
            }
            self.canvas.put(1, Piece::Line { points, style: Style::line(colours().trace.with_opacity(0.75), 1.5) });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let machine = MovingScene::new(&scene, &columns).unwrap();
        let near = |a: Vec3, b: [f64; 3]| (a - Vec3(b)).norm() < 1e-12;
        let bent = machine.bodies[0].bending.as_ref().unwrap().bent(1);
        assert!(near(bent[1], [1.0, 0.5, 0.0]) && near(bent[2], [2.0, 1.0, 0.0]), "{bent:?}");
        // turned by a right angle about the origin of the frame at (5, 0)
        assert!(near(machine.ends(&scene.joints[0], 1)[1].0, [4.0, 2.0, 0.0]));
        let svg = picture(&scene, &columns, 300.0, 200.0).unwrap().to_svg();
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(svg.contains("<polygon") && svg.contains("<circle") && !svg.contains("NaN"), "{svg}");
    }

    /// A box as `[visual]` makes it is drawn in the place of the shape: three of its sides look here.
    #[test]
    fn meshes_are_drawn_in_the_place_of_the_shape() {
        let dir = std::env::temp_dir().join(format!("bellcrank-picture-mesh-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let csv = dir.join("results.csv");
        std::fs::write(&csv, "time [s],b.x,b.y,b.z\n0,0,0,0\n").unwrap();
        let columns = Columns::open(&csv).unwrap();
        let model = "gravity = [0, 0, -9.81]\n[body.b]\nmass = 1\nat = [0, 0, 0]\nsphere = { radius = 5 }\n\
                     [visual.v]\nbody = \"b\"\nbox = { size = [1, 2, 3] }\n";
        let model = model.replacen("gravity", "model.gravity", 1);
        let model = bellcrank_model::read::read_text("m.toml", &model, &[]).unwrap_or_else(|e| panic!("{e}")).model;
        let scene: Scene = serde_json::from_value(bellcrank_model::scene::scene(&model)).unwrap();
        let machine = MovingScene::new(&scene, &columns).unwrap();
        assert_eq!(machine.bodies[0].solids[0].0.len(), 12);
        let svg = picture(&scene, &columns, 300.0, 200.0).unwrap().to_svg();
        std::fs::remove_dir_all(&dir).unwrap();
        let colours: std::collections::HashSet<&str> = svg
            .split("<polygon")
            .skip(1)
            .filter_map(|rest| Some(&rest.split_once("fill=\"#")?.1[..6]))
            .filter(|c| *c != "e3e6ea")
            .collect();
        assert_eq!(colours.len(), 3, "three sides, each with its light: {colours:?}");
        assert!(!svg.contains("<circle"), "no sphere");
    }

    #[test]
    fn bodies_have_the_colours_of_the_model_and_hidden_ones_are_not_drawn() {
        let dir = std::env::temp_dir().join(format!("bellcrank-picture-looks-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let csv = dir.join("results.csv");
        std::fs::write(&csv, "time [s],a.x,b.x\n0,0,0\n").unwrap();
        let columns = Columns::open(&csv).unwrap();
        let model = "model.plane = \"xy\"\n[body.a]\nmass = 1\nbox = { size = [1, 1] }\ncolour = \"#00ff00\"\nopacity = 0.5\n\
                     [body.b]\nmass = 1\ncylinder = { radius = 50 }\nhidden = true\n\
                     [visual.plate]\nbody = \"ground\"\nat = [0, 2]\nbox = { size = [1, 0.5] }\ncolour = \"#0000ff\"\n";
        let model = bellcrank_model::read::read_text("m.toml", model, &[]).unwrap_or_else(|e| panic!("{e}")).model;
        let svg = picture(&Scene::of(&model), &columns, 300.0, 200.0).unwrap().to_svg();
        std::fs::remove_dir_all(&dir).unwrap();
        let fill = colours().body(0);
        let green = Colour::hex(0x00ff00).towards(WHITE, 0.35);
        let written = |c: Colour| format!("#{:02x}{:02x}{:02x}", c.0, c.1, c.2);
        assert!(svg.contains(&written(green)) && svg.contains("opacity=\"0.5"), "{svg}");
        assert!(svg.contains("#0000ff") && !svg.contains("<circle"), "{svg}");
        assert!(!svg.contains(&written(fill.towards(WHITE, 0.35))), "{svg}");
    }

    #[test]
    fn a_fine_mesh_makes_no_large_picture() {
        let canvas = |corners: &[[Vec3; 3]]| {
            let mut canvas = Canvas { planar: false, camera: Mat3::IDENTITY, size: 1.0, pale: 0.0, pieces: vec![] };
            canvas.mesh(10, (Vec3::ZERO, Mat3::IDENTITY), corners, colours().body(0));
            canvas.pieces.len()
        };
        // a plate of 2 · 300² triangles that looks here
        let at = |i: usize, j: usize| Vec3::new(i as f64 / 300.0, j as f64 / 300.0, 0.0);
        let mut fine = Vec::new();
        for (i, j) in (0..300).flat_map(|i| (0..300).map(move |j| (i, j))) {
            fine.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
            fine.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
        let pieces = canvas(&fine);
        assert!(pieces > 3000 && pieces < 8000, "{pieces} of {}", fine.len());
        assert_eq!(canvas(&fine[..100]), 100);
    }
}
