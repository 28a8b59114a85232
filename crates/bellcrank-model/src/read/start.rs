//! `[start]`: joint coordinates and rates that are given at the start.

use super::Reader;
use super::fields::START;
use crate::file::*;
use crate::joints;
use crate::model::Start;

impl<'a> Reader<'a> {
    pub(super) fn read_start(&mut self, name: &'a str, node: &'a Node, span: Span) -> Result<(), Diagnostics> {
        let what = format!("start of joint {}", suggest::quoted(name));
        let Some(joint) = self.model.joints.iter().position(|j| j.name == name) else {
            let names: Vec<&str> = self.model.joints.iter().map(|j| j.name.as_str()).collect();
            return Err(Named { name, span }.unknown("joint", "[start]", names).into());
        };
        let values = self.fields(node, &what, &[START])?;
        let motions = self.model.joints[joint].joint.motions(self.model.space);
        let names = joints::names(&motions);
        for key in START.iter().map(|f| f.name).filter(|k| values.has(k)) {
            let Some(motion) = names.iter().position(|n| n.contains(&key)) else {
                let kind = self.model.joints[joint].kind;
                let message = format!("a {kind} joint has no `{key}` to start with");
                let help = match names.len() {
                    0 => "give the bodies' own `velocity`, `angular_velocity`, `at` or orientation instead".into(),
                    _ => format!("it has `{}`", names.concat().join("`, `")),
                };
                return Err(values.error_at(key, message).help(help).into());
            };
            let x = values.optional_number(key);
            if key == names[motion][1] {
                values.check_unit(key, if motions[motion].turns() { "rad/s" } else { "m/s" })?;
            }
            let (value, rate) = if key == names[motion][1] { (None, x) } else { (x, None) };
            self.model.start.push(Start { joint, motion, value, rate });
        }
        Ok(())
    }
}
