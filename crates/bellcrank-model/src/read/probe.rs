//! `[probe.NAME]`: points whose motion is recorded.

use super::Reader;
use super::fields::PROBE;
use crate::file::*;
use crate::model::Probe;
use bellcrank_math::{Mat3, Quat, Vec3};

impl<'a> Reader<'a> {
    pub(super) fn read_probe(&mut self, name: &'a str, node: &'a Node, _span: Span) -> Result<(), Diagnostics> {
        let values = self.fields(node, &format!("probe {}", suggest::quoted(name)), &[PROBE])?;
        let end = self.one_end(&values)?;
        self.check_place(&values, &end, false)?;
        let axes = self.axes_of_probe(&values)?;
        let relative_to = match values.optional_name("relative_to") {
            Some(body) => self.body(body, values.what())?,
            None => None,
        };
        self.model.probes.push(Probe { name: name.to_string(), end, axes, relative_to });
        Ok(())
    }

    /// Its own axes, in the body's frame.
    fn axes_of_probe(&self, v: &Values<'a>) -> Result<Mat3, Diagnostics> {
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
}
