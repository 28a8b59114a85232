//! Drives that are added to a finished model, by name.

use crate::file::Expression;
use crate::file::suggest::nearest;
use crate::joints::{drive, names};
use crate::model::{JointEntry, Model};

/// A drive for a joint of a finished model, by the names of the joint and of one of its coordinates or rates. The error
/// is what is wrong, and what to try.
pub fn drive_of(model: &Model, joint: &str, key: &str, course: Expression) -> Result<JointEntry, (String, String)> {
    let Some(base) = model.joints.iter().find(|j| j.name == joint) else {
        let known = model.joints.iter().map(|j| j.name.as_str());
        let help = nearest(joint, known).map_or_else(
            || "name a joint of the model that turns or slides".to_string(),
            |name| format!("did you mean `{name}`?"),
        );
        return Err((format!("there is no joint `{joint}`"), help));
    };
    let motions = base.joint.motions(model.space);
    let names = names(&motions);
    let Some(motion) = names.iter().position(|n| n.contains(&key)) else {
        let known = names.concat().join("`, `");
        let help = if known.is_empty() {
            format!("a {} joint has no coordinate of its own", base.kind)
        } else {
            format!("the coordinates of a {} joint are `{known}`", base.kind)
        };
        return Err((format!("joint `{joint}` has no `{key}`"), help));
    };
    let by_rate = names[motion][1] == key;
    Ok(JointEntry {
        name: format!("{joint}-{key}-drive"),
        kind: "drive",
        joint: drive(motions[motion], course, by_rate),
        ends: base.ends.clone(),
        tree: None,
    })
}
