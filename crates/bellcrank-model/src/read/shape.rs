//! Shapes of bodies: mass and inertia of the solid ones, triangles of meshes.

use super::Reader;
use crate::file::*;
use crate::mesh::{self, Mesh};
use crate::model::Shape;
use bellcrank_math::{Mat3, Vec3};
use std::sync::Arc;

const SHAPES: [&str; 4] = ["rod", "box", "sphere", "cylinder"];

#[derive(Default)]
pub(super) struct ShapeData {
    pub shape: Shape,
    pub mass: Option<f64>,
    /// Inertia of one kilogram.
    pub inertia: Option<Mat3>,
    pub at: Option<Vec3>,
    pub along: Option<Vec3>,
    pub thick: bool,
}

impl<'a> Reader<'a> {
    /// The triangles of a mesh, in the body's frame.
    pub(super) fn mesh(&self, values: &Values<'a>) -> Result<Option<Arc<Mesh>>, Diagnostics> {
        let Some(table) = values.optional_table("mesh") else { return Ok(None) };
        let Some(folder) = self.folder else {
            let help = "save the model as a file: meshes lie in its folder";
            return Err(table.error_at("file", "a model without a file has no folder for meshes").help(help).into());
        };
        let file = table.node("file").and_then(Node::as_str).unwrap_or_default();
        let (scale, at) =
            (table.optional_number("scale").unwrap_or(1.0), table.optional_vector("at").unwrap_or_default());
        let mut mesh = mesh::open(folder, file).map_err(|(message, help)| {
            table.error_at("file", format!("the mesh of {}: {message}", values.what())).help(help)
        })?;
        for (i, x) in mesh.corners.iter_mut().enumerate() {
            *x = (f64::from(*x) * scale + at[i % 3]) as f32;
        }
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
