//! `[marker.NAME]`: named frames on bodies. Joints, forces and probes name one in place of a body, a point and axes.

use super::Reader;
use super::fields::MARKER;
use crate::file::*;
use crate::frames::Attachment;
use crate::joints::Axes;
use crate::model::End;
use bellcrank_math::{Mat3, Quat, Vec3};

impl<'a> Reader<'a> {
    pub(super) fn read_marker(&mut self, name: &'a str, node: &'a Node, span: Span) -> Result<(), Diagnostics> {
        let what = format!("marker {}", suggest::quoted(name));
        if name == "ground" || self.body_names.contains_key(name) {
            let message = format!("{} is the name of a body and of a marker", suggest::quoted(name));
            let other = self.root.get("body").and_then(Node::as_table).and_then(|t| t.entry(name)).map(|e| e.span);
            let problem = Diagnostic::error(message).at(span).label("a marker");
            let problem = other.into_iter().fold(problem, |p, span| p.also(span, "a body"));
            return Err(problem.help("give one of them another name: joints and forces refer to both").into());
        }
        let values = self.fields(node, &what, &[MARKER])?;
        values.at_most_one(&["at", "on"])?;
        if self.marker(values.name("body").name).is_some() {
            let message = format!("{what} is on {}, a marker", suggest::quoted(values.name("body").name));
            return Err(values.error_at("body", message).help("name the body itself").into());
        }
        let body = self.body(values.name("body"), &what)?;
        let axes = self.own_axes(&values)?;
        let end = match (values.optional_vector("on"), values.optional_vector("at")) {
            (Some(point), _) => self.on_body(body, point, axes),
            (None, Some(point)) => self.attach(body, point, axes),
            (None, None) => self.attach_world(body, self.world(&self.middle_end(body)), self.axes_here() * axes),
        };
        self.frames.markers.insert(name.to_string(), end);
        Ok(())
    }

    /// The place of a marker.
    pub(super) fn marker(&self, name: &str) -> Option<End> {
        self.frames.markers.get(name).copied()
    }

    /// Whether an element between two bodies names a marker.
    pub(super) fn is_marked(&self, v: &Values) -> bool {
        let names = v.node("between").and_then(Node::as_array).unwrap_or(&[]);
        names.iter().filter_map(Node::as_str).any(|name| self.marker(name).is_some())
    }

    /// Axes of its own, against those they are given in: `angle` in the plane, `orientation` in space.
    pub(super) fn own_axes(&self, v: &Values<'a>) -> Result<Mat3, Diagnostics> {
        let (key, help) = match self.plane {
            true => ("orientation", "in the plane its axes have an `angle`"),
            false => ("angle", "in space write `orientation = { axis = [0, 0, 1], angle = … }`"),
        };
        if v.has(key) {
            let model = if self.plane { "in the plane" } else { "in space" };
            let message = format!("{} is {model} and has no `{key}`", v.what());
            return Err(v.error_at(key, message).help(help).into());
        }
        match v.node("orientation") {
            Some(node) => Ok(self.orientation(node, v.what())?.matrix()),
            None => Ok(Quat::exp(Vec3::Z * v.number("angle")).matrix()),
        }
    }

    /// The places of an element between two bodies where markers tell them; `given` are axes that its own keys tell.
    ///
    /// Two markers are the two frames. One alone is the place of both, with its axes.
    pub(super) fn marked_ends(
        &self,
        v: &Values,
        bodies: [Option<usize>; 2],
        axes: Axes,
        two_points: bool,
        given: Option<[Mat3; 2]>,
    ) -> Result<Option<[End; 2]>, Diagnostics> {
        let found = [0, 1].map(|k| v.names("between").get(k).and_then(|n| self.marker(n.name)));
        let Some(first) = found[0].or(found[1]) else { return Ok(None) };
        let what = v.what();
        for key in ["at", "on"] {
            if v.has(key) {
                let message = format!("{what} has both a marker and `{key}`");
                return Err(v
                    .error_at(key, message)
                    .help("the marker tells the place: leave it out, or name the body")
                    .into());
            }
        }
        if two_points && found.iter().any(Option::is_none) {
            let message = format!("{what} has a marker for one of its two points");
            return Err(v.error_at("between", message).help("name a marker for both, or bodies and `at`").into());
        }
        let both = found.iter().all(Option::is_some);
        let place = |k: usize| {
            let end = found[k].unwrap_or(first);
            let (point, own) = (self.world(&end), self.axes_of(&end));
            let world = given.map_or(own, |given| self.axes_here() * given[k]);
            let mut placed = self.attach_world(bodies[k], point, world);
            // with one marker the angle in the plane is that between the bodies
            if self.plane && axes == Axes::Turning && !both && !self.is_ground(bodies[k]) {
                placed.on.axes = Mat3::IDENTITY;
            }
            placed
        };
        Ok(Some([place(0), place(1)]))
    }

    /// The place of an element on one body where a marker tells it.
    pub(super) fn marked_end(&self, v: &Values) -> Result<Option<End>, Diagnostics> {
        let Some(end) = self.marker(v.name("body").name) else { return Ok(None) };
        for key in ["at", "on"] {
            if v.has(key) {
                let message = format!("{} has both a marker and `{key}`", v.what());
                return Err(v
                    .error_at(key, message)
                    .help("the marker tells the place: leave it out, or name the body")
                    .into());
            }
        }
        Ok(Some(End { on: Attachment { axes: Mat3::IDENTITY, ..end.on }, ..end }))
    }
}
