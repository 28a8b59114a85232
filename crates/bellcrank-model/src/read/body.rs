//! `[body.NAME]`: mass, inertia, and where the body is at the start.

use super::Reader;
use super::fields::{ANGLES, BODY, TURN};
use super::shape::ShapeData;
use super::visual::appearance;
use crate::appearance::{Appearance, VisualSolid};
use crate::bodies::{Body, Planar, PointMass, Rigid, Rod};
use crate::file::*;
use crate::model::*;
use bellcrank_math::{Mat3, Quat, Vec3};

impl<'a> Reader<'a> {
    pub(super) fn read_body(&mut self, name: &'a str, node: &'a Node, span: Span) -> Result<(), Diagnostics> {
        let what = format!("body {}", suggest::quoted(name));
        if name == "ground" {
            let help = "choose another name: joints and forces refer to the fixed world as `ground`";
            return Err(Diagnostic::error("`ground` is the fixed world, not a body").at(span).help(help).into());
        }
        let values = self.fields(node, &what, &[BODY])?;
        values.at_most_one(&["rod", "box", "sphere", "cylinder", "capsule", "cone", "beam", "modal"])?;
        let dimension = self.model.space.dimension();
        let mut shape = self.shape(&values)?;
        let mesh = self.mesh(&values, &mut shape)?;
        let mut entry = BodyEntry {
            name: name.to_string(),
            body: Body::Point(PointMass::new(1.0, dimension)),
            at: shape.at.unwrap_or_default(),
            rotation: Quat::IDENTITY,
            angle: 0.0,
            velocity: values.optional_vector("velocity"),
            angular_velocity: values.optional_vector("angular_velocity"),
            fixed: values.flag("fixed"),
            shape: shape.shape,
            solids: mesh.into_iter().map(|mesh| VisualSolid { mesh, appearance: Appearance::default() }).collect(),
            appearance: appearance(&values)?,
            hidden: values.flag("hidden"),
        };
        if let Some(body) = self.flexible(&values, &mut entry)? {
            entry.body = body;
            self.push_body(entry);
            return Ok(());
        }
        if let Some(at) = values.optional_vector("at") {
            if shape.at.is_some() {
                let help = "the ends of the rod tell where it is: leave `at` out";
                return Err(values.error_at("at", format!("{what} has both `rod` and `at`")).help(help).into());
            }
            entry.at = at;
        }
        self.place_body(&values, &what, &shape, &mut entry)?;
        if let (Some(centre), false) = (shape.centre, values.has("at")) {
            let centre = if self.plane { Vec3::new(centre[0], centre[1], 0.0) } else { centre };
            entry.at = entry.rotation.matrix() * centre;
        }
        let mass = values.optional_number("mass").or(shape.mass);
        let Some(mass) = mass else {
            let help = "add `mass = …` [kg], or a shape with a mass";
            return Err(values.error(format!("{what} needs `mass`")).help(help).into());
        };
        entry.body = self.kind_of_body(&values, &shape, mass)?;
        self.push_body(entry);
        Ok(())
    }

    /// A rigid body in the plane or in space, a thin rod in natural coordinates, or, without inertia, a point mass.
    fn kind_of_body(&self, values: &Values, shape: &ShapeData, mass: f64) -> Result<Body, Diagnostics> {
        let what = values.what();
        let dimension = self.model.space.dimension();
        let thin = matches!(shape.shape, Shape::Rod { .. }) && !shape.thick && !values.has("inertia");
        // in space a thin rod has no inertia along itself: it is left to its ends
        let natural = values.has("coordinates") || (thin && !self.plane && mass > 0.0);
        let inertia = match values.optional_numbers("inertia") {
            Some(m) if self.plane => Some(Mat3::IDENTITY * m[0]),
            Some(m) => Some(Mat3([[m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]])),
            None => shape.inertia.map(|i| i * mass),
        };
        Ok(match (natural, inertia) {
            (true, _) => {
                let Shape::Rod { length, .. } = shape.shape else {
                    let help = "natural coordinates are an end point and the link vector: give a `rod`";
                    let message = format!("{what} has natural coordinates but is no rod");
                    return Err(values.error_at("coordinates", message).help(help).into());
                };
                if values.has("inertia") || shape.thick {
                    let help = "leave `inertia` and `radius` out, or leave `coordinates` out";
                    let message = format!("{what}: a rod in natural coordinates is thin");
                    return Err(values.error_at("coordinates", message).help(help).into());
                }
                Body::Rod(Rod::new(mass, length, dimension))
            }
            (false, None) => Body::Point(PointMass::new(mass, dimension)),
            (false, Some(inertia)) if self.plane => {
                let j = inertia.0[2][2];
                if j < 0.0 || (j == 0.0 && mass > 0.0 && values.has("inertia")) {
                    let message = format!("{what}: the moment of inertia must be positive, found {j}");
                    return Err(values.error_at("inertia", message).help("in kg m², about the centre of mass").into());
                }
                Body::Planar(Planar::new(mass, j))
            }
            (false, Some(inertia)) => {
                check_inertia(values, what, &inertia)?;
                Body::Rigid(Rigid::new(mass, inertia))
            }
        })
    }

