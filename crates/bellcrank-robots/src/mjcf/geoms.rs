//! Geoms: what bodies look like, and what they weigh where they have no `<inertial>`.

use super::MjcfReader;
use super::defaults::With;
use crate::robot::{FRICTION, Inertial, Look, Pose, rgba};
use crate::xml::El;
use bellcrank_math::{Mat3, Vec3};
use bellcrank_model::appearance::Appearance;
use bellcrank_model::file::{Diagnostic, bounded};
use std::f64::consts::PI;

/// The density of geoms that tell none, in kg/m³.
const DENSITY: f64 = 1000.0;

/// A geom in the frame of its body.
pub struct Geom {
    pub pose: Pose,
    pub look: Option<Look>,
    pub appearance: Appearance,
    pub inertial: Inertial,
    pub group: i64,
    /// What it touches and what touches it, and its friction; whether it is a plane.
    pub bits: [u32; 2],
    pub friction: f64,
    pub plane: bool,
}

/// A mesh among the assets: its file, scale and own frame.
#[derive(Clone, Debug)]
pub struct Asset {
    pub file: String,
    pub scale: Vec3,
    pub frame: Pose,
    pub weighed: Weighed,
}

/// How MuJoCo weighs a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weighed {
    /// Pyramids from the middle of its faces, all of them counted as positive: the same for meshes that are convex and closed.
    Pyramids,
    /// The solid inside.
    Inside,
    /// Another way, which is not known here.
    Otherwise,
}

/// Volume, centre, and inertia about the centre of unit density.
struct Solid {
    volume: f64,
    centre: Vec3,
    inertia: Mat3,
}

fn about_axes(volume: f64, moments: [f64; 3]) -> Solid {
    Solid { volume, centre: Vec3::ZERO, inertia: Mat3::diagonal(Vec3(moments)) }
}

impl<'a> MjcfReader<'a> {
    pub fn geom(&mut self, el: El<'a>, class: Option<&'a str>) -> Result<Geom, Diagnostic> {
        let with = self.defaults.of(el, class);
        let kind = with.attribute("type").unwrap_or("sphere");
        let size = with.numbers("size")?.unwrap_or_default();
        let at = |k: usize| size.get(k).copied().unwrap_or(0.0);
        let mut pose = self.pose(&with)?;
        let mut half = if kind == "box" || kind == "ellipsoid" { at(2) } else { at(1) };
        if let Some(ends) = with.some::<6>("fromto")? {
            let (from, to) = (Vec3::from_slice(&ends[..3]), Vec3::from_slice(&ends[3..]));
            let Some(z) = (from - to).normalized() else {
                return Err(el.error(format!("{} has no length", el.words())));
            };
            let x = z.any_perpendicular();
            half = 0.5 * (from - to).norm();
            pose = Pose { p: (from + to) * 0.5, r: Mat3::from_columns(x, z.cross(x), z) };
        }
        let (look, solid) = match kind {
            "sphere" => (Some(Look::Ellipsoid(Vec3::new(at(0), at(0), at(0)))), ellipsoid([at(0); 3])),
            "ellipsoid" => (Some(Look::Ellipsoid(Vec3::new(at(0), at(1), half))), ellipsoid([at(0), at(1), half])),
            "capsule" => (Some(Look::Capsule(at(0), 2.0 * half)), capsule(at(0), half)),
            "cylinder" => (Some(Look::Cylinder(at(0), 2.0 * half)), cylinder(at(0), half)),
            "box" => (Some(Look::Box(Vec3::new(at(0), at(1), half) * 2.0)), cuboid([at(0), at(1), half])),
            "mesh" => {
                let asset = with.attribute("mesh").and_then(|name| self.assets.get(name)).cloned();
                let needs_weight = self.weighs(&with)?;
                match asset {
                    Some(asset) => {
                        // the file's own frame, before the mesh is put into the geom's
                        pose = pose.then(&Pose::IDENTITY.seen_from(&asset.frame));
                        let solid = if needs_weight { self.mesh_solid(&asset) } else { None };
                        (Some(Look::File(asset.file, asset.scale)), solid.unwrap_or(about_axes(0.0, [0.0; 3])))
                    }
                    None => (None, about_axes(0.0, [0.0; 3])),
                }
            }
            _ => (None, about_axes(0.0, [0.0; 3])),
        };
        let look = look.filter(|l| match l {
            Look::Box(v) | Look::Ellipsoid(v) => v.0.iter().all(|x| *x > 0.0),
            Look::Cylinder(r, l) | Look::Capsule(r, l) => *r > 0.0 && *l > 0.0,
            Look::File(..) => true,
        });
        let mass = match with.some::<1>("mass")? {
            Some([mass]) => mass,
            None => with.number_or("density", DENSITY)? * solid.volume,
        };
        let per = if solid.volume > 0.0 { mass / solid.volume } else { 0.0 };
        let own = Inertial { mass: per * solid.volume, centre: solid.centre, inertia: solid.inertia * per };
        let group = with.number_or("group", 0.0)? as i64;
        let bits = [with.number_or("contype", 1.0)?, with.number_or("conaffinity", 1.0)?].map(|x| x as i64 as u32);
        let friction = with.numbers("friction")?.and_then(|f| f.first().copied()).unwrap_or(FRICTION);
        let plane = kind == "plane";
        let appearance = match with.numbers("rgba")? {
            Some(colour) => rgba(&colour),
            None => with.attribute("material").and_then(|m| self.materials.get(m)).copied().unwrap_or_default(),
        };
        Ok(Geom { pose, look, appearance, inertial: own.at(&pose), group, bits, friction, plane })
    }

