//! Where parts and markers stand: the entries of an included file are read in its own coordinates, and placed in the world.

use super::Reader;
use super::fields::INCLUDE;
use super::include::Part;
use crate::bodies::{Body, PointMass};
use crate::file::*;
use crate::frames::{Attachment, angle_of};
use crate::model::{BodyEntry, End};
use bellcrank_math::{Mat3, Quat, Vec3};
use std::cell::Cell;
use std::collections::HashMap;

/// The frame of a part: x ↦ p + R x takes its coordinates to the world.
#[derive(Clone, Debug)]
pub(super) struct PartFrame {
    p: Vec3,
    rotation: Quat,
    r: Mat3,
    /// Whether it is the world itself.
    plain: bool,
    /// The axes that the part is mirrored across, after which its coordinates are right-handed again.
    mirrors: Vec<usize>,
    /// The body that its ground is.
    ground: Option<String>,
}

impl PartFrame {
    fn world() -> PartFrame {
        let (p, rotation, r) = (Vec3::ZERO, Quat::IDENTITY, Mat3::IDENTITY);
        PartFrame { p, rotation, r, plain: true, mirrors: Vec::new(), ground: None }
    }
}

/// The frames of the model, of its parts and of its markers, and the one whose entries are being read.
pub(super) struct PartFrames {
    list: Vec<PartFrame>,
    /// The frame of every source.
    of_source: Vec<usize>,
    current: Cell<usize>,
    /// The places of all markers.
    pub markers: HashMap<String, End>,
}

impl PartFrames {
    /// The names of all markers.
    pub fn marker_names(&self) -> impl Iterator<Item = &str> {
        self.markers.keys().map(String::as_str)
    }
}

impl Default for PartFrames {
    fn default() -> PartFrames {
        let list = vec![PartFrame::world()];
        PartFrames { list, of_source: Vec::new(), current: Cell::new(0), markers: HashMap::new() }
    }
}

impl<'a> Reader<'a> {
    /// Finds out where all parts stand; those that include others come before them.
    pub(super) fn place_parts(&mut self, parts: &[Part]) -> Result<(), Diagnostics> {
        for (number, part) in parts.iter().enumerate() {
            let within = part.parent.map_or(0, |p| p + 1);
            let Some(node) = self.root.get("include").and_then(|i| i.get(&part.name)) else { continue };
            let frame = self.frame_of(node, part, within)?;
            let of_source = &mut self.frames.of_source;
            of_source.resize(of_source.len().max(part.source as usize + 1), 0);
            of_source[part.source as usize] = number + 1;
            self.frames.list.push(frame);
        }
        Ok(())
    }

    fn frame_of(&self, node: &'a Node, part: &Part, within: usize) -> Result<PartFrame, Diagnostics> {
        let what = format!("include {}", suggest::quoted(&part.name));
        let values = self.fields(node, &what, &[INCLUDE])?;
        let mut placed = BodyEntry::rotor(&part.name, Body::Point(PointMass::new(1.0, 3)), Vec3::ZERO);
        self.place_body(&values, &what, &Default::default(), &mut placed)?;
        let outer = &self.frames.list[within];
        let at = values.optional_vector("at").unwrap_or_default();
        let rotation = outer.rotation.then(placed.rotation);
        let ground = part.ground.clone();
        let placed_here = ["at", "angle", "orientation"].iter().any(|key| values.has(key));
        let plain = outer.plain && !placed_here && ground.is_none();
        if plain {
            return Ok(PartFrame { mirrors: part.mirrors.clone(), ..PartFrame::world() });
        }
        let (p, mirrors) = (outer.p + outer.r * at, part.mirrors.clone());
        Ok(PartFrame { p, rotation, r: rotation.matrix(), plain, mirrors, ground })
    }

    /// From here on entries of the text that a place is in are read.
    pub(super) fn enter(&self, span: Span) {
        self.frames.current.set(self.frames.of_source.get(span.source as usize).copied().unwrap_or(0));
    }

    /// The frame of the part whose entries are being read.
    pub(super) fn here(&self) -> &PartFrame {
        &self.frames.list[self.frames.current.get()]
    }

    /// The axes of the part whose entries are being read, in the world.
    pub(super) fn axes_here(&self) -> Mat3 {
        self.here().r
    }

    /// Whether laws of the part that is being read see other coordinates than those that are recorded.
    pub(super) fn sees_otherwise(&self) -> bool {
        !self.here().plain || !self.here().mirrors.is_empty()
    }

    /// Whether the part that is being read stands on a body in place of the ground.
    pub(super) fn is_mounted(&self) -> bool {
        self.here().ground.is_some()
    }

    /// The body that the ground of the part is; none if it is the world.
    fn ground_here(&self) -> Option<usize> {
        self.here().ground.as_ref().and_then(|name| self.body_names.get(name.as_str()).copied())
    }

    /// Whether a body is the ground, as the part that is being read knows it.
    pub(super) fn is_ground(&self, body: Option<usize>) -> bool {
        body.is_none() || (self.is_mounted() && body == self.ground_here())
    }

    /// A place in the part's coordinates at the start, seen from a body.
    pub(super) fn attach(&self, body: Option<usize>, point: Vec3, axes: Mat3) -> End {
        let frame = self.here();
        match frame.plain {
            true => self.attach_world(body, point, axes),
            false => self.attach_world(body, frame.p + frame.r * point, frame.r * axes),
        }
    }

    /// The part's ground with its own axes.
    pub(super) fn ground_end(&self) -> End {
        let frame = self.here();
        match frame.plain {
            true => End { body: None, on: Attachment::CENTRE },
            false => self.attach_world(self.ground_here(), frame.p, frame.r),
        }
    }

    /// Puts a body of the part into the world.
    pub(super) fn place_in_world(&self, entry: &mut BodyEntry) {
        let frame = self.here();
        if frame.plain {
            return;
        }
        entry.at = frame.p + frame.r * entry.at;
        entry.rotation = frame.rotation.then(entry.rotation);
        if self.plane {
            entry.angle += angle_of(&frame.r);
        }
        entry.velocity = entry.velocity.map(|v| frame.r * v);
        entry.angular_velocity = entry.angular_velocity.map(|w| frame.r * w);
    }

    /// A vector in the mirrors of the part.
    fn mirrored(&self, mut v: Vec3) -> Vec3 {
        for &axis in &self.here().mirrors {
            v[axis] = -v[axis];
        }
        v
    }

    /// Some direction across another: in a mirrored part the mirror image of what it is in the part itself. The axis of a turn
    /// goes the other way in a mirror.
    pub(super) fn across(&self, z: Vec3, turning: bool) -> Vec3 {
        let mirrors = self.here().mirrors.len();
        match mirrors {
            0 => z.any_perpendicular(),
            _ if turning && mirrors % 2 == 1 => -self.mirrored(self.mirrored(z).any_perpendicular()),
            _ => self.mirrored(self.mirrored(z).any_perpendicular()),
        }
    }

    /// The axes of a rod in space along x: those of any rod, mirrored with the part.
    pub(super) fn rod_axes(&self, along: Vec3) -> Mat3 {
        let signs = self.mirrored(Vec3::new(1.0, 1.0, 1.0));
        // where a mirror turns x around, the ends of the rod have been exchanged
        let y = self.across(along, false) * (signs[0] * signs[1]);
        Mat3::from_columns(along, y, along.cross(y))
    }
}
