//! `[joint.NAME]`: joints between bodies, and joints that act on other joints.

use super::Reader;
use super::fields::joint_fields;
use crate::bodies::{Body, Rotor};
use crate::file::*;
use crate::frames::{Attachment, Frame, angle_of};
use crate::joints::{self, Motion, Mount};
use crate::model::{BodyEntry, End, JointEntry};
use bellcrank_math::Mat3;
use std::sync::Arc;

impl<'a> Reader<'a> {
    fn joint_kind(&self, what: &str, node: &Node) -> Result<&'static joints::Kind, Diagnostics> {
        let words: Vec<&str> = joints::CATALOG.iter().map(|k| k.name).collect();
        let name = choose(node, what, "type", &words)?;
        let kind = joints::CATALOG.iter().find(|k| k.name == name).expect("chosen from the catalog");
        match kind.in_plane {
            Some(instead) if self.plane => {
                let message = format!("{what}: a {name} joint needs space, and the model is planar");
                let span = node.get("type").map_or(node.span, |n| n.span);
                Err(Diagnostic::error(message).at(span).help(format!("in the plane use {instead}")).into())
            }
            _ => Ok(kind),
        }
    }

    /// Reads a joint between bodies; those that stand on other joints are left for [`Self::read_coupler`].
    pub(super) fn read_joint(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let what = format!("joint {}", suggest::quoted(name));
        let kind = self.joint_kind(&what, node)?;
        let two_points = matches!(kind.mount, Mount::Points(_));
        let (values, ends) = match kind.mount {
            Mount::Joint | Mount::Joints | Mount::Rotor => return Ok(()),
            Mount::Shared(axes) | Mount::Points(axes) => {
                let values = self.fields(node, &what, &joint_fields(kind))?;
                let bodies = self.two_bodies(&values)?;
                let ends = self.ends(&values, bodies, axes, two_points)?;
                (values, ends)
            }
            Mount::Body => {
                let values = self.fields(node, &what, &joint_fields(kind))?;
                let end = self.one_end(&values)?;
                if self.is_mounted() || self.axes_here() != Mat3::IDENTITY {
                    let message = format!(
                        "{what} moves a point along the world's axes, and its part is turned or stands on a body"
                    );
                    let help = "lead the point with joints that are driven, or include the part without turning it";
                    return Err(values.error_at("type", message).help(help).into());
                }
                (values, [self.ground_end(), end])
            }
        };
        self.add_joint(name, kind, &values, ends.to_vec(), Vec::new())
    }

    /// Reads a joint that stands on other joints.
    pub(super) fn read_coupler(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let what = format!("joint {}", suggest::quoted(name));
        let kind = self.joint_kind(&what, node)?;
        let key = match kind.mount {
            Mount::Joint => "joint",
            Mount::Joints => "joints",
            Mount::Rotor => return self.read_armature(name, kind, node, &what),
            _ => return Ok(()),
        };
        let values = self.fields(node, &what, &joint_fields(kind))?;
        let named = if key == "joint" { vec![values.name(key)] } else { values.names(key).to_vec() };
        let mut problems = Diagnostics::new();
        let found: Vec<usize> = named.iter().filter_map(|n| problems.take(self.joint(*n, &what))).collect();
        problems.or(())?;
        let entries = || found.iter().map(|j| &self.model.joints[*j]);
        let ends: Vec<End> = match kind.mount {
            Mount::Joint => entries().flat_map(|j| j.ends.clone()).collect(),
            _ => entries().map(|j| j.ends[1]).chain(entries().map(|j| j.ends[0])).collect(),
        };
        if found.len() == 2 && found[0] == found[1] {
            let message = format!("{what} ties joint `{}` to itself", named[0].name);
            return Err(values.error_at(key, message).help("name two different joints").into());
        }
        let base = |j: &JointEntry| joints::Base {
            name: j.name.clone(),
            kind: j.kind,
            motions: j.joint.motions(self.model.space),
        };
        let bases = entries().map(base).collect();
        self.add_joint(name, kind, &values, ends, bases)
    }

    /// Reads an armature: a rotor along a coordinate of a joint, and the row that ties them.
    fn read_armature(
        &mut self,
        name: &'a str,
        kind: &'static joints::Kind,
        node: &'a Node,
        what: &str,
    ) -> Result<(), Diagnostics> {
        let values = self.fields(node, what, &joint_fields(kind))?;
        let (motion, [first, second]) = self.joint_coordinate(&values)?;
        values.check_turning(motion.turns())?;
        let axis = match motion {
            Motion::RotateSecond(k) => self.axes_of(&second).column(k),
            Motion::Rotate(k) | Motion::Translate(k) => self.axes_of(&first).column(k),
        };
        let (at, x) = (self.world(&first), axis.any_perpendicular());
        let on = Attachment { axes: Mat3::from_columns(x, axis.cross(x), axis), ..Attachment::CENTRE };
        let rotor = self.model.bodies.len();
        let body = Body::Rotor(Rotor::new(values.number("inertia"), motion.turns(), at, axis));
        let ground = End { body: None, on: Attachment { point: at, ..on } };
        let base = joints::Base { name: values.name("joint").name.to_string(), kind: kind.name, motions: vec![motion] };
        self.model.bodies.push(BodyEntry::rotor(name, body, at));
        self.add_joint(name, kind, &values, vec![first, second, ground, End { body: Some(rotor), on }], vec![base])
    }

    /// The angle of a place at the start, in the plane; it may exceed a turn.
    pub(super) fn drawn_angle(&self, end: &End) -> f64 {
        match self.plane {
            true => end.body.map_or(0.0, |b| self.model.bodies[b].angle) + angle_of(&end.on.axes),
            false => 0.0,
        }
    }

    /// The axes of a place, in the world at the start.
    pub(super) fn axes_of(&self, end: &End) -> Mat3 {
        end.body.map_or(Mat3::IDENTITY, |b| self.pose(b).1) * end.on.axes
    }

    /// The number of a joint between bodies.
    fn joint(&self, named: Named, of: &str) -> Result<usize, Diagnostic> {
        let names = || self.model.joints.iter().map(|j| j.name.as_str());
        names().position(|n| n == named.name).ok_or_else(|| named.unknown("joint", of, names().collect::<Vec<_>>()))
    }

    fn add_joint(
        &mut self,
        name: &str,
        kind: &'static joints::Kind,
        values: &Values,
        ends: Vec<End>,
        bases: Vec<joints::Base>,
    ) -> Result<(), Diagnostics> {
        let space = self.model.space;
        let frame = |end: &End| Frame { p: self.world(end), r: self.axes_of(end), ..Frame::default() };
        let placement = joints::Placement {
            frames: ends.iter().map(frame).collect(),
            angles: ends.iter().map(|end| self.drawn_angle(end)).collect(),
            space,
            axes: self.axes_here(),
            joints: bases,
        };
        let joint = (kind.make)(values, &placement)?;
        let equations = joint.equations(space);
        for (k, end) in ends.iter().enumerate() {
            self.check_place(values, end, equations.iter().any(|e| e.rotational(k)))?;
        }
        let tree = if values.has("tree") { values.optional_flag("tree") } else { None };
        let joint = Arc::from(joint);
        self.model.joints.push(JointEntry { name: name.to_string(), kind: kind.name, joint, ends, tree });
        Ok(())
    }
}
