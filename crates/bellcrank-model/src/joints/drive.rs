//! Drives: a coordinate of a joint as a function of time.

use super::equations::{Equation, follow, follow_rate};
use super::{Joint, Kind, Motion, Mount, names};
use crate::file::{Expression, Field, FieldKind};
use crate::space::Space;
use std::sync::Arc;

/// A motion of another joint, or its rate, follows a function of time.
struct Drive {
    motion: Motion,
    course: Expression,
    by_rate: bool,
}

const KEYS: [&str; 8] = ["angle", "position", "rate", "speed", "angle2", "position2", "rate2", "speed2"];

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "drive",
    doc: "A motor that makes one coordinate of another joint (or its rate) follow a function of time; give one of \
          the keys by which the joint's results are named.",
    fields: &[
        Field::optional("angle", FieldKind::Function, "rad", "free", "the angle, up to full turns"),
        Field::optional("position", FieldKind::Function, "m", "free", "the position"),
        Field::optional("rate", FieldKind::Function, "rad/s, m/s", "free", "the rate, from wherever the start is"),
        Field::optional(
            "speed",
            FieldKind::Function,
            "m/s",
            "free",
            "the rate of the slide of a joint that also turns",
        ),
        Field::optional("angle2", FieldKind::Function, "rad", "free", "the second angle"),
        Field::optional("position2", FieldKind::Function, "m", "free", "the second position"),
        Field::optional("rate2", FieldKind::Function, "rad/s, m/s", "free", "the rate of the second motion"),
        Field::optional("speed2", FieldKind::Function, "m/s", "free", "the rate of the second slide"),
    ],
    mount: Mount::Joint,
    in_plane: None,
    make: |values, place| {
        values.at_most_one(&KEYS)?;
        let base = &place.joints[0];
        let names = names(&base.motions);
        let Some((key, course)) = KEYS.iter().find_map(|key| values.optional_function(key).map(|f| (*key, f))) else {
            let known = names.concat().join("` or `");
            let help = format!("add `{} = …`, a function of `t`", if known.is_empty() { "angle" } else { &known });
            return Err(values.error(format!("{} drives nothing", values.what())).help(help).into());
        };
        let found = names.iter().position(|n| n.contains(&key));
        let Some(motion) = found else { return Err(base.lacks(values, key, &format!("`{key}`")).into()) };
        let by_rate = names[motion][1] == key;
        values.check_turning(base.motions[motion].turns())?;
        if !by_rate {
            super::refuse_inputs(
                values,
                key,
                std::slice::from_ref(course),
                &format!("drive the rate: `{} = …`", names[motion][1]),
            )?;
        }
        Ok(Box::new(Drive { motion: base.motions[motion], course: course.clone(), by_rate }))
    },
};

/// A joint that holds a motion, or its rate, to a function of time.
pub fn drive(motion: Motion, course: Expression, by_rate: bool) -> Arc<dyn Joint> {
    Arc::new(Drive { motion, course, by_rate })
}

impl Joint for Drive {
    fn equations(&self, _space: Space) -> Vec<Box<dyn Equation>> {
        let drive = if self.by_rate { follow_rate } else { follow };
        vec![drive(self.motion, self.course.clone())]
    }
    fn drives(&self) -> Option<Motion> {
        Some(self.motion)
    }
}