    /// Whether the weight of a geom may matter.
    fn weighs(&self, with: &With) -> Result<bool, Diagnostic> {
        Ok(with.number_or("mass", 1.0)? != 0.0 && with.number_or("density", DENSITY)? != 0.0)
    }

    /// The solid inside of a closed mesh, by the divergence theorem.
    fn mesh_solid(&mut self, asset: &Asset) -> Option<Solid> {
        let path = self.folder.join(&asset.file);
        let ending = path.extension()?.to_string_lossy().to_lowercase();
        let bytes = bounded::read(&path, bounded::LARGEST).ok();
        let found = bytes.and_then(|bytes| match ending.as_str() {
            "msh" => msh(&bytes),
            _ => bellcrank_model::mesh::parse(&ending, &bytes).ok().map(|mesh| mesh.corners),
        });
        let Some(corners) = found else {
            self.robot.told.leave("the weight", "its mesh cannot be read", asset.file.clone());
            return None;
        };
        if asset.weighed == Weighed::Otherwise {
            let why = "a mesh geom weighs as the solid inside of its triangles, not as its hull or shell";
            self.robot.told.note(why);
        }
        let triangles = triangles(&corners, asset.scale);
        let solid = match asset.weighed {
            Weighed::Pyramids => pyramids(&triangles),
            Weighed::Inside | Weighed::Otherwise => inside(&triangles),
        };
        Some(solid).filter(|s| s.volume > 0.0)
    }
}

/// The corners of the triangles of MuJoCo's own format: counts of vertices, normals, texture coordinates and faces, then all of
/// these in that order.
fn msh(bytes: &[u8]) -> Option<Vec<f32>> {
    let (words, _) = bytes.as_chunks::<4>();
    let [vertices, normals, textures, faces] =
        [0, 1, 2, 3].map(|k| words.get(k).and_then(|w| usize::try_from(i32::from_le_bytes(*w)).ok()));
    let (vertices, faces) = (vertices?.checked_mul(3)?, faces?.checked_mul(3)?);
    let first = 4usize.checked_add(vertices)?.checked_add(normals?.checked_mul(3)?)?;
    let first = first.checked_add(textures?.checked_mul(2)?)?;
    let places = words.get(4..)?.get(..vertices)?;
    let corner = |w: &[u8; 4]| {
        let k = usize::try_from(i32::from_le_bytes(*w)).ok()?.checked_mul(3)?;
        places.get(k..)?.get(..3).map(|x| x.iter().map(|w| f32::from_le_bytes(*w)).collect::<Vec<f32>>())
    };
    let corners: Option<Vec<Vec<f32>>> = words.get(first..)?.get(..faces)?.iter().map(corner).collect();
    Some(corners?.concat()).filter(|x| x.iter().all(|x| x.is_finite()))
}

/// The corners of the triangles of a mesh, stretched.
fn triangles(corners: &[f32], scale: Vec3) -> Vec<[Vec3; 3]> {
    let corner = |t: &[f32], k: usize| Vec3([0, 1, 2].map(|i| f64::from(t[3 * k + i]) * scale[i]));
    corners.chunks_exact(9).map(|t| [0, 1, 2].map(|k| corner(t, k))).collect()
}

/// ∫ x xᵀ over the tetrahedron of a triangle and the origin, for the volume 1.
fn spread([a, b, c]: [Vec3; 3]) -> Mat3 {
    let sum = a + b + c;
    (a.outer(a) + b.outer(b) + c.outer(c) + sum.outer(sum)) * (1.0 / 20.0)
}

/// MuJoCo's way: the volume of the pyramid over each face is positive, as seen from the middle of the surface for the centre of
/// mass, and as seen from there for the rest.
fn pyramids(triangles: &[[Vec3; 3]]) -> Solid {
    let size = |[a, b, c]: [Vec3; 3]| (a.dot(b.cross(c)) / 6.0).abs();
    let (mut surface, mut middle) = (0.0, Vec3::ZERO);
    for [a, b, c] in triangles {
        let area = 0.5 * (*b - *a).cross(*c - *a).norm();
        surface += area;
        middle += (*a + *b + *c) * (area / 3.0);
    }
    let middle = if surface > 0.0 { middle * (1.0 / surface) } else { Vec3::ZERO };
    let (mut volume, mut centre) = (0.0, Vec3::ZERO);
    for t in triangles {
        let seen = t.map(|x| x - middle);
        let v = size(seen);
        volume += v;
        centre += (seen[0] + seen[1] + seen[2]) * (0.25 * v);
    }
    let centre = if volume > 0.0 { middle + centre * (1.0 / volume) } else { middle };
    let (mut volume, mut second) = (0.0, Mat3::ZERO);
    for t in triangles {
        let seen = t.map(|x| x - centre);
        volume += size(seen);
        second += spread(seen) * size(seen);
    }
    Solid { volume, centre, inertia: Mat3::IDENTITY * second.trace() - second }
}