    fn push_body(&mut self, mut entry: BodyEntry) {
        self.place_in_world(&mut entry);
        self.body_names.insert(entry.name.clone(), self.model.bodies.len());
        self.model.bodies.push(entry);
    }

    /// Sets the rotation of a body at the start.
    pub(super) fn place_body(
        &self,
        v: &Values,
        what: &str,
        shape: &ShapeData,
        entry: &mut BodyEntry,
    ) -> Result<(), Diagnostics> {
        if let Some(along) = shape.along {
            for key in ["angle", "orientation"] {
                if v.has(key) {
                    let help = "the ends of the rod tell its direction";
                    return Err(v.error_at(key, format!("{what} has both `rod` and `{key}`")).help(help).into());
                }
            }
            if self.plane {
                entry.angle = along[1].atan2(along[0]);
                entry.rotation = Quat::exp(Vec3::Z * entry.angle);
            } else {
                entry.rotation = Quat::from_matrix(&self.rod_axes(along));
            }
            return Ok(());
        }
        if self.plane {
            if v.has("orientation") {
                let help = "a planar body has an `angle`";
                return Err(v
                    .error_at("orientation", format!("{what} is in the plane and has no `orientation`"))
                    .help(help)
                    .into());
            }
            entry.angle = v.number("angle");
            entry.rotation = Quat::exp(Vec3::Z * entry.angle);
            return Ok(());
        }
        if v.has("angle") {
            let help = "in space write `orientation = { axis = [0, 0, 1], angle = … }`";
            return Err(v.error_at("angle", format!("{what} is in space and has no `angle`")).help(help).into());
        }
        if let Some(node) = v.node("orientation") {
            entry.rotation = self.orientation(node, what)?;
        }
        Ok(())
    }

    pub(super) fn orientation(&self, node: &'a Node, what: &str) -> Result<Quat, Diagnostics> {
        let context = self.context();
        let key = format!("`orientation` of {what}");
        let wrong = |text: String| {
            let help = "a quaternion [w, x, y, z] (body to world), { axis = […], angle = … }, \
                        { order = \"zyx\", angles = […] } or a 3×3 rotation matrix";
            Diagnostic::error(format!("{key} {text}")).at(node.span).help(help)
        };
        if node.get("order").is_some() || node.get("angles").is_some() {
            return Ok(three_turns(&self.fields(node, &key, &[ANGLES])?));
        }
        if node.as_table().is_some() {
            let turn = self.fields(node, &key, &[TURN])?;
            return Ok(Quat::exp(turn.vector("axis") * turn.number("angle")));
        }
        let NodeValue::Array(items) = &node.value else { return Err(wrong("must be a rotation".into()).into()) };
        match items.len() {
            4 => {
                let q = context.numbers(node, &key, [4, 4], "")?;
                let norm = q.iter().map(|c| c * c).sum::<f64>().sqrt();
                if (norm - 1.0).abs() > 1e-3 {
                    return Err(wrong(format!("has length {norm:.4}, but a rotation has 1")).into());
                }
                Ok(Quat([q[0], q[1], q[2], q[3]]).normalized())
            }
            3 => {
                let m = context.square(node, &key, 3, "")?;
                let r = Mat3([[m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]]);
                let product = r * r.transpose() - Mat3::IDENTITY;
                let off = (0..3).map(|i| product.row(i).norm()).fold(0.0, f64::max);
                if off > 1e-3 || r.determinant() < 0.0 {
                    return Err(
                        wrong("is no rotation matrix (rows must be orthonormal and right-handed)".into()).into()
                    );
                }
                Ok(Quat::from_matrix(&r))
            }
            n => Err(wrong(format!("has {n} entries")).into()),
        }
    }
}

/// Three turns about axes of the body, one after the other: R = R₁ R₂ R₃, each about the axis where the ones before left it.
fn three_turns(v: &Values) -> Quat {
    let axes = v.word("order").bytes().map(|letter| [Vec3::X, Vec3::Y, Vec3::Z][usize::from(letter - b'x')]);
    let turns = axes.zip(v.numbers("angles")).map(|(axis, angle)| Quat::exp(axis * *angle));
    turns.fold(Quat::IDENTITY, Quat::then)
}

/// Refuses an inertia that no body has: not symmetric, or not positive definite.
fn check_inertia(v: &Values, what: &str, inertia: &Mat3) -> Result<(), Diagnostics> {
    let m = &inertia.0;
    let scale = m.iter().flatten().fold(0.0f64, |s, x| s.max(x.abs()));
    let wrong = |text: &str| {
        let help = "in kg m², about the centre of mass, in the body's frame: [ixx, iyy, izz] or a symmetric 3×3 matrix";
        v.error_at("inertia", format!("{what}: {text}")).help(help)
    };
    for i in 0..3 {
        for j in 0..i {
            if (m[i][j] - m[j][i]).abs() > 1e-9 * scale {
                return Err(wrong("the inertia matrix is not symmetric").into());
            }
        }
    }
    if scale == 0.0 {
        return Ok(()); // a body that its joints hold needs none
    }
    let second = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    if m[0][0] <= 0.0 || second <= 0.0 || inertia.determinant() <= 0.0 {
        return Err(wrong("the inertia matrix is not positive definite").into());
    }
    Ok(())
}
