//! `[visual.NAME]`: what bodies look like, several of them on a body where need be.

use super::Reader;
use super::fields::{MESH_FILE, MESH_SCALE};
use crate::appearance::{Appearance, Rgb, add_solid};
use crate::file::*;
use crate::mesh::{self, Mesh};
use bellcrank_math::{Quat, Vec3};

/// Keys of `[visual.NAME]`.
pub const VISUAL: &[Field] = &[
    Field::required("body", FieldKind::Name, "", "the body it belongs to, or `ground`"),
    Field::optional("at", FieldKind::Vector, "m", "the centre of mass", "where its origin is, in the body's frame"),
    Field::optional(
        "orientation",
        FieldKind::Any,
        "",
        "the body's",
        "its rotation in the body's frame: quaternion [w, x, y, z], { axis, angle }, { order, angles } or 3×3 matrix",
    ),
    Field::optional("mesh", FieldKind::Table(VISUAL_MESH), "", "", "triangles from a file"),
    Field::optional("box", FieldKind::Table(VISUAL_BOX), "", "", "a box about its middle"),
    Field::optional("sphere", FieldKind::Table(VISUAL_SPHERE), "", "", "a sphere about its middle"),
    Field::optional("ellipsoid", FieldKind::Table(VISUAL_ELLIPSOID), "", "", "an ellipsoid about its middle"),
    Field::optional("cylinder", FieldKind::Table(VISUAL_ROUND), "", "", "a cylinder along z about its middle"),
    Field::optional(
        "capsule",
        FieldKind::Table(VISUAL_ROUND),
        "",
        "",
        "a cylinder along z about its middle, with half spheres beyond its ends",
    ),
    Field::optional(
        "cone",
        FieldKind::Table(VISUAL_ROUND),
        "",
        "",
        "a cone along z about its centre of mass, its tip up",
    ),
    COLOUR,
    OPACITY,
    HIDDEN,
];

const VISUAL_MESH: &[Field] = &[MESH_FILE, MESH_SCALE];
const VISUAL_BOX: &[Field] = &[Field::required("size", FieldKind::Vector, "m", "lengths of the edges along x, y, z")];
const VISUAL_SPHERE: &[Field] = &[Field::required("radius", FieldKind::Positive, "m", "radius")];
const VISUAL_ELLIPSOID: &[Field] =
    &[Field::required("radii", FieldKind::Vector, "m", "half of its lengths along x, y, z")];
const VISUAL_ROUND: &[Field] = &[
    Field::required("radius", FieldKind::Positive, "m", "radius"),
    Field::required("length", FieldKind::Positive, "m", "length, without the ends of a capsule"),
];

pub(super) const COLOUR: Field = Field::optional(
    "colour",
    FieldKind::Text,
    "",
    "chosen by the program, for a visual the body's",
    "colour to draw it with: `\"#e8863a\"`, or a name such as `\"red\"`, `\"steel\"`, `\"orange\"`",
);
pub(super) const OPACITY: Field = Field::optional(
    "opacity",
    FieldKind::NonNegative,
    "",
    "opaque, for a visual the body's",
    "how much of it is seen, from 0 (nothing) to 1 (opaque)",
);
pub(super) const HIDDEN: Field = Field::optional("hidden", FieldKind::Flag, "", "false", "not drawn");

impl<'a> Reader<'a> {
    pub(super) fn read_visual(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let values = self.fields(node, &format!("visual {}", suggest::quoted(name)), &[VISUAL])?;
        let what = values.what();
        let kinds = ["mesh", "box", "sphere", "ellipsoid", "cylinder", "capsule", "cone"];
        values.at_most_one(&kinds)?;
        let body = self.body(values.name("body"), what)?;
        // in the plane a solid is a plate: it is a tenth as thick as it is wide
        let positive = |table: &Values, key: &str, mut x: Vec3| {
            if self.plane {
                x[2] = 0.1 * x[0].min(x[1]);
            }
            match x.0.iter().all(|x| *x > 0.0) {
                true => Ok(x),
                false => Err(table.error_at(key, format!("`{key}` of {what} must be positive"))),
            }
        };
        let mut mesh = match kinds.iter().find_map(|kind| values.optional_table(kind).map(|table| (*kind, table))) {
            None => {
                let help = format!("add one of {}", kinds.map(|k| format!("`{k}`")).join(", "));
                return Err(values.error(format!("{what} shows nothing")).help(help).into());
            }
            Some(("mesh", table)) => self.mesh_file(table, what)?,
            Some(("box", table)) => Mesh::cuboid(positive(table, "size", table.vector("size"))?),
            Some(("sphere", table)) => Mesh::ellipsoid(Vec3::new(1.0, 1.0, 1.0) * table.number("radius")),
            Some(("ellipsoid", table)) => Mesh::ellipsoid(positive(table, "radii", table.vector("radii"))?),
            Some(("cylinder", table)) => Mesh::cylinder(table.number("radius"), table.number("length")),
            Some(("cone", table)) => Mesh::cone(table.number("radius"), table.number("length")),
            Some((_, table)) => Mesh::capsule(table.number("radius"), table.number("length")),
        };
        let turn = match values.node("orientation") {
            Some(node) => self.orientation(node, what)?,
            None => Quat::IDENTITY,
        };
        mesh.carry(turn.matrix(), values.optional_vector("at").unwrap_or_default());
        let solids = match body {
            Some(b) => &mut self.model.bodies[b].solids,
            None => &mut self.model.ground,
        };
        if !values.flag("hidden") {
            add_solid(solids, mesh, appearance(&values)?);
        }
        Ok(())
    }

    /// The triangles of a mesh in a file, scaled.
    pub(super) fn mesh_file(&self, table: &Values, what: &str) -> Result<Mesh, Diagnostics> {
        let Some(folder) = self.folder else {
            let help = "save the model as a file: meshes lie in its folder";
            return Err(table.error_at("file", "a model that is no file has no meshes").help(help).into());
        };
        let file = table.node("file").and_then(Node::as_str).unwrap_or_default();
        let mut mesh = mesh::open(folder, file)
            .map_err(|(message, help)| table.error_at("file", format!("the mesh of {what}: {message}")).help(help))?;
        let scale = match table.optional_numbers("scale") {
            None => [1.0; 3],
            Some([s]) => [*s; 3],
            Some(s) if s.len() == 3 => [s[0], s[1], s[2]],
            Some(_) => {
                let help = "one number for all axes, or three";
                return Err(table.error_at("scale", format!("`scale` of {what} has two numbers")).help(help).into());
            }
        };
        if scale.contains(&0.0) {
            let help = "leave it out, or give a length per unit of the file";
            return Err(table.error_at("scale", format!("`scale` of {what} is zero")).help(help).into());
        }
        mesh.stretch(Vec3(scale));
        Ok(mesh)
    }
}

/// The colour and the opacity of a body or a visual.
pub(super) fn appearance(values: &Values) -> Result<Appearance, Diagnostics> {
    let colour = match values.optional_name("colour") {
        None => None,
        Some(given) => Some(Rgb::parse(given.name).map_err(|(message, help)| {
            values.error_at("colour", format!("`colour` of {}: {message}", values.what())).help(help)
        })?),
    };
    let opacity = values.optional_number("opacity");
    if let Some(bad) = opacity.filter(|x| *x > 1.0) {
        let message = format!("`opacity` of {} must be from 0 to 1, found {bad}", values.what());
        let help = "1 is opaque, 0 cannot be seen, 0.3 is like tinted glass";
        return Err(values.error_at("opacity", message).help(help).into());
    }
    Ok(Appearance { colour, opacity })
}