/// The solid inside of a mesh: sums over tetrahedra from the first corner.
fn inside(triangles: &[[Vec3; 3]]) -> Solid {
    let origin = triangles.first().map_or(Vec3::ZERO, |t| t[0]);
    let (mut volume, mut first, mut second) = (0.0, Vec3::ZERO, Mat3::ZERO);
    for t in triangles {
        let seen @ [a, b, c] = t.map(|x| x - origin);
        let v = a.dot(b.cross(c)) / 6.0;
        volume += v;
        first += (a + b + c) * (0.25 * v);
        second += spread(seen) * v;
    }
    let sign = if volume < 0.0 { -1.0 } else { 1.0 };
    let (volume, first, second) = (volume * sign, first * sign, second * sign);
    let centre = if volume > 0.0 { first * (1.0 / volume) } else { Vec3::ZERO };
    let central = second - centre.outer(centre) * volume;
    Solid { volume, centre: centre + origin, inertia: Mat3::IDENTITY * central.trace() - central }
}

fn ellipsoid([a, b, c]: [f64; 3]) -> Solid {
    let v = 4.0 / 3.0 * PI * a * b * c;
    about_axes(v, [b * b + c * c, a * a + c * c, a * a + b * b].map(|x| v * x / 5.0))
}

fn cuboid([a, b, c]: [f64; 3]) -> Solid {
    let v = 8.0 * a * b * c;
    about_axes(v, [b * b + c * c, a * a + c * c, a * a + b * b].map(|x| v * x / 3.0))
}

fn cylinder(r: f64, h: f64) -> Solid {
    let v = 2.0 * PI * r * r * h;
    let across = v * (3.0 * r * r + 4.0 * h * h) / 12.0;
    about_axes(v, [across, across, 0.5 * v * r * r])
}

fn capsule(r: f64, h: f64) -> Solid {
    let (tube, ends) = (2.0 * PI * r * r * h, 4.0 / 3.0 * PI * r * r * r);
    let across = tube * (3.0 * r * r + 4.0 * h * h) / 12.0 + ends * (0.4 * r * r + h * h + 0.75 * h * r);
    about_axes(tube + ends, [across, across, 0.5 * tube * r * r + 0.4 * ends * r * r])
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellcrank_model::mesh::Mesh;

    #[test]
    fn meshes_weigh_what_their_solids_do() {
        let mut mesh = Mesh::cuboid(Vec3::new(1.0, 2.0, 3.0));
        mesh.carry(Mat3::IDENTITY, Vec3::new(5.0, -1.0, 2.0));
        let triangles = triangles(&mesh.corners, Vec3::new(-1.0, 1.0, 1.0));
        let exact = cuboid([0.5, 1.0, 1.5]);
        // both ways are the same for a convex one
        for found in [inside(&triangles), pyramids(&triangles)] {
            assert!((found.volume - exact.volume).abs() < 1e-5);
            assert!((found.centre - Vec3::new(-5.0, -1.0, 2.0)).norm() < 1e-6);
            for i in 0..3 {
                assert!((found.inertia.0[i][i] - exact.inertia.0[i][i]).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn meshes_in_mujocos_own_format_are_read_and_damaged_ones_are_not() {
        let counts = [3i32, 1, 0, 1].map(i32::to_le_bytes).concat();
        let places = [0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 9.0, 9.0, 9.0].map(f32::to_le_bytes).concat();
        let whole = |face: [i32; 3]| [counts.clone(), places.clone(), face.map(i32::to_le_bytes).concat()].concat();
        assert_eq!(msh(&whole([2, 0, 1])).unwrap(), [0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        assert!(msh(&whole([2, 0, 3])).is_none() && msh(&whole([2, 0, -1])).is_none());
        assert!((0..whole([2, 0, 1]).len()).all(|n| msh(&whole([2, 0, 1])[..n]).is_none()));
    }

    #[test]
    fn a_short_capsule_is_a_sphere_and_a_long_one_a_rod() {
        let (short, ball) = (capsule(0.5, 0.0), ellipsoid([0.5; 3]));
        assert!(
            (short.volume - ball.volume).abs() < 1e-15 && (short.inertia.0[0][0] - ball.inertia.0[0][0]).abs() < 1e-15
        );
        let long = capsule(1e-3, 1.0);
        assert!((long.inertia.0[0][0] / long.volume - 1.0 / 3.0).abs() < 1e-3);
    }
}
