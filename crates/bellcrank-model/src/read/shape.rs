//! Shapes of bodies: mass and inertia of the solid ones, triangles of meshes.

use super::Reader;
use crate::file::*;
use crate::mesh::Mesh;
use crate::model::Shape;
use bellcrank_math::{Mat3, Vec3};
use std::sync::Arc;

const SHAPES: [&str; 6] = ["rod", "box", "sphere", "cylinder", "capsule", "cone"];

#[derive(Default)]
pub(super) struct ShapeData {
    pub shape: Shape,
    pub mass: Option<f64>,
    /// Inertia of one kilogram.
    pub inertia: Option<Mat3>,
    pub at: Option<Vec3>,
    pub along: Option<Vec3>,
    pub thick: bool,
    /// The centre of a mesh that tells the mass, in the axes of the body and from the origin of the file.
    pub centre: Option<Vec3>,
    /// What is drawn of shapes that the viewer has no other word for.
    pub mesh: Option<Mesh>,
}

impl<'a> Reader<'a> {
    /// The triangles of a mesh in the body's frame; with a density, mass properties go into the shape.
    pub(super) fn mesh(&self, values: &Values<'a>, shape: &mut ShapeData) -> Result<Option<Arc<Mesh>>, Diagnostics> {
        let Some(table) = values.optional_table("mesh") else {
            return Ok(shape.mesh.take().map(Arc::new));
        };
        let what = values.what();
        let mut mesh = self.mesh_file(table, what)?;
        if let Some(node) = table.node("orientation") {
            mesh.carry(self.orientation(node, &format!("the mesh of {what}"))?.matrix(), Vec3::ZERO);
        }
        let mut at = table.optional_vector("at").unwrap_or_default();
        if let Some(density) = table.optional_number("density") {
            for key in SHAPES.iter().chain(&["mass", "inertia", "beam", "modal", "coordinates"]) {
                if values.has(key) {
                    let message = format!("{what} has both `{key}` and a mesh with a `density`");
                    return Err(values.error_at(key, message).help("leave one of them out").into());
                }
            }
            let solid = mesh.solid().map_err(|(message, help)| {
                let file = table.name("file").name;
                table.error_at("density", format!("the mesh {} of {what} {message}", suggest::quoted(file))).help(help)
            })?;
            if table.has("at") {
                let off = (at + solid.centre).norm();
                if off > 1e-6 * (1.0 + solid.centre.norm()) {
                    let message =
                        format!("`at` of the mesh of {what} puts its centre {off:.4} m beside the centre of mass");
                    let help = "leave it out: with a `density` the body's frame is in the centre of the mesh";
                    return Err(table.error_at("at", message).help(help).into());
                }
            }
            at = -solid.centre;
            (shape.mass, shape.inertia) = (Some(density * solid.volume), Some(solid.inertia));
            shape.thick = true;
            shape.centre = Some(solid.centre);
        }
        mesh.carry(Mat3::IDENTITY, at);
        Ok(Some(Arc::new(mesh)))
    }

    pub(super) fn shape(&self, values: &Values<'a>) -> Result<ShapeData, Diagnostics> {
        let found = SHAPES.iter().find_map(|kind| values.optional_table(kind).map(|table| (*kind, table)));
        let Some((kind, table)) = found else { return Ok(ShapeData::default()) };
        let mut data = ShapeData { mass: table.optional_number("mass"), thick: true, ..ShapeData::default() };
        if data.mass.is_some() && values.has("mass") {
            let message = format!("{} has `mass` twice", values.what());
            return Err(values.error_at("mass", message).help("give it in the shape or beside it").into());
        }
        match kind {
            "rod" => {
                let (from, to) = (table.vector("from"), table.vector("to"));
                let Some(along) = (to - from).normalized() else {
                    let message =
                        format!("the rod of {} has no length: `from` and `to` are the same point", values.what());
                    return Err(table.error(message).help("give two different points").into());
                };
                let (l, r) = ((to - from).norm(), table.optional_number("radius").unwrap_or(0.0));
                let across = (3.0 * r * r + l * l) / 12.0;
                data.inertia = Some(Mat3::diagonal(Vec3::new(0.5 * r * r, across, across)));
                data.shape = Shape::Rod { length: l, radius: r };
                (data.at, data.along, data.thick) = (Some((from + to) * 0.5), Some(along), r > 0.0);
            }
            "box" => {
                let size = table.vector("size");
                let last = if self.plane { 1 } else { 2 };
                if (0..=last).any(|i| size[i] <= 0.0) {
                    return Err(table.error_at("size", "the edges of a box must be positive").into());
                }
                let [x, y, z] = size.0.map(|e| e * e / 12.0);
                data.inertia = Some(Mat3::diagonal(Vec3::new(y + z, x + z, x + y)));
                data.shape = Shape::Box { size };
            }
            "sphere" => {
                let r = table.number("radius");
                data.inertia = Some(Mat3::IDENTITY * (0.4 * r * r));
                data.shape = Shape::Sphere { radius: r };
            }
            "capsule" | "cone" if self.plane => {
                let message = format!("{} has a {kind}, and the model is planar", values.what());
                return Err(values.error_at(kind, message).help("in the plane use `box` or `cylinder`").into());
            }
            "capsule" => {
                let (r, l) = (table.number("radius"), table.number("length"));
                data.inertia = Some(Mat3::diagonal(capsule(r, l)));
                data.mesh = Some(Mesh::capsule(r, l));
            }
            "cone" => {
                let (r, h) = (table.number("radius"), table.number("length"));
                let across = 0.15 * r * r + 0.0375 * h * h;
                data.inertia = Some(Mat3::diagonal(Vec3::new(across, across, 0.3 * r * r)));
                data.mesh = Some(Mesh::cone(r, h));
            }
            _ => {
                let r = table.number("radius");
                let l = table.optional_number("length").unwrap_or(r);
                let across = (3.0 * r * r + l * l) / 12.0;
                data.inertia = Some(Mat3::diagonal(Vec3::new(across, across, 0.5 * r * r)));
                data.shape = Shape::Cylinder { length: l, radius: r };
            }
        }
        Ok(data)
    }
}

/// Moments of inertia of a capsule of one kilogram: a cylinder of the length l and two half spheres, whose centres of mass are 3/8 r
/// beyond its ends.
fn capsule(r: f64, l: f64) -> Vec3 {
    let (cylinder, ball) = (l, 4.0 / 3.0 * r); // in units of π r²
    let (m, b) = (cylinder / (cylinder + ball), ball / (cylinder + ball));
    let along = 0.5 * m * r * r + 0.4 * b * r * r;
    let beyond = 0.5 * l + 0.375 * r;
    // a half sphere about its own centre of mass: 2/5 r² − (3/8 r)²
    let half = (0.4 - 0.140625) * r * r + beyond * beyond;
    let across = m * (3.0 * r * r + l * l) / 12.0 + b * half;
    Vec3::new(across, across, along)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the moments of a fine mesh, and the sphere and the thin rod as limits.
    #[test]
    fn a_capsule_has_the_moments_of_its_parts() {
        let [exact, mesh] = [capsule(0.3, 1.0), {
            let inertia = Mesh::capsule(0.3, 1.0).solid().unwrap().inertia;
            Vec3([0, 1, 2].map(|i| inertia.0[i][i]))
        }];
        assert!((0..3).all(|i| (mesh[i] / exact[i] - 1.0).abs() < 0.03), "{exact:?} {mesh:?}");
        let ball = capsule(0.5, 1e-12);
        assert!((0..3).all(|i| (ball[i] - 0.1).abs() < 1e-9), "{ball:?}");
        let rod = capsule(1e-9, 2.0);
        assert!((rod[0] - 4.0 / 12.0).abs() < 1e-8 && rod[2] < 1e-15, "{rod:?}");
    }
}
